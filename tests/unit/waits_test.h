/* SPDX-License-Identifier: Apache-2.0 */
/* waits_test.h - ids that wait, and the chains that are expected of them. For test_waits.c and test_waits_settle.c. */
#ifndef TESTS_UNIT_WAITS_TEST_H
#define TESTS_UNIT_WAITS_TEST_H

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#include "cases/waits.h"

#define SECOND UINT64_C(1000000000)

enum { RING = 3, PROCESS = 1 };

/* tid t waits since begun for a lock that holder held when that was read. Slots are numbers of tids. */
static inline void add(struct waits *waits, uint32_t tid, uint32_t holder, uint64_t begun_ns, uint64_t seen_ns,
                       uint8_t flags)
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

static inline const struct waits_node *node_of(const struct waits *waits, uint32_t tid)
{
    uint32_t found = waits_find(waits, RING, tid, 2);

    assert_int_not_equal(found, WAITS_NONE);
    return &waits->nodes[found];
}

/* The chain of tid is these tids; those that are no ids are given by their holder. */
static inline void assert_chain(const struct waits *waits, uint32_t tid, size_t count, const uint32_t *tids)
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

#define CHAIN(waits, tid, ...)                                                                                         \
    assert_chain(waits, tid, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),                               \
                 (const uint32_t[]){__VA_ARGS__})

#endif
