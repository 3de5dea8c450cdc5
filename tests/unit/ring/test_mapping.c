/* SPDX-License-Identifier: Apache-2.0 */
/* test_mapping.c - ring files mapped, refused and cut: ripd/ring/mapping.c. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/sigbus.h"
#include "ring/mapping.h"
#include "support/ring_stage.h"

enum { SLOTS = 1024 };

static struct ring_stage stage;
static struct ring_builder ring;

static int set_up(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = SLOTS};

    (void)state;
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

static int open_file(void)
{
    int descriptor = open(ring_stage_path(&stage, "ring"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    assert_true(descriptor >= 0);
    return descriptor;
}

static int open_status(enum rip_status *ret_status)
{
    struct mapping mapping;
    int descriptor = open_file();
    int result = mapping_open(&mapping, descriptor, ret_status);

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

static void test_everything_is_read(void **state)
{
    struct rip_crumb crumbs[RIP_ENTRY_COUNT];
    struct rip_sample samples[SLOTS];
    struct rip_scan_position position = {0};
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_ring_info info;
    struct rip_id_info id;
    struct mapping mapping;
    enum rip_status status;
    size_t count = 0;

    (void)state;
    assert_int_equal(mapping_open(&mapping, open_file(), &status), 0);
    assert_int_equal(mapping.size_bytes, ring.ring->file_bytes);
    assert_int_equal(mapping_check(&mapping), 0);
    assert_int_equal(mapping_info(&mapping, &info), 0);
    assert_int_equal(info.process_high_water, 1);
    assert_int_equal(mapping_scan(&mapping, &position, samples, SLOTS, &count), 0);
    assert_int_equal(count, SLOTS / 4);
    assert_int_equal(mapping_id(&mapping, 4, &id), 0);
    assert_int_equal(id.id, 5);
    assert_int_equal(mapping_id(&mapping, 5, &id), 1);
    assert_int_equal(mapping_trail(&mapping, 4, crumbs, &count), 0);
    assert_int_equal(count, 0);
    assert_int_equal(mapping_trail(&mapping, 5, crumbs, &count), 1);
    assert_int_equal(mapping_process(&mapping, 0, &process), 0);
    assert_int_equal(process.pid, 4690);
    assert_int_equal(mapping_process(&mapping, 1, &process), 1);
    assert_int_equal(mapping_module(&mapping, 0, 0, &module), 0);
    assert_int_equal(module.start, 4096);
    assert_int_equal(mapping_module(&mapping, 0, 1, &module), 1);
    mapping_close(&mapping);
}

static void test_no_more_is_mapped_than_the_header_says(void **state)
{
    struct mapping mapping;
    enum rip_status status;

    (void)state;
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), (off_t)ring.size_bytes * 16), 0);
    assert_int_equal(mapping_open(&mapping, open_file(), &status), 0);
    assert_int_equal(mapping.size_bytes, ring.size_bytes);
    mapping_close(&mapping);
}

static void test_sizes_that_lie(void **state)
{
    (void)state;
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

static void test_what_is_not_a_ring_of_ours(void **state)
{
    (void)state;
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
static void test_foreign_files_are_not_mapped(void **state)
{
    struct stat before, after;

    (void)state;
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 0), 0);
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 1 << 20), 0);
    assert_int_equal(stat(ring_stage_path(&stage, "ring"), &before), 0);
    assert_refused(RIP_NOT_A_RING);
    assert_int_equal(stat(ring_stage_path(&stage, "ring"), &after), 0);
    assert_int_equal(before.st_blocks, 0);
    assert_int_equal(after.st_blocks, 0);
}

/* Cut while mapped ------------------------------------------------------------------------------------------------- */

static void assert_unreadable(struct mapping *mapping)
{
    struct rip_crumb crumbs[RIP_ENTRY_COUNT];
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
    assert_int_equal(mapping_trail(mapping, 0, crumbs, &count), -EIO);
    assert_int_equal(mapping_process(mapping, 0, &process), -EIO);
    assert_int_equal(mapping_module(mapping, 0, 0, &module), -EIO);
}

/* Each function in turn is the first to fault. */
static void test_each_read_survives(void **state)
{
    (void)state;
    for (int first = 0; first < 6; first++) {
        struct rip_crumb crumbs[RIP_ENTRY_COUNT];
        struct rip_scan_position position = {0};
        struct rip_sample samples[4];
        struct rip_process_info process;
        struct rip_module_info module;
        struct rip_ring_info info;
        struct rip_id_info id;
        struct mapping mapping;
        enum rip_status status;
        size_t count;
        int result = 0;

        if (first > 0) {
            tear_down(NULL);
            set_up(NULL);
        }
        assert_int_equal(mapping_open(&mapping, open_file(), &status), 0);
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
            result = mapping_trail(&mapping, 0, crumbs, &count);
            break;
        case 4:
            result = mapping_process(&mapping, 0, &process);
            break;
        default:
            result = mapping_module(&mapping, 0, 0, &module);
            break;
        }
        assert_int_equal(result, -EIO);
        assert_unreadable(&mapping);
        mapping_close(&mapping);
        assert_unreadable(&mapping);
    }
}

/* Only slots that nobody reads are cut off: the size tells. */
static void test_a_cut_that_is_not_touched_is_noticed(void **state)
{
    struct rip_ring_info info;
    struct mapping mapping;
    enum rip_status status;

    (void)state;
    assert_int_equal(mapping_open(&mapping, open_file(), &status), 0);
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), (off_t)ring.size_bytes - 1), 0);
    assert_int_equal(mapping_info(&mapping, &info), 0);
    assert_int_equal(mapping_check(&mapping), -EIO);
    assert_unreadable(&mapping);
    mapping_close(&mapping);
}

static void test_check_sees_what_changed(void **state)
{
    struct mapping mapping;
    enum rip_status status;

    (void)state;
    assert_int_equal(mapping_open(&mapping, open_file(), &status), 0);
    assert_int_equal(mapping.file.links, 1);
    unlink(ring_stage_path(&stage, "ring"));
    assert_int_equal(mapping_check(&mapping), 0);
    assert_int_equal(mapping.file.links, 0);
    mapping_close(&mapping);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_more_is_mapped_than_the_header_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes_that_lie, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_a_ring_of_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_files_are_not_mapped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_read_survives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_cut_that_is_not_touched_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check_sees_what_changed, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
