/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - validates the header of a ring, copies single records while their writers go on, and finds and samples the
 * live slots. A daemon samples up to a million slots every second.
 *
 * Pure: no system call, no allocation, no clock, no state. The writers share the bytes, do not stop for a reader, and
 * may be hostile. Each shared word is loaded once into a local variable, bounded, and only then used.
 *
 * Guarantees, in addition to those of rip/reader.h
 *   1. Every address is base + a sum that rip_view_open() or an index check has proved to lie inside the file. The view
 *      has its own copy of the geometry: changing the header later changes nothing.
 *   2. A live word is loaded only if its summary bit is set. A slot is loaded only if its live bit is set or the log of
 *      ended ids names it. Process records and module entries are loaded only below their high-water mark. The header
 *      and the summary are backed from the start.
 *   3. A thread that has snapped since it declared idle is never reported as idle. idle_mark is loaded before count;
 *      counts never go back. So idle_mark == ~count means that there was no snap between the declaration and the load.
 *   4. A breadcrumb is returned only if its entry names the snap that was the newest of its place when the entry was
 *      loaded, and if the count moved too little around that load for the 8-bit tag to repeat.
 *   5. Work is bounded: a scan reads each summary word, live word and slot at most once; retries are limited.
 *
 * Every acquire names its partner in the writer. Words without a partner are relaxed: each is checked by itself.
 */
#include <string.h>

#include "note.h"
#include "rip/order.h"
#include "rip/reader.h"

/* Addresses: no function checks an index, except is_live() and begin_copy() ---------------------------------------- */

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

/* source is aligned to 8 bytes, and bytes is a multiple of 8. */
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

/* Returns a mask of the bits of the word that have a slot: the last word may have fewer than 64 slots. */
static inline uint64_t valid_bits(const struct rip_view *view, uint32_t word)
{
    uint32_t rest = view->slot_capacity - word * RIP_WORD_BITS;

    return rest >= RIP_WORD_BITS ? UINT64_MAX : (UINT64_C(1) << rest) - 1;
}

/* The caller has seen that the summary bit of the word is set. */
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

enum { HOT_LINE_BYTES = 64 }; /* the part of a slot before its entries */

/* Selects an id of a slot: the live one, or the one that ended with this generation. */
struct id_key {
    uint32_t slot;
    bool ended;
    uint32_t generation; /* valid if ended */
};

/* Returns the slot, or NULL if the id is not there. Fields copied from it are valid only if end_copy() returns true. */
static const struct rip_slot *begin_copy(const struct rip_view *view, const struct id_key *key,
                                         uint32_t *ret_generation)
{
    const struct rip_slot *slot;
    uint32_t generation;

    if (key->slot >= view->slot_capacity || is_live(view, key->slot) == key->ended)
        return NULL;
    slot = slot_at(view, key->slot);
    generation = rip_load_acquire(&slot->generation); /* pairs with end_change() in slot.c */
    if (key->ended && generation != key->generation)
        return NULL;
    *ret_generation = generation;
    return slot;
}

static bool end_copy(const struct rip_slot *slot, uint32_t generation)
{
    rip_fence_acquire(); /* pairs with begin_change() in slot.c */
    return generation % 2 == 0 && rip_load_relaxed(&slot->generation) == generation;
}

struct section {
    uint64_t offset;
    uint64_t bytes;
};

const char *rip_status_text(enum rip_status status)
{
    static const char *const text[] = {
        [RIP_OK] = "is fine",
        [RIP_NOT_A_RING] = "is not a ring",
        [RIP_OTHER_VERSION] = "is a ring of another format version",
        [RIP_OTHER_BYTE_ORDER] = "is a ring of the other byte order",
        [RIP_UNKNOWN_FEATURE] = "is a ring with features this program does not know",
        [RIP_TRUNCATED] = "is shorter than its header says",
        [RIP_DAMAGED] = "has a header that contradicts itself",
        [RIP_NOT_LIVE] = "holds nothing there",
        [RIP_CHANGED] = "changed each time it was read",
    };

    return (size_t)status < sizeof(text) / sizeof(text[0]) ? text[status] : "has an unknown status";
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

/* Checks that do not depend on the geometry come first. */
static enum rip_status check_identity(const struct rip_ring *ring, uint64_t size_bytes)
{
    uint64_t magic;
    uint32_t byte_order;

    if (size_bytes < sizeof(magic))
        return RIP_NOT_A_RING;
    magic = rip_load_acquire(&ring->magic); /* pairs with the release of the magic in file.c */
    if (magic == __builtin_bswap64(RIP_MAGIC))
        return RIP_OTHER_BYTE_ORDER;
    if (magic != RIP_MAGIC)
        return RIP_NOT_A_RING;
    if (size_bytes < sizeof(*ring))
        return RIP_TRUNCATED;
    if (rip_load_relaxed(&ring->format_version) != RIP_FORMAT_VERSION)
        return RIP_OTHER_VERSION;
    byte_order = rip_load_relaxed(&ring->byte_order);
    if (byte_order == __builtin_bswap32(RIP_BYTE_ORDER))
        return RIP_OTHER_BYTE_ORDER;
    if (byte_order != RIP_BYTE_ORDER)
        return RIP_DAMAGED;
    return rip_load_relaxed(&ring->incompatible_flags) != 0 ? RIP_UNKNOWN_FEATURE : RIP_OK;
}

static void copy_geometry(struct rip_view *view, const struct rip_ring *header)
{
    view->slot_offset = header->slot_offset;
    view->summary_offset = header->summary_offset;
    view->live_offset = header->live_offset;
    view->process_offset = header->process_offset;
    view->module_offset = header->module_offset;
    view->lock_holder_offset = header->lock_holder_offset;
    view->lock_life_offset = header->lock_life_offset;
    view->slot_capacity = header->slot_capacity;
    view->slot_stride_bytes = header->slot_stride_bytes;
    view->entry_offset_bytes = header->entry_offset_bytes;
    view->entry_count = header->entry_count;
    view->process_capacity = header->process_capacity;
    view->process_stride_bytes = header->process_stride_bytes;
    view->module_capacity = header->module_capacity;
    view->module_stride_bytes = header->module_stride_bytes;
    view->note_offset = header->note_offset;
    if (view->note_offset != 0)
        view->note_stride_bytes = header->note_stride_bytes;
    if ((header->compatible_flags & RIP_RING_HAS_SCRIPTS) == 0 || header->script_offset == 0)
        return;
    view->script_offset = header->script_offset;
    view->script_stride_bytes = header->script_stride_bytes;
    view->script_capacity = header->script_capacity;
}

static bool is_count(uint32_t count, uint32_t limit)
{
    return count >= 1 && count <= limit;
}

static bool is_stride(uint32_t stride_bytes, size_t least_bytes)
{
    return stride_bytes >= least_bytes && stride_bytes % sizeof(uint64_t) == 0;
}

static bool entries_fit(const struct rip_view *view)
{
    uint64_t first = view->entry_offset_bytes;
    uint64_t end = first + (uint64_t)view->entry_count * sizeof(uint64_t);

    if (!is_count(view->entry_count, RIP_ENTRY_COUNT) || (view->entry_count & (view->entry_count - 1)) != 0)
        return false;
    if (first % sizeof(uint64_t) != 0 || first < HOT_LINE_BYTES || end > view->slot_stride_bytes)
        return false;
    return end <= offsetof(struct rip_slot, name_bytes) || first >= sizeof(struct rip_slot);
}

/* Checks the sections that a ring may lack. */
static bool texts_fit(const struct rip_view *view)
{
    return (view->note_offset == 0 || is_stride(view->note_stride_bytes, sizeof(struct rip_slot_note))) &&
           (view->script_offset == 0 || (is_count(view->script_capacity, RIP_SCRIPT_MAX) &&
                                         is_stride(view->script_stride_bytes, sizeof(struct rip_script))));
}

/* The caller has bounded the sums: they do not overflow. */
static bool are_disjoint(const struct section *sections, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (sections[i].offset < sections[j].offset + sections[j].bytes &&
                sections[j].offset < sections[i].offset + sections[i].bytes)
                return false;
        }
    }
    return true;
}

/* The limits keep every product below 2^58: nothing here can overflow. */
static bool sections_fit(const struct rip_view *view, uint64_t header_bytes, uint64_t file_bytes)
{
    uint64_t live_words = words_of(view->slot_capacity);
    const struct section sections[] = {
        {0, header_bytes},
        {view->summary_offset, words_of(live_words) * sizeof(uint64_t)},
        {view->live_offset, live_words * sizeof(uint64_t)},
        {view->process_offset, (uint64_t)view->process_capacity * view->process_stride_bytes},
        {view->module_offset, (uint64_t)view->module_capacity * view->module_stride_bytes},
        {view->slot_offset, (uint64_t)view->slot_capacity * view->slot_stride_bytes},
        {view->note_offset, (uint64_t)view->slot_capacity * view->note_stride_bytes},
        {view->script_offset, (uint64_t)view->script_capacity * view->script_stride_bytes},
    };
    const size_t section_count = sizeof(sections) / sizeof(sections[0]);

    for (size_t i = 0; i < section_count; i++) {
        if (sections[i].offset % RIP_PAGE_BYTES != 0 || sections[i].offset > file_bytes ||
            sections[i].bytes > file_bytes - sections[i].offset)
            return false;
    }
    return are_disjoint(sections, section_count);
}

/* The ranges must lie beyond the file, within the offsets that a lock can have, and must not overlap. */
static bool locks_fit(const struct rip_view *view, uint64_t file_bytes, uint64_t takeover_offset)
{
    const struct section ranges[] = {
        {view->lock_holder_offset, view->process_capacity},
        {view->lock_life_offset, view->process_capacity},
        {takeover_offset, 1},
    };
    const size_t range_count = sizeof(ranges) / sizeof(ranges[0]);

    for (size_t i = 0; i < range_count; i++) {
        if (ranges[i].offset < file_bytes || ranges[i].offset > (uint64_t)INT64_MAX - RIP_PROCESS_MAX)
            return false;
    }
    return are_disjoint(ranges, range_count);
}

enum rip_status rip_view_open(struct rip_view *ret_view, const void *base, uint64_t size_bytes)
{
    const struct rip_ring *ring = base;
    struct rip_view view = {.base = base, .size_bytes = size_bytes};
    struct rip_ring header;
    enum rip_status status;

    status = check_identity(ring, size_bytes);
    if (status != RIP_OK)
        return status;
    copy_words(&header, ring, offsetof(struct rip_ring, refused_full_count)); /* the part that is written once */
    if (header.file_bytes > size_bytes)
        return RIP_TRUNCATED;
    copy_geometry(&view, &header);
    if (header.header_bytes < sizeof(*ring) || !is_count(view.slot_capacity, RIP_CAPACITY_MAX) ||
        !is_count(view.process_capacity, RIP_PROCESS_MAX) || !is_count(view.module_capacity, RIP_MODULE_MAX) ||
        !is_stride(view.slot_stride_bytes, sizeof(struct rip_slot)) ||
        !is_stride(view.process_stride_bytes, sizeof(struct rip_process)) ||
        !is_stride(view.module_stride_bytes, sizeof(struct rip_module)) || !texts_fit(&view) || !entries_fit(&view) ||
        !sections_fit(&view, header.header_bytes, header.file_bytes) ||
        !locks_fit(&view, header.file_bytes, header.lock_takeover_offset))
        return RIP_DAMAGED;
    *ret_view = view;
    return RIP_OK;
}

enum {
    ATTEMPTS = 8,
    TRAIL_DRIFT_MAX = 128 /* counts */
};

RIP_STATIC_ASSERT(TRAIL_DRIFT_MAX + 3 * RIP_ENTRY_COUNT <= 256,
                  "a tag could repeat even if two nested snaps are incomplete");

/*
 * Reads the counts of ended ids. ended_count is read first, ended_begun_count last. If they are equal, no end was in
 * progress and the counts match.
 */
static void copy_ended(const struct rip_ring *ring, struct rip_ring_info *ret_info)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS && !ret_info->ended_settled; attempt++) {
        ret_info->ended_count = rip_load_acquire(&ring->ended_count); /* both pair with rip__ended_log() in ended.c */
        ret_info->ended_snap_count = rip_load_acquire(&ring->ended_snap_count);
        ret_info->ended_settled = rip_load_relaxed(&ring->ended_begun_count) == (uint32_t)ret_info->ended_count;
    }
}

/* The preload library stores the boot id later. It is valid only if its first half is not 0. */
static void copy_boot_id(uint8_t ret_boot_id[16], const struct rip_ring *ring)
{
    const uint64_t *words = (const void *)ring->boot_id;
    uint64_t boot_id[2];

    boot_id[0] = rip_load_acquire(&words[0]); /* pairs with its release in file.c */
    boot_id[1] = boot_id[0] != 0 ? rip_load_relaxed(&words[1]) : 0;
    memcpy(ret_boot_id, boot_id, sizeof(boot_id));
}

void rip_view_info(const struct rip_view *view, struct rip_ring_info *ret_info)
{
    const struct rip_ring *ring = ring_of(view);
    struct rip_ring_info info = {.slot_capacity = view->slot_capacity};

    copy_words(info.ring_id, ring->ring_id, sizeof(info.ring_id));
    copy_boot_id(info.boot_id, ring);
    info.created_wall_ns = rip_load_relaxed(&ring->created_wall_ns);
    info.created_boot_ns = rip_load_relaxed(&ring->created_boot_ns);
    info.process_high_water = rip_load_relaxed(&ring->process_high_water);
    if (info.process_high_water > view->process_capacity)
        info.process_high_water = view->process_capacity;
    info.module_high_water = rip_load_relaxed(&ring->module_high_water);
    if (info.module_high_water > view->module_capacity)
        info.module_high_water = view->module_capacity;
    info.refused_full_count = rip_load_relaxed(&ring->refused_full_count);
    info.refused_memory_count = rip_load_relaxed(&ring->refused_memory_count);
    info.refused_process_count = rip_load_relaxed(&ring->refused_process_count);
    info.modules_dropped_count = rip_load_relaxed(&ring->modules_dropped_count);
    info.scripts_dropped_count = rip_load_relaxed(&ring->scripts_dropped_count);
    info.script_high_water = rip_load_relaxed(&ring->script_high_water);
    if (info.script_high_water > view->script_capacity)
        info.script_high_water = view->script_capacity;
    info.registered_count = rip_load_relaxed(&ring->registered_count);
    info.flush_count = rip_load_acquire(&ring->flush_count); /* pairs with rip_flush() in ended.c */
    info.counts_ended = (rip_load_relaxed(&ring->compatible_flags) & RIP_RING_COUNTS_ENDED) != 0;
    copy_ended(ring, &info);
    *ret_info = info;
}

/* Ids -------------------------------------------------------------------------------------------------------------- */

/* Returns the value at which the count started: counts up to it were no snaps. */
static uint64_t count_skip_of(const struct rip_slot *slot)
{
    return rip_load_relaxed(&slot->counter_bias);
}

static void copy_id(const struct rip_slot *slot, struct rip_id_info *ret_info)
{
    unsigned char line[1 + RIP_NAME_BYTES];
    uint64_t idle_mark, skip;

    idle_mark = rip_load_acquire(&slot->idle_mark); /* before count: see guarantee 3; rip_idle() in rip.h */
    ret_info->progress = rip_load_relaxed(&slot->count);
    ret_info->idle = idle_mark == ~ret_info->progress;
    skip = count_skip_of(slot);
    ret_info->snap_count = ret_info->progress > skip ? ret_info->progress - skip : 0;
    ret_info->id = rip_load_relaxed(&slot->id);
    ret_info->tid = rip_load_relaxed(&slot->tid);
    ret_info->process = rip_load_relaxed(&slot->process);
    ret_info->kind = rip_load_relaxed(&slot->kind);
    ret_info->call = rip_load_relaxed(&slot->call);
    ret_info->name_version = rip_load_relaxed(&slot->name_version);
    ret_info->registered_boot_ns = rip_load_relaxed(&slot->registered_boot_ns);
    ret_info->deadline_ms = rip_load_relaxed(&slot->deadline_ms);
    copy_words(line, &slot->name_bytes, sizeof(line));
    ret_info->name_bytes = line[0] <= RIP_NAME_BYTES ? line[0] : RIP_NAME_BYTES;
    memcpy(ret_info->name, &line[1], ret_info->name_bytes);
}

/* Called after end_copy(), whose fence pairs with begin_rename() in slot.c. */
static bool is_whole_name(const struct rip_slot *slot, uint8_t name_version)
{
    return name_version % 2 == 0 && rip_load_relaxed(&slot->name_version) == name_version;
}

static enum rip_status read_id(const struct rip_view *view, const struct id_key *key, struct rip_id_info *ret_info)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_id_info info = {.slot = key->slot};
        const struct rip_slot *slot = begin_copy(view, key, &info.generation);
        uint8_t name_version;

        if (slot == NULL)
            return RIP_NOT_LIVE;
        name_version = rip_load_acquire(&slot->name_version); /* pairs with end_rename() in slot.c */
        copy_id(slot, &info);
        /* If a process was killed during a rename, the name stays incomplete for ever. */
        if (end_copy(slot, info.generation) && (is_whole_name(slot, name_version) || attempt == ATTEMPTS - 1)) {
            *ret_info = info;
            return RIP_OK;
        }
    }
    return RIP_CHANGED;
}

enum rip_status rip_view_id(const struct rip_view *view, uint32_t slot, struct rip_id_info *ret_info)
{
    return read_id(view, &(struct id_key){.slot = slot}, ret_info);
}

enum rip_status rip_view_ended_id(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                  struct rip_id_info *ret_info)
{
    return read_id(view, &(struct id_key){slot, true, generation}, ret_info);
}

/* Waits ------------------------------------------------------------------------------------------------------------ */

/* The highest bit is set in an idle declaration and clear in the time of a mark; see idle_mark in ring.h. */
static bool is_wait_mark(uint64_t idle_mark)
{
    return idle_mark != 0 && idle_mark >> 63 == 0;
}

/* Returns false if the mark is void because the id has snapped since. */
static bool copy_wait(const struct rip_slot *slot, uint64_t mark_ns, struct rip_wait_info *ret_info)
{
    uint64_t age_ns = rip_load_relaxed(&slot->wait_age_s) * UINT64_C(1000000000);
    uint8_t tag = rip_load_relaxed(&slot->wait_tag);

    ret_info->id = rip_load_relaxed(&slot->id);
    ret_info->tid = rip_load_relaxed(&slot->tid);
    ret_info->process = rip_load_relaxed(&slot->process);
    ret_info->flags = rip_load_relaxed(&slot->wait_flags);
    ret_info->owner = rip_load_relaxed(&slot->wait_owner);
    ret_info->address = rip_load_relaxed(&slot->wait_address) & RIP_ENTRY_ADDRESS_MASK;
    ret_info->progress = rip_load_relaxed(&slot->count);
    ret_info->seen_mono_ns = mark_ns;
    ret_info->begun_mono_ns = mark_ns > age_ns ? mark_ns - age_ns : 0;
    return tag == (uint8_t)ret_info->progress;
}

enum rip_status rip_view_wait(const struct rip_view *view, uint32_t slot_index, struct rip_wait_info *ret_info)
{
    const struct id_key key = {.slot = slot_index};

    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_wait_info info = {.slot = slot_index};
        const struct rip_slot *slot = begin_copy(view, &key, &info.generation);
        uint64_t mark_ns;
        bool stands;

        if (slot == NULL)
            return RIP_NOT_LIVE;
        mark_ns = rip_load_acquire(&slot->idle_mark); /* pairs with store_mark() in thread.c */
        if (info.generation % 2 == 0 && !is_wait_mark(mark_ns))
            return RIP_NOT_LIVE;
        stands = copy_wait(slot, mark_ns, &info);
        /* the fence in end_copy() also pairs with void_mark() in thread.c */
        if (!end_copy(slot, info.generation) || rip_load_relaxed(&slot->idle_mark) != mark_ns)
            continue;
        if (!stands)
            return RIP_NOT_LIVE;
        *ret_info = info;
        return RIP_OK;
    }
    return RIP_CHANGED;
}

/* Notes ------------------------------------------------------------------------------------------------------------ */

/* The slot is or was live, so its note is backed. Returns RIP_CHANGED if the note was incomplete. */
static enum rip_status copy_note(const struct rip_view *view, uint32_t slot, struct rip_note_info *ret_info)
{
    const struct rip_slot_note *note =
        (const void *)(view->base + view->note_offset + (uint64_t)slot * view->note_stride_bytes);
    uint64_t words[RIP_NOTE_WORDS], check = rip_load_relaxed(&note->check);
    unsigned char *line = (unsigned char *)words;

    ret_info->sequence = rip_load_relaxed(&note->sequence);
    if (ret_info->sequence == 0)
        return RIP_NOT_LIVE;
    copy_words(words, &note->text_bytes, sizeof(words));
    if (check != rip__note_check(ret_info->sequence, words))
        return RIP_CHANGED;
    ret_info->text_bytes = line[0] <= RIP_NOTE_BYTES ? line[0] : RIP_NOTE_BYTES;
    memcpy(ret_info->text, &line[1], ret_info->text_bytes);
    return ret_info->text_bytes != 0 ? RIP_OK : RIP_NOT_LIVE;
}

static enum rip_status read_note(const struct rip_view *view, const struct id_key *key, struct rip_note_info *ret_info)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_note_info info = {.slot = key->slot};
        const struct rip_slot *slot = begin_copy(view, key, &info.generation);
        enum rip_status status;

        if (view->note_offset == 0 || slot == NULL)
            return RIP_NOT_LIVE;
        status = copy_note(view, key->slot, &info);
        if (!end_copy(slot, info.generation) || status == RIP_CHANGED)
            continue;
        if (status == RIP_OK)
            *ret_info = info;
        return status;
    }
    return RIP_CHANGED;
}

enum rip_status rip_view_note(const struct rip_view *view, uint32_t slot, struct rip_note_info *ret_info)
{
    return read_note(view, &(struct id_key){.slot = slot}, ret_info);
}

enum rip_status rip_view_ended_note(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                    struct rip_note_info *ret_info)
{
    return read_note(view, &(struct id_key){slot, true, generation}, ret_info);
}

/* Trails ----------------------------------------------------------------------------------------------------------- */

static const uint64_t *entries_of(const struct rip_view *view, const struct rip_slot *slot)
{
    return (const void *)((const unsigned char *)slot + view->entry_offset_bytes);
}

/* The entries of a slot as loaded: entry i between the loads of count[i] and count[i + 1]. */
struct trail_copy {
    uint64_t skip;
    uint64_t count[RIP_ENTRY_COUNT + 1];
    uint64_t entry[RIP_ENTRY_COUNT];
};

static void copy_trail(const struct rip_view *view, const struct rip_slot *slot, struct trail_copy *copy)
{
    const uint64_t *entries = entries_of(view, slot);

    copy->skip = count_skip_of(slot);
    /* The acquires keep the loads in this order; rip_snap() in rip.h stores count before the entry that it counts. */
    copy->count[0] = rip_load_acquire(&slot->count);
    for (uint32_t i = 0; i < view->entry_count; i++) {
        copy->entry[i] = rip_load_acquire(&entries[i]);
        copy->count[i + 1] = rip_load_acquire(&slot->count);
    }
}

/* One entry as loaded, between two loads of count. */
struct entry_copy {
    uint64_t before;
    uint64_t entry;
    uint64_t after;
};

/*
 * Finds the number of the snap of entry i from its place and tag. Returns false if the number is not certain. The place
 * holds the snap that was the newest of its place at the load, or an older one: not stored yet, or never stored because
 * a handler snapped. The distance to an older one is a multiple of entry_count and shows in the tag, unless it is 256.
 * For that the count must have moved by more than TRAIL_DRIFT_MAX around the load. Registration clears the entries:
 * address 0 means not written since.
 */
static bool entry_of(const struct rip_view *view, uint64_t skip, const struct entry_copy *copy, uint64_t i,
                     struct rip_entry *ret_entry)
{
    uint64_t newest = copy->after;
    uint64_t age = (newest - i) & (view->entry_count - 1); /* a power of two: correct even after overflow */
    uint64_t address = copy->entry & RIP_ENTRY_ADDRESS_MASK;
    uint64_t number = newest - age;

    if (newest - copy->before > TRAIL_DRIFT_MAX || age >= newest || number <= skip || address == 0)
        return false;
    if (copy->entry >> RIP_ENTRY_TAG_SHIFT != (uint8_t)number)
        return false;
    *ret_entry = (struct rip_entry){.snap = number - skip, .address = address};
    return true;
}

static enum rip_status read_trail(const struct rip_view *view, const struct id_key *key,
                                  struct rip_entry ret_entries[RIP_ENTRY_COUNT], size_t *ret_count)
{
    struct trail_copy copy;
    bool same_id = false, settled = false;
    size_t entry_count = 0;

    for (unsigned attempt = 0; attempt < ATTEMPTS && !(same_id && settled); attempt++) {
        uint32_t generation;
        const struct rip_slot *slot = begin_copy(view, key, &generation);

        if (slot == NULL)
            return RIP_NOT_LIVE;
        copy_trail(view, slot, &copy);
        same_id = end_copy(slot, generation);
        settled = copy.count[view->entry_count] - copy.count[0] <= TRAIL_DRIFT_MAX;
    }
    if (!same_id)
        return RIP_CHANGED;
    for (uint32_t i = 0; i < view->entry_count; i++) {
        const struct entry_copy loaded = {copy.count[i], copy.entry[i], copy.count[i + 1]};
        struct rip_entry entry;
        size_t place = entry_count;

        if (!entry_of(view, copy.skip, &loaded, i, &entry))
            continue;
        for (; place > 0 && ret_entries[place - 1].snap < entry.snap; place--)
            ret_entries[place] = ret_entries[place - 1];
        ret_entries[place] = entry;
        entry_count++;
    }
    *ret_count = entry_count;
    return RIP_OK;
}

enum rip_status rip_view_trail(const struct rip_view *view, uint32_t slot,
                               struct rip_entry ret_entries[RIP_ENTRY_COUNT], size_t *ret_count)
{
    return read_trail(view, &(struct id_key){.slot = slot}, ret_entries, ret_count);
}

enum rip_status rip_view_ended_trail(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                     struct rip_entry ret_entries[RIP_ENTRY_COUNT], size_t *ret_count)
{
    return read_trail(view, &(struct id_key){slot, true, generation}, ret_entries, ret_count);
}

enum rip_status rip_view_entries(const struct rip_view *view, const struct rip_sample *sample, uint64_t after,
                                 struct rip_entry ret_entries[RIP_ENTRY_COUNT], size_t *ret_count)
{
    const struct id_key key = {.slot = sample->slot};
    struct rip_entry entries[RIP_ENTRY_COUNT];
    uint64_t skip = sample->counter_bias, until = sample->progress - skip, wanted = 0;
    size_t entry_count = 0;
    uint32_t generation;
    const struct rip_slot *slot = begin_copy(view, &key, &generation);
    struct entry_copy copy;

    if (slot == NULL || generation != sample->generation)
        return RIP_NOT_LIVE;
    if (sample->progress > skip && until > after)
        wanted = until - after < view->entry_count ? until - after : view->entry_count;
    copy.after = rip_load_acquire(&slot->count); /* as in copy_trail() */
    for (uint64_t snap = until - wanted + 1; wanted > 0; snap++, wanted--) {
        uint64_t i = (snap + skip) & (view->entry_count - 1);

        copy.before = copy.after;
        copy.entry = rip_load_acquire(&entries_of(view, slot)[i]);
        copy.after = rip_load_acquire(&slot->count);
        entry_count += entry_of(view, skip, &copy, i, &entries[entry_count]) && entries[entry_count].snap == snap;
    }
    if (!end_copy(slot, generation))
        return RIP_NOT_LIVE;
    memcpy(ret_entries, entries, entry_count * sizeof(entries[0]));
    *ret_count = entry_count;
    return RIP_OK;
}

/* Walks back from the newest entry to the first certain one. Returns false if none is certain. */
static bool last_entry(const struct rip_view *view, const struct rip_slot *slot, struct rip_entry *ret_entry)
{
    const uint64_t *entries = entries_of(view, slot);
    uint64_t skip = count_skip_of(slot);
    uint64_t newest = rip_load_acquire(&slot->count); /* as in copy_trail() */
    struct entry_copy copy = {.after = newest};

    for (uint64_t age = 0; age < view->entry_count && age < newest; age++) {
        uint64_t i = (newest - age) & (view->entry_count - 1);

        copy.before = copy.after;
        copy.entry = rip_load_acquire(&entries[i]);
        copy.after = rip_load_acquire(&slot->count);
        if (entry_of(view, skip, &copy, i, ret_entry))
            return true;
    }
    return false;
}

enum rip_status rip_view_last(const struct rip_view *view, uint32_t slot_index, struct rip_last_info *ret_info)
{
    const struct id_key key = {.slot = slot_index};

    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_last_info info = {.slot = slot_index};
        const struct rip_slot *slot = begin_copy(view, &key, &info.generation);

        if (slot == NULL)
            return RIP_NOT_LIVE;
        info.process = rip_load_relaxed(&slot->process);
        if (!last_entry(view, slot, &info.entry))
            info.entry = (struct rip_entry){0};
        if (end_copy(slot, info.generation)) {
            *ret_info = info;
            return RIP_OK;
        }
    }
    return RIP_CHANGED;
}

/* Ids that have ended ---------------------------------------------------------------------------------------------- */

size_t rip_view_ended(const struct rip_view *view, uint64_t first, struct rip_ended *ret_ended, size_t capacity,
                      uint64_t *ret_next)
{
    const struct rip_ring *ring = ring_of(view);
    uint64_t end =
        rip_load_acquire(&ring->ended_count); /* pairs with rip__ended_log() in ended.c: the entries are there */
    size_t returned = 0;

    if (first > end)
        first = end;
    if (end - first > RIP_ENDED_COUNT)
        first = end - RIP_ENDED_COUNT;
    for (; first < end && returned < capacity; first++) {
        uint64_t entry = rip_load_relaxed(&ring->ended[first % RIP_ENDED_COUNT]);
        uint32_t slot = (uint32_t)(entry & RIP_ENDED_SLOT_MASK);

        if ((entry >> RIP_ENDED_LAP_SHIFT & RIP_ENDED_LAP_MASK) != RIP_ENDED_LAP(first) || slot >= view->slot_capacity)
            continue; /* overwritten since */
        ret_ended[returned++] = (struct rip_ended){
            .number = first, .slot = slot, .generation = (uint32_t)(entry >> RIP_ENDED_GENERATION_SHIFT)};
    }
    *ret_next = first;
    return returned;
}

/* Processes and modules -------------------------------------------------------------------------------------------- */

static const struct rip_process *process_at(const struct rip_view *view, uint32_t index)
{
    return (const void *)(view->base + view->process_offset + (uint64_t)index * view->process_stride_bytes);
}

static const struct rip_module *module_at(const struct rip_view *view, uint32_t index)
{
    return (const void *)(view->base + view->module_offset + (uint64_t)index * view->module_stride_bytes);
}

static bool is_process_readable(const struct rip_view *view, uint32_t index)
{
    /* pairs with the release of process_high_water in process.c: the records below it are backed */
    return index < view->process_capacity && index < rip_load_acquire(&ring_of(view)->process_high_water);
}

static bool holds_process(uint32_t state)
{
    return state != RIP_PROCESS_FREE && state != RIP_PROCESS_CLAIMED;
}

static uint32_t module_count_of(const struct rip_process *process)
{
    uint32_t count = rip_load_acquire(&process->module_count); /* pairs with its release in modules.c */

    return count <= RIP_PROCESS_MODULES ? count : RIP_PROCESS_MODULES;
}

/* Returns true if state and generation, which identify the owner, still have the values from before the copy. */
static bool process_unchanged(const struct rip_process *process, uint32_t state, uint32_t generation)
{
    rip_fence_acquire(); /* pairs with the release fence after state CLAIMED in process.c */
    return rip_load_relaxed(&process->state) == state && rip_load_relaxed(&process->generation) == generation;
}

enum rip_status rip_view_process(const struct rip_view *view, uint32_t index, struct rip_process_info *ret_info)
{
    const struct rip_process *process;

    if (!is_process_readable(view, index))
        return RIP_NOT_LIVE;
    process = process_at(view, index);
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_process_info info = {.index = index};

        info.state = rip_load_acquire(&process->state); /* pairs with the release of state LIVE in process.c */
        if (!holds_process(info.state))
            return RIP_NOT_LIVE;
        info.generation = rip_load_relaxed(&process->generation);
        info.flags = rip_load_relaxed(&process->flags);
        info.pid = rip_load_relaxed(&process->pid);
        info.parent_pid = rip_load_relaxed(&process->parent_pid);
        info.start_time_ticks = rip_load_relaxed(&process->start_time_ticks);
        info.pid_namespace = rip_load_relaxed(&process->pid_namespace);
        info.entered_boot_ns = rip_load_relaxed(&process->entered_boot_ns);
        info.uid = rip_load_relaxed(&process->uid);
        info.module_count = module_count_of(process);
        copy_words(info.comm, process->comm, sizeof(info.comm));
        if (process_unchanged(process, info.state, info.generation)) {
            *ret_info = info;
            return RIP_OK;
        }
    }
    return RIP_CHANGED;
}

/* Returns in *ret_module the index in the module table of the nth module of a process. */
static enum rip_status find_module(const struct rip_view *view, uint32_t index, uint32_t nth, uint32_t *ret_module)
{
    const struct rip_process *process;

    if (!is_process_readable(view, index))
        return RIP_NOT_LIVE;
    process = process_at(view, index);
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint32_t state = rip_load_acquire(&process->state); /* pairs with the release of state LIVE in process.c */
        uint32_t generation = rip_load_relaxed(&process->generation);
        uint32_t module;

        if (!holds_process(state) || nth >= module_count_of(process))
            return RIP_NOT_LIVE;
        module = rip_load_relaxed(&process->module_index[nth]);
        if (process_unchanged(process, state, generation)) {
            *ret_module = module;
            return RIP_OK;
        }
    }
    return RIP_CHANGED;
}

/*
 * Copies the text of a published entry. The length is bounded by the field; the rest is set to 0. Returns the length.
 */
static size_t copy_text(void *target, const void *source, size_t capacity, size_t bytes)
{
    if (bytes > capacity)
        bytes = capacity;
    copy_words(target, source, capacity);
    memset((unsigned char *)target + bytes, 0, capacity - bytes);
    return bytes;
}

/* Published entries never change, so one copy is enough. Changes by a hostile writer are still bounded. */
enum rip_status rip_view_module(const struct rip_view *view, uint32_t process, uint32_t nth,
                                struct rip_module_info *ret_info)
{
    struct rip_module_info info = {0};
    const struct rip_module *module;
    enum rip_status status;
    uint32_t index;

    status = find_module(view, process, nth, &index);
    if (status != RIP_OK)
        return status;
    /* pairs with the release of module_high_water in modules.c: the entries below it are backed */
    if (index >= view->module_capacity || index >= rip_load_acquire(&ring_of(view)->module_high_water))
        return RIP_NOT_LIVE;
    module = module_at(view, index);
    info.end = rip_load_acquire(&module->end); /* pairs with the release of end in modules.c */
    info.start = rip_load_relaxed(&module->start);
    if (info.end == 0 || info.start >= info.end)
        return RIP_NOT_LIVE;
    info.bias = rip_load_relaxed(&module->bias);
    info.flags = rip_load_relaxed(&module->flags);
    info.path_bytes =
        (uint16_t)copy_text(info.path, module->path, sizeof(info.path), rip_load_relaxed(&module->path_bytes));
    info.build_id_bytes = (uint8_t)copy_text(info.build_id, module->build_id, sizeof(info.build_id),
                                             rip_load_relaxed(&module->build_id_bytes));
    *ret_info = info;
    return RIP_OK;
}

enum rip_status rip_view_script(const struct rip_view *view, uint64_t address, struct rip_script_info *ret_info)
{
    const uint64_t index = address >> RIP_PLACE_INDEX_SHIFT & RIP_PLACE_INDEX_MASK;
    struct rip_script_info info = {.index = (uint32_t)index, .line = (uint32_t)(address & RIP_PLACE_LINE_MASK)};
    const struct rip_script *script;

    /* pairs with the exchange of script_high_water in script.c: the entries below it are backed */
    if ((address & RIP_PLACE_SCRIPT) == 0 || (address & RIP_PLACE_UNKNOWN_BITS) != 0 || view->script_offset == 0 ||
        index >= view->script_capacity || index >= rip_load_acquire(&ring_of(view)->script_high_water))
        return RIP_NOT_LIVE;
    script = (const void *)(view->base + view->script_offset + index * view->script_stride_bytes);
    if (rip_load_acquire(&script->published) == 0) /* pairs with its release in script.c */
        return RIP_NOT_LIVE;
    info.first_line = rip_load_relaxed(&script->first_line);
    info.flags = rip_load_relaxed(&script->flags);
    info.file_bytes =
        (uint16_t)copy_text(info.file, script->file, sizeof(info.file), rip_load_relaxed(&script->file_bytes));
    info.function_bytes = (uint8_t)copy_text(info.function, script->function, sizeof(info.function),
                                             rip_load_relaxed(&script->function_bytes));
    *ret_info = info;
    return RIP_OK;
}

/* Scanning: bound by memory. Of each live slot only the hot line is read ------------------------------------------- */

enum {
    DENSE_COUNT = 40, /* live slots that make a word dense */
    DENSE_LEAP = 19,  /* odd, so that it reaches every slot of a word */
};

/* One word of the live bitmap; `pending` has the slots that are still to be visited. */
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

/*
 * Returns the first word at or after `word` that has live slots. At the end returns one past the last, with pending 0.
 */
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

uint64_t rip_view_live_count(const struct rip_view *view)
{
    struct live_word word = find_live_word(view, 0);
    uint64_t live_count = 0;

    for (; word.pending != 0; word = find_live_word(view, word.word + 1))
        live_count += (uint64_t)__builtin_popcountll(word.pending);
    return live_count;
}

/*
 * Returns false if the slot is being registered. All loads are from the hot line. Fields that are adjacent both in a
 * slot and in a sample are copied as one word. Nothing is stored before the check, so that the check is a branch.
 * Otherwise the address of the next sample would depend on the loads, and each slot would wait for the cache line of
 * the slot before.
 */
static inline bool sample_slot(const struct rip_slot *slot, uint32_t index, struct rip_sample *ret_sample,
                               uint64_t *left_out_count)
{
    uint32_t generation = rip_load_acquire(&slot->generation); /* pairs with end_change() in slot.c */
    uint64_t idle_mark = rip_load_acquire(&slot->idle_mark);   /* before count: see guarantee 3; rip_idle() in rip.h */
    uint64_t count = rip_load_relaxed(&slot->count);
    uint64_t words[2];

    copy_words(&words[0], &slot->tid, sizeof(words[0]));         /* also process and counter_bias */
    copy_words(&words[1], &slot->deadline_ms, sizeof(words[1])); /* also call and name_version */
    rip_fence_acquire();                                         /* pairs with begin_change() in slot.c */
    if (__builtin_expect(generation % 2 != 0 || rip_load_relaxed(&slot->generation) != generation, 0)) {
        ++*left_out_count;
        return false;
    }
    ret_sample->progress = count;
    ret_sample->slot = index;
    ret_sample->generation = generation;
    memcpy((unsigned char *)ret_sample + offsetof(struct rip_sample, tid), words, sizeof(words));
    ret_sample->idle = idle_mark == ~count;
    ret_sample->reserved_28 = 0;
    return true;
}

/*
 * Prefetches the hot line of a slot. The line is read once and should not evict other lines. A prefetch never faults or
 * allocates, not even for an unused slot, a hole or an address beyond the end.
 */
static inline void prefetch(const void *place)
{
    __builtin_prefetch(place, 0, 0);
}

/* Prefetches the hot lines of the slots in `bits`. */
static void prefetch_slots(const struct live_word *word, uint64_t bits, uint64_t stride_bytes)
{
    for (; bits != 0; bits &= bits - 1)
        prefetch(word->first_place + (uint32_t)__builtin_ctzll(bits) * stride_bytes);
}

/*
 * Samples at most `room` slots of *current and prefetches slots of *ahead at the same pace, because a burst of
 * prefetches stalls once the processor's miss buffers are full. Both words share the address arithmetic, so the
 * prefetches in *ahead are for the bits that are live in *current. The caller has prefetched the other slots.
 */
static size_t sample_word(struct live_word *current, const struct live_word *ahead, uint64_t stride_bytes,
                          struct rip_sample *ret_samples, size_t room, uint64_t *left_out_count)
{
    const unsigned char *place = current->first_place;
    const unsigned char *place_ahead = ahead->pending != 0 ? ahead->first_place : place;
    const struct rip_sample *end = ret_samples + room;
    struct rip_sample *sample = ret_samples;
    uint64_t bits = current->pending;

    while (bits != 0 && sample < end) {
        uint32_t bit = (uint32_t)__builtin_ctzll(bits);
        uint64_t offset = bit * stride_bytes;

        prefetch(place_ahead + offset);
        sample += sample_slot((const void *)(place + offset), current->first_slot + bit, sample, left_out_count);
        bits &= bits - 1;
    }
    current->pending = bits;
    return (size_t)(sample - ret_samples);
}

/* In a dense word few slots are not live: prefetching all of them costs little. */
static bool is_dense(const struct live_word *word)
{
    return word->pending == UINT64_MAX || __builtin_popcountll(word->pending) >= DENSE_COUNT;
}

/*
 * As sample_word(), for a dense *ahead. Prefetches its lines in leaps: the processor takes an ascending order for a
 * sequence and then fetches lines that are not needed. The leaps save up to half of the time for a million slots.
 */
static size_t sample_dense(struct live_word *current, const struct live_word *ahead, uint64_t stride_bytes,
                           struct rip_sample *ret_samples, size_t room, uint64_t *left_out_count)
{
    const unsigned char *place_ahead = ahead->first_place;
    const uint32_t first_slot = current->first_slot;
    const uint64_t pending = current->pending;
    struct rip_sample *sample = ret_samples;
    uint32_t bit = (uint32_t)__builtin_ctzll(pending);
    const uint32_t end = room < RIP_WORD_BITS - bit ? bit + (uint32_t)room : RIP_WORD_BITS;
    const unsigned char *place = current->first_place + bit * stride_bytes;

    for (; bit < end; bit++, place += stride_bytes) {
        prefetch(place_ahead + bit * DENSE_LEAP % RIP_WORD_BITS * stride_bytes);
        if (__builtin_expect(pending >> bit & 1, 1))
            sample += sample_slot((const void *)place, first_slot + bit, sample, left_out_count);
    }
    current->pending = bit < RIP_WORD_BITS ? pending & UINT64_MAX << bit : 0;
    return (size_t)(sample - ret_samples);
}

/* Goes word by word and prefetches two words ahead: memory has a high latency, but serves many requests at once. */
size_t rip_view_scan(const struct rip_view *view, struct rip_scan_position *position, struct rip_sample *ret_samples,
                     size_t capacity)
{
    const uint64_t stride_bytes = view->slot_stride_bytes;
    struct live_word current, next, after;
    size_t returned = 0;

    if (position->next_word >= words_of(view->slot_capacity))
        return 0;
    current = live_word_at(view, position->next_word, position->pending & valid_bits(view, position->next_word));
    if (current.pending == 0)
        current = find_live_word(view, position->next_word);
    next = find_live_word(view, current.word + 1);
    if (position->pending == 0) { /* later calls have prefetched theirs already */
        prefetch_slots(&current, current.pending, stride_bytes);
        prefetch_slots(&next, next.pending, stride_bytes);
    }
    while (current.pending != 0 && returned < capacity) {
        after = find_live_word(view, next.word + 1);
        if (is_dense(&after)) {
            returned += sample_dense(&current, &after, stride_bytes, ret_samples + returned, capacity - returned,
                                     &position->left_out_count);
        } else {
            prefetch_slots(&after, after.pending & ~current.pending, stride_bytes);
            returned += sample_word(&current, &after, stride_bytes, ret_samples + returned, capacity - returned,
                                    &position->left_out_count);
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
