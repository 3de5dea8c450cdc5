/* SPDX-License-Identifier: Apache-2.0 */
/* event_samples.h - events with the texts that the product makes. */
#ifndef TESTS_UNIT_EVENT_SAMPLES_H
#define TESTS_UNIT_EVENT_SAMPLES_H

#include <stdio.h>

#include "cases/event.h"
#include "unit/samples.h"
#include "view/document_event.h"

static inline void sample_event_subject(struct event *event, const void *name, size_t name_bytes)
{
    event->since_wall_ns = SAMPLE_SCANNED_WALL_NS - UINT64_C(13800000000);
    event->threshold_ns = UINT64_C(5000000000);
    event->cause = CAUSE_BLOCKED;
    event->id = 17;
    event->tid = 4711;
    event->pid = 4690;
    snprintf(event->ring, sizeof(event->ring), "checkout");
    snprintf(event->comm, sizeof(event->comm), "checkout");
    event->name_bytes = (uint8_t)name_bytes;
    memcpy(event->name, name, name_bytes);
    event->unit = strdup("checkout.service");
    event->module = strdup("checkout");
    event->offset = 0x1234;
}

/* The begin of the stall of sample_stall(), of an id of this name. */
static inline struct event *sample_begin_named(uint64_t sequence, uint64_t episode, const void *name, size_t name_bytes)
{
    struct item *item = sample_item(sample_process("/usr/bin/checkout", 4690), "checkout", 1, 17, name, name_bytes, 1);
    struct sighting sighting = sample_stall(item, 1000);
    struct event *event = event_make();

    event->sequence = sequence;
    event->kind = EVENT_BEGIN;
    event->episode = episode;
    event->incident = episode;
    event->at_wall_ns = SAMPLE_SCANNED_WALL_NS;
    event->duration_ns = UINT64_C(13800000000);
    event->duration_max_ns = UINT64_C(14900000000);
    sample_event_subject(event, name, name_bytes);
    if (document_event_begin(event, &sighting, NULL) != 0)
        abort();
    item_unref(item);
    return event;
}

static inline struct event *sample_begin(uint64_t sequence, uint64_t episode)
{
    return sample_begin_named(sequence, episode, "worker-17", 9);
}

/* The end of a begin, 20 s after the id froze. */
static inline struct event *sample_end(uint64_t sequence, const struct event *begin)
{
    struct event *event = event_make();

    event->sequence = sequence;
    event->kind = EVENT_END;
    event->episode = begin->episode;
    event->incident = begin->incident;
    event->at_wall_ns = begin->since_wall_ns + UINT64_C(20000000000);
    event->duration_ns = UINT64_C(20000000000);
    event->duration_max_ns = UINT64_C(21100000000);
    sample_event_subject(event, begin->name, begin->name_bytes);
    event->reason = EVENT_REASON_MOVED;
    event->stall_count = 2;
    if (document_event_end(event, begin) != 0)
        abort();
    return event;
}

#endif
