/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_stacks.c - threads with the smallest possible stack, on which a handler runs with the smallest alternate stack.
 *
 * Wrappers use the stack of the program. Each thread takes the paths that need most stack: a change of the user,
 * programs that cannot be executed, a forked child, waits for a lock.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREAD_COUNT 100

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int failures;

static void check(int is_right)
{
    if (!is_right)
        __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}

static void on_signal(int number)
{
    int saved_errno = errno;

    (void)number;
    check(write(-1, "", 0) == -1 && errno == EBADF);
    check(read(-1, NULL, 0) == -1 && errno == EBADF);
    errno = saved_errno;
}

/* A guard page follows the stack. */
static void use_alternate_stack(void)
{
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    unsigned long bytes = ((unsigned long)MINSIGSTKSZ + 2048 + page - 1) / page * page;
    char *memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = bytes};

    check(memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) == 0 && sigaltstack(&stack, NULL) == 0);
}

static void *run(void *unused)
{
    pid_t child;

    use_alternate_stack();
    raise(SIGUSR1);
    pthread_mutex_lock(&mutex);
    usleep(100);
    pthread_mutex_unlock(&mutex);
    child = fork();
    if (child == 0)
        _exit(0);
    check(child > 0 && waitpid(child, NULL, 0) == child);
    check(setuid(getuid()) == 0);
    execlp("/etc/passwd", "passwd", (char *)NULL);
    check(errno == EACCES);
    execlp("no-such-program", "program", (char *)NULL);
    check(errno == ENOENT);
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    pthread_t threads[THREAD_COUNT];
    pthread_attr_t attributes;

    sigaction(SIGUSR1, &action, NULL);
    pthread_attr_init(&attributes);
    check(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        check(pthread_create(&threads[i], &attributes, run, NULL) == 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
    printf("%d failures\n", failures);
    return 3;
}
