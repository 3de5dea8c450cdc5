/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incidents.h - groups stalls that wait for each other, directly or through others: each group is an incident. Pure.
 *
 * Guarantees
 *   A. Each stall is in one incident. One that waits for nobody and that nobody waits for is an incident alone.
 *   B. Incidents come in the order of the list, by the first of their stalls: longest first if the list is.
 *   C. It takes time proportional to the links of all chains, whatever they name.
 */
#ifndef RIP_CLI_INCIDENTS_H
#define RIP_CLI_INCIDENTS_H

#include <jansson.h>

/*
 * Of an array of stalls those that are shown for the incidents: who holds up the others, if that is a stall. Each gets
 * the members "longest_ms", of all stalls of the incident, "waiting", how many others there are, without the members of
 * a deadlock, and "is_root"; false: all wait for a holder that is not a stall. The caller owns the array.
 */
json_t *incidents_of(const json_t *stalls);

#endif
