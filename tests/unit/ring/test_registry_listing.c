/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_registry_listing.c - time for listing threads, which owners of rings share: ripd/ring/registry_thread.c. What is
 * found is in test_registry_process.c and test_registry_thread.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "ring/registry_state.h"

enum { OWNERS = 2 };

struct fixture {
    struct registry registry;
    struct ring rings[OWNERS];
    struct ring_process processes[OWNERS];
};

/* Each owner has a ring of this process, as if it were in another pid namespace. */
static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->registry.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    fixture->registry.owner_count = OWNERS;
    for (uint32_t i = 0; i < OWNERS; i++) {
        fixture->processes[i] = (struct ring_process){.verdict = PROCESS_ATTESTED, .pid = (uint32_t)getpid()};
        fixture->rings[i] =
            (struct ring){.serial = i + 1, .owner = i, .process_count = 1, .processes = &fixture->processes[i]};
    }
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < OWNERS; i++)
        registry_forget_threads(&fixture->processes[i]);
    close(fixture->registry.proc);
    free(fixture);
    return 0;
}

static int find(struct fixture *fixture, size_t owner)
{
    uint32_t tid;

    return registry_find_thread(&fixture->registry, &fixture->rings[owner], 0, (uint32_t)getpid(), UINT64_MAX, &tid);
}

/* As if so much had been spent. */
static void spend(struct fixture *fixture, size_t owner, uint64_t spent_ns)
{
    fixture->registry.listing_ns += spent_ns;
    fixture->registry.owners[owner].listing_ns += spent_ns;
}

/* A busy machine may need more than one attempt. */
static int find_in_time(struct fixture *fixture, size_t owner)
{
    const struct registry before = fixture->registry;
    int result = -EAGAIN;

    for (int i = 0; i < 1000 && result == -EAGAIN; i++) {
        fixture->registry = before;
        result = find(fixture, owner);
    }
    return result;
}

static void test_time_is_left_for_the_next_owner(void **state)
{
    struct fixture *fixture = *state;

    spend(fixture, 0, REGISTRY_LISTING_NS / 2);
    assert_int_equal(find(fixture, 0), -EAGAIN);
    assert_int_equal(find_in_time(fixture, 1), 0);
}

static void test_not_more_than_there_is(void **state)
{
    struct fixture *fixture = *state;

    spend(fixture, 0, 2 * REGISTRY_LISTING_NS);
    assert_int_equal(find(fixture, 0), -EAGAIN);
    assert_int_equal(find(fixture, 1), -EAGAIN);
}

static void test_who_is_alone_has_it_all(void **state)
{
    struct fixture *fixture = *state;

    fixture->registry.owner_count = 1;
    spend(fixture, 0, REGISTRY_LISTING_NS / 2);
    assert_int_equal(find_in_time(fixture, 0), 0);
}

int main(void)
{
#define THREAD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        THREAD_TEST(test_time_is_left_for_the_next_owner),
        THREAD_TEST(test_not_more_than_there_is),
        THREAD_TEST(test_who_is_alone_has_it_all),
    };

    return cmocka_run_group_tests_name("registry_listing", tests, NULL, NULL);
}
