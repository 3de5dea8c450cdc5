/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_replay.c - recordings made by hand, replayed through the detector: ripd/replay. tests/sim has recordings that
 * ripd makes of a simulated world.
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

/* The recording. */
static struct rip_event events[EVENTS_MAX];
static struct replay_data data[EVENTS_MAX];
static size_t event_count;
static struct rip_id_info infos[EVENTS_MAX];
static size_t info_count;
static uint64_t sequence;    /* of the last drain */
static uint64_t settings_at; /* the drain that has the settings */
static enum scan_settings_reason settings_reason;
static struct rip_id_info ids[IDS_MAX]; /* by slot, as they are now */
static struct scan_record scan;         /* rows of the next drain */

/* Its replay. */
static struct replay_request request;
static struct replay_counts counts;
static char alerts[8192];     /* a line for each */
static char event_text[8192]; /* the JSON of the last event */

static int set_up(void **state)
{
    (void)state;
    memset(data, 0, sizeof(data));
    memset(ids, 0, sizeof(ids));
    event_count = info_count = 0;
    sequence = 0;
    settings_at = 1;
    settings_reason = SCAN_SETTINGS_STARTED;
    request = (struct replay_request){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < event_count; i++) {
        free((void *)(uintptr_t)data[i].scan);
        free((void *)(uintptr_t)data[i].settings);
    }
    scan_record_done(&scan);
    return 0;
}

static struct rip_event *add(uint32_t kind, uint32_t ring)
{
    assert_true(event_count < EVENTS_MAX);
    events[event_count] = (struct rip_event){.kind = kind, .ring = ring, .latest_mono_ns = (sequence + 1) * SECOND_NS};
    return &events[event_count++];
}

static void add_ring(uint32_t ring, bool preload)
{
    static const char *const names[] = {"", "one", "two", "three"};
    struct rip_event *event = add(RIP_EVENT_RING, ring);

    event->as.ring_begin.name = (struct rip_text){names[ring], strlen(names[ring])};
    event->as.ring_begin.preload = preload;
    event->as.ring_begin.ring_id[0] = (uint8_t)ring;
}

/* The same ring in the rows of the next drain, where it has another number. */
static void add_scanned_ring(uint32_t number, uint8_t ring, uint32_t user)
{
    scan_record_add_ring(&scan, number, (const uint8_t[16]){ring}, user);
}

/* An event about the id of a slot as it is now. */
static void add_id(uint32_t kind, uint32_t ring, uint32_t slot)
{
    struct rip_event *event = add(kind, ring);
    struct rip_id_info *info = &infos[info_count++];

    *info = ids[slot];
    event->slot = slot;
    event->generation = info->generation;
    event->as.id_begin.info = info;
}

static void register_id(uint32_t ring, uint32_t slot, uint8_t call, const char *name)
{
    struct rip_id_info *info = &ids[slot];

    *info = (struct rip_id_info){.slot = slot,
                                 .generation = info->generation + 2,
                                 .id = 100 + slot,
                                 .tid = 50 + slot,
                                 .progress = 1,
                                 .call = call};
    info->name_bytes = (uint8_t)strlen(name);
    memcpy(info->name, name, info->name_bytes);
    add_id(RIP_EVENT_REGISTER, ring, slot);
}

static void set_idle(uint32_t ring, uint32_t slot)
{
    ids[slot].idle = 1;
    add_id(RIP_EVENT_STATE, ring, slot);
}

static struct rip_event *snap(uint32_t ring, uint32_t slot)
{
    struct rip_event *event = add(RIP_EVENT_SNAP, ring);

    event->slot = slot;
    event->generation = ids[slot].generation;
    event->as.snap.progress = ++ids[slot].progress;
    return event;
}

static void add_note(uint32_t ring, uint32_t slot, const struct rip_note_info *note)
{
    struct rip_event *event = add(RIP_EVENT_NOTE, ring);

    event->slot = slot;
    event->generation = ids[slot].generation;
    event->as.note = note;
}

/* One drain a second, as `rip record` makes them. */
static void drain(void)
{
    struct rip_event *event = add(RIP_EVENT_DRAIN, 0);
    const uint64_t now_ns = ++sequence * SECOND_NS;

    event->as.drain = (struct rip_event_drain){.sequence = sequence, .wall_ns = WALL_NS + now_ns, .mono_ns = now_ns};
}

static void drains(unsigned count)
{
    while (count-- > 0)
        drain();
}

/* A drain as ripd makes it: with rows, and one of them with settings. */
static void drain_ripd(void)
{
    const struct scan_settings settings = {.reason = settings_reason,
                                           .interval_ns = SECOND_NS,
                                           .stall_after_ns = 5 * SECOND_NS,
                                           .hysteresis_ns = 6 * SECOND_NS,
                                           .sequence = 10,
                                           .episode = 20};
    struct replay_data *of;
    void *bytes;

    drain();
    of = &data[event_count - 1];
    assert_int_equal(scan_record_pack(&scan, &bytes, &of->scan_bytes), 0);
    of->scan = bytes;
    scan_record_clear(&scan);
    if (sequence != settings_at)
        return;
    assert_int_equal(scan_settings_pack(&settings, &bytes, &of->settings_bytes), 0);
    of->settings = bytes;
}

static int write_alert(void *context, const struct replay_alert *alert)
{
    const struct event *event = alert->event;
    const size_t length = strlen(alerts);

    (void)context;
    snprintf(alerts + length, sizeof(alerts) - length, "%d %s %.*s %s%s%s %d ms\n",
             (int)((event->at_wall_ns - WALL_NS) / SECOND_NS), event_kind_name(event->kind), event->name_bytes,
             (const char *)event->name, alert->certain ? "certain" : "possible", event->cause != CAUSE_NONE ? " " : "",
             id_cause_name(event->cause), (int)(event->duration_ns / 1000000));
    snprintf(event_text, sizeof(event_text), "%s", event->text);
    return 0;
}

static int run(int (*alert)(void *context, const struct replay_alert *alert))
{
    struct replay *replay;
    int result = 0;

    alerts[0] = '\0';
    request.alert = alert;
    assert_int_equal(replay_new(&replay, &request), 0);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < event_count && result == 0; i++)
            result = (pass == 0 ? replay_learn : replay_take)(replay, &events[i], &data[i]);
    if (result == 0)
        result = replay_end(replay);
    replay_counts(replay, &counts);
    replay_free(replay);
    return result;
}

static void assert_alerts(const char *expected)
{
    assert_int_equal(run(write_alert), 0);
    assert_string_equal(alerts, expected);
}

/* Without evidence ------------------------------------------------------------------------------------------------- */

/* A program that uses the library declares itself idle. For preloaded programs only some calls prove a stall. */
TEST(certain_and_possible, set_up, tear_down)
{
    add_ring(1, false);
    add_ring(2, true);
    register_id(1, 0, RIP_CALL_NONE, "library");
    register_id(2, 1, RIP_CALL_BLOCK, "blocked");
    register_id(2, 2, RIP_CALL_OUTSIDE, "outside");
    register_id(2, 3, RIP_CALL_UNSURE, "unsure");
    register_id(2, 4, RIP_CALL_SLEEP, "sleeps");
    register_id(1, 5, RIP_CALL_NONE, "idle");
    set_idle(1, 5);
    register_id(1, 6, RIP_CALL_NONE, "moves");
    for (int i = 0; i < 9; i++) {
        snap(1, 6);
        drain();
    }
    assert_alerts("6 begin library certain 5000 ms\n"
                  "6 begin blocked certain blocked 5000 ms\n"
                  "6 begin outside possible unknown 5000 ms\n"
                  "6 begin unsure possible unknown 5000 ms\n");
    assert_false(counts.by_ripd);
    assert_int_equal(counts.scan_count, 9);
    assert_int_equal(counts.id_count_max, 7);
    assert_int_equal(counts.event_count, 4);
    assert_int_equal(counts.certain_count, 2);
}

/* The replay may use other thresholds, and rules by name. */
TEST(other_thresholds, set_up, tear_down)
{
    struct rules rules = {0};
    const char *expected;

    add_ring(1, false);
    register_id(1, 0, RIP_CALL_NONE, "worker");
    register_id(1, 1, RIP_CALL_NONE, "batch-7");
    drains(4);
    snap(1, 0);
    snap(1, 1);
    drains(10);
    request.stall_after_ns = 2 * SECOND_NS;
    assert_alerts("3 begin worker certain 2000 ms\n"
                  "3 begin batch-7 certain 2000 ms\n");
    assert_int_equal(rules_add(&rules, "batch-*=1m", &expected), 0);
    request.rules = &rules;
    assert_alerts("3 begin worker certain 2000 ms\n");
    request.stall_after_ns = 0;
    assert_alerts("10 begin worker certain 5000 ms\n");
}

/* `rip record` leaves out drains in which nothing has changed. */
TEST(drains_that_were_left_out, set_up, tear_down)
{
    add_ring(1, false);
    register_id(1, 0, RIP_CALL_NONE, "worker");
    drain();
    sequence = 19; /* eighteen seconds in which nothing changed */
    snap(1, 0);
    drain();
    for (int i = 0; i < 7; i++) {
        snap(1, 0);
        drain();
    }
    assert_alerts("6 begin worker certain 5000 ms\n"
                  "20 end worker certain 19000 ms\n");
    assert_int_equal(counts.scan_count, 27);
}

TEST(an_id_that_goes_ends_its_stall, set_up, tear_down)
{
    struct rip_process_info process = {.generation = 2, .pid = 77, .comm = "prog"};

    add_ring(1, false);
    add(RIP_EVENT_PROCESS, 1)->as.process_begin = &process;
    add_ring(2, false);
    register_id(1, 0, RIP_CALL_NONE, "killed");
    register_id(2, 1, RIP_CALL_NONE, "exits");
    register_id(2, 2, RIP_CALL_NONE, "unlinked");
    drains(6);
    add(RIP_EVENT_DEATH, 1);
    drain();
    *add(RIP_EVENT_EXIT, 2) = (struct rip_event){.kind = RIP_EVENT_EXIT, .ring = 2, .slot = 1, .generation = 2};
    drain();
    add(RIP_EVENT_RING_END, 2);
    drain();
    assert_alerts("6 begin killed certain 5000 ms\n"
                  "6 begin exits certain 5000 ms\n"
                  "6 begin unlinked certain 5000 ms\n"
                  "7 end killed certain 6000 ms\n"
                  "8 end exits certain 7000 ms\n"
                  "9 end unlinked certain 8000 ms\n");
}

/* The caller of the replay may name locations. */
static void name_place(void *context, struct module_facts *module, uint64_t offset)
{
    const struct symbol_frame frame = {.function = "serve", .file = "/src/prog.c", .line = 7};

    (void)context;
    assert_string_equal(module->path, "/bin/prog");
    assert_int_equal(symbol_table_add(&module->symbols, offset, symbol_new(&frame, 1)), 0);
}

/* An event has what the recording says about the process, the thread, its last location and its note. */
TEST(the_text_of_an_event, set_up, tear_down)
{
    struct rip_process_info process = {.generation = 2, .pid = 77, .comm = "prog"};
    struct rip_module_info module = {
        .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path_bytes = 9, .path = "/bin/prog"};
    const struct rip_entry entry = {.snap = 2, .address = 0x1234};
    const struct rip_note_info note = {.text_bytes = 6, .text = "job 17"};
    struct rip_event *event;

    add_ring(1, false);
    add(RIP_EVENT_PROCESS, 1)->as.process_begin = &process;
    add(RIP_EVENT_MODULE, 1)->as.module = (struct rip_event_module){.nth = 0, .info = &module};
    register_id(1, 0, RIP_CALL_NONE, "worker");
    event = snap(1, 0);
    event->as.snap.entries = &entry;
    event->as.snap.entry_count = 1;
    add_note(1, 0, &note);
    drains(6);
    assert_alerts("6 begin worker certain 5000 ms\n");
    assert_non_null(
        strstr(event_text, "\"summary\":\"worker of prog (pid 77) has not moved for 5.0 s at prog+0x234\""));
    assert_non_null(strstr(event_text, "\"ring\":\"one\",\"source\":\"library\",\"id\":100,\"tid\":50,"));
    assert_non_null(strstr(event_text, "\"note\":\"job 17\""));
    request.name_place = name_place;
    assert_int_equal(run(write_alert), 0);
    assert_non_null(strstr(event_text, "\"function\":\"serve\""));
    assert_non_null(strstr(event_text, " 5.0 s in serve"));
}

/* The next id in a slot has nothing of the one before. */
TEST(another_id_in_the_slot, set_up, tear_down)
{
    const struct rip_note_info note = {.text_bytes = 6, .text = "job 17"};

    add_ring(1, false);
    register_id(1, 0, RIP_CALL_NONE, "before");
    add_note(1, 0, &note);
    drain();
    register_id(1, 0, RIP_CALL_NONE, "next");
    drains(6);
    assert_alerts("7 begin next certain 5000 ms\n");
    assert_null(strstr(event_text, "job 17"));
}

/* With the scans of ripd ------------------------------------------------------------------------------------------- */

/* Verdicts are as recorded. With a shorter threshold a later verdict is used for earlier scans. */
TEST(verdicts, set_up, tear_down)
{
    add_ring(1, true);
    add_scanned_ring(1, 1, 0);
    register_id(1, 0, RIP_CALL_OUTSIDE, "spins");
    register_id(1, 1, RIP_CALL_OUTSIDE, "waits");
    for (int i = 1; i <= 8; i++) {
        if (i >= 6)
            SCAN_RECORD_ADD(&scan, SCAN_VERDICTS, 1, 0, 2, ID_STALLED, CAUSE_SPINNING);
        if (i == 6)
            SCAN_RECORD_ADD(&scan, SCAN_VERDICTS, 1, 1, 2, ID_IDLE, CAUSE_UNSEEN);
        drain_ripd();
    }
    assert_alerts("6 begin spins certain spinning 5000 ms\n");
    assert_true(counts.exact);
    request.stall_after_ns = 2 * SECOND_NS;
    assert_alerts("3 begin spins certain spinning 2000 ms\n");
    assert_false(counts.exact);
}

/* A skipped ring is not judged, and a process that was stopped as a whole does not stall. */
TEST(skipped_and_stopped, set_up, tear_down)
{
    add_ring(1, false);
    add_ring(2, false);
    add_scanned_ring(1, 1, 0);
    add_scanned_ring(2, 2, 0);
    register_id(1, 0, RIP_CALL_NONE, "skipped");
    register_id(2, 1, RIP_CALL_NONE, "stopped");
    set_idle(2, 1);
    for (int i = 1; i <= 9; i++) {
        if (i >= 4 && i <= 7)
            SCAN_RECORD_ADD(&scan, SCAN_SKIPPED, 1);
        if (i == 2)
            SCAN_RECORD_ADD(&scan, SCAN_CONDITIONS, 2, 0, CAUSE_SIGNAL);
        if (i == 8)
            SCAN_RECORD_ADD(&scan, SCAN_VERDICTS, 1, 0, 2, ID_STALLED, CAUSE_BLOCKED);
        drain_ripd();
    }
    assert_alerts("8 begin skipped certain blocked 7000 ms\n");
}

static int write_incident(void *context, const struct replay_alert *alert)
{
    const size_t length = strlen(alerts);

    (void)context;
    snprintf(alerts + length, sizeof(alerts) - length, "#%d episode %d incident %d waiting %u\n",
             (int)alert->event->sequence, (int)alert->event->episode, (int)alert->event->incident,
             alert->event->waiting_count);
    return 0;
}

/* Ids with the same root in ripd's graph are one incident. Users take turns as they did in ripd. */
TEST(incidents_and_turns, set_up, tear_down)
{
    add_ring(1, false);
    add_ring(2, false);
    add_scanned_ring(3, 1, 1000); /* a reader of recordings numbers rings anew */
    add_scanned_ring(4, 2, 1001);
    register_id(1, 0, RIP_CALL_NONE, "waits");
    register_id(1, 1, RIP_CALL_NONE, "holds");
    register_id(2, 2, RIP_CALL_NONE, "another user's");
    for (int i = 1; i <= 6; i++) {
        if (i == 6) {
            SCAN_RECORD_ADD(&scan, SCAN_VERDICTS, 3, 0, 2, ID_STALLED, CAUSE_BLOCKED);
            SCAN_RECORD_ADD(&scan, SCAN_VERDICTS, 3, 1, 2, ID_STALLED, CAUSE_BLOCKED);
            SCAN_RECORD_ADD(&scan, SCAN_VERDICTS, 4, 2, 2, ID_STALLED, CAUSE_BLOCKED);
            SCAN_RECORD_ADD(&scan, SCAN_ROOTS, 3, 0, 2, true, 0, 1, 1, 2);
            SCAN_RECORD_ADD(&scan, SCAN_TURNS, 1001);
            SCAN_RECORD_ADD(&scan, SCAN_TURNS, 1000);
        }
        drain_ripd();
    }
    assert_int_equal(run(write_incident), 0);
    assert_string_equal(alerts, "#11 episode 21 incident 21 waiting 0\n"
                                "#12 episode 22 incident 23 waiting 1\n"
                                "#13 episode 23 incident 23 waiting 1\n");
}

/* The first segments were deleted: nothing is replayed before the first drain with settings. */
TEST(begins_in_the_middle, set_up, tear_down)
{
    add_ring(1, false);
    register_id(1, 0, RIP_CALL_NONE, "worker");
    settings_at = 4;
    settings_reason = SCAN_SETTINGS_REPEATED;
    for (int i = 1; i <= 9; i++) {
        if (i == 4)
            add_scanned_ring(7, 1, 0);
        if (i >= 5)
            SCAN_RECORD_ADD(&scan, SCAN_VERDICTS, 7, 0, 2, ID_STALLED, CAUSE_BLOCKED);
        drain_ripd();
    }
    assert_alerts("9 begin worker certain blocked 5000 ms\n");
    assert_int_equal(counts.scan_count, 6);
}

TEST(damaged_data, set_up, tear_down)
{
    add_ring(1, false);
    drain_ripd();
    data[event_count - 1].scan_bytes--;
    assert_int_equal(run(write_alert), -EBADMSG);
}
