/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - a thread, a question and an answer under one lock. Touches the network through hosts.h. */
#include "cli/loader.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/show.h"

struct loader {
    struct hosts *hosts;
    int descriptor;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* waiting or ending */
    bool ending;
    bool busy;
    bool waiting; /* question is there */
    struct loader_question question;
    bool answered; /* answer is there */
    struct loader_answer answer;
};

static char *make_report(struct hosts *hosts, const json_t *item, bool utf8)
{
    struct report report = {.style = {.utf8 = utf8, .columns = TEXT_ANY_COLUMNS}};
    char *text = NULL;
    size_t bytes = 0;

    report.stream = open_memstream(&text, &bytes);
    if (report.stream == NULL)
        return NULL;
    show_item(&report, hosts, 0, NULL, item);
    if (fclose(report.stream) == 0)
        return text;
    free(text);
    return NULL;
}

static void find_answer(struct hosts *hosts, const struct loader_question *question, struct loader_answer *answer)
{
    const json_t *item;

    *answer = (struct loader_answer){.serial = question->serial};
    answer->document = hosts_get_one(hosts, 0, question->target, question->schema);
    if (answer->document == NULL) {
        snprintf(answer->error, sizeof(answer->error), "%s", hosts_error(hosts, 0));
        return;
    }
    if (question->list != NULL && json_is_array(json_object_get(answer->document, question->list)))
        return;
    item = json_object_get(answer->document, "thread");
    if (question->list == NULL && json_is_object(item))
        answer->text = make_report(hosts, item, question->utf8);
    if (answer->text == NULL)
        snprintf(answer->error, sizeof(answer->error), "%s",
                 question->list != NULL ? "the answer is not one of ripd's" : "this id is gone");
}

static void drop(struct loader_answer *answer)
{
    json_decref(answer->document);
    free(answer->text);
    *answer = (struct loader_answer){.document = NULL};
}

static void *work(void *argument)
{
    struct loader *loader = argument;

    pthread_mutex_lock(&loader->mutex);
    while (!loader->ending) {
        struct loader_question question;
        struct loader_answer answer;
        const uint64_t one = 1;

        if (!loader->waiting) {
            pthread_cond_wait(&loader->changed, &loader->mutex);
            continue;
        }
        question = loader->question;
        loader->waiting = false;
        loader->busy = true;
        pthread_mutex_unlock(&loader->mutex);
        find_answer(loader->hosts, &question, &answer);
        pthread_mutex_lock(&loader->mutex);
        loader->busy = false;
        drop(&loader->answer); /* nobody has taken it */
        loader->answer = answer;
        loader->answered = true;
        if (write(loader->descriptor, &one, sizeof(one)) < 0)
            continue; /* it is readable already */
    }
    pthread_mutex_unlock(&loader->mutex);
    return NULL;
}

struct loader *loader_new(struct hosts *hosts)
{
    struct loader *loader = calloc(1, sizeof(*loader));

    if (loader == NULL)
        return NULL;
    loader->hosts = hosts;
    loader->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&loader->mutex, NULL);
    pthread_cond_init(&loader->changed, NULL);
    if (loader->descriptor >= 0 && pthread_create(&loader->thread, NULL, work, loader) == 0)
        return loader;
    if (loader->descriptor >= 0)
        close(loader->descriptor);
    free(loader);
    return NULL;
}

bool loader_free(struct loader *loader)
{
    bool busy;

    pthread_mutex_lock(&loader->mutex);
    loader->ending = true;
    busy = loader->busy;
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->mutex);
    if (busy)
        return false;
    pthread_join(loader->thread, NULL);
    drop(&loader->answer);
    close(loader->descriptor);
    pthread_cond_destroy(&loader->changed);
    pthread_mutex_destroy(&loader->mutex);
    free(loader);
    return true;
}

int loader_descriptor(const struct loader *loader)
{
    return loader->descriptor;
}

void loader_ask(struct loader *loader, const struct loader_question *question)
{
    pthread_mutex_lock(&loader->mutex);
    loader->question = *question;
    loader->waiting = true;
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->mutex);
}

bool loader_take(struct loader *loader, struct loader_answer *ret_answer)
{
    uint64_t count;
    bool answered;

    pthread_mutex_lock(&loader->mutex);
    answered = loader->answered;
    if (answered) {
        *ret_answer = loader->answer;
        loader->answer = (struct loader_answer){.document = NULL};
        loader->answered = false;
        if (read(loader->descriptor, &count, sizeof(count)) < 0)
            answered = true; /* nothing to read: as it should be afterwards */
    }
    pthread_mutex_unlock(&loader->mutex);
    return answered;
}
