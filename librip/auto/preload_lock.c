/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_lock.c - wraps mutexes, rwlocks and the locks of stdio. The wrappers announce the call, like those of
 * preload_calls.c, and mark in the thread's slot which lock it waits for and who holds it.
 *
 * A wrapper first calls glibc's trylock. If that succeeds, or fails with an error other than EBUSY, it has done exactly
 * what lock does: it takes a free lock, counts a recursive lock up, and returns EOWNERDEAD, ENOTRECOVERABLE, EAGAIN or
 * EINVAL. After EBUSY the wrapper makes the wrapped call and returns its result, which may be EDEADLK.
 *
 * A wait without a timeout is split into pieces of UNMARKED_NS, 1 s, 2 s, 4 s ... PIECE_MAX_S. Each piece is a call of
 * the lock's clock form (pthread_mutex_clocklock()), and between two pieces the wrapper reads the owner again. An owner
 * that was read before that owner itself got stuck proves nothing, because it may have released the lock since (see
 * WAITS in librip/ABI.md). The clock forms behave as lock does for all mutexes, except that a thread queues up anew
 * after each timeout. This matters if the order of waiters is guaranteed: for rwlocks that prefer writers (a waiting
 * writer keeps new readers out), and for mutexes with a priority protocol among threads of a real-time policy. Waits
 * for these locks are not split.
 *
 * The owner of a mutex that is shared between processes is read every second. The holder may be in another process,
 * which knows nothing of this wait, so a reader does not trust an owner that has made progress since it was read.
 *
 * Guarantees
 *   A. Return values, errno and the lock's state are those of the wrapped call, for all types of locks.
 *   B. A free lock costs one call and no system call, as without the wrapper, and a breadcrumb.
 *   C. A lock is not accessed after the call that took it, or gave up waiting for it, has returned.
 *   D. A thread without a slot only makes the wrapped call.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

#include "preload.h"

#define SECOND_NS 1000000000L
#define UNMARKED_NS 50000000L /* shorter than any stall threshold */
#define PIECE_MAX_S 64
#define PIECE_MAX_SHARED_S 1

/* Flags in __kind; see glibc's nptl/pthreadP.h. They are part of glibc's ABI, because static initializers use them. */
#define MUTEX_INHERITS_PRIORITY 32
#define MUTEX_PROTECTS_PRIORITY 64
#define MUTEX_IS_SHARED 128 /* or robust */

/* How to wait for one lock. */
struct lock_wait {
    void *lock;
    const int *owner; /* NULL = not known */
    uint32_t flags;
    int piece_max_s; /* 0 = do not split the wait */
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
 * The first piece has no mark, because most waits end within it. Returns -1 if this C library lacks the clock form, and
 * EINVAL if the kernel lacks it for a mutex that inherits priority.
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

/* Waits for the lock without a timeout. Under a seccomp filter it makes only the call that the program makes. */
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
 * kind: the kind of the call. attempt: the trylock call. wait: what to do if attempt returns EBUSY. left_alone: if
 * true, the wrapper makes only the wrapped call, without attempt and wait.
 *
 * The slow path is a function of its own, because most locks are free, and then a call needs only a breadcrumb. A
 * signal handler that interrupted an announced call must announce its own calls, so it takes the slow path. Taking the
 * interpreter's lock leaves no breadcrumb: only a wait for it is announced.
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
        if (preload_is_unmarked() || call == RIP_CALL_INTERPRETER || (left_alone)) {                                   \
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

/* With a priority ceiling even trylock changes the thread's priority, so such a mutex is left alone. */
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

/* glibc checks the clock and the time of a rwlock before it tries the lock. For a mutex it checks only the clock. */
static bool is_clock(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static bool is_time(const struct timespec *until)
{
    return until->tv_nsec >= 0 && until->tv_nsec < SECOND_NS;
}

/* Under a real-time policy the thread that has waited longest gets the lock first. */
static bool is_real_time(void)
{
    const int saved_errno = errno, policy = sched_getscheduler(0);

    errno = saved_errno;
    return policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE;
}

/*
 * A wait for a mutex that is shared between processes is announced as RIP_CALL_SHARED. A vfork() child must not do
 * this, because the slot is its parent's.
 */
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

/* --- C11 mutexes, which glibc implements as POSIX mutexes --------------------------------------------------------- */

/* Converts a POSIX error in the same way as glibc. */
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

/* wait returns a C11 outcome. The trylock call returns a POSIX outcome, which is converted. */
#define C11_MUTEX(name, parameters, arguments, wait)                                                                   \
    PRELOAD_WRAPPER(int, name, parameters)                                                                             \
    {                                                                                                                  \
        preload_outer outer = preload_begin(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK);   \
        int outcome;                                                                                                   \
                                                                                                                       \
        if (__builtin_expect(preload_is_unmarked(), 0)) {                                                              \
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
        .flags = is_shared ? 0 : RIP_WAIT_SHARABLE, /* with RIP_WAIT_SHARABLE, no owner would mean readers */
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

/* glibc records the owner of such a lock only as an address. ripd finds the thread for it (ripd/cases/lock_wait.h). */
static void file_wait_for(FILE *file)
{
    rip_wait_begin(file, NULL, 0);
    PRELOAD_REAL(void, flockfile, (FILE *))(file);
    rip_wait_end();
}

PRELOAD_WRAPPER(void, flockfile, (FILE * file))
{
    preload_outer outer = preload_begin(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK);

    if (__builtin_expect(preload_is_unmarked(), 0))
        PRELOAD_REAL(void, flockfile, (FILE *))(file);
    else if (PRELOAD_REAL(int, ftrylockfile, (FILE *))(file) != 0)
        file_wait_for(file);
    preload_end(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK, outer);
}
