/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_tree.h - who waits for whom, as trees in a report.
 *
 * Guarantees
 *   A. Each member is shown with its state and its location.
 *   B. Of a deadlock every member is named.
 *   C. Many ids that wait at one place are one line with their number.
 */
#ifndef RIP_CLI_LOCK_TREE_H
#define RIP_CLI_LOCK_TREE_H

#include <jansson.h>
#include <stddef.h>

#include "cli/hosts.h"
#include "cli/incidents.h"
#include "cli/report.h"

/* A waiter, below it the id that it waits for, and so on. known: items, or NULL; others are requested. */
void lock_tree_chain(struct report *report, struct hosts *hosts, size_t host, const json_t *known,
                     const json_t *waiter);

/* A root, or each member of a deadlock, and below it the ids that wait for it. Nothing if there are none. */
void lock_tree_held_up(struct report *report, const json_t *stalls, const struct incident *incident);

#endif
