/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_watch.c - finds out from events if an id begins to stall: ripd/cli/stall_watch.c. */
#include "cli/stall_watch.h"
#include "support/test.h"

#define INTERVAL_NS UINT64_C(100000000)
#define DRAINS 10u /* an id stalls after this many without a snap */

static struct stall_watch *watch;
static uint64_t now_ns;

static int begin(void **state)
{
    (void)state;
    now_ns = 1000 * INTERVAL_NS;
    return stall_watch_new(&watch, INTERVAL_NS, DRAINS * INTERVAL_NS);
}

static int end(void **state)
{
    (void)state;
    stall_watch_free(watch);
    return 0;
}

static bool take(struct rip_event event)
{
    bool stalled = true;

    assert_int_equal(stall_watch_take(watch, &event, &stalled), 0);
    return stalled;
}

static void add_ring(uint32_t ring)
{
    assert_false(take((struct rip_event){.kind = RIP_EVENT_RING, .ring = ring, .as.ring_begin.name = {"ring", 4}}));
}

static void set_id(uint32_t kind, uint32_t ring, uint32_t slot, struct rip_id_info info)
{
    info.slot = slot;
    info.generation = 2;
    info.id = slot + 1;
    assert_false(take((struct rip_event){
        .kind = kind, .ring = ring, .slot = slot, .generation = 2, .id = slot + 1, .as.state.info = &info}));
}

static void snap(uint32_t ring, uint32_t slot, uint64_t progress)
{
    assert_false(take((struct rip_event){
        .kind = RIP_EVENT_SNAP, .ring = ring, .slot = slot, .generation = 2, .as.snap.progress = progress}));
}

/* Returns the number of drains until an id begins to stall, or 0 if none does within limit. */
static uint32_t drains_until_stalled(uint32_t limit)
{
    for (uint32_t i = 1; i <= limit; i++) {
        now_ns += INTERVAL_NS;
        if (take((struct rip_event){.kind = RIP_EVENT_DRAIN, .as.drain = {.mono_ns = now_ns}}))
            return i;
    }
    return 0;
}

static void assert_one_stall(void)
{
    assert_in_range(drains_until_stalled(40), DRAINS, DRAINS + 2);
}

TEST(an_id_that_stands_still_stalls_once, begin, end)
{
    add_ring(1);
    set_id(RIP_EVENT_REGISTER, 1, 0, (struct rip_id_info){.progress = 5});
    set_id(RIP_EVENT_REGISTER, 1, 7, (struct rip_id_info){.idle = 1});
    assert_int_equal(drains_until_stalled(5), 0);
    snap(1, 0, 6);
    assert_one_stall();
    assert_int_equal(drains_until_stalled(30), 0);
    snap(1, 0, 7);
    assert_one_stall();
    set_id(RIP_EVENT_STATE, 1, 7, (struct rip_id_info){.idle = 0, .progress = 1});
    assert_one_stall();
}

TEST(an_id_with_a_deadline_of_its_own, begin, end)
{
    add_ring(1);
    set_id(RIP_EVENT_REGISTER, 1, 0, (struct rip_id_info){.deadline_ms = 3000});
    assert_in_range(drains_until_stalled(60), 30, 32);
}

TEST(ids_that_are_gone_do_not_stall, begin, end)
{
    const struct rip_process_info process = {.index = 1, .pid = 4711};

    for (uint32_t ring = 1; ring <= 3; ring++) {
        add_ring(ring);
        assert_false(take(
            (struct rip_event){.kind = RIP_EVENT_PROCESS, .ring = ring, .process = 1, .as.process_begin = &process}));
        set_id(RIP_EVENT_REGISTER, ring, 0, (struct rip_id_info){.process = 1});
    }
    assert_int_equal(drains_until_stalled(3), 0);
    assert_false(take((struct rip_event){.kind = RIP_EVENT_EXIT, .ring = 1, .generation = 2}));
    assert_false(take((struct rip_event){.kind = RIP_EVENT_DEATH, .ring = 2, .process = 1, .as.death.process = 1}));
    assert_false(take((struct rip_event){.kind = RIP_EVENT_RING_END, .ring = 3}));
    assert_int_equal(drains_until_stalled(40), 0);
    snap(3, 0, 1); /* unknown ids are ignored */
    snap(4, 0, 1);
    set_id(RIP_EVENT_REGISTER, 1, 0, (struct rip_id_info){.progress = 0});
    assert_one_stall();
}

TEST(calls_that_may_wait_for_work_are_no_stalls, begin, end)
{
    static const struct {
        uint8_t call;
        bool counts;
    } rows[] = {
        {RIP_CALL_NONE, true},
        {RIP_CALL_OUTSIDE, false},
        {RIP_CALL_INPUT, false},
        {RIP_CALL_PIPE, false},
        {RIP_CALL_UNSURE, false},
        {RIP_CALL_REPLY, true},
        {RIP_CALL_BLOCK, true},
        {RIP_CALL_LOCK, true},
        {RIP_CALL_SLEEP, false},
        {RIP_CALL_SHARED, false},
        {200, false},
    };

    add_ring(1);
    for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
        set_id(RIP_EVENT_REGISTER, 1, i, (struct rip_id_info){.call = rows[i].call, .progress = i});
        assert_int_equal(drains_until_stalled(DRAINS + 5) != 0, rows[i].counts);
    }
}
