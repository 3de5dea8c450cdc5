/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector.h - finds the ids that have stopped moving. Pure: time is an argument, nothing is read, nothing is logged.
 *
 * Order of calls in one scan:
 *
 *   1. detector_begin().
 *   2. For each ring, in ascending order of serial: detector_ring() and any number of detector_feed(), or
 *      detector_skip().
 *   3. detector_unclassified(). The caller fills in the rule of each id.
 *   4. detector_suspects(). The caller fills in a verdict for each suspect.
 *   5. detector_end().
 *
 * detector_adopt() comes before the first scan. detector_configure() is called between scans.
 *
 * Terms: an id is frozen while its progress does not change. A frozen id becomes due when it has been frozen for its
 * threshold. A due id is a suspect. A suspect stalls if the verdict says so.
 *
 * Guarantees
 *   A. frozen_for_ns is the observed time: it starts at the first scan that saw the present progress, and each gap
 *      between scans adds at most one interval. frozen_for_max_ns is the upper bound: real time since the last scan
 *      that saw an older progress. An adopted stall counts from when it was first seen frozen, before the daemon
 *      restarted. The time without a daemon counts in full: the progress is a 64-bit counter that only grows, so an
 *      unchanged progress proves that the id has not moved.
 *   B. No id begins to stall on a late scan (a gap of more than 1.5 intervals). Whatever delayed the daemon may have
 *      delayed the ids, too.
 *   C. An id whose progress changed, or that declared itself idle, is not a suspect. An id leaves the stalled state at
 *      the first scan that sees either. An id that is idle or running only by a verdict stays a suspect and keeps its
 *      age.
 *   D. Memory is at most 64 bytes per live id, and is freed when ids go.
 *   E. detector_next_due() is the instant at which the first id becomes due if nothing moves. After a late scan it is
 *      at least a quarter of an interval away, so that every id gets a chance to run.
 *   F. An id whose rule is not known does not begin to stall. It is unclassified on every scan until its rule is known.
 *   G. The ids of a skipped ring keep their state as of the last time the ring was read: none becomes a suspect,
 *      leaves, or ages. When the ring is read again, an unchanged id has been frozen all the time, by the same proof as
 *      in A. An id that moved did so after the ring was last read.
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
    uint64_t stall_after_ns;                /* for ids without a matching rule and without a deadline of their own */
    size_t rule_count;                      /* at most RULES_MAX; 0: no id is ever unclassified */
    uint64_t rule_thresholds_ns[RULES_MAX]; /* by rule number */
};

struct detector;

int detector_new(struct detector **ret_detector, const struct detector_config *config);
void detector_free(struct detector *detector);

/*
 * Changes intervals, thresholds and rules from the next scan on. Call between detector_end() and detector_begin(). All
 * ids keep their state and become unclassified. On the next scan, an id that is beyond its new, shorter threshold
 * begins to stall; an id that is below its new, longer threshold stops stalling (DETECTOR_EXCUSED).
 */
void detector_configure(struct detector *detector, const struct detector_config *config);

/* A stall that was open when the previous daemon stopped. */
struct detector_adoption {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    enum id_cause cause;
    uint64_t progress;
    uint64_t frozen_since_mono_ns; /* clock of detector_begin(), same boot */
    uint64_t moved_after_mono_ns;  /* as in struct detector_event */
};

/*
 * Adopts stalls of a previous daemon; the first scan decides whether each of them continues. Call at most once, before
 * the first detector_begin(), when the rings have their serials. If progress and generation are unchanged, the id is
 * stalled at once with its whole age and without a DETECTOR_STALLED event. Otherwise there is the event that ends the
 * stall.
 *
 * Returns 0, -EINVAL if a slot is named twice, or -ENOMEM. On failure the adopted ids count as frozen from now on.
 */
int detector_adopt(struct detector *detector, uint64_t now_mono_ns, const struct detector_adoption *adoptions,
                   size_t count);

/*
 * Starts a scan at now_mono_ns. detector_end() must follow before the next detector_begin(). Returns the part of the
 * gap that is not counted, or 0 if the scan is on time.
 */
uint64_t detector_begin(struct detector *detector, uint64_t now_mono_ns);

#define DETECTOR_LIVES 0u
#define DETECTOR_DEAD 1u  /* differs from every cause for which id_cause_stops() */
#define DETECTOR_STUCK 2u /* likewise */

/*
 * Starts a ring; its samples follow. The caller chooses serial and never reuses it for another ring. A ring that is not
 * named in a scan is forgotten, with its ids.
 *
 * conditions[] has one entry for each of the process_count process records. A process with a higher index lives.
 *
 *   - DETECTOR_LIVES.
 *   - DETECTOR_DEAD.
 *   - DETECTOR_STUCK: all threads of the process wait, and none is left to wake them. An idle id that announces
 *     RIP_CALL_PRIVATE counts as running from then on, so that it can become a suspect.
 *   - A cause for which id_cause_stops(): the process is stopped as a whole. An idle id of it is stopped but no
 *     suspect, and becomes idle again when the stop ends. Its other ids are judged as usual.
 *
 * Returns 0, -EINVAL if the rings are not in order, or -ENOMEM: either some new ids of the previous ring are missing,
 * or this whole ring is.
 */
int detector_ring(struct detector *detector, uint32_t serial, const uint8_t *conditions, size_t process_count);

/*
 * Call in place of detector_ring() if the ring is not read on this scan; see guarantee G. Its ids that are stalled,
 * stopped, exited, or idle by a verdict are suspects, marked unread. Not allowed on the first scan after
 * detector_adopt().
 *
 * Returns 0, -EINVAL if the rings are not in order, or -ENOMEM if suspects are missing.
 */
int detector_skip(struct detector *detector, uint32_t serial);

/* Takes samples of the current ring, ascending by slot over all calls. On -ENOMEM the scan goes on without new ids. */
int detector_feed(struct detector *detector, const struct rip_sample *samples, size_t count);

#define DETECTOR_RULE_UNKNOWN (-2)

/* An id whose rule is not known: a new id, one whose name changed, or any id after detector_configure(). */
struct detector_unclassified {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    int rule; /* set by the caller: a rule number, RULES_NONE, or DETECTOR_RULE_UNKNOWN (ask again on the next scan) */
};

/*
 * Returns all unclassified ids of this scan, ordered by ring and slot; none if there are no rules. The detector owns
 * the array. It is valid until detector_suspects(), which reads the rules that the caller set.
 */
struct detector_unclassified *detector_unclassified(struct detector *detector, size_t *ret_count);

/* Returns true if the thread is outside of all announced calls. Then only repeated looks can show whether it spins. */
static inline bool detector_is_outside(uint8_t call)
{
    return call == RIP_CALL_OUTSIDE || call == RIP_CALL_INTERPRETER || call == RIP_CALL_COMPUTES;
}

/*
 * An id that is frozen beyond its threshold. The caller fills in the verdict.
 *
 * An id outside of all calls is a suspect already after a quarter of its threshold, on late scans, too: whether it
 * spins takes several looks, and the answer should be known when the id becomes due. Such an early suspect stays
 * running until then, whatever the verdict.
 */
struct detector_suspect {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint32_t tid;
    uint16_t process;
    uint8_t call;         /* enum rip_call: what the thread announces */
    uint8_t name_version; /* changes with the name */
    /* The ring was skipped: tid and process are unknown, nothing may be examined, and the verdict is ignored. */
    bool unread;
    uint64_t progress;
    uint64_t frozen_since_ns; /* on the detector's clock (guarantee A); use as a sort key */
    uint64_t frozen_for_ns;
    uint64_t frozen_for_max_ns; /* DETECTOR_UNKNOWN_NS: no change of progress was ever seen */
    uint64_t read_ago_ns;       /* the times above are those of the last reading of the ring, so long before the scan */
    uint64_t threshold_ns;      /* DETECTOR_UNKNOWN_NS: the id is unclassified */
    enum id_state state;        /* as of the previous scan; ID_RUNNING if new; never ID_DEAD */
    enum id_cause cause;        /* as of the previous scan */
    /*
     * Set by the caller: any state except ID_DEAD. ID_RUNNING without a cause counts as stalled; ID_RUNNING with
     * CAUSE_UNSEEN means that the id runs. ID_IDLE carries a reason as its cause.
     */
    struct verdict verdict;
};

/*
 * Returns all suspects of this scan, ordered by ring and slot. The detector owns the array, valid until detector_end().
 */
struct detector_suspect *detector_suspects(struct detector *detector, size_t *ret_count);

enum detector_event_kind {
    DETECTOR_STALLED, /* the id began to stall */
    DETECTOR_MOVED,   /* a stalled id moved, declared itself idle, or was found waiting for work */
    DETECTOR_STOPPED, /* a stalled id was stopped */
    DETECTOR_GONE,    /* a stalled id exited or died, or its ring is gone */
    DETECTOR_EXCUSED, /* a stalled id got a longer threshold */
};

struct detector_event {
    enum detector_event_kind kind;
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    enum id_cause cause;
    uint64_t progress;            /* at which the id was frozen */
    uint64_t frozen_for_ns;       /* of the stall that began or ended, as last observed */
    uint64_t moved_after_mono_ns; /* last scan that saw an older progress; DETECTOR_UNKNOWN_NS: none did */
};

/* The result of a scan. The detector owns the arrays, valid until the next detector_begin(). */
struct detector_update {
    uint64_t counts[ID_STATE_COUNT];
    uint64_t halted_counts[CAUSE_COUNT];     /* the part of counts[ID_STOPPED] that are not suspects, by cause */
    const struct detector_suspect *suspects; /* state and cause are those of this scan */
    size_t suspect_count;
    const struct detector_event *events;
    size_t event_count;
    bool late;                   /* the scan was late, so no stall began */
    uint64_t late_count;         /* late scans since the start */
    uint64_t id_count;           /* live ids known */
    uint64_t unclassified_count; /* live ids whose rule is still not known */
    uint64_t memory_bytes;       /* memory that the detector holds */
};
void detector_end(struct detector *detector, struct detector_update *ret_update);

/*
 * Returns the latest time for the next scan so that no suspect is reported late, on the clock of detector_begin().
 * Returns UINT64_MAX if no id can become due.
 */
uint64_t detector_next_due(const struct detector *detector);

/*
 * One id as the detector knows it, for views. An idle id is frozen since the scan that found it idle at its present
 * progress. A dead id is frozen since the scan that found it dead, and its progress is 0. If has_last is set, the id
 * has exited or is dead; `last` is its verdict before that, which held for last_for_ns, until now or until its death.
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
    uint64_t read_ago_ns;  /* the times are those of the last reading of the ring, so long before the last scan */
    uint64_t threshold_ns; /* DETECTOR_UNKNOWN_NS: the id is unclassified */
};
/* Returns 0, or -ENOENT if that generation of that slot is not known. */
int detector_find(const struct detector *detector, uint32_t ring, uint32_t slot, uint32_t generation,
                  struct detector_id *ret_id);

/* Counts the known ids of a ring by state. All counts are 0 if there is no such ring. */
void detector_ring_counts(const struct detector *detector, uint32_t ring, uint64_t ret_counts[ID_STATE_COUNT]);

/* Visits every known id of a ring in order of slot until visit returns non-zero. Returns the last result of visit. */
int detector_visit(const struct detector *detector, uint32_t ring,
                   int (*visit)(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id),
                   void *context);

#endif
