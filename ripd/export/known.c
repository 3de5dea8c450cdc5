/* SPDX-License-Identifier: Apache-2.0 */
/* known.c - tables that follow the events. Pure. See known.h. */
#include "export/known.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/hash.h"
#include "util/hash_index.h"
#include "util/search.h"
#include "util/text.h"
#include "view/json_writer.h"

struct known {
    known_namer *namer;
    void *context;
    struct known_ring *rings; /* in order of number */
    size_t ring_count;
    size_t ring_capacity;
    struct known_place **places;
    size_t place_count;
    size_t place_capacity;
    struct hash_index place_index;
    struct known_place nowhere; /* in no module */
    struct known_place other;   /* beyond KNOWN_PLACES_MAX */
    uint32_t serial;
    uint64_t drain_count;
    uint64_t wall_ns;
    uint32_t ended_ring; /* of the id whose EXIT was taken last; 0 = none */
    uint32_t ended_slot;
    uint32_t ended_generation;
    bool ring_ended;
};

char *known_clean(const void *bytes, size_t count)
{
    char *plain = strndup(bytes != NULL ? bytes : "", bytes != NULL ? count : 0), *clean = NULL;
    struct json_writer writer;
    size_t length;

    if (plain == NULL)
        return NULL;
    json_init(&writer);
    json_text(&writer, NULL, plain);
    free(plain);
    if (json_finish(&writer, &clean, &length) != 0)
        return NULL;
    memmove(clean, clean + 1, length - 2); /* without its quotes */
    clean[length - 2] = '\0';
    return clean;
}

/* Memory ----------------------------------------------------------------------------------------------------------- */

static void done_process(struct known_process *process)
{
    for (size_t i = 0; i < process->module_count; i++) {
        free(process->modules[i].path);
        free(process->modules[i].name);
    }
    free(process->modules);
    free(process->comm);
}

static void done_id(struct known_id *id)
{
    free(id->name);
    free(id->note);
}

static void done_script(struct known_script *script)
{
    free(script->function);
    free(script->file);
}

static void done_ring(struct known_ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++)
        done_process(&ring->processes[i]);
    for (size_t i = 0; i < ring->id_count; i++)
        done_id(&ring->ids[i]);
    for (size_t i = 0; i < ring->script_count; i++)
        done_script(&ring->scripts[i]);
    free(ring->processes);
    free(ring->scripts);
    free(ring->ids);
    free(ring->name);
}

struct known *known_new(known_namer *namer, void *context)
{
    static char nowhere[] = "?", other[] = "(other)";
    struct known *known = calloc(1, sizeof(*known));

    if (known == NULL)
        return NULL;
    known->namer = namer;
    known->context = context;
    known->nowhere.text = nowhere;
    known->other.text = other;
    return known;
}

void known_free(struct known *known)
{
    if (known == NULL)
        return;
    for (size_t i = 0; i < known->ring_count; i++)
        done_ring(&known->rings[i]);
    for (size_t i = 0; i < known->place_count; i++) {
        struct known_place *place = known->places[i];

        free((char *)(uintptr_t)place->module);
        free((char *)(uintptr_t)place->build_id);
        free(place->function);
        free(place->file);
        free(place->text);
        free(place);
    }
    free(known->rings);
    free(known->places);
    free(known->place_index.places);
    free(known);
}

/* Finding ---------------------------------------------------------------------------------------------------------- */

static int compare_ring(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct known_ring *)item)->number);
}

static int compare_process(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct known_process *)item)->index);
}

static int compare_slot(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct known_id *)item)->slot);
}

struct known_ring *known_find_ring(struct known *known, uint32_t number)
{
    size_t at = search_equal(&number, known->rings, known->ring_count, sizeof(*known->rings), compare_ring);

    return at < known->ring_count ? &known->rings[at] : NULL;
}

struct known_ring *known_ring_at(struct known *known, size_t nth)
{
    return nth < known->ring_count ? &known->rings[nth] : NULL;
}

struct known_process *known_find_process(const struct known_ring *ring, uint32_t index)
{
    size_t at;

    if (ring == NULL)
        return NULL;
    at = search_equal(&index, ring->processes, ring->process_count, sizeof(*ring->processes), compare_process);
    return at < ring->process_count ? &ring->processes[at] : NULL;
}

struct known_id *known_find_id(const struct known_ring *ring, uint32_t slot, uint32_t generation)
{
    size_t at;

    if (ring == NULL)
        return NULL;
    at = search_equal(&slot, ring->ids, ring->id_count, sizeof(*ring->ids), compare_slot);
    return at < ring->id_count && ring->ids[at].generation == generation ? &ring->ids[at] : NULL;
}

struct known_id *known_find_named(struct known *known, const char *ring_name, uint32_t id, struct known_ring **ret_ring)
{
    for (size_t i = 0; i < known->ring_count; i++) {
        struct known_ring *ring = &known->rings[i];

        for (size_t j = 0; strcmp(ring->name, ring_name) == 0 && j < ring->id_count; j++)
            if (ring->ids[j].id == id) {
                *ret_ring = ring;
                return &ring->ids[j];
            }
    }
    return NULL;
}

uint64_t known_drain_count(const struct known *known)
{
    return known->drain_count;
}

uint64_t known_wall_ns(const struct known *known)
{
    return known->wall_ns;
}

/* Places ----------------------------------------------------------------------------------------------------------- */

static void format_place(struct known_place *place)
{
    const char *file = place->file != NULL ? strrchr(place->file, '/') : NULL;

    file = file != NULL ? file + 1 : place->file;
    if (place->function != NULL && file != NULL &&
        asprintf(&place->text, "%s (%s:%" PRIu32 ")", place->function, file, place->line) >= 0)
        return;
    if (place->function != NULL && file == NULL && asprintf(&place->text, "%s", place->function) >= 0)
        return;
    if (asprintf(&place->text, "%s+0x%" PRIx64, place->module, place->offset) < 0)
        place->text = NULL;
}

static char *copy_of(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

static bool same_text(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* A place in a module is known by its offset; what it is called follows from that. */
static bool is_same(const struct known_place *place, const struct known_place *wanted)
{
    if (!same_text(place->module, wanted->module))
        return false;
    if (wanted->module != NULL)
        return place->offset == wanted->offset && strcmp(place->build_id, wanted->build_id) == 0;
    return place->line == wanted->line && same_text(place->function, wanted->function) &&
           same_text(place->file, wanted->file);
}

/* module: of a place that is in one. NULL: no memory. */
static struct known_place *add_place(struct known *known, const struct known_place *wanted,
                                     const struct known_module *module)
{
    struct known_place *place = calloc(1, sizeof(*place));

    if (place == NULL || !ARRAY_GROW(known->places, known->place_count, known->place_capacity)) {
        free(place);
        return NULL;
    }
    known->places[known->place_count++] = place;
    *place = (struct known_place){.module = copy_of(wanted->module),
                                  .build_id = copy_of(wanted->build_id),
                                  .offset = wanted->offset,
                                  .function = copy_of(wanted->function),
                                  .file = copy_of(wanted->file),
                                  .line = wanted->line};
    if (!is_same(place, wanted))
        return NULL;
    if (module != NULL && known->namer != NULL)
        known->namer(known->context, module, place->offset, place);
    format_place(place);
    return place->text != NULL ? place : NULL;
}

/* The place that is the same; made if there is none. */
static const struct known_place *find_place(struct known *known, const struct known_place *wanted, uint64_t hash,
                                            const struct known_module *module)
{
    struct known_place *place;
    size_t probe = 0;
    uint32_t number;

    while ((number = hash_index_next(&known->place_index, hash, &probe)) != 0)
        if (is_same(known->places[number - 1], wanted))
            return known->places[number - 1];
    if (known->place_count >= KNOWN_PLACES_MAX)
        return &known->other;
    place = add_place(known, wanted, module);
    if (place == NULL || !hash_index_add(&known->place_index, hash, (uint32_t)known->place_count))
        return NULL;
    return place;
}

static const struct known_module *find_module(const struct known_process *process, uint64_t address)
{
    for (size_t i = process != NULL ? process->module_count : 0; i-- != 0;)
        if (address >= process->modules[i].start && address < process->modules[i].end)
            return &process->modules[i];
    return NULL;
}

static const struct known_place *script_place(struct known *known, const struct known_ring *ring, uint64_t address)
{
    const uint64_t index = address >> RIP_PLACE_INDEX_SHIFT & RIP_PLACE_INDEX_MASK;
    const uint32_t line = (uint32_t)(address & RIP_PLACE_LINE_MASK);
    const struct known_script *script = ring != NULL && index < ring->script_count ? &ring->scripts[index] : NULL;
    struct known_place wanted = {.line = line};

    if (script == NULL || script->function == NULL || (address & RIP_PLACE_UNKNOWN_BITS) != 0)
        return &known->nowhere;
    wanted.function = script->function;
    wanted.file = script->file;
    return find_place(known, &wanted, hash_text(&(struct hash_key){{line, 2}}, script->function), NULL);
}

const struct known_place *known_place(struct known *known, const struct known_ring *ring, uint32_t process,
                                      uint64_t address)
{
    const struct known_module *module = find_module(known_find_process(ring, process), address);
    struct known_place wanted = {.offset = 0};

    if ((address & RIP_PLACE_SCRIPT) != 0)
        return script_place(known, ring, address);
    if (module == NULL)
        return &known->nowhere;
    wanted.module = module->name;
    wanted.build_id = module->build_id;
    wanted.offset = address - module->bias;
    return find_place(known, &wanted,
                      hash_text(&(struct hash_key){{wanted.offset, 0}}, wanted.build_id) ^
                          hash_text(&(struct hash_key){{wanted.offset, 1}}, wanted.module),
                      module);
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static int take_ring(struct known *known, const struct rip_event *event)
{
    size_t at = search_first(&event->ring, known->rings, known->ring_count, sizeof(*known->rings), compare_ring);
    char *name;

    if (known_find_ring(known, event->ring) != NULL)
        return 0;
    if (!ARRAY_GROW(known->rings, known->ring_count, known->ring_capacity))
        return -ENOMEM;
    name = known_clean(event->as.ring_begin.name.bytes, event->as.ring_begin.name.count);
    if (name == NULL)
        return -ENOMEM;
    ARRAY_OPEN(known->rings, known->ring_count, at);
    known->rings[at] =
        (struct known_ring){.number = event->ring, .name = name, .preload = event->as.ring_begin.preload};
    return 0;
}

static int take_script(struct known_ring *ring, const struct rip_script_info *info)
{
    struct known_script script = {NULL, NULL};

    if (info->index >= RIP_SCRIPT_MAX)
        return 0;
    while (ring->script_count <= info->index) {
        if (!ARRAY_GROW(ring->scripts, ring->script_count, ring->script_capacity))
            return -ENOMEM;
        ring->scripts[ring->script_count++] = script;
    }
    done_script(&ring->scripts[info->index]);
    if (info->function_bytes != 0)
        script.function = known_clean(info->function, info->function_bytes);
    if (info->file_bytes != 0)
        script.file = known_clean(info->file, info->file_bytes);
    ring->scripts[info->index] = script;
    return 0;
}

static int take_process(struct known_ring *ring, const struct rip_event *event)
{
    const struct rip_process_info *info = event->as.process_begin;
    struct known_process *process = known_find_process(ring, event->process);
    char *comm = known_clean(info->comm, strnlen((const char *)info->comm, sizeof(info->comm)));
    size_t at;

    if (comm == NULL)
        return -ENOMEM;
    if (process == NULL) {
        if (!ARRAY_GROW(ring->processes, ring->process_count, ring->process_capacity)) {
            free(comm);
            return -ENOMEM;
        }
        at = search_first(&event->process, ring->processes, ring->process_count, sizeof(*process), compare_process);
        ARRAY_OPEN(ring->processes, ring->process_count, at);
        process = &ring->processes[at];
    } else {
        done_process(process);
    }
    *process =
        (struct known_process){.index = event->process, .generation = info->generation, .pid = info->pid, .comm = comm};
    return 0;
}

void known_build_id(char digits[KNOWN_BUILD_ID_BYTES], const struct rip_module_info *info)
{
    text_put_hex(digits, info->build_id,
                 info->build_id_bytes < RIP_BUILD_ID_BYTES ? info->build_id_bytes : RIP_BUILD_ID_BYTES);
}

static int take_module(struct known_ring *ring, const struct rip_event *event)
{
    const struct rip_module_info *info = event->as.module.info;
    struct known_process *process = known_find_process(ring, event->as.module.process);
    size_t bytes = info->path_bytes < RIP_MODULE_PATH_BYTES ? info->path_bytes : RIP_MODULE_PATH_BYTES;
    const uint8_t *name = memrchr(info->path, '/', bytes);
    struct known_module module = {
        .start = info->start, .end = info->end, .bias = info->bias, .is_main = (info->flags & RIP_MODULE_MAIN) != 0};

    if (process == NULL)
        return 0;
    if (!ARRAY_GROW(process->modules, process->module_count, process->module_capacity))
        return -ENOMEM;
    name = name != NULL ? name + 1 : info->path;
    known_build_id(module.build_id, info);
    module.path = strndup((const char *)info->path, bytes);
    module.name = known_clean(name, (size_t)(info->path + bytes - name));
    if (module.path == NULL || module.name == NULL) {
        free(module.path);
        free(module.name);
        return -ENOMEM;
    }
    process->modules[process->module_count++] = module;
    return 0;
}

static int take_name(struct known_id *id, const struct rip_event *event)
{
    const struct rip_id_info *info = event->as.id_begin.info;
    size_t bytes = info->name_bytes < RIP_NAME_BYTES ? info->name_bytes : RIP_NAME_BYTES;
    char *name = known_clean(info->name, bytes);

    if (name == NULL)
        return -ENOMEM;
    free(id->name);
    id->name = name;
    id->tid = info->tid;
    if (id->idle != (info->idle != 0)) {
        id->idle = info->idle != 0;
        id->since_wall_ns = event->latest_wall_ns;
    }
    return 0;
}

static int take_register(struct known *known, struct known_ring *ring, const struct rip_event *event)
{
    size_t at = search_first(&event->slot, ring->ids, ring->id_count, sizeof(*ring->ids), compare_slot);
    bool is_there = at < ring->id_count && ring->ids[at].slot == event->slot;

    if (is_there)
        done_id(&ring->ids[at]);
    else if (ARRAY_GROW(ring->ids, ring->id_count, ring->id_capacity))
        ARRAY_OPEN(ring->ids, ring->id_count, at);
    else
        return -ENOMEM;
    ring->ids[at] = (struct known_id){.slot = event->slot,
                                      .generation = event->generation,
                                      .id = event->id,
                                      .process = event->process,
                                      .serial = ++known->serial,
                                      .idle = event->as.id_begin.info->idle != 0,
                                      .since_wall_ns = event->latest_wall_ns,
                                      .since_drain = known->drain_count};
    return take_name(&ring->ids[at], event);
}

static int take_snap(struct known *known, struct known_ring *ring, struct known_id *id, const struct rip_event *event)
{
    const struct rip_event_snap *snap = &event->as.snap;
    uint32_t count = snap->entry_count < KNOWN_TRAIL ? snap->entry_count : KNOWN_TRAIL;
    uint32_t kept = id->trail_count < KNOWN_TRAIL - count ? id->trail_count : KNOWN_TRAIL - count;

    if (snap->overwritten_count != 0)
        kept = 0; /* what was before them is not next to them */
    memmove(&id->trail[count], id->trail, kept * sizeof(id->trail[0]));
    id->trail_count = count + kept;
    id->since_wall_ns = event->latest_wall_ns;
    id->since_drain = known->drain_count;
    for (uint32_t i = 0; i < count; i++) {
        id->trail[i] = known_place(known, ring, id->process, snap->entries[snap->entry_count - 1 - i].address);
        if (id->trail[i] == NULL)
            id->trail[i] = &known->other; /* no memory for its name */
    }
    return 0;
}

static int take_note(struct known_id *id, const struct rip_event *event)
{
    const struct rip_note_info *note = event->as.note;
    char *text = known_clean(note->text, note->text_bytes < RIP_NOTE_BYTES ? note->text_bytes : RIP_NOTE_BYTES);

    if (text == NULL)
        return -ENOMEM;
    free(id->note);
    id->note = text;
    return 0;
}

/* What ended with the event before. */
static void forget(struct known *known)
{
    struct known_ring *ring = known_find_ring(known, known->ended_ring);

    if (ring != NULL && known->ring_ended) {
        done_ring(ring);
        ARRAY_CLOSE(known->rings, known->ring_count, (size_t)(ring - known->rings));
    } else if (ring != NULL) {
        struct known_id *id = known_find_id(ring, known->ended_slot, known->ended_generation);

        if (id != NULL) {
            done_id(id);
            ARRAY_CLOSE(ring->ids, ring->id_count, (size_t)(id - ring->ids));
        }
    }
    known->ended_ring = 0;
    known->ring_ended = false;
}

int known_take(struct known *known, const struct rip_event *event)
{
    struct known_ring *ring;
    struct known_id *id;

    forget(known);
    if (event->latest_wall_ns > known->wall_ns)
        known->wall_ns = event->latest_wall_ns;
    ring = known_find_ring(known, event->ring);
    id = known_find_id(ring, event->slot, event->generation);
    switch (event->kind) {
    case RIP_EVENT_RING:
        return take_ring(known, event);
    case RIP_EVENT_RING_END:
        known->ended_ring = event->ring;
        known->ring_ended = true;
        return 0;
    case RIP_EVENT_PROCESS:
        return ring != NULL ? take_process(ring, event) : 0;
    case RIP_EVENT_MODULE:
        return ring != NULL ? take_module(ring, event) : 0;
    case RIP_EVENT_SCRIPT:
        return ring != NULL ? take_script(ring, event->as.script) : 0;
    case RIP_EVENT_REGISTER:
        return ring != NULL ? take_register(known, ring, event) : 0;
    case RIP_EVENT_STATE:
        return id != NULL ? take_name(id, event) : 0;
    case RIP_EVENT_SNAP:
        return id != NULL ? take_snap(known, ring, id, event) : 0;
    case RIP_EVENT_NOTE:
        return id != NULL ? take_note(id, event) : 0;
    case RIP_EVENT_EXIT:
        known->ended_ring = event->ring;
        known->ended_slot = event->slot;
        known->ended_generation = event->generation;
        return 0;
    case RIP_EVENT_DRAIN:
        known->drain_count++;
        return 0;
    default:
        return 0;
    }
}
