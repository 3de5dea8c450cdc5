/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - the thread that answers queries in turn, and what is remembered about files.
 *
 * Only the thread adds to the modules' symbol tables, and uses the files and the symbolizer. The mutex protects the
 * queries, the accounts and the counters.
 */
#include "sym/symbols.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cases/symbol_charges.h"
#include "os/clock.h"
#include "sym/protocol.h"
#include "util/text.h"
#include "work/jobs.h"

#define TRIES_MAX 4 /* file opened again: 1; symbolizer gone: 1; symbolizers that the file ended: 2 */
#define BUCKETS 4096u
#define NO_QUERY UINT32_MAX

struct query {
    struct lease *ring;            /* owned reference, or NULL: of the ring that names the place */
    struct process_facts *process; /* owned reference, or NULL */
    struct module_facts *module;   /* owned reference */
    uint64_t offset;
    uint32_t user;
    uint32_t next; /* in its bucket, or in the free list */
};

struct file {
    uint64_t key;            /* see key_of() */
    bool open;               /* the symbolizer has it open, unless it had to close it */
    bool unavailable;        /* it could not be opened */
    uint32_t unavailable_to; /* through the process with this pid; another process may succeed */
    unsigned strikes;        /* number of symbolizers that ended on it */
    uint64_t not_before_ns;  /* when to try it again after a shortage */
};

struct symbols {
    struct symbols_options options;
    int stop; /* eventfd: readable when the thread must end */
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    struct work *work;
    struct query *queries;     /* SYMBOLS_QUERIES_MAX, indexed by the subject of the job */
    uint32_t buckets[BUCKETS]; /* index of the first query of each */
    uint32_t first_free;
    uint64_t number;
    struct symbol_charges charges;
    struct symbols_counters counters;
    bool idle;
    bool stopping;
    uint64_t down_until_ns; /* no symbolizer runs, and none is started before this time; written only by the thread */
    pthread_t thread;
    bool started;

    /* Used only by the thread. */
    struct child *child;
    struct file files[SYMBOLS_FILES_MAX];
    size_t file_count;
    unsigned char packet[SYM_PACKET_BYTES];
};

/* Queries; all under the mutex ------------------------------------------------------------------------------------- */

static uint32_t *bucket_of(struct symbols *symbols, const struct module_facts *module, uint64_t offset)
{
    const uint64_t parts[] = {(uintptr_t)module, offset};

    return &symbols->buckets[hash_bytes(&symbols->options.hash_key, parts, sizeof(parts)) % BUCKETS];
}

static bool is_pending(struct symbols *symbols, const struct module_facts *module, uint64_t offset)
{
    uint32_t at = *bucket_of(symbols, module, offset);

    while (at != NO_QUERY && (symbols->queries[at].module != module || symbols->queries[at].offset != offset))
        at = symbols->queries[at].next;
    return at != NO_QUERY;
}

/* Returns false if a limit is reached or out of memory. */
static bool push_query(struct symbols *symbols, struct lease *ring, struct process_facts *process,
                       struct module_facts *module, uint64_t offset)
{
    uint32_t user = work_user(symbols->work, module->uid), at = symbols->first_free, *bucket;
    const struct work_job job = {.order = symbols->number++, .subject = at};

    if (!work_take(symbols->work, user, WORK_SYMBOL_QUERIES, 1))
        return false;
    if (at == NO_QUERY || work_push(symbols->work, user, job) != 0) {
        work_give(symbols->work, user, WORK_SYMBOL_QUERIES, 1);
        return false;
    }
    symbols->first_free = symbols->queries[at].next;
    bucket = bucket_of(symbols, module, offset);
    symbols->queries[at] = (struct query){
        .ring = lease_ref(ring),
        .process = process == NULL ? NULL : process_facts_ref(process),
        .module = module_facts_ref(module),
        .offset = offset,
        .user = user,
        .next = *bucket,
    };
    *bucket = at;
    return true;
}

static void drop_query(struct symbols *symbols, uint32_t at)
{
    struct query *query = &symbols->queries[at];
    uint32_t *link = bucket_of(symbols, query->module, query->offset);

    while (*link != at)
        link = &symbols->queries[*link].next;
    *link = query->next;
    work_give(symbols->work, query->user, WORK_SYMBOL_QUERIES, 1);
    lease_unref(query->ring);
    process_facts_unref(query->process);
    module_facts_unref(query->module);
    *query = (struct query){.next = symbols->first_free};
    symbols->first_free = at;
}

/* Returns true if there is no room for an answer of any size. */
static bool has_no_room(struct symbols *symbols, const struct module_facts *module)
{
    uint32_t user = work_user(symbols->work, module->uid);

    if (symbol_table_is_full(&module->symbols))
        return true;
    if (work_has_room(symbols->work, user, WORK_SYMBOL_BYTES, SYM_PACKET_BYTES))
        return false;
    symbol_charges_settle(&symbols->charges);
    if (work_has_room(symbols->work, user, WORK_SYMBOL_BYTES, SYM_PACKET_BYTES))
        return false;
    work_refuse(symbols->work, user, WORK_SYMBOL_BYTES, 1);
    return true;
}

bool symbols_want(struct symbols *symbols, struct lease *ring, struct process_facts *process,
                  struct module_facts *module, uint64_t offset)
{
    uint64_t now_ns = clock_mono_ns();
    bool waiting;

    if (symbol_table_find(&module->symbols, offset) != NULL)
        return false;
    pthread_mutex_lock(&symbols->mutex);
    waiting = is_pending(symbols, module, offset);
    if (!waiting && has_no_room(symbols, module)) {
        symbols->counters.unkept_count++;
    } else if (!waiting) {
        waiting = !symbols->stopping && symbols->down_until_ns <= now_ns &&
                  push_query(symbols, ring, process, module, offset);
        symbols->counters.refused_count += !waiting;
        symbols->idle = symbols->idle && !waiting;
        pthread_cond_signal(&symbols->condition);
    }
    pthread_mutex_unlock(&symbols->mutex);
    return waiting;
}

/* Files; the thread's ---------------------------------------------------------------------------------------------- */

/*
 * A file is identified by the owner of the ring that names it, and by its build id. Without a build id it is identified
 * by its process, its path and its address. So a forged file gives no names to rings of other owners. Users do not know
 * the hash key, so a user cannot make two files with the same key.
 */
static uint64_t key_of(const struct symbols *symbols, const struct process_facts *process,
                       const struct module_facts *module)
{
    const struct hash_key *hash_key = &symbols->options.hash_key;
    const bool has_build_id = module->build_id[0] != '\0', is_of_process = !has_build_id && process != NULL;
    const uint64_t parts[] = {
        (uint64_t)module->uid << 32 | (is_of_process ? process->pid : 0),
        is_of_process ? process->start_time_ticks : 0,
        has_build_id ? 0 : module->start,
        hash_text(hash_key, has_build_id ? module->build_id : module->path),
    };

    return hash_bytes(hash_key, parts, sizeof(parts));
}

/* Returns the entry for the file of a module; makes one if needed. */
static struct file *find_file(struct symbols *symbols, const struct process_facts *process,
                              const struct module_facts *module)
{
    const uint64_t key = key_of(symbols, process, module);

    for (size_t i = 0; i < symbols->file_count; i++)
        if (symbols->files[i].key == key)
            return &symbols->files[i];
    if (symbols->file_count == SYMBOLS_FILES_MAX)
        symbols->file_count = 0;
    symbols->files[symbols->file_count] = (struct file){.key = key};
    return &symbols->files[symbols->file_count++];
}

/* The symbolizer; the thread's ------------------------------------------------------------------------------------- */

static void report(const struct symbols *symbols, const struct symbols_trouble *trouble)
{
    if (symbols->options.trouble != NULL)
        symbols->options.trouble(symbols->options.context, trouble);
}

/* Returns true if a symbolizer runs; starts one if possible. */
static bool have_symbolizer(struct symbols *symbols)
{
    int result;

    if (child_runs(symbols->child))
        return true;
    if (clock_mono_ns() < symbols->down_until_ns)
        return false; /* queries that waited when it could not be started */
    result = child_start(symbols->child, symbols->stop);
    for (size_t i = 0; i < symbols->file_count; i++)
        symbols->files[i].open = false;
    if (result == 0 || result == -ECANCELED)
        return result == 0;
    pthread_mutex_lock(&symbols->mutex);
    symbols->down_until_ns = clock_mono_ns() + symbols->options.restart_ns;
    pthread_mutex_unlock(&symbols->mutex);
    report(symbols, &(struct symbols_trouble){.error = result});
    return false;
}

/* Handles the end of a symbolizer. CHILD_IDLE: it was not reading a file. */
static void note_end(struct symbols *symbols, const struct query *query, struct file *file, enum child_end end)
{
    struct symbols_trouble trouble = {.end = end};
    uint64_t until_ns;

    if (end != CHILD_IDLE) {
        trouble.path = query->module->path;
        trouble.given_up = ++file->strikes >= SYMBOLS_STRIKES_MAX;
        until_ns = child_pause_end(symbols->child, query->user);
        pthread_mutex_lock(&symbols->mutex);
        work_pause(symbols->work, query->user, until_ns);
        pthread_mutex_unlock(&symbols->mutex);
    }
    report(symbols, &trouble);
}

/*
 * Stores the answer in symbols->packet and returns its length. Returns -ECANCELED if not possible now, or -EPIPE if the
 * symbolizer ended, which has been handled.
 */
static ssize_t ask(struct symbols *symbols, const struct query *query, struct file *file, const void *message,
                   size_t count, int descriptor)
{
    const bool is_shortened = child_user_ends(symbols->child, query->user) != 0;
    const struct child_query asked = {
        .bytes = message,
        .count = count,
        .descriptor = descriptor,
        .user = query->user,
        .wait = {.limit_ns = symbols->options.answer_ns / (is_shortened ? SYMBOLS_TIMEOUT_DIVISOR : 1),
                 .still_ns = symbols->options.still_ns,
                 .cancel = symbols->stop},
    };
    ssize_t bytes = child_ask(symbols->child, &asked, symbols->packet, sizeof(symbols->packet), NULL);

    if (bytes > 0 || bytes == -ECANCELED)
        return bytes;
    note_end(symbols, query, file,
             bytes == -ETIMEDOUT  ? CHILD_HUNG
             : bytes == -EBADMSG  ? CHILD_NONSENSE
             : bytes == -ENOTCONN ? CHILD_IDLE
                                  : CHILD_DIED);
    return -EPIPE;
}

static ssize_t handle_nonsense(struct symbols *symbols, const struct query *query, struct file *file)
{
    child_drop(symbols->child, CHILD_NONSENSE, query->user, 0);
    note_end(symbols, query, file, CHILD_NONSENSE);
    return -EPIPE;
}

/* Converts the build id of a module to bytes. Returns their number, 0 if it has none. */
static uint32_t build_id_bytes(const struct module_facts *module, uint8_t ret_bytes[SYM_BUILD_ID_BYTES])
{
    const size_t count = strnlen(module->build_id, 2 * SYM_BUILD_ID_BYTES) / 2;

    return text_hex_bytes(module->build_id, ret_bytes, count) ? (uint32_t)count : 0;
}

/*
 * Takes ownership of descriptor. If it is negative, the symbolizer opens the path, provided that it can check the build
 * id. Returns 0, the symbolizer's -errno, -ECANCELED if not possible now, or -EPIPE.
 */
static int hand_over(struct symbols *symbols, const struct query *query, struct file *file, int descriptor)
{
    struct sym_open message = {.kind = SYM_OPEN, .key = file->key};
    size_t length = strlen(query->module->path);
    struct sym_opened opened;
    ssize_t bytes;

    if (length < sizeof(message.path))
        memcpy(message.path, query->module->path, length + 1);
    message.build_id_bytes = build_id_bytes(query->module, message.build_id);
    if (descriptor < 0 && message.build_id_bytes == 0)
        return -EACCES;
    bytes = ask(symbols, query, file, &message, sizeof(message), descriptor);
    if (descriptor >= 0)
        close(descriptor);
    if (bytes < 0)
        return (int)bytes;
    memcpy(&opened, symbols->packet, sizeof(opened));
    if (bytes != sizeof(opened) || opened.kind != SYM_OPENED || opened.key != file->key || opened.status > 0 ||
        opened.status == -EPIPE || opened.status == -ECANCELED)
        return (int)handle_nonsense(symbols, query, file);
    return opened.status;
}

/* Errors that prove nothing about the file. */
static bool is_shortage(int error)
{
    return error == -EAGAIN || error == -EMFILE || error == -ENFILE || error == -ECANCELED;
}

/* Opens a file, by the fetcher or else by the symbolizer. Returns as hand_over() does. */
static int open_file(struct symbols *symbols, const struct query *query, struct file *file)
{
    const struct process_facts *process = query->process;
    int result = -EACCES;

    if (symbols->options.fetch != NULL && query->ring != NULL && process != NULL && process->attested &&
        !process->dead && strchr(query->module->path, '/') != NULL) /* the vdso is not a file */
        result = symbols->options.fetch(symbols->options.context, query->ring, process, query->module, symbols->stop);
    if (!is_shortage(result))
        result = hand_over(symbols, query, file, result);
    if (!is_shortage(result))
        return result;
    file->not_before_ns = clock_mono_ns() + symbols->options.restart_ns;
    return -ECANCELED;
}

/* Answers -----------------------------------------------------------------------------------------------------------*/

static uint32_t pid_of(const struct query *query)
{
    return query->process == NULL ? 0 : query->process->pid;
}

/*
 * Tries once. Returns 0 and a symbol, -EAGAIN to try again, -ENOENT if the file cannot be opened, or -ECANCELED if not
 * possible now.
 */
static int look_once(struct symbols *symbols, const struct query *query, struct file *file, struct symbol **ret_symbol)
{
    const struct sym_look look = {.kind = SYM_LOOK, .key = file->key, .offset = query->offset};
    struct sym_found found = {0};
    ssize_t bytes;
    int result;

    if (child_is_held_up(symbols->child, query->user) || !have_symbolizer(symbols))
        return -ECANCELED;
    result = file->open ? 0 : open_file(symbols, query, file);
    if (result != 0) {
        if (result == -ECANCELED || result == -EPIPE)
            return result == -EPIPE ? -EAGAIN : result;
        file->unavailable = true;
        file->unavailable_to = pid_of(query);
        return -ENOENT;
    }
    file->open = true;
    file->unavailable = false;
    bytes = ask(symbols, query, file, &look, sizeof(look), -1);
    if (bytes == -ECANCELED)
        return -ECANCELED;
    file->open = false; /* until there is a symbol: the symbolizer may have ended, or closed it for others */
    if (bytes < 0)
        return -EAGAIN;
    if (bytes >= (ssize_t)sizeof(found))
        memcpy(&found, symbols->packet, sizeof(found));
    if (found.kind == SYM_FOUND && found.key == look.key && found.offset == look.offset && found.status == -ENOENT)
        return -EAGAIN;
    *ret_symbol = sym_found_parse(symbols->packet, (size_t)bytes, look.key, look.offset);
    if (*ret_symbol == NULL) {
        (void)handle_nonsense(symbols, query, file);
        return -EAGAIN;
    }
    file->open = true;
    return 0;
}

/* Returns 0 and a symbol, perhaps an empty one, or -EAGAIN if it cannot be found now. */
static int look(struct symbols *symbols, const struct query *query, struct symbol **ret_symbol)
{
    struct file *file = find_file(symbols, query->process, query->module);
    int result = -EAGAIN;

    if (clock_mono_ns() < file->not_before_ns)
        return -EAGAIN;
    if (file->unavailable && file->unavailable_to == pid_of(query))
        result = -ENOENT;
    for (int i = 0; i < TRIES_MAX && result == -EAGAIN && file->strikes < SYMBOLS_STRIKES_MAX; i++)
        result = look_once(symbols, query, file, ret_symbol);
    if (result == 0)
        return 0;
    if (result == -ECANCELED)
        return -EAGAIN;
    *ret_symbol = symbol_new(NULL, 0);
    return *ret_symbol != NULL ? 0 : -EAGAIN;
}

/* Caller holds the mutex, which is released meanwhile. */
static void answer(struct symbols *symbols, uint32_t at)
{
    struct query *query = &symbols->queries[at]; /* stays valid: it is dropped below */
    uint64_t before_ns = clock_mono_ns();
    struct symbol *symbol = NULL;
    bool named = false;
    int result = 0;

    if (symbol_table_find(&query->module->symbols, query->offset) != NULL)
        result = -EEXIST;
    else if (has_no_room(symbols, query->module)) /* many were queued at once: check again */
        result = -ENOSPC;
    if (result == 0) {
        pthread_mutex_unlock(&symbols->mutex);
        result = look(symbols, query, &symbol);
        pthread_mutex_lock(&symbols->mutex);
    }
    if (result == 0) {
        named = symbol->frame_count != 0;
        result = symbol_charges_add(&symbols->charges, query->user, &query->module->symbols, query->offset, symbol);
    }
    symbols->counters.named_count += result == 0 && named;
    symbols->counters.unnamed_count += result == 0 && !named;
    symbols->counters.unkept_count += result == -ENOSPC;
    symbols->counters.refused_count += result != 0 && result != -EEXIST && result != -ENOSPC;
    work_spend(symbols->work, query->user, clock_mono_ns() - before_ns);
    drop_query(symbols, at);
}

/* Waits for a query, or until a pause is over. Caller holds the mutex. */
static void wait_for_query(struct symbols *symbols, uint64_t until_ns)
{
    struct timespec until = clock_timespec(until_ns);

    if (!symbols->idle) {
        symbols->idle = true;
        if (until_ns == UINT64_MAX)
            work_begin(symbols->work);
        pthread_mutex_unlock(&symbols->mutex);
        if (symbols->options.idle != NULL)
            symbols->options.idle(symbols->options.context);
        pthread_mutex_lock(&symbols->mutex);
    } else {
        pthread_cond_clockwait(&symbols->condition, &symbols->mutex, CLOCK_MONOTONIC, &until);
    }
}

static void *run(void *context)
{
    struct symbols *symbols = context;

    pthread_mutex_lock(&symbols->mutex);
    while (!symbols->stopping) {
        struct work_job job;
        uint32_t user;

        if (work_next(symbols->work, clock_mono_ns(), UINT16_MAX, &job, &user)) {
            symbols->idle = false;
            answer(symbols, job.subject);
        } else {
            wait_for_query(symbols, work_next_due(symbols->work));
        }
    }
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

static int init_queries(struct symbols *symbols)
{
    symbols->work = work_new();
    symbols->charges = (struct symbol_charges){.work = symbols->work, .limit = WORK_SYMBOL_BYTES};
    symbols->queries = calloc(SYMBOLS_QUERIES_MAX, sizeof(*symbols->queries));
    if (symbols->work == NULL || symbols->queries == NULL)
        return -ENOMEM;
    work_set_total(symbols->work, WORK_SYMBOL_QUERIES, SYMBOLS_QUERIES_MAX);
    work_set_total(symbols->work, WORK_SYMBOL_BYTES, SYMBOLS_BYTES_MAX);
    for (uint32_t i = 0; i < SYMBOLS_QUERIES_MAX; i++)
        symbols->queries[i].next = i + 1 < SYMBOLS_QUERIES_MAX ? i + 1 : NO_QUERY;
    for (size_t i = 0; i < BUCKETS; i++)
        symbols->buckets[i] = NO_QUERY;
    return work_set_ranges(symbols->work, symbols->options.ranges, symbols->options.range_count);
}

int symbols_new(struct symbols **ret_symbols, const struct symbols_options *options)
{
    const struct child_options child_options = {
        .program = options->program, .ready = SYM_READY, .pause_ns = options->restart_ns, .user_ends = 1};
    struct symbols *symbols = calloc(1, sizeof(*symbols));
    int result;

    if (symbols == NULL)
        return -ENOMEM;
    symbols->options = *options;
    symbols->idle = true;
    pthread_mutex_init(&symbols->mutex, NULL);
    pthread_cond_init(&symbols->condition, NULL);
    symbols->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    result = symbols->stop < 0 ? -errno : init_queries(symbols);
    if (result == 0)
        result = child_new(&symbols->child, &child_options);
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
    struct work_job job;
    uint32_t user;

    if (symbols == NULL)
        return;
    pthread_mutex_lock(&symbols->mutex);
    symbols->stopping = true;
    pthread_cond_signal(&symbols->condition);
    pthread_mutex_unlock(&symbols->mutex);
    if (symbols->stop >= 0)
        (void)eventfd_write(symbols->stop, 1);
    if (symbols->started)
        pthread_join(symbols->thread, NULL);
    while (symbols->work != NULL && work_next(symbols->work, UINT64_MAX, UINT16_MAX, &job, &user))
        drop_query(symbols, job.subject);
    symbol_charges_done(&symbols->charges);
    child_free(symbols->child);
    if (symbols->stop >= 0)
        close(symbols->stop);
    pthread_cond_destroy(&symbols->condition);
    pthread_mutex_destroy(&symbols->mutex);
    work_free(symbols->work);
    free(symbols->queries);
    free(symbols);
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
    symbol_charges_settle(&symbols->charges);
    *ret_counters = symbols->counters;
    ret_counters->kept_bytes = symbols->charges.bytes;
    pthread_mutex_unlock(&symbols->mutex);
    child_count(symbols->child, &ret_counters->symbolizers);
}

bool symbols_account(struct symbols *symbols, size_t index, struct work_account *ret_account)
{
    bool found;

    pthread_mutex_lock(&symbols->mutex);
    found = work_account(symbols->work, index, ret_account);
    pthread_mutex_unlock(&symbols->mutex);
    return found;
}
