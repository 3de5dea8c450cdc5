/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - makes each wrapped call that need not wait for another thread: successfully, with an error, and
 * interrupted. Prints the results. With and without the preload library the output is the same.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netdb.h>
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
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* Sets errno before each call, so that the output shows if a wrapper changes errno. */
#define SHOW(call)                                                                                                     \
    do {                                                                                                               \
        long long outcome;                                                                                             \
        errno = 123;                                                                                                   \
        outcome = (long long)(call);                                                                                   \
        printf("%-62s %lld errno %d\n", #call, outcome, errno);                                                        \
        fflush(stdout);                                                                                                \
    } while (0)

static char buffer[256];
static struct iovec part = {buffer, 8};
static const struct timespec tiny = {.tv_nsec = 1000};
static const struct timespec past = {.tv_sec = 1};

static int file_with(const char *text)
{
    char path[] = "/tmp/rip-calls-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);

    unlink(path);
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    lseek(fd, 0, SEEK_SET);
    return dup2(fd, 100) == 100 ? 100 : fd;
}

static void show_files(void)
{
    int fd = file_with("0123456789abcdef"), to = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    eventfd_t value = 0;
    off_t offset = 2;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 4};

    SHOW(read(fd, buffer, 3));
    SHOW(readv(fd, &part, 1));
    SHOW(pread(fd, buffer, 3, 5));
    SHOW(pread64(fd, buffer, 3, 5));
    SHOW(preadv(fd, &part, 1, 4));
    SHOW(preadv2(fd, &part, 1, 4, 0));
    SHOW(preadv2(fd, &part, 1, 4, 0x40000000));
    SHOW(read(-1, buffer, 3));
    SHOW(eventfd_write(event, 5));
    SHOW(eventfd_read(event, &value));
    SHOW(value);
    SHOW(eventfd_read(event, &value));
    SHOW(eventfd_write(-1, 5));
    SHOW(write(fd, "xy", 2));
    SHOW(writev(fd, &part, 1));
    SHOW(pwrite(fd, "xy", 2, 1));
    SHOW(pwrite64(fd, "xy", 2, 1));
    SHOW(pwritev(fd, &part, 1, 1));
    SHOW(pwritev2(fd, &part, 1, 1, 0));
    SHOW(write(-1, "x", 1));
    SHOW(sendfile(to, fd, &offset, 4));
    SHOW(copy_file_range(fd, NULL, -1, NULL, 1, 0));
    SHOW(fsync(fd));
    SHOW(fdatasync(fd));
    SHOW(fsync(-1));
    SHOW(syncfs(-1));
    SHOW(sync_file_range(fd, 0, 4, SYNC_FILE_RANGE_WRITE));
    SHOW(msync((void *)1, 4096, MS_SYNC));
    SHOW(flock(fd, LOCK_EX | LOCK_NB));
    SHOW(flock(-1, LOCK_EX));
    SHOW(lockf(fd, F_TLOCK, 4));
    SHOW(fcntl(fd, F_SETLKW, &lock));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(fd, F_SETFD, FD_CLOEXEC));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(fd, F_DUPFD, 200));
    SHOW(fcntl(fd, F_SETLKW, (void *)1));
    SHOW(fcntl(-1, F_GETFL));
    SHOW(close(200));
    SHOW(close(200));
    SHOW(dup2(-1, 5));
    SHOW(dup2(fd, -1));
    SHOW(dup2(fd, fd));
    SHOW(dup3(fd, fd, 0));
    SHOW(close_range(5, 4, 0));
    SHOW(close_range(1000, 2000, CLOSE_RANGE_CLOEXEC));
    SHOW(close(fd));
    close(to);
}

static void show_opening(void)
{
    struct stat status;

    SHOW(open("/nonexistent/file", O_RDONLY));
    SHOW(close(open("/dev/null", O_RDONLY)));
    SHOW(close(open64("/dev/null", O_RDONLY)));
    SHOW(close(openat(-1, "/dev/null", O_RDONLY)));
    SHOW(openat(-1, "null", O_RDONLY));
    SHOW(close(openat64(AT_FDCWD, "/dev/null", O_RDONLY)));
    SHOW(close(open("/tmp", O_TMPFILE | O_RDWR, 0600)));
    SHOW(fstat(open("/tmp", O_TMPFILE | O_RDWR, 0421), &status));
    SHOW(status.st_mode);
    SHOW(fstat(openat(AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0421), &status));
    SHOW(status.st_mode);
    SHOW(creat("/nonexistent/file", 0600));
    SHOW(creat64("/", 0600));
    SHOW(fclose(fopen("/dev/null", "r")));
    SHOW(fclose(fopen64("/dev/null", "r")));
    SHOW(fopen("/nonexistent/file", "r") == NULL);
}

static void show_sockets(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/nonexistent/socket"};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    struct pollfd pollfd;
    struct epoll_event event = {.events = EPOLLIN};
    struct timeval moment = {.tv_usec = 1};
    int pair[2], pipes[2], epoll = epoll_create1(EPOLL_CLOEXEC);
    fd_set set;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || pipe2(pipes, O_CLOEXEC) != 0)
        abort();
    SHOW(send(pair[0], "abcdefgh", 8, 0));
    SHOW(sendto(pair[0], "abcdefgh", 8, 0, NULL, 0));
    SHOW(sendmsg(pair[0], &message, 0));
    SHOW(sendmmsg(pair[0], &messages, 1, 0));
    SHOW(recv(pair[1], buffer, 3, 0));
    SHOW(recvfrom(pair[1], buffer, 3, 0, NULL, NULL));
    SHOW(recvmsg(pair[1], &message, 0));
    SHOW(recvmmsg(pair[1], &messages, 1, 0, NULL));
    SHOW(recv(pair[0], buffer, 3, MSG_DONTWAIT));
    SHOW(recv(-1, buffer, 3, 0));
    SHOW(connect(pair[0], (struct sockaddr *)&address, sizeof(address)));
    SHOW(connect(-1, (struct sockaddr *)&address, sizeof(address)));
    SHOW(accept(pair[0], NULL, NULL));
    SHOW(accept4(-1, NULL, NULL, 0));
    pollfd = (struct pollfd){.fd = pair[1], .events = POLLIN};
    SHOW(poll(&pollfd, 1, -1));
    SHOW(poll(NULL, 0, 1));
    SHOW(ppoll(&pollfd, 1, &tiny, NULL));
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    SHOW(select(pair[0] + 1, &set, NULL, NULL, &moment));
    SHOW(pselect(0, NULL, NULL, NULL, &tiny, NULL));
    SHOW(select(-1, NULL, NULL, NULL, NULL));
    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[1], &event);
    SHOW(epoll_wait(epoll, &event, 1, -1));
    SHOW(epoll_pwait(epoll, &event, 1, -1, NULL));
    SHOW(epoll_pwait2(epoll, &event, 1, NULL, NULL));
    SHOW(epoll_wait(-1, &event, 1, -1));
    SHOW(write(pipes[1], "abcd", 4));
    SHOW(splice(pipes[0], NULL, -1, NULL, 1, 0));
    SHOW(tee(pipes[0], -1, 1, 0));
    SHOW(vmsplice(pipes[1], &part, 1, 0));
}

static void show_locks(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_spinlock_t spinlock;
    pthread_barrier_t barrier;
    cnd_t c11_condition;
    mtx_t c11_mutex;
    sem_t semaphore;

    SHOW(pthread_mutex_lock(&mutex));
    SHOW(pthread_mutex_lock(&mutex));
    SHOW(pthread_cond_timedwait(&condition, &mutex, &past));
    SHOW(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past));
    SHOW(pthread_mutex_unlock(&mutex));
    SHOW(pthread_mutex_timedlock(&mutex, &past));
    SHOW(pthread_mutex_lock(&plain));
    SHOW(pthread_mutex_timedlock(&plain, &past));
    SHOW(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &past));
    SHOW(pthread_rwlock_wrlock(&rwlock));
    SHOW(pthread_rwlock_rdlock(&rwlock));
    SHOW(pthread_rwlock_timedrdlock(&rwlock, &past));
    SHOW(pthread_rwlock_wrlock(&rwlock));
    pthread_rwlock_unlock(&rwlock);
    SHOW(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past));
    SHOW(pthread_rwlock_timedwrlock(&rwlock, &past));
    SHOW(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past));
    pthread_spin_init(&spinlock, 0);
    SHOW(pthread_spin_lock(&spinlock));
    pthread_barrier_init(&barrier, NULL, 1);
    SHOW(pthread_barrier_wait(&barrier));
    mtx_init(&c11_mutex, mtx_timed);
    cnd_init(&c11_condition);
    SHOW(mtx_lock(&c11_mutex));
    SHOW(mtx_timedlock(&c11_mutex, &past));
    SHOW(cnd_timedwait(&c11_condition, &c11_mutex, &past));
    sem_init(&semaphore, 0, 1);
    SHOW(sem_wait(&semaphore));
    SHOW(sem_timedwait(&semaphore, &past));
    SHOW(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
}

static void show_system_calls(void)
{
    uint32_t word = 1;
    char *memory;

    SHOW(syscall(SYS_getpid) == getpid());
    SHOW(syscall(SYS_gettid) == gettid());
    SHOW(syscall(-1));
    SHOW(syscall(SYS_close, -1));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &tiny));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 1, &past, NULL, -1));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 1, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAKE, 1));
    word = 0;
    SHOW(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL));
    SHOW(word == (uint32_t)gettid());
    SHOW(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL));
    SHOW(syscall(SYS_io_uring_enter, -1, 0, 1, 1, NULL, 0));
    SHOW(syscall(SYS_epoll_pwait, -1, NULL, 1, -1, NULL, 8));
    memory = (char *)syscall(SYS_mmap, NULL, 8192, PROT_READ, MAP_PRIVATE, 100, 4096); /* uses all six arguments */
    SHOW(memory == MAP_FAILED);
}

static void *nothing(void *argument)
{
    return argument;
}

static int nothing_c11(void *argument)
{
    return argument != NULL;
}

static void show_threads(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    thrd_t c11;
    void *result;
    int number;

    SHOW(pthread_create(&thread, NULL, nothing, buffer));
    SHOW(pthread_join(thread, &result));
    SHOW(result == buffer);
    SHOW(pthread_create(&thread, NULL, nothing, NULL));
    usleep(1000);
    SHOW(pthread_timedjoin_np(thread, NULL, &past) % ETIMEDOUT);
    SHOW(pthread_join(pthread_self(), NULL));
    SHOW(thrd_create(&c11, nothing_c11, buffer));
    SHOW(thrd_join(c11, &number));
    SHOW(number);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1UL << 46);
    SHOW(pthread_create(&thread, &attributes, nothing, NULL));
    pthread_attr_setstacksize(&attributes, 16384);
    SHOW(pthread_create(&thread, &attributes, nothing, NULL));
    SHOW(pthread_join(thread, NULL));
    SHOW(pthread_setname_np(pthread_self(), "sixteen bytes...."));
    SHOW(prctl(PR_SET_NAME, "a name longer than the kernel keeps"));
    SHOW(prctl(PR_GET_NAME, buffer));
    SHOW(strcmp(buffer, "a name longer t"));
    SHOW(prctl(-1));
    SHOW(prctl(PR_SET_NAME, 1UL));
}

static void show_processes(void)
{
    char *const no_arguments[] = {NULL};
    siginfo_t info;
    int status = 0;
    pid_t pid;

#define CHILD(code) ((pid = fork()) == 0 ? (_exit(code), 0) : 0)
    SHOW(wait(&status));
    CHILD(3);
    SHOW(wait(&status) == pid);
    SHOW(WEXITSTATUS(status));
    CHILD(4);
    SHOW(waitpid(pid, &status, 0) == pid);
    SHOW(WEXITSTATUS(status));
    CHILD(5);
    SHOW(wait3(&status, 0, NULL) == pid);
    CHILD(6);
    SHOW(wait4(pid, &status, 0, NULL) == pid);
    CHILD(7);
    SHOW(waitid(P_PID, (id_t)pid, &info, WEXITED));
    SHOW(info.si_status);
    SHOW(waitpid(-1, NULL, WNOHANG));
    SHOW(system("exit 3"));
    SHOW(system(NULL));
    SHOW(pclose(popen("exit 4", "r")));
    SHOW(execve("/proc/nonexistent", no_arguments, no_arguments));
    SHOW(execv("/", no_arguments));
    SHOW(execvp("rip-no-such-program", no_arguments));
    SHOW(execvp("", no_arguments));
    SHOW(execvpe("/etc/passwd", no_arguments, environ));
    SHOW(execl("/etc/passwd", "x", NULL));
    SHOW(execlp("/etc/passwd", "x", NULL));
    SHOW(execle("/etc/passwd", "x", NULL, environ));
    SHOW(execveat(AT_FDCWD, "etc-nothing", no_arguments, environ, 0));
    SHOW(execveat(-1, "", no_arguments, environ, AT_EMPTY_PATH));
    SHOW(fexecve(-1, no_arguments, environ));
}

/* The compiler does not know these sizes, so with fortification these calls become the _chk functions. */
static void show_checked(void)
{
    size_t three = 3, one = 1;
    struct pollfd pollfds[2] = {{.fd = -1}, {.fd = -1}};
    int fd = file_with("0123456789"), flags = O_RDONLY | O_CLOEXEC, pair[2];

    __asm__("" : "+r"(three), "+r"(one), "+r"(flags));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        abort();
    SHOW(read(fd, buffer, three));
    SHOW(pread(fd, buffer, three, 4));
    SHOW(pread64(fd, buffer, three, 4));
    SHOW(send(pair[1], "abcdefgh", 8, 0));
    SHOW(recv(pair[0], buffer, three, 0));
    SHOW(recvfrom(pair[0], buffer, three, 0, NULL, NULL));
    SHOW(close(open("/dev/null", flags)));
    SHOW(close(open64("/dev/null", flags)));
    SHOW(close(openat(AT_FDCWD, "/dev/null", flags)));
    SHOW(openat64(-1, "null", flags));
    SHOW(poll(pollfds, one, 1));
    SHOW(ppoll(pollfds, one, &tiny, NULL));
    SHOW(close(fd));
}

static void handler(int number)
{
    (void)number;
    errno = 77; /* like a handler that does not preserve errno */
}

/* A SIGALRM arrives in the middle of each of these calls. */
static void show_interrupted(void)
{
    struct sigaction action = {.sa_handler = handler};
    struct timespec long_time = {.tv_sec = 10}, left = {0};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec soon;
    sigset_t none;
    sem_t semaphore;
    int fds[2];

    sigemptyset(&none);
    sem_init(&semaphore, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    if (pipe2(fds, O_CLOEXEC) != 0)
        abort();
#define INTERRUPTED(call)                                                                                              \
    do {                                                                                                               \
        struct itimerval timer = {.it_value = {.tv_usec = 20000}};                                                     \
        setitimer(ITIMER_REAL, &timer, NULL);                                                                          \
        SHOW(call);                                                                                                    \
    } while (0)
    INTERRUPTED(poll(NULL, 0, -1));
    INTERRUPTED(select(0, NULL, NULL, NULL, NULL));
    INTERRUPTED(pause());
    INTERRUPTED(sigsuspend(&none));
    INTERRUPTED(sleep(10) >= 9);
    INTERRUPTED(usleep(900000));
    INTERRUPTED(nanosleep(&long_time, &left));
    SHOW(left.tv_sec);
    INTERRUPTED(clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL));
    INTERRUPTED(thrd_sleep(&long_time, NULL));
    INTERRUPTED(sem_wait(&semaphore));
    INTERRUPTED(read(fds[0], buffer, 1));
    pthread_mutex_lock(&mutex);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += soon.tv_nsec > 900000000;
    soon.tv_nsec = (soon.tv_nsec + 100000000) % 1000000000;
    INTERRUPTED(pthread_cond_timedwait(&condition, &mutex, &soon));
}

static void show_rest(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *list;
    struct sembuf no_operation = {0};
    siginfo_t info;
    sigset_t set;
    int number;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    SHOW(sigwait(&set, &number));
    SHOW(number);
    raise(SIGUSR1);
    SHOW(sigwaitinfo(&set, &info));
    SHOW(sigtimedwait(&set, &info, &tiny));
    SHOW(mq_receive(-1, buffer, 1, NULL));
    SHOW(mq_send(-1, buffer, 1, 0));
    SHOW(mq_timedreceive(-1, buffer, 1, NULL, &past));
    SHOW(mq_timedsend(-1, buffer, 1, 0, &past));
    SHOW(msgrcv(-1, buffer, 1, 0, 0));
    SHOW(msgsnd(-1, "\1\0\0\0\0\0\0\0x", 1, 0));
    SHOW(semop(-1, &no_operation, 1));
    SHOW(semtimedop(-1, &no_operation, 1, &tiny));
    SHOW(getaddrinfo("127.0.0.1", NULL, &hints, &list));
    SHOW(getaddrinfo("no number", NULL, &hints, &list));
    SHOW(getnameinfo((struct sockaddr *)&address, sizeof(address), buffer, sizeof(buffer), NULL, 0, NI_NUMERICHOST));
    SHOW(strcmp(buffer, "0.0.0.0"));
    SHOW(gethostbyname("127.0.0.1")->h_length);
    SHOW(usleep(1));
    SHOW(nanosleep(&tiny, NULL));
    SHOW(nanosleep(&(struct timespec){.tv_nsec = -1}, NULL));
    SHOW(sleep(0));
}

int main(void)
{
    show_files();
    show_opening();
    show_sockets();
    show_locks();
    show_system_calls();
    show_threads();
    show_processes();
    show_checked();
    show_interrupted();
    show_rest();
    return 0;
}
