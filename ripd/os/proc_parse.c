/* SPDX-License-Identifier: Apache-2.0 */
/* proc_parse.c - parses files of /proc. Pure. See proc_parse.h. */
#include "os/proc_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

/* The process ------------------------------------------------------------------------------------------------------ */

/* Fields of PID/stat, in the numbers of proc(5). */
enum {
    STAT_STATE = 3,
    STAT_PARENT = 4,
    STAT_FLAGS = 9,
    STAT_USER = 14,
    STAT_SYSTEM = 15,
    STAT_THREADS = 20,
    STAT_START_TIME = 22
};

int proc_parse_stat(const char *text, struct proc_stat *ret_stat)
{
    const char *first = strchr(text, '(');
    const char *last = strrchr(text, ')'); /* the name may have any byte; no later field has a parenthesis */
    struct proc_stat stat = {0};
    uint64_t parent, flags, ticks[2], threads;
    size_t length;

    if (first == NULL || last == NULL || last < first)
        return -EINVAL;
    length = (size_t)(last - first - 1);
    memcpy(stat.comm, first + 1, length < sizeof(stat.comm) - 1 ? length : sizeof(stat.comm) - 1);
    text = text_skip_blanks(last + 1);
    stat.state = *text;
    if (!((*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z')))
        return -EINVAL;
    text = text_decimal(text_skip_fields(text, STAT_PARENT - STAT_STATE), UINT32_MAX, &parent);
    text = text_decimal(text_skip_fields(text, STAT_FLAGS - STAT_PARENT - 1), UINT32_MAX, &flags);
    text = text_decimals(text_skip_fields(text, STAT_USER - STAT_FLAGS - 1), UINT64_MAX, ticks, 2);
    text = text_decimal(text_skip_fields(text, STAT_THREADS - STAT_SYSTEM - 1), UINT32_MAX, &threads);
    text = text_skip_fields(text, STAT_START_TIME - STAT_THREADS - 1);
    if (text_decimal(text, UINT64_MAX, &stat.start_time_ticks) == NULL)
        return -EINVAL;
    stat.parent_pid = (uint32_t)parent;
    stat.flags = (uint32_t)flags;
    stat.user_ticks = ticks[0];
    stat.system_ticks = ticks[1];
    stat.thread_count = (uint32_t)threads;
    *ret_stat = stat;
    return 0;
}

/* The name has a line of its own with newlines quoted, so it cannot imitate other lines. */
int proc_parse_status(const char *text, struct proc_status *ret_status)
{
    const char *pids = text_find_line(text, "NSpid:"), *dumping = text_find_line(text, "CoreDumping:");
    struct proc_status status = {0};
    uint64_t uids[3], dumps = 0, pid;

    if (text_decimals(text_find_line(text, "Uid:"), UINT32_MAX, uids, 3) == NULL ||
        (dumping != NULL && text_decimal(dumping, 1, &dumps) == NULL))
        return -EINVAL;
    status.uid_real = (uint32_t)uids[0];
    status.uid_effective = (uint32_t)uids[1];
    status.uid_saved = (uint32_t)uids[2];
    status.core_dumping = dumps == 1;
    for (const char *next = pids; (next = text_decimal(next, UINT32_MAX, &pid)) != NULL; status.namespace_count++)
        status.pid_in_namespace = (uint32_t)pid; /* one per namespace, the outermost first */
    if (pids != NULL && status.namespace_count == 0)
        return -EINVAL;
    *ret_status = status;
    return 0;
}

int proc_parse_statm(const char *text, uint64_t page_bytes, struct proc_memory *ret_memory)
{
    enum { SIZE, RESIDENT, SHARED, COUNT };
    uint64_t pages[COUNT];

    if (text_decimals(text, UINT64_MAX / page_bytes, pages, COUNT) == NULL)
        return -EINVAL;
    *ret_memory = (struct proc_memory){
        .virtual_bytes = pages[SIZE] * page_bytes,
        .resident_bytes = pages[RESIDENT] * page_bytes,
        /* the kernel does not read both at the same time */
        .anonymous_bytes = pages[RESIDENT] > pages[SHARED] ? (pages[RESIDENT] - pages[SHARED]) * page_bytes : 0,
    };
    return 0;
}

int proc_parse_credentials(const char *text, struct proc_credentials *ret_credentials)
{
    enum { REAL, EFFECTIVE, SAVED, OF_FILES, COUNT };
    struct proc_credentials credentials = {.uid = 0};
    uint64_t uids[COUNT], gids[COUNT], group;
    const char *groups = text_find_line(text, "Groups:");

    if (text_decimals(text_find_line(text, "Uid:"), UINT32_MAX, uids, COUNT) == NULL ||
        text_decimals(text_find_line(text, "Gid:"), UINT32_MAX, gids, COUNT) == NULL || groups == NULL)
        return -EINVAL;
    credentials.uid = (uint32_t)uids[OF_FILES];
    credentials.gid = (uint32_t)gids[OF_FILES];
    credentials.own_gid = gids[REAL] == gids[EFFECTIVE] && gids[REAL] == gids[SAVED] && gids[REAL] == gids[OF_FILES];
    while (credentials.group_count < PROC_GROUPS_MAX) {
        groups = text_decimal(groups, UINT32_MAX, &group);
        if (groups == NULL || *groups == '\0')
            break;
        credentials.groups[credentials.group_count++] = (uint32_t)group;
    }
    *ret_credentials = credentials;
    return 0;
}

/* Locks ------------------------------------------------------------------------------------------------------------ */

struct lock_line {
    uint64_t number;
    uint64_t pid; /* 0 = none here */
    uint64_t inode;
    bool waits;
};

/* Returns false if the line is malformed. */
static bool parse_lock(const char *text, struct lock_line *ret_line)
{
    uint64_t part;

    *ret_line = (struct lock_line){0};
    text = text_decimal(text, UINT64_MAX, &ret_line->number);
    if (text == NULL || *text != ':')
        return false;
    text = text_skip_blanks(text + 1);
    ret_line->waits = strncmp(text, "->", 2) == 0;
    text = text_skip_fields(text, ret_line->waits ? 4 : 3); /* kind, advisory or not, read or write */
    if (*text != '-' && text_decimal(text, UINT32_MAX, &ret_line->pid) == NULL)
        return false;
    text = text_hex(text_skip_fields(text, 1), UINT64_MAX, &part);
    if (text != NULL && *text == ':')
        text = text_hex(text + 1, UINT64_MAX, &part);
    return text != NULL && *text == ':' && text_decimal(text + 1, UINT64_MAX, &ret_line->inode) != NULL;
}

/*
 * Each lock has a number. A process that waits for it has a line with the same number and an arrow:
 *
 *   4: POSIX  ADVISORY  WRITE 18615 fe:00:10956481 0 EOF
 *   4: -> POSIX  ADVISORY  WRITE 18824 fe:00:10956481 0 EOF
 *
 * Finds the next such line from *text on. holder: the last lock before it; the caller sets it to zero at first. Returns
 * false if there is none.
 */
static bool next_lock_wait(const char **text, struct lock_line *holder, struct lock_line *ret_wait)
{
    struct lock_line line;

    while (*text != NULL) {
        const bool parsed = parse_lock(*text, &line);

        *text = text_next_line(*text);
        if (parsed && !line.waits)
            *holder = line;
        if (!parsed || !line.waits || line.pid == 0)
            continue;
        *ret_wait = line;
        if (line.number != holder->number)
            holder->pid = 0;
        return true;
    }
    return false;
}

int proc_parse_lock_holder(const char *text, uint32_t pid, uint64_t inode, uint32_t *ret_holder)
{
    struct lock_line holder = {0}, wait;

    while (next_lock_wait(&text, &holder, &wait))
        if (wait.pid == pid && holder.pid != 0 && (inode == 0 || inode == wait.inode)) {
            *ret_holder = (uint32_t)holder.pid;
            return 0;
        }
    return -ESRCH;
}

static int compare_lock_waits(const void *left, const void *right)
{
    const struct proc_lock_wait *one = left, *two = right;

    return (one->pid > two->pid) - (one->pid < two->pid);
}

int proc_parse_lock_waits(const char *text, struct proc_lock_wait *ret_waits, size_t capacity, size_t *ret_count)
{
    struct lock_line holder = {0}, wait;
    size_t count = 0, kept = 0;

    while (next_lock_wait(&text, &holder, &wait)) {
        if (count == capacity)
            return -EFBIG;
        ret_waits[count++] = (struct proc_lock_wait){(uint32_t)wait.pid, (uint32_t)holder.pid};
    }
    if (count != 0)
        qsort(ret_waits, count, sizeof(*ret_waits), compare_lock_waits);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || ret_waits[kept - 1].pid != ret_waits[i].pid)
            ret_waits[kept++] = ret_waits[i];
        else if (ret_waits[kept - 1].holder != ret_waits[i].holder)
            ret_waits[kept - 1].holder = 0;
    }
    *ret_count = kept;
    return 0;
}

/* The thread ------------------------------------------------------------------------------------------------------- */

int proc_parse_schedstat(const char *text, struct proc_schedstat *ret_schedstat)
{
    uint64_t numbers[3];

    if (text_decimals(text, UINT64_MAX, numbers, 3) == NULL)
        return -EINVAL;
    if (numbers[2] == 0)
        return -EAGAIN;
    *ret_schedstat = (struct proc_schedstat){numbers[0], numbers[1], numbers[2]};
    return 0;
}

/* Parses the numbers of two lines. */
static int parse_pair(const char *text, const char *key, const char *other_key, uint64_t *ret_number,
                      uint64_t *ret_other)
{
    uint64_t number, other;

    if (text_decimal(text_find_line(text, key), UINT64_MAX, &number) == NULL ||
        text_decimal(text_find_line(text, other_key), UINT64_MAX, &other) == NULL)
        return -EINVAL;
    *ret_number = number;
    *ret_other = other;
    return 0;
}

int proc_parse_switches(const char *text, struct proc_switches *ret_switches)
{
    return parse_pair(text, "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:", &ret_switches->voluntary_count,
                      &ret_switches->involuntary_count);
}

int proc_parse_descriptor(const char *text, uint64_t *ret_inode, uint64_t *ret_mount)
{
    return parse_pair(text, "ino:", "mnt_id:", ret_inode, ret_mount);
}

int proc_parse_wchan(const char *text, char ret_wchan[PROC_WCHAN_BYTES])
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$"); /* of a symbol */

    if (length == 0 || length >= PROC_WCHAN_BYTES || (text[length] != '\0' && text[length] != '\n'))
        return -EINVAL;
    if (length == 1 && text[0] == '0')
        return -ENODATA;
    memcpy(ret_wchan, text, length);
    ret_wchan[length] = '\0';
    return 0;
}

/* Parses hexadecimal numbers with the prefix 0x. Returns NULL if one is missing. */
static const char *parse_arguments(const char *text, uint64_t *ret_values, size_t count)
{
    for (size_t i = 0; text != NULL && i < count; i++) {
        text = text_skip_blanks(text);
        text = strncmp(text, "0x", 2) == 0 ? text_hex(text + 2, UINT64_MAX, &ret_values[i]) : NULL;
    }
    return text;
}

int proc_parse_syscall(const char *text, struct proc_syscall *ret_syscall)
{
    struct proc_syscall call = {.kind = PROC_SYSCALL_RUNNING};

    if (strncmp(text, "running", 7) != 0) {
        call.kind = strncmp(text, "-1 ", 3) == 0 ? PROC_SYSCALL_OUTSIDE : PROC_SYSCALL_INSIDE;
        if (call.kind == PROC_SYSCALL_OUTSIDE)
            text += 2;
        else
            text =
                parse_arguments(text_decimal(text, UINT32_MAX, &call.number), call.arguments, PROC_SYSCALL_ARGUMENTS);
        if (parse_arguments(text, &call.stack_pointer, 1) == NULL)
            return -EINVAL;
    }
    *ret_syscall = call;
    return 0;
}
