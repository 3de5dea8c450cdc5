/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_events.c - the stalls of a scan as events: numbered, and announced in order after they are on disk, unless the
 * disk fails or hangs: ripd/app/events.c.
 */
#include <errno.h>
#include <poll.h>

#include "app/events.h"
#include "app/log.h"
#include "app/report.h"
#include "record/event_line.h"
#include "support/test.h"
#include "unit/hanging_disk.h"
#include "unit/log_capture.h"
#include "unit/samples.h"
#include "unit/state_directory.h"

#define SECOND_NS UINT64_C(1000000000)
#define WALL_NS SAMPLE_SCANNED_WALL_NS
#define IDS_MAX 2000u

/* The ids of ring 1, and the events that were announced. */
static struct {
    struct work *work;
    struct cases *cases;
    void *directory; /* a struct state_directory; NULL: none */
    struct events *events;
    struct health health;
    struct item *items[IDS_MAX]; /* by slot; NULL: cannot be described */
    bool stalled[IDS_MAX];
    struct detector_event changes[IDS_MAX]; /* of the next scan */
    size_t change_count;
    struct event *announced[2 * IDS_MAX];
    size_t announced_count;
    uint64_t now_ns;
    uint64_t wall_ns; /* when now_ns was 0 */
    bool name_is_pending;
    enum id_cause cause; /* of those that are stalled */
    uint64_t progress;   /* likewise */
    struct waits *waits; /* of the next scan, which takes ownership */
} world;

static void on_announce(void *context, struct event *event)
{
    (void)context;
    world.announced[world.announced_count++] = event_ref(event);
}

static int open_events(const char *state_directory)
{
    const struct events_options options = {.cases = world.cases,
                                           .work = world.work,
                                           .health = &world.health,
                                           .state_directory = state_directory,
                                           .announce = on_announce};

    return events_new(&world.events, &options, world.now_ns);
}

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LEVEL_ERROR);
    memset(&world, 0, sizeof(world));
    world.now_ns = 1000 * SECOND_NS;
    world.wall_ns = WALL_NS;
    world.cause = CAUSE_BLOCKED;
    world.work = work_new();
    assert_non_null(world.work);
    world.cases = cases_new(world.work, 6 * SECOND_NS);
    assert_non_null(world.cases);
    return open_events(NULL);
}

static int set_up_on_disk(void **state)
{
    struct event_history_found found;

    set_up(state);
    assert_int_equal(state_directory_set_up(&world.directory), 0);
    events_free(world.events);
    assert_int_equal(open_events(((struct state_directory *)world.directory)->path), 0);
    events_found(world.events, &found);
    assert_true(found.epoch != 0);
    return events_start(world.events);
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < world.announced_count; i++)
        event_unref(world.announced[i]);
    for (size_t i = 0; i < IDS_MAX; i++)
        item_unref(world.items[i]);
    events_free(world.events);
    cases_free(world.cases);
    work_free(world.work);
    return world.directory != NULL ? state_directory_tear_down(&world.directory) : 0;
}

static void change(enum detector_event_kind kind, uint32_t slot)
{
    world.stalled[slot] = kind == DETECTOR_STALLED;
    world.changes[world.change_count++] = (struct detector_event){
        .kind = kind, .ring = 1, .slot = slot, .generation = 2, .cause = CAUSE_BLOCKED, .frozen_for_ns = 6 * SECOND_NS};
}

/* An id that can be described is stalled on the next scan. */
static void stall(uint32_t slot)
{
    world.items[slot] = sample_item(sample_process("/usr/bin/checkout", 4690), "checkout", 1, slot, "w", 1, 1);
    change(DETECTOR_STALLED, slot);
}

static void assert_announced(size_t count)
{
    assert_int_equal(world.announced_count, count);
}

static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring;
}

static size_t list_suspects(struct detector_suspect suspects[IDS_MAX])
{
    size_t count = 0;

    for (uint32_t slot = 0; slot < IDS_MAX; slot++)
        if (world.stalled[slot])
            suspects[count++] = (struct detector_suspect){
                .ring = 1,
                .slot = slot,
                .generation = 2,
                .state = ID_STALLED,
                .cause = world.cause,
                .progress = world.progress,
                .frozen_for_ns = 6 * SECOND_NS,
                .frozen_for_max_ns = world.items[slot] != NULL ? 7 * SECOND_NS : DETECTOR_UNKNOWN_NS,
                .threshold_ns = 5 * SECOND_NS,
            };
    return count;
}

static bool name_comes(void *context, const struct item *item)
{
    (void)context;
    assert_non_null(item);
    return world.name_is_pending;
}

static void scan(void)
{
    static struct detector_suspect suspects[IDS_MAX];
    struct detector_update update = {.suspects = suspects, .events = world.changes};
    struct snapshot *moment = snapshot_new();

    events_catch_up(world.events);
    world.now_ns += SECOND_NS;
    moment->scanned_mono_ns = world.now_ns;
    moment->scanned_wall_ns = world.wall_ns + world.now_ns;
    moment->interval_ns = SECOND_NS;
    moment->waits = world.waits;
    world.waits = NULL;
    update.suspect_count = list_suspects(suspects);
    update.event_count = world.change_count;
    assert_int_equal(cases_begin(world.cases, suspects, update.suspect_count, user_of, NULL), 0);
    for (size_t i = 0; i < update.suspect_count; i++) {
        struct stall_case *found = cases_find(world.cases, 1, suspects[i].slot, 2);

        if (found->item == NULL)
            found->item = item_ref(world.items[suspects[i].slot]);
    }
    cases_end(world.cases, &update, world.now_ns);
    events_step(world.events, &(struct events_scan){NULL, &update, moment, name_comes, NULL});
    snapshot_unref(moment);
    world.change_count = 0;
}

TEST(begin_and_end, set_up, tear_down)
{
    const struct event *begin, *end;

    stall(17);
    scan();
    assert_announced(1);
    begin = world.announced[0];
    assert_int_equal(begin->sequence, 1);
    assert_int_equal(begin->episode, 1);
    assert_int_equal(begin->kind, EVENT_BEGIN);
    assert_int_equal(begin->cause, CAUSE_BLOCKED);
    assert_int_equal(world.health.incidents_by_cause[CAUSE_BLOCKED], 1);
    assert_int_equal(world.health.stuck_incidents_by_cause[CAUSE_BLOCKED], 1);
    assert_int_equal(begin->duration_ns, 6 * SECOND_NS);
    assert_int_equal(begin->duration_max_ns, 7 * SECOND_NS);
    assert_int_equal(begin->at_wall_ns, WALL_NS + world.now_ns);
    assert_int_equal(begin->since_wall_ns, begin->at_wall_ns - 6 * SECOND_NS);
    assert_int_equal(begin->pid, 4690);
    assert_string_equal(begin->ring, "checkout");
    assert_string_equal(begin->module, "checkout");
    assert_int_equal(begin->offset, 0x1234);

    change(DETECTOR_MOVED, 17);
    for (int i = 0; i < 6; i++)
        scan();
    assert_announced(1);
    scan(); /* the hysteresis time is over */
    assert_announced(2);
    end = world.announced[1];
    assert_int_equal(end->sequence, 2);
    assert_int_equal(end->episode, 1);
    assert_int_equal(end->kind, EVENT_END);
    assert_int_equal(end->reason, EVENT_REASON_MOVED);
    assert_int_equal(end->duration_ns, 7 * SECOND_NS);
    assert_int_equal(end->duration_max_ns, 8 * SECOND_NS);
    assert_int_equal(end->at_wall_ns, begin->at_wall_ns + SECOND_NS); /* when it moved, not when it was published */
    assert_string_equal(end->text + end->subject_at, begin->text + begin->subject_at);
}

/* A begin contains the names that were found while it was held. Its time is that of the scan. */
TEST(a_begin_waits_for_its_name, set_up, tear_down)
{
    static const struct symbol_frame frame = {"db_wait", "src/db.c", 120};
    const struct event *begin;

    stall(17);
    world.name_is_pending = true;
    scan();
    events_flush(world.events, world.now_ns + SECOND_NS / 2 - 1);
    assert_announced(0);
    assert_int_equal(events_wait_ns(world.events, world.now_ns), SECOND_NS / 2);
    assert_int_equal(events_wait_ns(world.events, world.now_ns + SECOND_NS), 0);
    assert_int_equal(symbol_table_add(&world.items[17]->process->modules[0]->symbols, 0x1234, symbol_new(&frame, 1)),
                     0);
    world.name_is_pending = false;
    events_flush(world.events, world.now_ns + 1);
    assert_announced(1);
    begin = world.announced[0];
    assert_string_equal(begin->function, "db_wait");
    assert_non_null(strstr(begin->text, "\"function\":\"db_wait\",\"file\":\"src/db.c\",\"line\":120"));
    assert_non_null(strstr(begin->summary, "in db_wait (src/db.c:120)"));
    assert_int_equal(begin->at_wall_ns, WALL_NS + world.now_ns);
    assert_int_equal(begin->duration_ns, 6 * SECOND_NS);
    events_flush(world.events, world.now_ns + SECOND_NS);
    assert_announced(1);
}

/* 17 waits for 18, which is known only after they are examined: both are one incident, which is reported once. */
TEST(a_begin_waits_for_its_holder, set_up, tear_down)
{
    world.cause = CAUSE_NONE;
    for (uint32_t slot = 17; slot <= 18; slot++)
        stall(slot);
    scan();
    assert_announced(0);
    world.cause = CAUSE_BLOCKED;
    world.waits = waits_new();
    world.waits->nodes = calloc(2, sizeof(struct waits_node));
    world.waits->count = 2;
    world.waits->waiting_count = 1;
    for (uint32_t i = 0; i < 2; i++)
        world.waits->nodes[i] = (struct waits_node){.kind = WAITS_ID,
                                                    .ring = 1,
                                                    .slot = 17 + i,
                                                    .generation = 2,
                                                    .id = 17 + i,
                                                    .next = i == 0 ? 1 : WAITS_NONE,
                                                    .last = 1,
                                                    .length = i == 0,
                                                    .root = 1};
    scan();
    assert_announced(2);
    for (size_t i = 0; i < 2; i++) {
        const struct event *begin = world.announced[i];

        assert_int_equal(begin->incident, 2); /* that of the holder */
        assert_int_equal(begin->reported, i == 0);
        assert_int_equal(begin->cause, CAUSE_BLOCKED);
        assert_int_equal(begin->duration_ns, 6 * SECOND_NS);
        assert_int_equal(begin->at_wall_ns, WALL_NS + world.now_ns - SECOND_NS); /* when it was found to be stalled */
    }
    assert_null(strstr(world.announced[0]->text, "\"root\":null"));
    assert_non_null(strstr(world.announced[0]->text, "\"waits_for\":[{\"holder\":\"id\""));
    assert_non_null(strstr(world.announced[1]->text, "\"root\":null"));
}

/* A begin is held for at most half an interval, until the next scan, or until the end of the daemon. */
TEST(a_name_that_does_not_come, set_up, tear_down)
{
    world.name_is_pending = true;
    stall(17);
    scan();
    assert_announced(0);
    events_flush(world.events, world.now_ns + SECOND_NS / 2);
    assert_announced(1);
    stall(18);
    scan();
    assert_announced(1);
    stall(19);
    scan();
    assert_announced(2);
    assert_int_equal(world.announced[1]->id, 18);
    events_stop(world.events);
    assert_announced(3);
    assert_int_equal(world.announced[2]->id, 19);
}

TEST(reasons, set_up, tear_down)
{
    static const struct {
        enum detector_event_kind kind;
        enum event_reason reason;
    } pairs[] = {{DETECTOR_MOVED, EVENT_REASON_MOVED},
                 {DETECTOR_STOPPED, EVENT_REASON_STOPPED},
                 {DETECTOR_GONE, EVENT_REASON_GONE},
                 {DETECTOR_EXCUSED, EVENT_REASON_EXCUSED}};

    for (uint32_t i = 0; i < 4; i++)
        stall(i);
    scan();
    for (uint32_t i = 0; i < 4; i++)
        change(pairs[i].kind, i);
    for (int i = 0; i < 8; i++)
        scan();
    assert_announced(8);
    for (size_t i = 4; i < 8; i++)
        assert_int_equal(world.announced[i]->reason, pairs[world.announced[i]->id].reason);
    assert_int_equal(world.announced[4]->id, 2); /* an id that is gone has no hysteresis */
}

/* An id that could not be described also has a begin and an end. */
TEST(an_id_without_description, set_up, tear_down)
{
    change(DETECTOR_STALLED, 5);
    scan();
    change(DETECTOR_GONE, 5);
    scan();
    assert_announced(2);
    assert_string_equal(world.announced[0]->ring, "");
    assert_int_equal(world.announced[0]->duration_ns, 6 * SECOND_NS);
    assert_int_equal(world.announced[0]->duration_max_ns, EVENT_UNKNOWN_NS);
    assert_int_equal(world.announced[1]->duration_max_ns, EVENT_UNKNOWN_NS);
    assert_non_null(strstr(world.announced[0]->text, "\"ring\":null,\"source\":null,\"id\":null"));
}

/* The history can read the line that it writes for this event. */
static void assert_readable(struct event *event)
{
    const struct event_line line = {EVENT_LINE_EVENT, event, {.episode = event->episode, .stall_count = 1}, 0, 0, 0};
    struct event_line read;
    size_t length;
    char *text;

    assert_int_equal(event_line_format(&line, 1, &text, &length), 0);
    assert_int_equal(event_line_parse(text, length - 1, &read), 0);
    assert_string_equal(read.event->text, event->text);
    event_unref(read.event);
    free(text);
}

/* The clock was set back to 1970: an id is frozen since a time before that. */
TEST(a_clock_set_back, set_up, tear_down)
{
    world.wall_ns = 0 - world.now_ns;
    stall(17);
    scan();
    change(DETECTOR_MOVED, 17);
    scan();
    world.wall_ns = 0 - world.now_ns - 5 * SECOND_NS; /* and again */
    for (int i = 0; i < 6; i++)
        scan();
    assert_announced(2);
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(strstr(world.announced[i]->text, "\"since\":\"1970-01-01T00:00:00.000Z\""));
        assert_readable(world.announced[i]);
    }
    assert_non_null(strstr(world.announced[1]->text, "\"at\":\"1970-01-01T00:00:00.000Z\""));
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;

    while ((text = strstr(text, what)) != NULL) {
        text++;
        count++;
    }
    return count;
}

/* Ids of open episodes that move and stall again and again: the number of lines in the history is limited. */
TEST(ids_that_flap, set_up_on_disk, tear_down)
{
    char *text;

    for (uint32_t i = 0; i < 500; i++)
        stall(i);
    scan();
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 500; i++)
            change(DETECTOR_MOVED, i);
        scan();
        for (uint32_t i = 0; i < 500; i++)
            change(DETECTOR_STALLED, i);
        scan();
    }
    events_stop(world.events);
    assert_announced(500);
    text = state_read(world.directory, EVENT_FILE_NAME);
    assert_true(count_of(text, "\n{\"subject\":") <= 1024 + 7 * WORK_RESTALLS_PER_SCAN);
    assert_int_equal(count_of(text, "\n{\"subject\":"), 1500 - world.health.limit_counts[HEALTH_LIMIT_RESTALLS]);
    free(text);
}

TEST(ids_of_another_user_that_flap, set_up_on_disk, tear_down)
{
    char *text;

    while (work_take(world.work, 9, WORK_RESTALLS, 1))
        continue;
    stall(7);
    scan();
    change(DETECTOR_MOVED, 7);
    scan();
    change(DETECTOR_STALLED, 7);
    scan();
    events_stop(world.events);
    text = state_read(world.directory, EVENT_FILE_NAME);
    assert_int_equal(count_of(text, "\n{\"subject\":"), 1);
    free(text);
}

/* An id that moves and stalls again before its begin is published: after a restart its last progress identifies it. */
TEST(a_begin_after_the_second_stall, set_up_on_disk, tear_down)
{
    char *text;

    world.cause = CAUSE_NONE; /* the begin waits */
    world.progress = 5;
    stall(7);
    scan();
    change(DETECTOR_MOVED, 7);
    scan();
    world.progress = 9;
    change(DETECTOR_STALLED, 7);
    scan();
    world.cause = CAUSE_BLOCKED;
    scan();
    events_stop(world.events);
    assert_announced(1);
    text = state_read(world.directory, EVENT_FILE_NAME);
    assert_int_equal(count_of(text, "\"progress\":\"9\""), 1);
    free(text);
}

static void wait_announced(uint64_t count)
{
    struct pollfd descriptor = {.fd = events_descriptor(world.events), .events = POLLIN};

    for (int i = 0; i < 30 && world.announced_count < count; i++) {
        poll(&descriptor, 1, 1000);
        events_flush(world.events, world.now_ns);
    }
    assert_announced(count);
}

TEST(announced_after_it_is_on_disk, set_up_on_disk, tear_down)
{
    stall(1);
    scan();
    wait_announced(1);
    disk_set_hanging(true);
    stall(2);
    scan();
    events_flush(world.events, world.now_ns + EVENTS_PATIENCE_NS - 1);
    assert_announced(1);
    assert_int_equal(events_wait_ns(world.events, world.now_ns + EVENTS_PATIENCE_NS - 1), 1);
    disk_set_hanging(false);
    wait_announced(2);
    assert_int_equal(world.health.history_error_count, 0);
}

/* Ends the capture of the log, which has one line. */
static void expect_line(const char *part)
{
    const char *text = log_capture_take();

    if (count_lines(text) != 1 || strstr(text, part) == NULL)
        fail_msg("not one line with %s: %s", part, text);
}

/* The log has one line when the trouble begins, and one when it ends. */
TEST(a_disk_that_hangs_delays_events_for_a_limited_time, set_up_on_disk, tear_down)
{
    char *text;

    log_set_level(LOG_LEVEL_WARNING);
    disk_set_hanging(true);
    stall(1);
    scan();
    stall(2);
    scan();
    log_capture_begin(NULL);
    events_flush(world.events, world.now_ns - SECOND_NS + EVENTS_PATIENCE_NS);
    expect_line("the disk is slow, events are announced before they are written");
    assert_announced(2); /* in order, and the second did not wait again */
    stall(3);
    scan();
    assert_announced(3);
    assert_int_equal(world.health.history_error_count, 3);
    disk_set_hanging(false);
    log_capture_begin(NULL);
    while (poll(&(struct pollfd){events_descriptor(world.events), POLLIN, 0}, 1, 1000) > 0)
        events_flush(world.events, world.now_ns);
    expect_line("is written again");
    text = state_read(world.directory, EVENT_FILE_NAME); /* everything is written: events wait for the disk again */
    assert_non_null(strstr(text, "{\"event\":{\"sequence\":3,"));
    free(text);
    disk_set_hanging(true);
    stall(4);
    scan();
    assert_announced(3);
    disk_set_hanging(false);
    events_stop(world.events); /* announces the event still queued */
    assert_announced(4);
    assert_int_equal(world.announced[3]->sequence, 4);
}

TEST(without_a_directory, set_up, tear_down)
{
    struct event_history_found found;

    events_found(world.events, &found);
    assert_int_equal(found.sequence, 0);
    assert_int_equal(events_descriptor(world.events), -1);
    events_free(world.events);
    world.events = NULL;
    assert_int_equal(open_events("/dev/null"), -ENOTDIR);
    assert_null(world.events);
}

/* The events of one user are published over many scans; none is lost, and no end comes before its begin. */
TEST(a_flood_has_no_gap, set_up, tear_down)
{
    struct cases_counters counters;

    for (uint32_t i = 0; i < 1500; i++)
        stall(i);
    scan();
    assert_announced(512); /* the share of one user in a scan */
    for (uint32_t i = 0; i < 1500; i++)
        change(DETECTOR_GONE, i);
    for (int i = 0; i < 200; i++)
        scan();
    assert_announced(3000);
    cases_count(world.cases, &counters);
    assert_int_equal(counters.suppressed_count, 0);
    assert_int_equal(counters.belated_count, 1500 - 512);
    for (size_t i = 0; i < world.announced_count; i++)
        assert_int_equal(world.announced[i]->sequence, i + 1);
}

/* A begin that is published late has the time of the scan that found the stall. */
TEST(a_belated_begin, set_up, tear_down)
{
    const struct event *begin, *end;

    work_set_total(world.work, WORK_EVENTS, 1);
    assert_true(work_take(world.work, 1, WORK_EVENTS, 1)); /* no room */
    work_set_total(world.work, WORK_EVENTS, 2 * (2 * WORK_EVENTS_PER_SCAN + 3));
    assert_true(work_take(world.work, 1, WORK_EVENTS, 2 * WORK_EVENTS_PER_SCAN + 2));
    stall(17);
    work_set_total(world.work, WORK_EVENTS, 1);
    scan();
    change(DETECTOR_GONE, 17);
    scan();
    assert_announced(0);
    work_set_total(world.work, WORK_EVENTS, 1024);
    scan();
    assert_announced(2);
    begin = world.announced[0];
    end = world.announced[1];
    assert_int_equal(begin->kind, EVENT_BEGIN);
    assert_int_equal(begin->at_wall_ns, WALL_NS + world.now_ns - 2 * SECOND_NS);
    assert_int_equal(begin->duration_ns, 6 * SECOND_NS);
    assert_int_equal(begin->duration_max_ns, 7 * SECOND_NS);
    assert_int_equal(end->at_wall_ns, WALL_NS + world.now_ns - SECOND_NS);
    assert_int_equal(end->duration_ns, 7 * SECOND_NS);
}
