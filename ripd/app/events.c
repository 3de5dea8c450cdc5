/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - makes the begin and end events of episodes from cases, numbers them, and announces them once they are on
 * disk. Events that are not on disk yet wait in a queue. A case keeps its begin event, because the end event is made
 * from it even when the id has gone.
 */
#include "app/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
#include <unistd.h>

#include "app/log.h"
#include "app/report.h"
#include "app/restart.h"
#include "cases/incidents.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/random.h"
#include "util/array.h"
#include "util/time_limit.h"
#include "view/event_make.h"

struct waiting {
    struct event *event; /* owned reference */
    uint64_t added_mono_ns;
};

struct events {
    struct events_options options;
    struct recorder *recorder;
    struct restart restart;              /* until the first scan */
    struct report_budget restart_budget; /* for ends that happened while no ripd ran */
    struct incidents incidents;          /* of the published begins */
    struct stall_case **late;            /* cases whose begins wait for names; valid until the cases change */
    size_t late_count;
    size_t late_capacity;
    struct events_scan late_scan; /* the scan of these begins; holds a reference to its moment */
    uint64_t sequence;            /* of the last event */
    uint64_t episode;             /* number of the last episode */
    uint8_t boot_id[EVENT_SUBJECT_ID_BYTES];

    struct event_history *history; /* NULL = none */
    uint64_t epoch;
    struct waiting *queue; /* events not on disk yet, by sequence */
    size_t queue_count;
    size_t queue_capacity;
    uint64_t lost_count; /* lost events, as last logged */
    int error;           /* as last logged */
    bool late_disk;      /* the log says that the disk is slow */
    bool unwritable;     /* the state directory was read-only at start: there is no history */
};

/* All zero if the boot id cannot be read: then no episode survives a restart. */
static void read_boot_id(uint8_t ret_id[EVENT_SUBJECT_ID_BYTES])
{
    int proc = file_open_directory("/proc");

    if (proc < 0)
        return;
    (void)proc_boot_id(proc, ret_id);
    close(proc);
}

void events_found(const struct events *events, struct event_history_found *ret_found)
{
    if (events->history != NULL)
        event_history_found(events->history, ret_found);
    else
        *ret_found = (struct event_history_found){.epoch = events->epoch};
}

static void report_found(const struct events *events)
{
    const char *path = events->options.state_directory;
    char quoted[LOG_QUOTED_BYTES], aside[LOG_QUOTED_BYTES];
    struct event_history_found found;

    event_history_found(events->history, &found);
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
        log_line(LOG_LEVEL_WARNING,
                 "event history: a file of another format was moved out of the way: directory=%s name=%s", quoted,
                 log_quote_text(found.aside, aside));
}

/*
 * Errors are logged. A read-only state directory is not an error: when a disk is in trouble, monitoring matters most.
 */
static int open_history(struct events *events)
{
    char *text = NULL;
    int error;

    events->epoch = random_u64() | 1;
    if (events->options.state_directory == NULL)
        return 0;
    error = event_history_open(&events->history, events->options.state_directory, events->epoch, &text);
    if (error == 0) {
        report_found(events);
        return 0;
    }
    events->unwritable = error == -EROFS;
    log_line(LOG_LEVEL_ERROR, "%s%s", text != NULL ? text : strerror(-error),
             events->unwritable ? ": events are announced without being written" : "");
    free(text);
    return events->unwritable ? 0 : error;
}

int events_new(struct events **ret_events, const struct events_options *options, uint64_t now_mono_ns)
{
    struct events *events = calloc(1, sizeof(*events));
    struct event_history_found found;
    int error;

    if (events == NULL)
        return -ENOMEM;
    events->options = *options;
    error = open_history(events);
    if (error == 0) {
        events_found(events, &found);
        error = restart_init(&events->restart, found.open, found.open_count);
    }
    if (error != 0) {
        events_free(events);
        return error;
    }
    for (size_t i = 0; i < found.open_count; i++)
        (void)incidents_enter(&events->incidents, found.open[i].begin->incident);
    events->sequence = found.sequence;
    events->episode = found.episode;
    cases_set_last_episode(options->cases, found.episode);
    report_budget_init(&events->restart_budget, now_mono_ns);
    read_boot_id(events->boot_id);
    *ret_events = events;
    return 0;
}

int events_start(struct events *events)
{
    return events->history != NULL ? event_history_start(events->history) : 0;
}

void events_free(struct events *events)
{
    if (events == NULL)
        return;
    event_history_close(events->history);
    for (size_t i = 0; i < events->queue_count; i++)
        event_unref(events->queue[i].event);
    free(events->queue);
    restart_done(&events->restart);
    incidents_done(&events->incidents);
    if (events->late_count != 0)
        snapshot_unref(events->late_scan.moment);
    free(events->late);
    free(events);
}

/* Events on their way to the disk ---------------------------------------------------------------------------------- */

/* Takes ownership of the reference. */
static void announce(const struct events *events, struct event *event)
{
    events->options.announce(events->options.context, event);
    event_unref(event);
}

/* Takes ownership of the event. subject is NULL unless the event is a begin. */
static void write_first(struct events *events, struct event *event, const struct event_subject *subject,
                        uint64_t now_mono_ns)
{
    if (events->history == NULL) {
        events->options.health->history_error_count += events->unwritable;
        announce(events, event);
        return;
    }
    event_history_add(events->history, event, subject);
    if (!ARRAY_GROW(events->queue, events->queue_count, events->queue_capacity)) {
        log_line(LOG_LEVEL_ERROR, "out of memory: an event is written to the history, but not announced");
        event_unref(event);
        return;
    }
    events->queue[events->queue_count++] = (struct waiting){event, now_mono_ns};
}

/* Logs a change of state only: one line when the trouble begins, one when it ends. */
static void report_state(struct events *events, const struct event_history_state *state, bool late)
{
    const char *path = events->options.state_directory;
    char quoted[LOG_QUOTED_BYTES];

    if (state->error == events->error && late == events->late_disk)
        return;
    log_quote_text(path, quoted);
    if (state->error != 0 && state->error != events->error)
        log_line(LOG_LEVEL_ERROR,
                 "event history: cannot be written, events are announced without being written: directory=%s: %s",
                 quoted, strerror(-state->error));
    else if (late && !events->late_disk && state->error == 0)
        log_line(LOG_LEVEL_ERROR,
                 "event history: the disk is slow, events are announced before they are written: directory=%s", quoted);
    else if (state->error == 0 && !late)
        log_line(LOG_LEVEL_WARNING, "event history: is written again: directory=%s lost=%" PRIu64, quoted,
                 state->lost_count - events->lost_count);
    if (state->error == 0 && !late)
        events->lost_count = state->lost_count;
    events->error = state->error;
    events->late_disk = late;
}

/* Announces the events that are on disk or have waited too long. */
static void announce_written(struct events *events, uint64_t now_mono_ns)
{
    struct event_history_state state;
    size_t done = 0;
    bool late;

    if (events->history == NULL)
        return;
    event_history_state(events->history, &state);
    for (; done < events->queue_count && events->queue[done].event->sequence <= state.written; done++)
        announce(events, events->queue[done].event);
    late = (done < events->queue_count && now_mono_ns - events->queue[done].added_mono_ns >= EVENTS_PATIENCE_NS) ||
           (events->late_disk && state.written < events->sequence);
    report_state(events, &state, late);
    for (; done < events->queue_count && (state.error != 0 || late); done++) {
        events->options.health->history_error_count++;
        announce(events, events->queue[done].event);
    }
    if (done == 0)
        return;
    events->queue_count -= done;
    memmove(events->queue, events->queue + done, events->queue_count * sizeof(*events->queue));
    ARRAY_TRIM(events->queue, events->queue_capacity, events->queue_count);
}

/* Making events ---------------------------------------------------------------------------------------------------- */

static struct event *make_end(struct events *events, const struct events_scan *scan, const struct episode *episode)
{
    const bool is_last = incidents_leave(&events->incidents, episode->begin->incident);

    return event_make_end(episode, scan->moment, (struct event_label){events->sequence + 1, is_last});
}

/* The end of an episode of a previous run that ended while no ripd ran. */
static struct event *make_end_unseen(struct events *events, const struct events_scan *scan,
                                     const struct restart_episode *episode)
{
    const uint64_t now_mono_ns = scan->moment->scanned_mono_ns;
    const struct event *begin = episode->begin;
    const struct event_subject *subject = &episode->subject;
    const bool same_clock = memcmp(subject->boot_id, events->boot_id, sizeof(subject->boot_id)) == 0 &&
                            subject->began_mono_ns <= now_mono_ns;
    const struct event_ending ending = {
        .at_wall_ns = scan->moment->scanned_wall_ns,
        .lasted_ns = begin->duration_ns,
        .lasted_max_ns =
            same_clock ? event_lasted_max_ns(begin, now_mono_ns - subject->began_mono_ns) : EVENT_UNKNOWN_NS,
        .cause = begin->cause,
        .reason = episode->reason,
        .stall_count = subject->stall_count,
    };
    const bool is_last = incidents_leave(&events->incidents, begin->incident);

    return event_make_ending(begin, &ending, (struct event_label){events->sequence + 1, is_last});
}

/* Publishing ------------------------------------------------------------------------------------------------------- */

/* For USDT tools; see TRACEPOINTS in ripd(8). */
static void fire_probe(const struct event *event)
{
    const uint64_t frozen_ms = event->duration_ns / 1000000;
    const char *cause = id_cause_name(event->cause);

    if (event->kind == EVENT_BEGIN)
        DTRACE_PROBE6(ripd, stall_begin, event->ring, event->id, event->name, event->name_bytes, cause, frozen_ms);
    else
        DTRACE_PROBE6(ripd, stall_end, event->ring, event->id, event->name, event->name_bytes, cause, frozen_ms);
}

/* Takes ownership of the event, which may be NULL. stall is NULL if the id is not known any more. */
static void publish(struct events *events, const struct stall_case *stall, struct event *event,
                    const struct event_subject *subject, const struct events_scan *scan)
{
    if (event == NULL) {
        log_line(LOG_LEVEL_ERROR, "out of memory: the begin or end of a stall is not published");
        return;
    }
    events->sequence = event->sequence;
    fire_probe(event);
    recorder_event(events->recorder, stall, event);
    write_first(events, event, subject, scan->moment->scanned_mono_ns);
}

/* Sets what identifies an id that has moved and stalled again before the begin of its episode is published. */
static void set_last_stall(struct event_subject *subject, const struct detector_suspect *suspect, uint64_t now_mono_ns)
{
    const uint64_t read_mono_ns = now_mono_ns - suspect->read_ago_ns, max_ns = suspect->frozen_for_max_ns;

    subject->progress = suspect->progress;
    subject->frozen_mono_ns = read_mono_ns - suspect->frozen_for_ns;
    subject->moved_after_mono_ns = max_ns <= read_mono_ns ? read_mono_ns - max_ns : DETECTOR_UNKNOWN_NS;
}

/* Returns what identifies the id after a restart. */
static struct event_subject subject_of(const struct events *events, const struct events_scan *scan,
                                       const struct stall_case *stall)
{
    const struct episode *episode = &stall->episode;
    struct event_subject subject = {
        .episode = episode->number,
        .slot = stall->slot,
        .generation = stall->generation,
        .began_mono_ns = episode->frozen_mono_ns,
        .stall_count = episode->stall_count,
        .progress = episode->progress,
        .frozen_mono_ns = episode->frozen_mono_ns,
        .moved_after_mono_ns = episode->moved_after_mono_ns,
    };

    if (episode->stall_count > 1 && stall->is_suspect)
        set_last_stall(&subject, &stall->suspect, scan->moment->scanned_mono_ns);
    if (scan->registry != NULL)
        restart_identify(scan->registry, registry_find(scan->registry, stall->ring), events->boot_id, &subject);
    return subject;
}

static void count_incident(struct events *events, const struct events_scan *scan, const struct stall_case *stall)
{
    const bool preloaded =
        scan->registry != NULL && registry_is_preloaded(scan->registry, stall->ring, stall->suspect.process);

    health_add_incident(events->options.health, stall->episode.begin->cause, preloaded);
}

static void publish_begin(struct events *events, const struct events_scan *scan, struct stall_case *stall)
{
    struct event_subject subject = subject_of(events, scan, stall);
    bool is_first = incidents_enter(&events->incidents, stall->episode.incident);

    stall->episode.begin =
        event_make_begin(stall, scan->moment, (struct event_label){events->sequence + 1, is_first}, NULL);
    if (stall->episode.begin != NULL && is_first)
        count_incident(events, scan, stall);
    if (stall->episode.begin == NULL)
        (void)incidents_leave(&events->incidents, stall->episode.incident); /* its end will not be published */
    publish(events, stall, stall->episode.begin != NULL ? event_ref(stall->episode.begin) : NULL, &subject, scan);
}

/* Begins that wait for names --------------------------------------------------------------------------------------- */

static bool waits_for_name(const struct events_scan *scan, const struct stall_case *stall)
{
    return scan->name_is_pending != NULL && stall->item != NULL && scan->name_is_pending(scan->context, stall->item);
}

/* Returns false if out of memory. */
static bool delay_begin(struct events *events, const struct events_scan *scan, struct stall_case *stall)
{
    if (!ARRAY_GROW(events->late, events->late_count, events->late_capacity))
        return false;
    if (events->late_count == 0) {
        events->late_scan = *scan;
        events->late_scan.update = NULL;
        events->late_scan.moment = snapshot_ref(scan->moment);
    }
    events->late[events->late_count++] = stall;
    return true;
}

static uint64_t late_until_ns(const struct events *events)
{
    return events->late_scan.moment->scanned_mono_ns + events->late_scan.moment->interval_ns / 2;
}

/* Publishes the late begins that have their names by now, or all of them. */
static void publish_late(struct events *events, bool all)
{
    const size_t count = events->late_count;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!all && waits_for_name(&events->late_scan, events->late[i]))
            events->late[kept++] = events->late[i];
        else
            publish_begin(events, &events->late_scan, events->late[i]);
    }
    events->late_count = kept;
    if (count != 0 && kept == 0)
        snapshot_unref(events->late_scan.moment);
}

void events_catch_up(struct events *events)
{
    publish_late(events, true);
}

void events_adopt(struct events *events, struct registry *registry, struct detector *detector, uint64_t now_mono_ns)
{
    int error;

    if (events->restart.count == 0 || events->restart.settled)
        return;
    error = restart_prepare(&events->restart, registry, events->boot_id, events->options.work, detector, now_mono_ns);
    if (error != 0)
        log_line(LOG_LEVEL_ERROR, "stalls from before the restart cannot be resumed: %s", strerror(-error));
}

/*
 * The episode keeps its number. Its end event will be made from the begin event of the previous run. Returns false if
 * its user has no quota for the case, or if out of memory.
 */
static bool resume_episode(void *context, const struct restart_episode *restarted)
{
    const struct event_subject *subject = &restarted->subject;
    const struct episode episode = {
        .number = subject->episode,
        .incident = restarted->begin->incident,
        .begin = restarted->begin,
        .frozen_mono_ns = subject->began_mono_ns,
        .begun_mono_ns = subject->began_mono_ns,
        .progress = subject->progress,
        .moved_after_mono_ns = subject->moved_after_mono_ns,
        .stall_count = subject->stall_count,
        .cause = restarted->begin->cause,
    };
    const struct detector_adoption adoption = restart_adoption(restarted);
    struct events *events = context;

    if (cases_adopt(events->options.cases, restarted->ring, subject->slot, subject->generation, restarted->user,
                    &episode) != 0)
        return false;
    recorder_adopted(events->recorder, &adoption, &episode);
    return true;
}

/* Ends that happened while no ripd ran: as many as the budget allows, the rest on later scans. */
static void publish_unseen_ends(struct events *events, const struct events_scan *scan)
{
    size_t room = report_budget_lines(&events->restart_budget, scan->moment->scanned_mono_ns);
    const struct restart_episode *episode;

    for (; room != 0 && (episode = restart_next(&events->restart)) != NULL; room--) {
        report_budget_spend(&events->restart_budget, 1);
        publish(events, NULL, make_end_unseen(events, scan, episode), NULL, scan);
    }
}

void events_resume(struct events *events, const struct detector *detector)
{
    size_t on_count;

    if (events->restart.count == 0 || events->restart.settled)
        return;
    on_count = restart_settle(&events->restart, detector, resume_episode, events);
    log_line(LOG_LEVEL_INFO, "stalls from before the restart: going on=%zu over=%zu", on_count, events->restart.count);
}

/*
 * An id that moved and stalled again within one episode has a new counter value and time, by which it is recognized
 * after a restart. The quota keeps flickering ids from filling the disk and its queue.
 */
static void note_stalls_again(struct events *events, const struct events_scan *scan)
{
    const uint64_t now_mono_ns = scan->moment->scanned_mono_ns;

    if (events->history == NULL)
        return;
    work_leak(events->options.work, WORK_RESTALLS, WORK_RESTALLS_PER_SCAN);
    for (size_t i = 0; i < scan->update->event_count; i++) {
        const struct detector_event *change = &scan->update->events[i];
        const struct stall_case *stall;

        if (change->kind != DETECTOR_STALLED)
            continue;
        stall = cases_find(events->options.cases, change->ring, change->slot, change->generation);
        if (stall == NULL || stall->episode.number == 0 || stall->episode.stall_count < 2)
            continue;
        if (!work_take(events->options.work, stall->user, WORK_RESTALLS, 1)) {
            events->options.health->limit_counts[HEALTH_LIMIT_RESTALLS]++;
            continue;
        }
        event_history_stall_again(events->history, stall->episode.number, change->progress,
                                  now_mono_ns - change->frozen_for_ns, change->moved_after_mono_ns);
    }
}

void events_step(struct events *events, const struct events_scan *scan)
{
    struct stall_case *const *stalls;
    const struct case_report *reports;
    size_t count, stall_count;

    if (events->restart.count != 0)
        publish_unseen_ends(events, scan);
    note_stalls_again(events, scan);
    count = cases_publish(events->options.cases, &reports);
    stalls = cases_all(events->options.cases, &stall_count);
    if (count != 0) {
        incidents_find_roots(stalls, stall_count, scan->moment->waits);
        (void)incidents_assign(stalls, stall_count);
        recorder_reports(events->recorder, reports, count, stalls, stall_count);
    }
    for (size_t i = 0; i < count; i++)
        if (reports[i].kind == EVENT_BEGIN && reports[i].stall->episode.number > events->episode)
            events->episode = reports[i].stall->episode.number;
    for (size_t i = 0; i < count; i++) {
        struct stall_case *stall = reports[i].stall;

        if (reports[i].kind == EVENT_BEGIN && stall->episode.stage == EPISODE_OPEN && waits_for_name(scan, stall) &&
            delay_begin(events, scan, stall))
            continue;
        if (reports[i].kind == EVENT_BEGIN)
            publish_begin(events, scan, stall);
        else if (stall->episode.begin != NULL) /* otherwise its begin was lost: out of memory */
            publish(events, stall, make_end(events, scan, &stall->episode), NULL, scan);
    }
    events->options.health->incident_count = events->incidents.count;
    announce_written(events, scan->moment->scanned_mono_ns);
}

void events_flush(struct events *events, uint64_t now_mono_ns)
{
    if (events->late_count != 0)
        publish_late(events, now_mono_ns >= late_until_ns(events));
    announce_written(events, now_mono_ns);
}

int events_descriptor(const struct events *events)
{
    return events->history != NULL ? event_history_descriptor(events->history) : -1;
}

uint64_t events_wait_ns(const struct events *events, uint64_t now_mono_ns)
{
    uint64_t until_mono_ns = UINT64_MAX;

    if (events->queue_count != 0)
        until_mono_ns = events->queue[0].added_mono_ns + EVENTS_PATIENCE_NS;
    if (events->late_count != 0 && late_until_ns(events) < until_mono_ns)
        until_mono_ns = late_until_ns(events);
    return time_left_ns(until_mono_ns, now_mono_ns);
}

void events_stop(struct events *events)
{
    publish_late(events, true);
    event_history_close(events->history);
    events->history = NULL;
    for (size_t i = 0; i < events->queue_count; i++)
        announce(events, events->queue[i].event);
    events->queue_count = 0;
}

void events_set_recorder(struct events *events, struct recorder *recorder)
{
    events->recorder = recorder;
}

struct recorder_numbers events_numbers(const struct events *events)
{
    return (struct recorder_numbers){events->sequence, events->episode};
}
