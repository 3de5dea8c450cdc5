/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - bodies of lists that were built already, by what was asked and by the scan they tell of.
 *
 * Guarantees
 *   A. A list is built at most once per scan while it is kept; what is kept is bounded in number and in bytes, except
 *      that the newest is kept whatever its size, until the next scan.
 *   B. A body that nobody has any more is freed in pieces: giving back tens of megabytes at once takes milliseconds.
 */
#ifndef RIPD_NET_PAGES_H
#define RIPD_NET_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wishes.h"
#include "view/documents.h"

#define PAGES_KEPT_MAX 8u
#define PAGES_KEPT_BYTES_MAX (32u << 20)
#define PAGE_KEY_BYTES (2u * QUERY_PATTERN_BYTES + 320u)

/* Shared by those it is being sent to. */
struct body {
    unsigned references;
    struct etag tag;     /* given when it is kept */
    struct pages *pages; /* where it is counted */
    struct document_frame frame;
    struct {
        char *text;
        size_t length;
    } * pieces; /* the text, in order */
    size_t piece_count;
    size_t length;     /* of all */
    struct body *next; /* that is to be freed */
};

struct pages {
    struct {
        char key[PAGE_KEY_BYTES];
        struct body *body; /* NULL = free */
        uint64_t last_used;
    } kept[PAGES_KEPT_MAX];
    uint64_t uses;
    size_t alive_bytes;     /* of all bodies: kept ones, and others that are still being sent */
    struct body *discarded; /* nobody's any more, and too long to be freed at once */
};

#define PAGES_PIECES_FREED_AT_ONCE 16u

/* Frees some of what was discarded. True: there is more. */
bool pages_free_some(struct pages *pages);

/* Takes text, which may be NULL for none yet, over, also when it fails. NULL: no memory. */
struct body *body_new(struct pages *pages, const struct document_frame *frame, char *text, size_t length);
/* What follows; before anybody else has it. Takes text over, also when it fails. */
int body_append(struct body *body, char *text, size_t length);
/* The whole list of a page. */
struct body *body_of_page(struct pages *pages, enum document_kind kind, struct page *page);
struct body *body_ref(struct body *body);
void body_unref(struct body *body);

/* The same text for the same question. */
void page_key(enum document_kind kind, const struct query *query, char ret_key[PAGE_KEY_BYTES]);

/* For a tag. */
uint64_t page_key_hash(const char *key);

/* The kept one, not referenced for the caller; NULL if there is none of that scan. */
struct body *pages_find(struct pages *pages, const char *key, uint64_t sequence);
void pages_keep(struct pages *pages, const char *key, struct body *body);
/* Lets go of all that tells of a scan before this one. */
void pages_forget_before(struct pages *pages, uint64_t sequence);

#endif
