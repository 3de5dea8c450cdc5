/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper.h - a program of ripd's own, started as a process with nothing but one end of a pair of sockets.
 */
#ifndef RIPD_OS_HELPER_H
#define RIPD_OS_HELPER_H

#include <stddef.h>
#include <sys/types.h>

#define HELPER_DESCRIPTOR 3 /* its end */

/*
 * Starts a program in a session of its own, with an empty environment, default signals, and no descriptor but socket,
 * as HELPER_DESCRIPTOR, and standard error. socket stays the caller's. 0 or -errno.
 */
int helper_start(const char *program, int socket, pid_t *ret_pid);

/* Kills it, and waits for it. */
void helper_stop(pid_t pid);

/*
 * Where the program of that name is: beside the one that runs, as in a build tree, or at libexec, a path from there.
 * 0, -ENOENT, or -ENAMETOOLONG.
 */
int helper_find(const char *name, const char *libexec, char *ret_path, size_t capacity);

#endif
