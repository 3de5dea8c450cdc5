/* SPDX-License-Identifier: Apache-2.0 */
/* test_mapping.c - ring files mapped and copied, refused, cut and punched: ripd/ring/mapping.c. */
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

enum { SLOTS = 1024 };

#define PLACE(index) (RIP_PLACE_SCRIPT | UINT64_C(index) << RIP_PLACE_INDEX_SHIFT | 12)

static struct ring_stage stage;
static struct ring_builder ring;
static enum mapping_method method; /* each test runs with both */

static int set_up(void **state)
{
    const struct ring_geometry geometry = {
        .slot_capacity = SLOTS, .note_stride_bytes = RIP_SLOT_NOTE_BYTES, .script_capacity = 4};

    if (state != NULL)
        method = *(const enum mapping_method *)*state;
    ring_stage_open(&stage);
    ring_stage_build(&stage, "ring", &geometry, &ring);
    ring_builder_add_process(&ring, 0, 4690, 1, "checkout");
    ring_builder_link_module(&ring, 0, ring_builder_add_module(&ring, 4096, 8192, 0, "/bin/checkout", NULL, 0));
    for (uint32_t slot = 0; slot < SLOTS; slot += 4)
        ring_builder_add_id(&ring, slot, slot + 1, 4690, 0, "worker");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
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

static int open_file(void)
{
    int descriptor = open(ring_stage_path(&stage, "ring"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    assert_true(descriptor >= 0);
    return descriptor;
}

static struct mapping open_mapping(void)
{
    enum rip_status status;
    struct mapping mapping;

    assert_int_equal(mapping_open(&mapping, open_file(), method, &status), 0);
    assert_int_equal(mapping.copied, method == MAPPING_COPIED);
    return mapping;
}

static int open_status(enum rip_status *ret_status)
{
    struct mapping mapping;
    int descriptor = open_file();
    int result = mapping_open(&mapping, descriptor, method, ret_status);

    if (result == 0)
        mapping_close(&mapping);
    assert_int_equal(fcntl(descriptor, F_GETFD), -1); /* taken over in any case */
    return result;
}

static void assert_refused(enum rip_status expected)
{
    enum rip_status status = RIP_OK;

    assert_int_equal(open_status(&status), 1);
    assert_int_equal(status, expected);
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

/* Reads everything there is, twice, in batches of any size. */
BOTH(everything_is_read)
{
    static const size_t batches[] = {1, 7, 64, 100, SLOTS};
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_sample samples[SLOTS];
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_last_info last;
    struct rip_wait_info wait;
    struct rip_note_info note;
    struct rip_ring_info info;
    struct rip_id_info id;
    struct mapping mapping;
    size_t count = 0;

    ring_builder_run_to(&ring, 1020, 40);
    mapping = open_mapping();
    assert_int_equal(mapping.size_bytes, ring.ring->file_bytes);
    assert_int_equal(mapping_check(&mapping), 0);
    assert_int_equal(mapping_info(&mapping, &info), 0);
    assert_int_equal(info.process_high_water, 1);
    assert_int_equal(info.slot_capacity, SLOTS);
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
        struct rip_scan_position position = {0};
        size_t total = 0;

        do {
            count = 0;
            assert_int_equal(mapping_scan(&mapping, &position, samples, batches[i], &count), 0);
            for (size_t j = 0; j < count; j++)
                assert_int_equal(samples[j].slot, 4 * (total + j));
            total += count;
        } while (count == batches[i]);
        assert_int_equal(total, SLOTS / 4);
    }
    assert_int_equal(mapping_id(&mapping, 1020, &id), 0);
    assert_int_equal(id.id, 1021);
    assert_int_equal(id.slot, 1020);
    assert_int_equal(mapping_id(&mapping, 5, &id), 1);
    assert_int_equal(mapping_id(&mapping, SLOTS, &id), 1);
    assert_int_equal(mapping_id(&mapping, UINT32_MAX, &id), 1);
    assert_int_equal(mapping_trail(&mapping, 1020, entries, &count), 0);
    assert_int_equal(count, RIP_ENTRY_COUNT);
    assert_int_equal(entries[0].address, ring_builder_address(40));
    assert_int_equal(mapping_trail(&mapping, 5, entries, &count), 1);
    assert_int_equal(mapping_last(&mapping, 1020, &last), 0);
    assert_int_equal(last.slot, 1020);
    assert_int_equal(last.entry.address, ring_builder_address(40));
    assert_int_equal(mapping_wait(&mapping, 1020, &wait), 1);
    assert_int_equal(mapping_note(&mapping, 1020, &note), 1);
    ring_builder_note(&ring, 1020, "GET /", 5);
    assert_int_equal(mapping_note(&mapping, 1020, &note), 0);
    assert_int_equal(note.slot, 1020);
    assert_int_equal(note.text_bytes, 5);
    assert_memory_equal(note.text, "GET /", 5);
    assert_int_equal(mapping_note(&mapping, 5, &note), 1);
    assert_int_equal(mapping_note(&mapping, SLOTS, &note), 1);
    assert_int_equal(mapping_process(&mapping, 0, &process), 0);
    assert_int_equal(process.pid, 4690);
    assert_int_equal(mapping_process(&mapping, 1, &process), 1);
    assert_int_equal(mapping_process(&mapping, UINT32_MAX, &process), 1);
    assert_int_equal(mapping_module(&mapping, 0, 0, &module), 0);
    assert_int_equal(module.start, 4096);
    assert_int_equal(mapping_module(&mapping, 0, 1, &module), 1);
    assert_int_equal(mapping_module(&mapping, 0, UINT32_MAX, &module), 1);
    mapping_close(&mapping);
}

BOTH(scripts_are_read)
{
    struct rip_script_info script;
    struct mapping mapping;

    ring_builder_add_script(&ring, "order.rb", "place");
    ring_builder_add_script(&ring, "order.rb", "pay");
    mapping = open_mapping();
    assert_int_equal(mapping_script(&mapping, PLACE(1), &script), 0);
    assert_int_equal(script.index, 1);
    assert_int_equal(script.line, 12);
    assert_memory_equal(script.function, "pay", 4);
    assert_int_equal(mapping_script(&mapping, PLACE(2), &script), 1);
    assert_int_equal(mapping_script(&mapping, PLACE(4), &script), 1);
    assert_int_equal(mapping_script(&mapping, 4096, &script), 1);
    mapping_close(&mapping);
}

/* A view of a file whose writers go on: what they store is seen. */
BOTH(stores_are_seen)
{
    struct rip_id_info id;
    struct mapping mapping = open_mapping();

    for (uint64_t count = 1; count < 1000; count++) {
        ring_builder_run_to(&ring, 8, count);
        assert_int_equal(mapping_id(&mapping, 8, &id), 0);
        assert_int_equal(id.progress, count);
    }
    assert_int_equal(mapping_id(&mapping, 9, &id), 1);
    ring_builder_add_id(&ring, 9, 77, 4690, 0, "late");
    assert_int_equal(mapping_id(&mapping, 9, &id), 0);
    assert_int_equal(id.id, 77);
    mapping_close(&mapping);
}

BOTH(no_more_is_mapped_than_the_header_says)
{
    struct mapping mapping;

    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), (off_t)ring.size_bytes * 16), 0);
    mapping = open_mapping();
    assert_int_equal(mapping.size_bytes, ring.size_bytes);
    mapping_close(&mapping);
}

BOTH(sizes_that_lie)
{
    ring.ring->file_bytes = 0;
    assert_refused(RIP_DAMAGED);
    ring.ring->file_bytes = 100;
    assert_refused(RIP_DAMAGED);
    ring.ring->file_bytes = ring.size_bytes + 1;
    assert_refused(RIP_TRUNCATED);
    ring.ring->file_bytes = UINT64_MAX;
    assert_refused(RIP_DAMAGED);
    ring.ring->file_bytes = MAPPING_BYTES_MAX + 1; /* the file really is that large, and sparse */
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), (off_t)MAPPING_BYTES_MAX + 1), 0);
    assert_refused(RIP_DAMAGED);
}

BOTH(what_is_not_a_ring_of_ours)
{
    ring.ring->format_version = 2;
    assert_refused(RIP_OTHER_VERSION);
    ring.ring->format_version = RIP_FORMAT_VERSION;
    ring.ring->incompatible_flags = 1;
    assert_refused(RIP_UNKNOWN_FEATURE);
    ring.ring->magic = __builtin_bswap64(RIP_MAGIC);
    assert_refused(RIP_OTHER_BYTE_ORDER);
    ring.ring->magic = 0; /* not finished */
    assert_refused(RIP_NOT_A_RING);
    ring.ring->magic = RIP_MAGIC;
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 100), 0);
    assert_refused(RIP_TRUNCATED);
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 7), 0);
    assert_refused(RIP_NOT_A_RING);
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 0), 0);
    assert_refused(RIP_NOT_A_RING);
}

/* A foreign sparse file stays sparse: looking at it allocates nothing. */
BOTH(foreign_files_are_not_mapped)
{
    struct stat before, after;

    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 0), 0);
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 1 << 20), 0);
    assert_int_equal(stat(ring_stage_path(&stage, "ring"), &before), 0);
    assert_refused(RIP_NOT_A_RING);
    assert_int_equal(stat(ring_stage_path(&stage, "ring"), &after), 0);
    assert_int_equal(before.st_blocks, 0);
    assert_int_equal(after.st_blocks, 0);
}

/* Holes ------------------------------------------------------------------------------------------------------------ */

static blkcnt_t blocks_of_ring(void)
{
    struct stat status;

    assert_int_equal(stat(ring_stage_path(&stage, "ring"), &status), 0);
    return status.st_blocks;
}

/* Each part of the ring in turn is a hole in place of data. Reading it allocates nothing. */
BOTH(holes_stay_holes)
{
    enum { HOLE_LIVE, HOLE_SLOTS, HOLE_PROCESSES, HOLE_MODULES, HOLE_COUNT };
    const struct ring_geometry geometry = {.slot_capacity = 1 << 20, .process_capacity = 64, .module_capacity = 4096};

    for (int hole = 0; hole < HOLE_COUNT; hole++) {
        struct rip_scan_position position = {0};
        struct rip_sample samples[64];
        struct rip_process_info process;
        struct rip_module_info module;
        struct rip_id_info id;
        struct mapping mapping;
        blkcnt_t before;
        size_t count = 0;
        bool fails;
        int result;

        ring_stage_release(&ring);
        unlink(ring_stage_path(&stage, "ring"));
        ring_stage_build(&stage, "ring", &geometry, &ring);
        ring_builder_add_process(&ring, 0, 4690, 1, "checkout");
        memset(ring.bytes + ring.ring->summary_offset, 0xff, (1 << 20) / 64 / 8);
        if (hole == HOLE_SLOTS)
            memset(ring.bytes + ring.ring->live_offset, 0xff, (1 << 20) / 8);
        ring.ring->process_high_water = 64;
        ring.ring->module_high_water = 4096;
        ring_builder_process(&ring, 0)->module_count = 384;
        for (uint16_t i = 0; i < 384; i++)
            ring_builder_process(&ring, 0)->module_index[i] = i * 10;
        before = blocks_of_ring();
        mapping = open_mapping();
        fails = method == MAPPING_MAPPED || hole == HOLE_SLOTS;
        if (hole == HOLE_PROCESSES) {
            result = mapping_process(&mapping, 63, &process);
        } else if (hole == HOLE_MODULES) {
            result = mapping_module(&mapping, 0, 300, &module);
        } else {
            result = mapping_id(&mapping, 1 << 19, &id);
            assert_true(fails ? result == -EIO : result >= 0);
            mapping_close(&mapping);
            mapping = open_mapping();
            while ((result = mapping_scan(&mapping, &position, samples, 64, &count)) == 0 && count == 64)
                continue;
        }
        assert_true(fails ? result == -EIO : result >= 0);
        assert_true(!fails || strstr(mapping.reason, "hole") != NULL);
        assert_int_equal(blocks_of_ring(), before);
        mapping_close(&mapping);
    }
}

/* The page was there when the ring was scanned, and is taken away before the next scan. */
BOTH(a_hole_that_is_punched_stays)
{
    const off_t page = (off_t)(ring.ring->slot_offset + 10 * RIP_PAGE_BYTES);
    int descriptor = open(ring_stage_path(&stage, "ring"), O_RDWR | O_CLOEXEC);
    struct rip_scan_position position = {0};
    struct mapping mapping = open_mapping();
    struct rip_sample samples[SLOTS];
    size_t count;
    blkcnt_t before;

    assert_true(descriptor >= 0);
    assert_int_equal(mapping_scan(&mapping, &position, samples, SLOTS, &count), 0);
    assert_int_equal(count, SLOTS / 4);
    assert_int_equal(fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page, RIP_PAGE_BYTES), 0);
    before = blocks_of_ring();
    position = (struct rip_scan_position){0};
    assert_int_equal(mapping_scan(&mapping, &position, samples, SLOTS, &count), -EIO);
    assert_int_equal(blocks_of_ring(), before);
    mapping_close(&mapping);
    close(descriptor);
}

/* Where holes cannot be refused, as on a disk, files are copied. */
TEST(other_file_systems_are_copied, set_up, tear_down, &mapped)
{
    char path[] = "/var/tmp/mapping-XXXXXX";
    int descriptor = mkstemp(path);
    struct rip_process_info process;
    enum rip_status status;
    struct mapping mapping;

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
    mapping_close(&mapping);
}

/* Cut while mapped ------------------------------------------------------------------------------------------------- */

static void assert_unreadable(struct mapping *mapping)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_scan_position position = {0};
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_sample samples[4];
    struct rip_ring_info info;
    struct rip_id_info id;
    size_t count;

    assert_true(mapping->damaged);
    assert_int_equal(mapping_check(mapping), -EIO);
    assert_int_equal(mapping_info(mapping, &info), -EIO);
    assert_int_equal(mapping_scan(mapping, &position, samples, 4, &count), -EIO);
    assert_int_equal(mapping_id(mapping, 0, &id), -EIO);
    assert_int_equal(mapping_trail(mapping, 0, entries, &count), -EIO);
    assert_int_equal(mapping_process(mapping, 0, &process), -EIO);
    assert_int_equal(mapping_module(mapping, 0, 0, &module), -EIO);
}

/* Each function in turn is the first to fault. */
BOTH(each_read_survives)
{
    for (int first = 0; first < 6; first++) {
        struct rip_entry entries[RIP_ENTRY_COUNT];
        struct rip_scan_position position = {0};
        struct rip_sample samples[4];
        struct rip_process_info process;
        struct rip_module_info module;
        struct rip_ring_info info;
        struct rip_id_info id;
        struct mapping mapping;
        size_t count;
        int result = 0;

        if (first > 0) {
            tear_down(NULL);
            set_up(NULL);
        }
        mapping = open_mapping();
        assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 0), 0);
        switch (first) {
        case 0:
            result = mapping_info(&mapping, &info);
            break;
        case 1:
            result = mapping_scan(&mapping, &position, samples, 4, &count);
            break;
        case 2:
            result = mapping_id(&mapping, 0, &id);
            break;
        case 3:
            result = mapping_trail(&mapping, 0, entries, &count);
            break;
        case 4:
            result = mapping_process(&mapping, 0, &process);
            break;
        default:
            result = mapping_module(&mapping, 0, 0, &module);
            break;
        }
        assert_int_equal(result, -EIO);
        assert_string_equal(mapping.reason, "was cut short");
        assert_unreadable(&mapping);
        mapping_close(&mapping);
        assert_unreadable(&mapping);
    }
}

/* The cut takes only slots that are not read: the size shows it. */
BOTH(a_cut_that_is_not_touched_is_noticed)
{
    struct rip_ring_info info;
    struct mapping mapping;

    mapping = open_mapping();
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), (off_t)ring.size_bytes - 1), 0);
    assert_int_equal(mapping_info(&mapping, &info), 0);
    assert_int_equal(mapping_check(&mapping), -EIO);
    assert_unreadable(&mapping);
    mapping_close(&mapping);
}

BOTH(check_sees_what_changed)
{
    struct mapping mapping;

    mapping = open_mapping();
    assert_int_equal(mapping.file.links, 1);
    unlink(ring_stage_path(&stage, "ring"));
    assert_int_equal(mapping_check(&mapping), 0);
    assert_int_equal(mapping.file.links, 0);
    mapping_close(&mapping);
}
