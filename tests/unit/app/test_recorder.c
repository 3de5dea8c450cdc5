/* SPDX-License-Identifier: Apache-2.0 */
/* test_recorder.c - a user's rings that take too much memory are recorded no more, and watched as ever: ripd/app. */
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

enum { SMALL = 3, LARGE = 300, SCANS = 3 };

static const uint64_t interval_ns = 1000000000;

static void build(struct ring_stage *stage, const char *name, uint32_t slots, struct ring_builder *ring)
{
    const struct ring_geometry geometry = {.slot_capacity = slots};

    ring_stage_build(stage, name, &geometry, ring);
    ring_builder_add_process(ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring_builder_process(ring, 0)->flags = 0;
    ring_builder_process(ring, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < slots; slot++)
        ring_builder_add_id(ring, slot, slot + 1, (uint32_t)getpid(), 0, "worker");
}

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

/* What a recording says of the ring of that name. */
struct said {
    const char *name;
    uint32_t ring;
    unsigned ring_count, end_count, register_count;
};

static int hear(void *context, struct rip_session *session, const struct rip_event *event)
{
    struct said *said = context;
    const struct rip_text *name = &event->as.ring_begin.name;

    (void)session;
    if (event->kind == RIP_EVENT_RING && name->count == strlen(said->name) &&
        memcmp(name->bytes, said->name, name->count) == 0) {
        said->ring = event->ring;
        said->ring_count++;
    }
    said->end_count += event->kind == RIP_EVENT_RING_END && event->ring == said->ring;
    said->register_count += event->kind == RIP_EVENT_REGISTER && event->ring == said->ring;
    return 0;
}

static struct said read_recording(const char *path, const char *name)
{
    struct said said = {.name = name};
    const struct rip_observer observer = {.size_bytes = sizeof(observer), .context = &said, .event = hear};
    struct rip_session *session;

    assert_int_equal(rip_session_open(&session, path, NULL, NULL), 0);
    assert_int_equal(rip_session_observe(session, &observer), 0);
    assert_int_equal(rip_session_run(session, NULL), 0);
    rip_session_close(session);
    return said;
}

static struct said record(uint64_t total_bytes, const char *name)
{
    const struct detector_config config = {.interval_ns = interval_ns, .stall_after_ns = 5 * interval_ns};
    struct registry_options options = {.directory_count = 1, .proc_path = "/proc", .work = work_new()};
    struct ring_builder small, large;
    struct recorder *recorder;
    struct detector *detector;
    struct registry *registry;
    struct ring_stage stage;
    char directory[] = "/dev/shm/rip-recorder-XXXXXX", path[64], command[96];
    struct said said;

    assert_int_equal(sigbus_install(), 0);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/recording", directory);
    ring_stage_open(&stage);
    options.directories = (const char *[]){stage.directory};
    work_set_total(options.work, WORK_RECORDED_BYTES, total_bytes);
    assert_int_equal(registry_new(&registry, &options), 0);
    assert_int_equal(detector_new(&detector, &config), 0);
    assert_int_equal(recorder_open(&recorder, path, registry, options.work), 0);
    build(&stage, "small", SMALL, &small);
    build(&stage, "large", LARGE, &large);
    for (uint64_t i = 0; i < SCANS; i++)
        assert_int_equal(scan(registry, detector, recorder, (1000 + i) * interval_ns), SMALL + LARGE);
    recorder_close(recorder);
    said = read_recording(path, name);
    detector_free(detector);
    registry_free(registry);
    work_free(options.work);
    ring_stage_release(&small);
    ring_stage_release(&large);
    ring_stage_close(&stage);
    snprintf(command, sizeof(command), "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    return said;
}

TEST(all_is_recorded)
{
    struct said said = record(1 << 28, "large");

    assert_int_equal(said.ring_count, 1);
    assert_int_equal(said.register_count, LARGE);
}

TEST(what_has_no_room_is_left_out)
{
    struct said large = record(1 << 17, "large"), small = record(1 << 17, "small");

    assert_int_equal(large.ring_count, 1);
    assert_int_equal(large.end_count, 1);
    assert_in_range(large.register_count, 0, LARGE - 1);
    assert_int_equal(small.ring_count, 1);
    assert_int_equal(small.register_count, SMALL);
}
