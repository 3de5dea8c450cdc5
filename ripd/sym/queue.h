/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - questions that wait, fairly between users: whoever asks a lot, or names files that a symbolizer dies on,
 * holds up nobody but himself. Touches nothing; for ripd/sym alone.
 *
 * Guarantees
 *   A. A place waits once, however often it is asked for.
 *   B. Each user whose rings ask has a lane; lanes take turns. (Users share QUEUE_LANES lanes by a hash of their uid.)
 *   C. A lane whose user's file ended a symbolizer pauses, longer each time; what waits in it waits on, the other lanes
 *      do not.
 */
#ifndef RIPD_SYM_QUEUE_H
#define RIPD_SYM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "os/lease.h"
#include "util/hash.h"

#define QUEUE_LANES 64u
#define QUEUE_LANE_MAX 8192u                    /* questions of one lane */
#define QUEUE_MAX 16384u                        /* of all */
#define QUEUE_BUCKETS 4096u                     /* a power of two */
#define QUEUE_PAUSE_DOUBLES 6u                  /* then a pause gets no longer */
#define QUEUE_FORGIVE_NS UINT64_C(600000000000) /* so long after its last strike a lane has none */

struct sym_question {
    struct sym_question *next;     /* in its lane */
    struct sym_question *chain;    /* in its bucket */
    struct lease *ring;            /* a reference to that of the ring that names it, or NULL */
    struct process_facts *process; /* a reference, or NULL */
    struct module_facts *module;   /* a reference */
    uint64_t offset;
};

struct sym_lane {
    struct sym_question *first, *last;
    size_t count; /* in the bucket table, the one that is being answered included */
    unsigned strikes;
    uint64_t struck_ns;
    uint64_t paused_until_ns;
};

/* All zero = empty. */
struct sym_queue {
    struct hash_key hash_key; /* set before anything is in it */
    struct sym_lane lanes[QUEUE_LANES];
    struct sym_question *buckets[QUEUE_BUCKETS];
    size_t count;
    size_t turn; /* lane that comes first the next time */
};

bool queue_has(const struct sym_queue *queue, const struct module_facts *module, uint64_t offset);

/* -ENOSPC: a limit; -EAGAIN: its lane pauses; -ENOMEM. The place must not be waiting already. */
int queue_push(struct sym_queue *queue, uint64_t now_ns, struct lease *ring, struct process_facts *process,
               struct module_facts *module, uint64_t offset);

/*
 * The next question; it stays known to queue_has() until it is dropped. NULL: none, or only such whose lanes pause:
 * then *ret_until_ns is when the first of them goes on, UINT64_MAX = nothing waits.
 */
struct sym_question *queue_pop(struct sym_queue *queue, uint64_t now_ns, uint64_t *ret_until_ns);

/* Forgets a popped question, and its references. */
void queue_drop(struct sym_queue *queue, struct sym_question *question);
void queue_done(struct sym_queue *queue); /* of popped ones nothing is known here */

/* A symbolizer ended over a file of that user: the lane pauses for pause_ns, doubled for each strike before. */
void queue_strike(struct sym_queue *queue, uint32_t uid, uint64_t now_ns, uint64_t pause_ns);
unsigned queue_strikes(const struct sym_queue *queue, uint32_t uid, uint64_t now_ns);

#endif
