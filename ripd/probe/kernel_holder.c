/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_holder.c - who has the other end of a pipe or a FIFO open, or a unix socket's peer. Touches /proc: links of
 * descriptors, which are not followed.
 *
 * Guarantees
 *   1. Only processes of one user are looked into: who may trace one of them may trace the others, and nothing of
 *      another user's is disclosed.
 *   2. At most PROCESSES_MAX processes and DESCRIPTORS_MAX descriptors in each are looked at, until a deadline; one
 *      walk looks for all that are wanted: first in the process itself and in its descendants, so that whose output it
 *      reads is known however many other processes there are.
 *   3. A process that has only the other end comes before the process itself, where that has both ends, and that before
 *      another one with both, which may have inherited them and use neither.
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
#include "util/text.h"

enum {
    GENERATIONS_MAX = 64, /* of descendants */
    PROCESSES_MAX = 4096,
    DESCENDANTS_MAX = 64,
    DESCRIPTORS_MAX = 16384,
    LINKS_PER_CLOCK = 32,
    NAME_BYTES = 64,
};

enum end_kind { END_PIPE, END_FIFO, END_SOCKET };

/* What a descriptor is, as far as its name shows. */
struct end {
    enum end_kind kind;
    uint64_t inode;   /* but of a FIFO, */
    const char *link; /* which is called as any file is */
};

/* What one thread lacks. */
struct wanted {
    struct kernel_reading *reading;
    struct end end;
    uint32_t found;      /* another process, which has only the other end */
    uint32_t found_both; /* another one, which has both */
    uint32_t found_self; /* the same one */
    bool has_other;      /* the process that is looked into: the other end, */
    bool has_own;        /* and the one that the thread waits at */
    bool is_read;        /* a pipe is read: it matters who else could write to it */
    bool is_output;      /* a descendant has the other end as its standard output or error */
    bool is_others;      /* somebody has it who is no descendant, or as another descriptor */
};

struct search {
    int proc;
    uint32_t uid;
    uint64_t deadline_mono_ns;
    struct wanted wanted[KERNEL_HOLDERS_MAX];
    size_t count;
    size_t found_count; /* of them in another process: nothing better is to come */
    uint32_t self;      /* whose threads they are */
    bool cut;           /* there are more processes, or descriptors, than are looked at */
    uint32_t pid;       /* looked into now */
    int descriptors;    /* its directory of them */
    unsigned looked_at;
    size_t descendant_count;
    uint32_t descendants[DESCENDANTS_MAX];
};

static uint32_t number_of(const char *name)
{
    uint64_t number;

    return text_number(name, 0, UINT32_MAX, &number) ? (uint32_t)number : UINT32_MAX;
}

static struct end end_of(const char *link)
{
    struct end end = {.kind = END_FIFO, .link = link};

    if (proc_link_inode(link, "pipe", &end.inode))
        end.kind = END_PIPE;
    else if (proc_link_inode(link, "socket", &end.inode))
        end.kind = END_SOCKET;
    return end;
}

static bool is_same_name(const struct end *end, const struct end *other)
{
    return end->kind == other->kind &&
           (end->kind == END_FIFO ? strcmp(end->link, other->link) == 0 : end->inode == other->inode);
}

/* Notes which ends a descriptor of that name has open. False: not the one that the thread lacks. */
static bool take_end(const struct search *search, struct wanted *wanted, uint32_t descriptor)
{
    const struct proc_descriptor *own = &wanted->reading->descriptor;
    struct proc_descriptor other;
    struct end end;
    bool is_other = wanted->end.kind == END_SOCKET; /* each end has an inode of its own */

    if (!is_other) {
        if (proc_descriptor(search->proc, search->pid, descriptor, &other) != 0)
            return false;
        end = end_of(other.link);
        if (!is_same_name(&end, &wanted->end))
            return false;
        if (end.kind == END_FIFO && (other.inode != own->inode || other.mount != own->mount))
            return false; /* another one of that name, before or elsewhere */
        is_other = own->writable ? other.readable : other.writable;
        wanted->has_own |= own->writable ? other.writable : other.readable;
    }
    wanted->has_other |= is_other;
    return is_other;
}

static bool is_descendant(const struct search *search)
{
    struct proc_stat stat = {.parent_pid = search->pid};

    for (unsigned i = 0; i < GENERATIONS_MAX && stat.parent_pid > 1; i++) {
        if (proc_stat(search->proc, stat.parent_pid, &stat) != 0)
            return false;
        if (stat.parent_pid == search->self)
            return true;
    }
    return false;
}

/* Whether no other process could change what is known. */
static bool is_settled(const struct wanted *wanted)
{
    return wanted->found != 0 && (!wanted->is_read || wanted->is_others);
}

/* Whose output it is that the thread reads. */
static void take_output(const struct search *search, struct wanted *wanted, uint32_t descriptor)
{
    bool is_output;

    if (!wanted->is_read || wanted->is_others)
        return;
    is_output = search->pid != search->self && (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO) &&
                is_descendant(search);
    wanted->is_output |= is_output;
    wanted->is_others |= !is_output;
}

/* All of its descriptors have been looked at. */
static void take_process(struct search *search, struct wanted *wanted)
{
    const bool was_settled = is_settled(wanted);

    if (wanted->has_other && search->pid == search->self)
        wanted->found_self = search->pid;
    else if (wanted->has_other && !wanted->has_own && wanted->found == 0)
        wanted->found = search->pid;
    else if (wanted->has_other && wanted->has_own && wanted->found_both == 0)
        wanted->found_both = search->pid;
    wanted->has_other = wanted->has_own = false;
    search->found_count += !was_settled && is_settled(wanted);
}

static int visit_descriptor(void *context, const char *name)
{
    struct search *search = context;
    uint32_t descriptor = number_of(name);
    char link[PROC_LINK_BYTES];
    ssize_t length;
    struct end end;

    if (search->looked_at++ % LINKS_PER_CLOCK == 0 && clock_mono_ns() >= search->deadline_mono_ns)
        return -ETIME;
    length = readlinkat(search->descriptors, name, link, sizeof(link) - 1);
    if (descriptor == UINT32_MAX || length <= 0)
        return 0;
    link[length] = '\0';
    end = end_of(link);
    for (size_t i = 0; i < search->count; i++)
        if (is_same_name(&end, &search->wanted[i].end) && take_end(search, &search->wanted[i], descriptor))
            take_output(search, &search->wanted[i], descriptor);
    return 0;
}

/* Looks at the descriptors of search->pid, whose name that is. 0; -ETIME; 1: all have been found. */
static int look_into(struct search *search, const char *name)
{
    struct file_identity identity;
    int result;

    if (clock_mono_ns() >= search->deadline_mono_ns)
        return -ETIME;
    if (file_identify_at(search->proc, name, &identity) != 0 || identity.uid != search->uid)
        return 0;
    search->descriptors = proc_open(search->proc, O_RDONLY | O_DIRECTORY, "%u/fd", search->pid);
    if (search->descriptors < 0)
        return 0;
    result = file_list(search->descriptors, DESCRIPTORS_MAX, visit_descriptor, search);
    close(search->descriptors);
    for (size_t i = 0; i < search->count; i++)
        take_process(search, &search->wanted[i]);
    search->cut |= result == -EOVERFLOW;
    if (search->found_count == search->count)
        return 1;
    return result == -ETIME ? result : 0; /* it may have ended meanwhile: the others are there still */
}

static int visit_process(void *context, const char *name)
{
    struct search *search = context;

    search->pid = number_of(name);
    return search->pid == UINT32_MAX || search->pid == search->self ? 0 : look_into(search, name);
}

/* Those that a thread of the process has forked. */
static int note_children(void *context, uint32_t tid)
{
    struct search *search = context;
    uint32_t children[PROC_CHILDREN_MAX];
    size_t count;

    proc_thread_children(search->proc, search->pid, tid, children, &count);
    for (size_t i = 0; i < count && search->descendant_count < DESCENDANTS_MAX; i++)
        search->descendants[search->descendant_count++] = children[i];
    return clock_mono_ns() >= search->deadline_mono_ns ? -ETIME : 0;
}

static int look_into_family(struct search *search, uint32_t pid)
{
    char name[NAME_BYTES];
    int result;

    snprintf(name, sizeof(name), "%u", pid);
    search->pid = pid;
    result = look_into(search, name);
    if (result == 0)
        proc_visit_threads(search->proc, pid, note_children, search); /* it may have ended meanwhile */
    return result;
}

/* The process itself, its children, theirs, and so on, for half of the time. */
static void look_into_families(struct search *search)
{
    const uint64_t now_mono_ns = clock_mono_ns(), deadline_mono_ns = search->deadline_mono_ns;
    int result;

    if (now_mono_ns < deadline_mono_ns)
        search->deadline_mono_ns = now_mono_ns + (deadline_mono_ns - now_mono_ns) / 2;
    result = look_into_family(search, search->self);
    search->cut |= result < 0;
    for (size_t i = 0; i < search->descendant_count && result == 0; i++)
        result = look_into_family(search, search->descendants[i]);
    search->deadline_mono_ns = deadline_mono_ns;
}

/* A FIFO is known by the function of the kernel that it is waited for in: by its name it could be any file. */
static bool waits_in_pipe(const struct kernel_reading *reading)
{
    /* "anon_" and "fifo_" come before it on some kernels, and the compiler adds suffixes such as .part.0 */
    return (reading->has & KERNEL_HAS_WCHAN) != 0 &&
           (strstr(reading->wchan, "pipe_read") != NULL || strstr(reading->wchan, "pipe_write") != NULL);
}

/* Whether there is somebody to look for. */
static bool want(struct kernel_reading *reading, struct wanted *ret_wanted)
{
    const struct proc_descriptor *descriptor = &reading->descriptor;
    struct end end = {.kind = END_SOCKET, .inode = reading->unix_socket.peer_inode};

    if ((reading->has & KERNEL_HAS_DESCRIPTOR) == 0)
        return false;
    if ((reading->has & KERNEL_HAS_UNIX) == 0) {
        end = end_of(descriptor->link);
        if (end.kind == END_SOCKET || descriptor->readable == descriptor->writable)
            return false;
        if (end.kind == END_FIFO) {
            if (descriptor->link[0] != '/' || descriptor->link_cut || !waits_in_pipe(reading))
                return false;
            end.inode = descriptor->inode;
        }
    }
    *ret_wanted =
        (struct wanted){.reading = reading, .end = end, .is_read = end.kind != END_SOCKET && descriptor->readable};
    return end.inode != 0;
}

static void name_holder(const struct search *search, const struct wanted *wanted)
{
    const uint32_t both = wanted->found_self != 0 ? wanted->found_self : wanted->found_both;
    const uint32_t pid = wanted->found != 0 ? wanted->found : both;
    struct kernel_reading *reading = wanted->reading;

    if (wanted->found == 0 && search->cut)
        reading->has |= KERNEL_HAS_NO_TIME;
    if (wanted->is_output && !wanted->is_others)
        reading->has |= KERNEL_HAS_CHILD_OUTPUT;
    if (pid != 0)
        kernel_name_holder(search->proc, pid, reading);
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
    look_into_families(&search);
    if (search.found_count < search.count)
        search.cut |= file_list(proc, PROCESSES_MAX, visit_process, &search) < 0;
    for (size_t i = 0; i < search.count; i++)
        name_holder(&search, &search.wanted[i]);
}
