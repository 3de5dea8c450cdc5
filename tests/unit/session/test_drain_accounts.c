/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_drain_accounts.c - programs with known sequences of snaps, drained while they run: recorded, overwritten and
 * unseen snaps add up to those made, in total and for each id.
 *
 * Snap n of id i is at address i << 24
 *  n, so that each entry identifies its id and number.
 */
#include "unit/forked_test.h"
#include "unit/session/session_test.h"

#include <sched.h>

enum { ID_MAX = 8192, SLOW = 1, FAST = 2, RESUMED = 3, RESTARTED = 4, SHORT = 100 };

/* The snaps that the program made, and those that events reported. */
struct account {
    uint64_t made; /* by the program */
    uint64_t recorded;
    uint64_t overwritten;
    uint64_t last; /* the last recorded snap */
    uint32_t exit_count;
    bool is_known; /* each end reported all entries */
};

struct totals_by_id {
    struct account accounts[ID_MAX];
    struct rip_event_totals totals;
    uint64_t made;
    uint32_t exit_count;
};

static struct totals_by_id totals_by_id;
static bool is_over; /* accessed with __atomic */

static int take_account(void *context, const struct rip_event *event)
{
    struct totals_by_id *result = context;
    struct account *account = &result->accounts[event->id];

    CHECK(event->id < ID_MAX);
    if (event->kind == RIP_EVENT_TOTALS)
        result->totals = event->as.totals;
    if (event->kind == RIP_EVENT_REGISTER) {
        CHECK(event->as.id_begin.info->id == event->id);
        account->last = 0;
    }
    if (event->kind == RIP_EVENT_EXIT) {
        account->exit_count++;
        account->is_known = event->as.exit.has_snap_count;
        result->exit_count++;
    }
    if (event->kind == RIP_EVENT_SNAP) {
        const struct rip_event_snap *snap = &event->as.snap;

        CHECK(snap->made_count == snap->entry_count + snap->overwritten_count);
        account->recorded += snap->entry_count;
        account->overwritten += snap->overwritten_count;
        for (uint32_t i = 0; i < snap->entry_count; i++) {
            CHECK(snap->entries[i].snap > account->last);
            CHECK(snap->entries[i].address == ((uint64_t)event->id << 24 | snap->entries[i].snap));
            account->last = snap->entries[i].snap;
        }
    }
    return 0;
}

/* Makes `count` snaps of an id, beginning with number `first`. */
static void snap(uint32_t id, uint64_t first, uint64_t count)
{
    for (uint64_t n = first; n < first + count; n++)
        rip_snap_at((const void *)(uintptr_t)((uint64_t)id << 24 | n));
    totals_by_id.accounts[id].made += count;
}

static bool is_running(void)
{
    return !__atomic_load_n(&is_over, __ATOMIC_RELAXED);
}

static void *snap_slowly(void *unused)
{
    register_id(SLOW, "slow");
    for (uint64_t n = 1; is_running(); n++) {
        snap(SLOW, n, 1);
        sleep_ms(7);
    }
    return unused;
}

static void *snap_fast(void *unused)
{
    register_id(FAST, "fast");
    for (uint64_t n = 1; n < 1 << 23 && is_running(); n += 1000)
        snap(FAST, n, 1000);
    return unused;
}

/* The counter of the id changes with each resume. */
static void *resume_with_other_counters(void *unused)
{
    uint64_t n = 1;

    for (uint8_t counter = 0; n < 1 << 23 && is_running(); counter++) {
        rip_init(RESUMED, n == 1 ? "resumed" : NULL, n == 1 ? 6 : 0, 0, n == 1 ? 0 : counter | 1);
        snap(RESUMED, n, 1 + n % 100);
        n += 1 + n % 100;
    }
    return unused;
}

/* An id that is registered again in its slot: nothing of its previous registration remains. */
static void *register_again(void *unused)
{
    while (is_running()) {
        register_id(RESTARTED, "restarted");
        snap(RESTARTED, 1, 20);
        sleep_ms(1);
    }
    return unused;
}

static void *snap_and_exit(void *number)
{
    uint32_t id = (uint32_t)(uintptr_t)number;

    register_id(id, "short");
    snap(id, 1, id % 50);
    return NULL;
}

static void *start_short_threads(void *unused)
{
    for (uint32_t id = SHORT; id < SHORT + 3000; id++) {
        pthread_t thread;

        thread = start_thread(snap_and_exit, (void *)(uintptr_t)id);
        if (id % 4 == 0)
            sched_yield();
        join_thread(thread);
    }
    return unused;
}

static void drain_pause(struct drain *drain, const struct rip_view *view, long pause_ms)
{
    static uint64_t now_ns;
    const struct rip_sink sink = {&totals_by_id, take_account};

    drain_once(drain, view, now_ns += 1000, &sink);
    sleep_ms(pause_ms);
}

/* Checks the totals of a program that has ended or does not change. */
static void check_totals(const char *name)
{
    const struct rip_event_totals *totals = &totals_by_id.totals;
    uint64_t made = 0, recorded = 0, overwritten = 0;

    for (uint32_t id = 0; id < ID_MAX; id++) {
        const struct account *account = &totals_by_id.accounts[id];

        made += account->made;
        recorded += account->recorded;
        overwritten += account->overwritten;
        CHECK(account->recorded + account->overwritten <= account->made);
        if (id != RESTARTED && (account->exit_count == 0 || account->is_known) && account->recorded != 0)
            CHECK(account->recorded + account->overwritten == account->made);
    }
    printf("%s: made %llu, recorded %llu, overwritten %llu, unseen %llu, ids %llu - %llu (%u seen to end)\n", name,
           (unsigned long long)made, (unsigned long long)recorded, (unsigned long long)overwritten,
           (unsigned long long)totals->unseen_count, (unsigned long long)totals->registered_count,
           (unsigned long long)totals->ended_count, totals_by_id.exit_count);
    fflush(stdout);
    CHECK(totals->exact);
    CHECK(totals->recorded_count == recorded && totals->overwritten_count == overwritten);
    CHECK(recorded + overwritten + totals->unseen_count == made);
    CHECK(totals->made_count == made);
}

static void run_threads(void *(*const *threads)(void *), size_t count, const char *name, long pause_ms)
{
    pthread_t handles[8];
    struct drain *drain;
    const struct rip_view *view;

    CHECK(rip_create_ring(test_path(name), 512));
    view = own_view();
    CHECK(drain_new(&drain, 1) == 0);
    drain_pause(drain, view, 0);
    for (size_t i = 0; i < count; i++)
        handles[i] = start_thread(threads[i], NULL);
    for (unsigned i = 0; i < 100; i++)
        drain_pause(drain, view, pause_ms);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < count; i++) {
        drain_pause(drain, view, 0);
        join_thread(handles[i]);
    }
    drain_pause(drain, view, 0);
    check_totals(name);
    drain_free(drain);
}

FORKED_TEST(several_rates_and_resumed_ids)
{
    static void *(*const threads[])(void *) = {snap_slowly, snap_fast, resume_with_other_counters, register_again};

    run_threads(threads, 4, "mixed", 5);
}

FORKED_TEST(ids_shorter_than_a_drain)
{
    static void *(*const threads[])(void *) = {start_short_threads, snap_fast};

    run_threads(threads, 2, "short", 1);
}

FORKED_TEST(more_ends_than_the_log_holds)
{
    static void *(*const threads[])(void *) = {start_short_threads};

    run_threads(threads, 1, "forgotten", 40);
}
