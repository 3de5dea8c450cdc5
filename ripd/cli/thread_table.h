/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_table.h - the threads of a process, a unit or a ring as a table in a report.
 *
 * Guarantees
 *   A. Deadlocks and ids that hold up others come first, then ids that wait, then those that are idle or move; within
 *      each the longest first.
 *   B. Every thread is in it. Three or more that do the same at one place are a line, with their number, unless all
 *      are wanted.
 */
#ifndef RIP_CLI_THREAD_TABLE_H
#define RIP_CLI_THREAD_TABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/report.h"

void thread_table_print(const struct report *report, const json_t *items, bool all);

#endif
