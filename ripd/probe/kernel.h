/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - one look at one thread: what the kernel reports about it, as plain bytes.
 *
 * kernel_read() queries the kernel. All code that decodes or decides works on the reading. A reading contains no
 * pointer and no descriptor, so it may come from another process with more privileges.
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

/* Bits: which parts of a reading are filled in. */
#define KERNEL_HAS_WCHAN (1u << 2)
#define KERNEL_HAS_SYSCALL (1u << 3)
#define KERNEL_HAS_DESCRIPTOR (1u << 4)
#define KERNEL_HAS_TIMEOUT (1u << 5)
#define KERNEL_HAS_LOCK (1u << 6)
#define KERNEL_HAS_UNIX (1u << 7)
#define KERNEL_HAS_NAMES (1u << 9)
#define KERNEL_HAS_CHILD_OUTPUT (1u << 10) /* only the process's own descendants write that pipe, as their output */
#define KERNEL_HAS_NO_TIME (1u << 8)       /* the peer, or the holder of the other end, may be found with more time */

struct kernel_holder {
    uint32_t pid; /* 0 = not known */
    char comm[sizeof(((struct proc_stat *)0)->comm)];
};

/* The peer of a unix socket. */
enum kernel_peer {
    KERNEL_PEER_UNKNOWN,
    KERNEL_PEER_NONE,   /* the socket is not connected */
    KERNEL_PEER_SOCKET, /* the socket peer_inode */
    KERNEL_PEER_QUEUED, /* not accepted yet, in the queue of the listening socket peer_inode */
    KERNEL_PEER_CLOSED, /* closed by everybody; only for datagram sockets, whose readers continue to wait */
};

struct kernel_unix {
    enum kernel_peer peer;
    uint32_t peer_inode; /* for SOCKET and QUEUED; 0 = not known */
    bool listening;
    char name[UNIX_DIAG_NAME_BYTES];      /* the socket's own name; "" = none */
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
    uint64_t timeout_ns;                       /* the requested duration; from the thread's memory, as the next three */
    struct proc_name names[SYSCALL_PATHS_MAX]; /* the paths or the socket address that were passed; "" = none */
    struct lock_wait_holder lock_holder;       /* holder of the lock that a futex call waits for */
    struct lock_wait_look lock_look;
    struct kernel_unix unix_socket;
    struct kernel_holder holder;
    char wchan[PROC_WCHAN_BYTES];
};

/* How much to read. */
enum kernel_depth {
    KERNEL_TIMES, /* state, CPU time, run queue, switches: readable by any user, and they show whether it has run */
    KERNEL_WHOLE, /* also what the thread waits for */
};

/*
 * Fills all of *ret_reading. Returns 0; -ESRCH if the thread is gone; another -errno if not even its state could be
 * read because of a shortage in this process (-EMFILE, -ENFILE, -ENOMEM). Anything else that cannot be read is left
 * out. If that is for lack of rights, its bit is set in denied.
 */
int kernel_read(int proc, uint32_t pid, uint32_t tid, enum kernel_depth depth, struct kernel_reading *ret_reading);

/* Reads only those times that show whether the thread has run since. Returns as kernel_read(). */
int kernel_read_again(int proc, const struct kernel_reading *reading, struct kernel_times *ret_times);

/*
 * Adds what the thread's memory says about its wait: the requested duration, the polled descriptor if it is a single
 * one, the passed paths or address, and the holder of the lock. Parts that do not exist stay unchanged, and so do all
 * parts if the thread has run since. The process can make this call block, because its memory may be a file that
 * another process serves. So the caller must be a process that may be killed.
 */
void kernel_read_memory(int proc, struct kernel_reading *reading);

/* Whether a thread has not run between two readings, so that it still waits for the same. */
bool kernel_has_not_run(const struct kernel_times *before, const struct kernel_times *after);

/*
 * For a thread that waits at a unix socket: queries its peer over diag (os/unix_diag.h); -1 = no netlink socket. The
 * reading stays unchanged if the kernel does not answer or the deadline has passed (then KERNEL_HAS_NO_TIME is set).
 */
void kernel_read_unix(int diag, uint64_t deadline_mono_ns, struct kernel_reading *reading);

/* Sets reading->holder to that process if it exists. */
void kernel_name_holder(int proc, uint32_t pid, struct kernel_reading *reading);

/*
 * For threads that wait at a pipe or FIFO, or at a unix socket with a known peer: sets reading->holder to a process
 * that has the other end open. Only processes of uid are searched, until deadline_mono_ns. The holder stays unchanged
 * if none was found in time. All readings must be of one process, at most KERNEL_HOLDERS_MAX; one search serves all.
 */
#define KERNEL_HOLDERS_MAX 32u
void kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns, struct kernel_reading *const *readings,
                         size_t count);

#endif
