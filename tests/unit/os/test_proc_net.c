/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_net.c - tables of sockets: ripd/os/proc_net.c; ripd/probe/sockets.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/proc_net.h"
#include "probe/sockets.h"
#include "support/descriptors.h"
#include "support/guarded_copy.h"
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
    assert_null(proc_unix_state_name(&socket)); /* not all kernels have it of datagrams */
    assert_int_equal(proc_parse_socket("0: 3 0 0 0001 100 634", PROC_SOCKET_UNIX, &socket), -EINVAL);
    assert_int_equal(proc_parse_socket("0: 3 0 0 0001 03   630", PROC_SOCKET_UNIX, &socket), 0);
    assert_string_equal(socket.path, "");
    assert_null(proc_unix_state_name(&socket));
    snprintf(line, sizeof(line), "0: 3 0 0 0001 03 631 %0200d", 0);
    assert_int_equal(proc_parse_socket(line, PROC_SOCKET_UNIX, &socket), -EINVAL);
    assert_int_equal(socket.inode, 630);
}

TEST(what_is_no_socket)
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

TEST(no_parser_reads_beyond_the_end)
{
    static const char *const texts[] = {tcp_line, tcp6_line, unix_line};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (size_t length = 0; length <= strlen(texts[i]); length++) {
            struct proc_socket socket;
            struct guarded_copy copy;
            char text[1024] = "";

            memcpy(text, texts[i], length);
            guarded_copy_new(&copy, text, length + 1);
            for (int kind = 0; kind < PROC_SOCKET_KIND_COUNT; kind++)
                proc_parse_socket((const char *)copy.bytes, (enum proc_socket_kind)kind, &socket);
            guarded_copy_free(&copy);
        }
    }
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

static struct sockets *sockets;
static const struct proc_socket *found;
static int proc;         /* a folder like /proc */
static uint32_t process; /* whose sockets are looked for */

static int begin(void **state)
{
    (void)state;
    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
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

static void forget_all(void)
{
    sockets_free(sockets);
    sockets = sockets_new();
}

static int find(uint64_t inode, uint64_t deadline_mono_ns)
{
    return sockets_find(sockets, proc, process, inode, deadline_mono_ns, &found);
}

TEST(sockets_of_our_own, begin, end)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int named = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint64_t deadline_mono_ns = clock_mono_ns() + UINT64_C(10000000000);
    struct sockaddr_in address;
    int server = listen_at(&address);

    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "rip-test-%u", process);
    assert_int_equal(bind(named, (struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(find(inode_of(server), deadline_mono_ns), 0);
    assert_int_equal(found->kind, PROC_SOCKET_TCP);
    assert_int_equal(found->local.port, ntohs(address.sin_port));
    assert_string_equal(proc_tcp_state_name(found->state), "LISTEN");
    assert_int_equal(find(inode_of(named), deadline_mono_ns), 0);
    assert_int_equal(found->kind, PROC_SOCKET_UNIX);
    assert_int_equal(strncmp(found->path, "@rip-test-", 10), 0);
    assert_int_equal(find(0, deadline_mono_ns), -ENOENT);
    assert_int_equal(find(UINT64_MAX, deadline_mono_ns), -ENOENT);
    assert_int_equal(sockets_cut_count(sockets), 0);
    sockets_end_pass(sockets);
    assert_int_equal(find(inode_of(server), 0), -EAGAIN); /* no time */
    assert_true(sockets_cut_count(sockets) != 0);
    close(server);
    close(named);
}

/* A name that looks like the row of another socket: neither row is believed. */
TEST(a_name_with_a_row_in_it, begin, end)
{
    enum { CROWD = 300 };
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int liar = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int victim = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), crowd[CROWD];

    for (size_t i = 0; i < CROWD; i++) /* so that the two are not read at once */
        crowd[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "x\n0: 00000003 00000000 00000000 0001 03 %u /run/lie",
             (unsigned)inode_of(victim));
    assert_int_equal(bind(liar, (struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(find(inode_of(victim), UINT64_MAX), -ENOENT);
    assert_int_equal(find(inode_of(liar), UINT64_MAX), 0);
    forget_all();
    for (unsigned i = 0; i < 500; i++) { /* nor while only one of the two has been read */
        assert_int_not_equal(find(inode_of(victim), 0), 0);
        sockets_end_pass(sockets);
    }
    for (size_t i = 0; i < CROWD; i++)
        close(crowd[i]);
    close(liar);
    close(victim);
}

/* What has an address has no name, in whatever order the tables are read. */
TEST(a_name_with_a_row_of_another_kind_in_it, begin, end)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int liar = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address;
    int victim = listen_at(&address);

    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "x\n0: 00000003 00000000 00000000 0001 03 %u /run/lie",
             (unsigned)inode_of(victim));
    assert_int_equal(bind(liar, (struct sockaddr *)&name, sizeof(name)), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(find(inode_of(victim), UINT64_MAX), 0);
        assert_int_equal(found->kind, PROC_SOCKET_TCP);
        assert_int_equal(find(inode_of(liar), UINT64_MAX), 0);
        assert_int_equal(found->kind, PROC_SOCKET_UNIX);
    }
    close(liar);
    close(victim);
}

/* A tree of our own, with tables of process 7. */
static struct {
    char path[64];
    char table[128];
} tree;

/* So many sockets: inodes from `first` on, the highest come first. */
static void tree_write(int first, int line_count, int without_inode)
{
    FILE *file = fopen(tree.table, "we");

    fputs("  sl  local_address rem_address\n", file);
    for (int i = 0; i < without_inode; i++)
        fprintf(file, "%4d: 0100007F:0050 0100007F:0051 06 00000000:00000000 00:00000000 00000000 0 0 0 1 0 100\n", i);
    for (int i = first + line_count - 1; i >= first; i--)
        fprintf(file, "%4d: 0100007F:0050 0100007F:%04X 01 00000000:00000000 00:00000000 00000000 0 0 %d 1 0 100\n", i,
                i % 0x10000, i);
    fclose(file);
}

static int begin_tree(void **state)
{
    begin(state);
    close(proc);
    snprintf(tree.path, sizeof(tree.path), "/dev/shm/rip-test-net-XXXXXX");
    assert_non_null(mkdtemp(tree.path));
    proc = open(tree.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    process = 7;
    assert_int_equal(mkdirat(proc, "7", 0700), 0);
    assert_int_equal(mkdirat(proc, "7/net", 0700), 0);
    snprintf(tree.table, sizeof(tree.table), "%s/7/net/tcp", tree.path);
    return 0;
}

static int end_tree(void **state)
{
    unlink(tree.table);
    unlinkat(proc, "7/net", AT_REMOVEDIR);
    unlinkat(proc, "7", AT_REMOVEDIR);
    rmdir(tree.path);
    return end(state);
}

/* A table longer than what is read at once. */
TEST(a_long_table, begin_tree, end_tree)
{
    enum { LINES = 3000 };

    tree_write(1, LINES, 0);
    for (uint64_t inode = 1; inode <= LINES; inode++) {
        assert_int_equal(find(inode, UINT64_MAX), 0);
        assert_int_equal(found->remote.port, inode);
    }
    assert_int_equal(find(LINES + 1, UINT64_MAX), -ENOENT);
}

/* Asks in one pass after the other, none of which has any time, until there is an answer; returns it, and after how
 * many. */
static int ask_in_passes(uint64_t inode, unsigned *ret_passes)
{
    int result = -EAGAIN;

    for (*ret_passes = 0; result == -EAGAIN && *ret_passes < 10000; ++*ret_passes) {
        result = find(inode, 0);
        if (result == -EAGAIN) /* not twice in one pass */
            assert_int_equal(find(inode, UINT64_MAX), -EAGAIN);
        if (result != -EAGAIN)
            break;
        sockets_end_pass(sockets);
    }
    return result;
}

/* What there is no time for in one pass is read in the next ones, from there on. */
TEST(a_table_too_long_for_a_pass, begin_tree, end_tree)
{
    enum { LINES = 3000, PASSES = LINES / 64 + PROC_SOCKET_KIND_COUNT };
    unsigned passes;

    tree_write(1, LINES, 0);
    assert_int_equal(ask_in_passes(1, &passes), 0); /* the last one */
    assert_in_range(passes, LINES / 64, PASSES);
    assert_in_range(sockets_cut_count(sockets), passes, passes + 1);
    assert_int_equal(find(LINES, 0), 0);
    for (unsigned i = 0; i < SOCKETS_PATIENCE + 1; i++) /* the first is the one in which somebody asked */
        sockets_end_pass(sockets);
    assert_int_equal(find(1, 0), 0); /* still there */
    for (unsigned i = 0; i < SOCKETS_PATIENCE + 2; i++)
        sockets_end_pass(sockets);
    assert_int_equal(find(1, 0), -EAGAIN); /* nobody asked: anew */
    assert_int_equal(ask_in_passes(LINES + 1, &passes), -ENOENT);
    assert_in_range(passes, LINES / 64, PASSES);
    sockets_end_pass(sockets); /* it was read to its end, and is read anew */
    tree_write(LINES + 1, 1, 0);
    assert_int_equal(find(1, UINT64_MAX), -ENOENT);
    assert_int_equal(find(LINES + 1, UINT64_MAX), 0);
}

/* A socket that nobody has open any more has no inode, and takes no room. */
TEST(too_many_sockets, begin_tree, end_tree)
{
    enum { ALONE = SOCKETS_MAX / 2 + 1 }; /* all are of one user */

    tree_write(1, ALONE, SOCKETS_MAX);
    assert_int_equal(find(1, UINT64_MAX), 0);
    assert_int_equal(sockets_cut_count(sockets), 0);
    forget_all();
    tree_write(1, ALONE + 1, 0);
    assert_int_equal(find(1, UINT64_MAX), -ENOENT);
    assert_int_equal(find(2, UINT64_MAX), 0);
    assert_int_equal(sockets_cut_count(sockets), 1);
}

/* Behind more of one user than are kept of all. */
TEST(another_users_socket, begin_tree, end_tree)
{
    FILE *file;

    tree_write(1, SOCKETS_MAX + 1, 0);
    file = fopen(tree.table, "ae");
    fprintf(file, "0: 0100007F:0050 0100007F:0051 01 00000000:00000000 00:00000000 00000000 1000 0 %u 1 0 100\n",
            SOCKETS_MAX + 2);
    fclose(file);
    assert_int_equal(find(SOCKETS_MAX + 2, UINT64_MAX), 0);
    assert_int_equal(found->uid, 1000);
    assert_int_equal(find(1, UINT64_MAX), -ENOENT);
}

/* The kernel's own tables go on where they were left, too, while others come and go. */
TEST(real_tables_in_passes, begin, end)
{
    enum { SERVERS = 300 };
    int servers[SERVERS];
    struct sockaddr_in address;
    unsigned passes, most = 0;

    for (size_t i = 0; i < SERVERS; i++)
        servers[i] = listen_at(&address);
    for (size_t i = 0; i < SERVERS; i += 2) {
        assert_int_equal(ask_in_passes(inode_of(servers[i]), &passes), 0);
        most = passes > most ? passes : most;
        close(servers[i]);
        sockets_end_pass(sockets);
    }
    assert_true(most >= 2); /* it did take several */
    for (size_t i = 1; i < SERVERS; i += 2)
        close(servers[i]);
}
