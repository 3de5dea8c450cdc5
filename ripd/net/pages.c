/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - a handful of bodies, the least recently used one giving way. */
#include "net/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/memory.h"

/* In the first bytes of a piece that nobody uses. */
struct spare {
    struct spare *next;
};

/* Keeps the block of a piece for another one, or frees it: true. */
static bool give_up(struct pages *pages, const struct document_piece *piece)
{
    struct spare *spare;

    if (piece->capacity != PAGES_PIECE_BYTES || pages_bytes(pages) + PAGES_PIECE_BYTES > PAGES_SPARE_BYTES_MAX) {
        free(piece->text);
        return true;
    }
    spare = (struct spare *)(void *)piece->text;
    spare->next = pages->spares;
    pages->spares = spare;
    pages->spare_count++;
    return false;
}

static void *take_spare(struct pages *pages)
{
    struct spare *spare = pages->spares;

    pages->spares = spare->next;
    pages->spare_count--;
    if (pages->spare_fewest > pages->spare_count)
        pages->spare_fewest = pages->spare_count;
    if (pages->surplus > pages->spare_count)
        pages->surplus = pages->spare_count;
    return spare;
}

void pages_give_up(struct pages *pages, const struct document_piece *piece)
{
    (void)give_up(pages, piece);
}

struct document_piece pages_take_piece(struct pages *pages)
{
    struct document_piece piece = {.capacity = PAGES_PIECE_BYTES};

    piece.text = pages->spares != NULL ? take_spare(pages) : memory_allocate_large(PAGES_PIECE_BYTES);
    if (piece.text == NULL)
        piece.capacity = 0;
    return piece;
}

/* A piece that is far from full gives its block up for one of its size. */
static struct document_piece fitting(struct pages *pages, const struct document_piece *piece)
{
    struct document_piece fit = {.length = piece->length, .capacity = piece->length + 1};

    if (piece->length >= piece->capacity / 4 * 3 || (fit.text = malloc(fit.capacity)) == NULL)
        return *piece;
    memcpy(fit.text, piece->text, piece->length);
    fit.text[piece->length] = '\0';
    give_up(pages, piece);
    return fit;
}

int body_append(struct body *body, const struct document_piece *piece)
{
    size_t count = body->piece_count;

    if ((count & (count - 1)) == 0) { /* full: the capacity is the next power of two */
        void *longer = realloc(body->pieces, (count == 0 ? 1 : 2 * count) * sizeof(*body->pieces));

        if (longer == NULL) {
            give_up(body->pages, piece);
            return -ENOMEM;
        }
        body->pieces = longer;
    }
    body->pieces[count] = fitting(body->pages, piece);
    body->piece_count++;
    body->length += piece->length;
    body->bytes += body->pieces[count].capacity;
    body->pages->alive_bytes += body->pieces[count].capacity;
    return 0;
}

struct body *body_new(struct pages *pages, const struct document_frame *frame, char *text, size_t length)
{
    const struct document_piece piece = {text, length, length};
    struct body *body = malloc(sizeof(*body));

    if (body == NULL) {
        free(text);
        return NULL;
    }
    *body = (struct body){
        .references = 1,
        .tag = {.version = frame->sequence},
        .pages = pages,
        .frame = *frame,
    };
    if (text != NULL && body_append(body, &piece) < 0) {
        free(body);
        return NULL;
    }
    return body;
}

struct body *body_of_page(struct pages *pages, enum document_kind kind, uint32_t trail_count, struct page *page)
{
    struct document_frame frame;
    size_t length;
    char *text;

    if (document_page_body(kind, page, trail_count, &frame, &text, &length) < 0)
        return NULL;
    return body_new(pages, &frame, text, length);
}

struct body *body_ref(struct body *body)
{
    body->references++;
    return body;
}

/* Frees so many pieces at most, besides those that become spare. Returns how many it could still free. */
static size_t free_bodies(struct pages *pages, size_t count)
{
    while (count != 0 && pages->discarded != NULL) {
        struct body *body = pages->discarded;

        while (count != 0 && body->piece_count != 0)
            count -= give_up(pages, &body->pieces[--body->piece_count]);
        if (body->piece_count != 0)
            break;
        pages->discarded = body->next;
        free(body->pieces);
        free(body);
    }
    return count;
}

void body_unref(struct body *body)
{
    if (body == NULL || --body->references != 0)
        return;
    body->pages->alive_bytes -= body->bytes;
    body->next = body->pages->discarded;
    body->pages->discarded = body;
    (void)free_bodies(body->pages, PAGES_PIECES_FREED_AT_ONCE);
}

static size_t free_spares(struct pages *pages, size_t count)
{
    for (; count != 0 && pages->surplus != 0; count--) {
        size_t left = pages->surplus - 1;

        free(take_spare(pages));
        pages->surplus = left;
    }
    return count;
}

size_t pages_bytes(const struct pages *pages)
{
    return pages->alive_bytes + pages->spare_count * PAGES_PIECE_BYTES;
}

bool pages_have_waste(const struct pages *pages)
{
    return pages->discarded != NULL || pages->surplus != 0;
}

bool pages_free_some(struct pages *pages)
{
    free_spares(pages, free_bodies(pages, PAGES_PIECES_FREED_AT_ONCE));
    return pages_have_waste(pages);
}

void page_key(enum document_kind kind, const struct query *query, char ret_key[PAGE_KEY_BYTES])
{
    /* Lengths go first, so that no pattern can look like the end of another. */
    snprintf(ret_key, PAGE_KEY_BYTES, "%d %" PRIu32 " %d %d %d %d %d %" PRIu64 " %" PRIu32 " %" PRIu32, (int)kind,
             query->pid, query->has_cause, query->cause_excluded, query->has_cause ? (int)query->cause : 0,
             query->has_state, query->has_state ? (int)query->state : 0, query->min_ns, query->limit,
             query->trail_count);
    snprintf(ret_key + strlen(ret_key), PAGE_KEY_BYTES - strlen(ret_key),
             " %d %" PRIx32 " %d %" PRIx64 " %" PRIx32 " %" PRIx32 " %" PRIx64 " %d %" PRIu32 " %zu %zu %s%s",
             (int)query->group, query->kinds, query->after.present, query->after.frozen_since_ns, query->after.ring,
             query->after.slot, query->after.sequence, query->one, query->one ? query->id : 0, strlen(query->ring),
             strlen(query->name), query->ring, query->name);
}

uint64_t page_key_hash(const char *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    while (*key != '\0')
        hash = (hash ^ (unsigned char)*key++) * UINT64_C(0x100000001b3);
    return hash;
}

struct body *pages_find(struct pages *pages, const char *key, uint64_t sequence)
{
    for (size_t i = 0; i < PAGES_KEPT_MAX; i++) {
        struct body *body = pages->kept[i].body;

        if (body == NULL || body->frame.sequence != sequence || strcmp(pages->kept[i].key, key) != 0)
            continue;
        pages->kept[i].last_used = ++pages->uses;
        return body;
    }
    return NULL;
}

static void let_go(struct pages *pages, size_t i)
{
    body_unref(pages->kept[i].body);
    pages->kept[i].body = NULL;
}

/* The place to give to a new body: a free one, else the one used longest ago. */
static size_t choose(const struct pages *pages)
{
    size_t chosen = 0;

    for (size_t i = 0; i < PAGES_KEPT_MAX; i++) {
        if (pages->kept[i].body == NULL)
            return i;
        if (pages->kept[i].last_used < pages->kept[chosen].last_used)
            chosen = i;
    }
    return chosen;
}

/* Makes room for that many bytes, from the one used longest ago on. */
static void make_room(struct pages *pages, size_t length)
{
    for (;;) {
        size_t total_bytes = length;
        size_t oldest = PAGES_KEPT_MAX;

        for (size_t i = 0; i < PAGES_KEPT_MAX; i++) {
            if (pages->kept[i].body == NULL)
                continue;
            total_bytes += pages->kept[i].body->length;
            if (oldest == PAGES_KEPT_MAX || pages->kept[i].last_used < pages->kept[oldest].last_used)
                oldest = i;
        }
        if (total_bytes <= PAGES_KEPT_BYTES_MAX || oldest == PAGES_KEPT_MAX)
            return;
        let_go(pages, oldest);
    }
}

void pages_keep(struct pages *pages, const char *key, struct body *body)
{
    size_t i;

    body->tag.question = page_key_hash(key);
    make_room(pages, body->length);
    i = choose(pages);
    let_go(pages, i);
    snprintf(pages->kept[i].key, sizeof(pages->kept[i].key), "%s", key);
    pages->kept[i].body = body_ref(body);
    pages->kept[i].last_used = ++pages->uses;
}

void pages_forget_before(struct pages *pages, uint64_t sequence)
{
    pages->surplus = pages->spare_fewest;
    for (size_t i = 0; i < PAGES_KEPT_MAX; i++)
        if (pages->kept[i].body != NULL && pages->kept[i].body->frame.sequence < sequence)
            let_go(pages, i);
    pages->spare_fewest = pages->spare_count;
}

void pages_done(struct pages *pages)
{
    pages_forget_before(pages, UINT64_MAX);
    do
        pages->surplus = pages->spare_count;
    while (pages_free_some(pages));
}
