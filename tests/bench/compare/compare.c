/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - one location of a program, observed by different tools: argv[1] times each. bench_compare.py compiles
 * this in several ways: FUNCTIONS for compilers that instrument functions, with EMPTY_HOOKS for hooks that do nothing
 * or linked with librip-compiled; LTTNG for a tracepoint of LTTng-UST.
 */
#include <librip.h>
#include <rip/tracepoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "bench.h"
#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "compare_lttng.h"
#endif

/* The loops themselves must not be instrumented. */
#define UNTRACED __attribute__((no_instrument_function, no_sanitize_coverage))
#define RUN(name, place)                                                                                               \
    UNTRACED static void name(uint64_t count)                                                                          \
    {                                                                                                                  \
        for (uint64_t i = 0; i < count; i++) {                                                                         \
            place;                                                                                                     \
            __asm__ volatile("" ::: "memory");                                                                         \
        }                                                                                                              \
    }

static struct rip_tracepoint *order;

__attribute__((noinline)) static void function(uint64_t argument)
{
    __asm__ volatile("" : : "r"(argument) : "memory");
}

#ifdef EMPTY_HOOKS
#define HOOK __attribute__((noinline)) UNTRACED
HOOK void __cyg_profile_func_enter(void *called, void *caller);
HOOK void __cyg_profile_func_exit(void *called, void *caller);
HOOK void __sanitizer_cov_trace_pc(void);

void __cyg_profile_func_enter(void *called, void *caller)
{
    __asm__ volatile("" : : "r"(called), "r"(caller));
}

void __cyg_profile_func_exit(void *called, void *caller)
{
    __asm__ volatile("" : : "r"(called), "r"(caller));
}

void __sanitizer_cov_trace_pc(void)
{
    __asm__ volatile("");
}
#endif

RUN(call, function(i))
#ifndef FUNCTIONS
RUN(nothing, (void)0)
RUN(snap, rip_snap())
RUN(usdt, DTRACE_PROBE1(compare, place, i))
RUN(defined, if (rip_tracepoint_enabled(order)) rip_tracepoint_fire(order, NULL))
RUN(get_time, struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now))
RUN(system_call, syscall(SYS_getppid))
#ifdef __x86_64__
RUN(time_stamp, (void)__rdtsc())
#endif
#ifdef LTTNG
RUN(lttng, lttng_ust_tracepoint(rip_compare, place, (int)i))
#endif
#endif

int main(int argc, char **argv)
{
    struct contender rows[] = {
        {"call", call, 0, NULL},
#ifndef FUNCTIONS
        {"nothing", nothing, 0, NULL},
        {"snap", snap, 0, NULL},
        {"usdt", usdt, 0, NULL},
        {"defined", defined, 0, NULL},
        {"get_time", get_time, 0, NULL},
        {"system_call", system_call, 0, NULL},
#ifdef __x86_64__
        {"time_stamp", time_stamp, 0, NULL},
#endif
#ifdef LTTNG
        {"lttng", lttng, 0, NULL},
#endif
#endif
    };

    if (argc != 3 || rip_tracepoint_define("compare", "defined", NULL, 0, &order) < 0)
        return 1;
    if (rip_ring == NULL) { /* librip-compiled creates a ring at main() */
        if (!rip_create_ring(argv[2], 64))
            return 1;
        unlink(argv[2]);
        rip_init(0, "compare", 7, 0, 0);
    }
    bench_table("compare", rows, sizeof(rows) / sizeof(rows[0]), 0, strtoull(argv[1], NULL, 10));
    return 0;
}
