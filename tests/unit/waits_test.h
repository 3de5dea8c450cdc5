/* SPDX-License-Identifier: Apache-2.0 */
/* waits_test.h - a graph of waits, and checks of its chains: for test_waits.c, test_waits_settle.c and test_endings.c.
 */
#ifndef TESTS_UNIT_WAITS_TEST_H
#define TESTS_UNIT_WAITS_TEST_H

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#include "cases/waits.h"

#define SECOND UINT64_C(1000000000)

enum { RING = 3, PROCESS = 1 };

static struct waits *waits; /* of the current test */

static inline int make_waits(void **state)
{
    (void)state;
    waits = waits_new();
    return waits == NULL;
}

static inline int free_waits(void **state)
{
    (void)state;
    waits_free(waits);
    return 0;
}

/* For the next case of a table. */
static inline void renew_waits(void)
{
    waits_free(waits);
    waits = waits_new();
}

/*
 * Thread tid waits since begun_ns for a lock. holder held the lock when that was read, at seen_ns. The slot is the tid.
 */
static inline void add_ns(uint32_t tid, uint32_t holder, uint64_t begun_ns, uint64_t seen_ns, uint8_t flags)
{
    const struct rip_wait_info wait = {
        .slot = tid,
        .generation = 2,
        .id = 1000000 + tid,
        .tid = tid,
        .process = PROCESS,
        .flags = flags,
        .owner = holder,
        .progress = 5,
        .address = 4096 + tid,
        .seen_mono_ns = seen_ns,
        .begun_mono_ns = begun_ns,
    };

    assert_int_equal(waits_add(waits, RING, &wait), 0);
}

static inline void add(uint32_t tid, uint32_t holder, uint64_t begun_s, uint64_t seen_s, uint8_t flags)
{
    add_ns(tid, holder, begun_s * SECOND, seen_s * SECOND, flags);
}

/* The second reading finds each mark as the first did, and each thread without a mark in the same wait. */
static inline void read_again(void)
{
    for (size_t i = 0; i < waits->waiting_count; i++) {
        struct waits_node *node = &waits->nodes[i];

        if (node->marked)
            waits_again(node, &node->wait);
        else
            waits_stands(node, node->generation, node->progress);
    }
}

static inline void settle(void)
{
    assert_int_equal(waits_link(waits), 0);
    read_again();
    waits_settle(waits);
}

static inline const struct waits_node *node_of(uint32_t tid)
{
    const uint32_t found = waits_find(waits, RING, tid, 2);

    assert_int_not_equal(found, WAITS_NONE);
    return &waits->nodes[found];
}

/* The node that a waiting tid waits for. */
static inline const struct waits_node *next_of(uint32_t tid)
{
    assert_int_not_equal(node_of(tid)->next, WAITS_NONE);
    return &waits->nodes[node_of(tid)->next];
}

static inline void assert_chain(uint32_t tid, size_t count, const uint32_t *tids)
{
    struct waits_chain chain;

    waits_chain(waits, waits_find(waits, RING, tid, 2), &chain);
    assert_int_equal(chain.count, count);
    assert_int_equal(chain.left_out, 0);
    for (size_t i = 0; i < count; i++) {
        const struct waits_node *node = chain.steps[i].node;

        assert_int_equal(node->kind == WAITS_ID ? node->ring_tid : node->holder, tids[i]);
    }
}

/* The chain of tid consists of these tids. A node that is no id counts by its holder. */
#define CHAIN(tid, ...)                                                                                                \
    assert_chain(tid, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

#endif
