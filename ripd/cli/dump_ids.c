/* SPDX-License-Identifier: Apache-2.0 */
/* dump_ids.c - see dump_ids.h. The ids are those of replay/ids.h; view/item.h writes them as JSON. */
#include "cli/dump_ids.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "replay/ids.h"
#include "util/array.h"
#include "util/hash_index.h"
#include "view/item.h"

/* How many snaps were made at a location. */
struct passed {
    struct process_facts *process; /* owns a reference */
    uint64_t address;
    uint64_t count;
};

struct dump_ids {
    struct replay_ids ids;
    struct item **ended; /* owns references, in the order in which they ended */
    size_t ended_count, ended_capacity;
    struct passed *passed;
    size_t passed_count, passed_capacity;
    struct hash_index by_address;
};

struct dump_ids *dump_ids_new(void)
{
    struct dump_ids *ids = cli_allocate(1, sizeof(struct dump_ids));

    ids->ids.entries_max = RIP_ENTRY_COUNT;
    return ids;
}

void dump_ids_free(struct dump_ids *ids)
{
    for (size_t i = 0; i < ids->ended_count; i++)
        item_unref(ids->ended[i]);
    for (size_t i = 0; i < ids->passed_count; i++)
        process_facts_unref(ids->passed[i].process);
    replay_ids_done(&ids->ids);
    free(ids->ended);
    free(ids->passed);
    free(ids->by_address.places);
    free(ids);
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static void keep_ended(struct dump_ids *ids, const struct rip_event *event, const struct replay_ring *ring, size_t at)
{
    struct item *item;

    if (ids->ended_count == DUMP_ENDED_MAX)
        return;
    item = replay_ring_item(ring, at);
    if (item == NULL || !ARRAY_GROW(ids->ended, ids->ended_count, ids->ended_capacity))
        cli_end_without_memory();
    if (event->as.exit.has_snap_count)
        item->snap_count = event->as.exit.snap_count;
    ids->ended[ids->ended_count++] = item;
}

static void count_place(struct dump_ids *ids, struct process_facts *process, uint64_t address)
{
    const uint64_t hash = ((uintptr_t)process + address * UINT64_C(0x9e3779b97f4a7c15)) >> 4;
    uint32_t number;
    size_t probe = 0;

    while ((number = hash_index_next(&ids->by_address, hash, &probe)) != 0) {
        struct passed *passed = &ids->passed[number - 1];

        if (passed->process == process && passed->address == address) {
            passed->count++;
            return;
        }
    }
    if (ids->passed_count == DUMP_PLACES_MAX)
        return;
    if (!ARRAY_GROW(ids->passed, ids->passed_count, ids->passed_capacity) ||
        !hash_index_add(&ids->by_address, hash, (uint32_t)ids->passed_count + 1))
        cli_end_without_memory();
    ids->passed[ids->passed_count++] = (struct passed){process_facts_ref(process), address, 1};
}

void dump_ids_take(struct dump_ids *ids, const struct rip_event *event)
{
    const struct replay_ring *ring = replay_ids_ring(&ids->ids, event->ring);
    const size_t at = ring != NULL ? replay_ring_find(ring, event->slot, event->generation) : 0;
    const bool known = ring != NULL && at < ring->count;
    const struct rip_event_snap *snap = &event->as.snap;

    if (event->kind == RIP_EVENT_RING_END) /* the ids of a ring that is gone are shown as they were */
        return;
    if (event->kind == RIP_EVENT_EXIT && known)
        keep_ended(ids, event, ring, at);
    for (uint32_t i = 0; event->kind == RIP_EVENT_SNAP && known && i < snap->entry_count; i++)
        count_place(ids, replay_ring_process(ring, ring->samples[at].process), snap->entries[i].address);
    if (replay_ids_take(&ids->ids, event) != 0)
        cli_end_without_memory();
}

/* JSON ------------------------------------------------------------------------------------------------------------- */

/* As in /threads. The state of an id that was neither idle nor had ended is not known. */
static json_t *make_json(struct names *names, struct item *item, enum id_state state)
{
    const struct sighting sighting = {.item = item, .state = state, .threshold_ns = UINT64_MAX};
    struct json_writer writer;
    json_t *object = NULL;
    char *text;
    size_t length;

    if (item == NULL)
        return NULL;
    names_add_item(names, item, RIP_ENTRY_COUNT);
    json_init(&writer);
    item_write(&writer, NULL, &sighting, RIP_ENTRY_COUNT);
    if (json_finish(&writer, &text, &length) == 0) {
        object = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
        free(text);
    }
    if (state == ID_RUNNING)
        json_object_set_new(object, "state", json_null());
    json_object_del(object, "summary");
    return object;
}

json_t *dump_ids_items(const struct dump_ids *ids, struct names *names)
{
    json_t *items = json_array();

    for (size_t i = 0; i < ids->ids.count; i++) {
        struct replay_ring *ring = ids->ids.rings[i];

        replay_ring_settle(ring);
        for (size_t j = 0; j < ring->count; j++) {
            struct item *item = replay_ring_item(ring, j);

            json_array_append_new(items, make_json(names, item, ring->samples[j].idle != 0 ? ID_IDLE : ID_RUNNING));
            item_unref(item);
        }
    }
    return items;
}

json_t *dump_ids_ended(const struct dump_ids *ids, struct names *names)
{
    json_t *items = json_array();

    for (size_t i = ids->ended_count; i-- > 0;)
        json_array_append_new(items, make_json(names, ids->ended[i], ID_EXITED));
    return items;
}

/* Each location is written as that of an item. */
json_t *dump_ids_places(const struct dump_ids *ids, struct names *names)
{
    static char no_name[] = "";
    json_t *places = json_array();

    for (size_t i = 0; i < ids->passed_count; i++) {
        const struct passed *passed = &ids->passed[i];
        struct item *item = cli_allocate(1, sizeof(*item) + sizeof(item->entries[0]));
        json_t *place;

        item->ring_name = no_name;
        item->process = passed->process;
        item->entry_count = 1;
        item->entries[0].address = passed->address;
        place = make_json(names, item, ID_RUNNING);
        json_object_set_new(place, "count", json_integer((json_int_t)passed->count));
        json_array_append_new(places, place);
        free(item);
    }
    return places;
}
