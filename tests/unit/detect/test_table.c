/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_table.c - search in the columns of a ring's ids, and their memory: ripd/detect/table.c. test_detector_model.c
 * covers merge and compaction.
 */
#include <stdlib.h>
#include <string.h>

#include "detect/table.h"
#include "support/test.h"

static void append(struct table *table, uint32_t slot, uint64_t progress)
{
    const size_t at = table->count;

    assert_int_equal(table_reserve(table, at + 1), 0);
    table->slots[at] = slot;
    table->progress[at] = progress;
    table->generations[at] = table->deadlines[at] = table->marks[at] = 0;
    table->rules[at] = table->name_versions[at] = 0;
    table->count++;
}

TEST(seek_from_anywhere)
{
    struct table table = {0};

    for (uint32_t i = 0; i < 50; i++)
        append(&table, 3 * i, 1);
    for (size_t from = 0; from <= 50; from++) {
        for (uint32_t slot = 0; slot < 160; slot++) {
            size_t expected = (slot + 2) / 3 < 50 ? (slot + 2) / 3 : 50;

            assert_int_equal(table_seek(&table, from, slot), expected > from ? expected : from);
        }
    }
    table_done(&table);
    assert_int_equal(table_seek(&table, 0, 5), 0);
}

TEST(memory_is_released)
{
    struct table table = {0};

    for (uint32_t i = 0; i < 100000; i++)
        append(&table, i, 1);
    for (uint32_t i = 0; i < 90000; i++)
        table.marks[i] = TABLE_REMOVED;
    table_compact(&table);
    assert_int_equal(table.count, 10000);
    assert_true(table.capacity <= 2 * 10000 + 64);
    for (uint32_t i = 0; i < 10000; i++)
        table.marks[i] = TABLE_REMOVED;
    table_compact(&table);
    assert_int_equal(table.count, 0);
    assert_int_equal(table.capacity, 0);
    assert_null(table.slots);
}

TEST(a_size_that_overflows_is_refused)
{
    struct table table = {0};

    append(&table, 5, 9);
    assert_int_not_equal(table_reserve(&table, SIZE_MAX / 4), 0);
    assert_int_equal(table.count, 1);
    assert_true(table.capacity < 100);
    assert_int_equal(table.slots[0], 5);
    assert_int_equal(table.progress[0], 9);
    table_done(&table);
}
