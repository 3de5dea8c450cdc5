/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - the modules of a ring, shared by its processes. For ripd/ring alone.
 *
 * Guarantees
 *   A. A ring has at most RIP_MODULE_MAX modules, whatever it says from one scan to the next.
 *   B. The objects are immutable; who holds a reference may outlive the ring.
 */
#ifndef RIPD_RING_MODULES_H
#define RIPD_RING_MODULES_H

#include "ring/host.h"

struct module_table;

/* A reference. *table is made when it is NULL. uid: the owner of the ring. NULL: no memory, or too many modules. */
struct module_facts *modules_add(struct module_table **table, struct ring_host *host, uint32_t uid,
                                 const struct rip_module_info *info);
void modules_free(struct module_table *table);

#endif
