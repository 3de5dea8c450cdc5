/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_unix_answers.c - answers about unix sockets that a real kernel gives only by chance:
 * ripd/probe/kernel_unix.c with functions of this file as the kernel. test_kernel_unix.c has the real one.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "probe/kernel.h"
#include "support/test.h"

enum { OWN = 10, PEER = 11, LISTENER = 12 };

static struct {
    struct unix_diag own;
    struct unix_diag peer;
    int peer_result;
    int listener_result;
} world;

int unix_diag_ask(int descriptor, uint32_t inode, struct unix_diag *ret_socket)
{
    (void)descriptor;
    if (inode == PEER && world.peer_result != 0)
        return world.peer_result;
    *ret_socket = inode == PEER ? world.peer : world.own;
    return 0;
}

int unix_diag_find_listener(int descriptor, uint32_t inode, struct unix_diag *ret_listener)
{
    (void)descriptor;
    assert_int_equal(inode, OWN);
    if (world.listener_result == 0)
        *ret_listener = (struct unix_diag){.inode = LISTENER, .name = "/run/listener"};
    return world.listener_result;
}

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.own = (struct unix_diag){
        .inode = OWN, .type = SOCK_STREAM, .state = 1, .has_peer = true, .peer_inode = PEER, .has_shutdown = true};
    world.peer = (struct unix_diag){
        .inode = PEER, .type = SOCK_STREAM, .state = 1, .has_peer = true, .peer_inode = OWN, .name = "/run/peer"};
    return 0;
}

static void assert_peer(enum kernel_peer peer, uint32_t inode, const char *name)
{
    struct kernel_reading reading = {.has = KERNEL_HAS_DESCRIPTOR, .descriptor.link = "socket:[10]"};

    kernel_read_unix(1000, UINT64_MAX, &reading);
    assert_int_not_equal(reading.has & KERNEL_HAS_UNIX, 0);
    assert_int_equal(reading.unix_socket.peer, peer);
    assert_int_equal(reading.unix_socket.peer_inode, inode);
    assert_string_equal(reading.unix_socket.peer_name, name);
}

TEST(both_ends_have_to_agree, set_up)
{
    assert_peer(KERNEL_PEER_SOCKET, PEER, "/run/peer");
    world.peer.peer_inode = 99;
    assert_peer(KERNEL_PEER_UNKNOWN, 0, "");
    world.peer = (struct unix_diag){.inode = PEER, .type = SOCK_STREAM, .state = 1, .name = "/run/peer"};
    assert_peer(KERNEL_PEER_UNKNOWN, 0, "");
    world.own.type = world.peer.type = SOCK_DGRAM; /* the peer of a datagram socket does not know it */
    assert_peer(KERNEL_PEER_SOCKET, PEER, "/run/peer");
}

/* A peer that was reached by a path may be in another network namespace, where its name cannot be queried. */
TEST(a_peer_in_another_network, set_up)
{
    world.peer_result = -ENOENT;
    assert_peer(KERNEL_PEER_SOCKET, PEER, "");
    world.peer_result = -EAGAIN; /* the query failed */
    assert_peer(KERNEL_PEER_UNKNOWN, 0, "");
}

TEST(no_peer, set_up)
{
    world.own.peer_inode = 0;
    assert_peer(KERNEL_PEER_QUEUED, LISTENER, "/run/listener");
    world.own.shutdown = 2; /* only this end was shut down */
    assert_peer(KERNEL_PEER_QUEUED, LISTENER, "/run/listener");
    world.listener_result = -ENOENT;
    assert_peer(KERNEL_PEER_QUEUED, 0, "");
    world.own.shutdown = 3;
    assert_peer(KERNEL_PEER_UNKNOWN, 0, "");
    world.own.shutdown = 0;
    world.own.has_shutdown = false; /* an older kernel */
    assert_peer(KERNEL_PEER_UNKNOWN, 0, "");
    world.own.type = SOCK_DGRAM;
    assert_peer(KERNEL_PEER_CLOSED, 0, "");
}
