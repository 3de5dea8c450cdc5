/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_holder.c - who has the other end of a pipe open. Touches /proc: links of descriptors, which are not followed.
 *
 * Guarantees
 *   1. Only processes of one user are looked into: who may trace one of them may trace the others, and nothing of
 *      anybody else's is told.
 *   2. At most PROCESSES_MAX processes and DESCRIPTORS_MAX descriptors in each are looked at, until a deadline.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "probe/kernel.h"

enum {
    PROCESSES_MAX = 4096,
    DESCRIPTORS_MAX = 1024,
    LINKS_PER_CLOCK = 32,
    NAME_BYTES = 64,
};

struct search {
    int proc;
    uint32_t uid;
    uint64_t deadline_mono_ns;
    uint64_t inode;
    const struct kernel_reading *reading;
    bool newer;   /* looks at those with a larger pid than the one that waits, or at the others */
    uint32_t pid; /* looked into now */
    unsigned looked_at;
    uint32_t found;      /* another process */
    uint32_t found_self; /* the same one */
};

static uint32_t number_of(const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    return name[0] >= '0' && name[0] <= '9' && *end == '\0' && number <= UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Whether a descriptor has that pipe open for what the thread that waits lacks. */
static bool is_other_end(const struct search *search, uint32_t descriptor)
{
    const struct proc_descriptor *waiting = &search->reading->descriptor;
    struct proc_descriptor other;
    uint64_t inode;

    if (proc_descriptor_link(search->proc, search->pid, descriptor, &other) != 0 ||
        !proc_link_inode(other.link, "pipe", &inode) || inode != search->inode ||
        proc_descriptor(search->proc, search->pid, descriptor, &other) != 0)
        return false;
    return waiting->writable ? other.readable : other.writable;
}

static int visit_descriptor(void *context, const char *name)
{
    struct search *search = context;
    uint32_t descriptor = number_of(name);

    if (search->looked_at++ % LINKS_PER_CLOCK == 0 && clock_mono_ns() >= search->deadline_mono_ns)
        return -ETIME;
    if (descriptor == UINT32_MAX || !is_other_end(search, descriptor))
        return 0;
    if (search->pid == search->reading->pid)
        search->found_self = search->pid;
    else
        search->found = search->pid;
    return 1;
}

static int visit_process(void *context, const char *name)
{
    struct search *search = context;
    struct file_identity identity;
    char path[NAME_BYTES];
    int descriptors, result;

    search->pid = number_of(name);
    if (search->pid == UINT32_MAX || (search->pid > search->reading->pid) != search->newer)
        return 0;
    if (file_identify_at(search->proc, name, &identity) != 0 || identity.uid != search->uid)
        return clock_mono_ns() >= search->deadline_mono_ns ? -ETIME : 0;
    snprintf(path, sizeof(path), "%u/fd", search->pid);
    descriptors = openat(search->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptors < 0)
        return 0;
    result = file_list(descriptors, DESCRIPTORS_MAX, visit_descriptor, search);
    close(descriptors);
    return result == -ETIME || search->found != 0 ? -ETIME : 0;
}

void kernel_read_pipe_holder(int proc, uint32_t uid, uint64_t deadline_mono_ns, struct kernel_reading *reading)
{
    struct search search = {.proc = proc, .uid = uid, .deadline_mono_ns = deadline_mono_ns, .reading = reading};
    struct proc_stat stat;
    uint32_t pid;

    if ((reading->has & KERNEL_HAS_DESCRIPTOR) == 0 ||
        !proc_link_inode(reading->descriptor.link, "pipe", &search.inode) ||
        reading->descriptor.readable == reading->descriptor.writable)
        return;
    search.newer = true; /* its children first */
    if (file_list(proc, PROCESSES_MAX, visit_process, &search) != -ETIME) {
        search.newer = false;
        file_list(proc, PROCESSES_MAX, visit_process, &search);
    }
    pid = search.found != 0 ? search.found : search.found_self;
    if (pid == 0 || proc_stat(proc, pid, &stat) != 0)
        return;
    reading->holder.pid = pid;
    memcpy(reading->holder.comm, stat.comm, sizeof(reading->holder.comm));
}
