/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigbus.c - returns to the guard on a fault in a guarded range. Touches the signal disposition of SIGBUS and
 * thread-local storage.
 *
 * Guarantees
 *   1. The handler runs with SIGBUS unblocked (SA_NODEFER). So siglongjmp need not restore a mask, and a guard costs no
 *      system call.
 *   2. The guard is disarmed before the jump, so a second fault on the way is treated as a foreign one.
 *   3. A foreign SIGBUS gets its default action. The disposition is reset and the access faults again, so the core dump
 *      shows the faulting code. A SIGBUS that was sent by a process is raised again, because nothing would fault.
 *   4. errno of the interrupted code is preserved.
 */
#include "os/sigbus.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct guard {
    volatile sig_atomic_t armed;
    uintptr_t base;
    size_t size_bytes;
    sigjmp_buf place;
};

static _Thread_local struct guard guard;

static bool guard_covers(const siginfo_t *info)
{
    uintptr_t address = (uintptr_t)info->si_addr;

    return guard.armed && info->si_code > 0 && address - guard.base < guard.size_bytes;
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;

    (void)context;
    if (guard_covers(info)) {
        guard.armed = 0;
        siglongjmp(guard.place, 1);
    }
    signal(number, SIG_DFL);
    if (info->si_code <= 0)
        raise(number);
    errno = saved_errno;
}

int sigbus_install(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) == 0 ? 0 : -errno;
}

sigjmp_buf *sigbus_arm(const void *base, size_t size_bytes)
{
    guard.base = (uintptr_t)base;
    guard.size_bytes = size_bytes;
    atomic_signal_fence(memory_order_seq_cst); /* the handler must not see it armed with the previous range */
    guard.armed = 1;
    return &guard.place;
}

void sigbus_unguard(void)
{
    atomic_signal_fence(memory_order_seq_cst); /* the guarded reads must happen before */
    guard.armed = 0;
}
