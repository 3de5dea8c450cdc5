/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - the report of one id, for the commands that open one. */
#ifndef RIP_CLI_SHOW_H
#define RIP_CLI_SHOW_H

#include <jansson.h>

#include "cli/hosts.h"
#include "cli/report.h"

/* Prints all members of an item. Members of its chain are requested from the host. */
void show_item(struct report *report, size_t host, const json_t *item);

#endif
