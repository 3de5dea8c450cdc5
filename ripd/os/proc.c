/* SPDX-License-Identifier: Apache-2.0 */
/* proc.c - files of a proc directory, and of cgroups. Touches only files below the given directories. */
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/proc_parse.h"
#include "os/proc_thread.h"
#include "util/array.h"
#include "util/text.h"

enum {
    STATUS_BYTES = 8192, /* usually 1.5 KB; lists of groups and processors may be long */
    NAME_BYTES = 64,
    CGROUP_BYTES = 8192,
    VALUE_BYTES = 256,
    COUNTING_DESCRIPTORS = 2,  /* the directory self/fd, and its duplicate in file_list() */
    DESCRIPTORS_MAX = 1 << 20, /* NR_OPEN, the kernel's default limit */
};

int proc_read(int proc, char *ret_text, size_t size, const char *format, ...)
{
    char name[NAME_BYTES];
    va_list arguments;
    ssize_t length;

    va_start(arguments, format);
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    length = file_read_at(proc, ret_text, size, "%s", name);
    return length == -ENOENT || length == 0 ? -ESRCH : length < 0 ? (int)length : 0;
}

int proc_open(int proc, int flags, const char *format, ...)
{
    char name[NAME_BYTES];
    va_list arguments;
    int descriptor;

    va_start(arguments, format);
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    descriptor = openat(proc, name, flags | O_CLOEXEC);
    return descriptor >= 0 ? descriptor : errno == ENOENT ? -ESRCH : -errno;
}

/*
 * Does not read PID/stat, for which the kernel sums over all threads. For 10,000 threads that takes a millisecond,
 * during which the process can neither start a thread nor receive a signal.
 */
int proc_stat(int proc, uint32_t pid, struct proc_stat *ret_stat)
{
    return proc_thread_stat(proc, pid, pid, ret_stat);
}

int proc_thread_stat(int proc, uint32_t pid, uint32_t tid, struct proc_stat *ret_stat)
{
    char text[PROC_HELD_BYTES];
    int result = proc_read_held(proc, pid, tid, PROC_HELD_STAT, text);

    return result != 0 ? result : proc_parse_stat(text, ret_stat);
}

bool proc_stat_ended(const struct proc_stat *stat)
{
    return (stat->state == 'Z' || stat->state == 'X' || stat->state == 'x') && stat->thread_count <= 1;
}

int proc_status(int proc, uint32_t pid, struct proc_status *ret_status)
{
    return PROC_READ_AS(proc_parse_status, ret_status, STATUS_BYTES, proc, "%u/status", pid);
}

int proc_thread_status(int proc, uint32_t pid, uint32_t tid, struct proc_status *ret_status)
{
    return PROC_READ_AS(proc_parse_status, ret_status, STATUS_BYTES, proc, "%u/task/%u/status", pid, tid);
}

int proc_credentials(int proc, uint32_t pid, struct proc_credentials *ret_credentials)
{
    /* a list of many hundreds of groups is cut, and all lines after it */
    return PROC_READ_AS(proc_parse_credentials, ret_credentials, STATUS_BYTES, proc, "%u/status", pid);
}

/* Returns the length without an incomplete UTF-8 character at the end of a text that was cut. */
static size_t whole_characters(const char *text, size_t length)
{
    size_t last = length;

    while (last > 0 && length - last < 3 && ((unsigned char)text[last - 1] & 0xc0) == 0x80)
        last--;
    if (last == 0 || (unsigned char)text[last - 1] < 0xc0)
        return length;
    last--;
    return length - last < ((unsigned char)text[last] >= 0xf0   ? 4u
                            : (unsigned char)text[last] >= 0xe0 ? 3u
                                                                : 2u)
               ? last
               : length;
}

int proc_command_line(int proc, uint32_t pid, char *ret_text, size_t size)
{
    ssize_t length = file_read_at(proc, ret_text, size, "%u/cmdline", pid);
    size_t count;

    if (length < 0)
        return length == -ENOENT ? -ESRCH : (int)length;
    count = (size_t)length;
    if (count == size - 1)
        count = whole_characters(ret_text, count);
    while (count > 0 && ret_text[count - 1] == '\0')
        count--;
    if (count == 0)
        return -ESRCH;
    for (size_t i = 0; i < count; i++)
        if (ret_text[i] == '\0')
            ret_text[i] = ' ';
    ret_text[count] = '\0';
    return 0;
}

int proc_group(int proc, uint32_t pid, struct proc_group *ret_group)
{
    char text[CGROUP_BYTES];
    int result = proc_read(proc, text, sizeof(text), "%u/cgroup", pid);

    if (result == 0)
        proc_parse_group(text, ret_group);
    return result;
}

bool proc_exists(int proc, uint32_t pid)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%u", pid);
    return faccessat(proc, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Directories ------------------------------------------------------------------------------------------------------ */

static int list(int proc, const char *name, size_t limit, int (*visit)(void *context, const char *name), void *context)
{
    int directory = proc_open(proc, O_RDONLY | O_DIRECTORY, "%s", name);
    int result;

    if (directory < 0)
        return directory;
    result = file_list(directory, limit, visit, context);
    close(directory);
    return result;
}

struct thread_visit {
    int (*visit)(void *context, uint32_t tid);
    void *context;
};

static int visit_name(void *context, const char *name)
{
    const struct thread_visit *walk = context;
    uint64_t tid;
    const char *end = text_decimal(name, UINT32_MAX, &tid);

    return end != NULL && *end == '\0' && tid != 0 ? walk->visit(walk->context, (uint32_t)tid) : 0;
}

int proc_visit_threads(int proc, uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context)
{
    struct thread_visit walk = {.visit = visit, .context = context};
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%u/task", pid);
    return list(proc, name, PROC_THREADS_MAX, visit_name, &walk);
}

static int count_one(void *context, const char *name)
{
    uint64_t *count = context;

    (void)name;
    ++*count;
    return 0;
}

int proc_own_descriptors(int proc, uint64_t *ret_count)
{
    uint64_t count = 0;
    int result = list(proc, "self/fd", DESCRIPTORS_MAX, count_one, &count);

    if (result == 0)
        *ret_count = count > COUNTING_DESCRIPTORS ? count - COUNTING_DESCRIPTORS : 0;
    return result;
}

/* This process and machine ----------------------------------------------------------------------------------------- */

int proc_own_memory(int proc, struct proc_memory *ret_memory)
{
    char text[VALUE_BYTES];
    int result = proc_read(proc, text, sizeof(text), "self/statm");

    return result != 0 ? result : proc_parse_statm(text, (uint64_t)sysconf(_SC_PAGESIZE), ret_memory);
}

int proc_own_pid_namespace(int proc, uint64_t *ret_inode)
{
    struct stat status;

    if (fstatat(proc, "self/ns/pid", &status, 0) != 0)
        return -errno;
    *ret_inode = status.st_ino;
    return 0;
}

int proc_boot_id(int proc, uint8_t ret_id[16])
{
    char text[VALUE_BYTES];
    uint8_t id[16];
    const char *next = text;
    ssize_t length = file_read_at(proc, text, sizeof(text), "sys/kernel/random/boot_id");

    if (length < 0)
        return (int)length;
    for (size_t i = 0; i < sizeof(id); i++) {
        next += *next == '-';
        if (!text_hex_bytes(next, &id[i], 1))
            return -EINVAL;
        next += 2;
    }
    memcpy(ret_id, id, sizeof(id));
    return 0;
}

/* Cgroups ---------------------------------------------------------------------------------------------------------- */

/* Where a hierarchy with a freezer may be mounted, and the beginning of the line that marks a group as frozen. */
static const struct hierarchy {
    bool is_v2;
    const char *mount;
    const char *file;
    const char *frozen;
} hierarchies[] = {
    {false, "./freezer", "freezer.state", "FROZEN"},
    {true, ".", "cgroup.events", "frozen 1"},
    {true, "./unified", "cgroup.events", "frozen 1"},
};

static bool leaves_tree(const char *path)
{
    for (const char *next = strstr(path, "/.."); next != NULL; next = strstr(next + 1, "/.."))
        if (next[3] == '/' || next[3] == '\0')
            return true;
    return false;
}

/*
 * Reads the state of the group in one line, "ID:CONTROLLERS:PATH". Returns -ENOENT if its hierarchy has no freezer, or
 * is not readable here.
 */
static int read_group(int root, char *line, bool *ret_frozen)
{
    char controllers[VALUE_BYTES], text[VALUE_BYTES];
    const char *id = strsep(&line, ":"), *list_text = strsep(&line, ":"), *path = line;
    bool is_v2;

    if (path == NULL || path[0] != '/' || leaves_tree(path))
        return -ENOENT;
    is_v2 = strcmp(id, "0") == 0 && *list_text == '\0';
    snprintf(controllers, sizeof(controllers), ",%s,", list_text);
    if (!is_v2 && strstr(controllers, ",freezer,") == NULL)
        return -ENOENT;
    for (size_t i = 0; i < ARRAY_COUNT(hierarchies); i++) {
        const struct hierarchy *hierarchy = &hierarchies[i];

        if (hierarchy->is_v2 != is_v2 ||
            file_read_at(root, text, sizeof(text), "%s%s/%s", hierarchy->mount, path, hierarchy->file) < 0)
            continue;
        *ret_frozen = text_find_line(text, hierarchy->frozen) != NULL;
        return 0;
    }
    return -ENOENT;
}

int proc_cgroup_frozen(int proc, const char *cgroup_root, uint32_t pid, bool *ret_frozen)
{
    char text[CGROUP_BYTES], *rest = text, *line;
    bool known = false, any = false, frozen;
    int result = proc_read(proc, text, sizeof(text), "%u/cgroup", pid), root;

    if (result != 0)
        return result;
    root = open(cgroup_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (read_group(root, line, &frozen) != 0)
            continue;
        known = true;
        any = any || frozen;
    }
    close(root);
    if (!known)
        return -ENOENT;
    *ret_frozen = any;
    return 0;
}
