/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.c - slots and the two bitmaps that say which are live: claim, fill, publish, free, sweep.
 *
 * Several processes change the same bitmaps concurrently. The mutex orders only the threads of one process. Between
 * processes, a slot belongs to the process that moved its state from FREE to CLAIMED.
 *
 * Guarantees
 *   1. A summary bit is set after the page of its live word is backed, a live bit after its slot is complete: a reader
 *      that follows the bits reads neither holes nor incomplete slots.
 *   2. A slot's pages, and those of its note, are backed before anything in them is touched.
 *   3. Identity fields change only while the generation is odd.
 *   4. The lowest free slot that is not in the log of ended ids is claimed, so that live slots stay dense, except 256.
 *      If all free slots are in the log, the one that ended first is claimed. A race can change this order, but loses
 *      no slot.
 *   5. A slot left behind by a dead process is freed exactly once, and never one that a live process holds.
 *   6. count = progress + counter_bias and rip_ctr = low 8 bits of count, for any counter that a program starts with.
 *   7. Memory is static or comes from mmap, not from malloc: the library may be called from inside an allocator.
 *   8. -ENOMEM leaves the map from id to slot as it was.
 *   9. At most half of the cells are in use; a look-up ends at the first empty one.
 *   10. Under a seccomp filter slots come only from the reserved words, and nothing is mapped, unmapped or backed.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "writer.h"

enum { WORD_BITS = 64, LIVE_WORD_BYTES = 8, OPEN_STEP_BYTES = 1 << 20, ENDED_WORDS = 8 };

static uint64_t *summary_word(uint32_t word)
{
    return (uint64_t *)(void *)(rip__writer.base + rip__writer.geometry.summary_offset) + word / WORD_BITS;
}

static uint64_t *live_word(uint32_t word)
{
    return (uint64_t *)(void *)(rip__writer.base + rip__writer.geometry.live_offset) + word;
}

static bool is_word_backed(uint32_t word)
{
    /* pairs with the release in back_live_word() */
    return (rip_load_acquire(summary_word(word)) >> (word % WORD_BITS) & 1) != 0;
}

static uint64_t live_bits(uint32_t word)
{
    return is_word_backed(word) ? rip_load_acquire(live_word(word)) : 0; /* pairs with set and clear of live bits */
}

static bool is_live(uint32_t slot)
{
    return (live_bits(slot / WORD_BITS) >> (slot % WORD_BITS) & 1) != 0;
}

static int back_live_word(uint32_t word)
{
    int result;

    if (is_word_backed(word))
        return 0;
    result = rip__populate(rip__writer.geometry.live_offset + (uint64_t)word * LIVE_WORD_BYTES, LIVE_WORD_BYTES);
    if (result == 0)
        /* pairs with the acquire of the summary in reader.c */
        rip_or_release(summary_word(word), UINT64_C(1) << (word % WORD_BITS));
    return result;
}

int rip__open_until(uint64_t *open_end, uint64_t end, uint64_t limit)
{
    if (end <= *open_end)
        return 0;
    end = (end + OPEN_STEP_BYTES - 1) / OPEN_STEP_BYTES * OPEN_STEP_BYTES;
    if (end > limit)
        end = limit;
    if (mprotect(rip__writer.base + *open_end, end - *open_end, PROT_READ | PROT_WRITE) < 0)
        return -ENOMEM;
    *open_end = end;
    return 0;
}

int rip__slots_open(uint32_t slot)
{
    struct rip_writer *writer = &rip__writer;
    const struct rip_geometry *geometry = &writer->geometry;
    const bool has_notes = geometry->note_offset != 0; /* the scripts follow the notes */
    const uint64_t count = (uint64_t)slot + 1;
    const int result = rip__open_until(&writer->open_bytes, geometry->slot_offset + count * RIP_SLOT_BYTES,
                                       has_notes ? geometry->note_offset : geometry->file_bytes);

    return result < 0 || !has_notes
               ? result
               : rip__open_until(&writer->open_note_bytes, geometry->note_offset + count * RIP_SLOT_NOTE_BYTES,
                                 geometry->script_offset);
}

static int back_slot(uint32_t slot)
{
    int result = rip__slots_open(slot);

    if (result == 0)
        result = rip__populate(rip__writer.geometry.slot_offset + (uint64_t)slot * RIP_SLOT_BYTES, RIP_SLOT_BYTES);
    if (result == 0 && rip__writer.geometry.note_offset != 0)
        result =
            rip__populate(rip__writer.geometry.note_offset + (uint64_t)slot * RIP_SLOT_NOTE_BYTES, RIP_SLOT_NOTE_BYTES);
    return result;
}

/* Filling ---------------------------------------------------------------------------------------------------------- */

static void begin_change(struct rip_slot *slot)
{
    rip_store_relaxed(&slot->generation, rip_load_relaxed(&slot->generation) | 1);
    rip_fence_release(); /* pairs with the acquire fence after each copy of a slot in reader.c */
}

static void end_change(struct rip_slot *slot)
{
    /* pairs with the acquires of the generation in reader.c */
    rip_store_release(&slot->generation, rip_load_relaxed(&slot->generation) + 1);
}

static void begin_rename(struct rip_slot *slot)
{
    rip_store_relaxed(&slot->name_version, rip_load_relaxed(&slot->name_version) | 1);
    rip_fence_release(); /* pairs with the acquire fence after each copy of a name in reader.c */
}

static void end_rename(struct rip_slot *slot)
{
    /* pairs with the acquire of the version in reader.c */
    rip_store_release(&slot->name_version, (uint8_t)(rip_load_relaxed(&slot->name_version) + 1));
}

/* The name and its length are a line of eight words. Returns true if they differ from those in the slot. */
static bool store_name(struct rip_slot *slot, const char *name, size_t name_bytes, bool only_compare)
{
    uint64_t line[(1 + RIP_NAME_BYTES) / sizeof(uint64_t)] = {0};
    uint64_t *target = (uint64_t *)(void *)&slot->name_bytes;
    unsigned char *bytes = (unsigned char *)line;
    bool differs = false;

    if (name == NULL)
        name_bytes = 0;
    if (name_bytes > RIP_NAME_BYTES)
        name_bytes = RIP_NAME_BYTES;
    bytes[0] = (unsigned char)name_bytes;
    if (name_bytes != 0)
        memcpy(bytes + 1, name, name_bytes);
    for (unsigned i = 0; i < sizeof(line) / sizeof(line[0]); i++) {
        differs |= rip_load_relaxed(&target[i]) != line[i];
        if (!only_compare)
            rip_store_relaxed(&target[i], line[i]);
    }
    return differs;
}

/* Caller is between begin_change() and end_change(). Stores everything that a registration sets. */
static void fill(struct rip_slot *slot, const struct rip_identity *identity)
{
    rip_store_relaxed(&slot->idle_mark, 0); /* no wait, and never ~count of a count that can be reached */
    rip_store_relaxed(&slot->count, identity->ctr);
    rip_store_relaxed(&slot->counter_bias, identity->ctr);
    rip_store_relaxed(&slot->index_bias, (uint8_t)(identity->idx - identity->ctr));
    rip_store_relaxed(&slot->id, identity->id);
    rip_store_relaxed(&slot->tid, identity->tid);
    rip_store_relaxed(&slot->process, (uint16_t)rip__writer.process);
    rip_store_relaxed(&slot->kind, identity->kind);
    rip_store_relaxed(&slot->registered_boot_ns, rip__clock_ns(CLOCK_BOOTTIME));
    rip_store_relaxed(&slot->deadline_ms, 0);
    rip_store_relaxed(&slot->call, RIP_CALL_NONE);
    rip_store_relaxed(&slot->name_version, 0);
    rip_store_relaxed(&slot->wait_address, 0);
    rip_store_relaxed(&slot->wait_owner, 0);
    rip_store_relaxed(&slot->wait_tag, 0);
    rip_store_relaxed(&slot->wait_flags, 0);
    rip_store_relaxed(&slot->wait_age_s, 0);
    for (unsigned i = 0; i < RIP_ENTRY_COUNT; i++)
        rip_store_relaxed(&slot->entry[i], 0);
    store_name(slot, identity->name, identity->name_bytes, false);
    rip__note_clear(slot);
    rip_add_relaxed(&rip__header()->registered_count, 1);
}

uint64_t rip__slot_progress(const struct rip_slot *slot)
{
    return rip_load_relaxed(&slot->count) - rip_load_relaxed(&slot->counter_bias);
}

void rip__slot_restart(uint32_t index, const struct rip_identity *identity)
{
    struct rip_slot *slot = rip__slot_at(index);
    uint32_t generation = rip_load_relaxed(&slot->generation);

    rip__ended_begin();
    begin_change(slot);
    rip__ended_log(index, generation, rip__slot_progress(slot));
    fill(slot, identity);
    end_change(slot);
}

/*
 * Makes the low 8 bits of count equal ctr and keeps the progress. count and counter_bias move together, and each entry
 * moves to the place and tag of its new number.
 */
static void change_counter(struct rip_slot *slot, uint8_t ctr)
{
    uint64_t old_entries[RIP_ENTRY_COUNT];
    uint64_t old_count = rip_load_relaxed(&slot->count);
    uint8_t new_bias = (uint8_t)(rip_load_relaxed(&slot->counter_bias) + (uint8_t)(ctr - (uint8_t)old_count));
    uint64_t new_count = rip__slot_progress(slot) + new_bias;
    uint8_t shift = (uint8_t)(new_count - old_count);
    bool idle = rip_load_relaxed(&slot->idle_mark) == ~old_count;

    for (unsigned i = 0; i < RIP_ENTRY_COUNT; i++)
        old_entries[i] = rip_load_relaxed(&slot->entry[i]);
    for (unsigned i = 0; i < RIP_ENTRY_COUNT; i++) {
        uint64_t entry = old_entries[i];
        uint64_t tag = (uint8_t)((entry >> RIP_ENTRY_TAG_SHIFT) + shift);
        uint64_t address = entry & RIP_ENTRY_ADDRESS_MASK;

        if (entry != 0)
            entry = tag << RIP_ENTRY_TAG_SHIFT | address;
        rip_store_relaxed(&slot->entry[(i + shift) % RIP_ENTRY_COUNT], entry);
    }
    rip_store_relaxed(&slot->counter_bias, new_bias);
    rip_store_relaxed(&slot->idle_mark, idle ? ~new_count : 0);
    rip_store_relaxed(&slot->count, new_count);
}

void rip__slot_rename(uint32_t index, const char *name, size_t name_bytes)
{
    struct rip_slot *slot = rip__slot_at(index);

    if (!store_name(slot, name, name_bytes, true))
        return;
    begin_rename(slot);
    store_name(slot, name, name_bytes, false);
    end_rename(slot);
}

void rip__slot_resume(uint32_t index, const struct rip_identity *identity)
{
    struct rip_slot *slot = rip__slot_at(index);
    const bool new_counter = identity->ctr != (uint8_t)rip_load_relaxed(&slot->count);

    if (identity->name != NULL)
        rip__slot_rename(index, identity->name, identity->name_bytes);
    if (new_counter) {
        begin_change(slot);
        change_counter(slot, identity->ctr);
    }
    rip_store_relaxed(&slot->index_bias, (uint8_t)(identity->idx - identity->ctr));
    rip_store_relaxed(&slot->tid, identity->tid);
    rip_store_relaxed(&slot->kind, identity->kind);
    if (new_counter)
        end_change(slot);
}

void rip__slot_name(const struct rip_slot *slot, char *ret_name, size_t capacity)
{
    size_t bytes = rip_load_relaxed(&slot->name_bytes);

    if (bytes > capacity - 1)
        bytes = capacity - 1;
    memcpy(ret_name, slot->name, bytes);
    ret_name[bytes] = '\0';
}

/* Claiming --------------------------------------------------------------------------------------------------------- */

static uint16_t claimed_by_us(void)
{
    return (uint16_t)(RIP_SLOT_CLAIMED | rip__writer.process << RIP_SLOT_OWNER_SHIFT);
}

/* For rip__slot_reserve(): words of the live bitmap whose slots are all backed. Protected by the mutex. */
static RIP_EARLY struct {
    uint32_t first;
    uint32_t count;
} reserved;

/* Returns 0 if claimed, -EBUSY if another process or thread was faster, otherwise -ENOMEM. */
static int try_claim(uint32_t slot)
{
    uint16_t expected = RIP_SLOT_FREE;
    int result = 0;

    if (!rip__is_filtered()) {
        result = back_slot(slot);
        if (result == 0)
            result = back_live_word(slot / WORD_BITS);
    }
    if (result < 0)
        return -ENOMEM;
    /* pairs with the release of state FREE in rip__slot_free() */
    return rip_compare_exchange(&rip__slot_at(slot)->state, &expected, claimed_by_us()) ? 0 : -EBUSY;
}

/* Slots of some live words that were in the log of ended ids when ended_count ids had ended. */
struct ended_slots {
    uint64_t bits[ENDED_WORDS];
    uint32_t first_word;
    bool known;
    uint64_t ended_count;
};

static uint64_t ended_bits(struct ended_slots *ended, uint32_t word)
{
    if (!ended->known || word - ended->first_word >= ENDED_WORDS) {
        ended->known = true;
        ended->first_word = word;
        ended->ended_count = rip__ended_slots(word, ENDED_WORDS, ended->bits);
    }
    return ended->bits[word - ended->first_word];
}

/*
 * As try_claim(), but returns -EBUSY if the id of the slot has ended since the log was read. Skips this check if the
 * log was not read.
 */
static int try_claim_unlogged(const struct ended_slots *ended, uint32_t slot)
{
    int result = try_claim(slot);

    if (result < 0 || !ended->known || !rip__ended_since(ended->ended_count, slot))
        return result;
    rip_store_release(&rip__slot_at(slot)->state, RIP_SLOT_FREE); /* pairs as in rip__slot_free() */
    return -EBUSY;
}

/* Returns the first word to search and in *ret_word_count how many words to search, once around. */
static uint32_t search_from(uint32_t *ret_word_count)
{
    uint32_t word_count = rip__writer.geometry.slot_capacity / WORD_BITS;

    *ret_word_count = rip__is_filtered() ? reserved.count : word_count;
    return rip__is_filtered() ? reserved.first : rip_load_relaxed(&rip__header()->slot_hint) / WORD_BITS % word_count;
}

/* Claims the lowest free slot. With skips_ended skips slots of the log: -EAGAIN if only these are free. */
static int claim_lowest(bool skips_ended, uint32_t *ret_slot)
{
    uint32_t word_count = rip__writer.geometry.slot_capacity / WORD_BITS;
    uint32_t searched, first = search_from(&searched);
    struct ended_slots ended = {.known = false};
    uint32_t lowest_skipped = RIP_NO_SLOT;

    for (uint32_t i = 0; i < searched; i++) {
        uint32_t word = (first + i) % word_count;
        uint64_t free_bits = ~live_bits(word);
        uint64_t skipped_bits = skips_ended && free_bits != 0 ? free_bits & ended_bits(&ended, word) : 0;

        if (skipped_bits != 0 && lowest_skipped == RIP_NO_SLOT)
            lowest_skipped = word * WORD_BITS + (uint32_t)__builtin_ctzll(skipped_bits);
        for (free_bits &= ~skipped_bits; free_bits != 0; free_bits &= free_bits - 1) {
            uint32_t slot = word * WORD_BITS + (uint32_t)__builtin_ctzll(free_bits);
            int result = try_claim_unlogged(&ended, slot);

            if (result == -EBUSY)
                continue;
            if (result == 0) {
                rip_store_relaxed(&rip__header()->slot_hint, lowest_skipped < slot ? lowest_skipped : slot);
                *ret_slot = slot;
            }
            return result;
        }
    }
    return lowest_skipped != RIP_NO_SLOT ? -EAGAIN : -ENOSPC;
}

/* Returns true if the slot may be searched, and the id of this generation was the last one in it. */
static bool is_unused_since(uint32_t slot, uint32_t generation)
{
    uint32_t searched, first = search_from(&searched), word = slot / WORD_BITS;

    if (slot >= rip__writer.geometry.slot_capacity || is_live(slot))
        return false;
    if (rip__is_filtered() ? word - first >= searched : rip__slots_open(slot) < 0)
        return false;
    return rip_load_relaxed(&rip__slot_at(slot)->generation) == generation;
}

/*
 * Claims the slot of the log whose id ended first. Returns -EAGAIN if none is free. Entries whose slot was claimed
 * again are skipped for good.
 */
static int claim_oldest(uint32_t *ret_slot)
{
    uint64_t *first = &rip__writer.ended_first;
    uint64_t number = *first;
    uint32_t slot, generation;

    while (rip__ended_next(&number, &slot, &generation)) {
        bool is_unused = is_unused_since(slot, generation);
        int result = is_unused ? try_claim(slot) : -EBUSY;

        if (!is_unused && !rip__is_filtered() && (number == *first + 1 || *first < rip__ended_oldest()))
            *first = number;
        if (result == 0)
            *ret_slot = slot;
        if (result != -EBUSY)
            return result;
    }
    return -EAGAIN;
}

/*
 * Once all free slots are in the log, they stay in it until they are claimed, or until the log drops an entry. Until
 * then a search through all words, which are many, would find no other slot.
 */
static int claim(uint32_t *ret_slot)
{
    struct rip_writer *writer = &rip__writer;
    int result = -EAGAIN;

    if (!writer->only_ended_free || writer->ended_first < rip__ended_oldest()) {
        result = claim_lowest(true, ret_slot);
        writer->only_ended_free = result == -EAGAIN;
    }
    if (result == -EAGAIN)
        result = claim_oldest(ret_slot);
    if (result == -EAGAIN) /* a process was killed after it claimed the slots of the log */
        result = claim_lowest(false, ret_slot);
    return result;
}

static void publish(uint32_t index)
{
    struct rip_slot *slot = rip__slot_at(index);

    rip_store_release(&slot->state, RIP_SLOT_LIVE); /* pairs with the acquire in owner_of() */
    /* pairs with the acquire of the live word in reader.c */
    rip_or_release(live_word(index / WORD_BITS), UINT64_C(1) << (index % WORD_BITS));
}

int rip__slot_register(const struct rip_identity *identity, uint32_t *ret_slot)
{
    uint64_t now_ns;
    int result = claim(ret_slot);

    if (result == -ENOSPC && !rip__is_filtered()) {
        now_ns = rip__clock_ns(CLOCK_BOOTTIME);
        if (rip__writer.swept_boot_ns == 0 || now_ns - rip__writer.swept_boot_ns >= RIP_SWEEP_INTERVAL_NS) {
            rip__writer.swept_boot_ns = now_ns;
            rip__slot_sweep(RIP_NO_PROCESS);
            result = claim(ret_slot);
        }
    }
    if (result < 0)
        return result;
    begin_change(rip__slot_at(*ret_slot));
    fill(rip__slot_at(*ret_slot), identity);
    end_change(rip__slot_at(*ret_slot));
    publish(*ret_slot);
    return 0;
}

/* Freeing ---------------------------------------------------------------------------------------------------------- */

/* Ends the live id of the slot. If its process was killed while the generation was odd, its progress is not known. */
static void end_live(uint32_t index)
{
    struct rip_slot *slot = rip__slot_at(index);
    uint32_t generation = rip_load_relaxed(&slot->generation);

    rip__ended_begin();
    rip_and_release(live_word(index / WORD_BITS), ~(UINT64_C(1) << (index % WORD_BITS)));
    rip__ended_log(index, generation, generation % 2 == 0 ? rip__slot_progress(slot) : 0);
}

void rip__slot_free(uint32_t index)
{
    struct rip_ring *ring = rip__header();

    if (is_live(index)) /* false if it was claimed but never published */
        end_live(index);
    rip_store_release(&rip__slot_at(index)->state, RIP_SLOT_FREE); /* pairs with the exchange in try_claim() */
    if (index < rip_load_relaxed(&ring->slot_hint))
        rip_store_relaxed(&ring->slot_hint, index);
}

/* What one sweep knows about the process records. */
struct sweep {
    uint32_t process; /* sweep only this record; RIP_NO_PROCESS = all */
    struct rip_evidence evidence;
    uint8_t verdict[RIP_PROCESS_MAX]; /* 0 = not judged yet, 1 = alive, 2 = gone */
    uint32_t generation[RIP_PROCESS_MAX];
};

static bool is_gone(struct sweep *sweep, uint32_t process)
{
    struct rip_process_info info;

    if (process >= rip__writer.geometry.process_capacity || process == rip__writer.process)
        return false;
    if (sweep->verdict[process] == 0) {
        enum rip_status status = rip_view_process(&rip__writer.view, process, &info);
        bool gone = status == RIP_OK && !rip__process_alive(&sweep->evidence, process, &info);

        sweep->generation[process] = status == RIP_OK ? info.generation : 0;
        sweep->verdict[process] = gone ? 2 : 1;
    }
    return sweep->verdict[process] == 2;
}

/* Returns the record that a slot in this state belongs to, or RIP_NO_PROCESS. */
static uint32_t owner_of(const struct rip_slot *slot, uint16_t state)
{
    switch (state & RIP_SLOT_STATE_MASK) {
    case RIP_SLOT_LIVE:
        return rip_load_relaxed(&slot->process);
    case RIP_SLOT_CLAIMED:
        return (uint32_t)state >> RIP_SLOT_OWNER_SHIFT;
    default:
        return RIP_NO_PROCESS;
    }
}

/*
 * Claims the slot from its dead owner and checks again. Since the first check the slot may have got another owner, and
 * the record another process. That process has raised the generation before it could own a slot.
 */
static void sweep_slot(struct sweep *sweep, uint32_t index)
{
    struct rip_slot *slot = rip__slot_at(index);
    uint16_t state, expected, claimed = claimed_by_us();
    uint32_t owner;

    if (rip__slots_open(index) < 0)
        return;
    state = expected = rip_load_acquire(&slot->state); /* pairs with the release in publish() */
    owner = owner_of(slot, state);
    if (owner == RIP_NO_PROCESS || (sweep->process != RIP_NO_PROCESS && owner != sweep->process) ||
        !is_gone(sweep, owner) || !rip_compare_exchange(&slot->state, &expected, claimed))
        return;
    if (owner_of(slot, state) == owner &&
        rip_load_relaxed(&rip__process_at(owner)->generation) == sweep->generation[owner])
        rip__slot_free(index);
    else
        rip_compare_exchange(&slot->state, &claimed, state); /* unless its owner has freed it in between */
}

/* Returns true if all slots of the word may be read, also those that were claimed and never published. */
static bool back_slots_of(uint32_t word)
{
    uint64_t first = rip__writer.geometry.slot_offset + (uint64_t)word * WORD_BITS * RIP_SLOT_BYTES;

    return rip__slots_open(word * WORD_BITS + WORD_BITS - 1) == 0 &&
           rip__populate(first, WORD_BITS * RIP_SLOT_BYTES) == 0;
}

void rip__slot_sweep(uint32_t process)
{
    static struct sweep sweep; /* protected by the mutex; too large for a coroutine's stack */
    uint32_t word_count = rip__writer.geometry.slot_capacity / WORD_BITS;

    memset(&sweep, 0, sizeof(sweep));
    sweep.process = process;
    rip__evidence_of_ring(&sweep.evidence);
    for (uint32_t word = 0; word < word_count; word++) {
        uint64_t wanted;

        if (!is_word_backed(word))
            continue;
        wanted = back_slots_of(word) ? UINT64_MAX : live_bits(word); /* not live: a dead process may have claimed it */
        for (; wanted != 0; wanted &= wanted - 1)
            sweep_slot(&sweep, word * WORD_BITS + (uint32_t)__builtin_ctzll(wanted));
    }
}

/* The map from id to slot of this process: a hash table in private memory ------------------------------------------ */

enum { CELLS_FIRST = 64, CELLS_MAPPED_MIN = 512 /* one page */ };

/* A cell has the id in its high half and slot + 1 in its low half; 0 = empty. */
static RIP_EARLY struct {
    uint64_t *cells;
    uint32_t capacity; /* a power of two */
    uint32_t used;
} table;

static uint32_t home_of(uint32_t id, uint32_t capacity)
{
    return (uint32_t)(((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (capacity - 1);
}

static uint32_t id_of(uint64_t cell)
{
    return (uint32_t)(cell >> 32);
}

/* Returns the cell of id, or the empty cell where it would be inserted. */
static uint32_t place_of(const uint64_t *cells, uint32_t capacity, uint32_t id)
{
    uint32_t place = home_of(id, capacity);

    while (cells[place] != 0 && id_of(cells[place]) != id)
        place = (place + 1) & (capacity - 1);
    return place;
}

static RIP_EARLY uint64_t first_cells[CELLS_FIRST];

static uint64_t *cells_new(uint32_t capacity)
{
    void *cells;

    if (capacity == CELLS_FIRST)
        return memset(first_cells, 0, sizeof(first_cells));
    if (rip__is_filtered())
        return NULL;
    cells = mmap(NULL, (size_t)capacity * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return cells != MAP_FAILED ? cells : NULL;
}

static void cells_free(uint64_t *cells, uint32_t capacity)
{
    if (cells != NULL && cells != first_cells && !rip__is_filtered())
        munmap(cells, (size_t)capacity * sizeof(*cells));
}

static int grow(void)
{
    uint32_t capacity = table.capacity == 0             ? CELLS_FIRST
                        : table.capacity == CELLS_FIRST ? CELLS_MAPPED_MIN
                                                        : table.capacity * 2;
    uint64_t *cells = cells_new(capacity);

    if (cells == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < table.capacity; i++) {
        if (table.cells[i] != 0)
            cells[place_of(cells, capacity, id_of(table.cells[i]))] = table.cells[i];
    }
    cells_free(table.cells, table.capacity);
    table.cells = cells;
    table.capacity = capacity;
    return 0;
}

uint32_t rip__table_find(uint32_t id)
{
    uint64_t cell = table.capacity != 0 ? table.cells[place_of(table.cells, table.capacity, id)] : 0;

    return cell != 0 ? (uint32_t)cell - 1 : RIP_NO_SLOT;
}

int rip__table_insert(uint32_t id, uint32_t slot)
{
    uint32_t place;

    if (table.used * 2 >= table.capacity) {
        int result = grow();

        if (result < 0)
            return result;
    }
    place = place_of(table.cells, table.capacity, id);
    table.used += table.cells[place] == 0;
    table.cells[place] = ((uint64_t)id << 32) | (slot + 1);
    return 0;
}

/* Closes the gap: each later cell of the cluster moves back, unless it would move before its home. */
void rip__table_remove(uint32_t id)
{
    uint32_t mask = table.capacity - 1;
    uint32_t gap, next;

    if (table.capacity == 0)
        return;
    gap = place_of(table.cells, table.capacity, id);
    if (table.cells[gap] == 0)
        return;
    for (next = (gap + 1) & mask; table.cells[next] != 0; next = (next + 1) & mask) {
        uint32_t home = home_of(id_of(table.cells[next]), table.capacity);

        if (((next - home) & mask) >= ((next - gap) & mask)) {
            table.cells[gap] = table.cells[next];
            gap = next;
        }
    }
    table.cells[gap] = 0;
    table.used--;
}

uint32_t rip__table_next(uint32_t *position)
{
    while (*position < table.capacity) {
        uint64_t cell = table.cells[(*position)++];

        if (cell != 0)
            return (uint32_t)cell - 1;
    }
    return RIP_NO_SLOT;
}

void rip__table_drop(void)
{
    cells_free(table.cells, table.capacity);
    table.cells = NULL;
    table.capacity = 0;
    table.used = 0;
}

void rip__slot_reserve(uint32_t count)
{
    uint32_t word_count = rip__writer.geometry.slot_capacity / WORD_BITS;
    uint32_t word = rip_load_relaxed(&rip__header()->slot_hint) / WORD_BITS % word_count;
    uint32_t found = 0;

    reserved.first = word;
    for (; word < word_count && found < count && back_live_word(word) == 0 && back_slots_of(word); word++)
        found += (uint32_t)__builtin_popcountll(~live_bits(word));
    reserved.count = word - reserved.first;
    while ((table.used + found) * 2 > table.capacity && grow() == 0)
        ;
}
