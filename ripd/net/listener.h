/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener.h - listening sockets: ADDR:PORT, [ADDR6]:PORT, unix:PATH.
 *
 * Guarantees
 *   A. A socket file that has a listener, and a file that is no socket, is never removed. On close, a socket file is
 *      removed only if it is still the one that was created here.
 *   B. The same requests are allowed on created sockets and on passed ones.
 */
#ifndef RIPD_NET_LISTENER_H
#define RIPD_NET_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#define LISTENER_TEXT_BYTES 160u

struct listener {
    int descriptor; /* -1 = closed */
    bool is_unix;
    char address[LISTENER_TEXT_BYTES]; /* "http://127.0.0.1:7470" or "unix:/run/ripd.sock" */
    char literal[LISTENER_TEXT_BYTES]; /* the IP address alone; "" for a wildcard and a Unix socket */
    dev_t file_device;                 /* of the socket file */
    ino_t file_inode;
};

/*
 * Listens on a descriptor that was passed to this process, and takes ownership of it. Its socket file is not removed on
 * close. Returns 0, or -EINVAL with *ret_reason, a phrase, if it is not a listening stream socket of a supported
 * family. Then the descriptor stays the caller's.
 */
int listener_adopt(struct listener *ret_listener, int descriptor, const char **ret_reason);

/* text is as for --listen. Returns 0, -EINVAL if it has none of the three forms, or another -errno of the system. */
int listener_open(struct listener *ret_listener, const char *text);
void listener_close(struct listener *listener);

/* Returns true if text has one of the three forms and can be listened on. Opens nothing. */
bool listener_address_valid(const char *text);

#endif
