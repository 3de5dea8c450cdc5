/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.c - files of a proc directory. Touches nothing but files below the descriptor it is given.
 *
 * Guarantees
 *   1. Only files that any user may read are read, except ns/pid of the caller itself.
 *   2. A process or thread that went away, before or while it was read, is -ESRCH.
 *   3. Work is bounded: PROC_THREADS_MAX threads of a process are listed.
 */
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

enum {
    STAT_BYTES = 1024,   /* 52 numbers and a name of at most 64 bytes */
    STATUS_BYTES = 8192, /* 1.5 KB, and as much again for lists of groups and processors */
    NAME_BYTES = 64,
    BOOT_ID_TEXT_BYTES = 36,
    PROC_THREADS_MAX = 65536,
};

/* Reads PID/file, or PID/task/TID/file when tid is not 0. */
static int read_text(int proc, uint32_t pid, uint32_t tid, const char *file, char *ret_text, size_t size)
{
    char name[NAME_BYTES];
    ssize_t length;

    if (tid != 0)
        snprintf(name, sizeof(name), "%u/task/%u/%s", pid, tid, file);
    else
        snprintf(name, sizeof(name), "%u/%s", pid, file);
    length = file_read_at(proc, name, ret_text, size);
    if (length == -ENOENT || length == 0)
        return -ESRCH;
    return length < 0 ? (int)length : 0;
}

/*
 * Not PID/stat, for which the kernel adds up all threads: of 10,000 that takes a millisecond, in which none of them can
 * start a thread or be sent a signal.
 */
int proc_stat(int proc, uint32_t pid, struct proc_stat *ret_stat)
{
    return proc_thread_stat(proc, pid, pid, ret_stat);
}

int proc_thread_stat(int proc, uint32_t pid, uint32_t tid, struct proc_stat *ret_stat)
{
    char text[STAT_BYTES];
    int result = tid != 0 ? read_text(proc, pid, tid, "stat", text, sizeof(text)) : -ESRCH;

    return result != 0 ? result : proc_parse_stat(text, ret_stat);
}

static int read_status(int proc, uint32_t pid, uint32_t tid, struct proc_status *ret_status)
{
    char text[STATUS_BYTES];
    int result = read_text(proc, pid, tid, "status", text, sizeof(text));

    return result != 0 ? result : proc_parse_status(text, ret_status);
}

int proc_status(int proc, uint32_t pid, struct proc_status *ret_status)
{
    return read_status(proc, pid, 0, ret_status);
}

int proc_thread_status(int proc, uint32_t pid, uint32_t tid, struct proc_status *ret_status)
{
    return tid != 0 ? read_status(proc, pid, tid, ret_status) : -ESRCH;
}

bool proc_exists(int proc, uint32_t pid)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%u", pid);
    return faccessat(proc, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Threads ---------------------------------------------------------------------------------------------------------- */

static uint32_t parse_tid(const char *name)
{
    uint64_t value = 0;

    for (; *name >= '0' && *name <= '9' && value <= UINT32_MAX; name++)
        value = value * 10 + (uint64_t)(*name - '0');
    return *name == '\0' && value <= UINT32_MAX ? (uint32_t)value : 0;
}

int proc_thread_inner_tid(int proc, uint32_t pid, uint32_t tid, uint32_t *ret_inner_tid)
{
    struct proc_status status;
    int result = read_status(proc, pid, tid, &status);

    if (result != 0)
        return result;
    if (status.pid_in_namespace == 0)
        return -ENOTSUP;
    *ret_inner_tid = status.pid_in_namespace;
    return 0;
}

struct thread_visit {
    int (*visit)(void *context, uint32_t tid);
    void *context;
};

static int visit_name(void *context, const char *name)
{
    const struct thread_visit *walk = context;
    uint32_t tid = parse_tid(name);

    return tid != 0 ? walk->visit(walk->context, tid) : 0;
}

int proc_visit_threads(int proc, uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context)
{
    struct thread_visit walk = {.visit = visit, .context = context};
    char name[NAME_BYTES];
    int tasks, result;

    snprintf(name, sizeof(name), "%u/task", pid);
    tasks = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tasks < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    result = file_list(tasks, PROC_THREADS_MAX, visit_name, &walk);
    close(tasks);
    return result;
}

/* The machine ------------------------------------------------------------------------------------------------------ */

int proc_own_pid_namespace(int proc, uint64_t *ret_inode)
{
    struct stat status;

    if (fstatat(proc, "self/ns/pid", &status, 0) != 0)
        return -errno;
    *ret_inode = status.st_ino;
    return 0;
}

static int parse_hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return -1;
}

int proc_boot_id(int proc, uint8_t ret_id[16])
{
    char text[64];
    uint8_t id[16];
    const char *next = text;
    ssize_t length = file_read_at(proc, "sys/kernel/random/boot_id", text, sizeof(text));

    if (length < BOOT_ID_TEXT_BYTES)
        return length < 0 ? (int)length : -EINVAL;
    for (size_t i = 0; i < sizeof(id); i++) {
        int high, low;

        if (*next == '-')
            next++;
        high = parse_hex_digit(next[0]);
        low = high >= 0 ? parse_hex_digit(next[1]) : -1;
        if (low < 0)
            return -EINVAL;
        id[i] = (uint8_t)(high << 4 | low);
        next += 2;
    }
    memcpy(ret_id, id, sizeof(id));
    return 0;
}
