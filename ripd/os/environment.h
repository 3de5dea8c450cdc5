/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h - variables that a service manager set for this process only. All functions must be called before
 * threads exist.
 */
#ifndef RIPD_OS_ENVIRONMENT_H
#define RIPD_OS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Removes a variable from the environment, so that no child inherits it, and copies its value, terminated. Returns the
 * length of the value; -ENOENT if the variable is not set; -ENAMETOOLONG if the value does not fit.
 */
int environment_take(const char *name, char *ret_value, size_t size);

/* The same for a number in decimal digits. Returns 0, -ENOENT, or -EINVAL if it is anything else. */
int environment_take_number(const char *name, uint64_t *ret_value);

/*
 * The same for the pid of the process that other variables are meant for. Returns 0 if it is this process, -ENOENT if
 * the variable is not set, or -ESRCH if it is another process.
 */
int environment_take_pid(const char *name);

#endif
