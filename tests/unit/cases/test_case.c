/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_case.c - the guarantees of cases/case.h, by letter. Each test plays the detector; struct work is real. Episodes
 * are checked as transcripts of what is published.
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

/* Evidence of an examined thread in that state; more: other fields of struct evidence. */
#define SEEN(letter, ...)                                                                                              \
    (struct evidence)                                                                                                  \
    {                                                                                                                  \
        .examined = true, .thread_state = letter, __VA_ARGS__                                                          \
    }

static struct work *work;
static struct cases *cases;
static struct detector_suspect suspects[SUSPECTS_MAX]; /* ordered by ring, slot and generation */
static size_t suspect_count;
static struct detector_event events[SUSPECTS_MAX]; /* of the next scan */
static size_t event_count;
static struct evidence evidence; /* that each case gets on a scan */
static const struct case_report *reports;
static size_t report_count;
static char trace[4096];

/* Rings 0 to 9 belong to user 0, 10 to 19 to user 1, and so on. */
static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring / RINGS_OF_A_USER;
}

static int setup(void **state)
{
    (void)state;
    work = work_new();
    cases = cases_new(work, HYSTERESIS);
    evidence = SEEN('D');
    suspect_count = event_count = 0;
    return cases == NULL;
}

/* All quota is given back. */
static int teardown(void **state)
{
    (void)state;
    cases_free(cases);
    for (uint32_t user = 0; user < 3; user++) {
        assert_int_equal(work_held(work, user, WORK_STALLS), 0);
        assert_int_equal(work_held(work, user, WORK_EPISODES), 0);
    }
    work_free(work);
    return 0;
}

static struct detector_suspect *place_of(uint32_t ring, uint32_t slot, uint32_t generation)
{
    struct detector_suspect *at = suspects;

    while (at < suspects + suspect_count && (at->ring != ring   ? at->ring < ring
                                             : at->slot != slot ? at->slot < slot
                                                                : at->generation < generation))
        at++;
    return at;
}

static struct detector_suspect *stall_of(uint32_t ring, uint32_t slot, uint32_t generation)
{
    struct detector_suspect *at = place_of(ring, slot, generation);

    assert_true(suspect_count < SUSPECTS_MAX);
    memmove(at + 1, at, (size_t)(&suspects[suspect_count++] - at) * sizeof(*at));
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

/* The id is a suspect from the next scan on. */
static struct detector_suspect *stall(uint32_t ring, uint32_t slot)
{
    return stall_of(ring, slot, 2);
}

/* The id is no suspect any more; the next scan reports why. */
static void end(enum detector_event_kind kind, uint32_t ring, uint32_t slot)
{
    struct detector_suspect *at = place_of(ring, slot, 2);

    events[event_count++] = (struct detector_event){kind, ring, slot, 2, CAUSE_BLOCKED, 0, 0, 0};
    if (at < &suspects[suspect_count] && at->slot == slot && at->ring == ring)
        memmove(at, at + 1, (size_t)(&suspects[--suspect_count] - at) * sizeof(*at));
}

static void begin(void)
{
    assert_int_equal(cases_begin(cases, suspects, suspect_count, user_of, NULL), 0);
}

/* Takes the verdicts as the detector does: the verdict becomes the state, and a new stall is an event. */
static void judge(void)
{
    cases_judge(cases, suspects, suspect_count);
    for (size_t i = 0; i < suspect_count; i++) {
        struct detector_suspect *suspect = &suspects[i];

        if (suspect->state != ID_STALLED && suspect->verdict.state == ID_STALLED)
            events[event_count++] = (struct detector_event){
                .kind = DETECTOR_STALLED,
                .ring = suspect->ring,
                .slot = suspect->slot,
                .generation = suspect->generation,
            };
        suspect->state = suspect->verdict.state;
        suspect->cause = suspect->verdict.cause;
    }
}

static void write_trace(void)
{
    static const char *const reasons[] = {"", "moved", "stopped", "gone", "excused"};
    size_t at = 0;

    trace[0] = '\0';
    for (size_t i = 0; i < report_count && at < sizeof(trace) - 128; i++) {
        const struct stall_case *of = reports[i].stall;
        const struct episode *episode = &of->episode;

        at += (size_t)snprintf(trace + at, 128, "%s%u/%u ", at != 0 ? "; " : "", of->ring, of->slot);
        if (reports[i].kind == EVENT_BEGIN)
            at += (size_t)snprintf(trace + at, 128, "begins #%d since %d", (int)episode->number,
                                   (int)episode->frozen_mono_ns);
        else
            at += (size_t)snprintf(trace + at, 128, "ends #%d, %s at %d, %u", (int)episode->number,
                                   reasons[episode->reason], (int)episode->moved_mono_ns, episode->stall_count);
    }
}

static void finish(uint64_t now_mono_ns)
{
    const struct detector_update update = {
        .suspects = suspects, .suspect_count = suspect_count, .events = events, .event_count = event_count};

    cases_end(cases, &update, now_mono_ns);
    event_count = 0;
    report_count = cases_publish(cases, &reports);
    write_trace();
}

static void scan(uint64_t now_mono_ns)
{
    struct stall_case *const *all;
    size_t count;

    begin();
    all = cases_all(cases, &count);
    for (size_t i = 0; i < count; i++)
        if (all[i]->is_suspect)
            all[i]->evidence = evidence;
    judge();
    finish(now_mono_ns);
}

/* The scan publishes exactly that. */
static void assert_scan(uint64_t now_mono_ns, const char *published)
{
    scan(now_mono_ns);
    assert_string_equal(trace, published);
}

/* The case of generation 2 of a slot of ring 1. */
static struct stall_case *case_of(uint32_t slot)
{
    return cases_find(cases, 1, slot, 2);
}

static struct cases_counters counters(void)
{
    struct cases_counters now;

    cases_count(cases, &now);
    return now;
}

/* A scan: what happens to a slot of ring 1, generation 2, and what is published. */
struct step {
    uint64_t now_mono_ns;
    int event; /* enum detector_event_kind, or NOTHING */
    uint32_t slot;
    const char *published;
};

static void play(const struct step *steps)
{
    for (; steps->published != NULL; steps++) {
        if (steps->event == DETECTOR_STALLED)
            stall(1, steps->slot);
        else if (steps->event != NOTHING)
            end((enum detector_event_kind)steps->event, 1, steps->slot);
        assert_scan(steps->now_mono_ns, steps->published);
    }
}

/* Plays the steps, one scan each. */
#define PLAY(...) play((const struct step[]){__VA_ARGS__, {.published = NULL}})

/* Guarantee A. */
TEST(an_id_has_one_case, setup, teardown)
{
    struct stall_case *const *all, *old;
    size_t count;

    stall(2, 7);
    stall(1, 8);
    stall(1, 7);
    assert_scan(1000, "1/7 begins #1 since 950; 2/7 begins #2 since 950; 1/8 begins #3 since 950");
    all = cases_all(cases, &count);
    assert_int_equal(count, 3);
    old = case_of(7);
    assert_ptr_equal(old, all[0]);
    assert_ptr_equal(case_of(8), all[1]);
    assert_ptr_equal(cases_find(cases, 2, 7, 2), all[2]);
    assert_null(cases_find(cases, 1, 7, 4));
    scan(1010);
    assert_ptr_equal(case_of(7), old);
    end(DETECTOR_MOVED, 1, 7); /* its episode is still open when the next id in that slot stalls */
    stall_of(1, 7, 4);
    assert_scan(1020, "1/7 begins #4 since 970");
    assert_int_equal(counters().count, 4);
    assert_ptr_equal(case_of(7), old);
    assert_true(!old->is_suspect && cases_find(cases, 1, 7, 4)->is_suspect);
    assert_scan(1120, "1/7 ends #1, moved at 1020, 1");
    scan(1130);
    assert_null(case_of(7));
    assert_non_null(cases_find(cases, 1, 7, 4));
}

/* Guarantee B: evidence is dropped when the progress (i = 1) or the thread (i = 2) changes. */
TEST(evidence_belongs_to_one_freeze, setup, teardown)
{
    for (uint32_t i = 0; i < 3; i++) {
        const bool stays = i == 0;
        struct stall_case *found;

        stall(1, i);
        begin();
        found = case_of(i);
        assert_int_equal(found->examined_mono_ns, 0);
        found->kernel = kernel_facts_new("pipe");
        found->first.read_mono_ns = found->last.read_mono_ns = 1000;
        found->examined_mono_ns = found->decoded_mono_ns = 1000;
        found->wait = WAIT_OTHERS;
        found->lock.holder.address = 1;
        found->doubted = true;
        found->evidence = SEEN('S', .wait = WAIT_OTHERS);
        judge();
        finish(1000);
        suspects[i].progress += i == 1;
        suspects[i].tid += i == 2;
        begin();
        assert_ptr_equal(case_of(i), found);
        assert_false(found->evidence.examined); /* this scan has no evidence yet */
        assert_int_equal(found->examined_mono_ns != 0, stays);
        assert_int_equal(found->kernel != NULL, stays);
        assert_int_equal(found->first.read_mono_ns != 0, stays);
        assert_int_equal(found->last.read_mono_ns != 0, stays);
        assert_int_equal(found->decoded_mono_ns != 0, stays);
        assert_int_equal(found->wait, stays ? WAIT_OTHERS : WAIT_UNKNOWN);
        assert_int_equal(found->lock.holder.address, stays);
        assert_int_equal(found->doubted, stays);
        judge();
        finish(1010);
    }
}

/* How often a thread that waits for an hour is read. */
static unsigned reads_per_hour(enum id_state state, enum id_cause cause)
{
    const uint64_t second = 1000000000, first = 1000 * second;
    struct stall_case of = {.suspect = {.state = state, .cause = cause}, .first = {.read_mono_ns = first}};
    unsigned reads = 0;

    for (uint64_t now = first; now < first + 3600 * second; now += second) {
        if (now - of.decoded_mono_ns < case_refresh_ns(&of))
            continue;
        of.decoded_mono_ns = now;
        reads++;
    }
    return reads;
}

TEST(an_id_that_stays_idle_is_read_less_often)
{
    assert_int_equal(reads_per_hour(ID_STALLED, CAUSE_BLOCKED), 720);
    assert_int_equal(reads_per_hour(ID_IDLE, CAUSE_DECLARED), 720);
    assert_int_equal(reads_per_hour(ID_IDLE, CAUSE_INPUT), 93); /* after 0, 5, 10 and 20 s, then every 40 s */
}

/* The case of an id whose ring was not read stays, with everything in it. */
TEST(a_ring_that_was_not_read, setup, teardown)
{
    struct stall_case *found;

    stall(1, 7)->process = 3;
    scan(1000);
    found = case_of(7);
    found->examined_mono_ns = 1000;
    evidence = (struct evidence){0};
    suspects[0].unread = true;
    suspects[0].tid = 0;
    suspects[0].process = UINT16_MAX;
    stall(1, 8)->unread = true; /* had no case and gets none */
    assert_scan(1010, "");
    assert_null(case_of(8));
    assert_int_equal(work_refused_count(work, WORK_STALLS), 0);
    assert_ptr_equal(case_of(7), found);
    assert_true(found->suspect.unread);
    assert_int_equal(found->suspect.tid, 1007);
    assert_int_equal(found->suspect.process, 3);
    assert_int_equal(found->examined_mono_ns, 1000);
    assert_int_equal(suspects[0].verdict.cause, CAUSE_UNINTERRUPTIBLE);
    suspects[0].unread = false;
    suspects[0].tid = 1007;
    scan(1020);
    assert_int_equal(found->examined_mono_ns, 1000);
}

/* An id that was not examined keeps its verdict; "unknown" does not replace the cause of an earlier examination. */
TEST(verdicts, setup, teardown)
{
    const struct verdict running = {ID_RUNNING, CAUSE_NONE}, unseen = {ID_RUNNING, CAUSE_UNSEEN},
                         unexamined = {ID_STALLED, CAUSE_NONE}, stalled = {ID_STALLED, CAUSE_UNKNOWN},
                         is_blocked = {ID_STALLED, CAUSE_BLOCKED}, deadlock = {ID_STALLED, CAUSE_DEADLOCK},
                         spinning = {ID_STALLED, CAUSE_SPINNING}, is_stopped = {ID_STOPPED, CAUSE_SIGNAL},
                         exited = {ID_EXITED, CAUSE_NONE}, idle = {ID_IDLE, CAUSE_DECLARED};
    const struct evidence none = {0}, unknown = SEEN('S'), blocked = SEEN('S', .wait = WAIT_OTHERS),
                          stopped = SEEN('T'), woken = SEEN('R', .call = RIP_CALL_LOCK),
                          outside = SEEN('R', .call = RIP_CALL_OUTSIDE), by_nobody = SEEN('S', .call = RIP_CALL_SHARED),
                          by_worker = SEEN('S', .call = RIP_CALL_SHARED, .lock = {true, HOLDER_RUNS}),
                          by_suspect = SEEN('S', .call = RIP_CALL_SHARED, .lock = {true, HOLDER_STANDS}),
                          sought = SEEN('S', .call = RIP_CALL_SHARED, .lock = {false, HOLDER_SOUGHT});
    const struct {
        struct verdict before;
        const struct evidence *evidence;
        struct verdict verdict;
    } rows[] = {
        {running, &none, unexamined},
        {running, &unknown, stalled},
        {running, &blocked, is_blocked},
        {is_blocked, &none, is_blocked},
        {is_blocked, &unknown, is_blocked},
        {is_blocked, &stopped, is_stopped},
        {unexamined, &unknown, stalled},
        {stalled, &blocked, is_blocked},
        {deadlock, &none, deadlock},
        {deadlock, &unknown, stalled}, /* only while the deadlock is seen */
        {is_stopped, &none, is_stopped},
        {is_stopped, &unknown, stalled},
        {exited, &none, exited},
        {idle, &by_worker, idle}, /* a running holder passes the lock on */
        {idle, &by_nobody, idle},
        {idle, &sought, idle},
        {idle, &stopped, is_stopped},
        {running, &sought, unseen},
        {is_blocked, &sought, is_blocked},
        {running, &woken, unseen},
        {is_blocked, &woken, is_blocked},
        {spinning, &outside, unseen},
        {idle, &by_suspect, is_blocked},
        {running, &by_worker, is_blocked},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct detector_suspect *suspect = stall(1, 7);

        suspect->state = rows[i].before.state;
        suspect->cause = rows[i].before.cause;
        begin();
        case_of(7)->evidence = *rows[i].evidence;
        cases_judge(cases, suspects, 1);
        if (suspect->verdict.state != rows[i].verdict.state || suspect->verdict.cause != rows[i].verdict.cause)
            fail_msg("row %zu: %s, %s", i, id_state_name(suspect->verdict.state),
                     id_cause_name(suspect->verdict.cause));
        suspect_count = 0;
    }
}

/* Guarantees C and D: one id after the other. */
TEST(episodes, setup, teardown)
{
    static const struct step steps[] = {
        {1000, DETECTOR_STALLED, 7, "1/7 begins #1 since 950"}, /* at once */
        {1100, NOTHING, 0, ""},
        {1200, DETECTOR_MOVED, 7, ""},
        {1299, NOTHING, 0, ""},
        {1300, NOTHING, 0, "1/7 ends #1, moved at 1200, 1"}, /* after the hysteresis, with the time at which it moved */
        {1400, NOTHING, 0, ""},
        {2000, DETECTOR_STALLED, 7, "1/7 begins #2 since 1950"}, /* another episode */
        {2010, DETECTOR_STOPPED, 7, ""},
        {2109, DETECTOR_STALLED, 7, ""}, /* stalled again within the hysteresis: the same episode */
        {2120, DETECTOR_MOVED, 7, ""},
        {2219, NOTHING, 0, ""},
        {2220, NOTHING, 0, "1/7 ends #2, moved at 2120, 2"},
        {3000, DETECTOR_STALLED, 7, "1/7 begins #3 since 2950"},
        {3500, DETECTOR_GONE, 7, "1/7 ends #3, gone at 3500, 1"}, /* at once */
        {3510, DETECTOR_GONE, 7, ""},
        {4000, DETECTOR_STALLED, 8, "1/8 begins #4 since 3950"},
        {4010, DETECTOR_STOPPED, 8, ""},
        {4020, DETECTOR_GONE, 8, "1/8 ends #4, stopped at 4010, 1"}, /* reason and time of the end do not change */
        {5000, DETECTOR_STALLED, 9, "1/9 begins #5 since 4950"},
        {5010, DETECTOR_EXCUSED, 9, ""},
        {5110, NOTHING, 0, "1/9 ends #5, excused at 5010, 1"},
        {20, DETECTOR_STALLED, 10, "1/10 begins #6 since 0"}, /* the clock is younger than the freeze */
        {.published = NULL},
    };

    play(steps);
    assert_int_equal(counters().open_count, 1);
    assert_int_equal(counters().belated_count, 0);
}

TEST(the_hysteresis_can_be_changed, setup, teardown)
{
    PLAY({1000, DETECTOR_STALLED, 7, "1/7 begins #1 since 950"}, {1100, DETECTOR_MOVED, 7, ""});
    cases_configure(cases, 1000, EPISODE_UNEXAMINED_SCANS);
    assert_scan(1250, "");
    cases_configure(cases, HYSTERESIS, EPISODE_UNEXAMINED_SCANS);
    assert_scan(1251, "1/7 ends #1, moved at 1100, 1");
}

/* An episode holds what a later run needs to adopt it, and the cause that is known when the begin is published. */
TEST(a_begin_has_what_an_adoption_needs, setup, teardown)
{
    const struct episode *episode;

    stall(1, 7);
    stall(1, 8)->frozen_for_max_ns = DETECTOR_UNKNOWN_NS;
    scan(1000);
    episode = &case_of(7)->episode;
    assert_int_equal(episode->frozen_mono_ns, 950);
    assert_int_equal(episode->moved_after_mono_ns, 940);
    assert_int_equal(episode->progress, 7007);
    assert_int_equal(episode->cause, CAUSE_UNINTERRUPTIBLE);
    assert_int_equal(episode->stall_count, 1);
    assert_true(case_of(8)->episode.moved_after_mono_ns == DETECTOR_UNKNOWN_NS);
}

static void take_all_events(void)
{
    assert_true(work_take(work, 2, WORK_EVENTS, 500));
    work_set_total(work, WORK_EVENTS, 1);
}

/* A begin carries the cause that is known when it is published, an end the last cause. */
TEST(the_cause_of_an_episode, setup, teardown)
{
    const struct episode *published, *waiting;

    stall(1, 7);
    scan(1000);
    take_all_events();
    stall(1, 8);
    scan(1010);
    published = &case_of(7)->episode;
    waiting = &case_of(8)->episode;
    assert_int_equal(waiting->cause, CAUSE_UNINTERRUPTIBLE);
    evidence = SEEN(0, .on_no_thread = true);
    scan(1020);
    assert_int_equal(published->cause, CAUSE_UNINTERRUPTIBLE);
    assert_int_equal(waiting->cause, CAUSE_PARKED);
    end(DETECTOR_STOPPED, 1, 7); /* with CAUSE_BLOCKED */
    scan(1030);
    assert_int_equal(published->cause, CAUSE_BLOCKED);
}

/* The begin is delayed for that many scans. */
static void assert_begins_after(unsigned scans, const char *published)
{
    for (unsigned i = 0; i < scans; i++)
        assert_scan(1050, "");
    assert_scan(1050, published);
}

/* A scan on which only slot 8 of ring 1 is examined. */
static void assert_scan_of_8(uint64_t now_mono_ns, const struct evidence *examined, const char *published)
{
    begin();
    case_of(8)->evidence = *examined;
    judge();
    finish(now_mono_ns);
    assert_string_equal(trace, published);
}

/* Guarantee H: two ids stall on one scan. The begin of the examined id does not wait for the other. */
TEST(a_begin_waits_for_its_evidence, setup, teardown)
{
    stall(1, 7);
    stall(1, 8);
    assert_scan_of_8(1000, &evidence, "1/8 begins #1 since 950");
    assert_int_equal(counters().waiting_count, 0); /* the other begin does not wait for quota */
    assert_scan(1010, "1/7 begins #2 since 950");
    assert_int_equal(case_of(7)->episode.cause, CAUSE_UNINTERRUPTIBLE);
    evidence = (struct evidence){0};
    stall(2, 9);
    assert_begins_after(EPISODE_UNEXAMINED_SCANS, "2/9 begins #3 since 1000");
    stall(1, 9); /* another stall of this ring was examined: both may belong to one incident */
    assert_begins_after(EPISODE_UNEXAMINED_BEHIND_SCANS, "1/9 begins #4 since 1000");
    cases_configure(cases, HYSTERESIS, 0);
    stall(1, 10);
    assert_begins_after(0, "1/10 begins #5 since 1000");
}

/* Of ids that stall on one scan, one is examined on the last scan of their delay: the others wait longer. */
TEST(begins_wait_longer_once_one_is_examined, setup, teardown)
{
    const struct evidence examined = evidence;

    evidence = (struct evidence){0};
    stall(1, 7);
    stall(1, 8);
    for (unsigned i = 0; i < EPISODE_UNEXAMINED_SCANS; i++)
        scan(1050);
    assert_scan_of_8(1050, &examined, "1/8 begins #1 since 1000");
    assert_scan(1050, "");
}

/* Guarantee G: a sleep that a preloaded thread announces is no event, until the thread blocks elsewhere. */
TEST(an_announced_sleep_is_no_episode, setup, teardown)
{
    evidence = SEEN('S', .call = RIP_CALL_SLEEP);
    stall(1, 7)->call = RIP_CALL_SLEEP;
    scan(1000);
    assert_int_equal(suspects[0].cause, CAUSE_SLEEPING);
    assert_string_equal(trace, "");
    suspects[0].unread = true; /* its ring was not read */
    suspects[0].call = RIP_CALL_NONE;
    assert_scan(1005, "");
    suspects[0].unread = false;
    suspects[0].call = RIP_CALL_SLEEP;
    evidence.thread_state = 'D';
    assert_scan(1010, "1/7 begins #1 since 960");
    evidence.thread_state = 'S'; /* the episode continues */
    scan(1020);
    end(DETECTOR_MOVED, 1, 7);
    scan(1030);
    assert_scan(1130, "1/7 ends #1, moved at 1030, 1");
}

/* Guarantee G: the id was stalled for another reason, moved, and then went to sleep. */
TEST(a_sleep_does_not_prolong_an_episode, setup, teardown)
{
    stall(1, 7);
    scan(1000);
    end(DETECTOR_MOVED, 1, 7);
    scan(1010);
    evidence = SEEN('S', .call = RIP_CALL_SLEEP);
    stall(1, 7)->call = RIP_CALL_SLEEP;
    scan(1060);
    assert_scan(1110, "1/7 ends #1, moved at 1010, 1");
    assert_scan(1120, "");
}

/* A program that calls the library declares itself idle when it waits for work: its other sleeps are stalls. */
TEST(a_sleep_that_is_not_announced_is_an_episode, setup, teardown)
{
    evidence = SEEN('S', .wait = WAIT_SLEEP);
    stall(1, 7);
    scan(1000);
    assert_int_equal(suspects[0].cause, CAUSE_SLEEPING);
    assert_string_equal(trace, "1/7 begins #1 since 950");
}

static size_t count_of(enum event_kind kind, uint32_t user)
{
    size_t count = 0;

    for (size_t i = 0; i < report_count; i++)
        count += reports[i].kind == kind && reports[i].stall->user == user;
    return count;
}

/* Guarantee C: a begin without quota waits, and does not delay other users. */
TEST(begins_of_one_user_do_not_delay_another_user, setup, teardown)
{
    size_t published, scans = 0;

    for (uint32_t slot = 0; slot < 800; slot++)
        stall(1, slot);
    scan(1000);
    published = count_of(EVENT_BEGIN, 0);
    assert_in_range(published, 256, 799);
    assert_int_equal(counters().waiting_count, 800 - published);
    for (uint32_t ring = 15; ring < 45; ring += RINGS_OF_A_USER)
        stall(ring, 99); /* of users 1, 2, 3 */
    scan(1010);
    for (uint32_t user = 1; user <= 3; user++)
        assert_int_equal(count_of(EVENT_BEGIN, user), 1);
    published += count_of(EVENT_BEGIN, 0);
    for (; published < 800; scans++) {
        scan(1020 + scans);
        assert_in_range(report_count, 1, WORK_EVENTS_PER_SCAN + 1);
        assert_int_equal(reports[0].stall->slot, published); /* in order, none is lost */
        published += report_count;
        assert_int_equal(counters().waiting_count, 800 - published);
    }
    assert_in_range(scans, 5, 100);
    assert_int_equal(counters().suppressed_count, 0);
    assert_int_not_equal(work_refused_count(work, WORK_EVENTS), 0);
}

/* Users with equally many begins publish equally many, independent of the numbers of their rings. */
TEST(users_take_turns, setup, teardown)
{
    for (uint32_t ring = 5; ring < 35; ring += RINGS_OF_A_USER)
        for (uint32_t slot = 0; slot < 600; slot++)
            stall(ring, slot);
    scan(1000);
    for (uint32_t user = 0; user < 3; user++)
        assert_in_range(count_of(EVENT_BEGIN, user), 250, 260);
}

/* Guarantee C: WORK_BELATED limits the episodes that are kept although they ended before their begin was published. */
TEST(finished_episodes_that_wait_are_limited, setup, teardown)
{
    uint64_t suppressed_count;

    work_set_total(work, WORK_EVENTS, 1);
    work_set_total(work, WORK_BELATED, 16);
    for (uint32_t slot = 0; slot < 100; slot++)
        stall(1, slot);
    scan(1000);
    for (uint32_t slot = 0; slot < 100; slot++)
        end(DETECTOR_GONE, 1, slot);
    scan(1010);
    suppressed_count = counters().suppressed_count;
    assert_in_range(suppressed_count, 85, 95);
    scan(1020); /* the cases of dropped episodes are freed */
    assert_in_range(counters().count, 5, 15);
    work_set_total(work, WORK_EVENTS, 1024);
    scan(1030);
    assert_in_range(counters().belated_count, 5, 15);
    scan(1040);
    assert_int_equal(counters().count, 0);
    assert_int_equal(counters().suppressed_count, suppressed_count);
}

/* Guarantee C: a user may publish two events on each scan. Ends come first, then begins with their end. */
TEST(order_of_what_waits, setup, teardown)
{
    PLAY({1000, DETECTOR_STALLED, 1, "1/1 begins #1 since 950"}, {1001, DETECTOR_STALLED, 2, "1/2 begins #2 since 951"},
         {1002, DETECTOR_STALLED, 3, "1/3 begins #3 since 952"});
    work_set_total(work, WORK_EVENTS, 4);
    for (uint32_t slot = 1; slot <= 3; slot++)
        end(DETECTOR_GONE, 1, slot);
    for (uint32_t slot = 4; slot <= 6; slot++)
        stall(1, slot);
    assert_scan(1010, "1/1 ends #1, gone at 1010, 1; 1/2 ends #2, gone at 1010, 1");
    assert_int_equal(counters().waiting_count, 4);
    end(DETECTOR_GONE, 1, 5); /* its begin still waits: both are published, before other begins */
    assert_scan(1020, "1/3 ends #3, gone at 1010, 1");
    assert_int_equal(counters().belated_count, 0);
    assert_scan(1030, "1/5 begins #4 since 960; 1/5 ends #4, gone at 1020, 1");
    assert_int_equal(counters().belated_count, 1);
    assert_scan(1040, "1/4 begins #5 since 960; 1/6 begins #6 since 960");
    assert_int_equal(counters().waiting_count, 0);
    assert_scan(1050, "");
    assert_int_equal(counters().open_count, 2);
}

/* Guarantees C, D: an id that stalls again while its end waits stays in the same episode, with one end. */
TEST(a_stall_while_the_end_waits, setup, teardown)
{
    PLAY({1000, DETECTOR_STALLED, 7, "1/7 begins #1 since 950"}, {1100, DETECTOR_MOVED, 7, ""});
    take_all_events();
    PLAY({1200, NOTHING, 0, ""}, /* the end is due here */
         {1201, DETECTOR_STALLED, 7, ""}, {1250, DETECTOR_MOVED, 7, ""}, {1349, NOTHING, 0, ""},
         {1350, NOTHING, 0, ""});
    work_set_total(work, WORK_EVENTS, 1024);
    assert_scan(1360, "1/7 ends #1, moved at 1250, 2");
}

/* Guarantee C: open episodes are limited too. */
TEST(open_episodes_of_a_user_are_limited, setup, teardown)
{
    work_set_total(work, WORK_EPISODES, 4);
    PLAY({1000, DETECTOR_STALLED, 1, "1/1 begins #1 since 950"}, {1001, DETECTOR_STALLED, 2, "1/2 begins #2 since 951"},
         {1002, DETECTOR_STALLED, 3, ""}, {1003, DETECTOR_STALLED, 4, ""},
         {1004, DETECTOR_GONE, 4, "1/4 begins #3 since 953; 1/4 ends #3, gone at 1004, 1"}, /* over: takes no quota */
         {1005, DETECTOR_GONE, 2, "1/2 ends #2, gone at 1005, 1; 1/3 begins #4 since 952"});
    stall(11, 1); /* of another user */
    stall(1, 9);
    assert_scan(1006, "11/1 begins #5 since 956");
    assert_int_equal(work_held(work, 0, WORK_EPISODES), 2);
    assert_int_equal(work_held(work, 0, WORK_EVENTS), 0); /* a refused begin costs nothing */
}

/* Jobs that the scan left in the queue, and users that are paused, do not affect publication. */
TEST(publication_is_independent_of_other_work, setup, teardown)
{
    stall(1, 7);
    begin();
    case_of(7)->evidence = evidence;
    work_push(work, 0, (struct work_job){.subject = 12345});
    work_push_at(work, 0, (struct work_job){.subject = 12345}, 0);
    work_pause(work, 0, UINT64_MAX);
    judge();
    finish(1000);
    assert_string_equal(trace, "1/7 begins #1 since 950");
    assert_int_equal(work_next_due(work), UINT64_MAX);
}

/* Guarantee E. */
TEST(cases_of_a_user_are_limited, setup, teardown)
{
    work_set_total(work, WORK_STALLS, 4);
    for (uint32_t slot = 0; slot < 3; slot++)
        stall(1, slot);
    stall(11, 0);
    assert_scan(1000, "1/0 begins #1 since 950; 11/0 begins #2 since 950; 1/1 begins #3 since 950");
    assert_null(case_of(2));
    assert_int_equal(suspects[2].verdict.state, ID_STALLED); /* stalled, cause unknown */
    assert_int_equal(suspects[2].verdict.cause, CAUSE_NONE);
    assert_int_equal(suspects[3].verdict.cause, CAUSE_UNINTERRUPTIBLE);
    assert_int_equal(counters().suppressed_count, 1);
    assert_int_equal(work_refused_count(work, WORK_STALLS), 1);
    end(DETECTOR_GONE, 1, 2); /* no case: no end is published */
    assert_scan(1010, "");
    stall(1, 3);
    assert_scan(1020, "");
    assert_int_equal(counters().suppressed_count, 2);
    end(DETECTOR_GONE, 1, 0);
    assert_scan(1030, "1/0 ends #1, gone at 1030, 1");
    assert_scan(1040, "1/3 begins #4 since 990"); /* still stalled: gets a case as soon as there is quota */
}

/* Guarantee F. */
TEST(an_adopted_episode_goes_on, setup, teardown)
{
    struct event *published = event_make();
    const struct episode first = {.number = 41, .begin = published, .frozen_mono_ns = 300, .stall_count = 1},
                         second = {.number = 42, .frozen_mono_ns = 200, .stall_count = 3};
    cases_set_last_episode(cases, 99);
    cases_set_last_episode(cases, 50); /* smaller: ignored */
    assert_int_equal(cases_adopt(cases, 1, 8, 2, 0, &second), 0);
    assert_int_equal(cases_adopt(cases, 1, 7, 2, 0, &first), 0);
    assert_int_equal(cases_adopt(cases, 1, 7, 2, 0, &first), -EEXIST);
    event_unref(published);
    assert_int_equal(counters().open_count, 2);
    assert_int_equal(work_held(work, 0, WORK_EPISODES), 2);
    PLAY({1000, DETECTOR_STALLED, 7, ""}, /* an earlier run published its begin */
         {1010, DETECTOR_GONE, 8, "1/8 ends #42, gone at 1010, 3"},
         {1100, DETECTOR_STALLED, 9, "1/9 begins #100 since 1050"}, {1200, DETECTOR_MOVED, 7, ""},
         {1300, NOTHING, 0, "1/7 ends #41, moved at 1200, 1"},
         {2000, DETECTOR_STALLED, 7, "1/7 begins #101 since 1950"});
    assert_int_equal(work_held(work, 0, WORK_EPISODES), 2);
}

TEST(numbers_go_on_after_adopted_ones, setup, teardown)
{
    assert_int_equal(cases_adopt(cases, 1, 7, 2, 0, &(struct episode){.number = 41, .stall_count = 1}), 0);
    stall(1, 8);
    assert_scan(1000, "1/8 begins #42 since 950");
    assert_ptr_equal(case_of(7)->episode.begin, NULL);
}

/* The report of an end has its begin. The next scan drops that reference. */
TEST(a_begin_is_kept_until_its_end, setup, teardown)
{
    struct event *published = event_make();

    for (uint32_t round = 0; round < 2; round++) {
        stall(1, 7);
        scan(1000);
        reports[0].stall->episode.begin = event_ref(published);
        assert_int_equal(atomic_load(&published->references), 2);
        end(DETECTOR_GONE, 1, 7);
        if (round == 1) { /* the case stays, because its id is still a suspect */
            stall(1, 7)->state = ID_STOPPED;
            evidence = SEEN('T');
        }
        scan(1010);
        assert_ptr_equal(reports[0].stall->episode.begin, published);
        scan(1020);
        assert_int_equal(atomic_load(&published->references), 1);
    }
    event_unref(published);
}

/* Random lives of many ids of two users, with little quota: every begin has exactly one end. */
TEST(begins_and_ends_are_paired, setup, teardown)
{
    enum { IDS = 64, ROUNDS = 3000, DRAIN = 300 };
    uint64_t begun[IDS] = {0}, last = 0, random = 1;
    bool stalled[IDS] = {false};

    work_set_total(work, WORK_EVENTS, 6);
    for (uint32_t round = 0; round < ROUNDS + DRAIN; round++) {
        for (uint32_t i = 0; i < IDS; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            if (round < ROUNDS ? random >> 60 != 0 : !stalled[i])
                continue;
            if (stalled[i])
                end((enum detector_event_kind)(1 + (random >> 50) % 4), i / 32 * 10, i);
            else
                stall(i / 32 * 10, i);
            stalled[i] = !stalled[i];
        }
        scan(1000 + 10 * round);
        for (size_t i = 0; i < report_count; i++) {
            const struct stall_case *of = reports[i].stall;

            if (reports[i].kind == EVENT_BEGIN) {
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
    assert_in_range(counters().belated_count, 10, last);
    assert_int_equal(counters().open_count, 0);
}

/* The first scan that finds an id exited sets the time, whatever the clock does later. Running again clears it. */
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
    const struct stall_case *stalled;

    stall(1, 7);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        evidence = SEEN(rows[i].thread_state);
        scan(100 * (i + 1));
        cases_note_exits(cases, rows[i].now_wall_ns);
        stalled = case_of(7);
        assert_int_equal(stalled->lived_wall_ns, rows[i].lived_wall_ns);
        assert_int_equal(stalled->exited_wall_ns, rows[i].exited_wall_ns);
    }
    suspects[0].unread = true;
    scan(1000);
    cases_note_exits(cases, 6000);
    assert_int_equal(case_of(7)->lived_wall_ns, 5000);
}

/* cases_open(): an idle id is examined, and has no verdict and no episode. cases_close() drops its case. */
TEST(an_opened_id_is_no_suspect, setup, teardown)
{
    struct detector_suspect thread = {
        .ring = 1, .slot = 7, .generation = 2, .tid = 1007, .progress = 5, .state = ID_IDLE};
    struct stall_case *opened;

    for (uint64_t now = 100; now < 500; now += 100) {
        begin();
        assert_int_equal(cases_open(cases, &thread, 0), 0);
        opened = case_of(7);
        assert_non_null(opened);
        assert_true(case_is_examined(opened) && !opened->is_suspect);
        assert_int_equal(opened->examined_mono_ns, now == 100 || now == 400 ? 0 : now - 100);
        opened->examined_mono_ns = now;
        opened->evidence = SEEN('D');
        thread.progress += now == 300; /* what was found out is of another wait */
        judge();
        finish(now);
        assert_int_equal(report_count, 0);
        assert_int_equal(opened->suspect.state, ID_IDLE);
    }
    assert_int_equal(work_held(work, 0, WORK_STALLS), 1);
    cases_close(cases, 1, 7, 2);
    begin();
    assert_null(case_of(7));
    assert_int_equal(cases_open(cases, &thread, 0), 0);
    stall(1, 7);
    scan(600);
    opened = case_of(7);
    assert_true(opened->is_suspect && !opened->is_opened);
    cases_close(cases, 1, 7, 2); /* no effect on a suspect */
    assert_true(case_is_examined(opened));
    opened->suspect.unread = true;
    assert_false(case_is_examined(opened));
}
