/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_waits.c - chains, deadlocks and certainty: by hand, against a slow model on random graphs, and at size.
 */
#include "unit/waits_test.h"

#include <errno.h>

/* The second reading finds everything as the first did. */
static void settle(struct waits *waits)
{
    assert_int_equal(waits_link(waits), 0);
    for (size_t i = 0; i < waits->waiting_count; i++)
        waits_again(&waits->nodes[i], &waits->nodes[i].wait);
    waits_settle(waits);
}

/* By hand ---------------------------------------------------------------------------------------------------------- */

TEST(two_wait_for_each_other)
{
    struct waits *waits = waits_new();

    add(waits, 1, 2, 10 * SECOND, 13 * SECOND, 0);
    add(waits, 2, 1, 11 * SECOND, 12 * SECOND, 0);
    add(waits, 3, 1, 12 * SECOND, 12 * SECOND, 0); /* behind it */
    settle(waits);
    assert_true(node_of(waits, 1)->deadlocked && node_of(waits, 2)->deadlocked && !node_of(waits, 3)->deadlocked);
    assert_int_equal(waits->deadlocked_count, 2);
    CHAIN(waits, 1, 2, 1);
    CHAIN(waits, 2, 1, 2);
    CHAIN(waits, 3, 1, 2);
    assert_int_equal(node_of(waits, 3)->root, node_of(waits, 2)->root);
    assert_int_equal(node_of(waits, 1)->root, node_of(waits, 2)->root);
    waits_free(waits);
}

TEST(one_waits_for_itself)
{
    struct waits *waits = waits_new();

    add(waits, 7, 7, 10 * SECOND, 11 * SECOND, 0);
    settle(waits);
    assert_true(node_of(waits, 7)->deadlocked);
    CHAIN(waits, 7, 7);
    waits_free(waits);
}

/* What else is true of the cycle 1 -> 2 -> 1 in which 1 read its holder when 2 waited already. */
static const struct {
    const char *what;
    uint64_t seen_1, begun_2, seen_2;
    uint8_t flags_1, flags_2;
    bool deadlock;
} certainties[] = {
    {"each read after the other began", 13 * SECOND, 11 * SECOND, 12 * SECOND, 0, 0, true},
    {"1 read before 2 began", 10 * SECOND, 11 * SECOND, 12 * SECOND, 0, 0, false},
    {"1 read when 2 began", 11 * SECOND, 11 * SECOND, 12 * SECOND, 0, 0, false},
    {"1 read within the slack", 11 * SECOND + WAITS_SLACK_NS, 11 * SECOND, 12 * SECOND, 0, 0, false},
    {"1 read just behind the slack", 11 * SECOND + WAITS_SLACK_NS + 1, 11 * SECOND, 12 * SECOND, 0, 0, true},
    {"2 has a time limit", 13 * SECOND, 11 * SECOND, 12 * SECOND, 0, RIP_WAIT_ENDS, false},
    {"1 has a flag nobody knows", 13 * SECOND, 11 * SECOND, 12 * SECOND, 64, 0, false},
    {"1 has it from before, and promises that it lasts", 10 * SECOND, 11 * SECOND, 12 * SECOND, RIP_WAIT_OWNER_LASTS, 0,
     true},
    {"it lasts, but ends", 10 * SECOND, 11 * SECOND, 12 * SECOND, RIP_WAIT_OWNER_LASTS | RIP_WAIT_ENDS, 0, false},
    {"a rwlock held for writing", 13 * SECOND, 11 * SECOND, 12 * SECOND, RIP_WAIT_SHARABLE, 0, true},
};

TEST(certainty)
{
    for (size_t i = 0; i < sizeof(certainties) / sizeof(certainties[0]); i++) {
        struct waits *waits = waits_new();
        bool found;

        add(waits, 1, 2, 10 * SECOND, certainties[i].seen_1, certainties[i].flags_1);
        add(waits, 2, 1, certainties[i].begun_2, certainties[i].seen_2, certainties[i].flags_2);
        settle(waits);
        found = node_of(waits, 1)->deadlocked;
        if (found != certainties[i].deadlock || node_of(waits, 2)->deadlocked != found)
            fail_msg("%s", certainties[i].what);
        waits_free(waits);
    }
}

/* A cycle that is not certain loses its uncertain edges: the certain ones stay and can all be true. */
TEST(what_cannot_all_be_true_is_not_reported)
{
    struct waits *waits = waits_new();

    add(waits, 1, 2, 10 * SECOND, 10 * SECOND, 0); /* from before 2 began */
    add(waits, 2, 1, 11 * SECOND, 12 * SECOND, 0);
    settle(waits);
    CHAIN(waits, 2, 1);
    assert_int_equal(node_of(waits, 1)->length, 0);
    assert_true(node_of(waits, 2)->certain);
    waits_free(waits);
}

TEST(the_second_reading_counts)
{
    struct rip_wait_info changed[6];

    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
        struct waits *waits = waits_new();

        add(waits, 1, 2, 10 * SECOND, 13 * SECOND, 0);
        add(waits, 2, 1, 11 * SECOND, 12 * SECOND, 0);
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
        waits_free(waits);
    }
}

/* What lasts as long as the waiter waits proves nothing of a holder that began to wait again in between. */
TEST(a_promise_holds_for_one_wait_of_the_holder)
{
    for (int again = 0; again < 2; again++) {
        struct waits *waits = waits_new();
        struct rip_wait_info later;

        add(waits, 1, 2, 10 * SECOND, 10 * SECOND, RIP_WAIT_OWNER_LASTS);
        add(waits, 2, 1, 11 * SECOND, 12 * SECOND, 0);
        assert_int_equal(waits_link(waits), 0);
        later = waits->nodes[1].wait;
        later.begun_mono_ns = again != 0 ? 12 * SECOND + 1 : 12 * SECOND;
        later.seen_mono_ns = 13 * SECOND;
        waits->nodes[0].wait.begun_mono_ns = 9 * SECOND;
        waits_again(&waits->nodes[0], &waits->nodes[0].wait);
        waits_again(&waits->nodes[1], &later);
        waits_settle(waits);
        assert_int_equal(waits->deadlocked_count, again != 0 ? 0 : 2);
        waits_free(waits);
    }
}

TEST(holders_that_do_not_wait)
{
    struct waits_node *found[2];
    struct waits *waits = waits_new();

    add(waits, 1, 9, 10 * SECOND, 11 * SECOND, 0);
    add(waits, 2, 9, 10 * SECOND, 11 * SECOND, 0);
    add(waits, 3, 8, 10 * SECOND, 11 * SECOND, RIP_WAIT_OWNER_IS_ID);
    add(waits, 4, 1, 10 * SECOND, 11 * SECOND, 0);
    add(waits, 5, 0, 10 * SECOND, 11 * SECOND, 0);                 /* nobody knows */
    add(waits, 6, 0, 10 * SECOND, 11 * SECOND, RIP_WAIT_SHARABLE); /* readers */
    assert_int_equal(waits_link(waits), 0);
    assert_int_equal(waits->count, 6 + 3);
    assert_int_equal(waits_missing(waits, RING, PROCESS, 7, 7, found), 0);
    assert_int_equal(waits_missing(waits, RING, PROCESS + 1, 9, 8, found), 0);
    assert_int_equal(waits_missing(waits, RING + 1, PROCESS, 9, 8, found), 0);
    assert_int_equal(waits_missing(waits, RING, PROCESS, 8, 9, found), 0); /* a tid is no id */
    assert_int_equal(waits_missing(waits, RING, PROCESS, 9, 77, found), 1);
    found[0]->kind = WAITS_ID;
    found[0]->ring_tid = 9;
    assert_int_equal(waits_missing(waits, RING, PROCESS, 9, 77, found), 0); /* the first who says so */
    for (size_t i = 0; i < waits->waiting_count; i++)
        waits_again(&waits->nodes[i], &waits->nodes[i].wait);
    waits_settle(waits);
    CHAIN(waits, 1, 9);
    CHAIN(waits, 2, 9);
    CHAIN(waits, 3, 8);
    CHAIN(waits, 4, 1, 9);
    assert_int_equal(node_of(waits, 5)->length, 0);
    assert_int_equal(node_of(waits, 6)->length, 1);
    assert_int_equal(waits->nodes[node_of(waits, 6)->next].kind, WAITS_READERS);
    assert_int_equal(node_of(waits, 1)->root, node_of(waits, 4)->root);
    assert_false(node_of(waits, 1)->certain); /* it does not wait: nobody knows what it does */
    assert_true(node_of(waits, 4)->certain);
    waits_free(waits);
}

TEST(edges_stay_within_a_process)
{
    const struct rip_wait_info other = {
        .slot = 0, .generation = 2, .id = 2, .tid = 2, .process = PROCESS + 1, .owner = 1, .seen_mono_ns = 20 * SECOND};
    struct waits *waits = waits_new();

    assert_int_equal(waits_add(waits, RING, &other), 0);
    add(waits, 1, 2, 0, 20 * SECOND, 0);
    assert_int_equal(waits_add(waits, RING + 1, &(struct rip_wait_info){.tid = 2, .owner = 1, .process = PROCESS}), 0);
    settle(waits);
    assert_int_equal(waits->deadlocked_count, 0);
    assert_int_equal(waits->count, 6); /* each waits for somebody of its own */
    waits_free(waits);
}

/* The model -------------------------------------------------------------------------------------------------------- */

enum { MODEL_MAX = 40 };

/* Whether from one can be come back to it, over edges that are there. */
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
    struct waits *waits = waits_new();

    for (uint32_t tid = 1; tid <= count; tid++) {
        owners[tid] = (uint32_t)rand() % (uint32_t)(count + 4); /* 0: not known; above count: waits for nobody */
        certain[tid] = rand() % 4 != 0 && owners[tid] != 0 && owners[tid] <= count;
        add(waits, tid, owners[tid], 10 * SECOND, certain[tid] ? 20 * SECOND : 9 * SECOND, 0);
    }
    settle(waits);
    for (uint32_t tid = 1; tid <= count; tid++) {
        const struct waits_node *node = node_of(waits, tid);
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
    waits_free(waits);
}

TEST(random_graphs_are_as_the_model_says)
{
    srand(1);
    for (unsigned i = 0; i < 20000; i++)
        try_random_graph();
}

/* Size ------------------------------------------------------------------------------------------------------------- */

enum { MANY = 10000 };

static struct waits *many(uint32_t (*owner_of)(uint32_t tid))
{
    struct waits *waits = waits_new();

    for (uint32_t tid = 1; tid <= MANY; tid++)
        add(waits, tid, owner_of(tid), 10 * SECOND, 20 * SECOND, 0);
    settle(waits);
    return waits;
}

static uint32_t same_owner(uint32_t tid)
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

TEST(ten_thousand)
{
    struct waits *star = many(same_owner), *chain = many(next_tid), *cycle = many(next_around);
    struct waits_chain steps;

    assert_int_equal(star->count, MANY + 1);
    assert_int_equal(node_of(star, MANY)->root, MANY);
    assert_int_equal(node_of(star, 1)->root, MANY);
    waits_chain(chain, 0, &steps);
    assert_int_equal(steps.count, WAITS_CHAIN_MAX);
    assert_int_equal(steps.left_out, MANY - WAITS_CHAIN_MAX);
    assert_ptr_equal(steps.steps[0].node, &chain->nodes[1]);
    assert_ptr_equal(steps.steps[WAITS_CHAIN_MAX - 1].node, &chain->nodes[MANY]);
    assert_true(steps.steps[0].certain && !steps.steps[WAITS_CHAIN_MAX - 1].certain);
    assert_int_equal(cycle->deadlocked_count, MANY);
    waits_chain(cycle, 5, &steps);
    assert_int_equal(steps.count, WAITS_CHAIN_MAX);
    assert_int_equal(steps.left_out, MANY - WAITS_CHAIN_MAX);
    assert_ptr_equal(steps.steps[0].node, &cycle->nodes[6]);
    assert_ptr_equal(steps.steps[WAITS_CHAIN_MAX - 1].node, &cycle->nodes[5]); /* itself */
    waits_free(star);
    waits_free(chain);
    waits_free(cycle);
}

TEST(limit)
{
    struct waits *waits = waits_new();
    const struct rip_wait_info wait = {.owner = 1};

    for (uint32_t i = 0; i < WAITS_NODES_MAX; i++)
        assert_int_equal(waits_add(waits, i, &wait), 0);
    assert_int_equal(waits_add(waits, WAITS_NODES_MAX, &wait), -ENOSPC);
    assert_int_equal(waits->left_out_count, 1);
    settle(waits);
    waits_free(waits);
}

TEST(nothing)
{
    struct waits *waits = waits_new();

    settle(waits);
    assert_int_equal(waits_find(waits, 0, 0, 0), WAITS_NONE);
    assert_int_equal(waits_find(NULL, 0, 0, 0), WAITS_NONE);
    waits_free(waits);
    waits_free(NULL);
}
