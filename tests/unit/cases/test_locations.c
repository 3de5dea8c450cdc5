/* SPDX-License-Identifier: Apache-2.0 */
/* test_locations.c - ids counted by their location: ripd/cases/locations.c, and pages of these groups. */
#include <string.h>

#include "cases/locations.h"
#include "cases/query.h"
#include "support/test.h"
#include "unit/samples.h"

static const struct hash_key key = {{1, 2}};

static struct locations *locations;
static struct process_facts *one, *two; /* of the same build id, with other paths */

static int setup(void **state)
{
    (void)state;
    locations = locations_new(&key);
    one = sample_process("/usr/bin/checkout", 1);
    two = sample_process("/opt/copy/checkout", 2);
    return locations == NULL;
}

static int teardown(void **state)
{
    (void)state;
    locations_free(locations);
    process_facts_unref(one);
    process_facts_unref(two);
    return 0;
}

static void add(const struct process_facts *process, uint64_t address, enum id_state state, uint64_t frozen_ns,
                uint32_t slot)
{
    struct located_id id = {.process = process,
                            .snapped = true,
                            .address = address,
                            .state = state,
                            .frozen_for_ns = frozen_ns,
                            .ring = 1,
                            .slot = slot,
                            .generation = 2};

    assert_int_equal(locations_add(locations, &id), 0);
}

TEST(one_file_in_two_processes, setup, teardown)
{
    two->modules[0]->start += 0x100000;
    two->modules[0]->end += 0x100000;
    two->modules[0]->bias += 0x100000;
    add(one, SAMPLE_BIAS + 0x1234, ID_RUNNING, 0, 1);
    add(two, SAMPLE_BIAS + 0x101234, ID_STALLED, 7, 2);
    add(two, SAMPLE_BIAS + 0x101234, ID_STALLED, 9, 3);
    add(two, SAMPLE_BIAS + 0x101234, ID_STALLED, 8, 4);
    add(one, SAMPLE_BIAS + 0x1235, ID_IDLE, 99, 5);
    locations_sort(locations);
    assert_int_equal(locations->count, 2);
    assert_int_equal(locations->groups[0].count, 4);
    assert_int_equal(locations->groups[0].offset, 0x1234);
    assert_int_equal(locations->groups[0].counts[ID_RUNNING], 1);
    assert_int_equal(locations->groups[0].counts[ID_STALLED], 3);
    assert_int_equal(locations->groups[0].longest_ns, 9);
    assert_int_equal(locations->groups[0].slot, 3);       /* frozen for longest */
    assert_int_equal(locations->groups[1].longest_ns, 0); /* idle is not frozen */
    assert_int_equal(locations->left_out_count, 0);
}

TEST(without_a_build_id_the_path_decides, setup, teardown)
{
    one->modules[0]->build_id[0] = '\0';
    two->modules[0]->build_id[0] = '\0';
    add(one, SAMPLE_BIAS + 0x1234, ID_RUNNING, 0, 1);
    add(two, SAMPLE_BIAS + 0x1234, ID_RUNNING, 0, 2);
    locations_sort(locations);
    assert_int_equal(locations->count, 2);
    assert_string_equal(locations->groups[0].module->path, "/opt/copy/checkout"); /* the order is total */
}

static void enter_script(struct module_facts *scripts, uint64_t index, const char *function)
{
    struct rip_script_info info = {.file_bytes = 8, .function_bytes = (uint8_t)strlen(function)};

    memcpy(info.file, "order.rb", 8);
    memcpy(info.function, function, info.function_bytes);
    assert_int_equal(symbol_table_add(&scripts->symbols, index << RIP_PLACE_INDEX_SHIFT, symbol_of_script(&info)), 0);
}

static void add_scripts(struct process_facts *process, const char *first, const char *second)
{
    process->scripts = module_of_scripts(&key, 1000);
    assert_non_null(process->scripts);
    enter_script(process->scripts, 0, first);
    enter_script(process->scripts, 1, second);
}

static struct symbol_frame place_of(size_t i)
{
    return module_place(locations->groups[i].module, locations->groups[i].offset);
}

/* Each ring numbers functions in its own order: scripts are the same if their text is. */
TEST(scripts_are_compared_by_text, setup, teardown)
{
    const uint64_t first = RIP_PLACE_SCRIPT, second = RIP_PLACE_SCRIPT | 1 << RIP_PLACE_INDEX_SHIFT;

    add_scripts(one, "place", "pay");
    add_scripts(two, "pay", "place");
    add(one, first | 12, ID_RUNNING, 0, 1);
    add(two, second | 12, ID_RUNNING, 0, 2);
    add(two, second | 13, ID_RUNNING, 0, 3);
    add(two, first | 12, ID_RUNNING, 0, 4);
    locations_sort(locations);
    assert_int_equal(locations->count, 3);
    assert_int_equal(locations->groups[0].count, 2);
    assert_string_equal(place_of(0).function, "place");
    assert_string_equal(place_of(1).function, "pay");
    assert_int_equal(place_of(2).line, 13);
}

/* Ids that never snapped are one group; ids in no module or of no known process are another one. */
TEST(unknown_locations, setup, teardown)
{
    struct located_id never = {.process = one, .state = ID_STALLED, .frozen_for_ns = 3};

    for (int i = 0; i < 3; i++)
        assert_int_equal(locations_add(locations, &never), 0);
    add(one, 0x10, ID_RUNNING, 0, 1);
    add(one, 0x20, ID_RUNNING, 0, 2);
    add(NULL, 0x30, ID_RUNNING, 0, 3);
    add(one, SAMPLE_BIAS + 0x1000, ID_RUNNING, 0, 4);
    locations_sort(locations);
    assert_int_equal(locations->count, 3);
    assert_false(locations->groups[0].snapped && locations->groups[1].snapped);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(locations->groups[i].count, 3);
        assert_null(locations->groups[i].module);
    }
    assert_true(locations->groups[0].snapped); /* equal counts: ids that snapped come first */
    assert_non_null(locations->groups[2].module);
}

/* The table grows many times and rows of the memo are overwritten: every id is counted in its group. */
TEST(the_limit_of_groups, setup, teardown)
{
    const uint64_t locations_count = LOCATIONS_GROUPS_MAX + 1000;

    one->modules[0]->end = UINT64_MAX;
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < locations_count; i++)
            add(one, SAMPLE_BIAS + 0x1000 + 7 * i, ID_RUNNING, 0, (uint32_t)i);
    assert_int_equal(locations->count, LOCATIONS_GROUPS_MAX);
    assert_int_equal(locations->left_out_count, 2000);
    locations_sort(locations);
    for (size_t i = 0; i < locations->count; i++) {
        assert_int_equal(locations->groups[i].count, 2);
        assert_int_equal(locations->groups[i].offset, 0x1000 + 7 * i);
    }
}

/* Returns the largest number of used buckets in a row. */
static size_t longest_run(void)
{
    size_t longest = 0, run = 0;

    for (size_t i = 0; i < locations->index.capacity; i++) {
        run = locations->index.places[i].number != 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

#define GOLDEN_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* Returns the number whose product with the factor is that product. Many unkeyed hashes multiply by this factor. */
static uint64_t undo_product(uint64_t product)
{
    uint64_t inverse = GOLDEN_FACTOR;

    for (int i = 0; i < 6; i++) /* Newton: each iteration doubles the number of correct bits */
        inverse *= 2 - GOLDEN_FACTOR * inverse;
    return product * inverse;
}

/* The hash is keyed: offsets chosen to collide do not. */
TEST(offsets_chosen_to_collide, setup, teardown)
{
    one->modules[0]->start = one->modules[0]->bias = 0;
    one->modules[0]->end = UINT64_MAX;
    for (uint64_t i = 0; i < 20000; i++)
        add(one, undo_product(i), ID_RUNNING, 0, (uint32_t)i);
    assert_int_equal(locations->count, 20000);
    assert_in_range(longest_run(), 1, 200);
}

TEST(pages, setup, teardown)
{
    struct snapshot *snapshot = snapshot_new();
    struct query query;
    size_t seen = 0;
    bool more;

    query_init(&query);
    query.limit = 3;
    do {
        struct page *page;

        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t n = 0; n <= i; n++)
                add(one, SAMPLE_BIAS + 0x1000 + i, ID_RUNNING, 0, i);
        page = page_of_locations(&query, snapshot, locations);
        locations = locations_new(&key); /* the page owns the other ones */
        assert_int_equal(page->total, 8);
        for (size_t i = 0; i < page->count; i++)
            assert_int_equal(page->locations->groups[page->first + i].count, 8 - seen++);
        query.after = page->next;
        more = page->more;
        page_unref(page);
    } while (more);
    assert_int_equal(seen, 8);
    snapshot_unref(snapshot);
}

/* Stalls that match the query, grouped by location. */
TEST(of_stalls)
{
    struct snapshot *snapshot = snapshot_new();
    struct page *page;
    struct query query;

    snapshot->stalls = calloc(3, sizeof(*snapshot->stalls));
    for (uint32_t i = 0; i < 3; i++) {
        struct item *item = sample_item(sample_process("/usr/bin/checkout", 1), "checkout", 1, i, "w", 1, 2);

        if (i == 2)
            item->entries[0].address += 4;
        snapshot->stalls[snapshot->stall_count] = sample_stall(item, i);
        snapshot->stalls[snapshot->stall_count++].frozen_for_ns = 100 - i;
    }
    query_init(&query);
    query.group = QUERY_GROUP_LOCATION;
    query.min_ns = 99;
    page = query_stalls(&query, snapshot);
    assert_int_equal(page->total, 1);
    assert_int_equal(page->locations->groups[0].count, 2);
    assert_int_equal(page->locations->groups[0].longest_ns, 100);
    assert_ptr_equal(page->locations->groups[0].example, snapshot->stalls[0].item);
    page_unref(page);
    query.min_ns = 0;
    page = query_stalls(&query, snapshot);
    assert_int_equal(page->total, 2);
    assert_ptr_equal(page->locations->groups[1].example, snapshot->stalls[2].item);
    page_unref(page);
    snapshot_unref(snapshot);
}
