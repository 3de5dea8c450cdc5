/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_thread.h - what /proc says of one thread and of its descriptors. Every function returns 0 or -errno; -ESRCH: the
 * thread is gone; -EACCES or -EPERM: we may not read it.
 *
 * On Linux 6.18 anyone may read stat (but for its addresses), schedstat and status; a process with PTRACE_MODE_READ
 * wchan ("0" for others), fd and fdinfo; one that may attach, syscall.
 *
 * Guarantees
 *   A. No file of another process is opened, and no link to one is followed: a file on a server that does not answer
 *      would hold up the caller.
 *   B. A name that was cut is marked so.
 */
#ifndef RIPD_OS_PROC_THREAD_H
#define RIPD_OS_PROC_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_LINK_BYTES 256u /* of what a descriptor refers to, terminator included; longer ones are cut */
#define PROC_WCHAN_BYTES 64u
#define PROC_SYSCALL_ARGUMENTS 6u

/*
 * Files of a thread that the kernel lets nobody read while its process executes a program: what they say, terminated;
 * of a link, whose name. Who has a reader asks it (os/proc_reader.h), so -EAGAIN as well, also of all that read them.
 * -ENAMETOOLONG: a link has PROC_LINK_BYTES or more.
 */
enum proc_held_file { PROC_HELD_STAT, PROC_HELD_WCHAN, PROC_HELD_SYSCALL, PROC_HELD_PROGRAM, PROC_HELD_NETWORK };
#define PROC_HELD_BYTES 1024u /* stat has 52 numbers and a name of at most 64 bytes */
int proc_read_held(int proc, uint32_t pid, uint32_t tid, enum proc_held_file file, char ret_text[PROC_HELD_BYTES]);

/* schedstat. -EAGAIN: it has never run, or the kernel has no CONFIG_SCHED_INFO, and nothing shows whether it has. */
struct proc_schedstat {
    uint64_t cpu_ns;      /* on a processor; moves with the clock tick while it runs */
    uint64_t wait_ns;     /* ready, but on none; moves when it gets one */
    uint64_t slice_count; /* times that it got one */
};
int proc_thread_schedstat(int proc, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat);

struct proc_switches {
    uint64_t voluntary_count;
    uint64_t involuntary_count;
};
int proc_thread_switches(int proc, uint32_t pid, uint32_t tid, struct proc_switches *ret_switches);

/* The kernel function that it waits in. -ENODATA: it does not wait, or we may not read it: the kernel says "0" then. */
int proc_thread_wchan(int proc, uint32_t pid, uint32_t tid, char ret_wchan[PROC_WCHAN_BYTES]);

enum proc_syscall_kind {
    PROC_SYSCALL_RUNNING, /* the thread does not wait */
    PROC_SYSCALL_OUTSIDE, /* it waits in the kernel, but called nothing: for a page, mostly */
    PROC_SYSCALL_INSIDE,
};
struct proc_syscall {
    enum proc_syscall_kind kind;
    uint64_t number; /* of INSIDE alone, as the arguments */
    uint64_t arguments[PROC_SYSCALL_ARGUMENTS];
    uint64_t stack_pointer; /* of OUTSIDE and INSIDE */
};
int proc_thread_syscall(int proc, uint32_t pid, uint32_t tid, struct proc_syscall *ret_syscall);

/*
 * The children that the thread has made and that live, by age. -ESRCH: there are none, the kernel does not list them,
 * or the thread is gone; -EOVERFLOW: there are more.
 */
#define PROC_CHILDREN_MAX 256u
int proc_thread_children(int proc, uint32_t pid, uint32_t tid, uint32_t ret_children[PROC_CHILDREN_MAX],
                         size_t *ret_count);

/* A path, or another name, cut and terminated. */
struct proc_name {
    char text[PROC_LINK_BYTES];
    bool cut;
};

/* Where paths of the thread begin, as the kernel puts it: relative ones, and absolute ones. No file is touched. */
enum proc_base { PROC_BASE_CURRENT, PROC_BASE_ROOT };
int proc_thread_base(int proc, uint32_t pid, uint32_t tid, enum proc_base base, struct proc_name *ret_name);

/* The program that it executes, which the kernel shows to those that may trace it. -EACCES, -ENAMETOOLONG and others.
 */
int proc_program(int proc, uint32_t pid, char ret_path[PROC_LINK_BYTES]);

/* What a descriptor of the process refers to, as the kernel puts it, cut and terminated. The file is not touched. */
struct proc_descriptor {
    char link[PROC_LINK_BYTES];
    bool link_cut;
    bool readable; /* how it was opened */
    bool writable;
    uint64_t inode; /* from fdinfo, as the next; 0 = not known */
    uint64_t mount; /* no two that are there have the same */
};
int proc_descriptor(int proc, uint32_t pid, uint32_t descriptor, struct proc_descriptor *ret_descriptor);

/* The number in "KIND:[number]", as sockets and pipes have it. False: it is not of that kind. */
bool proc_link_inode(const char *link, const char *kind, uint64_t *ret_inode);

#endif
