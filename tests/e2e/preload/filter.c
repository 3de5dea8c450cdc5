/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - `filter HOW WHAT` installs a seccomp filter that kills at every system call that this program does not
 * make itself, and then does WHAT. HOW is prctl, seccomp, tsync or libseccomp.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREAD_COUNT 3
#define FILTER_MAX 128

/* --- the filter --------------------------------------------------------------------------------------------------- */

/* System calls of a program with one thread. */
static const int always[] = {SYS_write, SYS_exit_group, SYS_read};
/* System calls that glibc makes for threads and for a fork. It names another thread by writing to a file. */
static const int for_threads[] = {SYS_mmap,   SYS_munmap,          SYS_mprotect, SYS_clone3,         SYS_clone,
                                  SYS_futex,  SYS_set_robust_list, SYS_rseq,     SYS_rt_sigprocmask, SYS_exit,
                                  SYS_openat, SYS_close,           SYS_brk,      SYS_rt_sigaction,   SYS_getrandom};
static const int for_forks[] = {SYS_clone, SYS_wait4, SYS_set_robust_list};
static const int for_execs[] = {SYS_execve};
static const int for_descriptors[] = {SYS_close, SYS_dup2, SYS_close_range, SYS_dup3};

static struct sock_filter filter[FILTER_MAX];
static unsigned short filter_count;

static void add(struct sock_filter step)
{
    filter[filter_count++] = step;
}

static void allow(const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)calls[i], 0, 1));
        add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
}

/*
 * Allows a call only if its second (or third) argument is value, as glibc uses it. The library would use another value.
 */
static void allow_with(int call, unsigned int argument, unsigned int value)
{
    unsigned int offset = (unsigned int)(offsetof(struct seccomp_data, args) + argument * sizeof(__u64));

    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)call, 0, 3));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
}

#define ALLOW(calls) allow(calls, sizeof(calls) / sizeof(calls[0]))

static void build(const char *what)
{
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    ALLOW(always);
    if (strcmp(what, "threads") == 0) {
        ALLOW(for_threads);
        allow_with(SYS_prctl, 0, PR_SET_NAME);
        allow_with(SYS_madvise, 2, MADV_DONTNEED);
    }
    if (strcmp(what, "fork") == 0)
        ALLOW(for_forks);
    if (strcmp(what, "exec") == 0)
        ALLOW(for_execs);
    if (strcmp(what, "descriptors") == 0)
        ALLOW(for_descriptors);
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
}

static int install_by_library(void)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_KILL_PROCESS);

    if (context == NULL)
        return -1;
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        seccomp_rule_add(context, SCMP_ACT_ALLOW, always[i], 0);
    return seccomp_load(context);
}

static int install(const char *how)
{
    struct sock_fprog program = {filter_count, filter};

    if (strcmp(how, "libseccomp") == 0)
        return install_by_library();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(how, "prctl") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, strcmp(how, "tsync") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                        &program);
}

/* --- actions ------------------------------------------------------------------------------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(3);
}

static void *thread_main(void *argument)
{
    char name[16] = "later-0";

    name[6] = (char)('0' + *(const int *)argument);
    if (*(const int *)argument != 0) /* the other thread keeps the name of its creator */
        pthread_setname_np(pthread_self(), name);
    pthread_barrier_wait(&barrier); /* all threads exist: the test reads their slots */
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void do_threads(void)
{
    static int numbers[THREAD_COUNT] = {0, 1, 2};
    pthread_t threads[THREAD_COUNT];
    char byte;

    pthread_barrier_init(&barrier, NULL, THREAD_COUNT + 1);
    for (int i = 0; i < THREAD_COUNT; i++) {
        if (pthread_create(&threads[i], NULL, thread_main, &numbers[i]) != 0)
            _exit(3);
    }
    pthread_barrier_wait(&barrier);
    say("ready\n");
    if (read(STDIN_FILENO, &byte, 1) < 0)
        _exit(3);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
}

static void do_fork(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        say("child\n");
        exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        _exit(3);
}

/* Closes everything, uses number 900, and tries each number. */
static void do_descriptors(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    if (dup2(STDOUT_FILENO, 512) != 512)
        _exit(3);
    closefrom(3);
}

static void act(const char *what)
{
    if (strcmp(what, "_exit") == 0)
        _exit(0);
    if (strcmp(what, "quick_exit") == 0)
        quick_exit(0);
    if (strcmp(what, "threads") == 0)
        do_threads();
    if (strcmp(what, "fork") == 0)
        do_fork();
    if (strcmp(what, "exec") == 0)
        execl("/nonexistent/program", "program", (char *)NULL);
    if (strcmp(what, "descriptors") == 0)
        do_descriptors();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (strcmp(argv[2], "refused") == 0) { /* the kernel refuses an empty filter */
        struct sock_fprog program = {0, filter};

        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 3 : 0;
    }
    build(argv[2]);
    if (install(argv[1]) != 0)
        return 4;
    act(argv[2]);
    say("done\n");
    return 0;
}
