/* SPDX-License-Identifier: Apache-2.0 */
/* test_unix_diag.c - what the kernel says of unix sockets: ripd/os/unix_diag.c. */
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

/* Messages by hand ------------------------------------------------------------------------------------------------- */

struct packet {
    unsigned char bytes[512];
    size_t count;
};

static void add(struct packet *packet, const void *bytes, size_t count)
{
    memcpy(packet->bytes + packet->count, bytes, count);
    packet->count += count;
}

static struct packet message_of(uint16_t type, const void *body, size_t count)
{
    struct nlmsghdr header = {.nlmsg_len = (uint32_t)(sizeof(header) + count), .nlmsg_type = type, .nlmsg_seq = 77};
    struct packet packet = {.count = 0};

    add(&packet, &header, sizeof(header));
    add(&packet, body, count);
    return packet;
}

static struct packet message_of_socket(void)
{
    const struct unix_diag_msg fixed = {
        .udiag_family = AF_UNIX, .udiag_type = SOCK_STREAM, .udiag_state = 1, .udiag_ino = 4711};

    return message_of(SOCK_DIAG_BY_FAMILY, &fixed, sizeof(fixed));
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

static struct packet message_of_everything(void)
{
    const uint32_t peer = 4712, queue[] = {9, 10, 11}, lengths[] = {1, 2};
    const uint8_t shutdown = 3;
    struct packet packet = message_of_socket();

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

TEST(every_field)
{
    const struct packet packet = message_of_everything();

    parse(&packet, 10);
    assert_int_equal(parsed.kind, UNIX_DIAG_SOCKET);
    assert_int_equal(parsed.sequence, 77);
    assert_int_equal(parsed.socket.inode, 4711);
    assert_int_equal(parsed.socket.type, SOCK_STREAM);
    assert_int_equal(parsed.socket.state, 1);
    assert_true(parsed.socket.has_peer);
    assert_int_equal(parsed.socket.peer_inode, 4712);
    assert_true(parsed.socket.has_shutdown);
    assert_int_equal(parsed.socket.shutdown, 3);
    assert_true(parsed.socket.queues);
    assert_string_equal(parsed.socket.name, "/run/db.sock");
    parse(&packet, 12);
    assert_false(parsed.socket.queues);
    parse(&packet, 0);
    assert_false(parsed.socket.queues);
}

TEST(missing_fields)
{
    const struct packet packet = message_of_socket();

    parse(&packet, 4711);
    assert_false(parsed.socket.has_peer);
    assert_false(parsed.socket.has_shutdown);
    assert_false(parsed.socket.queues);
    assert_string_equal(parsed.socket.name, "");
}

static void assert_name(const char *bytes, size_t count, const char *expected)
{
    struct packet packet = message_of_socket();

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
    assert_name("/a", 2, "/a"); /* without an end of its own */
    assert_name("\0x\n0: 3 0", 9, "@x\n0: 3 0");
    memset(longest, 'x', sizeof(longest));
    memset(expected, 'x', sizeof(expected));
    expected[sizeof(expected) - 1] = '\0';
    assert_name(longest, sizeof(longest), expected);
    longest[0] = '\0';
    expected[0] = '@';
    assert_name(longest, sizeof(longest), expected);
}

TEST(other_messages)
{
    const int32_t error = -ENOENT;
    const struct unix_diag_msg internet = {.udiag_family = AF_INET};
    struct packet packet = message_of(NLMSG_ERROR, &error, sizeof(error));

    parse(&packet, 0);
    assert_int_equal(parsed.kind, UNIX_DIAG_ERROR);
    assert_int_equal(parsed.error, -ENOENT);
    packet = message_of(NLMSG_DONE, &error, sizeof(error));
    parse(&packet, 0);
    assert_int_equal(parsed.kind, UNIX_DIAG_END);
    packet = message_of(NLMSG_NOOP, "", 0);
    parse(&packet, 0);
    assert_int_equal(parsed.kind, UNIX_DIAG_OTHER);
    parsed.sequence = 5;
    packet = message_of(NLMSG_ERROR, &error, 3);
    assert_int_equal(unix_diag_parse(packet.bytes, packet.count, 0, &parsed), -EINVAL);
    packet = message_of(SOCK_DIAG_BY_FAMILY, &internet, sizeof(internet));
    assert_int_equal(unix_diag_parse(packet.bytes, packet.count, 0, &parsed), -EINVAL);
    assert_int_equal(parsed.sequence, 5);
}

/* Attributes and messages whose lengths lie. */
TEST(lengths_that_lie)
{
    const struct packet sound = message_of_everything();

    for (uint32_t length = 0; length < 100; length++) {
        struct packet packet = sound;
        struct guarded_copy copy;
        int result;

        for (size_t at = 0; at + 4 <= packet.count; at += 4) {
            const uint16_t lie = (uint16_t)(length < 50 ? length : UINT16_MAX - length + 50);

            packet = sound;
            memcpy(packet.bytes + at, &lie, sizeof(lie));
            guarded_copy_new(&copy, packet.bytes, packet.count);
            result = unix_diag_parse(copy.bytes, packet.count, 10, &parsed);
            assert_true(result == -EINVAL || (result > 0 && (size_t)result <= packet.count));
            guarded_copy_free(&copy);
        }
    }
}

TEST(no_byte_beyond_the_end)
{
    const struct packet packet = message_of_everything();

    for (size_t count = 0; count <= packet.count; count++) {
        struct guarded_copy copy;
        struct nlmsghdr header;

        guarded_copy_new(&copy, packet.bytes, count);
        assert_int_equal(unix_diag_parse(copy.bytes, count, 10, &parsed),
                         count == packet.count ? (int)packet.count : -EINVAL);
        if (count >= sizeof(header)) { /* and one that says that it ends there */
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

static int bound(int type, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int made = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s-%d", name, (int)getpid());
    assert_int_equal(bind(made, (struct sockaddr *)&address, sizeof(address)), 0);
    return made;
}

static int connected(int type, int server)
{
    struct sockaddr_un address;
    socklen_t length = sizeof(address);
    int made = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(connect(made, (struct sockaddr *)&address, length), 0);
    return made;
}

/* Skips the test where the kernel reports nothing of unix sockets. */
static int diag_of_kernel(void)
{
    static int kept = -1;
    int diag, ends[2];
    struct unix_diag socket;

    if (kept >= 0)
        return kept;
    diag = unix_diag_open();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    if (unix_diag_ask(diag, inode_of(ends[0]), &socket) != 0)
        skip();
    close(ends[0]);
    close(ends[1]);
    kept = diag;
    return diag;
}

static struct unix_diag found;

static void ask(int descriptor)
{
    assert_int_equal(unix_diag_ask(diag_of_kernel(), inode_of(descriptor), &found), 0);
}

TEST(a_pair)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
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
    int diag = diag_of_kernel(), server = bound(SOCK_STREAM, "rip-test-server"), client, accepted;

    ask(server);
    assert_false(found.has_peer);
    assert_int_not_equal(found.state, UNIX_DIAG_LISTENING);
    assert_int_equal(listen(server, 3), 0);
    ask(server);
    assert_int_equal(found.state, UNIX_DIAG_LISTENING);
    assert_int_equal(strncmp(found.name, "@rip-test-server-", 17), 0);
    client = connected(SOCK_STREAM, server);
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

TEST(sockets_that_are_not_there)
{
    int diag = diag_of_kernel(), internet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    found = (struct unix_diag){.inode = 99};
    assert_int_equal(unix_diag_ask(diag, inode_of(internet), &found), -ENOENT);
    assert_int_equal(unix_diag_ask(diag, 0, &found), -ENOENT);
    assert_int_equal(unix_diag_find_listener(diag, 0, &found), -ENOENT);
    assert_int_equal(found.inode, 99);
    close(internet);
}

/* Somebody asked over the same netlink socket, and died before the answer was read: in the middle of a list, too. */
TEST(answers_that_are_left_over)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } list = {.header = {.nlmsg_len = sizeof(list),
                         .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                         .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
              .request = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_NAME}};
    enum { PAIRS = 400 };
    int diag = diag_of_kernel(), server = bound(SOCK_STREAM, "rip-test-list"), client, ends[PAIRS][2];

    assert_int_equal(listen(server, 1), 0);
    client = connected(SOCK_STREAM, server);
    for (int i = 0; i < PAIRS; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]), 0);
    assert_int_equal(send(diag, &list, sizeof(list), 0), sizeof(list));
    for (int i = 0; i < 2; i++) {
        ask(ends[i][0]);
        assert_int_equal(found.peer_inode, inode_of(ends[i][1]));
    }
    assert_int_equal(send(diag, &list, sizeof(list), 0), sizeof(list)); /* before another list */
    assert_int_equal(unix_diag_find_listener(diag, inode_of(client), &found), 0);
    assert_int_equal(found.inode, inode_of(server));
    for (int i = 0; i < PAIRS; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    close(client);
    close(server);
}

/* What happens to the netlink socket once what was left over has been thrown away, before the question is asked. */
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

/* Somebody who has the socket, too, asks: the first answer is the kernel's, but to that question. */
static void another_asks(int diag, const struct nlmsghdr *question)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } other = {.header = {.nlmsg_len = sizeof(other),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST,
                          .nlmsg_seq = question->nlmsg_seq - 1},
               .request = {.sdiag_family = AF_UNIX,
                           .udiag_ino = UINT32_MAX, /* of no socket */
                           .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};

    assert_int_equal(send(diag, &other, sizeof(other), 0), sizeof(other));
}

/* With the right number, about the right socket, of which it says what is not so: but it is not the kernel's. */
static void another_answers(int diag, const struct nlmsghdr *question)
{
    struct packet packet = message_of_everything();
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
        print_message("skipped: nobody may send such packets here\n");
    close(liar);
}

TEST(answers_of_others_and_to_others)
{
    void (*const events[])(int diag, const struct nlmsghdr *question) = {another_asks, another_answers};
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        meanwhile = events[i];
        ask(ends[0]);
        assert_null(meanwhile);
        assert_int_equal(found.peer_inode, inode_of(ends[1]));
    }
    close(ends[0]);
    close(ends[1]);
}

TEST(which_descriptors_will_do)
{
    int diag = diag_of_kernel(), route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), ends[2];

    assert_true(unix_diag_is(diag));
    assert_true((fcntl(diag, F_GETFD) & FD_CLOEXEC) != 0);
    assert_false(unix_diag_is(route));
    assert_false(unix_diag_is(-1));
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_false(unix_diag_is(ends[0]));
    /* An answer by anybody but the kernel is none. */
    assert_true(unix_diag_ask(ends[0], inode_of(ends[0]), &found) < 0);
    assert_true(unix_diag_ask(-1, inode_of(ends[0]), &found) < 0);
    close(ends[0]);
    close(ends[1]);
    close(route);
}
