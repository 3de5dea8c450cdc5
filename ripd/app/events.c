/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - reports of the event log as events. An episode carries its begin event, which tells of its end who it was
 * when the id is long gone.
 */
#include "app/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/event_making.h"
#include "app/log.h"
#include "app/report.h"
#include "app/restart.h"
#include "cases/event_log.h"
#include "os/file.h"
#include "os/proc.h"

struct events {
    struct chronicle *chronicle;
    struct event_log *log;
    struct restart restart; /* until the first scan */
    struct report_budget budget;
    struct report_budget restall_budget; /* of lines that say only where an id of an open episode stands now */
    uint64_t unnoted_count;
    uint64_t suppressed_count; /* of which the log has been told */
    uint64_t sequence;         /* of the last event */
    uint64_t episode;          /* of the last begin */
    uint8_t boot_id[EVENT_SUBJECT_ID_BYTES];
};

static void release_event(void *event)
{
    event_unref(event);
}

/* All zero where it cannot be had: then no episode outlives the daemon. */
static void read_boot_id(uint8_t ret_id[EVENT_SUBJECT_ID_BYTES])
{
    int proc = file_open_directory("/proc");

    if (proc < 0)
        return;
    (void)proc_boot_id(proc, ret_id);
    close(proc);
}

int events_new(struct events **ret_events, const struct events_options *options, uint64_t now_mono_ns)
{
    struct events *events = calloc(1, sizeof(*events));
    struct event_history_found found;
    int error = events != NULL ? 0 : -ENOMEM;

    if (error == 0)
        error = chronicle_new(&events->chronicle, &options->chronicle);
    if (error == 0)
        error = event_log_new(&events->log, options->hysteresis_ns, REPORT_BURST, &options->hash_key);
    if (error == 0) {
        chronicle_found(events->chronicle, &found);
        error = restart_init(&events->restart, found.open, found.open_count);
    }
    if (error != 0) {
        events_free(events);
        return error;
    }
    events->sequence = found.sequence;
    events->episode = found.episode;
    event_log_set_next(events->log, found.episode + 1);
    report_budget_init(&events->budget, now_mono_ns);
    report_budget_init(&events->restall_budget, now_mono_ns);
    read_boot_id(events->boot_id);
    *ret_events = events;
    return 0;
}

void events_free(struct events *events)
{
    if (events == NULL)
        return;
    chronicle_free(events->chronicle);
    event_log_free(events->log, release_event);
    restart_done(&events->restart);
    free(events);
}

int events_start(struct events *events, void (*tell)(void *context, struct event *event), void *context)
{
    struct event_history_found found;

    chronicle_found(events->chronicle, &found);
    for (size_t i = 0; i < found.event_count; i++)
        tell(context, found.events[i]);
    return chronicle_start(events->chronicle);
}

/* Takes over the event. */
static void tell(struct events *events, struct event *event, const struct event_subject *subject, uint64_t now_mono_ns)
{
    events->sequence = event->sequence;
    if (event->kind == EVENT_BEGIN)
        events->episode = event->episode;
    chronicle_add(events->chronicle, event, subject, now_mono_ns);
}

/* How the id is known again after a restart. */
static struct event_subject subject_of(const struct events *events, const struct events_scan *scan,
                                       const struct report *report, uint64_t episode)
{
    struct event_subject subject = {
        .episode = episode,
        .slot = report->slot,
        .generation = report->generation,
        .began_mono_ns = scan->now_mono_ns - report->lasted_ns,
        .stall_count = 1,
        .progress = report->progress,
        .frozen_mono_ns = scan->now_mono_ns - report->lasted_ns,
        .moved_after_mono_ns = report->moved_after_mono_ns,
    };

    if (scan->registry != NULL)
        restart_identify(scan->registry, registry_find(scan->registry, report->ring), events->boot_id, &subject);
    return subject;
}

static void take_begin(struct events *events, const struct events_scan *scan, const struct report *report)
{
    struct event *event = event_make_begin(scan, report, events->sequence + 1, events->episode + 1);
    struct event_subject subject;
    struct ring *ring;

    if (event == NULL) {
        log_line(LOG_LEVEL_ERROR, "out of memory for an event: a stall is not reported");
        return;
    }
    ring = scan->registry != NULL ? registry_find(scan->registry, report->ring) : NULL;
    event->uid = ring != NULL ? mapping_owner(&ring->mapping) : 0;
    if (event_log_tag(events->log, report->ring, report->slot, report->generation, event_ref(event)) != 0)
        event_unref(event);
    subject = subject_of(events, scan, report, event->episode);
    tell(events, event, &subject, scan->now_mono_ns);
}

static void take_end(struct events *events, const struct events_scan *scan, const struct report *report)
{
    struct event *begin = report->tag;
    struct event *event;

    if (begin == NULL)
        return; /* there was no memory for its begin */
    event = event_make_end(scan, report, begin, events->sequence + 1);
    event_unref(begin);
    if (event != NULL)
        tell(events, event, NULL, scan->now_mono_ns);
    else
        log_line(LOG_LEVEL_ERROR, "out of memory for an event: the end of a stall is not reported");
}

void events_adopt(struct events *events, struct registry *registry, bool refreshed, struct detector *detector)
{
    int error;

    if (events->restart.count == 0 || events->restart.settled)
        return;
    error = restart_prepare(&events->restart, registry, refreshed, events->boot_id, detector);
    if (error != 0)
        log_line(LOG_LEVEL_ERROR, "stalls from before the start cannot be taken up: %s", strerror(-error));
}

/* It is one episode still, under its number; its end, when it comes, is of the begin that was. */
static void go_on(void *context, const struct restart_episode *episode)
{
    const struct event_subject *subject = &episode->subject;
    const struct episode_adoption adoption = {
        .ring = episode->ring,
        .slot = subject->slot,
        .generation = subject->generation,
        .cause = episode->begin->cause,
        .episode = subject->episode,
        .frozen_mono_ns = subject->began_mono_ns,
        .stall_count = subject->stall_count,
    };
    struct events *events = context;
    int error = event_log_adopt(events->log, &adoption);

    if (error == 0)
        error = event_log_tag(events->log, episode->ring, subject->slot, subject->generation, episode->begin);
    if (error == 0)
        event_ref(episode->begin);
    else
        log_line(LOG_LEVEL_ERROR, "out of memory for the stall of episode %" PRIu64, subject->episode);
}

/* What came to its end while nobody watched: as many as there may be now, the others later. */
static void tell_restart(struct events *events, const struct events_scan *scan)
{
    size_t room = report_budget_lines(&events->budget, scan->now_mono_ns);
    const struct restart_episode *episode;

    for (; room != 0 && (episode = restart_next(&events->restart)) != NULL; room--) {
        struct event *event = event_make_end_unseen(scan, episode, events->boot_id, events->sequence + 1);

        report_budget_spend(&events->budget, 1);
        if (event != NULL)
            tell(events, event, NULL, scan->now_mono_ns);
        else
            log_line(LOG_LEVEL_ERROR, "out of memory for an event: the end of a stall is not reported");
    }
}

static void settle_restart(struct events *events, const struct events_scan *scan)
{
    if (events->restart.count != 0 && !events->restart.settled) {
        size_t on_count = restart_settle(&events->restart, scan->update, go_on, events);

        log_line(LOG_LEVEL_INFO, "stalls from before the start: going on=%zu over=%zu", on_count,
                 events->restart.count);
    }
    if (events->restart.count != 0)
        tell_restart(events, scan);
}

/*
 * An id that moved and stalled again within one episode stands elsewhere now: after a restart it is known by that. As
 * often as there may be events: ids that flicker must not fill the disk, nor the queue in front of it.
 */
static void note_stalls_again(struct events *events, const struct events_scan *scan)
{
    size_t room = report_budget_lines(&events->restall_budget, scan->now_mono_ns);

    if (!chronicle_is_kept(events->chronicle))
        return;
    for (size_t i = 0; i < scan->update->event_count; i++) {
        const struct detector_event *change = &scan->update->events[i];
        const struct event *begin;

        if (change->kind != DETECTOR_STALLED)
            continue;
        begin = event_log_find_tag(events->log, change->ring, change->slot, change->generation);
        if (begin == NULL)
            continue;
        if (room == 0) {
            events->unnoted_count++;
            continue;
        }
        room--;
        report_budget_spend(&events->restall_budget, 1);
        chronicle_stall_again(events->chronicle, begin->episode, change->progress,
                              scan->now_mono_ns - change->frozen_for_ns, change->moved_after_mono_ns);
    }
}

void events_step(struct events *events, const struct events_scan *scan)
{
    const struct detector_update *update = scan->update;
    uint64_t suppressed_count;
    const struct report *reports;
    int count;

    settle_restart(events, scan);
    note_stalls_again(events, scan);
    event_log_set_limit(events->log, report_budget_lines(&events->budget, scan->now_mono_ns));
    count = event_log_step(events->log, scan->now_mono_ns, update->events, update->event_count, &reports);
    report_budget_spend(&events->budget, (size_t)count);
    suppressed_count = event_log_suppressed_count(events->log);
    report_left_out(&events->budget, scan->now_mono_ns, "stalls", suppressed_count - events->suppressed_count);
    events->suppressed_count = suppressed_count;
    for (int i = 0; i < count; i++) {
        if (reports[i].kind == REPORT_BEGIN)
            take_begin(events, scan, &reports[i]);
        else
            take_end(events, scan, &reports[i]);
    }
    chronicle_step(events->chronicle, scan->now_mono_ns);
}

void events_flush(struct events *events, uint64_t now_mono_ns)
{
    chronicle_step(events->chronicle, now_mono_ns);
}

int events_descriptor(const struct events *events)
{
    return chronicle_descriptor(events->chronicle);
}

uint64_t events_wait_ns(const struct events *events, uint64_t now_mono_ns)
{
    return chronicle_wait_ns(events->chronicle, now_mono_ns);
}

void events_stop(struct events *events)
{
    chronicle_stop(events->chronicle);
}

uint64_t events_error_count(const struct events *events)
{
    return chronicle_error_count(events->chronicle);
}

void events_set_hysteresis(struct events *events, uint64_t hysteresis_ns)
{
    event_log_set_hysteresis(events->log, hysteresis_ns);
}

uint64_t events_epoch(const struct events *events)
{
    return chronicle_epoch(events->chronicle);
}

uint64_t events_unnoted_count(const struct events *events)
{
    return events->unnoted_count;
}

uint64_t events_suppressed_count(const struct events *events)
{
    return event_log_suppressed_count(events->log);
}
