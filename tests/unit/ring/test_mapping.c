/* SPDX-License-Identifier: Apache-2.0 */
/* test_mapping.c - ring files that are mapped or copied, refused, truncated and punched: ripd/ring/mapping.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/sigbus.h"
#include "ring/mapping.h"
#include "support/ring_stage.h"
#include "support/test.h"

enum { SLOTS = 1024, LAST = SLOTS - 4 }; /* each fourth slot has an id; LAST is the last one */

static struct ring_stage stage;
static struct ring_builder ring; /* "ring" on the stage */
static const char *ring_path;
static enum mapping_method method; /* each test runs with both */
static struct mapping mapping = {.descriptor = -1};

static int set_up(void **state)
{
    const struct ring_geometry geometry = {
        .slot_capacity = SLOTS, .note_stride_bytes = RIP_SLOT_NOTE_BYTES, .script_capacity = 4};
    static char path[128];

    if (state != NULL)
        method = *(const enum mapping_method *)*state;
    ring_stage_open(&stage);
    ring_path = strcpy(path, ring_stage_path(&stage, "ring"));
    ring_stage_build(&stage, "ring", &geometry, &ring);
    ring_builder_add_process(&ring, 0, 4690, 1, "checkout");
    ring_builder_link_module(&ring, 0, ring_builder_add_module(&ring, 4096, 8192, 0, "/bin/checkout", NULL, 0));
    for (uint32_t i = 0; i < SLOTS; i += 4)
        ring_builder_add_id(&ring, i, i + 1, 4690, 0, "worker");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mapping_close(&mapping);
    ring_stage_release(&ring);
    ring_stage_close(&stage);
    return 0;
}

static enum mapping_method mapped = MAPPING_MAPPED, copied = MAPPING_COPIED;

#define BOTH(title)                                                                                                    \
    static void title(void);                                                                                           \
    TEST(title##_mapped, set_up, tear_down, &mapped)                                                                   \
    {                                                                                                                  \
        title();                                                                                                       \
    }                                                                                                                  \
    TEST(title##_copied, set_up, tear_down, &copied)                                                                   \
    {                                                                                                                  \
        title();                                                                                                       \
    }                                                                                                                  \
    static void title(void)

static int try_open(enum rip_status *ret_status)
{
    const int descriptor = open(ring_path, O_RDONLY | O_CLOEXEC);
    int result;

    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    assert_true(descriptor >= 0);
    mapping_close(&mapping);
    result = mapping_open(&mapping, descriptor, method, ret_status);
    if (result != 0)
        assert_int_equal(fcntl(descriptor, F_GETFD), -1); /* owned by mapping_open() in any case */
    return result;
}

static void open_mapping(void)
{
    enum rip_status status;

    assert_int_equal(try_open(&status), 0);
    assert_int_equal(mapping.copied, method == MAPPING_COPIED);
}

static void assert_refused(enum rip_status expected)
{
    enum rip_status status = RIP_OK;

    assert_int_equal(try_open(&status), 1);
    assert_int_equal(status, expected);
}

static void truncate_ring(uint64_t bytes)
{
    assert_int_equal(truncate(ring_path, (off_t)bytes), 0);
}

static blkcnt_t block_count(void)
{
    struct stat status;

    assert_int_equal(stat(ring_path, &status), 0);
    return status.st_blocks;
}

/* Reads all samples from the start, in batches. Returns the result of mapping_scan(). */
static int scan_all(size_t batch, size_t *ret_total)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[SLOTS];
    size_t count;
    int result;

    *ret_total = 0;
    do {
        result = mapping_scan(&mapping, &position, samples, batch, &count);
        for (size_t i = 0; result == 0 && i < count; i++)
            assert_int_equal(samples[i].slot, 4 * (*ret_total)++);
    } while (result == 0 && count == batch);
    return result;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

BOTH(samples_in_batches)
{
    static const size_t batches[] = {1, 7, 64, 100, SLOTS};
    size_t total;

    open_mapping();
    for (size_t i = 0; i < COUNT_OF(batches); i++) {
        assert_int_equal(scan_all(batches[i], &total), 0);
        assert_int_equal(total, SLOTS / 4);
    }
}

BOTH(everything_is_read)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_last_info last;
    struct rip_wait_info wait;
    struct rip_note_info note;
    struct rip_ring_info info;
    struct rip_id_info id;
    size_t count = 0;

    ring_builder_run_to(&ring, LAST, 40);
    open_mapping();
    assert_int_equal(mapping.size_bytes, ring.ring->file_bytes);
    assert_int_equal(mapping_check(&mapping), 0);
    assert_int_equal(mapping_info(&mapping, &info), 0);
    assert_int_equal(info.process_high_water, 1);
    assert_int_equal(info.slot_capacity, SLOTS);
    assert_int_equal(mapping_id(&mapping, LAST, &id), 0);
    assert_int_equal(id.id, LAST + 1);
    assert_int_equal(id.slot, LAST);
    assert_int_equal(mapping_trail(&mapping, LAST, entries, &count), 0);
    assert_int_equal(count, RIP_ENTRY_COUNT);
    assert_int_equal(entries[0].address, ring_builder_address(40));
    assert_int_equal(mapping_last(&mapping, LAST, &last), 0);
    assert_int_equal(last.slot, LAST);
    assert_int_equal(last.entry.address, ring_builder_address(40));
    assert_int_equal(mapping_wait(&mapping, LAST, &wait), 1);
    assert_int_equal(mapping_note(&mapping, LAST, &note), 1);
    ring_builder_note(&ring, LAST, "GET /", 5);
    assert_int_equal(mapping_note(&mapping, LAST, &note), 0);
    assert_int_equal(note.slot, LAST);
    assert_int_equal(note.text_bytes, 5);
    assert_memory_equal(note.text, "GET /", 5);
    assert_int_equal(mapping_process(&mapping, 0, &process), 0);
    assert_int_equal(process.pid, 4690);
    assert_int_equal(mapping_module(&mapping, 0, 0, &module), 0);
    assert_int_equal(module.start, 4096);
}

/* What is free or out of range is reported as not there. */
BOTH(nothing_to_read)
{
    static const uint32_t slots[] = {5, SLOTS, UINT32_MAX};
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_note_info note;
    struct rip_id_info id;
    size_t count = 0;

    open_mapping();
    for (size_t i = 0; i < COUNT_OF(slots); i++) {
        assert_int_equal(mapping_id(&mapping, slots[i], &id), 1);
        assert_int_equal(mapping_trail(&mapping, slots[i], entries, &count), 1);
        assert_int_equal(mapping_note(&mapping, slots[i], &note), 1);
    }
    for (uint32_t i = 1; i != 0; i = i == 1 ? UINT32_MAX : 0) {
        assert_int_equal(mapping_process(&mapping, i, &process), 1);
        assert_int_equal(mapping_module(&mapping, 0, i, &module), 1);
    }
}

BOTH(scripts_are_read)
{
    const uint64_t place = RIP_PLACE_SCRIPT | 12, next = UINT64_C(1) << RIP_PLACE_INDEX_SHIFT;
    struct rip_script_info script;

    ring_builder_add_script(&ring, "order.rb", "place");
    ring_builder_add_script(&ring, "order.rb", "pay");
    open_mapping();
    assert_int_equal(mapping_script(&mapping, place + next, &script), 0);
    assert_int_equal(script.index, 1);
    assert_int_equal(script.line, 12);
    assert_memory_equal(script.function, "pay", 4);
    assert_int_equal(mapping_script(&mapping, place + 2 * next, &script), 1);
    assert_int_equal(mapping_script(&mapping, place + 4 * next, &script), 1);
    assert_int_equal(mapping_script(&mapping, 4096, &script), 1);
}

/* An open mapping shows what the writers of the ring store later. */
BOTH(stores_are_seen)
{
    struct rip_id_info id;

    open_mapping();
    for (uint64_t count = 1; count < 1000; count++) {
        ring_builder_run_to(&ring, 8, count);
        assert_int_equal(mapping_id(&mapping, 8, &id), 0);
        assert_int_equal(id.progress, count);
    }
    assert_int_equal(mapping_id(&mapping, 9, &id), 1);
    ring_builder_add_id(&ring, 9, 77, 4690, 0, "late");
    assert_int_equal(mapping_id(&mapping, 9, &id), 0);
    assert_int_equal(id.id, 77);
}

BOTH(no_more_is_mapped_than_the_header_says)
{
    truncate_ring(ring.size_bytes * 16);
    open_mapping();
    assert_int_equal(mapping.size_bytes, ring.size_bytes);
}

BOTH(wrong_sizes)
{
    const struct {
        uint64_t bytes;
        enum rip_status status;
    } cases[] = {
        {0, RIP_DAMAGED},
        {100, RIP_DAMAGED},
        {ring.size_bytes + 1, RIP_TRUNCATED},
        {UINT64_MAX, RIP_DAMAGED},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ring.ring->file_bytes = cases[i].bytes;
        assert_refused(cases[i].status);
    }
    ring.ring->file_bytes = MAPPING_BYTES_MAX + 1; /* the sparse file has that size */
    truncate_ring(MAPPING_BYTES_MAX + 1);
    assert_refused(RIP_DAMAGED);
}

BOTH(files_that_are_no_rings)
{
    ring.ring->format_version = 2;
    assert_refused(RIP_OTHER_VERSION);
    ring.ring->format_version = RIP_FORMAT_VERSION;
    ring.ring->incompatible_flags = 1;
    assert_refused(RIP_UNKNOWN_FEATURE);
    ring.ring->magic = __builtin_bswap64(RIP_MAGIC);
    assert_refused(RIP_OTHER_BYTE_ORDER);
    ring.ring->magic = 0; /* unfinished */
    assert_refused(RIP_NOT_A_RING);
    ring.ring->magic = RIP_MAGIC;
    truncate_ring(100);
    assert_refused(RIP_TRUNCATED);
    truncate_ring(7);
    assert_refused(RIP_NOT_A_RING);
    truncate_ring(0);
    assert_refused(RIP_NOT_A_RING);
    truncate_ring(1 << 20); /* a sparse file: no page is allocated */
    assert_refused(RIP_NOT_A_RING);
    assert_int_equal(block_count(), 0);
}

/* Holes ------------------------------------------------------------------------------------------------------------ */

static uint32_t slot, process_index, nth_module; /* what the readers read */

static int read_id(void)
{
    struct rip_id_info id;

    return mapping_id(&mapping, slot, &id);
}

static int read_samples(void)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[64];
    size_t count = 64;
    int result = 0;

    while (result == 0 && count == 64)
        result = mapping_scan(&mapping, &position, samples, 64, &count);
    return result;
}

static int read_process(void)
{
    struct rip_process_info process;

    return mapping_process(&mapping, process_index, &process);
}

static int read_module(void)
{
    struct rip_module_info module;

    return mapping_module(&mapping, 0, nth_module, &module);
}

/* Each part of the ring in turn is a hole in place of data. Reading it allocates nothing. */
BOTH(holes_stay_holes)
{
    const struct ring_geometry geometry = {.slot_capacity = 1 << 20, .process_capacity = 64, .module_capacity = 4096};
    static const struct {
        const char *name;
        int (*read)(void);
        bool live; /* the bitmap is there, the slots are not */
    } cases[] = {
        {"bitmap: id", read_id, false},     {"bitmap: samples", read_samples, false},
        {"slots: id", read_id, true},       {"slots: samples", read_samples, true},
        {"processes", read_process, false}, {"modules", read_module, false},
    };

    slot = 1 << 19;
    process_index = 63;
    nth_module = 300;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const bool fails = method == MAPPING_MAPPED || cases[i].live; /* a copy reads holes of tables as zeros */
        blkcnt_t before;
        int result;

        ring_stage_release(&ring);
        unlink(ring_path);
        ring_stage_build(&stage, "ring", &geometry, &ring);
        ring_builder_add_process(&ring, 0, 4690, 1, "checkout");
        memset(ring.bytes + ring.ring->summary_offset, 0xff, (1 << 20) / 64 / 8);
        if (cases[i].live)
            memset(ring.bytes + ring.ring->live_offset, 0xff, (1 << 20) / 8);
        ring.ring->process_high_water = 64;
        ring.ring->module_high_water = 4096;
        ring_builder_process(&ring, 0)->module_count = 384;
        for (uint16_t k = 0; k < 384; k++)
            ring_builder_process(&ring, 0)->module_index[k] = k * 10;
        before = block_count();
        open_mapping();
        result = cases[i].read();
        if (fails ? result != -EIO || strstr(mapping.reason, "hole") == NULL : result < 0)
            fail_msg("%s: result %d", cases[i].name, result);
        assert_int_equal(block_count(), before);
    }
}

/* The page was there when the ring was scanned, and is punched out before the next scan. */
BOTH(a_punched_hole_stays_a_hole)
{
    const off_t page = (off_t)(ring.ring->slot_offset + 10 * RIP_PAGE_BYTES);
    int descriptor = open(ring_path, O_RDWR | O_CLOEXEC);
    blkcnt_t before;
    size_t total;

    assert_true(descriptor >= 0);
    open_mapping();
    assert_int_equal(scan_all(SLOTS, &total), 0);
    assert_int_equal(total, SLOTS / 4);
    assert_int_equal(fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page, RIP_PAGE_BYTES), 0);
    before = block_count();
    assert_int_equal(scan_all(SLOTS, &total), -EIO);
    assert_int_equal(block_count(), before);
    close(descriptor);
}

/* File systems that cannot refuse to fill holes, such as those on a disk: the ring is copied. */
TEST(other_file_systems_are_copied, set_up, tear_down, &mapped)
{
    char path[] = "/var/tmp/mapping-XXXXXX";
    int descriptor = mkstemp(path);
    struct rip_process_info process;
    enum rip_status status;

    assert_true(descriptor >= 0);
    unlink(path);
    if (file_is_in_memory(descriptor)) {
        close(descriptor);
        print_message("skipped: /var/tmp is a tmpfs here\n");
        skip();
    }
    assert_int_equal(write(descriptor, ring.bytes, ring.size_bytes), ring.size_bytes);
    assert_int_equal(mapping_open(&mapping, descriptor, MAPPING_MAPPED, &status), 0);
    assert_true(mapping.copied);
    assert_int_equal(mapping_process(&mapping, 0, &process), 0);
    assert_int_equal(process.pid, 4690);
}

/* Truncated while open --------------------------------------------------------------------------------------------- */

static int read_info(void)
{
    struct rip_ring_info info;

    return mapping_info(&mapping, &info);
}

static int read_trail(void)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    size_t count;

    return mapping_trail(&mapping, slot, entries, &count);
}

static int check(void)
{
    return mapping_check(&mapping);
}

static int (*const readers[])(void) = {read_info, read_samples, read_id, read_trail, read_process, read_module, check};

static void assert_unreadable(void)
{
    assert_true(mapping.damaged);
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        assert_int_equal(readers[i](), -EIO);
}

/* Each function in turn is the first to have a page fault. */
BOTH(each_read_survives)
{
    slot = process_index = nth_module = 0;
    for (size_t first = 0; first < COUNT_OF(readers); first++) {
        if (first > 0) {
            tear_down(NULL);
            set_up(NULL);
        }
        open_mapping();
        truncate_ring(0);
        assert_int_equal(readers[first](), -EIO);
        assert_string_equal(mapping.reason, "was cut short");
        assert_unreadable();
        mapping_close(&mapping);
        assert_unreadable();
    }
}

/* If only slots that are not read are cut off, the size of the file shows it. */
BOTH(a_cut_without_page_fault_is_noticed)
{
    open_mapping();
    truncate_ring(ring.size_bytes - 1);
    assert_int_equal(read_info(), 0);
    assert_int_equal(check(), -EIO);
    assert_unreadable();
}

BOTH(check_sees_that_the_file_was_removed)
{
    open_mapping();
    assert_int_equal(mapping.file.links, 1);
    unlink(ring_path);
    assert_int_equal(check(), 0);
    assert_int_equal(mapping.file.links, 0);
}
