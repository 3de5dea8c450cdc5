/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_unix.c - the peers of real unix sockets, and the holders of the other ends: ripd/probe/kernel_unix.c,
 * kernel_holder.c. What the kernel denies is skipped.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "os/file.h"
#include "probe/kernel.h"
#include "support/descriptors.h"
#include "support/ring_stage.h"
#include "support/test.h"
#include "unit/unix_sockets.h"

#define SOON (clock_mono_ns() + UINT64_C(10000000000))

static int proc = -1;
static int diag = -1;

/* Returns a reading of this thread as if it waited at the descriptor. */
static struct kernel_reading waiting_at(int descriptor)
{
    struct kernel_reading reading = {.pid = (uint32_t)getpid(), .tid = (uint32_t)getpid()};

    assert_int_equal(proc_descriptor(proc, reading.pid, (uint32_t)descriptor, &reading.descriptor), 0);
    reading.has = KERNEL_HAS_DESCRIPTOR;
    return reading;
}

static struct kernel_unix query(int descriptor)
{
    struct kernel_reading reading = waiting_at(descriptor);

    kernel_read_unix(diag, SOON, &reading);
    assert_int_equal(reading.has, KERNEL_HAS_DESCRIPTOR | KERNEL_HAS_UNIX);
    return reading.unix_socket;
}

/* Asserts the peer of a socket. other: the peer's socket; -1 = none. */
static void assert_peer(int descriptor, enum kernel_peer peer, int other, const char *name)
{
    struct kernel_unix known = query(descriptor);

    assert_int_equal(known.peer, peer);
    assert_int_equal(known.peer_inode, other < 0 ? 0 : inode_of(other));
    assert_int_equal(strncmp(known.peer_name, name, name[0] != '\0' ? strlen(name) : 1), 0);
}

TEST(pairs)
{
    static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct kernel_unix known;
        int ends[2];

        make_pair(types[i], ends);
        assert_peer(ends[0], KERNEL_PEER_SOCKET, ends[1], "");
        known = query(ends[0]);
        assert_string_equal(known.name, "");
        assert_false(known.listening);
        close(ends[1]);
        assert_peer(ends[0], types[i] == SOCK_DGRAM ? KERNEL_PEER_CLOSED : KERNEL_PEER_UNKNOWN, -1, "");
        close(ends[0]);
    }
}

TEST(servers)
{
    int server = make_server(SOCK_STREAM, "rip-test-stream");
    int client, accepted;
    struct kernel_unix known;

    assert_int_equal(listen(server, 3), 0);
    client = make_client(SOCK_STREAM, "rip-test-stream");
    known = query(server);
    assert_true(known.listening);
    assert_int_equal(known.peer, KERNEL_PEER_NONE);
    assert_int_equal(strncmp(known.name, "@rip-test-stream-", 17), 0);
    assert_peer(client, KERNEL_PEER_QUEUED, server, "@rip-test-stream-");
    accepted = accept(server, NULL, NULL);
    assert_peer(client, KERNEL_PEER_SOCKET, accepted, "@rip-test-stream-");
    assert_peer(accepted, KERNEL_PEER_SOCKET, client, "");
    assert_int_equal(shutdown(client, SHUT_WR), 0); /* the client can still receive */
    assert_int_equal(query(client).peer, KERNEL_PEER_SOCKET);
    close(accepted);
    close(client);
    close(server);
}

TEST(datagrams)
{
    int server = make_server(SOCK_DGRAM, "rip-test-dgram"), client = socket(AF_UNIX, SOCK_DGRAM, 0);

    assert_peer(client, KERNEL_PEER_NONE, -1, "");
    close(client);
    client = make_client(SOCK_DGRAM, "rip-test-dgram");
    assert_peer(client, KERNEL_PEER_SOCKET, server, "@rip-test-dgram-"); /* in this direction only */
    assert_peer(server, KERNEL_PEER_NONE, -1, "");
    assert_false(query(server).listening);
    close(server);
    assert_peer(client, KERNEL_PEER_CLOSED, -1, "");
    close(client);
}

/* A datagram that is sent to an address does not go to the peer. With other types, an address changes nothing. */
TEST(datagrams_to_an_address)
{
    static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct kernel_reading reading;
        int ends[2];

        make_pair(types[i], ends);
        reading = waiting_at(ends[0]);
        reading.has |= KERNEL_HAS_NAMES;
        kernel_read_unix(diag, SOON, &reading);
        assert_true((reading.has & KERNEL_HAS_UNIX) != 0);
        assert_int_equal(reading.unix_socket.peer, types[i] == SOCK_DGRAM ? KERNEL_PEER_UNKNOWN : KERNEL_PEER_SOCKET);
        assert_int_equal(reading.unix_socket.peer_inode, types[i] == SOCK_DGRAM ? 0 : inode_of(ends[1]));
        close_both(ends);
    }
}

static void assert_nothing_read(int over, uint64_t deadline_mono_ns, struct kernel_reading reading, uint32_t has)
{
    kernel_read_unix(over, deadline_mono_ns, &reading);
    assert_int_equal(reading.has, has);
    assert_int_equal(reading.unix_socket.peer, KERNEL_PEER_UNKNOWN);
}

TEST(readings_that_stay_unchanged)
{
    int internet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ends[2];
    struct kernel_reading reading;

    make_pair(SOCK_STREAM, ends);
    reading = waiting_at(ends[0]);
    assert_nothing_read(diag, SOON, waiting_at(internet), KERNEL_HAS_DESCRIPTOR);
    assert_nothing_read(diag, SOON, waiting_at(proc), KERNEL_HAS_DESCRIPTOR);
    assert_nothing_read(-1, SOON, reading, KERNEL_HAS_DESCRIPTOR);
    assert_nothing_read(internet, SOON, reading, KERNEL_HAS_DESCRIPTOR); /* no netlink socket */
    assert_nothing_read(diag, 0, reading, KERNEL_HAS_DESCRIPTOR | KERNEL_HAS_NO_TIME);
    snprintf(reading.descriptor.link, sizeof(reading.descriptor.link), "socket:[%llu]",
             inode_of(ends[0]) + (1ull << 32)); /* too large for a query */
    assert_nothing_read(diag, SOON, reading, KERNEL_HAS_DESCRIPTOR);
    reading = waiting_at(ends[0]);
    reading.has = 0;
    assert_nothing_read(diag, SOON, reading, 0);
    close(internet);
    close_both(ends);
}

/* Holders ---------------------------------------------------------------------------------------------------------- */

static void read_holders(uint32_t uid, uint64_t deadline_mono_ns, struct kernel_reading *const *readings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        readings[i]->holder.pid = 0;
        readings[i]->has &= ~KERNEL_HAS_NO_TIME;
    }
    kernel_read_holders(proc, uid, deadline_mono_ns, readings, count);
}

/* One search for a pipe, for a socket with another and one with this process at the other end, and for no other end. */
TEST(many_in_one_search)
{
    struct kernel_reading readings[4], *wanted[] = {&readings[0], &readings[1], &readings[2], &readings[3]};
    int sockets[2], own[2], ends[2];
    pid_t child;

    make_pair(SOCK_STREAM, sockets);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = ring_stage_start(NULL, NULL, NULL); /* it inherits all descriptors */
    close(ends[1]);
    close(sockets[1]);
    make_pair(SOCK_STREAM, own); /* not inherited */
    readings[0] = waiting_at(sockets[0]);
    readings[1] = waiting_at(ends[0]);
    readings[2] = waiting_at(own[0]);
    readings[3] = waiting_at(diag); /* not a unix socket */
    for (int i = 0; i < 4; i++)
        kernel_read_unix(diag, SOON, wanted[i]);
    read_holders(geteuid(), SOON, wanted, 4);
    assert_int_equal(readings[0].holder.pid, child);
    assert_int_equal(readings[1].holder.pid, child);
    assert_int_equal(readings[2].holder.pid, getpid());
    assert_int_equal(readings[3].holder.pid, 0);
    assert_int_equal(readings[3].has & KERNEL_HAS_NO_TIME, 0);
    assert_string_equal(readings[0].holder.comm, "test_kernel_uni");
    read_holders(geteuid() + 1, SOON, wanted, 2); /* other users' processes are not named */
    assert_int_equal(readings[0].holder.pid, 0);
    assert_int_equal(readings[0].has & KERNEL_HAS_NO_TIME, 0);
    read_holders(geteuid(), 0, wanted, 2);
    assert_int_equal(readings[0].holder.pid, 0);
    assert_int_not_equal(readings[0].has & KERNEL_HAS_NO_TIME, 0);
    assert_int_not_equal(readings[1].has & KERNEL_HAS_NO_TIME, 0);
    ring_stage_end(child);
    close(sockets[0]);
    close(ends[0]);
    close_both(own);
}

static void assert_holder(struct kernel_reading *reading, pid_t pid)
{
    read_holders(geteuid(), SOON, &reading, 1);
    assert_int_equal(reading->holder.pid, pid);
}

/* A FIFO has a file's name. The kernel function shows that the thread waits at a FIFO; mount and inode identify it. */
TEST(ends_of_a_fifo)
{
    struct kernel_reading reading;
    int both, reading_end, writing_end;
    struct ring_stage stage;
    pid_t child;

    ring_stage_open(&stage);
    assert_int_equal(mkfifo(ring_stage_path(&stage, "fifo"), 0600), 0);
    both = open(ring_stage_path(&stage, "fifo"), O_RDWR | O_CLOEXEC);
    reading_end = open(ring_stage_path(&stage, "fifo"), O_RDONLY | O_CLOEXEC);
    writing_end = open(ring_stage_path(&stage, "fifo"), O_WRONLY | O_CLOEXEC);
    close(both);
    child = ring_stage_start(NULL, NULL, NULL); /* it has both ends */
    close(writing_end);
    reading = waiting_at(reading_end);
    assert_true(reading.descriptor.mount != 0);
    assert_holder(&reading, 0); /* it may be any file */
    reading.has |= KERNEL_HAS_WCHAN;
    strcpy(reading.wchan, "pipe_wait_writable"); /* splice(), which waits at its other descriptor */
    assert_holder(&reading, 0);
    strcpy(reading.wchan, "anon_pipe_read.part.0");
    reading.descriptor.mount++; /* a file with the same name and inode on another file system */
    assert_holder(&reading, 0);
    reading.descriptor.mount--;
    reading.descriptor.inode++; /* the FIFO was removed and made again */
    assert_holder(&reading, 0);
    reading.descriptor.inode--;
    assert_holder(&reading, child);
    assert_int_equal(reading.has & KERNEL_HAS_NO_TIME, 0);
    ring_stage_end(child);
    assert_holder(&reading, 0); /* this process has the FIFO open, but only for reading */
    close(reading_end);
    ring_stage_close(&stage);
}

/* A peer with an unknown inode has no holder, and the inode of a pipe is not that of a socket. */
TEST(no_peer_to_search_for)
{
    int server = make_server(SOCK_DGRAM, "rip-test-alone"), ends[2];
    struct kernel_reading reading = waiting_at(server);

    kernel_read_unix(diag, SOON, &reading);
    assert_holder(&reading, 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    reading.unix_socket.peer_inode = inode_of(ends[0]);
    assert_holder(&reading, 0);
    kernel_read_holders(proc, geteuid(), SOON, NULL, 0);
    close(server);
    close_both(ends);
}

enum { DYING = 40 };

static pid_t dying[DYING]; /* of the killer */

static void start_processes(void *context)
{
    (void)context;
    for (size_t i = 0; i < DYING; i++)
        dying[i] = ring_stage_start(NULL, NULL, NULL);
    signal(SIGCHLD, SIG_IGN); /* no zombies stay */
}

static void kill_processes(void *context)
{
    (void)context;
    for (size_t i = 0; i < DYING; i++)
        kill(dying[i], SIGKILL);
}

/* A process that ends while its descriptors are listed does not end the search. */
TEST(processes_that_end_meanwhile)
{
    for (int round = 0; round < 20; round++) {
        pid_t killer = ring_stage_start(start_processes, kill_processes, NULL), child;
        struct kernel_reading reading;
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0); /* only the child has the other end */
        child = ring_stage_start(NULL, NULL, NULL);
        close(ends[1]);
        reading = waiting_at(ends[0]);
        ring_stage_go(killer);
        assert_holder(&reading, child);
        ring_stage_end(killer);
        ring_stage_end(child);
        close(ends[0]);
    }
}

int main(void)
{
    struct unix_diag socket;
    int ends[2], failures;

    proc = file_open_directory("/proc");
    diag = unix_diag_open();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        unix_diag_ask(diag, inode_of(ends[0]), &socket) != 0) {
        printf("skipped: the kernel does not report unix sockets\n");
        return 77;
    }
    failures = tests_run(NULL, NULL);
    close(diag);
    close(proc);
    return failures;
}
