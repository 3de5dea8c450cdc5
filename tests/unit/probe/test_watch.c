/* SPDX-License-Identifier: Apache-2.0 */
/* test_watch.c - what is remembered of suspects from pass to pass: ripd/probe/watch.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "probe/watch.h"

static struct detector_suspect suspect_at(uint32_t ring, uint32_t slot)
{
    return (struct detector_suspect){.ring = ring, .slot = slot, .generation = 1, .tid = 100 + slot, .progress = 7};
}

/* A pass in which every suspect is looked at; facts are numbered by their descriptor. */
static void pass(struct watches *watches, struct detector_suspect *suspects, size_t count, int64_t number)
{
    assert_int_equal(watches_begin(watches, suspects, count), 0);
    for (size_t i = count; i-- > 0;) { /* in any order */
        struct watch *watch = watches_take(watches, suspects, i);

        assert_non_null(watch);
        if (watch->facts == NULL) {
            watch->facts = kernel_facts_new("");
            watch->facts->descriptor = number + (int64_t)i;
        }
    }
    watches_end(watches, suspects, count);
}

static void test_kept_while_nothing_changes(void **state)
{
    struct detector_suspect suspects[] = {suspect_at(1, 3), suspect_at(1, 9), suspect_at(2, 1)};
    struct watches watches = {0};

    (void)state;
    pass(&watches, suspects, 3, 10);
    pass(&watches, suspects, 3, 20);
    for (int i = 0; i < 3; i++)
        assert_int_equal(suspects[i].kernel->descriptor, 10 + i);
    assert_int_equal(watches_find(&watches, 1, 9, 1)->descriptor, 11);
    assert_null(watches_find(&watches, 1, 9, 2));
    assert_null(watches_find(&watches, 1, 4, 1));
    watches_done(&watches);
    assert_null(watches_find(&watches, 1, 9, 1));
}

static void test_forgotten_when_it_moves_or_goes(void **state)
{
    struct detector_suspect suspects[] = {suspect_at(1, 1), suspect_at(1, 2), suspect_at(1, 3), suspect_at(1, 4)};
    struct watches watches = {0};

    (void)state;
    pass(&watches, suspects, 4, 10);
    suspects[0].progress++;
    suspects[1].generation++;
    suspects[2].tid++;
    pass(&watches, suspects, 4, 20);
    assert_int_equal(suspects[0].kernel->descriptor, 20);
    assert_int_equal(suspects[1].kernel->descriptor, 21);
    assert_int_equal(suspects[2].kernel->descriptor, 22);
    assert_int_equal(suspects[3].kernel->descriptor, 13);
    pass(&watches, suspects, 1, 30); /* the others are suspects no more */
    assert_null(watches_find(&watches, 1, 4, 1));
    pass(&watches, suspects, 4, 40);
    assert_int_equal(suspects[3].kernel->descriptor, 43);
    pass(&watches, NULL, 0, 0);
    assert_int_equal(watches.count, 0);
    watches_done(&watches);
}

/* One that was not looked at in a pass keeps what is known of it; one that was dropped does not. */
static void test_not_looked_at_and_dropped(void **state)
{
    struct detector_suspect suspects[] = {suspect_at(1, 1), suspect_at(1, 2)};
    struct watches watches = {0};

    (void)state;
    pass(&watches, suspects, 2, 10);
    assert_int_equal(watches_begin(&watches, suspects, 2), 0);
    watches_drop(&watches, 1);
    watches_end(&watches, suspects, 2);
    assert_int_equal(suspects[0].kernel->descriptor, 10);
    assert_null(suspects[1].kernel);
    assert_null(watches_find(&watches, 1, 2, 1));
    watches_done(&watches);
}

static void test_a_limit(void **state)
{
    struct detector_suspect *suspects = calloc(WATCHES_MAX + 1, sizeof(*suspects));
    struct watches watches = {0};

    (void)state;
    for (uint32_t i = 0; i <= WATCHES_MAX; i++)
        suspects[i] = suspect_at(1, i);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(watches_begin(&watches, suspects, WATCHES_MAX + 1), 0);
        for (size_t i = 0; i < WATCHES_MAX; i++)
            assert_non_null(watches_take(&watches, suspects, i));
        assert_null(watches_take(&watches, suspects, WATCHES_MAX));
        watches_end(&watches, suspects, WATCHES_MAX + 1);
        assert_int_equal(watches.count, WATCHES_MAX);
    }
    watches_done(&watches);
    free(suspects);
}

/* Locks are pointed at in the order of suspects, in whatever order they were looked at, and not of those without. */
static void test_locks_and_doubts(void **state)
{
    struct detector_suspect suspects[] = {suspect_at(1, 1), suspect_at(1, 2), suspect_at(1, 5), suspect_at(2, 0)};
    struct watches watches = {0};

    (void)state;
    assert_int_equal(watches_begin(&watches, suspects, 4), 0);
    assert_null(watches_known(&watches, 0));
    for (size_t i = 4; i-- > 0;) {
        struct watch *watch = watches_take(&watches, suspects, i);

        watch->lock.owner.address = i != 1 ? 4096 + i : 0;
    }
    watches_drop(&watches, 2);
    assert_int_equal(watches_known(&watches, 3)->slot, 0);
    watches_end(&watches, suspects, 4);
    assert_int_equal(suspects[0].lock->owner.address, 4096);
    assert_null(suspects[1].lock);
    assert_null(suspects[2].lock);
    assert_int_equal(suspects[3].lock->owner.address, 4099);
    assert_true(watches_doubt(&watches, 2, 0, 1));
    assert_false(watches_doubt(&watches, 2, 0, 2));
    assert_false(watches_doubt(&watches, 1, 5, 1));
    assert_int_equal(watches_begin(&watches, suspects, 4), 0);
    assert_true(watches_known(&watches, 3)->doubted && !watches_known(&watches, 0)->doubted);
    watches_end(&watches, suspects, 4);
    watches_done(&watches);
}

/* A reading of a thread that had run so often by then; whole: with its lock's owner, who is always the same. */
static void read_at(struct watch *watch, uint64_t mono_ns, uint64_t run_count, bool whole)
{
    const struct kernel_reading reading = {
        .times = {.read_mono_ns = mono_ns,
                  .has = KERNEL_HAS_SCHEDSTAT,
                  .schedstat = {.cpu_ns = run_count, .slice_count = run_count},
                  .state = 'S'},
        .has = whole ? KERNEL_HAS_LOCK : 0,
        .lock_owner = {.address = 4096, .tid = 7},
        .lock_look = {mono_ns + 1, mono_ns + 2},
    };

    watch_lock(watch, &reading, whole);
    if (mono_ns >= watch->last.read_mono_ns)
        watch->last = reading.times;
}

static void test_a_lock_is_of_one_wait(void **state)
{
    struct watch watch = {.doubted = true};

    (void)state;
    read_at(&watch, 10, 1, false);
    assert_true(watch.doubted);
    read_at(&watch, 20, 1, true);
    assert_false(watch.doubted);
    read_at(&watch, 30, 1, false);
    assert_int_equal(watch.lock.looks[0].begun_mono_ns, 21);
    assert_int_equal(watch.lock.until_mono_ns, 30);
    read_at(&watch, 40, 1, true);
    assert_int_equal(watch.lock.looks[0].begun_mono_ns, 21);
    assert_int_equal(watch.lock.looks[2].begun_mono_ns, 41);

    read_at(&watch, 50, 2, false); /* it has run, and waits again */
    assert_int_equal(watch.lock.owner.address, 0);
    read_at(&watch, 60, 2, false);
    assert_int_equal(watch.lock.owner.address, 0);
    read_at(&watch, 70, 2, true); /* for the same lock, of the same owner */
    assert_int_equal(watch.lock.looks[0].begun_mono_ns, 71);

    read_at(&watch, 80, 3, true);
    assert_int_equal(watch.lock.looks[0].begun_mono_ns, 81);
}

static void test_an_answer_that_comes_late(void **state)
{
    struct watch watch = {.doubted = false};

    (void)state;
    read_at(&watch, 10, 1, false);
    read_at(&watch, 30, 1, false);
    read_at(&watch, 20, 1, true); /* of the wait that it is still in */
    assert_int_equal(watch.lock.looks[0].begun_mono_ns, 21);
    read_at(&watch, 40, 2, false);
    read_at(&watch, 35, 1, true); /* of one that is over */
    assert_int_equal(watch.lock.owner.address, 0);
    read_at(&watch, 50, 2, false);
    assert_int_equal(watch.lock.owner.address, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_while_nothing_changes),
        cmocka_unit_test(test_forgotten_when_it_moves_or_goes),
        cmocka_unit_test(test_not_looked_at_and_dropped),
        cmocka_unit_test(test_locks_and_doubts),
        cmocka_unit_test(test_a_lock_is_of_one_wait),
        cmocka_unit_test(test_an_answer_that_comes_late),
        cmocka_unit_test(test_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
