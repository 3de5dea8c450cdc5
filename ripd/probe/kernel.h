/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - one look at one thread: what the kernel says of it, as bytes.
 *
 * kernel_read() asks; everything that decodes and decides works on what it has filled in. The reading has no pointer
 * and no descriptor, so it may come from another process, one with more privileges.
 */
#ifndef RIPD_PROBE_KERNEL_H
#define RIPD_PROBE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/kernel.h"
#include "cases/lock_wait.h"
#include "cases/syscalls.h"
#include "os/proc.h"
#include "os/proc_thread.h"
#include "os/unix_diag.h"

/* What of a reading is filled in: bits. */
#define KERNEL_HAS_WCHAN (1u << 2)
#define KERNEL_HAS_SYSCALL (1u << 3)
#define KERNEL_HAS_DESCRIPTOR (1u << 4)
#define KERNEL_HAS_TIMEOUT (1u << 5)
#define KERNEL_HAS_LOCK (1u << 6)
#define KERNEL_HAS_UNIX (1u << 7)
#define KERNEL_HAS_NAMES (1u << 9)
#define KERNEL_HAS_CHILD_OUTPUT (1u << 10) /* only its own descendants write that pipe, as their output */
#define KERNEL_HAS_NO_TIME (1u << 8) /* who holds the other end, or who the peer is, may be found with more time */

struct kernel_holder {
    uint32_t pid; /* 0 = not known */
    char comm[sizeof(((struct proc_stat *)0)->comm)];
};

/* Whom a unix socket is connected to. */
enum kernel_peer {
    KERNEL_PEER_UNKNOWN,
    KERNEL_PEER_NONE,   /* it is not connected */
    KERNEL_PEER_SOCKET, /* that one */
    KERNEL_PEER_QUEUED, /* one that nobody has accepted yet, at the socket that listens, if that is known */
    KERNEL_PEER_CLOSED, /* one that nobody has open any more: of datagram sockets, whose readers wait all the same */
};

struct kernel_unix {
    enum kernel_peer peer;
    uint32_t peer_inode; /* of SOCKET, and of QUEUED if it is known: 0 = not known */
    bool listening;
    char name[UNIX_DIAG_NAME_BYTES];      /* its own; "" = none */
    char peer_name[UNIX_DIAG_NAME_BYTES]; /* "" = none, or not known */
};

struct kernel_reading {
    struct kernel_times times;
    uint32_t pid;
    uint32_t tid;
    uint32_t has;    /* KERNEL_HAS_ */
    uint32_t denied; /* KERNEL_DENIED() of cases/kernel.h */
    struct proc_syscall call;
    uint32_t descriptor_number;
    struct proc_descriptor descriptor;
    uint64_t timeout_ns; /* this and the next two are from the thread's memory: how long it asked for */
    struct proc_name names[SYSCALL_PATHS_MAX]; /* the paths that it passed, or the address of a socket; "" = none */
    struct lock_wait_holder lock_holder;       /* of the lock that a futex call waits for */
    struct lock_wait_look lock_look;
    struct kernel_unix unix_socket;
    struct kernel_holder holder;
    char wchan[PROC_WCHAN_BYTES];
};

/* How much to ask. */
enum kernel_depth {
    KERNEL_TIMES, /* state, CPU time, run queue, switches: any user may read them, and they show whether it has run */
    KERNEL_WHOLE, /* and what it waits for */
};

/*
 * Fills *ret_reading, all of it. 0; -ESRCH: the thread is gone; another -errno where not even its state could be read
 * for want of something of our own (-EMFILE, -ENFILE, -ENOMEM). What else cannot be read is left out, and named in
 * denied where we may not.
 */
int kernel_read(int proc, uint32_t pid, uint32_t tid, enum kernel_depth depth, struct kernel_reading *ret_reading);

/* As much of the times as shows whether the thread has run since. As kernel_read(). */
int kernel_read_again(int proc, const struct kernel_reading *reading, struct kernel_times *ret_times);

/*
 * What the thread's memory says of its wait: how long it asked for, the descriptor that it polls, if it is one alone,
 * the paths or the address that it passed, and who owns the lock that it waits for. Left as it was where there is no
 * such thing, or the thread has run since. The process can make the caller wait, since its memory may be a file that
 * another process serves: only for a caller that may be killed for it.
 */
void kernel_read_memory(int proc, struct kernel_reading *reading);

/* Whether a thread has not run between two readings of it, so that what it waits for is the same. */
bool kernel_has_not_run(const struct kernel_times *before, const struct kernel_times *after);

/*
 * For one that waits at a unix socket: asks who its peer is over diag (os/unix_diag.h), -1 = there is none to ask over.
 * Unchanged when the kernel does not answer, or the time is over.
 */
void kernel_read_unix(int diag, uint64_t deadline_mono_ns, struct kernel_reading *reading);

/* reading->holder becomes that process, unless it is not there. */
void kernel_name_holder(int proc, uint32_t pid, struct kernel_reading *reading);

/*
 * For those that wait in pipes or FIFOs, or at unix sockets whose peers are known: fills reading->holder with a process
 * that has the other end open, searched for among those of uid alone, until deadline_mono_ns. Left as it was when there
 * is none, or it was not found in time. All are of one process, KERNEL_HOLDERS_MAX at most, and looked for in one go.
 */
#define KERNEL_HOLDERS_MAX 32u
void kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns, struct kernel_reading *const *readings,
                         size_t count);

#endif
