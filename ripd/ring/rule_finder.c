/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_finder.c - one read of the mapping for each unclassified id, until the time is over. Touches the mappings.
 */
#include "ring/rule_finder.h"

#include "os/clock.h"
#include "util/search.h"

#define NAMES_PER_LOOK 64u /* at the clock: ten microseconds or so */

void rule_finder_set_rules(struct rule_finder *finder, const struct rules *rules)
{
    rules_table_make(&finder->rules, rules);
}

static int compare_place(const void *key, const void *item)
{
    const struct detector_unclassified *a = key, *b = item;

    return search_order_pair(a->ring, a->slot, b->ring, b->slot);
}

/* Its ring may have been damaged since it was scanned, or be damaged now. */
static void find_rule(struct registry *registry, const struct rules_table *rules, struct detector_unclassified *id)
{
    struct ring *ring = registry_find(registry, id->ring);
    struct rip_id_info info;
    int result = ring != NULL ? mapping_id(&ring->mapping, id->slot, &info) : 1;

    if (result < 0)
        registry_damage(registry, ring);
    else if (result == 0 && info.generation == id->generation)
        id->rule = rules_find(rules, info.name, info.name_bytes);
}

void rule_finder_run(struct rule_finder *finder, struct registry *registry, struct detector_unclassified *list,
                     size_t count, uint64_t budget_ns)
{
    const uint64_t began_mono_ns = count != 0 ? clock_mono_ns() : 0;
    const struct detector_unclassified next = {.ring = finder->next_ring, .slot = finder->next_slot};
    const size_t first = search_first(&next, list, count, sizeof(*list), compare_place);
    size_t done = 0;

    while (done < count && (done % NAMES_PER_LOOK != 0 || done == 0 || clock_mono_ns() - began_mono_ns < budget_ns)) {
        find_rule(registry, &finder->rules, &list[(first + done) % count]);
        done++;
    }
    if (done == count)
        return;
    finder->next_ring = list[(first + done) % count].ring;
    finder->next_slot = list[(first + done) % count].slot;
}
