/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - which requests are allowed: rules over Host, Origin and Sec-Fetch-*. Pure.
 *
 * Any web page in a browser on this host can send requests to a loopback port, and with a name of its own that it
 * points at 127.0.0.1 (DNS rebinding) even read the answers. What gives such a request away is the name in Host, and
 * what the browser says of where it comes from.
 *
 * Guarantees
 *   A. A request is allowed only if every name in it under which this server is addressed is ours: localhost and names
 *      below it, 127.0.0.0/8, ::1, the address of the listener, or a name that the administrator allowed. A Unix
 *      socket is no browser's to reach: there any well-formed name will do.
 *   B. A request that a browser says another origin made is allowed only as a top-level navigation.
 */
#ifndef RIPD_NET_ACCESS_H
#define RIPD_NET_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "net/request.h"

/* Names without a port, one behind the other: see argz_add(3). */
struct access_hosts {
    char *names;
    size_t bytes;
};

struct access_rules {
    const struct access_hosts *allowed; /* NULL = none */
    const char *own_address; /* literal address that the listener is bound to; NULL = a wildcard, or a Unix socket */
    bool is_unix;
};

struct access_verdict {
    int status;         /* 0 = allowed, else 400, 403 or 421 */
    const char *detail; /* why not */
};

struct access_verdict access_decide(const struct access_rules *rules, const struct http_request *request);

/* True if text can stand in Host: a name, an IPv4 address, or an IPv6 address in brackets; without a port. */
bool access_host_valid(const char *text);

#endif
