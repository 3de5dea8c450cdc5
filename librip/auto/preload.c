/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c - tracing starts before main() and ends behind the last destructor.
 *
 * Settings come from the environment, put there by `rip run` or by a unit's Environment= line:
 *   RIP_DIR   directory of the ring; else /run/librip if it is writable, else /dev/shm
 *   RIP_NAME  its name; if a live process holds that, NAME.PID; else COMM.PID. If that cannot be had either, NAME.PID~2
 *             and so on: in every container that shares the directory the first pid is 1. Where something stands at
 *             NAME that is no ring of ours, a link or a directory, NAME~2 and so on.
 *   RIP_MAX   ids alive at once; else RIP_PRELOAD_CAPACITY, or fewer under a limit on the address space
 *   RIP_DISABLE  1: there is no tracing, and every wrapper only makes the wrapped call
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
 *   F. A crash loop leaves at most DEAD_KEPT rings NAME.PID of one user, the latest.
 *   G. The ring is there before main(), and not from the first call on that can block: a program that never makes one,
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

#define DEFAULT_DIR "/run/librip"
#define FALLBACK_DIR "/dev/shm"
#define ADDRESS_SPACE_SHARE 64u /* of a limit on it: the ring takes one part in so many */
#define NUMBER_MAX 1000u        /* names that are tried */
#define DESCRIPTOR_MAX 4096u    /* the kernel's table of descriptors grows with the highest number */
#define DEAD_KEPT 8u            /* rings NAME.PID of a crash loop, with the one that is to be made */

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

/* --- settings ----------------------------------------------------------------------------------------------------- */

/*
 * The environment as it was at the start. A program may replace it later (nginx does), and a worker that gives up root
 * after that still makes its ring where it was asked for.
 */
static RIP_EARLY bool settings_taken;
static struct settings {
    uint32_t capacity;
    char name[NAME_MAX + 2]; /* "" = none was given; cut, so that no path can be made, if it is longer */
    char dir[PATH_MAX];      /* the same */
} settings;

/* Without snprintf(): see rip__format_number(). False if text was cut. */
static bool append(char *string, size_t capacity, const char *text)
{
    size_t used = strlen(string), bytes = strlen(text), room = capacity - 1 - used;

    memcpy(string + used, text, bytes < room ? bytes : room);
    string[bytes < room ? used + bytes : capacity - 1] = '\0';
    return bytes <= room;
}

static bool append_number(char *string, size_t capacity, const char *before, uint32_t number)
{
    char digits[RIP_DIGITS_BYTES];

    rip__format_number(number, digits);
    return append(string, capacity, before) && append(string, capacity, digits);
}

/* The ring is mapped whole: where the address space has a limit, the program needs it for itself. */
static uint32_t capacity_by_default(void)
{
    struct rlimit limit;
    rlim_t fitting;

    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return RIP_PRELOAD_CAPACITY;
    fitting = limit.rlim_cur / ADDRESS_SPACE_SHARE / RIP_SLOT_BYTES;
    return fitting < RIP_PRELOAD_CAPACITY ? (uint32_t)fitting + 1 : RIP_PRELOAD_CAPACITY;
}

static void take_settings(void)
{
    const char *dir = secure_getenv("RIP_DIR");
    const char *name = secure_getenv("RIP_NAME");
    const char *max = secure_getenv("RIP_MAX");
    unsigned long capacity = max != NULL ? strtoul(max, NULL, 10) : 0;

    if (settings_taken)
        return;
    settings_taken = true;
    settings.capacity = capacity >= 1 && capacity <= RIP_CAPACITY_MAX ? (uint32_t)capacity : capacity_by_default();
    if (dir != NULL)
        append(settings.dir, sizeof(settings.dir), dir);
    if (name != NULL && strchr(name, '/') == NULL)
        append(settings.name, sizeof(settings.name), name);
}

static const char *ring_dir(void)
{
    if (settings.dir[0] != '\0')
        return settings.dir;
    return access(DEFAULT_DIR, W_OK | X_OK) == 0 ? DEFAULT_DIR : FALLBACK_DIR;
}

/* As iscntrl() says in the C locale, which is that of every program at its start. */
static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

/* The kernel's name of this thread, in a form that a file name can have. */
static void ring_comm(char ret_comm[RIP_COMM_BYTES + 1])
{
    memset(ret_comm, 0, RIP_COMM_BYTES + 1);
    prctl(PR_GET_NAME, ret_comm);
    for (char *c = ret_comm; *c != '\0'; c++) {
        if (*c == '/' || is_control(*c) || (*c == '.' && c == ret_comm))
            *c = '_';
    }
    if (ret_comm[0] == '\0')
        ret_comm[0] = '_';
}

/* --- the ring ----------------------------------------------------------------------------------------------------- */

/* True if another name may do better. EPERM: another user's empty file in a sticky directory. */
static bool is_of_the_name(int error)
{
    return error == EBUSY || error == EEXIST || error == EPERM;
}

/*
 * True if a live ring stands there, as far as this user can know: a program that gave up root and executed another
 * cannot look into root's ring of that name.
 */
static bool is_held(const char *path, int error)
{
    struct stat status;

    return error == EBUSY ||
           (error == EEXIST && lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid != geteuid());
}

/* NAME or NAME.PID, and ~NUMBER from 2 on. False if that is too long. */
static bool format_path(char ret_path[PATH_MAX], const char *name, bool with_pid, unsigned int number)
{
    ret_path[0] = '\0';
    return append(ret_path, PATH_MAX, ring_dir()) && append(ret_path, PATH_MAX, "/") &&
           append(ret_path, PATH_MAX, name) &&
           (!with_pid || append_number(ret_path, PATH_MAX, ".", (uint32_t)getpid())) &&
           (number <= 1 || append_number(ret_path, PATH_MAX, "~", number));
}

/* The first name that can be had. *ret_error is the error of the first that was no live ring; 0 = none. */
static bool make_ring(char ret_path[PATH_MAX], int *ret_error)
{
    const char *name = settings.name;
    char comm[RIP_COMM_BYTES + 1];
    bool with_pid;
    bool held;
    int error;

    take_settings();
    with_pid = name[0] == '\0';
    if (with_pid) {
        ring_comm(comm);
        name = comm;
    }
    *ret_error = 0;
    for (unsigned int number = 1; number <= NUMBER_MAX;) {
        if (with_pid && number == 1)
            rip__file_bound_dead(ring_dir(), name, DEAD_KEPT - 1);
        errno = ENAMETOOLONG;
        if (format_path(ret_path, name, with_pid, number) && rip_create_ring(ret_path, settings.capacity))
            return true;
        error = errno;
        held = is_held(ret_path, error);
        if (!held && *ret_error == 0)
            *ret_error = error;
        if (!is_of_the_name(error))
            return false;
        if (held && !with_pid)
            with_pid = true;
        else
            number++;
    }
    return false;
}

static bool has_reported; /* the process, or the one that forked it */

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
        preload_report("rip: no ring can be made in %s (%s): the program is not traced\n", ring_dir(), strerror(error));
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
    bool made = make_ring(path, &error);

    report(made, path, error);
    if (!made)
        return;
    preload_state.pid = getpid();
    rip_store_release(&preload_state.active, true);
}

/*
 * Puts private memory in the place of the ring at one stroke; unlocked, so that mlockall() does not make it resident.
 * Its slots read 0: by that the other threads notice.
 */
static void detach_mapping(void)
{
    uint64_t bytes = rip__writer.geometry.file_bytes;
    void *private;

    if (rip__writer.base == NULL || rip__map_bare(-1, bytes, &private) != 0)
        return;
    if (mprotect(private, bytes, PROT_READ | PROT_WRITE) != 0 ||
        mremap(private, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, rip__writer.base) == MAP_FAILED)
        munmap(private, bytes);
}

static void leave(enum rip_leave how)
{
    int saved_errno = errno;

    if (preload_is_ours()) {
        rip_store_relaxed(&preload_state.active, false);
        rip__leave(how);
        if (!preload_filtered() && !__libc_single_threaded)
            detach_mapping();
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
        detach_mapping();
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
