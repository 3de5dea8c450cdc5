/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer.c - a program that uses the public functions and the four globals, compiled as C11 and as C++17, with its
 * own definitions of the globals (OWN_GLOBALS) or without. Exit status 0: all checks passed.
 */
#include <librip.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#ifdef OWN_GLOBALS
thread_local pid_t rip_tid;
thread_local uint8_t rip_idx;
thread_local uint8_t rip_ctr;
struct rip_ring *rip_ring;
#endif

static int failures;

static void check(bool truth, const char *what)
{
    if (!truth) {
        printf("check failed: %s\n", what);
        failures++;
    }
}

static int in_thread(void *argument)
{
    (void)argument;
    check(rip_tid == 0 && rip_idx == 0 && rip_ctr == 0, "a new thread has no id");
    rip_snap();
    check(rip_idx == 0, "a snap without an id does nothing");
    rip_init(4000000000u, "thread", 6, 250, 3);
    for (int i = 0; i < 300; i++)
        rip_snap();
    check(rip_idx == (uint8_t)(250 + 300) && rip_ctr == (uint8_t)(3 + 300), "globals advance by the number of snaps");
    check((uint32_t)rip_tid == 4000000000u, "any uint32_t is an id");
    return 0;
}

static void snap_from_a_library(void)
{
    void (*snap)(void) = rip_snap; /* through its address: the exported function */

    snap();
}

int main(void)
{
    char path[64];
    thrd_t thread;

    rip_snap(); /* before rip_init(): does nothing */
    rip_exit();
    rip_deadline_ms(1);
    rip_note("early", 5);
    rip_flush();
    rip_init(0, "early", 5, 0, 0);
    rip_exit();
    snprintf(path, sizeof(path), "/dev/shm/rip-consumer.%d", (int)getpid());
    check(rip_ring == NULL, "no ring before rip_create_ring()");
    check(rip_create_ring(path, 64), "rip_create_ring() succeeds");
    check(rip_ring != NULL && rip_ring->magic == RIP_MAGIC, "rip_ring is the mapped ring");
    check(rip_create_ring(path, 64), "creating the same file again succeeds");
    rip_init(0, "main", 4, 0, 0);
    check(rip_tid == (pid_t)gettid(), "id 0 is the thread's tid");
    for (int i = 0; i < 3; i++)
        rip_snap();
    check(rip_idx == 3 && rip_ctr == 3, "three snaps");
    snap_from_a_library();
    check(rip_idx == 4 && rip_ctr == 4, "a fourth snap through a pointer");
    rip_idle();
    check(rip_idx == 4, "idle is no snap");
    rip_deadline_ms(250);
    check(rip__thread.slot->deadline_ms == 250 && rip_idx == 4, "rip_deadline_ms() sets the deadline and is no snap");
    rip_note("GET /checkout?id=7", 18);
    check(rip_idx == 4, "a note is no snap");
    rip_flush();
    check(rip_ring->flush_count == 1, "a flush is counted");
    check(thrd_create(&thread, in_thread, NULL) == thrd_success && thrd_join(thread, NULL) == thrd_success,
          "a thread runs");
    rip_init(77, "coroutine", 9, 0, 0);
    rip_snap();
    rip_init((uint32_t)getpid(), NULL, 0, 4, 4);
    rip_snap();
    check(rip_idx == 5 && rip_ctr == 5, "an id is resumed with its counters");
    rip_exit();
    check(rip_tid == 0 && rip_idx == 0 && rip_ctr == 0, "the globals are 0 after rip_exit()");
    rip_snap();
    check(rip_idx == 0, "a snap after rip_exit() does nothing");
    unlink(path);
    return failures != 0;
}
