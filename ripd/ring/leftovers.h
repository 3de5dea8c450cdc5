/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers.h - removes files of dead rings: those that are not needed, and any that `rip clean` asks for.
 *
 * A program under the preload library removes its ring when it exits. It cannot do so if it is killed, or if it has
 * installed a seccomp filter or changed its root directory. Rings of programs that exited in order are of no more use.
 * Rings of programs that crashed are kept for reading. The library limits their number when it makes another ring of
 * the same name.
 *
 * A program that is killed while it makes its ring leaves a file with another name, which is not a ring yet.
 *
 * Guarantees
 *   A. Except for unfinished rings, only the file of a ring is removed, by its name in its directory. This is done
 *      under the lock for taking over the name of a dead ring, and only while no process holds any lock of the ring.
 *   B. Rings of programs that call the library are removed only on request: their names belong to the programs.
 *   C. Without permission to remove a file nothing happens.
 */
#ifndef RIPD_RING_LEFTOVERS_H
#define RIPD_RING_LEFTOVERS_H

#include "ring/registry.h"

#define LEFTOVERS_PERIOD_NS UINT64_C(10000000000) /* a ring is removed if two checks this far apart find it dead */
#define LEFTOVERS_REMOVED_MAX 64u                 /* per call */
#define LEFTOVERS_UNFINISHED_S 60u                /* how long making a ring may take; same as in the library */

/* Returns true if the name is that of an unfinished ring, which is ignored until it is renamed. */
bool leftover_is_unfinished(const char *name);

/* Returns true if an unfinished ring is so old that no process can still be making it. */
bool leftover_has_had_its_time(int directory, const char *name, uint64_t now_wall_ns, uint32_t *ret_uid);

/* Returns true if no process is alive in the ring. */
bool leftover_is_dead(const struct ring *ring);

/*
 * Removes a dead ring in this directory. Returns 0, -EBUSY if a process holds a lock of it, -ESTALE if the name now
 * belongs to another file, or another -errno.
 */
int leftover_remove(int directory, const struct ring *ring);

/* Removes rings that are not needed. Call every LEFTOVERS_PERIOD_NS. */
void leftovers_remove(struct registry *registry);

#endif
