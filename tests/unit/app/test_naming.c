/* SPDX-License-Identifier: Apache-2.0 */
/* test_naming.c - who waits for names, and for how long: ripd/app/naming.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/naming.h"
#include "os/clock.h"
#include "unit/samples.h"

#define LONG_NS UINT64_C(3600000000000)
#define PATIENCE_NS UINT64_C(20000000000) /* of a machine that is busy */

static char script[] = "/tmp/test_naming-XXXXXX";

/* Names by a program that never says that it is ready. */
static void open_silent(struct naming *naming)
{
    const struct symbols_options options = {
        .program = script, .answer_ns = LONG_NS, .still_ns = 0, .restart_ns = LONG_NS};

    *naming = (struct naming){.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    assert_int_equal(symbols_new(&naming->symbols, &options), 0);
}

static struct page *page_of(struct snapshot *snapshot)
{
    const struct query query = {.limit = 10};
    struct page *page = query_stalls(&query, snapshot);

    assert_non_null(page);
    assert_true(page->count != 0);
    return page;
}

/* Pages are held, so many and so long; in order of arrival. */
static void test_pages(void **state)
{
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    uint64_t before_ns = clock_mono_ns(), ticket = 0;
    struct page *page = page_of(snapshot), *released = NULL;
    struct naming naming;

    (void)state;
    open_silent(&naming);
    assert_false(naming_hold(&naming, 1, NULL));
    for (uint64_t i = 0; i < NAMING_PAGES_MAX; i++)
        assert_true(naming_hold(&naming, i, page_ref(page)));
    assert_false(naming_hold(&naming, 99, page)); /* shown as it is */
    assert_true(naming_wait_ns(&naming, clock_mono_ns()) <= NAMING_PAGE_NS);
    for (uint64_t i = 0; i < NAMING_PAGES_MAX; i++) {
        while (!naming_release(&naming, &ticket, &released)) {
            assert_true(clock_mono_ns() - before_ns < PATIENCE_NS);
            usleep(10000);
        }
        assert_int_equal(ticket, i);
        assert_ptr_equal(released, page);
        page_unref(released);
    }
    assert_true(clock_mono_ns() - before_ns >= NAMING_PAGE_NS);
    assert_false(naming_release(&naming, &ticket, &released));
    assert_true(naming_wait_ns(&naming, 0) == UINT64_MAX);
    assert_true(naming_hold(&naming, 1, page_ref(page)));
    naming_close(&naming); /* lets go of what it holds */
    assert_int_equal(atomic_load(&page->references), 1);
    page_unref(page);
    snapshot_unref(snapshot);
}

/* A scan does not wait longer than it may, and asks for each place once. */
static void test_stalls(void **state)
{
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    uint64_t before_ns = clock_mono_ns();
    struct naming naming;

    (void)state;
    open_silent(&naming);
    snapshot->interval_ns = LONG_NS;
    naming_stalls(&naming, snapshot);
    assert_true(clock_mono_ns() - before_ns >= NAMING_STALLS_NS);
    for (size_t i = 0; i < snapshot->stall_count; i++)
        assert_true(snapshot->stalls[i].item->names_asked);
    for (int i = 0; i < 100; i++) /* nothing to ask for: nothing to wait for */
        naming_stalls(&naming, snapshot);
    assert_true(clock_mono_ns() - before_ns < PATIENCE_NS);
    naming_close(&naming);
    snapshot_unref(snapshot);
}

/* A file whose names take too much: no answer is waited for, nor asked for again. */
static void test_no_room(void **state)
{
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    struct module_facts *module = snapshot->stalls[0].item->process->modules[0];
    struct page *page = page_of(snapshot);
    struct health health = {0};
    struct naming naming;

    (void)state;
    for (uint64_t i = UINT64_MAX; !symbol_table_is_full(&module->symbols); i--)
        assert_int_equal(symbol_table_add(&module->symbols, i, symbol_new(NULL, 0)), 0);
    open_silent(&naming);
    naming_stalls(&naming, snapshot);
    for (size_t i = 0; i < snapshot->stall_count; i++)
        assert_true(snapshot->stalls[i].item->names_asked);
    assert_false(naming_hold(&naming, 1, page));
    naming_health(&naming, &health);
    assert_true(health.limit_counts[HEALTH_LIMIT_SYMBOLS] >= snapshot->stall_count);
    assert_int_equal(health.names_refused_count, 0);
    assert_int_equal(health.names_bytes, 0);
    assert_int_equal(health.names_bytes_max, SYMBOLS_BYTES_MAX);
    page_unref(page);
    naming_close(&naming);
    snapshot_unref(snapshot);
}

static uint64_t refused_on_a_scan(struct naming *naming, const struct snapshot *snapshot)
{
    struct health before = {0}, after = {0};

    naming_health(naming, &before);
    naming_stalls(naming, snapshot);
    naming_health(naming, &after);
    return after.names_refused_count - before.names_refused_count;
}

/* Where nothing can be asked now, a scan does not ask for each place of each trail to be told so. */
static void test_refused(void **state)
{
    const struct symbols_options options = {.program = "/nonexistent", .answer_ns = LONG_NS, .restart_ns = LONG_NS};
    struct snapshot *snapshot = sample_snapshot(1, 1000, 1);
    struct item **item = &snapshot->stalls[0].item;
    struct process_facts *process = process_facts_ref((*item)->process);
    struct naming naming = {.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

    (void)state;
    item_unref(*item);
    *item = sample_item(process, "checkout", 1, 17, "worker-17", 9, 32);
    assert_int_equal(symbols_new(&naming.symbols, &options), 0);
    naming_stalls(&naming, snapshot);
    for (uint64_t before_ns = clock_mono_ns(); !symbols_are_idle(naming.symbols); usleep(1000))
        assert_true(clock_mono_ns() - before_ns < PATIENCE_NS); /* until it is known that there is none to ask */
    (*item)->names_asked = false;
    assert_in_range(refused_on_a_scan(&naming, snapshot), 1, 2);
    assert_false((*item)->names_asked); /* on a later scan, all of them */
    naming_close(&naming);
    snapshot_unref(snapshot);
}

static void test_without(void **state)
{
    struct naming naming = {.descriptor = -1};
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    struct page *page = page_of(snapshot);
    struct health health = {.reload_count = 7};

    (void)state;
    naming_stalls(&naming, snapshot);
    assert_false(naming_hold(&naming, 1, page));
    naming_health(&naming, &health);
    assert_int_equal(health.reload_count, 7);
    page_unref(page);
    snapshot_unref(snapshot);
    naming_close(&naming);
}

/* The symbolizer of this build, on a file that is not there. */
static void test_the_real_one(void **state)
{
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    struct health health = {0};
    struct naming naming;

    (void)state;
    naming_open(&naming, NULL, NULL, &(struct hash_key){{0, 0}});
    if (naming.symbols == NULL) {
        snapshot_unref(snapshot);
        skip();
    }
    snapshot->interval_ns = LONG_NS;
    naming_stalls(&naming, snapshot);
    for (uint64_t before_ns = clock_mono_ns(); !symbols_are_idle(naming.symbols); usleep(1000))
        assert_true(clock_mono_ns() - before_ns < PATIENCE_NS);
    naming_health(&naming, &health);
    assert_int_equal(health.names_found_count, 0);
    assert_true(health.names_missing_count != 0);
    assert_int_equal(health.symbolizer_start_count, 1);
    naming_close(&naming);
    snapshot_unref(snapshot);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),   cmocka_unit_test(test_stalls),  cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_without), cmocka_unit_test(test_the_real_one),
    };

    return cmocka_run_group_tests(tests, make_script, remove_script);
}
