/* SPDX-License-Identifier: Apache-2.0 */
/* test_unix_diag.c - queries to the kernel about unix sockets: ripd/os/unix_diag.c. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/unix_diag.h"
#include "support/descriptors.h"
#include "support/guarded_copy.h"
#include "support/test.h"
#include "unit/unix_sockets.h"

/* Messages made by hand -------------------------------------------------------------------------------------------- */

struct packet {
    unsigned char bytes[512];
    size_t count;
};

static void add(struct packet *packet, const void *bytes, size_t count)
{
    memcpy(packet->bytes + packet->count, bytes, count);
    packet->count += count;
}

static struct packet make_message(uint16_t type, const void *body, size_t count)
{
    struct nlmsghdr header = {.nlmsg_len = (uint32_t)(sizeof(header) + count), .nlmsg_type = type, .nlmsg_seq = 77};
    struct packet packet = {.count = 0};

    add(&packet, &header, sizeof(header));
    add(&packet, body, count);
    return packet;
}

static struct packet message_without_attributes(void)
{
    const struct unix_diag_msg fixed = {
        .udiag_family = AF_UNIX, .udiag_type = SOCK_STREAM, .udiag_state = 1, .udiag_ino = 4711};

    return make_message(SOCK_DIAG_BY_FAMILY, &fixed, sizeof(fixed));
}

static void add_attribute(struct packet *packet, uint16_t type, const void *bytes, size_t count)
{
    struct nlattr attribute = {.nla_len = (uint16_t)(sizeof(attribute) + count), .nla_type = type};
    struct nlmsghdr header;

    add(packet, &attribute, sizeof(attribute));
    add(packet, bytes, count);
    while (packet->count % 4 != 0)
        packet->bytes[packet->count++] = 0;
    memcpy(&header, packet->bytes, sizeof(header));
    header.nlmsg_len = (uint32_t)packet->count;
    memcpy(packet->bytes, &header, sizeof(header));
}

static struct packet message_with_all_attributes(void)
{
    const uint32_t peer = 4712, queue[] = {9, 10, 11}, lengths[] = {1, 2};
    const uint8_t shutdown = 3;
    struct packet packet = message_without_attributes();

    add_attribute(&packet, UNIX_DIAG_NAME, "/run/db.sock", 13);
    add_attribute(&packet, UNIX_DIAG_PEER, &peer, sizeof(peer));
    add_attribute(&packet, UNIX_DIAG_RQLEN, lengths, sizeof(lengths));
    add_attribute(&packet, UNIX_DIAG_ICONS, queue, sizeof(queue));
    add_attribute(&packet, UNIX_DIAG_SHUTDOWN, &shutdown, 1);
    return packet;
}

static struct unix_diag_message parsed;

static void parse(const struct packet *packet, uint32_t asked)
{
    assert_int_equal(unix_diag_parse(packet->bytes, packet->count, asked, &parsed), packet->count);
}

TEST(all_fields)
{
    const struct packet packet = message_with_all_attributes();

    parse(&packet, 10);
    assert_int_equal(parsed.kind, UNIX_DIAG_SOCKET);
    assert_int_equal(parsed.sequence, 77);
    assert_int_equal(parsed.socket.inode, 4711);
    assert_int_equal(parsed.socket.type, SOCK_STREAM);
    assert_int_equal(parsed.socket.state, 1);
    assert_true(parsed.socket.has_peer && parsed.socket.has_shutdown && parsed.socket.queues);
    assert_int_equal(parsed.socket.peer_inode, 4712);
    assert_int_equal(parsed.socket.shutdown, 3);
    assert_string_equal(parsed.socket.name, "/run/db.sock");
    parse(&packet, 12); /* not in the queue */
    assert_false(parsed.socket.queues);
    parse(&packet, 0);
    assert_false(parsed.socket.queues);
}

TEST(missing_fields)
{
    const struct packet packet = message_without_attributes();

    parse(&packet, 4711);
    assert_false(parsed.socket.has_peer || parsed.socket.has_shutdown || parsed.socket.queues);
    assert_string_equal(parsed.socket.name, "");
}

static void assert_name(const char *bytes, size_t count, const char *expected)
{
    struct packet packet = message_without_attributes();

    add_attribute(&packet, UNIX_DIAG_NAME, bytes, count);
    parse(&packet, 0);
    assert_string_equal(parsed.socket.name, expected);
}

TEST(names)
{
    char longest[200], expected[UNIX_DIAG_NAME_BYTES];

    assert_name("", 0, "");
    assert_name("\0", 1, "@");
    assert_name("\0name", 5, "@name");
    assert_name("\0a\0b", 4, "@a@b");
    assert_name("/a\0b", 4, "/a");
    assert_name("/a", 2, "/a"); /* without a terminator */
    assert_name("\0x\n0: 3 0", 9, "@x\n0: 3 0");
    memset(longest, 'x', sizeof(longest));
    memset(expected, 'x', sizeof(expected));
    expected[sizeof(expected) - 1] = '\0';
    assert_name(longest, sizeof(longest), expected);
    longest[0] = '\0';
    expected[0] = '@';
    assert_name(longest, sizeof(longest), expected);
}

static void assert_kind(uint16_t type, enum unix_diag_kind kind)
{
    const int32_t error = -ENOENT;
    struct packet packet = make_message(type, &error, sizeof(error));

    parse(&packet, 0);
    assert_int_equal(parsed.kind, kind);
}

static void assert_rejected(const struct packet *packet)
{
    parsed.sequence = 5;
    assert_int_equal(unix_diag_parse(packet->bytes, packet->count, 0, &parsed), -EINVAL);
    assert_int_equal(parsed.sequence, 5);
}

TEST(other_messages)
{
    const struct unix_diag_msg internet = {.udiag_family = AF_INET};
    struct packet packet;

    assert_kind(NLMSG_ERROR, UNIX_DIAG_ERROR);
    assert_int_equal(parsed.error, -ENOENT);
    assert_kind(NLMSG_DONE, UNIX_DIAG_END);
    assert_kind(NLMSG_NOOP, UNIX_DIAG_OTHER);
    packet = make_message(NLMSG_ERROR, "xx", 3);
    assert_rejected(&packet);
    packet = make_message(SOCK_DIAG_BY_FAMILY, &internet, sizeof(internet));
    assert_rejected(&packet);
}

/* Attributes and messages with wrong lengths. */
TEST(wrong_lengths)
{
    const struct packet valid = message_with_all_attributes();

    for (uint32_t length = 0; length < 100; length++) {
        struct packet packet = valid;
        struct guarded_copy copy;
        int result;

        for (size_t at = 0; at + 4 <= packet.count; at += 4) {
            const uint16_t wrong = (uint16_t)(length < 50 ? length : UINT16_MAX - length + 50);

            packet = valid;
            memcpy(packet.bytes + at, &wrong, sizeof(wrong));
            guarded_copy_new(&copy, packet.bytes, packet.count);
            result = unix_diag_parse(copy.bytes, packet.count, 10, &parsed);
            assert_true(result == -EINVAL || (result > 0 && (size_t)result <= packet.count));
            guarded_copy_free(&copy);
        }
    }
}

TEST(nothing_is_read_behind_the_end)
{
    const struct packet packet = message_with_all_attributes();

    for (size_t count = 0; count <= packet.count; count++) {
        struct guarded_copy copy;
        struct nlmsghdr header;

        guarded_copy_new(&copy, packet.bytes, count);
        assert_int_equal(unix_diag_parse(copy.bytes, count, 10, &parsed),
                         count == packet.count ? (int)packet.count : -EINVAL);
        if (count >= sizeof(header)) { /* the length in the header is the cut one */
            memcpy(&header, copy.bytes, sizeof(header));
            header.nlmsg_len = (uint32_t)count;
            memcpy(copy.bytes, &header, sizeof(header));
            if (count < sizeof(header) + sizeof(struct unix_diag_msg))
                assert_int_equal(unix_diag_parse(copy.bytes, count, 10, &parsed), -EINVAL);
            else
                unix_diag_parse(copy.bytes, count, 10, &parsed);
        }
        guarded_copy_free(&copy);
    }
}

/* The kernel ------------------------------------------------------------------------------------------------------- */

/* Returns a netlink socket. Skips the test if the kernel does not report unix sockets. */
static int diag_of_kernel(void)
{
    static int kept = -1;
    int diag, ends[2];
    struct unix_diag socket;

    if (kept >= 0)
        return kept;
    diag = unix_diag_open();
    make_pair(SOCK_STREAM, ends);
    if (unix_diag_ask(diag, inode_of(ends[0]), &socket) != 0)
        skip();
    close_both(ends);
    kept = diag;
    return diag;
}

static struct unix_diag found;

/* Queries the kernel about the socket. */
static void ask(int descriptor)
{
    assert_int_equal(unix_diag_ask(diag_of_kernel(), inode_of(descriptor), &found), 0);
}

TEST(a_pair)
{
    int ends[2];

    make_pair(SOCK_SEQPACKET, ends);
    ask(ends[0]);
    assert_int_equal(found.inode, inode_of(ends[0]));
    assert_int_equal(found.type, SOCK_SEQPACKET);
    assert_true(found.has_peer);
    assert_int_equal(found.peer_inode, inode_of(ends[1]));
    assert_string_equal(found.name, "");
    close(ends[1]);
    ask(ends[0]);
    assert_true(found.has_peer && found.peer_inode == 0);
    assert_true(!found.has_shutdown || (found.shutdown & UNIX_DIAG_SHUT_RECEIVE) != 0);
    close(ends[0]);
}

TEST(a_server)
{
    int diag = diag_of_kernel(), server = make_server(SOCK_STREAM, "rip-test-server"), client, accepted;

    ask(server);
    assert_false(found.has_peer);
    assert_int_not_equal(found.state, UNIX_DIAG_LISTENING);
    assert_int_equal(listen(server, 3), 0);
    ask(server);
    assert_int_equal(found.state, UNIX_DIAG_LISTENING);
    assert_int_equal(strncmp(found.name, "@rip-test-server-", 17), 0);
    client = make_client(SOCK_STREAM, "rip-test-server");
    ask(client);
    assert_true(found.has_peer && found.peer_inode == 0); /* not accepted yet */
    assert_true(!found.has_shutdown || found.shutdown == 0);
    assert_int_equal(unix_diag_find_listener(diag, inode_of(client), &found), 0);
    assert_int_equal(found.inode, inode_of(server));
    assert_int_equal(strncmp(found.name, "@rip-test-server-", 17), 0);
    accepted = accept(server, NULL, NULL);
    assert_int_equal(unix_diag_find_listener(diag, inode_of(client), &found), -ENOENT);
    ask(client);
    assert_int_equal(found.peer_inode, inode_of(accepted));
    close(accepted);
    close(client);
    close(server);
}

TEST(sockets_that_do_not_exist)
{
    int diag = diag_of_kernel(), internet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    found = (struct unix_diag){.inode = 99};
    assert_int_equal(unix_diag_ask(diag, inode_of(internet), &found), -ENOENT);
    assert_int_equal(unix_diag_ask(diag, 0, &found), -ENOENT);
    assert_int_equal(unix_diag_find_listener(diag, 0, &found), -ENOENT);
    assert_int_equal(found.inode, 99);
    close(internet);
}

struct request {
    struct nlmsghdr header;
    struct unix_diag_req body;
};

static void send_request(int diag, struct request request)
{
    request.header.nlmsg_len = sizeof(request);
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.body.sdiag_family = AF_UNIX;
    assert_int_equal(send(diag, &request, sizeof(request), 0), sizeof(request));
}

/* A process that shares the netlink socket ended after its query, so its answer, a list, is still in the socket. */
TEST(answers_to_earlier_queries)
{
    const struct request list = {.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                                 .body = {.udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_NAME}};
    enum { PAIRS = 400 };
    int diag = diag_of_kernel(), server = make_server(SOCK_STREAM, "rip-test-list"), client, ends[PAIRS][2];

    assert_int_equal(listen(server, 1), 0);
    client = make_client(SOCK_STREAM, "rip-test-list");
    for (int i = 0; i < PAIRS; i++)
        make_pair(SOCK_STREAM, ends[i]);
    send_request(diag, list);
    for (int i = 0; i < 2; i++) {
        ask(ends[i][0]);
        assert_int_equal(found.peer_inode, inode_of(ends[i][1]));
    }
    send_request(diag, list); /* before a query that needs a list */
    assert_int_equal(unix_diag_find_listener(diag, inode_of(client), &found), 0);
    assert_int_equal(found.inode, inode_of(server));
    for (int i = 0; i < PAIRS; i++)
        close_both(ends[i]);
    close(client);
    close(server);
}

/* Called after earlier answers were dropped, and before the query is sent. */
static void (*meanwhile)(int diag, const struct nlmsghdr *question);

ssize_t __real_sendmsg(int descriptor, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int descriptor, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    void (*now)(int diag, const struct nlmsghdr *question) = meanwhile;

    meanwhile = NULL;
    if (now != NULL)
        now(descriptor, message->msg_iov[0].iov_base);
    return __real_sendmsg(descriptor, message, flags);
}

/* Another process queries over the same socket, about a socket that does not exist. The kernel answers that first. */
static void another_asks(int diag, const struct nlmsghdr *question)
{
    send_request(diag, (struct request){.header = {.nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = question->nlmsg_seq - 1},
                                        .body = {.udiag_ino = UINT32_MAX, .udiag_cookie = {UINT32_MAX, UINT32_MAX}}});
}

/* Another process sends a false answer, with the right sequence number and inode. */
static void another_answers(int diag, const struct nlmsghdr *question)
{
    struct packet packet = message_with_all_attributes();
    struct sockaddr_nl address;
    struct nlmsghdr header;
    struct unix_diag_req request;
    socklen_t length = sizeof(address);
    int liar = unix_diag_open();

    memcpy(&header, packet.bytes, sizeof(header));
    header.nlmsg_seq = question->nlmsg_seq;
    memcpy(packet.bytes, &header, sizeof(header));
    memcpy(&request, question + 1, sizeof(request));
    memcpy(packet.bytes + sizeof(header) + offsetof(struct unix_diag_msg, udiag_ino), &request.udiag_ino,
           sizeof(request.udiag_ino));
    assert_int_equal(getsockname(diag, (struct sockaddr *)&address, &length), 0);
    if (sendto(liar, packet.bytes, packet.count, 0, (struct sockaddr *)&address, sizeof(address)) < 0)
        print_message("skipped: such packets may not be sent\n");
    close(liar);
}

TEST(answers_from_and_to_other_processes)
{
    void (*const events[])(int diag, const struct nlmsghdr *question) = {another_asks, another_answers};
    int ends[2];

    make_pair(SOCK_STREAM, ends);
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        meanwhile = events[i];
        ask(ends[0]);
        assert_null(meanwhile);
        assert_int_equal(found.peer_inode, inode_of(ends[1]));
    }
    close_both(ends);
}

TEST(which_descriptors_are_usable)
{
    int diag = diag_of_kernel(), route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), ends[2];

    assert_true(unix_diag_is(diag));
    assert_true((fcntl(diag, F_GETFD) & FD_CLOEXEC) != 0);
    assert_false(unix_diag_is(route));
    assert_false(unix_diag_is(-1));
    make_pair(SOCK_DGRAM, ends);
    assert_false(unix_diag_is(ends[0]));
    assert_true(unix_diag_ask(ends[0], inode_of(ends[0]), &found) < 0);
    assert_true(unix_diag_ask(-1, inode_of(ends[0]), &found) < 0);
    close_both(ends);
    close(route);
}
