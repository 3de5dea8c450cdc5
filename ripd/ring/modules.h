/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - the modules of a ring, shared by its processes: those named by its records, those found in the kernel's
 * map of a process, and the scripts of the ring. For ripd/ring alone.
 *
 * To the rest of ripd the scripts of a ring are one module of all its processes. Its addresses are places in scripts,
 * and its symbols are the names of functions. A name is read when an address in that function is first seen.
 *
 * Guarantees
 *   A. A ring has at most RIP_MODULE_MAX modules and RIP_SCRIPT_MAX names of functions, even if it changes them from
 *      scan to scan.
 *   B. The objects are immutable, and may outlive the ring while they are referenced.
 *   C. At most LEARNT_MAX modules from the map of a process are kept. The last LEARNT_UNKNOWN_MAX addresses that were
 *      looked up are remembered, so a thread in generated code does not cause a look at the map on every scan.
 *   D. The memory of names is charged to the ring's user (WORK_SCRIPT_BYTES) until it is freed: a stall that waits to
 *      be published keeps the names of a ring that is gone. What exceeds the limit stays unnamed.
 */
#ifndef RIPD_RING_MODULES_H
#define RIPD_RING_MODULES_H

#include "os/proc_maps.h"
#include "ring/host.h"

struct module_table;

/*
 * Returns a new reference, or NULL if out of memory or the ring has too many modules. *table is allocated if it is
 * NULL. uid is the owner of the ring.
 */
struct module_facts *modules_add(struct module_table **table, struct ring_host *host, uint32_t uid,
                                 const struct rip_module_info *info);
void modules_free(struct module_table *table);

#define LEARNT_MAX 64u
#define LEARNT_UNKNOWN_MAX 16u

struct learnt;

/* Returns true if the map has already been looked up for this address. learnt may be NULL. */
bool learnt_has_asked(const struct learnt *learnt, uint64_t address);
/*
 * Returns true if the map should be looked up for this address, and remembers the address as looked up. *learnt is
 * allocated if it is NULL.
 */
bool learnt_is_new(struct learnt **learnt, uint64_t address);
/* Returns false if the limit is reached or out of memory. */
bool learnt_add(struct learnt *learnt, const struct proc_object *object);

size_t learnt_count(const struct learnt *learnt); /* 0 for NULL */
const struct rip_module_info *learnt_at(const struct learnt *learnt, size_t index);
void learnt_free(struct learnt *learnt);

/* Returns a new reference to the module of scripts, or NULL if the ring has no scripts or out of memory. */
struct module_facts *scripts_module(struct ring *ring, const struct ring_host *host);
/*
 * Reads the name of the function that contains the address, if it is an address in a script. Returns 0, or -EIO if the
 * mapping is damaged.
 */
int scripts_learn(struct ring *ring, struct ring_host *host, uint64_t address);

#endif
