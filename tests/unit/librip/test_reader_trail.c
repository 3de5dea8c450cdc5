/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_trail.c - rip_view_trail() and rip_view_last(): every returned entry is correct, whatever the writer does
 * meanwhile.
 *
 * There are three kinds of writers: none (the bytes do not change), a thread at full speed, and one that makes exactly
 * 256 snaps between any two loads of the reader, the worst case for the tags.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "rip/order.h"
#include "unit/reader_test.h"

enum { SLOT = 3, RACE_ROUNDS = 50000 };

static struct rip_slot *slot; /* live, without snaps */

static void make_slot(uint32_t entry_count)
{
    const struct ring_geometry geometry = {.slot_capacity = 70, .module_capacity = 8, .entry_count = entry_count};

    ring_builder_new(&builder, &geometry);
    ring_builder_add_id(&builder, SLOT, 77, 4711, 2, "worker");
    slot = ring_builder_slot(&builder, SLOT);
    open_view();
}

static struct rip_entry last_of(void)
{
    struct rip_last_info info;

    assert_int_equal(rip_view_last(&view, SLOT, &info), RIP_OK);
    assert_int_equal(info.slot, SLOT);
    assert_int_equal(info.generation, slot->generation);
    assert_int_equal(info.process, 2);
    return info.entry;
}

/* For a slot that does not change: the last location is the first entry of the trail. */
static size_t trail_of(struct rip_entry entries[RIP_ENTRY_COUNT])
{
    struct rip_entry last = last_of();
    size_t count;

    assert_int_equal(rip_view_trail(&view, SLOT, entries, &count), RIP_OK);
    assert_true(last.snap == (count != 0 ? entries[0].snap : 0));
    assert_true(last.address == (count != 0 ? entries[0].address : 0));
    return count;
}

TEST(trails_at_the_edges_of_counters)
{
    static const uint64_t counts[] = {0,         1,   2,   15,  16,  31,    32,    33,         63,
                                      64,        255, 256, 257, 287, 65535, 65536, UINT32_MAX, (UINT64_C(1) << 32) + 5,
                                      UINT64_MAX};
    static const uint32_t entry_counts[] = {1, 2, 16, 32};

    for (size_t e = 0; e < COUNT_OF(entry_counts); e++) {
        for (size_t i = 0; i < COUNT_OF(counts); i++) {
            struct rip_entry entries[RIP_ENTRY_COUNT];
            size_t count;

            make_slot(entry_counts[e]);
            ring_builder_run_to(&builder, SLOT, counts[i]);
            count = trail_of(entries);
            assert_int_equal(count, counts[i] < entry_counts[e] ? counts[i] : entry_counts[e]);
            for (size_t j = 0; j < count; j++) {
                assert_true(entries[j].snap == counts[i] - j);
                assert_true(entries[j].address == ring_builder_address(counts[i] - j));
            }
            free_ring(NULL);
        }
    }
}

TEST(a_count_that_began_later_numbers_from_one, NULL, free_ring)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];

    make_slot(32);
    slot->counter_bias = 250;
    slot->count = 250;
    assert_int_equal(trail_of(entries), 0);
    for (unsigned i = 0; i < 10; i++)
        ring_builder_snap(&builder, SLOT, 0x1000 + i);
    assert_int_equal(trail_of(entries), 10);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(entries[i].snap, 10 - i);
        assert_int_equal(entries[i].address, 0x1009 - i);
    }
    ring_builder_run_to(&builder, SLOT, 260); /* also writes entries 229 to 250, which are not snaps of this id */
    assert_int_equal(trail_of(entries), 10);
}

/* The counter was incremented and the entry not yet stored: its place still holds the entry of 32 snaps ago. */
TEST(entry_not_yet_stored_is_left_out, NULL, free_ring)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];

    make_slot(32);
    ring_builder_run_to(&builder, SLOT, 1000);
    slot->count++;
    assert_int_equal(trail_of(entries), 31);
    assert_int_equal(entries[0].snap, 1000);
    assert_int_equal(entries[30].snap, 970);
}

/* A handler made 32 snaps between the two stores of one snap: the newest place has an old tag until the next snap. */
TEST(entries_with_a_wrong_tag_are_left_out, NULL, free_ring)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];

    make_slot(32);
    ring_builder_run_to(&builder, SLOT, 1000);
    for (uint64_t number = 969; number <= 1000; number++) {
        uint64_t *entry = &slot->entry[number % 32];

        for (unsigned bit = RIP_ENTRY_TAG_SHIFT; bit < 64; bit++) {
            *entry ^= UINT64_C(1) << bit;
            assert_int_equal(trail_of(entries), 31);
            for (size_t i = 0; i < 31; i++)
                assert_int_not_equal(entries[i].snap, number);
            *entry ^= UINT64_C(1) << bit;
        }
    }
    assert_int_equal(trail_of(entries), 32);
}

/*
 * Registration clears the entries. A zero entry is not snap 256 at address 0, and entries of the previous id are not
 * returned.
 */
TEST(unwritten_places_hold_no_entry, NULL, free_ring)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];

    make_slot(32);
    slot->count = 256;
    assert_int_equal(trail_of(entries), 0);
    ring_builder_run_to(&builder, SLOT, 20);
    slot->count = 10; /* snaps 11 to 20 do not exist */
    assert_int_equal(trail_of(entries), 10);
    assert_int_equal(entries[0].snap, 10);
    slot->entry[31] = UINT64_C(255) << RIP_ENTRY_TAG_SHIFT | 1; /* as if of snap -1 */
    assert_int_equal(trail_of(entries), 10);
}

/* The id that is written while it is read. */
static struct {
    struct rip_slot *slot;
    bool stop;
    volatile sig_atomic_t was_delayed;
} racing;

/* The same stores as rip_snap(), with an address computed from the number. No lock: only this thread counts. */
static void *keep_snapping(void *argument)
{
    while (!rip_load_relaxed(&racing.stop)) {
        for (unsigned i = 0; i < 100; i++) {
            uint64_t count = rip_load_relaxed(&racing.slot->count) + 1;

            rip_store_relaxed(&racing.slot->count, count);
            rip_store_relaxed(&racing.slot->entry[count % RIP_ENTRY_COUNT],
                              (count << RIP_ENTRY_TAG_SHIFT) | ring_builder_address(count));
        }
    }
    return argument;
}

/* Delays the reader, wherever it is, until all tags have wrapped. Gives up soon if the writer gets no CPU. */
static void delay_reader(int signal_number)
{
    uint64_t count = rip_load_relaxed(&racing.slot->count);

    (void)signal_number;
    racing.was_delayed = 1;
    for (unsigned spins = 0; spins < 10000; spins++) {
        if (rip_load_relaxed(&racing.slot->count) - count >= 300)
            return;
    }
}

/* One delay at a time, so that the reader makes progress on any machine. */
static void delay_reader_soon(void)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 50}};

    racing.was_delayed = 0;
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void start_race(pthread_t *ret_thread)
{
    sigset_t alarm_only;

    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL); /* the writing thread inherits this mask */
    assert_int_equal(pthread_create(ret_thread, NULL, keep_snapping, NULL), 0);
    signal(SIGALRM, delay_reader);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    /* On a busy machine the thread may start late. */
    while (rip_load_relaxed(&racing.slot->count) == 0)
        sched_yield();
    delay_reader_soon();
}

static void end_race(pthread_t thread)
{
    const struct itimerval never = {0};

    setitimer(ITIMER_REAL, &never, NULL);
    rip_store_relaxed(&racing.stop, true);
    pthread_join(thread, NULL);
    signal(SIGALRM, SIG_DFL);
}

/*
 * At full speed the writer wraps the trail several times within one copy, and the reader is delayed inside the copy
 * until all tags have wrapped: many entries are left out, and none is wrong.
 */
TEST(no_entry_is_wrong_at_full_speed, NULL, free_ring)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    uint64_t last = 0;
    size_t seen = 0, seen_last = 0;
    pthread_t thread;

    make_slot(32);
    racing.slot = slot;
    start_race(&thread);
    for (unsigned round = 0; round < RACE_ROUNDS; round++) {
        struct rip_entry newest = last_of();
        size_t count;

        if (racing.was_delayed)
            delay_reader_soon();
        assert_int_equal(rip_view_trail(&view, SLOT, entries, &count), RIP_OK);
        if (newest.snap != 0 && newest.address != ring_builder_address(newest.snap))
            fail_msg("snap %llu is the last location, with a wrong address", (unsigned long long)newest.snap);
        for (size_t i = 0; i < count; i++) {
            if (entries[i].address != ring_builder_address(entries[i].snap))
                fail_msg("snap %llu has a wrong address", (unsigned long long)entries[i].snap);
        }
        if (newest.snap != 0) {
            assert_true(newest.snap + RIP_ENTRY_COUNT >= last);
            last = newest.snap;
        }
        if (count > 0) {
            assert_true(entries[0].snap + RIP_ENTRY_COUNT >= last);
            last = entries[0].snap;
        }
        seen += count;
        seen_last += newest.snap != 0;
    }
    end_race(thread);
    assert_true(seen > 0);
    assert_true(seen_last > 0);
    assert_int_equal(trail_of(entries), RIP_ENTRY_COUNT);
    assert_true(entries[0].snap == slot->count);
}

/* A slot whose entries are on a page of their own: a fault shows which of count and entries is loaded next. */
static struct {
    unsigned char *count_page;
    unsigned char *entry_page;
    uint64_t step;
} stepped;

/* The reader goes from counts to entries, or back. When it goes back, it finds `step` more snaps. */
static void on_fault(int signal_number, siginfo_t *information, void *context)
{
    bool wants_entry = (unsigned char *)information->si_addr >= stepped.entry_page;

    (void)signal_number;
    (void)context;
    mprotect(stepped.count_page, 2 * RIP_PAGE_BYTES, PROT_READ | PROT_WRITE);
    for (uint64_t i = 0; i < stepped.step && !wants_entry; i++) {
        uint64_t next = ring_builder_slot(&builder, 0)->count + 1;

        ring_builder_snap(&builder, 0, ring_builder_address(next));
    }
    mprotect(wants_entry ? stepped.count_page : stepped.entry_page, RIP_PAGE_BYTES, PROT_NONE);
}

/* Reads the trail with `step` snaps between any two of its loads. */
static size_t stepped_trail(uint64_t step, struct rip_entry entries[RIP_ENTRY_COUNT], struct rip_last_info *ret_last)
{
    struct sigaction old_action, action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    size_t count = 99;

    open_view();
    stepped.step = step;
    sigaction(SIGSEGV, &action, &old_action);
    mprotect(stepped.count_page, RIP_PAGE_BYTES, PROT_NONE);
    assert_int_equal(rip_view_trail(&view, 0, entries, &count), RIP_OK);
    mprotect(stepped.count_page, 2 * RIP_PAGE_BYTES, PROT_READ | PROT_WRITE);
    mprotect(stepped.count_page, RIP_PAGE_BYTES, PROT_NONE);
    assert_int_equal(rip_view_last(&view, 0, ret_last), RIP_OK);
    mprotect(stepped.count_page, 2 * RIP_PAGE_BYTES, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &old_action, NULL);
    return count;
}

TEST(snaps_between_any_two_loads, NULL, free_ring)
{
    const struct ring_geometry geometry = {
        .slot_capacity = 1, .slot_stride_bytes = 2 * RIP_PAGE_BYTES, .entry_offset_bytes = RIP_PAGE_BYTES};
    static const uint64_t deceiving_steps[] = {224, 256, 288, 512, 8192};
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_last_info last;
    size_t count;

    ring_builder_new(&builder, &geometry);
    ring_builder_add_id(&builder, 0, 1, 1, 0, "stepped");
    ring_builder_run_to(&builder, 0, 10000);
    stepped.count_page = (unsigned char *)ring_builder_slot(&builder, 0);
    stepped.entry_page = (unsigned char *)ring_builder_entries(&builder, 0);
    for (uint64_t step = 0; step <= 10; step++) {
        count = stepped_trail(step, entries, &last);
        assert_true(last.entry.snap != 0 || step != 0);
        assert_true(last.entry.snap == 0 || last.entry.address == ring_builder_address(last.entry.snap));
        assert_in_range(count, step == 0 ? 32 : 1, 32);
        for (size_t i = 0; i < count; i++)
            assert_true(entries[i].address == ring_builder_address(entries[i].snap));
    }
    for (size_t i = 0; i < COUNT_OF(deceiving_steps); i++) {
        assert_int_equal(stepped_trail(deceiving_steps[i], entries, &last), 0);
        assert_int_equal(last.entry.snap, 0);
    }
}
