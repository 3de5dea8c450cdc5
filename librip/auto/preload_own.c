/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_own.c - the functions that preload_own.h sends the library's own calls to.
 *
 * Guarantees
 *   A. Each calls the function behind the wrapper, with the same arguments, and does nothing else.
 *   B. The forked child of a process with several threads never queries the dynamic linker for what is mapped. glibc
 *      resets most of the linker's locks in the child, but not the one that dl_iterate_phdr() takes (2.36,
 *      sysdeps/nptl/fork.h and posix/fork.c): if another thread held it at the fork, the child would hang for ever. It
 *      has the parent's list of modules.
 */
#include <stdarg.h>

#include "preload.h"

#define OWN_DEFINE(type, name, parameters, arguments)                                                                  \
    type own_##name parameters __asm__("preload_own_" #name);                                                          \
    type own_##name parameters                                                                                         \
    {                                                                                                                  \
        return PRELOAD_REAL(type, name, parameters) arguments;                                                         \
    }

RIP_OWN_CALLS(OWN_DEFINE)

int own_fcntl(int fd, int command, ...) __asm__("preload_own_fcntl");
int own_fcntl(int fd, int command, ...)
{
    va_list arguments;
    void *argument;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    return PRELOAD_REAL(int, fcntl, (int, int, ...))(fd, command, argument);
}

/* A mode that was not given is garbage, which the kernel does not look at. */
int own_open(const char *path, int flags, ...) __asm__("preload_own_open");
int own_open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return PRELOAD_REAL(int, open, (const char *, int, ...))(path, flags, mode);
}

int own_openat(int directory, const char *path, int flags, ...) __asm__("preload_own_openat");
int own_openat(int directory, const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return PRELOAD_REAL(int, openat, (int, const char *, int, ...))(directory, path, flags, mode);
}

int own_prctl(int option, ...) __asm__("preload_own_prctl");
int own_prctl(int option, ...)
{
    unsigned long values[4];
    va_list arguments;

    va_start(arguments, option);
    for (unsigned int i = 0; i < 4; i++)
        values[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    return PRELOAD_REAL(int, prctl, (int, ...))(option, values[0], values[1], values[2], values[3]);
}

typedef int phdr_callback(struct dl_phdr_info *info, size_t size, void *data);

extern int loader_iterate(phdr_callback *callback, void *data) __asm__("dl_iterate_phdr");

int own_dl_iterate_phdr(phdr_callback *callback, void *data) __asm__("preload_own_dl_iterate_phdr");
int own_dl_iterate_phdr(phdr_callback *callback, void *data)
{
    return preload_state.loader_may_hang ? 0 : loader_iterate(callback, data);
}
