/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c CASE - one event in the life of a process or a thread, for test_lifecycle.py.
 *
 * Prints "ready" when the test should read the ring, and continues when it gets a line. The exit status is 0 if all
 * checks succeed. The program does not know whether it is traced.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "lifecycle.h"

void ready(void)
{
    char byte;

    (void)!write(STDOUT_FILENO, "ready\n", 6);
    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
        continue;
}

static int status_of(pid_t pid)
{
    int status;

    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- another user ------------------------------------------------------------------------------------------------- */

#define OTHER_USER 61001

static void drop_user(void)
{
    CHECK(setgroups(0, NULL) == 0 && setgid(OTHER_USER) == 0 && setuid(OTHER_USER) == 0);
    CHECK(setuid(0) < 0 && errno == EPERM);
}

static void case_child_drops_user(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        drop_user();
        usleep(1000);
        ready();
        exit(7);
    }
    CHECK(status_of(pid) == 7);
}

static void *sleep_without_end(void *unused)
{
    for (;;)
        usleep(1000);
    return unused;
}

static void case_threads_drop_user(void)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, sleep_without_end, NULL) == 0 && pthread_setname_np(thread, "second") == 0);
    CHECK(seteuid(OTHER_USER) == 0 && seteuid(0) == 0); /* a temporary change of the user keeps the ring */
    ready();
    CHECK(setreuid(OTHER_USER, OTHER_USER) == 0);
    ready();
}

/* Like su, cron and sshd. */
static void case_vfork_drops_user(void)
{
    pid_t pid = vfork();

    if (pid == 0) {
        if (setresuid(OTHER_USER, OTHER_USER, OTHER_USER) == 0)
            execl("/bin/true", "true", NULL);
        _exit(1);
    }
    CHECK(status_of(pid) == 0);
    ready();
}

/* --- fork and similar calls --------------------------------------------------------------------------------------- */

static void case_fork(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        usleep(1000);
        ready();
        exit(7);
    }
    CHECK(status_of(pid) == 7);
}

static void case_fork_exit_first(void)
{
    if (fork() != 0)
        _exit(0); /* before the child runs */
    ready();
}

static void case_double_fork(void)
{
    if (fork() != 0)
        exit(0);
    setsid();
    if (fork() != 0)
        _exit(0);
    ready();
}

static void case_daemon(void)
{
    CHECK(daemon(1, 1) == 0);
    ready();
}

static void case_raw_fork(void)
{
    pid_t pid = _Fork();

    if (pid == 0) {
        for (int i = 0; i < 100; i++)
            usleep(1);
        ready();
        _exit(3);
    }
    CHECK(status_of(pid) == 3);
}

static int clone_main(void *argument)
{
    for (int i = 0; i < 100; i++)
        usleep(1);
    ready();
    return (int)(long)argument;
}

static void case_clone(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    pid_t pid = clone(clone_main, stack + sizeof(stack), SIGCHLD, (void *)5L);

    CHECK(pid > 0);
    CHECK(status_of(pid) == 5);
}

static void case_vfork(void)
{
    pid_t pid = vfork();

    if (pid == 0) {
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        prctl(PR_SET_NAME, "vforked");
        execl("/proc/nonexistent", "x", NULL);
        execl("/bin/sh", "sh", "-c", "exit 6", NULL);
        _exit(1);
    }
    CHECK(status_of(pid) == 6);
    pid = vfork();
    if (pid == 0)
        _exit(8);
    CHECK(status_of(pid) == 8);
    ready();
}

static void case_spawn(void)
{
    char *arguments[] = {"sh", "-c", "exit 9", NULL};
    posix_spawn_file_actions_t actions;
    char line[8] = "";
    pid_t pid;
    FILE *pipe;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    CHECK(posix_spawn(&pid, "/bin/sh", &actions, NULL, arguments, environ) == 0);
    CHECK(status_of(pid) == 9);
    posix_spawn_file_actions_destroy(&actions);
    CHECK(WEXITSTATUS(system("exit 4")) == 4);
    pipe = popen("echo popen", "r");
    CHECK(pipe != NULL && fgets(line, sizeof(line), pipe) != NULL && strcmp(line, "popen\n") == 0);
    CHECK(pclose(pipe) == 0);
    ready();
}

static void *fork_storm_thread(void *unused)
{
    (void)unused;
    return NULL;
}

static void *fork_storm_starter(void *unused)
{
    for (int i = 0; i < 4000; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, fork_storm_thread, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return unused;
}

/* Threads register, and list modules with the dynamic linker, while other threads fork. No child may hang. */
static void case_fork_storm(void)
{
    pthread_t starter;

    CHECK(pthread_create(&starter, NULL, fork_storm_starter, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            alarm(20);
            _exit(2);
        }
        CHECK(status_of(pid) == 2);
    }
    CHECK(pthread_join(starter, NULL) == 0);
    ready();
}

static int hold_loader(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    (void)data;
    usleep(300000);
    return 1;
}

static void *ask_loader(void *argument)
{
    dl_iterate_phdr(hold_loader, NULL);
    return argument;
}

/* Another thread, which the child does not have, holds the lock of the dynamic linker during fork(). */
static void case_fork_while_loading(void)
{
    pthread_t thread;
    pid_t pid;

    CHECK(pthread_create(&thread, NULL, ask_loader, NULL) == 0);
    usleep(100000);
    pid = fork();
    if (pid == 0) {
        alarm(20);
        ready();
        _exit(2);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(status_of(pid) == 2);
}

/* --- exec --------------------------------------------------------------------------------------------------------- */

static void case_exec(void)
{
    ready();
    execl("/bin/sh", "sh", "-c", "echo ready; read line; exit 0", NULL);
}

static void case_exec_missing(void)
{
    CHECK(execl("/proc/nonexistent", "x", NULL) == -1 && errno == ENOENT);
    CHECK(execlp("rip-no-such-program", "x", NULL) == -1 && errno == ENOENT);
    CHECK(execl("/etc/passwd", "x", NULL) == -1 && errno == EACCES);
    ready();
}

static void case_exec_fails(void)
{
    char path[] = "/tmp/rip-lifecycle-XXXXXX";
    int fd = mkstemp(path);

    CHECK(write(fd,
                "\x7f"
                "ELF nonsense",
                13) == 13 &&
          fchmod(fd, 0755) == 0 && close(fd) == 0);
    CHECK(execl(path, "x", NULL) == -1 && errno == ENOEXEC);
    unlink(path);
    ready();
}

static void case_exec_environment(void)
{
    char *const environment[] = {"GREETING=hello", NULL}; /* without LD_PRELOAD the program is not traced */

    execle("/bin/sh", "sh", "-c", "test \"$GREETING\" = hello && echo ready; read line", NULL, environment);
}

/* --- descriptors -------------------------------------------------------------------------------------------------- */

static void case_close_all(void)
{
    for (int fd = 3; fd < 4096; fd++)
        CHECK(close(fd) == -1 && errno == EBADF);
    CHECK(close_range(3, ~0U, 0) == 0);
    closefrom(3);
    ready();
}

static void case_close_listed(void)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;

    while ((entry = readdir(directory)) != NULL) {
        int fd = atoi(entry->d_name);

        if (fd > 2 && fd != dirfd(directory))
            close(fd);
    }
    closedir(directory);
    ready();
}

/* Checks each number in every way before it is closed: only the standard descriptors are open. */
static void case_look_at_all(void)
{
    struct stat status;

    for (int fd = 3; fd < 1024; fd++) {
        CHECK(fstat(fd, &status) == -1 && errno == EBADF);
        CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
        CHECK(fcntl(fd, F_DUPFD, 0) == -1 && errno == EBADF);
        CHECK(dup(fd) == -1 && errno == EBADF);
        CHECK(close(fd) == -1 && errno == EBADF);
    }
    ready();
}

static void case_dup_onto(void)
{
    for (int fd = 500; fd < 600; fd++)
        CHECK(dup2(1, fd) == fd);
    for (int fd = 500; fd < 600; fd++)
        CHECK(close(fd) == 0);
    for (int fd = 500; fd < 700; fd++)
        CHECK(dup3(1, fd, O_CLOEXEC) == fd);
    for (int fd = 500; fd < 700; fd++)
        CHECK(close(fd) == 0);
    ready();
}

/* The descriptor shield does not see a raw close(): the program gets the number of the descriptor. */
static void case_raw_close(void)
{
    CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
    for (int fd = 3; fd < 700; fd++)
        CHECK(open("/dev/null", O_RDONLY) == fd);
    for (int fd = 3; fd < 700; fd++)
        CHECK(close(fd) == 0);
    ready();
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *gated(void *name)
{
    if (name != NULL)
        pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return name;
}

static int gated_c11(void *name)
{
    prctl(PR_SET_NAME, name);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return 11;
}

static void case_names(void)
{
    pthread_t own, by_creator, by_creator_late;
    thrd_t c11;
    int result;

    prctl(PR_SET_NAME, "the main one");
    pthread_mutex_lock(&gate);
    CHECK(pthread_create(&own, NULL, gated, "own") == 0);
    CHECK(pthread_create(&by_creator, NULL, gated, NULL) == 0);
    CHECK(pthread_setname_np(by_creator, "at once") == 0);
    CHECK(pthread_create(&by_creator_late, NULL, gated, NULL) == 0);
    usleep(50000);
    CHECK(pthread_setname_np(by_creator_late, "late") == 0);
    CHECK(pthread_setname_np(by_creator_late, "a name that is too long") == ERANGE);
    CHECK(thrd_create(&c11, gated_c11, "c11") == thrd_success);
    usleep(50000);
    ready();
    pthread_mutex_unlock(&gate);
    CHECK(pthread_join(own, NULL) == 0 && pthread_join(by_creator, NULL) == 0 &&
          pthread_join(by_creator_late, NULL) == 0);
    CHECK(thrd_join(c11, &result) == thrd_success && result == 11);
    ready();
}

void *wait_for_ever(void *unused)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    return unused;
}

static void *read_for_ever(void *unused)
{
    int fds[2];
    char byte;

    CHECK(pipe(fds) == 0);
    (void)!read(fds[0], &byte, 1);
    return unused;
}

static void *exit_deep(void *argument)
{
    pthread_exit(argument);
}

static void case_thread_ends(void)
{
    pthread_t thread;
    void *result;

    for (int i = 0; i < 100; i++) {
        CHECK(pthread_create(&thread, NULL, i % 2 ? wait_for_ever : read_for_ever, NULL) == 0);
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        CHECK(pthread_create(&thread, NULL, exit_deep, &gate) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == &gate);
    }
    ready();
}

static void *main_has_left(void *unused)
{
    usleep(100000);
    ready();
    exit(0);
    return unused;
}

static void case_main_thread_leaves(void)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, main_has_left, NULL) == 0);
    pthread_exit(NULL);
}

static void *busy_writer(void *unused)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    for (;;)
        (void)!write(fd, "x", 1);
    return unused;
}

/* Threads still write breadcrumbs while the process exits. */
static void case_exit_under_load(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, busy_writer, NULL) == 0);
    }
    usleep(20000);
}

static void exit_handler(void)
{
    ready(); /* the handler is still traced */
}

static void case_exit_handler(void)
{
    atexit(exit_handler);
}

static void case_quick_exit(void)
{
    ready();
    quick_exit(0);
}

static void case_abort(void)
{
    ready();
    abort();
}

#define CASE(name)                                                                                                     \
    {                                                                                                                  \
#name, case_##name                                                                                             \
    }

static const struct {
    const char *name;
    void (*function)(void);
} cases[] = {
    CASE(fork),
    CASE(fork_exit_first),
    CASE(double_fork),
    CASE(daemon),
    CASE(raw_fork),
    CASE(child_drops_user),
    CASE(threads_drop_user),
    CASE(vfork_drops_user),
    CASE(clone),
    CASE(vfork),
    CASE(spawn),
    CASE(fork_storm),
    CASE(fork_while_loading),
    CASE(exec),
    CASE(exec_missing),
    CASE(exec_fails),
    CASE(exec_environment),
    CASE(close_all),
    CASE(close_listed),
    CASE(look_at_all),
    CASE(dup_onto),
    CASE(raw_close),
    CASE(names),
    CASE(thread_ends),
    CASE(main_thread_leaves),
    CASE(exit_under_load),
    CASE(exit_handler),
    CASE(quick_exit),
    CASE(abort),
    CASE(handler_in_wait),
    CASE(vfork_in_wait),
    CASE(jump_out_of_wait),
    CASE(jump_out_of_cold_call),
    CASE(signal_storm),
    CASE(exit_while_forking),
    CASE(locked_memory),
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].function();
            return 0;
        }
    }
    fprintf(stderr, "lifecycle: unknown case\n");
    return 2;
}
