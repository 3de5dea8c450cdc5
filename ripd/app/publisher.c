/* SPDX-License-Identifier: Apache-2.0 */
/* publisher.c - a queue of events that wait for the disk, and its log messages. See publisher.h. */
#include "app/publisher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/log.h"
#include "os/random.h"
#include "util/array.h"
#include "util/time_limit.h"

struct waiting {
    struct event *event; /* a reference */
    uint64_t added_mono_ns;
};

struct publisher {
    struct publisher_options options;
    struct event_history *history; /* NULL = none */
    uint64_t epoch;
    struct waiting *queue; /* in order of sequence */
    size_t count;
    size_t capacity;
    uint64_t sequence;   /* of the last event that was added */
    uint64_t lost_count; /* logged so far */
    int error;           /* as last logged */
    bool late;           /* the log says that the disk is slow */
    bool unwritable;     /* the state directory was, at the start: there is no history */
};

static void report_found(const struct publisher *publisher)
{
    const char *path = publisher->options.state_directory;
    char quoted[LOG_QUOTED_BYTES], aside[LOG_QUOTED_BYTES];
    struct event_history_found found;

    event_history_found(publisher->history, &found);
    log_quote_text(path, quoted);
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
                 quoted, log_quote_text(found.aside, aside));
}

int publisher_new(struct publisher **ret_publisher, const struct publisher_options *options)
{
    struct publisher *publisher = calloc(1, sizeof(*publisher));
    struct event_history_found found;
    char *text = NULL;
    int error;

    if (publisher == NULL)
        return -ENOMEM;
    publisher->options = *options;
    publisher->epoch = random_u64() | 1;
    if (options->state_directory == NULL) {
        *ret_publisher = publisher;
        return 0;
    }
    error = event_history_open(&publisher->history, options->state_directory, publisher->epoch, &text);
    publisher->unwritable = error == -EROFS; /* a disk in trouble: that is when somebody has to watch */
    if (error != 0) {
        log_line(LOG_LEVEL_ERROR, "%s%s", text != NULL ? text : strerror(-error),
                 publisher->unwritable ? ": events are announced without being written" : "");
        free(text);
    }
    if (publisher->unwritable) {
        *ret_publisher = publisher;
        return 0;
    }
    if (error != 0) {
        free(publisher);
        return error;
    }
    event_history_found(publisher->history, &found);
    publisher->epoch = found.epoch;
    report_found(publisher);
    *ret_publisher = publisher;
    return 0;
}

void publisher_free(struct publisher *publisher)
{
    if (publisher == NULL)
        return;
    event_history_close(publisher->history);
    for (size_t i = 0; i < publisher->count; i++)
        event_unref(publisher->queue[i].event);
    free(publisher->queue);
    free(publisher);
}

void publisher_found(const struct publisher *publisher, struct event_history_found *ret_found)
{
    if (publisher->history != NULL)
        event_history_found(publisher->history, ret_found);
    else
        *ret_found = (struct event_history_found){.epoch = publisher->epoch};
}

int publisher_start(struct publisher *publisher)
{
    return publisher->history != NULL ? event_history_start(publisher->history) : 0;
}

bool publisher_is_kept(const struct publisher *publisher)
{
    return publisher->history != NULL;
}

static void announce(const struct publisher *publisher, struct event *event)
{
    publisher->options.announce(publisher->options.context, event);
    event_unref(event);
}

void publisher_add(struct publisher *publisher, struct event *event, const struct event_subject *subject,
                   uint64_t now_mono_ns)
{
    if (publisher->history == NULL) {
        publisher->options.health->history_error_count += publisher->unwritable;
        announce(publisher, event);
        return;
    }
    event_history_add(publisher->history, event, subject);
    publisher->sequence = event->sequence;
    if (!ARRAY_GROW(publisher->queue, publisher->count, publisher->capacity)) {
        log_line(LOG_LEVEL_ERROR, "out of memory for an event: it is written, but not announced");
        event_unref(event);
        return;
    }
    publisher->queue[publisher->count++] = (struct waiting){event, now_mono_ns};
}

void publisher_stall_again(struct publisher *publisher, uint64_t episode, uint64_t progress, uint64_t frozen_mono_ns,
                           uint64_t moved_after_mono_ns)
{
    if (publisher->history != NULL)
        event_history_stall_again(publisher->history, episode, progress, frozen_mono_ns, moved_after_mono_ns);
}

/* Once when it begins and once when it is over, whatever happens in between. */
static void report_state(struct publisher *publisher, const struct event_history_state *state, bool late)
{
    const char *path = publisher->options.state_directory;
    char quoted[LOG_QUOTED_BYTES];

    if (state->error == publisher->error && late == publisher->late)
        return;
    log_quote_text(path, quoted);
    if (state->error != 0 && state->error != publisher->error)
        log_line(LOG_LEVEL_ERROR, "event history: cannot be written, events are announced without: directory=%s: %s",
                 quoted, strerror(-state->error));
    else if (late && !publisher->late && state->error == 0)
        log_line(LOG_LEVEL_ERROR, "event history: the disk takes long, events are announced without: directory=%s",
                 quoted);
    else if (state->error == 0 && !late)
        log_line(LOG_LEVEL_WARNING, "event history: is written again: directory=%s lost=%" PRIu64, quoted,
                 state->lost_count - publisher->lost_count);
    if (state->error == 0 && !late)
        publisher->lost_count = state->lost_count;
    publisher->error = state->error;
    publisher->late = late;
}

void publisher_step(struct publisher *publisher, uint64_t now_mono_ns)
{
    struct event_history_state state;
    size_t done = 0;
    bool late;

    if (publisher->history == NULL)
        return;
    event_history_state(publisher->history, &state);
    for (; done < publisher->count && publisher->queue[done].event->sequence <= state.written; done++)
        announce(publisher, publisher->queue[done].event);
    late = (done < publisher->count && now_mono_ns - publisher->queue[done].added_mono_ns >= PUBLISHER_PATIENCE_NS) ||
           (publisher->late && state.written < publisher->sequence);
    report_state(publisher, &state, late);
    for (; done < publisher->count && (state.error != 0 || late); done++) {
        publisher->options.health->history_error_count++;
        announce(publisher, publisher->queue[done].event);
    }
    if (done == 0)
        return;
    publisher->count -= done;
    memmove(publisher->queue, publisher->queue + done, publisher->count * sizeof(*publisher->queue));
    ARRAY_TRIM(publisher->queue, publisher->capacity, publisher->count);
}

int publisher_descriptor(const struct publisher *publisher)
{
    return publisher->history != NULL ? event_history_descriptor(publisher->history) : -1;
}

uint64_t publisher_wait_ns(const struct publisher *publisher, uint64_t now_mono_ns)
{
    if (publisher->count == 0)
        return UINT64_MAX;
    return time_left_ns(publisher->queue[0].added_mono_ns + PUBLISHER_PATIENCE_NS, now_mono_ns);
}

void publisher_stop(struct publisher *publisher)
{
    if (publisher->history == NULL)
        return;
    event_history_close(publisher->history);
    publisher->history = NULL;
    for (size_t i = 0; i < publisher->count; i++)
        announce(publisher, publisher->queue[i].event);
    publisher->count = 0;
}
