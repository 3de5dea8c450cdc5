/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_waits_settle.c - what is certain of waits that are known from memory: ripd/cases/waits_settle.c. Of those known
 * from marks see test_waits.c.
 */
#include "unit/waits_test.h"

/* Memory ----------------------------------------------------------------------------------------------------------- */

/* tid t is in its wait from looks[0] to until; at each of the looks its lock was holder's. */
static struct lock_wait lock_of(uint32_t tid, uint32_t holder, const uint64_t looks[3], uint64_t until)
{
    struct lock_wait lock = {.holder = {4096 + tid, holder, 0}, .until_mono_ns = until};

    for (size_t i = 0; i < 3; i++)
        lock.looks[i] = (struct lock_wait_look){looks[i], looks[i] + 1};
    return lock;
}

static void add_thread(struct waits *waits, uint32_t tid, const struct lock_wait *lock)
{
    const struct rip_id_info id = {
        .slot = tid, .generation = 2, .id = 1000000 + tid, .tid = tid, .process = PROCESS, .progress = 5};

    assert_int_equal(waits_add_thread(waits, RING, &id, lock), 0);
}

/* Everybody stands as before. */
static void settle_all(struct waits *waits)
{
    assert_int_equal(waits_link(waits), 0);
    for (size_t i = 0; i < waits->waiting_count; i++) {
        struct waits_node *node = &waits->nodes[i];

        if (node->marked)
            waits_again(node, &node->wait);
        else
            waits_stands(node, node->generation, node->progress);
    }
    waits_settle(waits);
}

/* The cycle 1 -> 2 -> 1 from memory alone. */
static const struct {
    const char *what;
    uint64_t looks_1[3], until_1, looks_2[3], until_2;
    uint8_t flags_2;
    bool deadlock;
} proofs[] = {
    {"each looked at once, one after the other", {10, 10, 10}, 11, {20, 20, 20}, 21, 0, false},
    {"then the first was seen again, not its holder", {10, 10, 10}, 30, {20, 20, 20}, 21, 0, false},
    {"both again, holders too", {10, 10, 40}, 41, {20, 20, 50}, 51, 0, true},
    {"always in this order", {10, 60, 80}, 81, {20, 70, 90}, 91, 0, true},
    {"the second is in another wait by now", {10, 10, 40}, 41, {50, 50, 50}, 51, 0, false},
    {"they did not wait at the same time", {10, 20, 30}, 31, {40, 50, 60}, 61, 0, false},
    {"the second gives up in time", {10, 10, 40}, 41, {20, 20, 50}, 51, RIP_WAIT_ENDS, false},
};

TEST(proofs_from_memory)
{
    for (size_t i = 0; i < sizeof(proofs) / sizeof(proofs[0]); i++) {
        struct lock_wait first = lock_of(1, 2, proofs[i].looks_1, proofs[i].until_1);
        struct lock_wait second = lock_of(2, 1, proofs[i].looks_2, proofs[i].until_2);
        struct waits *waits = waits_new();

        second.holder.flags = proofs[i].flags_2;
        add_thread(waits, 1, &first);
        add_thread(waits, 2, &second);
        settle_all(waits);
        for (uint32_t tid = 1; tid <= 2; tid++)
            if (node_of(waits, tid)->deadlocked != proofs[i].deadlock ||
                node_of(waits, tid)->doubted == proofs[i].deadlock)
                fail_msg("%s", proofs[i].what);
        waits_free(waits);
    }
}

/* One that waits for itself needs one look. */
TEST(one_waits_for_itself_by_memory)
{
    const struct lock_wait lock = lock_of(7, 7, (const uint64_t[3]){10, 10, 10}, 11);
    struct waits *waits = waits_new();

    add_thread(waits, 7, &lock);
    settle_all(waits);
    assert_true(node_of(waits, 7)->deadlocked);
    waits_free(waits);
}

/* One that has been handed its lock, and did not run since, waits for nobody; one that waits for another does. */
TEST(a_lock_that_was_handed_on)
{
    struct lock_wait mine = lock_of(7, 7, (const uint64_t[3]){10, 10, 10}, 11);
    struct lock_wait others = lock_of(8, 7, (const uint64_t[3]){10, 10, 10}, 11);
    struct waits *waits = waits_new();

    mine.holder.flags = others.holder.flags = LOCK_WAIT_HANDED_ON;
    add_thread(waits, 7, &mine);
    add_thread(waits, 8, &others);
    settle_all(waits);
    assert_false(node_of(waits, 7)->deadlocked || node_of(waits, 7)->doubted);
    assert_int_equal(node_of(waits, 7)->length, 0);
    CHAIN(waits, 8, 7);
    waits_free(waits);
}

/*
 * 1 -> 2 -> 3 -> 4 -> 1: each edge was seen while its holder waited, and 1 and 3 waited all the time; but 2 had gone
 * on before 4 began.
 */
TEST(all_at_one_instant)
{
    for (int together = 0; together < 2; together++) {
        const uint64_t late = together != 0 ? 15 : 70;
        const struct lock_wait locks[] = {
            lock_of(1, 2, (const uint64_t[3]){10, 20, 20}, 100),
            lock_of(2, 3, (const uint64_t[3]){12, 20, 20}, 50),
            lock_of(3, 4, (const uint64_t[3]){10, 80, 80}, 100),
            lock_of(4, 1, (const uint64_t[3]){late, 80, 80}, 90),
        };
        struct waits *waits = waits_new();

        for (uint32_t tid = 1; tid <= 4; tid++)
            add_thread(waits, tid, &locks[tid - 1]);
        settle_all(waits);
        assert_int_equal(waits->deadlocked_count, together != 0 ? 4 : 0);
        assert_int_equal(node_of(waits, 1)->doubted, together == 0);
        waits_free(waits);
    }
}

/* A mark of its own that fits: memory says who owns the lock now. */
TEST(memory_is_fresher_than_a_mark)
{
    struct lock_wait lock = lock_of(1, 3, (const uint64_t[3]){20 * SECOND, 20 * SECOND, 20 * SECOND}, 21 * SECOND);
    struct waits *waits = waits_new();

    add(waits, 1, 2, 10 * SECOND, 11 * SECOND, 0);
    waits_add_lock(waits, &lock);
    add(waits, 2, 1, 10 * SECOND, 12 * SECOND, 0);
    waits_add_lock(waits,
                   &(struct lock_wait){.holder = {8192, 99, 0}}); /* a lock inside of the one that it speaks of */
    add(waits, 3, 1, 12 * SECOND, 13 * SECOND, 0);
    add(waits, 4, 0, 12 * SECOND, 13 * SECOND, 0);
    lock.holder.address = 8192; /* its mark names nobody */
    waits_add_lock(waits, &lock);
    add(waits, 5, 1000002, 12 * SECOND, 13 * SECOND, RIP_WAIT_OWNER_IS_ID);
    lock.holder.address = 4096 + 5;
    waits_add_lock(waits, &lock);
    settle_all(waits);
    assert_true(node_of(waits, 1)->deadlocked && node_of(waits, 3)->deadlocked && !node_of(waits, 2)->deadlocked);
    CHAIN(waits, 1, 3, 1);
    CHAIN(waits, 2, 1, 3);
    CHAIN(waits, 4, 3, 1);
    assert_int_equal(waits->nodes[node_of(waits, 5)->next].ring_tid, 2);
    assert_int_equal(waits_held_by(node_of(waits, 1)), 3);
    assert_false(node_of(waits, 2)->by_memory);
    waits_free(waits);
}

/* Nobody has that number: it was no holder. A mark is believed that it was one, though it has ended. */
TEST(a_holder_that_is_nobody)
{
    const struct lock_wait lock = lock_of(1, 9, (const uint64_t[3]){10, 20, 30}, 31);
    struct waits *waits = waits_new();

    add_thread(waits, 1, &lock);
    add(waits, 2, 9, 10 * SECOND, 11 * SECOND, 0);
    assert_int_equal(waits_link(waits), 0);
    waits->nodes[2].absent = true;
    waits_stands(&waits->nodes[0], 2, 5);
    waits_again(&waits->nodes[1], &waits->nodes[1].wait);
    waits_settle(waits);
    assert_int_equal(node_of(waits, 1)->length, 0);
    assert_int_equal(node_of(waits, 2)->length, 1);
    waits_free(waits);
}

/* 1 waits for 9, of which it is certain since 100 that there is no such thread. */
static const struct {
    const char *what;
    uint64_t looks[3];
    uint8_t flags;
    uint64_t gone_since_ns;
    bool gone;
    bool doubted;
} ends[] = {
    {"its lock was the other's after that", {110, 110, 110}, 0, 100, true, false},
    {"once of three times", {10, 20, 110}, 0, 100, true, false},
    {"that very moment", {10, 20, 100}, 0, 100, true, false},
    {"it has not been seen since", {10, 20, 99}, 0, 100, false, true},
    {"there may be such a thread", {10, 20, 110}, 0, 0, false, false},
    {"the lock may be one of several processes", {10, 20, 110}, RIP_WAIT_SHARED, 100, false, false},
    {"the kernel hands it on", {10, 20, 110}, LOCK_WAIT_HANDED_ON, 100, false, false},
    {"it gives up in time", {10, 20, 110}, RIP_WAIT_ENDS, 100, true, false},
    {"a writer", {10, 20, 110}, RIP_WAIT_SHARABLE, 100, true, false},
};

TEST(a_holder_that_has_ended)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct lock_wait lock = lock_of(1, 9, ends[i].looks, 120);
        struct waits *waits = waits_new();
        const struct waits_node *node;

        lock.holder.flags = ends[i].flags;
        add_thread(waits, 1, &lock);
        add(waits, 2, 9, 10 * SECOND, 11 * SECOND, 0); /* a mark proves a moment before its reading */
        add(waits, 3, 1, 10 * SECOND, 11 * SECOND, 0);
        assert_int_equal(waits_link(waits), 0);
        assert_int_equal(waits->count, 4);
        waits->nodes[3].absent = true;
        waits->nodes[3].gone_since_ns = ends[i].gone_since_ns;
        assert_int_equal(waits_gone_since(waits, RING, PROCESS, 9), ends[i].gone_since_ns);
        waits_stands(&waits->nodes[0], 2, 5);
        waits_again(&waits->nodes[1], &waits->nodes[1].wait);
        waits_again(&waits->nodes[2], &waits->nodes[2].wait);
        waits_settle(waits);
        node = node_of(waits, 1);
        if (node->certain != ends[i].gone || (node->next != WAITS_NONE) != ends[i].gone ||
            (waits->nodes[3].kind == WAITS_GONE) != ends[i].gone || node->doubted != ends[i].doubted)
            fail_msg("%s", ends[i].what);
        assert_false(node_of(waits, 2)->certain || node->deadlocked);
        if (ends[i].gone)
            CHAIN(waits, 3, 1, 9);
        assert_int_equal(waits_gone_since(waits, RING, PROCESS, 9), ends[i].gone_since_ns);
        assert_int_equal(waits_gone_since(waits, RING, PROCESS + 1, 9), 0);
        assert_int_equal(waits_gone_since(NULL, RING, PROCESS, 9), 0);
        waits_free(waits);
    }
}

/* tid 1 of this process and tid 2 of another one's ring, each with the lock that the other wants; who is told apart. */
static struct waits *across(bool by_memory, bool shared, bool known)
{
    const struct rip_id_info other = {.slot = 2, .generation = 2, .id = 2, .tid = 2, .process = 7, .progress = 5};
    struct lock_wait first = lock_of(1, 2, (const uint64_t[3]){10, 20, 30}, 41);
    struct lock_wait second = lock_of(2, 1, (const uint64_t[3]){10, 20, 40}, 41);
    struct rip_wait_info mark = {.slot = 2, .generation = 2, .id = 2, .tid = 2, .process = 7, .progress = 5};
    struct waits *waits = waits_new();

    first.holder.flags = second.holder.flags = shared ? RIP_WAIT_SHARED : 0;
    if (by_memory)
        add_thread(waits, 1, &first);
    else
        add(waits, 1, 2, 10 * SECOND, 30 * SECOND, 0);
    mark.begun_mono_ns = mark.seen_mono_ns = 11 * SECOND;
    mark.address = second.holder.address;
    assert_int_equal(waits_is_shared(&waits->nodes[0]), by_memory && shared);
    if (by_memory) {
        assert_int_equal(waits_add_thread(waits, RING + 1, &other, &second), 0);
    } else {
        assert_int_equal(waits_add(waits, RING + 1, &mark), 0);
        second = lock_of(2, 1, (const uint64_t[3]){20 * SECOND, 20 * SECOND, 20 * SECOND}, 21 * SECOND);
        second.holder.flags = RIP_WAIT_SHARED;
        waits_add_lock(waits, &second);
    }
    waits->nodes[0].holder_ring = known ? RING + 1 : 0;
    waits->nodes[0].holder_process = 7;
    waits->nodes[1].holder_ring = RING;
    waits->nodes[1].holder_process = PROCESS;
    settle_all(waits);
    return waits;
}

TEST(a_deadlock_across_processes)
{
    struct waits *waits = across(true, true, true);

    assert_true(waits->nodes[0].deadlocked && waits->nodes[1].deadlocked);
    assert_int_equal(waits->nodes[0].next, 1);
    waits_free(waits);
    waits = across(true, true, false); /* the holder of one lock is not known */
    assert_int_equal(waits->deadlocked_count, 0);
    assert_int_equal(waits->nodes[0].next, WAITS_NONE);
    assert_int_equal(waits->nodes[1].next, 0);
    waits_free(waits);
    waits = across(false, true, true); /* a mark's clock is that of its process */
    assert_int_equal(waits->deadlocked_count, 0);
    assert_true(waits->nodes[0].doubted && !waits->nodes[0].certain && !waits->nodes[1].certain);
    waits_free(waits);
    waits = across(true, false, true);
    assert_false(waits_is_shared(&waits->nodes[0]));
    waits_free(waits);
}

TEST(who_has_moved_waits_no_more)
{
    for (int i = 0; i < 3; i++) {
        const struct lock_wait lock = lock_of(1, 9, (const uint64_t[3]){10, 20, 30}, 31);
        struct waits *waits = waits_new();

        add_thread(waits, 1, &lock);
        assert_int_equal(waits_link(waits), 0);
        waits_stands(&waits->nodes[0], i == 1 ? 3 : 2, i == 2 ? 6 : 5);
        waits_settle(waits);
        assert_int_equal(node_of(waits, 1)->length, i == 0);
        waits_free(waits);
    }
}

TEST(readers_by_memory)
{
    struct lock_wait lock = lock_of(1, 0, (const uint64_t[3]){10, 20, 30}, 31);
    struct waits *waits = waits_new();

    lock.holder.flags = RIP_WAIT_SHARABLE;
    add_thread(waits, 1, &lock);
    lock.holder.flags = 0;
    add_thread(waits, 2, &lock);
    settle_all(waits);
    assert_int_equal(waits->nodes[node_of(waits, 1)->next].kind, WAITS_READERS);
    assert_int_equal(node_of(waits, 2)->length, 0);
    waits_free(waits);
}
