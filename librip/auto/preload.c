/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c - tracing starts before main() and ends behind the last destructor.
 *
 * Settings come from the environment, put there by `rip run` or by a unit's Environment= line: those of
 * librip/own_ring.c, and
 *   RIP_RUN_PID  the pid of `rip run`. The process that has it reports once, in one line on standard error, why it has
 *             no ring, or one of another name. Other processes print nothing.
 *
 * Guarantees
 *   A. When no ring can be had the program runs untraced.
 *   B. The ring is left in order at exit(), behind all of the program's handlers and destructors (ours is the first
 *      registered), and at quick_exit(), _exit() and _Exit(). After death by a signal it stays, to be read.
 *   C. A thread that still runs when the process leaves snaps into private memory: the ring's mapping is replaced, so
 *      a slot that another process takes over is not written to. Not so under a seccomp filter: until the process has
 *      ended such a thread may count a snap too many in a slot of a process that shares the ring.
 *   D. Only a process that is in the ring leaves it: never a vfork() child.
 *   E. Under a seccomp filter the ring is left by exit() and quick_exit() alone, by stores to memory; its file stays.
 *      _exit() leaves it as a signal does: it may be a vfork() child's.
 *   F. The ring is there before main(), and not from the first call on that can block: a program that never makes one,
 *      but computes for ever, is listed, too. That is most of what tracing adds to a start.
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

#define DESCRIPTOR_MAX 4096u /* the kernel's table of descriptors grows with the highest number */

RIP_EARLY struct preload_state preload_state;

/* Under a filter a vfork() child cannot be distinguished from its parent. */
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

static RIP_EARLY bool has_reported; /* the process, or the one that forked it */

/*
 * True if a line can be written there at once and without a signal: a pipe that nobody reads brings SIGPIPE, and a file
 * beyond the limit of its size SIGXFSZ.
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

/* In one write, past the wrappers. */
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
        preload_report("rip: what stands at the ring's name cannot be replaced (%s): its name is %s\n", strerror(error),
                       path);
    else if (error != 0)
        preload_report("rip: no ring can be made in %s (%s): the program is not traced\n", rip__own_ring_dir(),
                       strerror(error));
}

/* Why the program cannot be traced, whatever ring there is; NULL if it can. */
static const char *why_untraceable(void)
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

void preload_return(void)
{
    int saved_errno = errno;

    if (__libc_single_threaded) /* else that is done */
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
 * Makes the ring with a descriptor that the program cannot meet: beyond the limit of its own, which is raised for that
 * moment. Where it may not be raised, the last number that there is. There is one thread yet.
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

/* on_exit() and not a destructor: what is registered first, before even the dynamic linker's own, runs last. */
static void start(void)
{
    const char *reason = why_untraceable();

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

    if (!preload_state.started) { /* before main() there is one thread, or one that creates the second through us */
        preload_state.started = true;
        start();
        if (has_reported)
            unsetenv("RIP_RUN_PID"); /* what this process executes next would say it again */
    }
    errno = saved_errno;
}

__attribute__((constructor)) static void preload_constructor(void)
{
    preload_fork_setup();
    preload_start();
}

static void leave_at_once(void)
{
    if (!preload_filtered())
        preload_leave();
}

__attribute__((noreturn)) PRELOAD_WRAPPER(void, _exit, (int status))
{
    leave_at_once();
    PRELOAD_REAL(void, _exit, (int))(status);
    __builtin_unreachable();
}

__attribute__((noreturn)) PRELOAD_WRAPPER(void, _Exit, (int status))
{
    leave_at_once();
    PRELOAD_REAL(void, _Exit, (int))(status);
    __builtin_unreachable();
}
