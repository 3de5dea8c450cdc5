/* SPDX-License-Identifier: Apache-2.0 */
/* test_case_incidents.c - episodes with the same root are one incident: ripd/cases/incidents.c. */
#include <stdlib.h>
#include <string.h>

#include "cases/incidents.h"
#include "support/test.h"

#define CASES_MAX 8u
#define NOBODY WAITS_NONE

/* Cases of ring 1, ordered by slot. The episode of slot n has the number n. */
static struct stall_case cases[CASES_MAX];
static struct stall_case *pointers[CASES_MAX];
static uint32_t case_count;
static struct waits *waits;

static int set_up(void **state)
{
    (void)state;
    case_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    waits_free(waits);
    waits = NULL;
    return 0;
}

/* That many further ids stall; their begins are published now. */
static void begin(unsigned count)
{
    for (; count > 0; count--) {
        struct stall_case *stall = pointers[case_count] = &cases[case_count];

        case_count++;
        *stall = (struct stall_case){.ring = 1, .slot = case_count, .generation = 2, .is_suspect = true};
        stall->suspect.state = ID_STALLED;
        stall->episode = (struct episode){.stage = EPISODE_OPEN, .number = case_count, .cause = CAUSE_BLOCKED};
    }
}

/*
 * A graph of ids: nodes[i] is slot i + 1 and waits for nodes[next[i]]. Roots are as waits_settle() finds them in a
 * graph without cycles.
 */
static void wait_as(const uint32_t *next, uint32_t count)
{
    waits_free(waits);
    waits = waits_new();
    waits->nodes = calloc(count, sizeof(*waits->nodes));
    waits->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t root = i;

        for (uint32_t steps = 0; steps < count && next[root] != NOBODY; steps++)
            root = next[root];
        waits->nodes[i] = (struct waits_node){
            .kind = WAITS_ID, .ring = 1, .slot = i + 1, .generation = 2, .next = next[i], .root = root};
        if (next[i] != NOBODY)
            waits->waiting_count = i + 1;
    }
}

static void assign(const uint64_t *expected)
{
    incidents_find_roots(pointers, case_count, waits);
    assert_int_equal(incidents_assign(pointers, case_count), 0);
    for (size_t i = 0; i < case_count; i++)
        assert_int_equal(cases[i].episode.incident, expected[i]);
}

#define WAIT(...)                                                                                                      \
    wait_as((const uint32_t[]){__VA_ARGS__}, (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))
/* Assigns incidents, and expects these, one for each case. */
#define ASSIGN(...) assign((const uint64_t[]){__VA_ARGS__})

static unsigned waiting_count_of(uint32_t slot)
{
    return cases[slot - 1].episode.waiting_count;
}

TEST(stalls_that_wait_for_nobody_are_incidents_of_their_own, set_up, tear_down)
{
    begin(3);
    ASSIGN(1, 2, 3);
    assert_int_equal(waiting_count_of(1), 0);
}

/* 1 and 2 wait for 3, which waits for 4; 5 waits for nobody. The incident has the number of the root's episode. */
TEST(a_chain, set_up, tear_down)
{
    begin(5);
    WAIT(2, 2, 3, NOBODY, NOBODY);
    ASSIGN(4, 4, 4, 4, 5);
    for (uint32_t slot = 1; slot <= 4; slot++)
        assert_int_equal(waiting_count_of(slot), 3);
    assert_int_equal(waiting_count_of(5), 0);
}

/* If the root is no stall, the first episode that waits gives the number. */
TEST(a_root_that_is_no_stall, set_up, tear_down)
{
    begin(2);
    WAIT(2, 2, NOBODY);
    ASSIGN(1, 1);
}

/* The root is a thread without an id. */
TEST(a_thread_as_root, set_up, tear_down)
{
    begin(3);
    WAIT(3, 3, 4, NOBODY, NOBODY);
    waits->nodes[3].kind = waits->nodes[4].kind = WAITS_THREAD;
    waits->nodes[3].holder = 77;
    waits->nodes[4].holder = 78;
    ASSIGN(1, 1, 3);
}

/* 3 waits for the deadlock of 1 and 2. */
TEST(a_deadlock, set_up, tear_down)
{
    begin(3);
    WAIT(1, 0, 1);
    for (size_t i = 0; i < 3; i++)
        waits->nodes[i].root = 0;
    ASSIGN(1, 1, 1);
    assert_int_equal(waiting_count_of(1), 3);
}

/* Threads 1, 2 and 4 of process 0 and 5 of process 1 wait for others of their process; 3 waits for something else. */
TEST(stuck_processes, set_up, tear_down)
{
    begin(5);
    for (size_t i = 0; i < 5; i++)
        cases[i].suspect.call = i == 2 ? RIP_CALL_BLOCK : RIP_CALL_PRIVATE;
    cases[4].suspect.process = 1;
    ASSIGN(1, 1, 3, 1, 5);
    assert_int_equal(waiting_count_of(1), 3);
    assert_int_equal(waiting_count_of(3), 0);
}

/* A later stall joins the incident, and does not change the episodes that are in it. */
TEST(later_stalls_join, set_up, tear_down)
{
    begin(1);
    ASSIGN(1);
    begin(2);
    WAIT(2, 2, NOBODY);
    ASSIGN(1, 1, 1);
    assert_int_equal(waiting_count_of(1), 0);
    assert_int_equal(waiting_count_of(2), 2);
    WAIT(NOBODY, NOBODY, NOBODY);
    ASSIGN(1, 1, 1);
}

/* 1, 2 and 3 were not examined in time; 3 belongs to another process. 4 was examined and waits for nobody. */
static void begin_unexamined(void)
{
    begin(4);
    for (size_t i = 0; i < 3; i++)
        cases[i].episode.cause = CAUSE_NONE;
    cases[2].suspect.process = 1;
    ASSIGN(1, 1, 3, 4);
}

/*
 * The unexamined stalls of a process are one incident. What 1 and 2 are later found to wait for does not change that:
 * 5, which is not examined either, joins them. 6 was examined and joins the older of the two incidents with its root.
 */
TEST(unexamined_stalls_of_a_process_are_one_incident, set_up, tear_down)
{
    begin_unexamined();
    begin(2);
    cases[4].episode.cause = CAUSE_NONE;
    WAIT(3, 3, NOBODY, NOBODY, NOBODY, 3);
    ASSIGN(1, 1, 3, 4, 1, 1);
    assert_int_equal(waiting_count_of(5), 0);
    assert_int_equal(waiting_count_of(6), 3);
}

/* The holder is found after the begins of its waiters; then the holder stalls too, and further waiters come. */
TEST(a_holder_that_is_found_late, set_up, tear_down)
{
    begin_unexamined();
    begin(3);
    WAIT(4, 4, NOBODY, NOBODY, NOBODY, 4, NOBODY);
    ASSIGN(1, 1, 3, 4, 1, 1, 7);
    assert_int_equal(waiting_count_of(5), 3);
}

/* The lock of 1 is known from its mark, although its thread was not examined. */
TEST(unexamined_with_a_known_root, set_up, tear_down)
{
    begin(2);
    cases[0].episode.cause = CAUSE_NONE;
    WAIT(1, NOBODY);
    ASSIGN(2, 2);
}

TEST(no_stall_joins_an_incident_that_is_over, set_up, tear_down)
{
    begin(1);
    ASSIGN(1);
    begin(1);
    WAIT(1, NOBODY);
    cases[0].episode.stage = EPISODE_OVER;
    ASSIGN(1, 2);
}

/* An episode whose begin waits for quota has no number yet, and no incident. */
TEST(no_number_no_incident, set_up, tear_down)
{
    begin(2);
    cases[0].episode.number = 0;
    WAIT(1, NOBODY);
    ASSIGN(0, 2);
    assert_int_equal(waiting_count_of(2), 1); /* it counts as a waiter nevertheless */
}

/* incidents_enter() and incidents_leave() return whether an episode is the first or last of its incident. */
TEST(first_and_last)
{
    struct incidents incidents = {.count = 0};

    assert_true(incidents_enter(&incidents, 5));
    assert_false(incidents_enter(&incidents, 5));
    assert_true(incidents_enter(&incidents, 3));
    assert_int_equal(incidents.count, 2);
    assert_false(incidents_leave(&incidents, 5));
    assert_true(incidents_leave(&incidents, 5));
    assert_int_equal(incidents.count, 1);
    assert_true(incidents_leave(&incidents, 5)); /* unknown: must not hold back the end */
    assert_true(incidents_leave(&incidents, 3));
    assert_int_equal(incidents.count, 0);
    incidents_done(&incidents);
}

TEST(many_incidents)
{
    struct incidents incidents = {.count = 0};

    for (uint64_t number = 1; number <= 10000; number++)
        assert_true(incidents_enter(&incidents, number));
    for (uint64_t number = 1; number <= 10000; number += 2)
        assert_true(incidents_leave(&incidents, number));
    assert_int_equal(incidents.count, 5000);
    assert_true(incidents_enter(&incidents, 1)); /* a number that has left can enter again */
    assert_int_equal(incidents.count, 5001);
    for (uint64_t number = 2; number <= 10000; number += 2)
        assert_true(incidents_leave(&incidents, number));
    assert_true(incidents_leave(&incidents, 1));
    assert_int_equal(incidents.count, 0);
    incidents_done(&incidents);
}
