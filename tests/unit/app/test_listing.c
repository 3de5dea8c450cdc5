/* SPDX-License-Identifier: Apache-2.0 */
/* test_listing.c - cases are described once, and listed in the snapshot: ripd/app/listing.c. */
#include "unit/registry_test.h"

#include "app/listing.h"
#include "unit/own_ring.h"
#include "work/jobs.h"

enum { SLOTS = 66000 };

#define AMPLE_NS UINT64_C(60000000000)

/* The linker puts __wrap_calloc() in place of calloc() (--wrap). */
static bool calloc_fails;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes)
{
    return calloc_fails ? NULL : __real_calloc(count, bytes);
}

/* A scene with ring "a", of SLOTS slots and ids, and what a listing is made from. */
static struct {
    struct ring_builder ring;
    uint32_t serial;
    struct work *work;
    struct detector *detector;
    struct cases *cases;
    bool describe_without_memory;
} world;

static int set_up(void **state)
{
    const struct detector_config config = {.interval_ns = 1000000000, .stall_after_ns = 5000000000};

    memset(&world, 0, sizeof(world));
    scene_open(state);
    world.work = work_new();
    assert_non_null(world.work);
    world.cases = cases_new(world.work, 0);
    assert_non_null(world.cases);
    own_ring_build(&scene.stage, "a", SLOTS, SLOTS, &world.ring);
    scene_refresh();
    world.serial = serial_of("a");
    return detector_new(&world.detector, &config);
}

static int tear_down(void **state)
{
    detector_free(world.detector);
    cases_free(world.cases);
    work_free(world.work);
    ring_stage_release(&world.ring);
    return scene_close(state);
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

static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    (void)ring;
    return 1000;
}

/* A scan with these suspects, with so much time for descriptions. */
static struct snapshot *list(const struct detector_suspect *suspects, size_t count, uint64_t budget_ns)
{
    struct detector_update update = {.suspects = suspects, .suspect_count = count};
    const struct listing listing = {scene.registry, world.detector, world.cases, world.work, NULL, budget_ns};
    struct snapshot *snapshot = snapshot_new();

    assert_non_null(snapshot);
    snapshot->scanned_wall_ns = UINT64_C(1000000000000000000);
    for (size_t i = 0; i < count; i++)
        update.counts[suspects[i].state]++;
    work_begin(world.work);
    assert_int_equal(cases_begin(world.cases, suspects, count, user_of, NULL), 0);
    calloc_fails = world.describe_without_memory;
    listing_describe(&listing);
    calloc_fails = false;
    assert_int_equal(listing_fill(&listing, &update, snapshot), 0);
    return snapshot;
}

static void assert_counts(const struct snapshot *snapshot, size_t stall_count, uint64_t left_out_count)
{
    assert_int_equal(snapshot->stall_count, stall_count);
    assert_int_equal(snapshot->stalls_left_out_count, left_out_count);
}

static void assert_listed(const struct detector_suspect *suspects, size_t count, uint64_t budget_ns, size_t stall_count,
                          uint64_t left_out_count)
{
    struct snapshot *snapshot = list(suspects, count, budget_ns);

    assert_counts(snapshot, stall_count, left_out_count);
    snapshot_unref(snapshot);
}

/* The longest stall comes first; an item is described again only if the id has changed. */
TEST(described_once, set_up, tear_down)
{
    struct detector_suspect suspects[] = {suspect(world.serial, 3, 900), suspect(world.serial, 5, 800),
                                          suspect(world.serial, 7, 700)};
    struct snapshot *first, *second;
    struct item *item;

    suspects[1].state = ID_STOPPED; /* no stall */
    first = list(suspects, 3, AMPLE_NS);
    assert_counts(first, 2, 0);
    assert_int_equal(first->stalls[0].item->id, 107);
    assert_int_equal(first->stalls[1].item->id, 103);
    assert_int_equal(first->stalls[0].since_wall_ns, first->scanned_wall_ns - suspects[2].frozen_for_ns);
    assert_int_equal(first->ring_count, 1);
    item = first->stalls[0].item;

    second = list(suspects, 3, AMPLE_NS);
    assert_ptr_equal(second->stalls[0].item, item);
    snapshot_unref(second);
    suspects[2].tid = 1;
    second = list(suspects, 3, AMPLE_NS);
    assert_ptr_not_equal(second->stalls[0].item, item);
    snapshot_unref(second);
    assert_int_equal(first->stalls[0].item->id, 107); /* later scans do not change a snapshot */
    snapshot_unref(first);
    assert_listed(suspects, 0, AMPLE_NS, 0, 0);
    ring_builder_remove_id(&world.ring, 7); /* between the scan and the description */
    assert_listed(suspects, 3, AMPLE_NS, 1, 1);
}

/* Each stall that is left out is counted. A ring leaves room for the other rings of its user. */
TEST(what_is_left_out_is_counted, set_up, tear_down)
{
    struct detector_suspect *suspects = calloc(SLOTS + 3, sizeof(*suspects));
    struct ring_builder small;
    struct snapshot *snapshot;
    uint32_t second;
    size_t seen = 0;

    assert_non_null(suspects);
    own_ring_build(&scene.stage, "b", 3, 3, &small);
    scene_rescan();
    second = serial_of("b");
    assert_true(world.serial < second);
    for (uint32_t i = 0; i < SLOTS; i++)
        suspects[i] = suspect(world.serial, i, 1000 + i);
    for (uint32_t i = 0; i < 3; i++)
        suspects[SLOTS + i] = suspect(second, i, 1);
    snapshot = list(suspects, SLOTS + 3, AMPLE_NS);
    assert_counts(snapshot, CASES_PER_RING_MAX + 3, SLOTS - CASES_PER_RING_MAX);
    for (size_t i = 0; i < snapshot->stall_count; i++)
        seen += snapshot->stalls[i].item->ring == second;
    assert_int_equal(seen, 3);
    assert_int_equal(snapshot->limited_count, 1);
    assert_int_equal(snapshot->limited[0].uid, 1000);
    assert_string_equal(snapshot->limited[0].limit, "stalls");
    assert_int_equal(snapshot->limited[0].refused_count, SLOTS - CASES_PER_RING_MAX);
    snapshot_unref(snapshot);
    ring_stage_release(&small);
    free(suspects);
}

/* Without time, each scan describes one case, and the others are counted. */
TEST(no_time, set_up, tear_down)
{
    struct detector_suspect suspects[12];

    for (uint32_t i = 0; i < 12; i++)
        suspects[i] = suspect(world.serial, i, 900);
    for (size_t scans = 1; scans <= 12; scans++)
        assert_listed(suspects, 12, 0, scans, 12 - scans);
}

/* Without memory, a known stall keeps its old description. A new one is counted, and described later. */
TEST(no_memory, set_up, tear_down)
{
    struct detector_suspect suspects[] = {suspect(world.serial, 3, 900), suspect(world.serial, 5, 800)};
    struct snapshot *snapshot;

    assert_listed(suspects, 1, AMPLE_NS, 1, 0);
    world.describe_without_memory = true;
    suspects[0].tid = 1;
    snapshot = list(suspects, 2, AMPLE_NS);
    assert_counts(snapshot, 1, 1);
    assert_int_equal(snapshot->stalls[0].item->id, 103);
    snapshot_unref(snapshot);
    world.describe_without_memory = false;
    assert_listed(suspects, 2, AMPLE_NS, 2, 0);
}
