/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_test.h - a detector of one ring, and scans of a handful of samples, for test_detector*.c. The life of one
 * id, slot 7 of that ring, is a table of steps: what a scan sees of it, and what the detector then knows and reports.
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

static inline struct detector *detector_make(void)
{
    const struct detector_config config = {.interval_ns = INTERVAL, .stall_after_ns = STALL_AFTER};
    struct detector *detector = NULL;

    assert_int_equal(detector_new(&detector, &config), 0);
    return detector;
}

static inline struct rip_sample sample_of(uint32_t slot, uint64_t progress)
{
    return (struct rip_sample){.progress = progress, .slot = slot, .generation = 2, .tid = 1000 + slot};
}

/* What cases_judge() says of a suspect that was not examined: as before. */
static inline struct verdict verdict_before(const struct detector_suspect *suspect)
{
    return suspect->state == ID_RUNNING ? (struct verdict){ID_STALLED, CAUSE_NONE}
                                        : (struct verdict){suspect->state, suspect->cause};
}

/* A scan of RING; all verdicts are as before. */
static inline struct detector_update scan_with(struct detector *detector, uint64_t now,
                                               const struct rip_sample *samples, size_t count)
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

/* What a scan sees of slot 7. */
enum sight {
    AT,       /* it is at that progress */
    IDLE,     /* the same, and idle */
    STUCK,    /* the same, in a process that is stuck */
    AT_INPUT, /* the same, but it waits for what comes from elsewhere */
    HALTED,   /* the same, in a process that is stopped by a signal */
    TRACED,   /* the same, by a tracer */
    DEAD,     /* the same, of a dead process */
    RENAMED,  /* at that progress, with another name than in all of these */
    REUSED,   /* another generation is at that progress */
    MISSING,  /* no id is in the slot */
    NO_RING,
    SKIPPED, /* its ring */
};

struct step {
    uint64_t now;
    uint64_t every; /* there are scans at that distance from the step before up to now; 0 = there is just one, now */
    enum sight sight;
    uint64_t progress;
    struct verdict verdict;
    const char *known;                    /* see describe(); NULL = the table ends */
    uint64_t due;                         /* if it is not 0, when the next scan is due */
    int rule;                             /* the answer where it is unclassified */
    const struct detector_config *config; /* if it is not NULL, configured before */
};

struct life {
    const struct detector_config *config; /* NULL: as detector_make() has it */
    const struct detector_adoption *adoption;
    const struct step *steps;
};

/* A step; more: other fields of it, as `.due = 6000`. */
#define SCAN(now_ns, every_ns, what, count, judged, text, ...)                                                         \
    {                                                                                                                  \
        .now = now_ns, .every = every_ns, .sight = what, .progress = count, .verdict = judged, .known = text,          \
        __VA_ARGS__                                                                                                    \
    }
#define LIFE_END                                                                                                       \
    {                                                                                                                  \
        .known = NULL                                                                                                  \
    }

/* In place of a verdict. */
#define BEFORE                                                                                                         \
    {                                                                                                                  \
        ID_RUNNING, CAUSE_NONE                                                                                         \
    }
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
 * "late 500: stalled blocked 5000-6000 of 700 suspect; stalled blocked 5000 after 0": by how much the scan was late;
 * state, cause, how long it is frozen at least and at most, the threshold if it is not STALL_AFTER; whether it is
 * unclassified, a suspect, unread; of one that ended what it was last, and how long; then its events with cause, how
 * long it was frozen, and the last scan that saw it move. "?" is a time that is not known, "gone" an id that is not
 * known.
 */
static inline void describe(char text[256], const struct detector *detector, const struct detector_update *update,
                            uint32_t generation, uint64_t late_by, size_t unclassified)
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

/* A suspect says the same as what is known of its id. */
static inline void check_suspect(const struct detector *detector, const struct detector_suspect *suspect)
{
    struct detector_id id;

    assert_int_equal(detector_find(detector, suspect->ring, suspect->slot, suspect->generation, &id), 0);
    assert_int_equal(suspect->tid, suspect->unread ? 0 : 1000 + suspect->slot);
    assert_int_equal(suspect->progress, id.progress);
    assert_int_equal(suspect->state, id.state);
    assert_int_equal(suspect->cause, id.cause);
    assert_int_equal(suspect->frozen_since_ns, id.frozen_since_ns);
    assert_int_equal(suspect->frozen_for_ns, id.frozen_for_ns);
    assert_true(suspect->frozen_for_max_ns == id.frozen_for_max_ns);
    assert_true(suspect->threshold_ns == id.threshold_ns);
}

static inline void play_scan(struct detector *detector, const struct step *step, uint64_t now, char text[256])
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
        check_suspect(detector, &update.suspects[i]);
    for (size_t i = 0; i < ID_STATE_COUNT; i++)
        total += update.counts[i];
    assert_int_equal(total, update.id_count);
    detector_ring_counts(detector, RING, counts);
    assert_memory_equal(counts, update.counts, sizeof counts);
    assert_int_equal(update.late, late_by != 0);
    assert_int_equal(update.unclassified_count, id_count && step->rule == NO_ANSWER);
    describe(text, detector, &update, sample.generation, late_by, id_count);
}

/* No scan but a step's last has an event. */
static inline void play(const struct life *life)
{
    struct detector *detector = detector_make();
    uint64_t now = 0;
    char text[256];

    if (life->config)
        detector_configure(detector, life->config);
    if (life->adoption)
        assert_int_equal(detector_adopt(detector, life->steps->now, life->adoption, 1), 0);
    for (const struct step *step = life->steps; step->known; step++) {
        if (step->config)
            detector_configure(detector, step->config);
        for (; step->every && now + step->every < step->now; now += step->every) {
            play_scan(detector, step, now + step->every, text);
            assert_null(strchr(text, ';'));
        }
        now = step->now;
        play_scan(detector, step, now, text);
        if (strcmp(text, step->known) != 0)
            fail_msg("at %llu: \"%s\", and not \"%s\"", (unsigned long long)now, text, step->known);
        if (step->due)
            assert_int_equal(detector_next_due(detector), step->due);
    }
    detector_free(detector);
}

/* A test of the steps that follow; more: other fields of struct life, as `.config = &config`. */
#define LIFE(name, ...)                                                                                                \
    extern const struct step name[];                                                                                   \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        play(&(const struct life){.steps = name, __VA_ARGS__});                                                        \
    }                                                                                                                  \
    const struct step name[]

#endif
