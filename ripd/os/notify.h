/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.h - the socket on which a service manager listens to its services: sd_notify(3), sd_watchdog_enabled(3).
 *
 * Guarantees
 *   A. Nothing waits: what cannot be sent at once is not sent.
 *   B. $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID are gone from the environment once it is open: children do
 *      not speak for us.
 */
#ifndef RIPD_OS_NOTIFY_H
#define RIPD_OS_NOTIFY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify {
    int descriptor; /* -1 = nobody listens */
    struct sockaddr_un address;
    socklen_t address_bytes;
    uint64_t watchdog_ns; /* how long it waits for WATCHDOG=1; 0 = it does not */
};

/*
 * Before there are threads. 0, also where there is no manager. -EAFNOSUPPORT: the address is neither a path nor an
 * abstract name; -ENAMETOOLONG; -EINVAL: $WATCHDOG_USEC is no time; or what the system says. *ret_notify is made then
 * too: it is closed, or (-EINVAL) has no watchdog.
 */
int notify_open(struct notify *ret_notify);
void notify_close(struct notify *notify);

/* One datagram. 0, also where nobody listens; -EAGAIN: it would have had to wait. */
int notify_send(const struct notify *notify, const char *text, size_t length);

#endif
