/* SPDX-License-Identifier: Apache-2.0 */
/* test_restart.c - episodes that were open before the start, compared with the rings: ripd/app/restart.c. */
#include "unit/registry_test.h"

#include "app/restart.h"
#include "os/file.h"
#include "os/proc.h"
#include "ring/scan.h"
#include "unit/event_samples.h"
#include "unit/own_ring.h"

#define NOW_NS UINT64_C(1000000000000)

enum { EPISODES_MAX = 16, FULL_SLOT = 2 /* its case exceeds the quota */ };

static struct {
    const struct ring *ring;
    struct event_open open[EPISODES_MAX];
    size_t count;
    uint8_t boot_id[EVENT_SUBJECT_ID_BYTES];
    size_t resumed[EPISODES_MAX];
    size_t resumed_count;
} world;

/* Adds an episode of a slot as it is now. */
static struct event_subject *add(uint32_t slot)
{
    struct event_open *open = &world.open[world.count++];

    open->begin = sample_begin(world.count, world.count);
    snprintf(open->begin->ring, sizeof(open->begin->ring), "%s", world.ring->name);
    open->subject = (struct event_subject){.episode = world.count,
                                           .slot = slot,
                                           .generation = 2,
                                           .progress = 1,
                                           .stall_count = 1,
                                           .began_mono_ns = 1,
                                           .frozen_mono_ns = 1,
                                           .moved_after_mono_ns = EVENT_SUBJECT_UNKNOWN};
    restart_identify(scene.registry, world.ring, world.boot_id, &open->subject);
    return &open->subject;
}

static bool on_resume(void *context, const struct restart_episode *episode)
{
    (void)context;
    if (episode->subject.slot == FULL_SLOT)
        return false;
    world.resumed[world.resumed_count++] = episode->subject.episode;
    return true;
}

/* Runs one scan. Returns how many episodes have ended; their reasons are in ret_reasons, by episode. */
static size_t run(enum event_reason ret_reasons[EPISODES_MAX + 1])
{
    const struct detector_config config = {.interval_ns = 1000000000, .stall_after_ns = 5000000000};
    const struct restart_episode *episode;
    struct restart restart = {0};
    struct detector *detector;
    struct detector_update update;
    struct work *work = work_new();
    size_t suspect_count, resumed_count, ended_count = 0, last = 0;

    assert_non_null(work);
    assert_int_equal(detector_new(&detector, &config), 0);
    assert_int_equal(restart_init(&restart, world.open, world.count), 0);
    assert_int_equal(restart_prepare(&restart, scene.registry, world.boot_id, work, detector, NOW_NS), 0);
    detector_begin(detector, NOW_NS);
    assert_int_equal(scan_run(scene.registry, detector, NULL), 0);
    detector_suspects(detector, &suspect_count);
    detector_end(detector, &update);
    resumed_count = restart_settle(&restart, detector, on_resume, NULL);
    assert_int_equal(resumed_count, world.resumed_count);
    while ((episode = restart_next(&restart)) != NULL) {
        assert_true(episode->subject.episode > last); /* in order */
        last = episode->subject.episode;
        ret_reasons[last] = episode->reason;
        ended_count++;
    }
    assert_int_equal(restart.count, 0);
    assert_null(restart.episodes);
    detector_free(detector);
    work_free(work);
    return ended_count;
}

TEST(episodes_are_resumed_or_end, scene_open, scene_close)
{
    static const enum event_reason expected[] = {
        [1] = EVENT_REASON_GONE,      [2] = EVENT_REASON_MOVED, [3] = EVENT_REASON_GONE,
        [4] = EVENT_REASON_GONE,      [5] = EVENT_REASON_GONE,  [6] = EVENT_REASON_GONE,
        [7] = EVENT_REASON_UNWATCHED, [9] = EVENT_REASON_GONE,  [10] = EVENT_REASON_UNWATCHED};
    enum event_reason reasons[EPISODES_MAX + 1] = {0};
    struct ring_builder builder;
    int proc = file_open_directory("/proc");

    assert_true(proc >= 0);
    assert_int_equal(proc_boot_id(proc, world.boot_id), 0);
    close(proc);
    own_ring_build(&scene.stage, "app", 64, 5, &builder);
    scene_refresh();
    world.ring = ring_named("app");
    add(0);                  /* 1: unchanged, but 8 is the same id */
    add(1)->progress = 9;    /* 2: has moved */
    add(4)->generation = 4;  /* 3: another id in the slot */
    add(3)->boot_id[0] ^= 1; /* 4: of an earlier boot */
    add(9);                  /* 5: an empty slot */
    add(3)->ring_id[5] ^= 1; /* 6: another ring */
    add(3)->ring_id[5] ^= 1; /* 7: another ring, in a directory that is not watched */
    world.open[6].subject.directory_inode ^= 1;
    add(0);                                             /* 8: the same id as 1 */
    memset(add(3)->ring_id, 0, EVENT_SUBJECT_ID_BYTES); /* 9: of an unknown ring */
    add(FULL_SLOT);                                     /* 10: unchanged, but there is no quota for it */
    assert_int_equal(run(reasons), 9);
    assert_int_equal(world.resumed_count, 1);
    assert_int_equal(world.resumed[0], 8);
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        if (reasons[i] != expected[i])
            fail_msg("episode %zu: reason %d, expected %d", i, (int)reasons[i], (int)expected[i]);
    for (size_t i = 0; i < world.count; i++)
        event_unref(world.open[i].begin);
    ring_stage_release(&builder);
}
