/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutine.c - coroutines with ids of their own; one of them is never resumed:  coroutine RING
 *
 *   cc coroutine.c -o coroutine $(pkg-config --cflags --libs librip)
 *
 * A thread can be healthy while a coroutine that it has switched away from hangs. So each coroutine has its own id.
 * This example switches with ucontext(3). With any other runtime, call rip_switch() where the runtime switches.
 */
#include <librip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { COROUTINES = 3, LOST = 1, STACK_BYTES = 65536 };

struct coroutine {
    ucontext_t machine;
    struct rip_context trace; /* its id while it is on no thread */
    unsigned rounds;
};

static struct coroutine coroutines[COROUTINES];
static struct coroutine scheduler;
static unsigned current;

static void resume(unsigned number)
{
    current = number;
    rip_switch(&scheduler.trace, &coroutines[number].trace);
    swapcontext(&scheduler.machine, &coroutines[number].machine);
}

static void yield(void)
{
    struct coroutine *self = &coroutines[current];

    rip_switch(&self->trace, &scheduler.trace);
    swapcontext(&self->machine, &scheduler.machine);
}

static void run(void)
{
    for (;;) {
        coroutines[current].rounds++;
        rip_snap(); /* its last place if it is never resumed */
        yield();
    }
}

static void start(unsigned number)
{
    struct coroutine *new = &coroutines[number];
    char name[32];

    snprintf(name, sizeof(name), "request %u", number);
    getcontext(&new->machine);
    new->machine.uc_stack.ss_sp = malloc(STACK_BYTES);
    new->machine.uc_stack.ss_size = STACK_BYTES;
    new->machine.uc_link = &scheduler.machine;
    makecontext(&new->machine, run, 0);
    if (!rip_context_init(&new->trace, 1000000 + number, name, strlen(name))) /* above all tids */
        perror("coroutine: not traced");
}

int main(int argc, char **argv)
{
    if (!rip_create_ring(argc > 1 ? argv[1] : "/dev/shm/coroutine", 64))
        perror("coroutine: not traced");
    rip_init(0, "scheduler", 9, 0, 0);
    for (unsigned i = 0; i < COROUTINES; i++)
        start(i);
    for (unsigned round = 0;; round++) {
        rip_snap();
        for (unsigned i = 0; i < COROUTINES; i++)
            if (i != LOST || round < 3) /* the bug: this coroutine is forgotten */
                resume(i);
        usleep(10000);
    }
}
