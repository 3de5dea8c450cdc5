/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h - the frame of a list document: how many ids the scan saw, and whether it missed some.
 */
#ifndef RIP_CLI_FRAME_H
#define RIP_CLI_FRAME_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/hosts.h"

/* Of the ids in a state; NULL: in all states together. 0 where the document does not say. */
long long frame_count(const json_t *document, const char *state);

/* Items that match, also those that are not in the document. */
long long frame_total(const json_t *document);

/* Rings that ripd found and cannot read. */
long long frame_unreadable(const json_t *document);

/* Whether the scan is older than three intervals, as /readyz has it; *ret_age_ms: how old it is. */
bool frame_is_late(const json_t *document, long long *ret_age_ms);

/* How many hosts have answered. */
size_t frame_answered(const struct hosts *hosts);

/* Messages for each host whose answer has less than there is: list names its member with the ids. */
void frame_warn(const struct hosts *hosts, const char *list);

#endif
