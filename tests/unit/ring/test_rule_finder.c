/* SPDX-License-Identifier: Apache-2.0 */
/* test_rule_finder.c - finds the rule of each unclassified id by the name in its slot: ripd/ring/scan.c. */
#include "unit/registry_test.h"

#include "ring/scan.h"

#define LONG_NS UINT64_C(3600000000000)
#define SLOTS 300u

static struct rules rules;
static struct ring_builder first, second;           /* "a" and "b", in order of their serials */
static struct detector_unclassified ids[2 * SLOTS]; /* all ids of both rings, in order */
static struct rule_finder finder;

static void add_rule(const char *text)
{
    const char *expected;

    assert_int_equal(rules_add(&rules, text, &expected), 0);
}

static void build(const char *name, struct ring_builder *ring, struct detector_unclassified *ret_ids)
{
    const struct ring_geometry geometry = {.slot_capacity = SLOTS};

    ring_stage_build(&scene.stage, name, &geometry, ring);
    ring_stage_claim(ring, 0, getpid(), "test");
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        ring_builder_add_id(ring, slot, slot + 1, (uint32_t)getpid(), 0, slot % 2 ? "batch-7" : "worker");
    scene_refresh();
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        ret_ids[slot] = (struct detector_unclassified){
            .ring = serial_of(name),
            .slot = slot,
            .generation = ring_builder_slot(ring, slot)->generation,
            .rule = DETECTOR_RULE_UNKNOWN,
        };
}

static int set_up(void **state)
{
    scene_open(state);
    rules = (struct rules){0};
    finder = (struct rule_finder){0};
    build("a", &first, ids);
    build("b", &second, ids + SLOTS);
    rule_finder_set_rules(&finder, &rules);
    add_rule("nobody=1h");
    add_rule("batch-*=10m");
    return 0;
}

static int tear_down(void **state)
{
    ring_stage_release(&first);
    ring_stage_release(&second);
    return scene_close(state);
}

static void find_rules(uint64_t budget_ns)
{
    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    rule_finder_set_rules(&finder, &rules);
    rule_finder_run(&finder, scene.registry, ids, 2 * SLOTS, budget_ns);
}

static int expected_rule(uint32_t i)
{
    return i % SLOTS % 2 ? 1 : RULES_NONE;
}

TEST(every_id_gets_the_rule_of_its_name, set_up, tear_down)
{
    find_rules(LONG_NS);
    for (uint32_t i = 0; i < 2 * SLOTS; i++)
        assert_int_equal(ids[i].rule, expected_rule(i));
    rule_finder_run(&finder, scene.registry, NULL, 0, LONG_NS);
}

/* A name may have any bytes, or none. */
TEST(names_are_any_bytes, set_up, tear_down)
{
    struct rip_slot *slot = ring_builder_slot(&first, 0);

    add_rule("?\xff[\x01-\x1f]=1s");
    add_rule("*=2s");
    memcpy(slot->name, "\0\xff\x1b", 3);
    slot->name_bytes = 3;
    ring_builder_slot(&first, 1)->name_bytes = 0;
    ring_builder_slot(&first, 2)->name_bytes = 255; /* more than a slot holds */
    find_rules(LONG_NS);
    assert_int_equal(ids[0].rule, 2);
    assert_int_equal(ids[1].rule, 3);
    assert_int_equal(ids[2].rule, 3);
}

/* A slot that was reused or freed since the scan is left out. */
TEST(a_slot_that_was_reused_gets_no_rule, set_up, tear_down)
{
    ring_builder_slot(&first, 1)->generation += 2;
    ring_builder_slot(&first, 3)->generation += 1; /* odd: it is being written */
    ring_builder_remove_id(&second, 5);
    find_rules(LONG_NS);
    assert_int_equal(ids[1].rule, DETECTOR_RULE_UNKNOWN);
    assert_int_equal(ids[3].rule, DETECTOR_RULE_UNKNOWN);
    assert_int_equal(ids[SLOTS + 5].rule, DETECTOR_RULE_UNKNOWN);
    assert_int_equal(ids[5].rule, 1);
}

static size_t count_known(uint32_t from, uint32_t to)
{
    size_t count = 0;

    for (uint32_t i = from; i < to; i++)
        count += ids[i].rule != DETECTOR_RULE_UNKNOWN;
    return count;
}

/* Without any time each call still finds some rules. All ids have a turn, even if the first ids are always new. */
TEST(all_ids_have_a_turn, set_up, tear_down)
{
    size_t before = 0, calls = 0;

    while (count_known(SLOTS, 2 * SLOTS) < SLOTS) {
        for (uint32_t i = 0; i < SLOTS; i++)
            ids[i].rule = DETECTOR_RULE_UNKNOWN;
        find_rules(0);
        assert_true(count_known(0, 2 * SLOTS) > before || calls < SLOTS);
        before = count_known(SLOTS, 2 * SLOTS);
        assert_true(++calls < 4 * SLOTS);
    }
    for (uint32_t i = SLOTS; i < 2 * SLOTS; i++)
        assert_int_equal(ids[i].rule, expected_rule(i));
}

TEST(a_truncated_ring_is_dropped, set_up, tear_down)
{
    cut_file("a", 4096);
    find_rules(LONG_NS);
    assert_int_equal(count_known(0, SLOTS), 0);
    assert_int_equal(count_known(SLOTS, 2 * SLOTS), SLOTS);
    assert_int_equal(ring_count(), 1);
    assert_int_equal(registry_health(scene.registry)->damaged_ring_count, 1);
}
