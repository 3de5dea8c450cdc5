/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what a scan came to, as log lines. */
#ifndef RIPD_APP_REPORT_H
#define RIPD_APP_REPORT_H

#include <stddef.h>

#include "cases/event.h"
#include "ring/registry.h"

/*
 * How many lines may still be written: a burst, and a steady trickle after it. Names and files are anybody's: whoever
 * makes and removes rings all day must not fill the disk with lines about them. One budget for notices, one for stalls.
 */
#define REPORT_BURST 1000u                      /* lines */
#define REPORT_PER_SECOND 20u                   /* lines, in the long run */
#define REPORT_SUMMARY_NS UINT64_C(10000000000) /* between two lines that say how many were left out */
struct report_budget {
    uint64_t credit_ns; /* time saved up; a line takes 1 s / REPORT_PER_SECOND */
    uint64_t updated_mono_ns;
    uint64_t summarized_mono_ns;
    uint64_t left_out_count;
};

void report_budget_init(struct report_budget *budget, uint64_t now_mono_ns);
/* Lines that may be written now. */
size_t report_budget_lines(struct report_budget *budget, uint64_t now_mono_ns);
void report_budget_spend(struct report_budget *budget, size_t lines);
/* count more were not written; says so now and then, what being the plural of what they are about. */
void report_left_out(struct report_budget *budget, uint64_t now_mono_ns, const char *what, uint64_t count);

void report_notices(struct report_budget *budget, uint64_t now_mono_ns, const struct registry_notice *notices,
                    size_t count);

void report_event(const struct event *event);

#endif
