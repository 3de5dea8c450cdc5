/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h - variables that a service manager set for this process alone. Before there are threads.
 */
#ifndef RIPD_OS_ENVIRONMENT_H
#define RIPD_OS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes a variable out of the environment, so that no child inherits it. The length of its value, copied into ret_value
 * and terminated; -ENOENT: it is not set; -ENAMETOOLONG: it does not fit.
 */
int environment_take(const char *name, char *ret_value, size_t size);

/* The same of a number in decimal digits alone: 0, -ENOENT, or -EINVAL: it is something else. */
int environment_take_number(const char *name, uint64_t *ret_value);

/* The same of a pid that says for whom other variables are: 0 = for us, -ENOENT: it is not set, -ESRCH: for another. */
int environment_take_pid(const char *name);

#endif
