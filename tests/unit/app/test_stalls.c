/* SPDX-License-Identifier: Apache-2.0 */
/* test_stalls.c - items of stalled ids, kept from scan to scan, and shared out when there are too many. */
#include "unit/registry_test.h"

#include "app/stalls.h"

enum { SLOTS = 66000 };

static void make(struct scene *scene, const char *name, uint32_t slots, struct ring_builder *ring)
{
    const struct ring_geometry geometry = {.slot_capacity = slots};

    ring_stage_build(&scene->stage, name, &geometry, ring);
    ring_builder_add_process(ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring_builder_process(ring, 0)->flags = 0;
    ring_builder_process(ring, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < slots; slot++) {
        ring_builder_add_id(ring, slot, 100 + slot, (uint32_t)getpid(), 0, "worker");
        ring_builder_snap(ring, slot, 0x1000);
    }
}

static struct detector_suspect suspect(uint32_t ring, uint32_t slot, uint64_t since_ns)
{
    return (struct detector_suspect){
        .ring = ring,
        .slot = slot,
        .generation = 2,
        .tid = (uint32_t)getpid(),
        .progress = 1,
        .frozen_since_ns = since_ns,
        .frozen_for_ns = 6000000000 - since_ns,
        .state = ID_STALLED,
    };
}

static struct snapshot *collect(struct scene *scene, struct stalls *stalls, const struct detector_suspect *suspects,
                                size_t count)
{
    const struct detector_update update = {.suspects = suspects, .suspect_count = count};
    struct snapshot *snapshot = snapshot_new();

    assert_non_null(snapshot);
    snapshot->scanned_wall_ns = UINT64_C(1000000000000000000);
    assert_int_equal(stalls_collect(stalls, scene->registry, &update, snapshot), 0);
    return snapshot;
}

static void test_described_once(void **state)
{
    struct scene *scene = *state;
    struct detector_suspect suspects[3];
    struct stalls stalls = {0};
    struct ring_builder ring;
    struct snapshot *first, *second;
    struct item *item;
    uint32_t serial;

    make(scene, "ring", 64, &ring);
    assert_int_equal(ring_builder_slot(&ring, 0)->generation, 2);
    scene_refresh(scene);
    serial = serial_of(scene, "ring");
    suspects[0] = suspect(serial, 3, 900);
    suspects[1] = suspect(serial, 5, 800);
    suspects[2] = suspect(serial, 7, 700);
    suspects[1].state = ID_STOPPED; /* no stall */
    first = collect(scene, &stalls, suspects, 3);
    assert_int_equal(first->stall_count, 2);
    assert_int_equal(first->stalls[0].item->id, 107); /* longest first */
    assert_int_equal(first->stalls[1].item->id, 103);
    assert_int_equal(first->stalls[0].since_wall_ns, first->scanned_wall_ns - suspects[2].frozen_for_ns);
    item = stalls_find(&stalls, serial, 7, 2);
    assert_ptr_equal(item, first->stalls[0].item);
    assert_null(stalls_find(&stalls, serial, 7, 4));
    assert_null(stalls_find(&stalls, serial, 5, 2));
    assert_null(stalls_find(&stalls, serial + 1, 7, 2));

    second = collect(scene, &stalls, suspects, 3);
    assert_ptr_equal(second->stalls[0].item, item); /* the same, as long as nothing has changed */
    snapshot_unref(second);
    suspects[2].tid = 1;
    second = collect(scene, &stalls, suspects, 3);
    assert_ptr_not_equal(second->stalls[0].item, item);
    snapshot_unref(second);
    ring_builder_remove_id(&ring, 7); /* between the scan and the description */
    suspects[2].progress++;
    second = collect(scene, &stalls, suspects, 3);
    assert_int_equal(second->stall_count, 1);
    assert_int_equal(first->stalls[0].item->id, 107); /* a snapshot is not changed by what comes after it */
    snapshot_unref(second);
    second = collect(scene, &stalls, suspects, 0);
    assert_int_equal(second->stall_count, 0);
    assert_null(stalls_find(&stalls, serial, 3, 2));
    snapshot_unref(second);
    snapshot_unref(first);
    stalls_done(&stalls);
    ring_stage_release(&ring);
}

static void test_a_ring_with_too_many_leaves_room(void **state)
{
    struct scene *scene = *state;
    struct detector_suspect *suspects = calloc(SLOTS + 3, sizeof(*suspects));
    struct stalls stalls = {0};
    struct ring_builder large, small;
    struct snapshot *snapshot;
    uint32_t first, second;
    size_t seen = 0;

    assert_non_null(suspects);
    make(scene, "a", SLOTS, &large);
    scene_refresh(scene);
    make(scene, "b", 3, &small);
    scene_rescan(scene);
    first = serial_of(scene, "a");
    second = serial_of(scene, "b");
    assert_true(first < second);
    for (uint32_t i = 0; i < SLOTS; i++)
        suspects[i] = suspect(first, i, 1000 + i);
    for (uint32_t i = 0; i < 3; i++)
        suspects[SLOTS + i] = suspect(second, i, 1);
    snapshot = collect(scene, &stalls, suspects, SLOTS + 3);
    assert_int_equal(snapshot->stall_count, SNAPSHOT_STALLS_MAX);
    assert_int_equal(snapshot->stalls_left_out_count, SLOTS + 3 - SNAPSHOT_STALLS_MAX);
    for (size_t i = 0; i < snapshot->stall_count; i++)
        seen += snapshot->stalls[i].item->ring == second;
    assert_int_equal(seen, 3);
    assert_non_null(stalls_find(&stalls, second, 2, 2));
    snapshot_unref(snapshot);
    stalls_done(&stalls);
    ring_stage_release(&large);
    ring_stage_release(&small);
    free(suspects);
}

int main(void)
{
#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_described_once),
        SCENE_TEST(test_a_ring_with_too_many_leaves_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
