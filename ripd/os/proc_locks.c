/* SPDX-License-Identifier: Apache-2.0 */
/* proc_locks.c - reads the kernel's list of locks. See proc_locks.h. */
#include "os/proc_locks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

#include "os/file.h"
#include "os/proc_parse.h"

/* Returns text that the caller frees, or NULL with -errno in *ret_length. */
static char *read_locks(int proc, ssize_t *ret_length)
{
    char *text = malloc(PROC_LOCKS_BYTES);

    *ret_length = text != NULL ? file_read_at(proc, text, PROC_LOCKS_BYTES, "locks") : -ENOMEM;
    if (*ret_length >= 0)
        return text;
    free(text);
    return NULL;
}

int proc_lock_holder(int proc, uint32_t pid, uint64_t inode, uint32_t *ret_holder)
{
    ssize_t length;
    char *text = read_locks(proc, &length);
    int result = text == NULL ? (int)length : proc_parse_lock_holder(text, pid, inode, ret_holder);

    if (result == -ESRCH && length == PROC_LOCKS_BYTES - 1)
        result = -EFBIG;
    free(text);
    return result;
}

int proc_lock_waits(int proc, struct proc_lock_wait ret_waits[PROC_LOCK_WAITS_MAX], size_t *ret_count)
{
    ssize_t length;
    char *text = read_locks(proc, &length);
    int result = text == NULL ? (int)length : proc_parse_lock_waits(text, ret_waits, PROC_LOCK_WAITS_MAX, ret_count);

    if (result == 0 && length == PROC_LOCKS_BYTES - 1)
        result = -EFBIG;
    free(text);
    return result;
}
