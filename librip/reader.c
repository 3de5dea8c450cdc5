/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - validate the header of a ring; the first of the parts of the reader. reader_scan.c finds the live slots,
 * reader_copy.c copies single records, reader_places.h says where things are.
 *
 * All are pure: no system call, no allocation, no clock, no state. The bytes are shared with their writers, who do not
 * stop for a reader, and may be hostile. Each shared word is loaded once into a local, bounded, and only then used.
 *
 * Guarantees of all parts, beside those of rip/reader.h
 *   1. Every address is base + a sum that rip_view_open() or an index check has proved to lie inside the file. The
 *      geometry is the view's own copy: changing the header later changes nothing.
 *   2. A live word is loaded only if its summary bit is set, a slot only if its live bit is set, a process record and
 *      a module entry only below its high-water mark. The header and the summary are backed from the start.
 *   3. Idle is never seen of a thread that has snapped since: idle_mark is loaded before count, counts never go back,
 *      so idle_mark == ~count says that nothing was counted between the declaration and the load of count.
 *   4. A crumb is returned only if its entry names the snap that was the newest of its place when it was loaded, and
 *      the count moved too little around that load for the 8-bit tag to come round again.
 *   5. Work is bounded: a scan looks at each summary word, live word and slot at most once; retries are counted.
 *
 * Every acquire names its partner in the writer. Words without one are relaxed: each is checked by itself.
 */
#include "reader_places.h"

enum { HOT_LINE_BYTES = 64 }; /* of a slot, before its entries */

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

/* Who may read on at all: answers that do not depend on the geometry. */
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

static void copy_geometry(struct rip_view *view, const struct rip_ring *ring)
{
    view->slot_offset = rip_load_relaxed(&ring->slot_offset);
    view->summary_offset = rip_load_relaxed(&ring->summary_offset);
    view->live_offset = rip_load_relaxed(&ring->live_offset);
    view->process_offset = rip_load_relaxed(&ring->process_offset);
    view->module_offset = rip_load_relaxed(&ring->module_offset);
    view->lock_holder_offset = rip_load_relaxed(&ring->lock_holder_offset);
    view->lock_life_offset = rip_load_relaxed(&ring->lock_life_offset);
    view->slot_capacity = rip_load_relaxed(&ring->slot_capacity);
    view->slot_stride_bytes = rip_load_relaxed(&ring->slot_stride_bytes);
    view->entry_offset_bytes = rip_load_relaxed(&ring->entry_offset_bytes);
    view->entry_count = rip_load_relaxed(&ring->entry_count);
    view->process_capacity = rip_load_relaxed(&ring->process_capacity);
    view->process_stride_bytes = rip_load_relaxed(&ring->process_stride_bytes);
    view->module_capacity = rip_load_relaxed(&ring->module_capacity);
    view->module_stride_bytes = rip_load_relaxed(&ring->module_stride_bytes);
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

/* Limits bound every product below 2^58: nothing here can wrap. */
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
    };
    const size_t section_count = sizeof(sections) / sizeof(sections[0]);

    for (size_t i = 0; i < section_count; i++) {
        if (sections[i].offset % RIP_PAGE_BYTES != 0 || sections[i].offset > file_bytes ||
            sections[i].bytes > file_bytes - sections[i].offset)
            return false;
        for (size_t j = 0; j < i; j++) {
            if (sections[i].offset < sections[j].offset + sections[j].bytes &&
                sections[j].offset < sections[i].offset + sections[i].bytes)
                return false;
        }
    }
    return true;
}

/* Beyond the file, within what a lock can name, and no byte shared. */
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
        for (size_t j = 0; j < i; j++) {
            if (ranges[i].offset < ranges[j].offset + ranges[j].bytes &&
                ranges[j].offset < ranges[i].offset + ranges[i].bytes)
                return false;
        }
    }
    return true;
}

enum rip_status rip_view_open(struct rip_view *ret_view, const void *base, uint64_t size_bytes)
{
    const struct rip_ring *ring = base;
    struct rip_view view = {.base = base, .size_bytes = size_bytes};
    uint64_t file_bytes, takeover_offset;
    uint32_t header_bytes;
    enum rip_status status;

    status = check_identity(ring, size_bytes);
    if (status != RIP_OK)
        return status;
    file_bytes = rip_load_relaxed(&ring->file_bytes);
    if (file_bytes > size_bytes)
        return RIP_TRUNCATED;
    header_bytes = rip_load_relaxed(&ring->header_bytes);
    takeover_offset = rip_load_relaxed(&ring->lock_takeover_offset);
    copy_geometry(&view, ring);
    if (header_bytes < sizeof(*ring) || !is_count(view.slot_capacity, RIP_CAPACITY_MAX) ||
        !is_count(view.process_capacity, RIP_PROCESS_MAX) || !is_count(view.module_capacity, RIP_MODULE_MAX) ||
        !is_stride(view.slot_stride_bytes, sizeof(struct rip_slot)) ||
        !is_stride(view.process_stride_bytes, sizeof(struct rip_process)) ||
        !is_stride(view.module_stride_bytes, sizeof(struct rip_module)) || !entries_fit(&view) ||
        !sections_fit(&view, header_bytes, file_bytes) || !locks_fit(&view, file_bytes, takeover_offset))
        return RIP_DAMAGED;
    *ret_view = view;
    return RIP_OK;
}

void rip_view_info(const struct rip_view *view, struct rip_ring_info *ret_info)
{
    const struct rip_ring *ring = ring_of(view);
    struct rip_ring_info info = {.slot_capacity = view->slot_capacity};

    copy_words(info.ring_id, ring->ring_id, sizeof(info.ring_id));
    copy_words(info.boot_id, ring->boot_id, sizeof(info.boot_id));
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
    info.registered_count = rip_load_relaxed(&ring->registered_count);
    *ret_info = info;
}

uint64_t rip_view_live_count(const struct rip_view *view)
{
    uint64_t word_count = words_of(view->slot_capacity), live_count = 0;

    for (uint64_t i = 0; i < words_of(word_count); i++) {
        uint64_t rest = word_count - i * RIP_WORD_BITS;
        uint64_t summary = summary_word(view, (uint32_t)i);

        if (rest < RIP_WORD_BITS)
            summary &= (UINT64_C(1) << rest) - 1;
        for (; summary != 0; summary &= summary - 1) {
            uint32_t word = (uint32_t)(i * RIP_WORD_BITS) + (uint32_t)__builtin_ctzll(summary);

            live_count += (uint64_t)__builtin_popcountll(live_bits(view, word));
        }
    }
    return live_count;
}
