/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - slots as items, one or a page of them. Touches the mappings.
 *
 * Guarantees
 *   1. An item is read from one registration of a slot: another generation is no item.
 *   2. A page asks the detector alone about ids that the state, the cause or the ring already rule out; what is in the
 *      ring is read only for a condition on it, and for what is returned.
 *   3. A tid is one of our pid namespace, or not known.
 */
#include "ring/describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "os/clock.h"

/* For the tid of one item; the registry bounds what all of them may take. */
#define TRANSLATE_NS UINT64_C(10000000)

/* Items ------------------------------------------------------------------------------------------------------------ */

/* The thread's number here; 0 = on none, or not known. */
static uint32_t translate_tid(struct registry *registry, struct ring *ring, const struct rip_id_info *info)
{
    uint32_t tid = 0;

    if (info->tid == 0 ||
        registry_find_thread(registry, ring, info->process, info->tid, clock_mono_ns() + TRANSLATE_NS, &tid) != 0)
        return 0;
    return tid;
}

static struct item *new_item(const struct ring *ring, const struct rip_id_info *info, const struct rip_crumb *crumbs,
                             size_t crumb_count)
{
    struct item *item = calloc(1, sizeof(*item) + crumb_count * sizeof(*crumbs));

    if (item == NULL)
        return NULL;
    atomic_init(&item->references, 1);
    item->ring_name = strdup(ring->name != NULL ? ring->name : ring->file_name);
    if (item->ring_name == NULL) {
        free(item);
        return NULL;
    }
    item->ring = ring->serial;
    item->slot = info->slot;
    item->generation = info->generation;
    item->id = info->id;
    item->kind = info->kind;
    item->name_bytes = info->name_bytes;
    memcpy(item->name, info->name, info->name_bytes);
    item->snap_count = info->snap_count;
    item->registered_boot_ns = info->registered_boot_ns;
    item->crumb_count = crumb_count;
    if (crumb_count != 0)
        memcpy(item->crumbs, crumbs, crumb_count * sizeof(*crumbs));
    return item;
}

static struct item *describe_slot(struct registry *registry, struct ring *ring, uint32_t slot, uint32_t generation)
{
    struct rip_crumb crumbs[RIP_ENTRY_COUNT];
    struct rip_id_info info, after;
    size_t crumb_count = 0;
    struct item *item;
    int result = mapping_id(&ring->mapping, slot, &info);

    if (result == 0)
        result = mapping_trail(&ring->mapping, slot, crumbs, &crumb_count);
    if (result == 0)
        result = mapping_id(&ring->mapping, slot, &after);
    if (result < 0)
        registry_damage(registry, ring, "was cut while it was read");
    if (result != 0 || info.generation != generation || after.generation != generation)
        return NULL;
    item = new_item(ring, &info, crumbs, crumb_count);
    if (item == NULL)
        return NULL;
    item->tid = translate_tid(registry, ring, &info);
    item->process = registry_process_facts(registry, ring, info.process);
    return item;
}

struct item *describe_id(struct registry *registry, uint32_t ring, uint32_t slot, uint32_t generation)
{
    struct ring *found = registry_find(registry, ring);

    return found != NULL ? describe_slot(registry, found, slot, generation) : NULL;
}

/* Pages ------------------------------------------------------------------------------------------------------------ */

struct walk {
    struct registry *registry;
    struct ring *ring;
    const struct query *query;
    const struct snapshot *snapshot;
    struct page *page;
    size_t capacity;
    bool reads_ring; /* the query has a condition on what only the ring knows */
    bool out_of_memory;
};

static bool is_running(enum id_state state)
{
    return state == ID_RUNNING || state == ID_IDLE;
}

static struct sighting sighting_of(const struct walk *walk, const struct detector_id *id)
{
    struct sighting sighting = {.state = id->state, .cause = id->cause, .threshold_ns = id->threshold_ns};

    if (is_running(id->state))
        return sighting;
    sighting.since_wall_ns = walk->snapshot->scanned_wall_ns - id->frozen_for_ns;
    sighting.frozen_since_ns = id->frozen_since_ns;
    sighting.frozen_for_ns = id->frozen_for_ns;
    sighting.frozen_for_max_ns = id->frozen_for_max_ns;
    return sighting;
}

/* Whether what the query says of the ring's content holds, with a bare item that carries just that. */
static bool content_matches(struct walk *walk, uint32_t slot, uint32_t generation, struct sighting *sighting)
{
    struct process_facts process = {0};
    struct rip_id_info info;
    struct item item = {0};

    if (mapping_id(&walk->ring->mapping, slot, &info) != 0 || info.generation != generation)
        return false;
    item.ring_name = walk->ring->name;
    item.id = info.id;
    item.name_bytes = info.name_bytes;
    memcpy(item.name, info.name, info.name_bytes);
    if (info.process < walk->ring->process_count) {
        process.pid = walk->ring->processes[info.process].pid;
        process.claimed_pid = walk->ring->processes[info.process].claim.pid;
        item.process = &process;
    }
    sighting->item = &item;
    if (!query_matches(walk->query, sighting)) {
        sighting->item = NULL;
        return false;
    }
    sighting->item = NULL;
    return true;
}

static bool matches(struct walk *walk, uint32_t slot, uint32_t generation, struct sighting *sighting)
{
    const struct query *query = walk->query;

    if (query->has_state && sighting->state != query->state)
        return false;
    if (query->has_cause && (sighting->cause == query->cause) == query->cause_excluded)
        return false;
    if (sighting->frozen_for_ns < query->min_ns)
        return false;
    return !walk->reads_ring || content_matches(walk, slot, generation, sighting);
}

static bool is_after_cursor(const struct walk *walk, uint32_t slot)
{
    const struct query_cursor *after = &walk->query->after;

    if (!after->present)
        return true;
    return walk->ring->serial != after->ring ? walk->ring->serial > after->ring : slot > after->slot;
}

static int append(struct walk *walk, uint32_t slot, uint32_t generation, const struct sighting *sighting)
{
    struct page *page = walk->page;
    struct item *item = describe_slot(walk->registry, walk->ring, slot, generation);
    struct sighting *sightings;

    if (item == NULL)
        return 0; /* it ended since the scan */
    sightings = array_reserve(page->sightings, &walk->capacity, page->count + 1, sizeof(*sightings));
    if (sightings == NULL) {
        item_unref(item);
        return -ENOMEM;
    }
    page->sightings = sightings;
    sightings[page->count] = *sighting;
    sightings[page->count].item = item;
    if (!is_running(sighting->state))
        sightings[page->count].frozen_for_max_ns =
            item_frozen_max_ns(item, walk->snapshot, sighting->frozen_for_ns, sighting->frozen_for_max_ns);
    page->count++;
    page->next = (struct query_cursor){.present = true, .ring = walk->ring->serial, .slot = slot};
    return 0;
}

static int visit_id(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id)
{
    struct walk *walk = context;
    struct sighting sighting = sighting_of(walk, id);

    if (!matches(walk, slot, generation, &sighting))
        return 0;
    walk->page->total++;
    if (!is_after_cursor(walk, slot))
        return 0;
    if (walk->page->count >= walk->query->limit) {
        walk->page->more = true;
        return 0;
    }
    return append(walk, slot, generation, &sighting);
}

/* All rings that the query allows. A ring that is damaged on the way leaves the array; the next one takes its place. */
static int walk_rings(struct walk *walk, const struct detector *detector)
{
    struct ring **rings;
    size_t count;
    int result = 0;

    for (size_t i = 0; result == 0; i++) {
        rings = registry_rings(walk->registry, &count);
        if (i >= count)
            break;
        walk->ring = rings[i];
        if (walk->query->ring[0] != '\0' &&
            (walk->ring->name == NULL || strcmp(walk->query->ring, walk->ring->name) != 0))
            continue;
        result = detector_visit(detector, walk->ring->serial, visit_id, walk);
        if (walk->ring->mapping.damaged) {
            registry_damage(walk->registry, walk->ring, "was cut while it was read"); /* if that is not yet done */
            i--;
        }
    }
    return result;
}

struct page *describe_threads(struct registry *registry, const struct detector *detector, const struct query *query,
                              struct snapshot *snapshot)
{
    struct walk walk = {.registry = registry, .query = query, .snapshot = snapshot, .page = page_new(snapshot)};

    walk.reads_ring = query->name[0] != '\0' || query->pid != 0 || query->one;
    if (walk.page == NULL)
        return NULL;
    if (walk_rings(&walk, detector) != 0) {
        page_unref(walk.page);
        return NULL;
    }
    return walk.page;
}
