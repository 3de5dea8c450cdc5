/* SPDX-License-Identifier: Apache-2.0 */
/* event_make.c - makes the event and its text from a case at a moment. Pure. See event_make.h. */
#include "view/event_make.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/waits.h"
#include "view/document_event.h"

static char *copy_or_null(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

static void fill_subject(struct event *event, const struct item *item)
{
    const struct module_facts *module = item_module(item, &event->offset);
    const struct symbol_frame frame = module_place(module, event->offset); /* as far as known by now */

    event->id = item->id;
    event->tid = item->tid;
    event->pid = item->process != NULL ? item->process->pid : 0;
    strncpy(event->ring, item->ring_name, sizeof(event->ring) - 1);
    event->name_bytes = item->name_bytes;
    memcpy(event->name, item->name, event->name_bytes);
    event->note_bytes = item->note_bytes;
    memcpy(event->note, item->note, event->note_bytes);
    if (item->process != NULL)
        memcpy(event->comm, item->process->comm, sizeof(event->comm));
    if (item->process != NULL && item->process->origin != NULL) {
        event->unit = copy_or_null(item->process->origin->unit);
        event->container = copy_or_null(item->process->origin->container);
    }
    event->function = copy_or_null(frame.function);
    event->file = copy_or_null(frame.file);
    event->line = frame.line;
    event->module = module != NULL && !module->is_scripts ? strdup(module->name) : NULL;
    if (event->module == NULL)
        event->offset = 0;
}

/* Gets the name of a node for the log. Returns its length in bytes. */
static uint8_t node_name(const struct waits_node *node, uint8_t ret_name[RIP_NAME_BYTES])
{
    if (node->kind == WAITS_GONE)
        return (uint8_t)snprintf((char *)ret_name, RIP_NAME_BYTES, "thread %" PRIu32 ", which is gone", node->holder);
    memcpy(ret_name, node->name, RIP_NAME_BYTES);
    return node->name_bytes;
}

/* Sets the holder that the line in the log names: the first of "waits_for". The summary has more of the chain. */
static void fill_holder(struct event *event, const struct sighting *sighting)
{
    const struct waits_node *nodes = sighting->waits != NULL ? sighting->waits->nodes : NULL;
    const struct waits_node *node = nodes != NULL ? &nodes[sighting->wait_node] : NULL;

    if (node == NULL || node->next == WAITS_NONE)
        return;
    event->holder_bytes = node_name(&nodes[node->next], event->holder);
}

static void fill_kernel(struct event *event, const struct kernel_facts *kernel)
{
    if (kernel == NULL)
        return;
    event->syscall = kernel->syscall;
    event->target = kernel->target[0] != '\0' ? strdup(kernel->target) : NULL;
}

/* Copies the fields of the id from another event. */
static void copy_subject(struct event *event, const struct event *from)
{
    event->id = from->id;
    event->tid = from->tid;
    event->pid = from->pid;
    memcpy(event->ring, from->ring, sizeof(event->ring));
    event->name_bytes = from->name_bytes;
    memcpy(event->name, from->name, sizeof(event->name));
    memcpy(event->comm, from->comm, sizeof(event->comm));
    event->unit = copy_or_null(from->unit);
    event->container = copy_or_null(from->container);
    event->module = copy_or_null(from->module);
    event->offset = from->offset;
    event->function = copy_or_null(from->function);
    event->file = copy_or_null(from->file);
    event->line = from->line;
}

struct sighting sighting_of_case(const struct stall_case *stall, const struct snapshot *moment)
{
    const struct detector_suspect *suspect = &stall->suspect;
    uint64_t max_ns = suspect->frozen_for_max_ns;
    struct sighting sighting = {
        .item = stall->item,
        .kernel = stall->kernel,
        .state = suspect->state,
        .cause = suspect->cause,
        .frozen_since_ns = suspect->frozen_since_ns,
        .frozen_for_ns = suspect->frozen_for_ns,
        .read_ago_ns = suspect->read_ago_ns,
        .frozen_for_max_ns =
            stall->item != NULL ? item_frozen_max_ns(stall->item, moment, suspect->frozen_for_ns, max_ns) : max_ns,
        .threshold_ns = suspect->threshold_ns,
    };

    sighting_set_since(&sighting, moment);
    sighting_set_wait(&sighting, moment->waits, stall->ring, stall->slot, stall->generation);
    return sighting;
}

/* The decision is of the scan on which the episode began. */
static struct event *begin_new(const struct stall_case *stall, const struct snapshot *moment, struct event_label label,
                               const struct sighting *sighting)
{
    const struct episode *episode = &stall->episode;
    struct event *event = event_make();

    if (event == NULL)
        return NULL;
    event->sequence = label.sequence;
    event->kind = EVENT_BEGIN;
    event->episode = episode->number;
    event->incident = episode->incident;
    event->waiting_count = episode->waiting_count;
    event->reported = label.reported;
    event->uid = stall->user;
    event->at_wall_ns = moment->scanned_wall_ns;
    event->duration_ns = sighting->frozen_for_ns;
    event->duration_max_ns = sighting->frozen_for_max_ns;
    event->since_wall_ns = sighting->since_wall_ns;
    event->threshold_ns = sighting->threshold_ns;
    event->cause = sighting->cause;
    return event;
}

struct event *event_make_begin(const struct stall_case *stall, const struct snapshot *scan, struct event_label label,
                               const struct event *seen)
{
    const struct episode *episode = &stall->episode;
    const uint64_t ago_ns = scan->scanned_mono_ns - episode->begun_mono_ns;
    const struct snapshot moment = {.scanned_wall_ns = wall_before_ns(scan->scanned_wall_ns, ago_ns),
                                    .scanned_boot_ns = scan->scanned_boot_ns - ago_ns,
                                    .waits = episode->stage == EPISODE_OPEN ? scan->waits : NULL};
    struct sighting sighting = sighting_of_case(stall, &moment);
    struct event *event;

    sighting.frozen_for_ns = episode->begun_mono_ns - episode->frozen_mono_ns;
    sighting.since_wall_ns = wall_before_ns(moment.scanned_wall_ns, sighting.frozen_for_ns);
    sighting.state = ID_STALLED;
    sighting.cause = episode->cause;
    if (ago_ns != 0 && sighting.frozen_for_max_ns != UINT64_MAX)
        sighting.frozen_for_max_ns = episode->moved_after_mono_ns != DETECTOR_UNKNOWN_NS
                                         ? episode->begun_mono_ns - episode->moved_after_mono_ns
                                         : UINT64_MAX;
    event = begin_new(stall, &moment, label, &sighting);
    if (event == NULL)
        return NULL;
    if (seen != NULL) {
        copy_subject(event, seen);
    } else {
        if (stall->item != NULL)
            fill_subject(event, stall->item);
        fill_holder(event, &sighting);
        fill_kernel(event, sighting.kernel);
    }
    if (document_event_begin(event, &sighting, seen) == 0)
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

uint64_t event_lasted_max_ns(const struct event *begin, uint64_t lasted_ns)
{
    if (begin->duration_max_ns == EVENT_UNKNOWN_NS || begin->duration_max_ns < begin->duration_ns)
        return EVENT_UNKNOWN_NS;
    return lasted_ns + (begin->duration_max_ns - begin->duration_ns);
}

struct event *event_make_ending(const struct event *begin, const struct event_ending *ending, struct event_label label)
{
    struct event *event = event_make();

    if (event == NULL)
        return NULL;
    event->sequence = label.sequence;
    event->kind = EVENT_END;
    event->episode = begin->episode;
    event->incident = begin->incident;
    event->reported = label.reported;
    event->uid = begin->uid;
    event->since_wall_ns = begin->since_wall_ns;
    event->threshold_ns = begin->threshold_ns;
    copy_subject(event, begin);
    event->at_wall_ns = ending->at_wall_ns;
    event->duration_ns = ending->lasted_ns;
    event->duration_max_ns = ending->lasted_max_ns;
    event->cause = ending->cause;
    event->reason = ending->reason;
    event->stall_count = ending->stall_count;
    if (document_event_end(event, begin) == 0)
        return event;
    event_unref(event);
    return NULL;
}

struct event *event_make_end(const struct episode *episode, const struct snapshot *scan, struct event_label label)
{
    const uint64_t lasted_ns = episode->moved_mono_ns - episode->frozen_mono_ns;
    const struct event_ending ending = {
        .at_wall_ns = wall_before_ns(scan->scanned_wall_ns, scan->scanned_mono_ns - episode->moved_mono_ns),
        .lasted_ns = lasted_ns,
        .lasted_max_ns = event_lasted_max_ns(episode->begin, lasted_ns),
        .cause = episode->cause,
        .reason = reason_of(episode->reason),
        .stall_count = episode->stall_count,
    };

    return event_make_ending(episode->begin, &ending, label);
}
