/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan.c - rings through the detector, whole, sparse and cut: ripd/ring/scan.c. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/sigbus.h"
#include "ring/scan.h"
#include "support/ring_stage.h"
#include "support/test.h"
#include "unit/work_test.h"

static const uint64_t interval_ns = 1000000000;

struct fixture {
    struct ring_stage stage;
    struct registry *registry;
    struct detector *detector;
    struct work *work;
    uint64_t now_mono_ns;
};

enum { STRANGER = 65534 };

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const char *directories[1];
    struct registry_options options = {.directories = directories, .directory_count = 1, .proc_path = "/proc"};
    struct detector_config config = {.interval_ns = interval_ns, .stall_after_ns = 5 * interval_ns};

    assert_non_null(fixture);
    fixture->work = work_new();
    options.work = fixture->work;
    ring_stage_open(&fixture->stage);
    directories[0] = fixture->stage.directory;
    assert_int_equal(registry_new(&fixture->registry, &options), 0);
    assert_int_equal(detector_new(&fixture->detector, &config), 0);
    fixture->now_mono_ns = 1000 * interval_ns;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    registry_free(fixture->registry);
    detector_free(fixture->detector);
    work_free(fixture->work);
    ring_stage_close(&fixture->stage);
    free(fixture);
    return 0;
}

static struct detector_update scan(struct fixture *fixture)
{
    struct detector_update update;
    size_t count;

    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    fixture->now_mono_ns += interval_ns;
    registry_refresh(fixture->registry, fixture->now_mono_ns);
    detector_begin(fixture->detector, fixture->now_mono_ns);
    assert_int_equal(scan_run(fixture->registry, fixture->detector, NULL), 0);
    detector_suspects(fixture->detector, &count);
    detector_end(fixture->detector, &update);
    return update;
}

/* A ring whose one process record is that of this process. */
static void build(struct fixture *fixture, const char *name, uint32_t slots, uint32_t step, struct ring_builder *ring)
{
    const struct ring_geometry geometry = {.slot_capacity = slots};

    ring_stage_build(&fixture->stage, name, &geometry, ring);
    ring_builder_add_process(ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring_builder_process(ring, 0)->flags = 0;
    ring_builder_process(ring, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < slots; slot += step)
        ring_builder_add_id(ring, slot, slot + 1, (uint32_t)getpid(), 0, "worker");
}

static struct ring *only_ring(struct fixture *fixture)
{
    size_t count;
    struct ring **rings = registry_rings(fixture->registry, &count);

    assert_int_equal(count, 1);
    return rings[0];
}

TEST(all_slots_of_all_rings, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct ring_builder first, second;
    struct detector_update update;

    build(fixture, "first", 3 * SCAN_BATCH, 1, &first); /* ends with a batch */
    build(fixture, "second", 1000, 3, &second);
    update = scan(fixture);
    assert_int_equal(update.id_count, 3 * SCAN_BATCH + 334);
    ring_stage_release(&first);
    ring_stage_release(&second);
}

TEST(an_empty_ring, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct ring_geometry geometry = {.slot_capacity = 64};
    struct ring_builder ring;

    ring_stage_build(&fixture->stage, "ring", &geometry, &ring);
    assert_int_equal(scan(fixture).id_count, 0);
    assert_int_equal(only_ring(fixture)->live_count, 0);
    ring_stage_release(&ring);
}

/* Reading must not allocate, however large the ring. */
TEST(a_sparse_ring_stays_sparse, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct ring_builder ring;
    struct stat before, after;

    build(fixture, "ring", 1u << 22, 4194, &ring);
    ring_stage_release(&ring);
    assert_int_equal(stat(ring_stage_path(&fixture->stage, "ring"), &before), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(scan(fixture).id_count, 1001);
    assert_int_equal(stat(ring_stage_path(&fixture->stage, "ring"), &after), 0);
    assert_int_equal(after.st_blocks, before.st_blocks);
    assert_int_equal(only_ring(fixture)->live_count, 1001);
}

/* Of each process those that wait for it alone: the last two scans' are kept. */
TEST(waits_are_counted, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct ring_process *process;
    struct ring_builder ring;

    build(fixture, "ring", 8, 1, &ring);
    for (uint32_t slot = 0; slot < 8; slot++) {
        struct rip_slot *place = ring_builder_slot(&ring, slot);

        place->call = slot == 6 ? RIP_CALL_WORK : RIP_CALL_PRIVATE;
        place->count = 100 + slot;
        place->idle_mark = slot == 7 ? 0 : ~place->count;
    }
    scan(fixture);
    process = &only_ring(fixture)->processes[0];
    assert_int_equal(process->waits.count, 6);
    assert_int_equal(process->waits.progress, 615);
    assert_int_equal(process->waits_before.count, 0);
    for (uint32_t slot = 0; slot < 8; slot++)
        ring_builder_slot(&ring, slot)->call = RIP_CALL_OUTSIDE;
    scan(fixture);
    assert_int_equal(process->waits.count, 0);
    assert_int_equal(process->waits_before.count, 6);
    scan(fixture);
    assert_int_equal(process->waits_before.count, 0);
    ring_stage_release(&ring);
}

struct cutter {
    const char *path;
    off_t to_bytes;
};

static void *cut_soon(void *context)
{
    const struct cutter *cutter = context;

    usleep(3000);
    if (truncate(cutter->path, cutter->to_bytes) != 0)
        abort();
    return NULL;
}

/* Cut at any moment of a scan: the ring is dropped with a notice, the other is scanned on. */
TEST(a_ring_cut_while_it_is_scanned, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct ring_builder victim, other;
    struct cutter cutter;
    pthread_t thread;
    int scans = 0;

    build(fixture, "a-victim", 100000, 1, &victim);
    build(fixture, "b-other", 1000, 1, &other);
    cutter = (struct cutter){ring_stage_path(&fixture->stage, "a-victim"), (off_t)victim.size_bytes / 2};
    assert_int_equal(scan(fixture).id_count, 101000);
    assert_int_equal(pthread_create(&thread, NULL, cut_soon, &cutter), 0);
    while (scan(fixture).id_count != 1000)
        assert_true(scans++ < 10000);
    pthread_join(thread, NULL);
    assert_string_equal(only_ring(fixture)->name, "b-other");
    assert_int_equal(registry_health(fixture->registry)->damaged_ring_count, 1);
    ring_stage_release(&victim);
    ring_stage_release(&other);
}

/* The registry has looked at it, and then it is cut: the scan itself faults. */
TEST(a_ring_cut_between_refresh_and_scan, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct detector_update update;
    struct ring_builder ring;
    size_t count;

    build(fixture, "ring", 10000, 1, &ring);
    assert_int_equal(scan(fixture).id_count, 10000);
    detector_begin(fixture->detector, fixture->now_mono_ns += interval_ns);
    assert_int_equal(truncate(ring_stage_path(&fixture->stage, "ring"), (off_t)ring.size_bytes / 2), 0);
    assert_int_equal(scan_run(fixture->registry, fixture->detector, NULL), 0);
    detector_suspects(fixture->detector, &count);
    detector_end(fixture->detector, &update);
    registry_rings(fixture->registry, &count);
    assert_int_equal(count, 0);
    assert_int_equal(registry_health(fixture->registry)->damaged_ring_count, 1);
    assert_int_equal(scan(fixture).id_count, 0); /* its ids are forgotten */
    ring_stage_release(&ring);
}

/* Live bits over holes, none of which was ever written: the ring is dropped, and has no more memory than before. */
TEST(a_ring_that_vouches_for_holes, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct ring_builder ring, other;
    struct stat before, after;

    build(fixture, "b-other", 1000, 1, &other);
    build(fixture, "a-liar", 1 << 20, 1 << 19, &ring);
    assert_int_equal(scan(fixture).id_count, 1002);
    for (uint32_t word = 0; word < (1 << 14); word += 32) /* one slot of each page of the bitmap */
        ring_builder_set_live(&ring, word * 64 + 5, true);
    assert_int_equal(stat(ring_stage_path(&fixture->stage, "a-liar"), &before), 0);
    assert_int_equal(scan(fixture).id_count, 1000);
    assert_int_equal(stat(ring_stage_path(&fixture->stage, "a-liar"), &after), 0);
    assert_int_equal(after.st_blocks, before.st_blocks);
    assert_string_equal(only_ring(fixture)->name, "b-other");
    assert_int_equal(registry_health(fixture->registry)->damaged_ring_count, 1);
    ring_stage_release(&ring);
    ring_stage_release(&other);
}

/* One user's rings need more time than he has: they take turns, and another user's ring is read on every scan. */
TEST(rings_that_have_no_turn, set_up, tear_down)
{
    enum { RINGS = 9 };
    struct fixture *fixture = *state;
    struct ring_builder rings[RINGS];
    size_t turns[RINGS] = {0}, count, read_count;
    struct ring **list;
    char name[8];

    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < RINGS; i++) { /* one after the other, so that they stand in that order */
        snprintf(name, sizeof(name), "%zu", i);
        build(fixture, name, 1000, 1, &rings[i]);
        if (i + 1 < RINGS)
            assert_int_equal(chown(ring_stage_path(&fixture->stage, name), STRANGER, (gid_t)-1), 0);
        assert_int_equal(scan(fixture).id_count, 1000 * (i + 1)); /* each was read in time, or before all others */
    }
    registry_set_judging(fixture->registry, 1); /* the time for one ring of each user, as there is always some left */
    for (int i = 0; i < 5 * RINGS; i++) {
        for (size_t j = 0; j < RINGS; j++)
            ring_builder_slot(&rings[j], 0)->count++;
        assert_int_equal(scan(fixture).id_count, 1000 * RINGS);
        list = registry_rings(fixture->registry, &count);
        read_count = 0;
        for (size_t j = 0; j < RINGS; j++) {
            const struct rip_slot *slot = ring_builder_slot(&rings[j], 0);
            struct detector_id id;

            assert_int_equal(detector_find(fixture->detector, list[j]->serial, 0, slot->generation, &id), 0);
            turns[j] += id.progress == slot->count;
            read_count += id.progress == slot->count;
        }
        assert_int_equal(read_count, 2);
    }
    for (size_t i = 0; i < RINGS; i++)
        assert_in_range(turns[i], i + 1 < RINGS ? 5 : 5 * RINGS, i + 1 < RINGS ? 6 : 5 * RINGS);
    assert_true(work_refused_count(fixture->work, WORK_READ_TIME) >= 5 * RINGS);
    for (size_t i = 0; i < RINGS; i++)
        ring_stage_release(&rings[i]);
}

/* A user has as many ids as his share of memory holds; another user's are all watched. */
TEST(more_ids_than_are_watched, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct ring_builder many, few;
    uint64_t count;

    if (geteuid() != 0)
        skip();
    work_set_total(fixture->work, WORK_CHARGED_BYTES, 1 << 20);
    build(fixture, "a-many", 100000, 1, &many);
    build(fixture, "b-few", 1000, 1, &few);
    assert_int_equal(chown(ring_stage_path(&fixture->stage, "a-many"), STRANGER, (gid_t)-1), 0);
    count = scan(fixture).id_count;
    assert_in_range(count, 10000, 30000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(scan(fixture).id_count, count);
    for (uint32_t serial = 1; serial <= 2; serial++)
        assert_true(registry_find(fixture->registry, serial)->live_count >= 1000);
    assert_true(work_refused_count(fixture->work, WORK_CHARGED_BYTES) >= 4);
    ring_stage_release(&many);
    ring_stage_release(&few);
}

TEST(ids_of_a_dead_process, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct ring_builder ring;

    build(fixture, "ring", 64, 1, &ring);
    ring_builder_process(&ring, 0)->start_time_ticks++; /* the pid is another process's now */
    ring_builder_process(&ring, 0)->generation++;
    scan(fixture);
    assert_int_equal(scan(fixture).counts[ID_DEAD], 64);
    ring_stage_release(&ring);
}
