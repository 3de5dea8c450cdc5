/* SPDX-License-Identifier: Apache-2.0 */
/*
 * throng.c - throng RING COUNT [lock]: COUNT threads begin to wait for one pipe at about the same time. With lock, the
 * first thread waits for the pipe and holds a lock for which the others wait.
 *
 * Prints "there" when all are registered, and ends when its standard input does.
 */
#include <librip.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];
static pthread_barrier_t all_there;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* argument: a lock to take, or NULL. */
static void *wait_for_ever(void *argument)
{
    char byte;

    rip_init(0, "waits", 5, 0, 0);
    pthread_barrier_wait(&all_there);
    rip_snap();
    if (argument != NULL)
        pthread_mutex_lock(argument);
    while (read(ends[0], &byte, 1) > 0)
        continue;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_mutex_t *const mutex = argc == 4 ? &lock : NULL;
    unsigned count = argc >= 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    pthread_attr_t small;
    pthread_t thread;
    char byte;

    if (count == 0 || pipe(ends) != 0 || !rip_create_ring(argv[1], count)) {
        perror("throng");
        return EXIT_FAILURE;
    }
    pthread_barrier_init(&all_there, NULL, count + 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN + 16384);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&thread, &small, wait_for_ever, mutex) != 0) {
            fprintf(stderr, "throng: no more than %u threads\n", i);
            return EXIT_FAILURE;
        }
    pthread_barrier_wait(&all_there);
    puts("there");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    _exit(EXIT_SUCCESS);
}
