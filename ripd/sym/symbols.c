/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - the queue of questions, and the thread that takes them in turn.
 *
 * A question names a place once: what is waiting already is not taken again. The thread alone adds to the modules'
 * symbol tables, and alone knows files and the link; the mutex guards the queue and the counters.
 */
#include "sym/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "sym/files.h"
#include "sym/link.h"
#include "sym/opener.h"

#define BUCKET_COUNT 4096u /* a power of two */

struct question {
    struct question *next;         /* in the queue */
    struct question *chain;        /* in its bucket */
    struct process_facts *process; /* a reference, or NULL */
    struct module_facts *module;   /* a reference */
    uint64_t offset;
};

struct symbols {
    struct symbols_options options;
    char *program;
    int proc;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    struct question *first, **last;
    struct question *buckets[BUCKET_COUNT];
    size_t waiting_count;
    struct symbols_counters counters;
    bool stopping;
    uint64_t down_until_ns; /* no symbolizer runs, and none is started before */
    pthread_t thread;
    bool started;

    /* the thread's */
    struct sym_link link;
    struct sym_files files;
};

/* The queue -------------------------------------------------------------------------------------------------------- */

static struct question **bucket_of(struct symbols *symbols, const struct module_facts *module, uint64_t offset)
{
    uint64_t hash =
        ((uint64_t)(uintptr_t)module ^ offset * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);

    return &symbols->buckets[(size_t)(hash >> 40) & (BUCKET_COUNT - 1)];
}

static bool is_waiting(struct symbols *symbols, const struct module_facts *module, uint64_t offset)
{
    const struct question *question = *bucket_of(symbols, module, offset);

    while (question != NULL && (question->module != module || question->offset != offset))
        question = question->chain;
    return question != NULL;
}

static bool push(struct symbols *symbols, struct process_facts *process, struct module_facts *module, uint64_t offset)
{
    struct question **bucket = bucket_of(symbols, module, offset);
    struct question *question = symbols->waiting_count < SYMBOLS_QUEUE_MAX ? malloc(sizeof(*question)) : NULL;

    if (question == NULL) {
        symbols->counters.refused_count++;
        return false;
    }
    *question = (struct question){
        .chain = *bucket,
        .process = process == NULL ? NULL : process_facts_ref(process),
        .module = module_facts_ref(module),
        .offset = offset,
    };
    *bucket = question;
    *symbols->last = question;
    symbols->last = &question->next;
    symbols->waiting_count++;
    pthread_cond_signal(&symbols->condition);
    return true;
}

bool symbols_want(struct symbols *symbols, struct process_facts *process, struct module_facts *module, uint64_t offset)
{
    bool waiting;

    if (symbol_table_find(&module->symbols, offset) != NULL)
        return false;
    pthread_mutex_lock(&symbols->mutex);
    waiting = is_waiting(symbols, module, offset);
    if (!waiting && !symbols->stopping && symbols->down_until_ns <= clock_mono_ns())
        waiting = push(symbols, process, module, offset);
    pthread_mutex_unlock(&symbols->mutex);
    return waiting;
}

/* Takes the oldest out of the queue; it stays in its bucket until it is dropped. Under the mutex. */
static struct question *pop(struct symbols *symbols)
{
    struct question *question = symbols->first;

    symbols->first = question->next;
    if (symbols->first == NULL)
        symbols->last = &symbols->first;
    return question;
}

/* Under the mutex. */
static void drop(struct symbols *symbols, struct question *question)
{
    struct question **link = bucket_of(symbols, question->module, question->offset);

    while (*link != question)
        link = &(*link)->chain;
    *link = question->chain;
    symbols->waiting_count--;
    process_facts_unref(question->process);
    module_facts_unref(question->module);
    free(question);
}

/* Asking ----------------------------------------------------------------------------------------------------------- */

/* False: there is none, and will not be for a while. */
static bool have_symbolizer(struct symbols *symbols)
{
    int result;

    if (symbols->link.descriptor >= 0)
        return true;
    result = link_start(&symbols->link, symbols->program);
    files_close_all(&symbols->files);
    pthread_mutex_lock(&symbols->mutex);
    symbols->counters.started_count += result == 0;
    if (result != 0)
        symbols->down_until_ns = clock_mono_ns() + symbols->options.restart_ns;
    pthread_mutex_unlock(&symbols->mutex);
    return result == 0;
}

/* The symbolizer is gone on account of a file. */
static void blame(struct symbols *symbols, struct sym_file *file, int result)
{
    file->bad = true;
    pthread_mutex_lock(&symbols->mutex);
    if (result == -ETIMEDOUT)
        symbols->counters.hung_count++;
    else
        symbols->counters.died_count++;
    symbols->down_until_ns = clock_mono_ns() + symbols->options.restart_ns;
    pthread_mutex_unlock(&symbols->mutex);
}

static bool link_is_lost(int result)
{
    return result == -EPIPE || result == -ETIMEDOUT || result == -EBADMSG;
}

static int open_file(struct symbols *symbols, const struct question *question, struct sym_file *file)
{
    struct sym_open message = {.kind = SYM_OPEN, .key = file->key};
    size_t length = strlen(question->module->path);
    int descriptor = opener_open(symbols->proc, question->process, question->module);
    int result;

    if (length < sizeof(message.path))
        memcpy(message.path, question->module->path, length + 1);
    message.build_id_bytes = files_build_id(question->module, message.build_id);
    result = descriptor < 0 && message.build_id_bytes == 0
                 ? -EACCES
                 : link_open(&symbols->link, &message, descriptor, symbols->options.answer_ns);
    if (descriptor >= 0)
        close(descriptor);
    return result;
}

/* 0 and a symbol, perhaps an empty one; -EAGAIN: cannot be found out now. */
static int look(struct symbols *symbols, const struct question *question, struct symbol **ret_symbol)
{
    struct sym_file *file = files_find(&symbols->files, question->process, question->module);
    int result = -ENOENT;

    if (file == NULL)
        return -EAGAIN;
    for (int attempt = 0; attempt < 2 && result == -ENOENT && !file->bad; attempt++) {
        if (!have_symbolizer(symbols))
            return -EAGAIN;
        result = file->open ? 0 : open_file(symbols, question, file);
        file->open = result == 0;
        if (result == 0)
            result = link_look(&symbols->link, file->key, question->offset, symbols->options.answer_ns, ret_symbol);
        else if (!link_is_lost(result))
            file->bad = true; /* not to be had, or not what was mapped */
        if (link_is_lost(result))
            blame(symbols, file, result);
        if (result == -ENOENT)
            file->open = false; /* the symbolizer had to close it for others */
    }
    if (result != 0) {
        *ret_symbol = symbol_new(NULL, 0);
        result = *ret_symbol != NULL ? 0 : -EAGAIN;
    }
    return result;
}

static void answer(struct symbols *symbols, struct question *question)
{
    struct symbol *symbol = NULL;
    bool named = false, idle;
    int result = symbol_table_find(&question->module->symbols, question->offset) != NULL
                     ? -EEXIST
                     : look(symbols, question, &symbol);

    if (result == 0) {
        named = symbol->frame_count != 0;
        result = symbol_table_add(&question->module->symbols, question->offset, symbol);
    }
    pthread_mutex_lock(&symbols->mutex);
    if (result == 0 && named)
        symbols->counters.named_count++;
    else if (result == 0)
        symbols->counters.unnamed_count++;
    drop(symbols, question);
    idle = symbols->waiting_count == 0;
    pthread_mutex_unlock(&symbols->mutex);
    if (idle && symbols->options.idle != NULL)
        symbols->options.idle(symbols->options.context);
}

static void *run(void *context)
{
    struct symbols *symbols = context;

    pthread_mutex_lock(&symbols->mutex);
    while (!symbols->stopping) {
        struct question *question;

        if (symbols->first == NULL) {
            pthread_cond_wait(&symbols->condition, &symbols->mutex);
            continue;
        }
        question = pop(symbols);
        pthread_mutex_unlock(&symbols->mutex);
        answer(symbols, question);
        pthread_mutex_lock(&symbols->mutex);
    }
    while (symbols->first != NULL)
        drop(symbols, pop(symbols));
    pthread_mutex_unlock(&symbols->mutex);
    return NULL;
}

/* Life ------------------------------------------------------------------------------------------------------------- */

static int start_thread(struct symbols *symbols)
{
    sigset_t all, before;
    int result;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    result = pthread_create(&symbols->thread, NULL, run, symbols);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0)
        return -result;
    symbols->started = true;
    pthread_setname_np(symbols->thread, "ripd-symbols");
    return 0;
}

int symbols_new(struct symbols **ret_symbols, const struct symbols_options *options)
{
    struct symbols *symbols = calloc(1, sizeof(*symbols));
    int result;

    if (symbols == NULL)
        return -ENOMEM;
    symbols->options = *options;
    symbols->last = &symbols->first;
    pthread_mutex_init(&symbols->mutex, NULL);
    pthread_cond_init(&symbols->condition, NULL);
    symbols->program = strdup(options->program);
    symbols->proc = open(options->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    result = symbols->proc < 0 ? -errno : 0;
    if (link_init(&symbols->link) != 0 || symbols->program == NULL)
        result = -ENOMEM;
    if (result == 0)
        result = start_thread(symbols);
    if (result != 0) {
        symbols_free(symbols);
        return result;
    }
    *ret_symbols = symbols;
    return 0;
}

void symbols_free(struct symbols *symbols)
{
    if (symbols == NULL)
        return;
    if (symbols->started) {
        pthread_mutex_lock(&symbols->mutex);
        symbols->stopping = true;
        pthread_cond_signal(&symbols->condition);
        pthread_mutex_unlock(&symbols->mutex);
        pthread_join(symbols->thread, NULL);
    }
    link_done(&symbols->link);
    files_done(&symbols->files);
    if (symbols->proc >= 0)
        close(symbols->proc);
    pthread_cond_destroy(&symbols->condition);
    pthread_mutex_destroy(&symbols->mutex);
    free(symbols->program);
    free(symbols);
}

bool symbols_are_idle(struct symbols *symbols)
{
    bool idle;

    pthread_mutex_lock(&symbols->mutex);
    idle = symbols->waiting_count == 0;
    pthread_mutex_unlock(&symbols->mutex);
    return idle;
}

void symbols_count(struct symbols *symbols, struct symbols_counters *ret_counters)
{
    pthread_mutex_lock(&symbols->mutex);
    *ret_counters = symbols->counters;
    pthread_mutex_unlock(&symbols->mutex);
}
