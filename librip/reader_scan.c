/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_scan.c - samples of all live slots, fast: this is what a daemon does every second, for a million of them.
 *
 * Pure, as reader.c, whose guarantees hold here; 5 is kept in this file. A scan is bound by memory: it reads the hot
 * line of each live slot and nothing else of it, asks for lines one and two words of the bitmap ahead, and must stay
 * short enough for the processor to have several slots in work at once.
 */
#include "reader_places.h"

enum {
    DENSE_COUNT = 40, /* live slots of a word that is dense */
    DENSE_LEAP = 19,  /* odd, so that it meets every slot of a word */
};

/* One word of the live bitmap, of whose slots `pending` are still to be visited. */
struct live_word {
    uint64_t pending;
    uint32_t word;
    uint32_t first_slot;
    const unsigned char *first_place;
};

static struct live_word live_word_at(const struct rip_view *view, uint32_t word, uint64_t pending)
{
    uint32_t first_slot = word * RIP_WORD_BITS;

    return (struct live_word){pending, word, first_slot, (const void *)slot_at(view, first_slot)};
}

/* The first word from `word` on that has live slots; at the end one past the last, with pending 0. */
static struct live_word find_live_word(const struct rip_view *view, uint32_t word)
{
    uint32_t word_count = (uint32_t)words_of(view->slot_capacity);

    while (word < word_count) {
        uint64_t summary = summary_word(view, word / RIP_WORD_BITS) >> (word % RIP_WORD_BITS);
        uint64_t pending;

        if (summary == 0) {
            word = (word / RIP_WORD_BITS + 1) * RIP_WORD_BITS;
            continue;
        }
        word += (uint32_t)__builtin_ctzll(summary);
        if (word >= word_count)
            break;
        pending = live_bits(view, word);
        if (pending != 0)
            return live_word_at(view, word, pending);
        word++;
    }
    return (struct live_word){.word = word_count};
}

/* False if the slot is being registered. All loads are of the hot line. */
static inline bool sample_slot(const struct rip_slot *slot, uint32_t index, struct rip_sample *ret_sample)
{
    uint32_t generation = rip_load_acquire(&slot->generation); /* pairs with end_change() in slot.c */
    uint64_t idle_mark = rip_load_acquire(&slot->idle_mark);   /* before count: see guarantee 3; rip_idle() in rip.h */
    uint64_t count = rip_load_relaxed(&slot->count);
    uint32_t tid = rip_load_relaxed(&slot->tid);
    uint16_t process = rip_load_relaxed(&slot->process);
    uint8_t kind = rip_load_relaxed(&slot->kind);

    rip_fence_acquire(); /* pairs with begin_change() in slot.c */
    if (__builtin_expect(generation % 2 != 0 || rip_load_relaxed(&slot->generation) != generation, 0))
        return false;
    *ret_sample = (struct rip_sample){
        .progress = count,
        .slot = index,
        .generation = generation,
        .tid = tid,
        .process = process,
        .idle = idle_mark == ~count,
        .kind = kind,
    };
    return true;
}

/* Never faults and never allocates: a place that is nobody's, a hole or beyond the end does no harm. */
static inline void prefetch(const void *place)
{
    __builtin_prefetch(place, 0, 2);
}

/* Asks for the hot lines of the slots in `bits`. */
static void prefetch_slots(const struct live_word *word, uint64_t bits, uint64_t stride_bytes)
{
    for (; bits != 0; bits &= bits - 1)
        prefetch(word->first_place + (uint32_t)__builtin_ctzll(bits) * stride_bytes);
}

/*
 * Samples slots of *current, at most `room`, and asks at the same pace for those of *next: a burst of prefetches stalls
 * once the processor's miss buffers are full. The two words share the arithmetic, so this asks in *next for the places
 * that are live in *current; the caller has asked for the rest.
 */
static size_t sample_word(struct live_word *current, const struct live_word *next, uint64_t stride_bytes,
                          struct rip_sample *ret_samples, size_t room)
{
    const unsigned char *place = current->first_place;
    const unsigned char *next_place = next->pending != 0 ? next->first_place : place;
    const uint32_t first_slot = current->first_slot;
    const struct rip_sample *end = ret_samples + room;
    struct rip_sample *sample = ret_samples;
    uint64_t bits = current->pending;

    while (bits != 0 && sample < end) {
        uint32_t bit = (uint32_t)__builtin_ctzll(bits);
        uint64_t offset = bit * stride_bytes;

        prefetch(next_place + offset);
        sample += sample_slot((const void *)(place + offset), first_slot + bit, sample);
        bits &= bits - 1;
    }
    current->pending = bits;
    return (size_t)(sample - ret_samples);
}

/* Few of its slots are not live: it costs little to ask for the lines of all of them. */
static bool is_dense(const struct live_word *word)
{
    return word->pending == UINT64_MAX || __builtin_popcountll(word->pending) >= DENSE_COUNT;
}

/*
 * The same where the next two words are dense. Each line is asked for twice: two words ahead in the second-level cache,
 * where more requests can be under way, though some are forgotten, and one word ahead in the first, as one that is read
 * once and need not push others out. Both in leaps and not in order: the processor takes ascending order for a
 * sequence, and fetches lines that nobody wants. What is under way keeps the memory busy while the caller digests what
 * it got. For a million slots a fifth less time than by asking once and in order.
 */
static size_t sample_dense(struct live_word *current, const struct live_word *next, const struct live_word *after,
                           uint64_t stride_bytes, struct rip_sample *ret_samples, size_t room)
{
    const unsigned char *next_place = next->first_place, *after_place = after->first_place;
    const uint32_t first_slot = current->first_slot;
    const struct rip_sample *end = ret_samples + room;
    const uint64_t pending = current->pending;
    struct rip_sample *sample = ret_samples;
    uint32_t bit = (uint32_t)__builtin_ctzll(pending);
    const unsigned char *place = current->first_place + bit * stride_bytes;

    for (; bit < RIP_WORD_BITS && sample < end; bit++, place += stride_bytes) {
        uint64_t offset = bit * DENSE_LEAP % RIP_WORD_BITS * stride_bytes;

        __builtin_prefetch(after_place + offset, 0, 2);
        __builtin_prefetch(next_place + offset, 0, 0);
        if (__builtin_expect(pending >> bit & 1, 1))
            sample += sample_slot((const void *)place, first_slot + bit, sample);
    }
    current->pending = bit < RIP_WORD_BITS ? pending & UINT64_MAX << bit : 0;
    return (size_t)(sample - ret_samples);
}

/* Word after word, with the next two always known and on their way. */
size_t rip_view_scan(const struct rip_view *view, struct rip_scan_position *position, struct rip_sample *ret_samples,
                     size_t capacity)
{
    const uint64_t stride_bytes = view->slot_stride_bytes;
    struct live_word current, next, after;
    size_t returned = 0;

    if (position->next_word >= words_of(view->slot_capacity))
        return 0;
    current = live_word_at(view, position->next_word, position->pending & valid_bits(view, position->next_word));
    if (current.pending == 0) {
        current = find_live_word(view, position->next_word);
        prefetch_slots(&current, current.pending, stride_bytes); /* later calls find theirs on the way */
    }
    next = find_live_word(view, current.word + 1);
    while (current.pending != 0 && returned < capacity) {
        after = find_live_word(view, next.word + 1);
        if (is_dense(&next) && is_dense(&after)) {
            returned +=
                sample_dense(&current, &next, &after, stride_bytes, ret_samples + returned, capacity - returned);
        } else {
            prefetch_slots(&next, next.pending & ~current.pending, stride_bytes);
            returned += sample_word(&current, &next, stride_bytes, ret_samples + returned, capacity - returned);
        }
        if (current.pending == 0) {
            current = next;
            next = after;
        }
    }
    position->next_word = current.word;
    position->pending = current.pending;
    return returned;
}
