/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - the known numbers of a process's threads. For ripd/ring alone; the public functions are in registry.h. */
#ifndef RIPD_RING_THREADS_H
#define RIPD_RING_THREADS_H

struct thread_names;

void threads_free(struct thread_names *names);

#endif
