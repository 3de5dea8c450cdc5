/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - decides which requests are allowed, by Host, Origin and Sec-Fetch-*. Pure.
 *
 * Any web page in a browser on this host can send requests to a loopback port. With a domain name of its own that
 * resolves to 127.0.0.1 (DNS rebinding) it can even read the answers. Such a request is recognized by the name in Host
 * and by what the browser reports about its origin.
 *
 * Guarantees
 *   A. A request is allowed only if every name in it that addresses this server is one of its names: localhost and
 *      names below it, 127.0.0.0/8, ::1, the address of the listener, or a name that the administrator allowed. On a
 *      Unix socket, which no browser can reach, any well-formed name is accepted.
 *   B. A request that came from another origin, according to the browser, is allowed only as a top-level navigation.
 */
#ifndef RIPD_NET_ACCESS_H
#define RIPD_NET_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "net/request.h"

/* Names without a port, as an argz vector: see argz_add(3). */
struct access_hosts {
    char *names;
    size_t bytes;
};

struct access_rules {
    const struct access_hosts *allowed; /* NULL = none */
    const char *own_address;            /* literal address of the listener; NULL = a wildcard, or a Unix socket */
    bool is_unix;
};

struct access_verdict {
    int status;         /* 0 = allowed, otherwise 400, 403 or 421 */
    const char *detail; /* why it is not allowed */
};

struct access_verdict access_decide(const struct access_rules *rules, const struct http_request *request);

/* Returns true if text is valid in Host: a name, an IPv4 address, or an IPv6 address in brackets; without a port. */
bool access_host_valid(const char *text);

#endif
