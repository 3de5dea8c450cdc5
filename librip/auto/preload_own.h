/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_own.h - the library's own calls go past its wrappers. Forced in front of every file of the preload library.
 *
 * Without it the library would leave breadcrumbs in itself and be refused the closing of its own descriptor. A label
 * after the first declaration renames the function for the linker, and nothing else.
 */
#ifndef RIP_PRELOAD_OWN_H
#define RIP_PRELOAD_OWN_H

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* OWN_CALL(type, name, parameters, arguments): every wrapped function that the library itself calls. */
#define RIP_OWN_CALLS(OWN_CALL)                                                                                        \
    OWN_CALL(int, close, (int fd), (fd))                                                                               \
    OWN_CALL(ssize_t, read, (int fd, void *buffer, size_t size), (fd, buffer, size))                                   \
    OWN_CALL(ssize_t, pread, (int fd, void *buffer, size_t size, off_t offset), (fd, buffer, size, offset))            \
    OWN_CALL(int, nanosleep, (const struct timespec *duration, struct timespec *left), (duration, left))               \
    OWN_CALL(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))

#define RIP_OWN_DECLARE(type, name, parameters, arguments)                                                             \
    extern __typeof__(name) name __asm__("preload_own_" #name) __attribute__((visibility("hidden")));

RIP_OWN_CALLS(RIP_OWN_DECLARE)

/* Variadic: written out in preload_own.c. */
extern __typeof__(fcntl) fcntl __asm__("preload_own_fcntl") __attribute__((visibility("hidden")));
extern __typeof__(open) open __asm__("preload_own_open") __attribute__((visibility("hidden")));
extern __typeof__(openat) openat __asm__("preload_own_openat") __attribute__((visibility("hidden")));
extern __typeof__(prctl) prctl __asm__("preload_own_prctl") __attribute__((visibility("hidden")));

/* Asks the dynamic linker unless that could hang: see preload_own.c. */
extern __typeof__(dl_iterate_phdr) dl_iterate_phdr __asm__("preload_own_dl_iterate_phdr")
    __attribute__((visibility("hidden")));

#endif
