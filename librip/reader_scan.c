/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_scan.c - samples of all live slots, fast: this is what a daemon does every second, for a million of them.
 *
 * Pure, as reader.c, whose guarantees hold here; 5 is kept in this file. A scan is bound by memory: it reads the hot
 * line of each live slot and nothing else of it, asks for lines a word of the bitmap ahead, and must stay short enough
 * for the processor to have several slots in work at once.
 */
#include "reader_places.h"

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

/*
 * Into the second-level cache: for a million slots 5 % faster than into the first. Non-temporal would be faster on some
 * processors, but is slower than no prefetch at all on others.
 */
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
 * that are live in *current; the caller has asked for the rest. A prefetch never faults and never allocates: a place
 * that is nobody's, a hole or beyond the end does no harm.
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

/* Word after word, with the next one always known and on its way. */
size_t rip_view_scan(const struct rip_view *view, struct rip_scan_position *position, struct rip_sample *ret_samples,
                     size_t capacity)
{
    const uint64_t stride_bytes = view->slot_stride_bytes;
    struct live_word current;
    size_t returned = 0;

    if (position->next_word >= words_of(view->slot_capacity))
        return 0;
    current = live_word_at(view, position->next_word, position->pending & valid_bits(view, position->next_word));
    if (current.pending == 0) {
        current = find_live_word(view, position->next_word);
        prefetch_slots(&current, current.pending, stride_bytes); /* later calls find theirs on the way */
    }
    while (current.pending != 0 && returned < capacity) {
        struct live_word next = find_live_word(view, current.word + 1);

        prefetch_slots(&next, next.pending & ~current.pending, stride_bytes);
        returned += sample_word(&current, &next, stride_bytes, ret_samples + returned, capacity - returned);
        if (current.pending == 0)
            current = next;
    }
    position->next_word = current.word;
    position->pending = current.pending;
    return returned;
}
