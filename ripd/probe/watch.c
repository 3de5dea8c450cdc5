/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - one merge of what is remembered with the suspects of a pass; both are in order. See watch.h. */
#include "probe/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"

static int compare_place(uint32_t ring_a, uint32_t slot_a, uint32_t ring_b, uint32_t slot_b)
{
    if (ring_a != ring_b)
        return ring_a < ring_b ? -1 : 1;
    return slot_a < slot_b ? -1 : slot_a > slot_b;
}

static void forget_all(struct watches *watches)
{
    for (size_t i = 0; i < watches->count; i++)
        kernel_facts_unref(watches->items[i].facts);
    watches->count = watches->sorted_count = 0;
}

void watches_done(struct watches *watches)
{
    forget_all(watches);
    free(watches->items);
    free(watches->by_suspect);
    *watches = (struct watches){0};
}

int watches_begin(struct watches *watches, const struct detector_suspect *suspects, size_t count)
{
    uint32_t *by_suspect = array_reserve(watches->by_suspect, &watches->suspect_capacity, count, sizeof(*by_suspect));
    size_t at = 0;

    if (by_suspect == NULL)
        return -ENOMEM;
    watches->by_suspect = by_suspect;
    watches->live_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct detector_suspect *suspect = &suspects[i];
        const struct watch *watch;

        by_suspect[i] = WATCH_NONE;
        while (at < watches->sorted_count &&
               compare_place(watches->items[at].ring, watches->items[at].slot, suspect->ring, suspect->slot) < 0)
            at++;
        if (at == watches->sorted_count)
            continue;
        watch = &watches->items[at];
        if (watch->ring != suspect->ring || watch->slot != suspect->slot || watch->generation != suspect->generation ||
            watch->tid != suspect->tid || watch->progress != suspect->progress)
            continue;
        by_suspect[i] = (uint32_t)at;
        watches->live_count++;
    }
    return 0;
}

struct watch *watches_take(struct watches *watches, const struct detector_suspect *suspects, size_t index)
{
    const struct detector_suspect *suspect = &suspects[index];
    struct watch *items;

    if (watches->by_suspect[index] != WATCH_NONE)
        return &watches->items[watches->by_suspect[index]];
    if (watches->live_count >= WATCHES_MAX)
        return NULL;
    items = array_reserve(watches->items, &watches->capacity, watches->count + 1, sizeof(*items));
    if (items == NULL)
        return NULL;
    watches->items = items;
    items[watches->count] = (struct watch){
        .ring = suspect->ring,
        .slot = suspect->slot,
        .generation = suspect->generation,
        .tid = suspect->tid,
        .progress = suspect->progress,
    };
    watches->by_suspect[index] = (uint32_t)watches->count;
    watches->live_count++;
    return &watches->items[watches->count++];
}

const struct watch *watches_known(const struct watches *watches, size_t index)
{
    const uint32_t at = watches->by_suspect[index];

    return at != WATCH_NONE ? &watches->items[at] : NULL;
}

void watches_drop(struct watches *watches, size_t index)
{
    watches->live_count -= watches->by_suspect[index] != WATCH_NONE;
    watches->by_suspect[index] = WATCH_NONE;
}

void watch_lock(struct watch *watch, const struct kernel_reading *reading, bool whole)
{
    const bool same = kernel_has_not_run(&watch->last, &reading->times);
    const bool outdated = !same && reading->times.read_mono_ns < watch->last.read_mono_ns;

    if (whole && (reading->has & KERNEL_HAS_LOCK) != 0 && !outdated)
        lock_wait_seen(&watch->lock, &reading->lock_owner, &reading->lock_look, same);
    else if (whole || !same)
        watch->lock = (struct lock_wait){.until_mono_ns = 0};
    else
        watch->lock.until_mono_ns = reading->times.read_mono_ns;
    watch->doubted &= !whole;
}

static int compare_watches(const void *left, const void *right)
{
    const struct watch *a = left, *b = right;

    return compare_place(a->ring, a->slot, b->ring, b->slot);
}

/* Those that are kept stand in the order of their suspects. */
static void point_at_locks(struct watches *watches, struct detector_suspect *suspects, size_t count)
{
    const struct watch *watch = watches->items;

    for (size_t i = 0; i < count; i++) {
        suspects[i].lock = NULL;
        if (watches->by_suspect[i] == WATCH_NONE)
            continue;
        if (watch->lock.owner.address != 0)
            suspects[i].lock = &watch->lock;
        watch++;
    }
}

void watches_end(struct watches *watches, struct detector_suspect *suspects, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t at = watches->by_suspect[i];

        suspects[i].kernel = NULL;
        if (at == WATCH_NONE)
            continue;
        suspects[i].kernel = watches->items[at].facts;
        watches->items[at].named = true;
    }
    for (size_t i = 0; i < watches->count; i++) {
        struct watch watch = watches->items[i];

        if (!watch.named) {
            kernel_facts_unref(watch.facts);
            continue;
        }
        watch.named = false;
        watches->items[kept++] = watch;
    }
    watches->count = watches->sorted_count = kept;
    if (kept > 1)
        qsort(watches->items, kept, sizeof(*watches->items), compare_watches);
    watches->items = array_trim(watches->items, &watches->capacity, kept, sizeof(*watches->items));
    point_at_locks(watches, suspects, count);
    watches->by_suspect = array_trim(watches->by_suspect, &watches->suspect_capacity, 0, sizeof(*watches->by_suspect));
}

static struct watch *find_watch(const struct watches *watches, uint32_t ring, uint32_t slot, uint32_t generation)
{
    const struct watch wanted = {.ring = ring, .slot = slot};
    struct watch *found = NULL;

    if (watches->sorted_count != 0)
        found = bsearch(&wanted, watches->items, watches->sorted_count, sizeof(wanted), compare_watches);
    return found != NULL && found->generation == generation ? found : NULL;
}

bool watches_doubt(struct watches *watches, uint32_t ring, uint32_t slot, uint32_t generation)
{
    struct watch *watch = find_watch(watches, ring, slot, generation);

    if (watch != NULL)
        watch->doubted = true;
    return watch != NULL;
}

struct kernel_facts *watches_find(const struct watches *watches, uint32_t ring, uint32_t slot, uint32_t generation)
{
    const struct watch *watch = find_watch(watches, ring, slot, generation);

    return watch != NULL ? watch->facts : NULL;
}
