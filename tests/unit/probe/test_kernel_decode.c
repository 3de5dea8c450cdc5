/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_decode.c - what readings made by hand mean: ripd/probe/kernel_decode.c, and the tables that it uses,
 * ripd/cases/syscalls.c and kernel.c.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cases/syscalls.h"
#include "probe/kernel_decode.h"
#include "rip/ring.h"
#include "support/test.h"

#define MS UINT64_C(1000000)
#define STACK UINT64_C(0x7ffcc5ad5158)

/* A thread in a system call. */
static struct kernel_reading in_call(long number, uint64_t first, uint64_t second)
{
    return (struct kernel_reading){
        .times = {.state = 'S'},
        .has = KERNEL_HAS_SYSCALL,
        .call = {.kind = PROC_SYSCALL_INSIDE,
                 .number = (uint64_t)number,
                 .arguments = {first, second},
                 .stack_pointer = STACK},
    };
}

static struct kernel_reading with_descriptor(long number, const char *link)
{
    struct kernel_reading reading = in_call(number, 12, 0);

    reading.has |= KERNEL_HAS_DESCRIPTOR;
    strncpy(reading.descriptor.link, link, sizeof(reading.descriptor.link) - 1);
    return reading;
}

static struct kernel_reading reading;

/* Asserts what is shown of the reading: "CALL(DESCRIPTOR) TARGET". */
static void shows_with(const struct proc_socket *socket, const char *expected)
{
    struct kernel_facts *facts = kernel_decode(&reading, socket);
    char text[KERNEL_TARGET_BYTES + 64], number[24] = "";

    assert_non_null(facts);
    if (facts->descriptor != -1)
        snprintf(number, sizeof(number), "%lld", (long long)facts->descriptor);
    snprintf(text, sizeof(text), "%s(%s) %s", facts->syscall != NULL ? facts->syscall : "", number, facts->target);
    kernel_facts_unref(facts);
    assert_string_equal(text, expected);
}

static void shows(const char *expected)
{
    shows_with(NULL, expected);
}

/* Targets ---------------------------------------------------------------------------------------------------------- */

static void shows_link(long number, const char *link, const char *expected)
{
    reading = with_descriptor(number, link);
    shows(expected);
}

TEST(descriptors)
{
    shows_link(SYS_read, "/data/x (deleted)", "read(12) /data/x (deleted)");
    reading.descriptor.link_cut = true;
    shows("read(12) /data/x (deleted)...");
    shows_link(SYS_read, "anon_inode:[eventfd]", "read(12) eventfd");
    shows_link(SYS_read, "anon_inode:[", "read(12) anon_inode:[");
    shows_link(SYS_read, "anon_inode:inotify", "read(12) inotify"); /* the only one without brackets */
    shows_link(SYS_read, "anon_inode:[]", "read(12) ");
    shows_link(SYS_read, "anon_inode:", "read(12) anon_inode:");
    shows_link(SYS_mq_timedreceive, "/orders", "mq_timedreceive(12) /orders");
    shows_link(SYS_mq_timedsend, "/orders", "mq_timedsend(12) /orders");
    shows_link(SYS_write, "pipe:[17]", "write(12) pipe:[17]");
    reading.has &= ~KERNEL_HAS_DESCRIPTOR;
    shows("write(12) ");
}

TEST(sockets)
{
    struct proc_socket socket = {
        .kind = PROC_SOCKET_TCP, .state = 1, .local = {{127, 0, 0, 1}, 51334}, .remote = {{127, 0, 0, 1}, 5432}};

    reading = with_descriptor(SYS_recvfrom, "socket:[99]");
    assert_int_equal(kernel_decode_socket(&reading), 99);
    shows("recvfrom(12) socket:[99]");
    shows_with(&socket, "recvfrom(12) tcp 127.0.0.1:51334 -> 127.0.0.1:5432");
    socket.state = 2;
    shows_with(&socket, "recvfrom(12) tcp 127.0.0.1:51334 -> 127.0.0.1:5432 SYN_SENT");
    socket.state = 10;
    socket.remote.port = 0;
    shows_with(&socket, "recvfrom(12) tcp 127.0.0.1:51334 LISTEN");
    socket.kind = PROC_SOCKET_UDP;
    shows_with(&socket, "recvfrom(12) udp 127.0.0.1:51334");
    socket.kind = PROC_SOCKET_UNIX;
    shows_with(&socket, "recvfrom(12) unix socket:[99]");
    strcpy(socket.path, "/run/db.sock");
    shows_with(&socket, "recvfrom(12) unix /run/db.sock");
    socket.listens = true;
    shows_with(&socket, "recvfrom(12) unix /run/db.sock LISTEN");
    reading = with_descriptor(SYS_read, "/a");
    assert_int_equal(kernel_decode_socket(&reading), 0);
}

static void shows_unix(const struct kernel_unix *known, const char *target)
{
    char expected[KERNEL_TARGET_BYTES + 64];

    reading = with_descriptor(SYS_recvfrom, "socket:[99]");
    reading.has |= KERNEL_HAS_UNIX;
    reading.unix_socket = *known;
    assert_int_equal(kernel_decode_socket(&reading), 0); /* no table has to be searched */
    snprintf(expected, sizeof(expected), "recvfrom(12) %s", target);
    shows(expected);
}

TEST(unix_sockets)
{
    struct kernel_unix known = {.peer = KERNEL_PEER_UNKNOWN};
    char longest[KERNEL_TARGET_BYTES];

    shows_unix(&known, "unix socket:[99]");
    known.peer = KERNEL_PEER_NONE;
    shows_unix(&known, "unix socket:[99] UNCONNECTED");
    known.peer = KERNEL_PEER_QUEUED;
    shows_unix(&known, "unix socket:[99] NOT_ACCEPTED");
    known.peer = KERNEL_PEER_CLOSED;
    shows_unix(&known, "unix socket:[99] PEER_CLOSED");
    known = (struct kernel_unix){.peer = KERNEL_PEER_SOCKET, .peer_inode = 100};
    shows_unix(&known, "unix socket:[99] -> socket:[100]");
    strcpy(known.name, "/run/db.sock");
    shows_unix(&known, "unix /run/db.sock -> socket:[100]");
    strcpy(known.peer_name, "@client");
    shows_unix(&known, "unix /run/db.sock -> @client");
    known.peer = KERNEL_PEER_QUEUED;
    shows_unix(&known, "unix /run/db.sock -> @client NOT_ACCEPTED");
    known = (struct kernel_unix){.peer = KERNEL_PEER_NONE, .listening = true, .name = "/run/db.sock"};
    shows_unix(&known, "unix /run/db.sock LISTEN");
    known = (struct kernel_unix){.peer = KERNEL_PEER_QUEUED, .peer_inode = 1};
    memset(known.name, 'n', sizeof(known.name) - 1);
    memset(known.peer_name, 'p', sizeof(known.peer_name) - 1);
    snprintf(longest, sizeof(longest), "unix %s -> %s NOT_ACCEPTED", known.name, known.peer_name);
    shows_unix(&known, longest); /* the target has room for the longest names */
}

static void shows_in_call(long number, uint64_t first, uint64_t second, const char *expected)
{
    reading = in_call(number, first, second);
    shows(expected);
}

TEST(other_calls)
{
    shows_in_call(SYS_futex, 0x7f0000001000, FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
                  "futex() futex wait private"); /* and no address */
    shows_in_call(SYS_futex, 0x7f0000001000, FUTEX_LOCK_PI, "futex() futex lock_pi shared");
    shows_in_call(SYS_futex, 0x7f0000001000, 99, "futex() ");
    shows_in_call(SYS_ppoll, 0x7f0000001000, 3, "ppoll() 3 descriptors");
    shows_in_call(SYS_pselect6, 0, 0, "pselect6() 0 descriptors");
    shows_in_call(SYS_pselect6, 17, 0, "pselect6() descriptors below 17");
    shows_in_call(SYS_msgrcv, 4, 0, "msgrcv() message queue 4");
    shows_in_call(SYS_msgsnd, 4, 0, "msgsnd() message queue 4");
    shows_in_call(SYS_semtimedop, 5, 0, "semtimedop() semaphore set 5");
#ifdef SYS_semop /* some machines have only semtimedop */
    shows_in_call(SYS_semop, 5, 0, "semop() semaphore set 5");
#endif
    shows_in_call(SYS_wait4, 4711, 0, "wait4() child 4711");
    shows_in_call(SYS_wait4, UINT64_MAX, 0, "wait4() any child");
    shows_in_call(SYS_waitid, P_PID, 4711, "waitid() child 4711");
    shows_in_call(SYS_waitid, P_PGID, 4711, "waitid() a child");
    shows_in_call(SYS_rt_sigtimedwait, 0, 0, "rt_sigtimedwait() a signal");
    shows_in_call(SYS_getpid, 1, 2, "getpid() ");
    shows_in_call(100000, 1, 2, "() ");
    shows_in_call(SYS_read, 1, 2, "read(1) ");
    reading.call.stack_pointer = 0xffffd000; /* a 32-bit program has other call numbers */
    shows("() ");
    shows_in_call(SYS_ppoll, 0x7f0000001000, 1, "ppoll() 1 descriptor");
    reading.has |= KERNEL_HAS_DESCRIPTOR; /* from the thread's memory */
    reading.descriptor_number = 7;
    strcpy(reading.descriptor.link, "pipe:[17]");
    shows("ppoll(7) pipe:[17]");
}

static void assert_asked(uint64_t expected_ns)
{
    struct kernel_facts *facts = kernel_decode(&reading, NULL);

    assert_int_equal(facts->asked_ns, expected_ns);
    kernel_facts_unref(facts);
}

TEST(timeouts)
{
    reading = in_call(SYS_epoll_pwait, 5, 0);
    reading.call.arguments[3] = 2500;
    assert_asked(2500 * MS);
    reading.call.arguments[3] = 0xffffffff; /* -1, as in the register */
    assert_asked(KERNEL_UNKNOWN);
    reading = in_call(SYS_nanosleep, STACK, 0);
    reading.has |= KERNEL_HAS_TIMEOUT;
    reading.timeout_ns = 7 * MS;
    assert_asked(7 * MS);
}

/* Names, from the memory of the thread ----------------------------------------------------------------------------- */

static void name(const char *first, const char *second)
{
    reading.has |= KERNEL_HAS_NAMES;
    snprintf(reading.names[0].text, sizeof(reading.names[0].text), "%s", first);
    snprintf(reading.names[1].text, sizeof(reading.names[1].text), "%s", second);
}

TEST(paths)
{
    char longest[KERNEL_TARGET_BYTES + 64];

    shows_in_call(SYS_openat, 0, 0, "openat() ");
    name("/run/queue", "");
    shows("openat() /run/queue");
    reading.names[0].cut = true;
    shows("openat() /run/queue...");
    reading = in_call(SYS_renameat2, 0, 0);
    name("/a/old", "/b/new");
    shows("renameat2() /a/old -> /b/new");
    reading = in_call(SYS_mount, 0, 0);
    name("", "/mnt");
    shows("mount() /mnt");
    name("server:/export", "/mnt");
    shows("mount() server:/export -> /mnt");
    for (size_t i = 0; i < SYSCALL_PATHS_MAX; i++) {
        memset(reading.names[i].text, 'p', sizeof(reading.names[i].text) - 1);
        reading.names[i].cut = true;
    }
    snprintf(longest, sizeof(longest), "mount() %s... -> %s...", reading.names[0].text, reading.names[1].text);
    shows(longest);                                         /* the target has room for the longest paths */
    reading = with_descriptor(SYS_newfstatat, "/mnt/file"); /* fstat(): a descriptor, and no path */
    reading.descriptor_number = 12;
    shows("newfstatat(12) /mnt/file");
    reading = in_call(SYS_read, 12, 0);
    name("/etc/passwd", "");
    shows("read(12) "); /* read() has no path */
}

TEST(addresses_of_internet_sockets)
{
    struct proc_socket socket = {.kind = PROC_SOCKET_UDP, .state = 7, .local = {{127, 0, 0, 1}, 4000}};

    reading = with_descriptor(SYS_sendto, "socket:[99]");
    name("10.0.0.1:53", "");
    shows_with(&socket, "sendto(12) udp 127.0.0.1:4000 -> 10.0.0.1:53");
    socket.remote = (struct proc_address){{10, 0, 0, 2}, 53};
    shows_with(&socket, "sendto(12) udp 127.0.0.1:4000 -> 10.0.0.1:53");
    socket.kind = PROC_SOCKET_TCP;
    socket.state = 2;
    shows_with(&socket, "sendto(12) tcp 127.0.0.1:4000 -> 10.0.0.2:53 SYN_SENT");
    shows("sendto(12) socket:[99]"); /* the protocol may ignore the address */
    shows_link(SYS_connect, "socket:[99]", "connect(12) socket:[99]");
    name("vsock 2:1024", "");
    shows("connect(12) socket:[99] -> vsock 2:1024 CONNECTING");
}

TEST(addresses_of_unix_sockets)
{
    struct proc_socket row = {.kind = PROC_SOCKET_UNIX, .state = 1, .type = SOCK_STREAM};

    reading = with_descriptor(SYS_connect, "socket:[99]");
    name("/run/db.sock", "");
    shows_with(&row, "connect(12) unix socket:[99] -> /run/db.sock CONNECTING");
    row.listens = true;
    shows_with(&row, "connect(12) unix socket:[99] LISTEN");
    row = (struct proc_socket){.kind = PROC_SOCKET_UNIX, .state = 3, .type = SOCK_SEQPACKET};
    shows_with(&row, "connect(12) unix socket:[99]");
    reading.has |= KERNEL_HAS_UNIX;
    reading.unix_socket.peer = KERNEL_PEER_NONE;
    shows("connect(12) unix socket:[99] -> /run/db.sock CONNECTING");
    reading.unix_socket = (struct kernel_unix){.peer = KERNEL_PEER_SOCKET, .peer_inode = 100};
    shows("connect(12) unix socket:[99] -> socket:[100]"); /* the call has connected it */
    reading = with_descriptor(SYS_sendmsg, "socket:[99]");
    name("@jobs", "");
    row = (struct proc_socket){.kind = PROC_SOCKET_UNIX, .state = 1, .type = SOCK_DGRAM};
    shows_with(&row, "sendmsg(12) unix socket:[99] -> @jobs");
    reading.has |= KERNEL_HAS_UNIX;
    reading.unix_socket.peer = KERNEL_PEER_NONE;
    shows("sendmsg(12) unix socket:[99] -> @jobs UNCONNECTED");
    reading.unix_socket.peer = KERNEL_PEER_UNKNOWN; /* the peer is another socket */
    shows("sendmsg(12) unix socket:[99] -> @jobs");
    reading.unix_socket.peer = KERNEL_PEER_CLOSED;
    shows("sendmsg(12) unix socket:[99] PEER_CLOSED");
}

/* Evidence --------------------------------------------------------------------------------------------------------- */

static void assert_wait(enum evidence_wait expected)
{
    assert_int_equal(kernel_decode_wait(&reading), expected);
}

TEST(waits)
{
    reading = in_call(SYS_clock_nanosleep, 0, 0);
    assert_wait(WAIT_SLEEP);
    reading = in_call(SYS_recvfrom, 0, 0);
    assert_wait(WAIT_OTHERS);
    reading = in_call(SYS_ppoll, 0, 0);
    assert_wait(WAIT_OTHERS); /* of no descriptor, without a timeout */
    reading.call.arguments[2] = STACK;
    assert_wait(WAIT_SLEEP);
    reading.call.arguments[1] = 1;
    assert_wait(WAIT_OTHERS);
    reading = in_call(SYS_pselect6, 0, 0);
    reading.call.arguments[4] = STACK;
    assert_wait(WAIT_SLEEP);
    reading.call.kind = PROC_SYSCALL_OUTSIDE;
    assert_wait(WAIT_OTHERS);
    reading.call.kind = PROC_SYSCALL_RUNNING;
    assert_wait(WAIT_UNKNOWN);
}

TEST(waits_for_a_writer)
{
    static const struct {
        const char *wchan;
        uint64_t flags;
        enum evidence_wait wait;
    } cases[] = {
        {"wait_for_partner", O_RDONLY | O_CLOEXEC, WAIT_WRITER}, {"fifo_open", O_RDONLY, WAIT_WRITER},
        {"wait_for_partner.isra.0", O_RDONLY, WAIT_WRITER},      {"wait_for_partner", O_WRONLY, WAIT_OTHERS},
        {"request_wait_answer", O_RDONLY, WAIT_OTHERS},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        reading = in_call(SYS_openat, 0, 0);
        reading.call.arguments[2] = cases[i].flags;
        reading.has |= KERNEL_HAS_WCHAN;
        snprintf(reading.wchan, sizeof(reading.wchan), "%s", cases[i].wchan);
        assert_wait(cases[i].wait);
    }
}

/* If the system call may not be read, the kernel function decides. */
TEST(waits_by_kernel_function)
{
    static const struct {
        const char *wchan;
        enum evidence_wait wait;
    } cases[] = {{"hrtimer_nanosleep", WAIT_SLEEP},
                 {"hrtimer_nanosleep.part.0", WAIT_SLEEP},
                 {"futex_do_wait", WAIT_OTHERS},
                 {"anon_pipe_read", WAIT_OTHERS},
                 {"poll_schedule_timeout.constprop.0", WAIT_UNKNOWN}};

    reading = (struct kernel_reading){.times = {.state = 'S'}};
    assert_wait(WAIT_UNKNOWN);
    reading.has = KERNEL_HAS_WCHAN;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        strcpy(reading.wchan, cases[i].wchan);
        assert_wait(cases[i].wait);
    }
    strcpy(reading.wchan, "hrtimer_nanosleep"); /* a sleep continues so after a signal */
    reading.has |= KERNEL_HAS_SYSCALL;
    reading.call = in_call(SYS_restart_syscall, 0, 0).call;
    assert_wait(WAIT_SLEEP);
}

static struct kernel_times times_at(uint64_t mono_ms, uint64_t cpu_ms, uint64_t switches)
{
    return (struct kernel_times){
        .read_mono_ns = mono_ms * MS,
        .user_ticks = cpu_ms / 10,
        .state = 'R',
        .cpu_ns = cpu_ms * MS,
        .wait_ns = 5,
        .slice_count = 3,
        .voluntary_count = switches,
    };
}

TEST(cpu_time_of_threads_in_turn)
{
    const struct kernel_times first = times_at(1000, 0, 1), last = times_at(5000, 2000, 9),
                              now = times_at(6000, 2000, 12);

    assert_int_equal(kernel_decode_cpu_in(RIP_CALL_INTERPRETER, &first, &last, &now), CPU_SOME);
    assert_int_equal(kernel_decode_cpu_in(RIP_CALL_COMPUTES, &first, &last, &now), CPU_SOME);
    assert_int_equal(kernel_decode_cpu_in(RIP_CALL_LOCK, &first, &last, &now), CPU_UNKNOWN);
    assert_int_equal(kernel_decode_cpu_in(RIP_CALL_INTERPRETER, &last, &last, &now), CPU_UNKNOWN);
}

static void assert_cpu(const struct kernel_times *before, struct kernel_times after, enum evidence_cpu expected)
{
    assert_int_equal(kernel_decode_cpu(before, &after), expected);
}

TEST(cpu_time)
{
    struct kernel_times before = times_at(1000, 70, 3), after;

    assert_cpu(&before, times_at(1011, 81, 3), CPU_UNKNOWN);
    assert_cpu(&before, times_at(1100, 120, 3), CPU_MOST);
    assert_cpu(&before, times_at(1100, 119, 3), CPU_SOME);
    assert_cpu(&before, times_at(1100, 75, 3), CPU_SOME);
    assert_cpu(&before, times_at(1100, 74, 3), CPU_HARDLY);
    assert_cpu(&before, times_at(1100, 74, 4), CPU_UNKNOWN); /* it has slept since */
    after = times_at(1100, 74, 3);
    before.state = 'S'; /* it has been woken since, so it has not waited for a processor */
    assert_int_equal(kernel_decode_cpu(&before, &after), CPU_UNKNOWN);
}

TEST(has_not_run)
{
    struct kernel_times before = times_at(1000, 70, 3), after = times_at(2000, 70, 3);

    assert_false(kernel_has_not_run(&before, &after)); /* R: it may run now */
    before.state = after.state = 'S';
    assert_true(kernel_has_not_run(&before, &after));
    after.voluntary_count++;
    assert_false(kernel_has_not_run(&before, &after));
    after = before;
    after.slice_count++;
    assert_false(kernel_has_not_run(&before, &after));
    after = before;
    after.state = 'D';
    assert_false(kernel_has_not_run(&before, &after));
}

TEST(window)
{
    struct kernel_facts *facts = kernel_decode(&reading, NULL);
    struct kernel_times first = times_at(1000, 70, 3), last = times_at(1005, 75, 3);

    reading = in_call(SYS_recvfrom, 3, 0);
    kernel_decode_window(facts, &first, &last);
    assert_int_equal(facts->window_ns, KERNEL_UNKNOWN);
    assert_int_equal(facts->cpu_ns, KERNEL_UNKNOWN);
    last = times_at(1500, 500, 9);
    last.wait_ns = 25;
    kernel_decode_window(facts, &first, &last);
    assert_int_equal(facts->window_ns, 500 * MS);
    assert_int_equal(facts->cpu_ns, 430 * MS);
    assert_int_equal(facts->wait_ns, 20);
    assert_int_equal(facts->voluntary, 6);
    assert_int_equal(facts->involuntary, 0);
    assert_int_equal(facts->mode, KERNEL_MODE_USER);
    last.system_ticks = 1000;
    kernel_decode_window(facts, &first, &last);
    assert_int_equal(facts->mode, KERNEL_MODE_SYSTEM);
    kernel_facts_unref(facts);
}

/* Tables ----------------------------------------------------------------------------------------------------------- */

TEST(names)
{
    assert_string_equal(syscall_name(SYS_read), "read");
    assert_string_equal(syscall_name(SYS_futex), "futex");
    assert_string_equal(syscall_name(SYS_fcntl), "fcntl");
    assert_string_equal(syscall_name(SYS_clock_nanosleep), "clock_nanosleep");
    assert_string_equal(syscall_name(SYS_getrandom), "getrandom");
    assert_null(syscall_name(UINT64_MAX));
    assert_int_equal(syscall_shape_of(NULL)->topic, SYSCALL_TOPIC_OTHER);
    assert_int_equal(syscall_shape_of("no_such_call")->topic, SYSCALL_TOPIC_OTHER);
}

/* Every argument in the table exists. */
TEST(shapes)
{
    size_t shaped = 0;

    for (uint64_t number = 0; number < 1000; number++) {
        const struct syscall_shape *shape = syscall_shape_of(syscall_name(number));
        const int arguments[] = {shape->count,
                                 shape->timeout,
                                 shape->address + 1, /* the length of the address */
                                 shape->paths[0].argument,
                                 shape->paths[0].directory,
                                 shape->paths[1].argument,
                                 shape->paths[1].directory};

        shaped += shape->names[0] != '\0';
        for (size_t i = 0; i < COUNT_OF(arguments); i++)
            assert_true(arguments[i] < (int)PROC_SYSCALL_ARGUMENTS &&
                        (arguments[i] >= SYSCALL_CURRENT ||
                         (arguments[i] == SYSCALL_AS_GIVEN && strcmp(shape->names, "mount") == 0)));
        if (shape->address_form != SYSCALL_ADDRESS_NONE || shape->locks_file)
            assert_int_equal(shape->topic, SYSCALL_TOPIC_DESCRIPTOR);
    }
    assert_true(shaped > 100);
}
