/* SPDX-License-Identifier: Apache-2.0 */
/* event_table.h - events of one host or of several as lines of a table, or as JSON. Prints on standard output. */
#ifndef RIP_CLI_EVENT_TABLE_H
#define RIP_CLI_EVENT_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/hosts.h"
#include "cli/table.h"

struct event_table {
    const struct hosts *hosts;
    bool json;
    struct table table;
};

/* rows_known: event_table_fit() is called with each event before the titles are printed, then event_table_begin(). */
void event_table_init(struct event_table *table, const struct hosts *hosts, bool json, bool rows_known);
void event_table_fit(struct event_table *table, size_t host, const json_t *event);
/* Prints the titles, if there are any. */
void event_table_begin(struct event_table *table);
void event_table_print(const struct event_table *table, size_t host, const json_t *event);

#endif
