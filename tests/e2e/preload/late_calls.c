/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_calls.c - a library that is preloaded together with the preload library, and wraps system calls like libfaketime
 * and libfakeroot. As with those libraries, its wrappers must not be called after its destructor: they print a message
 * and abort.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool gone;

__attribute__((destructor)) static void end(void)
{
    gone = true;
}

static void *next(const char *name)
{
    static const char text[] = "a wrapper was called behind its destructor\n";

    if (gone) {
        if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
            _exit(1);
        abort();
    }
    return dlsym(RTLD_NEXT, name);
}

#define WRAP(type, name, parameters, types, arguments)                                                                 \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return ((type(*) types)next(#name))arguments;                                                                  \
    }

WRAP(int, fstat, (int fd, struct stat *status), (int, struct stat *), (fd, status))
WRAP(int, lstat, (const char *path, struct stat *status), (const char *, struct stat *), (path, status))
WRAP(int, stat, (const char *path, struct stat *status), (const char *, struct stat *), (path, status))
WRAP(int, unlink, (const char *path), (const char *), (path))
WRAP(int, close, (int fd), (int), (fd))
WRAP(int, clock_gettime, (clockid_t clock, struct timespec *now), (clockid_t, struct timespec *), (clock, now))
WRAP(int, munmap, (void *start, size_t bytes), (void *, size_t), (start, bytes))
WRAP(int, mprotect, (void *start, size_t bytes, int access), (void *, size_t, int), (start, bytes, access))
WRAP(int, munlock, (const void *start, size_t bytes), (const void *, size_t), (start, bytes))
WRAP(pid_t, getpid, (void), (void), ())
WRAP(uid_t, geteuid, (void), (void), ())
