/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracepoint.h - static tracepoints (USDT probes) that are defined while the program runs: for language runtimes,
 * plugins, and whatever else is not compiled with <sys/sdt.h>. A C or C++ program that knows its probes when it is
 * compiled uses <sys/sdt.h>, which needs no library.
 *
 * Each tracepoint is a shared object of one page or two, made in memory and loaded by dlopen(). It says what every
 * USDT probe says of itself, so bpftrace, bcc, gdb, perf and SystemTap find it in the process (/proc/PID/maps), and
 * attach to it by /proc/PID/fd/N.
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
 *   A. rip_tracepoint_enabled() is one load and one comparison. While nobody is attached a fire is a call of a function
 *      that consists of a nop and a return. Both are async-signal-safe, and any thread may call them at any time.
 *   B. rip_tracepoint_define() may be called from any thread at once; it is not async-signal-safe. It takes no lock of
 *      its own, so a child of fork() may call it as far as it may call dlopen().
 *   C. A tracepoint stays until the process ends: no pointer to one is ever invalid, and there is nothing to free.
 *   D. A child of fork() has the tracepoints of its parent, each enabled or not on its own. A reader finds them in
 *      /proc/CHILD/fd; gdb looks for them by the parent's pid, so it finds them while the parent lives. After exec()
 *      there are none.
 *   E. Each costs one descriptor, closed on exec. A program that closes descriptors it does not know loses no more than
 *      the sight of its tracepoints. Nothing remains after the process, however it ends.
 *
 * It is part of librip: a program linked with librip.a has it only if it calls it, and of librip.so the few kilobytes
 * stay on disk until it is called. A library of its own would be two packages more, for every binding.
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
    RIP_TRACEPOINT_DOUBLE = 3, /* readers know no such type and give its 64 bits: print/f in gdb */
    RIP_TRACEPOINT_STRING = 4, /* a pointer to a terminated text; NULL is shown as 0 */
};

enum {
    RIP_TRACEPOINT_ARGUMENTS_MAX = 6, /* bpftrace knows arg0 to arg5 */
    RIP_TRACEPOINT_NAME_MAX = 63,     /* bytes of a provider's or a tracepoint's name */
    RIP_TRACEPOINT_COUNT_MAX = 256,   /* in a process */
};

union rip_tracepoint_value {
    int64_t int64;
    uint64_t uint64;
    double real;
    const char *string;
};

/* Its fields are for the two functions below. */
struct rip_tracepoint {
    const uint16_t *semaphore; /* readers count themselves in it */
    void (*probe)(const union rip_tracepoint_value *values);
};

/*
 * Defines provider:name with count arguments of these types, or gives the one that is there: a second definition with
 * the same types is the same tracepoint. A name is a letter or '_', then letters, digits and '_'.
 *
 * Returns 0, or -errno with ret_tracepoint untouched
 *   EINVAL   a name is empty, longer than RIP_TRACEPOINT_NAME_MAX or has other bytes; a type is none of the above;
 *            count is above RIP_TRACEPOINT_ARGUMENTS_MAX
 *   EEXIST   it is there with other types
 *   ENOSPC   there are RIP_TRACEPOINT_COUNT_MAX
 *   ENOTSUP  the machine is neither x86-64 nor aarch64
 *   ENOEXEC  dlopen() refuses: a policy forbids to execute what is in memory, or /proc is missing
 *   and those of memfd_create(2), open(2) and write(2).
 */
RIP_TRACEPOINT_API int rip_tracepoint_define(const char *provider, const char *name, const uint8_t *types,
                                             unsigned count, struct rip_tracepoint **ret_tracepoint);

/* Whether a reader is attached. False for NULL: what could not be defined is never enabled. */
static inline bool rip_tracepoint_enabled(const struct rip_tracepoint *tracepoint)
{
    return tracepoint != NULL && __atomic_load_n(tracepoint->semaphore, __ATOMIC_RELAXED) != 0;
}

/* Shows readers as many values as it was defined with; they read them before it returns. tracepoint is not NULL. */
static inline void rip_tracepoint_fire(const struct rip_tracepoint *tracepoint,
                                       const union rip_tracepoint_value *values)
{
    tracepoint->probe(values);
}

#ifdef __cplusplus
}
#endif

#endif
