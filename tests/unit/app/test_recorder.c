/* SPDX-License-Identifier: Apache-2.0 */
/* test_recorder.c - a ring that takes too much memory is no longer recorded, but still watched: ripd/app/recorder.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/recorder.h"
#include "cases/snapshot.h"
#include "os/sigbus.h"
#include "rip/session.h"
#include "support/ring_stage.h"
#include "support/test.h"
#include "unit/own_ring.h"

enum { SMALL = 3, LARGE = 300, SCANS = 3 };

static const uint64_t interval_ns = 1000000000;

/* Returns how many ids the detector watches. */
static uint64_t scan(struct registry *registry, struct detector *detector, struct recorder *recorder, uint64_t now_ns)
{
    struct snapshot *snapshot = snapshot_new();
    struct detector_update update;
    size_t count;

    assert_non_null(snapshot);
    registry_refresh(registry, now_ns);
    recorder_begin(recorder, now_ns, now_ns, (struct recorder_numbers){0, 0});
    detector_begin(detector, now_ns);
    assert_int_equal(scan_run(registry, detector, recorder_tap(recorder)), 0);
    detector_suspects(detector, &count);
    detector_end(detector, &update);
    recorder_end(recorder, snapshot);
    snapshot_unref(snapshot);
    return update.id_count;
}

/* What a recording contains about the ring of this name. */
struct recorded {
    const char *name;
    uint32_t ring;
    unsigned ring_count, end_count, register_count;
};

static int count_event(void *context, struct rip_session *session, const struct rip_event *event)
{
    struct recorded *recorded = context;
    const struct rip_text *name = &event->as.ring_begin.name;

    (void)session;
    if (event->kind == RIP_EVENT_RING && name->count == strlen(recorded->name) &&
        memcmp(name->bytes, recorded->name, name->count) == 0) {
        recorded->ring = event->ring;
        recorded->ring_count++;
    }
    recorded->end_count += event->kind == RIP_EVENT_RING_END && event->ring == recorded->ring;
    recorded->register_count += event->kind == RIP_EVENT_REGISTER && event->ring == recorded->ring;
    return 0;
}

static struct recorded read_recording(const char *path, const char *name)
{
    struct recorded recorded = {.name = name};
    const struct rip_observer observer = {.size_bytes = sizeof(observer), .context = &recorded, .event = count_event};
    struct rip_session *session;

    assert_int_equal(rip_session_open(&session, path, NULL, NULL), 0);
    assert_int_equal(rip_session_observe(session, &observer), 0);
    assert_int_equal(rip_session_run(session, NULL), 0);
    rip_session_close(session);
    return recorded;
}

static struct recorded record(uint64_t total_bytes, const char *name)
{
    const struct detector_config config = {.interval_ns = interval_ns, .stall_after_ns = 5 * interval_ns};
    struct registry_options options = {.directory_count = 1, .proc_path = "/proc", .work = work_new()};
    struct ring_builder small, large;
    struct recorder *recorder;
    struct detector *detector;
    struct registry *registry;
    struct ring_stage stage;
    char directory[] = "/dev/shm/rip-recorder-XXXXXX", path[64], command[96];
    struct recorded recorded;

    assert_int_equal(sigbus_install(), 0);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/recording", directory);
    ring_stage_open(&stage);
    options.directories = (const char *[]){stage.directory};
    work_set_total(options.work, WORK_RECORDED_BYTES, total_bytes);
    assert_int_equal(registry_new(&registry, &options), 0);
    assert_int_equal(detector_new(&detector, &config), 0);
    assert_int_equal(recorder_open(&recorder, path, registry, options.work), 0);
    own_ring_build(&stage, "small", SMALL, SMALL, &small);
    own_ring_build(&stage, "large", LARGE, LARGE, &large);
    for (uint64_t i = 0; i < SCANS; i++)
        assert_int_equal(scan(registry, detector, recorder, (1000 + i) * interval_ns), SMALL + LARGE);
    recorder_close(recorder);
    recorded = read_recording(path, name);
    detector_free(detector);
    registry_free(registry);
    work_free(options.work);
    ring_stage_release(&small);
    ring_stage_release(&large);
    ring_stage_close(&stage);
    snprintf(command, sizeof(command), "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    return recorded;
}

TEST(all_is_recorded)
{
    struct recorded recorded = record(1 << 28, "large");

    assert_int_equal(recorded.ring_count, 1);
    assert_int_equal(recorded.register_count, LARGE);
}

TEST(a_ring_without_room_is_left_out)
{
    struct recorded large = record(1 << 17, "large"), small = record(1 << 17, "small");

    assert_int_equal(large.ring_count, 1);
    assert_int_equal(large.end_count, 1);
    assert_in_range(large.register_count, 0, LARGE - 1);
    assert_int_equal(small.ring_count, 1);
    assert_int_equal(small.register_count, SMALL);
}
