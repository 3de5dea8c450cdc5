/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - a slot as an item. Touches the mappings.
 *
 * Guarantees
 *   1. An item is read from one registration of a slot: another generation is no item.
 *   2. A tid is one of our pid namespace, or not known.
 */
#include "ring/describe.h"

#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "ring/describe_walk.h"

/* For the tid of one item; the registry bounds what all of them may take. */
#define TRANSLATE_NS UINT64_C(10000000)

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

struct item *describe_slot(struct registry *registry, struct ring *ring, uint32_t slot, uint32_t generation)
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
        registry_damage(registry, ring);
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
