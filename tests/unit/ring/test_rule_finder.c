/* SPDX-License-Identifier: Apache-2.0 */
/* test_rule_finder.c - the rule of each unclassified id, by the name in its slot: ripd/ring/scan.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/sigbus.h"
#include "ring/scan.h"
#include "support/ring_stage.h"
#include "support/test.h"

#define LONG_NS UINT64_C(3600000000000)
#define SLOTS 300u

struct fixture {
    struct ring_stage stage;
    struct registry *registry;
    struct rules rules;
    struct ring_builder first, second; /* by serial */
    const char *first_name;
    struct detector_unclassified ids[2 * SLOTS]; /* all ids of both, in order */
    struct rule_finder finder;
};

static void add_rule(struct fixture *fixture, const char *text)
{
    const char *expected;

    assert_int_equal(rules_add(&fixture->rules, text, &expected), 0);
}

static void build(struct fixture *fixture, const char *name, struct ring_builder *ring)
{
    const struct ring_geometry geometry = {.slot_capacity = SLOTS};

    ring_stage_build(&fixture->stage, name, &geometry, ring);
    ring_builder_add_process(ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring_builder_process(ring, 0)->flags = 0;
    ring_builder_process(ring, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        ring_builder_add_id(ring, slot, slot + 1, (uint32_t)getpid(), 0, slot % 2 ? "batch-7" : "worker");
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const char *directories[1];
    struct registry_options options = {.directories = directories, .directory_count = 1, .proc_path = "/proc"};
    struct ring **rings;
    size_t count;

    assert_non_null(fixture);
    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    ring_stage_open(&fixture->stage);
    directories[0] = fixture->stage.directory;
    assert_int_equal(registry_new(&fixture->registry, &options), 0);
    build(fixture, "a", &fixture->first);
    build(fixture, "b", &fixture->second);
    registry_refresh(fixture->registry, 1);
    rings = registry_rings(fixture->registry, &count);
    assert_int_equal(count, 2);
    if (strcmp(rings[0]->name, "b") == 0) { /* as the directory has them */
        const struct ring_builder other = fixture->first;

        fixture->first = fixture->second;
        fixture->second = other;
    }
    fixture->first_name = rings[0]->name;
    rule_finder_set_rules(&fixture->finder, &fixture->rules);
    add_rule(fixture, "nobody=1h");
    add_rule(fixture, "batch-*=10m");
    for (uint32_t i = 0; i < 2 * SLOTS; i++)
        fixture->ids[i] = (struct detector_unclassified){
            .ring = rings[i / SLOTS]->serial,
            .slot = i % SLOTS,
            .generation = ring_builder_slot(&fixture->first, i % SLOTS)->generation,
            .rule = DETECTOR_RULE_UNKNOWN,
        };
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    registry_free(fixture->registry);
    ring_stage_release(&fixture->first);
    ring_stage_release(&fixture->second);
    ring_stage_close(&fixture->stage);
    free(fixture);
    return 0;
}

static void find_rules(struct fixture *fixture, uint64_t budget_ns)
{
    assert_int_equal(sigbus_install(), 0);
    rule_finder_set_rules(&fixture->finder, &fixture->rules);
    rule_finder_run(&fixture->finder, fixture->registry, fixture->ids, 2 * SLOTS, budget_ns);
}

static int expected_rule(uint32_t i)
{
    return i % SLOTS % 2 ? 1 : RULES_NONE;
}

TEST(every_id_gets_the_rule_of_its_name, set_up, tear_down)
{
    struct fixture *fixture = *state;

    find_rules(fixture, LONG_NS);
    for (uint32_t i = 0; i < 2 * SLOTS; i++)
        assert_int_equal(fixture->ids[i].rule, expected_rule(i));
    rule_finder_run(&fixture->finder, fixture->registry, NULL, 0, LONG_NS);
}

/* Names are bytes of any kind, or none at all. */
TEST(names_are_any_bytes, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct rip_slot *slot = ring_builder_slot(&fixture->first, 0);

    add_rule(fixture, "?\xff[\x01-\x1f]=1s");
    add_rule(fixture, "*=2s");
    memcpy(slot->name, "\0\xff\x1b", 3);
    slot->name_bytes = 3;
    ring_builder_slot(&fixture->first, 1)->name_bytes = 0;
    ring_builder_slot(&fixture->first, 2)->name_bytes = 255; /* a lie */
    find_rules(fixture, LONG_NS);
    assert_int_equal(fixture->ids[0].rule, 2);
    assert_int_equal(fixture->ids[1].rule, 3);
    assert_int_equal(fixture->ids[2].rule, 3);
}

/* Who took over a slot since the scan is another, and nobody is asked about an empty one. */
TEST(a_slot_that_changed_hands_gets_no_answer, set_up, tear_down)
{
    struct fixture *fixture = *state;

    ring_builder_slot(&fixture->first, 1)->generation += 2;
    ring_builder_slot(&fixture->first, 3)->generation += 1; /* under the pen */
    ring_builder_remove_id(&fixture->second, 5);
    find_rules(fixture, LONG_NS);
    assert_int_equal(fixture->ids[1].rule, DETECTOR_RULE_UNKNOWN);
    assert_int_equal(fixture->ids[3].rule, DETECTOR_RULE_UNKNOWN);
    assert_int_equal(fixture->ids[SLOTS + 5].rule, DETECTOR_RULE_UNKNOWN);
    assert_int_equal(fixture->ids[5].rule, 1);
}

static size_t count_known(const struct fixture *fixture, uint32_t from, uint32_t to)
{
    size_t count = 0;

    for (uint32_t i = from; i < to; i++)
        count += fixture->ids[i].rule != DETECTOR_RULE_UNKNOWN;
    return count;
}

/* With no time at all there is still some progress, and everybody has a turn, though the first are always new. */
TEST(everybody_has_a_turn, set_up, tear_down)
{
    struct fixture *fixture = *state;
    size_t before = 0, calls = 0;

    while (count_known(fixture, SLOTS, 2 * SLOTS) < SLOTS) {
        for (uint32_t i = 0; i < SLOTS; i++)
            fixture->ids[i].rule = DETECTOR_RULE_UNKNOWN;
        find_rules(fixture, 0);
        assert_true(count_known(fixture, 0, 2 * SLOTS) > before || calls < SLOTS);
        before = count_known(fixture, SLOTS, 2 * SLOTS);
        assert_true(++calls < 4 * SLOTS);
    }
    for (uint32_t i = SLOTS; i < 2 * SLOTS; i++)
        assert_int_equal(fixture->ids[i].rule, expected_rule(i));
}

TEST(a_ring_that_is_cut_is_damaged_and_the_other_named, set_up, tear_down)
{
    struct fixture *fixture = *state;
    size_t count;

    assert_int_equal(truncate(ring_stage_path(&fixture->stage, fixture->first_name), 4096), 0);
    find_rules(fixture, LONG_NS);
    assert_int_equal(count_known(fixture, 0, SLOTS), 0);
    assert_int_equal(count_known(fixture, SLOTS, 2 * SLOTS), SLOTS);
    registry_rings(fixture->registry, &count);
    assert_int_equal(count, 1);
    assert_int_equal(registry_health(fixture->registry)->damaged_ring_count, 1);
}
