/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - a small cache of lists; a new list replaces the least recently used one. */
#include "net/lists.h"

#include <stdlib.h>
#include <string.h>

struct lists {
    struct list *kept[LISTS_KEPT_MAX]; /* most recently used first */
    size_t count;
    uint64_t instance;
    size_t bytes;
};

struct lists *lists_new(uint64_t instance)
{
    struct lists *lists = calloc(1, sizeof(*lists));

    if (lists != NULL)
        lists->instance = instance;
    return lists;
}

void lists_free(struct lists *lists)
{
    if (lists != NULL)
        lists_forget_before(lists, UINT64_MAX);
    free(lists);
}

size_t lists_bytes(const struct lists *lists)
{
    return lists->bytes;
}

struct list *list_ref(struct list *list)
{
    list->references++;
    return list;
}

void list_unref(struct list *list)
{
    if (list == NULL || --list->references != 0)
        return;
    list->lists->bytes -= list->document.body_bytes;
    free(list->document.body);
    free(list);
}

void list_tag(const struct lists *lists, struct span key, uint64_t version, char ret_tag[ETAG_TEXT_BYTES])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (size_t i = 0; i < key.length; i++)
        hash = (hash ^ (unsigned char)key.bytes[i]) * UINT64_C(0x100000001b3);
    etag_format(lists->instance, version, hash, ret_tag);
}

/* Moves a list to the front. Lists before its place move back by one. */
static struct list *put_first(struct lists *lists, struct list *list, size_t place)
{
    memmove(&lists->kept[1], &lists->kept[0], place * sizeof(lists->kept[0]));
    return lists->kept[0] = list;
}

struct list *lists_find(struct lists *lists, struct span key, uint64_t sequence, uint64_t version)
{
    for (size_t i = 0; i < lists->count; i++) {
        struct list *list = lists->kept[i];

        if (list->document.sequence == sequence && list->version == version && list->key_length == key.length &&
            memcmp(list->key, key.bytes, key.length) == 0)
            return put_first(lists, list, i);
    }
    return NULL;
}

/* Drops least recently used lists until one of this length fits into the cache. */
static void make_room(struct lists *lists, size_t length)
{
    size_t kept = 0;

    while (kept < lists->count && kept < LISTS_KEPT_MAX - 1 &&
           (length += lists->kept[kept]->document.body_bytes) <= LISTS_KEPT_BYTES_MAX)
        kept++;
    while (lists->count > kept)
        list_unref(lists->kept[--lists->count]);
}

struct list *lists_add(struct lists *lists, struct span key, uint64_t version, const struct document *document)
{
    struct list *list = malloc(sizeof(*list) + key.length);

    if (list == NULL) {
        free(document->body);
        return NULL;
    }
    *list = (struct list){
        .references = 2,
        .lists = lists,
        .version = version,
        .document = *document,
        .key_length = key.length,
    };
    memcpy(list->key, key.bytes, key.length);
    list_tag(lists, key, version, list->tag);
    lists->bytes += document->body_bytes;
    make_room(lists, document->body_bytes);
    return put_first(lists, list, lists->count++);
}

void lists_forget_before(struct lists *lists, uint64_t sequence)
{
    size_t kept = 0;

    for (size_t i = 0; i < lists->count; i++) {
        if (lists->kept[i]->document.sequence < sequence)
            list_unref(lists->kept[i]);
        else
            lists->kept[kept++] = lists->kept[i];
    }
    lists->count = kept;
}
