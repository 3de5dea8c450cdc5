/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_parse.c - the text of PID/stat, PID/status and PID/statm as values. Pure on terminated text, which may be
 * hostile: a process chooses its own name.
 *
 * Guarantees
 *   1. Nothing beyond the terminator is read, whatever the text.
 *   2. The name may hold parentheses, blanks and newlines: it ends at the last parenthesis, since the kernel writes
 *      none after it.
 *   3. -EINVAL and untouched output for text that lacks a field or has a number that does not fit.
 */
#include "os/proc.h"

#include <errno.h>
#include <string.h>

#include "os/proc_text.h"

/* Fields of PID/stat as proc(5) numbers them. */
enum { STAT_STATE = 3, STAT_FLAGS = 9, STAT_USER = 14, STAT_SYSTEM = 15, STAT_THREADS = 20, STAT_START_TIME = 22 };

/* One number of a line of stat, and where it is. */
struct stat_field {
    int field;
    uint64_t limit;
    uint64_t value;
};

int proc_parse_stat(const char *text, struct proc_stat *ret_stat)
{
    struct stat_field fields[] = {
        {STAT_FLAGS, UINT32_MAX, 0},   {STAT_USER, UINT64_MAX, 0},       {STAT_SYSTEM, UINT64_MAX, 0},
        {STAT_THREADS, UINT32_MAX, 0}, {STAT_START_TIME, UINT64_MAX, 0},
    };
    const char *first = strchr(text, '(');
    const char *last = strrchr(text, ')');
    struct proc_stat stat = {0};
    size_t length;
    int at = STAT_STATE;

    if (first == NULL || last == NULL || last < first)
        return -EINVAL;
    length = (size_t)(last - first - 1);
    memcpy(stat.comm, first + 1, length < sizeof(stat.comm) - 1 ? length : sizeof(stat.comm) - 1);
    text = text_skip_blanks(last + 1);
    if (!((*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z')))
        return -EINVAL;
    stat.state = *text;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); at = fields[i++].field) {
        text = text_skip_fields(text, at, fields[i].field);
        if (text_decimal(text, fields[i].limit, &fields[i].value) == NULL)
            return -EINVAL;
    }
    stat.flags = (uint32_t)fields[0].value;
    stat.user_ticks = fields[1].value;
    stat.system_ticks = fields[2].value;
    stat.thread_count = (uint32_t)fields[3].value;
    stat.start_time_ticks = fields[4].value;
    *ret_stat = stat;
    return 0;
}

bool proc_stat_ended(const struct proc_stat *stat)
{
    return (stat->state == 'Z' || stat->state == 'X' || stat->state == 'x') && stat->thread_count <= 1;
}

static int parse_uids(const char *text, struct proc_status *status)
{
    uint64_t real, effective, saved;

    text = text_decimal(text, UINT32_MAX, &real);
    if (text != NULL)
        text = text_decimal(text, UINT32_MAX, &effective);
    if (text != NULL)
        text = text_decimal(text, UINT32_MAX, &saved);
    if (text == NULL)
        return -EINVAL;
    status->uid_real = (uint32_t)real;
    status->uid_effective = (uint32_t)effective;
    status->uid_saved = (uint32_t)saved;
    return 0;
}

/* One number for each namespace, outermost first. */
static int parse_namespace_pids(const char *text, struct proc_status *status)
{
    uint64_t pid;

    text = text_decimal(text, UINT32_MAX, &pid);
    if (text == NULL)
        return -EINVAL;
    for (; text != NULL; text = text_decimal(text, UINT32_MAX, &pid)) {
        status->pid_in_namespace = (uint32_t)pid;
        status->namespace_count++;
    }
    return 0;
}

static int parse_core_dumping(const char *text, struct proc_status *status)
{
    uint64_t value;

    if (text_decimal(text, 1, &value) == NULL)
        return -EINVAL;
    status->core_dumping = value == 1;
    return 0;
}

static const struct status_key {
    const char *text;
    int (*parse)(const char *text, struct proc_status *status);
    bool required;
} status_keys[] = {
    {"Uid:", parse_uids, true},
    {"NSpid:", parse_namespace_pids, false},
    {"CoreDumping:", parse_core_dumping, false},
};

int proc_parse_status(const char *text, struct proc_status *ret_status)
{
    struct proc_status status = {0};

    /* The name is on a line of its own with its newlines quoted, so a line that starts with a key is the kernel's. */
    for (size_t i = 0; i < sizeof(status_keys) / sizeof(status_keys[0]); i++) {
        const char *value = text_find_line(text, status_keys[i].text);
        int result;

        if (value == NULL && !status_keys[i].required)
            continue;
        result = value != NULL ? status_keys[i].parse(value, &status) : -EINVAL;
        if (result != 0)
            return result;
    }
    *ret_status = status;
    return 0;
}

int proc_parse_statm(const char *text, uint64_t page_bytes, struct proc_memory *ret_memory)
{
    uint64_t limit = UINT64_MAX / page_bytes, size, resident, shared;

    text = text_decimal(text, limit, &size);
    if (text != NULL)
        text = text_decimal(text, limit, &resident);
    if (text != NULL)
        text = text_decimal(text, limit, &shared);
    if (text == NULL)
        return -EINVAL;
    *ret_memory = (struct proc_memory){
        .virtual_bytes = size * page_bytes,
        .resident_bytes = resident * page_bytes,
        .anonymous_bytes = resident > shared ? (resident - shared) * page_bytes : 0, /* read one after the other */
    };
    return 0;
}
