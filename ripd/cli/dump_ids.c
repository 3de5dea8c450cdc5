/* SPDX-License-Identifier: Apache-2.0 */
/* dump_ids.c - see dump_ids.h. */
#include "cli/dump_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ring_json.h"
#include "util/array.h"
#include "util/hash_index.h"

/* A process, as long as it has its record. */
struct process {
    uint32_t ring;
    struct rip_process_info info;
    struct rip_module_info *modules; /* oldest first */
    size_t module_count, module_capacity;
};

struct id {
    uint32_t ring;
    uint32_t process; /* number, from 1; 0 = not known */
    bool ended;
    struct rip_id_info info;
    struct rip_note_info note;                 /* of no bytes: it has none */
    struct rip_entry entries[RIP_ENTRY_COUNT]; /* oldest first */
    uint32_t entry_count;
};

/* What was passed so many times. */
struct passed {
    uint32_t process;
    uint64_t address;
    uint64_t count;
};

struct script {
    uint32_t ring;
    struct rip_script_info info;
};

/* Which id has a slot. */
struct seat {
    uint32_t ring;
    uint32_t slot;
    uint32_t id; /* number, from 1; 0 = none that is there */
};

struct dump_ids {
    struct process *processes;
    size_t process_count, process_capacity;
    struct id *ids;
    size_t id_count, id_capacity;
    size_t ended_count;
    uint32_t spare; /* number of an id that was left out; its process is that of the next one */
    struct seat *seats;
    size_t seat_count, seat_capacity;
    struct hash_index by_slot;
    struct passed *passed;
    size_t passed_count, passed_capacity;
    struct hash_index by_address;
    struct script *scripts; /* functions of scripts of all rings */
    size_t script_count, script_capacity;
    struct hash_index by_index;
};

struct dump_ids *dump_ids_new(void)
{
    return calloc(1, sizeof(struct dump_ids));
}

void dump_ids_free(struct dump_ids *ids)
{
    if (ids == NULL)
        return;
    for (size_t i = 0; i < ids->process_count; i++)
        free(ids->processes[i].modules);
    free(ids->processes);
    free(ids->ids);
    free(ids->seats);
    free(ids->by_slot.places);
    free(ids->passed);
    free(ids->by_address.places);
    free(ids->scripts);
    free(ids->by_index.places);
    free(ids);
}

static uint64_t mix(uint64_t one, uint64_t other)
{
    const uint64_t mixed = (one + other * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);

    return mixed ^ mixed >> 31;
}

/* Processes and modules -------------------------------------------------------------------------------------------- */

/* The number of the newest of that record. */
static uint32_t find_process(const struct dump_ids *ids, uint32_t ring, uint32_t index)
{
    for (size_t i = ids->process_count; i > 0; i--)
        if (ids->processes[i - 1].ring == ring && ids->processes[i - 1].info.index == index)
            return (uint32_t)i;
    return 0;
}

static int take_process(struct dump_ids *ids, const struct rip_event *event)
{
    if (!ARRAY_GROW(ids->processes, ids->process_count, ids->process_capacity))
        return -ENOMEM;
    ids->processes[ids->process_count++] = (struct process){.ring = event->ring, .info = *event->as.process_begin};
    return 0;
}

static int take_module(struct dump_ids *ids, const struct rip_event *event)
{
    const uint32_t number = find_process(ids, event->ring, event->as.module.process);
    struct process *process;

    if (number == 0)
        return 0;
    process = &ids->processes[number - 1];
    if (!ARRAY_GROW(process->modules, process->module_count, process->module_capacity))
        return -ENOMEM;
    process->modules[process->module_count++] = *event->as.module.info;
    return 0;
}

/* NULL: it is not known. */
static struct script *find_script(const struct dump_ids *ids, uint32_t ring, uint32_t index)
{
    const uint64_t hash = mix(ring, index);
    uint32_t number;
    size_t probe = 0;

    while ((number = hash_index_next(&ids->by_index, hash, &probe)) != 0)
        if (ids->scripts[number - 1].ring == ring && ids->scripts[number - 1].info.index == index)
            return &ids->scripts[number - 1];
    return NULL;
}

static int take_script(struct dump_ids *ids, const struct rip_event *event)
{
    struct script *known = find_script(ids, event->ring, event->as.script->index);

    if (known != NULL) {
        known->info = *event->as.script;
        return 0;
    }
    if (!ARRAY_GROW(ids->scripts, ids->script_count, ids->script_capacity))
        return -ENOMEM;
    ids->scripts[ids->script_count++] = (struct script){event->ring, *event->as.script};
    return hash_index_add(&ids->by_index, mix(event->ring, event->as.script->index), (uint32_t)ids->script_count)
               ? 0
               : -ENOMEM;
}

static json_t *make_script_place(const struct dump_ids *ids, uint32_t ring, uint64_t address)
{
    const uint64_t index = address >> RIP_PLACE_INDEX_SHIFT & RIP_PLACE_INDEX_MASK;
    const struct script *script =
        (address & RIP_PLACE_UNKNOWN_BITS) == 0 ? find_script(ids, ring, (uint32_t)index) : NULL;
    struct rip_script_info info;

    if (script == NULL)
        return ring_json_place(NULL, address);
    info = script->info;
    info.line = (uint32_t)(address & RIP_PLACE_LINE_MASK);
    return ring_json_script(&info);
}

/* The newest where several overlap. */
static json_t *make_place(const struct dump_ids *ids, uint32_t process, uint64_t address)
{
    const struct process *owner = process != 0 ? &ids->processes[process - 1] : NULL;

    if (owner != NULL && (address & RIP_PLACE_SCRIPT) != 0)
        return make_script_place(ids, owner->ring, address);
    for (size_t i = owner != NULL ? owner->module_count : 0; i > 0; i--)
        if (address >= owner->modules[i - 1].start && address < owner->modules[i - 1].end)
            return ring_json_place(&owner->modules[i - 1], address);
    return ring_json_place(NULL, address);
}

/* Ids -------------------------------------------------------------------------------------------------------------- */

/* NULL: there was never an id. */
static struct seat *find_seat(const struct dump_ids *ids, const struct rip_event *event)
{
    const uint64_t hash = mix(event->ring, event->slot);
    uint32_t number;
    size_t probe = 0;

    while ((number = hash_index_next(&ids->by_slot, hash, &probe)) != 0)
        if (ids->seats[number - 1].ring == event->ring && ids->seats[number - 1].slot == event->slot)
            return &ids->seats[number - 1];
    return NULL;
}

/* NULL: there is none. */
static struct id *find_id(const struct dump_ids *ids, const struct rip_event *event)
{
    const struct seat *seat = find_seat(ids, event);

    return seat != NULL && seat->id != 0 ? &ids->ids[seat->id - 1] : NULL;
}

static struct seat *add_seat(struct dump_ids *ids, const struct rip_event *event)
{
    if (!ARRAY_GROW(ids->seats, ids->seat_count, ids->seat_capacity) ||
        !hash_index_add(&ids->by_slot, mix(event->ring, event->slot), (uint32_t)ids->seat_count + 1))
        return NULL;
    ids->seats[ids->seat_count] = (struct seat){.ring = event->ring, .slot = event->slot};
    return &ids->seats[ids->seat_count++];
}

/* 0: no memory. */
static uint32_t add_id(struct dump_ids *ids)
{
    const uint32_t spare = ids->spare;

    if (spare != 0) {
        ids->spare = ids->ids[spare - 1].process;
        return spare;
    }
    return ARRAY_GROW(ids->ids, ids->id_count, ids->id_capacity) ? (uint32_t)++ids->id_count : 0;
}

static int take_id(struct dump_ids *ids, const struct rip_event *event)
{
    struct seat *seat = find_seat(ids, event);
    struct id *id;

    if (seat == NULL)
        seat = add_seat(ids, event);
    if (seat == NULL)
        return -ENOMEM;
    if (seat->id == 0) {
        seat->id = add_id(ids);
        if (seat->id == 0)
            return -ENOMEM;
        ids->ids[seat->id - 1] = (struct id){.ring = event->ring};
    }
    id = &ids->ids[seat->id - 1];
    id->info = *event->as.state.info;
    id->process = find_process(ids, event->ring, id->info.process);
    return 0;
}

static int count_place(struct dump_ids *ids, uint32_t process, uint64_t address)
{
    const uint64_t hash = mix(process, address);
    uint32_t number;
    size_t probe = 0;

    while ((number = hash_index_next(&ids->by_address, hash, &probe)) != 0) {
        struct passed *passed = &ids->passed[number - 1];

        if (passed->process == process && passed->address == address) {
            passed->count++;
            return 0;
        }
    }
    if (ids->passed_count == DUMP_PLACES_MAX)
        return 0;
    if (!ARRAY_GROW(ids->passed, ids->passed_count, ids->passed_capacity) ||
        !hash_index_add(&ids->by_address, hash, (uint32_t)ids->passed_count + 1))
        return -ENOMEM;
    ids->passed[ids->passed_count++] = (struct passed){process, address, 1};
    return 0;
}

static int take_snap(struct dump_ids *ids, const struct rip_event *event)
{
    const struct rip_event_snap *snap = &event->as.snap;
    struct id *id = find_id(ids, event);
    int result = 0;

    if (id == NULL)
        return 0;
    for (uint32_t i = 0; result == 0 && i < snap->entry_count; i++) {
        if (id->entry_count == RIP_ENTRY_COUNT)
            memmove(id->entries, id->entries + 1, --id->entry_count * sizeof(id->entries[0]));
        id->entries[id->entry_count++] = snap->entries[i];
        result = count_place(ids, id->process, snap->entries[i].address);
    }
    if (snap->entry_count != 0 && snap->entries[snap->entry_count - 1].snap > id->info.snap_count)
        id->info.snap_count = snap->entries[snap->entry_count - 1].snap;
    return result;
}

static void take_exit(struct dump_ids *ids, const struct rip_event *event)
{
    struct seat *seat = find_seat(ids, event);
    struct id *id = find_id(ids, event);

    if (id == NULL)
        return;
    id->ended = true;
    if (event->as.exit.has_snap_count)
        id->info.snap_count = event->as.exit.snap_count;
    if (ids->ended_count == DUMP_ENDED_MAX) {
        id->ring = 0;
        id->process = ids->spare;
        ids->spare = seat->id;
    } else {
        ids->ended_count++;
    }
    seat->id = 0;
}

int dump_ids_take(struct dump_ids *ids, const struct rip_event *event)
{
    struct id *id;

    switch (event->kind) {
    case RIP_EVENT_PROCESS:
        return take_process(ids, event);
    case RIP_EVENT_MODULE:
        return take_module(ids, event);
    case RIP_EVENT_SCRIPT:
        return take_script(ids, event);
    case RIP_EVENT_REGISTER:
    case RIP_EVENT_STATE:
        return take_id(ids, event);
    case RIP_EVENT_SNAP:
        return take_snap(ids, event);
    case RIP_EVENT_NOTE:
        id = find_id(ids, event);
        if (id != NULL)
            id->note = *event->as.note;
        return 0;
    case RIP_EVENT_EXIT:
        take_exit(ids, event);
        return 0;
    default:
        return 0;
    }
}

/* JSON ------------------------------------------------------------------------------------------------------------- */

static json_t *make_process(const struct dump_ids *ids, uint32_t number)
{
    const struct rip_process_info *info = number != 0 ? &ids->processes[number - 1].info : NULL;

    if (info == NULL)
        return json_null();
    return json_pack("{s:I, s:o, s:I}", "pid", (json_int_t)info->pid, "comm",
                     ring_json_text(info->comm, strnlen((const char *)info->comm, sizeof(info->comm))), "uid",
                     (json_int_t)info->uid);
}

static json_t *make_trail(const struct dump_ids *ids, const struct id *id)
{
    json_t *trail = json_array();

    for (size_t i = id->entry_count; i > 0; i--) {
        json_t *entry = make_place(ids, id->process, id->entries[i - 1].address);

        json_object_set_new(entry, "count", json_integer((json_int_t)(id->entries[i - 1].snap - 1)));
        json_array_append_new(trail, entry);
    }
    return trail;
}

static json_t *make_item(const struct dump_ids *ids, const struct id *id)
{
    const struct rip_id_info *info = &id->info;
    const char *state = id->ended ? "exited" : info->idle != 0 ? "idle" : NULL;
    json_t *trail = make_trail(ids, id);

    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:s?, s:I, s:O?, s:o}", "id", (json_int_t)info->id, "tid",
                     info->tid != 0 ? json_integer(info->tid) : json_null(), "name",
                     ring_json_text(info->name, info->name_bytes), "note",
                     id->note.text_bytes != 0 ? ring_json_text(id->note.text, id->note.text_bytes) : json_null(),
                     "process", make_process(ids, id->process), "state", state, "snaps", (json_int_t)info->snap_count,
                     "location", json_array_get(trail, 0), "trail", trail);
}

json_t *dump_ids_items(const struct dump_ids *ids, bool ended)
{
    json_t *items = json_array();

    for (size_t i = 0; i < ids->id_count; i++) {
        const struct id *id = &ids->ids[ended ? ids->id_count - 1 - i : i];

        if (id->ring != 0 && id->ended == ended)
            json_array_append_new(items, make_item(ids, id));
    }
    return items;
}

json_t *dump_ids_places(const struct dump_ids *ids)
{
    json_t *places = json_array();

    for (size_t i = 0; i < ids->passed_count; i++) {
        json_t *place = make_place(ids, ids->passed[i].process, ids->passed[i].address);

        json_object_set_new(place, "count", json_integer((json_int_t)ids->passed[i].count));
        json_array_append_new(places, place);
    }
    return places;
}

json_t *dump_ids_paths(const struct dump_ids *ids)
{
    json_t *paths = json_object();

    for (size_t i = 0; i < ids->process_count; i++)
        for (size_t nth = 0; nth < ids->processes[i].module_count; nth++)
            ring_json_path(&ids->processes[i].modules[nth], paths);
    return paths;
}
