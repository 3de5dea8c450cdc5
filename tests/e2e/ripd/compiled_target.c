/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled_target.c - a program without knowledge of librip. Instrumentation by the compiler calls librip-compiled.
 *
 * compiled_target MODE. Each line of standard input is answered on standard output. Modes:
 *   work      one thread computes for ever in code that is not traced, one waits for a condition, the first for input
 *   fork      the same, and a child computes as well
 *   threads   many short threads, interrupted by a signal handler; ends by itself
 *   sleepers  a thread that runs while another thread ends the process
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#if defined(__clang__)
#define UNTRACED __attribute__((noinline, no_instrument_function, no_sanitize("coverage")))
#else
#define UNTRACED __attribute__((noinline, no_instrument_function, no_sanitize_coverage))
#endif

enum { THREADS = 300 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile unsigned long turns;

/* Like a function of a library that was built without instrumentation. */
UNTRACED static void burn(void)
{
    while (turns != (unsigned long)-1) /* the compiler must not see that the loop is endless */
        turns++;
}

static void *grind(void *unused)
{
    (void)unused;
    burn();
    return NULL;
}

static void *wait_for_others(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    while (turns != 0 || turns == 0)
        pthread_cond_wait(&never, &mutex);
    return NULL;
}

static unsigned long add(unsigned long a, unsigned long b)
{
    return a + b;
}

static void *run_for_ever(void *unused)
{
    (void)unused;
    while (turns != 1)
        add(turns, 1);
    return NULL;
}

static void *run_shortly(void *unused)
{
    errno = 77;
    add(1, 2);
    if (errno != 77)
        abort();
    return unused;
}

static void on_signal(int number)
{
    add((unsigned long)number, 1);
}

static void start(void *(*routine)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, routine, NULL) != 0)
        abort();
}

static void run_many(void)
{
    const struct itimerval often = {{0, 200}, {0, 200}};
    struct sigaction action;
    pthread_t thread;

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, run_shortly, NULL) != 0 || pthread_join(thread, NULL) != 0)
            abort();
}

static void serve(void)
{
    char line[32];

    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "quit\n") != 0)
        puts("ok");
}

/* Code that runs before main() is traced as well. */
__attribute__((constructor)) static void run_early(void)
{
    run_shortly(NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (strcmp(mode, "threads") == 0) {
        run_many();
        return EXIT_SUCCESS;
    }
    if (strcmp(mode, "sleepers") == 0) {
        start(run_for_ever);
        serve();
        return EXIT_SUCCESS;
    }
    if (strcmp(mode, "fork") == 0 && fork() == 0)
        grind(NULL);
    start(grind);
    start(wait_for_others);
    serve();
    return EXIT_SUCCESS;
}
