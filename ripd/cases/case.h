/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.h - everything known about one suspect: what the detector saw, the evidence, the lock, the verdict, the item for
 * lists, and the episode with its events. Pure.
 *
 * A case is made when an id becomes a suspect. It is freed when the id is no suspect any more and its episode is over
 * and published. Cases are ordered by ring and slot. Modules fill in the fields of a case; no module keeps a table
 * beside it. Only the scanner thread uses cases.
 *
 *   cases_begin()     makes a case for each suspect of a scan
 *   (the probe fills in evidence, kernel and lock; the wait graph fills in evidence.deadlocked)
 *   cases_judge()     turns evidence into verdicts for the detector
 *   cases_end()       takes the detector's result: states, episodes that begin or end
 *   cases_publish()   decides which begins and ends are published now
 *
 * Terms: a stall is one freeze of an id beyond its threshold. An episode is one or more stalls of an id that follow
 * each other closely. An incident is a set of episodes with the same root (cases/incidents.h).
 *
 * Guarantees
 *   A. An id has at most one case. A case belongs to one generation of one slot.
 *   B. Evidence belongs to one freeze: when the progress or the thread of the id changes, all evidence is dropped.
 *   C. The begin of an episode is published at once if its user has quota (WORK_EVENTS, WORK_EPISODES); otherwise it
 *      waits in the case. If the episode is over first, begin and end are published together and counted as belated. No
 *      end is published without its begin. WORK_BELATED limits how many finished episodes of a user may wait; the rest
 *      are counted as suppressed.
 *   D. The end of an episode is published when the id has not stalled again for the hysteresis time. It carries the
 *      time at which the id moved. A stall within that time belongs to the same episode. If the id is gone, the episode
 *      ends at once.
 *   E. A user has at most as many cases as WORK_STALLS allows, and at most CASES_PER_RING_MAX per ring, so that one
 *      ring cannot use up all cases of its user. If begins have to wait, the rings of a user take turns. A suspect
 *      without a case is counted by the detector, but is in no list and has no events. Refused cases and
 *      suppressed stalls are counted.
 *   F. An episode of an earlier run of the daemon continues under its number (cases_adopt()): its begin is not
 *      published again, and its end is published once.
 *   G. A sleep that the thread announces begins no episode, and does not prolong an episode that is ending.
 *   H. The begin of an unexamined id waits for EPISODE_UNEXAMINED_SCANS, because its evidence decides which incident it
 *      belongs to (cases/incidents.h). It waits for EPISODE_UNEXAMINED_BEHIND_SCANS if another stall of the same ring
 *      has been examined: both probably belong to one incident.
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
#define EPISODE_UNEXAMINED_SCANS 4u /* scans for which the begin of an unexamined id is delayed */
#define EPISODE_UNEXAMINED_BEHIND_SCANS 32u

struct item;
struct process_facts;

enum episode_stage {
    EPISODE_NONE,   /* the id has not stalled yet, or the episode is over and published */
    EPISODE_OPEN,   /* the id is stalled */
    EPISODE_ENDING, /* the id has moved; the hysteresis time runs */
    EPISODE_OVER,   /* the end has to be published */
};

struct episode {
    enum episode_stage stage;
    uint64_t number;              /* 0: the begin is not published yet */
    uint64_t incident;            /* 0: not known yet (cases/incidents.h) */
    uint32_t waiting_count;       /* stalled ids that waited for the same root when the begin was published */
    struct event *begin;          /* published begin; NULL: none, or out of memory */
    uint64_t frozen_mono_ns;      /* first scan that saw the id frozen */
    uint64_t begun_mono_ns;       /* scan on which the id first stalled */
    uint64_t moved_mono_ns;       /* scan that saw the id move */
    uint64_t progress;            /* at which the id was frozen first */
    uint64_t moved_after_mono_ns; /* as in struct detector_event, for the first stall */
    uint32_t stall_count;         /* stalls merged into the episode, at least 1 */
    uint32_t unexamined_count;    /* scans on which the id was stalled but not examined yet */
    enum detector_event_kind reason;
    enum id_cause cause; /* of an open episode: as of its published begin, or of its latest stall */
};

/* What an id ultimately waits for; the same on every scan (cases/incidents.h). */
struct stall_root {
    uint32_t kind; /* enum waits_kind, STALL_ROOT_PROCESS or STALL_ROOT_UNEXAMINED */
    uint32_t ring;
    uint32_t place;  /* slot, or process */
    uint32_t number; /* generation, or thread */
};

struct stall_case {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint32_t user; /* user whose quota the case is charged to */

    bool is_suspect;                 /* on this scan */
    bool is_opened;                  /* no suspect, but examined nevertheless: cases_open() */
    struct detector_suspect suspect; /* as of the last scan on which the id was a suspect */

    /* Filled in by the probe. Belongs to one freeze. */
    struct kernel_times first;   /* first look at the thread; read_mono_ns 0: none */
    struct kernel_times last;    /* last look */
    struct kernel_times steady;  /* first look since the thread last went to sleep or woke */
    uint64_t decoded_mono_ns;    /* when its wait was last read; 0: never, or only in part */
    uint64_t examined_mono_ns;   /* when it was last examined */
    enum evidence_wait wait;     /* as of decoded_mono_ns */
    struct kernel_facts *kernel; /* a reference; NULL: nothing is known */
    struct lock_wait lock;       /* holder.address 0: it waits for no known lock */
    uint32_t sought_count;       /* consecutive scans on which the holder of its lock was not found */
    bool end_cut;                /* no budget was left to find the other end of what it waits for */
    uint32_t left_count;         /* consecutive scans without verdict and without examination */
    bool doubted;                /* it is in a cycle that is not certain: its wait must be read again */
    struct evidence evidence;    /* of this scan */
    uint32_t process_index;      /* of this scan: its process, and the next case of that process */
    uint32_t next_index;
    bool is_confirming; /* it is examined a second time on this scan */

    /* Filled in by the module that describes ids for lists. */
    struct item *item; /* a reference; NULL: not described */
    uint64_t item_progress;
    uint32_t item_tid;
    uint8_t item_name_version;
    const struct process_facts *item_process; /* compared only, never dereferenced */
    bool names_asked;

    struct episode episode;
    struct stall_root root; /* as of the last scan on which something was published */
    bool waits;             /* as of that scan: it waits for another id, or is in a deadlock */

    uint64_t lived_wall_ns;  /* last time it was a suspect and had not exited; 0: never */
    uint64_t exited_wall_ns; /* when it was found to have exited; 0: it has not */
};

struct cases;

/* Returns NULL if out of memory. work stays owned by the caller. */
struct cases *cases_new(struct work *work, uint64_t hysteresis_ns);
void cases_free(struct cases *cases);
/* Takes effect on the next cases_end(). unexamined_scans replaces EPISODE_UNEXAMINED_SCANS; 0: no begin waits. */
void cases_configure(struct cases *cases, uint64_t hysteresis_ns, uint32_t unexamined_scans);

/*
 * Makes cases for the suspects of a scan, which are ordered by ring and slot. user_of returns the user that a ring is
 * charged to. Returns 0, or -ENOMEM: then some suspects have no case.
 */
int cases_begin(struct cases *cases, const struct detector_suspect *suspects, size_t count,
                uint32_t (*user_of)(void *context, uint32_t ring), void *context);

/* Returns all cases, ordered by ring and slot; valid until the next cases_begin() or cases_adopt(). */
struct stall_case *const *cases_all(const struct cases *cases, size_t *ret_count);

/* Returns NULL if that generation of that slot has no case. */
struct stall_case *cases_find(const struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation);

/*
 * Opens a case for an idle id, so that the probe examines it as if it were a suspect. It has no verdict and no episode.
 * Call on each scan between cases_begin() and the probe, until cases_close() or until the id is a suspect. Returns 0,
 * or -ENOMEM, also if the user has no quota for another case.
 */
int cases_open(struct cases *cases, const struct detector_suspect *thread, uint32_t user);
void cases_close(struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation);

/* Whether the probe examines the thread. */
static inline bool case_is_examined(const struct stall_case *stall)
{
    return stall->is_suspect ? !stall->suspect.unread : stall->is_opened;
}

/* Fills in the verdicts of the detector's suspects. Call between detector_suspects() and detector_end(). */
void cases_judge(const struct cases *cases, struct detector_suspect *suspects, size_t count);

/* Takes the detector's result: states as of this scan, and the stalls that began or ended. */
void cases_end(struct cases *cases, const struct detector_update *update, uint64_t now_mono_ns);

/* Stores when ids exited. Call after cases_end() with the time of the scan. */
void cases_note_exits(struct cases *cases, uint64_t now_wall_ns);

/*
 * Continues an episode of an earlier run whose id is still stalled. Takes a reference to episode->begin. Returns 0,
 * -EEXIST if the id has an episode, or -ENOMEM, also if the user has no quota for another case.
 */
int cases_adopt(struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation, uint32_t user,
                const struct episode *episode);

struct case_report {
    enum event_kind kind;
    struct stall_case *stall; /* valid until the next cases_begin() */
};

/*
 * Returns how many begins and ends are published now. *ret_reports is valid until the next call. For each user, ends
 * come before begins and the oldest end comes first; begins of different rings take turns.
 *
 * The episode of a begin has its number; the caller fills in episode.begin with a reference. The next cases_begin()
 * drops the `begin` of an episode whose end was published. Uses the job queue of struct work, and drops jobs that are
 * in it.
 */
size_t cases_publish(struct cases *cases, const struct case_report **ret_reports);

/* Later episodes get higher numbers than this. */
void cases_set_last_episode(struct cases *cases, uint64_t number);

/*
 * How long the decoded wait of a thread stays valid while the thread does not run. The time grows while the id is idle,
 * because there are many idle ids. A wait for a lock is read at the normal rate, because the holder may change.
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

/* Drops what was found about the thread, because it is another thread or another freeze. Keeps `evidence`. */
void case_forget_evidence(struct stall_case *stall);

struct cases_counters {
    uint64_t count;            /* now */
    uint64_t open_count;       /* episodes whose end is not published */
    uint64_t waiting_count;    /* begins and ends that wait for quota, now */
    uint64_t suppressed_count; /* stalls without a case, or dropped by WORK_BELATED: no event. Monotonic */
    uint64_t belated_count;    /* episodes whose begin was published together with their end. Monotonic */
};
void cases_count(const struct cases *cases, struct cases_counters *ret_counters);

#endif
