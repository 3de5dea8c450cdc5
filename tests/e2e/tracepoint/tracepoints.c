/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracepoints.c - creates a ring at argv[1] with an id, fires a tracepoint that it defines at run time, and ends. A
 * debugger stops it in ready(), where the tracepoint is defined.
 */
#include <stdio.h>

#include "librip.h"
#include "rip/tracepoint.h"

__attribute__((noinline)) static void ready(void)
{
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    static const uint8_t types[] = {RIP_TRACEPOINT_INT64, RIP_TRACEPOINT_UINT64, RIP_TRACEPOINT_DOUBLE,
                                    RIP_TRACEPOINT_STRING};
    const union rip_tracepoint_value values[] = {
        {.int64 = INT64_MIN}, {.uint64 = UINT64_MAX}, {.real = -0.1}, {.string = "caf\xc3\xa9 \"7\""}};
    struct rip_tracepoint *order, *pay;

    if (argc != 2 || rip_tracepoint_define("app", "order", types, 4, &order) < 0 ||
        rip_tracepoint_define("app", "pay", NULL, 0, &pay) < 0)
        return 2;
    ready();
    printf("order %d pay %d\n", rip_tracepoint_enabled(order), rip_tracepoint_enabled(pay));
    fflush(stdout);
    rip_tracepoint_fire(order, values);
    rip_tracepoint_fire(pay, NULL);
    if (!rip_create_ring(argv[1], 64))
        return 3;
    rip_init(71, "seven", 5, 0, 0);
    rip_snap();
    rip_snap();
    for (uint32_t id = 100; id < 200; id++) /* more ids than the ring has slots */
        rip_init(id, "many", 4, 0, 0);
    rip_init(71, NULL, 0, 2, 2);
    rip_exit();
    return 0;
}
