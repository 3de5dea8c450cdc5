/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_golden.c - a ring of format 1 (golden/format-1.ring), made when the format was fixed, reads as it did then, and
 * today's ring.h describes the same bytes. Expected values are numbers, because names of ring.h could change together
 * with a mistake.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rip/reader.h"
#include "support/ring_builder.h"
#include "support/test.h"

enum { GOLDEN_BYTES = 24576 };

static unsigned char golden[GOLDEN_BYTES + 1] __attribute__((aligned(4096)));

static int load_golden(void **state)
{
    const char *path = RIP_GOLDEN_FOLDER "/format-1.ring";
    FILE *file = fopen(path, "rb");
    size_t size_bytes;

    (void)state;
    if (file == NULL) {
        perror(path);
        return -1;
    }
    size_bytes = fread(golden, 1, sizeof(golden), file);
    fclose(file);
    return size_bytes == GOLDEN_BYTES ? 0 : -1;
}

static uint64_t number_at(size_t offset, size_t width)
{
    uint64_t value = 0;

    for (size_t i = width; i-- > 0;)
        value = value << 8 | golden[offset + i];
    return value;
}

TEST(bytes_have_not_moved)
{
    static const struct {
        size_t offset;
        size_t width;
        uint64_t value;
    } numbers[] = {
        {0, 8, UINT64_C(0x00474e4952504952)},
        {8, 4, 1},
        {12, 4, 4096},
        {16, 4, 0x01020304},
        {40, 8, 24576},
        {80, 8, UINT64_C(1700000000000000000)},
        {96, 4, 10},
        {100, 4, 384},
        {104, 8, 20480},
        {112, 4, 32},
        {116, 4, 64},
        {120, 8, 4096},
        {128, 8, 8192},
        {136, 4, 4},
        {140, 4, 1024},
        {144, 8, 12288},
        {152, 4, 8},
        {156, 4, 512},
        {160, 8, 16384},
        {168, 8, UINT64_C(1) << 60},
        {544, 8, 7},
        {552, 4, 2},
        {556, 4, 3},
        {4096, 8, 1},                                      /* summary */
        {8192, 8, 0x22f},                                  /* live: 0 1 2 3 5 9 */
        {12288, 4, 3},                                     /* process 0: LIVE */
        {12300, 4, 4690},                                  /* ... pid */
        {12304, 8, 123456},                                /* ... start time */
        {13312, 4, 4},                                     /* process 1: EXITED */
        {12544 + 4, 2, 2},                                 /* the third module of process 0 */
        {16384, 8, 0x400000},                              /* module 0: start */
        {16392, 8, 0x500000},                              /* ... end */
        {20864, 8, 918273},                                /* slot 1: count */
        {20864 + 16, 4, 2},                                /* ... generation */
        {20864 + 20, 4, 17},                               /* ... id */
        {20864 + 24, 4, 4711},                             /* ... tid */
        {20864 + 320, 1, 9},                               /* ... name */
        {20864 + 64 + 8, 8, UINT64_C(0x0100000000401234)}, /* ... entry 918273 % 32 = 1, tag 918273 % 256 = 1 */
        {21248 + 8, 8, UINT64_C(0xfffffffffffffffa)},      /* slot 2: idle at 5 */
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (number_at(numbers[i].offset, numbers[i].width) != numbers[i].value)
            fail_msg("at %zu: 0x%" PRIx64 ", not 0x%" PRIx64, numbers[i].offset,
                     number_at(numbers[i].offset, numbers[i].width), numbers[i].value);
    }
    assert_memory_equal(golden + 20864 + 321, "worker-17", 9);
}

TEST(todays_header_means_the_same_bytes)
{
    struct ring_builder builder;

    ring_builder_new_sample(&builder);
    assert_int_equal(builder.size_bytes, GOLDEN_BYTES);
    for (size_t i = 0; i < GOLDEN_BYTES; i++) {
        if (builder.bytes[i] != golden[i])
            fail_msg("at %zu: 0x%02x, not 0x%02x", i, builder.bytes[i], golden[i]);
    }
    ring_builder_free(&builder);
}

TEST(ids_read_as_they_did)
{
    struct rip_scan_position position = {0};
    struct rip_entry entries[32];
    struct rip_sample samples[16];
    struct rip_id_info info;
    struct rip_view view;
    size_t count;

    assert_int_equal(rip_view_open(&view, golden, GOLDEN_BYTES), RIP_OK);
    assert_int_equal(rip_view_scan(&view, &position, samples, 16), 5);
    assert_int_equal(rip_view_id(&view, 1, &info), RIP_OK);
    assert_int_equal(info.id, 17);
    assert_int_equal(info.tid, 4711);
    assert_int_equal(info.process, 0);
    assert_int_equal(info.idle, 0);
    assert_int_equal(info.snap_count, 918273);
    assert_int_equal(info.name_bytes, 9);
    assert_memory_equal(info.name, "worker-17", 9);
    assert_int_equal(rip_view_trail(&view, 1, entries, &count), RIP_OK);
    assert_int_equal(count, 32);
    assert_int_equal(entries[0].snap, 918273);
    assert_int_equal(entries[0].address, 0x401234);
    assert_int_equal(entries[31].snap, 918242);

    assert_int_equal(rip_view_id(&view, 0, &info), RIP_OK);
    assert_int_equal(info.idle, 1);
    assert_int_equal(rip_view_trail(&view, 0, entries, &count), RIP_OK);
    assert_int_equal(count, 0);
    assert_int_equal(rip_view_id(&view, 3, &info), RIP_OK);
    assert_true(info.id == 4000000000u && info.kind == 1 && info.tid == 0);
    assert_memory_equal(info.name, "coroutine \xff\n", 12);
    assert_int_equal(rip_view_id(&view, 4, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_id(&view, 5, &info), RIP_CHANGED);
    assert_int_equal(rip_view_id(&view, 9, &info), RIP_OK);
    assert_int_equal(info.name_bytes, 63);
}

/* The ring is older than the counts of ended ids. */
TEST(counts_of_ended_ids_are_zero)
{
    struct rip_ring_info info;
    struct rip_ended ended;
    struct rip_view view;
    uint64_t next = 1;

    assert_int_equal(rip_view_open(&view, golden, GOLDEN_BYTES), RIP_OK);
    rip_view_info(&view, &info);
    assert_int_equal(info.counts_ended | info.ended_count | info.ended_snap_count | info.flush_count, 0);
    assert_int_equal(info.ended_settled, 1);
    assert_int_equal(rip_view_ended(&view, 0, &ended, 1, &next), 0);
    assert_int_equal(next, 0);
    assert_int_equal(rip_view_ended_id(&view, 4, 2, &(struct rip_id_info){0}), RIP_OK); /* it ended, too */
}

TEST(processes_read_as_they_did)
{
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_view view;

    assert_int_equal(rip_view_open(&view, golden, GOLDEN_BYTES), RIP_OK);
    assert_int_equal(rip_view_process(&view, 0, &process), RIP_OK);
    assert_int_equal(process.state, 3);
    assert_int_equal(process.pid, 4690);
    assert_int_equal(process.uid, 1000);
    assert_int_equal(process.module_count, 3);
    assert_string_equal((const char *)process.comm, "checkout");
    assert_int_equal(rip_view_process(&view, 1, &process), RIP_OK);
    assert_int_equal(process.state, 4);
    assert_int_equal(rip_view_process(&view, 2, &process), RIP_NOT_LIVE);
    assert_int_equal(rip_view_module(&view, 0, 1, &module), RIP_OK);
    assert_true(module.start == UINT64_C(0x7f0000000000) && module.end == UINT64_C(0x7f0000200000));
    assert_true(module.bias == UINT64_C(0x7f0000000000));
    assert_int_equal(module.build_id_bytes, 8);
    assert_memory_equal(module.build_id, "\x9c\x0f\x01\x02\x03\x04\x05\x06", 8);
    assert_int_equal(module.path_bytes, 14);
    assert_memory_equal(module.path, "/lib/libc.so.6", 14);
    assert_int_equal(rip_view_module(&view, 0, 0, &module), RIP_OK);
    assert_int_equal(module.flags, 2);
    assert_int_equal(rip_view_module(&view, 0, 3, &module), RIP_NOT_LIVE);
}

/* For programs built earlier: sizes do not change, and reserved bytes read 0 = absent. */
TEST(sizes_of_structs_do_not_change)
{
    static const struct {
        size_t bytes, fixed_bytes, reserved_offset, fixed_offset;
    } structs[] = {
#define STRUCT(type, bytes, offset) {sizeof(struct type), bytes, offsetof(struct type, reserved_##offset), offset}
        STRUCT(rip_view, 168, 132),        STRUCT(rip_ring_info, 168, 126),   STRUCT(rip_sample, 32, 28),
        STRUCT(rip_entry, 24, 16),         STRUCT(rip_scan_position, 32, 24), STRUCT(rip_id_info, 176, 118),
        STRUCT(rip_wait_info, 88, 56),     STRUCT(rip_last_info, 64, 40),     STRUCT(rip_process_info, 136, 72),
        STRUCT(rip_module_info, 536, 504), STRUCT(rip_note_info, 160, 144),   STRUCT(rip_ended, 24, 16),
        STRUCT(rip_script_info, 416, 384),
#undef STRUCT
    };
    struct rip_sample samples[16];
    struct rip_scan_position position = {0};
    struct rip_process_info process;
    struct rip_id_info info;
    struct rip_view view;

    for (size_t i = 0; i < sizeof(structs) / sizeof(structs[0]); i++) {
        assert_int_equal(structs[i].bytes, structs[i].fixed_bytes);
        assert_int_equal(structs[i].reserved_offset, structs[i].fixed_offset);
    }
    memset(&info, 0xff, sizeof(info));
    memset(&process, 0xff, sizeof(process));
    memset(samples, 0xff, sizeof(samples));
    assert_int_equal(rip_view_open(&view, golden, GOLDEN_BYTES), RIP_OK);
    assert_int_equal(rip_view_scan(&view, &position, samples, 16), 5);
    assert_int_equal(samples[4].deadline_ms | samples[4].call | samples[4].reserved_28 | samples[4].name_version, 0);
    assert_int_equal(rip_view_id(&view, 1, &info), RIP_OK);
    assert_int_equal(info.deadline_ms | info.call | info.name_version | info.reserved_118[0], 0);
    assert_int_equal(info.reserved_120[0] | info.reserved_120[6], 0);
    assert_int_equal(rip_view_process(&view, 0, &process), RIP_OK);
    assert_int_equal(process.reserved_72[0] | process.reserved_72[7], 0);
}

int main(void)
{
    return tests_run(load_golden, NULL);
}
