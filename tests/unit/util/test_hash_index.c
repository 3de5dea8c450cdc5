/* SPDX-License-Identifier: Apache-2.0 */
/* test_hash_index.c - items are found by their hash, whatever shares it: ripd/util/hash_index.h. */
#include "support/test.h"
#include "util/hash_index.h"

enum { ITEMS = 10000 };

/* The item of that key among those whose keys are their numbers; 0: there is none. */
static uint32_t find(const struct hash_index *index, uint64_t hash, uint32_t key)
{
    size_t probe = 0;
    uint32_t number;

    while ((number = hash_index_next(index, hash, &probe)) != 0 && number != key)
        continue;
    return number;
}

/* Hashes that are different, that share their low bits, and that are the same for sixteen items each. */
TEST(all_are_found)
{
    static const unsigned shifts[] = {0, 40};

    for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
        struct hash_index index = {0};

        assert_int_equal(find(&index, 0, 1), 0);
        for (uint32_t key = 1; key <= ITEMS / (i != 0 ? 10 : 1); key++) {
            assert_int_equal(find(&index, (uint64_t)(key / 16) << shifts[i], key), 0);
            assert_true(hash_index_add(&index, (uint64_t)(key / 16) << shifts[i], key));
        }
        for (uint32_t key = 1; key <= index.count; key++)
            assert_int_equal(find(&index, (uint64_t)(key / 16) << shifts[i], key), key);
        assert_int_equal(find(&index, UINT64_MAX, 1), 0);
        assert_true(index.capacity >= 2 * index.count);
        free(index.places);
    }
}

TEST(cleared)
{
    struct hash_index index = {0};
    size_t capacity;

    hash_index_clear(&index);
    for (uint32_t key = 1; key <= ITEMS; key++)
        assert_true(hash_index_add(&index, key, key));
    capacity = index.capacity;
    hash_index_clear(&index);
    assert_int_equal(find(&index, 7, 7), 0);
    for (uint32_t key = 1; key <= ITEMS; key++) /* as many as there were take no memory */
        assert_true(hash_index_add(&index, key, key));
    assert_int_equal(index.capacity, capacity);
    assert_int_equal(find(&index, 7, 7), 7);
    free(index.places);
}
