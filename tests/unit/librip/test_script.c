/* SPDX-License-Identifier: Apache-2.0 */
/* test_script.c - functions of scripts: rip_script_enter() and rip_view_script(). */
#include <stdio.h>
#include <sys/wait.h>

#include "unit/forked_test.h"

static uint64_t enter(const char *file, const char *function, uint32_t first_line)
{
    return rip_script_enter(file, strlen(file), function, strlen(function), first_line);
}

static enum rip_status copy(uint64_t place, struct rip_script_info *ret_info)
{
    return rip_view_script(own_view(), place, ret_info);
}

static bool says(uint64_t place, const char *file, const char *function, uint32_t first_line, uint32_t line)
{
    struct rip_script_info info;

    return copy(place, &info) == RIP_OK && info.file_bytes == strlen(file) &&
           memcmp(info.file, file, info.file_bytes) == 0 && info.function_bytes == strlen(function) &&
           memcmp(info.function, function, info.function_bytes) == 0 && info.first_line == first_line &&
           info.line == line;
}

FORKED_TEST(snap_at_a_script_line)
{
    struct rip_entry trail[RIP_ENTRY_COUNT];
    size_t count;
    uint64_t place, other;

    CHECK(enter("app/order.rb", "Order#place", 10) == 0); /* no ring yet */
    make_ring(64);
    place = enter("app/order.rb", "Order#place", 10);
    other = enter("app/order.rb", "Order#cancel", 30);
    CHECK(place != 0 && other != 0 && place != other);
    CHECK(enter("app/order.rb", "Order#place", 10) == place);
    CHECK(enter("app/order.rb", "Order#place", 11) != place);
    CHECK(enter("app/orders.rb", "rder#place", 10) != place);
    register_id(7, "seven");
    rip_snap_at(RIP_SCRIPT_LINE(place, 12));
    rip_snap_at(RIP_SCRIPT_LINE(other, 0));
    CHECK(rip_view_trail(own_view(), own_slot_index(), trail, &count) == RIP_OK && count == 2);
    CHECK(says(trail[0].address, "app/order.rb", "Order#cancel", 30, 0));
    CHECK(says(trail[1].address, "app/order.rb", "Order#place", 10, 12));
}

/* Of a path the last bytes are kept, of a function the first. */
FORKED_TEST(long_texts_are_truncated)
{
    static const struct {
        size_t file_bytes, function_bytes;
        uint8_t flags;
    } cases[] = {{RIP_SCRIPT_FILE_BYTES, RIP_SCRIPT_FUNCTION_BYTES, 0},
                 {RIP_SCRIPT_FILE_BYTES + 1, RIP_SCRIPT_FUNCTION_BYTES, RIP_SCRIPT_FILE_TRUNCATED},
                 {RIP_SCRIPT_FILE_BYTES, RIP_SCRIPT_FUNCTION_BYTES + 1, RIP_SCRIPT_FUNCTION_TRUNCATED},
                 {400, 400, RIP_SCRIPT_FILE_TRUNCATED | RIP_SCRIPT_FUNCTION_TRUNCATED}};
    char file[400], function[400];
    struct rip_script_info info;

    make_ring(64);
    for (size_t i = 0; i < sizeof(file); i++) {
        file[i] = (char)(i * 37);
        function[i] = (char)(i * 41);
    }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t first = cases[i].file_bytes - RIP_SCRIPT_FILE_BYTES;

        case_number = i;
        CHECK(copy(rip_script_enter(file, cases[i].file_bytes, function, cases[i].function_bytes, 0), &info) == RIP_OK);
        CHECK(info.flags == cases[i].flags);
        CHECK(info.file_bytes == RIP_SCRIPT_FILE_BYTES && info.function_bytes == RIP_SCRIPT_FUNCTION_BYTES);
        CHECK(memcmp(info.file, file + first, RIP_SCRIPT_FILE_BYTES) == 0);
        CHECK(memcmp(info.function, function, RIP_SCRIPT_FUNCTION_BYTES) == 0);
    }
    CHECK(copy(rip_script_enter(NULL, 0, NULL, 0, 0), &info) == RIP_OK && info.file_bytes == 0 &&
          info.function_bytes == 0);
}

FORKED_TEST(a_full_table_refuses_and_counts)
{
    struct rip_ring_info info;
    uint64_t first = 0;
    char name[32];

    make_ring(64);
    for (unsigned i = 0; i < RIP_SCRIPT_MAX + 3; i++) {
        uint64_t place;

        snprintf(name, sizeof(name), "function_%u", i);
        place = enter("many.py", name, i);
        first = i == 0 ? place : first;
        CHECK((place != 0) == (i < RIP_SCRIPT_MAX));
    }
    rip_view_info(own_view(), &info);
    CHECK(info.script_high_water == RIP_SCRIPT_MAX && info.scripts_dropped_count == 3);
    CHECK(enter("many.py", "function_0", 0) == first);
}

FORKED_TEST(forked_processes_share_the_table)
{
    uint64_t before, after;

    make_ring(64);
    register_id(0, "parent");
    before = enter("app.py", "before", 1);
    if (in_child()) {
        register_id(0, "child");
        CHECK(enter("app.py", "before", 1) == before && enter("app.py", "after", 2) != 0);
        _exit(0);
    }
    after = enter("app.py", "after", 2);
    CHECK(says(after, "app.py", "after", 2, 0));
    CHECK(rip_ring->script_high_water == 2); /* parent and child share the entry */
}

FORKED_TEST(invalid_places_are_refused)
{
    struct rip_script *first;
    struct rip_script_info info;
    uint64_t place;

    make_ring(64);
    place = enter("app.py", "main", 1);
    CHECK(copy(place & ~RIP_PLACE_SCRIPT, &info) == RIP_NOT_LIVE);
    CHECK(copy(place | UINT64_C(1) << 48, &info) == RIP_NOT_LIVE);
    CHECK(copy(place + (UINT64_C(1) << RIP_PLACE_INDEX_SHIFT), &info) == RIP_NOT_LIVE); /* beyond the high-water mark */
    rip_ring->script_high_water = UINT32_MAX;
    CHECK(copy(place | RIP_PLACE_INDEX_MASK << RIP_PLACE_INDEX_SHIFT, &info) == RIP_NOT_LIVE);
    first = (void *)((unsigned char *)rip_ring + rip_ring->script_offset);
    first->file_bytes = UINT16_MAX; /* written by a hostile process */
    first->function_bytes = UINT8_MAX;
    CHECK(copy(place, &info) == RIP_OK);
    CHECK(info.file_bytes == RIP_SCRIPT_FILE_BYTES && info.function_bytes == RIP_SCRIPT_FUNCTION_BYTES);
    first->published = 0;
    CHECK(copy(place, &info) == RIP_NOT_LIVE);
}
