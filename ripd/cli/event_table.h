/* SPDX-License-Identifier: Apache-2.0 */
/* event_table.h - events as a list. */
#ifndef RIP_CLI_EVENT_TABLE_H
#define RIP_CLI_EVENT_TABLE_H

#include "cli/list.h"

/* As list_init(). */
void event_table_init(struct list *list, const struct hosts *hosts, bool json, bool rows_known);

#endif
