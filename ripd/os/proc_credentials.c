/* SPDX-License-Identifier: Apache-2.0 */
/* proc_credentials.c - the lines Uid, Gid and Groups of PID/status. Touches that file alone. */
#include "os/proc_credentials.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "os/file.h"
#include "os/proc_text.h"

enum {
    STATUS_BYTES = 8192, /* what is cut is groups beyond hundreds, and what comes after them */
    NAME_BYTES = 32,
    REAL = 0,
    EFFECTIVE,
    SAVED,
    OF_FILES,
    NUMBER_COUNT,
};

static int parse_numbers(const char *text, const char *key, uint64_t ret_numbers[NUMBER_COUNT])
{
    text = text_find_line(text, key);
    for (int i = 0; i < NUMBER_COUNT; i++) {
        text = text != NULL ? text_decimal(text, UINT32_MAX, &ret_numbers[i]) : NULL;
        if (text == NULL)
            return -EINVAL;
    }
    return 0;
}

int proc_parse_credentials(const char *text, struct proc_credentials *ret_credentials)
{
    struct proc_credentials credentials = {.uid = 0};
    uint64_t uids[NUMBER_COUNT], gids[NUMBER_COUNT], group;
    const char *groups = text_find_line(text, "Groups:");

    if (parse_numbers(text, "Uid:", uids) != 0 || parse_numbers(text, "Gid:", gids) != 0 || groups == NULL)
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

int proc_credentials(int proc, uint32_t pid, struct proc_credentials *ret_credentials)
{
    char name[NAME_BYTES], text[STATUS_BYTES];
    ssize_t length;

    snprintf(name, sizeof(name), "%u/status", pid);
    length = file_read_at(proc, name, text, sizeof(text));
    if (length == -ENOENT || length == 0)
        return -ESRCH;
    return length < 0 ? (int)length : proc_parse_credentials(text, ret_credentials);
}
