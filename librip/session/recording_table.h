/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_table.h - the state that the events of a recording describe: rings, processes, modules, scripts, ids. The
 * writer and the reader keep the same table, so that a record contains only differences. Pure, except that it
 * allocates.
 *
 * Guarantees
 *   A. For any events, memory is bounded by RECORDING_TABLE_BYTES_MAX. Beyond that functions return -EFBIG.
 *   B. The cost of looking up an id does not depend on the number of ids.
 */
#ifndef RIP_SESSION_RECORDING_TABLE_H
#define RIP_SESSION_RECORDING_TABLE_H

#include "session/sink.h"

#define RECORDING_TABLE_BYTES_MAX (UINT64_C(1) << 30)
#define RECORDING_RING_COUNT_MAX 16384u /* at one time */

/* The encoded fields of a record. NULL: there is none. */
struct state_bytes {
    unsigned char *bytes;
    uint32_t count;
};

struct state_id {
    struct rip_id_info info; /* as of its last event */
    uint64_t address;        /* of its newest entry that was recorded; 0 = not known */
    struct state_bytes note;
    bool is_counted; /* info already counts the snaps of the next SNAP */
};

struct state_process {
    struct state_bytes process;
    struct state_bytes death;
    struct state_bytes *modules;
    uint32_t module_count;
};

struct state_ring {
    uint32_t number;
    struct state_bytes ring;
    struct state_process *processes;
    uint32_t process_count;
    struct state_bytes *scripts; /* by index */
    uint32_t script_count;
    struct state_id *ids;
    uint32_t id_count;
    uint32_t id_capacity;
    uint32_t *places;   /* hash table: 1 + index in ids; 0 = free */
    size_t place_count; /* a power of two, at least twice id_count */
};

struct recording_table {
    struct state_ring *rings; /* in order of their first event */
    size_t ring_count;
    size_t ring_last;    /* index of the last look-up */
    uint64_t used_bytes; /* of all allocations */
};

void recording_table_clear(struct recording_table *table);

/* Finds the id in a slot, and creates it if it does not exist. Returns 0, -ENOMEM or -EFBIG. */
int recording_table_id(struct recording_table *table, uint32_t ring, uint32_t slot, struct state_id **ret_id);

void recording_table_drop_ring(struct recording_table *table, uint32_t number);
void recording_table_drop_id(struct recording_table *table, uint32_t ring, uint32_t slot);

/* Clears everything in the id except its slot. */
void recording_table_reset_id(struct recording_table *table, struct state_id *id);

/*
 * Stores a copy of the encoded fields of a RING, PROCESS, MODULE, DEATH, SCRIPT or NOTE in place of the previous ones.
 * Returns 0, -ENOMEM or -EFBIG.
 */
int recording_table_keep(struct recording_table *table, const struct rip_event *event, const unsigned char *bytes,
                         size_t count);

/* Starts a state: clears what later records would take from earlier ones, because a reader may start here. */
void recording_table_begin(struct recording_table *table);

#endif
