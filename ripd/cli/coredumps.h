/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coredumps.h - core files that systemd-coredump keeps of processes that were captured. Runs coredumpctl(1), where it
 * is installed and a process may have left a core.
 *
 * Guarantees
 *   A. A core is of the very process: of its pid, and from between its start and its end.
 *   B. Where there is no coredumpctl, or no answer within COREDUMPS_LIMIT_NS, nothing is added.
 */
#ifndef RIP_CLI_COREDUMPS_H
#define RIP_CLI_COREDUMPS_H

#include <jansson.h>
#include <stdint.h>

#define COREDUMPS_LIMIT_NS UINT64_C(10000000000)

/* Adds "core" to those documents of captures, an array, of whose processes there is one: what coredumpctl lists. */
void coredumps_join(json_t *documents);

#endif
