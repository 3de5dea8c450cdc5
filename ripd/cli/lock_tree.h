/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_tree.h - who waits for whom, as trees in a report.
 *
 * Guarantees
 *   A. Each member has what it does and where it stands.
 *   B. Of a deadlock every member is named.
 *   C. A crowd that waits at one place is a line with their number.
 */
#ifndef RIP_CLI_LOCK_TREE_H
#define RIP_CLI_LOCK_TREE_H

#include <jansson.h>
#include <stddef.h>

#include "cli/hosts.h"
#include "cli/incidents.h"
#include "cli/report.h"

/* One that waits, below it whom it waits for, and so on. known: items, or NULL; others are asked for. */
void lock_tree_chain(struct report *report, struct hosts *hosts, size_t host, const json_t *known,
                     const json_t *waiter);

/* Of a root, or of each member of a deadlock: it, and below it who waits for it. Nothing if nobody does. */
void lock_tree_held_up(struct report *report, const json_t *stalls, const struct incident *incident);

#endif
