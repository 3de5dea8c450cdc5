/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snap_forms.h - the contenders of bench_snap, as functions of count. They are compiled into the executable and into a
 * shared library, where thread-local storage is slower. SNAP_FORMS_PREFIX is the prefix of the functions' names.
 */
#include <librip.h>
#include <stdint.h>
#include <sys/types.h>

#include "snap_2014.h"

#define JOIN_2(a, b) a##b
#define JOIN(a, b) JOIN_2(a, b)
#define FORM(name) JOIN(SNAP_FORMS_PREFIX, name)
#define BARRIER() __asm__ volatile("" ::: "memory")

void FORM(empty)(uint64_t count);
void FORM(bare)(uint64_t count);
void FORM(snap)(uint64_t count);
void FORM(snap_slot)(uint64_t count);
void FORM(snap_2014)(uint64_t count);

void FORM(empty)(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        BARRIER();
}

/* The minimum that records a location: its address to memory, everything else in registers. */
void FORM(bare)(uint64_t count)
{
    uint64_t *entry = &rip__thread.slot->entry[0];

    for (uint64_t i = 0; i < count; i++) {
        uint64_t here;

        __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %0, (%1)" : "=&r"(here) : "r"(entry) : "memory");
    }
}

void FORM(snap)(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        rip_snap();
        BARRIER();
    }
}

/* A snap without the globals: only count and entry. Shows the cost of keeping rip_idx and rip_ctr up to date. */
void FORM(snap_slot)(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct rip_slot *slot = rip__thread.slot;
        uint64_t progress, here, index;

        if (slot == NULL)
            continue;
        __asm__ volatile("incq (%[slot])\n\t"
                         "movq (%[slot]), %[progress]\n\t"
                         "leaq 0(%%rip), %[here]\n\t"
                         "movl %k[progress], %k[index]\n\t"
                         "andl $31, %k[index]\n\t"
                         "shlq $56, %[progress]\n\t"
                         "orq %[here], %[progress]\n\t"
                         "movq %[progress], 64(%[slot],%[index],8)"
                         : [progress] "=&r"(progress), [here] "=&r"(here), [index] "=&r"(index)
                         : [slot] "r"(slot)
                         : "memory", "cc");
        BARRIER();
    }
}

void FORM(snap_2014)(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        snap_2014();
        BARRIER();
    }
}
