/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - what is remembered of a process's threads. For ripd/ring alone; what others ask is in registry.h. */
#ifndef RIPD_RING_THREADS_H
#define RIPD_RING_THREADS_H

struct thread_names;

void threads_free(struct thread_names *names);

#endif
