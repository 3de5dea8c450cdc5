/* SPDX-License-Identifier: Apache-2.0 */
/* processes.h - judges the process records of a ring. For ripd/ring alone; the public functions are in registry.h. */
#ifndef RIPD_RING_PROCESSES_H
#define RIPD_RING_PROCESSES_H

#include "ring/registry.h"

/*
 * Judges as many records of a ring as its user's time allows, starting with the first that had no turn. May damage the
 * ring.
 */
void processes_judge(struct registry *registry, struct ring *ring, uint64_t now_mono_ns);

/* Returns true if a process is alive in the ring, or may be. */
bool processes_live(const struct ring *ring);

/*
 * Returns true if the ring is kept after its file has been removed. A record that merely names another user's process
 * is not a reason.
 */
bool processes_are_held(const struct ring *ring);

void processes_done(struct ring *ring);

/* Frees the known tids of a process. NULL is allowed. */
void threads_free(struct thread_map *names);

#endif
