/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle_signals.c - the cases of lifecycle.c in which a signal handler runs at the worst moment.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lifecycle.h"

static volatile sig_atomic_t handled;
static sigjmp_buf back;

static void writing_handler(int number)
{
    int saved_errno = errno;

    (void)number;
    (void)!write(-1, "", 0);
    handled++;
    errno = saved_errno;
}

static void jumping_handler(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void *idle_under_signals(void *unused)
{
    pthread_setname_np(pthread_self(), "waiter");
    return wait_for_ever(unused);
}

void case_handler_in_wait(void)
{
    struct sigaction action = {.sa_handler = writing_handler, .sa_flags = SA_RESTART};
    pthread_t thread;

    sigaction(SIGUSR1, &action, NULL);
    CHECK(pthread_create(&thread, NULL, idle_under_signals, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        usleep(5000);
        pthread_kill(thread, SIGUSR1);
    }
    usleep(50000);
    CHECK(handled > 0);
    ready();
}

static int waited_for[2];

static void vforking_handler(int number)
{
    (void)number;
    if (vfork() == 0)
        _exit(0);
    syscall(SYS_write, waited_for[1], "", 1);
}

static void work_without_calls(void)
{
    while (syscall(SYS_poll, &(struct pollfd){STDIN_FILENO, POLLIN, 0}, 1, 0) == 0)
        continue;
}

/* The wait has ended, even if the handler has called vfork(). */
void case_vfork_in_wait(void)
{
    struct sigaction action = {.sa_handler = vforking_handler, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_value = {.tv_usec = 50000}};
    char byte;

    sigaction(SIGALRM, &action, NULL);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, waited_for) == 0);
    CHECK(write(waited_for[1], "", 1) == 1 && read(waited_for[0], &byte, 1) == 1); /* the library learns this module */
    setitimer(ITIMER_REAL, &timer, NULL);
    CHECK(read(waited_for[0], &byte, 1) == 1);
    syscall(SYS_write, STDOUT_FILENO, "ready\n", 6);
    work_without_calls();
}

static volatile sig_atomic_t is_forking;

static void leaving_handler(int number)
{
    (void)number;
    if (is_forking)
        _exit(0);
}

void case_exit_while_forking(void)
{
    struct sigaction action = {.sa_handler = leaving_handler, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_interval = {.tv_usec = 70}, .it_value = {.tv_usec = 70}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (;;) {
        pid_t pid;

        is_forking = 1;
        pid = fork();
        is_forking = 0;
        if (pid == 0)
            _exit(0);
        while (pid > 0 && waitpid(pid, NULL, 0) < 0)
            continue;
    }
}

void case_locked_memory(void)
{
    CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    ready();
}

void case_jump_out_of_wait(void)
{
    struct sigaction action = {.sa_handler = jumping_handler};

    sigaction(SIGALRM, &action, NULL);
    poll(NULL, 0, 0); /* the library learns this module, so the handler jumps out of the wait, not out of a cold call */
    if (sigsetjmp(back, 1) == 0) {
        struct itimerval timer = {.it_value = {.tv_usec = 50000}};

        setitimer(ITIMER_REAL, &timer, NULL);
        poll(NULL, 0, -1);
    }
    (void)!write(STDOUT_FILENO, "ready\n", 6);
    work_without_calls();
}

void case_signal_storm(void)
{
    struct sigaction action = {.sa_handler = writing_handler, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < 200000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        if (i % 100 == 0)
            CHECK(poll(NULL, 0, 0) == 0 || errno == EINTR);
        if (i % 1000 == 0) {
            pid_t pid;

            while ((pid = fork()) < 0)
                continue;
            if (pid == 0)
                _exit(0);
            while (waitpid(pid, NULL, 0) < 0)
                CHECK(errno == EINTR);
        }
    }
    timer = (struct itimerval){0};
    setitimer(ITIMER_REAL, &timer, NULL);
    ready();
}

#if defined(__x86_64__)
#define PLACES_APART (1024u * 4096u) /* pages this far apart replace each other in the library's cache */

/* Writes code that calls poll(NULL, 0, 0). */
static void write_call(unsigned char *code)
{
    static const unsigned char before[] = {0x48, 0x83, 0xec, 0x08, 0x31, 0xff, 0x31, 0xf6, 0x31, 0xd2, 0x48, 0xb8};
    static const unsigned char after[] = {0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    int (*const function)(struct pollfd *, nfds_t, int) = poll;

    memcpy(code, before, sizeof(before));
    memcpy(code + sizeof(before), &function, sizeof(function));
    memcpy(code + sizeof(before) + sizeof(function), after, sizeof(after));
}

/* Each call comes from a new location, so most signals arrive while the library holds its lock. */
void case_jump_out_of_cold_call(void)
{
    struct sigaction action = {.sa_handler = jumping_handler};
    struct itimerval timer = {.it_interval = {.tv_usec = 100}, .it_value = {.tv_usec = 100}};
    unsigned char *code = mmap(NULL, PLACES_APART + 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void (*calls[2])(void);

    CHECK(code != MAP_FAILED);
    for (unsigned int i = 0; i < 2; i++) {
        write_call(code + i * PLACES_APART);
        calls[i] = (void (*)(void))(void *)(code + i * PLACES_APART);
    }
    sigaction(SIGALRM, &action, NULL);
    for (volatile int jumps = 0; jumps < 300; jumps++) {
        setitimer(ITIMER_REAL, &timer, NULL);
        while (sigsetjmp(back, 1) == 0) {
            for (;;) {
                calls[0]();
                calls[1]();
            }
        }
        setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    }
    ready();
}
#else
void case_jump_out_of_cold_call(void)
{
    ready();
}
#endif
