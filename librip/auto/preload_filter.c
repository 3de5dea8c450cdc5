/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_filter.c - notices that the program installs a seccomp filter.
 *
 * A filter allows the system calls of the program, and many filters kill the process at any other call. So the library
 * makes no system call in any thread, starting right before the filter is installed. All threads are included because
 * the filter applies to all of them with SECCOMP_FILTER_FLAG_TSYNC, and otherwise to the threads that this thread
 * creates. Slots for later threads are backed beforehand.
 *
 * Guarantees
 *   A. prctl() is noticed, and seccomp() through syscall(), which libseccomp uses. Raw system calls are not noticed.
 *   B. If the kernel refuses the filter, the library makes system calls again.
 *   C. A filter that another program installed before an exec, as container runtimes do, changes nothing.
 *   D. A vfork() child that installs a filter changes nothing, because the flag is in its parent's memory.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "preload.h"
#include "writer.h"

#define LATER_THREADS 64u /* number of threads that can still get a slot under the filter */

bool preload_filtered(void)
{
    return rip__is_filtered();
}

bool preload_is_filter_prctl(int option, const unsigned long values[4])
{
    return option == PR_SET_SECCOMP &&
           (values[0] == SECCOMP_MODE_STRICT || (values[0] == SECCOMP_MODE_FILTER && values[1] != 0));
}

/* libseccomp probes the kernel's features with a filter that is NULL. */
bool preload_is_filter_seccomp(unsigned long operation, unsigned long program)
{
    return operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && program != 0);
}

/* A positive outcome is a listener's descriptor, or else the tid of a thread that could not take the filter. */
bool preload_is_filter_installed(unsigned long flags, long outcome)
{
    return outcome == 0 || (outcome > 0 && (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);
}

static bool shares_parents_memory(void)
{
    pid_t pid = rip_load_relaxed(&rip__writer.pid);

    return pid != 0 && !rip__fork_unnoticed() && pid != getpid();
}

bool preload_filter_begin(void)
{
    int saved_errno = errno;
    struct rip_guard guard;
    bool begins = !preload_filtered() && !shares_parents_memory();

    if (begins && preload_is_ours()) { /* list all modules now: later that would take system calls */
        rip__modules_learn((uintptr_t)preload_filter_begin);
        rip__modules_refresh();
    }
    if (begins && preload_is_ours() && rip__lock(&guard)) {
        if (rip__writer.base != NULL && !rip__writer.left)
            rip__slot_reserve(LATER_THREADS);
        rip_store_relaxed(&rip__writer.filtered, true); /* under the mutex: no thread is inside a cold function */
        rip__unlock(&guard);
    }
    if (begins)
        rip_store_relaxed(&rip__writer.filtered, true);
    errno = saved_errno;
    return begins;
}

void preload_filter_end(bool begun, bool installed)
{
    if (begun && !installed)
        rip_store_relaxed(&rip__writer.filtered, false);
}
