/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.h - the graph of threads that wait for locks: chains, the root that blocks each chain, and deadlocks. Pure.
 *
 * There are two sources. A mark is what an id says in its ring about its wait for a lock (rip/reader.h); marks are read
 * twice. Memory is what the bytes of a lock say about its holder (cases/lock_wait.h), from looks on this scan and
 * earlier ones. Either source gives an edge to the holder of the lock. If both describe the same lock, memory is more
 * recent.
 *
 * A graph is built in these steps:
 *
 *   1. waits_add() or waits_add_thread() for every id that waits; waits_add_lock() to add what its memory says.
 *   2. waits_link() finds the holders among these ids, and makes a node for each other holder.
 *   3. The caller fills in the holders that are ids (waits_missing()).
 *   4. waits_again() or waits_stands() with the second reading.
 *   5. waits_settle().
 *   6. The caller fills in states, numbers and items of the nodes. Then the graph is immutable and shared.
 *
 * Guarantees
 *   A. No id is reported as deadlocked that is not, if its process writes the truth: no wait of the cycle has a time
 *      limit, all waits were in force at one instant, and every edge is certain.
 *      - An edge is certain if the holder was read while the holder itself was in its wait, because then it could not
 *        release the lock, then or later.
 *      - A marked wait is in force from its begin to its second reading, and its holder was read before the first
 *        reading (see WAITS in librip/ABI.md).
 *      - A wait known from memory is in force between the first and the last look that found that the thread had not
 *        run. The time of each reading of the holder is known.
 *   B. Edges stay within one process of a ring: a ring's claims concern only its own ids. The exception is a lock that
 *      processes share: between waits_add_lock() and waits_link() the caller sets whose thread the holder is, or that
 *      it is not known. A mark proves nothing about a thread of another process, which may have another clock.
 *   C. Time is that of sorting the nodes, whatever the edges: a chain or a cycle of all ids, all ids behind one lock.
 *   D. A cycle that is not certain is not reported: its uncertain edges are removed. Its members are marked as doubted,
 *      so that they are looked at again, which may decide.
 *   E. The holder of a lock is reported as ended only if it still held the lock when the process had no such thread any
 *      more. A holder that was read earlier may have released the lock since. This is never reported for a lock that
 *      processes share, because its holder may be a thread of any of them.
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
#define WAITS_NODES_MAX 131072u          /* waiting ids of one scan, as WORK_WAITS; more are counted */
#define WAITS_CHAIN_MAX 16u              /* members named in one answer; the last of the chain is always among them */
#define WAITS_SLACK_NS UINT64_C(1000000) /* between clocks of two processors, and until a store is visible */

/* What a node is. */
enum waits_kind {
    WAITS_ID,      /* an id of the ring */
    WAITS_THREAD,  /* a holder that is not known as an id, or not yet; see `holder` */
    WAITS_READERS, /* the holders of a lock for reading; they are not named */
    WAITS_GONE,    /* a thread that ended without releasing the lock */
};

/* Returns a static string: "id", "thread", "readers" or "gone". */
const char *waits_kind_name(enum waits_kind kind);

struct waits_node {
    enum waits_kind kind;
    uint32_t ring; /* serial */
    uint32_t user; /* of an id that waits: as in struct stall_case */
    uint32_t process;
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t ring_tid;    /* in the pid namespace of the process; 0: on no thread */
    uint32_t holder;      /* WAITS_THREAD: tid in the pid namespace of the process, or an id */
    uint32_t holder_ring; /* of the holder it waits for; its own unless waits_is_shared(); 0: not known */
    uint32_t holder_process;
    bool holder_is_id;
    uint64_t progress; /* at which it waits */
    bool waits;
    bool marked;     /* its ring has a mark */
    bool by_memory;  /* the edge comes from memory */
    bool certain;    /* the edge to next is certain */
    bool deadlocked; /* member of a cycle */
    bool doubted;    /* member of a cycle that is not certain, or the end of its holder is not certain */
    bool again;      /* the second reading found it in the same wait */
    bool idles;      /* WAITS_ID that waits for no lock: it has declared itself idle */
    bool receives;   /* likewise, in a call that waits for a descriptor */
    bool searched;   /* WAITS_THREAD: it is none of the ids of its ring */
    bool absent;     /* WAITS_THREAD: the process is not known to have such a thread */
    /* The thread is known not to exist since then, and was so at the previous look; 0: not so. */
    uint64_t gone_since_ns;
    uint8_t name_bytes;
    uint8_t name[RIP_NAME_BYTES];
    struct rip_wait_info wait; /* first reading of the mark */
    uint64_t begun_ns;         /* second reading: its wait began at or before this time */
    struct lock_wait lock;     /* from memory; holder.address 0: nothing */
    uint32_t next;             /* holder of the lock; WAITS_NONE: it waits for none, or not known */
    uint32_t last;             /* end of its chain: see waits_chain() */
    uint32_t root;             /* what it ultimately waits for; in a cycle the same member for all */
    uint32_t length;           /* of its chain */
    uint32_t before;           /* used while settling: the previous member of a cycle, */
    uint32_t back;             /* and the node from which this one was reached */

    /* For the views. The caller fills these in after waits_settle(). */
    const char *ring_name; /* from waits_ring_name() */
    uint32_t tid;          /* in the daemon's pid namespace; 0: on no thread, or not known */
    bool has_state;
    enum id_state state;
    enum id_cause cause;
    uint64_t frozen_for_ns; /* 0: running or idle */
    struct item *item;      /* a reference, set for roots; NULL: not known */
};

struct waits {
    struct waits_node *nodes; /* waiting ids, ordered by ring and slot; then the other holders */
    size_t count;
    size_t capacity;
    size_t waiting_count;    /* how many nodes at the start are waiting ids */
    uint64_t left_out_count; /* ids beyond WAITS_NODES_MAX */
    uint64_t deadlocked_count;
    char **ring_names;
    size_t ring_name_count;
    size_t ring_name_capacity;
};

struct waits *waits_new(void); /* Returns an empty graph, or NULL if out of memory. */
void waits_free(struct waits *waits);

/*
 * Add an id that waits, in ascending order of ring and slot: from its mark, or from its memory. Return 0, -ENOMEM, or
 * -ENOSPC: then it is counted as left out.
 */
int waits_add(struct waits *waits, uint32_t ring, const struct rip_wait_info *wait);
int waits_add_thread(struct waits *waits, uint32_t ring, const struct rip_id_info *id, const struct lock_wait *lock);

/* Adds what memory says about the id that was added last. */
void waits_add_lock(struct waits *waits, const struct lock_wait *lock);

/*
 * Whether the lock that a node waits for is shared by processes and has one holder. Then the caller must set
 * holder_ring and holder_process.
 */
bool waits_is_shared(const struct waits_node *node);

/* Returns the holder according to the source that takes precedence, or 0 if not known. */
uint32_t waits_held_by(const struct waits_node *node);
uint64_t waits_read_ns(const struct waits_node *node); /* Returns a time before the last reading of the holder. */

/*
 * Finds the holders. A holder that is not among the nodes becomes a new one, after the first waiting_count, of kind
 * WAITS_THREAD or WAITS_READERS. Returns 0, or -ENOMEM: then edges are missing.
 */
int waits_link(struct waits *waits);

/*
 * Finds the WAITS_THREAD nodes that stand for an id of a process: at most two, one by tid and one by id. Returns how
 * many. The caller turns them into WAITS_ID.
 */
size_t waits_missing(struct waits *waits, uint32_t ring, uint32_t process, uint32_t tid, uint32_t id,
                     struct waits_node *ret_nodes[2]);

/* Stores the second reading of a node. NULL: its mark is gone. */
void waits_again(struct waits_node *node, const struct rip_wait_info *wait);

/* The same for a node without a mark: the generation and progress that the id has now. */
void waits_stands(struct waits_node *node, uint32_t generation, uint64_t progress);

/*
 * Returns since when a holder is known to be gone, according to an earlier graph; 0: not in it, or not gone. waits may
 * be NULL.
 */
uint64_t waits_gone_since(const struct waits *waits, uint32_t ring, uint32_t process, uint32_t tid);

/* Decides certainty and deadlocks; finds chains and roots. */
void waits_settle(struct waits *waits);

/* Returns the node of an id that waits, or WAITS_NONE. waits may be NULL. */
uint32_t waits_find(const struct waits *waits, uint32_t ring, uint32_t slot, uint32_t generation);

/*
 * The chain from a node to its root: the holder of its lock, the holder of that one's lock, and so on. If it ends in a
 * cycle, it has every member of the cycle once. For a member of a cycle, it is the cycle up to the member itself.
 */
struct waits_chain {
    size_t count;
    uint32_t left_out; /* members that are not named, between the last two steps */
    struct {
        const struct waits_node *node;
        bool certain; /* of the edge to it; for the last step only if no member is left out */
    } steps[WAITS_CHAIN_MAX];
};
void waits_chain(const struct waits *waits, uint32_t node, struct waits_chain *ret_chain);

/*
 * Returns a copy of the name, owned by waits; the same pointer for equal names in a row. Returns NULL if out of memory.
 */
const char *waits_ring_name(struct waits *waits, const char *name);

#endif
