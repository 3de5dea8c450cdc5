/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker.c - maker RING: makes known sequences of breadcrumbs.
 *
 * The nth breadcrumb of each id has the address BASE + n. Each command on standard input is answered with the total
 * number of breadcrumbs so far. Commands:
 *   here N       the main thread makes N breadcrumbs
 *   threads T N  T threads make N breadcrumbs each, in parallel and as fast as possible, and end
 *   brief T N    T threads make N breadcrumbs each, one thread after another
 * The program ends with its input.
 */
#include <inttypes.h>
#include <librip.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x10000u
#define THREADS_MAX 64u

static uint64_t made; /* counts the main thread and threads that were joined */

static uint64_t make(uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        rip_snap_at((const void *)(uintptr_t)(BASE + first + i));
    return count;
}

static void *run_thread(void *argument)
{
    rip_init(0, "maker", 5, 0, 0);
    make(1, *(const uint64_t *)argument);
    return NULL;
}

static void run_threads(unsigned long at_once, unsigned long count, uint64_t each)
{
    pthread_t threads[THREADS_MAX];

    while (count > 0) {
        unsigned long started = count < at_once ? count : at_once;

        for (unsigned long i = 0; i < started; i++)
            if (pthread_create(&threads[i], NULL, run_thread, &each) != 0)
                abort();
        for (unsigned long i = 0; i < started; i++)
            pthread_join(threads[i], NULL);
        made += started * each;
        count -= started;
    }
}

int main(int argc, char **argv)
{
    char line[128], word[16];
    uint64_t own = 1;
    unsigned long count, each;

    if (argc != 2 || !rip_create_ring(argv[1], 1024)) {
        perror("maker");
        return EXIT_FAILURE;
    }
    rip_init(0, "main", 4, 0, 0);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        each = 0;
        if (sscanf(line, "%15s %lu %lu", word, &count, &each) < 2)
            return EXIT_FAILURE;
        if (strcmp(word, "here") == 0) {
            made += make(own, count);
            own += count;
        } else {
            run_threads(strcmp(word, "brief") == 0 ? 1 : THREADS_MAX, count, each);
        }
        printf("%" PRIu64 "\n", made);
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
