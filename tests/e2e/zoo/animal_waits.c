/* SPDX-License-Identifier: Apache-2.0 */
/* animal_waits.c - kinds that wait for a peer, for time, for a child, for a signal, or that are stopped. */
#include "animal.h"

#include <arpa/inet.h>
#include <librip.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char byte;

/* Creates a server on loopback that never accepts. */
static int listen_somewhere(struct sockaddr_in *ret_address, int backlog)
{
    socklen_t length = sizeof(*ret_address);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (server < 0 || bind(server, (struct sockaddr *)ret_address, length) != 0 || listen(server, backlog) != 0 ||
        getsockname(server, (struct sockaddr *)ret_address, &length) != 0)
        animal_fail("server");
    return server;
}

static int connect_to_a_silent_peer(void)
{
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address;

    listen_somewhere(&address, 1);
    if (connect(client, (struct sockaddr *)&address, sizeof(address)) != 0)
        animal_fail("connect");
    printf("port %d\n", ntohs(address.sin_port));
    return client;
}

ANIMAL_STALL receive_from_a_silent_peer(void)
{
    int client = connect_to_a_silent_peer();

    rip_snap(); /* STALL(tcp-recv) */
    recv(client, &byte, 1, 0);
}

ANIMAL_STALL poll_a_silent_peer(void)
{
    struct pollfd descriptor = {.fd = connect_to_a_silent_peer(), .events = POLLIN};

    rip_snap(); /* STALL(tcp-poll) */
    poll(&descriptor, 1, -1);
}

/* The queue of the server is full, and it drops new connections. */
ANIMAL_STALL connect_to_a_full_server(void)
{
    struct sockaddr_in address;
    int client;

    listen_somewhere(&address, 0);
    for (int i = 0; i < 2; i++) {
        client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(client, (struct sockaddr *)&address, sizeof(address));
    }
    usleep(100000);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    printf("port %d\n", ntohs(address.sin_port));
    rip_snap(); /* STALL(tcp-connect) */
    connect(client, (struct sockaddr *)&address, sizeof(address));
}

ANIMAL_STALL accept_nobody(void)
{
    struct sockaddr_in address;
    int server = listen_somewhere(&address, 1);

    printf("port %d\n", ntohs(address.sin_port));
    rip_snap(); /* STALL(tcp-accept) */
    accept(server, NULL, NULL);
}

ANIMAL_STALL read_an_eventfd(void)
{
    int counter = eventfd(0, EFD_CLOEXEC);
    uint64_t count;

    rip_snap(); /* STALL(eventfd) */
    if (read(counter, &count, sizeof(count)) < 0)
        return;
}

ANIMAL_STALL watch_a_directory(void)
{
    int changes = inotify_init1(IN_CLOEXEC);

    inotify_add_watch(changes, "/", IN_DELETE_SELF);
    rip_snap(); /* STALL(inotify) */
    if (read(changes, &byte, 1) < 0)
        return;
}

ANIMAL_STALL wait_in_epoll(void)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;

    rip_snap(); /* STALL(epoll) */
    epoll_wait(set, &event, 1, -1);
}

ANIMAL_STALL poll_without_end(void)
{
    struct pollfd descriptors[2];
    int pair[2];

    if (pipe(pair) != 0)
        animal_fail("pipe");
    for (int i = 0; i < 2; i++)
        descriptors[i] = (struct pollfd){.fd = pair[0], .events = POLLIN};
    rip_snap(); /* STALL(poll) */
    poll(descriptors, 2, -1);
}

ANIMAL_STALL sleep_long(void)
{
    const struct timespec hour = {.tv_sec = 3600};

    rip_snap(); /* STALL(sleep) */
    nanosleep(&hour, NULL);
}

ANIMAL_STALL sleep_in_poll(void)
{
    rip_snap(); /* STALL(poll-sleep) */
    poll(NULL, 0, 3600000);
}

static void nothing(void *context)
{
    (void)context;
}

ANIMAL_STALL wait_for_a_child(void)
{
    int child = animal_companion(nothing, NULL);

    printf("peer %d\n", child);
    rip_snap(); /* STALL(child) */
    waitpid(child, NULL, 0);
}

/* The parent of vfork() waits in state D until the child executes a program or ends. */
ANIMAL_STALL wait_for_vfork(void)
{
    pid_t parent = getpid();

    rip_snap(); /* STALL(vfork) */
    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dprintf(STDOUT_FILENO, "peer %d\n", (int)getpid());
        while (getppid() == parent) /* the parent may have ended already */
            pause();
        _exit(0);
    }
}

ANIMAL_STALL wait_for_a_signal(void)
{
    rip_snap(); /* STALL(pause) */
    pause();
}

/* The test stops these. */
ANIMAL_STALL be_stopped(void)
{
    rip_snap(); /* STALL(stopped) */
    for (;;)
        pause();
}

const struct animal wait_animals[] = {{"tcp-recv", receive_from_a_silent_peer, 1},
                                      {"tcp-connect", connect_to_a_full_server, 1},
                                      {"tcp-accept", accept_nobody, 1},
                                      {"tcp-poll", poll_a_silent_peer, 1},
                                      {"eventfd", read_an_eventfd, 1},
                                      {"inotify", watch_a_directory, 1},
                                      {"epoll", wait_in_epoll, 1},
                                      {"poll", poll_without_end, 1},
                                      {"sleep", sleep_long, 1},
                                      {"poll-sleep", sleep_in_poll, 1},
                                      {"child", wait_for_a_child, 1},
                                      {"vfork", wait_for_vfork, 1},
                                      {"pause", wait_for_a_signal, 1},
                                      {"sigstop", be_stopped, 1},
                                      {"traced", be_stopped, 1},
                                      {"frozen", be_stopped, 1},
                                      {NULL, NULL, 0}};
