/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - search, merge and compaction. Pure. See table.h for the guarantees.
 */
#include "detect/table.h"

#include <errno.h>
#include <stdlib.h>

#include "util/search.h"

#define TABLE_MARGIN 64u /* spare ids that are never freed */

void table_done(struct table *table)
{
    free(table->progress);
    free(table->slots);
    free(table->generations);
    free(table->marks);
    free(table->deadlines);
    free(table->rules);
    free(table->name_versions);
    *table = (struct table){0};
}

/* Reallocates a column into *ret_column. Returns false if out of memory. */
static bool resize_column(void *column, size_t item_bytes, size_t capacity, void **ret_column)
{
    void *moved = capacity < PTRDIFF_MAX / item_bytes ? realloc(column, capacity * item_bytes) : NULL;

    if (moved)
        *ret_column = moved;
    return moved;
}

/* If it fails, some columns have the new size and some the old one: the capacity is the smaller of the two. */
static int resize(struct table *table, size_t capacity)
{
    void *progress = table->progress, *slots = table->slots, *generations = table->generations, *marks = table->marks;
    void *deadlines = table->deadlines, *rules = table->rules, *name_versions = table->name_versions;
    bool done = resize_column(progress, sizeof *table->progress, capacity, &progress) &&
                resize_column(slots, sizeof *table->slots, capacity, &slots) &&
                resize_column(generations, sizeof *table->generations, capacity, &generations) &&
                resize_column(marks, sizeof *table->marks, capacity, &marks) &&
                resize_column(deadlines, sizeof *table->deadlines, capacity, &deadlines) &&
                resize_column(rules, sizeof *table->rules, capacity, &rules) &&
                resize_column(name_versions, sizeof *table->name_versions, capacity, &name_versions);

    table->progress = progress;
    table->slots = slots;
    table->generations = generations;
    table->marks = marks;
    table->deadlines = deadlines;
    table->rules = rules;
    table->name_versions = name_versions;
    if (done || capacity < table->capacity)
        table->capacity = capacity;
    return done ? 0 : -ENOMEM;
}

int table_reserve(struct table *table, size_t count)
{
    size_t wanted = table->capacity + table->capacity / 2;

    if (count <= table->capacity)
        return 0;
    return resize(table, wanted < count ? count : wanted);
}

static int compare_slot(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, *(const uint32_t *)item);
}

size_t table_seek(const struct table *table, size_t from, uint32_t slot)
{
    size_t low = from, step = 1, high;

    /* Double the step until the slot is not below, then do a binary search between the last two steps. */
    while (low + step < table->count && table->slots[low + step] < slot) {
        low += step;
        step *= 2;
    }
    high = low + step < table->count ? low + step : table->count;
    if (low == high)
        return low;
    return low + search_first(&slot, &table->slots[low], high - low, sizeof(slot), compare_slot);
}

#define TABLE_LINE_BYTES 64u

/* Into the first-level cache: a batch of columns needs a small part of it, and is read next. */
static void prefetch_lines(const void *start, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += TABLE_LINE_BYTES)
        __builtin_prefetch((const char *)start + at, 0, 3);
}

void table_prefetch(const struct table *table, size_t from, size_t count, bool with_rules)
{
    if (count > table->count - from)
        count = table->count - from;
    if (count == 0)
        return;
    __builtin_prefetch(&table->slots[from], 0, 2); /* the slots in between are not read, see table.h */
    __builtin_prefetch(&table->slots[from + count - 1], 0, 2);
    prefetch_lines(&table->progress[from], count * sizeof *table->progress);
    prefetch_lines(&table->generations[from], count * sizeof *table->generations);
    prefetch_lines(&table->marks[from], count * sizeof *table->marks);
    if (!with_rules)
        return;
    prefetch_lines(&table->rules[from], count * sizeof *table->rules);
    prefetch_lines(&table->name_versions[from], count * sizeof *table->name_versions);
}

static void move_id(struct table *to, size_t to_index, const struct table *from, size_t from_index)
{
    to->progress[to_index] = from->progress[from_index];
    to->slots[to_index] = from->slots[from_index];
    to->generations[to_index] = from->generations[from_index];
    to->marks[to_index] = from->marks[from_index];
    to->deadlines[to_index] = from->deadlines[from_index];
    to->rules[to_index] = from->rules[from_index];
    to->name_versions[to_index] = from->name_versions[from_index];
}

void table_compact(struct table *table)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++)
        if ((table->marks[i] & MARK_STATE_MASK) != TABLE_REMOVED)
            move_id(table, kept++, table, i);
    table->count = kept;
    if (kept == 0)
        table_done(table);
    else if (table->capacity > 2 * kept + TABLE_MARGIN)
        resize(table, kept + kept / 8);
}

int table_merge(struct table *table, struct table *added)
{
    size_t from = table->count, more = added->count, to = from + more;

    if (from == 0) { /* all ids are new: no copy */
        table_done(table);
        *table = *added;
        *added = (struct table){0};
        return 0;
    }
    if (table_reserve(table, to) < 0)
        return -ENOMEM;
    table->count = to;
    while (more) { /* backward, into the gap: unread ids are never overwritten */
        if (from && table->slots[from - 1] > added->slots[more - 1])
            move_id(table, --to, table, --from);
        else
            move_id(table, --to, added, --more);
    }
    added->count = 0;
    return 0;
}
