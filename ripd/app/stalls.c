/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls.c - one merge of the last scan's stalled ids with this scan's; both are in order of ring and slot.
 */
#include "app/stalls.h"

#include <errno.h>
#include <stdlib.h>

#include "ring/describe.h"
#include "work/share.h"

static int compare_place(uint32_t ring_a, uint32_t slot_a, uint32_t ring_b, uint32_t slot_b)
{
    if (ring_a != ring_b)
        return ring_a < ring_b ? -1 : 1;
    return slot_a < slot_b ? -1 : slot_a > slot_b;
}

void stalls_done(struct stalls *stalls)
{
    for (size_t i = 0; i < stalls->count; i++)
        item_unref(stalls->items[i]);
    free(stalls->keys);
    free(stalls->items);
    *stalls = (struct stalls){0};
}

/* The facts that a description made now would refer to; NULL if they have not been asked for. */
static const struct process_facts *facts_now(struct registry *registry, const struct detector_suspect *suspect)
{
    struct ring *ring = registry_find(registry, suspect->ring);

    if (ring == NULL || suspect->process >= ring->process_count)
        return NULL;
    return ring->processes[suspect->process].facts;
}

static bool key_still_true(const struct stall_key *key, const struct detector_suspect *suspect,
                           const struct process_facts *process)
{
    return key->generation == suspect->generation && key->progress == suspect->progress && key->tid == suspect->tid &&
           key->process == process;
}

/* What could not be found out when it was described may be now: its tid, or its modules. */
static bool is_complete(const struct item *item, const struct detector_suspect *suspect)
{
    return (item->tid != 0 || suspect->tid == 0) && (item->process == NULL || !item->process->without_modules);
}

struct sighting stalls_sighting(const struct detector_suspect *suspect, struct item *item,
                                const struct snapshot *snapshot)
{
    uint64_t max_ns = suspect->frozen_for_max_ns;
    struct sighting sighting = {
        .item = item,
        .kernel = suspect->kernel,
        .state = suspect->state,
        .cause = suspect->cause,
        .since_wall_ns = wall_before_ns(snapshot->scanned_wall_ns, suspect->frozen_for_ns),
        .frozen_since_ns = suspect->frozen_since_ns,
        .frozen_for_ns = suspect->frozen_for_ns,
        .frozen_for_max_ns = item != NULL ? item_frozen_max_ns(item, snapshot, suspect->frozen_for_ns, max_ns) : max_ns,
        .threshold_ns = suspect->threshold_ns,
    };

    sighting_set_wait(&sighting, snapshot->waits, suspect->ring, suspect->slot, suspect->generation);
    return sighting;
}

/* The item of a suspect: the kept one at *position or after it, or a new description. A reference, or NULL. */
static struct item *item_for(const struct stalls *kept, size_t *position, struct registry *registry,
                             const struct detector_suspect *suspect)
{
    while (*position < kept->count &&
           compare_place(kept->keys[*position].ring, kept->keys[*position].slot, suspect->ring, suspect->slot) < 0)
        (*position)++;
    if (*position < kept->count &&
        compare_place(kept->keys[*position].ring, kept->keys[*position].slot, suspect->ring, suspect->slot) == 0 &&
        key_still_true(&kept->keys[*position], suspect, facts_now(registry, suspect)) &&
        is_complete(kept->items[*position], suspect))
        return item_ref(kept->items[*position]);
    return describe_id(registry, suspect->ring, suspect->slot, suspect->generation);
}

static bool is_stalled(const struct detector_suspect *suspect)
{
    return suspect->state == ID_STALLED;
}

static size_t count_stalled(const struct detector_update *update)
{
    size_t count = 0;

    for (size_t i = 0; i < update->suspect_count; i++)
        count += is_stalled(&update->suspects[i]);
    return count;
}

static int stalls_allocate(struct stalls *stalls, struct snapshot *snapshot, size_t count)
{
    stalls->keys = malloc((count != 0 ? count : 1) * sizeof(*stalls->keys));
    stalls->items = malloc((count != 0 ? count : 1) * sizeof(*stalls->items));
    snapshot->stalls = malloc((count != 0 ? count : 1) * sizeof(*snapshot->stalls));
    return stalls->keys != NULL && stalls->items != NULL && snapshot->stalls != NULL ? 0 : -ENOMEM;
}

int stalls_collect(struct stalls *stalls, struct registry *registry, const struct detector_update *update,
                   struct snapshot *snapshot)
{
    struct stalls next = {0};
    size_t stalled = count_stalled(update);
    size_t room = stalled < SNAPSHOT_STALLS_MAX ? stalled : SNAPSHOT_STALLS_MAX;
    size_t share = share_of_ring(update->suspects, update->suspect_count, is_stalled, SNAPSHOT_STALLS_MAX);
    size_t position = 0, taken = 0;
    uint32_t ring = 0;
    int result = stalls_allocate(&next, snapshot, room);

    for (size_t i = 0; result == 0 && i < update->suspect_count && next.count < room; i++) {
        const struct detector_suspect *suspect = &update->suspects[i];
        struct item *item;

        if (!is_stalled(suspect))
            continue;
        taken = suspect->ring == ring ? taken : 0;
        ring = suspect->ring;
        if (taken++ >= share) {
            snapshot->stalls_left_out_count++;
            continue;
        }
        item = item_for(stalls, &position, registry, suspect);
        if (item == NULL)
            continue; /* its slot or its ring went away since the scan */
        next.keys[next.count] = (struct stall_key){suspect->ring, suspect->slot,     suspect->generation,
                                                   suspect->tid,  suspect->progress, facts_now(registry, suspect)};
        next.items[next.count++] = item;
        kernel_facts_ref(suspect->kernel);
        snapshot->stalls[snapshot->stall_count++] = stalls_sighting(suspect, item_ref(item), snapshot);
    }
    stalls_done(stalls);
    *stalls = next;
    snapshot_sort(snapshot);
    return result;
}

struct item *stalls_find(const struct stalls *stalls, uint32_t ring, uint32_t slot, uint32_t generation)
{
    size_t low = 0, high = stalls->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_place(stalls->keys[middle].ring, stalls->keys[middle].slot, ring, slot);

        if (order == 0)
            return stalls->keys[middle].generation == generation ? stalls->items[middle] : NULL;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
