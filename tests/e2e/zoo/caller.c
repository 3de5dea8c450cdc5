/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller.c - a program without knowledge of librip, for `rip run`. caller KIND prints "ready" and waits in one call for
 * ever. The kinds are a table; test_preloaded.py has the verdict on each.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static char byte, bytes[256]; /* larger than byte because eventfd, timerfd and signalfd refuse short reads */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static int need(int result, const char *what)
{
    if (result < 0) {
        printf("cannot: %s: %s\n", what, strerror(errno));
        exit(1);
    }
    return result;
}

static void ready(void)
{
    printf("ready\n");
}

static void receive(int fd)
{
    ready();
    need((int)read(fd, bytes, sizeof(bytes)), "read");
}

/* --- inputs ------------------------------------------------------------------------------------------------------ */

static void wait_terminal(void)
{
    int master = need(posix_openpt(O_RDWR | O_NOCTTY), "terminal");

    need(grantpt(master), "terminal");
    need(unlockpt(master), "terminal");
    receive(need(open(ptsname(master), O_RDWR | O_NOCTTY), "terminal"));
}

static void wait_pipe(void)
{
    int pair[2];

    need(pipe(pair), "pipe");
    receive(pair[0]);
}

/* The other end is not open yet. A reader is a server, a writer waits for a reader. */
static void open_fifo(int flags)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/dev/shm/rip-caller-%d", (int)getpid());
    need(mkfifo(path, 0600), "fifo");
    fd = need(open(path, O_PATH), "path");
    unlink(path);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ready();
    need(open(path, flags), "open");
}

static void wait_fifo_open(void)
{
    open_fifo(O_RDONLY);
}

static void wait_fifo_write(void)
{
    open_fifo(O_WRONLY);
}

/* Another process may write to it. */
static void wait_fifo(void)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/dev/shm/rip-caller-%d", (int)getpid());
    need(mkfifo(path, 0600), "fifo");
    fd = need(open(path, O_RDONLY | O_NONBLOCK), "open");
    if (need(fork(), "fork") == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        need(open(path, O_WRONLY), "open");
        close(fd);
        pause();
    }
    poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 200); /* until the other end is open */
    need(fcntl(fd, F_SETFL, 0), "flags");
    unlink(path);
    receive(fd);
}

/* Like a filter in a pipeline: another process created the pipe. */
static void wait_stdin(void)
{
    receive(STDIN_FILENO);
}

static void wait_eventfd(void)
{
    receive(need(eventfd(0, 0), "eventfd"));
}

static void wait_timerfd(void)
{
    receive(need(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd"));
}

static void wait_signalfd(void)
{
    sigset_t none;

    sigemptyset(&none);
    receive(need(signalfd(-1, &none, 0), "signalfd"));
}

static void wait_inotify(void)
{
    receive(need(inotify_init(), "inotify"));
}

static void wait_netlink(void)
{
    receive(need(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "netlink"));
}

static void wait_datagram(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = need(socket(AF_INET, SOCK_DGRAM, 0), "socket");

    need(bind(fd, (struct sockaddr *)&address, sizeof(address)), "bind");
    ready();
    recvfrom(fd, &byte, 1, 0, NULL, NULL);
}

static void wait_pair(void)
{
    int pair[2];

    need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "pair");
    receive(pair[0]);
}

/* --- connections ------------------------------------------------------------------------------------------------- */

struct connection {
    int client;
    int server;
};

static int listen_tcp(struct sockaddr_in *ret_address)
{
    socklen_t length = sizeof(*ret_address);
    int fd = need(socket(AF_INET, SOCK_STREAM, 0), "socket");

    *ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    need(bind(fd, (struct sockaddr *)ret_address, length), "bind");
    need(listen(fd, 8), "listen");
    need(getsockname(fd, (struct sockaddr *)ret_address, &length), "name");
    return fd;
}

static struct connection connect_tcp(void)
{
    struct connection connection;
    struct sockaddr_in address;
    int listener = listen_tcp(&address);

    connection.client = need(socket(AF_INET, SOCK_STREAM, 0), "socket");
    need(connect(connection.client, (struct sockaddr *)&address, sizeof(address)), "connect");
    connection.server = need(accept(listener, NULL, NULL), "accept");
    return connection;
}

static struct connection connect_unix(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct connection connection;
    int listener = need(socket(AF_UNIX, SOCK_STREAM, 0), "socket");

    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "rip-caller-%d", (int)getpid());
    need(bind(listener, (struct sockaddr *)&address, sizeof(address)), "bind");
    need(listen(listener, 8), "listen");
    connection.client = need(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
    need(connect(connection.client, (struct sockaddr *)&address, sizeof(address)), "connect");
    connection.server = need(accept(listener, NULL, NULL), "accept");
    return connection;
}

static void wait_accepted(void)
{
    receive(connect_tcp().server);
}

static void wait_unix_accepted(void)
{
    receive(connect_unix().server);
}

/* Like a server started by inetd: another program passes one end of a connection as standard input. */
static void execute_with(int fd)
{
    need(dup2(fd, STDIN_FILENO), "copy");
    need(execl("/proc/self/exe", "caller", "stdin", (char *)NULL), "execute");
}

static void wait_inherited(void)
{
    execute_with(connect_tcp().server);
}

static void wait_inherited_six(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t length = sizeof(address);
    int listener = need(socket(AF_INET6, SOCK_STREAM, 0), "socket"),
        client = need(socket(AF_INET6, SOCK_STREAM, 0), "");

    need(bind(listener, (struct sockaddr *)&address, length), "bind");
    need(listen(listener, 8), "listen");
    need(getsockname(listener, (struct sockaddr *)&address, &length), "name");
    need(connect(client, (struct sockaddr *)&address, length), "connect");
    execute_with(need(accept(listener, NULL, NULL), "accept"));
}

static void wait_inherited_reply(void)
{
    execute_with(connect_tcp().client);
}

static void wait_reply(void)
{
    receive(connect_tcp().client);
}

static void wait_copied_reply(void)
{
    int copy = need(fcntl(connect_tcp().client, F_DUPFD_CLOEXEC, 40), "copy");

    receive(need(dup2(copy, 50), "copy"));
}

static void wait_unix_reply(void)
{
    receive(connect_unix().client);
}

/* The descriptor of a closed client connection is now a connection of a server. */
static void wait_reused(void)
{
    struct connection connection = connect_tcp();

    need(dup(connection.client), "copy");
    need(dup2(connection.server, connection.client), "copy");
    receive(connection.client);
}

static void send_request(int fd)
{
    need((int)write(fd, "?", 1), "write");
}

static void *send_one(void *fd)
{
    send_request(*(const int *)fd);
    return NULL;
}

/* Other threads send the requests, this thread receives all answers. It also waits between requests. */
static int connect_reader(void)
{
    static int fd;
    pthread_t sender;

    fd = connect_tcp().client;
    need(-pthread_create(&sender, NULL, send_one, &fd), "thread");
    pthread_join(sender, NULL);
    return fd;
}

static void wait_reader(void)
{
    receive(connect_reader());
}

static void wait_poll_reader(void)
{
    struct pollfd only = {.fd = connect_reader(), .events = POLLIN};

    ready();
    poll(&only, 1, -1);
}

/* The thread was a reader before it sent a request of its own. */
static void wait_reader_reply(void)
{
    int fd = connect_reader();

    send_request(fd);
    receive(fd);
}

static void *rename_for_ever(void *thread)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    char name[16];

    for (unsigned i = 0;; i++) {
        snprintf(name, sizeof(name), "name-%u", i % 10000);
        pthread_setname_np(*(const pthread_t *)thread, name);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Another thread renames this thread all the time. */
static void wait_renamed(void)
{
    static pthread_t self;
    int fd = connect_tcp().client;
    pthread_t other;

    self = pthread_self();
    send_request(fd);
    need(-pthread_create(&other, NULL, rename_for_ever, &self), "thread");
    receive(fd);
}

static void wait_poll_reply(void)
{
    struct pollfd only = {.fd = connect_tcp().client, .events = POLLIN};

    send_request(only.fd);
    ready();
    poll(&only, 1, 3600000);
}

static void wait_select_reply(void)
{
    int fd = connect_tcp().client;
    fd_set set;

    FD_ZERO(&set);
    FD_SET(fd, &set);
    send_request(fd);
    ready();
    select(fd + 1, &set, NULL, NULL, NULL);
}

/* The thread has sent no request. */
static void wait_poll_push(void)
{
    struct pollfd only = {.fd = connect_tcp().client, .events = POLLIN};

    ready();
    poll(&only, 1, -1);
}

static void wait_select_many(void)
{
    int ends[2];
    fd_set set;

    need(pipe(ends), "pipe");
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    FD_SET(STDIN_FILENO, &set);
    ready();
    select(ends[0] + 1, &set, NULL, NULL, NULL);
}

static void wait_pause(void)
{
    ready();
    pause();
}

/* In its own network namespace, with a name server that never answers. */
static void wait_names(void)
{
    const struct sockaddr_in server = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(53)};
    static const char settings[] = "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n";
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    char path[] = "/tmp/rip-caller-XXXXXX";
    struct addrinfo *found;
    int file, fd;

    need(unshare(CLONE_NEWNS | CLONE_NEWNET), "network");
    need(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount");
    file = need(mkstemp(path), "file");
    need((int)write(file, settings, sizeof(settings) - 1), "write");
    need(mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL), "mount");
    fd = need(socket(AF_INET, SOCK_DGRAM, 0), "socket");
    need(ioctl(fd, SIOCSIFFLAGS, &loopback), "loopback");
    need(bind(fd, (const struct sockaddr *)&server, sizeof(server)), "bind");
    unlink(path);
    ready();
    getaddrinfo("silent.example", "80", NULL, &found);
}

/* The queue of the server is full. */
static void wait_connect(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int server = need(socket(AF_UNIX, SOCK_STREAM, 0), "socket");

    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "rip-caller-%d", (int)getpid());
    need(bind(server, (struct sockaddr *)&name, sizeof(name)), "bind");
    need(listen(server, 0), "listen");
    while (connect(need(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket"), (struct sockaddr *)&name,
                   sizeof(name)) == 0)
        ;
    ready();
    connect(need(socket(AF_UNIX, SOCK_STREAM, 0), "socket"), (struct sockaddr *)&name, sizeof(name));
}

/* The buffer is full, and the peer does not read. */
static void wait_send(void)
{
    int ends[2];

    need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "pair");
    while (send(ends[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
    ready();
    send(ends[0], bytes, sizeof(bytes), 0);
}

static void *stop_later(void *unused)
{
    usleep(200000);
    kill(getpid(), SIGSTOP);
    return unused;
}

/* A stopped thread is not idle, although it waits for work. */
static void wait_stopped(void)
{
    struct epoll_event event;
    pthread_t other;
    int fd = need(epoll_create1(0), "epoll");

    ready();
    need(-pthread_create(&other, NULL, stop_later, NULL), "thread");
    epoll_wait(fd, &event, 1, -1);
}

static void wait_poll_many(void)
{
    struct connection connection = connect_tcp();
    struct pollfd both[] = {{.fd = connection.client, .events = POLLIN}, {.fd = connection.client, .events = POLLIN}};

    send_request(connection.client);
    ready();
    poll(both, 2, -1);
}

/* --- work -------------------------------------------------------------------------------------------------------- */

static void wait_accept(void)
{
    struct sockaddr_in address;
    int listener = listen_tcp(&address);

    ready();
    accept(listener, NULL, NULL);
}

static void wait_epoll(void)
{
    struct epoll_event event;
    int fd = need(epoll_create1(0), "epoll");

    ready();
    epoll_wait(fd, &event, 1, -1);
}

static void wait_condition(void)
{
    pthread_mutex_lock(&mutex);
    ready();
    pthread_cond_wait(&condition, &mutex);
}

static void wait_semaphore(void)
{
    sem_t semaphore;

    need(sem_init(&semaphore, 0, 0), "semaphore");
    ready();
    sem_wait(&semaphore);
}

static void *wait_in_thread(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&condition, &mutex);
    return NULL;
}

static pthread_t start(void *(*run)(void *))
{
    pthread_t thread;

    if ((errno = pthread_create(&thread, NULL, run, NULL)) != 0)
        need(-1, "thread");
    return thread;
}

/*
 * One thread waits for the other, which waits for a condition, and the third for a semaphore: no thread can wake them.
 */
static void *wait_for_semaphore(void *unused)
{
    sem_t semaphore;

    (void)unused;
    sem_init(&semaphore, 0, 0);
    sem_wait(&semaphore);
    return NULL;
}

static void wait_stuck(void)
{
    pthread_t thread = start(wait_in_thread);

    start(wait_for_semaphore);
    ready();
    pthread_join(thread, NULL);
}

/* The same, but another process may post the semaphore. */
static void wait_shared_semaphore(void)
{
    sem_t semaphore;

    start(wait_in_thread);
    start(wait_in_thread);
    need(sem_init(&semaphore, 1, 0), "semaphore");
    ready();
    sem_wait(&semaphore);
}

/* The same, but one of them waits for work from outside. */
static void *wait_at_poll(void *unused)
{
    (void)unused;
    poll(NULL, 0, -1);
    return NULL;
}

static void wait_workers(void)
{
    start(wait_in_thread);
    start(wait_at_poll);
    ready();
    wait_in_thread(NULL);
}

/* Only two threads. */
static void wait_joined(void)
{
    pthread_t thread = start(wait_in_thread);

    ready();
    pthread_join(thread, NULL);
}

static void wait_child(void)
{
    pid_t child = need(fork(), "fork");

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
    }
    ready();
    waitpid(child, NULL, 0);
}

static void wait_signal(void)
{
    ready();
    pause();
}

static void wait_messages(void)
{
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    char message[8];
    mqd_t queue;

    snprintf(name, sizeof(name), "/rip-caller-%d", (int)getpid());
    queue = need(mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes), "queue");
    mq_unlink(name);
    ready();
    mq_receive(queue, message, sizeof(message), NULL);
}

static void wait_futex(void)
{
    static int word;

    ready();
    syscall(SYS_futex, &word, 0 /* wait */, 0, NULL, NULL, 0);
}

/* --- stalls ------------------------------------------------------------------------------------------------------ */

static void wait_full_pipe(void)
{
    int pair[2];

    need(pipe(pair), "pipe");
    ready();
    while (write(pair[1], "a line of text", 14) > 0)
        ;
}

static void wait_flock(void)
{
    int held = need(open("/dev/shm", O_TMPFILE | O_RDWR, 0600), "file");
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
    need(flock(held, LOCK_EX), "lock");
    held = need(open(path, O_RDWR), "file");
    ready();
    flock(held, LOCK_EX);
}

/* A child with another root directory. */
static void wait_chroot(void)
{
    int held = need(open("/dev/shm", O_TMPFILE | O_RDWR, 0600), "file"), again;
    char path[64];
    pid_t child;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
    need(flock(held, LOCK_EX), "lock");
    again = need(open(path, O_RDWR), "file");
    child = need(fork(), "fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        need(chroot("/dev/shm"), "chroot");
        need(chdir("/"), "chdir");
        printf("ready %d\n", (int)getpid());
        flock(again, LOCK_EX);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

/* A raw system call, as no function of the C library makes it. */
static void close_behind_all(int first)
{
#if defined(__x86_64__)
    long result = SYS_close_range;

    __asm__ volatile("movl $-1, %%esi\n\txorl %%edx, %%edx\n\tsyscall"
                     : "+a"(result)
                     : "D"((long)first)
                     : "rsi", "rdx", "rcx", "r11", "memory");
    need((int)result, "close_range");
#else
    (void)first;
    need(-1, "no bare system call on this processor");
#endif
}

/* All descriptors are closed, including that of the ring, whose number is now a file. */
static void wait_closed(void)
{
    char path[64];
    int held;

    close_behind_all(3);
    held = need(open("/dev/shm", O_TMPFILE | O_RDWR, 0600), "file");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
    need(flock(held, LOCK_EX), "lock");
    held = need(open(path, O_RDWR), "file");
    ready();
    flock(held, LOCK_EX);
}

static void wait_barrier(void)
{
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, 2);
    ready();
    pthread_barrier_wait(&barrier);
}

static void wait_mutex(void)
{
    pthread_mutex_lock(&mutex);
    ready();
    pthread_mutex_lock(&mutex);
}

static pthread_mutex_t crossed[2];

static void *lock_both(void *first)
{
    pthread_mutex_t *mine = first;

    pthread_mutex_lock(mine);
    usleep(mine == &crossed[0] ? 300000 : 900000); /* the second thread finds the first one waiting */
    pthread_mutex_lock(mine == &crossed[0] ? &crossed[1] : &crossed[0]);
    return NULL;
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *accept_in_turn(void *started)
{
    struct sockaddr_in address;
    int listener = listen_tcp(&address);

    pthread_mutex_lock(&turn);
    sem_post(started);
    accept(listener, NULL, NULL);
    return NULL;
}

static void *work_in_turn(void *started)
{
    sem_t never;

    sem_init(&never, 0, 0);
    pthread_mutex_lock(&turn);
    sem_post(started);
    sem_wait(&never);
    return NULL;
}

/* The other thread holds the lock while it waits. */
static void lock_behind(void *(*keep)(void *started))
{
    sem_t started;
    pthread_t other;

    sem_init(&started, 0, 0);
    pthread_create(&other, NULL, keep, &started);
    sem_wait(&started);
    ready();
    pthread_mutex_lock(&turn);
}

static void wait_accept_turn(void)
{
    lock_behind(accept_in_turn);
}

static void wait_work_turn(void)
{
    lock_behind(work_in_turn);
}

/* Two threads take two mutexes in opposite order. */
static void lock_crosswise(const pthread_mutexattr_t *attributes)
{
    pthread_t other;

    pthread_mutex_init(&crossed[0], attributes);
    pthread_mutex_init(&crossed[1], attributes);
    ready();
    pthread_create(&other, NULL, lock_both, &crossed[1]);
    lock_both(&crossed[0]);
}

static void wait_robust(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    lock_crosswise(&attributes);
}

static void wait_inheriting(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    lock_crosswise(&attributes);
}

/* Creates mutexes that processes share. */
static pthread_mutex_t *share_mutexes(size_t count)
{
    pthread_mutex_t *mutexes =
        mmap(NULL, count * sizeof(*mutexes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    for (size_t i = 0; i < count; i++)
        pthread_mutex_init(&mutexes[i], &attributes);
    return mutexes;
}

static pthread_mutex_t *shared;

/* A child holds the lock and waits. */
static void lock_after_child(void (*hold)(void))
{
    int pair[2];

    shared = share_mutexes(1);
    need(pipe(pair), "pipe");
    if (need(fork(), "fork") == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_mutex_lock(shared);
        need((int)write(pair[1], "x", 1), "write");
        hold();
        _exit(1);
    }
    need((int)read(pair[0], bytes, 1), "read");
    ready();
    pthread_mutex_lock(shared);
}

/* Parent and child take two mutexes in opposite order. */
static void wait_crossed_processes(void)
{
    pthread_mutex_t *other;
    int there[2], back[2];
    bool is_child;

    shared = share_mutexes(2);
    need(pipe(there), "pipe");
    need(pipe(back), "pipe");
    is_child = need(fork(), "fork") == 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    other = &shared[is_child ? 0 : 1];
    pthread_mutex_lock(&shared[is_child ? 1 : 0]);
    need((int)write(is_child ? back[1] : there[1], "x", 1), "write");
    need((int)read(is_child ? there[0] : back[0], bytes, 1), "read");
    if (!is_child)
        ready();
    pthread_mutex_lock(other);
}

static void accept_forever(void)
{
    struct sockaddr_in address;

    accept(listen_tcp(&address), NULL, NULL);
}

/* Workers that take turns to accept: the other worker's turn comes with the next client. */
static void wait_accept_mutex(void)
{
    lock_after_child(accept_forever);
}

/* A worker that gets its turn often: when ripd reads the holder, it has released the lock already. */
static void accept_often(void)
{
    for (;;) {
        poll(NULL, 0, 300);
        pthread_mutex_unlock(shared);
        pthread_mutex_lock(shared);
    }
}

static void wait_turns(void)
{
    lock_after_child(accept_often);
    accept_often();
}

static void sleep_forever(void)
{
    sleep(3600);
}

/* A holder that sleeps delays the others. */
static void wait_shared_mutex(void)
{
    lock_after_child(sleep_forever);
}

/* The same with a file lock. Each worker has opened the file itself. */
static int lock_file(int fd)
{
    return flock(fd, LOCK_EX);
}

static int lock_record(int fd)
{
    struct flock all = {.l_type = F_WRLCK};

    return fcntl(fd, F_SETLKW, &all);
}

static void lock_file_after_child(int (*lock)(int fd), void (*hold)(void))
{
    int file = need(open("/dev/shm", O_TMPFILE | O_RDWR, 0600), "file"), pair[2];
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), file);
    need(pipe(pair), "pipe");
    if (need(fork(), "fork") == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        need(lock(need(open(path, O_RDWR), "file")), "lock");
        need((int)write(pair[1], "x", 1), "write");
        hold();
        _exit(1);
    }
    need((int)read(pair[0], bytes, 1), "read");
    ready();
    lock(file);
}

static void wait_accept_flock(void)
{
    lock_file_after_child(lock_file, accept_forever);
}

static void wait_accept_record(void)
{
    lock_file_after_child(lock_record, accept_forever);
}

/* A worker that has changed its user has its own ring. */
static void accept_in_own_ring(void)
{
    char path[256] = "";

    need((int)readlink("/proc/self/exe", path, sizeof(path) - 1), "own path");
    need(execl(path, "caller", "accept", (char *)NULL), "execute");
}

static void wait_accept_apart(void)
{
    lock_file_after_child(lock_file, accept_in_own_ring);
}

/* The holder waits for something other than a client. */
static void wait_child_flock(void)
{
    lock_file_after_child(lock_file, wait_child);
}

/* The holder is not a worker of the same program. */
static void execute_cat(void)
{
    need(execlp("cat", "cat", (char *)NULL), "execute");
}

static void wait_foreign_flock(void)
{
    lock_file_after_child(lock_file, execute_cat);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t begun;

static void sleep_once(void)
{
    sem_post(&begun);
    sleep_forever();
}

static void *run_once(void *unused)
{
    (void)unused;
    pthread_once(&once, sleep_once);
    return NULL;
}

/* Another thread runs the routine. */
static void wait_once(void)
{
    sem_init(&begun, 0, 0);
    start(run_once);
    sem_wait(&begun);
    ready();
    pthread_once(&once, sleep_once);
}

static once_flag once_again = ONCE_FLAG_INIT;

/* The routine waits for itself. */
static void run_again(void)
{
    ready();
    call_once(&once_again, run_again);
}

static void wait_once_again(void)
{
    call_once(&once_again, run_again);
}

static void *keep_stream(void *unused)
{
    (void)unused;
    flockfile(stdin);
    sem_post(&begun);
    sleep_forever();
    return NULL;
}

static void wait_stream(void)
{
    sem_init(&begun, 0, 0);
    start(keep_stream);
    sem_wait(&begun);
    ready();
    flockfile(stdin);
}

static void wait_sleep(void)
{
    ready();
    sleep(3600);
}

static void wait_spin(void)
{
    volatile unsigned long count = 0;

    ready();
    for (;;)
        count++;
}

/* The child waits in a wrapped call, in the memory of its parent. The parent must not become idle. */
static void wait_vfork(void)
{
    ready();
    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
}

/* Like popen() and subprocess. */
static void wait_output(void)
{
    int pair[2];

    need(pipe(pair), "pipe");
    if (need(fork(), "fork") == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pair[1], STDOUT_FILENO);
        close(pair[1]);
        pause();
    }
    close(pair[1]);
    receive(pair[0]);
}

/* A call that the preload library does not see. */
static void wait_unseen(void)
{
    int pair[2];

    need(pipe(pair), "pipe");
    ready();
    syscall(SYS_read, pair[0], &byte, 1);
}

/* Runs in a signal handler during a wait. The wait must continue unchanged. */
static void on_alarm(int number)
{
    (void)number;
    need((int)write(STDERR_FILENO, "", 0), "write");
}

static void interrupt_later(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

    sigaction(SIGALRM, &action, NULL);
    alarm(1);
}

static void wait_interrupted_reply(void)
{
    interrupt_later();
    receive(connect_tcp().client);
}

static void wait_interrupted_input(void)
{
    interrupt_later();
    receive(connect_tcp().server);
}

static const struct {
    const char *name;
    void (*wait)(void);
} kinds[] = {
#define KIND(name)                                                                                                     \
    {                                                                                                                  \
#name, wait_##name                                                                                             \
    }
    KIND(terminal),
    KIND(pipe),
    KIND(stdin),
    KIND(fifo),
    KIND(fifo_open),
    KIND(fifo_write),
    KIND(eventfd),
    KIND(timerfd),
    KIND(signalfd),
    KIND(inotify),
    KIND(netlink),
    KIND(datagram),
    KIND(pair),
    KIND(accepted),
    KIND(unix_accepted),
    KIND(reply),
    KIND(copied_reply),
    KIND(unix_reply),
    KIND(reused),
    KIND(inherited),
    KIND(inherited_six),
    KIND(inherited_reply),
    KIND(accept_turn),
    KIND(work_turn),
    KIND(reader),
    KIND(poll_reader),
    KIND(reader_reply),
    KIND(renamed),
    KIND(poll_reply),
    KIND(select_reply),
    KIND(poll_push),
    KIND(poll_many),
    KIND(select_many),
    KIND(pause),
    KIND(names),
    KIND(connect),
    KIND(send),
    KIND(stopped),
    KIND(accept),
    KIND(epoll),
    KIND(condition),
    KIND(semaphore),
    KIND(stuck),
    KIND(shared_semaphore),
    KIND(workers),
    KIND(joined),
    KIND(child),
    KIND(signal),
    KIND(messages),
    KIND(futex),
    KIND(full_pipe),
    KIND(flock),
    KIND(chroot),
    KIND(closed),
    KIND(barrier),
    KIND(mutex),
    KIND(accept_mutex),
    KIND(shared_mutex),
    KIND(accept_flock),
    KIND(accept_record),
    KIND(accept_apart),
    KIND(child_flock),
    KIND(foreign_flock),
    KIND(once),
    KIND(once_again),
    KIND(stream),
    KIND(turns),
    KIND(crossed_processes),
    KIND(sleep),
    KIND(spin),
    KIND(vfork),
    KIND(robust),
    KIND(output),
    KIND(inheriting),
    KIND(unseen),
    KIND(interrupted_reply),
    KIND(interrupted_input),
#undef KIND
};

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, argv[1]) == 0) {
            kinds[i].wait();
            printf("cannot: the call returned: %s\n", strerror(errno));
        }
    }
    return 1;
}
