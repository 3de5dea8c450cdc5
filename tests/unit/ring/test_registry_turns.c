/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_turns.c - equal shares of owners, and wishes that take turns: ripd/ring/registry_turns.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ring/registry_state.h"

enum { WISHES = 1000, AMOUNT = 20, RINGS = 4 };

/* A ring, and how often each of its wishes was served. */
struct wisher {
    struct ring ring;
    uint32_t wishes;
    unsigned served[WISHES];
};

/* One scan. */
static void serve(struct registry *registry, struct wisher *wishers, size_t count)
{
    struct ring *rings[RINGS];
    struct turns turns;

    for (size_t i = 0; i < count; i++)
        rings[i] = &wishers[i].ring;
    registry->rings = rings;
    registry->ring_count = count;
    registry_owners_refresh(registry);
    registry->rings = NULL;
    turns_begin(&turns, registry, TURNS_ROOTS);
    for (size_t i = 0; i < count; i++)
        if (wishers[i].wishes != 0)
            turns_wish(&turns, &wishers[i].ring);
    turns_share(&turns, AMOUNT);
    for (unsigned sweep = 0; sweep < TURNS_SWEEPS; sweep++) {
        for (size_t i = 0; i < count; i++) {
            for (uint32_t wish = 0; wish < wishers[i].wishes; wish++) {
                uint64_t key = turns_key(wishers[i].ring.serial, wish);

                if (!turns_due(&turns, &wishers[i].ring, key, sweep) || turns_left(&turns, &wishers[i].ring, key) == 0)
                    continue;
                turns_spend(&turns, &wishers[i].ring, 1);
                wishers[i].served[wish]++;
            }
        }
    }
    turns_end(&turns);
}

static size_t sum_of(const struct wisher *wisher)
{
    size_t sum = 0;

    for (uint32_t wish = 0; wish < wisher->wishes; wish++)
        sum += wisher->served[wish];
    return sum;
}

static struct wisher *wishers_new(const uint32_t owners[RINGS], const uint32_t wishes[RINGS])
{
    struct wisher *wishers = calloc(RINGS, sizeof(*wishers));

    for (uint32_t i = 0; i < RINGS; i++) {
        wishers[i].ring.serial = 10 + i;
        wishers[i].ring.mapping.file.uid = owners[i];
        wishers[i].wishes = wishes[i];
    }
    return wishers;
}

/* Whoever wishes for a lot has half of it, and the other what is left of that. */
static void test_an_owner_has_a_share_of_its_own(void **state)
{
    struct registry *registry = calloc(1, sizeof(*registry));
    struct wisher *wishers =
        wishers_new((const uint32_t[]){0, 0, 1, 2}, (const uint32_t[]){WISHES, WISHES, AMOUNT / 2, 0});

    (void)state;
    serve(registry, wishers, RINGS);
    assert_int_equal(sum_of(&wishers[0]) + sum_of(&wishers[1]), AMOUNT / 2);
    assert_int_equal(sum_of(&wishers[2]), AMOUNT / 2);
    free(wishers);
    free(registry);
}

/* Rings of one owner, and the wishes of one ring. */
static void test_every_wish_has_its_turn(void **state)
{
    struct registry *registry = calloc(1, sizeof(*registry));
    struct wisher *wishers = wishers_new((const uint32_t[]){0, 0, 1, 0}, (const uint32_t[]){WISHES, 5, 3, 1});
    const size_t scans = (WISHES + 5 + 1) * 2 / AMOUNT + 1;

    (void)state;
    for (size_t i = 0; i < scans; i++)
        serve(registry, wishers, RINGS);
    for (size_t i = 0; i < RINGS; i++)
        for (uint32_t wish = 0; wish < wishers[i].wishes; wish++)
            assert_in_range(wishers[i].served[wish], i == 2 ? scans : 1, i == 2 ? scans : 2);
    free(wishers);
    free(registry);
}

/* More than there is: each has something all the same. */
static void test_a_share_is_never_nothing(void **state)
{
    struct registry *registry = calloc(1, sizeof(*registry));
    struct ring ring = {.serial = 1};
    struct turns turns;

    (void)state;
    registry->owner_count = REGISTRY_OWNERS_MAX;
    turns_begin(&turns, registry, TURNS_DOUBTS);
    for (ring.owner = 0; ring.owner < REGISTRY_OWNERS_MAX; ring.owner++)
        turns_wish(&turns, &ring);
    turns_share(&turns, AMOUNT);
    ring.owner = 63;
    assert_int_equal(turns_left(&turns, &ring, turns_key(1, 0)), 1);
    free(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_owner_has_a_share_of_its_own),
        cmocka_unit_test(test_every_wish_has_its_turn),
        cmocka_unit_test(test_a_share_is_never_nothing),
    };

    return cmocka_run_group_tests_name("registry_turns", tests, NULL, NULL);
}
