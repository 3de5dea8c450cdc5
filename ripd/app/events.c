/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - reports of the event log as events. An episode carries its begin event, which tells of its end who it was
 * when the id is long gone.
 */
#include "app/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/log.h"
#include "app/report.h"
#include "core/event_log.h"
#include "os/random.h"
#include "view/document_event.h"

struct events {
    struct events_options options;
    struct event_log *log;
    struct report_budget budget;
    uint64_t suppressed_count; /* of which the log has been told */
    uint64_t epoch;
    uint64_t sequence; /* of the last event */
    uint64_t episode;  /* of the last begin */
};

static void release_event(void *event)
{
    event_unref(event);
}

int events_new(struct events **ret_events, const struct events_options *options, uint64_t now_mono_ns)
{
    struct events *events = calloc(1, sizeof(*events));
    int error = events != NULL ? 0 : -ENOMEM;

    if (error == 0)
        error = event_log_new(&events->log, options->hysteresis_ns, REPORT_BURST);
    if (error != 0) {
        free(events);
        return error;
    }
    events->options = *options;
    events->epoch = random_u64() | 1;
    report_budget_init(&events->budget, now_mono_ns);
    *ret_events = events;
    return 0;
}

void events_free(struct events *events)
{
    if (events == NULL)
        return;
    event_log_free(events->log, release_event);
    free(events);
}

/* The suspect that a report is about: they are in order of ring and slot. NULL: there is none. */
static const struct detector_suspect *suspect_of(const struct detector_update *update, const struct report *report)
{
    size_t low = 0, high = update->suspect_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct detector_suspect *suspect = &update->suspects[middle];

        if (suspect->ring == report->ring && suspect->slot == report->slot)
            return suspect;
        if (suspect->ring < report->ring || (suspect->ring == report->ring && suspect->slot < report->slot))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* What lists filter by and the log tells. */
static void fill_subject(struct event *event, const struct item *item)
{
    const struct module_facts *module;

    event->id = item->id;
    event->tid = item->tid;
    event->pid = item->process != NULL ? item->process->pid : 0;
    strncpy(event->ring, item->ring_name, sizeof(event->ring) - 1);
    event->name_bytes = item->name_bytes < RIP_NAME_BYTES ? item->name_bytes : RIP_NAME_BYTES;
    memcpy(event->name, item->name, event->name_bytes);
    if (item->process != NULL)
        memcpy(event->comm, item->process->comm, sizeof(event->comm));
    if (item->crumb_count == 0 || item->process == NULL)
        return;
    module = process_facts_module(item->process, item->crumbs[0].address);
    event->module = module != NULL ? strdup(module->name) : NULL;
    event->offset = event->module != NULL ? item->crumbs[0].address - module->bias : 0;
}

static struct event *begin_new(const struct events *events, const struct events_scan *scan, const struct report *report)
{
    const struct snapshot moment = {.scanned_wall_ns = scan->now_wall_ns, .scanned_boot_ns = scan->now_boot_ns};
    const struct detector_suspect nothing = {.state = ID_STALLED,
                                             .cause = report->cause,
                                             .frozen_for_ns = report->lasted_ns,
                                             .frozen_for_max_ns = UINT64_MAX};
    const struct detector_suspect *suspect = suspect_of(scan->update, report);
    struct item *item = stalls_find(scan->stalls, report->ring, report->slot, report->generation);
    struct sighting sighting = stalls_sighting(suspect != NULL ? suspect : &nothing, item, &moment);
    struct event *event = event_make();

    if (event == NULL)
        return NULL;
    event->sequence = events->sequence + 1;
    event->kind = EVENT_BEGIN;
    event->episode = events->episode + 1;
    event->at_wall_ns = scan->now_wall_ns;
    event->duration_ns = sighting.frozen_for_ns;
    event->duration_max_ns = sighting.frozen_for_max_ns;
    event->since_wall_ns = sighting.since_wall_ns;
    event->threshold_ns = sighting.threshold_ns;
    event->cause = sighting.cause;
    if (item != NULL)
        fill_subject(event, item);
    if (document_event_begin(event, &sighting) == 0)
        return event;
    event_unref(event);
    return NULL;
}

static enum event_reason reason_of(enum detector_event_kind kind)
{
    switch (kind) {
    case DETECTOR_MOVED:
        return EVENT_REASON_MOVED;
    case DETECTOR_STOPPED:
        return EVENT_REASON_STOPPED;
    case DETECTOR_EXCUSED:
        return EVENT_REASON_EXCUSED;
    case DETECTOR_STALLED:
    case DETECTOR_GONE:
        break;
    }
    return EVENT_REASON_GONE;
}

/* What an end has of its begin. */
static struct event *end_new(const struct events *events, const struct event *begin)
{
    struct event *event = event_make();

    if (event == NULL)
        return NULL;
    event->sequence = events->sequence + 1;
    event->kind = EVENT_END;
    event->episode = begin->episode;
    event->since_wall_ns = begin->since_wall_ns;
    event->threshold_ns = begin->threshold_ns;
    event->id = begin->id;
    event->tid = begin->tid;
    event->pid = begin->pid;
    memcpy(event->ring, begin->ring, sizeof(event->ring));
    event->name_bytes = begin->name_bytes;
    memcpy(event->name, begin->name, sizeof(event->name));
    memcpy(event->comm, begin->comm, sizeof(event->comm));
    event->module = begin->module != NULL ? strdup(begin->module) : NULL;
    event->offset = begin->offset;
    return event;
}

static struct event *end_of_report(const struct events *events, const struct events_scan *scan,
                                   const struct report *report, const struct event *begin)
{
    struct event *event = end_new(events, begin);

    if (event == NULL)
        return NULL;
    event->at_wall_ns = scan->now_wall_ns - (scan->now_mono_ns - report->at_mono_ns);
    event->duration_ns = report->lasted_ns;
    event->duration_max_ns = begin->duration_max_ns != EVENT_UNKNOWN_NS
                                 ? report->lasted_ns + (begin->duration_max_ns - begin->duration_ns)
                                 : EVENT_UNKNOWN_NS;
    event->cause = report->cause;
    event->reason = reason_of(report->reason);
    event->stall_count = report->stall_count;
    if (document_event_end(event, begin) == 0)
        return event;
    event_unref(event);
    return NULL;
}

/* Takes over the event. */
static void announce(struct events *events, struct event *event)
{
    events->sequence = event->sequence;
    if (event->kind == EVENT_BEGIN)
        events->episode = event->episode;
    events->options.announce(events->options.context, event);
    event_unref(event);
}

static void take_begin(struct events *events, const struct events_scan *scan, const struct report *report)
{
    struct event *event = begin_new(events, scan, report);

    if (event == NULL) {
        log_line(LOG_LEVEL_ERROR, "out of memory for an event: a stall is not reported");
        return;
    }
    if (event_log_tag(events->log, report->ring, report->slot, report->generation, event_ref(event)) != 0)
        event_unref(event);
    announce(events, event);
}

static void take_end(struct events *events, const struct events_scan *scan, const struct report *report)
{
    struct event *begin = report->tag;
    struct event *event;

    if (begin == NULL)
        return; /* there was no memory for its begin */
    event = end_of_report(events, scan, report, begin);
    event_unref(begin);
    if (event != NULL)
        announce(events, event);
    else
        log_line(LOG_LEVEL_ERROR, "out of memory for an event: the end of a stall is not reported");
}

void events_step(struct events *events, const struct events_scan *scan)
{
    const struct detector_update *update = scan->update;
    uint64_t suppressed_count;
    const struct report *reports;
    int count;

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
}

void events_set_hysteresis(struct events *events, uint64_t hysteresis_ns)
{
    event_log_set_hysteresis(events->log, hysteresis_ns);
}

uint64_t events_epoch(const struct events *events)
{
    return events->epoch;
}

uint64_t events_suppressed_count(const struct events *events)
{
    return event_log_suppressed_count(events->log);
}
