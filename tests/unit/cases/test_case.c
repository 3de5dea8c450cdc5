/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_case.c - the guarantees of cases/case.h, by letter, with a detector that does what a test says and a real struct
 * work. Episodes are transcripts of what is published.
 */
#include "cases/case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "unit/work_test.h"
#include "work/jobs.h"

enum { HYSTERESIS = 100, FROZEN_FOR = 50, SUSPECTS_MAX = 2048, RINGS_OF_A_USER = 10, NOTHING = -1 };

/* Rings 0 to 9 are of user 0, 10 to 19 of user 1, and so on. */
static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring / RINGS_OF_A_USER;
}

struct daemon {
    struct work *work;
    struct cases *cases;
    struct detector_suspect suspects[SUSPECTS_MAX]; /* in order of ring, slot and generation */
    size_t suspect_count;
    struct detector_event events[SUSPECTS_MAX]; /* of the scan to come */
    size_t event_count;
    struct evidence evidence; /* that each case gets */
    const struct case_report *reports;
    size_t report_count;
    char trace[4096];
};

static int setup(void **state)
{
    struct daemon *daemon = calloc(1, sizeof(*daemon));

    daemon->work = work_new();
    daemon->cases = cases_new(daemon->work, HYSTERESIS);
    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'D'};
    *state = daemon;
    return daemon->cases == NULL;
}

static int teardown(void **state)
{
    struct daemon *daemon = *state;

    cases_free(daemon->cases);
    for (uint32_t user = 0; user < 3; user++) {
        assert_int_equal(work_held(daemon->work, user, WORK_STALLS), 0);
        assert_int_equal(work_held(daemon->work, user, WORK_EPISODES), 0);
    }
    work_free(daemon->work);
    free(daemon);
    return 0;
}

static size_t place_of(const struct daemon *daemon, uint32_t ring, uint32_t slot, uint32_t generation)
{
    size_t i = 0;

    while (i < daemon->suspect_count) {
        const struct detector_suspect *suspect = &daemon->suspects[i];

        if (suspect->ring > ring || (suspect->ring == ring && suspect->slot > slot) ||
            (suspect->ring == ring && suspect->slot == slot && suspect->generation >= generation))
            break;
        i++;
    }
    return i;
}

/* It is a suspect from the next scan on. */
static struct detector_suspect *stall(struct daemon *daemon, uint32_t ring, uint32_t slot, uint32_t generation)
{
    struct detector_suspect *at = &daemon->suspects[place_of(daemon, ring, slot, generation)];

    assert_true(daemon->suspect_count < SUSPECTS_MAX);
    memmove(at + 1, at, (size_t)(&daemon->suspects[daemon->suspect_count++] - at) * sizeof(*at));
    *at = (struct detector_suspect){
        .ring = ring,
        .slot = slot,
        .generation = generation,
        .tid = 1000 + slot,
        .progress = 7000 + slot,
        .frozen_for_ns = FROZEN_FOR,
        .frozen_for_max_ns = FROZEN_FOR + 10,
    };
    return at;
}

/* It is none any more: the next scan sees why. */
static void end(struct daemon *daemon, enum detector_event_kind kind, uint32_t ring, uint32_t slot, uint32_t generation)
{
    struct detector_suspect *at = &daemon->suspects[place_of(daemon, ring, slot, generation)];
    struct detector_event *event = &daemon->events[daemon->event_count++];

    *event = (struct detector_event){kind, ring, slot, generation, CAUSE_BLOCKED, 0, 0, 0};
    if (at < &daemon->suspects[daemon->suspect_count] && at->slot == slot && at->ring == ring)
        memmove(at, at + 1, (size_t)(&daemon->suspects[--daemon->suspect_count] - at) * sizeof(*at));
}

static void begin(struct daemon *daemon)
{
    assert_int_equal(cases_begin(daemon->cases, daemon->suspects, daemon->suspect_count, user_of, NULL), 0);
}

/* As the detector does: the verdict is the state, and who begins to stall has an event. */
static void judge(struct daemon *daemon)
{
    cases_judge(daemon->cases, daemon->suspects, daemon->suspect_count);
    for (size_t i = 0; i < daemon->suspect_count; i++) {
        struct detector_suspect *suspect = &daemon->suspects[i];

        if (suspect->state != ID_STALLED && suspect->verdict.state == ID_STALLED)
            daemon->events[daemon->event_count++] = (struct detector_event){
                .kind = DETECTOR_STALLED,
                .ring = suspect->ring,
                .slot = suspect->slot,
                .generation = suspect->generation,
            };
        suspect->state = suspect->verdict.state;
        suspect->cause = suspect->verdict.cause;
    }
}

static void trace(struct daemon *daemon)
{
    static const char *const reasons[] = {"", "moved", "stopped", "gone", "excused"};
    size_t at = 0;

    daemon->trace[0] = '\0';
    for (size_t i = 0; i < daemon->report_count && at < sizeof(daemon->trace) - 128; i++) {
        const struct stall_case *stall = daemon->reports[i].stall;
        const struct episode *episode = &stall->episode;
        const char *separator = at != 0 ? "; " : "";
        int length;

        if (daemon->reports[i].kind == EVENT_BEGIN)
            length = snprintf(daemon->trace + at, 128, "%s%u/%u begins #%d since %d", separator, stall->ring,
                              stall->slot, (int)episode->number, (int)episode->frozen_mono_ns);
        else
            length = snprintf(daemon->trace + at, 128, "%s%u/%u ends #%d, %s at %d, %u", separator, stall->ring,
                              stall->slot, (int)episode->number, reasons[episode->reason], (int)episode->moved_mono_ns,
                              episode->stall_count);
        at += (size_t)length;
    }
}

static void finish(struct daemon *daemon, uint64_t now_mono_ns)
{
    const struct detector_update update = {.suspects = daemon->suspects,
                                           .suspect_count = daemon->suspect_count,
                                           .events = daemon->events,
                                           .event_count = daemon->event_count};

    cases_end(daemon->cases, &update, now_mono_ns);
    daemon->event_count = 0;
    daemon->report_count = cases_publish(daemon->cases, &daemon->reports);
    trace(daemon);
}

static void scan(struct daemon *daemon, uint64_t now_mono_ns)
{
    struct stall_case *const *all;
    size_t count;

    begin(daemon);
    all = cases_all(daemon->cases, &count);
    for (size_t i = 0; i < count; i++)
        if (all[i]->is_suspect)
            all[i]->evidence = daemon->evidence;
    judge(daemon);
    finish(daemon, now_mono_ns);
}

/* What a scan publishes. */
static void assert_scan(struct daemon *daemon, uint64_t now_mono_ns, const char *published)
{
    scan(daemon, now_mono_ns);
    assert_string_equal(daemon->trace, published);
}

/* Of generation 2 of a slot of ring 1. */
static struct stall_case *case_of(const struct daemon *daemon, uint32_t slot)
{
    return cases_find(daemon->cases, 1, slot, 2);
}

static struct cases_counters counters_of(const struct daemon *daemon)
{
    struct cases_counters counters;

    cases_count(daemon->cases, &counters);
    return counters;
}

/* A scan with one id, ring 1, generation 2: what happens to its slot, and what is published. */
struct step {
    uint64_t now_mono_ns;
    int event; /* of enum detector_event_kind, or NOTHING */
    uint32_t slot;
    const char *published;
};

static void play(struct daemon *daemon, const struct step *steps)
{
    for (; steps->published != NULL; steps++) {
        if (steps->event == DETECTOR_STALLED)
            stall(daemon, 1, steps->slot, 2);
        else if (steps->event != NOTHING)
            end(daemon, (enum detector_event_kind)steps->event, 1, steps->slot, 2);
        assert_scan(daemon, steps->now_mono_ns, steps->published);
    }
}

/* A */
TEST(an_id_has_one_case, setup, teardown)
{
    struct daemon *daemon = *state;
    struct stall_case *const *all, *old;
    size_t count;

    stall(daemon, 2, 7, 2);
    stall(daemon, 1, 8, 2);
    stall(daemon, 1, 7, 2);
    assert_scan(daemon, 1000, "1/7 begins #1 since 950; 2/7 begins #2 since 950; 1/8 begins #3 since 950");
    all = cases_all(daemon->cases, &count);
    assert_int_equal(count, 3);
    old = case_of(daemon, 7);
    assert_ptr_equal(old, all[0]);
    assert_ptr_equal(case_of(daemon, 8), all[1]);
    assert_ptr_equal(cases_find(daemon->cases, 2, 7, 2), all[2]);
    assert_null(cases_find(daemon->cases, 1, 7, 4));
    scan(daemon, 1010);
    assert_ptr_equal(case_of(daemon, 7), old);
    end(daemon, DETECTOR_MOVED, 1, 7, 2); /* its episode is still open when the next id of that slot stalls */
    stall(daemon, 1, 7, 4);
    assert_scan(daemon, 1020, "1/7 begins #4 since 970");
    assert_int_equal(counters_of(daemon).count, 4);
    assert_ptr_equal(case_of(daemon, 7), old);
    assert_false(old->is_suspect);
    assert_true(cases_find(daemon->cases, 1, 7, 4)->is_suspect);
    assert_scan(daemon, 1120, "1/7 ends #1, moved at 1020, 1");
    scan(daemon, 1130);
    assert_null(case_of(daemon, 7));
    assert_non_null(cases_find(daemon->cases, 1, 7, 4));
}

/* B */
TEST(evidence_is_of_one_standstill, setup, teardown)
{
    static const struct {
        uint64_t progress_more;
        uint32_t tid_more;
        bool stays;
    } rows[] = {{0, 0, true}, {1, 0, false}, {0, 1, false}};
    struct daemon *daemon = *state;

    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stall_case *found;

        stall(daemon, 1, i, 2);
        begin(daemon);
        found = case_of(daemon, i);
        assert_int_equal(found->examined_mono_ns, 0);
        found->kernel = kernel_facts_new("pipe");
        found->first.read_mono_ns = found->last.read_mono_ns = 1000;
        found->examined_mono_ns = found->decoded_mono_ns = 1000;
        found->wait = WAIT_OTHERS;
        found->lock.holder.address = 1;
        found->doubted = true;
        found->evidence = (struct evidence){.examined = true, .thread_state = 'S', .wait = WAIT_OTHERS};
        judge(daemon);
        finish(daemon, 1000);
        daemon->suspects[i].progress += rows[i].progress_more;
        daemon->suspects[i].tid += rows[i].tid_more;
        begin(daemon);
        assert_ptr_equal(case_of(daemon, i), found);
        assert_false(found->evidence.examined); /* of this scan there is none yet */
        assert_int_equal(found->examined_mono_ns == 0, !rows[i].stays);
        assert_int_equal(found->kernel != NULL, rows[i].stays);
        assert_int_equal(found->first.read_mono_ns != 0, rows[i].stays);
        assert_int_equal(found->last.read_mono_ns != 0, rows[i].stays);
        assert_int_equal(found->decoded_mono_ns != 0, rows[i].stays);
        assert_int_equal(found->wait, rows[i].stays ? WAIT_OTHERS : WAIT_UNKNOWN);
        assert_int_equal(found->lock.holder.address, rows[i].stays);
        assert_int_equal(found->doubted, rows[i].stays);
        judge(daemon);
        finish(daemon, 1010);
    }
}

/* Looks in an hour at what waits all the time. */
static unsigned looks_in_an_hour(enum id_state state, enum id_cause cause)
{
    const uint64_t second = 1000000000, first = 1000 * second;
    struct stall_case stall = {.suspect = {.state = state, .cause = cause}, .first = {.read_mono_ns = first}};
    unsigned looks = 0;

    for (uint64_t now = first; now < first + 3600 * second; now += second) {
        if (now - stall.decoded_mono_ns < case_refresh_ns(&stall))
            continue;
        stall.decoded_mono_ns = now;
        looks++;
    }
    return looks;
}

TEST(who_is_idle_for_long_is_asked_less_often)
{
    assert_int_equal(looks_in_an_hour(ID_STALLED, CAUSE_BLOCKED), 720);
    assert_int_equal(looks_in_an_hour(ID_IDLE, CAUSE_DECLARED), 720);
    assert_int_equal(looks_in_an_hour(ID_IDLE, CAUSE_INPUT), 93); /* after 0, 5, 10 and 20 s, then every 40 s */
}

/* A ring that was not read takes nothing of what is known, nor does the case go. */
TEST(a_ring_that_was_not_read, setup, teardown)
{
    struct daemon *daemon = *state;
    struct stall_case *found;

    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'D'};
    stall(daemon, 1, 7, 2)->process = 3;
    scan(daemon, 1000);
    found = case_of(daemon, 7);
    found->examined_mono_ns = 1000;
    daemon->evidence = (struct evidence){0};
    daemon->suspects[0].unread = true;
    daemon->suspects[0].tid = 0;
    daemon->suspects[0].process = UINT16_MAX;
    stall(daemon, 1, 8, 2)->unread = true; /* one that had no case gets none */
    assert_scan(daemon, 1010, "");
    assert_null(case_of(daemon, 8));
    assert_int_equal(work_refused_count(daemon->work, WORK_STALLS), 0);
    assert_ptr_equal(case_of(daemon, 7), found);
    assert_true(found->suspect.unread);
    assert_int_equal(found->suspect.tid, 1007);
    assert_int_equal(found->suspect.process, 3);
    assert_int_equal(found->examined_mono_ns, 1000);
    assert_int_equal(daemon->suspects[0].verdict.cause, CAUSE_UNINTERRUPTIBLE);
    daemon->suspects[0].unread = false;
    daemon->suspects[0].tid = 1007;
    scan(daemon, 1020);
    assert_int_equal(found->examined_mono_ns, 1000);
}

/* One that was not examined keeps its verdict; "unknown" does not replace what an earlier look said. */
TEST(verdicts, setup, teardown)
{
    static const struct evidence none = {0}, unknown = {.examined = true, .thread_state = 'S'},
                                 blocked = {.examined = true, .thread_state = 'S', .wait = WAIT_OTHERS},
                                 stopped = {.examined = true, .thread_state = 'T'},
                                 by_worker = {.examined = true,
                                              .thread_state = 'S',
                                              .call = RIP_CALL_SHARED,
                                              .lock = {.known = true, .holder = HOLDER_RUNS}},
                                 by_suspect = {.examined = true,
                                               .thread_state = 'S',
                                               .call = RIP_CALL_SHARED,
                                               .lock = {.known = true, .holder = HOLDER_STANDS}},
                                 sought = {.examined = true,
                                           .thread_state = 'S',
                                           .call = RIP_CALL_SHARED,
                                           .lock = {.holder = HOLDER_SOUGHT}},
                                 woken = {.examined = true, .thread_state = 'R', .call = RIP_CALL_LOCK},
                                 outside = {.examined = true, .thread_state = 'R', .call = RIP_CALL_OUTSIDE},
                                 by_nobody = {.examined = true, .thread_state = 'S', .call = RIP_CALL_SHARED};
    static const struct {
        struct verdict before;
        const struct evidence *evidence;
        struct verdict verdict;
    } rows[] = {
        {{ID_RUNNING, CAUSE_NONE}, &none, {ID_STALLED, CAUSE_NONE}},
        {{ID_RUNNING, CAUSE_NONE}, &unknown, {ID_STALLED, CAUSE_UNKNOWN}},
        {{ID_RUNNING, CAUSE_NONE}, &blocked, {ID_STALLED, CAUSE_BLOCKED}},
        {{ID_STALLED, CAUSE_BLOCKED}, &none, {ID_STALLED, CAUSE_BLOCKED}},
        {{ID_STALLED, CAUSE_BLOCKED}, &unknown, {ID_STALLED, CAUSE_BLOCKED}},
        {{ID_STALLED, CAUSE_BLOCKED}, &stopped, {ID_STOPPED, CAUSE_SIGNAL}},
        {{ID_STALLED, CAUSE_NONE}, &unknown, {ID_STALLED, CAUSE_UNKNOWN}},
        {{ID_STALLED, CAUSE_UNKNOWN}, &blocked, {ID_STALLED, CAUSE_BLOCKED}},
        {{ID_STALLED, CAUSE_DEADLOCK}, &none, {ID_STALLED, CAUSE_DEADLOCK}},
        {{ID_STALLED, CAUSE_DEADLOCK}, &unknown, {ID_STALLED, CAUSE_UNKNOWN}}, /* only while it is seen */
        {{ID_STOPPED, CAUSE_SIGNAL}, &none, {ID_STOPPED, CAUSE_SIGNAL}},
        {{ID_STOPPED, CAUSE_SIGNAL}, &unknown, {ID_STALLED, CAUSE_UNKNOWN}},
        {{ID_EXITED, CAUSE_NONE}, &none, {ID_EXITED, CAUSE_NONE}},
        {{ID_IDLE, CAUSE_DECLARED}, &by_worker, {ID_IDLE, CAUSE_DECLARED}}, /* who works hands the lock on */
        {{ID_IDLE, CAUSE_DECLARED}, &by_nobody, {ID_IDLE, CAUSE_DECLARED}},
        {{ID_IDLE, CAUSE_DECLARED}, &sought, {ID_IDLE, CAUSE_DECLARED}},
        {{ID_IDLE, CAUSE_DECLARED}, &stopped, {ID_STOPPED, CAUSE_SIGNAL}},
        {{ID_RUNNING, CAUSE_NONE}, &sought, {ID_RUNNING, CAUSE_UNSEEN}},
        {{ID_STALLED, CAUSE_BLOCKED}, &sought, {ID_STALLED, CAUSE_BLOCKED}},
        {{ID_RUNNING, CAUSE_NONE}, &woken, {ID_RUNNING, CAUSE_UNSEEN}},
        {{ID_STALLED, CAUSE_BLOCKED}, &woken, {ID_STALLED, CAUSE_BLOCKED}},
        {{ID_STALLED, CAUSE_SPINNING}, &outside, {ID_RUNNING, CAUSE_UNSEEN}},
        {{ID_IDLE, CAUSE_DECLARED}, &by_suspect, {ID_STALLED, CAUSE_BLOCKED}},
        {{ID_RUNNING, CAUSE_NONE}, &by_worker, {ID_STALLED, CAUSE_BLOCKED}},
    };
    struct daemon *daemon = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct detector_suspect *suspect = stall(daemon, 1, 7, 2);

        suspect->state = rows[i].before.state;
        suspect->cause = rows[i].before.cause;
        begin(daemon);
        case_of(daemon, 7)->evidence = *rows[i].evidence;
        cases_judge(daemon->cases, daemon->suspects, 1);
        if (suspect->verdict.state != rows[i].verdict.state || suspect->verdict.cause != rows[i].verdict.cause)
            fail_msg("row %zu: %s, %s", i, id_state_name(suspect->verdict.state),
                     id_cause_name(suspect->verdict.cause));
        daemon->suspect_count = 0;
    }
}

/* C and D: one id after another. */
TEST(episodes, setup, teardown)
{
    static const struct step steps[] = {
        {1000, DETECTOR_STALLED, 7, "1/7 begins #1 since 950"}, /* at once */
        {1100, NOTHING, 0, ""},
        {1200, DETECTOR_MOVED, 7, ""},
        {1299, NOTHING, 0, ""},
        {1300, NOTHING, 0, "1/7 ends #1, moved at 1200, 1"}, /* after the hysteresis, with the moment it moved */
        {1400, NOTHING, 0, ""},
        {2000, DETECTOR_STALLED, 7, "1/7 begins #2 since 1950"}, /* another episode */
        {2010, DETECTOR_STOPPED, 7, ""},
        {2109, DETECTOR_STALLED, 7, ""}, /* stalled again within the hysteresis: the same one */
        {2120, DETECTOR_MOVED, 7, ""},
        {2219, NOTHING, 0, ""},
        {2220, NOTHING, 0, "1/7 ends #2, moved at 2120, 2"},
        {3000, DETECTOR_STALLED, 7, "1/7 begins #3 since 2950"},
        {3500, DETECTOR_GONE, 7, "1/7 ends #3, gone at 3500, 1"}, /* at once */
        {3510, DETECTOR_GONE, 7, ""},
        {4000, DETECTOR_STALLED, 8, "1/8 begins #4 since 3950"},
        {4010, DETECTOR_STOPPED, 8, ""},
        {4020, DETECTOR_GONE, 8, "1/8 ends #4, stopped at 4010, 1"}, /* how and when it ended does not change */
        {5000, DETECTOR_STALLED, 9, "1/9 begins #5 since 4950"},
        {5010, DETECTOR_EXCUSED, 9, ""},
        {5110, NOTHING, 0, "1/9 ends #5, excused at 5010, 1"},
        {20, DETECTOR_STALLED, 10, "1/10 begins #6 since 0"}, /* a clock that is younger than the standstill */
        {0, 0, 0, NULL},
    };
    struct daemon *daemon = *state;

    play(daemon, steps);
    assert_int_equal(counters_of(daemon).open_count, 1);
    assert_int_equal(counters_of(daemon).belated_count, 0);
}

TEST(the_hysteresis_can_be_changed, setup, teardown)
{
    static const struct step begins[] = {{1000, DETECTOR_STALLED, 7, "1/7 begins #1 since 950"},
                                         {1100, DETECTOR_MOVED, 7, ""},
                                         {0, 0, 0, NULL}},
                             longer[] = {{1250, NOTHING, 0, ""}, {0, 0, 0, NULL}},
                             shorter[] = {{1251, NOTHING, 0, "1/7 ends #1, moved at 1100, 1"}, {0, 0, 0, NULL}};

    play(*state, begins);
    cases_configure(((struct daemon *)*state)->cases, 1000, EPISODE_UNEXAMINED_SCANS);
    play(*state, longer);
    cases_configure(((struct daemon *)*state)->cases, HYSTERESIS, EPISODE_UNEXAMINED_SCANS);
    play(*state, shorter);
}

/* What a later run needs to adopt it is in the episode; so is the cause that is known when the begin is published. */
TEST(a_begin_has_what_an_adoption_needs, setup, teardown)
{
    struct daemon *daemon = *state;
    const struct episode *episode;

    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'D'};
    stall(daemon, 1, 7, 2);
    stall(daemon, 1, 8, 2)->frozen_for_max_ns = DETECTOR_UNKNOWN_NS;
    scan(daemon, 1000);
    episode = &case_of(daemon, 7)->episode;
    assert_int_equal(episode->frozen_mono_ns, 950);
    assert_int_equal(episode->moved_after_mono_ns, 940);
    assert_int_equal(episode->progress, 7007);
    assert_int_equal(episode->cause, CAUSE_UNINTERRUPTIBLE);
    assert_int_equal(episode->stall_count, 1);
    assert_true(case_of(daemon, 8)->episode.moved_after_mono_ns == DETECTOR_UNKNOWN_NS);
}

static void take_all_events(struct daemon *daemon)
{
    assert_true(work_take(daemon->work, 2, WORK_EVENTS, 500));
    work_set_total(daemon->work, WORK_EVENTS, 1);
}

/* A begin carries the cause that is known when it is published, an end the last one. */
TEST(the_cause_of_an_episode, setup, teardown)
{
    struct daemon *daemon = *state;
    const struct episode *published, *waiting;

    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'D'};
    stall(daemon, 1, 7, 2);
    scan(daemon, 1000);
    take_all_events(daemon);
    stall(daemon, 1, 8, 2);
    scan(daemon, 1010);
    published = &case_of(daemon, 7)->episode;
    waiting = &case_of(daemon, 8)->episode;
    assert_int_equal(waiting->cause, CAUSE_UNINTERRUPTIBLE);
    daemon->evidence = (struct evidence){.examined = true, .on_no_thread = true};
    scan(daemon, 1020);
    assert_int_equal(published->cause, CAUSE_UNINTERRUPTIBLE);
    assert_int_equal(waiting->cause, CAUSE_PARKED);
    end(daemon, DETECTOR_STOPPED, 1, 7, 2); /* with CAUSE_BLOCKED */
    scan(daemon, 1030);
    assert_int_equal(published->cause, CAUSE_BLOCKED);
}

/* After so many scans on which it is put off. */
static void assert_begins_after(struct daemon *daemon, unsigned scans, const char *begin)
{
    for (unsigned i = 0; i < scans; i++) {
        assert_scan(daemon, 1050, "");
    }
    assert_scan(daemon, 1050, begin);
}

/* H: of two that stall at once the one that was examined does not wait for the other. */
TEST(a_begin_waits_for_its_evidence, setup, teardown)
{
    const struct evidence none = {.examined = false};
    struct daemon *daemon = *state;

    stall(daemon, 1, 7, 2);
    stall(daemon, 1, 8, 2);
    begin(daemon);
    case_of(daemon, 8)->evidence = daemon->evidence;
    judge(daemon);
    finish(daemon, 1000);
    assert_string_equal(daemon->trace, "1/8 begins #1 since 950");
    assert_int_equal(counters_of(daemon).waiting_count, 0); /* it has room */
    assert_scan(daemon, 1010, "1/7 begins #2 since 950");
    assert_int_equal(case_of(daemon, 7)->episode.cause, CAUSE_UNINTERRUPTIBLE);
    daemon->evidence = none;
    stall(daemon, 2, 9, 2);
    assert_begins_after(daemon, EPISODE_UNEXAMINED_SCANS, "2/9 begins #3 since 1000");
    stall(daemon, 1, 9, 2); /* of a ring of which a stall is known: it may be of the same incident */
    assert_begins_after(daemon, EPISODE_UNEXAMINED_BEHIND_SCANS, "1/9 begins #4 since 1000");
    cases_configure(daemon->cases, HYSTERESIS, 0);
    stall(daemon, 1, 10, 2);
    assert_begins_after(daemon, 0, "1/10 begins #5 since 1000");
}

/* Of those that stall at once one is examined when the time of the others is over: they go on waiting. */
TEST(begins_wait_for_the_first_that_is_known, setup, teardown)
{
    struct daemon *daemon = *state;
    const struct evidence known = daemon->evidence;

    daemon->evidence = (struct evidence){.examined = false};
    stall(daemon, 1, 7, 2);
    stall(daemon, 1, 8, 2);
    for (unsigned i = 0; i < EPISODE_UNEXAMINED_SCANS; i++)
        scan(daemon, 1050);
    begin(daemon);
    case_of(daemon, 8)->evidence = known;
    judge(daemon);
    finish(daemon, 1050);
    assert_string_equal(daemon->trace, "1/8 begins #1 since 1000");
    assert_scan(daemon, 1050, "");
}

/* What a preloaded thread does for a time of its own choice is no event, until it turns out to be something else. */
TEST(a_sleep_that_is_announced_is_no_episode, setup, teardown)
{
    struct daemon *daemon = *state;

    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'S', .call = RIP_CALL_SLEEP};
    stall(daemon, 1, 7, 2)->call = RIP_CALL_SLEEP;
    scan(daemon, 1000);
    assert_int_equal(daemon->suspects[0].cause, CAUSE_SLEEPING);
    assert_string_equal(daemon->trace, "");
    daemon->suspects[0].unread = true; /* its ring had no turn */
    daemon->suspects[0].call = RIP_CALL_NONE;
    assert_scan(daemon, 1005, "");
    daemon->suspects[0].unread = false;
    daemon->suspects[0].call = RIP_CALL_SLEEP;
    daemon->evidence.thread_state = 'D';
    assert_scan(daemon, 1010, "1/7 begins #1 since 960");
    daemon->evidence.thread_state = 'S'; /* which then goes on */
    scan(daemon, 1020);
    end(daemon, DETECTOR_MOVED, 1, 7, 2);
    scan(daemon, 1030);
    assert_scan(daemon, 1130, "1/7 ends #1, moved at 1030, 1");
}

/* One that stood still for another reason, and went on to a sleep: that reason has ended. */
TEST(a_sleep_does_not_prolong_an_episode, setup, teardown)
{
    struct daemon *daemon = *state;

    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'D'};
    stall(daemon, 1, 7, 2);
    scan(daemon, 1000);
    end(daemon, DETECTOR_MOVED, 1, 7, 2);
    scan(daemon, 1010);
    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'S', .call = RIP_CALL_SLEEP};
    stall(daemon, 1, 7, 2)->call = RIP_CALL_SLEEP;
    scan(daemon, 1060);
    assert_scan(daemon, 1110, "1/7 ends #1, moved at 1010, 1");
    assert_scan(daemon, 1120, "");
}

/* A program that calls the library says itself when it waits for work: a sleep of it is a stall like any other. */
TEST(a_sleep_that_is_not_announced_is_an_episode, setup, teardown)
{
    struct daemon *daemon = *state;

    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'S', .wait = WAIT_SLEEP};
    stall(daemon, 1, 7, 2);
    scan(daemon, 1000);
    assert_int_equal(daemon->suspects[0].cause, CAUSE_SLEEPING);
    assert_string_equal(daemon->trace, "1/7 begins #1 since 950");
}

static size_t count_of(const struct daemon *daemon, enum event_kind kind, uint32_t user)
{
    size_t count = 0;

    for (size_t i = 0; i < daemon->report_count; i++)
        count += daemon->reports[i].kind == kind && daemon->reports[i].stall->user == user;
    return count;
}

/* C: a begin that cannot be published waits, and holds up nobody else. */
TEST(begins_of_one_user_do_not_delay_another_user, setup, teardown)
{
    struct daemon *daemon = *state;
    size_t published, scans = 0;

    for (uint32_t slot = 0; slot < 800; slot++)
        stall(daemon, 1, slot, 2);
    scan(daemon, 1000);
    published = count_of(daemon, EVENT_BEGIN, 0);
    assert_in_range(published, 256, 799);
    assert_int_equal(counters_of(daemon).waiting_count, 800 - published);
    for (uint32_t slot = 0; slot < 3; slot++)
        stall(daemon, 10 * slot + 15, 99, 2); /* of users 1, 2, 3 */
    scan(daemon, 1010);
    for (uint32_t user = 1; user <= 3; user++)
        assert_int_equal(count_of(daemon, EVENT_BEGIN, user), 1);
    published += count_of(daemon, EVENT_BEGIN, 0);
    for (; published < 800; scans++) {
        scan(daemon, 1020 + scans);
        assert_in_range(daemon->report_count, 1, WORK_EVENTS_PER_SCAN + 1);
        assert_int_equal(daemon->reports[0].stall->slot, published); /* in order; none is lost */
        published += daemon->report_count;
        assert_int_equal(counters_of(daemon).waiting_count, 800 - published);
    }
    assert_in_range(scans, 5, 100);
    assert_int_equal(counters_of(daemon).suppressed_count, 0);
    assert_int_not_equal(work_refused_count(daemon->work, WORK_EVENTS), 0);
}

/* Users with as much to publish get as much, whatever their rings' numbers. */
TEST(users_take_turns, setup, teardown)
{
    struct daemon *daemon = *state;

    for (uint32_t ring = 5; ring < 35; ring += RINGS_OF_A_USER)
        for (uint32_t slot = 0; slot < 600; slot++)
            stall(daemon, ring, slot, 2);
    scan(daemon, 1000);
    for (uint32_t user = 0; user < 3; user++)
        assert_in_range(count_of(daemon, EVENT_BEGIN, user), 250, 260);
}

/* C: a crowd that is over before its begins are published is kept as far as WORK_BELATED reaches. */
TEST(a_crowd_that_is_over, setup, teardown)
{
    struct daemon *daemon = *state;
    uint64_t suppressed_count;

    work_set_total(daemon->work, WORK_EVENTS, 1);
    work_set_total(daemon->work, WORK_BELATED, 16);
    for (uint32_t slot = 0; slot < 100; slot++)
        stall(daemon, 1, slot, 2);
    scan(daemon, 1000);
    for (uint32_t slot = 0; slot < 100; slot++)
        end(daemon, DETECTOR_GONE, 1, slot, 2);
    scan(daemon, 1010);
    suppressed_count = counters_of(daemon).suppressed_count;
    assert_in_range(suppressed_count, 85, 95);
    scan(daemon, 1020); /* those that are dropped take no memory */
    assert_in_range(counters_of(daemon).count, 5, 15);
    work_set_total(daemon->work, WORK_EVENTS, 1024);
    scan(daemon, 1030);
    assert_in_range(counters_of(daemon).belated_count, 5, 15);
    scan(daemon, 1040);
    assert_int_equal(counters_of(daemon).count, 0);
    assert_int_equal(counters_of(daemon).suppressed_count, suppressed_count);
}

/* C: two events are published for one user by each scan. */
TEST(what_waits, setup, teardown)
{
    static const struct step steps[] = {
        {1000, DETECTOR_STALLED, 1, "1/1 begins #1 since 950"},
        {1001, DETECTOR_STALLED, 2, "1/2 begins #2 since 951"},
        {1002, DETECTOR_STALLED, 3, "1/3 begins #3 since 952"},
        {0, 0, 0, NULL},
    };
    struct daemon *daemon = *state;

    play(daemon, steps);
    work_set_total(daemon->work, WORK_EVENTS, 4);
    for (uint32_t slot = 1; slot <= 3; slot++)
        end(daemon, DETECTOR_GONE, 1, slot, 2);
    for (uint32_t slot = 4; slot <= 6; slot++)
        stall(daemon, 1, slot, 2);
    assert_scan(daemon, 1010, "1/1 ends #1, gone at 1010, 1; 1/2 ends #2, gone at 1010, 1");
    assert_int_equal(counters_of(daemon).waiting_count, 4);
    end(daemon, DETECTOR_GONE, 1, 5, 2); /* its begin still waits: both are published, before begins alone */
    assert_scan(daemon, 1020, "1/3 ends #3, gone at 1010, 1");
    assert_int_equal(counters_of(daemon).belated_count, 0);
    assert_scan(daemon, 1030, "1/5 begins #4 since 960; 1/5 ends #4, gone at 1020, 1");
    assert_int_equal(counters_of(daemon).belated_count, 1);
    assert_scan(daemon, 1040, "1/4 begins #5 since 960; 1/6 begins #6 since 960");
    assert_int_equal(counters_of(daemon).waiting_count, 0);
    assert_scan(daemon, 1050, "");
    assert_int_equal(counters_of(daemon).open_count, 2);
}

/* C, D: an id that stalls again while its end waits is in the same episode, whose one end comes later. */
TEST(a_stall_while_the_end_waits, setup, teardown)
{
    static const struct step begins[] = {{1000, DETECTOR_STALLED, 7, "1/7 begins #1 since 950"},
                                         {1100, DETECTOR_MOVED, 7, ""},
                                         {0, 0, 0, NULL}},
                             again[] = {{1200, NOTHING, 0, ""}, /* it would end here */
                                        {1201, DETECTOR_STALLED, 7, ""},
                                        {1250, DETECTOR_MOVED, 7, ""},
                                        {1349, NOTHING, 0, ""},
                                        {1350, NOTHING, 0, ""},
                                        {0, 0, 0, NULL}},
                             ends[] = {{1360, NOTHING, 0, "1/7 ends #1, moved at 1250, 2"}, {0, 0, 0, NULL}};
    struct daemon *daemon = *state;

    play(daemon, begins);
    take_all_events(daemon);
    play(daemon, again);
    work_set_total(daemon->work, WORK_EVENTS, 1024);
    play(daemon, ends);
}

/* C: there is a limit to the begins without an end, too. */
TEST(open_episodes_of_a_user_are_limited, setup, teardown)
{
    static const struct step steps[] = {
        {1000, DETECTOR_STALLED, 1, "1/1 begins #1 since 950"},
        {1001, DETECTOR_STALLED, 2, "1/2 begins #2 since 951"},
        {1002, DETECTOR_STALLED, 3, ""},
        {1003, DETECTOR_STALLED, 4, ""},
        {1004, DETECTOR_GONE, 4, "1/4 begins #3 since 953; 1/4 ends #3, gone at 1004, 1"}, /* takes no room for long */
        {1005, DETECTOR_GONE, 2, "1/2 ends #2, gone at 1005, 1; 1/3 begins #4 since 952"},
        {0, 0, 0, NULL},
    };
    struct daemon *daemon = *state;

    work_set_total(daemon->work, WORK_EPISODES, 4);
    play(daemon, steps);
    stall(daemon, 11, 1, 2); /* of another user */
    stall(daemon, 1, 9, 2);
    assert_scan(daemon, 1006, "11/1 begins #5 since 956");
    assert_int_equal(work_held(daemon->work, 0, WORK_EPISODES), 2);
    assert_int_equal(work_held(daemon->work, 0, WORK_EVENTS), 0); /* a refused begin costs nothing */
}

/* Jobs that the scan left in the queue, and users who have to wait for a turn in it, change nothing. */
TEST(publication_is_apart_from_other_work, setup, teardown)
{
    struct daemon *daemon = *state;

    stall(daemon, 1, 7, 2);
    begin(daemon);
    case_of(daemon, 7)->evidence = daemon->evidence;
    work_push(daemon->work, 0, (struct work_job){.subject = 12345});
    work_push_at(daemon->work, 0, (struct work_job){.subject = 12345}, 0);
    work_pause(daemon->work, 0, UINT64_MAX);
    judge(daemon);
    finish(daemon, 1000);
    assert_string_equal(daemon->trace, "1/7 begins #1 since 950");
    assert_int_equal(work_next_due(daemon->work), UINT64_MAX);
}

/* E */
TEST(cases_of_a_user_are_limited, setup, teardown)
{
    struct daemon *daemon = *state;

    daemon->evidence = (struct evidence){.examined = true, .thread_state = 'D'};
    work_set_total(daemon->work, WORK_STALLS, 4);
    for (uint32_t slot = 0; slot < 3; slot++)
        stall(daemon, 1, slot, 2);
    stall(daemon, 11, 0, 2);
    assert_scan(daemon, 1000, "1/0 begins #1 since 950; 11/0 begins #2 since 950; 1/1 begins #3 since 950");
    assert_null(case_of(daemon, 2));
    assert_int_equal(daemon->suspects[2].verdict.state, ID_STALLED); /* it is stalled, and nobody knows why */
    assert_int_equal(daemon->suspects[2].verdict.cause, CAUSE_NONE);
    assert_int_equal(daemon->suspects[3].verdict.cause, CAUSE_UNINTERRUPTIBLE);
    assert_int_equal(counters_of(daemon).suppressed_count, 1);
    assert_int_equal(work_refused_count(daemon->work, WORK_STALLS), 1);
    end(daemon, DETECTOR_GONE, 1, 2, 2); /* of one without a case no end is published */
    assert_scan(daemon, 1010, "");
    stall(daemon, 1, 3, 2);
    assert_scan(daemon, 1020, "");
    assert_int_equal(counters_of(daemon).suppressed_count, 2);
    end(daemon, DETECTOR_GONE, 1, 0, 2);
    assert_scan(daemon, 1030, "1/0 ends #1, gone at 1030, 1");
    assert_scan(daemon, 1040,
                "1/3 begins #4 since 990"); /* the case of one that still stalls is made as soon as there is room */
}

/* F */
TEST(an_adopted_episode_goes_on, setup, teardown)
{
    static const struct step steps[] = {
        {1000, DETECTOR_STALLED, 7, ""}, /* its begin was published by an earlier run */
        {1010, DETECTOR_GONE, 8, "1/8 ends #42, gone at 1010, 3"},
        {1100, DETECTOR_STALLED, 9, "1/9 begins #100 since 1050"},
        {1200, DETECTOR_MOVED, 7, ""},
        {1300, NOTHING, 0, "1/7 ends #41, moved at 1200, 1"},
        {2000, DETECTOR_STALLED, 7, "1/7 begins #101 since 1950"},
        {0, 0, 0, NULL},
    };
    struct event *published = event_make();
    const struct episode first = {.number = 41, .begin = published, .frozen_mono_ns = 300, .stall_count = 1},
                         second = {.number = 42, .frozen_mono_ns = 200, .stall_count = 3};
    struct daemon *daemon = *state;

    cases_set_last_episode(daemon->cases, 99);
    cases_set_last_episode(daemon->cases, 50); /* never back */
    assert_int_equal(cases_adopt(daemon->cases, 1, 8, 2, 0, &second), 0);
    assert_int_equal(cases_adopt(daemon->cases, 1, 7, 2, 0, &first), 0);
    assert_int_equal(cases_adopt(daemon->cases, 1, 7, 2, 0, &first), -EEXIST);
    event_unref(published);
    assert_int_equal(counters_of(daemon).open_count, 2);
    assert_int_equal(work_held(daemon->work, 0, WORK_EPISODES), 2);
    play(daemon, steps);
    assert_int_equal(work_held(daemon->work, 0, WORK_EPISODES), 2);
}

TEST(numbers_go_on_after_adopted_ones, setup, teardown)
{
    struct daemon *daemon = *state;

    assert_int_equal(cases_adopt(daemon->cases, 1, 7, 2, 0, &(struct episode){.number = 41, .stall_count = 1}), 0);
    stall(daemon, 1, 8, 2);
    assert_scan(daemon, 1000, "1/8 begins #42 since 950");
    assert_ptr_equal(case_of(daemon, 7)->episode.begin, NULL);
}

/* The report of an end has its begin, which goes with the next scan; teardown sees that no reference is lost. */
TEST(a_begin_is_kept_until_its_end, setup, teardown)
{
    struct daemon *daemon = *state;
    struct event *published = event_make();

    for (uint32_t round = 0; round < 2; round++) {
        stall(daemon, 1, 7, 2);
        scan(daemon, 1000);
        daemon->reports[0].stall->episode.begin = event_ref(published);
        assert_int_equal(atomic_load(&published->references), 2);
        end(daemon, DETECTOR_GONE, 1, 7, 2);
        if (round == 1) { /* the case stays, for its id is still a suspect */
            stall(daemon, 1, 7, 2)->state = ID_STOPPED;
            daemon->evidence = (struct evidence){.examined = true, .thread_state = 'T'};
        }
        scan(daemon, 1010);
        assert_ptr_equal(daemon->reports[0].stall->episode.begin, published);
        scan(daemon, 1020);
        assert_int_equal(atomic_load(&published->references), 1);
    }
    event_unref(published);
}

/* Random lives of many ids of two users, with little room: every begin has its one end. */
TEST(begins_and_ends_are_paired, setup, teardown)
{
    enum { IDS = 64, ROUNDS = 3000, DRAIN = 300 };
    struct daemon *daemon = *state;
    uint64_t begun[IDS] = {0}, last = 0, random = 1;
    bool stalled[IDS] = {false};

    work_set_total(daemon->work, WORK_EVENTS, 6);
    for (uint32_t round = 0; round < ROUNDS + DRAIN; round++) {
        for (uint32_t i = 0; i < IDS; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            if (round < ROUNDS ? random >> 60 != 0 : !stalled[i])
                continue;
            if (stalled[i])
                end(daemon, (enum detector_event_kind)(1 + (random >> 50) % 4), i / 32 * 10, i, 2);
            else
                stall(daemon, i / 32 * 10, i, 2);
            stalled[i] = !stalled[i];
        }
        scan(daemon, 1000 + 10 * round);
        for (size_t i = 0; i < daemon->report_count; i++) {
            const struct stall_case *of = daemon->reports[i].stall;

            if (daemon->reports[i].kind == EVENT_BEGIN) {
                assert_int_equal(begun[of->slot], 0);
                assert_int_equal(of->episode.number, ++last);
                begun[of->slot] = last;
            } else {
                assert_int_equal(begun[of->slot], of->episode.number);
                begun[of->slot] = 0;
            }
        }
    }
    for (uint32_t i = 0; i < IDS; i++)
        assert_int_equal(begun[i], 0);
    assert_in_range(counters_of(daemon).belated_count, 10, last);
    assert_int_equal(counters_of(daemon).open_count, 0);
}

/* The first scan that sees an id exited dates it, whatever the clock does later; one that runs again has no date. */
TEST(exits_are_dated_once, setup, teardown)
{
    static const struct {
        char thread_state;
        uint64_t now_wall_ns;
        uint64_t lived_wall_ns;
        uint64_t exited_wall_ns;
    } rows[] = {
        {'D', 1000, 1000, 0},    {'D', 2000, 2000, 0},    {'Z', 3000, 2000, 3000},
        {'Z', 4000, 2000, 3000}, {'Z', 3500, 2000, 3000}, {'D', 5000, 5000, 0},
    };
    struct daemon *daemon = *state;
    const struct stall_case *stalled;

    stall(daemon, 1, 7, 2);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        daemon->evidence = (struct evidence){.examined = true, .thread_state = rows[i].thread_state};
        scan(daemon, 100 * (i + 1));
        cases_note_exits(daemon->cases, rows[i].now_wall_ns);
        stalled = case_of(daemon, 7);
        assert_int_equal(stalled->lived_wall_ns, rows[i].lived_wall_ns);
        assert_int_equal(stalled->exited_wall_ns, rows[i].exited_wall_ns);
    }
    daemon->suspects[0].unread = true; /* nothing is seen of it */
    scan(daemon, 1000);
    cases_note_exits(daemon->cases, 6000);
    assert_int_equal(case_of(daemon, 7)->lived_wall_ns, 5000);
}

/* An idle id that was opened is examined, has no verdict and no episode, and is dropped when it is closed. */
TEST(an_opened_id_is_no_suspect, setup, teardown)
{
    struct daemon *daemon = *state;
    struct detector_suspect thread = {
        .ring = 1, .slot = 7, .generation = 2, .tid = 1007, .progress = 5, .state = ID_IDLE};
    struct stall_case *opened;

    for (uint64_t now = 100; now < 500; now += 100) {
        begin(daemon);
        assert_int_equal(cases_open(daemon->cases, &thread, 0), 0);
        opened = case_of(daemon, 7);
        assert_non_null(opened);
        assert_true(case_is_examined(opened) && !opened->is_suspect);
        assert_int_equal(opened->examined_mono_ns, now == 100 || now == 400 ? 0 : now - 100);
        opened->examined_mono_ns = now;
        opened->evidence = (struct evidence){.examined = true, .thread_state = 'D'};
        thread.progress += now == 300; /* what was found out is of another wait */
        judge(daemon);
        finish(daemon, now);
        assert_int_equal(daemon->report_count, 0);
        assert_int_equal(opened->suspect.state, ID_IDLE);
    }
    assert_int_equal(work_held(daemon->work, 0, WORK_STALLS), 1);
    cases_close(daemon->cases, 1, 7, 2);
    begin(daemon);
    assert_null(case_of(daemon, 7));
    assert_int_equal(cases_open(daemon->cases, &thread, 0), 0);
    stall(daemon, 1, 7, 2);
    scan(daemon, 600);
    opened = case_of(daemon, 7);
    assert_true(opened->is_suspect && !opened->is_opened);
    cases_close(daemon->cases, 1, 7, 2); /* it is one in its own right */
    assert_true(case_is_examined(opened));
    opened->suspect.unread = true;
    assert_false(case_is_examined(opened));
}
