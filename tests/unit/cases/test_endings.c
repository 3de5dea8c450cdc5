/* SPDX-License-Identifier: Apache-2.0 */
/* test_endings.c - on whom ids waited when they ended: ripd/cases/endings.c. */
#include "unit/waits_test.h"

#include "cases/endings.h"

static char ring_name[] = "app";

/* 1 waits for 2 and 2 for 1; 3 for 1. */
static struct waits *graph(void)
{
    struct waits *waits = waits_new();

    add(waits, 1, 2, 10 * SECOND, 13 * SECOND, 0);
    add(waits, 2, 1, 11 * SECOND, 12 * SECOND, 0);
    add(waits, 3, 1, 12 * SECOND, 12 * SECOND, 0);
    assert_int_equal(waits_link(waits), 0);
    for (size_t i = 0; i < waits->waiting_count; i++)
        waits_again(&waits->nodes[i], &waits->nodes[i].wait);
    waits_settle(waits);
    for (size_t i = 0; i < waits->count; i++)
        waits->nodes[i].ring_name = ring_name;
    return waits;
}

static void note(struct endings *endings, enum detector_event_kind kind, uint32_t slot, uint32_t generation,
                 const struct waits *waits)
{
    const struct detector_event event = {.kind = kind, .ring = RING, .slot = slot, .generation = generation};
    const struct detector_update update = {.events = &event, .event_count = 1};

    endings_note(endings, &update, waits);
}

/* The chain outlives the graph, and the store. */
TEST(a_chain_is_copied)
{
    struct endings *endings = endings_new();
    struct waits *waits = graph();
    struct wait_chain *chain;

    note(endings, DETECTOR_GONE, 3, 2, waits);
    note(endings, DETECTOR_MOVED, 1, 2, waits); /* it has not ended */
    note(endings, DETECTOR_GONE, 2, 4, waits);  /* another id */
    note(endings, DETECTOR_GONE, 1, 2, NULL);
    waits_free(waits);
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

TEST(the_newest_are_kept)
{
    struct endings *endings = endings_new();

    for (uint32_t i = 0; i < ENDINGS_MAX + 5; i++) {
        struct waits *waits = waits_new();

        add(waits, 10 + i, 5, 10 * SECOND, 11 * SECOND, 0);
        assert_int_equal(waits_link(waits), 0);
        waits_again(&waits->nodes[0], &waits->nodes[0].wait);
        waits_settle(waits);
        note(endings, DETECTOR_GONE, 10 + i, 2, waits);
        waits_free(waits);
    }
    for (uint32_t i = 0; i < ENDINGS_MAX + 5; i++)
        assert_int_equal(endings_find(endings, RING, 10 + i, 2) != NULL, i >= 5);
    endings_free(endings);
    endings_free(NULL);
}
