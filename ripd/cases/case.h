/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.h - all that is known of one suspect: what the detector saw, the evidence, the lock, the verdict, the described
 * item, and the episode with its events. Pure.
 *
 * A case is made when an id becomes a suspect, and goes when the id is none any more and its episode is over and
 * published. The set is ordered by ring and slot. Modules fill in the fields of a case; none keeps a table beside it.
 * Of the scanner's thread.
 *
 *   cases_begin()     the suspects of a scan get their cases
 *   (the probe fills in evidence, kernel, lock; the graph of waits fills in evidence.deadlocked, wait_node)
 *   cases_judge()     evidence -> verdicts, for the detector
 *   cases_end()       what the detector made of them: states, episodes that begin or end
 *   cases_publish()   which begins and ends are published now
 *
 * Guarantees
 *   A. An id has at most one case; a case is of one generation of one slot.
 *   B. Evidence is of one standstill: when the id has another progress or another thread, nothing of it is left.
 *   C. The begin of an episode is published at once where its user has room for it (WORK_EVENTS, WORK_EPISODES),
 *      otherwise it waits in the case. If the episode is over first, begin and end are published together, which is
 *      counted. No end is published without its begin. Of those that are over and wait, a user has as many as
 *      WORK_BELATED gives him; the others are counted as suppressed.
 *   D. The end of an episode is published when the id has not stalled again for the hysteresis time, and carries the
 *      moment at which it moved; a stall before that belongs to the same episode. An id that is gone ends it at once.
 *   E. A user has as many cases as WORK_STALLS gives him, and CASES_PER_RING_MAX of one ring, so that one of his rings
 *      leaves room for the others; where begins wait, his rings take turns. A suspect without a case is counted by the
 *      detector and in no list, and has no events; both are counted.
 *   F. An episode of an earlier run of the daemon goes on under its number (cases_adopt()): its begin is not published
 *      again, and its end once.
 *   G. A sleep that a thread announces begins no episode, and prolongs none that is ending.
 *   H. The begin of one that was not examined yet waits for EPISODE_UNEXAMINED_SCANS: its evidence says whose incident
 *      it belongs to (cases/incidents.h). While a stall of its ring is known for what it is, for
 *      EPISODE_UNEXAMINED_BEHIND_SCANS: it is probably of the same incident.
 */
#ifndef RIPD_CASES_CASE_H
#define RIPD_CASES_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/cause.h"
#include "cases/event.h"
#include "cases/kernel.h"
#include "cases/lock_wait.h"
#include "detect/detector.h"
#include "work/work.h"

#define CASES_PER_RING_MAX 65536u
#define EPISODE_UNEXAMINED_SCANS 4u /* for so many the begin of one that was not examined yet is put off */
#define EPISODE_UNEXAMINED_BEHIND_SCANS 32u

struct item;
struct process_facts;

enum episode_stage {
    EPISODE_NONE,   /* the id has not stalled yet, or the episode is over and published */
    EPISODE_OPEN,   /* it is stalled */
    EPISODE_ENDING, /* it has moved, and the hysteresis time runs */
    EPISODE_OVER,   /* the end is to be published */
};

struct episode {
    enum episode_stage stage;
    uint64_t number;              /* 0 = its begin is not published yet */
    uint64_t incident;            /* that it belongs to (cases/incidents.h); 0 = not known yet */
    uint32_t waiting_count;       /* stalled ids that waited for its root when it was published */
    struct event *begin;          /* the published begin; NULL = none, or there was no memory for it */
    uint64_t frozen_mono_ns;      /* the first frozen observation */
    uint64_t begun_mono_ns;       /* the scan on which it stalled first */
    uint64_t moved_mono_ns;       /* the scan that saw it move */
    uint64_t progress;            /* at which it stood still first */
    uint64_t moved_after_mono_ns; /* as in struct detector_event, of the first stall */
    uint32_t stall_count;         /* merged into it, at least 1 */
    uint32_t unexamined_count;    /* scans on which it was stalled, and nobody had looked at its thread yet */
    enum detector_event_kind reason;
    enum id_cause cause; /* of an open one: as its begin was published, or as it stalled again */
};

/* Who holds an id up, the same on every scan (cases/incidents.h). */
struct stall_root {
    uint32_t kind; /* enum waits_kind, or STALL_ROOT_PROCESS */
    uint32_t ring;
    uint32_t place;  /* slot, or process */
    uint32_t number; /* generation, or the thread */
};

struct stall_case {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint32_t user; /* whose account it is on */

    bool is_suspect;                 /* on this scan */
    bool is_opened;                  /* it is none, and examined all the same: cases_open() */
    struct detector_suspect suspect; /* as of the last scan on which it was one */

    /* The probe's; of one standstill. */
    struct kernel_times first;   /* the first look at its thread; read_mono_ns 0 = none */
    struct kernel_times last;    /* the last one */
    struct kernel_times steady;  /* the first one after it last went to sleep or woke */
    uint64_t decoded_mono_ns;    /* when it was last asked what it waits for; 0 = never, or not all was known */
    uint64_t examined_mono_ns;   /* when it last had a turn */
    enum evidence_wait wait;     /* as of decoded_mono_ns */
    struct kernel_facts *kernel; /* a reference; NULL = nothing is known */
    struct lock_wait lock;       /* holder.address 0 = it waits for none that is known */
    uint32_t sought_count;       /* scans in a row on which the holder of its lock was not found out */
    bool end_cut;                /* there was no time to find who has the other end of what it waits for */
    uint32_t left_count;         /* scans in a row on which it had no verdict and was not examined */
    bool doubted;                /* what it waits for has to be read again: it is in a cycle that is not certain */
    struct evidence evidence;    /* of this scan */
    uint32_t process_index;      /* of this scan: its process, and the next case of that process */
    uint32_t next_index;
    bool is_confirming; /* it is examined a second time on this scan */

    /* The lister's. */
    struct item *item; /* a reference; NULL = not described */
    uint64_t item_progress;
    uint32_t item_tid;
    uint8_t item_name_version;
    const struct process_facts *item_process; /* compared, never followed */
    bool names_asked;

    struct episode episode;
    struct stall_root root; /* as of the last scan on which something was published */
    bool waits;             /* the same: for another one, or in a deadlock */

    uint64_t lived_wall_ns;  /* when it was a suspect last that had not exited; 0 = never */
    uint64_t exited_wall_ns; /* since when it is known to be exited; 0 = it is not */
};

struct cases;

struct cases *cases_new(struct work *work, uint64_t hysteresis_ns); /* NULL: no memory. work stays the caller's */
void cases_free(struct cases *cases);
/* From the next cases_end() on. unexamined_scans: EPISODE_UNEXAMINED_SCANS at first; 0: no begin waits. */
void cases_configure(struct cases *cases, uint64_t hysteresis_ns, uint32_t unexamined_scans);

/*
 * Cases for the suspects of a scan, which are in order of ring and slot. user_of says whose account a ring is on.
 * 0, or -ENOMEM: some suspects have no case.
 */
int cases_begin(struct cases *cases, const struct detector_suspect *suspects, size_t count,
                uint32_t (*user_of)(void *context, uint32_t ring), void *context);

/* All cases, in order of ring and slot; valid until the next cases_begin() or cases_adopt(). */
struct stall_case *const *cases_all(const struct cases *cases, size_t *ret_count);

/* NULL: that generation of that slot has none. */
struct stall_case *cases_find(const struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation);

/*
 * An idle id, as if it were a suspect, is examined by the probe on each scan until cases_close(), or until it is a
 * suspect: between cases_begin() and the probe, on each scan. It has no verdict and no episode. -ENOMEM, also when its
 * user has as many cases as he may.
 */
int cases_open(struct cases *cases, const struct detector_suspect *thread, uint32_t user);
void cases_close(struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation);

/* Whether the probe looks at its thread. */
static inline bool case_is_examined(const struct stall_case *stall)
{
    return stall->is_suspect ? !stall->suspect.unread : stall->is_opened;
}

/* Fills in the verdicts of the suspects: the detector's, between detector_suspects() and detector_end(). */
void cases_judge(const struct cases *cases, struct detector_suspect *suspects, size_t count);

/* Takes in what the detector made of the verdicts: states as of this scan, and what began or ended. */
void cases_end(struct cases *cases, const struct detector_update *update, uint64_t now_mono_ns);

/* Notes when ids exited: after cases_end(), with the time of the scan. */
void cases_note_exits(struct cases *cases, uint64_t now_wall_ns);

/* An episode of an earlier run whose id is stalled as it was. Takes a reference to begin. -EEXIST, -ENOMEM. */
int cases_adopt(struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation, uint32_t user,
                const struct episode *episode);

struct case_report {
    enum event_kind kind;
    struct stall_case *stall; /* valid until the next cases_begin() */
};

/*
 * What is published now: of each user ends before begins, the oldest ends first, begins of his rings in turn. The
 * episode of a begin has got its number; its `begin` is the caller's to fill in, with a reference. That of an end is
 * dropped by the next cases_begin(). Returns how many; *ret_reports is valid until the next call. Takes over the queue
 * of the struct work: jobs that are still in it are dropped.
 */
size_t cases_publish(struct cases *cases, const struct case_report **ret_reports);

/* Numbers of later episodes are higher. */
void cases_set_last_episode(struct cases *cases, uint64_t number);

/*
 * For how long what its thread waits for counts as read, if it does not run: the longer the longer it has been idle,
 * for idle ones are many. One that waits for a lock is read as often as others: its holder may change.
 */
#define CASE_REFRESH_NS UINT64_C(5000000000)
#define CASE_REFRESH_IDLE_MAX_NS UINT64_C(40000000000)
static inline uint64_t case_refresh_ns(const struct stall_case *stall)
{
    const uint64_t first_ns = stall->first.read_mono_ns, last_ns = stall->decoded_mono_ns;

    if (stall->suspect.state != ID_IDLE || stall->suspect.cause == CAUSE_DECLARED ||
        last_ns < first_ns + CASE_REFRESH_NS)
        return CASE_REFRESH_NS;
    return last_ns - first_ns < CASE_REFRESH_IDLE_MAX_NS ? last_ns - first_ns : CASE_REFRESH_IDLE_MAX_NS;
}

/* What was found out about its thread is dropped: it is another one, or of another time. evidence stays. */
void case_forget_evidence(struct stall_case *stall);

struct cases_counters {
    uint64_t count;            /* cases now */
    uint64_t open_count;       /* episodes whose end is not published */
    uint64_t waiting_count;    /* begins and ends that wait for room, now */
    uint64_t suppressed_count; /* stalls that had no case, and so no event; only grows */
    uint64_t belated_count;    /* episodes whose begin was published with their end; only grows */
};
void cases_count(const struct cases *cases, struct cases_counters *ret_counters);

#endif
