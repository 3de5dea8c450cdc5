/* SPDX-License-Identifier: Apache-2.0 */
/* recording_table.c - see recording_table.h. */
#include "session/recording_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 64 };

/* Memory, counted in used_bytes ------------------------------------------------------------------------------------ */

/* Makes room for one more, zeroed element. Reallocates only if count is 0 or a power of two, and then doubles. */
static int grow_array(struct recording_table *table, void *array_pointer, size_t count, size_t element_bytes)
{
    size_t bytes = (count == 0 ? 1 : count) * element_bytes;
    void *array;

    if (count != 0 && (count & (count - 1)) != 0)
        return 0;
    if (bytes > RECORDING_TABLE_BYTES_MAX - table->used_bytes)
        return -EFBIG;
    memcpy(&array, array_pointer, sizeof(array));
    array = realloc(array, count == 0 ? bytes : 2 * bytes);
    if (array == NULL)
        return -ENOMEM;
    memset((unsigned char *)array + count * element_bytes, 0, bytes);
    memcpy(array_pointer, &array, sizeof(array));
    table->used_bytes += bytes;
    return 0;
}

/* Returns the size of an array that grow_array() has made. */
static uint64_t array_bytes(size_t count, size_t element_bytes)
{
    size_t capacity = count != 0;

    while (capacity < count)
        capacity *= 2;
    return (uint64_t)capacity * element_bytes;
}

static void drop_array(struct recording_table *table, void *array, size_t count, size_t element_bytes)
{
    table->used_bytes -= array_bytes(count, element_bytes);
    free(array);
}

static void drop_bytes(struct recording_table *table, struct state_bytes *bytes)
{
    table->used_bytes -= bytes->count;
    free(bytes->bytes);
    *bytes = (struct state_bytes){0};
}

static int keep_bytes(struct recording_table *table, struct state_bytes *target, const unsigned char *bytes,
                      size_t count)
{
    unsigned char *copy;

    drop_bytes(table, target);
    if (count > RECORDING_TABLE_BYTES_MAX - table->used_bytes)
        return -EFBIG;
    copy = malloc(count != 0 ? count : 1);
    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, bytes, count);
    *target = (struct state_bytes){copy, (uint32_t)count};
    table->used_bytes += count;
    return 0;
}

/* Finds a ring, and creates it if it does not exist. */
static int find_ring(struct recording_table *table, uint32_t number, struct state_ring **ret_ring)
{
    int result;

    if (table->ring_last < table->ring_count && table->rings[table->ring_last].number == number) {
        *ret_ring = &table->rings[table->ring_last];
        return 0;
    }
    for (size_t i = 0; i < table->ring_count; i++) {
        if (table->rings[i].number == number) {
            table->ring_last = i;
            *ret_ring = &table->rings[i];
            return 0;
        }
    }
    if (table->ring_count == RECORDING_RING_COUNT_MAX)
        return -EFBIG;
    result = grow_array(table, &table->rings, table->ring_count, sizeof(*table->rings));
    if (result != 0)
        return result;
    table->ring_last = table->ring_count++;
    *ret_ring = &table->rings[table->ring_last];
    **ret_ring = (struct state_ring){.number = number};
    return 0;
}

/* Ids: open addressing; the 64 slots of a bitmap word are adjacent ------------------------------------------------- */

static size_t place_of(const struct state_ring *ring, uint32_t slot)
{
    uint64_t word = (slot / 64) * UINT64_C(0x9e3779b97f4a7c15);

    return ((size_t)(word >> 26) * 64 + slot % 64) & (ring->place_count - 1);
}

/* Returns the place of the slot's id, or the free place where it belongs. */
static uint32_t *find_place(const struct state_ring *ring, uint32_t slot)
{
    size_t place = place_of(ring, slot);

    while (ring->places[place] != 0 && ring->ids[ring->places[place] - 1].info.slot != slot)
        place = (place + 1) & (ring->place_count - 1);
    return &ring->places[place];
}

static int grow_places(struct recording_table *table, struct state_ring *ring)
{
    size_t count = ring->place_count != 0 ? 2 * ring->place_count : FIRST_PLACES;
    uint64_t bytes = (count - ring->place_count) * sizeof(*ring->places);
    uint32_t *places;

    if (bytes > RECORDING_TABLE_BYTES_MAX - table->used_bytes)
        return -EFBIG;
    places = calloc(count, sizeof(*places));
    if (places == NULL)
        return -ENOMEM;
    table->used_bytes += bytes;
    free(ring->places);
    ring->places = places;
    ring->place_count = count;
    for (uint32_t i = 0; i < ring->id_count; i++)
        *find_place(ring, ring->ids[i].info.slot) = i + 1;
    return 0;
}

static int grow_ids(struct recording_table *table, struct state_ring *ring)
{
    int result = 0;

    if (ring->id_count == ring->id_capacity) {
        result = grow_array(table, &ring->ids, ring->id_capacity, sizeof(*ring->ids));
        if (result == 0)
            ring->id_capacity += ring->id_capacity == 0 ? 1 : ring->id_capacity;
    }
    return result;
}

/* Gives back half of the memory when a quarter is left, so that ids that come and go do not reallocate each time. */
static void shrink_ids(struct recording_table *table, struct state_ring *ring)
{
    const size_t bytes = ring->id_capacity / 2 * sizeof(*ring->ids);
    struct state_id *ids;

    if (ring->id_capacity < 4 || ring->id_count > ring->id_capacity / 4)
        return;
    ids = realloc(ring->ids, bytes);
    if (ids == NULL)
        return;
    ring->ids = ids;
    ring->id_capacity /= 2;
    table->used_bytes -= bytes;
}

int recording_table_id(struct recording_table *table, uint32_t number, uint32_t slot, struct state_id **ret_id)
{
    struct state_ring *ring;
    uint32_t *place;
    int result = find_ring(table, number, &ring);

    if (result == 0 && ring->id_count >= ring->place_count / 2)
        result = grow_places(table, ring);
    if (result != 0)
        return result;
    place = find_place(ring, slot);
    if (*place == 0) {
        result = grow_ids(table, ring);
        if (result != 0)
            return result;
        ring->ids[ring->id_count] = (struct state_id){.info.slot = slot};
        *place = ++ring->id_count;
    }
    *ret_id = &ring->ids[*place - 1];
    return 0;
}

void recording_table_reset_id(struct recording_table *table, struct state_id *id)
{
    drop_bytes(table, &id->note);
    *id = (struct state_id){.info.slot = id->info.slot};
}

/* Frees a place and moves later entries up, because a look-up ends at the first free place. */
static void clear_place(struct state_ring *ring, size_t place)
{
    const size_t mask = ring->place_count - 1;

    for (size_t next = (place + 1) & mask; ring->places[next] != 0; next = (next + 1) & mask) {
        size_t home = place_of(ring, ring->ids[ring->places[next] - 1].info.slot);

        if (((next - home) & mask) >= ((next - place) & mask)) {
            ring->places[place] = ring->places[next];
            place = next;
        }
    }
    ring->places[place] = 0;
}

/* Moves the last id into the gap in ids. */
void recording_table_drop_id(struct recording_table *table, uint32_t number, uint32_t slot)
{
    struct state_ring *ring;
    struct state_id *hole, *last;
    uint32_t *place;

    if (find_ring(table, number, &ring) != 0 || ring->id_count == 0)
        return;
    place = find_place(ring, slot);
    if (*place == 0)
        return;
    hole = &ring->ids[*place - 1];
    last = &ring->ids[ring->id_count - 1];
    drop_bytes(table, &hole->note);
    *find_place(ring, last->info.slot) = *place;
    *hole = *last;
    clear_place(ring, (size_t)(place - ring->places));
    ring->id_count--;
    shrink_ids(table, ring);
}

/* Rings, processes, modules ---------------------------------------------------------------------------------------- */

static void drop_modules(struct recording_table *table, struct state_process *process)
{
    for (uint32_t i = 0; i < process->module_count; i++)
        drop_bytes(table, &process->modules[i]);
    drop_array(table, process->modules, process->module_count, sizeof(*process->modules));
    process->modules = NULL;
    process->module_count = 0;
    drop_bytes(table, &process->death);
}

static void clear_ring(struct recording_table *table, struct state_ring *ring)
{
    for (uint32_t i = 0; i < ring->id_count; i++)
        drop_bytes(table, &ring->ids[i].note);
    table->used_bytes -= ring->place_count * sizeof(*ring->places);
    free(ring->places);
    table->used_bytes -= ring->id_capacity * sizeof(*ring->ids);
    free(ring->ids);
    for (uint32_t i = 0; i < ring->process_count; i++) {
        drop_modules(table, &ring->processes[i]);
        drop_bytes(table, &ring->processes[i].process);
    }
    drop_array(table, ring->processes, ring->process_count, sizeof(*ring->processes));
    for (uint32_t i = 0; i < ring->script_count; i++)
        drop_bytes(table, &ring->scripts[i]);
    drop_array(table, ring->scripts, ring->script_count, sizeof(*ring->scripts));
    drop_bytes(table, &ring->ring);
}

void recording_table_drop_ring(struct recording_table *table, uint32_t number)
{
    for (size_t i = 0; i < table->ring_count; i++) {
        if (table->rings[i].number != number)
            continue;
        clear_ring(table, &table->rings[i]);
        table->used_bytes -= array_bytes(table->ring_count, sizeof(*table->rings)) -
                             array_bytes(table->ring_count - 1, sizeof(*table->rings));
        table->ring_count--;
        memmove(&table->rings[i], &table->rings[i + 1], (table->ring_count - i) * sizeof(*table->rings));
        return;
    }
}

void recording_table_clear(struct recording_table *table)
{
    for (size_t i = 0; i < table->ring_count; i++)
        clear_ring(table, &table->rings[i]);
    free(table->rings);
    *table = (struct recording_table){0};
}

/* Grows an array until it has the element at index. */
static int grow_to(struct recording_table *table, void *array_pointer, uint32_t *count, uint32_t index, uint32_t limit,
                   size_t element_bytes)
{
    int result = index < limit ? 0 : -EFBIG;

    while (result == 0 && *count <= index) {
        result = grow_array(table, array_pointer, *count, element_bytes);
        *count += result == 0;
    }
    return result;
}

/* Returns where a PROCESS, DEATH or MODULE is stored. A PROCESS drops the modules and DEATH of its predecessor. */
static int find_part(struct recording_table *table, struct state_process *process, const struct rip_event *event,
                     struct state_bytes **ret_part)
{
    const uint32_t nth = event->as.module.nth;
    int result = 0;

    if (event->kind == RIP_EVENT_MODULE) {
        result = grow_to(table, &process->modules, &process->module_count, nth, RIP_PROCESS_MODULES,
                         sizeof(*process->modules));
        *ret_part = result == 0 ? &process->modules[nth] : NULL;
    } else if (event->kind == RIP_EVENT_PROCESS) {
        drop_modules(table, process);
        *ret_part = &process->process;
    } else {
        *ret_part = &process->death;
    }
    return result;
}

int recording_table_keep(struct recording_table *table, const struct rip_event *event, const unsigned char *bytes,
                         size_t count)
{
    struct state_ring *ring;
    struct state_bytes *target = NULL;
    struct state_id *id;
    uint32_t nth;
    int result = find_ring(table, event->ring, &ring);

    if (result != 0)
        return result;
    if (event->kind == RIP_EVENT_RING) {
        target = &ring->ring;
    } else if (event->kind == RIP_EVENT_NOTE) {
        result = recording_table_id(table, event->ring, event->slot, &id);
        target = result == 0 ? &id->note : NULL;
    } else if (event->kind == RIP_EVENT_SCRIPT) {
        nth = event->as.script->index;
        result = grow_to(table, &ring->scripts, &ring->script_count, nth, RIP_SCRIPT_MAX, sizeof(*ring->scripts));
        target = result == 0 ? &ring->scripts[nth] : NULL;
    } else {
        result = grow_to(table, &ring->processes, &ring->process_count, event->process, RIP_PROCESS_MAX,
                         sizeof(*ring->processes));
        if (result == 0)
            result = find_part(table, &ring->processes[event->process], event, &target);
    }
    return result == 0 ? keep_bytes(table, target, bytes, count) : result;
}

void recording_table_begin(struct recording_table *table)
{
    for (size_t i = 0; i < table->ring_count; i++) {
        for (size_t j = 0; j < table->rings[i].id_count; j++) {
            table->rings[i].ids[j].address = 0;
            table->rings[i].ids[j].is_counted = false;
        }
    }
}
