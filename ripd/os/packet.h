/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - messages between ripd and the processes it starts: one a packet, maybe with a descriptor, over a pair of
 * sockets of type SOCK_SEQPACKET.
 */
#ifndef RIPD_OS_PACKET_H
#define RIPD_OS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Both ends close-on-exec. 0 or -errno. */
int packet_pair(int ret_ends[2]);

/*
 * descriptor may be -1, and stays the caller's. 0; -EPIPE: nobody is at the other end; -EAGAIN: the other end does not
 * read, and wait is false; another -errno.
 */
int packet_send(int socket, const void *bytes, size_t count, int descriptor, bool wait);

/*
 * The next message: its bytes, at most capacity, and the descriptor that came along, close-on-exec, or -1;
 * ret_descriptor may be NULL. -EPIPE: nobody is at the other end; -EAGAIN: there is none, and wait is false or the
 * socket's SO_RCVTIMEO has passed; -EMSGSIZE: it was longer, or brought more than one descriptor; -EMFILE: this process
 * has no room for the descriptor that it brought; another -errno. Descriptors that are not returned are closed.
 */
ssize_t packet_receive(int socket, void *buffer, size_t capacity, bool wait, int *ret_descriptor);

/* Waits until a message, or the end, can be received. False: it did not come until deadline_mono_ns. */
bool packet_await(int socket, uint64_t deadline_mono_ns);

#endif
