/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - which slot an id of this process has: a hash table in private memory.
 *
 * Guarantees
 *   1. Memory comes from mmap, not from malloc: the library may be called from inside an allocator.
 *   2. Failure is -ENOMEM and leaves the table as it was.
 *   3. At most half of the cells are in use; a look-up ends at the first empty one.
 */
#include <errno.h>
#include <sys/mman.h>

#include "writer.h"

enum { CELLS_MIN = 512 }; /* one page */

/* id in the high half, slot + 1 in the low; 0 = empty. */
static struct {
    uint64_t *cells;
    uint32_t capacity; /* a power of two */
    uint32_t used;
} table;

static uint32_t home_of(uint32_t id, uint32_t capacity)
{
    return (uint32_t)(((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (capacity - 1);
}

static uint32_t id_of(uint64_t cell)
{
    return (uint32_t)(cell >> 32);
}

/* The cell of id, or the empty one where it would go. */
static uint32_t place_of(const uint64_t *cells, uint32_t capacity, uint32_t id)
{
    uint32_t place = home_of(id, capacity);

    while (cells[place] != 0 && id_of(cells[place]) != id)
        place = (place + 1) & (capacity - 1);
    return place;
}

static int grow(void)
{
    uint32_t capacity = table.capacity != 0 ? table.capacity * 2 : CELLS_MIN;
    uint64_t *cells =
        mmap(NULL, (size_t)capacity * sizeof(*cells), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (cells == MAP_FAILED)
        return -ENOMEM;
    for (uint32_t i = 0; i < table.capacity; i++) {
        if (table.cells[i] != 0)
            cells[place_of(cells, capacity, id_of(table.cells[i]))] = table.cells[i];
    }
    if (table.cells != NULL)
        munmap(table.cells, (size_t)table.capacity * sizeof(*table.cells));
    table.cells = cells;
    table.capacity = capacity;
    return 0;
}

uint32_t rip__table_find(uint32_t id)
{
    uint64_t cell = table.capacity != 0 ? table.cells[place_of(table.cells, table.capacity, id)] : 0;

    return cell != 0 ? (uint32_t)cell - 1 : RIP_NO_SLOT;
}

int rip__table_insert(uint32_t id, uint32_t slot)
{
    uint32_t place;

    if (table.used * 2 >= table.capacity) {
        int result = grow();

        if (result < 0)
            return result;
    }
    place = place_of(table.cells, table.capacity, id);
    table.used += table.cells[place] == 0;
    table.cells[place] = ((uint64_t)id << 32) | (slot + 1);
    return 0;
}

/* Closes the gap: each later cell of the cluster moves up unless that would put it before its home. */
void rip__table_remove(uint32_t id)
{
    uint32_t mask = table.capacity - 1;
    uint32_t gap, next;

    if (table.capacity == 0)
        return;
    gap = place_of(table.cells, table.capacity, id);
    if (table.cells[gap] == 0)
        return;
    for (next = (gap + 1) & mask; table.cells[next] != 0; next = (next + 1) & mask) {
        uint32_t home = home_of(id_of(table.cells[next]), table.capacity);

        if (((next - home) & mask) >= ((next - gap) & mask)) {
            table.cells[gap] = table.cells[next];
            gap = next;
        }
    }
    table.cells[gap] = 0;
    table.used--;
}

uint32_t rip__table_next(uint32_t *position)
{
    while (*position < table.capacity) {
        uint64_t cell = table.cells[(*position)++];

        if (cell != 0)
            return (uint32_t)cell - 1;
    }
    return RIP_NO_SLOT;
}

void rip__table_drop(void)
{
    if (table.cells != NULL)
        munmap(table.cells, (size_t)table.capacity * sizeof(*table.cells));
    table.cells = NULL;
    table.capacity = 0;
    table.used = 0;
}
