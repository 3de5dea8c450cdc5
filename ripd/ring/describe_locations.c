/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_locations.c - all ids that match, counted by their last location. Touches the mappings.
 *
 * Of each id its last location is read, and nothing else; one id of each group that is returned is described. The facts
 * of all processes met are held to the end, so that no pointer to them comes to mean another process.
 */
#include <errno.h>
#include <stdlib.h>

#include "cases/locations.h"
#include "ring/describe.h"
#include "ring/describe_walk.h"
#include "util/array.h"

struct counting {
    struct locations *locations;
    struct process_facts **held; /* references; of the present ring's processes from first on */
    size_t held_count;
    size_t held_capacity;
    size_t first;
    uint32_t ring; /* serial of the present ring; 0 = none yet */
};

static int enter_ring(struct counting *counting, const struct ring *ring)
{
    size_t needed = counting->held_count + ring->process_count;
    struct process_facts **held = array_reserve(counting->held, &counting->held_capacity, needed, sizeof(*held));

    if (held == NULL)
        return -ENOMEM;
    counting->held = held;
    counting->first = counting->held_count;
    while (counting->held_count < needed)
        held[counting->held_count++] = NULL;
    counting->ring = ring->serial;
    return 0;
}

/* NULL: not known. */
static const struct process_facts *facts_of(struct counting *counting, const struct walk *walk, uint16_t process)
{
    struct process_facts **facts;

    if (counting->first + process >= counting->held_count)
        return NULL;
    facts = &counting->held[counting->first + process];
    if (*facts == NULL)
        *facts = registry_process_facts(walk->registry, walk->ring, process);
    return *facts;
}

static int take(struct walk *walk, uint32_t slot, uint32_t generation, const struct sighting *sighting)
{
    struct counting *counting = walk->context;
    struct located_id id = {
        .state = sighting->state,
        .frozen_for_ns = sighting->frozen_for_ns,
        .ring = walk->ring->serial,
        .slot = slot,
        .generation = generation,
    };
    struct rip_last_info last;

    if (counting->ring != walk->ring->serial && enter_ring(counting, walk->ring) != 0)
        return -ENOMEM;
    if (mapping_last(&walk->ring->mapping, slot, &last) != 0 || last.generation != generation)
        return 0; /* it ended since the scan */
    id.snapped = last.crumb.snap != 0;
    if (id.snapped) {
        id.address = last.crumb.address;
        id.process = facts_of(counting, walk, last.process);
    }
    return locations_add(counting->locations, &id);
}

static void describe_examples(struct registry *registry, const struct page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        struct location_group *group = &page->locations->groups[page->first + i];

        group->example = describe_id(registry, group->ring, group->slot, group->generation);
    }
}

struct page *describe_locations(struct registry *registry, const struct detector *detector, const struct query *query,
                                struct snapshot *snapshot)
{
    struct counting counting = {.locations = locations_new(&snapshot->hash_key)};
    struct walk walk = {.registry = registry, .query = query, .snapshot = snapshot, .take = take, .context = &counting};
    struct page *page = NULL;

    if (counting.locations != NULL && walk_ids(&walk, detector) == 0) {
        page = page_of_locations(query, snapshot, counting.locations);
        counting.locations = NULL;
    }
    if (page != NULL)
        describe_examples(registry, page);
    locations_free(counting.locations);
    for (size_t i = 0; i < counting.held_count; i++)
        process_facts_unref(counting.held[i]);
    free(counting.held);
    return page;
}
