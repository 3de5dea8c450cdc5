/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_table.c - the columns of a ring's ids: merge, compaction, search, and release of memory. The model is an array
 * with an element for every slot.
 */
#include <stdlib.h>
#include <string.h>

#include "detect/table.h"
#include "support/test.h"

#define SLOTS 300u

static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % bound;
}

static void append(struct table *table, uint32_t slot, uint64_t progress)
{
    assert_int_equal(table_reserve(table, table->count + 1), 0);
    table->slots[table->count] = slot;
    table->progress[table->count] = progress;
    table->generations[table->count] = slot + 7;
    table->deadlines[table->count] = slot * 3;
    table->rules[table->count] = (uint8_t)(slot % (TABLE_RULE_OWN + 1));
    table->marks[table->count++] = mark_make(slot, ID_STALLED, CAUSE_BLOCKED);
}

/* progress_of[slot] is 0 if there is no id. */
static void assert_is(const struct table *table, const uint64_t *progress_of)
{
    size_t i = 0;

    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const size_t index = table_seek(table, 0, slot);

        assert_int_equal(index, i);
        assert_int_equal(index < table->count && table->slots[index] == slot, progress_of[slot] != 0);
        if (!progress_of[slot])
            continue;
        assert_int_equal(table->progress[i], progress_of[slot]);
        assert_int_equal(table->generations[i], slot + 7);
        assert_int_equal(mark_stamp(table->marks[i]), slot);
        assert_int_equal(table->deadlines[i], slot * 3);
        assert_int_equal(table->rules[i], slot % (TABLE_RULE_OWN + 1));
        i++;
    }
    assert_int_equal(table->count, i);
}

TEST(merges_and_compactions_agree_with_the_model)
{
    struct table table = {0}, added = {0};
    uint64_t progress_of[SLOTS] = {0};

    random_state = 7;
    for (int round = 0; round < 2000; round++) {
        const uint32_t add_chance = random_below(100), remove_chance = random_below(100);

        for (size_t i = 0; i < table.count; i++) {
            if (random_below(100) >= remove_chance)
                continue;
            progress_of[table.slots[i]] = 0;
            table.marks[i] = TABLE_REMOVED;
        }
        table_compact(&table);
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            if (progress_of[slot] || random_below(100) >= add_chance)
                continue;
            progress_of[slot] = 1 + random_below(1000);
            append(&added, slot, progress_of[slot]);
        }
        assert_int_equal(table_merge(&table, &added), 0);
        assert_int_equal(added.count, 0);
        assert_is(&table, progress_of);
    }
    table_done(&table);
    table_done(&added);
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
