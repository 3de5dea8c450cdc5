/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_table.h - what is there, as the events of a recording say it: rings, processes, modules, ids. The writer
 * and the reader keep the same, so that a record need only say what is different. Pure.
 *
 * Guarantees
 *   A. Memory is bounded by RECORDING_TABLE_BYTES_MAX, whatever the events say: then -EFBIG.
 *   B. Looking up an id costs the same however many there are.
 */
#ifndef RIP_SESSION_RECORDING_TABLE_H
#define RIP_SESSION_RECORDING_TABLE_H

#include "session/sink.h"

#define RECORDING_TABLE_BYTES_MAX (UINT64_C(1) << 30)
#define RECORDING_RING_COUNT_MAX 16384u /* at one time */

/* A record that is repeated as it is. */
struct state_bytes {
    unsigned char *bytes; /* NULL = there is none */
    uint32_t count;
};

struct state_id {
    struct rip_id_info info; /* as of its last event */
    uint64_t address;        /* of its newest entry that was recorded; 0 = not known */
    struct state_bytes note;
    bool is_counted; /* info counts the snaps of the SNAP that comes next */
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
    uint32_t *places;   /* of a hash table: 1 + an index of ids; 0 = free */
    size_t place_count; /* a power of two, at least twice id_count */
};

struct recording_table {
    struct state_ring *rings; /* by number, in order of their coming */
    size_t ring_count;
    size_t ring_last; /* that was looked up last */
    uint64_t used_bytes;
};

void recording_table_clear(struct recording_table *table);

/* Made if it is not there. 0, -ENOMEM, -EFBIG. */
int recording_table_id(struct recording_table *table, uint32_t ring, uint32_t slot, struct state_id **ret_id);

void recording_table_drop_ring(struct recording_table *table, uint32_t number);
void recording_table_drop_id(struct recording_table *table, uint32_t ring, uint32_t slot);

/* Forgets all of the id but its slot. */
void recording_table_reset_id(struct recording_table *table, struct state_id *id);

/* The bytes of a RING, PROCESS, MODULE, DEATH, SCRIPT or NOTE stand for it from now on. */
int recording_table_keep(struct recording_table *table, const struct rip_event *event, const unsigned char *bytes,
                         size_t count);

/* What a record says of the one before it does not count any more: a reader may begin here. */
void recording_table_begin(struct recording_table *table);

#endif
