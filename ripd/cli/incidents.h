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
#include <stdbool.h>
#include <stddef.h>

struct incident {
    const json_t *shown;  /* the stall that is shown for it: the one that holds up the others, if that is a stall */
    size_t waiting_count; /* other stalls of it, without the members of a deadlock */
    size_t member_count;  /* all stalls of it */
    long long longest_ms; /* of them; ITEM_UNKNOWN: not known */
    bool is_root;         /* shown holds up the others; false: they all wait for a holder that is not a stall */
};

/* All of an array of stalls; they refer to it. The caller frees *ret_incidents. 0 or -ENOMEM. */
int incidents_of(const json_t *stalls, struct incident **ret_incidents, size_t *ret_count);

#endif
