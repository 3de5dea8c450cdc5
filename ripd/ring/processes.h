/* SPDX-License-Identifier: Apache-2.0 */
/* processes.h - the process records of a ring, judged. For ripd/ring alone; the public functions are in registry.h. */
#ifndef RIPD_RING_PROCESSES_H
#define RIPD_RING_PROCESSES_H

#include "ring/registry.h"

/* As many records of a ring as its user's time allows, from the one on that had no turn. May damage the ring. */
void processes_judge(struct registry *registry, struct ring *ring, uint64_t now_mono_ns);

/* Whether a process lives in the ring, as far as is known. */
bool processes_live(const struct ring *ring);

/* Whether the ring is kept after its file has been removed: to name somebody else's process does not suffice. */
bool processes_are_held(const struct ring *ring);

void processes_done(struct ring *ring);

/* The known numbers of a process's threads; NULL is allowed. */
void threads_free(struct thread_names *names);

#endif
