/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_state.c - names of states and causes in the HTTP interface, and what a cause implies.
 */
#include <string.h>

#include "detect/state.h"
#include "support/test.h"

TEST(names)
{
    assert_string_equal(id_state_name(ID_RUNNING), "running");
    assert_string_equal(id_state_name(ID_IDLE), "idle");
    assert_string_equal(id_state_name(ID_STALLED), "stalled");
    assert_string_equal(id_state_name(ID_STOPPED), "stopped");
    assert_string_equal(id_state_name(ID_EXITED), "exited");
    assert_string_equal(id_state_name(ID_DEAD), "dead");
    assert_string_equal(id_cause_name(CAUSE_NONE), "");
    assert_string_equal(id_cause_name(CAUSE_CORE_DUMP), "core-dump");
    assert_string_equal(id_cause_name(CAUSE_UNINTERRUPTIBLE), "uninterruptible");
}

TEST(every_name_is_found_again)
{
    for (int i = 0; i < ID_STATE_COUNT; i++)
        assert_int_equal(id_state_from_name(id_state_name((enum id_state)i)), i);
    for (int i = 0; i < CAUSE_COUNT; i++)
        if (i != CAUSE_NONE)
            assert_int_equal(id_cause_from_name(id_cause_name((enum id_cause)i)), i);
}

TEST(unknown_names_and_values)
{
    assert_int_equal(id_state_from_name("Running"), -1);
    assert_int_equal(id_state_from_name(""), -1);
    assert_int_equal(id_cause_from_name(""), -1);
    assert_int_equal(id_cause_from_name(NULL), -1);
    assert_int_equal(id_cause_from_name("block"), -1);
    assert_string_equal(id_state_name((enum id_state)77), "");
    assert_string_equal(id_cause_name((enum id_cause)77), "");
    assert_string_equal(id_cause_meaning((enum id_cause)77), "");
    assert_string_equal(id_cause_meaning(CAUSE_NONE), "not examined yet");
    for (int i = 0; i < CAUSE_COUNT; i++)
        assert_true(strlen(id_cause_meaning((enum id_cause)i)) > 10);
    for (int i = 0; i < ID_STATE_COUNT; i++)
        assert_true(strlen(id_state_meaning((enum id_state)i)) > 10);
}

TEST(letters_differ)
{
    for (int i = 0; i < ID_STATE_COUNT; i++) {
        assert_in_range(id_state_letter((enum id_state)i), 'a', 'z');
        for (int other = 0; other < i; other++)
            assert_int_not_equal(id_state_letter((enum id_state)i), id_state_letter((enum id_state)other));
    }
    assert_int_equal(id_state_letter(ID_STOPPED), 't');
    assert_int_equal(id_state_letter((enum id_state)77), '?');
}

TEST(causes_of_a_stop)
{
    static const enum id_cause of_stops[] = {CAUSE_SIGNAL, CAUSE_TRACER, CAUSE_FREEZER, CAUSE_CORE_DUMP};
    int count = 0;

    for (int i = 0; i < CAUSE_COUNT; i++)
        count += id_cause_stops((enum id_cause)i);
    assert_int_equal(count, COUNT_OF(of_stops));
    for (int i = 0; i < count; i++)
        assert_true(id_cause_stops(of_stops[i]));
    assert_false(id_cause_stops(CAUSE_COUNT));
}

/* Certain: the program did not choose to wait. A preloaded program that spins may just compute. */
TEST(certain_causes)
{
    for (int cause = 0; cause < CAUSE_COUNT; cause++) {
        const bool listed = cause == CAUSE_BLOCKED || cause == CAUSE_UNINTERRUPTIBLE || cause == CAUSE_STARVED ||
                            cause == CAUSE_DEADLOCK || cause == CAUSE_PARKED;

        assert_int_equal(id_cause_is_certain((enum id_cause)cause, true), listed);
        assert_int_equal(id_cause_is_certain((enum id_cause)cause, false), listed || cause == CAUSE_SPINNING);
    }
}
