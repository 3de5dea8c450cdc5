/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.h - who waits for whom: chains, the holder at the end of each that blocks all of it, and deadlocks. Pure.
 *
 * There are two sources. What an id says of its wait for a lock in its ring, its mark (rip/reader.h), is read twice.
 * What the memory of a thread says of the lock that it waits for (cases/lock_wait.h) comes from looks at it, of this
 * scan and former ones. Either becomes an edge to who holds the lock; where both speak of one lock, memory is the
 * fresher. It is made in these steps: waits_add() or waits_add_thread() for every id that waits, waits_add_lock() with
 * what its memory says; waits_link(), which finds the holders among them and makes a node for each other one; filling
 * in those that are ids; waits_again() with the second reading; waits_settle(). Then states, numbers and items of the
 * nodes are filled in, and it is shared, immutable.
 *
 * Guarantees
 *   A. No id is called deadlocked that is not, if its process writes the truth: no wait of the cycle has a time limit,
 *      all were in force at one instant, and every edge is certain. An edge is certain if the holder was read while the
 *      holder itself was in its wait: so it could not release the lock, then or later.
 *      A wait that is marked is in force from its beginning to its second reading, and its holder was read before the
 *      first (see WAITS in librip/ABI.md). One known from memory is in force between the first and the last look that
 *      found that the thread had not run, and the time of each reading of the holder is known.
 *   B. Edges stay within the process of a ring: what a ring claims concerns its own ids alone. But for a lock that
 *      processes share, the caller sets between waits_add_lock() and waits_link() whose thread the holder is, or that
 *      it is not known. A mark proves nothing of a thread of another process, whose clock may be another.
 *   C. Time is that of sorting the nodes, whatever the edges: a chain or a cycle of all ids, all ids behind one lock.
 *   D. A cycle that is not certain is no cycle: its uncertain edges are not reported. Its members are marked as
 *      doubted: a later look at them may decide.
 *   E. The holder of a lock is reported as ended only if it still held the lock at a time at which the process had no
 *      such thread any more. A lock that it held before that may have another holder by now. This is never reported of
 *      a lock that processes share: its holder may be a thread of any of them.
 */
#ifndef RIPD_CASES_WAITS_H
#define RIPD_CASES_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/lock_wait.h"
#include "detect/state.h"
#include "rip/reader.h"

#define WAITS_NONE UINT32_MAX
#define WAITS_NODES_MAX 65536u           /* ids in waits, of one scan; more are counted */
#define WAITS_CHAIN_MAX 16u              /* who is named in one answer; the last one of the chain always is */
#define WAITS_SLACK_NS UINT64_C(1000000) /* between clocks of two processors, and until others see a store */

/* What a node is. */
enum waits_kind {
    WAITS_ID,      /* an id of the ring */
    WAITS_THREAD,  /* who holds a lock and is not, or not yet, known as an id: its number is in holder */
    WAITS_READERS, /* those who hold a lock for reading: they are not named */
    WAITS_GONE,    /* a thread that its process has no more: it has ended and not let the lock go */
};

/* Static string: "id", "thread", "readers", "gone". */
const char *waits_kind_name(enum waits_kind kind);

struct waits_node {
    enum waits_kind kind;
    uint32_t ring; /* serial */
    uint32_t process;
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t ring_tid;    /* as its process has it; 0 = on no thread */
    uint32_t holder;      /* WAITS_THREAD: tid as its process has it, or an id */
    uint32_t holder_ring; /* of whom it waits for: its own, unless waits_is_shared(); 0 = not known */
    uint32_t holder_process;
    bool holder_is_id;
    uint64_t progress; /* at which it waits */
    bool waits;
    bool marked;            /* it says so itself */
    bool by_memory;         /* the edge is what its memory says */
    bool certain;           /* of the edge to next */
    bool deadlocked;        /* a member of a cycle */
    bool doubted;           /* a member of a cycle that is not certain */
    bool again;             /* the second reading found it in the wait of the first */
    bool idles;             /* WAITS_ID that waits for no lock: it has declared itself idle */
    bool receives;          /* the same, in a call that waits for what a descriptor brings */
    bool searched;          /* WAITS_THREAD: it is none of the ids of its ring */
    bool absent;            /* WAITS_THREAD: no such thread is known of its process */
    uint64_t gone_since_ns; /* it is certain, and was when last looked, that there is none: since then; 0 = it is not */
    uint8_t name_bytes;
    uint8_t name[RIP_NAME_BYTES];
    struct rip_wait_info wait; /* first reading of the mark */
    uint64_t begun_ns;         /* second reading: its wait began before this, or then */
    struct lock_wait lock;     /* what its memory says; holder.address 0 = nothing */
    uint32_t next;             /* who holds the lock; WAITS_NONE = it waits for none, or that is not known */
    uint32_t last;             /* the end of its chain: see waits_chain() */
    uint32_t root;             /* who holds it up; of a cycle one member for all */
    uint32_t length;           /* of its chain */
    uint32_t before;           /* while that is found out: of a member of a cycle, the one before it, */
    uint32_t back;             /* and the one from which its chain was walked */

    /* For the views; the caller fills them in after waits_settle(). */
    const char *ring_name; /* of waits_ring_name() */
    uint32_t tid;          /* in the daemon's pid namespace; 0 = on no thread, or not known */
    bool has_state;
    enum id_state state;
    enum id_cause cause;
    uint64_t frozen_for_ns; /* 0: it is running or idle */
    struct item *item;      /* a reference, of roots; NULL = not known */
};

struct waits {
    struct waits_node *nodes; /* ids that wait, in order of ring and slot; behind them who else holds locks */
    size_t count;
    size_t capacity;
    size_t waiting_count;    /* the first so many are those that wait */
    uint64_t left_out_count; /* beyond WAITS_NODES_MAX */
    uint64_t deadlocked_count;
    char **ring_names;
    size_t ring_name_count;
    size_t ring_name_capacity;
};

struct waits *waits_new(void); /* empty; NULL: no memory */
void waits_free(struct waits *waits);

/*
 * An id of a ring that waits, in ascending order of ring and slot: as it says itself, or as its memory does.
 * -ENOMEM; -ENOSPC: counted as left out.
 */
int waits_add(struct waits *waits, uint32_t ring, const struct rip_wait_info *wait);
int waits_add_thread(struct waits *waits, uint32_t ring, const struct rip_id_info *id, const struct lock_wait *lock);

/* What the memory of the one that was added last says besides. */
void waits_add_lock(struct waits *waits, const struct lock_wait *lock);

/* Whether the lock that a node waits for is one that processes share, with one holder: then holder_ring and
 * holder_process, whose thread that is, are to be filled in. */
bool waits_is_shared(const struct waits_node *node);

/* Who holds the lock that a node waits for: by the source that is believed. 0: it is not known. */
uint32_t waits_held_by(const struct waits_node *node);
uint64_t waits_read_ns(const struct waits_node *node); /* after this the holder was read last */

/* Finds holders. Those that are not among the nodes are new ones, from waiting_count on, of kind WAITS_THREAD or
 * WAITS_READERS. -ENOMEM: no edge is known. */
int waits_link(struct waits *waits);

/*
 * The nodes of kind WAITS_THREAD that a thread or an id of a process is: at most two, by its tid and by its id. Returns
 * how many. The caller makes it a WAITS_ID.
 */
size_t waits_missing(struct waits *waits, uint32_t ring, uint32_t process, uint32_t tid, uint32_t id,
                     struct waits_node *ret_nodes[2]);

/* The second reading of a node. NULL: its mark is gone. */
void waits_again(struct waits_node *node, const struct rip_wait_info *wait);

/* The same of one that is not marked: what progress it has now. */
void waits_stands(struct waits_node *node, uint32_t generation, uint64_t progress);

/*
 * Since when a thread that holds a lock is known to be gone, as an earlier graph had it; 0: it was not in it, or not
 * gone. waits may be NULL.
 */
uint64_t waits_gone_since(const struct waits *waits, uint32_t ring, uint32_t process, uint32_t tid);

/* Certainty, deadlocks, chains, roots. */
void waits_settle(struct waits *waits);

/* The node of an id that waits; WAITS_NONE: it does not. waits may be NULL. */
uint32_t waits_find(const struct waits *waits, uint32_t ring, uint32_t slot, uint32_t generation);

/*
 * The chain from a node to the one that blocks all of it: the holder of its lock, the holder of that one's, and so on
 * to the end; of a cycle every member once, of a member the cycle up to the member itself.
 */
struct waits_chain {
    size_t count;
    uint32_t left_out; /* of a longer one: members that stand between the last and the one before */
    struct {
        const struct waits_node *node;
        bool certain; /* the edge to it; of the last one only if all are named */
    } steps[WAITS_CHAIN_MAX];
};
void waits_chain(const struct waits *waits, uint32_t node, struct waits_chain *ret_chain);

/* A copy of the name for nodes of that ring, kept as long as the waits; the same pointer for equal names in a row.
 * NULL: no memory. */
const char *waits_ring_name(struct waits *waits, const char *name);

#endif
