/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_lock.c - mutexes, rwlocks and the locks of stdio: work, like the calls of preload_calls.c, and a mark in the
 * thread's slot that says which lock it waits for and who holds it.
 *
 * The lock is tried first, by glibc's own trylock. Where that succeeds, or fails for another reason than EBUSY, it has
 * done what lock does: it takes a free lock, counts up a recursive one, and returns EOWNERDEAD, ENOTRECOVERABLE, EAGAIN
 * and EINVAL. After EBUSY comes the wrapped call itself, whose result counts: lock may return EDEADLK there.
 *
 * A wait without a time limit is made in pieces, of UNMARKED_NS, 1 s, 2 s, 4 s ... PIECE_MAX_S, by the clock form of
 * the same call, with a look at the owner between them: an owner read before the owner itself got stuck may have let go
 * since, so it proves nothing (see WAITS in librip/ABI.md). The clock forms treat all mutexes as lock does, except that
 * what has waited in vain queues up anew. That matters where who comes first is promised: rwlocks that prefer writers
 * (a waiting writer keeps new readers out), and mutexes with a priority protocol among threads of a real-time policy.
 * Those are waited for in one piece.
 *
 * A mutex that processes may share is looked at each second: what its holder does is another process's to say, which
 * knows nothing of this wait, so a reader believes no owner that has moved since.
 *
 * Guarantees
 *   A. Return values, errno and the lock's state are those of the wrapped call, whatever the type of the lock.
 *   B. A lock that is free costs one call and no system call, as without the wrapper, and a breadcrumb.
 *   C. Nothing of a lock is touched after the call that took it, or gave it up, has returned.
 *   D. A thread without a slot only makes the wrapped call.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

#include "preload.h"

#define SECOND_NS 1000000000L
#define UNMARKED_NS 50000000L /* shorter than anything that is called a stall */
#define PIECE_MAX_S 64
#define PIECE_MAX_SHARED_S 1

/* What __kind has of these; see glibc's nptl/pthreadP.h. They are a part of its ABI: initializers have them. */
#define MUTEX_INHERITS_PRIORITY 32
#define MUTEX_PROTECTS_PRIORITY 64
#define MUTEX_IS_SHARED 128 /* or robust */

/* One lock, as it is waited for. */
struct lock_wait {
    void *lock;
    const int *owner; /* NULL = not given */
    uint32_t flags;
    int piece_max_s; /* 0 = in one piece */
};

typedef int lock_function(void *lock);
typedef int until_function(void *lock, const struct timespec *until);
typedef int clock_function(void *lock, clockid_t clock, const struct timespec *until);

static void wait_begin(const struct lock_wait *wait, uint32_t flags)
{
    rip_wait_begin(wait->lock, (const uint32_t *)wait->owner, wait->flags | flags);
}

static int wait_piece(const struct lock_wait *wait, clock_function *lock_until, const struct timespec *piece)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += piece->tv_sec;
    until.tv_nsec += piece->tv_nsec;
    if (until.tv_nsec >= SECOND_NS) {
        until.tv_nsec -= SECOND_NS;
        until.tv_sec++;
    }
    return lock_until(wait->lock, CLOCK_MONOTONIC, &until);
}

/*
 * The first piece without a mark: most waits are over by then. A clock form that this C library lacks says -1, and
 * EINVAL if the kernel cannot wait so for a mutex that inherits priority.
 */
static int wait_in_pieces(const struct lock_wait *wait, clock_function *lock_until)
{
    struct timespec piece = {.tv_nsec = UNMARKED_NS};
    int outcome = wait_piece(wait, lock_until, &piece);

    if (outcome != ETIMEDOUT)
        return outcome;
    wait_begin(wait, 0);
    piece = (struct timespec){.tv_sec = 1};
    while ((outcome = wait_piece(wait, lock_until, &piece)) == ETIMEDOUT) {
        rip_wait_look((const uint32_t *)wait->owner);
        piece.tv_sec = 2 * piece.tv_sec < wait->piece_max_s ? 2 * piece.tv_sec : wait->piece_max_s;
    }
    rip_wait_end();
    return outcome;
}

/* Waits until the lock is taken, without a limit. Under a seccomp filter only by the call that the program makes. */
static int wait_for(const struct lock_wait *wait, lock_function *lock, clock_function *lock_until)
{
    int outcome = -1;

    if (wait->piece_max_s != 0 && !preload_filtered())
        outcome = wait_in_pieces(wait, lock_until);
    if (outcome >= 0 && outcome != EINVAL)
        return outcome;
    wait_begin(wait, 0);
    outcome = lock(wait->lock);
    rip_wait_end();
    return outcome;
}

static int wait_until(const struct lock_wait *wait, until_function *lock, const struct timespec *until)
{
    int outcome;

    wait_begin(wait, RIP_WAIT_ENDS);
    outcome = lock(wait->lock, until);
    rip_wait_end();
    return outcome;
}

static int wait_until_clock(const struct lock_wait *wait, clock_function *lock, clockid_t clock,
                            const struct timespec *until)
{
    int outcome;

    wait_begin(wait, RIP_WAIT_ENDS);
    outcome = lock(wait->lock, clock, until);
    rip_wait_end();
    return outcome;
}

/* --- wrappers ----------------------------------------------------------------------------------------------------- */

/*
 * kind: what kind of call it is; attempt: how it is tried; wait: what is done when that says EBUSY; left_alone:
 * neither, but only the wrapped call. What waits stands apart: most locks are free, and of that call a breadcrumb is
 * all. A signal handler in the middle of an announced call has to announce its own.
 * Taking the lock of an interpreter is no call: a wait for it is announced, and nothing else.
 */
#define LOCK(name, parameters, arguments, kind, left_alone, attempt, wait)                                             \
    static PRELOAD_COLD int announced_##name(bool is_left, const void *return_address, LISTED parameters)              \
    {                                                                                                                  \
        const uint8_t call = kind;                                                                                     \
        int outcome = call == RIP_CALL_INTERPRETER ? attempt : EBUSY;                                                  \
        preload_outer outer;                                                                                           \
                                                                                                                       \
        if (outcome != EBUSY)                                                                                          \
            return outcome;                                                                                            \
        outer = is_left ? preload_announce(__builtin_frame_address(0), call)                                           \
                        : preload_begin_special(return_address, __builtin_frame_address(0), call);                     \
        if (preload_marks_none() || call == RIP_CALL_INTERPRETER || (left_alone)) {                                    \
            outcome = PRELOAD_REAL(int, name, parameters) arguments;                                                   \
        } else {                                                                                                       \
            outcome = attempt;                                                                                         \
            if (outcome == EBUSY)                                                                                      \
                outcome = wait;                                                                                        \
        }                                                                                                              \
        preload_end_special(return_address, __builtin_frame_address(0), call, outer);                                  \
        return outcome;                                                                                                \
    }                                                                                                                  \
                                                                                                                       \
    PRELOAD_WRAPPER(int, name, parameters)                                                                             \
    {                                                                                                                  \
        struct rip_slot *slot = preload_plain((uintptr_t)__builtin_return_address(0) - 1);                             \
        int outcome;                                                                                                   \
                                                                                                                       \
        if (__builtin_expect(slot == NULL, 0) || __builtin_expect(preload_thread.frame != 0, 0) ||                     \
            __builtin_expect(left_alone, 0))                                                                           \
            return announced_##name(false, __builtin_return_address(0), LISTED arguments);                             \
        preload_record(slot, (uintptr_t)__builtin_return_address(0) - 1);                                              \
        outcome = attempt;                                                                                             \
        if (__builtin_expect(outcome == EBUSY, 0))                                                                     \
            outcome = announced_##name(true, NULL, LISTED arguments);                                                  \
        return outcome;                                                                                                \
    }
#define LISTED(...) __VA_ARGS__

/* A ceiling makes even trying change the thread's priority. */
#define MUTEX(name, parameters, arguments, left_alone, wait)                                                           \
    LOCK(name, parameters, arguments, mutex_call(mutex),                                                               \
         (mutex->__data.__kind & MUTEX_PROTECTS_PRIORITY) != 0 || (left_alone),                                        \
         PRELOAD_REAL(int, pthread_mutex_trylock, (pthread_mutex_t *))(mutex), wait)
#define READ_LOCK(name, parameters, arguments, left_alone, wait)                                                       \
    LOCK(name, parameters, arguments, RIP_CALL_LOCK, left_alone,                                                       \
         PRELOAD_REAL(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *))(lock), wait)
#define WRITE_LOCK(name, parameters, arguments, left_alone, wait)                                                      \
    LOCK(name, parameters, arguments, RIP_CALL_LOCK, left_alone,                                                       \
         PRELOAD_REAL(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *))(lock), wait)

static uint8_t mutex_call(const pthread_mutex_t *mutex)
{
    if (__builtin_expect(preload_thread.special == 0, 1))
        return RIP_CALL_LOCK;
    preload_watch(mutex);
    return preload_call_with(mutex, RIP_CALL_LOCK);
}

/* What glibc looks at before it tries the lock. It does so for rwlocks, and of mutexes for the clock only. */
static bool is_clock(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static bool is_time(const struct timespec *until)
{
    return until->tv_nsec >= 0 && until->tv_nsec < SECOND_NS;
}

/* By such a policy who has waited longest comes first. */
static bool is_real_time(void)
{
    const int saved_errno = errno, policy = sched_getscheduler(0);

    errno = saved_errno;
    return policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE;
}

/* The thread announces a wait for one that processes may share as such. A vfork() child has its parent's slot. */
static struct lock_wait mutex_wait(pthread_mutex_t *mutex)
{
    const bool is_shared = (mutex->__data.__kind & MUTEX_IS_SHARED) != 0;

    if (is_shared && (preload_thread.special & PRELOAD_VFORKED) == 0)
        rip_store_relaxed(&rip__thread.slot->call, RIP_CALL_SHARED);
    return (struct lock_wait){
        .lock = mutex,
        .owner = &mutex->__data.__owner,
        .flags = is_shared ? RIP_WAIT_SHARED : 0,
        .piece_max_s = is_shared ? PIECE_MAX_SHARED_S : PIECE_MAX_S,
    };
}

static __attribute__((noinline)) int mutex_wait_for(pthread_mutex_t *mutex)
{
    struct lock_wait wait = mutex_wait(mutex);

    if ((mutex->__data.__kind & MUTEX_INHERITS_PRIORITY) != 0 && !preload_filtered() && is_real_time())
        wait.piece_max_s = 0;
    return wait_for(&wait, preload_function(CALL_pthread_mutex_lock), preload_function(CALL_pthread_mutex_clocklock));
}

MUTEX(pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex), false, mutex_wait_for(mutex))

static int mutex_wait_until(enum preload_call call, pthread_mutex_t *mutex, const struct timespec *until)
{
    struct lock_wait wait = mutex_wait(mutex);

    return wait_until(&wait, preload_function(call), until);
}

MUTEX(pthread_mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *until), (mutex, until), false,
      mutex_wait_until(CALL_pthread_mutex_timedlock, mutex, until))

static int mutex_wait_until_clock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
    struct lock_wait wait = mutex_wait(mutex);

    return wait_until_clock(&wait, preload_function(CALL_pthread_mutex_clocklock), clock, until);
}

MUTEX(pthread_mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *until),
      (mutex, clock, until), !is_clock(clock), mutex_wait_until_clock(mutex, clock, until))

/* --- C11's mutexes, which are the others -------------------------------------------------------------------------- */

/* As glibc does it. */
static int c11_outcome(int outcome)
{
    switch (outcome) {
    case 0:
        return thrd_success;
    case ENOMEM:
        return thrd_nomem;
    case ETIMEDOUT:
        return thrd_timedout;
    default:
        return thrd_error;
    }
}

/* The wait gives what C11 says; what is only tried, what POSIX says. */
#define C11_MUTEX(name, parameters, arguments, wait)                                                                   \
    PRELOAD_WRAPPER(int, name, parameters)                                                                             \
    {                                                                                                                  \
        preload_outer outer = preload_begin(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK);   \
        int outcome;                                                                                                   \
                                                                                                                       \
        if (__builtin_expect(preload_marks_none(), 0)) {                                                               \
            outcome = PRELOAD_REAL(int, name, parameters) arguments;                                                   \
        } else {                                                                                                       \
            outcome = PRELOAD_REAL(int, pthread_mutex_trylock, (pthread_mutex_t *))((pthread_mutex_t *)(void *)mutex); \
            outcome = __builtin_expect(outcome == EBUSY, 0) ? wait : c11_outcome(outcome);                             \
        }                                                                                                              \
        preload_end(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK, outer);                    \
        return outcome;                                                                                                \
    }

C11_MUTEX(mtx_lock, (mtx_t * mutex), (mutex), c11_outcome(mutex_wait_for((pthread_mutex_t *)(void *)mutex)))
C11_MUTEX(mtx_timedlock, (mtx_t * mutex, const struct timespec *until), (mutex, until),
          mutex_wait_until(CALL_mtx_timedlock, (pthread_mutex_t *)(void *)mutex, until))

/* --- rwlocks ------------------------------------------------------------------------------------------------------ */

static struct lock_wait rwlock_wait(pthread_rwlock_t *lock)
{
    bool is_shared = lock->__data.__shared != 0;

    return (struct lock_wait){
        .lock = lock,
        .owner = is_shared ? NULL : &lock->__data.__cur_writer,
        .flags = is_shared ? 0 : RIP_WAIT_SHARABLE, /* no owner is given for a shared one, which would mean readers */
        .piece_max_s = lock->__data.__flags == PTHREAD_RWLOCK_PREFER_READER_NP ? PIECE_MAX_S : 0,
    };
}

static __attribute__((noinline)) int rwlock_wait_for(pthread_rwlock_t *lock, enum preload_call call,
                                                     enum preload_call clock_call)
{
    struct lock_wait wait = rwlock_wait(lock);

    return wait_for(&wait, preload_function(call), preload_function(clock_call));
}

static int rwlock_wait_until(pthread_rwlock_t *lock, enum preload_call call, const struct timespec *until)
{
    struct lock_wait wait = rwlock_wait(lock);

    return wait_until(&wait, preload_function(call), until);
}

static int rwlock_wait_until_clock(pthread_rwlock_t *lock, enum preload_call call, clockid_t clock,
                                   const struct timespec *until)
{
    struct lock_wait wait = rwlock_wait(lock);

    return wait_until_clock(&wait, preload_function(call), clock, until);
}

READ_LOCK(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock), false,
          rwlock_wait_for(lock, CALL_pthread_rwlock_rdlock, CALL_pthread_rwlock_clockrdlock))
READ_LOCK(pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const struct timespec *until), (lock, until),
          !is_time(until), rwlock_wait_until(lock, CALL_pthread_rwlock_timedrdlock, until))
READ_LOCK(pthread_rwlock_clockrdlock, (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
          (lock, clock, until), !is_clock(clock) || !is_time(until),
          rwlock_wait_until_clock(lock, CALL_pthread_rwlock_clockrdlock, clock, until))
WRITE_LOCK(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock), false,
           rwlock_wait_for(lock, CALL_pthread_rwlock_wrlock, CALL_pthread_rwlock_clockwrlock))
WRITE_LOCK(pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const struct timespec *until), (lock, until),
           !is_time(until), rwlock_wait_until(lock, CALL_pthread_rwlock_timedwrlock, until))
WRITE_LOCK(pthread_rwlock_clockwrlock, (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
           (lock, clock, until), !is_clock(clock) || !is_time(until),
           rwlock_wait_until_clock(lock, CALL_pthread_rwlock_clockwrlock, clock, until))

/* --- stdio -------------------------------------------------------------------------------------------------------- */

/* The owner of such a lock is known by an address alone, of which its memory makes a thread (ripd/cases/lock_wait.h).
 */
static void file_wait_for(FILE *file)
{
    rip_wait_begin(file, NULL, 0);
    PRELOAD_REAL(void, flockfile, (FILE *))(file);
    rip_wait_end();
}

PRELOAD_WRAPPER(void, flockfile, (FILE * file))
{
    preload_outer outer = preload_begin(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK);

    if (__builtin_expect(preload_marks_none(), 0))
        PRELOAD_REAL(void, flockfile, (FILE *))(file);
    else if (PRELOAD_REAL(int, ftrylockfile, (FILE *))(file) != 0)
        file_wait_for(file);
    preload_end(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK, outer);
}
