/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roots.h - stalls counted by who holds them up: the end of each one's chain of locks, or the deadlock it hangs on; and
 * incidents, which are all stalls: those groups, and stalls alone. Pure.
 *
 * Guarantees
 *   A. A stall is in one group, or waits for nobody that is known (alone_count). Who holds others up is in no group for
 *      that; of a deadlock all members are in its group.
 *   B. The order is total: most ids first, then those that were frozen first; of incidents the other way round.
 *   C. Incidents: a stall is in one group. Those that neither wait for anybody known nor hold a stall up are incidents
 *      by themselves, counted as one group if they are of one process, one cause and one place.
 */
#ifndef RIPD_CASES_ROOTS_H
#define RIPD_CASES_ROOTS_H

#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "cases/waits.h"

struct root_group {
    uint32_t root; /* node of the snapshot's waits; WAITS_NONE: incidents that are alike, without one */
    uint64_t count;
    uint64_t longest_ns;            /* of those counted */
    const struct sighting *stalled; /* of the snapshot: the root itself; NULL = it is no stall */
    const struct sighting *longest; /* of those counted */
};

struct roots {
    struct root_group *groups;
    size_t count;
    uint64_t alone_count; /* stalls that nobody known holds up */
    uint64_t incident_count;
    uint64_t asleep_count; /* incidents that are one id, which sleeps for as long as it asked to */
};

/*
 * All groups of the stalls for which wanted is true; NULL: no memory. With incidents also the stalls that are in none
 * of those groups, and a root that is a stall is counted too.
 */
struct roots *roots_of(const struct snapshot *snapshot, bool incidents,
                       bool (*wanted)(const void *context, const struct sighting *stall), const void *context);
void roots_free(struct roots *roots);

#endif
