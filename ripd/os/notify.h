/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.h - messages to the service manager: sd_notify(3), sd_watchdog_enabled(3).
 *
 * Guarantees
 *   A. Nothing blocks: a message that cannot be sent at once is not sent.
 *   B. notify_open() removes $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID from the environment, so that child
 *      processes cannot send messages for ripd.
 */
#ifndef RIPD_OS_NOTIFY_H
#define RIPD_OS_NOTIFY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify {
    int descriptor; /* -1 = there is no manager */
    struct sockaddr_un address;
    socklen_t address_bytes;
    uint64_t watchdog_ns; /* the manager's timeout for WATCHDOG=1; 0 = no watchdog */
};

/*
 * Must be called before threads exist. Returns 0, also if there is no manager; -EAFNOSUPPORT if the address is neither
 * a path nor an abstract name; -ENAMETOOLONG; -EINVAL if $WATCHDOG_USEC is not a valid time; or another -errno. On
 * failure *ret_notify is valid: it is closed, or (-EINVAL) has no watchdog.
 */
int notify_open(struct notify *ret_notify);
void notify_close(struct notify *notify);

/* Sends one datagram. Returns 0, also if there is no manager; -EAGAIN if it would block; or another -errno. */
int notify_send(const struct notify *notify, const char *text, size_t length);

#endif
