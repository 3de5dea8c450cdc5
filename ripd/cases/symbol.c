/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.c - symbols and their tables. Pure, except for the atomics.
 *
 * A table is a fixed number of linked lists. A new symbol becomes the first of its list and never moves.
 */
#include "cases/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define BUCKETS 128u
#define MALLOC_BYTES 16u /* overhead of an allocation */

struct symbol_buckets {
    _Atomic(struct symbol *) first[BUCKETS];
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

static bool is_system_header(const char *file)
{
    static const char *const folders[] = {"/usr/include/", "/usr/local/include/"};

    for (size_t i = 0; i < ARRAY_COUNT(folders); i++)
        if (strncmp(file, folders[i], strlen(folders[i])) == 0)
            return true;
    return strncmp(file, "/usr/lib/", 9) == 0 && strstr(file, "/include/") != NULL; /* a compiler's own */
}

size_t symbol_place(const struct symbol *symbol)
{
    for (size_t i = 0; i < symbol->frame_count; i++)
        if (symbol->frames[i].file == NULL || !is_system_header(symbol->frames[i].file))
            return i;
    return 0;
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

/* Keyed hash, because offsets come from rings. */
static _Atomic(struct symbol *) *bucket_of(const struct symbol_table *table, struct symbol_buckets *buckets,
                                           uint64_t offset)
{
    return &buckets->first[hash_bytes(&table->hash_key, &offset, sizeof(offset)) % BUCKETS];
}

void symbol_charge_end(struct symbol_charge *charge)
{
    /* acq_rel: pairs with itself, so that the later call frees after everything that the earlier caller did */
    if (atomic_fetch_add_explicit(&charge->end_count, 1, memory_order_acq_rel) == 1)
        free(charge);
}

void symbol_table_done(struct symbol_table *table)
{
    struct symbol_buckets *buckets = atomic_load_explicit(&table->buckets, memory_order_relaxed);

    for (size_t i = 0; buckets != NULL && i < BUCKETS; i++) {
        struct symbol *symbol = atomic_load_explicit(&buckets->first[i], memory_order_relaxed);

        while (symbol != NULL) {
            struct symbol *next = symbol->next;

            free(symbol);
            symbol = next;
        }
    }
    free(buckets);
    if (table->charge != NULL)
        symbol_charge_end(table->charge);
    atomic_store_explicit(&table->buckets, NULL, memory_order_relaxed);
    atomic_store_explicit(&table->full, false, memory_order_relaxed);
    table->charge = NULL;
    table->count = table->bytes = 0;
}

size_t symbol_table_cost(const struct symbol_table *table, const struct symbol *symbol)
{
    size_t bytes = symbol_bytes(symbol->frames, symbol->frame_count) + MALLOC_BYTES;

    if (atomic_load_explicit(&table->buckets, memory_order_relaxed) == NULL)
        bytes += sizeof(struct symbol_buckets) + MALLOC_BYTES;
    return bytes;
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t offset)
{
    /* acquire, twice: pairs with the releases in symbol_table_add() */
    struct symbol_buckets *buckets = atomic_load_explicit(&table->buckets, memory_order_acquire);
    const struct symbol *symbol = NULL;

    if (buckets != NULL)
        symbol = atomic_load_explicit(bucket_of(table, buckets, offset), memory_order_acquire);
    while (symbol != NULL && symbol->offset != offset)
        symbol = symbol->next;
    return symbol;
}

bool symbol_table_is_full(const struct symbol_table *table)
{
    return atomic_load_explicit(&table->full, memory_order_relaxed);
}

int symbol_table_add(struct symbol_table *table, uint64_t offset, struct symbol *symbol)
{
    struct symbol_buckets *buckets = atomic_load_explicit(&table->buckets, memory_order_relaxed);
    _Atomic(struct symbol *) *bucket;
    int result = 0;

    if (symbol == NULL)
        return -ENOMEM;
    if (symbol_table_find(table, offset) != NULL)
        result = -EEXIST;
    else if (symbol_table_is_full(table))
        result = -ENOSPC;
    else if (buckets == NULL && (buckets = calloc(1, sizeof(*buckets))) == NULL)
        result = -ENOMEM;
    if (result != 0) {
        free(symbol);
        return result;
    }
    table->bytes += symbol_table_cost(table, symbol);
    bucket = bucket_of(table, buckets, offset);
    symbol->offset = offset;
    symbol->next = atomic_load_explicit(bucket, memory_order_relaxed);
    /* release, twice: pairs with the acquires in symbol_table_find() */
    atomic_store_explicit(bucket, symbol, memory_order_release);
    atomic_store_explicit(&table->buckets, buckets, memory_order_release);
    if (++table->count == SYMBOL_TABLE_MAX || table->bytes >= SYMBOL_TABLE_BYTES_MAX)
        atomic_store_explicit(&table->full, true, memory_order_relaxed);
    return 0;
}
