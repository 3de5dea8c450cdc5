/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - bodies of lists that were built already, by what was asked and by the scan they tell of.
 *
 * Guarantees
 *   A. A list is built at most once per scan while it is kept; what is kept is bounded in number and in bytes, except
 *      that the newest is kept whatever its size, until the next scan.
 *   B. A body that nobody has any more is freed in pieces: giving back tens of megabytes at once takes milliseconds.
 *   C. Pieces of PAGES_PIECE_BYTES are kept for the next list, for memory fresh from the system may cost more than to
 *      write the list into it. What was not needed between two scans goes back to the system.
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
#define PAGES_SPARE_BYTES_MAX (64u << 20)
#define PAGES_PIECE_BYTES (2u << 20)
#define PAGE_KEY_BYTES (2u * QUERY_PATTERN_BYTES + 320u)

/* Shared by those it is being sent to. */
struct body {
    unsigned references;
    struct etag tag;     /* given when it is kept */
    struct pages *pages; /* where it is counted */
    struct document_frame frame;
    struct document_piece *pieces; /* the text, in order */
    size_t piece_count;
    size_t length;     /* of all */
    size_t bytes;      /* that its pieces take */
    struct body *next; /* that is to be freed */
};

struct spare; /* private */

struct pages {
    struct {
        char key[PAGE_KEY_BYTES];
        struct body *body; /* NULL = free */
        uint64_t last_used;
    } kept[PAGES_KEPT_MAX];
    uint64_t uses;
    size_t alive_bytes;     /* of all bodies: kept ones, and others that are still being sent */
    struct body *discarded; /* nobody's any more, and too long to be freed at once */
    struct spare *spares;   /* pieces for the next list */
    size_t spare_count;
    size_t spare_fewest; /* since the last scan */
    size_t surplus;      /* of the spares: to be freed */
};

#define PAGES_PIECES_FREED_AT_ONCE 4u

/* Frees some of what was discarded, and of spare pieces that are not needed. True: there is more. */
bool pages_free_some(struct pages *pages);
bool pages_have_waste(const struct pages *pages);
/* Memory of lists that are kept or being sent, and of pieces for the next one. */
size_t pages_bytes(const struct pages *pages);
/* Lets go of all that is kept, and frees it. Bodies that are still being sent stay. */
void pages_done(struct pages *pages);

/* An empty piece of PAGES_PIECE_BYTES. Without memory it has no block, as the first piece of a short list. */
struct document_piece pages_take_piece(struct pages *pages);
/* Takes its block back, which may be NULL. */
void pages_give_up(struct pages *pages, const struct document_piece *piece);

/* Takes text, which may be NULL for none yet, over, also when it fails. NULL: no memory. */
struct body *body_new(struct pages *pages, const struct document_frame *frame, char *text, size_t length);
/* What follows; before anybody else has it. Takes the piece's block over, also when it fails. */
int body_append(struct body *body, const struct document_piece *piece);
/* The whole list of a page. */
struct body *body_of_page(struct pages *pages, enum document_kind kind, uint32_t trail_count, struct page *page);
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
