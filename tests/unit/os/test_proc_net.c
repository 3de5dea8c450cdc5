/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_net.c - tables of sockets: ripd/os/proc_net.c; ripd/probe/sockets.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/proc_net.h"
#include "probe/sockets.h"
#include "support/descriptors.h"
#include "support/guarded_copy.h"
#include "support/ring_stage.h"
#include "support/test.h"

static const char tcp_line[] =
    "   0: 0100007F:8711 0200A8C0:1538 02 00000000:00000000 00:00000000 00000000     0        "
    "0 5670868 1 00000000c495df90 100 0 0 10 0";
static const char tcp6_line[] = "  12: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A "
                                "00000000:00000000 00:00000000 00000000  1000        0 99 1 0000000000000000 100 0";
static const char unix_line[] = "00000000256fc0db: 00000003 00000000 00010000 0001 01 629 /run/a b.sock";

/* Parsers ---------------------------------------------------------------------------------------------------------- */

TEST(internet_sockets)
{
    char text[PROC_ADDRESS_TEXT_BYTES];
    struct proc_socket socket;

    assert_int_equal(proc_parse_socket(tcp_line, PROC_SOCKET_TCP, &socket), 0);
    assert_int_equal(socket.inode, 5670868);
    assert_int_equal(socket.state, 2);
    assert_string_equal(proc_tcp_state_name(socket.state), "SYN_SENT");
    assert_string_equal(proc_address_format(socket.kind, &socket.local, text), "127.0.0.1:34577");
    assert_string_equal(proc_address_format(socket.kind, &socket.remote, text), "192.168.0.2:5432");
    assert_int_equal(proc_parse_socket(tcp6_line, PROC_SOCKET_TCP6, &socket), 0);
    assert_string_equal(proc_address_format(socket.kind, &socket.local, text), "[::1]:80");
    assert_int_equal(socket.inode, 99);
    assert_null(proc_tcp_state_name(1));
    assert_null(proc_tcp_state_name(200));
    assert_string_equal(proc_tcp_state_name(10), "LISTEN");
}

TEST(unix_sockets)
{
    struct proc_socket socket;
    char line[512];

    assert_int_equal(proc_parse_socket(unix_line, PROC_SOCKET_UNIX, &socket), 0);
    assert_int_equal(socket.inode, 629);
    assert_string_equal(socket.path, "/run/a b.sock");
    assert_int_equal(socket.type, SOCK_STREAM);
    assert_string_equal(proc_unix_state_name(&socket), "LISTEN");
    assert_int_equal(proc_parse_socket("0: 2 0 0 0005 01 632", PROC_SOCKET_UNIX, &socket), 0);
    assert_string_equal(proc_unix_state_name(&socket), "UNCONNECTED");
    assert_int_equal(proc_parse_socket("0: 2 0 0 0002 01 633", PROC_SOCKET_UNIX, &socket), 0);
    assert_null(proc_unix_state_name(&socket)); /* some kernels do not show it for datagrams */
    assert_int_equal(proc_parse_socket("0: 3 0 0 0001 100 634", PROC_SOCKET_UNIX, &socket), -EINVAL);
    assert_int_equal(proc_parse_socket("0: 3 0 0 0001 03   630", PROC_SOCKET_UNIX, &socket), 0);
    assert_string_equal(socket.path, "");
    assert_null(proc_unix_state_name(&socket));
    snprintf(line, sizeof(line), "0: 3 0 0 0001 03 631 %0200d", 0);
    assert_int_equal(proc_parse_socket(line, PROC_SOCKET_UNIX, &socket), -EINVAL);
    assert_int_equal(socket.inode, 630);
}

TEST(malformed_lines)
{
    static const char *const bad[] = {"",
                                      "  sl  local_address rem_address   st tx_queue",
                                      "Num       RefCount Protocol Flags    Type St Inode Path",
                                      "0: 0100007F:8711",
                                      "0: 0100007F:8711 0100007F:1FFFF 01 0 0 0 0 0 7",
                                      "0: 010007F:8711 0100007F:1 01 0 0 0 0 0 7",
                                      "0: 0100007F:8711 0100007F:1 01 0 0 0 0 0",
                                      "x: 0100007F:8711 0100007F:1 01 0 0 0 0 0 7",
                                      "0: 0100007F 0100007F:1 01 0 0 0 0 0 7"};
    struct proc_socket socket;

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        for (int kind = 0; kind < PROC_SOCKET_UNIX || (i < 3 && kind == PROC_SOCKET_UNIX); kind++)
            if (proc_parse_socket(bad[i], (enum proc_socket_kind)kind, &socket) != -EINVAL)
                fail_msg("%s as %s", bad[i], proc_socket_kind_name((enum proc_socket_kind)kind));
}

static void parse_all_kinds(char *line)
{
    struct proc_socket socket;

    for (int kind = 0; kind < PROC_SOCKET_KIND_COUNT; kind++)
        proc_parse_socket(line, (enum proc_socket_kind)kind, &socket);
}

TEST(nothing_is_read_behind_the_end)
{
    guarded_cuts(tcp_line, parse_all_kinds);
    guarded_cuts(tcp6_line, parse_all_kinds);
    guarded_cuts(unix_line, parse_all_kinds);
}

/* Tables ----------------------------------------------------------------------------------------------------------- */

static int listen_at(struct sockaddr_in *ret_address)
{
    socklen_t length = sizeof(*ret_address);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(server, (struct sockaddr *)ret_address, length), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)ret_address, &length), 0);
    return server;
}

/* Binds a unix socket to an abstract name. */
__attribute__((format(printf, 1, 2))) static int bind_unix(const char *format, ...)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, format, arguments);
    va_end(arguments);
    assert_int_equal(bind(made, (struct sockaddr *)&name, sizeof(name)), 0);
    return made;
}

static struct sockets *sockets;
static const struct proc_socket *found;
static int proc;         /* /proc, or the stage */
static uint32_t process; /* whose sockets are searched */
static struct ring_stage stage;

static int begin(void **state)
{
    (void)state;
    proc = file_open_directory("/proc");
    process = (uint32_t)getpid();
    sockets = sockets_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    close(proc);
    sockets_free(sockets);
    return 0;
}

static void start_again(void)
{
    sockets_free(sockets);
    sockets = sockets_new();
}

static int find(uint64_t inode, uint64_t deadline_mono_ns)
{
    return sockets_find(sockets, proc, process, inode, deadline_mono_ns, &found);
}

/* Finds a socket without a deadline. */
static void assert_found(uint64_t inode, enum proc_socket_kind kind)
{
    assert_int_equal(find(inode, UINT64_MAX), 0);
    assert_int_equal(found->kind, kind);
}

TEST(sockets_of_this_process, begin, end)
{
    int named = bind_unix("rip-test-%u", process), server;
    struct sockaddr_in address;

    server = listen_at(&address);
    assert_found(inode_of(server), PROC_SOCKET_TCP);
    assert_int_equal(found->local.port, ntohs(address.sin_port));
    assert_string_equal(proc_tcp_state_name(found->state), "LISTEN");
    assert_found(inode_of(named), PROC_SOCKET_UNIX);
    assert_int_equal(strncmp(found->path, "@rip-test-", 10), 0);
    assert_int_equal(find(0, UINT64_MAX), -ENOENT);
    assert_int_equal(find(UINT64_MAX, UINT64_MAX), -ENOENT);
    assert_int_equal(sockets_cut_count(sockets), 0);
    sockets_end_pass(sockets);
    assert_int_equal(find(inode_of(server), 0), -EAGAIN); /* no time */
    assert_true(sockets_cut_count(sockets) != 0);
    close(server);
    close(named);
}

#define FAKE_ROW "x\n0: 00000003 00000000 00000000 0001 03 %u /run/lie"

/* A name looks like the row of another socket: neither row is used, also while only one of them has been read. */
TEST(a_name_with_a_row_in_it, begin, end)
{
    enum { CROWD = 300 };
    int victim = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), crowd[CROWD], liar;

    for (size_t i = 0; i < CROWD; i++) /* so that the two are not read together */
        crowd[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    liar = bind_unix(FAKE_ROW, inode_of(victim));
    assert_int_equal(find(inode_of(victim), UINT64_MAX), -ENOENT);
    assert_int_equal(find(inode_of(liar), UINT64_MAX), 0);
    start_again();
    for (unsigned i = 0; i < 500; i++) {
        assert_int_not_equal(find(inode_of(victim), 0), 0);
        sockets_end_pass(sockets);
    }
    for (size_t i = 0; i < CROWD; i++)
        close(crowd[i]);
    close(liar);
    close(victim);
}

/* A TCP socket is not confused with a unix name, whatever the order of the lookups. */
TEST(a_name_with_a_row_of_another_kind_in_it, begin, end)
{
    struct sockaddr_in address;
    int victim = listen_at(&address), liar = bind_unix(FAKE_ROW, inode_of(victim));

    for (int i = 0; i < 2; i++) {
        assert_found(inode_of(victim), PROC_SOCKET_TCP);
        assert_found(inode_of(liar), PROC_SOCKET_UNIX);
    }
    close(liar);
    close(victim);
}

/* A made-up /proc with a table of process 7 ------------------------------------------------------------------------ */

/* Writes rows of sockets whose inodes begin with first, the highest inode first, behind rows without an inode. */
static void write_table(int first, int count, int without_inode)
{
    FILE *file = fopen(ring_stage_path(&stage, "7/net/tcp"), "we");

    fputs("  sl  local_address rem_address\n", file);
    for (int i = 0; i < without_inode; i++)
        fprintf(file, "%4d: 0100007F:0050 0100007F:0051 06 00000000:00000000 00:00000000 00000000 0 0 0 1 0 100\n", i);
    for (int i = first + count - 1; i >= first; i--)
        fprintf(file, "%4d: 0100007F:0050 0100007F:%04X 01 00000000:00000000 00:00000000 00000000 0 0 %d 1 0 100\n", i,
                i % 0x10000, i);
    fclose(file);
}

static int begin_stage(void **state)
{
    begin(state);
    close(proc);
    ring_stage_open(&stage);
    ring_stage_put(&stage, "7/net/tcp", "");
    proc = file_open_directory(stage.directory);
    process = 7;
    return 0;
}

static int end_stage(void **state)
{
    ring_stage_close(&stage);
    return end(state);
}

/* A table that is longer than one read. */
TEST(a_long_table, begin_stage, end_stage)
{
    enum { LINES = 3000 };

    write_table(1, LINES, 0);
    for (uint64_t inode = 1; inode <= LINES; inode++) {
        assert_int_equal(find(inode, UINT64_MAX), 0);
        assert_int_equal(found->remote.port, inode);
    }
    assert_int_equal(find(LINES + 1, UINT64_MAX), -ENOENT);
}

/* Repeats the lookup in passes without time until the result is not -EAGAIN. Returns the result. */
static int find_in_passes(uint64_t inode, unsigned *ret_passes)
{
    int result = -EAGAIN;

    for (*ret_passes = 0; *ret_passes < 10000; ++*ret_passes) {
        result = find(inode, 0);
        if (result != -EAGAIN)
            break;
        assert_int_equal(find(inode, UINT64_MAX), -EAGAIN); /* a pass reads once */
        sockets_end_pass(sockets);
    }
    return result;
}

/* Guarantees B and C: the next pass continues where one stopped. Sockets without a lookup are dropped after a while. */
TEST(a_table_too_long_for_a_pass, begin_stage, end_stage)
{
    enum { LINES = 3000, PASSES = LINES / 64 + PROC_SOCKET_KIND_COUNT };
    unsigned passes;

    write_table(1, LINES, 0);
    assert_int_equal(find_in_passes(1, &passes), 0); /* in the last row */
    assert_in_range(passes, LINES / 64, PASSES);
    assert_in_range(sockets_cut_count(sockets), passes, passes + 1);
    assert_int_equal(find(LINES, 0), 0);
    for (unsigned i = 0; i < SOCKETS_PATIENCE + 1; i++) /* one is the pass of the lookup */
        sockets_end_pass(sockets);
    assert_int_equal(find(1, 0), 0); /* still kept */
    for (unsigned i = 0; i < SOCKETS_PATIENCE + 2; i++)
        sockets_end_pass(sockets);
    assert_int_equal(find(1, 0), -EAGAIN); /* dropped */
    assert_int_equal(find_in_passes(LINES + 1, &passes), -ENOENT);
    assert_in_range(passes, LINES / 64, PASSES);
    sockets_end_pass(sockets); /* the table was read to its end, so it is read again */
    write_table(LINES + 1, 1, 0);
    assert_int_equal(find(1, UINT64_MAX), -ENOENT);
    assert_int_equal(find(LINES + 1, UINT64_MAX), 0);
}

/* Guarantee A. A closed socket has no inode, and does not count. */
TEST(too_many_sockets, begin_stage, end_stage)
{
    enum { ALONE = SOCKETS_MAX / 2 + 1 }; /* for one user */

    write_table(1, ALONE, SOCKETS_MAX);
    assert_int_equal(find(1, UINT64_MAX), 0);
    assert_int_equal(sockets_cut_count(sockets), 0);
    start_again();
    write_table(1, ALONE + 1, 0);
    assert_int_equal(find(1, UINT64_MAX), -ENOENT);
    assert_int_equal(find(2, UINT64_MAX), 0);
    assert_int_equal(sockets_cut_count(sockets), 1);
}

/* Another user's socket is found behind more sockets of one user than are kept. */
TEST(another_users_socket, begin_stage, end_stage)
{
    FILE *file;

    write_table(1, SOCKETS_MAX + 1, 0);
    file = fopen(ring_stage_path(&stage, "7/net/tcp"), "ae");
    fprintf(file, "0: 0100007F:0050 0100007F:0051 01 00000000:00000000 00:00000000 00000000 1000 0 %u 1 0 100\n",
            SOCKETS_MAX + 2);
    fclose(file);
    assert_int_equal(find(SOCKETS_MAX + 2, UINT64_MAX), 0);
    assert_int_equal(found->uid, 1000);
    assert_int_equal(find(1, UINT64_MAX), -ENOENT);
}

/* The kernel's tables also continue where a pass stopped, while sockets are closed. */
TEST(real_tables_in_passes, begin, end)
{
    enum { SERVERS = 300 };
    int servers[SERVERS];
    struct sockaddr_in address;
    unsigned passes, most = 0;

    for (size_t i = 0; i < SERVERS; i++)
        servers[i] = listen_at(&address);
    for (size_t i = 0; i < SERVERS; i += 2) {
        assert_int_equal(find_in_passes(inode_of(servers[i]), &passes), 0);
        most = passes > most ? passes : most;
        close(servers[i]);
        sockets_end_pass(sockets);
    }
    assert_true(most >= 2); /* several passes were needed */
    for (size_t i = 1; i < SERVERS; i += 2)
        close(servers[i]);
}
