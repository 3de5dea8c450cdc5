/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_places.h - where things are in a ring whose geometry a view has validated. Shared by the parts of the reader
 * (reader.c, reader_scan.c, reader_copy.c), whose guarantees reader.c states.
 *
 * No function here checks an index, except is_live(): the callers do.
 */
#ifndef LIBRIP_READER_PLACES_H
#define LIBRIP_READER_PLACES_H

#include <string.h>

#include "rip/order.h"
#include "rip/reader.h"

enum { RIP_WORD_BITS = 64 };

static inline uint64_t words_of(uint64_t bits)
{
    return (bits + RIP_WORD_BITS - 1) / RIP_WORD_BITS;
}

static inline const struct rip_ring *ring_of(const struct rip_view *view)
{
    return (const void *)view->base;
}

static inline const struct rip_slot *slot_at(const struct rip_view *view, uint32_t slot)
{
    return (const void *)(view->base + view->slot_offset + (uint64_t)slot * view->slot_stride_bytes);
}

/* source is aligned to 8, and bytes a multiple of it. */
static inline void copy_words(void *target, const void *source, size_t bytes)
{
    const uint64_t *words = source;

    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) {
        uint64_t word = rip_load_relaxed(&words[i]);

        memcpy((unsigned char *)target + i * sizeof(word), &word, sizeof(word));
    }
}

static inline uint64_t summary_word(const struct rip_view *view, uint32_t index)
{
    const uint64_t *words = (const void *)(view->base + view->summary_offset);

    /* pairs with back_live_word() in slot.c: the page of the live word is backed */
    return rip_load_acquire(&words[index]);
}

/* Bits of the word that stand for slots; those past the last slot are nobody's. */
static inline uint64_t valid_bits(const struct rip_view *view, uint32_t word)
{
    uint32_t rest = view->slot_capacity - word * RIP_WORD_BITS;

    return rest >= RIP_WORD_BITS ? UINT64_MAX : (UINT64_C(1) << rest) - 1;
}

/* The caller has seen the summary bit of the word. */
static inline uint64_t live_bits(const struct rip_view *view, uint32_t word)
{
    const uint64_t *words = (const void *)(view->base + view->live_offset);

    /* pairs with publish() in slot.c: the slot is initialised */
    return rip_load_acquire(&words[word]) & valid_bits(view, word);
}

static inline bool is_live(const struct rip_view *view, uint32_t slot)
{
    uint32_t word = slot / RIP_WORD_BITS;

    if (slot >= view->slot_capacity || (summary_word(view, word / RIP_WORD_BITS) >> (word % RIP_WORD_BITS) & 1) == 0)
        return false;
    return (live_bits(view, word) >> (slot % RIP_WORD_BITS) & 1) != 0;
}

#endif
