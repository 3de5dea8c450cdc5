/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - a thread that works on jobs, and gets stuck in the fourth:  worker RING
 *
 *   cc worker.c -o worker $(pkg-config --cflags --libs librip)
 *   ./worker /dev/shm/worker & sleep 10; curl 'localhost:7470/stalls?ring=worker'
 */
#include <librip.h>
#include <stdio.h>
#include <unistd.h>

static void do_job(int job)
{
    rip_snap(); /* the id works from here on */
    if (job == 3)
        sleep(3600); /* stuck: "sleeping", at the line above */
}

int main(int argc, char **argv)
{
    /* Once per process, with room for 16 ids. A program that cannot be traced should still run. */
    if (!rip_create_ring(argc > 1 ? argv[1] : "/dev/shm/worker", 16))
        perror("worker: not traced");
    rip_init(0, "worker", 6, 0, 0); /* in each thread; 0 = its tid is its id */
    for (int job = 0;; job++) {
        rip_idle(); /* waits for work from here on: not stuck, however long */
        usleep(100000);
        do_job(job);
    }
}
