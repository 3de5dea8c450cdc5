/* SPDX-License-Identifier: Apache-2.0 */
/* event_making.c - fields of an event from what the detector, the event log and the slot say. */
#include "app/event_making.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/waits.h"
#include "view/document_event.h"

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
static char *copy_or_null(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

/* What its place is called, as far as that is known by now. */
static void fill_names(struct event *event, const struct module_facts *module)
{
    const struct symbol *symbol = symbol_table_find(&module->symbols, event->offset);

    if (symbol == NULL || symbol->frame_count == 0)
        return;
    event->function = copy_or_null(symbol->frames[0].function);
    event->file = copy_or_null(symbol->frames[0].file);
    event->line = symbol->frames[0].line;
}

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
    if (module == NULL)
        return;
    event->module = strdup(module->name);
    event->offset = event->module != NULL ? item->crumbs[0].address - module->bias : 0;
    fill_names(event, module);
}

/* Whom the line in the log names; all of the chain is in the event's text. */
static void fill_root(struct event *event, const struct sighting *sighting)
{
    const struct waits_node *nodes = sighting->waits != NULL ? sighting->waits->nodes : NULL;
    const struct waits_node *root;

    if (nodes == NULL || nodes[sighting->wait_node].next == WAITS_NONE)
        return;
    root = &nodes[nodes[sighting->wait_node].deadlocked ? nodes[sighting->wait_node].next
                                                        : nodes[sighting->wait_node].last];
    event->root_bytes = root->name_bytes < RIP_NAME_BYTES ? root->name_bytes : RIP_NAME_BYTES;
    memcpy(event->root, root->name, event->root_bytes);
    if (root->kind == WAITS_GONE)
        event->root_bytes =
            (uint8_t)snprintf((char *)event->root, RIP_NAME_BYTES, "thread %" PRIu32 ", which is gone", root->owner);
}

struct event *event_make_begin(const struct events_scan *scan, const struct report *report, uint64_t sequence,
                               uint64_t episode)
{
    const struct snapshot moment = {
        .scanned_wall_ns = scan->now_wall_ns, .scanned_boot_ns = scan->now_boot_ns, .waits = scan->waits};
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
    event->sequence = sequence;
    event->kind = EVENT_BEGIN;
    event->episode = episode;
    event->at_wall_ns = scan->now_wall_ns;
    event->duration_ns = sighting.frozen_for_ns;
    event->duration_max_ns = sighting.frozen_for_max_ns;
    event->since_wall_ns = sighting.since_wall_ns;
    event->threshold_ns = sighting.threshold_ns;
    event->cause = sighting.cause;
    if (item != NULL)
        fill_subject(event, item);
    fill_root(event, &sighting);
    if (sighting.kernel != NULL) {
        event->syscall = sighting.kernel->syscall;
        event->target = sighting.kernel->target[0] != '\0' ? strdup(sighting.kernel->target) : NULL;
    }
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
static struct event *end_new(const struct event *begin, uint64_t sequence)
{
    struct event *event = event_make();

    if (event == NULL)
        return NULL;
    event->sequence = sequence;
    event->kind = EVENT_END;
    event->episode = begin->episode;
    event->since_wall_ns = begin->since_wall_ns;
    event->threshold_ns = begin->threshold_ns;
    event->id = begin->id;
    event->tid = begin->tid;
    event->pid = begin->pid;
    event->uid = begin->uid;
    memcpy(event->ring, begin->ring, sizeof(event->ring));
    event->name_bytes = begin->name_bytes;
    memcpy(event->name, begin->name, sizeof(event->name));
    memcpy(event->comm, begin->comm, sizeof(event->comm));
    event->module = copy_or_null(begin->module);
    event->offset = begin->offset;
    event->function = copy_or_null(begin->function);
    event->file = copy_or_null(begin->file);
    event->line = begin->line;
    return event;
}

/* How long it may have stood still, that was first seen to do so that long ago. */
static uint64_t other_end_of(uint64_t lasted_ns, const struct event *begin)
{
    if (begin->duration_max_ns == EVENT_UNKNOWN_NS || begin->duration_max_ns < begin->duration_ns)
        return EVENT_UNKNOWN_NS;
    return lasted_ns + (begin->duration_max_ns - begin->duration_ns);
}

struct event *event_make_end(const struct events_scan *scan, const struct report *report, const struct event *begin,
                             uint64_t sequence)
{
    struct event *event = end_new(begin, sequence);

    if (event == NULL)
        return NULL;
    event->at_wall_ns = wall_before_ns(scan->now_wall_ns, scan->now_mono_ns - report->at_mono_ns);
    event->duration_ns = report->lasted_ns;
    event->duration_max_ns = other_end_of(report->lasted_ns, begin);
    event->cause = report->cause;
    event->reason = reason_of(report->reason);
    event->stall_count = report->stall_count;
    if (document_event_end(event, begin) == 0)
        return event;
    event_unref(event);
    return NULL;
}

struct event *event_make_end_unseen(const struct events_scan *scan, const struct restart_episode *episode,
                                    const uint8_t boot_id[16], uint64_t sequence)
{
    const struct event *begin = episode->begin;
    const struct event_subject *subject = &episode->subject;
    bool same_clock =
        memcmp(subject->boot_id, boot_id, sizeof(subject->boot_id)) == 0 && subject->began_mono_ns <= scan->now_mono_ns;
    struct event *event = end_new(begin, sequence);

    if (event == NULL)
        return NULL;
    event->at_wall_ns = scan->now_wall_ns;
    event->duration_ns = begin->duration_ns;
    event->duration_max_ns = EVENT_UNKNOWN_NS;
    if (same_clock)
        event->duration_max_ns = other_end_of(scan->now_mono_ns - subject->began_mono_ns, begin);
    event->cause = begin->cause;
    event->reason = episode->reason;
    event->stall_count = subject->stall_count;
    if (document_event_end(event, begin) == 0)
        return event;
    event_unref(event);
    return NULL;
}
