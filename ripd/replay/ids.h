/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids.h - the rings of a session and the processes and ids in them, kept up to date from its events. The one table for
 * replay, dump and export. Pure.
 *
 * Guarantees
 *   A. Whatever the events, rings ascend by number, and slots ascend within a ring.
 *   B. An event that repeats what is known changes nothing: recordings repeat everything where a segment begins.
 *   C. Memory is bounded by what lives at one time, and RIP_PROCESS_MODULES modules a process.
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
    struct process_facts *facts; /* a reference; NULL = not known. Modules are added to them as they become known */
};

/* What is known of an id besides its sample. */
struct replay_id {
    bool stale;                /* its ring is renewed, and it was not named yet */
    uint32_t serial;           /* from 1, in order of registration; never used again */
    uint64_t since_wall_ns;    /* when its entries or its idle state last changed */
    uint64_t since_drain;      /* drains that were complete then */
    struct rip_id_info info;   /* as it was last said, but for snap_count, which is that of its newest entry */
    struct rip_note_info note; /* text_bytes 0 = none */
    uint32_t entry_count;
    struct rip_entry entries[]; /* newest first, without a gap; at most entries_max of the table */
};

struct replay_ring {
    uint32_t number;
    uint32_t serial; /* by which ripd knew it; 0 = not known */
    uint32_t user;   /* its file's owner, unless the recording has the account */
    bool preload;
    char *name;
    struct rip_sample *samples; /* ascending by slot */
    struct replay_id **ids;     /* of the same places */
    size_t count;
    size_t next; /* behind the id that moved last */
    size_t sample_capacity;
    size_t id_capacity;
    struct module_facts *scripts; /* a reference */
    uint64_t unseen_count;        /* by its last TOTALS */
    uint8_t ring_id[16];
    bool renewed;                     /* since the last DRAIN its ids are repeated: those that are not are removed */
    struct replay_process *processes; /* by index */
    size_t process_count;
    size_t process_capacity;
    uint8_t conditions[RIP_PROCESS_MAX]; /* the caller's: for detector_ring() */
    size_t condition_count;
};

/* All zero = nothing. */
struct replay_ids {
    struct replay_ring **rings; /* ascending by number */
    size_t count;
    size_t capacity;
    uint32_t entries_max; /* kept of each id: set before the first event; 0 = one */
    uint32_t serial;      /* of the id registered last */
    uint64_t drain_count; /* complete */
};

void replay_ids_done(struct replay_ids *ids);

/* Another ripd begins: rings that are not renewed by now go, and of the others no condition is known. */
void replay_ids_restart(struct replay_ids *ids);

/* 0 or -ENOMEM. */
int replay_ids_take(struct replay_ids *ids, const struct rip_event *event);

struct replay_ring *replay_ids_ring(const struct replay_ids *ids, uint32_t number); /* NULL: there is none */

/* Feeds its samples; a process is known to be dead or not. As detector_ring() and detector_feed(). */
int replay_ring_feed(struct replay_ring *ring, struct detector *detector);

/* Where that generation of that slot is; ring->count: it is not there. */
size_t replay_ring_find(const struct replay_ring *ring, uint32_t slot, uint32_t generation);

/* Of an index of ring->processes. NULL: it is not known. */
struct process_facts *replay_ring_process(const struct replay_ring *ring, uint32_t index);

/* An id as ripd would describe it, as far as the recording knows. NULL: no memory. */
struct item *replay_ring_item(const struct replay_ring *ring, size_t index);

#endif
