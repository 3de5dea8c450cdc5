/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_own.c - the replacements to which preload_own.h redirects the library's own calls.
 *
 * Guarantees
 *   A. Each function has the results and the errno of the function that it replaces.
 *   B. Except those of mutexes and dl_iterate_phdr(), no function calls a function that another library may have
 *      wrapped. The clock is read by the C library's own function, mostly through the vDSO, because ripd needs the real
 *      time and not a faked one.
 *   C. The forked child of a process with several threads never calls dl_iterate_phdr(). glibc resets most of the
 *      dynamic linker's locks in the child, but not the lock that dl_iterate_phdr() takes (2.36, sysdeps/nptl/fork.h
 *      and posix/fork.c). If another thread held it at the fork, the child would hang for ever. The child uses the
 *      parent's list of modules.
 */
#include <dlfcn.h>
#include <errno.h>
#include <gnu/lib-names.h>
#include <gnu/libc-version.h>
#include <stdarg.h>

#include "preload.h"
#include "writer.h"

/* The kernel takes every argument as a word, whatever its C type. */
#define WORD(argument) ((long)(intptr_t)(argument))

static long system_call(long number, long a, long b, long c, long d, long e, long f)
{
    long outcome;

#if defined(__x86_64__)
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;

    __asm__ volatile("syscall"
                     : "=a"(outcome)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = e;
    register long sixth __asm__("x5") = f;
    register long call __asm__("x8") = number;

    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
    outcome = first;
#else
#error "how a system call is made is not known for this machine"
#endif
    if (outcome >= 0 || outcome < -4095)
        return outcome;
    errno = (int)-outcome;
    return -1;
}

#define OWN(type, name, ...)                                                                                           \
    type own_##name(__VA_ARGS__) __asm__("preload_own_" #name);                                                        \
    type own_##name(__VA_ARGS__)

#define SYSTEM_CALL0(type, name, number)                                                                               \
    OWN(type, name, void)                                                                                              \
    {                                                                                                                  \
        return (type)system_call(number, 0, 0, 0, 0, 0, 0);                                                            \
    }
#define SYSTEM_CALL1(type, name, number, type_a)                                                                       \
    OWN(type, name, type_a a)                                                                                          \
    {                                                                                                                  \
        return (type)system_call(number, WORD(a), 0, 0, 0, 0, 0);                                                      \
    }
#define SYSTEM_CALL2(type, name, number, type_a, type_b)                                                               \
    OWN(type, name, type_a a, type_b b)                                                                                \
    {                                                                                                                  \
        return (type)system_call(number, WORD(a), WORD(b), 0, 0, 0, 0);                                                \
    }
#define SYSTEM_CALL3(type, name, number, type_a, type_b, type_c)                                                       \
    OWN(type, name, type_a a, type_b b, type_c c)                                                                      \
    {                                                                                                                  \
        return (type)system_call(number, WORD(a), WORD(b), WORD(c), 0, 0, 0);                                          \
    }
#define SYSTEM_CALL4(type, name, number, type_a, type_b, type_c, type_d)                                               \
    OWN(type, name, type_a a, type_b b, type_c c, type_d d)                                                            \
    {                                                                                                                  \
        return (type)system_call(number, WORD(a), WORD(b), WORD(c), WORD(d), 0, 0);                                    \
    }
#define SYSTEM_CALL5(type, name, number, type_a, type_b, type_c, type_d, type_e)                                       \
    OWN(type, name, type_a a, type_b b, type_c c, type_d d, type_e e)                                                  \
    {                                                                                                                  \
        return (type)system_call(number, WORD(a), WORD(b), WORD(c), WORD(d), WORD(e), 0);                              \
    }
#define SYSTEM_CALL6(type, name, number, type_a, type_b, type_c, type_d, type_e, type_f)                               \
    OWN(type, name, type_a a, type_b b, type_c c, type_d d, type_e e, type_f f)                                        \
    {                                                                                                                  \
        return (type)system_call(number, WORD(a), WORD(b), WORD(c), WORD(d), WORD(e), WORD(f));                        \
    }

RIP_OWN_SYSTEM_CALLS

OWN(int, fcntl, int fd, int command, ...)
{
    va_list arguments;
    long argument;

    va_start(arguments, command);
    argument = va_arg(arguments, long);
    va_end(arguments);
    return (int)system_call(SYS_fcntl, fd, command, argument, 0, 0, 0);
}

/* If the caller passed no mode, its value is garbage, which the kernel ignores. */
OWN(int, open, const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return (int)system_call(SYS_openat, AT_FDCWD, WORD(path), flags, mode, 0, 0);
}

OWN(int, openat, int directory, const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return (int)system_call(SYS_openat, directory, WORD(path), flags, mode, 0, 0);
}

OWN(int, prctl, int option, ...)
{
    long values[4];
    va_list arguments;

    va_start(arguments, option);
    for (unsigned int i = 0; i < 4; i++)
        values[i] = va_arg(arguments, long);
    va_end(arguments);
    return (int)system_call(SYS_prctl, option, values[0], values[1], values[2], values[3], 0);
}

/* Without MREMAP_FIXED the new address is garbage, which the kernel ignores. */
OWN(void *, mremap, void *address, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    va_list arguments;
    void *new_address;

    va_start(arguments, flags);
    new_address = va_arg(arguments, void *);
    va_end(arguments);
    return (void *)system_call(SYS_mremap, WORD(address), WORD(old_bytes), WORD(new_bytes), flags, WORD(new_address),
                               0);
}

OWN(int, stat, const char *path, struct stat *ret_status)
{
    return (int)system_call(SYS_newfstatat, AT_FDCWD, WORD(path), WORD(ret_status), 0, 0, 0);
}

OWN(int, lstat, const char *path, struct stat *ret_status)
{
    return (int)system_call(SYS_newfstatat, AT_FDCWD, WORD(path), WORD(ret_status), AT_SYMLINK_NOFOLLOW, 0, 0);
}

OWN(int, access, const char *path, int mode)
{
    return (int)system_call(SYS_faccessat, AT_FDCWD, WORD(path), mode, 0, 0, 0);
}

/* Before Linux 5.8 there is no faccessat2(): faccessat() ignores flags and checks with the real uid. */
OWN(int, faccessat, int directory, const char *path, int mode, int flags)
{
    int outcome = (int)system_call(SYS_faccessat2, directory, WORD(path), mode, flags, 0, 0);

    return outcome < 0 && errno == ENOSYS ? (int)system_call(SYS_faccessat, directory, WORD(path), mode, 0, 0, 0)
                                          : outcome;
}

OWN(ssize_t, readlink, const char *path, char *ret_target, size_t capacity)
{
    return (ssize_t)system_call(SYS_readlinkat, AT_FDCWD, WORD(path), WORD(ret_target), WORD(capacity), 0, 0);
}

OWN(int, unlink, const char *path)
{
    return (int)system_call(SYS_unlinkat, AT_FDCWD, WORD(path), 0, 0, 0, 0);
}

OWN(int, renameat, int from_directory, const char *from, int to_directory, const char *to)
{
    return (int)system_call(SYS_renameat2, from_directory, WORD(from), to_directory, WORD(to), 0, 0);
}

OWN(int, getrlimit, __rlimit_resource_t resource, struct rlimit *ret_limit)
{
    return (int)system_call(SYS_prlimit64, 0, (long)resource, 0, WORD(ret_limit), 0, 0);
}

OWN(int, setrlimit, __rlimit_resource_t resource, const struct rlimit *limit)
{
    return (int)system_call(SYS_prlimit64, 0, (long)resource, WORD(limit), 0, 0, 0);
}

OWN(int, poll, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct timespec timeout = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};

    return (int)system_call(SYS_ppoll, WORD(fds), (long)count, timeout_ms >= 0 ? WORD(&timeout) : 0, 0, 0, 0);
}

/* glibc does not export the two functions below. It links wrappers of these internal functions into every library. */
extern int glibc_at_quick_exit(void (*function)(void *), void *library) __asm__("__cxa_at_quick_exit")
    __attribute__((weak));
extern int glibc_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
                        void *library) __asm__("__register_atfork") __attribute__((weak));

OWN(int, at_quick_exit, void (*function)(void))
{
    return glibc_at_quick_exit != NULL ? glibc_at_quick_exit((void (*)(void *))function, NULL) : -1;
}

OWN(int, pthread_atfork, void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    return glibc_atfork != NULL ? glibc_atfork(before, in_parent, in_child, NULL) : ENOSYS;
}

typedef int clock_function(clockid_t clock, struct timespec *ret_time);

/* Returns the C library's own clock_gettime(), because another preloaded library may fake the time. */
static clock_function *clock_of_library(void)
{
    static RIP_EARLY clock_function *found;
    clock_function *function = rip_load_relaxed(&found);
    void *library;

    if (function != NULL)
        return function;
    function = (clock_function *)preload_symbol_of_libc("clock_gettime");
    if (function == NULL) {
        library = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
        function = library != NULL ? (clock_function *)dlsym(library, "clock_gettime") : NULL;
    }
    rip_store_relaxed(&found, function); /* racing threads store the same value */
    return function;
}

/*
 * CLOCK_BOOTTIME is read only once or twice per thread. It uses a system call, which in a small program is cheaper than
 * a page fault on the vDSO.
 */
OWN(int, clock_gettime, clockid_t clock, struct timespec *ret_time)
{
    clock_function *function = clock == CLOCK_BOOTTIME && !preload_filtered() ? NULL : clock_of_library();

    return function != NULL ? function(clock, ret_time)
                            : (int)system_call(SYS_clock_gettime, clock, WORD(ret_time), 0, 0, 0, 0);
}

OWN(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
    return PRELOAD_REAL(int, pthread_mutex_lock, (pthread_mutex_t *))(mutex);
}

OWN(int, pthread_mutex_trylock, pthread_mutex_t *mutex)
{
    return PRELOAD_REAL(int, pthread_mutex_trylock, (pthread_mutex_t *))(mutex);
}

OWN(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
    return PRELOAD_REAL(int, pthread_mutex_unlock, (pthread_mutex_t *))(mutex);
}

OWN(int, dl_iterate_phdr, preload_object_callback *callback, void *data)
{
    return preload_state.loader_may_hang
               ? 0
               : PRELOAD_REAL(int, dl_iterate_phdr, (preload_object_callback *, void *))(callback, data);
}
