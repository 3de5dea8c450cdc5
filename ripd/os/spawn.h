/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - starts programs and shell commands, signals their process groups, and reaps them.
 *
 * Guarantees
 *   A. A process begins with its own session and process group, all signals at their default and none blocked, only the
 *      descriptors named here, and only the given environment.
 *   B. The cost of a start does not depend on the size of the caller: memory is shared until the exec, not copied.
 *   C. A returned pid belongs to the command until spawn_ended() returns true, so signals reach no other process.
 *
 * C requires that SIGCHLD is not ignored and that no other code reaps children. Any thread may call these functions,
 * but only one at a time for one command.
 */
#ifndef RIPD_OS_SPAWN_H
#define RIPD_OS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPAWN_SOCKET 3 /* number of the socket in the program */

/*
 * Starts a program with an empty environment. Its descriptors are socket (borrowed), as SPAWN_SOCKET, and standard
 * error. Returns 0 or -errno.
 */
int spawn_program(const char *program, int socket, pid_t *ret_pid);

/*
 * Finds the program of that name: in the directory of the running program, as in a build tree, or in libexec, a path
 * relative to that directory. Returns 0, -ENOENT, or -ENAMETOOLONG.
 */
int spawn_find(const char *name, const char *libexec, char *ret_path, size_t capacity);

struct spawn_options {
    const char *command;            /* for /bin/sh -c */
    const char *const *environment; /* "NAME=VALUE"; ends with NULL */
    int input;                      /* standard input, as the next two: borrowed; -1 = /dev/null */
    int output;
    int error;
    const char *directory;    /* working directory; NULL = the caller's */
    uint64_t descriptors_max; /* soft limit of descriptors; 0 = the caller's */
};

struct spawned {
    pid_t pid;      /* of the shell; also the number of its process group */
    int descriptor; /* becomes readable when the shell ends; -1 = not available: poll spawn_ended() instead */
};

/* Returns 0 or -errno. A command that cannot be executed ends with status 127 (not found) or 126 (not executable). */
int spawn_start(const struct spawn_options *options, struct spawned *ret_spawned);

/* Signals the shell and all processes of its group. */
void spawn_signal(const struct spawned *spawned, int number);

/*
 * Whether the shell has ended. If so, kills the rest of its group, closes the descriptor, clears *spawned, and sets
 * *ret_status to the exit status, or to 128 plus the number of the signal that ended the shell.
 */
bool spawn_ended(struct spawned *spawned, int *ret_status);

/*
 * Returns a descriptor from which these bytes and a newline can be read, or -errno. The size is not limited as in a
 * pipe, the writer does not wait for a reader, and the content cannot be changed.
 */
int spawn_input_line(const char *text, size_t text_bytes);

#endif
