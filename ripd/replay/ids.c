/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c - sorted arrays of rings and slots, updated by one event at a time. Pure. See ids.h. */
#include "replay/ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"

/* Rings ------------------------------------------------------------------------------------------------------------ */

static int compare_ring(const void *key, const void *item)
{
    const struct replay_ring *ring = *(struct replay_ring *const *)item;

    return search_order(*(const uint32_t *)key, ring->number);
}

static int compare_slot(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct rip_sample *)item)->slot);
}

struct replay_ring *replay_ids_ring(const struct replay_ids *ids, uint32_t number)
{
    size_t at = search_equal(&number, ids->rings, ids->count, sizeof(struct replay_ring *), compare_ring);

    return at < ids->count ? ids->rings[at] : NULL;
}

static void ring_free(struct replay_ring *ring)
{
    for (size_t i = 0; i < ring->count; i++)
        free(ring->ids[i]);
    for (size_t i = 0; i < ring->process_count; i++)
        process_facts_unref(ring->processes[i].facts);
    module_facts_unref(ring->scripts);
    free(ring->samples);
    free(ring->ids);
    free(ring->processes);
    free(ring->name);
    free(ring);
}

void replay_ids_done(struct replay_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        ring_free(ids->rings[i]);
    free(ids->rings);
    *ids = (struct replay_ids){.count = 0};
}

static void take_ring_end(struct replay_ids *ids, uint32_t number)
{
    const size_t at = search_equal(&number, ids->rings, ids->count, sizeof(struct replay_ring *), compare_ring);

    if (at >= ids->count)
        return;
    ring_free(ids->rings[at]);
    ARRAY_CLOSE(ids->rings, ids->count, at);
}

static int take_ring(struct replay_ids *ids, const struct rip_event *event)
{
    const size_t at = search_first(&event->ring, ids->rings, ids->count, sizeof(struct replay_ring *), compare_ring);
    const struct rip_event_ring *begin = &event->as.ring_begin;
    struct replay_ring *ring = replay_ids_ring(ids, event->ring);

    if (ring != NULL && memcmp(ring->ring_id, begin->ring_id, sizeof(ring->ring_id)) == 0) {
        ring->renewed = true;
        for (size_t i = 0; i < ring->count; i++)
            ring->ids[i]->stale = true;
        return 0;
    }
    if (ring != NULL)
        take_ring_end(ids, event->ring);
    ring = ARRAY_GROW(ids->rings, ids->count, ids->capacity) ? calloc(1, sizeof(*ring)) : NULL;
    if (ring == NULL)
        return -ENOMEM;
    ring->name = strndup(begin->name.bytes, begin->name.count);
    ring->scripts = module_of_scripts(&(struct hash_key){{0, 0}}, begin->uid);
    if (ring->name == NULL || ring->scripts == NULL) {
        ring_free(ring);
        return -ENOMEM;
    }
    ring->number = event->ring;
    ring->user = begin->uid;
    ring->preload = begin->preload;
    ring->renewed = true;
    memcpy(ring->ring_id, begin->ring_id, sizeof(ring->ring_id));
    ARRAY_OPEN(ids->rings, ids->count, at);
    ids->rings[at] = ring;
    return 0;
}

/* Processes -------------------------------------------------------------------------------------------------------- */

struct process_facts *replay_ring_process(const struct replay_ring *ring, uint32_t index)
{
    return index < ring->process_count ? ring->processes[index].facts : NULL;
}

static struct replay_process *process_at(struct replay_ring *ring, uint32_t index)
{
    if (index >= RIP_PROCESS_MAX || !ARRAY_RESERVE(ring->processes, ring->process_capacity, (size_t)index + 1))
        return NULL;
    while (ring->process_count <= index)
        ring->processes[ring->process_count++] = (struct replay_process){.dead = false};
    return &ring->processes[index];
}

/* Returns NULL if out of memory. */
static struct process_facts *make_facts(const struct replay_ring *ring, uint32_t index,
                                        const struct rip_process_info *info)
{
    struct process_facts *facts = process_facts_make(info);

    if (facts == NULL || (facts->origin = reference_new(sizeof(*facts->origin))) == NULL) {
        process_facts_unref(facts);
        return NULL;
    }
    facts->origin->uid = info->uid;
    facts->index = index;
    facts->pid = info->pid;
    facts->preloaded = ring->preload;
    facts->scripts = module_facts_ref(ring->scripts);
    return facts;
}

static int take_process(struct replay_ring *ring, uint32_t index, const struct rip_process_info *info)
{
    struct replay_process *process = process_at(ring, index);

    if (process == NULL)
        return -ENOMEM;
    if (process->facts != NULL && process->facts->generation == info->generation)
        return 0;
    process_facts_unref(process->facts);
    *process = (struct replay_process){.facts = make_facts(ring, index, info)};
    return process->facts != NULL ? 0 : -ENOMEM;
}

/* A full symbol table stays as it is. */
static int take_script(struct replay_ring *ring, const struct rip_script_info *script)
{
    const uint64_t offset = (uint64_t)script->index << RIP_PLACE_INDEX_SHIFT;

    return symbol_table_add(&ring->scripts->symbols, offset, symbol_of_script(script)) == -ENOMEM ? -ENOMEM : 0;
}

static int take_module(struct replay_ring *ring, const struct rip_event_module *event)
{
    struct process_facts *facts = replay_ring_process(ring, event->process);
    struct module_facts **grown, *module;

    if (facts == NULL || event->nth < facts->module_count || facts->module_count >= RIP_PROCESS_MODULES)
        return 0;
    module = module_facts_make(event->info);
    grown = module != NULL ? realloc(facts->modules, (facts->module_count + 1) * sizeof(*grown)) : NULL;
    if (grown == NULL) {
        module_facts_unref(module);
        return -ENOMEM;
    }
    facts->modules = grown;
    facts->modules[facts->module_count++] = module;
    return 0;
}

/* Ids -------------------------------------------------------------------------------------------------------------- */

size_t replay_ring_find(const struct replay_ring *ring, uint32_t slot, uint32_t generation)
{
    const size_t at = search_equal(&slot, ring->samples, ring->count, sizeof(*ring->samples), compare_slot);

    return at < ring->count && ring->samples[at].generation == generation && !ring->ids[at]->ended ? at : ring->count;
}

static uint32_t entries_max(const struct replay_ids *ids)
{
    return ids->entries_max != 0 ? ids->entries_max : 1;
}

/* Returns the id of a slot, made if the slot is empty. Returns NULL if out of memory. */
static struct replay_id *id_at(const struct replay_ids *ids, struct replay_ring *ring, uint32_t slot, size_t *ret_index)
{
    const size_t bytes = sizeof(struct replay_id) + entries_max(ids) * sizeof(struct rip_entry);
    const size_t at = search_first(&slot, ring->samples, ring->count, sizeof(*ring->samples), compare_slot);
    size_t id_count = ring->count;
    struct replay_id *id;

    *ret_index = at;
    if (at < ring->count && ring->samples[at].slot == slot)
        return ring->ids[at];
    if (!ARRAY_GROW(ring->samples, ring->count, ring->sample_capacity) ||
        !ARRAY_GROW(ring->ids, ring->count, ring->id_capacity) || (id = calloc(1, bytes)) == NULL)
        return NULL;
    ARRAY_OPEN(ring->ids, id_count, at);
    ARRAY_OPEN(ring->samples, ring->count, at);
    ring->samples[at] = (struct rip_sample){.slot = slot};
    ring->ids[at] = id;
    return id;
}

static int take_id(struct replay_ids *ids, struct replay_ring *ring, const struct rip_event *event)
{
    const struct rip_id_info *info = event->as.state.info; /* as.id_begin is the same struct */
    struct rip_sample *sample;
    struct replay_id *id;
    bool is_new, is_renamed;
    size_t at;

    id = id_at(ids, ring, info->slot, &at);
    if (id == NULL)
        return -ENOMEM;
    sample = &ring->samples[at];
    is_new = id->serial == 0 || sample->generation != info->generation || id->ended;
    ring->ended_count -= id->ended;
    is_renamed = id->info.name_bytes != info->name_bytes || memcmp(id->info.name, info->name, info->name_bytes) != 0;
    if (is_new)
        *id = (struct replay_id){.serial = ++ids->serial, .since_drain = ids->drain_count};
    if (is_new || (sample->idle != 0) != (info->idle != 0))
        id->since_wall_ns = event->latest_wall_ns;
    *sample = (struct rip_sample){
        .progress = info->progress,
        .slot = info->slot,
        .generation = info->generation,
        .tid = info->tid,
        .process = info->process,
        .idle = info->idle,
        .deadline_ms = info->deadline_ms,
        .call = info->call,
        .name_version = (uint8_t)(sample->name_version + 2 * is_renamed), /* the version is not recorded */
    };
    id->stale = false;
    id->info = *info;
    return 0;
}

/* Most events of a drain are ordered by slot. */
static size_t find_next(struct replay_ring *ring, uint32_t slot, uint32_t generation)
{
    size_t at = ring->next;

    if (at >= ring->count || ring->samples[at].slot != slot || ring->samples[at].generation != generation ||
        ring->ids[at]->ended)
        at = replay_ring_find(ring, slot, generation);
    ring->next = at + 1;
    return at;
}

static void take_snap(const struct replay_ids *ids, struct replay_ring *ring, const struct rip_event *event)
{
    const struct rip_event_snap *snap = &event->as.snap;
    const size_t at = find_next(ring, event->slot, event->generation);
    const uint32_t most = entries_max(ids), count = snap->entry_count < most ? snap->entry_count : most;
    uint32_t kept = 0;
    struct replay_id *id;

    if (at == ring->count)
        return;
    id = ring->ids[at];
    ring->samples[at].progress = snap->progress;
    id->stale = false;
    id->since_wall_ns = event->latest_wall_ns;
    id->since_drain = ids->drain_count;
    if (count == 0)
        return;
    if (snap->overwritten_count == 0) /* otherwise there is a gap before the new ones */
        kept = id->entry_count < most - count ? id->entry_count : most - count;
    memmove(&id->entries[count], id->entries, kept * sizeof(id->entries[0]));
    id->entry_count = count + kept;
    for (uint32_t i = 0; i < count; i++)
        id->entries[i] = snap->entries[snap->entry_count - 1 - i];
    if (id->entries[0].snap > id->info.snap_count)
        id->info.snap_count = id->entries[0].snap;
}

static void take_note(struct replay_ring *ring, const struct rip_event *event)
{
    const size_t at = replay_ring_find(ring, event->slot, event->generation);

    if (at != ring->count)
        ring->ids[at]->note = *event->as.note;
}

static void end_id(struct replay_ring *ring, size_t at)
{
    ring->ids[at]->ended = true;
    ring->ended_count++;
}

static void remove_ids(struct replay_ring *ring, bool and_stale)
{
    size_t kept = 0;

    for (size_t i = 0; i < ring->count; i++) {
        if (ring->ids[i]->ended || (and_stale && ring->ids[i]->stale)) {
            free(ring->ids[i]);
            continue;
        }
        ring->samples[kept] = ring->samples[i];
        ring->ids[kept++] = ring->ids[i];
    }
    ring->count = kept;
    ring->ended_count = 0;
}

void replay_ring_settle(struct replay_ring *ring)
{
    if (ring->ended_count != 0)
        remove_ids(ring, false);
}

static void take_drain(struct replay_ids *ids)
{
    ids->drain_count++;
    for (size_t i = 0; i < ids->count; i++) {
        struct replay_ring *ring = ids->rings[i];

        if (ring->renewed)
            remove_ids(ring, true);
        replay_ring_settle(ring);
        ring->renewed = false;
    }
}

void replay_ids_restart(struct replay_ids *ids)
{
    for (size_t i = ids->count; i > 0; i--) {
        struct replay_ring *ring = ids->rings[i - 1];

        ring->condition_count = 0;
        if (!ring->renewed)
            take_ring_end(ids, ring->number);
    }
}

int replay_ids_take(struct replay_ids *ids, const struct rip_event *event)
{
    struct replay_ring *ring = replay_ids_ring(ids, event->ring);
    size_t at;

    if (event->kind == RIP_EVENT_RING)
        return take_ring(ids, event);
    if (event->kind == RIP_EVENT_DRAIN)
        take_drain(ids);
    if (ring == NULL)
        return 0;
    switch (event->kind) {
    case RIP_EVENT_RING_END:
        take_ring_end(ids, event->ring);
        return 0;
    case RIP_EVENT_PROCESS:
        return take_process(ring, event->process, event->as.process_begin);
    case RIP_EVENT_MODULE:
        return take_module(ring, &event->as.module);
    case RIP_EVENT_SCRIPT:
        return take_script(ring, event->as.script);
    case RIP_EVENT_DEATH:
        if (event->as.death.process < ring->process_count)
            ring->processes[event->as.death.process].dead = true;
        return 0;
    case RIP_EVENT_REGISTER:
    case RIP_EVENT_STATE:
        return take_id(ids, ring, event);
    case RIP_EVENT_SNAP:
        take_snap(ids, ring, event);
        return 0;
    case RIP_EVENT_NOTE:
        take_note(ring, event);
        return 0;
    case RIP_EVENT_EXIT:
        at = replay_ring_find(ring, event->slot, event->generation);
        if (at != ring->count)
            end_id(ring, at);
        return 0;
    case RIP_EVENT_TOTALS:
        ring->unseen_count = event->as.totals.unseen_count;
        return 0;
    default:
        return 0;
    }
}

int replay_ring_feed(struct replay_ring *ring, struct detector *detector)
{
    int result;

    replay_ring_settle(ring);
    ring->condition_count = ring->process_count;
    for (size_t i = 0; i < ring->process_count; i++)
        ring->conditions[i] = ring->processes[i].dead ? DETECTOR_DEAD : DETECTOR_LIVES;
    result = detector_ring(detector, ring->number, ring->conditions, ring->condition_count);
    return result != 0 ? result : detector_feed(detector, ring->samples, ring->count);
}

struct item *replay_ring_item(const struct replay_ring *ring, size_t index)
{
    const struct rip_sample *sample = &ring->samples[index];
    const struct replay_id *id = ring->ids[index];
    struct item *item = item_make(ring->number, ring->name, &id->info, &id->note, id->entries, id->entry_count);

    if (item == NULL)
        return NULL;
    item->tid = sample->tid;
    item->process = process_facts_ref(replay_ring_process(ring, sample->process));
    return item;
}
