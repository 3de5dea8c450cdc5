/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_ring.c - the ring of a program that makes none itself: where it is, what it is called, and its end. For the
 * preload library and for what is compiled in.
 *
 * Settings come from the environment:
 *   RIP_DIR   directory of the ring; else /run/librip if it is writable, else /dev/shm
 *   RIP_NAME  its name; if a live process holds that, NAME.PID; else COMM.PID. If that cannot be had either, NAME.PID~2
 *             and so on: in every container that shares the directory the first pid is 1. Where something stands at
 *             NAME that is no ring of ours, a link or a directory, NAME~2 and so on.
 *   RIP_MAX   ids alive at once; else CAPACITY, or fewer under a limit on the address space
 *   RIP_DISABLE  1: there is no tracing, and every wrapper only makes the wrapped call
 *
 * Guarantees
 *   1. A crash loop leaves at most DEAD_KEPT rings NAME.PID of one user, the latest.
 *   2. A thread that still runs when the process has left snaps into private memory, and not into a slot that another
 *      process has taken over.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer.h"

#define DEFAULT_DIR "/run/librip"
#define FALLBACK_DIR "/dev/shm"
#define ADDRESS_SPACE_SHARE 64u /* of a limit on it: the ring takes one part in so many */
#define CAPACITY 65536u
#define NUMBER_MAX 1000u /* names that are tried */
#define DEAD_KEPT 8u     /* rings NAME.PID of a crash loop, with the one that is to be made */

/* Settings --------------------------------------------------------------------------------------------------------- */

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
        return CAPACITY;
    fitting = limit.rlim_cur / ADDRESS_SPACE_SHARE / RIP_SLOT_BYTES;
    return fitting < CAPACITY ? (uint32_t)fitting + 1 : CAPACITY;
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

const char *rip__own_ring_dir(void)
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

/* The ring --------------------------------------------------------------------------------------------------------- */

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
    return append(ret_path, PATH_MAX, rip__own_ring_dir()) && append(ret_path, PATH_MAX, "/") &&
           append(ret_path, PATH_MAX, name) &&
           (!with_pid || append_number(ret_path, PATH_MAX, ".", (uint32_t)getpid())) &&
           (number <= 1 || append_number(ret_path, PATH_MAX, "~", number));
}

bool rip__own_ring_make(char ret_path[PATH_MAX], int *ret_error)
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
            rip__file_bound_dead(rip__own_ring_dir(), name, DEAD_KEPT - 1);
        errno = ENAMETOOLONG;
        if (format_path(ret_path, name, with_pid, number) && rip_create_ring(ret_path, settings.capacity))
            return true;
        error = errno;
        held = is_held(ret_path, error);
        if (!held && *ret_error == 0)
            *ret_error = error;
        if (!is_of_the_name(error))
            return false;
        number = held && !with_pid ? 1 : number + 1;
        with_pid |= held;
    }
    return false;
}

/* Its end ---------------------------------------------------------------------------------------------------------- */

/* Unlocked, so that mlockall() does not make it resident. */
void rip__detach_mapping(void)
{
    uint64_t bytes = rip__writer.geometry.file_bytes;
    void *private;

    if (rip__writer.base == NULL || rip__map_bare(-1, bytes, &private) != 0)
        return;
    if (mprotect(private, bytes, PROT_READ | PROT_WRITE) != 0 ||
        mremap(private, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, rip__writer.base) == MAP_FAILED)
        munmap(private, bytes);
}

/* What is compiled in ---------------------------------------------------------------------------------------------- */

bool rip__compiled_begin(void)
{
    static char path[PATH_MAX]; /* the thread may have a small stack */
    int error;

    if (rip_ring != NULL || rip__is_disabled())
        return false;
    rip__writer.compiled = true;
    rip__writer.compiled = rip__own_ring_make(path, &error);
    return rip__writer.compiled;
}

void rip__compiled_end(void)
{
    int saved_errno = errno;

    rip__leave(RIP_LEAVE_LAST);
    if (!__libc_single_threaded)
        rip__detach_mapping();
    errno = saved_errno;
}
