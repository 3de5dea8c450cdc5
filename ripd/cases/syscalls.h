/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.h - system calls of this machine: their names, and which of their arguments show what a thread waits for.
 * Pure.
 */
#ifndef RIPD_CASES_SYSCALLS_H
#define RIPD_CASES_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

enum syscall_topic {
    SYSCALL_TOPIC_OTHER,
    SYSCALL_TOPIC_DESCRIPTOR, /* it waits for what a descriptor refers to: its first argument */
    SYSCALL_TOPIC_FUTEX,
    SYSCALL_TOPIC_SLEEP,
    SYSCALL_TOPIC_POLL,       /* a set of descriptors */
    SYSCALL_TOPIC_MESSAGES,   /* a queue of msgget(2), by its number */
    SYSCALL_TOPIC_SEMAPHORES, /* a set of semget(2), by its number */
    SYSCALL_TOPIC_CHILD,      /* a child's end */
    SYSCALL_TOPIC_SIGNAL,
    SYSCALL_TOPIC_VFORK,   /* or another call that makes a child, and may wait until that has executed a program */
    SYSCALL_TOPIC_PATH,    /* a file that it was given by name, which may lie on a file system that does not answer */
    SYSCALL_TOPIC_RESTART, /* goes on with what a signal or a stop had interrupted */
};

/* How an argument says how long to wait. */
enum syscall_timeout {
    SYSCALL_TIMEOUT_NONE,
    SYSCALL_TIMEOUT_MS,       /* an int of milliseconds; negative = for ever */
    SYSCALL_TIMEOUT_TIMESPEC, /* an address; 0 = for ever */
    SYSCALL_TIMEOUT_TIMEVAL,  /* the same, in microseconds */
};

/* What it has to do with a socket's address that it was given. */
enum syscall_address {
    SYSCALL_ADDRESS_NONE,
    SYSCALL_ADDRESS_CONNECT, /* connects the descriptor to it; its length is the next argument */
    SYSCALL_ADDRESS_SEND,    /* sends to it, if there is one; the same */
    SYSCALL_ADDRESS_MESSAGE, /* the same, but the argument is the address of a struct msghdr, which has both */
};

#define SYSCALL_PATHS_MAX 2u
#define SYSCALL_CURRENT (-1)  /* instead of a directory's argument: it begins in the current one, */
#define SYSCALL_AS_GIVEN (-2) /* or in none, for it need not be a path, as in mount() */

struct syscall_path {
    int argument;  /* of a second one, 0: there is none */
    int directory; /* the descriptor of that in which it begins if it is relative */
};

/* Which argument, counted from 0, is what. */
struct syscall_shape {
    const char *names; /* of the calls that are so, with blanks between */
    enum syscall_topic topic;
    int count; /* of POLL: how many descriptors there are, or the highest and one */
    int timeout;
    enum syscall_timeout timeout_form; /* NONE: there is no timeout */
    bool locks_file; /* the second is a command that waits for a lock when it is F_SETLKW or the like, or flock's own */
    int address;
    enum syscall_address address_form;            /* NONE: there is no address */
    struct syscall_path paths[SYSCALL_PATHS_MAX]; /* of PATH: the first, and of some a second */
};

/* Static; NULL: no such number here. */
const char *syscall_name(uint64_t number);

/* Static; never NULL: one of SYSCALL_TOPIC_OTHER where nothing is known of it. name may be NULL. */
const struct syscall_shape *syscall_shape_of(const char *name);

/* Words for what a futex call does, "wait", "lock_pi"; NULL: not one that waits, or not known. */
const char *syscall_futex_name(uint64_t operation);

#endif
