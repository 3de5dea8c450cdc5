/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.c - a program that stops at known lines. test_symbols.py builds it in many ways.
 *
 *   target RING              prints "ready"; then commands on stdin: "load PATH", "lease PATH", "quit"
 *
 * Ids: 1 in plain_work, 2 in inlined_work through inner, 3 in library_work of a library, 10 and up in more libraries.
 */
#include <fcntl.h>
#include <librip.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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
const char program_name[] = PROGRAM_NAME; /* every program gets its own build id */

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

extern const char __executable_start[];

/* Maps a file of its user just below the program, and takes a lease on it, so that opening the file blocks. */
static void lease(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC);

    signal(SIGIO, SIG_IGN);
    if (file < 0 ||
        mmap((void *)(uintptr_t)(__executable_start - 4096), 4096, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, file,
             0) == MAP_FAILED ||
        fcntl(file, F_SETLEASE, F_WRLCK) != 0)
        perror(path);
    else
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
        if (strncmp(line, "lease ", 6) == 0)
            lease(line + 6);
#endif
    }
    return 0;
}
