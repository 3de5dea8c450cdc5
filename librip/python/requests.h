/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.h - under `rip run`, the note of a server's thread or task is the request that it received last: method and
 * path of HTTP, as they come from a connection that was accepted. A task that is made for a request has it, too.
 *
 * A program that calls rip.note() has its own notes alone. What TLS decrypts is not seen, nor what uvloop reads.
 * A thread to which a task hands work (asyncio.to_thread) has no note: the task that awaits it has.
 */
#ifndef RIP_PYTHON_REQUESTS_H
#define RIP_PYTHON_REQUESTS_H

#include "binding.h"

/* Starts to look at what sockets receive, now or when the program imports them. To be called once. */
void binding_requests_start(void);
/* The program notes itself what it does. */
void binding_requests_stop(void);
/* The request that the loop has received on this connection, for the task that awaited it; a new reference, or NULL. */
PyObject *binding_requests_take(int fd);
/* That of the bytes that the loop hands over now, for a task that is made of them; borrowed, NULL if there is none. */
PyObject *binding_requests_now(void);
/* The request is the note of what runs on this thread. */
void binding_requests_note(PyObject *request);

#endif
