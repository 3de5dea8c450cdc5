/* SPDX-License-Identifier: Apache-2.0 */
/* test_naming.c - who waits for names, and for how long: ripd/app/naming.c. */
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
TEST(pages)
{
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    uint64_t before_ns = clock_mono_ns(), ticket = 0;
    struct page *page = page_of(snapshot), *released = NULL;
    struct naming naming;

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

static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring;
}

/* A described case for each stall of a snapshot. */
struct scan_cases {
    struct work *work;
    struct cases *cases;
};

static struct scan_cases cases_of(const struct snapshot *snapshot)
{
    struct detector_suspect suspects[8] = {{.slot = 0}};
    struct scan_cases made = {.work = work_new()};

    assert_non_null(made.work);
    made.cases = cases_new(made.work, 0);
    assert_non_null(made.cases);
    assert_true(snapshot->stall_count <= 8);
    for (uint32_t i = 0; i < snapshot->stall_count; i++)
        suspects[i] = (struct detector_suspect){.ring = 1, .slot = i, .state = ID_STALLED};
    assert_int_equal(cases_begin(made.cases, suspects, snapshot->stall_count, user_of, NULL), 0);
    for (uint32_t i = 0; i < snapshot->stall_count; i++)
        cases_find(made.cases, 1, i, 0)->item = item_ref(snapshot->stalls[i].item);
    return made;
}

static void cases_done(struct scan_cases *made)
{
    cases_free(made->cases);
    work_free(made->work);
}

static bool are_names_asked(const struct scan_cases *made)
{
    size_t count, asked = 0;
    struct stall_case *const *stalls = cases_all(made->cases, &count);

    for (size_t i = 0; i < count; i++)
        asked += stalls[i]->names_asked;
    return asked == count;
}

/* A scan does not wait longer than it may, and asks for each place once. */
TEST(stalls)
{
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    uint64_t before_ns = clock_mono_ns();
    struct scan_cases made = cases_of(snapshot);
    struct naming naming;

    open_silent(&naming);
    snapshot->interval_ns = LONG_NS;
    naming_cases(&naming, made.cases, snapshot);
    assert_true(clock_mono_ns() - before_ns >= NAMING_STALLS_NS);
    assert_true(are_names_asked(&made));
    for (int i = 0; i < 100; i++) /* nothing to ask for: nothing to wait for */
        naming_cases(&naming, made.cases, snapshot);
    assert_true(clock_mono_ns() - before_ns < PATIENCE_NS);
    naming_close(&naming);
    cases_done(&made);
    snapshot_unref(snapshot);
}

/* A file whose names take too much: no answer is waited for, nor asked for again. */
TEST(no_room)
{
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    struct module_facts *module = snapshot->stalls[0].item->process->modules[0];
    struct page *page = page_of(snapshot);
    struct health health = {0};
    struct scan_cases made = cases_of(snapshot);
    struct naming naming;

    for (uint64_t i = UINT64_MAX; !symbol_table_is_full(&module->symbols); i--)
        assert_int_equal(symbol_table_add(&module->symbols, i, symbol_new(NULL, 0)), 0);
    open_silent(&naming);
    naming_cases(&naming, made.cases, snapshot);
    assert_true(are_names_asked(&made));
    assert_false(naming_hold(&naming, 1, page));
    naming_health(&naming, &health);
    assert_true(health.limit_counts[HEALTH_LIMIT_SYMBOLS] >= snapshot->stall_count);
    assert_int_equal(health.names_refused_count, 0);
    assert_int_equal(health.names_bytes, 0);
    assert_int_equal(health.names_bytes_max, SYMBOLS_BYTES_MAX);
    page_unref(page);
    naming_close(&naming);
    cases_done(&made);
    snapshot_unref(snapshot);
}

static uint64_t refused_on_a_scan(struct naming *naming, const struct cases *cases, const struct snapshot *snapshot)
{
    struct health before = {0}, after = {0};

    naming_health(naming, &before);
    naming_cases(naming, cases, snapshot);
    naming_health(naming, &after);
    return after.names_refused_count - before.names_refused_count;
}

/* While the symbolizer takes no query, a scan stops at the first refusal and does not try each place of each trail. */
TEST(refused)
{
    const struct symbols_options options = {.program = "/nonexistent", .answer_ns = LONG_NS, .restart_ns = LONG_NS};
    struct snapshot *snapshot = sample_snapshot(1, 1000, 1);
    struct item **item = &snapshot->stalls[0].item;
    struct process_facts *process = process_facts_ref((*item)->process);
    struct scan_cases made;
    struct naming naming = {.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

    item_unref(*item);
    *item = sample_item(process, "checkout", 1, 17, "worker-17", 9, 32);
    made = cases_of(snapshot);
    assert_int_equal(symbols_new(&naming.symbols, &options), 0);
    naming_cases(&naming, made.cases, snapshot);
    for (uint64_t before_ns = clock_mono_ns(); !symbols_are_idle(naming.symbols); usleep(1000))
        assert_true(clock_mono_ns() - before_ns < PATIENCE_NS); /* until it is known that there is none to ask */
    cases_find(made.cases, 1, 0, 0)->names_asked = false;
    assert_in_range(refused_on_a_scan(&naming, made.cases, snapshot), 1, 2);
    assert_false(are_names_asked(&made)); /* on a later scan, all of them */
    naming_close(&naming);
    cases_done(&made);
    snapshot_unref(snapshot);
}

TEST(without)
{
    struct naming naming = {.descriptor = -1};
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    struct scan_cases made = cases_of(snapshot);
    struct page *page = page_of(snapshot);
    struct health health = {.reload_count = 7};

    naming_cases(&naming, made.cases, snapshot);
    assert_false(naming_hold(&naming, 1, page));
    naming_health(&naming, &health);
    assert_int_equal(health.reload_count, 7);
    page_unref(page);
    cases_done(&made);
    snapshot_unref(snapshot);
    naming_close(&naming);
}

/* The symbolizer of this build, on a file that is not there. */
TEST(the_real_one)
{
    struct snapshot *snapshot = sample_snapshot(1, 1000, 3);
    struct health health = {0};
    struct scan_cases made = cases_of(snapshot);
    struct naming naming;

    naming_open(&naming, NULL, NULL, &(struct hash_key){{0, 0}}, NULL, 0);
    if (naming.symbols == NULL) {
        cases_done(&made);
        snapshot_unref(snapshot);
        skip();
    }
    snapshot->interval_ns = LONG_NS;
    naming_cases(&naming, made.cases, snapshot);
    for (uint64_t before_ns = clock_mono_ns(); !symbols_are_idle(naming.symbols); usleep(1000))
        assert_true(clock_mono_ns() - before_ns < PATIENCE_NS);
    naming_health(&naming, &health);
    assert_int_equal(health.names_found_count, 0);
    assert_true(health.names_missing_count != 0);
    assert_int_equal(health.symbolizer_start_count, 1);
    naming_close(&naming);
    cases_done(&made);
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
    return tests_run(make_script, remove_script);
}
