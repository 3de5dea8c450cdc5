/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_history.c - a queue between the scanner and the thread that writes. Touches the state directory.
 *
 *   add ---> queue ---> append ---> sync ---> written
 *     \                   |
 *      +--> open <--------+ an episode leaves when its end is written
 *
 * The lock is held for moments only, never while a file is touched: the scanner waits for no disk.
 *
 * A gap between what is written and what comes next, because the queue was full for a while, or because a sync failed
 * (the kernel reports that once, and may have dropped the pages), is bridged by a new file: its head has the last
 * numbers and carries what was open at that point, which is all that has to survive.
 */
#include "record/event_history.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "record/event_file.h"
#include "record/event_line.h"
#include "record/event_load.h"

#define BATCH_MAX 64u /* lines between two syncs, while there are more */
#define SECOND_NS UINT64_C(1000000000)
#define TURN_RETRY_NS (60 * SECOND_NS)

struct entry {
    struct event *event; /* a reference; NULL: only a subject */
    struct event_subject subject;
};

struct event_history {
    struct event_file file;
    struct event_load load; /* until the start */
    char aside[EVENT_FILE_ASIDE_BYTES];
    bool torn;
    uint64_t epoch;
    int descriptor;
    pthread_t thread;
    bool started;
    bool headless;         /* the present file has no epoch: a new one is due; of the thread */
    uint64_t turn_mono_ns; /* a file that is full is not followed by the next before this; of the thread */

    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t changed;
    struct entry queue[EVENT_HISTORY_QUEUE_MAX]; /* a ring */
    size_t first;
    size_t count;
    struct event_open_set open;
    uint64_t sequence; /* of the last event that was added, or found */
    uint64_t episode;
    struct event_history_state state;
    bool stopping;
    bool stopped; /* the thread touches nothing of this any more, once the lock is free */
};

static int history_init(struct event_history *history)
{
    pthread_condattr_t attributes;

    history->descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (history->descriptor < 0)
        return -errno;
    history->file = (struct event_file){.directory = -1, .lock = -1, .descriptor = -1};
    pthread_mutex_init(&history->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&history->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return 0;
}

static void history_free(struct event_history *history)
{
    for (; history->count != 0; history->count--)
        event_unref(history->queue[history->first++ % EVENT_HISTORY_QUEUE_MAX].event);
    event_open_done(&history->open);
    event_load_done(&history->load);
    event_file_close(&history->file);
    close(history->descriptor);
    pthread_cond_destroy(&history->changed);
    pthread_mutex_destroy(&history->mutex);
    free(history);
}

/* A file without any line of ours is moved out of the way. *ret_complete_bytes: up to its last whole line. */
static int load_file(struct event_history *history, const char *name, uint64_t *ret_complete_bytes)
{
    struct event_load *load = &history->load;
    uint64_t lines_before = load->line_count, damaged_before = load->damaged_count;
    struct file_identity identity;
    int status;

    *ret_complete_bytes = 0;
    status = file_identify_at(history->file.directory, name, &identity);
    if (status != 0)
        return status == -ENOENT ? 0 : status;
    status = event_file_read(&history->file, name, event_load_line, load, ret_complete_bytes);
    if (status != 0 || load->line_count != lines_before || identity.size_bytes == 0)
        return status;
    load->damaged_count = damaged_before;
    *ret_complete_bytes = 0;
    return event_file_set_aside(&history->file, name, history->aside);
}

/* Reads both files. A last line without an end is cut off. 0 or -errno. */
static int load_files(struct event_history *history)
{
    struct event_file *file = &history->file;
    uint64_t complete_bytes;
    int status = load_file(history, EVENT_FILE_OLDER_NAME, &complete_bytes);

    if (status == 0)
        status = load_file(history, EVENT_FILE_NAME, &complete_bytes);
    history->torn = status == 0 && file->descriptor >= 0 && complete_bytes < file->bytes;
    return history->torn ? event_file_cut(file, complete_bytes) : status;
}

int event_history_open(struct event_history **ret_history, const char *path, uint64_t epoch, char **ret_error)
{
    struct event_history *history = calloc(1, sizeof(*history));
    int status = history != NULL ? history_init(history) : -ENOMEM;

    *ret_error = NULL;
    if (status != 0) {
        free(history);
        return status;
    }
    status = event_file_open(&history->file, path, ret_error);
    if (status == 0 && (status = load_files(history)) != 0 &&
        asprintf(ret_error, "state directory '%s': cannot read its history: %s", path, strerror(-status)) < 0)
        *ret_error = NULL;
    if (status != 0) {
        history_free(history);
        return status;
    }
    history->headless = history->load.epoch == 0;
    history->epoch = history->headless ? epoch : history->load.epoch;
    history->sequence = history->state.written = history->load.sequence;
    history->episode = history->load.episode;
    *ret_history = history;
    return 0;
}

void event_history_found(const struct event_history *history, struct event_history_found *ret_found)
{
    const struct event_load *load = &history->load;

    *ret_found = (struct event_history_found){
        .epoch = history->epoch,
        .sequence = load->sequence,
        .episode = load->episode,
        .events = load->events != NULL ? load->events + load->dropped_count : NULL,
        .event_count = load->event_count - load->dropped_count,
        .open = load->open.episodes,
        .open_count = load->open.count,
        .damaged_count = load->damaged_count,
        .torn = history->torn,
        .aside = history->aside[0] != '\0' ? history->aside : NULL,
    };
}

static void notify(struct event_history *history)
{
    (void)eventfd_write(history->descriptor, 1); /* fails only where it is readable anyway */
}

/* The head of a file: its first line, and a line for each episode that was open. */
static int format_head(struct event_line line, const struct event_open_set *open, char **ret_text, size_t *ret_length)
{
    char *text = NULL;
    size_t length = 0;

    for (size_t i = 0; i <= open->count; i++) {
        char *one, *longer;
        size_t one_length;
        int status = event_line_format(&line, &one, &one_length);

        longer = status == 0 ? realloc(text, length + one_length) : NULL;
        if (longer != NULL) {
            text = longer;
            memcpy(text + length, one, one_length);
            length += one_length;
        }
        if (status == 0)
            free(one);
        if (longer == NULL) {
            free(text);
            return -ENOMEM;
        }
        if (i < open->count)
            line = (struct event_line){EVENT_LINE_CARRIED, open->episodes[i].begin, open->episodes[i].subject, 0, 0, 0};
    }
    *ret_text = text;
    *ret_length = length;
    return 0;
}

/* The next file, behind the event of that sequence. */
static int turn(struct event_history *history, uint64_t sequence)
{
    struct event_line line = {.kind = EVENT_LINE_HISTORY, .epoch = history->epoch, .sequence = sequence};
    struct event_open_set open = {0};
    size_t length;
    char *text;
    int status;

    pthread_mutex_lock(&history->mutex);
    line.episode = history->episode;
    status = event_open_copy(&history->open, sequence, &open);
    pthread_mutex_unlock(&history->mutex);
    if (status != 0)
        return status;
    status = format_head(line, &open, &text, &length);
    event_open_done(&open);
    if (status != 0)
        return status;
    status = event_file_turn(&history->file, text, length);
    free(text);
    if (status != 0)
        return status;
    history->headless = false;
    pthread_mutex_lock(&history->mutex);
    event_open_forget(&history->open, sequence);
    pthread_mutex_unlock(&history->mutex);
    return 0;
}

static int write_entry(struct event_history *history, const struct entry *entry)
{
    struct event_line line = {
        entry->event != NULL ? EVENT_LINE_EVENT : EVENT_LINE_SUBJECT, entry->event, entry->subject, 0, 0, 0};
    size_t length;
    char *text;
    int status = event_line_format(&line, &text, &length);

    if (status != 0)
        return status;
    status = event_file_append(&history->file, text, length);
    free(text);
    return status;
}

/* One step of the thread's work; the lock is held on entry and on return, not in between. */
struct task {
    bool turning;
    uint64_t sequence; /* of the event to write, or behind which a file begins */
    struct entry entry;
};

/* What to do next. False: nothing. */
static bool task_next(const struct event_history *history, uint64_t appended, struct task *ret_task)
{
    const struct entry *entry = &history->queue[history->first % EVENT_HISTORY_QUEUE_MAX];
    uint64_t before = history->sequence; /* the last event that there is no entry for */

    for (size_t i = 0; i < history->count; i++) {
        const struct event *event = history->queue[(history->first + i) % EVENT_HISTORY_QUEUE_MAX].event;

        if (event != NULL) {
            before = event->sequence - 1;
            break;
        }
    }
    if (before > appended || history->file.descriptor < 0 ||
        ((history->headless || event_file_is_full(&history->file)) && clock_mono_ns() >= history->turn_mono_ns)) {
        *ret_task = (struct task){.turning = true, .sequence = before > appended ? before : appended};
        return true;
    }
    if (history->count == 0)
        return false;
    *ret_task = (struct task){.sequence = entry->event != NULL ? entry->event->sequence : appended, .entry = *entry};
    return true;
}

static void entry_drop(struct event_history *history)
{
    struct entry *entry = &history->queue[history->first % EVENT_HISTORY_QUEUE_MAX];

    if (entry->event != NULL && entry->event->kind == EVENT_END)
        event_open_remove(&history->open, entry->event->episode);
    event_unref(entry->event);
    entry->event = NULL;
    history->first = (history->first + 1) % EVENT_HISTORY_QUEUE_MAX;
    history->count--;
}

/* Waits for more to do, for a second attempt, or for the end. */
static void wait_for_change(struct event_history *history)
{
    const struct timespec until = clock_timespec(clock_mono_ns() + EVENT_HISTORY_RETRY_NS);

    if (history->state.error != 0)
        pthread_cond_timedwait(&history->changed, &history->mutex, &until);
    else
        pthread_cond_wait(&history->changed, &history->mutex);
}

/* Writes until there is nothing left, a batch is full, or something fails. Returns the last sequence appended. */
static uint64_t write_batch(struct event_history *history, int *ret_error)
{
    uint64_t appended = history->state.written;
    struct task task;
    int error = 0;

    for (unsigned i = 0; i < BATCH_MAX && error == 0 && task_next(history, appended, &task); i++) {
        pthread_mutex_unlock(&history->mutex);
        error = task.turning ? turn(history, task.sequence) : write_entry(history, &task.entry);
        pthread_mutex_lock(&history->mutex);
        if (error != 0) {
            history->turn_mono_ns = clock_mono_ns() + TURN_RETRY_NS; /* until then the present file does */
            break;
        }
        appended = task.sequence;
        if (!task.turning)
            entry_drop(history);
    }
    *ret_error = error;
    return appended;
}

static void *history_main(void *argument)
{
    struct event_history *history = argument;
    bool stopping = false;

    pthread_mutex_lock(&history->mutex);
    while (!stopping) {
        uint64_t appended;
        struct task task;
        bool idle;
        int error;

        appended = write_batch(history, &error);
        if (appended != history->state.written) {
            int sync_error;

            pthread_mutex_unlock(&history->mutex);
            sync_error = fdatasync(history->file.descriptor) == 0 ? 0 : -errno;
            pthread_mutex_lock(&history->mutex);
            error = error != 0 ? error : sync_error;
            if (sync_error != 0)
                appended = history->state.written; /* the others may be lost: a gap, for a new file */
        }
        if (appended != history->state.written || error != history->state.error) {
            history->state.written = appended;
            history->state.error = error;
            notify(history);
        }
        idle = error != 0 || !task_next(history, appended, &task);
        stopping = history->stopping && idle;
        if (!stopping && idle)
            wait_for_change(history);
    }
    history->stopped = true;
    pthread_cond_signal(&history->changed);
    pthread_mutex_unlock(&history->mutex);
    return NULL;
}

int event_history_start(struct event_history *history)
{
    int status;

    history->open = history->load.open;
    history->load.open = (struct event_open_set){0};
    event_load_forget_events(&history->load);
    status = pthread_create(&history->thread, NULL, history_main, history);
    history->started = status == 0;
    return -status;
}

static void push(struct event_history *history, struct event *event, const struct event_subject *subject)
{
    struct entry *entry = &history->queue[(history->first + history->count) % EVENT_HISTORY_QUEUE_MAX];

    if (history->count == EVENT_HISTORY_QUEUE_MAX) {
        history->state.lost_count += event != NULL;
        return;
    }
    *entry = (struct entry){.event = event != NULL ? event_ref(event) : NULL};
    if (subject != NULL)
        entry->subject = *subject;
    history->count++;
    pthread_cond_signal(&history->changed);
}

void event_history_add(struct event_history *history, struct event *event, const struct event_subject *subject)
{
    struct event_open *open;

    pthread_mutex_lock(&history->mutex);
    history->sequence = event->sequence;
    if (event->kind == EVENT_BEGIN) {
        history->episode = event->episode;
        (void)event_open_add(&history->open, event, subject); /* without memory its line may go with its file */
    } else {
        open = event_open_find(&history->open, event->episode);
        if (open != NULL)
            open->end_sequence = event->sequence;
    }
    push(history, event, subject);
    pthread_mutex_unlock(&history->mutex);
}

void event_history_stall_again(struct event_history *history, uint64_t episode, uint64_t progress,
                               uint64_t frozen_mono_ns, uint64_t moved_after_mono_ns)
{
    struct event_open *open;

    pthread_mutex_lock(&history->mutex);
    open = event_open_find(&history->open, episode);
    if (open != NULL) {
        open->subject.stall_count++;
        open->subject.progress = progress;
        open->subject.frozen_mono_ns = frozen_mono_ns;
        open->subject.moved_after_mono_ns = moved_after_mono_ns;
        push(history, NULL, &open->subject);
    }
    pthread_mutex_unlock(&history->mutex);
}

void event_history_state(struct event_history *history, struct event_history_state *ret_state)
{
    eventfd_t count;

    (void)eventfd_read(history->descriptor, &count);
    pthread_mutex_lock(&history->mutex);
    *ret_state = history->state;
    pthread_mutex_unlock(&history->mutex);
}

int event_history_descriptor(const struct event_history *history)
{
    return history->descriptor;
}

/* Asks the thread to end, and waits for that on the monotonic clock. False: it has not ended in time. */
static bool has_stopped(struct event_history *history)
{
    const struct timespec until = clock_timespec(clock_mono_ns() + EVENT_HISTORY_CLOSE_NS);
    bool stopped;

    pthread_mutex_lock(&history->mutex);
    history->stopping = true;
    pthread_cond_signal(&history->changed);
    while (!history->stopped && pthread_cond_timedwait(&history->changed, &history->mutex, &until) == 0)
        continue;
    stopped = history->stopped;
    pthread_mutex_unlock(&history->mutex);
    return stopped;
}

void event_history_close(struct event_history *history)
{
    if (history == NULL)
        return;
    if (history->started) {
        if (!has_stopped(history))
            return; /* the disk hangs; the thread has the history still, and ends with the process */
        pthread_join(history->thread, NULL);
    }
    history_free(history);
}
