/* SPDX-License-Identifier: Apache-2.0 */
/* fragments.c - rows with open addressing, and the texts one behind the other. Pure. See fragments.h. */
#include "view/fragments.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST 64u
#define BYTES_FIRST 4096u

struct row {
    struct fragment_key key;
    uint32_t at;     /* in the texts */
    uint32_t length; /* 0 = the row is free */
};

struct fragments {
    struct row *rows;
    size_t capacity; /* of rows; a power of two */
    size_t count;
    char *texts;
    size_t bytes;
    size_t bytes_capacity;
};

struct fragments *fragments_new(void)
{
    return calloc(1, sizeof(struct fragments));
}

void fragments_free(struct fragments *fragments)
{
    if (fragments == NULL)
        return;
    free(fragments->rows);
    free(fragments->texts);
    free(fragments);
}

static bool is_key(const struct row *row, const struct fragment_key *key)
{
    return row->key.number == key->number && row->key.owner == key->owner && row->key.kind == key->kind;
}

/* The row of a key, or the free one where it would be; NULL: neither is among those that are looked at. */
static struct row *row_of(struct row *rows, size_t capacity, const struct fragment_key *key)
{
    uint64_t hash = (key->number + (uint64_t)(uintptr_t)key->owner * 31 + key->kind) * UINT64_C(0x9e3779b97f4a7c15);
    size_t place = (size_t)(hash >> 32) & (capacity - 1);

    for (size_t i = 0; i < FRAGMENTS_STEPS_MAX; i++) {
        struct row *row = &rows[(place + i) & (capacity - 1)];

        if (row->length == 0 || is_key(row, key))
            return row;
    }
    return NULL;
}

const char *fragments_find(const struct fragments *fragments, const struct fragment_key *key, size_t *ret_length)
{
    const struct row *row;

    if (fragments == NULL || fragments->capacity == 0)
        return NULL;
    row = row_of(fragments->rows, fragments->capacity, key);
    if (row == NULL || row->length == 0)
        return NULL;
    *ret_length = row->length;
    return fragments->texts + row->at;
}

/* Room for one more row: at most half of them are taken. */
static bool make_row(struct fragments *fragments)
{
    size_t capacity = fragments->capacity == 0 ? ROWS_FIRST : 2 * fragments->capacity;
    struct row *rows;

    if (fragments->count >= FRAGMENTS_MAX)
        return false;
    if (2 * (fragments->count + 1) <= fragments->capacity)
        return true;
    rows = calloc(capacity, sizeof(*rows));
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < fragments->capacity; i++) {
        struct row *row = NULL;

        if (fragments->rows[i].length != 0)
            row = row_of(rows, capacity, &fragments->rows[i].key);
        if (row != NULL)
            *row = fragments->rows[i];
    }
    free(fragments->rows);
    fragments->rows = rows;
    fragments->capacity = capacity;
    return true;
}

static bool make_room(struct fragments *fragments, size_t bytes)
{
    size_t capacity = fragments->bytes_capacity == 0 ? BYTES_FIRST : fragments->bytes_capacity;
    char *texts;

    if (bytes > FRAGMENTS_BYTES_MAX - fragments->bytes)
        return false;
    if (fragments->bytes + bytes <= fragments->bytes_capacity)
        return true;
    while (capacity < fragments->bytes + bytes)
        capacity *= 2;
    texts = realloc(fragments->texts, capacity);
    if (texts == NULL)
        return false;
    fragments->texts = texts;
    fragments->bytes_capacity = capacity;
    return true;
}

void fragments_keep(struct fragments *fragments, const struct fragment_key *key, const struct json_writer *writer,
                    size_t from)
{
    struct row *row;
    size_t length;

    if (fragments == NULL || writer->failed || from >= writer->length)
        return;
    from += writer->text[from] == ','; /* no value and no key begins with one: it stands between */
    length = writer->length - from;
    if (length == 0 || !make_room(fragments, length) || !make_row(fragments))
        return;
    row = row_of(fragments->rows, fragments->capacity, key);
    if (row == NULL)
        return;
    memcpy(fragments->texts + fragments->bytes, writer->text + from, length);
    *row = (struct row){*key, (uint32_t)fragments->bytes, (uint32_t)length};
    fragments->bytes += length;
    fragments->count++;
}

bool fragments_write(const struct fragments *fragments, const struct fragment_key *key, struct json_writer *writer)
{
    size_t length;
    const char *text = fragments_find(fragments, key, &length);

    if (text != NULL)
        json_raw(writer, text, length);
    return text != NULL;
}
