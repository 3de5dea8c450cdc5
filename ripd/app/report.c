/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - log lines and journal fields for notices and stalls. The kinds of notices are one table.
 */
#include "app/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/log.h"
#include "util/text.h"

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

#define MS 1000000u
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

bool report_budget_take(struct report_budget *budget, uint64_t now_mono_ns, const char *what)
{
    if (report_budget_lines(budget, now_mono_ns) == 0) {
        report_left_out(budget, now_mono_ns, what, 1);
        return false;
    }
    report_budget_spend(budget, 1);
    return true;
}

void report_losses(struct report_losses *losses, uint64_t now_mono_ns, uint64_t count, bool works, const char *reason)
{
    const bool more = count != losses->count, logged = losses->logged_count != 0;

    losses->count = count;
    if (count != losses->logged_count && (!logged || now_mono_ns - losses->logged_mono_ns >= REPORT_LOSS_NS)) {
        log_line(LOG_LEVEL_WARNING, "scans that could not be recorded: count=%" PRIu64 ": %s",
                 count - losses->logged_count, reason);
        losses->logged_count = count;
        losses->logged_mono_ns = now_mono_ns;
        losses->lasts = true;
    } else if (losses->lasts && works && !more) {
        log_line(LOG_LEVEL_INFO, "scans are recorded again: count=%" PRIu64 " could not be", count);
        losses->logged_count = count;
        losses->lasts = false;
    }
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

/* Fields of the journal -------------------------------------------------------------------------------------------- */

enum report_field {
#define X(name, meaning) REPORT_FIELD_##name,
    REPORT_FIELD_TABLE(X)
#undef X
        REPORT_FIELD_COUNT
};

#define NUMBER_BYTES 24u
struct report_fields {
    struct log_field fields[REPORT_FIELD_COUNT];
    size_t count;
    char numbers[REPORT_FIELD_COUNT][NUMBER_BYTES]; /* written out */
};

static const char *const field_names[REPORT_FIELD_COUNT] = {
#define X(name, meaning) #name,
    REPORT_FIELD_TABLE(X)
#undef X
};

/* Nothing where there are no bytes. */
static void give_bytes(struct report_fields *fields, enum report_field field, const void *bytes, size_t length)
{
    if (length != 0)
        fields->fields[fields->count++] = (struct log_field){field_names[field], bytes, length};
}

static void give_text(struct report_fields *fields, enum report_field field, const char *text)
{
    give_bytes(fields, field, text, text != NULL ? strlen(text) : 0);
}

static void give_number(struct report_fields *fields, enum report_field field, uint64_t value)
{
    snprintf(fields->numbers[field], NUMBER_BYTES, field == REPORT_FIELD_RIPD_OFFSET ? "0x%" PRIx64 : "%" PRIu64,
             value);
    give_text(fields, field, fields->numbers[field]);
}

/* Nothing where it is 0. */
static void give_known(struct report_fields *fields, enum report_field field, uint64_t value)
{
    if (value != 0)
        give_number(fields, field, value);
}

/* The fields point into the event and *ret_fields itself, which must stay where it is. */
static void fill_fields(struct report_fields *ret_fields, const struct event *event)
{
    const bool begins = event->kind == EVENT_BEGIN;

    ret_fields->count = 0;
    give_text(ret_fields, REPORT_FIELD_MESSAGE_ID, begins ? REPORT_BEGIN_MESSAGE_ID : REPORT_END_MESSAGE_ID);
    give_text(ret_fields, REPORT_FIELD_RIPD_EVENT, event_kind_name(event->kind));
    give_number(ret_fields, REPORT_FIELD_RIPD_EPISODE, event->episode);
    give_known(ret_fields, REPORT_FIELD_RIPD_INCIDENT, event->incident);
    give_known(ret_fields, REPORT_FIELD_RIPD_WAITING_COUNT, event->waiting_count);
    give_text(ret_fields, REPORT_FIELD_RIPD_RING, event->ring);
    if (event->ring[0] != '\0')
        give_number(ret_fields, REPORT_FIELD_RIPD_ID, event->id);
    give_known(ret_fields, REPORT_FIELD_RIPD_TID, event->tid);
    give_bytes(ret_fields, REPORT_FIELD_RIPD_NAME, event->name, event->name_bytes);
    give_bytes(ret_fields, REPORT_FIELD_RIPD_NOTE, event->note, event->note_bytes);
    give_known(ret_fields, REPORT_FIELD_RIPD_PID, event->pid);
    give_text(ret_fields, REPORT_FIELD_RIPD_COMM, event->comm);
    give_text(ret_fields, REPORT_FIELD_RIPD_UNIT, event->unit);
    give_text(ret_fields, REPORT_FIELD_RIPD_CONTAINER, event->container);
    if (event->cause != CAUSE_NONE)
        give_text(ret_fields, REPORT_FIELD_RIPD_CAUSE, id_cause_name(event->cause));
    give_number(ret_fields, begins ? REPORT_FIELD_RIPD_FROZEN_FOR_MS : REPORT_FIELD_RIPD_LASTED_MS,
                event->duration_ns / MS);
    give_text(ret_fields, REPORT_FIELD_RIPD_MODULE, event->module);
    if (event->module != NULL)
        give_number(ret_fields, REPORT_FIELD_RIPD_OFFSET, event->offset);
    give_text(ret_fields, REPORT_FIELD_RIPD_FUNCTION, event->function);
    give_text(ret_fields, REPORT_FIELD_RIPD_FILE, event->file);
    give_known(ret_fields, REPORT_FIELD_RIPD_LINE, event->line);
    give_text(ret_fields, REPORT_FIELD_RIPD_SYSCALL, event->syscall);
    give_text(ret_fields, REPORT_FIELD_RIPD_TARGET, event->target);
    give_text(ret_fields, REPORT_FIELD_RIPD_SUMMARY, event->summary);
    if (!begins)
        give_text(ret_fields, REPORT_FIELD_RIPD_REASON, event_reason_name(event->reason));
}

/* Log lines -------------------------------------------------------------------------------------------------------- */

enum { EVENT_LINE_BYTES = 10 * LOG_QUOTED_BYTES + 512 };

static void add_quoted(char *line, const char *key, const void *bytes, size_t length)
{
    char quoted[LOG_QUOTED_BYTES];

    text_append(line, EVENT_LINE_BYTES, " %s=%s", key, log_quote(bytes, length, quoted));
}

static void add_known(char *line, const char *key, const char *text)
{
    if (text != NULL)
        add_quoted(line, key, text, strlen(text));
}

static void add_begin(char *line, const struct event *event)
{
    text_append(line, EVENT_LINE_BYTES, " cause=%s frozen_for_ms=%" PRIu64,
                event->cause == CAUSE_NONE ? "null" : id_cause_name(event->cause), event->duration_ns / MS);
    if (event->note_bytes != 0)
        add_quoted(line, "note", event->note, event->note_bytes);
    if (event->module != NULL) {
        add_known(line, "module", event->module);
        text_append(line, EVENT_LINE_BYTES, " offset=0x%" PRIx64, event->offset);
    }
    add_known(line, "function", event->function);
    add_known(line, "file", event->file);
    if (event->line != 0)
        text_append(line, EVENT_LINE_BYTES, " line=%" PRIu32, event->line);
    if (event->syscall != NULL)
        text_append(line, EVENT_LINE_BYTES, " syscall=%s", event->syscall);
    add_known(line, "target", event->target);
    if (event->holder_bytes != 0)
        add_quoted(line, "waits_for", event->holder, event->holder_bytes);
    if (event->waiting_count != 0)
        text_append(line, EVENT_LINE_BYTES, " waiting_count=%" PRIu32, event->waiting_count);
}

void report_event(const struct event *event)
{
    char line[EVENT_LINE_BYTES] = "";
    struct report_fields fields;

    fill_fields(&fields, event);
    text_append(line, EVENT_LINE_BYTES, "stall %s episode=%" PRIu64, event_kind_name(event->kind), event->episode);
    if (event->incident != 0 && event->incident != event->episode)
        text_append(line, EVENT_LINE_BYTES, " incident=%" PRIu64, event->incident);
    if (event->ring[0] != '\0') {
        add_quoted(line, "ring", event->ring, strlen(event->ring));
        text_append(line, EVENT_LINE_BYTES, " id=%" PRIu32, event->id);
        if (event->tid != 0)
            text_append(line, EVENT_LINE_BYTES, " tid=%" PRIu32, event->tid);
        else
            text_append(line, EVENT_LINE_BYTES, " tid=null");
        add_quoted(line, "name", event->name, event->name_bytes);
    }
    if (event->kind == EVENT_BEGIN)
        add_begin(line, event);
    else
        text_append(line, EVENT_LINE_BYTES, " reason=%s lasted_ms=%" PRIu64 " stalls=%" PRIu32,
                    event_reason_name(event->reason), event->duration_ns / MS, event->stall_count);
    add_known(line, "summary", event->summary);
    log_event(LOG_LEVEL_WARNING, fields.fields, fields.count, "%s", line);
}
