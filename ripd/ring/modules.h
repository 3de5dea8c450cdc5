/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - the modules of a ring, shared by its processes: those that its records name, those that the kernel's map
 * of a process has besides, and its scripts. For ripd/ring alone.
 *
 * To the rest of ripd a ring's scripts are a module of all its processes: its addresses are the places in scripts, and
 * its names are those of the functions. They are read when a place is first met.
 *
 * Guarantees
 *   A. A ring has at most RIP_MODULE_MAX modules and RIP_SCRIPT_MAX names of functions, whatever it says from one scan
 *      to the next.
 *   B. The objects are immutable; who holds a reference may outlive the ring.
 *   C. At most LEARNT_MAX modules of a process are kept besides. An address that lies in no module is remembered, among
 *      the last LEARNT_UNKNOWN_MAX of them: a thread that stands in generated code does not cost a look at the map on
 *      every scan.
 *   D. The memory of names is on the account of the ring's user (WORK_SCRIPT_BYTES) until it is free: a stall that
 *      waits to be published keeps the names of a ring that is gone. What he may not have stays unnamed.
 */
#ifndef RIPD_RING_MODULES_H
#define RIPD_RING_MODULES_H

#include "os/proc_maps.h"
#include "ring/host.h"

struct module_table;

/* A reference. *table is made when it is NULL. uid: the owner of the ring. NULL: no memory, or too many modules. */
struct module_facts *modules_add(struct module_table **table, struct ring_host *host, uint32_t uid,
                                 const struct rip_module_info *info);
void modules_free(struct module_table *table);

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

/* A reference to the module; NULL: the ring has no scripts, or no memory. */
struct module_facts *scripts_module(struct ring *ring, const struct ring_host *host);
/* Has a name for the function that an address is in, if it is in one. 0, or -EIO: the mapping is damaged. */
int scripts_learn(struct ring *ring, struct ring_host *host, uint64_t address);

#endif
