/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracepoint.h - static tracepoints (USDT probes) that are defined while the program runs: for language runtimes,
 * plugins and other code that is not compiled with <sys/sdt.h>. A C or C++ program that knows its probes at compile
 * time uses <sys/sdt.h>, which needs no library.
 *
 * Each tracepoint is a shared object of one or two pages, made in memory and loaded by dlopen(). It carries the same
 * note as every USDT probe. So bpftrace, bcc, gdb, perf and SystemTap find it in the process (/proc/PID/maps) and
 * attach to it through /proc/PID/fd/N.
 *
 *     static const uint8_t types[] = {RIP_TRACEPOINT_INT64, RIP_TRACEPOINT_STRING};
 *     struct rip_tracepoint *order;
 *
 *     if (rip_tracepoint_define("app", "order", types, 2, &order) < 0)
 *         order = NULL;
 *     ...
 *     if (rip_tracepoint_enabled(order)) {
 *         union rip_tracepoint_value values[] = {{.int64 = id}, {.string = name}};
 *
 *         rip_tracepoint_fire(order, values);
 *     }
 *
 *     bpftrace -p PID -e 'usdt:*:app:order { printf("%d %s\n", arg0, str(arg1)); }'
 *     gdb -p PID, and there: break -probe-stap app:order; print $_probe_arg0
 *
 * Guarantees
 *   A. rip_tracepoint_enabled() is one load and one comparison. If no reader is attached, rip_tracepoint_fire() calls a
 *      function that consists of a nop and a return. Both are async-signal-safe and thread-safe.
 *   B. rip_tracepoint_define() is thread-safe, but not async-signal-safe. It takes no lock of its own: after fork() it
 *      may be called in a child wherever dlopen() may.
 *   C. A tracepoint exists until the process ends. Pointers to it never become invalid, and there is nothing to free.
 *   D. A forked child has the tracepoints of its parent; each is enabled or disabled independently of the parent. A
 *      reader finds them in /proc/CHILD/fd. gdb looks for them by the parent's pid, so it finds them only while the
 *      parent lives. After exec() there are none.
 *   E. Each tracepoint uses one file descriptor, closed on exec. If a program closes descriptors that it does not know,
 *      readers no longer find the tracepoints; nothing else breaks. Nothing remains after the process, however it ends.
 *
 * Tracepoints are part of librip. A program linked with librip.a contains them only if it calls them. In librip.so they
 * are a few kilobytes that are not loaded from disk until they are called. A separate library would mean two more
 * packages for every binding.
 */
#ifndef RIP_TRACEPOINT_H
#define RIP_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RIP_TRACEPOINT_API __attribute__((visibility("default")))

enum rip_tracepoint_type {
    RIP_TRACEPOINT_INT64 = 1,
    RIP_TRACEPOINT_UINT64 = 2,
    RIP_TRACEPOINT_DOUBLE = 3, /* readers do not know this type and show its 64 bits: use print/f in gdb */
    RIP_TRACEPOINT_STRING = 4, /* a pointer to a NUL-terminated string; NULL is shown as 0 */
};

enum {
    RIP_TRACEPOINT_ARGUMENTS_MAX = 6, /* bpftrace has only arg0 to arg5 */
    RIP_TRACEPOINT_NAME_MAX = 63,     /* maximum bytes of the name of a provider or tracepoint */
    RIP_TRACEPOINT_COUNT_MAX = 256,   /* maximum per process */
};

union rip_tracepoint_value {
    int64_t int64;
    uint64_t uint64;
    double real;
    const char *string;
};

/* The fields are used only by the two functions below. */
struct rip_tracepoint {
    const uint16_t *semaphore; /* attached readers increment it */
    void (*probe)(const union rip_tracepoint_value *values);
};

/*
 * Defines provider:name with count arguments of the given types. A second definition with the same types returns the
 * same tracepoint. A name is a letter or '_', followed by letters, digits and '_'. The strings are copied.
 *
 * Returns 0, or -errno with *ret_tracepoint untouched:
 *   EINVAL   a name is empty, longer than RIP_TRACEPOINT_NAME_MAX or has other bytes; a type is none of the above;
 *            count is above RIP_TRACEPOINT_ARGUMENTS_MAX
 *   EEXIST   provider:name exists with other types
 *   ENOSPC   the process has RIP_TRACEPOINT_COUNT_MAX tracepoints
 *   ENOMEM   out of memory
 *   ENOTSUP  the machine is neither x86-64 nor aarch64
 *   ENOEXEC  dlopen() failed: a policy forbids executing memory files, or /proc is missing
 *   and the errors of memfd_create(2), open(2) and write(2).
 */
RIP_TRACEPOINT_API int rip_tracepoint_define(const char *provider, const char *name, const uint8_t *types,
                                             unsigned count, struct rip_tracepoint **ret_tracepoint);

/*
 * Returns true if a reader is attached. Returns false for NULL: a tracepoint that could not be defined is never
 * enabled.
 */
static inline bool rip_tracepoint_enabled(const struct rip_tracepoint *tracepoint)
{
    return tracepoint != NULL && __atomic_load_n(tracepoint->semaphore, __ATOMIC_RELAXED) != 0;
}

/*
 * Passes the values, one per argument, to the readers, which read them before this returns. tracepoint must not be
 * NULL.
 */
static inline void rip_tracepoint_fire(const struct rip_tracepoint *tracepoint,
                                       const union rip_tracepoint_value *values)
{
    tracepoint->probe(values);
}

#ifdef __cplusplus
}
#endif

#endif
