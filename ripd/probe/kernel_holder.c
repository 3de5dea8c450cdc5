/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_holder.c - who has the other end of a pipe open, or a unix socket's peer. Touches /proc: links of descriptors,
 * which are not followed.
 *
 * Guarantees
 *   1. Only processes of one user are looked into: who may trace one of them may trace the others, and nothing of
 *      anybody else's is told.
 *   2. At most PROCESSES_MAX processes and DESCRIPTORS_MAX descriptors in each are looked at, until a deadline; one
 *      walk looks for all that are wanted, first in the process itself.
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
    DESCRIPTORS_MAX = 16384,
    LINKS_PER_CLOCK = 32,
    NAME_BYTES = 64,
    LINK_BYTES = 64, /* those of pipes and sockets are shorter */
};

/* What one thread lacks. */
struct wanted {
    struct kernel_reading *reading;
    bool is_pipe; /* else a socket */
    uint64_t inode;
    uint32_t found;      /* another process */
    uint32_t found_self; /* the same one */
};

struct search {
    int proc;
    uint32_t uid;
    uint64_t deadline_mono_ns;
    struct wanted wanted[KERNEL_HOLDERS_MAX];
    size_t count;
    size_t found_count; /* of them in another process: nothing better is to come */
    uint32_t self;      /* whose threads they are */
    bool newer;         /* looks at those with a larger pid than its own, or at the others */
    bool cut;           /* there are more processes, or descriptors, than are looked at */
    uint32_t pid;       /* looked into now */
    int descriptors;    /* its directory of them */
    unsigned looked_at;
};

static uint32_t number_of(const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    return name[0] >= '0' && name[0] <= '9' && *end == '\0' && number <= UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Whether a descriptor that is of the pipe has it open for what the thread that waits lacks. */
static bool is_other_end(const struct search *search, const struct wanted *wanted, uint32_t descriptor)
{
    struct proc_descriptor other;
    uint64_t inode;

    if (!wanted->is_pipe)
        return true; /* each end has an inode of its own */
    if (proc_descriptor(search->proc, search->pid, descriptor, &other) != 0 ||
        !proc_link_inode(other.link, "pipe", &inode) || inode != wanted->inode)
        return false;
    return wanted->reading->descriptor.writable ? other.readable : other.writable;
}

static void take_holder(struct search *search, struct wanted *wanted)
{
    if (search->pid == search->self) {
        wanted->found_self = search->pid;
    } else if (wanted->found == 0) {
        wanted->found = search->pid;
        search->found_count++;
    }
}

static int visit_descriptor(void *context, const char *name)
{
    struct search *search = context;
    uint32_t descriptor = number_of(name);
    char link[LINK_BYTES];
    ssize_t length;
    uint64_t inode;
    bool is_pipe;

    if (search->looked_at++ % LINKS_PER_CLOCK == 0 && clock_mono_ns() >= search->deadline_mono_ns)
        return -ETIME;
    length = readlinkat(search->descriptors, name, link, sizeof(link) - 1);
    if (descriptor == UINT32_MAX || length <= 0)
        return 0;
    link[length] = '\0';
    is_pipe = proc_link_inode(link, "pipe", &inode);
    if (!is_pipe && !proc_link_inode(link, "socket", &inode))
        return 0;
    for (size_t i = 0; i < search->count; i++)
        if (search->wanted[i].inode == inode && search->wanted[i].is_pipe == is_pipe &&
            is_other_end(search, &search->wanted[i], descriptor))
            take_holder(search, &search->wanted[i]);
    return search->found_count == search->count ? 1 : 0;
}

/* Looks at the descriptors of search->pid, whose name that is. 0; -ETIME; 1: all have been found. */
static int look_into(struct search *search, const char *name)
{
    struct file_identity identity;
    char path[NAME_BYTES];
    int result;

    if (clock_mono_ns() >= search->deadline_mono_ns)
        return -ETIME;
    if (file_identify_at(search->proc, name, &identity) != 0 || identity.uid != search->uid)
        return 0;
    snprintf(path, sizeof(path), "%u/fd", search->pid);
    search->descriptors = openat(search->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (search->descriptors < 0)
        return 0;
    result = file_list(search->descriptors, DESCRIPTORS_MAX, visit_descriptor, search);
    close(search->descriptors);
    search->cut |= result == -EOVERFLOW;
    return result == -EOVERFLOW ? 0 : result;
}

static int visit_process(void *context, const char *name)
{
    struct search *search = context;

    search->pid = number_of(name);
    if (search->pid == UINT32_MAX || search->pid == search->self || (search->pid > search->self) != search->newer)
        return 0;
    return look_into(search, name);
}

/* For half of the time, first of all, so that this is known however many others there are. */
static void look_into_self(struct search *search)
{
    const uint64_t now_mono_ns = clock_mono_ns(), deadline_mono_ns = search->deadline_mono_ns;
    char name[NAME_BYTES];

    if (now_mono_ns < deadline_mono_ns)
        search->deadline_mono_ns = now_mono_ns + (deadline_mono_ns - now_mono_ns) / 2;
    snprintf(name, sizeof(name), "%u", search->self);
    search->pid = search->self;
    search->cut |= look_into(search, name) < 0;
    search->deadline_mono_ns = deadline_mono_ns;
}

static void look_into_others(struct search *search)
{
    int result;

    search->newer = true; /* its children first */
    result = file_list(search->proc, PROCESSES_MAX, visit_process, search);
    search->newer = false;
    if (result == 0 || result == -EOVERFLOW)
        result = file_list(search->proc, PROCESSES_MAX, visit_process, search);
    search->cut |= result < 0;
}

/* Whether there is somebody to look for. */
static bool want(struct kernel_reading *reading, struct wanted *ret_wanted)
{
    const struct proc_descriptor *descriptor = &reading->descriptor;
    struct wanted wanted = {.reading = reading, .inode = reading->unix_socket.peer_inode};

    if ((reading->has & KERNEL_HAS_DESCRIPTOR) == 0)
        return false;
    if ((reading->has & KERNEL_HAS_UNIX) == 0) {
        wanted.is_pipe = true;
        if (!proc_link_inode(descriptor->link, "pipe", &wanted.inode) || descriptor->readable == descriptor->writable)
            return false;
    }
    *ret_wanted = wanted;
    return wanted.inode != 0;
}

static void name_holder(const struct search *search, const struct wanted *wanted)
{
    uint32_t pid = wanted->found != 0 ? wanted->found : wanted->found_self;
    struct kernel_reading *reading = wanted->reading;
    struct proc_stat stat;

    if (wanted->found == 0 && search->cut)
        reading->has |= KERNEL_HAS_NO_TIME;
    if (pid == 0 || proc_stat(search->proc, pid, &stat) != 0)
        return;
    reading->holder.pid = pid;
    memcpy(reading->holder.comm, stat.comm, sizeof(reading->holder.comm));
}

void kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns, struct kernel_reading *const *readings,
                         size_t count)
{
    struct search search = {.proc = proc, .uid = uid, .deadline_mono_ns = deadline_mono_ns};

    for (size_t i = 0; i < count && search.count < KERNEL_HOLDERS_MAX; i++)
        if (want(readings[i], &search.wanted[search.count]))
            search.self = search.wanted[search.count++].reading->pid;
    if (search.count == 0)
        return;
    look_into_self(&search);
    look_into_others(&search);
    for (size_t i = 0; i < search.count; i++)
        name_holder(&search, &search.wanted[i]);
}
