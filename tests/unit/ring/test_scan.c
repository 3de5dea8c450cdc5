/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan.c - scans of whole, sparse and truncated rings into a detector: ripd/ring/scan.c. */
#include "unit/registry_test.h"

#include <pthread.h>

#include "ring/scan.h"
#include "unit/work_test.h"

#define INTERVAL_NS UINT64_C(1000000000)

enum { STRANGER = 65534, RINGS_MAX = 9 };

static struct detector *detector;
static struct work *work;
static struct ring_builder rings[RINGS_MAX];
static size_t built_count;

static int set_up(void **state)
{
    const struct detector_config config = {.interval_ns = INTERVAL_NS, .stall_after_ns = 5 * INTERVAL_NS};
    scene_open(state);
    work = work_new();
    scene_options(&(struct registry_options){.work = work});
    assert_int_equal(detector_new(&detector, &config), 0);
    return 0;
}

static int tear_down(void **state)
{
    while (built_count > 0)
        ring_stage_release(&rings[--built_count]);
    detector_free(detector);
    scene_close(state);
    work_free(work);
    return 0;
}

static struct detector_update scan_without_refresh(void)
{
    struct detector_update update;
    size_t count;

    detector_begin(detector, scene.now_mono_ns);
    assert_int_equal(scan_run(scene.registry, detector, NULL), 0);
    detector_suspects(detector, &count);
    detector_end(detector, &update);
    return update;
}

static struct detector_update scan(void)
{
    scene_refresh();
    return scan_without_refresh();
}

/* Makes a ring with one process, this one, and an id in each step-th slot. tear_down() releases it. */
static struct ring_builder *build(const char *name, uint32_t slots, uint32_t step)
{
    const struct ring_geometry geometry = {.slot_capacity = slots};
    struct ring_builder *ring = &rings[built_count++];

    ring_stage_build(&scene.stage, name, &geometry, ring);
    ring_stage_claim(ring, 0, getpid(), "test");
    for (uint32_t slot = 0; slot < slots; slot += step)
        ring_builder_add_id(ring, slot, slot + 1, (uint32_t)getpid(), 0, "worker");
    return ring;
}

static struct ring *only_ring(void)
{
    size_t count;
    struct ring **list = registry_rings(scene.registry, &count);

    assert_int_equal(count, 1);
    return list[0];
}

static blkcnt_t block_count(const char *name)
{
    struct stat status;

    assert_int_equal(stat(path_of(name), &status), 0);
    return status.st_blocks;
}

TEST(all_slots_of_all_rings, set_up, tear_down)
{
    build("first", 3 * SCAN_BATCH, 1); /* the last batch is full */
    build("second", 1000, 3);
    assert_int_equal(scan().id_count, 3 * SCAN_BATCH + 334);
}

TEST(an_empty_ring, set_up, tear_down)
{
    ring_builder_remove_id(build("ring", 64, 64), 0);
    assert_int_equal(scan().id_count, 0);
    assert_int_equal(only_ring()->live_count, 0);
}

/* Reading a hole would allocate memory for it. */
TEST(a_sparse_ring_stays_sparse, set_up, tear_down)
{
    blkcnt_t before;

    build("ring", 1u << 22, 4194);
    before = block_count("ring");
    for (int i = 0; i < 5; i++)
        assert_int_equal(scan().id_count, 1001);
    assert_int_equal(block_count("ring"), before);
    assert_int_equal(only_ring()->live_count, 1001);
}

/* The ids of a process that wait for a lock of that process are counted; the counts of the last two scans are kept. */
TEST(waits_are_counted, set_up, tear_down)
{
    struct ring_builder *ring = build("ring", 8, 1);
    const struct ring_process *process;

    for (uint32_t i = 0; i < 8; i++) {
        struct rip_slot *slot = ring_builder_slot(ring, i);

        slot->call = i == 0 ? RIP_CALL_NONE : i == 6 ? RIP_CALL_WORK : RIP_CALL_PRIVATE; /* the first announces none */
        slot->count = 100 + i;
        slot->idle_mark = i == 7 ? 0 : ~slot->count;
    }
    scan();
    process = &only_ring()->processes[0];
    assert_int_equal(process->waits.count, 5);
    assert_int_equal(process->waits.progress, 515);
    assert_int_equal(process->waits_before.count, 0);
    for (uint32_t i = 0; i < 8; i++)
        ring_builder_slot(ring, i)->call = RIP_CALL_OUTSIDE;
    scan();
    assert_int_equal(process->waits.count, 0);
    assert_int_equal(process->waits_before.count, 5);
    scan();
    assert_int_equal(process->waits_before.count, 0);
}

/* Truncated rings -------------------------------------------------------------------------------------------------- */

static void *truncate_soon(void *ring)
{
    usleep(3000);
    cut_file("a-victim", ((struct ring_builder *)ring)->size_bytes / 2);
    return NULL;
}

/* A ring that is truncated during a scan is dropped; the other ring is scanned as before. */
TEST(a_ring_truncated_during_a_scan, set_up, tear_down)
{
    pthread_t thread;
    int scans = 0;

    build("a-victim", 100000, 1);
    build("b-other", 1000, 1);
    assert_int_equal(scan().id_count, 101000);
    assert_int_equal(pthread_create(&thread, NULL, truncate_soon, &rings[0]), 0);
    while (scan().id_count != 1000)
        assert_true(scans++ < 10000);
    pthread_join(thread, NULL);
    assert_string_equal(only_ring()->name, "b-other");
    assert_int_equal(registry_health(scene.registry)->damaged_ring_count, 1);
}

/* The refresh found the ring complete: the scan itself has the page fault. */
TEST(a_ring_truncated_between_refresh_and_scan, set_up, tear_down)
{
    struct ring_builder *ring = build("ring", 10000, 1);

    assert_int_equal(scan().id_count, 10000);
    scene.now_mono_ns += INTERVAL_NS;
    cut_file("ring", ring->size_bytes / 2);
    scan_without_refresh();
    assert_int_equal(ring_count(), 0);
    assert_int_equal(registry_health(scene.registry)->damaged_ring_count, 1);
    assert_int_equal(scan().id_count, 0); /* its ids are dropped */
}

/* A ring whose live bits point into holes is dropped, and no page of it is allocated. */
TEST(a_ring_with_holes_in_place_of_data, set_up, tear_down)
{
    struct ring_builder *ring;
    blkcnt_t before;

    build("b-other", 1000, 1);
    ring = build("a-liar", 1 << 20, 1 << 19);
    assert_int_equal(scan().id_count, 1002);
    for (uint32_t word = 0; word < (1 << 14); word += 32) /* one slot of each page of the bitmap */
        ring_builder_set_live(ring, word * 64 + 5, true);
    before = block_count("a-liar");
    assert_int_equal(scan().id_count, 1000);
    assert_int_equal(block_count("a-liar"), before);
    assert_string_equal(only_ring()->name, "b-other");
    assert_int_equal(registry_health(scene.registry)->damaged_ring_count, 1);
}

/* Users ------------------------------------------------------------------------------------------------------------ */

/* If the rings of a user need more time than that user has, they take turns. Rings of other users have each scan. */
TEST(rings_take_turns, set_up, tear_down)
{
    size_t turns[RINGS_MAX] = {0};
    char name[8];

    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < RINGS_MAX; i++) { /* one scan each: their serials are in this order */
        snprintf(name, sizeof(name), "%zu", i);
        build(name, 1000, 1);
        if (i + 1 < RINGS_MAX)
            give_file(name, STRANGER);
        assert_int_equal(scan().id_count, 1000 * (i + 1));
    }
    registry_set_judging(scene.registry, 1); /* enough for one ring of each user, which is the minimum */
    for (int i = 0; i < 5 * RINGS_MAX; i++) {
        size_t count, read_count = 0;
        struct ring **list;

        for (size_t j = 0; j < RINGS_MAX; j++)
            ring_builder_slot(&rings[j], 0)->count++;
        assert_int_equal(scan().id_count, 1000 * RINGS_MAX);
        list = registry_rings(scene.registry, &count);
        for (size_t j = 0; j < RINGS_MAX; j++) {
            const struct rip_slot *slot = ring_builder_slot(&rings[j], 0);
            struct detector_id id;

            assert_int_equal(detector_find(detector, list[j]->serial, 0, slot->generation, &id), 0);
            turns[j] += id.progress == slot->count;
            read_count += id.progress == slot->count;
        }
        assert_int_equal(read_count, 2);
    }
    for (size_t i = 0; i + 1 < RINGS_MAX; i++)
        assert_in_range(turns[i], 5, 6);
    assert_int_equal(turns[RINGS_MAX - 1], 5 * RINGS_MAX);
    assert_true(work_refused_count(work, WORK_READ_TIME) >= 5 * RINGS_MAX);
}

/* A user may have as many ids as fit into its share of memory. All ids of another user are watched. */
TEST(more_ids_than_are_watched, set_up, tear_down)
{
    uint64_t count;

    if (geteuid() != 0)
        skip();
    work_set_total(work, WORK_CHARGED_BYTES, 1 << 20);
    build("a-many", 100000, 1);
    build("b-few", 1000, 1);
    give_file("a-many", STRANGER);
    count = scan().id_count;
    assert_in_range(count, 10000, 30000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(scan().id_count, count);
    for (uint32_t serial = 1; serial <= 2; serial++)
        assert_true(registry_find(scene.registry, serial)->live_count >= 1000);
    assert_true(work_refused_count(work, WORK_CHARGED_BYTES) >= 4);
}

TEST(ids_of_a_dead_process, set_up, tear_down)
{
    struct ring_builder *ring = build("ring", 64, 1);

    ring_builder_process(ring, 0)->start_time_ticks++; /* the pid was reused by another process */
    ring_builder_process(ring, 0)->generation++;
    scan();
    assert_int_equal(scan().counts[ID_DEAD], 64);
}
