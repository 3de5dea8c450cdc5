/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutines.c - coroutines RING COUNT: one thread with COUNT ids, which take turns; every tenth id gets no more turns.
 * Prints "ready" when all exist, and ends when its standard input ends.
 */
#include <librip.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define STUCK_EACH 10
#define PAUSE_MS 5
#define TURNS_AT_ONCE 2000

static void take_turn(struct rip_context *context)
{
    struct rip_context scheduler;

    rip_switch(&scheduler, context);
    rip_snap();
    rip_switch(context, &scheduler);
}

int main(int argc, char **argv)
{
    uint32_t count = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    struct rip_context *contexts = calloc(count + 1u, sizeof(*contexts));
    struct pollfd end = {.fd = 0, .events = POLLIN};

    if (count == 0 || contexts == NULL || !rip_create_ring(argv[1], count + 1)) {
        perror("coroutines");
        return EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        int length = snprintf(name, sizeof(name), "request-%u", (unsigned)i);

        if (!rip_context_init(&contexts[i], 1000 + i, name, (size_t)length))
            return EXIT_FAILURE;
        take_turn(&contexts[i]);
    }
    printf("ready\n");
    fflush(stdout);
    for (uint32_t i = 0; poll(&end, 1, i % TURNS_AT_ONCE == 0 ? PAUSE_MS : 0) == 0; i = (i + 1) % count)
        if (i % STUCK_EACH != 0)
            take_turn(&contexts[i]);
    return EXIT_SUCCESS;
}
