/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.h - under `rip run`, the note of a server's thread or task is the HTTP request that it received last: method
 * and path. Only accepted connections count. A task that is created for a request has the same note.
 *
 * In a program that calls rip.note(), only its own notes are shown. Requests over TLS and requests that uvloop reads
 * are not seen. A thread to which a task hands work (asyncio.to_thread) has no note; the task that awaits it has one.
 */
#ifndef RIP_PYTHON_REQUESTS_H
#define RIP_PYTHON_REQUESTS_H

#include "binding.h"

/* Starts to inspect received data, now or when the program imports socket. Call once. */
void binding_requests_start(void);
/* Stops making notes. Called when the program makes its own notes. */
void binding_requests_stop(void);
/*
 * Returns the request that the loop has received on this connection, for the task that awaited it, or NULL. The caller
 * owns the reference.
 */
PyObject *binding_requests_take(int fd);
/*
 * Returns the request that the loop is handing over right now, for a task that is created for it, or NULL. Borrowed: no
 * reference is taken.
 */
PyObject *binding_requests_now(void);
/* Makes the request the note of the id on this thread. */
void binding_requests_note(PyObject *request);

#endif
