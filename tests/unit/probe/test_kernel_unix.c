/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_unix.c - whom real sockets are connected to, and who holds the other ends: ripd/probe/kernel_unix.c,
 * kernel_holder.c. What the kernel denies here is skipped.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "probe/kernel.h"
#include "support/descriptors.h"
#include "support/test.h"

#define SOON (clock_mono_ns() + UINT64_C(10000000000))

static int proc = -1;
static int diag = -1;

/* A thread of ours that waits at that descriptor, as far as this matters. */
static struct kernel_reading waiting_at(int descriptor)
{
    struct kernel_reading reading = {.pid = (uint32_t)getpid(), .tid = (uint32_t)getpid()};

    assert_int_equal(proc_descriptor(proc, reading.pid, (uint32_t)descriptor, &reading.descriptor), 0);
    reading.has = KERNEL_HAS_DESCRIPTOR;
    return reading;
}

static struct kernel_unix asked(int descriptor)
{
    struct kernel_reading reading = waiting_at(descriptor);

    kernel_read_unix(diag, SOON, &reading);
    assert_int_equal(reading.has, KERNEL_HAS_DESCRIPTOR | KERNEL_HAS_UNIX);
    return reading.unix_socket;
}

static int made(int type)
{
    int descriptor = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    assert_true(descriptor >= 0);
    return descriptor;
}

static struct sockaddr_un name_of(const char *text)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s-%d", text, (int)getpid());
    return name;
}

static int serving(int type, const char *text)
{
    struct sockaddr_un name = name_of(text);
    int server = made(type);

    assert_int_equal(bind(server, (struct sockaddr *)&name, sizeof(name)), 0);
    if (type != SOCK_DGRAM)
        assert_int_equal(listen(server, 3), 0);
    return server;
}

static int reaching(int type, const char *text)
{
    struct sockaddr_un name = name_of(text);
    int client = made(type);

    assert_int_equal(connect(client, (struct sockaddr *)&name, sizeof(name)), 0);
    return client;
}

/* The other end of the socket is that one, or none; as known at present. */
static void assert_peer(int descriptor, enum kernel_peer peer, int other, const char *name)
{
    struct kernel_unix known = asked(descriptor);

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

        assert_int_equal(socketpair(AF_UNIX, types[i] | SOCK_CLOEXEC, 0, ends), 0);
        assert_peer(ends[0], KERNEL_PEER_SOCKET, ends[1], "");
        known = asked(ends[0]);
        assert_string_equal(known.name, "");
        assert_false(known.listening);
        close(ends[1]);
        assert_peer(ends[0], types[i] == SOCK_DGRAM ? KERNEL_PEER_CLOSED : KERNEL_PEER_UNKNOWN, -1, "");
        close(ends[0]);
    }
}

TEST(servers)
{
    int server = serving(SOCK_STREAM, "rip-test-stream"), client = reaching(SOCK_STREAM, "rip-test-stream"), accepted;
    struct kernel_unix known = asked(server);

    assert_true(known.listening);
    assert_int_equal(known.peer, KERNEL_PEER_NONE);
    assert_int_equal(strncmp(known.name, "@rip-test-stream-", 17), 0);
    assert_peer(client, KERNEL_PEER_QUEUED, server, "@rip-test-stream-");
    accepted = accept(server, NULL, NULL);
    assert_peer(client, KERNEL_PEER_SOCKET, accepted, "@rip-test-stream-");
    assert_peer(accepted, KERNEL_PEER_SOCKET, client, "");
    assert_int_equal(shutdown(client, SHUT_WR), 0); /* what is sent still arrives */
    assert_int_equal(asked(client).peer, KERNEL_PEER_SOCKET);
    close(accepted);
    close(client);
    close(server);
}

TEST(datagrams)
{
    int server = serving(SOCK_DGRAM, "rip-test-dgram"), client = made(SOCK_DGRAM);

    assert_peer(client, KERNEL_PEER_NONE, -1, "");
    close(client);
    client = reaching(SOCK_DGRAM, "rip-test-dgram");
    assert_peer(client, KERNEL_PEER_SOCKET, server, "@rip-test-dgram-"); /* though not the other way round */
    assert_peer(server, KERNEL_PEER_NONE, -1, "");
    assert_false(asked(server).listening);
    close(server);
    assert_peer(client, KERNEL_PEER_CLOSED, -1, "");
    close(client);
}

/* What is sent to somebody by name does not go to the peer; of a stream there is no other way. */
TEST(letters_to_others)
{
    static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct kernel_reading reading;
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, types[i] | SOCK_CLOEXEC, 0, ends), 0);
        reading = waiting_at(ends[0]);
        reading.has |= KERNEL_HAS_NAMES;
        kernel_read_unix(diag, SOON, &reading);
        assert_true((reading.has & KERNEL_HAS_UNIX) != 0);
        assert_int_equal(reading.unix_socket.peer, types[i] == SOCK_DGRAM ? KERNEL_PEER_UNKNOWN : KERNEL_PEER_SOCKET);
        assert_int_equal(reading.unix_socket.peer_inode, types[i] == SOCK_DGRAM ? 0 : inode_of(ends[1]));
        close(ends[0]);
        close(ends[1]);
    }
}

static void assert_nothing_read(int over, uint64_t deadline_mono_ns, struct kernel_reading *reading, uint32_t has)
{
    kernel_read_unix(over, deadline_mono_ns, reading);
    assert_int_equal(reading->has, has);
    assert_int_equal(reading->unix_socket.peer, KERNEL_PEER_UNKNOWN);
}

TEST(what_is_not_reported)
{
    int internet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ends[2];
    struct kernel_reading reading = waiting_at(internet);

    assert_nothing_read(diag, SOON, &reading, KERNEL_HAS_DESCRIPTOR);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    reading = waiting_at(ends[0]);
    assert_nothing_read(-1, SOON, &reading, KERNEL_HAS_DESCRIPTOR);
    assert_nothing_read(internet, SOON, &reading, KERNEL_HAS_DESCRIPTOR); /* which is nothing to ask over */
    assert_nothing_read(diag, 0, &reading, KERNEL_HAS_DESCRIPTOR | KERNEL_HAS_NO_TIME);
    reading.has = 0;
    assert_nothing_read(diag, SOON, &reading, 0);
    reading = waiting_at(proc);
    assert_nothing_read(diag, SOON, &reading, KERNEL_HAS_DESCRIPTOR);
    reading = waiting_at(ends[0]);
    snprintf(reading.descriptor.link, sizeof(reading.descriptor.link), "socket:[%llu]",
             inode_of(ends[0]) + (1ull << 32)); /* longer than what can be asked for */
    assert_nothing_read(diag, SOON, &reading, KERNEL_HAS_DESCRIPTOR);
    close(internet);
    close(ends[0]);
    close(ends[1]);
}

/* Holders ---------------------------------------------------------------------------------------------------------- */

/* A child that has these descriptors open, besides us, until it is ended. */
static uint32_t child_with(const int *descriptors, size_t count)
{
    int ready[2];
    pid_t child;
    char byte = 0;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < count; i++)
            if (dup(descriptors[i]) < 0)
                _exit(1);
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return (uint32_t)child;
}

static void end_child(uint32_t pid)
{
    kill((pid_t)pid, SIGKILL);
    waitpid((pid_t)pid, NULL, 0);
}

/* One search for pipes and sockets, one that only this process holds, and one that has no other end. */
TEST(many_in_one_search)
{
    struct kernel_reading readings[4], *wanted[] = {&readings[0], &readings[1], &readings[2], &readings[3]};
    int sockets[2], own[2], ends[2], theirs[2];
    uint32_t child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    theirs[0] = sockets[1];
    theirs[1] = ends[1];
    child = child_with(theirs, 2);
    close(ends[1]);
    close(sockets[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, own), 0); /* made after the fork */
    readings[0] = waiting_at(sockets[0]);
    readings[1] = waiting_at(ends[0]);
    readings[2] = waiting_at(own[0]);
    readings[3] = waiting_at(proc);
    for (int i = 0; i < 4; i++)
        kernel_read_unix(diag, SOON, wanted[i]);
    kernel_read_holders(proc, (uint32_t)geteuid(), SOON, wanted, 4);
    assert_int_equal(readings[0].holder.pid, child);
    assert_int_equal(readings[1].holder.pid, child);
    assert_int_equal(readings[2].holder.pid, getpid());
    assert_int_equal(readings[3].holder.pid, 0);
    assert_int_equal(readings[3].has & KERNEL_HAS_NO_TIME, 0);
    assert_string_equal(readings[0].holder.comm, "test_kernel_uni");
    for (int i = 0; i < 2; i++) {
        readings[i].holder.pid = 0;
        readings[i].has &= ~KERNEL_HAS_NO_TIME;
    }
    kernel_read_holders(proc, (uint32_t)geteuid() + 1, SOON, wanted, 2);
    assert_int_equal(readings[0].holder.pid, 0); /* nothing is reported of other users' processes */
    assert_int_equal(readings[0].has & KERNEL_HAS_NO_TIME, 0);
    kernel_read_holders(proc, (uint32_t)geteuid(), 0, wanted, 2);
    assert_int_equal(readings[0].holder.pid, 0);
    assert_int_not_equal(readings[0].has & KERNEL_HAS_NO_TIME, 0);
    assert_int_not_equal(readings[1].has & KERNEL_HAS_NO_TIME, 0);
    end_child(child);
    close(sockets[0]);
    close(ends[0]);
    close(own[0]);
    close(own[1]);
}

static void assert_holder(struct kernel_reading *reading, uint32_t pid)
{
    kernel_read_holders(proc, (uint32_t)geteuid(), SOON, &reading, 1);
    assert_int_equal(reading->holder.pid, pid);
}

/* A FIFO's ends have a file's name: where the thread waits shows that it is a FIFO, and mount and inode which one. */
TEST(ends_of_a_fifo)
{
    char directory[] = "/tmp/test_kernel_unix-XXXXXX", path[sizeof(directory) + 8];
    struct kernel_reading reading;
    int both, reading_end, writing_end;
    uint32_t child;

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/fifo", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    both = open(path, O_RDWR | O_CLOEXEC);
    reading_end = open(path, O_RDONLY | O_CLOEXEC);
    writing_end = open(path, O_WRONLY | O_CLOEXEC);
    close(both);
    child = child_with(&reading_end, 1); /* whose are both: it was forked */
    close(writing_end);
    reading = waiting_at(reading_end);
    assert_true(reading.descriptor.mount != 0);
    assert_holder(&reading, 0); /* it could be any file */
    reading.has |= KERNEL_HAS_WCHAN;
    strcpy(reading.wchan, "pipe_wait_writable"); /* in splice(), of another descriptor */
    assert_holder(&reading, 0);
    strcpy(reading.wchan, "anon_pipe_read.part.0");
    reading.descriptor.mount++; /* the same name and number on another file system */
    assert_holder(&reading, 0);
    reading.descriptor.mount--;
    reading.descriptor.inode++; /* it was removed, and made again */
    assert_holder(&reading, 0);
    reading.descriptor.inode--;
    assert_holder(&reading, child);
    assert_int_equal(reading.has & KERNEL_HAS_NO_TIME, 0);
    end_child(child);
    reading.holder.pid = 0;
    assert_holder(&reading, 0); /* its other readers are not what it lacks */
    close(reading_end);
    unlink(path);
    rmdir(directory);
}

/* A peer whose number is not known has no holder, and the number of a pipe is not that of a socket. */
TEST(nobody_to_look_for)
{
    int server = serving(SOCK_DGRAM, "rip-test-alone"), ends[2];
    struct kernel_reading reading = waiting_at(server);

    kernel_read_unix(diag, SOON, &reading);
    assert_holder(&reading, 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    reading.unix_socket.peer_inode = inode_of(ends[0]);
    assert_holder(&reading, 0);
    kernel_read_holders(proc, (uint32_t)geteuid(), SOON, NULL, 0);
    close(server);
    close(ends[0]);
    close(ends[1]);
}

/* Has so many processes end, and be gone, one after the other once a byte can be read; returns who does. */
static pid_t killer_of(size_t count, int go)
{
    int ready[2];
    pid_t killer;
    char byte = 0;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    killer = fork();
    assert_true(killer >= 0);
    if (killer == 0) {
        uint32_t pids[64];

        signal(SIGCHLD, SIG_IGN); /* they need not be waited for */
        for (size_t i = 0; i < count; i++)
            pids[i] = child_with(NULL, 0);
        if (write(ready[1], &byte, 1) != 1 || read(go, &byte, 1) != 1)
            _exit(1);
        for (size_t i = 0; i < count; i++)
            kill((pid_t)pids[i], SIGKILL);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return killer;
}

/* A process that ends while its descriptors are listed does not end the search. */
TEST(others_that_end)
{
    for (int round = 0; round < 20; round++) {
        struct kernel_reading reading;
        int ends[2], go[2];
        uint32_t child;
        pid_t killer;

        assert_int_equal(pipe2(go, O_CLOEXEC), 0);
        killer = killer_of(40, go[0]);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0); /* nobody else has it */
        child = child_with(&ends[1], 1);
        close(ends[1]);
        reading = waiting_at(ends[0]);
        assert_int_equal(write(go[1], "", 1), 1);
        assert_holder(&reading, child);
        waitpid(killer, NULL, 0);
        end_child(child);
        close(ends[0]);
        close(go[0]);
        close(go[1]);
    }
}

int main(void)
{
    struct unix_diag socket;
    int ends[2], failures;

    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    diag = unix_diag_open();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        unix_diag_ask(diag, inode_of(ends[0]), &socket) != 0) {
        printf("the kernel reports no unix sockets here\n");
        return 0;
    }
    failures = tests_run(NULL, NULL);
    close(diag);
    close(proc);
    return failures;
}
