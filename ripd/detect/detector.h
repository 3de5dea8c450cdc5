/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector.h - which ids have stopped moving. Pure: time is an argument, nothing is read, nothing is logged.
 *
 * A scan is: detector_begin(); for each ring in ascending order of serial detector_ring() and detector_feed() any
 * number of times, or detector_skip(); detector_unclassified() and finding the rules of those ids; detector_suspects()
 * and a verdict on each; detector_end(). detector_adopt() comes before the first scan, detector_configure() between
 * scans.
 *
 * Guarantees
 *   A. frozen_for_ns is what was observed: from the first scan that saw the present progress, counting at most one
 *      interval for each gap between scans. frozen_for_max_ns is the other end: real time since the last scan that
 *      saw an older progress. An adopted stall counts from when it was first seen frozen, before the daemon was started
 *      again, and the time without a daemon counts in full: the progress is a count of 64 bits that only grows, so
 *      finding it unchanged proves that the id has not moved in between.
 *   B. No id begins to stall on a scan that came late (a gap of more than 1.5 intervals): what held up the daemon may
 *      have held up the others.
 *   C. An id whose progress changed, or that declared itself idle, is not a suspect. An id leaves the stalled state at
 *      the first scan that sees either. One that is idle or running by a verdict stays a suspect, with its age.
 *   D. Memory is at most 64 bytes per live id, and is given back when ids go.
 *   E. detector_next_due() is the instant at which the earliest suspect falls due if nothing moves; after a late scan
 *      it is at least a quarter of an interval away, so that every id has had a chance to run.
 *   F. An id whose rule is not known does not begin to stall. It is unclassified on every scan until its rule is known.
 *   G. The ids of a ring that is skipped keep what is known of them as of the last time it was read: none becomes a
 *      suspect, leaves, or gets older. When the ring is read again, an id that is unchanged has stood still all the
 *      time, by the same proof as in A; one that moved did so after the ring was read last.
 */
#ifndef RIPD_DETECT_DETECTOR_H
#define RIPD_DETECT_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/rules.h"
#include "detect/state.h"
#include "rip/reader.h"

#define DETECTOR_UNKNOWN_NS UINT64_MAX

struct detector_config {
    uint64_t interval_ns;
    uint64_t stall_after_ns;                /* of ids to which no rule applies and that have no deadline of their own */
    size_t rule_count;                      /* at most RULES_MAX; 0: no id is unclassified */
    uint64_t rule_thresholds_ns[RULES_MAX]; /* by number of the rule */
};

struct detector;

int detector_new(struct detector **ret_detector, const struct detector_config *config);
void detector_free(struct detector *detector);

/*
 * Other intervals, thresholds and rules, from the next scan on; between detector_end() and detector_begin(). What is
 * known of the ids stays; all are unclassified. On the next scan those that are beyond a threshold that is shorter now
 * begin to stall, and those that are not beyond one that is longer now do not stall any more (DETECTOR_EXCUSED).
 */
void detector_configure(struct detector *detector, const struct detector_config *config);

/* A stall that was open when the daemon stopped. */
struct detector_adoption {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    enum id_cause cause;
    uint64_t progress;
    uint64_t frozen_since_mono_ns; /* of the clock of detector_begin(), which has not been set back since: same boot */
    uint64_t moved_after_mono_ns;  /* as in struct detector_event */
};

/*
 * Stalls of which the first scan, at now_mono_ns, shall find out whether they go on: before the first detector_begin(),
 * at most once, when the rings have got their serials. Each is as if this daemon had seen it: one whose progress and
 * generation are unchanged is stalled at once, with its whole age, without a DETECTOR_STALLED event; of the others
 * there is the event that ends it. -EINVAL: a slot is named twice; -ENOMEM. Then they stand still as if from now on.
 */
int detector_adopt(struct detector *detector, uint64_t now_mono_ns, const struct detector_adoption *adoptions,
                   size_t count);

/* A scan starts at now_mono_ns; detector_end() must follow before the next. Returns the gap that was not counted, 0
 * when the scan is on time. */
uint64_t detector_begin(struct detector *detector, uint64_t now_mono_ns);

#define DETECTOR_LIVES 0u
#define DETECTOR_DEAD 1u  /* which is the number of no cause that stops, */
#define DETECTOR_STUCK 2u /* as this is */

/*
 * The ring whose samples follow. serial is the caller's and never used again for another ring. conditions[] says for
 * each of process_count records whether its process lives, is dead, or is stopped as a whole: an enum id_cause for
 * which id_cause_stops(); or is stuck: all its threads wait, and none is left to wake them. An idle id of it that
 * announces RIP_CALL_PRIVATE stands still from then on, as one that runs. A process at an index beyond it lives. An
 * idle id of a stopped process is stopped, without being a suspect, and idle again when that is over; the others are
 * judged as ever. A ring that is not named in a scan is forgotten, with its ids. -EINVAL: not in order; -ENOMEM:
 * without some of the new ids of the ring before, or without this ring.
 */
int detector_ring(struct detector *detector, uint32_t serial, const uint8_t *conditions, size_t process_count);

/*
 * In place of detector_ring(): the ring is not read on this scan, see guarantee G. Its ids that are stalled, stopped or
 * exited are among the suspects, marked unread. Not on the first scan after detector_adopt(). -EINVAL: not in order.
 */
int detector_skip(struct detector *detector, uint32_t serial);

/* Samples of the present ring, ascending by slot over all calls. -ENOMEM: the scan goes on without the new ids. */
int detector_feed(struct detector *detector, const struct rip_sample *samples, size_t count);

#define DETECTOR_RULE_UNKNOWN (-2)

/* An id of which it is not known which rule applies: a new one, or any after detector_configure(). */
struct detector_unclassified {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    int rule; /* the caller's answer: a number, or RULES_NONE; DETECTOR_RULE_UNKNOWN = unclassified on the next scan */
};

/*
 * All unclassified ids of this scan, in order of ring and slot; none where there are no rules. Owned by the detector;
 * valid until detector_suspects(), which takes the answers.
 */
struct detector_unclassified *detector_unclassified(struct detector *detector, size_t *ret_count);

/* Outside of all calls, so that only looks over some time can say what it does: see enum rip_call. */
static inline bool detector_is_outside(uint8_t call)
{
    return call == RIP_CALL_OUTSIDE || call == RIP_CALL_INTERPRETER || call == RIP_CALL_COMPUTES;
}

/*
 * An id that is frozen beyond its threshold. The caller fills in its verdict. Or one that is outside of all calls,
 * beyond a quarter of it, on late scans too: so that what takes looks over some time is known when it is due. It stays
 * running until then, whatever the verdict.
 */
struct detector_suspect {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint32_t tid;
    uint16_t process;
    uint8_t call;         /* enum rip_call: what its thread announces */
    uint8_t name_version; /* changes with its name */
    bool unread; /* its ring was skipped: tid and process are not known, nothing is examined, its verdict is ignored */
    uint64_t progress;
    uint64_t frozen_since_ns; /* on the detector's own clock, which counts gaps as guarantee A says; a key for order */
    uint64_t frozen_for_ns;
    uint64_t frozen_for_max_ns; /* DETECTOR_UNKNOWN_NS: its progress has been the same ever since it was first seen */
    uint64_t threshold_ns;      /* DETECTOR_UNKNOWN_NS: it is unclassified */
    enum id_state state;        /* as of the last scan: ID_RUNNING for a new one, or by the verdict; never ID_DEAD */
    enum id_cause cause;        /* as of the last scan */
    struct verdict verdict;     /* the caller's: any but ID_DEAD. ID_RUNNING without a cause counts as stalled; with
                                   CAUSE_UNSEEN it runs. ID_IDLE has a reason as its cause */
};

/* All suspects of this scan, in order of ring and slot. Owned by the detector; valid until detector_end(). */
struct detector_suspect *detector_suspects(struct detector *detector, size_t *ret_count);

enum detector_event_kind {
    DETECTOR_STALLED, /* began to stall */
    DETECTOR_MOVED,   /* was stalled; moved, declared itself idle, or is found to wait for work */
    DETECTOR_STOPPED, /* was stalled; is stopped */
    DETECTOR_GONE,    /* was stalled; exited, died, or its ring is gone */
    DETECTOR_EXCUSED, /* was stalled; its threshold is longer now */
};

struct detector_event {
    enum detector_event_kind kind;
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    enum id_cause cause;
    uint64_t progress;            /* at which it stood still */
    uint64_t frozen_for_ns;       /* of the stall that began or ended, as last observed */
    uint64_t moved_after_mono_ns; /* the last scan that saw an older progress; DETECTOR_UNKNOWN_NS: none did */
};

/* The result of a scan. The arrays are the detector's, valid until the next detector_begin(). */
struct detector_update {
    uint64_t counts[ID_STATE_COUNT];
    uint64_t halted_counts[CAUSE_COUNT];     /* of counts[ID_STOPPED], those that are no suspects */
    const struct detector_suspect *suspects; /* state and cause are now this scan's */
    size_t suspect_count;
    const struct detector_event *events;
    size_t event_count;
    bool late;                   /* no stall began, because the scan came late */
    uint64_t late_count;         /* late scans since the start */
    uint64_t id_count;           /* live ids known */
    uint64_t unclassified_count; /* of them those whose rule is still not known */
    uint64_t memory_bytes;       /* what the table takes */
};
void detector_end(struct detector *detector, struct detector_update *ret_update);

/* When the next scan should be at the latest for a suspect's sake, on the clock of detector_begin(); UINT64_MAX = none.
 */
uint64_t detector_next_due(const struct detector *detector);

/*
 * One id as the detector knows it, for views. An idle one is frozen since the scan that found it idle at its progress,
 * a dead one since the scan that found it dead, and its progress is 0. has_last: it is exited or dead, and was what
 * `last` says before; for last_for_ns, up to now or to its death.
 */
struct detector_id {
    enum id_state state;
    enum id_cause cause;
    bool has_last;
    struct verdict last;
    uint64_t last_for_ns;
    uint64_t progress;
    uint64_t frozen_since_ns;
    uint64_t frozen_for_ns;
    uint64_t frozen_for_max_ns;
    uint64_t threshold_ns; /* DETECTOR_UNKNOWN_NS: it is unclassified */
};
/* -ENOENT if that generation of that slot is not known. */
int detector_find(const struct detector *detector, uint32_t ring, uint32_t slot, uint32_t generation,
                  struct detector_id *ret_id);

/* The known ids of a ring by state; all 0 if there is no such ring. */
void detector_ring_counts(const struct detector *detector, uint32_t ring, uint64_t ret_counts[ID_STATE_COUNT]);

/* Every known id of a ring in order of slot, while visit returns 0; returns what visit returned last. */
int detector_visit(const struct detector *detector, uint32_t ring,
                   int (*visit)(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id),
                   void *context);

#endif
