/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_copy.c - see ring_copy.h.
 *
 * Order of a copy: process records, the modules that they name, script functions, bitmaps, slots, and last the header
 * with the log. An id that ended between the copies of bitmap and header is in the log, and is then removed from the
 * copied bitmap. An id that was registered meanwhile is in the next copy.
 */
#include "session/ring_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/read_file.h"

#define RING_BYTES_MAX (UINT64_C(1) << 34)
#define COPIED_BYTES_MAX (UINT64_C(1) << 30)
#define COPIED_BYTES_LEAST (UINT64_C(1) << 20)
#define COPIED_FACTOR 16u      /* bytes copied per byte of blocks of the file: some file systems compress */
#define COPIED_STRIDE_MAX 1024 /* of slots, in bytes; format 1 uses about a third of that */

enum {
    WORD_BITS = 64,
    CHUNK_SLOTS = 64,
    GAP_SLOTS = 4,   /* live slots at most this far apart are copied in one read */
    DRIFT_MAX = 128, /* counts during a copy of a slot: fewer than the tags, see TRAIL_DRIFT_MAX in reader.c */
    ATTEMPTS = 8,
};

/* The first fields of a slot. */
struct slot_head {
    uint64_t count;
    uint64_t idle_mark;
    uint32_t generation;
    uint32_t id;
};

static int fail(struct ring_copy *copy, const char *reason)
{
    copy->reason = reason;
    return -EBADMSG;
}

/* Reading the file ------------------------------------------------------------------------------------------------- */

static int read_bytes(struct ring_copy *copy, void *target, size_t count, uint64_t offset)
{
    const long length = read_file(copy->descriptor, offset, target, count);

    if (length < 0)
        copy->reason = "cannot be read";
    if (length < 0)
        return (int)length;
    return length == (long)count ? 0 : fail(copy, "was cut short");
}

/* Reads a range of the file to the same offset in the copy, within the budget. */
static int copy_range(struct ring_copy *copy, uint64_t offset, uint64_t count)
{
    if (count > copy->budget_bytes)
        return fail(copy, "has a hole in place of data");
    copy->budget_bytes -= count;
    return read_bytes(copy, copy->bytes + offset, (size_t)count, offset);
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static int error_of(enum rip_status status)
{
    switch (status) {
    case RIP_NOT_A_RING:
        return -EINVAL;
    case RIP_OTHER_VERSION:
    case RIP_OTHER_BYTE_ORDER:
    case RIP_UNKNOWN_FEATURE:
        return -EPROTONOSUPPORT;
    default:
        return -EBADMSG;
    }
}

/* Validates a private copy of the header. Of the rest of the file only the length is used. */
static int validate_header(struct ring_copy *copy, uint64_t file_bytes)
{
    union {
        struct rip_ring ring;
        unsigned char bytes[RIP_PAGE_BYTES];
    } page = {0};
    const long length = read_file(copy->descriptor, 0, page.bytes, sizeof(page));
    enum rip_status status;

    copy->reason = "cannot be read";
    if (length < 0)
        return (int)length;
    status = rip_view_open(&copy->view, &page, (size_t)length < sizeof(page) ? (size_t)length : file_bytes);
    copy->reason = rip_status_text(status);
    if (status != RIP_OK)
        return error_of(status);
    if (page.ring.file_bytes > RING_BYTES_MAX || copy->view.slot_stride_bytes > COPIED_STRIDE_MAX)
        return fail(copy, "is too large");
    copy->size_bytes = page.ring.file_bytes;
    return 0;
}

int ring_copy_open(struct ring_copy *ret_copy, int descriptor)
{
    struct ring_copy copy = {.descriptor = descriptor, .reason = "cannot be read"};
    struct stat status;
    int result = fstat(descriptor, &status) == 0 ? validate_header(&copy, (uint64_t)status.st_size) : -errno;

    if (result == 0) {
        copy.scratch = malloc(CHUNK_SLOTS * COPIED_STRIDE_MAX);
        copy.bytes =
            mmap(NULL, copy.size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        copy.reason = "needs more memory than is available";
        if (copy.bytes == MAP_FAILED)
            copy.bytes = NULL;
        if (copy.bytes == NULL || copy.scratch == NULL)
            result = -ENOMEM;
    }
    copy.view.base = copy.bytes;
    copy.view.size_bytes = copy.size_bytes;
    if (result != 0)
        ring_copy_close(&copy);
    *ret_copy = copy;
    return result;
}

void ring_copy_close(struct ring_copy *copy)
{
    if (copy->bytes != NULL)
        munmap(copy->bytes, copy->size_bytes);
    free(copy->scratch);
    copy->bytes = NULL;
    copy->scratch = NULL;
}

/* Processes and modules -------------------------------------------------------------------------------------------- */

/* Marks records that were taken by another process while they were copied: this copy has no process there. */
static int check_processes(struct ring_copy *copy, uint32_t count)
{
    const uint32_t stride_bytes = copy->view.process_stride_bytes;
    struct {
        uint32_t state, generation;
    } after; /* the first fields of a record */

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t offset = copy->view.process_offset + (uint64_t)i * stride_bytes;
        struct rip_process *process = (void *)(copy->bytes + offset);
        int result;

        if (process->state == RIP_PROCESS_FREE)
            continue;
        result = read_bytes(copy, &after, sizeof(after), offset);
        if (result != 0)
            return result;
        if (after.state != process->state || after.generation != process->generation)
            process->state = RIP_PROCESS_CLAIMED;
    }
    return 0;
}

static int copy_scripts(struct ring_copy *copy)
{
    const struct rip_view *view = &copy->view;
    const uint64_t stride_bytes = view->script_stride_bytes;
    struct rip_ring_info info;
    uint32_t count;
    int result;

    rip_view_info(view, &info);
    count = info.script_high_water;
    if (copy->script_next >= count)
        return 0;
    result = copy_range(copy, view->script_offset + copy->script_next * stride_bytes,
                        (count - copy->script_next) * stride_bytes);
    while (result == 0 && copy->script_next < count) {
        const struct rip_script *script =
            (const void *)(copy->bytes + view->script_offset + copy->script_next * stride_bytes);

        if (script->published == 0)
            break;
        copy->script_next++;
    }
    return result;
}

static int copy_processes(struct ring_copy *copy)
{
    const struct rip_view *view = &copy->view;
    struct rip_ring_info info;
    int result = copy_range(copy, 0, sizeof(struct rip_ring));

    if (result != 0)
        return result;
    rip_view_info(view, &info);
    result = copy_range(copy, view->process_offset, (uint64_t)info.process_high_water * view->process_stride_bytes);
    if (result == 0)
        result = check_processes(copy, info.process_high_water);
    if (result == 0)
        result = copy_range(copy, view->module_offset, (uint64_t)info.module_high_water * view->module_stride_bytes);
    return result == 0 ? copy_scripts(copy) : result;
}

/* Bitmaps ---------------------------------------------------------------------------------------------------------- */

static uint32_t word_count(const struct rip_view *view)
{
    return (view->slot_capacity + WORD_BITS - 1) / WORD_BITS;
}

static uint64_t *words_at(const struct ring_copy *copy, uint64_t offset)
{
    return (void *)(copy->bytes + offset);
}

static int copy_bitmaps(struct ring_copy *copy)
{
    const struct rip_view *view = &copy->view;
    const uint32_t words = word_count(view), summary_words = (words + WORD_BITS - 1) / WORD_BITS;
    const uint64_t *summary = words_at(copy, view->summary_offset);
    int result = copy_range(copy, view->summary_offset, summary_words * sizeof(uint64_t));

    for (uint32_t i = 0; result == 0 && i < summary_words; i++) {
        const uint32_t first = i * WORD_BITS, rest = words - first;

        if (summary[i] != 0)
            result = copy_range(copy, view->live_offset + first * sizeof(uint64_t),
                                (rest < WORD_BITS ? rest : WORD_BITS) * sizeof(uint64_t));
    }
    return result;
}

/* Slots ------------------------------------------------------------------------------------------------------------ */

static uint64_t slot_offset(const struct ring_copy *copy, uint32_t slot)
{
    return copy->view.slot_offset + (uint64_t)slot * copy->view.slot_stride_bytes;
}

static struct slot_head *head_at(const struct ring_copy *copy, uint32_t slot)
{
    return (void *)(copy->bytes + slot_offset(copy, slot));
}

static bool is_consistent(const struct slot_head *before, const struct slot_head *after)
{
    return after->generation == before->generation && after->count - before->count <= DRIFT_MAX;
}

/* Copies one slot again, because it changed while it was copied. Gives up its entries after ATTEMPTS. */
static int copy_slot(struct ring_copy *copy, uint32_t slot)
{
    const struct rip_view *view = &copy->view;
    struct slot_head after;

    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        int result = read_bytes(copy, head_at(copy, slot), view->slot_stride_bytes, slot_offset(copy, slot));

        if (result == 0)
            result = read_bytes(copy, &after, sizeof(after), slot_offset(copy, slot));
        if (result != 0)
            return result;
        if (is_consistent(head_at(copy, slot), &after))
            return 0;
    }
    memset(copy->bytes + slot_offset(copy, slot) + view->entry_offset_bytes, 0, view->entry_count * sizeof(uint64_t));
    return 0;
}

/* Fails if a slot that is marked live was never registered: it is a hole of the file. Copies it again if it changed. */
static int check_slot(struct ring_copy *copy, uint32_t slot, const struct slot_head *after)
{
    if (after->generation == 0)
        return fail(copy, "has a hole in place of data");
    return is_consistent(head_at(copy, slot), after) ? 0 : copy_slot(copy, slot);
}

/* Copies the slots first to last of a word. Those in bits are live. */
static int copy_run(struct ring_copy *copy, uint32_t word, uint64_t bits, unsigned first, unsigned last)
{
    const struct rip_view *view = &copy->view;
    const uint32_t slot = word * WORD_BITS + first;
    const uint64_t bytes = (uint64_t)(last - first + 1) * view->slot_stride_bytes;
    int result = copy_range(copy, slot_offset(copy, slot), bytes);

    if (result == 0)
        result = read_bytes(copy, copy->scratch, (size_t)bytes, slot_offset(copy, slot));
    for (unsigned bit = first; result == 0 && bit <= last; bit++)
        if ((bits >> bit & 1) != 0)
            result = check_slot(copy, word * WORD_BITS + bit,
                                (const void *)(copy->scratch + (size_t)(bit - first) * view->slot_stride_bytes));
    if (result == 0 && view->note_offset != 0)
        result = copy_range(copy, view->note_offset + (uint64_t)slot * view->note_stride_bytes,
                            (uint64_t)(last - first + 1) * view->note_stride_bytes);
    return result;
}

/* Copies the live slots of a word in runs that include small gaps. */
static int copy_word(struct ring_copy *copy, uint32_t word, uint64_t bits)
{
    int result = 0;

    while (result == 0 && bits != 0) {
        const unsigned first = (unsigned)__builtin_ctzll(bits);
        unsigned last = first;

        for (uint64_t rest = bits & (bits - 1); rest != 0; rest &= rest - 1) {
            const unsigned next = (unsigned)__builtin_ctzll(rest);

            if (next - last > GAP_SLOTS)
                break;
            last = next;
        }
        result = copy_run(copy, word, bits, first, last);
        bits = last == WORD_BITS - 1 ? 0 : bits >> (last + 1) << (last + 1);
    }
    return result;
}

static int copy_slots(struct ring_copy *copy)
{
    const struct rip_view *view = &copy->view;
    const uint32_t words = word_count(view);
    const uint64_t *summary = words_at(copy, view->summary_offset), *live = words_at(copy, view->live_offset);
    int result = 0;

    for (uint32_t word = 0; result == 0 && word < words; word++) {
        const uint32_t rest = view->slot_capacity - word * WORD_BITS;
        uint64_t bits;

        if (word % WORD_BITS == 0 && summary[word / WORD_BITS] == 0) {
            word += WORD_BITS - 1;
            continue;
        }
        if ((summary[word / WORD_BITS] >> (word % WORD_BITS) & 1) == 0)
            continue;
        bits = rest >= WORD_BITS ? live[word] : live[word] & ((UINT64_C(1) << rest) - 1);
        result = copy_word(copy, word, bits);
    }
    return result;
}

/* Ids that ended --------------------------------------------------------------------------------------------------- */

/* Copies the last state of an ended id. If another id has its slot by now, what was copied before stays. */
static int copy_ended(struct ring_copy *copy, const struct rip_ended *ended)
{
    const struct rip_view *view = &copy->view;
    const uint32_t word = ended->slot / WORD_BITS, stride_bytes = view->slot_stride_bytes;
    const uint64_t bit = UINT64_C(1) << ended->slot % WORD_BITS;
    const uint64_t summary = words_at(copy, view->summary_offset)[word / WORD_BITS];
    uint64_t *live = &words_at(copy, view->live_offset)[word];
    const bool is_live = (summary >> (word % WORD_BITS) & 1) != 0 && (*live & bit) != 0;
    const struct slot_head *fresh = (const void *)copy->scratch;
    int result;

    if (is_live && head_at(copy, ended->slot)->generation != ended->generation)
        return 0; /* the copy has another id in this slot */
    result = read_bytes(copy, copy->scratch, stride_bytes, slot_offset(copy, ended->slot));
    if (result != 0)
        return result;
    if (fresh->generation == ended->generation)
        memcpy(head_at(copy, ended->slot), fresh, stride_bytes);
    if (is_live)
        *live &= ~bit;
    if (view->note_offset == 0 || fresh->generation != ended->generation)
        return 0;
    return copy_range(copy, view->note_offset + (uint64_t)ended->slot * view->note_stride_bytes,
                      view->note_stride_bytes);
}

/* Copies the header. Repeats until its counts of ends are consistent; if they never are, marks them as not settled. */
static int copy_header(struct ring_copy *copy)
{
    struct rip_ring *ring = (void *)copy->bytes;
    uint64_t before;
    uint32_t begun;

    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        int result = read_bytes(copy, &before, sizeof(before), offsetof(struct rip_ring, ended_count));

        if (result == 0)
            result = copy_range(copy, 0, sizeof(*ring));
        if (result == 0)
            result = read_bytes(copy, &begun, sizeof(begun), offsetof(struct rip_ring, ended_begun_count));
        if (result != 0)
            return result;
        if (before == ring->ended_count && begun == (uint32_t)before)
            return 0;
    }
    ring->ended_begun_count = (uint32_t)ring->ended_count + 1;
    return 0;
}

static int copy_log(struct ring_copy *copy, uint64_t ended_before)
{
    struct rip_ring *ring = (void *)copy->bytes;
    struct rip_ended ended[RIP_ENDED_COUNT];
    size_t count;
    int result = copy_header(copy);

    if (result != 0)
        return result;
    if (ring->ended_count - ended_before > RIP_ENDED_COUNT)
        ring->ended_begun_count = (uint32_t)ring->ended_count + 1;
    count = rip_view_ended(&copy->view, copy->ended_next, ended, RIP_ENDED_COUNT, &copy->ended_next);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = copy_ended(copy, &ended[i]);
    return result;
}

int ring_copy_take(struct ring_copy *copy)
{
    const struct rip_ring *ring = (const void *)copy->bytes;
    struct stat status;
    uint64_t ended_before;
    int result;

    copy->reason = "cannot be read";
    if (fstat(copy->descriptor, &status) != 0)
        return -errno;
    if ((uint64_t)status.st_size < copy->size_bytes)
        return fail(copy, "was cut short");
    copy->budget_bytes = (uint64_t)status.st_blocks * 512 * COPIED_FACTOR + COPIED_BYTES_LEAST;
    if (copy->budget_bytes > COPIED_BYTES_MAX)
        copy->budget_bytes = COPIED_BYTES_MAX;
    result = copy_processes(copy);
    ended_before = ring->ended_count;
    if (result == 0)
        result = copy_bitmaps(copy);
    if (result == 0)
        result = copy_slots(copy);
    return result == 0 ? copy_log(copy, ended_before) : result;
}
