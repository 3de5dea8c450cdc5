/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids.h - the rings of a session and the processes and ids in them, kept up to date from its events. The only such
 * table, for replay, dump and export. Pure.
 *
 * Guarantees
 *   A. Whatever the events are, rings ascend by number, and slots ascend within a ring.
 *   B. An event that repeats what is known changes nothing: recordings repeat everything where a segment begins.
 *   C. Memory is bounded by what is alive at one time, and RIP_PROCESS_MODULES modules per process.
 */
#ifndef RIPD_REPLAY_IDS_H
#define RIPD_REPLAY_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "detect/detector.h"
#include "rip/session.h"

struct replay_process {
    bool dead;
    struct process_facts *facts; /* owned reference; NULL = not known. Modules are added later */
};

/* What is known of an id in addition to its sample. */
struct replay_id {
    bool stale;                /* its ring is being renewed, and no event has repeated it yet */
    bool ended;                /* removed by replay_ring_settle() */
    uint32_t serial;           /* from 1, in order of registration; never reused */
    uint64_t since_wall_ns;    /* last change of its entries or its idle state */
    uint64_t since_drain;      /* drains that were complete at that time */
    struct rip_id_info info;   /* last recorded state, but snap_count is that of the newest entry */
    struct rip_note_info note; /* text_bytes 0 = none */
    uint32_t entry_count;
    struct rip_entry entries[]; /* newest first, without a gap; at most replay_ids.entries_max */
};

struct replay_ring {
    uint32_t number;
    uint32_t serial; /* in the ripd that recorded it; 0 = not known */
    uint32_t user;   /* the account in the recording, otherwise the owner of the file */
    bool preload;
    char *name;
    struct rip_sample *samples; /* ascending by slot */
    struct replay_id **ids;     /* parallel to samples */
    size_t count;
    size_t ended_count; /* of ids that have ended and are still in the arrays */
    size_t next;        /* index after the id that moved last */
    size_t sample_capacity;
    size_t id_capacity;
    struct module_facts *scripts; /* owned reference */
    uint64_t unseen_count;        /* from its last TOTALS */
    uint8_t ring_id[16];
    bool renewed;                     /* ids not repeated until the next DRAIN are removed */
    struct replay_process *processes; /* by index */
    size_t process_count;
    size_t process_capacity;
    uint8_t conditions[RIP_PROCESS_MAX]; /* set by the caller, for detector_ring() */
    size_t condition_count;
};

/* All zero = empty. */
struct replay_ids {
    struct replay_ring **rings; /* ascending by number */
    size_t count;
    size_t capacity;
    uint32_t entries_max; /* kept per id; set before the first event; 0 = one */
    uint32_t serial;      /* of the last registered id */
    uint64_t drain_count; /* complete drains */
};

void replay_ids_done(struct replay_ids *ids);

/* Another ripd begins: removes rings that have not been renewed, and resets the conditions of the others. */
void replay_ids_restart(struct replay_ids *ids);

/* Returns 0 or -ENOMEM. */
int replay_ids_take(struct replay_ids *ids, const struct rip_event *event);

struct replay_ring *replay_ids_ring(const struct replay_ids *ids, uint32_t number); /* returns NULL if there is none */

/*
 * Removes ids that have ended from the arrays. A DRAIN does this; code that walks the arrays before a DRAIN must call
 * it. Removing each id at its EXIT would move all others each time.
 */
void replay_ring_settle(struct replay_ring *ring);

/*
 * Feeds the ring's samples to the detector; a process is either dead or alive. Returns as detector_ring() and
 * detector_feed().
 */
int replay_ring_feed(struct replay_ring *ring, struct detector *detector);

/* Returns the index of that generation of the slot, or ring->count if it is not there or has ended. */
size_t replay_ring_find(const struct replay_ring *ring, uint32_t slot, uint32_t generation);

/* Returns the process at an index of ring->processes, or NULL if it is not known. Borrowed: no reference is taken. */
struct process_facts *replay_ring_process(const struct replay_ring *ring, uint32_t index);

/* Returns an id as ripd would describe it, as far as the recording allows. Returns NULL if out of memory. */
struct item *replay_ring_item(const struct replay_ring *ring, size_t index);

#endif
