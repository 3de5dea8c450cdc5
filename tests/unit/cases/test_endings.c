/* SPDX-License-Identifier: Apache-2.0 */
/* test_endings.c - what ids waited for when they ended: ripd/cases/endings.c. */
#include "unit/waits_test.h"

#include "cases/endings.h"

static char ring_name[] = "app";

static void note(struct endings *endings, enum detector_event_kind kind, uint32_t slot, uint32_t generation)
{
    const struct detector_event event = {.kind = kind, .ring = RING, .slot = slot, .generation = generation};
    const struct detector_update update = {.events = &event, .event_count = 1};

    endings_note(endings, &update, waits);
}

/* 1 and 2 wait for each other, 3 for 1. The chain outlives the graph and the store. */
TEST(a_chain_is_copied, make_waits)
{
    struct endings *endings = endings_new();
    struct wait_chain *chain;

    add(1, 2, 10, 13, 0);
    add(2, 1, 11, 12, 0);
    add(3, 1, 12, 12, 0);
    settle();
    for (size_t i = 0; i < waits->count; i++)
        waits->nodes[i].ring_name = ring_name;
    note(endings, DETECTOR_GONE, 3, 2);
    note(endings, DETECTOR_MOVED, 1, 2); /* has not ended */
    note(endings, DETECTOR_GONE, 2, 4);  /* another id */
    free_waits(NULL);
    waits = NULL;
    note(endings, DETECTOR_GONE, 1, 2);
    assert_null(endings_find(endings, RING, 1, 2));
    assert_null(endings_find(endings, RING, 2, 4));
    assert_null(endings_find(endings, RING + 1, 3, 2));
    chain = wait_chain_ref(endings_find(endings, RING, 3, 2));
    endings_free(endings);
    assert_non_null(chain);
    assert_int_equal(chain->chain.count, 2);
    assert_int_equal(chain->chain.left_out, 0);
    assert_int_equal(chain->nodes[0].ring_tid, 1);
    assert_int_equal(chain->nodes[1].ring_tid, 2);
    assert_string_equal(chain->nodes[0].ring_name, "app");
    assert_true(chain->nodes[0].ring_name != ring_name);
    wait_chain_unref(chain);
    wait_chain_unref(NULL);
    assert_null(wait_chain_ref(NULL));
}

TEST(the_newest_are_kept, make_waits, free_waits)
{
    struct endings *endings = endings_new();

    for (uint32_t i = 0; i < ENDINGS_MAX + 5; i++) {
        renew_waits();
        add(10 + i, 5, 10, 11, 0);
        settle();
        note(endings, DETECTOR_GONE, 10 + i, 2);
    }
    for (uint32_t i = 0; i < ENDINGS_MAX + 5; i++)
        assert_int_equal(endings_find(endings, RING, 10 + i, 2) != NULL, i >= 5);
    endings_free(endings);
    endings_free(NULL);
}
