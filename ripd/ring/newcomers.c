/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newcomers.c - one read of the mapping for each unclassified id, until the time is over. Touches the mappings.
 */
#include "ring/newcomers.h"

#include <errno.h>
#include <stdlib.h>

#include "os/clock.h"
#include "util/search.h"

#define NAMES_PER_LOOK 64u /* at the clock: ten microseconds or so */

struct newcomers {
    struct rules_table rules;
    uint32_t next_ring; /* where the next call begins */
    uint32_t next_slot;
};

int newcomers_new(struct newcomers **ret_newcomers, const struct rules *rules)
{
    struct newcomers *newcomers = calloc(1, sizeof(*newcomers));

    if (newcomers == NULL)
        return -ENOMEM;
    newcomers_set_rules(newcomers, rules);
    *ret_newcomers = newcomers;
    return 0;
}

void newcomers_free(struct newcomers *newcomers)
{
    free(newcomers);
}

void newcomers_set_rules(struct newcomers *newcomers, const struct rules *rules)
{
    rules_table_make(&newcomers->rules, rules);
}

static int compare_place(const void *key, const void *item)
{
    const struct detector_unclassified *a = key, *b = item;

    return search_order_pair(a->ring, a->slot, b->ring, b->slot);
}

/* Its ring may have been damaged since it was scanned, or be damaged now. */
static void find_rule(struct registry *registry, struct ring **ring, const struct rules_table *rules,
                      struct detector_unclassified *newcomer)
{
    struct rip_id_info info;
    int result;

    if (*ring == NULL || (*ring)->serial != newcomer->ring)
        *ring = registry_find(registry, newcomer->ring);
    if (*ring == NULL)
        return;
    result = mapping_id(&(*ring)->mapping, newcomer->slot, &info);
    if (result < 0) {
        registry_damage(registry, *ring);
        *ring = NULL;
    } else if (result == 0 && info.generation == newcomer->generation) {
        newcomer->rule = rules_find(rules, info.name, info.name_bytes);
    }
}

void newcomers_find_rules(struct newcomers *newcomers, struct registry *registry, struct detector_unclassified *list,
                          size_t count, uint64_t budget_ns)
{
    const uint64_t began_mono_ns = count != 0 ? clock_mono_ns() : 0;
    const struct detector_unclassified next = {.ring = newcomers->next_ring, .slot = newcomers->next_slot};
    const size_t first = search_first(&next, list, count, sizeof(*list), compare_place);
    struct ring *ring = NULL;
    size_t done = 0;

    while (done < count && (done % NAMES_PER_LOOK != 0 || done == 0 || clock_mono_ns() - began_mono_ns < budget_ns)) {
        find_rule(registry, &ring, &newcomers->rules, &list[(first + done) % count]);
        done++;
    }
    if (done == count)
        return;
    newcomers->next_ring = list[(first + done) % count].ring;
    newcomers->next_slot = list[(first + done) % count].slot;
}
