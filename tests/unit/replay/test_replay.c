/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_replay.c - recordings made by hand through the detector: ripd/replay. Recordings of ripd's, as it scans a
 * simulated world, are in tests/sim.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/scan_record.h"
#include "replay/replay.h"
#include "rip/ring.h"
#include "support/test.h"

#define SECOND_NS UINT64_C(1000000000)
#define WALL_NS (UINT64_C(1700000000) * SECOND_NS)
#define EVENTS_MAX 4096u
#define IDS_MAX 8u

/* A recording, and what its replay said. */
struct stage {
    struct rip_event events[EVENTS_MAX];
    struct replay_data data[EVENTS_MAX];
    struct rip_id_info infos[EVENTS_MAX];
    size_t count;
    size_t info_count;
    uint64_t sequence;
    uint64_t settings_at; /* the drain that has them; 0 = the first one */
    enum scan_settings_reason reason;
    struct rip_id_info ids[IDS_MAX];
    struct scan_record scan;
    struct replay_request request;
    struct replay_counts counts;
    char said[8192];
    char text[8192]; /* of the last event */
};

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct stage));
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    for (size_t i = 0; i < stage->count; i++) {
        free((void *)(uintptr_t)stage->data[i].scan);
        free((void *)(uintptr_t)stage->data[i].settings);
    }
    scan_record_done(&stage->scan);
    free(stage);
    return 0;
}

static struct rip_event *add(struct stage *stage, uint32_t kind, uint32_t ring)
{
    assert_true(stage->count < EVENTS_MAX);
    stage->events[stage->count] =
        (struct rip_event){.kind = kind, .ring = ring, .latest_mono_ns = (stage->sequence + 1) * SECOND_NS};
    return &stage->events[stage->count++];
}

static void add_ring(struct stage *stage, uint32_t ring, bool preload)
{
    static const char *const names[] = {"", "one", "two", "three"};
    struct rip_event *event = add(stage, RIP_EVENT_RING, ring);

    event->as.ring_begin.name = (struct rip_text){names[ring], strlen(names[ring])};
    event->as.ring_begin.preload = preload;
    event->as.ring_begin.ring_id[0] = (uint8_t)ring;
}

/* The id of a slot as it is now. */
static void add_id(struct stage *stage, uint32_t kind, uint32_t ring, uint32_t slot)
{
    struct rip_event *event = add(stage, kind, ring);
    struct rip_id_info *info = &stage->infos[stage->info_count++];

    *info = stage->ids[slot];
    event->slot = slot;
    event->generation = info->generation;
    event->as.id_begin.info = info;
}

static void register_id(struct stage *stage, uint32_t ring, uint32_t slot, uint8_t call, const char *name)
{
    struct rip_id_info *info = &stage->ids[slot];

    *info = (struct rip_id_info){
        .slot = slot, .generation = 2, .id = 100 + slot, .tid = 50 + slot, .progress = 1, .call = call};
    info->name_bytes = (uint8_t)strlen(name);
    memcpy(info->name, name, info->name_bytes);
    add_id(stage, RIP_EVENT_REGISTER, ring, slot);
}

static void snap(struct stage *stage, uint32_t ring, uint32_t slot)
{
    struct rip_event *event = add(stage, RIP_EVENT_SNAP, ring);

    event->slot = slot;
    event->generation = 2;
    event->as.snap.progress = ++stage->ids[slot].progress;
}

/* One drain a second. */
static void drain(struct stage *stage)
{
    struct rip_event *event = add(stage, RIP_EVENT_DRAIN, 0);
    const uint64_t now_ns = ++stage->sequence * SECOND_NS;

    event->as.drain =
        (struct rip_event_drain){.sequence = stage->sequence, .wall_ns = WALL_NS + now_ns, .mono_ns = now_ns};
}

/* The same by ripd, with its rows; on the first one with its settings. */
static void drain_ripd(struct stage *stage)
{
    const struct scan_settings settings = {.reason = stage->reason,
                                           .interval_ns = SECOND_NS,
                                           .stall_after_ns = 5 * SECOND_NS,
                                           .hysteresis_ns = 6 * SECOND_NS,
                                           .sequence = 10,
                                           .episode = 20};
    struct replay_data *data;
    void *bytes;

    drain(stage);
    data = &stage->data[stage->count - 1];
    assert_int_equal(scan_record_pack(&stage->scan, &bytes, &data->scan_bytes), 0);
    data->scan = bytes;
    scan_record_clear(&stage->scan);
    if (stage->sequence != (stage->settings_at != 0 ? stage->settings_at : 1))
        return;
    assert_int_equal(scan_settings_pack(&settings, &bytes, &data->settings_bytes), 0);
    data->settings = bytes;
}

static int say(void *context, const struct replay_alert *alert)
{
    struct stage *stage = context;
    const struct event *event = alert->event;
    const size_t length = strlen(stage->said);

    snprintf(stage->said + length, sizeof(stage->said) - length, "%d %s %.*s %s%s%s %d ms\n",
             (int)((event->at_wall_ns - WALL_NS) / SECOND_NS), event_kind_name(event->kind), event->name_bytes,
             (const char *)event->name, alert->certain ? "certain" : "possible", event->cause != CAUSE_NONE ? " " : "",
             id_cause_name(event->cause), (int)(event->duration_ns / 1000000));
    snprintf(stage->text, sizeof(stage->text), "%s", event->text);
    return 0;
}

static int run(struct stage *stage)
{
    struct replay *replay;
    int result = 0;

    stage->said[0] = '\0';
    stage->request.alert = say;
    stage->request.context = stage;
    assert_int_equal(replay_new(&replay, &stage->request), 0);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < stage->count && result == 0; i++)
            result = (pass == 0 ? replay_learn : replay_take)(replay, &stage->events[i], &stage->data[i]);
    if (result == 0)
        result = replay_end(replay);
    replay_counts(replay, &stage->counts);
    replay_free(replay);
    return result;
}

/* Nobody looked at the threads ------------------------------------------------------------------------------------- */

/* What announces nothing declares itself when it is idle; of the others only some calls prove anything. */
TEST(certain_and_possible, set_up, tear_down)
{
    struct stage *stage = *state;

    add_ring(stage, 1, false);
    add_ring(stage, 2, true);
    register_id(stage, 1, 0, RIP_CALL_NONE, "library");
    register_id(stage, 2, 1, RIP_CALL_BLOCK, "blocked");
    register_id(stage, 2, 2, RIP_CALL_OUTSIDE, "outside");
    register_id(stage, 2, 3, RIP_CALL_UNSURE, "unsure");
    register_id(stage, 2, 4, RIP_CALL_SLEEP, "sleeps");
    register_id(stage, 1, 5, RIP_CALL_NONE, "idle");
    stage->ids[5].idle = 1;
    add_id(stage, RIP_EVENT_STATE, 1, 5);
    register_id(stage, 1, 6, RIP_CALL_NONE, "moves");
    for (int i = 0; i < 9; i++) {
        snap(stage, 1, 6);
        drain(stage);
    }
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "6 begin library certain 5000 ms\n"
                                     "6 begin blocked certain blocked 5000 ms\n"
                                     "6 begin outside possible unknown 5000 ms\n"
                                     "6 begin unsure possible unknown 5000 ms\n");
    assert_false(stage->counts.by_ripd);
    assert_int_equal(stage->counts.scan_count, 9);
    assert_int_equal(stage->counts.id_count_max, 7);
    assert_int_equal(stage->counts.event_count, 4);
    assert_int_equal(stage->counts.certain_count, 2);
}

/* Thresholds other than those that were in force; rules by name. */
TEST(other_thresholds, set_up, tear_down)
{
    struct stage *stage = *state;
    struct rules rules = {0};
    const char *expected;

    add_ring(stage, 1, false);
    register_id(stage, 1, 0, RIP_CALL_NONE, "worker");
    register_id(stage, 1, 1, RIP_CALL_NONE, "batch-7");
    for (int i = 0; i < 4; i++)
        drain(stage);
    snap(stage, 1, 0);
    snap(stage, 1, 1);
    for (int i = 0; i < 10; i++)
        drain(stage);
    stage->request.stall_after_ns = 2 * SECOND_NS;
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "3 begin worker certain 2000 ms\n"
                                     "3 begin batch-7 certain 2000 ms\n");
    assert_int_equal(rules_add(&rules, "batch-*=1m", &expected), 0);
    stage->request.rules = &rules;
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "3 begin worker certain 2000 ms\n");
    stage->request.stall_after_ns = 0;
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "10 begin worker certain 5000 ms\n");
}

/* `rip record` leaves out drains in which nothing had changed. */
TEST(drains_that_were_left_out, set_up, tear_down)
{
    struct stage *stage = *state;

    add_ring(stage, 1, false);
    register_id(stage, 1, 0, RIP_CALL_NONE, "worker");
    drain(stage);
    stage->sequence = 19; /* eighteen seconds in which nothing changed */
    snap(stage, 1, 0);
    drain(stage);
    for (int i = 0; i < 7; i++) {
        snap(stage, 1, 0);
        drain(stage);
    }
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "6 begin worker certain 5000 ms\n"
                                     "20 end worker certain 19000 ms\n");
    assert_int_equal(stage->counts.scan_count, 27);
}

TEST(what_goes_ends_its_stall, set_up, tear_down)
{
    struct stage *stage = *state;
    struct rip_process_info process = {.generation = 2, .pid = 77, .comm = "prog"};

    add_ring(stage, 1, false);
    add(stage, RIP_EVENT_PROCESS, 1)->as.process_begin = &process;
    add_ring(stage, 2, false);
    register_id(stage, 1, 0, RIP_CALL_NONE, "killed");
    register_id(stage, 2, 1, RIP_CALL_NONE, "exits");
    register_id(stage, 2, 2, RIP_CALL_NONE, "unlinked");
    for (int i = 0; i < 6; i++)
        drain(stage);
    add(stage, RIP_EVENT_DEATH, 1);
    drain(stage);
    *add(stage, RIP_EVENT_EXIT, 2) = (struct rip_event){.kind = RIP_EVENT_EXIT, .ring = 2, .slot = 1, .generation = 2};
    drain(stage);
    add(stage, RIP_EVENT_RING_END, 2);
    drain(stage);
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "6 begin killed certain 5000 ms\n"
                                     "6 begin exits certain 5000 ms\n"
                                     "6 begin unlinked certain 5000 ms\n"
                                     "7 end killed certain 6000 ms\n"
                                     "8 end exits certain 7000 ms\n"
                                     "9 end unlinked certain 8000 ms\n");
}

/* The caller can name the place. */
static void name_place(void *context, struct module_facts *module, uint64_t offset)
{
    const struct symbol_frame frame = {.function = "serve", .file = "/src/prog.c", .line = 7};

    (void)context;
    assert_string_equal(module->path, "/bin/prog");
    assert_int_equal(symbol_table_add(&module->symbols, offset, symbol_new(&frame, 1)), 0);
}

/* An event has what the recording knows: the process, the thread, where it was last, its note. */
TEST(the_text_of_an_event, set_up, tear_down)
{
    struct stage *stage = *state;
    struct rip_process_info process = {.generation = 2, .pid = 77, .comm = "prog"};
    struct rip_module_info module = {
        .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path_bytes = 9, .path = "/bin/prog"};
    const struct rip_entry entry = {.snap = 2, .address = 0x1234};
    struct rip_note_info note = {.text_bytes = 6, .text = "job 17"};
    struct rip_event *event;

    add_ring(stage, 1, false);
    add(stage, RIP_EVENT_PROCESS, 1)->as.process_begin = &process;
    add(stage, RIP_EVENT_MODULE, 1)->as.module = (struct rip_event_module){.nth = 0, .info = &module};
    register_id(stage, 1, 0, RIP_CALL_NONE, "worker");
    snap(stage, 1, 0);
    stage->events[stage->count - 1].as.snap.entries = &entry;
    stage->events[stage->count - 1].as.snap.entry_count = 1;
    event = add(stage, RIP_EVENT_NOTE, 1);
    event->generation = 2;
    event->as.note = &note;
    for (int i = 0; i < 6; i++)
        drain(stage);
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "6 begin worker certain 5000 ms\n");
    assert_non_null(
        strstr(stage->text, "\"summary\":\"worker of prog (pid 77) has not moved for 5.0 s at prog+0x234\""));
    assert_non_null(strstr(stage->text, "\"ring\":\"one\",\"source\":\"library\",\"id\":100,\"tid\":50,"));
    assert_non_null(strstr(stage->text, "\"note\":\"job 17\""));
    stage->request.name_place = name_place;
    assert_int_equal(run(stage), 0);
    assert_non_null(strstr(stage->text, "\"function\":\"serve\""));
    assert_non_null(strstr(stage->text, " 5.0 s in serve"));
}

/* With what ripd knew ---------------------------------------------------------------------------------------------- */

/* Verdicts are as recorded, later ones for what comes before, too, where the threshold is another one. */
TEST(verdicts, set_up, tear_down)
{
    struct stage *stage = *state;

    add_ring(stage, 1, true);
    scan_record_add_ring(&stage->scan, 1, (const uint8_t[16]){1}, 0);
    register_id(stage, 1, 0, RIP_CALL_OUTSIDE, "spins");
    register_id(stage, 1, 1, RIP_CALL_OUTSIDE, "waits");
    for (int i = 1; i <= 8; i++) {
        if (i >= 6)
            SCAN_RECORD_ADD(&stage->scan, SCAN_VERDICTS, 1, 0, 2, ID_STALLED, CAUSE_SPINNING);
        if (i == 6)
            SCAN_RECORD_ADD(&stage->scan, SCAN_VERDICTS, 1, 1, 2, ID_IDLE, CAUSE_UNSEEN);
        drain_ripd(stage);
    }
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "6 begin spins certain spinning 5000 ms\n");
    assert_true(stage->counts.exact);
    stage->request.stall_after_ns = 2 * SECOND_NS;
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "3 begin spins certain spinning 2000 ms\n");
    assert_false(stage->counts.exact);
}

/* A ring that was skipped is not judged, a process that was stopped as a whole is no stall. */
TEST(skipped_and_stopped, set_up, tear_down)
{
    struct stage *stage = *state;

    add_ring(stage, 1, false);
    add_ring(stage, 2, false);
    scan_record_add_ring(&stage->scan, 1, (const uint8_t[16]){1}, 0);
    scan_record_add_ring(&stage->scan, 2, (const uint8_t[16]){2}, 0);
    register_id(stage, 1, 0, RIP_CALL_NONE, "skipped");
    register_id(stage, 2, 1, RIP_CALL_NONE, "stopped");
    stage->ids[1].idle = 1;
    add_id(stage, RIP_EVENT_STATE, 2, 1);
    for (int i = 1; i <= 9; i++) {
        if (i >= 4 && i <= 7)
            SCAN_RECORD_ADD(&stage->scan, SCAN_SKIPPED, 1);
        if (i == 2)
            SCAN_RECORD_ADD(&stage->scan, SCAN_CONDITIONS, 2, 0, CAUSE_SIGNAL);
        if (i == 8)
            SCAN_RECORD_ADD(&stage->scan, SCAN_VERDICTS, 1, 0, 2, ID_STALLED, CAUSE_BLOCKED);
        drain_ripd(stage);
    }
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "8 begin skipped certain blocked 7000 ms\n");
}

/* Those that wait for one root are one incident, by the graph that ripd had. */
static int take_incident(void *context, const struct replay_alert *alert)
{
    struct stage *stage = context;
    const size_t length = strlen(stage->said);

    snprintf(stage->said + length, sizeof(stage->said) - length, "#%d episode %d incident %d waiting %u\n",
             (int)alert->event->sequence, (int)alert->event->episode, (int)alert->event->incident,
             alert->event->waiting_count);
    return 0;
}

TEST(incidents_and_turns, set_up, tear_down)
{
    struct stage *stage = *state;
    struct replay *replay;

    add_ring(stage, 1, false);
    add_ring(stage, 2, false);
    scan_record_add_ring(&stage->scan, 3, (const uint8_t[16]){1}, 1000); /* a reader may have numbers of its own */
    scan_record_add_ring(&stage->scan, 4, (const uint8_t[16]){2}, 1001);
    register_id(stage, 1, 0, RIP_CALL_NONE, "waits");
    register_id(stage, 1, 1, RIP_CALL_NONE, "holds");
    register_id(stage, 2, 2, RIP_CALL_NONE, "another user's");
    for (int i = 1; i <= 6; i++) {
        if (i == 6) {
            SCAN_RECORD_ADD(&stage->scan, SCAN_VERDICTS, 3, 0, 2, ID_STALLED, CAUSE_BLOCKED);
            SCAN_RECORD_ADD(&stage->scan, SCAN_VERDICTS, 3, 1, 2, ID_STALLED, CAUSE_BLOCKED);
            SCAN_RECORD_ADD(&stage->scan, SCAN_VERDICTS, 4, 2, 2, ID_STALLED, CAUSE_BLOCKED);
            SCAN_RECORD_ADD(&stage->scan, SCAN_ROOTS, 3, 0, 2, true, 0, 1, 1, 2);
            SCAN_RECORD_ADD(&stage->scan, SCAN_TURNS, 1001);
            SCAN_RECORD_ADD(&stage->scan, SCAN_TURNS, 1000);
        }
        drain_ripd(stage);
    }
    stage->request = (struct replay_request){.context = stage, .alert = take_incident};
    assert_int_equal(replay_new(&replay, &stage->request), 0);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < stage->count; i++)
            assert_int_equal((pass == 0 ? replay_learn : replay_take)(replay, &stage->events[i], &stage->data[i]), 0);
    replay_free(replay);
    assert_string_equal(stage->said, "#11 episode 21 incident 21 waiting 0\n"
                                     "#12 episode 22 incident 23 waiting 1\n"
                                     "#13 episode 23 incident 23 waiting 1\n");
}

/* The first segments are gone: nothing is known before the settings are said again. */
TEST(begins_in_the_middle, set_up, tear_down)
{
    struct stage *stage = *state;

    add_ring(stage, 1, false);
    register_id(stage, 1, 0, RIP_CALL_NONE, "worker");
    stage->settings_at = 4;
    stage->reason = SCAN_SETTINGS_REPEATED;
    for (int i = 1; i <= 9; i++) {
        if (i == 4)
            scan_record_add_ring(&stage->scan, 7, (const uint8_t[16]){1}, 0);
        if (i >= 5)
            SCAN_RECORD_ADD(&stage->scan, SCAN_VERDICTS, 7, 0, 2, ID_STALLED, CAUSE_BLOCKED);
        drain_ripd(stage);
    }
    assert_int_equal(run(stage), 0);
    assert_string_equal(stage->said, "9 begin worker certain blocked 5000 ms\n");
    assert_int_equal(stage->counts.scan_count, 6);
}

TEST(damaged_data, set_up, tear_down)
{
    struct stage *stage = *state;

    add_ring(stage, 1, false);
    drain_ripd(stage);
    stage->data[stage->count - 1].scan_bytes--;
    assert_int_equal(run(stage), -EBADMSG);
}
