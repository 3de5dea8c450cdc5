/* SPDX-License-Identifier: Apache-2.0 */
/* animal_cpu.c - kinds that need CPU time: they use it up, or do not get it. */
#include "animal.h"

#include <fcntl.h>
#include <librip.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

static volatile uint64_t spun;

ANIMAL_STALL spin_in_user_space(void)
{
    rip_snap(); /* STALL(user-spin) */
    for (;;)
        spun++;
}

/*
 * Each call clears the same megabyte a thousand times, which takes about a tenth of a second. It is repeated for ever.
 */
ANIMAL_STALL spin_in_one_call(void)
{
    enum { PARTS = 1024, PART_BYTES = 1 << 20 };
    static struct iovec parts[PARTS];
    static char part[PART_BYTES];
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct iovec){part, sizeof(part)};
    rip_snap(); /* STALL(call-spin) */
    while (readv(zero, parts, PARTS) > 0)
        ;
}

static void pin(void)
{
    cpu_set_t all, one;

    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        animal_fail("affinity");
    CPU_ZERO(&one);
    for (size_t cpu = CPU_SETSIZE; cpu-- > 0;)
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
            break;
        }
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        animal_fail("affinity");
}

static void hog(void *context)
{
    (void)context;
    pin();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            spun++;
    }
}

/* Runs with the smallest possible share on a CPU that another thread always uses. */
ANIMAL_STALL starve(void)
{
    const struct sched_param none = {.sched_priority = 0};

    animal_companion(hog, NULL);
    pin();
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
        animal_fail("SCHED_IDLE");
    rip_snap(); /* STALL(starved) */
    for (;;)
        spun++;
}

const struct animal cpu_animals[] = {
    {"user-spin", spin_in_user_space, 1}, {"call-spin", spin_in_one_call, 1}, {"starved", starve, 1}, {NULL, NULL, 0}};
