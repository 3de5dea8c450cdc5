/* SPDX-License-Identifier: Apache-2.0 */
/* test_hash_index.c - finds items by hashes that may be equal: ripd/util/hash_index.h. */
#include "support/test.h"
#include "util/hash_index.h"

enum { ITEMS = 10000 };

/* Returns the number of the item, which is its key, or 0 if there is none. */
static uint32_t find(const struct hash_index *index, uint64_t hash, uint32_t key)
{
    size_t probe = 0;
    uint32_t number;

    while ((number = hash_index_next(index, hash, &probe)) != 0 && number != key)
        continue;
    return number;
}

/* Sixteen items share each hash. In the second case all hashes have the same low bits, too. */
TEST(all_are_found)
{
    static const unsigned shifts[] = {0, 40};

    for (size_t i = 0; i < COUNT_OF(shifts); i++) {
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
    for (uint32_t key = 1; key <= ITEMS; key++) /* the memory is reused */
        assert_true(hash_index_add(&index, key, key));
    assert_int_equal(index.capacity, capacity);
    assert_int_equal(find(&index, 7, 7), 7);
    free(index.places);
}
