/* SPDX-License-Identifier: Apache-2.0 */
/* animal_unix.c - kinds that wait at a unix socket: for a peer that is silent, full, missing or gone. */
#include "animal.h"

#include <librip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FULL_BYTES = 4096 };

static char bytes[FULL_BYTES];

static int make(int type)
{
    int made = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    if (made < 0)
        animal_fail("socket");
    return made;
}

static struct sockaddr_un address(void)
{
    struct sockaddr_un found = {.sun_family = AF_UNIX};
    const char *path = getenv("ZOO_FILE");

    if (path == NULL || strlen(path) >= sizeof(found.sun_path))
        animal_fail("ZOO_FILE");
    strncpy(found.sun_path, path, sizeof(found.sun_path) - 1);
    return found;
}

static int serve_as(const struct sockaddr_un *name, int type)
{
    int server = make(type);

    if (bind(server, (const struct sockaddr *)name, sizeof(*name)) != 0 ||
        (type != SOCK_DGRAM && listen(server, 1) != 0))
        animal_fail("server");
    return server;
}

/* Creates a socket with the name of the kind's file. Streams listen. */
static int serve(int type)
{
    struct sockaddr_un name = address();

    return serve_as(&name, type);
}

static int reach(int type)
{
    struct sockaddr_un name = address();
    int client = make(type);

    if (connect(client, (struct sockaddr *)&name, sizeof(name)) != 0)
        animal_fail("connect");
    return client;
}

/* The server socket of a companion, which the parent does not have. */
static void listen_alone(void *type)
{
    serve(*(int *)type);
}

static int reach_companion(int type)
{
    int client, child = animal_companion(listen_alone, &type);

    client = reach(type);
    printf("peer %d\n", child);
    return client;
}

static void take_client(void *server)
{
    if (accept(*(int *)server, NULL, NULL) < 0)
        _exit(1);
}

/* Connects to a companion that accepts the connection and is silent. */
static int reach_who_accepts(void)
{
    int server = serve(SOCK_STREAM), client = reach(SOCK_STREAM);

    printf("peer %d\n", animal_companion(take_client, &server));
    close(server);
    return client;
}

/* Writes until the socket accepts no more data. */
static void fill(int client)
{
    while (send(client, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
}

static void close_end(void *end)
{
    close(*(int *)end);
}

ANIMAL_STALL read_from_itself(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        animal_fail("socketpair");
    printf("peer %d\n", getpid());
    rip_snap(); /* STALL(unix-read) */
    if (read(ends[0], bytes, 1) < 0)
        return;
}

ANIMAL_STALL receive_from_a_child(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        animal_fail("socketpair");
    printf("peer %d\n", animal_companion(close_end, &ends[0]));
    close(ends[1]);
    rip_snap(); /* STALL(unix-pair) */
    recv(ends[0], bytes, 1, 0);
}

ANIMAL_STALL receive_from_a_server(void)
{
    int client = reach_who_accepts();

    rip_snap(); /* STALL(unix-recv) */
    recv(client, bytes, 1, 0);
}

ANIMAL_STALL write_to_a_full_server(void)
{
    int client = reach_who_accepts();

    fill(client);
    rip_snap(); /* STALL(unix-write) */
    if (write(client, bytes, 1) < 0)
        return;
}

ANIMAL_STALL receive_unaccepted(void)
{
    int client = reach_companion(SOCK_STREAM);

    rip_snap(); /* STALL(unix-unaccepted) */
    recv(client, bytes, 1, 0);
}

ANIMAL_STALL send_to_a_full_queue(void)
{
    int client = reach_companion(SOCK_DGRAM);

    fill(client);
    rip_snap(); /* STALL(unix-send) */
    send(client, bytes, 1, 0);
}

ANIMAL_STALL accept_no_unix_client(void)
{
    int server = serve(SOCK_STREAM);

    rip_snap(); /* STALL(unix-accept) */
    accept(server, NULL, NULL);
}

ANIMAL_STALL receive_from_anybody(void)
{
    int server = serve(SOCK_DGRAM);

    rip_snap(); /* STALL(unix-alone) */
    recv(server, bytes, 1, 0);
}

/* The receiver of datagrams is not notified that the peer is gone. */
ANIMAL_STALL receive_from_nobody(void)
{
    int server = serve(SOCK_DGRAM), client = reach(SOCK_DGRAM);

    close(server);
    rip_snap(); /* STALL(unix-closed) */
    recv(client, bytes, 1, 0);
}

/*
 * Fills the queue of a server that does not accept, so that the next client must wait. Returns the socket of that
 * client.
 */
static int crowd(const struct sockaddr_un *name, int type)
{
    serve_as(name, type);
    while (connect(make(type | SOCK_NONBLOCK), (const struct sockaddr *)name, sizeof(*name)) == 0)
        ;
    return make(type);
}

ANIMAL_STALL connect_to_a_crowded_server(void)
{
    struct sockaddr_un name = address();
    int client = crowd(&name, SOCK_STREAM);

    rip_snap(); /* STALL(unix-connect) */
    connect(client, (struct sockaddr *)&name, sizeof(name));
}

ANIMAL_STALL connect_to_an_abstract_server(void)
{
    struct sockaddr_un name = address();
    int client;

    name.sun_path[0] = '\0';
    client = crowd(&name, SOCK_SEQPACKET);
    rip_snap(); /* STALL(unix-abstract) */
    connect(client, (struct sockaddr *)&name, sizeof(name));
}

/* Each message has the name of its receiver, whose queue is full. */
ANIMAL_STALL send_to_a_full_name(void)
{
    struct sockaddr_un name = address();
    struct iovec part = {bytes, 1};
    struct msghdr message = {.msg_name = &name, .msg_namelen = sizeof(name), .msg_iov = &part, .msg_iovlen = 1};
    int client = make(SOCK_DGRAM);

    serve(SOCK_DGRAM);
    while (sendmsg(client, &message, MSG_DONTWAIT) > 0)
        ;
    rip_snap(); /* STALL(unix-sendmsg) */
    sendmsg(client, &message, 0);
}

const struct animal unix_animals[] = {{"unix-read", read_from_itself, 1},
                                      {"unix-pair", receive_from_a_child, 1},
                                      {"unix-recv", receive_from_a_server, 1},
                                      {"unix-write", write_to_a_full_server, 1},
                                      {"unix-unaccepted", receive_unaccepted, 1},
                                      {"unix-send", send_to_a_full_queue, 1},
                                      {"unix-accept", accept_no_unix_client, 1},
                                      {"unix-alone", receive_from_anybody, 1},
                                      {"unix-closed", receive_from_nobody, 1},
                                      {"unix-connect", connect_to_a_crowded_server, 1},
                                      {"unix-abstract", connect_to_an_abstract_server, 1},
                                      {"unix-sendmsg", send_to_a_full_name, 1},
                                      {NULL, NULL, 0}};
