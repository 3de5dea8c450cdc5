/* SPDX-License-Identifier: Apache-2.0 */
/* opened.c - a small set of ids, each with the time until which it is examined. See opened.h. */
#include "app/opened.h"

#include <string.h>

#include "ring/mapping.h"
#include "util/array.h"

/* Adds an id, or extends the time of one that is there. Returns false if it was there. */
static bool add(struct opened *opened, const struct item *item, uint64_t now_mono_ns)
{
    struct opened_id *oldest = &opened->ids[0];
    const struct opened_id fresh = {item->ring, item->slot, item->generation, now_mono_ns + OPENED_NS};

    for (size_t i = 0; i < opened->count; i++) {
        struct opened_id *id = &opened->ids[i];

        if (id->ring == fresh.ring && id->slot == fresh.slot && id->generation == fresh.generation) {
            id->until_mono_ns = fresh.until_mono_ns;
            return false;
        }
        if (id->until_mono_ns < oldest->until_mono_ns)
            oldest = id;
    }
    if (opened->count < OPENED_MAX)
        oldest = &opened->ids[opened->count++];
    *oldest = fresh;
    return true;
}

bool opened_hold(struct opened *opened, uint64_t ticket, const struct query *query, const struct page *page,
                 uint64_t now_mono_ns, uint64_t wait_ns)
{
    bool is_new = false;

    if (!query->one || page == NULL || page->sightings == NULL)
        return false;
    for (size_t i = 0; i < page->count; i++) {
        const struct sighting *sighting = &page->sightings[i];

        if (sighting->state == ID_IDLE && sighting->item->tid != 0)
            is_new = add(opened, sighting->item, now_mono_ns) || is_new;
    }
    if (!is_new || wait_ns > OPENED_HOLD_NS || opened->held_count == OPENED_HELD_MAX)
        return false;
    opened->held[opened->held_count++] = (struct opened_query){ticket, *query};
    return true;
}

bool opened_release(struct opened *opened, struct opened_query *ret_query)
{
    if (opened->held_count == 0)
        return false;
    *ret_query = opened->held[0];
    ARRAY_CLOSE(opened->held, opened->held_count, 0);
    return true;
}

/*
 * Fills in what the probe needs to know about an idle id. Returns false if the id has gone or no longer declares itself
 * idle.
 */
static bool look_up(struct registry *registry, const struct detector *detector, const struct opened_id *id,
                    struct ring **ret_ring, struct detector_suspect *ret_suspect)
{
    struct ring *ring = registry_find(registry, id->ring);
    struct rip_id_info info;
    struct detector_id known;

    if (ring == NULL || detector_find(detector, id->ring, id->slot, id->generation, &known) != 0 ||
        known.state != ID_IDLE || known.cause != CAUSE_NONE || mapping_id(&ring->mapping, id->slot, &info) != 0 ||
        info.generation != id->generation || info.tid == 0)
        return false;
    *ret_ring = ring;
    *ret_suspect = (struct detector_suspect){
        .ring = id->ring,
        .slot = id->slot,
        .generation = id->generation,
        .tid = info.tid,
        .process = info.process,
        .call = info.call,
        .name_version = info.name_version,
        .progress = known.progress,
        .frozen_since_ns = known.frozen_since_ns,
        .frozen_for_ns = known.frozen_for_ns,
        .frozen_for_max_ns = known.frozen_for_max_ns,
        .threshold_ns = known.threshold_ns,
        .state = ID_IDLE,
    };
    return true;
}

void opened_renew(struct opened *opened, struct registry *registry, const struct detector *detector,
                  struct cases *cases, uint64_t now_mono_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < opened->count; i++) {
        const struct opened_id id = opened->ids[i];
        struct detector_suspect thread;
        struct ring *ring;

        if (now_mono_ns < id.until_mono_ns && look_up(registry, detector, &id, &ring, &thread) &&
            cases_open(cases, &thread, ring->user) == 0)
            opened->ids[kept++] = id;
        else
            cases_close(cases, id.ring, id.slot, id.generation);
    }
    opened->count = kept;
}
