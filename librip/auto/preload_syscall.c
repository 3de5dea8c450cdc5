/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_syscall.c - wraps syscall(), which programs use for waits that glibc has no function for.
 *
 * Rust's locks, channels and parked threads, and C++20's waits (atomics, latches, futures, semaphores), call
 * syscall(SYS_futex). Only the program knows the meaning of a futex. So a wait for it counts as idle, like a wait for a
 * condition or a semaphore.
 *
 * Guarantees
 *   A. Every system call is made with the arguments that the caller passed. Nothing is done after a call that is not a
 *      wait, because it may have returned in a child.
 *   B. Only waits leave a breadcrumb.
 */
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "preload.h"

#define ARGUMENT_COUNT 6 /* the most that a system call can have */

/* Returns RIP_CALL_OUTSIDE if the operation is not a wait. */
static uint8_t futex_call(unsigned long operation)
{
    switch (operation & (unsigned long)FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return RIP_CALL_WORK;
    case FUTEX_LOCK_PI: /* a lock, whose owner is in the futex word */
#ifdef FUTEX_LOCK_PI2
    case FUTEX_LOCK_PI2:
#endif
        return RIP_CALL_LOCK;
    default:
        return RIP_CALL_OUTSIDE;
    }
}

static uint8_t call_of(long number, const unsigned long arguments[ARGUMENT_COUNT])
{
    switch (number) {
    case SYS_futex:
        return futex_call(arguments[1]);
#ifdef SYS_futex_waitv
    case SYS_futex_waitv:
        return RIP_CALL_WORK;
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_epoll_pwait:
        return RIP_CALL_READY;
    case SYS_io_uring_enter: /* with GETEVENTS, waits for arguments[2] completions */
        return (arguments[3] & IORING_ENTER_GETEVENTS) != 0 && arguments[2] != 0 ? RIP_CALL_WORK : RIP_CALL_OUTSIDE;
    default:
        return RIP_CALL_OUTSIDE;
    }
}

static long make(long number, const unsigned long arguments[ARGUMENT_COUNT])
{
    return PRELOAD_REAL(long, syscall, (long, ...))(number, arguments[0], arguments[1], arguments[2], arguments[3],
                                                    arguments[4], arguments[5]);
}

/* Makes a prctl() or seccomp() call, which may install a filter. */
static long make_filter(long number, const unsigned long arguments[ARGUMENT_COUNT])
{
    bool installs = number == SYS_prctl ? preload_is_filter_prctl((int)arguments[0], arguments + 1)
                                        : preload_is_filter_seccomp(arguments[0], arguments[2]);
    unsigned long flags = number == SYS_seccomp ? arguments[1] : 0;
    bool begun = installs && preload_filter_begin();
    long outcome = make(number, arguments);

    preload_filter_end(begun, preload_is_filter_installed(flags, outcome));
    return outcome;
}

PRELOAD_WRAPPER(long, syscall, (long number, ...))
{
    unsigned long arguments[ARGUMENT_COUNT];
    preload_outer outer;
    uint8_t call;
    long outcome;
    va_list list;

    va_start(list, number); /* reading more than the caller passed is harmless: the kernel ignores the rest */
    for (unsigned int i = 0; i < ARGUMENT_COUNT; i++)
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (number == SYS_seccomp || number == SYS_prctl)
        return make_filter(number, arguments);
    call = call_of(number, arguments);
    if (call == RIP_CALL_OUTSIDE)
        return make(number, arguments);
    outer = preload_begin(__builtin_return_address(0), __builtin_frame_address(0), call);
    outcome = make(number, arguments);
    preload_end(__builtin_return_address(0), __builtin_frame_address(0), call, outer);
    return outcome;
}
