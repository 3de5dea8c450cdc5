/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snap_2014.h - the algorithm of 2014: thread-local id, index and counter, an 8-bit counter, and slots of 320 bytes
 * that are found by multiplication with the id. Written for the comparison.
 */
#ifndef TESTS_BENCH_SNAP_2014_H
#define TESTS_BENCH_SNAP_2014_H

#include <stdint.h>
#include <sys/types.h>

struct slot_2014 {
    char name[64];
    uint64_t entry[32];
};
_Static_assert(sizeof(struct slot_2014) == 320, "the slot of 2014 has 320 bytes");

extern struct slot_2014 *ring_2014;
extern _Thread_local pid_t tid_2014;
extern _Thread_local uint8_t index_2014;
extern _Thread_local uint8_t counter_2014;

static inline __attribute__((always_inline)) void snap_2014(void)
{
    uint64_t here;

    __asm__ volatile("leaq 0(%%rip), %0" : "=r"(here));
    ring_2014[tid_2014].entry[index_2014++ % 32] = (uint64_t)counter_2014++ << 56 | here;
}

#endif
