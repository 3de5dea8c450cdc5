/* SPDX-License-Identifier: Apache-2.0 */
/* test_naming.c - which pages and cases wait for names, and for how long: ripd/app/naming.c. */
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/naming.h"
#include "os/clock.h"
#include "support/test.h"
#include "unit/samples.h"

#define LONG_NS UINT64_C(3600000000000)
#define PATIENCE_NS UINT64_C(20000000000) /* of a machine that is busy */

static char script[] = "/tmp/test_naming-XXXXXX";

/* A snapshot with a described case for each of its stalls, and the names for them. */
static struct {
    struct snapshot *snapshot;
    struct work *work;
    struct cases *cases;
    struct naming naming;
    uint64_t began_ns;
} world;

static uint64_t elapsed_ns(void)
{
    return clock_mono_ns() - world.began_ns;
}

static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring;
}

static int set_up_stalls(size_t stall_count, size_t entry_count)
{
    struct detector_suspect suspects[8] = {{.slot = 0}};

    world.began_ns = clock_mono_ns();
    world.snapshot = sample_snapshot(1, 1000, stall_count);
    world.snapshot->interval_ns = LONG_NS;
    world.work = work_new();
    world.cases = cases_new(world.work, 0);
    for (uint32_t i = 0; i < stall_count; i++)
        suspects[i] = (struct detector_suspect){.ring = 1, .slot = i, .state = ID_STALLED};
    assert_int_equal(cases_begin(world.cases, suspects, stall_count, user_of, NULL), 0);
    for (uint32_t i = 0; i < stall_count; i++) {
        struct item **item = &world.snapshot->stalls[i].item;
        struct process_facts *process = process_facts_ref((*item)->process);

        item_unref(*item);
        *item = sample_item(process, "checkout", 1, 17 + i, "worker-17", 9, entry_count);
        cases_find(world.cases, 1, i, 0)->item = item_ref(*item);
    }
    world.naming = (struct naming){.descriptor = -1};
    return 0;
}

/* Fixture: three stalls, and no symbolizer. */
static int set_up(void **state)
{
    (void)state;
    return set_up_stalls(3, 1);
}

static int open_with(const char *program)
{
    const struct symbols_options options = {
        .program = program, .answer_ns = LONG_NS, .still_ns = 0, .restart_ns = LONG_NS};

    world.naming = (struct naming){.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    return symbols_new(&world.naming.symbols, &options);
}

/* Fixture: three stalls, and a symbolizer that never reports that it is ready. */
static int set_up_silent(void **state)
{
    set_up(state);
    return open_with(script);
}

static int tear_down(void **state)
{
    (void)state;
    naming_close(&world.naming);
    cases_free(world.cases);
    work_free(world.work);
    snapshot_unref(world.snapshot);
    return 0;
}

static struct page *page_of_stalls(void)
{
    const struct query query = {.limit = 10};
    struct page *page = query_stalls(&query, world.snapshot);

    assert_non_null(page);
    assert_true(page->count != 0);
    return page;
}

static void name_cases(void)
{
    naming_cases(&world.naming, world.cases, world.snapshot);
}

/* All names have been requested. */
static bool are_names_requested(void)
{
    size_t count, requested = 0;
    struct stall_case *const *stalls = cases_all(world.cases, &count);

    for (size_t i = 0; i < count; i++)
        requested += stalls[i]->names_asked;
    return requested == count;
}

static void wait_until_idle(void)
{
    for (; !symbols_are_idle(world.naming.symbols); usleep(1000))
        assert_true(elapsed_ns() < PATIENCE_NS);
}

/* A limited number of pages is held for a limited time, in order of arrival. */
TEST(pages, set_up_silent, tear_down)
{
    struct naming *naming = &world.naming;
    struct page *page = page_of_stalls(), *released = NULL;
    uint64_t ticket = 0;

    assert_false(naming_hold(naming, 1, NULL));
    for (uint64_t i = 0; i < NAMING_PAGES_MAX; i++)
        assert_true(naming_hold(naming, i, page_ref(page)));
    assert_false(naming_hold(naming, 99, page)); /* answered without names */
    assert_true(naming_wait_ns(naming, clock_mono_ns()) <= NAMING_PAGE_NS);
    for (uint64_t i = 0; i < NAMING_PAGES_MAX; i++) {
        while (!naming_release(naming, &ticket, &released)) {
            assert_true(elapsed_ns() < PATIENCE_NS);
            usleep(10000);
        }
        assert_int_equal(ticket, i);
        assert_ptr_equal(released, page);
        page_unref(released);
    }
    assert_true(elapsed_ns() >= NAMING_PAGE_NS);
    assert_false(naming_release(naming, &ticket, &released));
    assert_true(naming_wait_ns(naming, 0) == UINT64_MAX);
    assert_true(naming_hold(naming, 1, page_ref(page)));
    naming_close(naming); /* releases the page that is held */
    *naming = (struct naming){.descriptor = -1};
    assert_int_equal(atomic_load(&page->references), 1);
    page_unref(page);
}

/* A scan waits for a limited time, and requests each name once. */
TEST(stalls, set_up_silent, tear_down)
{
    name_cases();
    assert_true(elapsed_ns() >= NAMING_STALLS_NS);
    assert_true(are_names_requested());
    for (int i = 0; i < 100; i++) /* nothing to request, nothing to wait for */
        name_cases();
    assert_true(elapsed_ns() < PATIENCE_NS);
}

/* A module whose names take too much memory: nothing is requested or waited for. */
TEST(no_room, set_up_silent, tear_down)
{
    struct module_facts *module = world.snapshot->stalls[0].item->process->modules[0];
    struct page *page = page_of_stalls();
    struct health health = {0};

    for (uint64_t i = UINT64_MAX; !symbol_table_is_full(&module->symbols); i--)
        assert_int_equal(symbol_table_add(&module->symbols, i, symbol_new(NULL, 0)), 0);
    name_cases();
    assert_true(are_names_requested());
    assert_false(naming_hold(&world.naming, 1, page));
    naming_health(&world.naming, &health);
    assert_true(health.limit_counts[HEALTH_LIMIT_SYMBOLS] >= world.snapshot->stall_count);
    assert_int_equal(health.names_refused_count, 0);
    assert_int_equal(health.names_bytes, 0);
    assert_int_equal(health.names_bytes_max, SYMBOLS_BYTES_MAX);
    page_unref(page);
}

/* While the symbolizer accepts no query, a scan stops at the first refusal, and does not try each place of a trail. */
TEST(refused, NULL, tear_down)
{
    struct health before = {0}, after = {0};

    set_up_stalls(1, 32);
    assert_int_equal(open_with("/nonexistent"), 0);
    name_cases();
    wait_until_idle(); /* it is known that the program does not start */
    cases_find(world.cases, 1, 0, 0)->names_asked = false;
    naming_health(&world.naming, &before);
    name_cases();
    naming_health(&world.naming, &after);
    assert_in_range(after.names_refused_count - before.names_refused_count, 1, 2);
    assert_false(are_names_requested()); /* a later scan requests all of them */
}

TEST(without_a_symbolizer, set_up, tear_down)
{
    struct page *page = page_of_stalls();
    struct health health = {.reload_count = 7};

    name_cases();
    assert_false(naming_hold(&world.naming, 1, page));
    naming_health(&world.naming, &health);
    assert_int_equal(health.reload_count, 7);
    page_unref(page);
}

/* The symbolizer of this build, on a file that does not exist. */
TEST(the_real_symbolizer, set_up, tear_down)
{
    struct health health = {0};

    naming_open(&world.naming, NULL, NULL, &(struct hash_key){{0, 0}}, NULL, 0);
    if (world.naming.symbols == NULL)
        skip();
    name_cases();
    wait_until_idle();
    naming_health(&world.naming, &health);
    assert_int_equal(health.names_found_count, 0);
    assert_true(health.names_missing_count != 0);
    assert_int_equal(health.symbolizer_start_count, 1);
}

static int make_script(void **state)
{
    int descriptor = mkstemp(script);

    (void)state;
    return descriptor < 0 || dprintf(descriptor, "#!/bin/sh\nexec sleep 1000\n") <= 0 ||
           fchmod(descriptor, 0700) != 0 || close(descriptor) != 0;
}

static int remove_script(void **state)
{
    (void)state;
    return unlink(script);
}

int main(void)
{
    return tests_run(make_script, remove_script);
}
