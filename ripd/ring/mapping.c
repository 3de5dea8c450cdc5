/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping.c - one ring file: checks its first page, then maps or copies it, and reads it. Touches the file's descriptor
 * and the address space.
 *
 * Guarantees
 *   1. The header is read with pread() and checked in a copy. A foreign file is never mapped. The geometry is checked
 *      against the size of the file before it is used.
 *   2. Between guard and unguard there is one call of the reader and nothing else: no lock is taken, nothing is
 *      allocated, and no local variable changes that is used after a fault.
 *   3. A copy holds one record, one note, or 64 slots, at offsets of its own, and is read by the same reader. The count
 *      of a slot is read before and after the slot is copied. If it has advanced too far, the slot is copied again, so
 *      that no entry's tag has wrapped around (rip_view_trail()).
 */
#include "ring/mapping.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/holes.h"
#include "os/sigbus.h"

enum {
    WORD_BITS = 64,
    WORDS = 512,              /* of the live bitmap, copied at once */
    COPIED_STRIDE_MAX = 1024, /* of slots; format 1 uses a third of it */
    COPIED_DRIFT_MAX = 64,    /* counts */
    COPY_ATTEMPTS = 8,
};

/*
 * Parts of a ring, arranged as a small ring: one process record, one module, one note, one script, 64 slots. It is on
 * the stack and not cleared.
 */
struct copy {
    struct rip_ring header;
    uint64_t summary;
    uint64_t live;
    struct rip_process process;
    struct rip_module module;
    struct rip_slot_note note; /* of any slot */
    _Alignas(uint64_t) struct rip_script script;
    uint64_t slots[WORD_BITS * COPIED_STRIDE_MAX / sizeof(uint64_t)];
};

/* The file -------------------------------------------------------------------------------------------------------- */

static int damage(struct mapping *mapping)
{
    struct file_identity now;
    bool cut = file_identify(mapping->descriptor, &now) == 0 && now.size_bytes < mapping->size_bytes;

    mapping->damaged = true;
    mapping->reason = cut ? "was cut short" : "has a hole in place of data";
    return -EIO;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

/* Reads and checks the header. Fills in view and size_bytes. Returns 0, or 1 with *ret_status, or -errno. */
static int read_header(struct mapping *mapping, enum rip_status *ret_status)
{
    union {
        struct rip_ring ring;
        unsigned char bytes[RIP_PAGE_BYTES];
    } page = {0};
    const ssize_t length = file_read(mapping->descriptor, page.bytes, sizeof(page), 0);

    if (length < 0)
        return (int)length;
    /* rip_view_open() reads only the header here, although the length passed is that of the whole file. */
    *ret_status =
        rip_view_open(&mapping->view, &page, (size_t)length < sizeof(page) ? (size_t)length : mapping->file.size_bytes);
    if ((*ret_status == RIP_OK || *ret_status == RIP_TRUNCATED) && page.ring.file_bytes > MAPPING_BYTES_MAX)
        *ret_status = RIP_DAMAGED;
    mapping->size_bytes = (size_t)page.ring.file_bytes;
    return *ret_status != RIP_OK;
}

/* Returns 0, or -errno if holes cannot be refused or there is no address space. */
static int map_file(struct mapping *mapping)
{
    void *base = mmap(NULL, mapping->size_bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, mapping->descriptor, 0);
    int result;

    if (base == MAP_FAILED)
        return -errno;
    result = holes_refuse(base, mapping->size_bytes);
    if (result != 0) {
        munmap(base, mapping->size_bytes);
        return result == -ENOMEM ? -EINVAL : result; /* not -ENOMEM: the file may still be copied */
    }
    madvise(base, mapping->size_bytes, MADV_DONTDUMP); /* keep the ring's data out of a core dump of ripd */
    mapping->base = base;
    mapping->view.base = base;
    mapping->view.size_bytes = mapping->size_bytes;
    return 0;
}

int mapping_open(struct mapping *ret_mapping, int descriptor, enum mapping_method method, enum rip_status *ret_status)
{
    struct mapping mapping = {.descriptor = descriptor};
    int result = file_identify(descriptor, &mapping.file);
    enum rip_status status = RIP_OK;

    if (result == 0)
        result = read_header(&mapping, &status);
    if (result == 0) {
        result = method == MAPPING_MAPPED ? map_file(&mapping) : -ENOTSUP;
        mapping.copied = result != 0 && result != -ENOMEM;
        if (mapping.copied) {
            result = mapping.view.slot_stride_bytes > COPIED_STRIDE_MAX;
            status = result == 0 ? RIP_OK : RIP_DAMAGED;
        }
    }
    if (result == 0)
        *ret_mapping = mapping;
    else
        mapping_close(&mapping);
    if (result == 1)
        *ret_status = status;
    return result;
}

void mapping_close(struct mapping *mapping)
{
    if (mapping->base != NULL)
        munmap((void *)(uintptr_t)mapping->base, mapping->size_bytes);
    if (mapping->descriptor >= 0)
        close(mapping->descriptor);
    mapping->base = NULL;
    mapping->size_bytes = 0;
    mapping->descriptor = -1;
    mapping->damaged = true;
}

uint32_t mapping_owner(const struct mapping *mapping)
{
    return mapping->file.uid == 0 && mapping->file.others_write ? MAPPING_NOBODY : mapping->file.uid;
}

int mapping_check(struct mapping *mapping)
{
    struct file_identity now;
    int result;

    if (mapping->damaged)
        return -EIO;
    result = file_identify(mapping->descriptor, &now);
    if (result != 0)
        return result;
    mapping->file = now;
    return now.size_bytes < mapping->size_bytes ? damage(mapping) : 0;
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

/* One call of the reader. */
struct request {
    enum request_kind {
        READ_INFO,
        READ_SCAN,
        READ_ID,
        READ_WAIT,
        READ_NOTE,
        READ_LAST,
        READ_TRAIL,
        READ_PROCESS,
        READ_MODULE,
        READ_SCRIPT
    } kind;
    uint32_t index; /* slot, process record or script */
    uint32_t nth;   /* module, or line of the script */
    void *ret;      /* result; its type depends on kind */
    struct rip_scan_position *position;
    size_t capacity;
    size_t *ret_count;
};

static uint64_t place_of(const struct request *request)
{
    return RIP_PLACE_SCRIPT | (uint64_t)request->index << RIP_PLACE_INDEX_SHIFT | request->nth;
}

static enum rip_status call_reader(const struct rip_view *view, const struct request *request)
{
    switch (request->kind) {
    case READ_SCAN:
        *request->ret_count = rip_view_scan(view, request->position, request->ret, request->capacity);
        return RIP_OK;
    case READ_ID:
        return rip_view_id(view, request->index, request->ret);
    case READ_WAIT:
        return rip_view_wait(view, request->index, request->ret);
    case READ_NOTE:
        return rip_view_note(view, request->index, request->ret);
    case READ_LAST:
        return rip_view_last(view, request->index, request->ret);
    case READ_TRAIL:
        return rip_view_trail(view, request->index, request->ret, request->ret_count);
    case READ_PROCESS:
        return rip_view_process(view, request->index, request->ret);
    case READ_MODULE:
        return rip_view_module(view, request->index, request->nth, request->ret);
    case READ_SCRIPT:
        return rip_view_script(view, place_of(request), request->ret);
    default:
        rip_view_info(view, request->ret);
        return RIP_OK;
    }
}

/* Copying ---------------------------------------------------------------------------------------------------------- */

static int copy_bytes(struct mapping *mapping, void *target, size_t size_bytes, uint64_t offset)
{
    const ssize_t length = file_read(mapping->descriptor, target, size_bytes, offset);

    return length == (ssize_t)size_bytes ? 0 : damage(mapping);
}

/*
 * Returns a view of the copy. Slot 0 is the first slot of a word of the live bitmap. Record and module 0 are those that
 * were copied.
 */
static struct rip_view view_of_copy(const struct mapping *mapping, struct copy *copy)
{
    struct rip_view view = mapping->view;

    view.base = (const unsigned char *)copy;
    view.size_bytes = sizeof(*copy);
    view.summary_offset = offsetof(struct copy, summary);
    view.live_offset = offsetof(struct copy, live);
    view.process_offset = offsetof(struct copy, process);
    view.module_offset = offsetof(struct copy, module);
    view.slot_offset = offsetof(struct copy, slots);
    view.note_offset = offsetof(struct copy, note);
    view.note_stride_bytes = 0; /* the same note for all slots */
    view.script_offset = mapping->view.script_offset != 0 ? offsetof(struct copy, script) : 0;
    view.script_capacity = 1;
    view.slot_capacity = WORD_BITS;
    view.process_capacity = 1;
    view.module_capacity = 1;
    return view;
}

/* Returns the bits of a live word that correspond to slots. */
static uint64_t slot_bits(const struct rip_view *view, uint32_t word)
{
    const uint32_t rest = view->slot_capacity - word * WORD_BITS;

    return rest >= WORD_BITS ? UINT64_MAX : (UINT64_C(1) << rest) - 1;
}

/* Copies the slots of a word from the first to the last one in bits. */
static int copy_slots(struct mapping *mapping, struct copy *copy, uint32_t word, uint64_t bits)
{
    const struct rip_view *view = &mapping->view;
    const unsigned first = (unsigned)__builtin_ctzll(bits), last = WORD_BITS - 1 - (unsigned)__builtin_clzll(bits);
    const size_t stride_bytes = view->slot_stride_bytes;

    copy->summary = 1;
    copy->live = bits;
    return copy_bytes(mapping, (unsigned char *)copy->slots + first * stride_bytes, (last - first + 1) * stride_bytes,
                      view->slot_offset + ((uint64_t)word * WORD_BITS + first) * stride_bytes);
}

/* Copies one slot. Returns 0, or 1 if it is not live or changes too fast, or -EIO. */
static int copy_slot(struct mapping *mapping, struct copy *copy, uint32_t slot)
{
    const struct rip_view *view = &mapping->view;
    const uint32_t word = slot / WORD_BITS;
    const uint64_t bit = UINT64_C(1) << slot % WORD_BITS;
    const uint64_t place = view->slot_offset + (uint64_t)slot * view->slot_stride_bytes;
    struct {
        uint64_t count, idle_mark;
        uint32_t generation, id;
    } before, after; /* the first fields of a slot */
    uint64_t live;

    if (slot >= view->slot_capacity)
        return 1;
    for (unsigned attempt = 0; attempt < COPY_ATTEMPTS; attempt++) {
        if (copy_bytes(mapping, &live, sizeof(live), view->live_offset + word * sizeof(live)) != 0)
            return -EIO;
        if ((live & bit) == 0)
            return 1;
        if (copy_bytes(mapping, &before, sizeof(before), place) != 0 || copy_slots(mapping, copy, word, bit) != 0 ||
            copy_bytes(mapping, &after, sizeof(after), place) != 0)
            return -EIO;
        if (after.generation == 0)
            return damage(mapping); /* no writer does that: a hole */
        if (after.count - before.count <= COPIED_DRIFT_MAX && after.generation == before.generation)
            return 0;
    }
    return 1;
}

/* Copies the note of a slot. Returns 0, or 1 if it has none, or -EIO. */
static int copy_note(struct mapping *mapping, struct copy *copy, uint32_t slot)
{
    const struct rip_view *view = &mapping->view;
    int result;

    if (view->note_offset == 0)
        return 1;
    result = copy_slot(mapping, copy, slot);
    if (result != 0)
        return result;
    return copy_bytes(mapping, &copy->note, sizeof(copy->note),
                      view->note_offset + (uint64_t)slot * view->note_stride_bytes);
}

/*
 * Copies a process record, and its nth module if nth is below RIP_PROCESS_MODULES. Returns 0, or 1 if there is none, or
 * -EIO.
 */
static int copy_process(struct mapping *mapping, struct copy *copy, uint32_t process, uint32_t nth)
{
    const struct rip_view *view = &mapping->view;
    const uint64_t place = view->process_offset + (uint64_t)process * view->process_stride_bytes;
    struct {
        uint32_t state, generation;
    } after; /* the first fields of a record */
    uint32_t module;

    if (copy_bytes(mapping, &copy->header, sizeof(copy->header), 0) != 0)
        return -EIO;
    if (process >= view->process_capacity || process >= copy->header.process_high_water)
        return 1;
    if (copy_bytes(mapping, &copy->process, sizeof(copy->process), place) != 0 ||
        copy_bytes(mapping, &after, sizeof(after), place) != 0)
        return -EIO;
    if (after.state != copy->process.state || after.generation != copy->process.generation)
        return 1;
    copy->header.process_high_water = 1;
    if (nth >= RIP_PROCESS_MODULES)
        return 0;
    module = copy->process.module_index[nth];
    if (module >= view->module_capacity || module >= copy->header.module_high_water)
        return 1;
    copy->header.module_high_water = 1;
    copy->process.module_index[nth] = 0;
    return copy_bytes(mapping, &copy->module, sizeof(copy->module),
                      view->module_offset + (uint64_t)module * view->module_stride_bytes);
}

/* Copies a function of a script. Returns 0, or 1 if there is none, or -EIO. */
static int copy_script(struct mapping *mapping, struct copy *copy, uint32_t script)
{
    const struct rip_view *view = &mapping->view;

    if (view->script_offset == 0 || script >= view->script_capacity)
        return 1;
    if (copy_bytes(mapping, &copy->header, sizeof(copy->header), 0) != 0)
        return -EIO;
    if (script >= copy->header.script_high_water)
        return 1;
    copy->header.script_high_water = 1;
    return copy_bytes(mapping, &copy->script, sizeof(copy->script),
                      view->script_offset + (uint64_t)script * view->script_stride_bytes);
}

/*
 * Finds the first word at or after the position that has live slots, and stores them in position->pending. It does not
 * use the summary: copying empty words is as cheap. Returns 0, or 1 if there is none, or -EIO.
 */
static int find_live_word(struct mapping *mapping, struct rip_scan_position *position)
{
    const struct rip_view *view = &mapping->view;
    const uint32_t end = (view->slot_capacity + WORD_BITS - 1) / WORD_BITS;
    uint64_t live[WORDS];

    for (uint32_t first = position->next_word; first < end; first += WORDS) {
        const uint32_t count = end - first < WORDS ? end - first : WORDS;

        if (copy_bytes(mapping, live, count * sizeof(*live), view->live_offset + first * sizeof(*live)) != 0)
            return -EIO;
        for (uint32_t i = 0; i < count; i++) {
            position->next_word = first + i;
            position->pending = live[i] & slot_bits(view, first + i);
            if (position->pending != 0)
                return 0;
        }
    }
    position->next_word = end;
    return 1;
}

/* Like rip_view_scan(), for one word of the bitmap at a time. */
static int scan_copies(struct mapping *mapping, struct copy *copy, const struct request *request)
{
    const struct rip_view view = view_of_copy(mapping, copy);
    struct rip_scan_position *position = request->position;
    struct rip_sample *samples = request->ret;
    size_t count = 0;

    while (count < request->capacity) {
        struct rip_scan_position within = {0};
        size_t first = count;

        if (position->pending == 0) {
            const int result = find_live_word(mapping, position);

            if (result < 0)
                return result;
            if (result == 1)
                break;
        }
        if (copy_slots(mapping, copy, position->next_word, position->pending) != 0)
            return -EIO;
        within.pending = position->pending;
        count += rip_view_scan(&view, &within, samples + count, request->capacity - count);
        for (size_t i = first; i < count; i++) {
            if (samples[i].generation == 0)
                return damage(mapping); /* as in copy_slot() */
            samples[i].slot += position->next_word * WORD_BITS;
        }
        position->pending = within.next_word == 0 ? within.pending : 0;
        position->next_word += position->pending == 0;
    }
    *request->ret_count = count;
    return 0;
}

/* Like call_reader(), with copies. */
static int read_copies(struct mapping *mapping, const struct request *request)
{
    struct request within = *request;
    struct rip_view view;
    struct copy copy;
    int result;

    switch (request->kind) {
    case READ_SCAN:
        return scan_copies(mapping, &copy, request);
    case READ_INFO:
        view = mapping->view;
        view.base = (const unsigned char *)&copy;
        result = copy_bytes(mapping, &copy.header, sizeof(copy.header), 0);
        if (result == 0)
            rip_view_info(&view, request->ret);
        return result;
    case READ_PROCESS:
    case READ_MODULE:
        result = copy_process(mapping, &copy, request->index, request->kind == READ_MODULE ? request->nth : UINT32_MAX);
        within.index = 0;
        break;
    case READ_SCRIPT:
        result = copy_script(mapping, &copy, request->index);
        within.index = 0;
        break;
    case READ_NOTE:
        result = copy_note(mapping, &copy, request->index);
        within.index %= WORD_BITS;
        break;
    default:
        result = copy_slot(mapping, &copy, request->index);
        within.index %= WORD_BITS;
    }
    view = view_of_copy(mapping, &copy);
    if (result == 0)
        result = call_reader(&view, &within) != RIP_OK;
    if (result == 0 && request->kind != READ_TRAIL && request->kind != READ_MODULE)
        *(uint32_t *)request->ret = request->index; /* the index is the first member of each of these structs */
    return result;
}

/* Both ------------------------------------------------------------------------------------------------------------- */

static int read_mapping(struct mapping *mapping, const struct request *request)
{
    enum rip_status status;

    if (mapping->damaged)
        return -EIO;
    if (mapping->copied)
        return read_copies(mapping, request);
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        status = call_reader(&mapping->view, request);
        sigbus_unguard();
        return status != RIP_OK;
    }
    return damage(mapping);
}

int mapping_bytes(struct mapping *mapping, uint64_t offset, void *ret_bytes, size_t count)
{
    if (mapping->damaged || offset > mapping->size_bytes || count > mapping->size_bytes - offset)
        return -EIO;
    if (mapping->copied)
        return copy_bytes(mapping, ret_bytes, count, offset);
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        memcpy(ret_bytes, (const unsigned char *)mapping->base + offset, count);
        sigbus_unguard();
        return 0;
    }
    return damage(mapping);
}

int mapping_read(struct mapping *mapping, void (*read)(void *context, const struct rip_view *view), void *context)
{
    if (mapping->damaged)
        return -EIO;
    if (mapping->copied)
        return -ENOTSUP;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        read(context, &mapping->view);
        sigbus_unguard();
        return 0;
    }
    return damage(mapping);
}

static int read_at(struct mapping *mapping, enum request_kind kind, uint32_t index, void *ret)
{
    return read_mapping(mapping, &(struct request){.kind = kind, .index = index, .ret = ret});
}

int mapping_info(struct mapping *mapping, struct rip_ring_info *ret_info)
{
    return read_at(mapping, READ_INFO, 0, ret_info);
}

int mapping_scan(struct mapping *mapping, struct rip_scan_position *position, struct rip_sample *ret_samples,
                 size_t capacity, size_t *ret_count)
{
    return read_mapping(
        mapping,
        &(struct request){
            .kind = READ_SCAN, .position = position, .ret = ret_samples, .capacity = capacity, .ret_count = ret_count});
}

int mapping_id(struct mapping *mapping, uint32_t slot, struct rip_id_info *ret_info)
{
    return read_at(mapping, READ_ID, slot, ret_info);
}

int mapping_wait(struct mapping *mapping, uint32_t slot, struct rip_wait_info *ret_info)
{
    return read_at(mapping, READ_WAIT, slot, ret_info);
}

int mapping_note(struct mapping *mapping, uint32_t slot, struct rip_note_info *ret_info)
{
    return read_at(mapping, READ_NOTE, slot, ret_info);
}

int mapping_last(struct mapping *mapping, uint32_t slot, struct rip_last_info *ret_info)
{
    return read_at(mapping, READ_LAST, slot, ret_info);
}

int mapping_trail(struct mapping *mapping, uint32_t slot, struct rip_entry ret_entries[RIP_ENTRY_COUNT],
                  size_t *ret_count)
{
    return read_mapping(
        mapping, &(struct request){.kind = READ_TRAIL, .index = slot, .ret = ret_entries, .ret_count = ret_count});
}

int mapping_process(struct mapping *mapping, uint32_t index, struct rip_process_info *ret_info)
{
    return read_at(mapping, READ_PROCESS, index, ret_info);
}

int mapping_module(struct mapping *mapping, uint32_t process, uint32_t nth, struct rip_module_info *ret_info)
{
    return read_mapping(mapping, &(struct request){.kind = READ_MODULE, .index = process, .nth = nth, .ret = ret_info});
}

int mapping_script(struct mapping *mapping, uint64_t address, struct rip_script_info *ret_info)
{
    const struct request request = {
        .kind = READ_SCRIPT,
        .index = (uint32_t)(address >> RIP_PLACE_INDEX_SHIFT & RIP_PLACE_INDEX_MASK),
        .nth = (uint32_t)(address & RIP_PLACE_LINE_MASK),
        .ret = ret_info,
    };

    if ((address & RIP_PLACE_SCRIPT) == 0 || (address & RIP_PLACE_UNKNOWN_BITS) != 0)
        return mapping->damaged ? -EIO : 1;
    return read_mapping(mapping, &request);
}
