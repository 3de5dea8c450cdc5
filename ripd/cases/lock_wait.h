/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_wait.h - which lock a thread in a futex call waits for, and who owns it, from the bytes around the word that it
 * waits on. Pure.
 *
 * The locks are those of the GNU C library in a program of 64 bits: mutexes of every type (normal, recursive,
 * error-checking, adaptive, robust, with priority inheritance), rwlocks and, on amd64, streams of stdio. Their layout
 * is part of that library's binary interface (struct __pthread_mutex_s and struct __pthread_rwlock_arch_t in its
 * headers bits/struct_mutex.h and bits/struct_rwlock.h); the meaning of the words is in its nptl/pthread_mutex_lock.c
 * and nptl/pthread_rwlock_common.c.
 *
 * Guarantees
 *   A. A futex word does not say what it is part of. It is taken for a lock only if the call is one that waiting for
 *      such a lock makes, and everything in its bytes is as such a lock has it. Whether the holder is a thread of the
 *      process at all has to be asked besides.
 *      The lock of a stream of stdio names its holder by the address of that thread's control block, whose layout the
 *      library may change: there all that is read has to be as in the block of a thread.
 *   B. A lock that is held for reading has no single holder. Of a lock of another library, a condition, a semaphore, a
 *      barrier or a lock of 32 bits nothing is reported.
 */
#ifndef RIPD_CASES_LOCK_WAIT_H
#define RIPD_CASES_LOCK_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCK_WAIT_BYTES 56u /* the most that is read of one lock */
#define LOCK_WAIT_LOOKS 3u

/*
 * The thread that releases the lock makes one of the waiting threads its holder, before that one runs: a thread that
 * holds what it seems to wait for has just received it, and does not wait. With a lock of another kind it waits for
 * itself.
 */
#define LOCK_WAIT_HANDED_ON 128u

/* A futex call, as its thread made it. */
struct lock_wait_call {
    uint64_t address;
    uint32_t operation; /* FUTEX_* of linux/futex.h with its flags */
    uint32_t value;
    bool timed;
};

/* False: it is not one that waits. arguments: of the system call. */
bool lock_wait_call_of(const uint64_t arguments[6], struct lock_wait_call *ret_call);

/* Where a lock may lie. */
struct lock_wait_place {
    uint64_t address;
    size_t size; /* at most LOCK_WAIT_BYTES */
};

/*
 * Kinds of lock that the call may wait for are numbered from 0; *kind is the first to try, and becomes the next one to
 * try. False: there are no more.
 */
bool lock_wait_next_place(const struct lock_wait_call *call, size_t *kind, struct lock_wait_place *ret_place);

/* Who holds a lock. */
struct lock_wait_holder {
    uint64_t address; /* of the lock, in its process */
    uint32_t tid;     /* as its process has it; 0 = those who hold it for reading */
    uint8_t flags;    /* RIP_WAIT_SHARABLE, _ENDS, _SHARED of rip/ring.h, LOCK_WAIT_. A robust mutex is always shared */
};

/*
 * bytes: read at *place, as lock_wait_next_place() gave it last; next: what *kind became. Where such a lock names its
 * holder by an address, *place becomes another: what has to be read there, for lock_wait_holder_of(). False: no such
 * lock.
 */
bool lock_wait_holder_place(size_t next, const uint8_t *bytes, struct lock_wait_place *place);

/* False: no such lock. */
bool lock_wait_holder_of(const struct lock_wait_call *call, size_t next, const uint8_t *bytes,
                         struct lock_wait_holder *ret_holder);

/* A reading of the holder happened between these two instants. */
struct lock_wait_look {
    uint64_t begun_mono_ns;
    uint64_t ended_mono_ns;
};

/*
 * The holder of the lock that a thread waits for. It has not run from looks[0].begun_mono_ns to until_mono_ns. Of the
 * looks that have found the same, the first is kept and the last two: two threads of which each is looked at in its
 * turn are proven to wait for each other by the last of one and the one before of the other.
 */
struct lock_wait {
    struct lock_wait_holder holder; /* address 0: nothing is known */
    struct lock_wait_look looks[LOCK_WAIT_LOOKS];
    uint64_t until_mono_ns;
};

/* One more look, which found holder. same_wait: the thread has not run since the one before. */
void lock_wait_seen(struct lock_wait *wait, const struct lock_wait_holder *holder, const struct lock_wait_look *look,
                    bool same_wait);

#endif
