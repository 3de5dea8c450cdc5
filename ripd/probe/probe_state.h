/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_state.h - what the parts of the probe share. For ripd/probe alone.
 *
 *   probe.c      processes: asked about once per call, held while their threads are read
 *   evidence.c   suspects: in which order, until when
 *   pending.c    threads that are to be looked at: whose turn it is
 *   examine.c    one suspect's thread: read, compared with what is remembered of it, decoded
 */
#ifndef RIPD_PROBE_PROBE_STATE_H
#define RIPD_PROBE_PROBE_STATE_H

#include <stdbool.h>

#include "probe/evidence.h"
#include "probe/sockets.h"
#include "probe/watch.h"

/* What can be said of a process without looking at its threads. */
enum subject_kind {
    SUBJECT_ALIVE,   /* may be asked about */
    SUBJECT_GONE,    /* it is missing or dead */
    SUBJECT_UNKNOWN, /* no judgement: must not be asked about */
};

/* A process of suspects, during one call. */
struct subject {
    uint64_t key; /* ring serial and record */
    struct ring *ring;
    uint32_t process;
    enum subject_kind kind;
    bool asked;
    bool lost;     /* it is not the one of the record any more: what was read of it does not count */
    bool attested; /* only then more is asked than anyone is told */
    bool core_dumping;
    bool frozen;
    char leader_state;
    int hold; /* pidfd, -1 = none */
};

/*
 * In which order: never examined; in what may be a deadlock; after where the last call ended; before that; and those
 * whose verdict is known without a look, for what a look tells besides.
 */
enum pending_class {
    PENDING_NEW,
    PENDING_DOUBTED,
    PENDING_NEXT,
    PENDING_LATER,
    PENDING_STOPPED_NEXT,
    PENDING_STOPPED_LATER,
};

/* A suspect whose thread has to be looked at. The smallest comes first. */
struct pending {
    enum pending_class class;
    uint32_t suspect;
    uint64_t order;
};

/* What is to be done for the rings of one owner: [first, first + count) of a list. */
struct lane {
    size_t first;
    size_t count;
    uint64_t spent_ns;
};

struct probe {
    int proc;
    char *cgroup_path;
    uint64_t budget_ns;
    uint64_t tick_ns;
    struct remote *remote; /* NULL = none */
    bool anyones;          /* see struct probe_options */
    int diag;              /* for unix sockets, -1 = none */

    struct subject *subjects; /* of this call */
    size_t subject_count;
    size_t subject_capacity;
    uint32_t *queue; /* of subjects: indexes of those to be asked about, those of one owner together */
    size_t queue_capacity;
    uint32_t *places; /* of subjects by key, hashed; index + 1, 0 = empty */
    struct hash_key hash_key;
    size_t place_capacity;
    size_t hold_count;

    uint32_t *owners; /* of each suspect: index of its subject, NO_SUBJECT = none */
    size_t owner_capacity;
    struct pending *pending;                /* the lanes, each a heap */
    struct lane lanes[REGISTRY_OWNERS_MAX]; /* of pending; by owner of the ring */
    size_t pending_count;
    size_t pending_capacity;

    struct watches watches;
    struct sockets *sockets;
    uint64_t searched_ns; /* for other ends of what threads wait for, in this call */
    uint64_t ends_cut_count;
    uint32_t *again; /* suspects that need a second look in this call */
    size_t again_count;
    size_t again_capacity;
    uint64_t again_first_mono_ns; /* when the first look at the first of them was, and at the last */
    uint64_t again_last_mono_ns;

    uint64_t last_subjects[REGISTRY_OWNERS_MAX]; /* of each owner: key of the last one that was asked about */
    size_t last_owner;                           /* whose process was asked about last */
    uint64_t last_suspects[REGISTRY_OWNERS_MAX]; /* the same of a suspect that had been examined before */
    uint64_t last_doubted[REGISTRY_OWNERS_MAX];  /* of one in doubt */
    uint64_t last_stopped[REGISTRY_OWNERS_MAX];  /* and of one in a stopped process */

    struct kernel_facts *stopped_facts; /* of a thread that a signal has stopped, and that was not looked at */
};

/* Whether something stops the process as a whole: its suspects need no look for their verdict. */
static inline bool probe_is_stopped(const struct subject *subject)
{
    return subject->core_dumping || subject->frozen || subject->leader_state == 'T';
}

#define NO_SUBJECT UINT32_MAX

static inline uint64_t probe_key(uint32_t ring, uint32_t within)
{
    return (uint64_t)ring << 32 | within;
}

/* examine.c: whatever cannot be found out now leaves the suspect unexamined. */
void examine_suspect(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t index,
                     uint64_t deadline_mono_ns);
/* Whether one that waits for a lock has not run since: nothing else of it is looked at. */
void examine_stands(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t index,
                    uint64_t deadline_mono_ns);
/* False: too much is under way already to ask about that suspect's thread. */
bool examine_has_room(const struct probe *probe, const struct detector_suspect *suspect);
/* Whether what is known of the thread of a suspect in a stopped process is nothing, or old, and there is room for it.
 */
bool examine_is_due(const struct probe *probe, size_t index);
/* Takes in what is told, all that was asked for or as much as makes room; does not wait beyond the deadline. */
void examine_told(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t count,
                  uint64_t deadline_mono_ns, bool all);

/*
 * The second looks that the first ones have asked for: those that are due now; all that can be made before the
 * deadline, waiting for the time between looks to pass; and how long before the deadline they have to begin.
 */
void examine_again_if_due(struct probe *probe, struct registry *registry, struct detector_suspect *suspects,
                          uint64_t deadline_mono_ns);
uint64_t examine_again_ns(const struct probe *probe);
void examine_again(struct probe *probe, struct registry *registry, struct detector_suspect *suspects,
                   uint64_t deadline_mono_ns);

/* pending.c */
uint32_t pending_owner(const struct probe *probe, size_t suspect); /* who owns the ring of one that has a subject */
void pending_sort(struct probe *probe);                            /* makes lanes of what is pending, in any order */
/*
 * The lane whose turn it is: of those where somebody was never examined, or, if known, where anybody is, the one that
 * least has been spent on. NULL: there is none. Its first is at probe->pending[lane->first].
 */
struct lane *pending_turn(struct probe *probe, bool known);
struct pending pending_pop(struct probe *probe, struct lane *lane);

/* probe.c */
uint32_t probe_subject(struct probe *probe, struct ring *ring, uint32_t process); /* index, or NO_SUBJECT: no memory */
void probe_ask_subjects(struct probe *probe, uint64_t deadline_mono_ns);
bool probe_subject_holds(const struct registry *registry, const struct subject *subject);
void probe_forget(struct probe *probe); /* everything of this call */

#endif
