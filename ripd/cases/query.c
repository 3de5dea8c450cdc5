/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - matching, and pages of results. Pure.
 *
 * Guarantees
 *   A. A page holds what follows the cursor in the order of the snapshot, at most limit items; total counts everything
 *      that matches. Successive pages, each with the cursor of the previous page, contain every lasting stall exactly
 *      once. This holds even if the snapshot changes in between, because the sort keys of a stall are constant while it
 *      lasts.
 */
#include "cases/query.h"

#include <stdlib.h>
#include <string.h>

#include "util/reference.h"

void query_init(struct query *query)
{
    *query = (struct query){.limit = QUERY_LIMIT_DEFAULT};
}

/* The reason of an idle id is no cause: answers show null. */
bool query_matches_verdict(const struct query *query, const struct sighting *sighting)
{
    const enum id_cause cause = id_cause_idles(sighting->cause) ? CAUSE_NONE : sighting->cause;

    return query_has(query->states, sighting->state) && query_has(query->causes, cause) &&
           sighting->frozen_for_ns >= query->min_ns;
}

struct query query_at(const struct query *query, uint64_t now_wall_ns)
{
    struct query result = *query;

    if (query->since_ago_ns)
        result.since_wall_ns = wall_before_ns(now_wall_ns, query->since_ago_ns);
    return result;
}

void query_filter_make(struct query_filter *ret_filter, const struct query *query)
{
    ret_filter->query = query;
    glob_make(&ret_filter->ring, query->ring);
    glob_make(&ret_filter->name, query->name);
    glob_make(&ret_filter->unit, query->unit);
    glob_make(&ret_filter->container, query->container);
}

/* A name may contain glob characters, and be longer than a glob may be: it always matches itself. */
static bool selects(const char *pattern, const struct glob *glob, const char *name)
{
    if (!pattern[0])
        return true;
    return name && (strcmp(pattern, name) == 0 || glob_matches(glob, (const unsigned char *)name, strlen(name)));
}

bool query_selects_ring(const struct query_filter *filter, const char *ring_name)
{
    const struct query *query = filter->query;

    if (query->one && query->ring[0])
        return ring_name && strcmp(query->ring, ring_name) == 0;
    return selects(query->ring, &filter->ring, ring_name);
}

bool query_selects_origin(const struct query_filter *filter, const char *unit, const char *container)
{
    return selects(filter->query->unit, &filter->unit, unit) &&
           selects(filter->query->container, &filter->container, container);
}

static bool selects_process(const struct query_filter *filter, const struct process_facts *process)
{
    const struct query *query = filter->query;
    const struct process_origin *origin = process ? process->origin : NULL;

    if (query->pid && (!process || process->pid != query->pid))
        return false;
    return query_selects_origin(filter, origin ? origin->unit : NULL, origin ? origin->container : NULL);
}

bool query_reads_ids(const struct query *query)
{
    return query->one || query->pid || query->name[0] || query->unit[0] || query->container[0];
}

bool query_is_local(const struct query *query)
{
    return query->list == QUERY_LIST_STALLS && !query_reads_ids(query);
}

bool query_selects(const struct query_filter *filter, const struct item *item)
{
    const struct query *query = filter->query;

    if (query->one && item->id != query->id)
        return false;
    return query_selects_ring(filter, item->ring_name) && selects_process(filter, item->process) &&
           (!query->name[0] || glob_matches(&filter->name, item->name, item->name_bytes));
}

bool query_matches(const struct query_filter *filter, const struct sighting *sighting)
{
    return query_matches_verdict(filter->query, sighting) && query_selects(filter, sighting->item);
}

void query_count(const struct query_filter *filter, const struct snapshot *snapshot,
                 uint64_t ret_counts[ID_STATE_COUNT])
{
    memcpy(ret_counts, snapshot->counts, sizeof snapshot->counts);
    if (!filter->query->ring[0])
        return;
    memset(ret_counts, 0, sizeof snapshot->counts);
    for (size_t i = 0; i < snapshot->ring_count; i++) {
        const struct ring_facts *ring = &snapshot->rings[i];

        if (!query_selects_ring(filter, ring->name))
            continue;
        for (int state = 0; state < ID_STATE_COUNT; state++)
            ret_counts[state] += ring->counts[state];
    }
}

struct page *page_new(struct snapshot *snapshot)
{
    struct page *page = reference_new(sizeof *page);

    if (page)
        page->snapshot = snapshot_ref(snapshot);
    return page;
}

void page_unref(struct page *page)
{
    if (!reference_drop(page))
        return;
    for (size_t i = 0; page->sightings && i < page->count; i++)
        sighting_done(&page->sightings[i]);
    free(page->sightings);
    locations_free(page->locations);
    roots_free(page->roots);
    state_map_free(page->states);
    snapshot_unref(page->snapshot);
    free(page);
}

/* Returns the root of the id whose incident is selected. If two processes have that id, the first one is used. */
static uint32_t root_of(const struct query *query, const struct waits *waits)
{
    for (size_t i = 0; query->has_incident && waits && i < waits->count; i++) {
        const struct waits_node *node = &waits->nodes[i];

        if (node->kind == WAITS_ID && node->id == query->incident_id && node->ring_name &&
            strcmp(node->ring_name, query->incident_ring) == 0)
            return node->root;
    }
    return WAITS_NONE;
}

static bool is_of_incident(const struct query_filter *filter, const struct sighting *stall)
{
    const struct query *query = filter->query;
    const struct item *item = stall->item;
    const struct waits_node *root;

    if (!query->has_incident)
        return true;
    if (filter->root == WAITS_NONE)
        return item->id == query->incident_id && strcmp(item->ring_name, query->incident_ring) == 0;
    if (stall->waits)
        return stall->waits->nodes[stall->wait_node].root == filter->root;
    root = &filter->waits->nodes[filter->root];
    return root->kind == WAITS_ID && root->ring == item->ring && root->slot == item->slot &&
           root->generation == item->generation;
}

static bool is_wanted(const void *context, const struct sighting *stall)
{
    return query_matches(context, stall) && is_of_incident(context, stall);
}

static bool is_after(const struct sighting *stall, const struct query_cursor *cursor)
{
    if (!cursor->present || stall->frozen_since_ns != cursor->frozen_since_ns)
        return !cursor->present || stall->frozen_since_ns > cursor->frozen_since_ns;
    if (stall->item->ring != cursor->ring)
        return stall->item->ring > cursor->ring;
    return stall->item->slot > cursor->slot;
}

static void page_add(struct page *page, const struct sighting *stall)
{
    page->sightings[page->count] = *stall;
    item_ref(stall->item);
    kernel_facts_ref(stall->kernel);
    page->count++;
    page->next = (struct query_cursor){
        .present = true,
        .frozen_since_ns = stall->frozen_since_ns,
        .ring = stall->item->ring,
        .slot = stall->item->slot,
    };
}

static struct page *list_stalls(const struct query_filter *filter, struct snapshot *snapshot)
{
    const struct query *query = filter->query;
    const size_t room = query->limit < snapshot->stall_count ? query->limit : snapshot->stall_count;
    struct page *page = page_new(snapshot);

    if (!page)
        return NULL;
    page->sightings = calloc(room ? room : 1, sizeof *page->sightings);
    if (!page->sightings) {
        page_unref(page);
        return NULL;
    }
    page->next = query->after;
    for (size_t i = 0; i < snapshot->stall_count; i++) {
        const struct sighting *stall = &snapshot->stalls[i];

        if (!is_wanted(filter, stall))
            continue;
        page->total++;
        if (!is_after(stall, &query->after))
            continue;
        if (page->count < room)
            page_add(page, stall);
        else
            page->more = true;
    }
    return page;
}

/* Selects the groups of the page: those after the cursor. */
static void turn_to_page(struct page *page, const struct query *query, size_t group_count)
{
    page->total = group_count;
    page->first = query->after.present ? query->after.slot : 0;
    if (page->first > group_count)
        page->first = group_count;
    page->count = group_count - page->first;
    page->more = page->count > query->limit;
    if (page->more)
        page->count = query->limit;
    page->next = (struct query_cursor){.present = true, .slot = (uint32_t)(page->first + page->count)};
}

struct page *page_of_locations(const struct query *query, struct snapshot *snapshot, struct locations *locations)
{
    struct page *page = page_new(snapshot);

    if (!page) {
        locations_free(locations);
        return NULL;
    }
    locations_sort(locations);
    page->locations = locations;
    turn_to_page(page, query, locations->count);
    return page;
}

/* The example of a group is its longest stall. Stalls are sorted, longest first. */
static void take_examples(const struct page *page, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < page->count; i++) {
        struct location_group *group = &page->locations->groups[page->first + i];

        group->example = item_ref(snapshot->stalls[group->slot].item);
    }
}

static struct page *group_stalls(const struct query_filter *filter, struct snapshot *snapshot)
{
    struct locations *locations = locations_new(&snapshot->hash_key);
    struct page *page = NULL;
    int result = locations ? 0 : -1;

    for (size_t i = 0; i < snapshot->stall_count && result == 0; i++) {
        const struct sighting *stall = &snapshot->stalls[i];
        const struct item *item = stall->item;

        if (!is_wanted(filter, stall))
            continue;
        result = locations_add(locations, &(struct located_id){
                                              .process = item->process,
                                              .snapped = item->entry_count != 0,
                                              .address = item->entry_count ? item->entries[0].address : 0,
                                              .state = stall->state,
                                              .frozen_for_ns = stall->frozen_for_ns,
                                              .slot = (uint32_t)i, /* index in the list: see take_examples() */
                                          });
    }
    if (result == 0)
        page = page_of_locations(filter->query, snapshot, locations);
    else
        locations_free(locations);
    if (page)
        take_examples(page, snapshot);
    return page;
}

static struct page *root_stalls(const struct query_filter *filter, struct snapshot *snapshot)
{
    struct page *page = page_new(snapshot);

    if (!page)
        return NULL;
    page->roots = roots_of(snapshot, filter->query->group == QUERY_GROUP_INCIDENT, is_wanted, filter);
    if (!page->roots) {
        page_unref(page);
        return NULL;
    }
    turn_to_page(page, filter->query, page->roots->count);
    return page;
}

static struct page *stalls_of_group(const struct query_filter *filter, struct snapshot *snapshot)
{
    switch (filter->query->group) {
    case QUERY_GROUP_LOCATION:
        return group_stalls(filter, snapshot);
    case QUERY_GROUP_ROOT:
    case QUERY_GROUP_INCIDENT:
        return root_stalls(filter, snapshot);
    case QUERY_GROUP_NONE:
        break;
    }
    return list_stalls(filter, snapshot);
}

struct page *query_stalls(const struct query *query, struct snapshot *snapshot)
{
    struct query_filter filter;
    struct page *page;

    query_filter_make(&filter, query);
    filter.waits = snapshot->waits;
    filter.root = root_of(query, snapshot->waits);
    page = stalls_of_group(&filter, snapshot);
    if (page)
        query_count(&filter, snapshot, page->counts);
    return page;
}
