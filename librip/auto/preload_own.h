/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_own.h - makes the library's own calls bypass all wrappers. Included before every file of the preload library
 * by a compiler option.
 *
 * The library's system calls go directly to the kernel and not through exported functions, for two reasons. Other
 * preloaded libraries wrap these functions, too, and at exit such a wrapper may be called after its library's
 * destructor. And the library's own wrappers would leave breadcrumbs for its own calls, and refuse to close its own
 * descriptor. The assembler label renames a function for the linker and has no other effect. Unlike glibc's functions,
 * these are not cancellation points.
 */
#ifndef RIP_PRELOAD_OWN_H
#define RIP_PRELOAD_OWN_H

#include <dirent.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* SYSTEM_CALLn(type, name, number, types of its n arguments): functions whose system call has the same arguments. */
#define RIP_OWN_SYSTEM_CALLS                                                                                           \
    SYSTEM_CALL1(int, close, SYS_close, int)                                                                           \
    SYSTEM_CALL3(ssize_t, read, SYS_read, int, void *, size_t)                                                         \
    SYSTEM_CALL3(ssize_t, write, SYS_write, int, const void *, size_t)                                                 \
    SYSTEM_CALL4(ssize_t, pread, SYS_pread64, int, void *, size_t, off_t)                                              \
    SYSTEM_CALL4(ssize_t, pwrite, SYS_pwrite64, int, const void *, size_t, off_t)                                      \
    SYSTEM_CALL3(ssize_t, getdents64, SYS_getdents64, int, void *, size_t)                                             \
    SYSTEM_CALL2(int, fstat, SYS_fstat, int, struct stat *)                                                            \
    SYSTEM_CALL4(int, fstatat, SYS_newfstatat, int, const char *, struct stat *, int)                                  \
    SYSTEM_CALL2(int, fstatfs, SYS_fstatfs, int, struct statfs *)                                                      \
    SYSTEM_CALL2(int, ftruncate, SYS_ftruncate, int, off_t)                                                            \
    SYSTEM_CALL2(int, fchmod, SYS_fchmod, int, mode_t)                                                                 \
    SYSTEM_CALL4(int, fallocate, SYS_fallocate, int, int, off_t, off_t)                                                \
    SYSTEM_CALL5(int, linkat, SYS_linkat, int, const char *, int, const char *, int)                                   \
    SYSTEM_CALL5(int, renameat2, SYS_renameat2, int, const char *, int, const char *, unsigned int)                    \
    SYSTEM_CALL3(int, unlinkat, SYS_unlinkat, int, const char *, int)                                                  \
    SYSTEM_CALL6(void *, mmap, SYS_mmap, void *, size_t, int, int, int, off_t)                                         \
    SYSTEM_CALL2(int, munmap, SYS_munmap, void *, size_t)                                                              \
    SYSTEM_CALL3(int, mprotect, SYS_mprotect, void *, size_t, int)                                                     \
    SYSTEM_CALL3(int, madvise, SYS_madvise, void *, size_t, int)                                                       \
    SYSTEM_CALL2(int, munlock, SYS_munlock, const void *, size_t)                                                      \
    SYSTEM_CALL3(ssize_t, getrandom, SYS_getrandom, void *, size_t, unsigned int)                                      \
    SYSTEM_CALL2(int, nanosleep, SYS_nanosleep, const struct timespec *, struct timespec *)                            \
    SYSTEM_CALL2(int, kill, SYS_kill, pid_t, int)                                                                      \
    SYSTEM_CALL3(int, getresuid, SYS_getresuid, uid_t *, uid_t *, uid_t *)                                             \
    SYSTEM_CALL1(int, setfsuid, SYS_setfsuid, uid_t)                                                                   \
    SYSTEM_CALL0(int, sched_yield, SYS_sched_yield)                                                                    \
    SYSTEM_CALL0(pid_t, getpid, SYS_getpid)                                                                            \
    SYSTEM_CALL0(pid_t, getppid, SYS_getppid)                                                                          \
    SYSTEM_CALL0(pid_t, gettid, SYS_gettid)                                                                            \
    SYSTEM_CALL0(uid_t, getuid, SYS_getuid)                                                                            \
    SYSTEM_CALL0(uid_t, geteuid, SYS_geteuid)

#define RIP_OWN(name) extern __typeof__(name) name __asm__("preload_own_" #name) __attribute__((visibility("hidden")));
#define SYSTEM_CALL0(type, name, ...) RIP_OWN(name)
#define SYSTEM_CALL1(type, name, ...) RIP_OWN(name)
#define SYSTEM_CALL2(type, name, ...) RIP_OWN(name)
#define SYSTEM_CALL3(type, name, ...) RIP_OWN(name)
#define SYSTEM_CALL4(type, name, ...) RIP_OWN(name)
#define SYSTEM_CALL5(type, name, ...) RIP_OWN(name)
#define SYSTEM_CALL6(type, name, ...) RIP_OWN(name)

RIP_OWN_SYSTEM_CALLS

#undef SYSTEM_CALL0
#undef SYSTEM_CALL1
#undef SYSTEM_CALL2
#undef SYSTEM_CALL3
#undef SYSTEM_CALL4
#undef SYSTEM_CALL5
#undef SYSTEM_CALL6

/* Written by hand in preload_own.c: variadic, or the kernel's system call has another name. */
RIP_OWN(fcntl)
RIP_OWN(open)
RIP_OWN(openat)
RIP_OWN(prctl)
RIP_OWN(mremap)
RIP_OWN(stat)
RIP_OWN(lstat)
RIP_OWN(access)
RIP_OWN(faccessat)
RIP_OWN(readlink)
RIP_OWN(unlink)
RIP_OWN(renameat)
RIP_OWN(getrlimit)
RIP_OWN(setrlimit)
RIP_OWN(poll)
RIP_OWN(clock_gettime)

/*
 * These call the function behind our wrapper. All three are here although only one is wrapped: a sanitizer that sees
 * only some of the operations on a mutex would report an error.
 */
RIP_OWN(pthread_mutex_lock)
RIP_OWN(pthread_mutex_trylock)
RIP_OWN(pthread_mutex_unlock)

/*
 * A program with another C library, such as musl, starts only if that library has every symbol that this library needs.
 * The following symbols exist only in glibc, so they are weak or renamed. Such a program is not traced.
 */
#pragma weak __libc_single_threaded
#pragma weak dlvsym
#pragma weak gnu_get_libc_version
#pragma weak on_exit
RIP_OWN(at_quick_exit)
RIP_OWN(pthread_atfork)

/* Calls the dynamic linker unless that could hang: see guarantee C in preload_own.c. */
RIP_OWN(dl_iterate_phdr)

#endif
