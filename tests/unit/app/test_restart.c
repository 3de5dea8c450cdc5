/* SPDX-License-Identifier: Apache-2.0 */
/* test_restart.c - episodes from before the start, against the rings of now: ripd/app/restart.c. */
#include "unit/registry_test.h"

#include "app/restart.h"
#include "os/file.h"
#include "os/proc.h"
#include "ring/scan.h"
#include "unit/event_samples.h"

enum { SLOTS = 64 };
#define NOW_NS UINT64_C(1000000000000)

struct fixture {
    struct scene *scene;
    struct event_open open[16];
    size_t count;
    uint8_t boot_id[EVENT_SUBJECT_ID_BYTES];
    uint32_t going_on[16];
    size_t going_on_count;
};

static void fixture_init(struct fixture *fixture, struct scene *scene)
{
    int proc = file_open_directory("/proc");

    *fixture = (struct fixture){.scene = scene};
    assert_true(proc >= 0);
    assert_int_equal(proc_boot_id(proc, fixture->boot_id), 0);
    close(proc);
}

static void fixture_done(struct fixture *fixture)
{
    for (size_t i = 0; i < fixture->count; i++)
        event_unref(fixture->open[i].begin);
}

static void make(struct scene *scene, const char *name, struct ring_builder *ring)
{
    const struct ring_geometry geometry = {.slot_capacity = SLOTS};

    ring_stage_build(&scene->stage, name, &geometry, ring);
    ring_builder_add_process(ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring_builder_process(ring, 0)->flags = 0;
    ring_builder_process(ring, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < 4; slot++) {
        ring_builder_add_id(ring, slot, 100 + slot, (uint32_t)getpid(), 0, "worker");
        ring_builder_snap(ring, slot, 0x1000);
    }
}

/* An episode of a slot as it stands now. */
static struct event_subject *add(struct fixture *fixture, const struct ring *ring, uint32_t slot)
{
    struct event_open *open = &fixture->open[fixture->count++];

    open->begin = sample_begin(fixture->count, fixture->count);
    snprintf(open->begin->ring, sizeof(open->begin->ring), "%s", ring->name);
    open->subject = (struct event_subject){.episode = fixture->count,
                                           .slot = slot,
                                           .generation = 2,
                                           .progress = 1,
                                           .stall_count = 1,
                                           .began_mono_ns = 1,
                                           .frozen_mono_ns = 1,
                                           .moved_after_mono_ns = EVENT_SUBJECT_UNKNOWN};
    restart_identify(fixture->scene->registry, ring, fixture->boot_id, &open->subject);
    return &open->subject;
}

static void on_going_on(void *context, const struct restart_episode *episode)
{
    struct fixture *fixture = context;

    fixture->going_on[fixture->going_on_count++] = (uint32_t)episode->subject.episode;
}

/* One scan. The ends that it found are in ret_reasons, by episode; the number of all of them is returned. */
static size_t run(struct fixture *fixture, enum event_reason ret_reasons[17])
{
    const struct detector_config config = {.interval_ns = 1000000000, .stall_after_ns = 5000000000};
    const struct restart_episode *episode;
    struct restart restart = {0};
    struct detector *detector;
    struct detector_update update;
    struct work *work = work_new();
    size_t suspect_count, on_count, over_count = 0, number = 0;

    assert_non_null(work);
    assert_int_equal(detector_new(&detector, &config), 0);
    assert_int_equal(restart_init(&restart, fixture->open, fixture->count), 0);
    assert_int_equal(restart_prepare(&restart, fixture->scene->registry, fixture->boot_id, work, detector, NOW_NS), 0);
    detector_begin(detector, NOW_NS);
    assert_int_equal(scan_run(fixture->scene->registry, detector, NULL), 0);
    detector_suspects(detector, &suspect_count);
    detector_end(detector, &update);
    on_count = restart_settle(&restart, detector, on_going_on, fixture);
    assert_int_equal(on_count, fixture->going_on_count);
    while ((episode = restart_next(&restart)) != NULL) {
        assert_true(episode->subject.episode > number); /* in order */
        number = episode->subject.episode;
        ret_reasons[number] = episode->reason;
        over_count++;
    }
    assert_int_equal(restart.count, 0);
    assert_null(restart.episodes);
    detector_free(detector);
    work_free(work);
    return over_count;
}

TEST(fates, scene_open, scene_close)
{
    enum event_reason reasons[17] = {0};
    struct ring_builder builder;
    struct fixture fixture;
    const struct ring *ring;

    fixture_init(&fixture, *state);
    make(*state, "app", &builder);
    scene_refresh(*state);
    ring = ring_named(*state, "app");
    add(&fixture, ring, 0);                  /* 1: as it was */
    add(&fixture, ring, 1)->progress = 9;    /* 2: elsewhere */
    add(&fixture, ring, 2)->generation = 4;  /* 3: another id */
    add(&fixture, ring, 3)->boot_id[0] ^= 1; /* 4: another run of the system */
    add(&fixture, ring, 9);                  /* 5: nobody there */
    add(&fixture, ring, 3)->ring_id[5] ^= 1; /* 6: no such ring */
    add(&fixture, ring, 3)->ring_id[5] ^= 1; /* 7: nor in a directory that is watched */
    fixture.open[6].subject.directory_inode ^= 1;
    add(&fixture, ring, 0);                                             /* 8: the same as 1, which cannot be */
    memset(add(&fixture, ring, 3)->ring_id, 0, EVENT_SUBJECT_ID_BYTES); /* 9: of no ring that was known */
    assert_int_equal(run(&fixture, reasons), 8);
    assert_int_equal(fixture.going_on_count, 1);
    assert_int_equal(fixture.going_on[0], 8);
    assert_int_equal(reasons[1], EVENT_REASON_GONE);
    assert_int_equal(reasons[2], EVENT_REASON_MOVED);
    assert_int_equal(reasons[3], EVENT_REASON_GONE);
    assert_int_equal(reasons[4], EVENT_REASON_GONE);
    assert_int_equal(reasons[5], EVENT_REASON_GONE);
    assert_int_equal(reasons[6], EVENT_REASON_GONE);
    assert_int_equal(reasons[7], EVENT_REASON_UNWATCHED);
    assert_int_equal(reasons[9], EVENT_REASON_GONE);
    fixture_done(&fixture);
    ring_stage_release(&builder);
}
