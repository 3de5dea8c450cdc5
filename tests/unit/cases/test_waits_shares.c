/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_waits_shares.c - that a ring in which very many wait does not keep another's waits from being found out:
 * ripd/ring/waits_collect.c. Both are of one user; for users see test_registry_turns.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "cases/snapshot.h"
#include "os/clock.h"
#include "os/sigbus.h"
#include "ring/waits_collect.h"
#include "support/ring_stage.h"

enum {
    MANY = WAITS_NODES_MAX + 100,
    FEW = 2,
    TID = 5000,
    NOBODY = 4000000, /* and above: the numbers of no threads */
    SCANS_MAX = 300,
};

struct fixture {
    struct ring_stage stage;
    struct ring_builder many;
    struct ring_builder few;
    struct registry *registry;
    struct ring *rings[2]; /* with many, and with few */
    struct detector_suspect *suspects;
    size_t count;
    struct lock_wait *locks; /* of the suspects */
};

static void build(struct fixture *fixture, const char *name, uint32_t ids, struct ring_builder *ring)
{
    const struct ring_geometry geometry = {.slot_capacity = ids};
    const struct registry_notice *notices;
    size_t count;

    ring_stage_build(&fixture->stage, name, &geometry, ring);
    ring_builder_add_process(ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring_builder_process(ring, 0)->flags = 0;
    ring_builder_process(ring, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < ids; slot++)
        ring_builder_add_id(ring, slot, slot + 1, TID + slot, 0, "worker");
    assert_int_equal(registry_refresh(fixture->registry, clock_mono_ns(), &notices, &count), 0);
}

/* Every id of both is a suspect, and those of the first come first. */
static void suspect_all(struct fixture *fixture, size_t of_many)
{
    fixture->count = of_many + FEW;
    fixture->suspects = calloc(fixture->count, sizeof(*fixture->suspects));
    fixture->locks = calloc(fixture->count, sizeof(*fixture->locks));
    for (size_t i = 0; i < fixture->count; i++) {
        struct ring *ring = fixture->rings[i >= of_many];
        struct rip_id_info id;

        assert_int_equal(mapping_id(&ring->mapping, (uint32_t)(i < of_many ? i : i - of_many), &id), 0);
        fixture->suspects[i] = (struct detector_suspect){
            .ring = ring->serial,
            .slot = id.slot,
            .generation = id.generation,
            .tid = id.tid,
            .progress = id.progress,
            .frozen_for_max_ns = DETECTOR_UNKNOWN_NS,
            .state = ID_STALLED,
        };
    }
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
    build(fixture, "many", MANY, &fixture->many);
    build(fixture, "few", FEW, &fixture->few);
    rings = registry_rings(fixture->registry, &count);
    assert_int_equal(count, 2);
    fixture->rings[0] = rings[0];
    fixture->rings[1] = rings[1];
    assert_string_equal(rings[1]->name, "few");
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    registry_free(fixture->registry);
    ring_stage_release(&fixture->many);
    ring_stage_release(&fixture->few);
    ring_stage_close(&fixture->stage);
    free(fixture->suspects);
    free(fixture->locks);
    free(fixture);
    return 0;
}

/* By its memory a suspect waits for that thread. */
static void remember(struct fixture *fixture, size_t index, uint32_t owner)
{
    fixture->locks[index] = (struct lock_wait){.owner = {4096, owner, 0}};
    fixture->suspects[index].lock = &fixture->locks[index];
}

/* And by what it says, for that id. */
static void mark(struct ring_builder *ring, uint32_t slot, uint32_t owner)
{
    struct rip_slot *bytes = ring_builder_slot(ring, slot);

    bytes->wait_address = 4096;
    bytes->wait_owner = owner;
    bytes->wait_flags = RIP_WAIT_OWNER_IS_ID;
    bytes->wait_age_s = 1;
    bytes->wait_tag = (uint8_t)bytes->count;
    bytes->idle_mark = clock_mono_ns();
}

/* Whether a scan says whom the first id of the few waits for. */
static bool tells(struct fixture *fixture, enum waits_kind kind)
{
    const struct registry_notice *notices;
    size_t count;
    int refreshed = registry_refresh(fixture->registry, clock_mono_ns(), &notices, &count);
    struct waits *waits = waits_collect(fixture->registry, fixture->suspects, fixture->count, NULL);
    const struct detector_suspect *few = &fixture->suspects[fixture->count - FEW];
    uint32_t found = waits_find(waits, few->ring, few->slot, few->generation);
    bool told = found != WAITS_NONE && waits->nodes[found].next != WAITS_NONE &&
                waits->nodes[waits->nodes[found].next].kind == kind;

    waits_unref(waits);
    assert_int_equal(refreshed, 0);
    return told;
}

static bool tells_some_time(struct fixture *fixture)
{
    unsigned scans = 0;

    while (!tells(fixture, WAITS_THREAD) && scans < SCANS_MAX)
        scans++;
    return scans < SCANS_MAX;
}

static void test_threads_that_are_none(void **state)
{
    struct fixture *fixture = *state;
    const size_t many = MANY / 4; /* more than there is time for */

    suspect_all(fixture, many);
    for (size_t i = 0; i < many; i++)
        remember(fixture, i, NOBODY + (uint32_t)i);
    remember(fixture, many, (uint32_t)getpid());
    assert_true(tells_some_time(fixture));
}

static void test_more_than_are_noted(void **state)
{
    struct fixture *fixture = *state;
    struct waits *waits;

    suspect_all(fixture, MANY);
    for (size_t i = 0; i < MANY; i++)
        remember(fixture, i, NOBODY);
    remember(fixture, MANY, (uint32_t)getpid());
    assert_true(tells_some_time(fixture));
    waits = waits_collect(fixture->registry, fixture->suspects, fixture->count, NULL);
    assert_int_equal(waits->left_out_count, MANY + 1 - (WAITS_NODES_MAX - 1)); /* the share of one stays its ring's */
    waits_unref(waits);
}

static void test_more_ids_than_are_looked_up(void **state)
{
    struct fixture *fixture = *state;

    suspect_all(fixture, 1);
    mark(&fixture->many, 0, UINT32_MAX / 2); /* which is no id there */
    mark(&fixture->few, 0, 2);
    if (!tells(fixture, WAITS_ID))
        assert_true(tells(fixture, WAITS_ID)); /* on the next scan at the latest */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_threads_that_are_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_than_are_noted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_ids_than_are_looked_up, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("waits_shares", tests, NULL, NULL);
}
