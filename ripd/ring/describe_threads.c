/* SPDX-License-Identifier: Apache-2.0 */
/* describe_threads.c - a page of ids, each described. Touches the mappings. What is not returned is not described. */
#include <errno.h>

#include "ring/describe.h"
#include "ring/describe_walk.h"
#include "util/array.h"

struct threads {
    struct page *page;
    size_t capacity;
};

static bool is_after_cursor(const struct walk *walk, uint32_t slot)
{
    const struct query_cursor *after = &walk->query->after;

    if (!after->present)
        return true;
    return walk->ring->serial != after->ring ? walk->ring->serial > after->ring : slot > after->slot;
}

static int append(struct walk *walk, uint32_t slot, uint32_t generation, const struct sighting *sighting)
{
    struct threads *threads = walk->context;
    struct page *page = threads->page;
    struct item *item = describe_slot(walk->registry, walk->ring, slot, generation);
    struct sighting *sightings;

    if (item == NULL)
        return 0; /* it ended since the scan */
    sightings = array_reserve(page->sightings, &threads->capacity, page->count + 1, sizeof(*sightings));
    if (sightings == NULL) {
        item_unref(item);
        return -ENOMEM;
    }
    page->sightings = sightings;
    sightings[page->count] = *sighting;
    sightings[page->count].item = item;
    if (sighting->since_wall_ns != 0)
        sightings[page->count].frozen_for_max_ns =
            item_frozen_max_ns(item, walk->snapshot, sighting->frozen_for_ns, sighting->frozen_for_max_ns);
    page->count++;
    page->next = (struct query_cursor){.present = true, .ring = walk->ring->serial, .slot = slot};
    return 0;
}

static int take(struct walk *walk, uint32_t slot, uint32_t generation, const struct sighting *sighting)
{
    struct threads *threads = walk->context;

    threads->page->total++;
    if (!is_after_cursor(walk, slot))
        return 0;
    if (threads->page->count >= walk->query->limit) {
        threads->page->more = true;
        return 0;
    }
    return append(walk, slot, generation, sighting);
}

struct page *describe_threads(struct registry *registry, const struct detector *detector, const struct query *query,
                              struct snapshot *snapshot)
{
    struct threads threads = {.page = page_new(snapshot)};
    struct walk walk = {.registry = registry, .query = query, .snapshot = snapshot, .take = take, .context = &threads};

    if (threads.page == NULL)
        return NULL;
    if (walk_ids(&walk, detector) != 0) {
        page_unref(threads.page);
        return NULL;
    }
    return threads.page;
}
