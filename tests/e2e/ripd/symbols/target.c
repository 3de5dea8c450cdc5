/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.c - a program that stops at known lines: built in every way that a program can be built, by test_symbols.py.
 *
 *   target RING [LIBRARY]    answers "ready"; then commands on stdin: "load PATH", "unload", "quit"
 *
 * Ids: 1 in plain_work, 2 in inlined_work by way of inner, 3 in a library's library_work, 10 and up in further ones.
 */
#include <librip.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifndef WITHOUT_LIBRARIES
#include <dlfcn.h>
#endif

typedef void work_function(void);
struct worker {
    uint32_t id;
    work_function *work;
};

volatile int sink;
extern const char program_name[];
const char program_name[] = PROGRAM_NAME; /* no two programs have one build id */

__attribute__((noinline)) void plain_work(void)
{
    rip_snap(); /* MARK plain_work */
    sink++;
}

#include "../symbols/target_inner.h"

__attribute__((noinline)) void inlined_work(void)
{
    inner(); /* MARK inlined_work */
    sink++;
}

static void *run(void *context)
{
    const struct worker *worker = context;

    rip_init(worker->id, "worker", 6, 0, 0);
    worker->work();
    for (;;)
        pause();
    return NULL;
}

static void start(struct worker *worker)
{
    pthread_t thread;

    pthread_create(&thread, NULL, run, worker);
}

#ifndef WITHOUT_LIBRARIES
static void load(const char *path)
{
    static struct worker workers[8];
    static uint32_t count;
    struct worker *worker = &workers[count];
    void *library = dlopen(path, RTLD_NOW);

    if (library == NULL) {
        printf("%s\n", dlerror());
        return;
    }
    worker->id = count == 0 ? 3 : 9 + count;
    worker->work = (work_function *)(uintptr_t)dlsym(library, "library_work");
    count++;
    start(worker);
    puts("ok");
}
#endif

int main(int count, char **arguments)
{
    static struct worker plain = {1, plain_work}, inlined = {2, inlined_work};
    char line[4096];

    if (count < 2 || !rip_create_ring(arguments[1], 8))
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    start(&plain);
    start(&inlined);
    puts("ready");
    while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "quit\n") != 0) {
#ifndef WITHOUT_LIBRARIES
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "load ", 5) == 0)
            load(line + 5);
#endif
    }
    return 0;
}
