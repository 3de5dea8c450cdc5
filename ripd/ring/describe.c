/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - describes ids as items: one id; a page of the ids that match a query; or all that match, counted by
 * their last location. Touches the mappings.
 *
 * Guarantees
 *   1. An item comes from one registration of a slot: if the generation has changed, there is no item.
 *   2. A tid is of our pid namespace, or not known.
 *   3. Conditions on the state, the cause and the ring are checked with the detector alone. The ring's content is read
 *      only if the query has a condition on it. Then it is read for all ids, because all selected ids are counted. An
 *      id is described only if it is returned.
 *   4. A ring that faults is marked as damaged and skipped. The walk continues with the next ring.
 */
#include "ring/describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases/locations.h"
#include "os/clock.h"
#include "ring/modules.h"
#include "util/array.h"

/* One id ----------------------------------------------------------------------------------------------------------- */

/* Time limit for the tid of one item. The registry limits the sum. */
#define TRANSLATE_NS UINT64_C(10000000)

/* Returns the tid in our namespace, or 0 if the id is on no thread or the tid is not known. */
static uint32_t translate_tid(struct registry *registry, struct ring *ring, const struct rip_id_info *info)
{
    uint32_t tid = 0;

    if (info->tid == 0 ||
        registry_find_thread(registry, ring, info->process, info->tid, clock_mono_ns() + TRANSLATE_NS, &tid) != 0)
        return 0;
    return tid;
}

static struct item *describe_slot(struct registry *registry, struct ring *ring, uint32_t slot, uint32_t generation)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_note_info note = {0};
    struct rip_id_info info, after;
    size_t entry_count = 0;
    struct item *item;
    uint64_t last; /* address of code */
    int result = mapping_id(&ring->mapping, slot, &info);

    if (result == 0)
        result = mapping_trail(&ring->mapping, slot, entries, &entry_count);
    if (result == 0 && mapping_note(&ring->mapping, slot, &note) < 0)
        result = -EIO; /* most ids have no note */
    if (result == 0)
        result = mapping_id(&ring->mapping, slot, &after);
    if (result < 0)
        registry_damage(registry, ring);
    if (result != 0 || info.generation != generation || after.generation != generation)
        return NULL;
    item = item_make(ring->serial, ring_name(ring), &info, &note, entries, entry_count);
    if (item == NULL)
        return NULL;
    item->tid = translate_tid(registry, ring, &info);
    item->process = registry_process_facts(registry, ring, info.process);
    for (size_t i = 0; i < entry_count; i++)
        if (scripts_learn(ring, registry_host(registry), entries[i].address) < 0)
            registry_damage(registry, ring);
    last = entry_count != 0 ? entries[0].address : 0;
    if (item->process != NULL && last != 0 && process_facts_module(item->process, last) == NULL &&
        registry_learn_module(registry, ring, info.process, last)) {
        process_facts_unref(item->process);
        item->process = registry_process_facts(registry, ring, info.process);
    }
    return item;
}

struct item *describe_id(struct registry *registry, uint32_t ring, uint32_t slot, uint32_t generation)
{
    struct ring *found = registry_find(registry, ring);

    return found != NULL ? describe_slot(registry, found, slot, generation) : NULL;
}

/* Every id that a query allows ------------------------------------------------------------------------------------- */

struct walk {
    struct registry *registry;
    const struct query *query;
    const struct snapshot *snapshot; /* of the detector's last scan */
    /*
     * Called for each id that matches; sighting has no item. Returns 0, or -errno to end the walk. NULL: ids are only
     * counted.
     */
    int (*take)(struct walk *walk, const struct sighting *sighting);
    struct page *page;         /* result; for locations, made from counting */
    size_t capacity;           /* of the page's sightings */
    struct counting *counting; /* for locations */
    struct ring *ring;         /* the current ring */
    uint32_t slot;             /* the current id */
    uint32_t generation;
    struct query_filter filter;
    uint64_t counts[ID_STATE_COUNT]; /* of all selected ids, even if their state or cause does not match */
};

static struct sighting sighting_of(const struct detector_id *id)
{
    struct sighting sighting = {.state = id->state, .cause = id->cause, .threshold_ns = id->threshold_ns};

    if (id->state == ID_RUNNING)
        return sighting;
    sighting.frozen_since_ns = id->frozen_since_ns;
    sighting.frozen_for_ns = id->frozen_for_ns;
    sighting.frozen_for_max_ns = id->frozen_for_max_ns;
    sighting.read_ago_ns = id->read_ago_ns;
    sighting.last = (struct sighting_last){id->has_last, id->last.state, id->last.cause, 0, id->last_for_ns, NULL};
    return sighting;
}

/* Returns false if the id has ended since the scan. */
static bool read_id(const struct walk *walk, struct rip_id_info *ret_info)
{
    return mapping_id(&walk->ring->mapping, walk->slot, ret_info) == 0 && ret_info->generation == walk->generation;
}

/*
 * Checks the query's conditions on the ring's content, with a temporary item that has only the fields that they need.
 */
static bool is_selected(const struct walk *walk)
{
    struct process_facts process = {0};
    struct rip_id_info info;
    struct item item = {0};

    if (!read_id(walk, &info))
        return false;
    item.ring_name = walk->ring->name;
    item.id = info.id;
    item.name_bytes = info.name_bytes;
    memcpy(item.name, info.name, info.name_bytes);
    if (info.process < walk->ring->process_count) {
        process.pid = walk->ring->processes[info.process].pid;
        process.origin = walk->ring->processes[info.process].origin;
        item.process = &process;
    }
    return query_selects(&walk->filter, &item);
}

static int visit_id(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id)
{
    struct walk *walk = context;
    struct sighting sighting;

    walk->slot = slot;
    walk->generation = generation;
    if (query_reads_ids(walk->query) && !is_selected(walk))
        return 0;
    walk->counts[id->state]++;
    sighting = sighting_of(id);
    if (walk->take == NULL || !query_matches_verdict(walk->query, &sighting))
        return 0;
    if (id->state == ID_STALLED)
        sighting_set_wait(&sighting, walk->snapshot->waits, walk->ring->serial, slot, generation);
    return walk->take(walk, &sighting);
}

/*
 * Visits ids in order of ring serial and slot. Returns 0, or the result of take. Ignores the query's cursor and limit.
 */
static int walk_ids(struct walk *walk, const struct detector *detector)
{
    struct ring **rings;
    size_t count;
    int result = 0;

    query_filter_make(&walk->filter, walk->query);
    for (size_t i = 0; result == 0; i++) {
        rings = registry_rings(walk->registry, &count);
        if (i >= count)
            break;
        walk->ring = rings[i];
        if (!query_selects_ring(&walk->filter, walk->ring->name))
            continue;
        result = detector_visit(detector, walk->ring->serial, visit_id, walk);
        if (walk->ring->mapping.damaged) {
            registry_damage(walk->registry, walk->ring); /* in case it is still in the array */
            i--;                                         /* the next ring is now at this index */
        }
    }
    return result;
}

/* A page of ids ---------------------------------------------------------------------------------------------------- */

static bool is_after_cursor(const struct walk *walk)
{
    const struct query_cursor *after = &walk->query->after;

    if (!after->present)
        return true;
    return walk->ring->serial != after->ring ? walk->ring->serial > after->ring : walk->slot > after->slot;
}

static int append(struct walk *walk, const struct sighting *sighting)
{
    struct page *page = walk->page;
    struct item *item = describe_slot(walk->registry, walk->ring, walk->slot, walk->generation);
    struct sighting *added;

    if (item == NULL)
        return 0; /* it has ended since the scan */
    if (!ARRAY_GROW(page->sightings, page->count, walk->capacity)) {
        item_unref(item);
        return -ENOMEM;
    }
    added = &page->sightings[page->count++];
    *added = *sighting;
    added->item = item;
    if (added->state != ID_RUNNING) {
        added->frozen_for_max_ns =
            item_frozen_max_ns(item, walk->snapshot, added->frozen_for_ns, added->frozen_for_max_ns);
        sighting_set_since(added, walk->snapshot);
    }
    if (added->state == ID_DEAD || added->state == ID_EXITED)
        sighting_set_end(added);
    page->next = (struct query_cursor){.present = true, .ring = walk->ring->serial, .slot = walk->slot};
    return 0;
}

/* Counts the id. Returns false if it is not on this page. */
static bool is_on_page(const struct walk *walk, size_t count)
{
    walk->page->total++;
    if (!is_after_cursor(walk))
        return false;
    walk->page->more = count >= walk->query->limit;
    return !walk->page->more;
}

static int take_thread(struct walk *walk, const struct sighting *sighting)
{
    return is_on_page(walk, walk->page->count) ? append(walk, sighting) : 0;
}

/* States ----------------------------------------------------------------------------------------------------------- */

static int take_state(struct walk *walk, const struct sighting *sighting)
{
    struct page *page = walk->page;
    struct rip_id_info info;

    if (!is_on_page(walk, page->states->count) || !read_id(walk, &info))
        return 0;
    page->next = (struct query_cursor){.present = true, .ring = walk->ring->serial, .slot = walk->slot};
    return state_map_add(page->states, walk->ring->serial, walk->ring->name, info.id, sighting->state);
}

/* Counted by location ---------------------------------------------------------------------------------------------- */

/*
 * Reads only the last location of each id, and describes one id of each returned group. It holds references to the
 * facts of all processes until the end. Otherwise a freed pointer could be reused for another process.
 */
struct counting {
    struct locations *locations;
    struct process_facts **held; /* owned references; those of the current ring begin at first */
    size_t held_count;
    size_t held_capacity;
    size_t first;
    uint32_t ring; /* serial of the current ring; 0 = none yet */
};

static int enter_ring(struct counting *counting, const struct ring *ring)
{
    size_t needed = counting->held_count + ring->process_count;

    if (!ARRAY_RESERVE(counting->held, counting->held_capacity, needed))
        return -ENOMEM;
    counting->first = counting->held_count;
    while (counting->held_count < needed)
        counting->held[counting->held_count++] = NULL;
    counting->ring = ring->serial;
    return 0;
}

/* Returns NULL if the facts are not known. */
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

static int take_location(struct walk *walk, const struct sighting *sighting)
{
    struct counting *counting = walk->counting;
    struct located_id id = {
        .state = sighting->state,
        .frozen_for_ns = sighting->state != ID_IDLE ? sighting->frozen_for_ns : 0,
        .ring = walk->ring->serial,
        .slot = walk->slot,
        .generation = walk->generation,
    };
    struct rip_last_info last;

    if (counting->ring != walk->ring->serial && enter_ring(counting, walk->ring) != 0)
        return -ENOMEM;
    if (mapping_last(&walk->ring->mapping, walk->slot, &last) != 0 || last.generation != walk->generation)
        return 0; /* it has ended since the scan */
    id.snapped = last.entry.snap != 0;
    if (id.snapped) {
        id.address = last.entry.address;
        id.process = facts_of(counting, walk, last.process);
        if (scripts_learn(walk->ring, registry_host(walk->registry), id.address) < 0)
            return 0; /* walk_ids() drops the ring */
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

/* Counts and makes the page. Returns NULL if out of memory. */
static struct page *count_locations(struct walk *walk, const struct detector *detector, struct snapshot *snapshot)
{
    struct counting counting = {.locations = locations_new(&snapshot->hash_key)};
    struct page *page = NULL;

    walk->counting = &counting;
    walk->take = take_location;
    if (counting.locations != NULL && walk_ids(walk, detector) == 0)
        page = page_of_locations(walk->query, snapshot, counting.locations);
    else
        locations_free(counting.locations);
    if (page != NULL)
        describe_examples(walk->registry, page);
    for (size_t i = 0; i < counting.held_count; i++)
        process_facts_unref(counting.held[i]);
    free(counting.held);
    return page;
}

/* Any page --------------------------------------------------------------------------------------------------------- */

/* Fills walk->page. Returns false if out of memory. */
static bool fill_page(struct walk *walk, const struct detector *detector)
{
    const enum query_list list = walk->query->list;
    struct page *page = walk->page;

    if (page == NULL)
        return false;
    walk->take = list == QUERY_LIST_STALLS ? NULL : list == QUERY_LIST_STATES ? take_state : take_thread;
    if (list == QUERY_LIST_STATES && (page->states = state_map_new()) == NULL)
        return false;
    if (walk_ids(walk, detector) != 0)
        return false;
    if (list == QUERY_LIST_STATES)
        page->count = page->states->piece_count;
    return true;
}

struct page *describe_page(struct registry *registry, const struct detector *detector, const struct query *query,
                           struct snapshot *snapshot)
{
    const bool stalls = query->list == QUERY_LIST_STALLS;
    struct walk walk = {.registry = registry, .query = query, .snapshot = snapshot};

    if (query->list == QUERY_LIST_IDS && query->group == QUERY_GROUP_LOCATION) {
        walk.page = count_locations(&walk, detector, snapshot);
    } else {
        walk.page = stalls ? query_stalls(query, snapshot) : page_new(snapshot);
        if (!fill_page(&walk, detector)) {
            page_unref(walk.page);
            return NULL;
        }
    }
    if (walk.page != NULL)
        memcpy(walk.page->counts, walk.counts, sizeof(walk.counts));
    return walk.page;
}
