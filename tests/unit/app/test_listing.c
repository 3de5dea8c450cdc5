/* SPDX-License-Identifier: Apache-2.0 */
/* test_listing.c - cases are described once, and listed: ripd/app/listing.c. */
#include "unit/registry_test.h"

#include "app/listing.h"
#include "work/jobs.h"

enum { SLOTS = 66000 };

#define AMPLE_NS UINT64_C(60000000000)

/* The linker puts it in place of the other (--wrap). */
static bool without_memory;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes)
{
    return without_memory ? NULL : __real_calloc(count, bytes);
}

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

struct fixture {
    struct scene *scene;
    struct work *work;
    struct detector *detector;
    struct cases *cases;
    bool without_memory; /* for descriptions */
};

static void fixture_init(struct fixture *fixture, struct scene *scene)
{
    const struct detector_config config = {.interval_ns = 1000000000, .stall_after_ns = 5000000000};

    *fixture = (struct fixture){.scene = scene};
    fixture->work = work_new();
    assert_non_null(fixture->work);
    fixture->cases = cases_new(fixture->work, 0);
    assert_non_null(fixture->cases);
    assert_int_equal(detector_new(&fixture->detector, &config), 0);
}

static void fixture_done(struct fixture *fixture)
{
    detector_free(fixture->detector);
    cases_free(fixture->cases);
    work_free(fixture->work);
}

static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    (void)ring;
    return 1000;
}

static struct snapshot *list(struct fixture *fixture, const struct detector_suspect *suspects, size_t count,
                             uint64_t budget_ns)
{
    struct detector_update update = {.suspects = suspects, .suspect_count = count};
    const struct listing listing = {
        fixture->scene->registry, fixture->detector, fixture->cases, fixture->work, NULL, budget_ns};
    struct snapshot *snapshot = snapshot_new();

    assert_non_null(snapshot);
    snapshot->scanned_wall_ns = UINT64_C(1000000000000000000);
    for (size_t i = 0; i < count; i++)
        update.counts[suspects[i].state]++;
    work_begin(fixture->work);
    assert_int_equal(cases_begin(fixture->cases, suspects, count, user_of, NULL), 0);
    without_memory = fixture->without_memory;
    listing_describe(&listing);
    without_memory = false;
    assert_int_equal(listing_fill(&listing, &update, snapshot), 0);
    return snapshot;
}

TEST(described_once, scene_open, scene_close)
{
    struct detector_suspect suspects[3];
    struct snapshot *first, *second;
    struct fixture fixture;
    struct ring_builder ring;
    struct item *item;
    uint32_t serial;

    fixture_init(&fixture, *state);
    make(*state, "ring", 64, &ring);
    scene_refresh(*state);
    serial = serial_of(*state, "ring");
    suspects[0] = suspect(serial, 3, 900);
    suspects[1] = suspect(serial, 5, 800);
    suspects[2] = suspect(serial, 7, 700);
    suspects[1].state = ID_STOPPED; /* no stall */
    first = list(&fixture, suspects, 3, AMPLE_NS);
    assert_int_equal(first->stall_count, 2);
    assert_int_equal(first->stalls_left_out_count, 0);
    assert_int_equal(first->stalls[0].item->id, 107); /* longest first */
    assert_int_equal(first->stalls[1].item->id, 103);
    assert_int_equal(first->stalls[0].since_wall_ns, first->scanned_wall_ns - suspects[2].frozen_for_ns);
    item = first->stalls[0].item;
    assert_int_equal(first->ring_count, 1);

    second = list(&fixture, suspects, 3, AMPLE_NS);
    assert_ptr_equal(second->stalls[0].item, item); /* the same, as long as nothing has changed */
    snapshot_unref(second);
    suspects[2].tid = 1;
    second = list(&fixture, suspects, 3, AMPLE_NS);
    assert_ptr_not_equal(second->stalls[0].item, item);
    snapshot_unref(second);
    assert_int_equal(first->stalls[0].item->id, 107); /* a snapshot is not changed by what comes after it */
    second = list(&fixture, suspects, 0, AMPLE_NS);
    assert_int_equal(second->stall_count, 0);
    snapshot_unref(second);
    ring_builder_remove_id(&ring, 7); /* between the scan and the description */
    second = list(&fixture, suspects, 3, AMPLE_NS);
    assert_int_equal(second->stall_count, 1);
    assert_int_equal(second->stalls_left_out_count, 1);
    snapshot_unref(second);
    snapshot_unref(first);
    fixture_done(&fixture);
    ring_stage_release(&ring);
}

/* Every stall that is not in the list is counted; a ring leaves room for the others of its user. */
TEST(what_is_left_out_is_counted, scene_open, scene_close)
{
    struct detector_suspect *suspects = calloc(SLOTS + 3, sizeof(*suspects));
    struct ring_builder large, small;
    struct snapshot *snapshot;
    struct fixture fixture;
    uint32_t first, second;
    size_t seen = 0;

    assert_non_null(suspects);
    fixture_init(&fixture, *state);
    make(*state, "a", SLOTS, &large);
    scene_refresh(*state);
    make(*state, "b", 3, &small);
    scene_rescan(*state);
    first = serial_of(*state, "a");
    second = serial_of(*state, "b");
    assert_true(first < second);
    for (uint32_t i = 0; i < SLOTS; i++)
        suspects[i] = suspect(first, i, 1000 + i);
    for (uint32_t i = 0; i < 3; i++)
        suspects[SLOTS + i] = suspect(second, i, 1);
    snapshot = list(&fixture, suspects, SLOTS + 3, AMPLE_NS);
    assert_int_equal(snapshot->stall_count, CASES_PER_RING_MAX + 3);
    assert_int_equal(snapshot->stalls_left_out_count, SLOTS - CASES_PER_RING_MAX);
    for (size_t i = 0; i < snapshot->stall_count; i++)
        seen += snapshot->stalls[i].item->ring == second;
    assert_int_equal(seen, 3);
    assert_int_equal(snapshot->limited_count, 1);
    assert_int_equal(snapshot->limited[0].uid, 1000);
    assert_string_equal(snapshot->limited[0].limit, "stalls");
    assert_int_equal(snapshot->limited[0].refused_count, SLOTS - CASES_PER_RING_MAX);
    snapshot_unref(snapshot);
    fixture_done(&fixture);
    ring_stage_release(&large);
    ring_stage_release(&small);
    free(suspects);
}

/* Without time one case is described on each scan, the rings of a user in turn, and the others are counted. */
TEST(no_time, scene_open, scene_close)
{
    struct detector_suspect suspects[12];
    struct snapshot *snapshot;
    struct fixture fixture;
    struct ring_builder ring;
    uint32_t serial;

    fixture_init(&fixture, *state);
    make(*state, "ring", 64, &ring);
    scene_refresh(*state);
    serial = serial_of(*state, "ring");
    for (uint32_t i = 0; i < 12; i++)
        suspects[i] = suspect(serial, i, 900);
    for (size_t scans = 1; scans <= 12; scans++) {
        snapshot = list(&fixture, suspects, 12, 0);
        assert_int_equal(snapshot->stall_count, scans);
        assert_int_equal(snapshot->stalls_left_out_count, 12 - scans);
        snapshot_unref(snapshot);
    }
    fixture_done(&fixture);
    ring_stage_release(&ring);
}

/* What there is no memory to describe anew stays in the list as it was; what is new is counted, and comes later. */
TEST(no_memory, scene_open, scene_close)
{
    struct detector_suspect suspects[2];
    struct snapshot *snapshot;
    struct fixture fixture;
    struct ring_builder ring;
    uint32_t serial;

    fixture_init(&fixture, *state);
    make(*state, "ring", 64, &ring);
    scene_refresh(*state);
    serial = serial_of(*state, "ring");
    suspects[0] = suspect(serial, 3, 900);
    suspects[1] = suspect(serial, 5, 800);
    snapshot_unref(list(&fixture, suspects, 1, AMPLE_NS));
    fixture.without_memory = true;
    suspects[0].tid = 1;
    snapshot = list(&fixture, suspects, 2, AMPLE_NS);
    assert_int_equal(snapshot->stall_count, 1);
    assert_int_equal(snapshot->stalls[0].item->id, 103);
    assert_int_equal(snapshot->stalls_left_out_count, 1);
    snapshot_unref(snapshot);
    fixture.without_memory = false;
    snapshot = list(&fixture, suspects, 2, AMPLE_NS);
    assert_int_equal(snapshot->stall_count, 2);
    snapshot_unref(snapshot);
    fixture_done(&fixture);
    ring_stage_release(&ring);
}
