/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - the parts of `rip run`: settings from the command line, checks of what they name, the preload library.
 */
#ifndef RIP_CLI_RUN_H
#define RIP_CLI_RUN_H

#include <stdbool.h>
#include <stddef.h>

/* Longest --name: leaves room in a file name for the ".PID" and ".prev" that may follow. */
#define RUN_NAME_BYTES_MAX 200

struct run_settings {
    const char *dir;  /* NULL = not given */
    const char *name; /* NULL = COMM.PID */
    const char *max;  /* NULL = RIP_PRELOAD_CAPACITY of the preload library */
};

/*
 * The directory for rings, absolute and without links, into ret_dir (PATH_MAX bytes): --dir, else $RIP_DIR, else
 * /run/librip if writable, else /dev/shm. False, after one line on stderr, if it will not do.
 */
bool run_check_dir(const char *given, char *ret_dir);

/* False, after one line on stderr, if the value will not do. */
bool run_check_name(const char *name);
bool run_check_max(const char *max);

/* One line on stderr if the dynamic linker will not load the preload library into command. */
void run_warn_untraceable(const char *command);

/* Path of the preload library into ret_path (PATH_MAX bytes); false, after one line on stderr, if there is none. */
bool run_find_library(char *ret_path);

#endif
