/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_wait.h - finds the lock that a thread in a futex call waits for, and its holder, in the bytes around the futex
 * word. Pure.
 *
 * The locks are those of the GNU C library in a 64-bit program: mutexes of every type (normal, recursive,
 * error-checking, adaptive, robust, with priority inheritance), rwlocks and, on amd64, stdio streams. Their layout is
 * part of the library's binary interface (struct __pthread_mutex_s and struct __pthread_rwlock_arch_t in
 * bits/struct_mutex.h and bits/struct_rwlock.h). The meaning of the words is in nptl/pthread_mutex_lock.c and
 * nptl/pthread_rwlock_common.c.
 *
 * Guarantees
 *   A. A futex word does not say what it is part of. It is taken for a lock only if the call is one that waits for such
 *      a lock, and if all bytes are as in such a lock. The caller must still check that the holder is a thread of the
 *      process. The lock of a stdio stream names its holder by the address of the thread's control block, whose layout
 *      the library may change: everything that is read there must be as in the block of a thread.
 *   B. A lock held for reading has no single holder. Nothing is reported for locks of other libraries, conditions,
 *      semaphores, barriers and 32-bit locks.
 */
#ifndef RIPD_CASES_LOCK_WAIT_H
#define RIPD_CASES_LOCK_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCK_WAIT_BYTES 56u /* most bytes that are read of one lock */
#define LOCK_WAIT_LOOKS 3u

/*
 * The thread that releases the lock hands it to a waiting thread before that thread runs. So a thread that seems to
 * wait for a lock that it holds has just received it, and does not wait. With any other kind of lock, such a thread
 * waits for itself.
 */
#define LOCK_WAIT_HANDED_ON 128u

/* A futex call, as the thread made it. */
struct lock_wait_call {
    uint64_t address;
    uint32_t operation; /* FUTEX_* of linux/futex.h, with flags */
    uint32_t value;
    bool timed;
};

/* Takes the arguments of a futex call. Returns false if the call does not wait. */
bool lock_wait_call_of(const uint64_t arguments[6], struct lock_wait_call *ret_call);

/* Where a lock may be in memory. */
struct lock_wait_place {
    uint64_t address;
    size_t size; /* at most LOCK_WAIT_BYTES */
};

/*
 * Iterates over the kinds of lock that the call may wait for. *kind starts at 0 and is advanced. Returns false if there
 * are no more.
 */
bool lock_wait_next_place(const struct lock_wait_call *call, size_t *kind, struct lock_wait_place *ret_place);

/* The holder of a lock. */
struct lock_wait_holder {
    uint64_t address; /* of the lock, in its process */
    uint32_t tid;     /* in the pid namespace of the process; 0: held for reading */
    uint8_t flags;    /* RIP_WAIT_SHARABLE, _ENDS, _SHARED of rip/ring.h, LOCK_WAIT_*. A robust mutex is always
                         SHARED */
};

/*
 * Checks the bytes read at *place, as lock_wait_next_place() returned it; next is the value of *kind after that call.
 * If such a lock names its holder by an address, *place is set to what has to be read there for lock_wait_holder_of().
 * Returns false if it is no such lock.
 */
bool lock_wait_holder_place(size_t next, const uint8_t *bytes, struct lock_wait_place *place);

/* Returns false if it is no such lock. */
bool lock_wait_holder_of(const struct lock_wait_call *call, size_t next, const uint8_t *bytes,
                         struct lock_wait_holder *ret_holder);

/* The holder was read between these two times. */
struct lock_wait_look {
    uint64_t begun_mono_ns;
    uint64_t ended_mono_ns;
};

/*
 * The holder of the lock that a thread waits for. The thread has not run from looks[0].begun_mono_ns to until_mono_ns.
 * Of the looks that found the same holder, the first and the last two are kept. They can prove that two threads, looked
 * at in turn, wait for each other: the last look at one thread and the second to last look at the other suffice.
 */
struct lock_wait {
    struct lock_wait_holder holder; /* address 0: nothing is known */
    struct lock_wait_look looks[LOCK_WAIT_LOOKS];
    uint64_t until_mono_ns;
};

/* Adds a look that found holder. same_wait: the thread has not run since the previous look. */
void lock_wait_seen(struct lock_wait *wait, const struct lock_wait_holder *holder, const struct lock_wait_look *look,
                    bool same_wait);

#endif
