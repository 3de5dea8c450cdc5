/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_library.c - where the preload library is.
 *
 * $RIP_PRELOAD_LIBRARY, else relative to the directory of this executable, so that an installed tree can be moved and
 * a build tree works without installation.
 *
 * Guarantees
 *   A. The path returned is absolute, names a readable file, and has no character that separates the entries of
 *      LD_PRELOAD.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"

#define LIBRARY_NAME "librip-preload.so"

/* From the directory of the executable. RIP_LIBRARY_FROM_BIN: the installed places, as CMake knows them. */
static const char *const library_places[] = {
    RIP_LIBRARY_FROM_BIN "/" LIBRARY_NAME,
    "../lib/" LIBRARY_NAME,
    "../lib64/" LIBRARY_NAME,
};

/* Directory of the executable into ret_dir, PATH_MAX bytes. */
static bool own_directory(char *ret_dir)
{
    ssize_t bytes = readlink("/proc/self/exe", ret_dir, PATH_MAX - 1);
    char *slash;

    if (bytes <= 0)
        return false;
    ret_dir[bytes] = '\0';
    slash = strrchr(ret_dir, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static bool library_at(const char *place, char *ret_path)
{
    return realpath(place, ret_path) != NULL && access(ret_path, R_OK) == 0;
}

static bool library_beside(const char *dir, char *ret_path)
{
    char place[PATH_MAX];

    for (size_t i = 0; i < sizeof(library_places) / sizeof(library_places[0]); i++) {
        if (snprintf(place, sizeof(place), "%s/%s", dir, library_places[i]) < PATH_MAX && library_at(place, ret_path))
            return true;
    }
    return false;
}

bool run_find_library(char *ret_path)
{
    const char *given = getenv("RIP_PRELOAD_LIBRARY");
    char dir[PATH_MAX] = "?";

    if (given != NULL && given[0] != '\0') {
        if (!library_at(given, ret_path)) {
            cli_error("run: RIP_PRELOAD_LIBRARY: '%s': %s; expected the preload library", given, strerror(errno));
            return false;
        }
    } else if (!own_directory(dir) || !library_beside(dir, ret_path)) {
        cli_error("run: no %s in %s/%s; set RIP_PRELOAD_LIBRARY to its path", LIBRARY_NAME, dir, RIP_LIBRARY_FROM_BIN);
        return false;
    }
    if (strpbrk(ret_path, ": \t") != NULL) {
        cli_error("run: '%s': LD_PRELOAD cannot name a path with a space or a colon; move the library", ret_path);
        return false;
    }
    return true;
}
