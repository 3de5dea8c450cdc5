/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers.h - files of dead rings, removed: those that nobody needs, and any that `rip clean` is asked to remove.
 *
 * A program under the preload library removes its ring at its end. It cannot once it has installed a seccomp filter or
 * changed its root directory, and not when it is killed. Those that ended in order are of no more use; those that
 * crashed are kept to be read, and the library bounds how many they are when it makes another ring of their name.
 *
 * One that is killed while it makes its ring leaves a file of another name, which is none yet.
 *
 * Guarantees
 *   A. But for unfinished ones only the file of a ring is removed, by its name in its directory, under the lock that
 *      who takes a dead ring's name over holds, and only while no process holds any lock of the ring.
 *   B. Rings of programs that call the library are not touched unless asked for: their names are their own.
 *   C. Without the right to remove a file nothing happens.
 */
#ifndef RIPD_RING_LEFTOVERS_H
#define RIPD_RING_LEFTOVERS_H

#include "ring/registry.h"

#define LEFTOVERS_PERIOD_NS UINT64_C(10000000000) /* a ring goes when it is found dead twice, so long apart */
#define LEFTOVERS_REMOVED_MAX 64u                 /* at a time */
#define LEFTOVERS_UNFINISHED_S 60u                /* that a ring is in the making; as the library has it */

/* Whether a file of that name is to become a ring, which is of no interest until it has another one. */
bool leftover_is_unfinished(const char *name);

/* Whether it has had its time, as the library sees it: nobody makes a ring for so long. */
bool leftover_has_had_its_time(int directory, const char *name, uint64_t now_wall_ns, uint32_t *ret_uid);

/* Whether no process lives in the ring. */
bool leftover_is_dead(const struct ring *ring);

/* Of a dead ring in this directory. 0; -EBUSY: a process holds it; -ESTALE: the name is another file's; or -errno. */
int leftover_remove(int directory, const struct ring *ring);

/* Removes what nobody needs: every LEFTOVERS_PERIOD_NS. */
void leftovers_remove(struct registry *registry);

#endif
