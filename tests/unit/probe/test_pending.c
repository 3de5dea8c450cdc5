/* SPDX-License-Identifier: Apache-2.0 */
/* test_pending.c - whose thread is looked at next: ripd/probe/pending.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "probe/probe_state.h"

enum { OWNERS = 3, SUSPECTS = 1000 };

/* A process for each owner, whose suspects come in any order. */
struct fixture {
    struct ring rings[OWNERS];
    struct subject subjects[OWNERS];
    uint32_t owners[SUSPECTS];
    struct pending pending[SUSPECTS];
    struct probe probe;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    for (uint32_t i = 0; i < OWNERS; i++) {
        fixture->rings[i].owner = i == OWNERS - 1 ? REGISTRY_OWNERS_MAX - 1 : i;
        fixture->subjects[i].ring = &fixture->rings[i];
    }
    fixture->probe.subjects = fixture->subjects;
    fixture->probe.owners = fixture->owners;
    fixture->probe.pending = fixture->pending;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void add(struct fixture *fixture, uint32_t owner, enum pending_class class, uint64_t order)
{
    const uint32_t suspect = (uint32_t)fixture->probe.pending_count++;

    fixture->owners[suspect] = owner;
    fixture->pending[suspect] = (struct pending){class, suspect, order};
}

/* Whose turn it is; that takes 10 ns. OWNERS: nobody's. */
static uint32_t turn(struct fixture *fixture, bool known)
{
    struct lane *lane = pending_turn(&fixture->probe, known);

    if (lane == NULL)
        return OWNERS;
    lane->spent_ns += 10;
    return fixture->owners[pending_pop(&fixture->probe, lane).suspect];
}

static void test_in_order_within_an_owner(void **state)
{
    struct fixture *fixture = *state;
    uint64_t random = 1;
    size_t count = 0;

    for (size_t i = 0; i < SUSPECTS; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        add(fixture, (uint32_t)(random >> 60) % OWNERS, random >> 50 & 1 ? PENDING_NEXT : PENDING_NEW,
            random >> 32 & 0xff);
    }
    pending_sort(&fixture->probe);
    for (uint32_t i = 0; i < OWNERS; i++) {
        struct lane *lane = &fixture->probe.lanes[fixture->rings[i].owner];
        struct pending before = {PENDING_NEW, 0, 0};

        for (; lane->count != 0; count++) {
            struct pending next = pending_pop(&fixture->probe, lane);

            assert_int_equal(fixture->owners[next.suspect], i);
            assert_true(before.class < next.class || (before.class == next.class && before.order <= next.order));
            before = next;
        }
    }
    assert_int_equal(count, SUSPECTS);
}

/* Though those of the other have waited for longer. */
static void test_owners_take_turns(void **state)
{
    struct fixture *fixture = *state;
    unsigned turns = 0;

    for (uint64_t i = 0; i < SUSPECTS - 2; i++)
        add(fixture, 0, PENDING_NEW, i);
    add(fixture, 1, PENDING_NEW, SUSPECTS);
    add(fixture, 2, PENDING_DOUBTED, 0);
    pending_sort(&fixture->probe);
    for (unsigned i = 0; i < 3; i++)
        turns |= 1u << turn(fixture, true);
    assert_int_equal(turns, 7);
    for (size_t i = 0; i < SUSPECTS - 3; i++)
        assert_int_equal(turn(fixture, true), 0); /* nothing is kept for those who need it no more */
    assert_int_equal(turn(fixture, true), OWNERS);
}

/* Those who are known have a part of the time. */
static void test_only_who_is_new(void **state)
{
    struct fixture *fixture = *state;

    for (uint64_t i = 0; i < 5; i++)
        add(fixture, 0, PENDING_NEXT, i);
    add(fixture, 1, PENDING_NEW, 3);
    add(fixture, 1, PENDING_LATER, 1);
    pending_sort(&fixture->probe);
    assert_int_equal(turn(fixture, false), 1);
    assert_int_equal(turn(fixture, false), OWNERS);
    assert_int_equal(turn(fixture, true), 0);
}

int main(void)
{
#define PENDING_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PENDING_TEST(test_in_order_within_an_owner),
        PENDING_TEST(test_owners_take_turns),
        PENDING_TEST(test_only_who_is_new),
    };

    return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}
