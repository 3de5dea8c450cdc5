/* SPDX-License-Identifier: Apache-2.0 */
/* animal.c - starts one kind of stall: animal KIND RING. See animal.h. */
#include "animal.h"

#include <errno.h>
#include <librip.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct animal *const families[] = {cpu_animals, lock_animals, wait_animals, file_animals, unix_animals};
static const struct animal *chosen;
static pthread_barrier_t meeting;

_Thread_local unsigned animal_number;

void animal_fail(const char *what)
{
    printf("cannot: %s: %s\n", what, strerror(errno));
    exit(1);
}

void animal_meet(void)
{
    pthread_barrier_wait(&meeting);
}

int animal_companion(void (*prepare)(void *context), void *context)
{
    int ready[2];
    char byte = 0;
    pid_t child;

    if (pipe(ready) != 0)
        animal_fail("pipe");
    child = fork();
    if (child < 0)
        animal_fail("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prepare(context);
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        animal_fail("companion");
    close(ready[0]);
    close(ready[1]);
    return child;
}

static const struct animal *find(const char *name)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        for (const struct animal *animal = families[i]; animal->name != NULL; animal++)
            if (strcmp(animal->name, name) == 0)
                return animal;
    return NULL;
}

static void *run(void *number)
{
    animal_number = (unsigned)(size_t)number;
    rip_init(animal_number + 1, chosen->name, strlen(chosen->name), 0, 0);
    chosen->stall();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    chosen = argc == 3 ? find(argv[1]) : NULL;
    if (chosen == NULL) {
        fprintf(stderr, "animal KIND RING\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!rip_create_ring(argv[2], 64))
        animal_fail("ring");
    pthread_barrier_init(&meeting, NULL, chosen->thread_count);
    for (size_t i = 1; i < chosen->thread_count; i++)
        if (pthread_create(&thread, NULL, run, (void *)i) != 0)
            animal_fail("thread");
    run(NULL);
    printf("cannot: the call returned: %s\n", strerror(errno));
    return 1;
}
