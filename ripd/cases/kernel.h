/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - what the kernel says of a thread that does not move, as it is shown. Immutable and shared. Pure.
 *
 * Guarantees
 *   A. Facts are constant from the moment they are handed out to the last unref; the count of references is atomic.
 *   B. No address is in them: neither of the thread's memory nor of the kernel's.
 *   C. Texts are terminated. They hold names of files and processes, and so may hold anything else.
 */
#ifndef RIPD_CASES_KERNEL_H
#define RIPD_CASES_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/reference.h"

/* Fields of "kernel", in their order, and what they say. */
#define KERNEL_FIELD_TABLE(X)                                                                                          \
    X("state", "the letter of its state: S and D wait, R runs or could run, T and t are stopped")                      \
    X("syscall", "the system call that it waits in; null while it runs, when the kernel does not report the call")     \
    X("fd", "the descriptor that it waits for")                                                                        \
    X("target",                                                                                                        \
      "what that refers to, and for a socket its addresses and its state; the path that the call opens or examines, "  \
      "OLD -> NEW for a call with two, made absolute, with links and dots as they are; the operation of "              \
      "a futex; the number of descriptors of a poll, or the descriptor if it is one alone; the queue of messages, "    \
      "set "                                                                                                           \
      "of semaphores or child that it waits for; unix OWN -> PEER, each by its path, or as socket:[INODE] where it "   \
      "has none, and its state: LISTEN, UNCONNECTED, CONNECTING to a server that has no room, NOT_ACCEPTED by "        \
      "the server yet, PEER_CLOSED of datagrams; ... at the end of a text that was cut")                               \
    X("holder",                                                                                                        \
      "who holds the file lock; the child that keeps its parent in vfork; or who of the same user has the other end "  \
      "of the pipe, the FIFO or the "                                                                                  \
      "unix socket open, or the socket at which it is not accepted yet: pid and comm; null if none was found")         \
    X("asked_ms", "how long it wants to sleep, or to wait at most")                                                    \
    X("wchan", "the function of the kernel that it waits in")                                                          \
    X("mode", "where it spends most of its CPU time: user, or system, inside a system call")                           \
    X("window_ms", "the time from its first examination to its last, to which the next four refer")                    \
    X("cpu_ms", "on a processor")                                                                                      \
    X("wait_ms", "ready to run, waiting for a processor; counted when it gets one")                                    \
    X("voluntary_switches", "times that it went to sleep")                                                             \
    X("involuntary_switches", "times that it was taken off its processor")                                             \
    X("denied",                                                                                                        \
      "fields that are null because the kernel does not show them to ripd: without privileges it shows them "          \
      "for processes of the same user alone")

#define KERNEL_UNKNOWN UINT64_MAX
#define KERNEL_WCHAN_BYTES 64u
#define KERNEL_TARGET_BYTES 528u
#define KERNEL_COMM_BYTES 17u

/* Why something is null that the thread may well have: bits. JSON has the texts. */
enum kernel_denied {
    KERNEL_DENIED_BIT_SYSCALL,
    KERNEL_DENIED_BIT_WCHAN,
    KERNEL_DENIED_BIT_DESCRIPTORS,
    KERNEL_DENIED_BIT_MEMORY,
    KERNEL_DENIED_COUNT,
};
#define KERNEL_DENIED(name) (1u << KERNEL_DENIED_BIT_##name)
const char *kernel_denied_name(enum kernel_denied bit); /* the field that is null for it; static */

enum kernel_mode {
    KERNEL_MODE_UNKNOWN,
    KERNEL_MODE_USER,   /* its CPU time goes by in the program */
    KERNEL_MODE_SYSTEM, /* in the kernel: inside one system call, for it comes to no snap */
};

struct kernel_facts {
    atomic_uint references; /* first: kernel_facts_copy() leaves it out */
    char state;             /* the letter of /proc/PID/task/TID/stat */
    const char *syscall;    /* static; NULL: none, or not known */
    int64_t descriptor;     /* that it waits for; -1: none, or not known */
    uint64_t asked_ns;      /* how long it wants to sleep or wait at most; KERNEL_UNKNOWN: for ever, or not known */
    enum kernel_mode mode;  /* of one that uses CPU time */
    uint32_t holder_pid;    /* who holds the lock, or the other end; 0 = not known, or none */
    unsigned denied;        /* KERNEL_DENIED() of what the kernel does not let us read */
    uint64_t window_ns; /* since when the next four are counted, back from the last look; KERNEL_UNKNOWN: one look */
    uint64_t cpu_ns;    /* on a processor; each KERNEL_UNKNOWN if not known */
    uint64_t wait_ns;   /* ready to run, on none */
    uint64_t voluntary; /* switches */
    uint64_t involuntary;
    char holder_comm[KERNEL_COMM_BYTES];
    char wchan[KERNEL_WCHAN_BYTES]; /* "" = none, or not known */
    char target[];                  /* the same */
};

struct kernel_facts *kernel_facts_new(const char *target); /* nothing else known, one reference; NULL: no memory */
struct kernel_facts *kernel_facts_copy(const struct kernel_facts *facts); /* with one reference of its own */
REFERENCED(kernel_facts);
void kernel_facts_unref(struct kernel_facts *facts); /* both: NULL is allowed */

/* One reading of a thread that needs no privilege. Numbers grow. */
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

/* What it waits for, by the name of the kernel function that it waits in. */
enum kernel_wait {
    KERNEL_WAIT_UNKNOWN,
    KERNEL_WAIT_OTHERS, /* something that others have to do */
    KERNEL_WAIT_SLEEP,  /* time alone */
};
enum kernel_wait kernel_wait_of_wchan(const char *wchan);

#endif
