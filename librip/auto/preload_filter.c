/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_filter.c - the program installs a seccomp filter.
 *
 * A filter is made for the calls of the program, and many kill the process at any other. So from the moment before it
 * is installed nothing of ours makes a system call, in any thread: with SECCOMP_FILTER_FLAG_TSYNC it applies to all of
 * them, and otherwise to those that this thread creates. What later threads need is backed beforehand.
 *
 * Guarantees
 *   A. prctl(), and seccomp() by syscall() as libseccomp calls it, are noticed. Bare system calls are not.
 *   B. If the filter is refused all is as it was before.
 *   C. A filter that another program installed before an exec, as container runtimes do, changes nothing.
 *   D. A vfork() child that installs a filter changes nothing: the flag would be its parent's.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "preload.h"
#include "writer.h"

#define LATER_THREADS 64u /* that can still get a slot */

bool preload_filtered(void)
{
    return rip__is_filtered();
}

bool preload_is_filter_prctl(int option, const unsigned long values[4])
{
    return option == PR_SET_SECCOMP &&
           (values[0] == SECCOMP_MODE_STRICT || (values[0] == SECCOMP_MODE_FILTER && values[1] != 0));
}

/* libseccomp asks for what the kernel can do by a filter that is NULL. */
bool preload_is_filter_seccomp(unsigned long operation, unsigned long program)
{
    return operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && program != 0);
}

/* A positive number is a thread that could not follow, or with a listener its descriptor. */
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

    if (begins && preload_is_ours()) { /* no module can be listed any more */
        rip__modules_learn((uintptr_t)preload_filter_begin);
        rip__modules_refresh();
    }
    if (begins && preload_is_ours() && rip__lock(&guard)) {
        if (rip__writer.base != NULL && !rip__writer.left)
            rip__slot_reserve(LATER_THREADS);
        rip_store_relaxed(&rip__writer.filtered, true); /* under the mutex: nobody is in the middle of a cold call */
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
