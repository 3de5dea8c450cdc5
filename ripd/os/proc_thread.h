/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_thread.h - reads /proc about one thread and its descriptors. Every function returns 0 or -errno. -ESRCH: the
 * thread is gone. -EACCES or -EPERM: the caller may not read it.
 *
 * On Linux 6.18 anyone may read stat (without its addresses), schedstat and status. wchan ("0" for others), fd and
 * fdinfo need PTRACE_MODE_READ. syscall needs the right to attach.
 *
 * Guarantees
 *   A. No file of another process is opened, and no link to one is followed, because a file on a server that does not
 *      answer would block the caller.
 *   B. A name that was cut is marked as such.
 */
#ifndef RIPD_OS_PROC_THREAD_H
#define RIPD_OS_PROC_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_LINK_BYTES 256u /* limit of a link's text, with the terminator; longer texts are cut */
#define PROC_WCHAN_BYTES 64u
#define PROC_SYSCALL_ARGUMENTS 6u

/*
 * Reads a file of a thread that blocks while its process executes a program: its text, terminated, or the target of a
 * link. If the calling thread has a reader (os/proc_reader.h), the reader is used. Then this function and all that use
 * it may also return -EAGAIN. Returns -ENAMETOOLONG if a link has PROC_LINK_BYTES or more.
 */
enum proc_held_file { PROC_HELD_STAT, PROC_HELD_WCHAN, PROC_HELD_SYSCALL, PROC_HELD_PROGRAM, PROC_HELD_NETWORK };
#define PROC_HELD_BYTES 1024u /* stat has 52 numbers and a name of at most 64 bytes */
int proc_read_held(int proc, uint32_t pid, uint32_t tid, enum proc_held_file file, char ret_text[PROC_HELD_BYTES]);

/* schedstat. Returns -EAGAIN if the thread has never run, or the kernel has no CONFIG_SCHED_INFO. */
struct proc_schedstat {
    uint64_t cpu_ns;      /* on a processor; advances with the clock tick while the thread runs */
    uint64_t wait_ns;     /* ready to run; advances when the thread gets a processor */
    uint64_t slice_count; /* how often the thread got a processor */
};
int proc_thread_schedstat(int proc, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat);

struct proc_switches {
    uint64_t voluntary_count;
    uint64_t involuntary_count;
};
int proc_thread_switches(int proc, uint32_t pid, uint32_t tid, struct proc_switches *ret_switches);

/*
 * Reads the kernel function in which the thread waits. Returns -ENODATA if it does not wait or the caller may not read
 * it; the kernel shows "0" in both cases.
 */
int proc_thread_wchan(int proc, uint32_t pid, uint32_t tid, char ret_wchan[PROC_WCHAN_BYTES]);

enum proc_syscall_kind {
    PROC_SYSCALL_RUNNING, /* the thread does not wait */
    PROC_SYSCALL_OUTSIDE, /* the thread waits in the kernel without a system call, usually in a page fault */
    PROC_SYSCALL_INSIDE,
};
struct proc_syscall {
    enum proc_syscall_kind kind;
    uint64_t number; /* INSIDE only, like the arguments */
    uint64_t arguments[PROC_SYSCALL_ARGUMENTS];
    uint64_t stack_pointer; /* OUTSIDE and INSIDE */
};
int proc_thread_syscall(int proc, uint32_t pid, uint32_t tid, struct proc_syscall *ret_syscall);

/*
 * Lists the living children that the thread has forked, the oldest first. Returns -ESRCH if there are none, the kernel
 * does not list them, or the thread is gone; -EOVERFLOW if there may be more than PROC_CHILDREN_MAX.
 */
#define PROC_CHILDREN_MAX 256u
int proc_thread_children(int proc, uint32_t pid, uint32_t tid, uint32_t ret_children[PROC_CHILDREN_MAX],
                         size_t *ret_count);

/* A path or another name: terminated, and cut if necessary. */
struct proc_name {
    char text[PROC_LINK_BYTES];
    bool cut;
};

/* The thread's current directory or root, by the kernel's name. No file is touched. */
enum proc_base { PROC_BASE_CURRENT, PROC_BASE_ROOT };
int proc_thread_base(int proc, uint32_t pid, uint32_t tid, enum proc_base base, struct proc_name *ret_name);

/* Reads the path of the executable, which needs the right to trace. Returns -EACCES, -ENAMETOOLONG and others. */
int proc_program(int proc, uint32_t pid, char ret_path[PROC_LINK_BYTES]);

/* A descriptor of the process. link: the kernel's name of its file, terminated. The file is not touched. */
struct proc_descriptor {
    char link[PROC_LINK_BYTES];
    bool link_cut;
    bool readable; /* access mode of the descriptor */
    bool writable;
    uint64_t inode; /* from fdinfo; 0 = not known */
    uint64_t mount; /* from fdinfo: id of the mount, unique among the existing ones; 0 = not known */
};
int proc_descriptor(int proc, uint32_t pid, uint32_t descriptor, struct proc_descriptor *ret_descriptor);

/* Parses the number in "KIND:[number]", the link of a socket or pipe. Returns false if it is not of that kind. */
bool proc_link_inode(const char *link, const char *kind, uint64_t *ret_inode);

#endif
