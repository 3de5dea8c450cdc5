/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener.h - sockets that listen: ADDR:PORT, [ADDR6]:PORT, unix:PATH.
 *
 * Guarantees
 *   A. A socket file that has a listener, and a file that is no socket, is never removed; at the end ours is removed
 *      only if it is still the one that was made here.
 *   B. The same requests are allowed whether a socket was made here or passed.
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
 * Listens on a descriptor that was passed to this process, which it takes over. A socket file of it is not ours: it is
 * not removed at the end. -EINVAL with why not, a phrase: it is not a stream socket that listens, of a family that is
 * served here. The descriptor stays the caller's then.
 */
int listener_adopt(struct listener *ret_listener, int descriptor, const char **ret_reason);

/* text: as given to --listen. 0; -EINVAL: it is none of the three forms; else what the system said. */
int listener_open(struct listener *ret_listener, const char *text);
void listener_close(struct listener *listener);

/* Whether text is one of the three forms, and could be listened on. Opens nothing. */
bool listener_address_valid(const char *text);

#endif
