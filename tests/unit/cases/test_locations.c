/* SPDX-License-Identifier: Apache-2.0 */
/* test_locations.c - ids counted by where they are: ripd/cases/locations.c, and pages of such groups. */
#include <string.h>

#include "cases/locations.h"
#include "cases/query.h"
#include "support/test.h"
#include "unit/chosen_keys.h"
#include "unit/samples.h"

static const struct hash_key key = {{1, 2}};

static void add(struct locations *locations, const struct process_facts *process, uint64_t address, enum id_state state,
                uint64_t frozen_ns, uint32_t slot)
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

TEST(one_file_in_two_processes)
{
    struct process_facts *one = sample_process("/usr/bin/checkout", 1);
    struct process_facts *two = sample_process("/opt/copy/checkout", 2); /* the same build id elsewhere */
    struct locations *locations = locations_new(&key);

    two->modules[0]->start += 0x100000;
    two->modules[0]->end += 0x100000;
    two->modules[0]->bias += 0x100000;
    add(locations, one, SAMPLE_BIAS + 0x1234, ID_RUNNING, 0, 1);
    add(locations, two, SAMPLE_BIAS + 0x101234, ID_STALLED, 7, 2);
    add(locations, two, SAMPLE_BIAS + 0x101234, ID_STALLED, 9, 3);
    add(locations, two, SAMPLE_BIAS + 0x101234, ID_STALLED, 8, 4);
    add(locations, one, SAMPLE_BIAS + 0x1235, ID_IDLE, 99, 5);
    locations_sort(locations);
    assert_int_equal(locations->count, 2);
    assert_int_equal(locations->groups[0].count, 4);
    assert_int_equal(locations->groups[0].offset, 0x1234);
    assert_int_equal(locations->groups[0].counts[ID_RUNNING], 1);
    assert_int_equal(locations->groups[0].counts[ID_STALLED], 3);
    assert_int_equal(locations->groups[0].longest_ns, 9);
    assert_int_equal(locations->groups[0].slot, 3);       /* the one frozen for longest */
    assert_int_equal(locations->groups[1].longest_ns, 0); /* idle is not frozen */
    assert_int_equal(locations->left_out_count, 0);
    locations_free(locations);
    process_facts_unref(one);
    process_facts_unref(two);
}

TEST(without_a_build_id_the_path_decides)
{
    struct process_facts *one = sample_process("/usr/bin/checkout", 1);
    struct process_facts *two = sample_process("/opt/copy/checkout", 2);
    struct locations *locations = locations_new(&key);

    one->modules[0]->build_id[0] = '\0';
    two->modules[0]->build_id[0] = '\0';
    add(locations, one, SAMPLE_BIAS + 0x1234, ID_RUNNING, 0, 1);
    add(locations, two, SAMPLE_BIAS + 0x1234, ID_RUNNING, 0, 2);
    locations_sort(locations);
    assert_int_equal(locations->count, 2);
    assert_string_equal(locations->groups[0].module->path, "/opt/copy/checkout"); /* a total order */
    locations_free(locations);
    process_facts_unref(one);
    process_facts_unref(two);
}

static void enter_script(struct module_facts *scripts, uint64_t index, const char *function)
{
    struct rip_script_info info = {.file_bytes = 8, .function_bytes = (uint8_t)strlen(function)};

    memcpy(info.file, "order.rb", 8);
    memcpy(info.function, function, info.function_bytes);
    assert_int_equal(symbol_table_add(&scripts->symbols, index << RIP_PLACE_INDEX_SHIFT, symbol_of_script(&info)), 0);
}

static struct process_facts *scripted_process(const char *first, const char *second)
{
    struct process_facts *process = sample_process("/usr/bin/ruby", 1);

    process->scripts = module_of_scripts(&key, 1000);
    assert_non_null(process->scripts);
    enter_script(process->scripts, 0, first);
    enter_script(process->scripts, 1, second);
    return process;
}

/* Rings number functions as they come. */
TEST(scripts_are_one_by_their_text)
{
    struct process_facts *one = scripted_process("place", "pay"), *two = scripted_process("pay", "place");
    struct locations *locations = locations_new(&key);
    const uint64_t first = RIP_PLACE_SCRIPT, second = RIP_PLACE_SCRIPT | 1 << RIP_PLACE_INDEX_SHIFT;

    add(locations, one, first | 12, ID_RUNNING, 0, 1);
    add(locations, two, second | 12, ID_RUNNING, 0, 2);
    add(locations, two, second | 13, ID_RUNNING, 0, 3);
    add(locations, two, first | 12, ID_RUNNING, 0, 4);
    locations_sort(locations);
    assert_int_equal(locations->count, 3);
    assert_int_equal(locations->groups[0].count, 2);
    assert_string_equal(module_place(locations->groups[0].module, locations->groups[0].offset).function, "place");
    assert_string_equal(module_place(locations->groups[1].module, locations->groups[1].offset).function, "pay");
    assert_int_equal(module_place(locations->groups[2].module, locations->groups[2].offset).line, 13);
    locations_free(locations);
    process_facts_unref(one);
    process_facts_unref(two);
}

/* Never snapped; in no module; of no known process: each is something else than an offset of 0. */
TEST(what_is_not_known_is_a_group_of_its_own)
{
    struct process_facts *process = sample_process("/usr/bin/checkout", 1);
    struct locations *locations = locations_new(&key);
    struct located_id never = {.process = process, .state = ID_STALLED, .frozen_for_ns = 3};

    for (int i = 0; i < 3; i++)
        assert_int_equal(locations_add(locations, &never), 0);
    add(locations, process, 0x10, ID_RUNNING, 0, 1);
    add(locations, process, 0x20, ID_RUNNING, 0, 2);
    add(locations, NULL, 0x30, ID_RUNNING, 0, 3);
    add(locations, process, SAMPLE_BIAS + 0x1000, ID_RUNNING, 0, 4);
    locations_sort(locations);
    assert_int_equal(locations->count, 3);
    assert_false(locations->groups[0].snapped && locations->groups[1].snapped);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(locations->groups[i].count, 3);
        assert_null(locations->groups[i].module);
    }
    assert_true(locations->groups[0].snapped); /* of equal size: what is known of more comes first */
    assert_non_null(locations->groups[2].module);
    locations_free(locations);
    process_facts_unref(process);
}

/* One memo row after the other is overwritten, the table grows many times, and every id is where it belongs. */
TEST(as_many_as_there_may_be)
{
    struct process_facts *process = sample_process("/usr/bin/checkout", 1);
    struct locations *locations = locations_new(&key);
    const uint64_t locations_count = LOCATIONS_GROUPS_MAX + 1000;

    process->modules[0]->end = UINT64_MAX;
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < locations_count; i++)
            add(locations, process, SAMPLE_BIAS + 0x1000 + 7 * i, ID_RUNNING, 0, (uint32_t)i);
    assert_int_equal(locations->count, LOCATIONS_GROUPS_MAX);
    assert_int_equal(locations->left_out_count, 2000);
    locations_sort(locations);
    for (size_t i = 0; i < locations->count; i++) {
        assert_int_equal(locations->groups[i].count, 2);
        assert_int_equal(locations->groups[i].offset, 0x1000 + 7 * i);
    }
    locations_free(locations);
    process_facts_unref(process);
}

/* How many places in a row are taken. */
static size_t longest_run(const struct locations *locations)
{
    size_t longest = 0, run = 0;

    for (size_t i = 0; i < locations->index.capacity; i++) {
        run = locations->index.places[i].number != 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* The hash is keyed: a program that chooses its offsets cannot make them collide. */
TEST(offsets_that_would_collide)
{
    struct process_facts *process = sample_process("/usr/bin/checkout", 1);
    struct locations *locations = locations_new(&key);

    process->modules[0]->start = process->modules[0]->bias = 0;
    process->modules[0]->end = UINT64_MAX;
    for (uint64_t i = 0; i < 20000; i++)
        add(locations, process, undo_product(i, GOLDEN_FACTOR), ID_RUNNING, 0, (uint32_t)i);
    assert_int_equal(locations->count, 20000);
    assert_in_range(longest_run(locations), 1, 200);
    locations_free(locations);
    process_facts_unref(process);
}

TEST(pages)
{
    struct process_facts *process = sample_process("/usr/bin/checkout", 1);
    struct snapshot *snapshot = snapshot_new();
    struct query query;
    size_t seen = 0;

    query_init(&query);
    query.limit = 3;
    for (struct page *page = NULL;; page_unref(page)) {
        struct locations *locations = locations_new(&key);

        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t n = 0; n <= i; n++)
                add(locations, process, SAMPLE_BIAS + 0x1000 + i, ID_RUNNING, 0, i);
        page = page_of_locations(&query, snapshot, locations);
        assert_int_equal(page->total, 8);
        for (size_t i = 0; i < page->count; i++)
            assert_int_equal(page->locations->groups[page->first + i].count, 8 - seen++);
        query.after = page->next;
        if (!page->more) {
            page_unref(page);
            break;
        }
    }
    assert_int_equal(seen, 8);
    snapshot_unref(snapshot);
    process_facts_unref(process);
}

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
