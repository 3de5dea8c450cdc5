/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_test.h - a detector of one ring, and scans of a few samples, for test_detector*.c. The life of one id, slot
 * 7 of that ring, is a table of steps: what a scan reads of it, and what the detector then knows and reports.
 */
#ifndef TESTS_UNIT_DETECTOR_TEST_H
#define TESTS_UNIT_DETECTOR_TEST_H

#include <stdio.h>
#include <string.h>

#include "support/test.h"

#include "detect/detector.h"

#define INTERVAL UINT64_C(1000)
#define STALL_AFTER UINT64_C(5000)
#define RING 3u

static const struct detector_config default_config = {.interval_ns = INTERVAL, .stall_after_ns = STALL_AFTER};

static struct detector *detector; /* of the current test */

static inline int make_detector(void **state)
{
    (void)state;
    return detector_new(&detector, &default_config);
}

static inline int free_detector(void **state)
{
    (void)state;
    detector_free(detector);
    return 0;
}

static inline struct rip_sample sample_of(uint32_t slot, uint64_t progress)
{
    return (struct rip_sample){.progress = progress, .slot = slot, .generation = 2, .tid = 1000 + slot};
}

/* The verdict of cases_judge() on a suspect that was not examined: the same as before. */
static inline struct verdict verdict_before(const struct detector_suspect *suspect)
{
    return suspect->state == ID_RUNNING ? (struct verdict){ID_STALLED, CAUSE_NONE}
                                        : (struct verdict){suspect->state, suspect->cause};
}

/* A scan of RING; all verdicts are as before. */
static inline struct detector_update scan_with(uint64_t now, const struct rip_sample *samples, size_t count)
{
    struct detector_update update;
    struct detector_suspect *suspects;
    size_t suspect_count;

    detector_begin(detector, now);
    assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, samples, count), 0);
    suspects = detector_suspects(detector, &suspect_count);
    for (size_t i = 0; i < suspect_count; i++)
        suspects[i].verdict = verdict_before(&suspects[i]);
    detector_end(detector, &update);
    return update;
}

/* What a scan reads in slot 7. */
enum sight {
    AT,       /* the id is at that progress */
    IDLE,     /* the same, and it is idle */
    STUCK,    /* the same, in a process that is stuck */
    AT_INPUT, /* the same, but it waits for input from outside the process */
    HALTED,   /* the same, in a process that is stopped by a signal */
    TRACED,   /* the same, by a tracer */
    DEAD,     /* the same, of a dead process */
    RENAMED,  /* the id is at that progress, under another name than in all others */
    REUSED,   /* another generation is at that progress */
    MISSING,  /* no id is in the slot */
    NO_RING,
    SKIPPED, /* the ring is not read */
};

struct step {
    uint64_t now;
    uint64_t every; /* there are also scans at this distance between the previous step and now; 0: none */
    enum sight sight;
    uint64_t progress;
    struct verdict verdict;               /* ID_RUNNING: as before */
    const char *known;                    /* see describe(); NULL: no further step */
    uint64_t due;                         /* when the next scan is due; 0: not compared */
    int rule;                             /* given to the id if it is unclassified */
    const struct detector_config *config; /* configured before the scan, unless NULL */
};

struct life {
    const struct detector_config *config; /* NULL: the default */
    const struct detector_adoption *adoption;
    const struct step *steps;
};

/* A step; more: other fields of struct step, such as `.due = 6000`. */
#define SCAN(now_ns, what, count, text, ...)                                                                           \
    {                                                                                                                  \
        .now = now_ns, .sight = what, .progress = count, .known = text, __VA_ARGS__                                    \
    }

/* Verdicts. */
#define BLOCKED                                                                                                        \
    {                                                                                                                  \
        ID_STALLED, CAUSE_BLOCKED                                                                                      \
    }
#define SPINNING                                                                                                       \
    {                                                                                                                  \
        ID_STALLED, CAUSE_SPINNING                                                                                     \
    }
#define STOPPED                                                                                                        \
    {                                                                                                                  \
        ID_STOPPED, CAUSE_SIGNAL                                                                                       \
    }
#define EXITED                                                                                                         \
    {                                                                                                                  \
        ID_EXITED, CAUSE_NONE                                                                                          \
    }
#define DECLARED                                                                                                       \
    {                                                                                                                  \
        ID_IDLE, CAUSE_DECLARED                                                                                        \
    }
#define NO_ANSWER DETECTOR_RULE_UNKNOWN

static inline const char *time_text(char text[24], uint64_t ns)
{
    snprintf(text, 24, "%llu", (unsigned long long)ns);
    return ns == DETECTOR_UNKNOWN_NS ? "?" : text;
}

/*
 * Describes what the detector knows after a scan, for example
 * "late 500: stalled blocked 5000-6000 of 700 suspect; stalled blocked 5000 after 0":
 *
 *   - by how much the scan was late;
 *   - state, cause, minimum and maximum time for which the id is frozen, the threshold unless it is STALL_AFTER;
 *     "gone": the detector does not know the id;
 *   - whether the id is unclassified, a suspect, and unread;
 *   - for an id that has ended: "last", its last state and cause, and for how long;
 *   - after each ";" an event with its cause, for how long the id was frozen, and the last scan that saw it move.
 *
 * "?" is a time that is not known.
 */
static inline void describe(char text[256], const struct detector_update *update, uint32_t generation, uint64_t late_by,
                            size_t unclassified)
{
    static const char *const kinds[] = {"stalled", "moved", "stopped", "gone", "excused"};
    char most[24], threshold[24], after[24], late[40] = "";
    struct detector_id id;
    int at;

    if (late_by)
        snprintf(late, sizeof late, "late %llu: ", (unsigned long long)late_by);
    if (detector_find(detector, RING, 7, generation, &id) != 0)
        id = (struct detector_id){.state = ID_STATE_COUNT};
    if (id.state != ID_STATE_COUNT)
        at = snprintf(text, 256, "%s%s%s%s %llu-%s%s%s%s%s%s", late, id_state_name(id.state), id.cause ? " " : "",
                      id_cause_name(id.cause), (unsigned long long)id.frozen_for_ns,
                      time_text(most, id.frozen_for_max_ns), id.threshold_ns != STALL_AFTER ? " of " : "",
                      id.threshold_ns != STALL_AFTER ? time_text(threshold, id.threshold_ns) : "",
                      unclassified ? " unclassified" : "", update->suspect_count ? " suspect" : "",
                      update->suspect_count && update->suspects[0].unread ? " unread" : "");
    else
        at = snprintf(text, 256, "%sgone", late);
    if (id.has_last)
        at += snprintf(text + at, 256 - (size_t)at, " last %s%s%s %llu", id_state_name(id.last.state),
                       id.last.cause ? " " : "", id_cause_name(id.last.cause), (unsigned long long)id.last_for_ns);
    for (size_t i = 0; i < update->event_count; i++) {
        const struct detector_event *event = &update->events[i];

        assert_int_equal(event->ring, RING);
        assert_int_equal(event->slot, 7);
        assert_int_equal(event->generation, 2);
        at += snprintf(text + at, 256 - (size_t)at, "; %s%s%s %llu after %s", kinds[event->kind],
                       event->cause ? " " : "", id_cause_name(event->cause), (unsigned long long)event->frozen_for_ns,
                       time_text(after, event->moved_after_mono_ns));
    }
}

/* A suspect has the same values as its id. */
static inline void check_suspect(const struct detector_suspect *suspect)
{
    struct detector_id id;

    assert_int_equal(detector_find(detector, suspect->ring, suspect->slot, suspect->generation, &id), 0);
    assert_int_equal(suspect->tid, suspect->unread ? 0 : 1000 + suspect->slot);
    assert_int_equal(suspect->progress, id.progress);
    assert_int_equal(suspect->state, id.state);
    assert_int_equal(suspect->cause, id.cause);
    assert_int_equal(suspect->frozen_since_ns, id.frozen_since_ns);
    assert_int_equal(suspect->frozen_for_ns, id.frozen_for_ns);
    assert_int_equal(suspect->frozen_for_max_ns, id.frozen_for_max_ns);
    assert_int_equal(suspect->threshold_ns, id.threshold_ns);
}

static inline void play_scan(const struct step *step, uint64_t now, char text[256])
{
    const uint64_t late_by = detector_begin(detector, now);
    static const uint8_t conditions[] = {
        [DEAD] = DETECTOR_DEAD,   [HALTED] = CAUSE_SIGNAL,     [TRACED] = CAUSE_TRACER,
        [STUCK] = DETECTOR_STUCK, [AT_INPUT] = DETECTOR_STUCK, [SKIPPED] = DETECTOR_LIVES};
    const uint8_t condition = conditions[step->sight];
    struct rip_sample sample = sample_of(7, step->progress);
    struct detector_unclassified *ids;
    struct detector_suspect *suspects;
    struct detector_update update;
    uint64_t counts[ID_STATE_COUNT];
    size_t id_count, count;
    uint64_t total = 0;

    sample.generation += step->sight == REUSED ? 2 : 0;
    sample.name_version = step->sight == RENAMED ? 2 : 0;
    sample.idle = step->sight >= IDLE && step->sight <= TRACED;
    sample.call = step->sight == STUCK ? RIP_CALL_PRIVATE : RIP_CALL_INPUT;
    if (step->sight == SKIPPED)
        assert_int_equal(detector_skip(detector, RING), 0);
    else if (step->sight != NO_RING)
        assert_int_equal(detector_ring(detector, RING, &condition, 1), 0);
    if (step->sight <= REUSED)
        assert_int_equal(detector_feed(detector, &sample, 1), 0);
    ids = detector_unclassified(detector, &id_count);
    for (size_t i = 0; i < id_count; i++) {
        assert_int_equal(ids[i].ring, RING);
        assert_int_equal(ids[i].slot, 7);
        assert_int_equal(ids[i].generation, sample.generation);
        assert_int_equal(ids[i].rule, DETECTOR_RULE_UNKNOWN);
        ids[i].rule = step->rule;
    }
    suspects = detector_suspects(detector, &count);
    for (size_t i = 0; i < count; i++)
        suspects[i].verdict = step->verdict.state == ID_RUNNING ? verdict_before(&suspects[i]) : step->verdict;
    detector_end(detector, &update);
    assert_int_equal(update.halted_counts[CAUSE_SIGNAL], step->sight == HALTED);
    assert_int_equal(update.halted_counts[CAUSE_TRACER], step->sight == TRACED);
    for (size_t i = 0; i < update.suspect_count; i++)
        check_suspect(&update.suspects[i]);
    for (size_t i = 0; i < ID_STATE_COUNT; i++)
        total += update.counts[i];
    assert_int_equal(total, update.id_count);
    detector_ring_counts(detector, RING, counts);
    assert_memory_equal(counts, update.counts, sizeof counts);
    assert_int_equal(update.late, late_by != 0);
    assert_int_equal(update.unclassified_count, id_count && step->rule == NO_ANSWER);
    describe(text, &update, sample.generation, late_by, id_count);
}

/* Only the last scan of a step may have events. */
static inline void play(const struct life *life)
{
    uint64_t now = 0;
    char text[256];

    assert_int_equal(detector_new(&detector, life->config ? life->config : &default_config), 0);
    if (life->adoption)
        assert_int_equal(detector_adopt(detector, life->steps->now, life->adoption, 1), 0);
    for (const struct step *step = life->steps; step->known; step++) {
        if (step->config)
            detector_configure(detector, step->config);
        for (; step->every && now + step->every < step->now; now += step->every) {
            play_scan(step, now + step->every, text);
            assert_null(strchr(text, ';'));
        }
        now = step->now;
        play_scan(step, now, text);
        if (strcmp(text, step->known) != 0)
            fail_msg("at %llu: \"%s\", expected \"%s\"", (unsigned long long)now, text, step->known);
        if (step->due)
            assert_int_equal(detector_next_due(detector), step->due);
    }
    detector_free(detector);
}

#define LIFE_STEPS_MAX 16

/*
 * A test that plays the steps after it, fewer than LIFE_STEPS_MAX. More: other fields of struct life, such as
 * `.config = &config`.
 */
#define LIFE(name, ...)                                                                                                \
    extern const struct step name[LIFE_STEPS_MAX];                                                                     \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        play(&(const struct life){.steps = name, __VA_ARGS__});                                                        \
    }                                                                                                                  \
    const struct step name[LIFE_STEPS_MAX]

#endif
