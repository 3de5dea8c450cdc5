/* SPDX-License-Identifier: Apache-2.0 */
/* replay_table.h - the alerts of a replay, a line a thread: how many, how long, and when, beside what ripd published.
 */
#ifndef RIP_CLI_REPLAY_TABLE_H
#define RIP_CLI_REPLAY_TABLE_H

#include "replay/replay.h"

struct replay_table;

struct replay_table *replay_table_new(void); /* NULL: no memory */
void replay_table_free(struct replay_table *table);

int replay_table_take(struct replay_table *table, const struct replay_alert *alert); /* 0 or -ENOMEM */

/* On standard output. path: of the recording. */
void replay_table_print(struct replay_table *table, const char *path, const struct replay_counts *counts);

#endif
