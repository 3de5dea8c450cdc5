/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - programs and shell commands as processes of their own: started, signalled with all of their group, reaped.
 *
 * Guarantees
 *   A. A process begins as from a clean slate: its own session and process group, every signal at its default and none
 *      blocked, no descriptor but those named here, the environment it is given and nothing else.
 *   B. Starting one costs the same however large the caller is: memory is shared until the exec, never copied.
 *   C. A pid that has been handed out stays the command's until spawn_ended() said so: a signal reaches nobody else.
 *
 * C rests on SIGCHLD not being ignored, nor children reaped by anybody else. Threads: any; one at a time for one
 * command.
 */
#ifndef RIPD_OS_SPAWN_H
#define RIPD_OS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPAWN_SOCKET 3 /* descriptor of a program's end of its socket */

/*
 * Starts a program with an empty environment; its descriptors are socket, as SPAWN_SOCKET, and standard error. socket
 * stays the caller's. 0 or -errno.
 */
int spawn_program(const char *program, int socket, pid_t *ret_pid);

/*
 * Where the program of that name is: beside the one that runs, as in a build tree, or at libexec, a path from there.
 * 0, -ENOENT, or -ENAMETOOLONG.
 */
int spawn_find(const char *name, const char *libexec, char *ret_path, size_t capacity);

struct spawn_options {
    const char *command;            /* for /bin/sh -c */
    const char *const *environment; /* "NAME=VALUE", NULL at the end */
    int input;                      /* descriptors that become the standard ones; stay the caller's. -1: /dev/null */
    int output;
    int error;
    const char *directory;    /* it begins there; NULL: where the caller is */
    uint64_t descriptors_max; /* its soft limit; 0: the caller's */
};

struct spawned {
    pid_t pid;      /* of the shell, and number of its process group */
    int descriptor; /* readable once the shell has ended; -1: none could be had, ask spawn_ended() now and then */
};

/* 0 or -errno. A command that cannot be executed has an exit status: 127 not found, 126 not executable. */
int spawn_start(const struct spawn_options *options, struct spawned *ret_spawned);

/* To the shell and whatever it started that is still of its group. */
void spawn_signal(const struct spawned *spawned, int number);

/*
 * Whether the shell has ended; then what it left in its group is killed, the descriptor closed, the pid forgotten, and
 * *ret_status is the exit status, or 128 plus the number of the signal that ended it.
 */
bool spawn_ended(struct spawned *spawned, int *ret_status);

/*
 * A descriptor from which these bytes and a newline can be read, then the end, however many there are: nobody waits for
 * a reader, and nobody can change them. -errno.
 */
int spawn_input_line(const char *text, size_t text_bytes);

#endif
