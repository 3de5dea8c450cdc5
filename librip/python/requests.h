/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.h - under `rip run`, the note of a server's thread or task is the request that it received last: the first
 * line of HTTP, its method and target, as it comes from a connection that was accepted.
 *
 * A program that calls rip.note() has its own notes alone. What TLS decrypts is not seen, nor what uvloop reads.
 */
#ifndef RIP_PYTHON_REQUESTS_H
#define RIP_PYTHON_REQUESTS_H

#include "binding.h"

/* Starts to look at what sockets receive, now or when the program imports them. To be called once. */
void binding_requests_start(void);
/* The program notes itself what it does. */
void binding_requests_stop(void);
/* The running task goes on, and awaited this connection: it gets the request that the loop has received there. */
void binding_requests_take(int fd);

#endif
