/* SPDX-License-Identifier: Apache-2.0 */
/* chronicle.c - a queue of events that wait for the disk, and its log messages. See chronicle.h. */
#include "app/chronicle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/log.h"
#include "os/random.h"
#include "util/array.h"

struct waiting {
    struct event *event; /* a reference */
    uint64_t added_mono_ns;
};

struct chronicle {
    struct chronicle_options options;
    struct event_history *history; /* NULL = none */
    uint64_t epoch;
    struct waiting *queue; /* in order of sequence */
    size_t count;
    size_t capacity;
    uint64_t sequence; /* of the last event that was added */
    uint64_t error_count;
    uint64_t lost_count; /* logged so far */
    int error;           /* as last logged */
    bool late;           /* the log says that the disk is slow */
};

static void report_found(const struct chronicle *chronicle)
{
    const char *path = chronicle->options.state_directory;
    char quoted[LOG_QUOTED_BYTES], aside[LOG_QUOTED_BYTES];
    struct event_history_found found;

    event_history_found(chronicle->history, &found);
    log_quote(path, strlen(path), quoted);
    log_line(LOG_LEVEL_INFO, "event history: directory=%s events=%zu open=%zu last=%" PRIu64, quoted, found.event_count,
             found.open_count, found.sequence);
    if (found.torn)
        log_line(LOG_LEVEL_WARNING, "event history: its last line was incomplete and has been cut off: directory=%s",
                 quoted);
    if (found.damaged_count != 0)
        log_line(LOG_LEVEL_WARNING, "event history: damaged lines were skipped: directory=%s count=%" PRIu64, quoted,
                 found.damaged_count);
    if (found.aside != NULL)
        log_line(LOG_LEVEL_WARNING, "event history: a file that is none was moved out of the way: directory=%s name=%s",
                 quoted, log_quote(found.aside, strlen(found.aside), aside));
}

int chronicle_new(struct chronicle **ret_chronicle, const struct chronicle_options *options)
{
    struct chronicle *chronicle = calloc(1, sizeof(*chronicle));
    struct event_history_found found;
    char *text = NULL;
    int error;

    if (chronicle == NULL)
        return -ENOMEM;
    chronicle->options = *options;
    chronicle->epoch = random_u64() | 1;
    if (options->state_directory == NULL) {
        *ret_chronicle = chronicle;
        return 0;
    }
    error = event_history_open(&chronicle->history, options->state_directory, chronicle->epoch, &text);
    if (error != 0) {
        log_line(LOG_LEVEL_ERROR, "%s", text != NULL ? text : strerror(-error));
        free(text);
        free(chronicle);
        return error;
    }
    event_history_found(chronicle->history, &found);
    chronicle->epoch = found.epoch;
    report_found(chronicle);
    *ret_chronicle = chronicle;
    return 0;
}

void chronicle_free(struct chronicle *chronicle)
{
    if (chronicle == NULL)
        return;
    event_history_close(chronicle->history);
    for (size_t i = 0; i < chronicle->count; i++)
        event_unref(chronicle->queue[i].event);
    free(chronicle->queue);
    free(chronicle);
}

uint64_t chronicle_epoch(const struct chronicle *chronicle)
{
    return chronicle->epoch;
}

void chronicle_found(const struct chronicle *chronicle, struct event_history_found *ret_found)
{
    if (chronicle->history != NULL)
        event_history_found(chronicle->history, ret_found);
    else
        *ret_found = (struct event_history_found){.epoch = chronicle->epoch};
}

int chronicle_start(struct chronicle *chronicle)
{
    return chronicle->history != NULL ? event_history_start(chronicle->history) : 0;
}

bool chronicle_is_kept(const struct chronicle *chronicle)
{
    return chronicle->history != NULL;
}

static void announce(const struct chronicle *chronicle, struct event *event)
{
    chronicle->options.announce(chronicle->options.context, event);
    event_unref(event);
}

void chronicle_add(struct chronicle *chronicle, struct event *event, const struct event_subject *subject,
                   uint64_t now_mono_ns)
{
    struct waiting *longer;

    if (chronicle->history == NULL) {
        announce(chronicle, event);
        return;
    }
    event_history_add(chronicle->history, event, subject);
    chronicle->sequence = event->sequence;
    longer = array_reserve(chronicle->queue, &chronicle->capacity, chronicle->count + 1, sizeof(*longer));
    if (longer == NULL) {
        log_line(LOG_LEVEL_ERROR, "out of memory for an event: it is written, but not announced");
        event_unref(event);
        return;
    }
    chronicle->queue = longer;
    longer[chronicle->count++] = (struct waiting){event, now_mono_ns};
}

void chronicle_stall_again(struct chronicle *chronicle, uint64_t episode, uint64_t progress, uint64_t frozen_mono_ns,
                           uint64_t moved_after_mono_ns)
{
    if (chronicle->history != NULL)
        event_history_stall_again(chronicle->history, episode, progress, frozen_mono_ns, moved_after_mono_ns);
}

/* Once when it begins and once when it is over, whatever happens in between. */
static void report_state(struct chronicle *chronicle, const struct event_history_state *state, bool late)
{
    const char *path = chronicle->options.state_directory;
    char quoted[LOG_QUOTED_BYTES];

    if (state->error == chronicle->error && late == chronicle->late)
        return;
    log_quote(path, strlen(path), quoted);
    if (state->error != 0 && state->error != chronicle->error)
        log_line(LOG_LEVEL_ERROR, "event history: cannot be written, events are announced without: directory=%s: %s",
                 quoted, strerror(-state->error));
    else if (late && !chronicle->late && state->error == 0)
        log_line(LOG_LEVEL_ERROR, "event history: the disk takes long, events are announced without: directory=%s",
                 quoted);
    else if (state->error == 0 && !late)
        log_line(LOG_LEVEL_WARNING, "event history: is written again: directory=%s lost=%" PRIu64, quoted,
                 state->lost_count - chronicle->lost_count);
    if (state->error == 0 && !late)
        chronicle->lost_count = state->lost_count;
    chronicle->error = state->error;
    chronicle->late = late;
}

void chronicle_step(struct chronicle *chronicle, uint64_t now_mono_ns)
{
    struct event_history_state state;
    size_t done = 0;
    bool late;

    if (chronicle->history == NULL)
        return;
    event_history_state(chronicle->history, &state);
    for (; done < chronicle->count && chronicle->queue[done].event->sequence <= state.written; done++)
        announce(chronicle, chronicle->queue[done].event);
    late = (done < chronicle->count && now_mono_ns - chronicle->queue[done].added_mono_ns >= CHRONICLE_PATIENCE_NS) ||
           (chronicle->late && state.written < chronicle->sequence);
    report_state(chronicle, &state, late);
    for (; done < chronicle->count && (state.error != 0 || late); done++) {
        chronicle->error_count++;
        announce(chronicle, chronicle->queue[done].event);
    }
    if (done == 0)
        return;
    chronicle->count -= done;
    memmove(chronicle->queue, chronicle->queue + done, chronicle->count * sizeof(*chronicle->queue));
    chronicle->queue = array_trim(chronicle->queue, &chronicle->capacity, chronicle->count, sizeof(*chronicle->queue));
}

int chronicle_descriptor(const struct chronicle *chronicle)
{
    return chronicle->history != NULL ? event_history_descriptor(chronicle->history) : -1;
}

uint64_t chronicle_wait_ns(const struct chronicle *chronicle, uint64_t now_mono_ns)
{
    uint64_t waited_ns;

    if (chronicle->count == 0)
        return UINT64_MAX;
    waited_ns = now_mono_ns - chronicle->queue[0].added_mono_ns;
    return waited_ns < CHRONICLE_PATIENCE_NS ? CHRONICLE_PATIENCE_NS - waited_ns : 0;
}

void chronicle_stop(struct chronicle *chronicle)
{
    if (chronicle->history == NULL)
        return;
    event_history_close(chronicle->history);
    chronicle->history = NULL;
    for (size_t i = 0; i < chronicle->count; i++)
        announce(chronicle, chronicle->queue[i].event);
    chronicle->count = 0;
}

uint64_t chronicle_error_count(const struct chronicle *chronicle)
{
    return chronicle->error_count;
}
