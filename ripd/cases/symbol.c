/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.c - symbols and their tables. Pure, apart from the atomics.
 *
 * A table is an array of rows with open addressing. When it is half full a larger copy takes its place; the old arrays
 * stay for readers that still walk them, and go with the table: together they are smaller than the last one.
 */
#include "cases/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MIN 16u
#define MALLOC_BYTES 16u /* what an allocation takes besides */

struct symbol_row {
    _Atomic(struct symbol *) symbol; /* NULL = empty; stored last */
    uint64_t offset;
};

struct symbol_rows {
    struct symbol_rows *before; /* smaller, retired */
    size_t capacity;            /* a power of two */
    struct symbol_row rows[];
};

static size_t text_bytes(const char *text)
{
    return text == NULL ? 0 : strnlen(text, SYMBOL_TEXT_BYTES_MAX) + 1;
}

static const char *copy_text(char **at, const char *text)
{
    char *copy = *at;
    size_t length;

    if (text == NULL)
        return NULL;
    length = strnlen(text, SYMBOL_TEXT_BYTES_MAX);
    memcpy(copy, text, length);
    copy[length] = '\0';
    *at += length + 1;
    return copy;
}

static size_t symbol_bytes(const struct symbol_frame *frames, size_t count)
{
    size_t bytes = sizeof(struct symbol) + count * sizeof(*frames);

    for (size_t i = 0; i < count; i++)
        bytes += text_bytes(frames[i].function) + text_bytes(frames[i].file);
    return bytes;
}

struct symbol *symbol_new(const struct symbol_frame *frames, size_t frame_count)
{
    size_t count = frame_count < SYMBOL_FRAMES_MAX ? frame_count : SYMBOL_FRAMES_MAX;
    struct symbol *symbol = malloc(symbol_bytes(frames, count));
    char *at;

    if (symbol == NULL)
        return NULL;
    symbol->frame_count = count;
    at = (char *)&symbol->frames[count];
    for (size_t i = 0; i < count; i++) {
        symbol->frames[i].function = copy_text(&at, frames[i].function);
        symbol->frames[i].file = copy_text(&at, frames[i].file);
        symbol->frames[i].line = frames[i].line;
    }
    return symbol;
}

/* Offsets come from rings. */
static size_t place_of(const struct symbol_table *table, uint64_t offset, size_t capacity)
{
    return (size_t)hash_bytes(&table->hash_key, &offset, sizeof(offset)) & (capacity - 1);
}

void symbol_table_done(struct symbol_table *table)
{
    struct symbol_rows *rows = atomic_load_explicit(&table->rows, memory_order_relaxed);

    for (size_t i = 0; rows != NULL && i < rows->capacity; i++)
        free(atomic_load_explicit(&rows->rows[i].symbol, memory_order_relaxed));
    while (rows != NULL) {
        struct symbol_rows *before = rows->before;

        free(rows);
        rows = before;
    }
    if (table->charge != NULL)
        symbol_charge_end(table->charge);
    atomic_store_explicit(&table->rows, NULL, memory_order_relaxed);
    atomic_store_explicit(&table->full, false, memory_order_relaxed);
    table->charge = NULL;
    table->count = table->bytes = 0;
}

void symbol_charge_end(struct symbol_charge *charge)
{
    /* acq_rel: pairs with itself, so that the later one frees after all that the other did */
    if (atomic_fetch_add_explicit(&charge->end_count, 1, memory_order_acq_rel) == 1)
        free(charge);
}

/* Of an array in which one more has room; 0: rows has it. */
static size_t grown_capacity(const struct symbol_table *table, const struct symbol_rows *rows)
{
    if (rows == NULL)
        return ROWS_MIN;
    return 2 * (table->count + 1) > rows->capacity ? 2 * rows->capacity : 0;
}

static size_t rows_bytes(size_t capacity)
{
    return sizeof(struct symbol_rows) + capacity * sizeof(struct symbol_row);
}

size_t symbol_table_cost(const struct symbol_table *table, const struct symbol *symbol)
{
    size_t capacity = grown_capacity(table, atomic_load_explicit(&table->rows, memory_order_relaxed));

    return symbol_bytes(symbol->frames, symbol->frame_count) + MALLOC_BYTES +
           (capacity != 0 ? rows_bytes(capacity) + MALLOC_BYTES : 0);
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t offset)
{
    /* acquire: pairs with the release in grow() */
    const struct symbol_rows *rows = atomic_load_explicit(&table->rows, memory_order_acquire);
    const struct symbol *symbol = NULL;

    for (size_t place = rows == NULL ? 0 : place_of(table, offset, rows->capacity); rows != NULL;
         place = (place + 1) & (rows->capacity - 1)) {
        /* acquire: pairs with the release in put() */
        symbol = atomic_load_explicit(&rows->rows[place].symbol, memory_order_acquire);
        if (symbol == NULL || rows->rows[place].offset == offset)
            break;
    }
    return symbol;
}

static void put(const struct symbol_table *table, struct symbol_rows *rows, uint64_t offset, struct symbol *symbol)
{
    size_t place = place_of(table, offset, rows->capacity);

    while (atomic_load_explicit(&rows->rows[place].symbol, memory_order_relaxed) != NULL)
        place = (place + 1) & (rows->capacity - 1);
    rows->rows[place].offset = offset;
    /* release: pairs with the acquire in symbol_table_find() */
    atomic_store_explicit(&rows->rows[place].symbol, symbol, memory_order_release);
}

static struct symbol_rows *grow(struct symbol_table *table, struct symbol_rows *before, size_t capacity)
{
    struct symbol_rows *rows = calloc(1, rows_bytes(capacity));

    if (rows == NULL)
        return NULL;
    rows->capacity = capacity;
    rows->before = before;
    for (size_t i = 0; before != NULL && i < before->capacity; i++) {
        struct symbol *symbol = atomic_load_explicit(&before->rows[i].symbol, memory_order_relaxed);

        if (symbol != NULL)
            put(table, rows, before->rows[i].offset, symbol);
    }
    /* release: pairs with the acquire in symbol_table_find() */
    atomic_store_explicit(&table->rows, rows, memory_order_release);
    return rows;
}

bool symbol_table_is_full(const struct symbol_table *table)
{
    return atomic_load_explicit(&table->full, memory_order_relaxed);
}

int symbol_table_add(struct symbol_table *table, uint64_t offset, struct symbol *symbol)
{
    struct symbol_rows *rows = atomic_load_explicit(&table->rows, memory_order_relaxed);
    size_t capacity = grown_capacity(table, rows), bytes;
    int result = 0;

    if (symbol == NULL)
        return -ENOMEM;
    bytes = symbol_table_cost(table, symbol);
    if (symbol_table_find(table, offset) != NULL)
        result = -EEXIST;
    else if (symbol_table_is_full(table))
        result = -ENOSPC;
    else if (capacity != 0 && (rows = grow(table, rows, capacity)) == NULL)
        result = -ENOMEM;
    if (result != 0) {
        free(symbol);
        return result;
    }
    put(table, rows, offset, symbol);
    table->bytes += bytes;
    if (++table->count == SYMBOL_TABLE_MAX || table->bytes >= SYMBOL_TABLE_BYTES_MAX)
        atomic_store_explicit(&table->full, true, memory_order_relaxed);
    return 0;
}
