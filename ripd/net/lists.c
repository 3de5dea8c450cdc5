/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - a handful of lists; the least recently used one is dropped for a new one. */
#include "net/lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    struct list *list; /* NULL = free */
    uint64_t last_used;
    char key[LIST_KEY_BYTES];
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
    list->lists->bytes -= list->length;
    free(list->text);
    free(list);
}

void list_key(enum document_kind kind, const struct query *query, char ret_key[LIST_KEY_BYTES])
{
    int length = snprintf(
        ret_key, LIST_KEY_BYTES, "%d %" PRIu32 " %d %d %d %d %d %" PRIu64 " %" PRIu32 " %" PRIu32 " %d %" PRIx32,
        (int)kind, query->pid, query->has_cause, query->cause_excluded, (int)query->cause, query->has_state,
        (int)query->state, query->min_ns, query->limit, query->trail_count, (int)query->group, query->kinds);

    /* Lengths go first, so that no pattern can look like the end of another. */
    snprintf(ret_key + length, LIST_KEY_BYTES - (size_t)length,
             " %d %" PRIx64 " %" PRIx32 " %" PRIx32 " %" PRIx64 " %d %" PRIu32 " %zu %zu %s%s", query->after.present,
             query->after.frozen_since_ns, query->after.ring, query->after.slot, query->after.sequence, query->one,
             query->id, strlen(query->ring), strlen(query->name), query->ring, query->name);
}

void list_tag(const struct lists *lists, const char *key, uint64_t version, char ret_tag[ETAG_TEXT_BYTES])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    while (*key != '\0')
        hash = (hash ^ (unsigned char)*key++) * UINT64_C(0x100000001b3);
    etag_format(lists->instance, version, hash, ret_tag);
}

static void drop(struct kept *kept)
{
    list_unref(kept->list);
    kept->list = NULL;
}

struct list *lists_find(struct lists *lists, const char *key, uint64_t sequence)
{
    for (size_t i = 0; i < LISTS_KEPT_MAX; i++) {
        struct kept *kept = &lists->kept[i];

        if (kept->list == NULL || kept->list->frame.sequence != sequence || strcmp(kept->key, key) != 0)
            continue;
        kept->last_used = ++lists->uses;
        return kept->list;
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
            bytes += kept->list->length;
            if (oldest == NULL || kept->last_used < oldest->last_used)
                oldest = kept;
        }
        if (room != NULL && (bytes <= LISTS_KEPT_BYTES_MAX || oldest == NULL))
            return room;
        drop(oldest);
    }
}

struct list *lists_add(struct lists *lists, const char *key, uint64_t version, const struct document_frame *frame,
                       char *text, size_t length)
{
    struct list *list = malloc(sizeof(*list));
    struct kept *kept;

    if (list == NULL) {
        free(text);
        return NULL;
    }
    *list = (struct list){.references = 2, .lists = lists, .frame = *frame, .text = text, .length = length};
    list_tag(lists, key, version, list->tag);
    lists->bytes += length;
    kept = make_room(lists, length);
    kept->list = list;
    kept->last_used = ++lists->uses;
    snprintf(kept->key, sizeof(kept->key), "%s", key);
    return list;
}

void lists_forget_before(struct lists *lists, uint64_t sequence)
{
    for (size_t i = 0; i < LISTS_KEPT_MAX; i++)
        if (lists->kept[i].list != NULL && lists->kept[i].list->frame.sequence < sequence)
            drop(&lists->kept[i]);
}
