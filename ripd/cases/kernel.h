/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - what the kernel reports about a thread that does not move, for display. Immutable and shared. Pure.
 *
 * Guarantees
 *   A. Facts do not change after they are handed out, until the last unref. The reference count is atomic.
 *   B. They contain no address, neither of the thread's memory nor of the kernel's.
 *   C. Texts are terminated. They contain names of files and processes, and so may contain any byte.
 */
#ifndef RIPD_CASES_KERNEL_H
#define RIPD_CASES_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/reference.h"

/* Fields of "kernel", in order, with their meaning. */
#define KERNEL_FIELD_TABLE(X)                                                                                          \
    X("state", "the state letter of the thread: S and D wait, R runs or is ready to run, T and t are stopped")         \
    X("syscall",                                                                                                       \
      "the system call that the thread waits in; null while the thread runs, because the kernel does not report "      \
      "it then")                                                                                                       \
    X("fd", "the file descriptor that the thread waits for")                                                           \
    X("target",                                                                                                        \
      "what the thread waits for: the file of a descriptor, or the addresses and the state of its socket; the "        \
      "path of a call with a path, OLD -> NEW for a call with two, made absolute, with links and dots as they "        \
      "are; the operation of a futex call; the number of descriptors of a poll, or the descriptor if there is "        \
      "only one; the message queue, semaphore set or child that the thread waits for; for a unix socket OWN -> "       \
      "PEER, each as its path, or as socket:[INODE] if it has none, and its state: LISTEN, UNCONNECTED, "              \
      "CONNECTING (the server has no room), NOT_ACCEPTED (not accepted by the server yet), PEER_CLOSED "               \
      "(datagrams only); a text that was cut ends with ...")                                                           \
    X("holder",                                                                                                        \
      "pid and comm of the process that the thread waits for, null if none was found: the holder of the file "         \
      "lock; the child that keeps its parent in vfork; or a process of the same user that has the other end of "       \
      "the pipe, FIFO or unix socket open, or that has the socket at which the connection is not accepted yet")        \
    X("asked_ms", "the timeout of the sleep or of the wait")                                                           \
    X("wchan", "the kernel function that the thread waits in")                                                         \
    X("mode", "where the thread spends most of its CPU time: user, or system (inside a system call)")                  \
    X("window_ms", "the time from the first examination to the last; the next four fields refer to it")                \
    X("cpu_ms", "time on a processor")                                                                                 \
    X("wait_ms", "time ready to run, waiting for a processor; counted when the thread gets one")                       \
    X("voluntary_switches", "how often the thread went to sleep")                                                      \
    X("involuntary_switches", "how often the thread was preempted")                                                    \
    X("denied",                                                                                                        \
      "fields that are null because the kernel does not show them to ripd; without privileges, it shows them "         \
      "only for processes of the same user")

#define KERNEL_UNKNOWN UINT64_MAX
#define KERNEL_WCHAN_BYTES 64u
#define KERNEL_TARGET_BYTES 528u
#define KERNEL_COMM_BYTES 17u

/* Why a field is null although the thread may have a value: bits. JSON has the names. */
enum kernel_denied {
    KERNEL_DENIED_BIT_SYSCALL,
    KERNEL_DENIED_BIT_WCHAN,
    KERNEL_DENIED_BIT_DESCRIPTORS,
    KERNEL_DENIED_BIT_MEMORY,
    KERNEL_DENIED_COUNT,
};
#define KERNEL_DENIED(name) (1u << KERNEL_DENIED_BIT_##name)
const char *kernel_denied_name(enum kernel_denied bit); /* the field that is null; static */

enum kernel_mode {
    KERNEL_MODE_UNKNOWN,
    KERNEL_MODE_USER,   /* it uses CPU time in the program */
    KERNEL_MODE_SYSTEM, /* in the kernel: inside one system call, because it does not snap */
};

struct kernel_facts {
    atomic_uint references; /* first member: kernel_facts_copy() skips it */
    char state;             /* from /proc/PID/task/TID/stat */
    const char *syscall;    /* static; NULL: none, or not known */
    int64_t descriptor;     /* that it waits for; -1: none, or not known */
    uint64_t asked_ns;      /* timeout of its sleep or wait; KERNEL_UNKNOWN: none, or not known */
    enum kernel_mode mode;  /* where it uses CPU time */
    uint32_t holder_pid;    /* holder of the lock, or the other end; 0: none, or not known */
    unsigned denied;        /* KERNEL_DENIED() bits of what the kernel does not let us read */
    /* Length of the period of the next four fields, up to the last look; KERNEL_UNKNOWN: only one look. */
    uint64_t window_ns;
    uint64_t cpu_ns;    /* on a processor; this and the next three are KERNEL_UNKNOWN if not known */
    uint64_t wait_ns;   /* ready to run, without a processor */
    uint64_t voluntary; /* switches */
    uint64_t involuntary;
    char holder_comm[KERNEL_COMM_BYTES];
    char wchan[KERNEL_WCHAN_BYTES]; /* "": none, or not known */
    char target[];                  /* "": none, or not known */
};

struct kernel_facts *kernel_facts_new(const char *target); /* no other facts, one reference; NULL if out of memory */
struct kernel_facts *kernel_facts_copy(const struct kernel_facts *facts); /* one reference; NULL if out of memory */
REFERENCED(kernel_facts);
void kernel_facts_unref(struct kernel_facts *facts); /* Both: NULL is allowed. */

/* One reading of a thread that needs no privilege. The counters only grow. */
struct kernel_times {
    uint64_t read_mono_ns;
    uint32_t flags;
    uint64_t start_time_ticks;
    uint64_t user_ticks;
    uint64_t system_ticks;
    uint64_t cpu_ns;
    uint64_t wait_ns;
    uint64_t slice_count;
    uint64_t voluntary_count; /* switches */
    uint64_t involuntary_count;
    char state;
};

/* What a thread waits for, by the name of the kernel function that it waits in. */
enum kernel_wait {
    KERNEL_WAIT_UNKNOWN,
    KERNEL_WAIT_OTHERS, /* something that others have to do */
    KERNEL_WAIT_SLEEP,  /* time only */
};
enum kernel_wait kernel_wait_of_wchan(const char *wchan);

#endif
