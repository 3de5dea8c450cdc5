/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_locks.c - the table of file locks. Each lock has a number; who waits for it has a line with the same number and
 * an arrow:
 *
 *   4: POSIX  ADVISORY  WRITE 18615 fe:00:10956481 0 EOF
 *   4: -> POSIX  ADVISORY  WRITE 18824 fe:00:10956481 0 EOF
 *
 * Guarantees
 *   1. At most LOCKS_BYTES are looked at; nothing beyond the terminator is read.
 */
#include "os/proc_locks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"
#include "os/proc_text.h"

enum { LOCKS_BYTES = 1 << 18 };

struct lock_line {
    uint64_t number;
    uint64_t pid; /* 0 = it has none here */
    uint64_t inode;
    bool waits;
};

/* False: not a line of that form. */
static bool parse_line(const char *text, struct lock_line *ret_line)
{
    uint64_t part;

    *ret_line = (struct lock_line){0};
    text = text_decimal(text, UINT64_MAX, &ret_line->number);
    if (text == NULL || *text != ':')
        return false;
    text = text_skip_blanks(text + 1);
    ret_line->waits = strncmp(text, "->", 2) == 0;
    if (ret_line->waits)
        text = text_skip_blanks(text + 2);
    text = text_skip_fields(text, 0, 3); /* kind, advisory or not, read or write */
    if (*text != '-' && text_decimal(text, UINT32_MAX, &ret_line->pid) == NULL)
        return false;
    text = text_hex(text_skip_fields(text, 0, 1), UINT64_MAX, &part);
    if (text != NULL && *text == ':')
        text = text_hex(text + 1, UINT64_MAX, &part);
    if (text == NULL || *text != ':')
        return false;
    return text_decimal(text + 1, UINT64_MAX, &ret_line->inode) != NULL;
}

int proc_parse_lock_holder(const char *text, uint32_t pid, uint64_t inode, uint32_t *ret_holder)
{
    struct lock_line holder = {0}, line;

    for (; text != NULL; text = text_next_line(text)) {
        if (!parse_line(text, &line))
            continue;
        if (!line.waits)
            holder = line;
        else if (line.pid == pid && pid != 0 && line.number == holder.number && holder.pid != 0 &&
                 (inode == 0 || inode == line.inode)) {
            *ret_holder = (uint32_t)holder.pid;
            return 0;
        }
    }
    return -ESRCH;
}

int proc_lock_holder(int proc, uint32_t pid, uint64_t inode, uint32_t *ret_holder)
{
    char *text = malloc(LOCKS_BYTES);
    ssize_t length;
    int result;

    if (text == NULL)
        return -ENOMEM;
    length = file_read_at(proc, "locks", text, LOCKS_BYTES);
    result = length < 0 ? (int)length : proc_parse_lock_holder(text, pid, inode, ret_holder);
    if (result == -ESRCH && length == LOCKS_BYTES - 1)
        result = -EFBIG;
    free(text);
    return result;
}
