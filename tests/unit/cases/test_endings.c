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
    struct work *work = work_new();
    struct endings *endings = endings_new(work);
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
    work_free(work);
}

/* Count ids of the user end. All of them waited for 5. */
static void end_ids(struct endings *endings, uint32_t user, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        renew_waits();
        add(i, 5, 10, 11, 0);
        waits->nodes[0].user = user;
        settle();
        note(endings, DETECTOR_GONE, i, 2);
    }
}

static size_t kept_count(const struct endings *endings, uint32_t first, uint32_t count)
{
    size_t kept = 0;

    for (uint32_t i = first; i < first + count; i++)
        kept += endings_find(endings, RING, i, 2) != NULL;
    return kept;
}

TEST(the_newest_of_each_user_are_kept, make_waits, free_waits)
{
    enum { KEPT = 1024, MORE = 5000, ANNA = 1000, BERT };
    struct work *work = work_new();
    struct endings *endings = endings_new(work);

    end_ids(endings, BERT, 10, 3);
    end_ids(endings, ANNA, 20, MORE);
    assert_int_equal(kept_count(endings, 10, 3), 3);
    assert_in_range(kept_count(endings, 20, MORE), KEPT - 3, KEPT);
    assert_int_equal(kept_count(endings, 20 + MORE - (KEPT - 3), KEPT - 3), KEPT - 3);
    end_ids(endings, BERT, 10000, MORE); /* takes the oldest of the user who has more */
    assert_int_equal(kept_count(endings, 10, 3), 0);
    assert_in_range(kept_count(endings, 20, MORE), 682, 683);
    assert_in_range(kept_count(endings, 10000, MORE), 682, 683);
    assert_int_equal(kept_count(endings, 20 + MORE - 682, 682), 682);
    endings_free(endings);
    endings_free(NULL);
    work_free(work);
}
