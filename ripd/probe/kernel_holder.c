/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_holder.c - finds the process that has the other end of a pipe or FIFO open, or the peer of a unix socket.
 * Touches /proc: links of descriptors, which are not followed.
 *
 * Guarantees
 *   1. Only processes of one user are searched. A process that may trace one of them may trace the others, so nothing
 *      about other users is disclosed.
 *   2. At most PROCESSES_MAX processes and DESCRIPTORS_MAX descriptors of each are searched, until a deadline. One
 *      search serves all threads. It begins with the process itself and its descendants, so that a process whose output
 *      is read is found however many other processes exist.
 *   3. A process that has only the other end is preferred. Next comes the process itself if it has both ends. Last
 *      comes another process with both ends, which may have inherited them and use neither.
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
    GENERATIONS_MAX = 64, /* between the process and a descendant */
    PROCESSES_MAX = 4096,
    DESCENDANTS_MAX = 64,
    DESCRIPTORS_MAX = 16384,
    LINKS_PER_CLOCK = 32,
    NAME_BYTES = 64,
};

enum end_kind { END_PIPE, END_FIFO, END_SOCKET };

/* What a descriptor refers to, as far as its link shows. */
struct end {
    enum end_kind kind;
    uint64_t inode;   /* of a pipe or socket */
    const char *link; /* of a FIFO, whose link is a path like that of any file */
};

/* The other end that one thread waits for. */
struct wanted {
    struct kernel_reading *reading;
    struct end end;
    uint32_t found;       /* pid of another process that has only the other end; 0 = none, as below */
    uint32_t found_both;  /* pid of another process that has both ends */
    uint32_t found_self;  /* the thread's own pid, if its process has the other end */
    bool has_other;       /* the process searched now has the other end */
    bool has_own;         /* the process searched now has the end that the thread waits at */
    bool is_read;         /* the thread reads a pipe: all its writers matter */
    bool is_child_output; /* a descendant has the other end as its standard output or error */
    bool
        has_other_writer; /* a process that is no descendant has the other end, or a descendant as another descriptor */
};

struct search {
    int proc;
    uint32_t uid;
    uint64_t deadline_mono_ns;
    struct wanted wanted[KERNEL_HOLDERS_MAX];
    size_t count;
    size_t found_count; /* of wanted[]: those that further processes cannot change */
    uint32_t self;      /* pid of the process whose threads wait */
    bool cut;           /* a limit has cut the search short */
    uint32_t pid;       /* of the process searched now */
    int descriptors;    /* its directory of descriptors */
    unsigned looked_at;
    size_t descendant_count;
    uint32_t descendants[DESCENDANTS_MAX];
};

static uint32_t parse_number(const char *name)
{
    uint64_t number;

    return text_number(name, 0, UINT32_MAX, &number) ? (uint32_t)number : UINT32_MAX;
}

static struct end parse_link(const char *link)
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

/* Records which ends a descriptor with a matching link has open. Returns whether it is the other end. */
static bool record_end(const struct search *search, struct wanted *wanted, uint32_t descriptor)
{
    const struct proc_descriptor *own = &wanted->reading->descriptor;
    struct proc_descriptor other;
    struct end end;
    bool is_other = wanted->end.kind == END_SOCKET; /* each end of a socket pair has an inode of its own */

    if (!is_other) {
        if (proc_descriptor(search->proc, search->pid, descriptor, &other) != 0)
            return false;
        end = parse_link(other.link);
        if (!is_same_name(&end, &wanted->end))
            return false;
        if (end.kind == END_FIFO && (other.inode != own->inode || other.mount != own->mount))
            return false; /* another FIFO with the same path: an earlier one, or one on another mount */
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

/* Whether further processes cannot change the result. */
static bool is_settled(const struct wanted *wanted)
{
    return wanted->found != 0 && (!wanted->is_read || wanted->has_other_writer);
}

/* Records whether the writer of a pipe is a descendant that writes it as its output. */
static void record_output(const struct search *search, struct wanted *wanted, uint32_t descriptor)
{
    bool is_child_output;

    if (!wanted->is_read || wanted->has_other_writer)
        return;
    is_child_output = search->pid != search->self && (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO) &&
                      is_descendant(search);
    wanted->is_child_output |= is_child_output;
    wanted->has_other_writer |= !is_child_output;
}

/* Takes the result for one process, after all its descriptors have been read. */
static void finish_process(struct search *search, struct wanted *wanted)
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
    uint32_t descriptor = parse_number(name);
    char link[PROC_LINK_BYTES];
    ssize_t length;
    struct end end;

    if (search->looked_at++ % LINKS_PER_CLOCK == 0 && clock_mono_ns() >= search->deadline_mono_ns)
        return -ETIME;
    length = readlinkat(search->descriptors, name, link, sizeof(link) - 1);
    if (descriptor == UINT32_MAX || length <= 0)
        return 0;
    link[length] = '\0';
    end = parse_link(link);
    for (size_t i = 0; i < search->count; i++)
        if (is_same_name(&end, &search->wanted[i].end) && record_end(search, &search->wanted[i], descriptor))
            record_output(search, &search->wanted[i], descriptor);
    return 0;
}

/* Searches the descriptors of search->pid, name being its directory. Returns 0, -ETIME, or 1 if all have been found. */
static int search_process(struct search *search, const char *name)
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
        finish_process(search, &search->wanted[i]);
    search->cut |= result == -EOVERFLOW;
    if (search->found_count == search->count)
        return 1;
    return result == -ETIME ? result : 0; /* the process may have ended: continue with the others */
}

static int visit_process(void *context, const char *name)
{
    struct search *search = context;

    search->pid = parse_number(name);
    return search->pid == UINT32_MAX || search->pid == search->self ? 0 : search_process(search, name);
}

/* Adds the children that a thread of search->pid has forked. */
static int add_children(void *context, uint32_t tid)
{
    struct search *search = context;
    uint32_t children[PROC_CHILDREN_MAX];
    size_t count;

    proc_thread_children(search->proc, search->pid, tid, children, &count);
    for (size_t i = 0; i < count && search->descendant_count < DESCENDANTS_MAX; i++)
        search->descendants[search->descendant_count++] = children[i];
    return clock_mono_ns() >= search->deadline_mono_ns ? -ETIME : 0;
}

static int search_process_and_children(struct search *search, uint32_t pid)
{
    char name[NAME_BYTES];
    int result;

    snprintf(name, sizeof(name), "%u", pid);
    search->pid = pid;
    result = search_process(search, name);
    if (result == 0)
        proc_visit_threads(search->proc, pid, add_children, search); /* fails if the process has ended */
    return result;
}

/* Searches the process itself and its descendants, for at most half of the time. */
static void search_descendants(struct search *search)
{
    const uint64_t now_mono_ns = clock_mono_ns(), deadline_mono_ns = search->deadline_mono_ns;
    int result;

    if (now_mono_ns < deadline_mono_ns)
        search->deadline_mono_ns = now_mono_ns + (deadline_mono_ns - now_mono_ns) / 2;
    result = search_process_and_children(search, search->self);
    search->cut |= result < 0;
    for (size_t i = 0; i < search->descendant_count && result == 0; i++)
        result = search_process_and_children(search, search->descendants[i]);
    search->deadline_mono_ns = deadline_mono_ns;
}

/*
 * Whether the thread waits in a pipe function of the kernel. Only this identifies a FIFO, as its link is a plain path.
 */
static bool waits_in_pipe(const struct kernel_reading *reading)
{
    /* Some kernels have the prefix "anon_" or "fifo_", and the compiler adds suffixes such as ".part.0". */
    return (reading->has & KERNEL_HAS_WCHAN) != 0 &&
           (strstr(reading->wchan, "pipe_read") != NULL || strstr(reading->wchan, "pipe_write") != NULL);
}

/* Whether the other end has to be searched for. */
static bool needs_search(struct kernel_reading *reading, struct wanted *ret_wanted)
{
    const struct proc_descriptor *descriptor = &reading->descriptor;
    struct end end = {.kind = END_SOCKET, .inode = reading->unix_socket.peer_inode};

    if ((reading->has & KERNEL_HAS_DESCRIPTOR) == 0)
        return false;
    if ((reading->has & KERNEL_HAS_UNIX) == 0) {
        end = parse_link(descriptor->link);
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
    if (wanted->is_child_output && !wanted->has_other_writer)
        reading->has |= KERNEL_HAS_CHILD_OUTPUT;
    if (pid != 0)
        kernel_name_holder(search->proc, pid, reading);
}

void kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns, struct kernel_reading *const *readings,
                         size_t count)
{
    struct search search = {.proc = proc, .uid = uid, .deadline_mono_ns = deadline_mono_ns};

    for (size_t i = 0; i < count && search.count < KERNEL_HOLDERS_MAX; i++)
        if (needs_search(readings[i], &search.wanted[search.count]))
            search.self = search.wanted[search.count++].reading->pid;
    if (search.count == 0)
        return;
    search_descendants(&search);
    if (search.found_count < search.count)
        search.cut |= file_list(proc, PROCESSES_MAX, visit_process, &search) < 0;
    for (size_t i = 0; i < search.count; i++)
        name_holder(&search, &search.wanted[i]);
}
