/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incidents.h - groups stalls that wait for each other, directly or indirectly: each group is an incident. Pure.
 *
 * Guarantees
 *   A. Each stall is in one incident. A stall that waits for no other, and for which no other waits, is an incident of
 *      its own.
 *   B. Incidents have the order of the list, by their first stall: longest first if the list is.
 *   C. The time is proportional to the links of all chains, whatever they name.
 */
#ifndef RIP_CLI_INCIDENTS_H
#define RIP_CLI_INCIDENTS_H

#include <jansson.h>

/*
 * Returns the stalls of an array that represent the incidents: the holder that holds up the others, if it is a stall.
 * Each gets the members "longest_ms" of all stalls of the incident; "waiting", the number of other stalls, without the
 * members of a deadlock; and "is_root", which is false if all wait for a holder that is not a stall. The caller owns
 * the array.
 */
json_t *incidents_of(const json_t *stalls);

#endif
