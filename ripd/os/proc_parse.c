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

/* Fields of PID/stat as proc(5) numbers them. */
enum { STAT_STATE = 3, STAT_FLAGS = 9, STAT_THREADS = 20, STAT_START_TIME = 22 };

static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

/* A decimal number and what follows it; NULL if there is none, or it exceeds limit. */
static const char *parse_number(const char *text, uint64_t limit, uint64_t *ret_value)
{
    uint64_t value = 0;

    text = skip_blanks(text);
    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');

        if (digit > limit || value > (limit - digit) / 10)
            return NULL;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return text;
}

/* The start of field number `field`, where text is at the start of field number `at`. Never NULL. */
static const char *skip_fields(const char *text, int at, int field)
{
    for (; at < field; at++) {
        text = skip_blanks(text);
        while (*text != '\0' && *text != ' ' && *text != '\n')
            text++;
    }
    return skip_blanks(text);
}

int proc_parse_stat(const char *text, struct proc_stat *ret_stat)
{
    const char *first = strchr(text, '(');
    const char *last = strrchr(text, ')');
    struct proc_stat stat = {0};
    uint64_t flags, threads, start_time;
    size_t length;

    if (first == NULL || last == NULL || last < first)
        return -EINVAL;
    length = (size_t)(last - first - 1);
    memcpy(stat.comm, first + 1, length < sizeof(stat.comm) - 1 ? length : sizeof(stat.comm) - 1);
    text = skip_blanks(last + 1);
    if (!((*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z')))
        return -EINVAL;
    stat.state = *text;
    text = skip_fields(text, STAT_STATE, STAT_FLAGS);
    if (parse_number(text, UINT32_MAX, &flags) == NULL)
        return -EINVAL;
    text = skip_fields(text, STAT_FLAGS, STAT_THREADS);
    if (parse_number(text, UINT32_MAX, &threads) == NULL)
        return -EINVAL;
    text = skip_fields(text, STAT_THREADS, STAT_START_TIME);
    if (parse_number(text, UINT64_MAX, &start_time) == NULL)
        return -EINVAL;
    stat.flags = (uint32_t)flags;
    stat.thread_count = (uint32_t)threads;
    stat.start_time_ticks = start_time;
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

    text = parse_number(text, UINT32_MAX, &real);
    if (text != NULL)
        text = parse_number(text, UINT32_MAX, &effective);
    if (text != NULL)
        text = parse_number(text, UINT32_MAX, &saved);
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

    text = parse_number(text, UINT32_MAX, &pid);
    if (text == NULL)
        return -EINVAL;
    for (; text != NULL; text = parse_number(text, UINT32_MAX, &pid)) {
        status->pid_in_namespace = (uint32_t)pid;
        status->namespace_count++;
    }
    return 0;
}

static int parse_core_dumping(const char *text, struct proc_status *status)
{
    uint64_t value;

    if (parse_number(text, 1, &value) == NULL)
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

/* The name is on a line of its own with its newlines quoted, so a line that starts with a key is the kernel's. */
static const char *find_line(const char *text, const char *key)
{
    size_t length = strlen(key);

    while (strncmp(text, key, length) != 0) {
        text = strchr(text, '\n');
        if (text == NULL)
            return NULL;
        text++;
    }
    return text + length;
}

int proc_parse_status(const char *text, struct proc_status *ret_status)
{
    struct proc_status status = {0};

    for (size_t i = 0; i < sizeof(status_keys) / sizeof(status_keys[0]); i++) {
        const char *value = find_line(text, status_keys[i].text);
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

    text = parse_number(text, limit, &size);
    if (text != NULL)
        text = parse_number(text, limit, &resident);
    if (text != NULL)
        text = parse_number(text, limit, &shared);
    if (text == NULL)
        return -EINVAL;
    *ret_memory = (struct proc_memory){
        .virtual_bytes = size * page_bytes,
        .resident_bytes = resident * page_bytes,
        .anonymous_bytes = resident > shared ? (resident - shared) * page_bytes : 0, /* read one after the other */
    };
    return 0;
}
