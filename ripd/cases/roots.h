/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roots.h - counts stalls by root: the end of their chain of locks, or the deadlock they depend on. Also counts
 * incidents: these groups, and single stalls, so that they cover all stalls. Pure.
 *
 * Guarantees
 *   A. A stall is in one group, or it waits for no known holder (alone_count). A root is not in its own group because
 *      of that; but all members of a deadlock are in its group.
 *   B. The order is total: most ids first, then the longest freeze. For incidents: longest freeze first, then most ids.
 *   C. Incidents: every stall is in one group. A stall that waits for no known holder and is not the root of another
 *      stall is an incident by itself. Such incidents are counted as one group if they have the same process, cause and
 *      location.
 */
#ifndef RIPD_CASES_ROOTS_H
#define RIPD_CASES_ROOTS_H

#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "cases/waits.h"

struct root_group {
    uint32_t root; /* node of the snapshot's waits; WAITS_NONE: similar incidents without root */
    uint64_t count;
    uint64_t longest_ns;            /* of the counted stalls */
    const struct sighting *stalled; /* the root itself, in the snapshot; NULL: it is not stalled */
    const struct sighting *longest; /* of the counted stalls */
};

struct roots {
    struct root_group *groups;
    size_t count;
    uint64_t alone_count; /* stalls that wait for no known holder */
    uint64_t incident_count;
    uint64_t asleep_count; /* incidents of one id that sleeps for a time that it chose */
};

/*
 * Returns all groups of the stalls that wanted() accepts, or NULL if out of memory. With incidents, also the stalls
 * that are in none of these groups, and a root that is itself stalled is counted in its group.
 */
struct roots *roots_of(const struct snapshot *snapshot, bool incidents,
                       bool (*wanted)(const void *context, const struct sighting *stall), const void *context);
void roots_free(struct roots *roots);

#endif
