/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_adopt.c - stalls that were open when the daemon stopped, and still are. Pure.
 *
 * The detector's clock begins with the monotonic time of its first scan; since when an adopted id stands still is a
 * time before that, and has a record in the history like a scan's. So there is nothing special about an adopted id once
 * the first scan has seen it.
 *
 * Guarantees
 *   A. An id is adopted only with the generation and the progress of its stall, alive and not idle.
 *   B. Every id whose adoption comes to nothing has an event, exactly one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect/detector_inside.h"
#include "util/array.h"
#include "util/search.h"

static int compare_places(const void *left, const void *right)
{
    const struct detector_adoption *a = left, *b = right;
    const int order = search_order_pair(a->ring, a->slot, b->ring, b->slot);

    return order != 0 ? order : search_order(a->generation, b->generation);
}

int detector_adopt(struct detector *detector, const struct detector_adoption *adoptions, size_t count)
{
    struct detector_adoption *copy;
    uint32_t *stamps;

    if (detector->started || detector->adoption_count)
        return -EBUSY;
    if (count == 0)
        return 0;
    copy = calloc(count, sizeof *copy);
    stamps = calloc(count, sizeof *stamps);
    detector->adoption_count = count; /* there is room for their events from now on, or they are not taken */
    if (!copy || !stamps || !detector_reserve_events(detector)) {
        detector->adoption_count = 0;
        free(copy);
        free(stamps);
        return -ENOMEM;
    }
    memcpy(copy, adoptions, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, compare_places);
    for (size_t i = 0; i < count; i++)
        copy[i].result = ADOPTION_GONE;
    detector->adoptions = copy;
    detector->adoption_stamps = stamps;
    return 0;
}

/* For sorting: an adoption's number, and its time. */
struct since {
    uint64_t frozen_since_ns;
    size_t number;
};

static int compare_times(const void *left, const void *right)
{
    const struct since *a = left, *b = right;

    return search_order_pair(a->frozen_since_ns, a->number, b->frozen_since_ns, b->number);
}

static struct history_scan scan_of(const struct detector_adoption *adoption, uint64_t now_mono_ns)
{
    struct history_scan scan = {
        .credit_ns = adoption->frozen_since_mono_ns < now_mono_ns ? adoption->frozen_since_mono_ns : now_mono_ns,
        .previous_mono_ns = adoption->moved_after_mono_ns,
    };

    if (scan.previous_mono_ns > scan.credit_ns)
        scan.previous_mono_ns = scan.credit_ns;
    return scan;
}

void detector_stamp_adoptions(struct detector *detector)
{
    const size_t count = detector->adoption_count;
    struct since *order = calloc(count ? count : 1, sizeof *order);

    for (size_t i = 0; order && i < count; i++)
        order[i] = (struct since){scan_of(&detector->adoptions[i], detector->now_mono_ns).credit_ns, i};
    if (order)
        qsort(order, count, sizeof *order, compare_times);
    for (size_t i = 0; i < count; i++) {
        const size_t number = order ? order[i].number : i;
        struct history_scan scan = scan_of(&detector->adoptions[number], detector->now_mono_ns);

        if (!order) /* without memory for their order they all stand still since now */
            scan.credit_ns = detector->now_mono_ns;
        detector->adoption_stamps[number] = history_push(&detector->history, scan);
    }
    free(order);
}

/* The first adoption that is not before that place. */
static size_t adoption_index(const struct detector *detector, const struct detector_adoption *place)
{
    return search_first(place, detector->adoptions, detector->adoption_count, sizeof(*place), compare_places);
}

uint32_t detector_adopted_mark(struct detector *detector, const struct rip_sample *sample, enum id_state state)
{
    const struct detector_adoption place = {
        .ring = detector->current->serial, .slot = sample->slot, .generation = sample->generation};
    const size_t i = adoption_index(detector, &place);
    struct detector_adoption *adoption = &detector->adoptions[i];
    const bool found = i < detector->adoption_count && compare_places(adoption, &place) == 0;

    if (!found || state == ID_DEAD)
        return 0;
    if (state != ID_RUNNING || adoption->progress != sample->progress) {
        adoption->result = ADOPTION_MOVED;
        return 0;
    }
    adoption->result = ADOPTION_ADOPTED;
    return mark_make(detector->adoption_stamps[i], ID_STALLED, adoption->cause) |
           (adoption->moved_after_mono_ns == DETECTOR_UNKNOWN_NS ? MARK_NEVER_MOVED : 0);
}

void detector_settle_adoptions(struct detector *detector)
{
    for (size_t i = 0; i < detector->adoption_count; i++) {
        struct detector_adoption *adoption = &detector->adoptions[i];
        const bool twice = i && compare_places(adoption - 1, adoption) == 0;

        if (twice)
            adoption->result = adoption[-1].result;
        if (twice || adoption->result == ADOPTION_ADOPTED)
            continue;
        detector->events[detector->event_count++] = (struct detector_event){
            .kind = adoption->result == ADOPTION_MOVED ? DETECTOR_MOVED : DETECTOR_GONE,
            .ring = adoption->ring,
            .slot = adoption->slot,
            .generation = adoption->generation,
            .cause = adoption->cause,
            .progress = adoption->progress,
            .frozen_for_ns = detector->now_mono_ns - scan_of(adoption, detector->now_mono_ns).credit_ns,
            .moved_after_mono_ns = adoption->moved_after_mono_ns,
        };
    }
}
