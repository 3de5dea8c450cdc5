/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c - starts tracing before main() and ends it after the last destructor.
 *
 * Settings come from the environment, set by `rip run` or by a unit's Environment= line. They are those of
 * librip/own_ring.c, and:
 *   RIP_RUN_PID  the pid of `rip run`. The process with this pid reports once, in one line on standard error, why it
 *             has no ring, or a ring with another name. Other processes print nothing.
 *
 * Guarantees
 *   A. If no ring can be made, the program runs untraced.
 *   B. exit() leaves the ring in order, after all of the program's exit handlers and destructors (our handler is the
 *      first registered). So do quick_exit(), _exit() and _Exit(). After a fatal signal the ring stays for readers.
 *   C. A thread that still runs when the process leaves the ring snaps into private memory: the ring's mapping is
 *      replaced, so the thread cannot write to a slot that another process now uses. Exception: under a seccomp filter
 *      the mapping stays. Until the process ends, such a thread may add a snap to a slot of a process that shares the
 *      ring.
 *   D. Only a process that is in the ring leaves it. A vfork() child never does.
 *   E. Under a seccomp filter only exit() and quick_exit() leave the ring, by stores to memory, and the ring's file
 *      stays. _exit() does nothing to the ring, as a fatal signal does: the caller may be a vfork() child.
 *   F. The ring exists before main(), not from the first blocking call on: so a program that computes and never blocks
 *      is listed, too. Making the ring is most of the time that tracing adds to a program's start.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

#include "preload.h"
#include "writer.h"

#define DESCRIPTOR_MAX 4096u /* the kernel's descriptor table grows with the highest number in use */

RIP_EARLY struct preload_state preload_state;

/* Under a seccomp filter getpid() is not allowed: a vfork() child looks like its parent. */
bool preload_is_ours(void)
{
    if (!rip_load_relaxed(&preload_state.active) || preload_thread.forking)
        return false;
    return preload_filtered() ? !rip__fork_unnoticed() : getpid() == preload_state.pid;
}

bool preload_is_free(void)
{
    return !preload_filtered() && preload_is_ours();
}

/* --- the ring ----------------------------------------------------------------------------------------------------- */

static RIP_EARLY bool has_reported; /* this process, or the process that forked it */

/*
 * Returns true if a line can be written without blocking and without a signal. A pipe without a reader raises SIGPIPE,
 * and a file that exceeds RLIMIT_FSIZE raises SIGXFSZ.
 */
static bool has_room(int fd)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    struct rlimit limit;
    struct stat status;

    return fstat(fd, &status) == 0 && poll(&room, 1, 0) == 1 && room.revents == POLLOUT &&
           (!S_ISREG(status.st_mode) || (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY));
}

static bool may_report(void)
{
    const char *run_pid = secure_getenv("RIP_RUN_PID");

    if (has_reported || run_pid == NULL || strtol(run_pid, NULL, 10) != getpid() || !has_room(STDERR_FILENO))
        return false;
    has_reported = true;
    return true;
}

/* vdprintf() makes one write(), which does not go through the wrappers. */
void preload_report(const char *format, ...)
{
    va_list arguments;

    if (!may_report())
        return;
    va_start(arguments, format);
    vdprintf(STDERR_FILENO, format, arguments);
    va_end(arguments);
}

static void report(bool made, const char *path, int error)
{
    if (error != 0 && made)
        preload_report("rip: cannot replace the file at the ring's path (%s): the ring is %s\n", strerror(error), path);
    else if (error != 0)
        preload_report("rip: cannot make a ring in %s (%s): the program is not traced\n", rip__own_ring_dir(),
                       strerror(error));
}

/* Returns the reason why this program cannot be traced, as a line to report, or NULL if it can. */
static const char *untraceable_reason(void)
{
    if (gnu_get_libc_version == NULL)
        return "rip: the program's C library is not glibc: it is not traced\n";
    if (preload_is_sanitized())
        return "rip: the program is built with a sanitizer: it is not traced\n";
    return NULL;
}

static void open_ring(void)
{
    char path[PATH_MAX];
    int error;
    bool made = rip__own_ring_make(path, &error);

    report(made, path, error);
    if (!made)
        return;
    preload_state.pid = getpid();
    rip_store_release(&preload_state.active, true);
}

static void leave(enum rip_leave how)
{
    int saved_errno = errno;

    if (preload_is_ours()) {
        rip_store_relaxed(&preload_state.active, false);
        rip__leave(how);
        if (!preload_filtered() && !__libc_single_threaded)
            rip__detach_mapping();
    }
    errno = saved_errno;
}

void preload_leave(void)
{
    leave(RIP_LEAVE_LAST);
}

void preload_leave_to_exec(void)
{
    leave(RIP_LEAVE_TO_EXEC);
}

void preload_reopen(void)
{
    int saved_errno = errno;

    if (__libc_single_threaded) /* with several threads, leave() did this */
        rip__detach_mapping();
    rip__forget_ring();
    preload_thread_forget();
    preload_forget_pages();
    open_ring();
    if (preload_state.active)
        preload_thread_enter();
    errno = saved_errno;
}

/* --- start and end ------------------------------------------------------------------------------------------------ */

static void leave_at_exit(int status, void *unused)
{
    (void)status;
    (void)unused;
    preload_leave();
}

/*
 * Makes the ring with a descriptor number that the program does not get itself: one past its soft limit, which is
 * raised for a moment. If the limit may not be raised, the ring gets the highest number below it. The process still has
 * one thread.
 */
static void open_first_ring(void)
{
    struct rlimit limit, raised;
    int wanted = 0;
    bool is_raised = false;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= DESCRIPTOR_MAX) {
        raised = (struct rlimit){limit.rlim_cur + 1, limit.rlim_max};
        is_raised = limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0;
        wanted = (int)limit.rlim_cur - !is_raised;
    }
    rip__set_preloaded(wanted);
    rip__writer.interprets = preload_is_interpreter();
    open_ring();
    if (is_raised)
        setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * Uses on_exit() instead of a destructor: this handler is registered first, even before the dynamic linker's own
 * handler, so it runs last.
 */
static void start(void)
{
    const char *reason = untraceable_reason();

    preload_resolve_setup();
    if (rip__is_disabled())
        return;
    if (reason != NULL) {
        preload_report("%s", reason);
        return;
    }
    preload_thread.tried = true;
    preload_thread_setup();
    open_first_ring();
    if (!preload_state.active)
        return;
    on_exit(leave_at_exit, NULL);
    at_quick_exit(preload_leave);
    preload_thread_enter();
    preload_binding_setup();
}

void preload_start(void)
{
    int saved_errno = errno;

    if (!preload_state.started) { /* no race: a second thread is created only by our wrapper, which comes here first */
        preload_state.started = true;
        start();
        if (has_reported)
            unsetenv("RIP_RUN_PID"); /* a program that this process executes would report it again */
    }
    errno = saved_errno;
}

__attribute__((constructor)) static void preload_constructor(void)
{
    preload_fork_setup();
    preload_start();
}

static void leave_unless_filtered(void)
{
    if (!preload_filtered())
        preload_leave();
}

__attribute__((noreturn)) PRELOAD_WRAPPER(void, _exit, (int status))
{
    leave_unless_filtered();
    PRELOAD_REAL(void, _exit, (int))(status);
    __builtin_unreachable();
}

__attribute__((noreturn)) PRELOAD_WRAPPER(void, _Exit, (int status))
{
    leave_unless_filtered();
    PRELOAD_REAL(void, _Exit, (int))(status);
    __builtin_unreachable();
}
