/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - log lines and journal fields for notices and stalls. The kinds of notices are one table.
 */
#include "app/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/log.h"

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

__attribute__((format(printf, 3, 4))) static void give_number(struct report_fields *fields, enum report_field field,
                                                              const char *format, ...)
{
    char *number = fields->numbers[field];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(number, NUMBER_BYTES, format, arguments);
    va_end(arguments);
    give_text(fields, field, number);
}

/* The fields point into the event and *ret_fields itself, which must stay where it is. */
static void fill_fields(struct report_fields *ret_fields, const struct event *event)
{
    const bool begins = event->kind == EVENT_BEGIN;

    ret_fields->count = 0;
    give_text(ret_fields, REPORT_FIELD_MESSAGE_ID, begins ? REPORT_BEGIN_MESSAGE_ID : REPORT_END_MESSAGE_ID);
    give_text(ret_fields, REPORT_FIELD_RIPD_EVENT, event_kind_name(event->kind));
    give_number(ret_fields, REPORT_FIELD_RIPD_EPISODE, "%" PRIu64, event->episode);
    if (event->incident != 0)
        give_number(ret_fields, REPORT_FIELD_RIPD_INCIDENT, "%" PRIu64, event->incident);
    if (event->waiting_count != 0)
        give_number(ret_fields, REPORT_FIELD_RIPD_WAITING_COUNT, "%" PRIu32, event->waiting_count);
    give_text(ret_fields, REPORT_FIELD_RIPD_RING, event->ring);
    if (event->ring[0] != '\0')
        give_number(ret_fields, REPORT_FIELD_RIPD_ID, "%" PRIu32, event->id);
    if (event->tid != 0)
        give_number(ret_fields, REPORT_FIELD_RIPD_TID, "%" PRIu32, event->tid);
    give_bytes(ret_fields, REPORT_FIELD_RIPD_NAME, event->name, event->name_bytes);
    give_bytes(ret_fields, REPORT_FIELD_RIPD_NOTE, event->note, event->note_bytes);
    if (event->pid != 0)
        give_number(ret_fields, REPORT_FIELD_RIPD_PID, "%" PRIu32, event->pid);
    give_text(ret_fields, REPORT_FIELD_RIPD_COMM, event->comm);
    give_text(ret_fields, REPORT_FIELD_RIPD_UNIT, event->unit);
    give_text(ret_fields, REPORT_FIELD_RIPD_CONTAINER, event->container);
    if (event->cause != CAUSE_NONE)
        give_text(ret_fields, REPORT_FIELD_RIPD_CAUSE, id_cause_name(event->cause));
    give_number(ret_fields, begins ? REPORT_FIELD_RIPD_FROZEN_FOR_MS : REPORT_FIELD_RIPD_LASTED_MS, "%" PRIu64,
                event->duration_ns / MS);
    give_text(ret_fields, REPORT_FIELD_RIPD_MODULE, event->module);
    if (event->module != NULL)
        give_number(ret_fields, REPORT_FIELD_RIPD_OFFSET, "0x%" PRIx64, event->offset);
    give_text(ret_fields, REPORT_FIELD_RIPD_FUNCTION, event->function);
    give_text(ret_fields, REPORT_FIELD_RIPD_FILE, event->file);
    if (event->line != 0)
        give_number(ret_fields, REPORT_FIELD_RIPD_LINE, "%" PRIu32, event->line);
    give_text(ret_fields, REPORT_FIELD_RIPD_SYSCALL, event->syscall);
    give_text(ret_fields, REPORT_FIELD_RIPD_TARGET, event->target);
    give_text(ret_fields, REPORT_FIELD_RIPD_SUMMARY, event->summary);
    if (!begins)
        give_text(ret_fields, REPORT_FIELD_RIPD_REASON, event_reason_name(event->reason));
}

/* Log lines -------------------------------------------------------------------------------------------------------- */

struct line {
    char text[10 * LOG_QUOTED_BYTES + 512];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line->text + line->length, sizeof(line->text) - line->length, format, arguments);
    va_end(arguments);
    line->length += (size_t)length < sizeof(line->text) - line->length ? (size_t)length : 0;
}

static void add_quoted(struct line *line, const char *key, const void *bytes, size_t length)
{
    char quoted[LOG_QUOTED_BYTES];

    add(line, " %s=%s", key, log_quote(bytes, length, quoted));
}

static void add_known(struct line *line, const char *key, const char *text)
{
    if (text != NULL)
        add_quoted(line, key, text, strlen(text));
}

static void add_begin(struct line *line, const struct event *event)
{
    add(line, " cause=%s frozen_for_ms=%" PRIu64, event->cause == CAUSE_NONE ? "null" : id_cause_name(event->cause),
        event->duration_ns / MS);
    if (event->note_bytes != 0)
        add_quoted(line, "note", event->note, event->note_bytes);
    if (event->module != NULL) {
        add_known(line, "module", event->module);
        add(line, " offset=0x%" PRIx64, event->offset);
    }
    add_known(line, "function", event->function);
    add_known(line, "file", event->file);
    if (event->line != 0)
        add(line, " line=%" PRIu32, event->line);
    if (event->syscall != NULL)
        add(line, " syscall=%s", event->syscall);
    add_known(line, "target", event->target);
    if (event->holder_bytes != 0)
        add_quoted(line, "waits_for", event->holder, event->holder_bytes);
    if (event->waiting_count != 0)
        add(line, " waiting_count=%" PRIu32, event->waiting_count);
}

void report_event(const struct event *event)
{
    struct line line = {.length = 0};
    struct report_fields fields;

    fill_fields(&fields, event);
    add(&line, "stall %s episode=%" PRIu64, event_kind_name(event->kind), event->episode);
    if (event->incident != 0 && event->incident != event->episode)
        add(&line, " incident=%" PRIu64, event->incident);
    if (event->ring[0] != '\0') {
        add_quoted(&line, "ring", event->ring, strlen(event->ring));
        add(&line, " id=%" PRIu32, event->id);
        if (event->tid != 0)
            add(&line, " tid=%" PRIu32, event->tid);
        else
            add(&line, " tid=null");
        add_quoted(&line, "name", event->name, event->name_bytes);
    }
    if (event->kind == EVENT_BEGIN)
        add_begin(&line, event);
    else
        add(&line, " reason=%s lasted_ms=%" PRIu64 " stalls=%" PRIu32, event_reason_name(event->reason),
            event->duration_ns / MS, event->stall_count);
    add_known(&line, "summary", event->summary);
    log_event(LOG_LEVEL_WARNING, fields.fields, fields.count, "%s", line.text);
}
