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

#include "cli/frame.h"
#include "cli/item.h"
#include "cli/report.h"
#include "cli/show.h"

/* A host while its list is read. */
struct source {
    char target[LOADER_TARGET_BYTES]; /* the next page */
    bool going;
};

struct loader {
    struct hosts *hosts;
    struct source *sources;
    int descriptor;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* waiting, answered or ending */
    bool ending;
    bool busy;
    bool waiting; /* question is there */
    struct loader_question question;
    bool answered; /* answer is there */
    struct loader_answer answer;
};

static void drop(struct loader_answer *answer)
{
    top_page_free(answer->pages);
    free(answer->text);
    *answer = (struct loader_answer){.pages = NULL};
}

/*
 * Hands over an answer once the one before it has been taken. False: the question has been given up; the answer is
 * freed.
 */
static bool deliver(struct loader *loader, struct loader_answer *answer)
{
    const uint64_t one = 1;
    bool delivered;

    pthread_mutex_lock(&loader->mutex);
    while (loader->answered && !loader->waiting && !loader->ending)
        pthread_cond_wait(&loader->changed, &loader->mutex);
    delivered = !loader->waiting && !loader->ending;
    if (delivered) {
        loader->answer = *answer;
        loader->answered = true;
        delivered = write(loader->descriptor, &one, sizeof(one)) == (ssize_t)sizeof(one);
    } else {
        drop(answer);
    }
    pthread_mutex_unlock(&loader->mutex);
    return delivered;
}

/* ---- a report ---- */

static char *make_report(struct hosts *hosts, size_t host, const json_t *item, bool utf8)
{
    struct report report = {.style = {.utf8 = utf8, .columns = TEXT_ANY_COLUMNS}};
    char *text = NULL;
    size_t bytes = 0;

    report.stream = open_memstream(&text, &bytes);
    if (report.stream == NULL)
        return NULL;
    show_item(&report, hosts, host, NULL, item);
    if (fclose(report.stream) == 0)
        return text;
    free(text);
    return NULL;
}

static void load_report(struct loader *loader, const struct loader_question *question)
{
    struct loader_answer answer = {.serial = question->serial, .last = true};
    json_t *document = hosts_get_one(loader->hosts, question->host, question->target, question->schema);
    const json_t *item = json_object_get(document, "thread");

    if (json_is_object(item))
        answer.text = make_report(loader->hosts, question->host, item, question->utf8);
    if (answer.text == NULL)
        snprintf(answer.error, sizeof(answer.error), "%s",
                 document == NULL ? hosts_error(loader->hosts, question->host) : "this id is gone");
    json_decref(document);
    deliver(loader, &answer);
}

/* ---- a list ---- */

static void add_frame(struct loader_frame *frame, const json_t *document)
{
    long long age_ms = 0;

    for (int state = 0; state < ID_STATE_COUNT; state++)
        frame->counts[state] += frame_count(document, id_state_name((enum id_state)state));
    frame->ids += frame_count(document, NULL);
    frame->total += frame_total(document);
    frame->unreadable += frame_unreadable(document);
    if (frame_is_late(document, &age_ms) && age_ms > frame->late_ms)
        frame->late_ms = age_ms;
    frame->answered++;
}

/* Where the page after this one is; a host that gives none, or an empty page, or the same again is at its end. */
static void turn_page(struct source *source, const struct loader_question *question, const json_t *document)
{
    const char *next = item_text(document, "next");
    char target[LOADER_TARGET_BYTES];

    snprintf(target, sizeof(target), "%s", question->target);
    source->going = next != NULL && json_array_size(json_object_get(document, question->list)) != 0 &&
                    client_target_add(target, sizeof(target), "after", next) == 0 &&
                    strcmp(target, source->target) != 0;
    snprintf(source->target, sizeof(source->target), "%s", target);
}

/* Its page, or one that says that it has none. */
static void add_page(struct loader_answer *answer, const struct loader *loader, size_t host, const char *list)
{
    const json_t *document = hosts_document(loader->hosts, host);
    struct top_page *page =
        document != NULL ? top_page_new(host, json_object_get(document, list)) : top_page_new_failed(host);

    if (document == NULL)
        snprintf(answer->error, sizeof(answer->error), "%s", hosts_error(loader->hosts, host));
    if (page == NULL) {
        snprintf(answer->error, sizeof(answer->error), "out of memory");
        return;
    }
    page->next = answer->pages;
    answer->pages = page;
}

/* The next page of each host that has one: how many ids they have. */
static size_t load_pages(struct loader *loader, const struct loader_question *question, bool first,
                         struct loader_answer *answer)
{
    const char *targets[CLI_LIST_MAX];
    size_t count = 0;

    for (size_t i = 0; i < hosts_count(loader->hosts); i++)
        targets[i] = loader->sources[i].going ? loader->sources[i].target : NULL;
    hosts_get_each(loader->hosts, targets, question->schema, question->list);
    answer->last = true;
    for (size_t i = hosts_count(loader->hosts); i-- > 0;) {
        const json_t *document = hosts_document(loader->hosts, i);

        if (targets[i] == NULL)
            continue;
        if (first && document != NULL)
            add_frame(&answer->frame, document);
        count += json_array_size(json_object_get(document, question->list));
        turn_page(&loader->sources[i], question, document);
        add_page(answer, loader, i, question->list);
        answer->last = answer->last && !loader->sources[i].going;
    }
    return count;
}

static void load_list(struct loader *loader, const struct loader_question *question)
{
    struct loader_answer answer = {.serial = question->serial};
    size_t count = 0;

    for (size_t i = 0; i < hosts_count(loader->hosts); i++) {
        loader->sources[i].going = true;
        snprintf(loader->sources[i].target, sizeof(loader->sources[i].target), "%s", question->target);
    }
    for (bool first = true; !answer.last; first = false) {
        answer.pages = NULL;
        count += load_pages(loader, question, first, &answer);
        answer.last = answer.last || count >= question->ids_max;
        if (!deliver(loader, &answer))
            return;
    }
}

/* ---- the thread ---- */

static void *work(void *argument)
{
    struct loader *loader = argument;

    pthread_mutex_lock(&loader->mutex);
    while (!loader->ending) {
        struct loader_question question;

        if (!loader->waiting) {
            pthread_cond_wait(&loader->changed, &loader->mutex);
            continue;
        }
        question = loader->question;
        loader->waiting = false;
        loader->busy = true;
        pthread_mutex_unlock(&loader->mutex);
        if (question.list != NULL)
            load_list(loader, &question);
        else
            load_report(loader, &question);
        pthread_mutex_lock(&loader->mutex);
        loader->busy = false;
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
    loader->sources = calloc(hosts_count(hosts), sizeof(*loader->sources));
    loader->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&loader->mutex, NULL);
    pthread_cond_init(&loader->changed, NULL);
    if (loader->sources != NULL && loader->descriptor >= 0 && pthread_create(&loader->thread, NULL, work, loader) == 0)
        return loader;
    if (loader->descriptor >= 0)
        close(loader->descriptor);
    free(loader->sources);
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
    free(loader->sources);
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
        loader->answer = (struct loader_answer){.pages = NULL};
        loader->answered = false;
        pthread_cond_signal(&loader->changed);
        if (read(loader->descriptor, &count, sizeof(count)) < 0)
            answered = true; /* nothing to read: as it should be afterwards */
    }
    pthread_mutex_unlock(&loader->mutex);
    return answered;
}
