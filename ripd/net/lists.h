/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - cache of the bodies of list documents, by request and scan. The key of a list is the path and the
 * parameters of its request, as the client wrote them.
 *
 * Guarantees
 *   A. While a list is cached, it is built at most once per scan. The cache has at most LISTS_KEPT_MAX lists of
 *      LISTS_KEPT_BYTES_MAX together, except that the newest is kept until the next scan whatever its size.
 */
#ifndef RIPD_NET_LISTS_H
#define RIPD_NET_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "net/preferences.h"
#include "view/documents.h"

#define LISTS_KEPT_MAX 8u
#define LISTS_KEPT_BYTES_MAX (16u << 20)

struct lists;

/* Shared by the connections to which it is sent. */
struct list {
    unsigned references;
    struct lists *lists;
    uint64_t version; /* version of the list of this key: its scan, or its newest event */
    char tag[ETAG_TEXT_BYTES];
    struct document document;
    size_t key_length;
    char key[];
};

/* instance identifies this run of the server in the tags. Returns NULL if out of memory. */
struct lists *lists_new(uint64_t instance);
void lists_free(struct lists *lists); /* after all lists have been released */

/* Returns the tag that the list of a key has or would have. */
void list_tag(const struct lists *lists, struct span key, uint64_t version, char ret_tag[ETAG_TEXT_BYTES]);

/*
 * Adds a new list to the cache, and returns a reference for the caller. Takes ownership of the body, even on failure.
 * Returns NULL if out of memory.
 */
struct list *lists_add(struct lists *lists, struct span key, uint64_t version, const struct document *document);
/* Returns the cached list of this scan and version, or NULL. Borrowed: no reference is taken. */
struct list *lists_find(struct lists *lists, struct span key, uint64_t sequence, uint64_t version);
void lists_forget_before(struct lists *lists, uint64_t sequence);
/* Bytes of all lists, cached or being sent. */
size_t lists_bytes(const struct lists *lists);

struct list *list_ref(struct list *list);
void list_unref(struct list *list); /* NULL is allowed */

#endif
