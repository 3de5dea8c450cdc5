/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_end.h - how the process of a capture ended, and the core file that systemd-coredump keeps of it. Runs
 * coredumpctl(1) if it is installed and a process may have left a core.
 *
 * Guarantees
 *   A. A core is of the same process: it has its pid, and was made between its start and its end.
 *   B. If there is no coredumpctl, or no answer within CORES_LIMIT_S, nothing is added.
 */
#ifndef RIP_CLI_CAPTURE_END_H
#define RIP_CLI_CAPTURE_END_H

#include "cli/table.h"

#define CORES_LIMIT_S 10

/* Adds "core" to each document of an array of captures whose process has a core: the entry that coredumpctl lists. */
void capture_add_cores(json_t *documents);

/* Writes "killed by SIGSEGV, core dumped"; "present" or "missing" is what coredumpctl reports. */
void capture_fill_end(struct table_cell *cell, const json_t *document);

#endif
