/* SPDX-License-Identifier: Apache-2.0 */
/* test_episode.c - open episodes, found by the id they are of: ripd/cases/episode.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cases/episode.h"
#include "unit/chosen_keys.h"

enum { MANY = 20000 };

static struct episode *episodes[MANY];

/* Each is found, and nothing else, while buckets come and go. */
static void test_found_and_removed(void **state)
{
    struct episode_set set = {.hash_key = {{3, 4}}};
    size_t most;

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        episodes[i] = episode_set_add(&set, (struct episode_key){1 + i % 3, i, 7});
        assert_non_null(episodes[i]);
    }
    most = set.bucket_count;
    for (uint32_t i = 0; i < MANY; i++) {
        assert_ptr_equal(episode_set_find(&set, (struct episode_key){1 + i % 3, i, 7}), episodes[i]);
        assert_null(episode_set_find(&set, (struct episode_key){1 + i % 3, i, 8}));
    }
    for (uint32_t i = 0; i < MANY; i += i % 16 == 14 ? 2 : 1) { /* all but one of sixteen */
        episode_set_remove(&set, episodes[i]);
        free(episodes[i]);
        episodes[i] = NULL;
    }
    assert_in_range(set.bucket_count, 1, most / 2);
    for (uint32_t i = 0; i < MANY; i++)
        assert_ptr_equal(episode_set_find(&set, (struct episode_key){1 + i % 3, i, 7}), episodes[i]);
    for (uint32_t i = 0; i < MANY; i++)
        free(episodes[i]);
    episode_set_done(&set);
}

static size_t longest_chain(const struct episode_set *set)
{
    size_t longest = 0;

    for (size_t i = 0; i < set->bucket_count; i++) {
        size_t length = 0;

        for (const struct episode *episode = set->buckets[i]; episode != NULL; episode = episode->chain)
            length++;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* What to make the lower half of a number so that bits 32 to 47 of its product with the factor are those. */
static void find_lower_halves(uint32_t ret_halves[1 << 16])
{
    size_t found = 0;

    for (uint32_t half = 1; found < 1 << 16; half++) {
        uint32_t *place = &ret_halves[(half * SPLITMIX_FACTOR) >> 32 & 0xffff];

        found += *place == 0;
        *place = *place == 0 ? half : *place;
    }
}

/* A ring chooses slots and generations, but not where they meet. */
static void test_generations_that_would_collide(void **state)
{
    struct episode_set set = {.hash_key = {{5, 6}}};
    uint32_t *halves = calloc(1 << 16, sizeof(*halves));

    (void)state;
    find_lower_halves(halves);
    for (uint32_t slot = 0; slot < MANY; slot++) {
        uint64_t mixed = (UINT64_C(1) << 32 | slot) * GOLDEN_FACTOR, upper;

        mixed ^= mixed >> 29;
        upper = (mixed >> 32 << 32) * SPLITMIX_FACTOR >> 32;
        episodes[slot] =
            episode_set_add(&set, (struct episode_key){1, slot, (uint32_t)mixed ^ halves[(0 - upper) & 0xffff]});
        assert_non_null(episodes[slot]);
    }
    assert_in_range(longest_chain(&set), 1, 20);
    for (uint32_t slot = 0; slot < MANY; slot++)
        free(episodes[slot]);
    episode_set_done(&set);
    free(halves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_and_removed),
        cmocka_unit_test(test_generations_that_would_collide),
    };

    return cmocka_run_group_tests_name("episode", tests, NULL, NULL);
}
