/* SPDX-License-Identifier: Apache-2.0 */
/*
 * park.c - one thread in each kind of wait, named after how the preload library should classify it: "i:..." is idle,
 * "b:..." is busy. "b:spin" spins after an idle call has returned. Prints "ready", and ends when stdin does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t c11_mutex, c11_held;
static cnd_t c11_condition;
static int silent_pipe[2], full_pipe[2], quiet_socket;
static pthread_t first_thread;
static char lock_path[] = "/tmp/rip-park-XXXXXX";
static char nobody_path[sizeof(lock_path) + 5]; /* a FIFO without a writer */
static uint32_t held_futex;                     /* the main thread holds this futex */

static struct timespec far_away(clockid_t clock)
{
    struct timespec until;

    clock_gettime(clock, &until);
    until.tv_sec += 1000;
    return until;
}

static void wait_condition(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
}

static void wait_condition_until(void)
{
    pthread_cond_t own = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec until = far_away(CLOCK_REALTIME);

    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&own, &mutex, &until);
}

static void wait_condition_clock(void)
{
    pthread_cond_t own = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec until = far_away(CLOCK_MONOTONIC);

    pthread_mutex_lock(&mutex);
    pthread_cond_clockwait(&own, &mutex, CLOCK_MONOTONIC, &until);
}

static void wait_c11_condition(void)
{
    mtx_lock(&c11_mutex);
    cnd_wait(&c11_condition, &c11_mutex);
}

static void wait_poll(void)
{
    struct pollfd fds = {.fd = silent_pipe[0], .events = POLLIN};

    poll(&fds, 1, -1);
}

static void wait_ppoll(void)
{
    struct pollfd fds = {.fd = silent_pipe[0], .events = POLLIN};

    ppoll(&fds, 1, NULL, NULL);
}

static void wait_select(void)
{
    fd_set set;

    FD_ZERO(&set);
    FD_SET(silent_pipe[0], &set);
    select(silent_pipe[0] + 1, &set, NULL, NULL, NULL);
}

static void wait_epoll(void)
{
    struct epoll_event event;

    epoll_wait(epoll_create1(0), &event, 1, -1);
}

static void wait_accept(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    listen(fd, 1);
    accept(fd, NULL, NULL);
}

static void wait_semaphore(void)
{
    sem_wait(&semaphore);
}

static void wait_semaphore_until(void)
{
    struct timespec until = far_away(CLOCK_REALTIME);

    sem_timedwait(&semaphore, &until);
}

static void wait_join(void)
{
    pthread_join(first_thread, NULL);
}

static void wait_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        char byte;

        close(silent_pipe[1]);
        (void)!read(STDIN_FILENO, &byte, 1);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void wait_command(void)
{
    (void)!system("read ignored");
}

static void wait_stream(void)
{
    pclose(popen("read ignored", "r"));
}

static void wait_signal(void)
{
    sigset_t set;
    int number;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigwait(&set, &number);
}

static void wait_pause(void)
{
    pause();
}

static void wait_futex(void)
{
    uint32_t word = 0;

    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

/* If io_uring is not available, waits in epoll, which is also idle. */
static void wait_io_uring(void)
{
    struct io_uring_params parameters = {0};
    struct epoll_event event;
    long ring = syscall(SYS_io_uring_setup, 1, &parameters);

    if (ring >= 0)
        syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    else
        syscall(SYS_epoll_pwait, epoll_create1(0), &event, 1, -1, NULL, 8);
}

static void work_futex_pi(void)
{
    syscall(SYS_futex, &held_futex, FUTEX_LOCK_PI, 0, NULL);
}

static void work_open(void)
{
    open(nobody_path, O_RDONLY | O_CLOEXEC);
}

static void work_fopen(void)
{
    fopen(nobody_path, "r");
}

static void work_read(void)
{
    char byte;

    (void)!read(silent_pipe[0], &byte, 1);
}

static void work_recv(void)
{
    char byte;

    recv(quiet_socket, &byte, 1, 0);
}

static void work_write(void)
{
    static const char block[1 << 20];

    (void)!write(full_pipe[1], block, sizeof(block));
}

static void work_mutex(void)
{
    pthread_mutex_lock(&held_mutex);
}

static void work_c11_mutex(void)
{
    mtx_lock(&c11_held);
}

static void work_rwlock(void)
{
    pthread_rwlock_wrlock(&rwlock);
}

static void work_barrier(void)
{
    pthread_barrier_wait(&barrier);
}

static void work_flock(void)
{
    flock(open(lock_path, O_RDWR | O_CLOEXEC), LOCK_EX);
}

static void work_fcntl(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

    fcntl(open(lock_path, O_RDWR | O_CLOEXEC), F_OFD_SETLKW, &lock);
}

static void work_sleep(void)
{
    sleep(1000);
}

static void work_nanosleep(void)
{
    struct timespec duration = {.tv_sec = 1000};

    nanosleep(&duration, NULL);
}

static void work_thread_sleep(void)
{
    thrd_sleep(&(struct timespec){.tv_sec = 1000}, NULL);
}

static void work_eventfd(void)
{
    eventfd_t value;

    eventfd_read(eventfd(0, EFD_CLOEXEC), &value);
}

static void work_spin(void)
{
    poll(NULL, 0, 1);
    for (;;)
        __asm__ volatile("pause");
}

static const struct {
    const char *name;
    void (*wait)(void);
} places[] = {
    {"i:cond_wait", wait_condition},
    {"i:cond_timed", wait_condition_until},
    {"i:cond_clock", wait_condition_clock},
    {"i:cnd_wait", wait_c11_condition},
    {"i:poll", wait_poll},
    {"i:ppoll", wait_ppoll},
    {"i:select", wait_select},
    {"i:epoll", wait_epoll},
    {"i:accept", wait_accept},
    {"i:sem_wait", wait_semaphore},
    {"i:sem_timed", wait_semaphore_until},
    {"i:join", wait_join},
    {"i:waitpid", wait_child},
    {"i:system", wait_command},
    {"i:pclose", wait_stream},
    {"i:sigwait", wait_signal},
    {"i:pause", wait_pause},
    {"i:futex", wait_futex},
    {"i:io_uring", wait_io_uring},
    {"b:futex_pi", work_futex_pi},
    {"b:open", work_open},
    {"b:fopen", work_fopen},
    {"b:read", work_read},
    {"i:recv", work_recv},
    {"b:write", work_write},
    {"b:mutex", work_mutex},
    {"b:mtx", work_c11_mutex},
    {"b:rwlock", work_rwlock},
    {"b:barrier", work_barrier},
    {"b:flock", work_flock},
    {"b:fcntl", work_fcntl},
    {"b:sleep", work_sleep},
    {"b:nanosleep", work_nanosleep},
    {"b:thrd_sleep", work_thread_sleep},
    {"i:eventfd", work_eventfd},
    {"b:spin", work_spin},
};

static void *thread_main(void *argument)
{
    size_t i = (size_t)argument;

    pthread_setname_np(pthread_self(), places[i].name);
    places[i].wait();
    return NULL;
}

static void set_up(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    int sockets[2], fd;

    if (pipe(silent_pipe) != 0 || pipe(full_pipe) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        abort();
    quiet_socket = sockets[0];
    pthread_mutex_lock(&held_mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    mtx_init(&c11_mutex, mtx_plain);
    mtx_init(&c11_held, mtx_plain);
    mtx_lock(&c11_held);
    cnd_init(&c11_condition);
    fd = mkostemp(lock_path, O_CLOEXEC);
    flock(fd, LOCK_EX);
    fcntl(fd, F_OFD_SETLK, &lock);
    snprintf(nobody_path, sizeof(nobody_path), "%s.pipe", lock_path);
    if (mkfifo(nobody_path, 0600) != 0)
        abort();
    held_futex = (uint32_t)gettid();
}

int main(void)
{
    char byte;

    set_up();
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, thread_main, (void *)i) != 0)
            abort();
        if (i == 0)
            first_thread = thread;
    }
    usleep(300000);
    (void)!write(STDOUT_FILENO, "ready\n", 6);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    unlink(lock_path);
    unlink(nobody_path);
    _exit(0);
}
