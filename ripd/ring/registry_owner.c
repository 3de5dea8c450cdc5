/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_owner.c - who owns the rings, and how much time each owner has. Touches the clock.
 *
 * A process record costs a look at /proc, and anyone can make a thousand rings of a thousand records each. So a refresh
 * has a budget, which the owners share; an owner's rings take turns at some records each.
 *
 * Guarantees
 *   1. Nobody's rings take the share of another owner, unless there are more than REGISTRY_OWNERS_MAX.
 *   2. Where there are more rings than can be mapped, they are shared in the same way: no user's rings keep out the few
 *      of another.
 *   3. When the share is spent, the next refresh goes on with the ring and the record whose turn it was: each is judged
 *      some time.
 */
#include <string.h>

#include "os/clock.h"
#include "ring/registry_state.h"
#include "util/array.h"

/* Index of uid's entry, made if there is room. */
static uint32_t find_owner(struct ring_owner *owners, size_t *count, uint32_t uid)
{
    size_t i = 0;

    while (i < *count && owners[i].uid != uid)
        i++;
    if (i == REGISTRY_OWNERS_MAX)
        return REGISTRY_OWNERS_MAX - 1;
    if (i == *count)
        owners[(*count)++] = (struct ring_owner){.uid = uid};
    return (uint32_t)i;
}

void registry_owners_refresh(struct registry *registry)
{
    struct ring_owner owners[REGISTRY_OWNERS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < registry->ring_count; i++)
        registry->rings[i]->owner = find_owner(owners, &count, registry->rings[i]->mapping.file.uid);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < registry->owner_count; j++)
            if (registry->owners[j].uid == owners[i].uid) {
                owners[i].next_serial = registry->owners[j].next_serial;
                memcpy(owners[i].goes_on_at, registry->owners[j].next_goes_on_at, sizeof(owners[i].goes_on_at));
                memcpy(owners[i].next_goes_on_at, owners[i].goes_on_at, sizeof(owners[i].goes_on_at));
            }
    for (size_t i = 0; i < count; i++)
        registry->owners[i] = owners[i];
    registry->owner_count = count;
    registry->share_ns = registry->judging_ns / (count != 0 ? count : 1);
}

/* Who has most rings, if that is more than one above what another user has. */
bool registry_largest_owner(const struct registry *registry, uint32_t than, uint32_t *ret_uid)
{
    size_t counts[REGISTRY_OWNERS_MAX] = {0}, count = 0, largest = 0;
    struct ring_owner owners[REGISTRY_OWNERS_MAX];
    uint32_t own = find_owner(owners, &count, than);

    for (size_t i = 0; i < registry->ring_count; i++)
        counts[find_owner(owners, &count, registry->rings[i]->mapping.file.uid)]++;
    for (size_t i = 1; i < count; i++)
        largest = counts[i] > counts[largest] ? i : largest;
    *ret_uid = owners[largest].uid;
    return counts[largest] > counts[own] + 1;
}

bool registry_has_time(const struct registry *registry, const struct ring *ring)
{
    return registry->owners[ring->owner].spent_ns <= registry->share_ns;
}

void registry_charge(struct registry *registry, const struct ring *ring, uint64_t spent_ns)
{
    registry->owners[ring->owner].spent_ns += spent_ns;
}

/* One turn of all rings of an owner, from the one at first on. True: some are not done yet, and there is time. */
static bool take_turns(struct registry *registry, uint32_t owner, size_t first, size_t count, uint64_t now_mono_ns)
{
    bool more = false;

    for (size_t i = 0; i < count; i++) {
        struct ring *ring = registry->queue[(first + i) % count];

        if (ring->owner != owner || ring->mapping.damaged || ring->records_left == 0)
            continue;
        if (!registry_has_time(registry, ring)) {
            registry->owners[owner].next_serial = ring->serial;
            registry->counters.judgements_put_off++;
            registry_notice_limit(registry, LIMIT_TIME, "more process records than there is time for at once");
            return false;
        }
        registry_processes_judge(registry, ring, now_mono_ns);
        more |= ring->records_left != 0;
    }
    return more;
}

void registry_judge_all(struct registry *registry, uint64_t now_mono_ns)
{
    size_t count = registry->ring_count;
    struct ring **queue = array_reserve(registry->queue, &registry->queue_capacity, count, sizeof(*queue));

    if (queue == NULL)
        return; /* all keep their verdicts */
    registry->queue = queue;
    for (size_t i = 0; i < count; i++) { /* a copy: a ring that is damaged on the way leaves the set */
        queue[i] = registry->rings[i];
        registry_processes_begin(queue[i]);
    }
    for (uint32_t owner = 0; owner < registry->owner_count; owner++) {
        size_t first = 0;

        while (first < count && queue[first]->serial < registry->owners[owner].next_serial)
            first++;
        while (take_turns(registry, owner, first, count, now_mono_ns))
            continue;
    }
}
