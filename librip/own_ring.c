/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_ring.c - the ring of a program that makes none itself: its directory, its name and its end. For the preload
 * library and for compiler instrumentation (librip-compiled).
 *
 * Settings come from the environment:
 *   RIP_DIR      directory of the ring; default: /run/librip if it is writable, else /dev/shm
 *   RIP_NAME     name of the ring; NAME.PID if a live process holds it; default: COMM.PID. If that name is held too:
 *                NAME.PID~2 and so on, because the first pid is 1 in every container that shares the directory. If
 *                something other than a ring of this user is at NAME (a link, a directory): NAME~2 and so on.
 *   RIP_MAX      ids that may be live at the same time; default: CAPACITY, or fewer if the address space is limited
 *   RIP_DISABLE  1: no tracing; every wrapper only makes the wrapped call
 *
 * Guarantees
 *   1. A crash loop leaves at most DEAD_KEPT rings NAME.PID of one user: the latest.
 *   2. A thread that still runs after the process has left the ring snaps into private memory, not into a slot that
 *      another process has claimed.
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
#define ADDRESS_SPACE_SHARE 64u /* the ring uses at most 1/64 of a limited address space */
#define CAPACITY 65536u
#define NUMBER_MAX 1000u /* names that are tried */
#define DEAD_KEPT 8u     /* rings NAME.PID of a crash loop, including the one that is being made */

/* Settings --------------------------------------------------------------------------------------------------------- */

/*
 * Settings from the environment at the start. A program may replace its environment later (nginx does). A worker that
 * gives up root after that still makes its ring in the requested place.
 */
static RIP_EARLY bool settings_taken;
static struct settings {
    uint32_t capacity;
    char name[NAME_MAX + 2]; /* "" = none given; a longer name is cut, so that no path fits */
    char dir[PATH_MAX];      /* likewise */
} settings;

/* Does not use snprintf(): see rip__format_number(). Returns false if text was cut. */
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

/* The whole ring is mapped: if the address space is limited, leave it to the program. */
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

/* As iscntrl() in the C locale, which every program has at its start. */
static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

/* Returns the kernel's name of this thread, with characters replaced that a file name must not have. */
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

/* Returns true if another name may work. EPERM: the name is another user's empty file in a sticky directory. */
static bool may_another_name_work(int error)
{
    return error == EBUSY || error == EEXIST || error == EPERM;
}

/*
 * Returns true if, as far as this user can know, a live ring is at path. A program that gave up root and executed
 * another one cannot read root's ring of that name.
 */
static bool is_held(const char *path, int error)
{
    struct stat status;

    return error == EBUSY ||
           (error == EEXIST && lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid != geteuid());
}

/* Writes NAME or NAME.PID, followed by ~NUMBER if number is above 1. Returns false if the path is too long. */
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
        if (!may_another_name_work(error))
            return false;
        number = held && !with_pid ? 1 : number + 1;
        with_pid |= held;
    }
    return false;
}

/* Detaching -------------------------------------------------------------------------------------------------------- */

/* The private mapping is unlocked, so that mlockall() does not make it resident. */
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

/* Compiler instrumentation ----------------------------------------------------------------------------------------- */

bool rip__compiled_begin(void)
{
    static char path[PATH_MAX]; /* static: the thread may have a small stack */
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
