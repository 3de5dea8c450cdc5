/* SPDX-License-Identifier: Apache-2.0 */
/* test_state_map.c - all ids with their states, in pieces: ripd/cases/state_map.c. */
#include <string.h>

#include "cases/state_map.h"
#include "support/test.h"

TEST(pieces)
{
    static const struct {
        uint32_t ring;
        size_t first;
        size_t count;
    } expected[] = {{1, 0, 3}, {2, 3, 8192}, {2, 8195, 8192}, {2, 16387, 1}, {5, 16388, 1}};
    struct state_map *map = state_map_new();

    assert_non_null(map);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(state_map_add(map, 1, "one", 100 + i, (enum id_state)i), 0);
    for (uint32_t i = 0; i < 2 * STATE_PIECE_IDS_MAX + 1; i++)
        assert_int_equal(state_map_add(map, 2, "two", i, ID_DEAD), 0);
    assert_int_equal(state_map_add(map, 5, "five", UINT32_MAX, ID_STOPPED), 0);
    assert_int_equal(map->count, 2 * STATE_PIECE_IDS_MAX + 5);
    assert_int_equal(map->piece_count, COUNT_OF(expected));
    for (size_t i = 0; i < map->piece_count; i++) {
        assert_int_equal(map->pieces[i].ring, expected[i].ring);
        assert_int_equal(map->pieces[i].first, expected[i].first);
        assert_int_equal(map->pieces[i].count, expected[i].count);
    }
    assert_string_equal(map->pieces[1].ring_name, "two");
    assert_memory_equal(map->letters, "risd", 4);
    assert_int_equal(map->ids[2], 102);
    assert_int_equal(map->letters[map->count - 1], 't');
    assert_int_equal(map->ids[map->count - 1], UINT32_MAX);
    state_map_free(map);
    state_map_free(NULL);
}
