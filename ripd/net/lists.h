/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - bodies of list documents, kept by what was asked and by the scan they are of. The key of a list is the path
 * and the parameters of its request, as they were written.
 *
 * Guarantees
 *   A. A list is built at most once per scan while it is kept. At most LISTS_KEPT_MAX are kept, of LISTS_KEPT_BYTES_MAX
 *      together, except that the newest is kept whatever its size, until the next scan.
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

/* Shared by the connections it is sent to. */
struct list {
    unsigned references;
    struct lists *lists;
    uint64_t version; /* of the list of that key: its scan, or its newest event */
    char tag[ETAG_TEXT_BYTES];
    struct document document;
    size_t key_length;
    char key[];
};

/* instance: of this run of the server, for the tags. NULL: no memory. */
struct lists *lists_new(uint64_t instance);
void lists_free(struct lists *lists); /* when no list is left */

/* The tag that the list of a key has, or would have. */
void list_tag(const struct lists *lists, struct span key, uint64_t version, char ret_tag[ETAG_TEXT_BYTES]);

/* Keeps a new list, with a reference for the caller. Takes over the body, also when it fails. NULL: no memory. */
struct list *lists_add(struct lists *lists, struct span key, uint64_t version, const struct document *document);
/* The kept one of that scan and version, not referenced for the caller, or NULL. */
struct list *lists_find(struct lists *lists, struct span key, uint64_t sequence, uint64_t version);
void lists_forget_before(struct lists *lists, uint64_t sequence);
/* Of all lists, kept or being sent. */
size_t lists_bytes(const struct lists *lists);

struct list *list_ref(struct list *list);
void list_unref(struct list *list); /* NULL is allowed */

#endif
