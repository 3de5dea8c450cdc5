/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - a handful of lists; the least recently used one is dropped for a new one. */
#include "net/lists.h"

#include <stdlib.h>
#include <string.h>

struct kept {
    struct list *list; /* NULL = free */
    uint64_t last_used;
};

struct lists {
    struct kept kept[LISTS_KEPT_MAX];
    uint64_t instance;
    uint64_t uses;
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

static void drop(struct kept *kept)
{
    list_unref(kept->list);
    kept->list = NULL;
}

struct list *lists_find(struct lists *lists, struct span key, uint64_t sequence, uint64_t version)
{
    for (size_t i = 0; i < LISTS_KEPT_MAX; i++) {
        struct list *list = lists->kept[i].list;

        if (list == NULL || list->document.sequence != sequence || list->version != version ||
            list->key_length != key.length || memcmp(list->key, key.bytes, key.length) != 0)
            continue;
        lists->kept[i].last_used = ++lists->uses;
        return list;
    }
    return NULL;
}

/* A free place for a list that long: drops the least recently used ones while there is none, or too many bytes. */
static struct kept *make_room(struct lists *lists, size_t length)
{
    for (;;) {
        struct kept *room = NULL, *oldest = NULL;
        size_t bytes = length;

        for (size_t i = 0; i < LISTS_KEPT_MAX; i++) {
            struct kept *kept = &lists->kept[i];

            if (kept->list == NULL) {
                room = kept;
                continue;
            }
            bytes += kept->list->document.body_bytes;
            if (oldest == NULL || kept->last_used < oldest->last_used)
                oldest = kept;
        }
        if (room != NULL && (bytes <= LISTS_KEPT_BYTES_MAX || oldest == NULL))
            return room;
        drop(oldest);
    }
}

struct list *lists_add(struct lists *lists, struct span key, uint64_t version, const struct document *document)
{
    struct list *list = malloc(sizeof(*list) + key.length);
    struct kept *kept;

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
    kept = make_room(lists, document->body_bytes);
    kept->list = list;
    kept->last_used = ++lists->uses;
    return list;
}

void lists_forget_before(struct lists *lists, uint64_t sequence)
{
    for (size_t i = 0; i < LISTS_KEPT_MAX; i++)
        if (lists->kept[i].list != NULL && lists->kept[i].list->document.sequence < sequence)
            drop(&lists->kept[i]);
}
