/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_history.c - the queue between the scanner and the thread that writes. Touches the state directory.
 *
 *   add ---> queue ---> append ---> sync ---> written
 *     \                   |
 *      +--> open <--------+ an episode is removed when its end is written
 *
 * There may be a gap between what is written and what comes next. Either the queue was full for a while, or a sync
 * failed: the kernel reports that once, and may have dropped the pages. After a gap a new file is begun. Its head has
 * the last numbers and the episodes that were open at that point, which is all that has to survive.
 */
#include "record/event_history.h"

#include <errno.h>
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
#include "record/writer.h"

#define BATCH_MAX 64u /* lines between two syncs, while there are more */
#define SECOND_NS UINT64_C(1000000000)
#define ROTATE_RETRY_NS (60 * SECOND_NS)

struct entry {
    struct writer_job job;
    struct event *event; /* owned reference; NULL: only a subject */
    struct event_subject subject;
    uint64_t before; /* sequence of the previous event */
};

struct event_history {
    struct event_file file;
    struct event_load load; /* until the start */
    char aside[EVENT_FILE_ASIDE_BYTES];
    bool torn;
    uint64_t epoch;
    int descriptor;
    bool started;

    /* Used by the thread only. */
    bool headless;           /* the current file has no epoch: a new one is due */
    uint64_t rotate_mono_ns; /* no retry of a rotation before this */
    uint64_t appended;       /* sequence of the last event in the file */
    unsigned unsynced;       /* lines since the last sync */

    struct writer writer; /* its mutex protects all that follows */
    struct event_open_set open;
    uint64_t sequence; /* of the last event that was added, or loaded */
    uint64_t episode;
    struct event_history_state state;
};

static void entry_free(struct entry *entry)
{
    event_unref(entry->event);
    free(entry);
}

static void history_free(struct event_history *history)
{
    event_open_done(&history->open);
    event_load_done(&history->load);
    event_file_close(&history->file);
    if (history->descriptor >= 0)
        close(history->descriptor);
    free(history);
}

/* Renames a file that contains no valid line. *ret_complete_bytes is the end of its last complete line. */
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

/* Reads both files. Cuts off a last line without an end. Returns 0 or -errno. */
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
    int status;

    *ret_error = NULL;
    if (history == NULL)
        return -ENOMEM;
    history->file = (struct event_file){.directory = -1, .lock = -1, .descriptor = -1};
    history->descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (history->descriptor < 0) {
        status = -errno;
        history_free(history);
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
    history->sequence = history->appended = history->state.written = history->load.sequence;
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
        .events = load->events,
        .event_count = load->event_count,
        .open = load->open.episodes,
        .open_count = load->open.count,
        .damaged_count = load->damaged_count,
        .torn = history->torn,
        .aside = history->aside[0] != '\0' ? history->aside : NULL,
    };
}

/*
 * Begins the next file, after the event of that sequence: its first line, and a line for each episode that was open
 * then.
 */
static int rotate(struct event_history *history, uint64_t sequence)
{
    struct event_line *lines;
    size_t count, length;
    char *text;
    int status;

    pthread_mutex_lock(&history->writer.mutex);
    status = event_open_lines(&history->open, sequence, &lines, &count);
    if (status == 0)
        lines[0] = (struct event_line){
            .kind = EVENT_LINE_HISTORY, .epoch = history->epoch, .sequence = sequence, .episode = history->episode};
    pthread_mutex_unlock(&history->writer.mutex);
    if (status != 0)
        return status;
    status = event_line_format(lines, count, &text, &length);
    for (size_t i = 0; i < count; i++)
        event_unref(lines[i].event);
    free(lines);
    if (status != 0)
        return status;
    status = event_file_rotate(&history->file, text, length);
    free(text);
    if (status != 0)
        return status;
    history->headless = false;
    history->appended = sequence;
    pthread_mutex_lock(&history->writer.mutex);
    event_open_forget(&history->open, sequence);
    pthread_mutex_unlock(&history->writer.mutex);
    return 0;
}

static int write_entry(struct event_history *history, const struct entry *entry)
{
    const struct event_line line = {.kind = entry->event != NULL ? EVENT_LINE_EVENT : EVENT_LINE_SUBJECT,
                                    .event = entry->event,
                                    .subject = entry->subject};
    size_t length;
    char *text;
    int status = event_line_format(&line, 1, &text, &length);

    if (status != 0)
        return status;
    status = event_file_append(&history->file, text, length);
    free(text);
    return status;
}

/* Syncs the appended lines and updates the state. Returns false if the sync, or the attempt before it, has failed. */
static bool sync_appended(struct event_history *history, int error)
{
    const bool synced = history->appended == history->state.written || fdatasync(history->file.descriptor) == 0;
    struct event_history_state *state = &history->state;
    bool changed;

    if (!synced) {
        error = error != 0 ? error : -errno;
        history->appended = state->written; /* later events may be lost: this gap causes a new file */
    }
    history->unsynced = 0;
    pthread_mutex_lock(&history->writer.mutex);
    changed = state->written != history->appended || state->error != error;
    state->written = history->appended;
    state->error = error;
    pthread_mutex_unlock(&history->writer.mutex);
    if (changed)
        (void)eventfd_write(history->descriptor, 1); /* fails only if it is readable already */
    return error == 0;
}

/* Returns the last event that must be in the file, or in the head of the next one, before the entry is written. */
static uint64_t sequence_before(struct event_history *history, const struct entry *entry)
{
    uint64_t before = history->appended;

    pthread_mutex_lock(&history->writer.mutex);
    if (entry != NULL)
        before = entry->before;
    else if (history->writer.first == NULL)
        before = history->sequence; /* the last added events may have been lost */
    pthread_mutex_unlock(&history->writer.mutex);
    return before > history->appended ? before : history->appended;
}

static void entry_written(struct event_history *history, struct entry *entry)
{
    if (entry->event != NULL) {
        history->appended = entry->event->sequence;
        pthread_mutex_lock(&history->writer.mutex);
        if (entry->event->kind == EVENT_END)
            event_open_remove(&history->open, entry->event->episode);
        pthread_mutex_unlock(&history->writer.mutex);
    }
    entry_free(entry);
}

/* See writer.h. */
static bool write_job(void *context, struct writer_job *job)
{
    struct event_history *history = context;
    struct entry *entry = (struct entry *)(void *)job;
    const uint64_t before = sequence_before(history, entry);
    const bool wants_rotation = history->headless || event_file_is_full(&history->file);
    int error = 0;

    if (before > history->appended || history->file.descriptor < 0 ||
        (wants_rotation && clock_mono_ns() >= history->rotate_mono_ns))
        error = rotate(history, before);
    if (error == 0 && entry != NULL)
        error = write_entry(history, entry);
    if (error != 0) {
        history->rotate_mono_ns = clock_mono_ns() + ROTATE_RETRY_NS; /* until then the current file is used */
        return sync_appended(history, error);
    }
    if (entry == NULL)
        return sync_appended(history, 0);
    entry_written(history, entry);
    if (++history->unsynced == BATCH_MAX)
        (void)sync_appended(history, 0);
    return true;
}

int event_history_start(struct event_history *history)
{
    const struct writer_options options = {.context = history,
                                           .bytes_max = EVENT_HISTORY_QUEUE_MAX,
                                           .rest_ns = EVENT_HISTORY_RETRY_NS,
                                           .write = write_job};
    int status;

    history->open = history->load.open;
    history->load.open = (struct event_open_set){0};
    event_load_forget_events(&history->load);
    status = writer_open(&history->writer, &options);
    history->started = status == 0;
    return status;
}

/* Caller holds the mutex. */
static void push(struct event_history *history, struct event *event, const struct event_subject *subject)
{
    struct entry *entry = calloc(1, sizeof(*entry));

    if (entry != NULL) {
        *entry = (struct entry){.job.bytes = 1, /* entries are counted */
                                .event = event != NULL ? event_ref(event) : NULL,
                                .before = event != NULL ? event->sequence - 1 : history->sequence};
        if (subject != NULL)
            entry->subject = *subject;
        if (writer_add(&history->writer, &entry->job))
            return;
        entry_free(entry);
    }
    history->state.lost_count += event != NULL;
}

void event_history_add(struct event_history *history, struct event *event, const struct event_subject *subject)
{
    struct event_open *open;

    pthread_mutex_lock(&history->writer.mutex);
    history->sequence = event->sequence;
    if (event->kind == EVENT_BEGIN) {
        history->episode = event->episode;
        (void)event_open_add(&history->open, event, subject); /* if out of memory, its line may be lost with its file */
    } else {
        open = event_open_find(&history->open, event->episode);
        if (open != NULL)
            open->end_sequence = event->sequence;
    }
    push(history, event, subject);
    pthread_mutex_unlock(&history->writer.mutex);
}

void event_history_stall_again(struct event_history *history, uint64_t episode, uint64_t progress,
                               uint64_t frozen_mono_ns, uint64_t moved_after_mono_ns)
{
    struct event_open *open;

    pthread_mutex_lock(&history->writer.mutex);
    open = event_open_find(&history->open, episode);
    if (open != NULL) {
        open->subject.stall_count++;
        open->subject.progress = progress;
        open->subject.frozen_mono_ns = frozen_mono_ns;
        open->subject.moved_after_mono_ns = moved_after_mono_ns;
        push(history, NULL, &open->subject);
    }
    pthread_mutex_unlock(&history->writer.mutex);
}

void event_history_state(struct event_history *history, struct event_history_state *ret_state)
{
    eventfd_t count;

    (void)eventfd_read(history->descriptor, &count);
    pthread_mutex_lock(&history->writer.mutex);
    *ret_state = history->state;
    pthread_mutex_unlock(&history->writer.mutex);
}

int event_history_descriptor(const struct event_history *history)
{
    return history->descriptor;
}

void event_history_close(struct event_history *history)
{
    if (history == NULL)
        return;
    if (history->started) {
        if (!writer_close(&history->writer, EVENT_HISTORY_CLOSE_NS))
            return; /* the disk hangs: the thread still uses the history, until the process ends */
        for (struct entry *entry = (void *)history->writer.first, *next; entry != NULL; entry = next) {
            next = (void *)entry->job.next;
            entry_free(entry);
        }
    }
    history_free(history);
}
