/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.c - threads that are to be looked at, a heap for each owner of rings. Touches nothing.
 *
 * Guarantees
 *   1. Owners have equal shares of the time, whatever the rings of one of them make there to be looked at; what one
 * does not need the others have.
 *   2. To find whose turn it is takes no more than a look at each owner, and the depth of his heap.
 */
#include "probe/probe_state.h"

uint32_t pending_owner(const struct probe *probe, size_t suspect)
{
    return probe->subjects[probe->owners[suspect]].ring->owner;
}

static bool comes_before(const struct pending *a, const struct pending *b)
{
    return a->class != b->class ? a->class < b->class : a->order < b->order;
}

static void sift_down(struct pending *heap, size_t count, size_t at)
{
    for (;;) {
        size_t first = at, left = 2 * at + 1, right = left + 1;
        struct pending moved = heap[at];

        if (left < count && comes_before(&heap[left], &heap[first]))
            first = left;
        if (right < count && comes_before(&heap[right], &heap[first]))
            first = right;
        if (first == at)
            return;
        heap[at] = heap[first];
        heap[first] = moved;
        at = first;
    }
}

/* Brings those of one owner together: each is exchanged for the one in its place until one comes that belongs there. */
static void group(struct probe *probe)
{
    size_t placed[REGISTRY_OWNERS_MAX] = {0};

    if (probe->pending_count == 0 ||
        probe->lanes[pending_owner(probe, probe->pending[0].suspect)].count == probe->pending_count)
        return; /* as nearly always */
    for (uint32_t owner = 0; owner < REGISTRY_OWNERS_MAX; owner++) {
        const struct lane *lane = &probe->lanes[owner];

        while (placed[owner] < lane->count) {
            struct pending moved = probe->pending[lane->first + placed[owner]];
            const uint32_t other = pending_owner(probe, moved.suspect);
            struct pending *to = &probe->pending[probe->lanes[other].first + placed[other]++];

            probe->pending[lane->first + placed[owner] - (other == owner)] = *to;
            *to = moved;
        }
    }
}

void pending_sort(struct probe *probe)
{
    size_t first = 0;

    for (uint32_t owner = 0; owner < REGISTRY_OWNERS_MAX; owner++)
        probe->lanes[owner] = (struct lane){.count = 0};
    for (size_t i = 0; i < probe->pending_count; i++)
        probe->lanes[pending_owner(probe, probe->pending[i].suspect)].count++;
    for (uint32_t owner = 0; owner < REGISTRY_OWNERS_MAX; owner++) {
        probe->lanes[owner].first = first;
        first += probe->lanes[owner].count;
    }
    group(probe);
    for (uint32_t owner = 0; owner < REGISTRY_OWNERS_MAX; owner++)
        for (size_t i = probe->lanes[owner].count / 2; i-- > 0;)
            sift_down(&probe->pending[probe->lanes[owner].first], probe->lanes[owner].count, i);
}

struct lane *pending_turn(struct probe *probe, bool known)
{
    struct lane *least = NULL;

    for (uint32_t owner = 0; owner < REGISTRY_OWNERS_MAX; owner++) {
        struct lane *lane = &probe->lanes[owner];

        if (lane->count != 0 && (known || probe->pending[lane->first].class == PENDING_NEW) &&
            (least == NULL || lane->spent_ns < least->spent_ns))
            least = lane;
    }
    return least;
}

struct pending pending_pop(struct probe *probe, struct lane *lane)
{
    struct pending *heap = &probe->pending[lane->first];
    struct pending first = heap[0];

    heap[0] = heap[--lane->count];
    sift_down(heap, lane->count, 0);
    return first;
}
