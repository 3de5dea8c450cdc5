/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_end.h - how the process of a capture ended, with the core file that systemd-coredump keeps of it. Runs
 * coredumpctl(1), where it is installed and a process may have left a core.
 *
 * Guarantees
 *   A. A core is of the very process: of its pid, and from between its start and its end.
 *   B. Where there is no coredumpctl, or no answer within CORES_LIMIT_S, nothing is added.
 */
#ifndef RIP_CLI_CAPTURE_END_H
#define RIP_CLI_CAPTURE_END_H

#include "cli/table.h"

#define CORES_LIMIT_S 10

/* Adds "core" to those documents of captures, an array, of whose processes there is one: what coredumpctl lists. */
void capture_add_cores(json_t *documents);

/* "killed by SIGSEGV, core dumped"; or "present" or "missing", as coredumpctl has it. */
void capture_fill_end(struct table_cell *cell, const json_t *document);

#endif
