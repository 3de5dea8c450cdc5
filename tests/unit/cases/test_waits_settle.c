/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_waits_settle.c - what is certain about waits that are known from memory: ripd/cases/waits_settle.c. test_waits.c
 * has waits known from marks.
 */
#include "unit/waits_test.h"

/* Thread tid is in its wait from the first look to until. At each of the three looks holder held the lock. */
static struct lock_wait lock_of(uint32_t tid, uint32_t holder, const uint64_t looks[3], uint64_t until, uint8_t flags)
{
    struct lock_wait lock = {.holder = {4096 + tid, holder, flags}, .until_mono_ns = until};

    for (size_t i = 0; i < 3; i++)
        lock.looks[i] = (struct lock_wait_look){looks[i], looks[i] + 1};
    return lock;
}

static void add_lock(uint32_t ring, uint32_t process, uint32_t tid, const struct lock_wait *lock)
{
    const struct rip_id_info id = {
        .slot = tid, .generation = 2, .id = 1000000 + tid, .tid = tid, .process = (uint16_t)process, .progress = 5};

    assert_int_equal(waits_add_thread(waits, ring, &id, lock), 0);
}

/* Adds a thread without a mark. */
static void add_thread(uint32_t tid, uint32_t holder, const uint64_t looks[3], uint64_t until, uint8_t flags)
{
    const struct lock_wait lock = lock_of(tid, holder, looks, until, flags);

    add_lock(RING, PROCESS, tid, &lock);
}

#define LOOKS(...) ((const uint64_t[3]){__VA_ARGS__})

/* The cycle 1 -> 2 -> 1, from memory alone. */
static const struct {
    const char *what;
    uint64_t looks_1[3], until_1, looks_2[3], until_2;
    uint8_t flags_2;
    bool deadlock;
} proofs[] = {
    {"one look at each, one after the other", {10, 10, 10}, 11, {20, 20, 20}, 21, 0, false},
    {"later the first still waits, its holder was not read", {10, 10, 10}, 30, {20, 20, 20}, 21, 0, false},
    {"later both still wait, holders were read", {10, 10, 40}, 41, {20, 20, 50}, 51, 0, true},
    {"several looks, always in this order", {10, 60, 80}, 81, {20, 70, 90}, 91, 0, true},
    {"the second is in another wait", {10, 10, 40}, 41, {50, 50, 50}, 51, 0, false},
    {"they did not wait at the same time", {10, 20, 30}, 31, {40, 50, 60}, 61, 0, false},
    {"the wait of the second has a time limit", {10, 10, 40}, 41, {20, 20, 50}, 51, RIP_WAIT_ENDS, false},
};

TEST(proofs_from_memory, make_waits, free_waits)
{
    for (size_t i = 0; i < COUNT_OF(proofs); i++) {
        renew_waits();
        add_thread(1, 2, proofs[i].looks_1, proofs[i].until_1, 0);
        add_thread(2, 1, proofs[i].looks_2, proofs[i].until_2, proofs[i].flags_2);
        settle();
        for (uint32_t tid = 1; tid <= 2; tid++)
            if (node_of(tid)->deadlocked != proofs[i].deadlock || node_of(tid)->doubted == proofs[i].deadlock)
                fail_msg("%s", proofs[i].what);
    }
}

/* One look is enough. */
TEST(a_thread_waits_for_itself_by_memory, make_waits, free_waits)
{
    add_thread(7, 7, LOOKS(10, 10, 10), 11, 0);
    settle();
    assert_true(node_of(7)->deadlocked);
}

/* The kernel has handed the lock to 7, which has not run since: 7 waits for nobody, and 8 waits for 7. */
TEST(a_lock_that_was_handed_over, make_waits, free_waits)
{
    add_thread(7, 7, LOOKS(10, 10, 10), 11, LOCK_WAIT_HANDED_ON);
    add_thread(8, 7, LOOKS(10, 10, 10), 11, LOCK_WAIT_HANDED_ON);
    settle();
    assert_false(node_of(7)->deadlocked || node_of(7)->doubted);
    assert_int_equal(node_of(7)->length, 0);
    CHAIN(8, 7);
}

/*
 * 1 -> 2 -> 3 -> 4 -> 1. Each edge was seen while its holder waited, and 1 and 3 waited all the time. If 2 had moved on
 * before 4 began to wait, there was no deadlock.
 */
TEST(all_at_one_instant, make_waits, free_waits)
{
    for (int together = 0; together < 2; together++) {
        renew_waits();
        add_thread(1, 2, LOOKS(10, 20, 20), 100, 0);
        add_thread(2, 3, LOOKS(12, 20, 20), 50, 0);
        add_thread(3, 4, LOOKS(10, 80, 80), 100, 0);
        add_thread(4, 1, LOOKS(together != 0 ? 15 : 70, 80, 80), 90, 0);
        settle();
        assert_int_equal(waits->deadlocked_count, together != 0 ? 4 : 0);
        assert_int_equal(node_of(1)->doubted, together == 0);
    }
}

/* If a mark and memory describe the same lock, memory is more recent. */
TEST(memory_is_fresher_than_a_mark, make_waits, free_waits)
{
    struct lock_wait lock = lock_of(1, 3, LOOKS(20 * SECOND, 20 * SECOND, 20 * SECOND), 21 * SECOND, 0);

    add(1, 2, 10, 11, 0);
    waits_add_lock(waits, &lock);
    add(2, 1, 10, 12, 0);
    waits_add_lock(waits, &(struct lock_wait){.holder = {8192, 99, 0}}); /* another lock, inside the marked one */
    add(3, 1, 12, 13, 0);
    add(4, 0, 12, 13, 0);
    lock.holder.address = 8192; /* the mark names no holder */
    waits_add_lock(waits, &lock);
    add(5, 1000002, 12, 13, RIP_WAIT_OWNER_IS_ID);
    lock.holder.address = 4096 + 5;
    waits_add_lock(waits, &lock);
    settle();
    assert_true(node_of(1)->deadlocked && node_of(3)->deadlocked && !node_of(2)->deadlocked);
    CHAIN(1, 3, 1);
    CHAIN(2, 1, 3);
    CHAIN(4, 3, 1);
    assert_int_equal(next_of(5)->ring_tid, 2);
    assert_int_equal(waits_held_by(node_of(1)), 3);
    assert_false(node_of(2)->by_memory);
}

/* No thread has the number of the holder: memory is not believed, a mark is (the holder may have ended). */
TEST(a_holder_that_does_not_exist, make_waits, free_waits)
{
    add_thread(1, 9, LOOKS(10, 20, 30), 31, 0);
    add(2, 9, 10, 11, 0);
    assert_int_equal(waits_link(waits), 0);
    waits->nodes[2].absent = true;
    read_again();
    waits_settle(waits);
    assert_int_equal(node_of(1)->length, 0);
    assert_int_equal(node_of(2)->length, 1);
}

/* 1 waits for 9. There is certainly no thread 9 since gone_since_ns. */
static const struct {
    const char *what;
    uint64_t looks[3];
    uint8_t flags;
    uint64_t gone_since_ns;
    bool gone;
    bool doubted;
} ends[] = {
    {"held the lock after that", {110, 110, 110}, 0, 100, true, false},
    {"held the lock at one look after that", {10, 20, 110}, 0, 100, true, false},
    {"held the lock at that moment", {10, 20, 100}, 0, 100, true, false},
    {"not read since", {10, 20, 99}, 0, 100, false, true},
    {"the thread may exist", {10, 20, 110}, 0, 0, false, false},
    {"the lock may be shared by processes", {10, 20, 110}, RIP_WAIT_SHARED, 100, false, false},
    {"the kernel hands the lock over", {10, 20, 110}, LOCK_WAIT_HANDED_ON, 100, false, false},
    {"the wait has a time limit", {10, 20, 110}, RIP_WAIT_ENDS, 100, true, false},
    {"a writer", {10, 20, 110}, RIP_WAIT_SHARABLE, 100, true, false},
};

TEST(a_holder_that_has_ended, make_waits, free_waits)
{
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const struct waits_node *node;

        renew_waits();
        add_thread(1, 9, ends[i].looks, 120, ends[i].flags);
        add(2, 9, 10, 11, 0); /* a mark only shows the holder at a time before its reading */
        add(3, 1, 10, 11, 0);
        assert_int_equal(waits_link(waits), 0);
        assert_int_equal(waits->count, 4);
        waits->nodes[3].absent = true;
        waits->nodes[3].gone_since_ns = ends[i].gone_since_ns;
        assert_int_equal(waits_gone_since(waits, RING, PROCESS, 9), ends[i].gone_since_ns);
        read_again();
        waits_settle(waits);
        node = node_of(1);
        if (node->certain != ends[i].gone || (node->next != WAITS_NONE) != ends[i].gone ||
            (waits->nodes[3].kind == WAITS_GONE) != ends[i].gone || node->doubted != ends[i].doubted)
            fail_msg("%s", ends[i].what);
        assert_false(node_of(2)->certain || node->deadlocked);
        if (ends[i].gone)
            CHAIN(3, 1, 9);
        assert_int_equal(waits_gone_since(waits, RING, PROCESS, 9), ends[i].gone_since_ns);
        assert_int_equal(waits_gone_since(waits, RING, PROCESS + 1, 9), 0);
        assert_int_equal(waits_gone_since(NULL, RING, PROCESS, 9), 0);
    }
}

/*
 * Thread 1 of this process and thread 2 in the ring of process 7 each wait for a lock that the other holds. shared: the
 * locks are known to be shared by processes. known: the caller knows the holder of 1's lock.
 */
static void settle_across(bool by_memory, bool shared, bool known)
{
    const uint8_t flags = shared ? RIP_WAIT_SHARED : 0;
    struct lock_wait second = lock_of(2, 1, LOOKS(10, 20, 40), 41, flags);

    renew_waits();
    if (by_memory) {
        add_thread(1, 2, LOOKS(10, 20, 30), 41, flags);
        assert_int_equal(waits_is_shared(&waits->nodes[0]), shared);
        add_lock(RING + 1, 7, 2, &second);
    } else {
        const struct rip_wait_info mark = {.slot = 2,
                                           .generation = 2,
                                           .id = 2,
                                           .tid = 2,
                                           .process = 7,
                                           .progress = 5,
                                           .address = second.holder.address,
                                           .seen_mono_ns = 11 * SECOND,
                                           .begun_mono_ns = 11 * SECOND};

        add(1, 2, 10, 30, 0);
        assert_false(waits_is_shared(&waits->nodes[0]));
        assert_int_equal(waits_add(waits, RING + 1, &mark), 0);
        second = lock_of(2, 1, LOOKS(20 * SECOND, 20 * SECOND, 20 * SECOND), 21 * SECOND, RIP_WAIT_SHARED);
        waits_add_lock(waits, &second);
    }
    waits->nodes[0].holder_ring = known ? RING + 1 : 0;
    waits->nodes[0].holder_process = 7;
    waits->nodes[1].holder_ring = RING;
    waits->nodes[1].holder_process = PROCESS;
    settle();
}

TEST(a_deadlock_across_processes, make_waits, free_waits)
{
    settle_across(true, true, true);
    assert_true(waits->nodes[0].deadlocked && waits->nodes[1].deadlocked);
    assert_int_equal(waits->nodes[0].next, 1);
    settle_across(true, true, false);
    assert_int_equal(waits->deadlocked_count, 0);
    assert_int_equal(waits->nodes[0].next, WAITS_NONE);
    assert_int_equal(waits->nodes[1].next, 0);
    settle_across(false, true, true); /* the time in a mark is of the clock of its process */
    assert_int_equal(waits->deadlocked_count, 0);
    assert_true(waits->nodes[0].doubted && !waits->nodes[0].certain && !waits->nodes[1].certain);
    settle_across(true, false, true);
}

/* A thread waits no more if its slot has another generation (i = 1) or its progress changed (i = 2). */
TEST(a_thread_that_has_moved, make_waits, free_waits)
{
    for (int i = 0; i < 3; i++) {
        renew_waits();
        add_thread(1, 9, LOOKS(10, 20, 30), 31, 0);
        assert_int_equal(waits_link(waits), 0);
        waits_stands(&waits->nodes[0], i == 1 ? 3 : 2, i == 2 ? 6 : 5);
        waits_settle(waits);
        assert_int_equal(node_of(1)->length, i == 0);
    }
}

TEST(readers_by_memory, make_waits, free_waits)
{
    add_thread(1, 0, LOOKS(10, 20, 30), 31, RIP_WAIT_SHARABLE);
    add_thread(2, 0, LOOKS(10, 20, 30), 31, 0);
    add_thread(3, 0, LOOKS(10, 20, 30), 31, RIP_WAIT_SHARABLE);
    settle();
    assert_int_equal(next_of(1)->kind, WAITS_READERS);
    assert_ptr_not_equal(next_of(1), next_of(3)); /* of another lock */
    assert_int_equal(node_of(2)->length, 0);
}
