/* SPDX-License-Identifier: Apache-2.0 */
/* proc_own.c - what this process itself uses, as its files below /proc/self say. Touches nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/file.h"
#include "os/proc.h"

enum {
    STATM_BYTES = 256,         /* seven numbers */
    COUNTING_DESCRIPTORS = 2,  /* the folder, and file_list()'s own */
    DESCRIPTORS_MAX = 1 << 20, /* NR_OPEN, unless somebody has raised it */
};

int proc_own_memory(int proc, struct proc_memory *ret_memory)
{
    char text[STATM_BYTES];
    int folder = openat(proc, "self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t length;

    if (folder < 0)
        return -errno;
    length = file_read_at(folder, "statm", text, sizeof(text));
    close(folder);
    return length < 0 ? (int)length : proc_parse_statm(text, (uint64_t)sysconf(_SC_PAGESIZE), ret_memory);
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
    int folder = openat(proc, "self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t count = 0;
    int result;

    if (folder < 0)
        return -errno;
    result = file_list(folder, DESCRIPTORS_MAX, count_one, &count);
    close(folder);
    if (result != 0)
        return result;
    *ret_count = count > COUNTING_DESCRIPTORS ? count - COUNTING_DESCRIPTORS : 0;
    return 0;
}
