/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learnt.h - modules of one process that its record does not name, as the kernel's map of it has them. For ripd/ring
 * alone. Pure but for allocations.
 *
 * Guarantees
 *   A. At most LEARNT_MAX modules of a process are kept.
 *   B. An address that lies in no module is remembered, among the last LEARNT_UNKNOWN_MAX of them: a thread that stands
 *      in generated code does not cost a look at the map on every scan.
 */
#ifndef RIPD_RING_LEARNT_H
#define RIPD_RING_LEARNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/proc_maps.h"
#include "rip/reader.h"

#define LEARNT_MAX 64u
#define LEARNT_UNKNOWN_MAX 16u

struct learnt;

/* Whether an address counts as unknown. learnt may be NULL. */
bool learnt_has_asked(const struct learnt *learnt, uint64_t address);
/* Whether the map should be looked at for an address; if so it counts as unknown from now on. *learnt is made when it
 * is NULL. */
bool learnt_is_new(struct learnt **learnt, uint64_t address);
/* False: there is no room, or no memory. */
bool learnt_add(struct learnt *learnt, const struct proc_object *object);

size_t learnt_count(const struct learnt *learnt); /* of NULL: 0 */
const struct rip_module_info *learnt_at(const struct learnt *learnt, size_t index);
void learnt_free(struct learnt *learnt);

#endif
