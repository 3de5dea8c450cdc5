/* SPDX-License-Identifier: Apache-2.0 */
/* test_packet.c - messages between processes, with at most one descriptor: ripd/os/packet.c. */
#include "os/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "support/test.h"

static int next_descriptor(void)
{
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);

    close(descriptor);
    return descriptor;
}

TEST(a_message_with_a_descriptor)
{
    int ends[2], descriptor = -2, pipe_ends[2];
    char text[8] = "";

    assert_int_equal(packet_pair(ends), 0);
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    assert_int_equal(packet_send(ends[0], "hello", 5, pipe_ends[1], false), 0);
    assert_true(packet_await(ends[1], clock_mono_ns() + UINT64_C(1000000000)));
    assert_int_equal(packet_receive(ends[1], text, sizeof(text), false, &descriptor), 5);
    assert_memory_equal(text, "hello", 5);
    assert_true(descriptor >= 0);
    assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
    assert_int_equal(write(descriptor, "x", 1), 1);
    assert_int_equal(read(pipe_ends[0], text, sizeof(text)), 1);
    assert_int_equal(packet_receive(ends[1], text, sizeof(text), false, &descriptor), -EAGAIN);
    assert_false(packet_await(ends[1], clock_mono_ns()));
    close(descriptor);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    close(ends[0]);
    assert_int_equal(packet_receive(ends[1], text, sizeof(text), true, &descriptor), -EPIPE);
    assert_int_equal(packet_send(ends[1], "x", 1, -1, true), -EPIPE);
    close(ends[1]);
}

/* Descriptors that the receiver did not expect are closed. */
TEST(unexpected_descriptors)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {.header = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    int two[2] = {STDIN_FILENO, STDIN_FILENO}, ends[2], descriptor = -2, before;
    char byte = 'x', text[4];
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

    assert_int_equal(packet_pair(ends), 0);
    before = next_descriptor();
    assert_int_equal(packet_send(ends[0], "hello", 5, STDIN_FILENO, false), 0);
    assert_int_equal(packet_receive(ends[1], text, sizeof(text), false, &descriptor), -EMSGSIZE);
    assert_int_equal(next_descriptor(), before);
    assert_int_equal(packet_send(ends[0], "hi", 2, STDIN_FILENO, false), 0);
    assert_int_equal(packet_receive(ends[1], text, sizeof(text), false, NULL), 2);
    assert_int_equal(next_descriptor(), before);
    memcpy(CMSG_DATA(&control.header), two, sizeof(two));
    assert_int_equal(sendmsg(ends[0], &message, 0), 1);
    assert_int_equal(packet_receive(ends[1], text, sizeof(text), false, &descriptor), -EMSGSIZE);
    assert_int_equal(next_descriptor(), before);
    assert_int_equal(descriptor, -2);
    close(ends[0]);
    close(ends[1]);
}

TEST(full_queue)
{
    static const char text[4096];
    int ends[2], result = 0;

    assert_int_equal(packet_pair(ends), 0);
    for (int i = 0; i < 100000 && result == 0; i++)
        result = packet_send(ends[0], text, sizeof(text), -1, false);
    assert_int_equal(result, -EAGAIN);
    close(ends[0]);
    close(ends[1]);
}
