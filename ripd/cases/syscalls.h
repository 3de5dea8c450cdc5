/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.h - names of this machine's system calls, and which of their arguments show what a thread waits for. Pure.
 */
#ifndef RIPD_CASES_SYSCALLS_H
#define RIPD_CASES_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

enum syscall_topic {
    SYSCALL_TOPIC_OTHER,
    SYSCALL_TOPIC_DESCRIPTOR, /* waits for the file of a descriptor: the first argument */
    SYSCALL_TOPIC_FUTEX,
    SYSCALL_TOPIC_SLEEP,
    SYSCALL_TOPIC_POLL,       /* a set of descriptors */
    SYSCALL_TOPIC_MESSAGES,   /* a queue of msgget(2), by id */
    SYSCALL_TOPIC_SEMAPHORES, /* a set of semget(2), by id */
    SYSCALL_TOPIC_CHILD,      /* waits for a child to end */
    SYSCALL_TOPIC_SIGNAL,
    SYSCALL_TOPIC_VFORK,   /* or another call that makes a child, and may wait until the child has executed a program */
    SYSCALL_TOPIC_PATH,    /* a file given by name; its file system may not reply */
    SYSCALL_TOPIC_RESTART, /* continues a call that a signal or a stop interrupted */
};

/* How an argument gives the timeout. */
enum syscall_timeout {
    SYSCALL_TIMEOUT_NONE,
    SYSCALL_TIMEOUT_MS,       /* int, in milliseconds; negative: infinite */
    SYSCALL_TIMEOUT_TIMESPEC, /* pointer; NULL: infinite */
    SYSCALL_TIMEOUT_TIMEVAL,  /* likewise, in microseconds */
};

/* What the call does with a socket address. */
enum syscall_address {
    SYSCALL_ADDRESS_NONE,
    SYSCALL_ADDRESS_CONNECT, /* connects to it; the next argument is its length */
    SYSCALL_ADDRESS_SEND,    /* sends to it if it is not NULL; the next argument is its length */
    SYSCALL_ADDRESS_MESSAGE, /* likewise, but the argument points to a struct msghdr, which has both */
};

#define SYSCALL_PATHS_MAX 2u
#define SYSCALL_CURRENT (-1)  /* in place of a directory argument: relative to the current directory */
#define SYSCALL_AS_GIVEN (-2) /* not made absolute, because it need not be a path, as in mount() */

struct syscall_path {
    int argument;  /* of the second path, 0: there is none */
    int directory; /* argument with the directory that a relative path starts at */
};

/* Which argument has which role. Arguments are counted from 0. */
struct syscall_shape {
    const char *names; /* calls of this shape, separated by blanks */
    enum syscall_topic topic;
    int count; /* of POLL: argument with the number of descriptors, or the highest plus 1 */
    int timeout;
    enum syscall_timeout timeout_form; /* NONE: no timeout */
    /*
     * The second argument is a command, which waits for a lock if it is F_SETLKW or similar, or the operation of
     * flock().
     */
    bool locks_file;
    int address;
    enum syscall_address address_form;            /* NONE: no address */
    struct syscall_path paths[SYSCALL_PATHS_MAX]; /* of PATH: one or two paths */
};

/* Returns a static string, or NULL if there is no such number on this machine. */
const char *syscall_name(uint64_t number);

/* Returns a static shape, never NULL; SYSCALL_TOPIC_OTHER if nothing is known. name may be NULL. */
const struct syscall_shape *syscall_shape_of(const char *name);

/* Returns the name of a futex operation, such as "wait" or "lock_pi"; NULL: it does not wait, or not known. */
const char *syscall_futex_name(uint64_t operation);

#endif
