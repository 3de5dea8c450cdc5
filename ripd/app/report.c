/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - log lines for notices and stalls. The kinds of notices are one table.
 */
#include "app/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/log.h"
#include "app/report_fields.h"

static const struct notice_line {
    enum log_level level;
    const char *text;
} notice_lines[] = {
    [NOTICE_RING_FOUND] = {LOG_LEVEL_INFO, "ring found"},
    [NOTICE_RING_GONE] = {LOG_LEVEL_INFO, "ring gone"},
    [NOTICE_RING_DAMAGED] = {LOG_LEVEL_WARNING, "ring damaged"},
    [NOTICE_RING_UNREADABLE] = {LOG_LEVEL_WARNING, "ring unreadable"},
    [NOTICE_UNATTESTED] = {LOG_LEVEL_WARNING, "process alive but no longer holds its lock"},
    [NOTICE_PROCESS_DEAD] = {LOG_LEVEL_INFO, "process dead"},
    [NOTICE_DIRECTORY_MISSING] = {LOG_LEVEL_INFO, "directory missing, waiting for it"},
    [NOTICE_DIRECTORY_FOUND] = {LOG_LEVEL_INFO, "directory found"},
    [NOTICE_LIMIT] = {LOG_LEVEL_WARNING, "limit reached"},
};

#define SECOND_NS UINT64_C(1000000000)
#define LINE_NS (SECOND_NS / REPORT_PER_SECOND)

void report_budget_init(struct report_budget *budget, uint64_t now_mono_ns)
{
    *budget = (struct report_budget){.credit_ns = REPORT_BURST * LINE_NS, .updated_mono_ns = now_mono_ns};
}

size_t report_budget_lines(struct report_budget *budget, uint64_t now_mono_ns)
{
    uint64_t gap_ns = now_mono_ns - budget->updated_mono_ns;

    budget->updated_mono_ns = now_mono_ns;
    budget->credit_ns += gap_ns < REPORT_BURST * LINE_NS ? gap_ns : REPORT_BURST * LINE_NS;
    if (budget->credit_ns > REPORT_BURST * LINE_NS)
        budget->credit_ns = REPORT_BURST * LINE_NS;
    return budget->credit_ns / LINE_NS;
}

void report_budget_spend(struct report_budget *budget, size_t lines)
{
    uint64_t spent_ns = lines * LINE_NS;

    budget->credit_ns -= spent_ns < budget->credit_ns ? spent_ns : budget->credit_ns;
}

void report_left_out(struct report_budget *budget, uint64_t now_mono_ns, const char *what, uint64_t count)
{
    budget->left_out_count += count;
    log_leave_out(count);
    if (budget->left_out_count == 0 ||
        (budget->summarized_mono_ns != 0 && now_mono_ns - budget->summarized_mono_ns < REPORT_SUMMARY_NS))
        return;
    log_line(LOG_LEVEL_WARNING, "too many %s to log: left_out=%" PRIu64, what, budget->left_out_count);
    budget->left_out_count = 0;
    budget->summarized_mono_ns = now_mono_ns;
}

void report_notices(struct report_budget *budget, uint64_t now_mono_ns, const struct registry_notice *notices,
                    size_t count)
{
    size_t lines = report_budget_lines(budget, now_mono_ns);
    size_t shown = count < lines ? count : lines;

    report_budget_spend(budget, shown);
    report_left_out(budget, now_mono_ns, "notices", count - shown);
    for (size_t i = 0; i < shown; i++) {
        const struct notice_line *line = &notice_lines[notices[i].kind];
        const char *name = notices[i].name != NULL ? notices[i].name : "";
        const char *reason = notices[i].reason;
        char quoted_name[LOG_QUOTED_BYTES], quoted_reason[LOG_QUOTED_BYTES];

        log_quote(name, strlen(name), quoted_name);
        if (reason != NULL)
            log_line(line->level, "%s name=%s reason=%s", line->text, quoted_name,
                     log_quote(reason, strlen(reason), quoted_reason));
        else
            log_line(line->level, "%s name=%s", line->text, quoted_name);
    }
}

static const char *cause_or_null(enum id_cause cause)
{
    return cause == CAUSE_NONE ? "null" : id_cause_name(cause);
}

#define WHERE_BYTES (3 * LOG_QUOTED_BYTES + 96u)

/* " module= offset= function= file= line=", each as far as it is known. */
static void format_where(const struct event *event, char ret_text[WHERE_BYTES])
{
    char quoted[LOG_QUOTED_BYTES];
    size_t length = 0;

    ret_text[0] = '\0';
    if (event->module == NULL)
        return;
    length = (size_t)snprintf(ret_text, WHERE_BYTES, " module=%s offset=0x%" PRIx64,
                              log_quote(event->module, strlen(event->module), quoted), event->offset);
    if (event->function != NULL)
        length += (size_t)snprintf(ret_text + length, WHERE_BYTES - length, " function=%s",
                                   log_quote(event->function, strlen(event->function), quoted));
    if (event->file != NULL)
        length += (size_t)snprintf(ret_text + length, WHERE_BYTES - length, " file=%s",
                                   log_quote(event->file, strlen(event->file), quoted));
    if (event->line != 0)
        snprintf(ret_text + length, WHERE_BYTES - length, " line=%" PRIu32, event->line);
}

#define WAIT_BYTES (2 * LOG_QUOTED_BYTES + 96u)

/* " syscall= target= waits_for=", each as far as it is known. */
static void format_wait(const struct event *event, char ret_text[WAIT_BYTES])
{
    char quoted[LOG_QUOTED_BYTES];
    size_t length = 0;

    ret_text[0] = '\0';
    if (event->syscall != NULL)
        length = (size_t)snprintf(ret_text, WAIT_BYTES, " syscall=%s", event->syscall);
    if (event->target != NULL)
        length += (size_t)snprintf(ret_text + length, WAIT_BYTES - length, " target=%s",
                                   log_quote(event->target, strlen(event->target), quoted));
    if (event->root_bytes != 0)
        snprintf(ret_text + length, WAIT_BYTES - length, " waits_for=%s",
                 log_quote(event->root, event->root_bytes, quoted));
}

#define WHO_BYTES (2 * LOG_QUOTED_BYTES + 64u)

/* " ring= id= tid= name=", or nothing where it is not known who it is. */
static void format_who(const struct event *event, char ret_text[WHO_BYTES])
{
    char ring[LOG_QUOTED_BYTES], name[LOG_QUOTED_BYTES], tid[16] = "null";

    ret_text[0] = '\0';
    if (event->ring[0] == '\0')
        return;
    if (event->tid != 0)
        snprintf(tid, sizeof(tid), "%" PRIu32, event->tid);
    snprintf(ret_text, WHO_BYTES, " ring=%s id=%" PRIu32 " tid=%s name=%s",
             log_quote(event->ring, strlen(event->ring), ring), event->id, tid,
             log_quote(event->name, event->name_bytes, name));
}

void report_event(const struct event *event)
{
    char who[WHO_BYTES], where[WHERE_BYTES], wait[WAIT_BYTES];
    struct report_fields fields;

    report_fields_fill(&fields, event);
    format_who(event, who);
    format_where(event, where);
    format_wait(event, wait);
    if (event->kind == EVENT_BEGIN)
        log_event(LOG_LEVEL_WARNING, fields.fields, fields.count,
                  "stall begin episode=%" PRIu64 "%s cause=%s frozen_for_ms=%" PRIu64 "%s%s", event->episode, who,
                  cause_or_null(event->cause), event->duration_ns / 1000000, where, wait);
    else
        log_event(LOG_LEVEL_WARNING, fields.fields, fields.count,
                  "stall end episode=%" PRIu64 "%s reason=%s lasted_ms=%" PRIu64 " stalls=%" PRIu32, event->episode,
                  who, event_reason_name(event->reason), event->duration_ns / 1000000, event->stall_count);
}
