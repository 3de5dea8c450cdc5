/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - messages between ripd and the processes it starts: one per packet, with an optional descriptor, over a
 * pair of SOCK_SEQPACKET sockets.
 */
#ifndef RIPD_OS_PACKET_H
#define RIPD_OS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes two close-on-exec ends. Returns 0 or -errno. */
int packet_pair(int ret_ends[2]);

/*
 * Sends a message. descriptor: borrowed; -1 = none. Returns 0; -EPIPE if the other end is closed; -EAGAIN if the other
 * end does not read and wait is false; or another -errno.
 */
int packet_send(int socket, const void *bytes, size_t count, int descriptor, bool wait);

/*
 * Receives the next message of at most capacity bytes. *ret_descriptor: the attached descriptor, close-on-exec and
 * owned by the caller, or -1; ret_descriptor may be NULL. Descriptors that are not returned are closed. Returns the
 * size, or
 *   -EPIPE     the other end is closed
 *   -EAGAIN    there is no message, and wait is false or the socket's SO_RCVTIMEO has passed
 *   -EMSGSIZE  the message was longer, or had more than one descriptor
 *   -EMFILE    this process has no room for the attached descriptor
 *   another -errno
 */
ssize_t packet_receive(int socket, void *buffer, size_t capacity, bool wait, int *ret_descriptor);

/* Waits for a message or the closing of the other end. Returns false if neither came until deadline_mono_ns. */
bool packet_await(int socket, uint64_t deadline_mono_ns);

#endif
