/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_waits.c - chains, deadlocks and certainty of waits known from marks: single cases, random graphs compared with
 * a slow model, and large graphs. test_waits_settle.c has waits known from memory.
 */
#include "unit/waits_test.h"

#include <errno.h>

/* Single cases ----------------------------------------------------------------------------------------------------- */

TEST(two_wait_for_each_other, make_waits, free_waits)
{
    add(1, 2, 10, 13, 0);
    add(2, 1, 11, 12, 0);
    add(3, 1, 12, 12, 0); /* waits for the cycle */
    settle();
    assert_true(node_of(1)->deadlocked && node_of(2)->deadlocked && !node_of(3)->deadlocked);
    assert_int_equal(waits->deadlocked_count, 2);
    CHAIN(1, 2, 1);
    CHAIN(2, 1, 2);
    CHAIN(3, 1, 2);
    assert_int_equal(node_of(3)->root, node_of(2)->root);
    assert_int_equal(node_of(1)->root, node_of(2)->root);
}

TEST(a_thread_waits_for_itself, make_waits, free_waits)
{
    add(7, 7, 10, 11, 0);
    settle();
    assert_true(node_of(7)->deadlocked);
    CHAIN(7, 7);
}

/* The cycle 1 -> 2 -> 1. 1 waits since 10 s; 2 waits since 11 s and read its holder at 12 s. */
static const struct {
    const char *what;
    uint64_t seen_1;
    uint8_t flags_1, flags_2;
    bool deadlock;
} certainties[] = {
    {"each read its holder after the other began", 13 * SECOND, 0, 0, true},
    {"1 read before 2 began", 10 * SECOND, 0, 0, false},
    {"1 read when 2 began", 11 * SECOND, 0, 0, false},
    {"1 read within the slack", 11 * SECOND + WAITS_SLACK_NS, 0, 0, false},
    {"1 read just after the slack", 11 * SECOND + WAITS_SLACK_NS + 1, 0, 0, true},
    {"2 has a time limit", 13 * SECOND, 0, RIP_WAIT_ENDS, false},
    {"1 has an unknown flag", 13 * SECOND, 64, 0, false},
    {"1 read before, and promises that its holder stays", 10 * SECOND, RIP_WAIT_OWNER_LASTS, 0, true},
    {"the same with a time limit", 10 * SECOND, RIP_WAIT_OWNER_LASTS | RIP_WAIT_ENDS, 0, false},
    {"a rwlock held for writing", 13 * SECOND, RIP_WAIT_SHARABLE, 0, true},
};

TEST(certainty, make_waits, free_waits)
{
    for (size_t i = 0; i < COUNT_OF(certainties); i++) {
        renew_waits();
        add_ns(1, 2, 10 * SECOND, certainties[i].seen_1, certainties[i].flags_1);
        add(2, 1, 11, 12, certainties[i].flags_2);
        settle();
        if (node_of(1)->deadlocked != certainties[i].deadlock || node_of(2)->deadlocked != certainties[i].deadlock)
            fail_msg("%s", certainties[i].what);
    }
}

/* Guarantee D: a cycle that is not certain loses its uncertain edges, and keeps the others. */
TEST(an_uncertain_cycle_is_cut, make_waits, free_waits)
{
    add(1, 2, 10, 10, 0); /* read before 2 began */
    add(2, 1, 11, 12, 0);
    settle();
    CHAIN(2, 1);
    assert_int_equal(node_of(1)->length, 0);
    assert_true(node_of(2)->certain);
}

/* There is no deadlock if the second reading finds something else. */
TEST(the_second_reading_counts, make_waits, free_waits)
{
    struct rip_wait_info changed[6];

    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        renew_waits();
        add(1, 2, 10, 13, 0);
        add(2, 1, 11, 12, 0);
        assert_int_equal(waits_link(waits), 0);
        changed[i] = waits->nodes[1].wait;
        changed[i].generation += i == 0 ? 2 : 0;
        changed[i].progress += i == 1;
        changed[i].address += i == 2;
        changed[i].owner += i == 3;
        changed[i].begun_mono_ns = i == 4 ? 14 * SECOND : changed[i].begun_mono_ns; /* another wait for the same lock */
        waits_again(&waits->nodes[0], &waits->nodes[0].wait);
        waits_again(&waits->nodes[1], i == 5 ? NULL : &changed[i]);
        waits_settle(waits);
        assert_int_equal(waits->deadlocked_count, 0);
    }
}

/* RIP_WAIT_OWNER_LASTS proves nothing if the holder itself began another wait between the readings. */
TEST(a_promise_holds_for_one_wait_of_the_holder, make_waits, free_waits)
{
    for (int again = 0; again < 2; again++) {
        struct rip_wait_info later;

        renew_waits();
        add(1, 2, 10, 10, RIP_WAIT_OWNER_LASTS);
        add(2, 1, 11, 12, 0);
        assert_int_equal(waits_link(waits), 0);
        later = waits->nodes[1].wait;
        later.begun_mono_ns = again != 0 ? 12 * SECOND + 1 : 12 * SECOND;
        later.seen_mono_ns = 13 * SECOND;
        waits->nodes[0].wait.begun_mono_ns = 9 * SECOND;
        waits_again(&waits->nodes[0], &waits->nodes[0].wait);
        waits_again(&waits->nodes[1], &later);
        waits_settle(waits);
        assert_int_equal(waits->deadlocked_count, again != 0 ? 0 : 2);
    }
}

TEST(holders_that_do_not_wait, make_waits, free_waits)
{
    struct waits_node *found[2];

    add(1, 9, 10, 11, 0);
    add(2, 9, 10, 11, 0);
    add(3, 8, 10, 11, RIP_WAIT_OWNER_IS_ID);
    add(4, 1, 10, 11, 0);
    add(5, 0, 10, 11, 0);                 /* holder not known */
    add(6, 0, 10, 11, RIP_WAIT_SHARABLE); /* readers */
    assert_int_equal(waits_link(waits), 0);
    assert_int_equal(waits->count, 6 + 3);
    assert_int_equal(waits_missing(waits, RING, PROCESS, 7, 7, found), 0);
    assert_int_equal(waits_missing(waits, RING, PROCESS + 1, 9, 8, found), 0);
    assert_int_equal(waits_missing(waits, RING + 1, PROCESS, 9, 8, found), 0);
    assert_int_equal(waits_missing(waits, RING, PROCESS, 8, 9, found), 0); /* a tid is no id */
    assert_int_equal(waits_missing(waits, RING, PROCESS, 9, 77, found), 1);
    found[0]->kind = WAITS_ID;
    found[0]->ring_tid = 9;
    assert_int_equal(waits_missing(waits, RING, PROCESS, 9, 77, found), 0); /* already taken */
    read_again();
    waits_settle(waits);
    CHAIN(1, 9);
    CHAIN(2, 9);
    CHAIN(3, 8);
    CHAIN(4, 1, 9);
    assert_int_equal(node_of(5)->length, 0);
    assert_int_equal(node_of(6)->length, 1);
    assert_int_equal(next_of(6)->kind, WAITS_READERS);
    assert_int_equal(node_of(1)->root, node_of(4)->root);
    assert_false(node_of(1)->certain); /* 9 does not wait and may release the lock */
    assert_true(node_of(4)->certain);
}

TEST(edges_stay_within_a_process, make_waits, free_waits)
{
    const struct rip_wait_info other = {
        .slot = 0, .generation = 2, .id = 2, .tid = 2, .process = PROCESS + 1, .owner = 1, .seen_mono_ns = 20 * SECOND};

    assert_int_equal(waits_add(waits, RING, &other), 0);
    add(1, 2, 0, 20, 0);
    assert_int_equal(waits_add(waits, RING + 1, &(struct rip_wait_info){.tid = 2, .owner = 1, .process = PROCESS}), 0);
    settle();
    assert_int_equal(waits->deadlocked_count, 0);
    assert_int_equal(waits->count, 6); /* each waits for a thread of its own process */
}

/* Random graphs ---------------------------------------------------------------------------------------------------- */

enum { MODEL_MAX = 40 };

/* Whether following the holders from tid leads back to tid. *ret_certain: all edges on the way are certain. */
static bool model_cycle(const uint32_t *owners, size_t count, uint32_t tid, bool *ret_certain, const bool *certain)
{
    uint32_t at = tid;

    *ret_certain = true;
    for (size_t steps = 0; steps <= count; steps++) {
        if (at == 0 || at > count)
            return false;
        *ret_certain = *ret_certain && certain[at];
        at = owners[at];
        if (at == tid)
            return true;
    }
    return false;
}

static void try_random_graph(void)
{
    uint32_t owners[MODEL_MAX + 1] = {0};
    bool certain[MODEL_MAX + 1] = {false};
    size_t count = 1 + (size_t)rand() % MODEL_MAX;

    renew_waits();
    for (uint32_t tid = 1; tid <= count; tid++) {
        owners[tid] = (uint32_t)rand() % (uint32_t)(count + 4); /* 0: not known; above count: does not wait */
        certain[tid] = rand() % 4 != 0 && owners[tid] != 0 && owners[tid] <= count;
        add(tid, owners[tid], 10, certain[tid] ? 20 : 9, 0);
    }
    settle();
    for (uint32_t tid = 1; tid <= count; tid++) {
        const struct waits_node *node = node_of(tid);
        uint32_t at = tid;
        struct waits_chain chain;
        bool all, in_cycle = model_cycle(owners, count, tid, &all, certain);

        waits_chain(waits, tid - 1, &chain);
        assert_int_equal(node->deadlocked, in_cycle && all);
        assert_int_equal(node->length, chain.count + chain.left_out);
        for (size_t i = 0; i < chain.count && (chain.left_out == 0 || i + 1 < chain.count); i++) {
            const struct waits_node *step = chain.steps[i].node;

            assert_int_equal(step->kind == WAITS_ID ? step->ring_tid : step->holder, owners[at]);
            at = owners[at];
        }
        if (chain.left_out == 0 && chain.count != 0 && !waits->nodes[node->root].deadlocked)
            assert_ptr_equal(chain.steps[chain.count - 1].node, &waits->nodes[node->root]);
        assert_true(chain.count == 0 || chain.steps[chain.count - 1].node == &waits->nodes[node->last]);
        assert_int_equal(waits->nodes[node->root].root, node->root);
        if (node->next != WAITS_NONE)
            assert_int_equal(waits->nodes[node->next].root, node->root);
    }
}

TEST(random_graphs_are_as_the_model_says, make_waits, free_waits)
{
    srand(1);
    for (unsigned i = 0; i < 20000; i++)
        try_random_graph();
}

/* Size ------------------------------------------------------------------------------------------------------------- */

enum { MANY = 10000 };

/* A graph of MANY ids, each of which waits for another one. */
static void add_many(uint32_t (*holder_of)(uint32_t tid))
{
    renew_waits();
    for (uint32_t tid = 1; tid <= MANY; tid++)
        add(tid, holder_of(tid), 10, 20, 0);
    settle();
}

static uint32_t same_holder(uint32_t tid)
{
    return tid != 0 ? MANY + 1 : 0;
}

static uint32_t next_tid(uint32_t tid)
{
    return tid + 1;
}

static uint32_t next_around(uint32_t tid)
{
    return tid % MANY + 1;
}

static void assert_long_chain(uint32_t from, uint32_t first, uint32_t last)
{
    struct waits_chain chain;

    waits_chain(waits, from, &chain);
    assert_int_equal(chain.count, WAITS_CHAIN_MAX);
    assert_int_equal(chain.left_out, MANY - WAITS_CHAIN_MAX);
    assert_ptr_equal(chain.steps[0].node, &waits->nodes[first]);
    assert_ptr_equal(chain.steps[WAITS_CHAIN_MAX - 1].node, &waits->nodes[last]);
    assert_true(chain.steps[0].certain && !chain.steps[WAITS_CHAIN_MAX - 1].certain);
}

TEST(ten_thousand, make_waits, free_waits)
{
    add_many(same_holder);
    assert_int_equal(waits->count, MANY + 1);
    assert_int_equal(node_of(MANY)->root, MANY);
    assert_int_equal(node_of(1)->root, MANY);
    add_many(next_tid);
    assert_long_chain(0, 1, MANY);
    add_many(next_around);
    assert_int_equal(waits->deadlocked_count, MANY);
    assert_long_chain(5, 6, 5); /* ends with the member itself */
}

TEST(limit, make_waits, free_waits)
{
    const struct rip_wait_info wait = {.owner = 1};

    for (uint32_t i = 0; i < WAITS_NODES_MAX; i++)
        assert_int_equal(waits_add(waits, i, &wait), 0);
    assert_int_equal(waits_add(waits, WAITS_NODES_MAX, &wait), -ENOSPC);
    assert_int_equal(waits->left_out_count, 1);
    settle();
}

TEST(an_empty_graph, make_waits, free_waits)
{
    settle();
    assert_int_equal(waits_find(waits, 0, 0, 0), WAITS_NONE);
    assert_int_equal(waits_find(NULL, 0, 0, 0), WAITS_NONE);
    waits_free(NULL);
}
