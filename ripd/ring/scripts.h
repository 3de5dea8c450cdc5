/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripts.h - the functions of scripts that a ring's ids are in. For ripd/ring alone.
 *
 * To the rest of ripd a ring's scripts are a module of all its processes: its addresses are the places in scripts, and
 * its names are those of the functions. They are read when a place is first met.
 *
 * Guarantees
 *   A. A ring has at most RIP_SCRIPT_MAX names of functions, whatever it says from one scan to the next.
 *   B. Their memory is on the account of the ring's user (WORK_SCRIPT_BYTES) until it is free: a stall that waits to be
 *      published keeps the names of a ring that is gone. What he may not have stays unnamed.
 */
#ifndef RIPD_RING_SCRIPTS_H
#define RIPD_RING_SCRIPTS_H

#include "ring/host.h"

/* A reference to the module; NULL: the ring has no scripts, or no memory. */
struct module_facts *scripts_module(struct ring *ring, const struct ring_host *host);
/* Has a name for the function that an address is in, if it is in one. 0, or -EIO: the mapping is damaged. */
int scripts_learn(struct ring *ring, struct ring_host *host, uint64_t address);

#endif
