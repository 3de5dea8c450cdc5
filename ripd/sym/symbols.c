/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - the thread that takes questions in turn, and what becomes of files that symbolizers end over.
 *
 * The thread alone adds to the modules' symbol tables, and alone knows files and the link; the mutex guards the queue
 * and the counters.
 */
#include "sym/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "sym/files.h"
#include "sym/link.h"
#include "sym/opener.h"
#include "sym/queue.h"

#define TRIES_MAX 4 /* a file that had to be opened again, one symbolizer that had gone, two that the file ended */

struct symbols {
    struct symbols_options options;
    char *program;
    int proc;
    int stop; /* an eventfd: readable once the thread is to end */
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    struct sym_queue queue;
    struct symbols_counters counters; /* but for what is taken from the budget */
    struct symbol_budget *budget;
    bool idle;
    bool stopping;
    uint64_t down_until_ns; /* no symbolizer runs, and none is started before; only the thread changes it */
    pthread_t thread;
    bool started;
    bool ended; /* the thread has nothing more to do; this and the next under the mutex */
    bool left;  /* nobody waits for the thread any more: it frees all of this */

    /* the thread's */
    struct sym_link link;
    struct sym_files files;
};

const char *symbols_ending_name(enum symbols_ending ending)
{
#define X(name, text) text,
    static const char *const names[] = {SYMBOLS_ENDING_TABLE(X)};
#undef X
    return names[ending];
}

/* Whether the answer could not be kept. */
static bool has_no_room(const struct symbols *symbols, const struct module_facts *module)
{
    return symbol_table_is_full(&module->symbols) || symbol_budget_is_spent(symbols->budget, module->uid);
}

bool symbols_want(struct symbols *symbols, struct lease *ring, struct process_facts *process,
                  struct module_facts *module, uint64_t offset)
{
    uint64_t now_ns = clock_mono_ns();
    bool waiting;

    if (symbol_table_find(&module->symbols, offset) != NULL)
        return false;
    pthread_mutex_lock(&symbols->mutex);
    waiting = queue_has(&symbols->queue, module, offset);
    if (!waiting && has_no_room(symbols, module)) {
        symbols->counters.unkept_count++;
    } else if (!waiting) {
        waiting = !symbols->stopping && symbols->down_until_ns <= now_ns &&
                  queue_push(&symbols->queue, now_ns, ring, process, module, offset) == 0;
        symbols->counters.refused_count += !waiting;
        symbols->idle = symbols->idle && !waiting;
        pthread_cond_signal(&symbols->condition);
    }
    pthread_mutex_unlock(&symbols->mutex);
    return waiting;
}

/* Asking ----------------------------------------------------------------------------------------------------------- */

static bool is_stopping(struct symbols *symbols)
{
    bool stopping;

    pthread_mutex_lock(&symbols->mutex);
    stopping = symbols->stopping;
    pthread_mutex_unlock(&symbols->mutex);
    return stopping;
}

static void tell(struct symbols *symbols, const struct symbols_trouble *trouble)
{
    if (symbols->options.trouble != NULL && !is_stopping(symbols))
        symbols->options.trouble(symbols->options.context, trouble);
}

/* 0; -EAGAIN: there is none, and will not be for a while. */
static int have_symbolizer(struct symbols *symbols, const struct link_patience *patience)
{
    int result;

    if (symbols->link.descriptor >= 0)
        return 0;
    if (clock_mono_ns() < symbols->down_until_ns)
        return -EAGAIN; /* questions that were waiting when it could not be started */
    result = link_start(&symbols->link, symbols->program, patience);
    files_close_all(&symbols->files);
    if (result == -ECANCELED)
        return -EAGAIN;
    pthread_mutex_lock(&symbols->mutex);
    symbols->counters.started_count += result == 0;
    if (result != 0)
        symbols->down_until_ns = clock_mono_ns() + symbols->options.restart_ns;
    pthread_mutex_unlock(&symbols->mutex);
    if (result == 0)
        return 0;
    tell(symbols, &(struct symbols_trouble){.error = result});
    return -EAGAIN;
}

/* Whether the symbolizer has ended, for a reason that is entered here. */
static bool note_ending(struct symbols *symbols, const struct sym_question *question, struct sym_file *file, int result)
{
    struct symbols_trouble trouble = {.path = question->module->path};

    if (result == -EPIPE)
        trouble.ending = SYMBOLS_ENDING_DIED;
    else if (result == -ETIMEDOUT)
        trouble.ending = SYMBOLS_ENDING_HUNG;
    else if (result == -EBADMSG)
        trouble.ending = SYMBOLS_ENDING_NONSENSE;
    else if (result == -ENOTCONN)
        trouble = (struct symbols_trouble){.ending = SYMBOLS_ENDING_IDLE};
    else
        return false;
    if (trouble.path != NULL)
        trouble.given_up = ++file->strikes >= SYMBOLS_STRIKES_MAX;
    pthread_mutex_lock(&symbols->mutex);
    symbols->counters.ended_counts[trouble.ending]++;
    if (trouble.path != NULL)
        queue_strike(&symbols->queue, question->module->uid, clock_mono_ns(), symbols->options.restart_ns);
    pthread_mutex_unlock(&symbols->mutex);
    tell(symbols, &trouble);
    return true;
}

static struct link_patience patience_with(struct symbols *symbols, uint32_t uid)
{
    struct link_patience patience = {symbols->options.answer_ns, symbols->options.still_ns, symbols->stop};

    pthread_mutex_lock(&symbols->mutex);
    if (queue_strikes(&symbols->queue, uid, clock_mono_ns()) != 0)
        patience.answer_ns /= SYMBOLS_HASTE;
    pthread_mutex_unlock(&symbols->mutex);
    return patience;
}

static uint32_t pid_of(const struct sym_question *question)
{
    return question->process == NULL ? 0 : question->process->pid;
}

/* descriptor: taken over; negative: the symbolizer shall open it itself, if it can tell whether it is the right one. */
static int hand_over(struct symbols *symbols, const struct sym_question *question, const struct sym_file *file,
                     int descriptor, const struct link_patience *patience)
{
    struct sym_open message = {.kind = SYM_OPEN, .key = file->key};
    size_t length = strlen(question->module->path);
    int result;

    if (length < sizeof(message.path))
        memcpy(message.path, question->module->path, length + 1);
    message.build_id_bytes = files_build_id(question->module, message.build_id);
    result = descriptor < 0 && message.build_id_bytes == 0 ? -EACCES
                                                           : link_open(&symbols->link, &message, descriptor, patience);
    if (descriptor >= 0)
        close(descriptor);
    return result;
}

/* Whether somebody may open it who can more than we can; not what is no file, like the vdso. */
static bool can_fetch(const struct symbols *symbols, const struct sym_question *question)
{
    return symbols->options.fetch != NULL && question->ring != NULL && question->process != NULL &&
           question->process->attested && !question->process->dead && strchr(question->module->path, '/') != NULL;
}

/* By ourselves, else by the symbolizer itself, else by whoever can more. -ECANCELED: not now. */
static int open_file(struct symbols *symbols, const struct sym_question *question, struct sym_file *file,
                     const struct link_patience *patience)
{
    int descriptor = opener_open(symbols->proc, question->process, question->module);
    int result = hand_over(symbols, question, file, descriptor, patience);

    if (is_stopping(symbols))
        return -ECANCELED; /* whoever would be called back may be gone */
    if (result == 0 || symbols->link.descriptor < 0 || !can_fetch(symbols, question))
        return result;
    descriptor = symbols->options.fetch(symbols->options.context, question->ring, question->process, question->module,
                                        symbols->stop);
    if (descriptor == -EAGAIN || descriptor == -ECANCELED) {
        file->not_before_ns = clock_mono_ns() + symbols->options.restart_ns;
        return -ECANCELED;
    }
    return descriptor >= 0 ? hand_over(symbols, question, file, descriptor, patience) : result;
}

/* One try. 0 and a symbol; -EAGAIN: try again; -ENOENT: the file is not to be had. */
static int look_once(struct symbols *symbols, const struct sym_question *question, struct sym_file *file,
                     struct symbol **ret_symbol)
{
    struct link_patience patience = patience_with(symbols, file->uid);
    int result = have_symbolizer(symbols, &patience);

    if (result != 0)
        return -ECANCELED;
    result = file->open ? 0 : open_file(symbols, question, file, &patience);
    if (result != 0 && result != -ECANCELED && !note_ending(symbols, question, file, result)) {
        file->unavailable = true;
        file->unavailable_to = pid_of(question);
        return -ENOENT;
    }
    if (result == 0) {
        file->open = true;
        file->unavailable = false;
        result = link_look(&symbols->link, file->key, question->offset, &patience, ret_symbol);
        if (result == 0 || result == -ECANCELED)
            return result;
        file->open = false; /* the symbolizer had to close it for others, or has ended */
        (void)note_ending(symbols, question, file, result);
    }
    return result == -ECANCELED ? result : -EAGAIN;
}

/* 0 and a symbol, perhaps an empty one; -EAGAIN: cannot be found out now. */
static int look(struct symbols *symbols, const struct sym_question *question, struct symbol **ret_symbol)
{
    struct sym_file *file = files_find(&symbols->files, question->process, question->module);
    int result = -EAGAIN;

    if (file == NULL || clock_mono_ns() < file->not_before_ns)
        return -EAGAIN;
    if (file->unavailable && file->unavailable_to == pid_of(question))
        result = -ENOENT;
    for (int i = 0; i < TRIES_MAX && result == -EAGAIN && file->strikes < SYMBOLS_STRIKES_MAX; i++)
        result = look_once(symbols, question, file, ret_symbol);
    if (result == 0)
        return 0;
    if (result == -ECANCELED)
        return -EAGAIN;
    *ret_symbol = symbol_new(NULL, 0);
    return *ret_symbol != NULL ? 0 : -EAGAIN;
}

static void answer(struct symbols *symbols, struct sym_question *question)
{
    struct symbol *symbol = NULL;
    bool named = false;
    int result = 0;

    if (symbol_table_find(&question->module->symbols, question->offset) != NULL)
        result = -EEXIST;
    else if (has_no_room(symbols, question->module)) /* by now: many have been asked at once */
        result = -ENOSPC;
    else
        result = look(symbols, question, &symbol);
    if (result == 0) {
        named = symbol->frame_count != 0;
        result = symbol_table_add(&question->module->symbols, symbols->budget, question->module->uid, question->offset,
                                  symbol);
    }
    pthread_mutex_lock(&symbols->mutex);
    symbols->counters.named_count += result == 0 && named;
    symbols->counters.unnamed_count += result == 0 && !named;
    symbols->counters.unkept_count += result == -ENOSPC;
    symbols->counters.refused_count += result != 0 && result != -EEXIST && result != -ENOSPC;
    queue_drop(&symbols->queue, question);
    pthread_mutex_unlock(&symbols->mutex);
}

/* Until something is asked, or a pause is over. Under the mutex. */
static void rest(struct symbols *symbols, uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};

    if (!symbols->idle) {
        symbols->idle = true;
        pthread_mutex_unlock(&symbols->mutex);
        if (symbols->options.idle != NULL)
            symbols->options.idle(symbols->options.context);
        pthread_mutex_lock(&symbols->mutex);
    } else if (until_ns == UINT64_MAX) {
        pthread_cond_wait(&symbols->condition, &symbols->mutex);
    } else {
        pthread_cond_timedwait(&symbols->condition, &symbols->mutex, &until);
    }
}

static void release(struct symbols *symbols)
{
    link_done(&symbols->link);
    files_done(&symbols->files);
    if (symbols->proc >= 0)
        close(symbols->proc);
    if (symbols->stop >= 0)
        close(symbols->stop);
    pthread_cond_destroy(&symbols->condition);
    pthread_mutex_destroy(&symbols->mutex);
    symbol_budget_unref(symbols->budget);
    free(symbols->program);
    free(symbols);
}

static void *run(void *context)
{
    struct symbols *symbols = context;
    bool left;

    pthread_mutex_lock(&symbols->mutex);
    while (!symbols->stopping) {
        uint64_t until_ns;
        struct sym_question *question = queue_pop(&symbols->queue, clock_mono_ns(), &until_ns);

        if (question == NULL) {
            rest(symbols, until_ns);
            continue;
        }
        symbols->idle = false;
        pthread_mutex_unlock(&symbols->mutex);
        answer(symbols, question);
        pthread_mutex_lock(&symbols->mutex);
    }
    queue_done(&symbols->queue);
    symbols->ended = true;
    left = symbols->left;
    pthread_cond_broadcast(&symbols->condition);
    pthread_mutex_unlock(&symbols->mutex);
    if (left)
        release(symbols);
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

/* The condition's times are of the clock that everything here goes by. */
static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

int symbols_new(struct symbols **ret_symbols, const struct symbols_options *options)
{
    struct symbols *symbols = calloc(1, sizeof(*symbols));
    int result = 0;

    if (symbols == NULL)
        return -ENOMEM;
    symbols->options = *options;
    symbols->queue.hash_key = symbols->files.hash_key = options->hash_key;
    symbols->idle = true;
    pthread_mutex_init(&symbols->mutex, NULL);
    init_condition(&symbols->condition);
    symbols->budget = symbol_budget_new();
    symbols->program = strdup(options->program);
    symbols->proc = open(options->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (symbols->proc < 0)
        result = -errno;
    symbols->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (symbols->stop < 0)
        result = -errno;
    if (link_init(&symbols->link) != 0 || symbols->program == NULL || symbols->budget == NULL)
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

/* Whether the thread has ended. Else it is on its own, and frees everything when it does. */
static bool stop_thread(struct symbols *symbols)
{
    const uint64_t until_ns = clock_mono_ns() + SYMBOLS_STOP_NS;
    const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    bool ended;

    pthread_mutex_lock(&symbols->mutex);
    symbols->stopping = true;
    (void)eventfd_write(symbols->stop, 1);
    pthread_cond_signal(&symbols->condition);
    while (!symbols->ended && clock_mono_ns() < until_ns)
        pthread_cond_timedwait(&symbols->condition, &symbols->mutex, &until);
    ended = symbols->ended;
    symbols->left = !ended;
    if (!ended)
        pthread_detach(symbols->thread);
    pthread_mutex_unlock(&symbols->mutex);
    if (ended)
        pthread_join(symbols->thread, NULL);
    return ended;
}

void symbols_free(struct symbols *symbols)
{
    if (symbols != NULL && (!symbols->started || stop_thread(symbols)))
        release(symbols);
}

bool symbols_are_idle(struct symbols *symbols)
{
    bool idle;

    pthread_mutex_lock(&symbols->mutex);
    idle = symbols->idle;
    pthread_mutex_unlock(&symbols->mutex);
    return idle;
}

void symbols_count(struct symbols *symbols, struct symbols_counters *ret_counters)
{
    pthread_mutex_lock(&symbols->mutex);
    *ret_counters = symbols->counters;
    pthread_mutex_unlock(&symbols->mutex);
    ret_counters->kept_bytes = symbol_budget_bytes(symbols->budget);
}
