/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what a scan came to, as log lines. */
#ifndef RIPD_APP_REPORT_H
#define RIPD_APP_REPORT_H

#include <stddef.h>

#include "core/event_log.h"
#include "core/snapshot.h"
#include "ring/registry.h"

void report_notices(const struct registry_notice *notices, size_t count);

/* item: the id the report is about; NULL when it could not be described. */
void report_stall(const struct report *report, const struct item *item);

#endif
