/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - log lines and journal fields for notices and stalls. One table lists the kinds of notices. */
#include "app/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/log.h"
#include "os/clock.h"
#include "util/text.h"

static const struct notice_line {
    enum log_level level;
    const char *text;
} notice_lines[] = {
    [NOTICE_RING_FOUND] = {LOG_LEVEL_INFO, "ring found"},
    [NOTICE_RING_GONE] = {LOG_LEVEL_INFO, "ring gone"},
    [NOTICE_RING_DAMAGED] = {LOG_LEVEL_WARNING, "ring damaged"},
    [NOTICE_RING_UNREADABLE] = {LOG_LEVEL_WARNING, "ring unreadable"},
    [NOTICE_UNATTESTED] = {LOG_LEVEL_WARNING, "process is alive but no longer holds its lock"},
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

uint64_t report_due(struct report_pace *pace, uint64_t now_mono_ns, uint64_t count, uint64_t between_ns)
{
    pace->count += count;
    if (pace->count == 0 || (pace->logged_mono_ns != 0 && now_mono_ns - pace->logged_mono_ns < between_ns))
        return 0;
    count = pace->count;
    *pace = (struct report_pace){.logged_mono_ns = now_mono_ns};
    return count;
}

void report_left_out(struct report_budget *budget, uint64_t now_mono_ns, const char *what, uint64_t count)
{
    const uint64_t due = report_due(&budget->left_out, now_mono_ns, count, REPORT_SUMMARY_NS);

    log_leave_out(count);
    if (due != 0)
        log_line(LOG_LEVEL_WARNING, "too many %s to log: left_out=%" PRIu64, what, due);
}

bool report_budget_take(struct report_budget *budget, uint64_t now_mono_ns, const char *what)
{
    const bool has_room = report_budget_lines(budget, now_mono_ns) != 0;

    report_left_out(budget, now_mono_ns, what, has_room ? 0 : 1);
    if (has_room)
        report_budget_spend(budget, 1);
    return has_room;
}

static bool take_notice(struct report_notices *notices, uint32_t user)
{
    const uint64_t now_mono_ns = clock_mono_ns();
    bool has_room;

    if (user == MAPPING_NOBODY)
        return report_budget_take(&notices->budget, now_mono_ns, "notices");
    has_room = work_take(notices->work, user, WORK_NOTICES, 1);
    report_left_out(&notices->budget, now_mono_ns, "notices", has_room ? 0 : 1);
    return has_room;
}

void report_notice(void *notices, uint32_t user, enum registry_notice_kind kind, const char *name, const char *reason)
{
    const struct notice_line *line = &notice_lines[kind];
    char quoted_name[LOG_QUOTED_BYTES], quoted_reason[LOG_QUOTED_BYTES];

    if (!take_notice(notices, user))
        return;
    log_quote_text(name, quoted_name);
    if (reason != NULL)
        log_line(line->level, "%s name=%s reason=%s", line->text, quoted_name, log_quote_text(reason, quoted_reason));
    else
        log_line(line->level, "%s name=%s", line->text, quoted_name);
}

/* Events: as a line, and as fields of the journal ------------------------------------------------------------------ */

enum report_field {
#define X(name, meaning) REPORT_FIELD_##name,
    REPORT_FIELD_TABLE(X)
#undef X
        REPORT_FIELD_COUNT
};

static const char *const field_names[REPORT_FIELD_COUNT] = {
#define X(name, meaning) #name,
    REPORT_FIELD_TABLE(X)
#undef X
};

#define LINE_ONLY REPORT_FIELD_COUNT
enum { EVENT_LINE_BYTES = 10 * LOG_QUOTED_BYTES + 512, NUMBER_BYTES = 24 };

/* Contains pointers into the event and into itself. */
struct event_report {
    struct log_field fields[REPORT_FIELD_COUNT];
    size_t count;
    char numbers[REPORT_FIELD_COUNT + 1][NUMBER_BYTES]; /* numbers as text */
    char line[EVENT_LINE_BYTES];
    bool is_line_full; /* further values go only to the fields */
};

/* Adds a value as a field, and to the line if it has a key there. Adds nothing if there are no bytes. */
static void put(struct event_report *report, enum report_field field, const char *key, const void *bytes, size_t length)
{
    if (field != LINE_ONLY && length != 0)
        report->fields[report->count++] = (struct log_field){field_names[field], bytes, length};
    if (key != NULL && length != 0 && !report->is_line_full)
        text_append(report->line, EVENT_LINE_BYTES, " %s=%.*s", key, (int)length, (const char *)bytes);
}

static void put_word(struct event_report *report, enum report_field field, const char *key, const char *word)
{
    put(report, field, key, word, word != NULL ? strlen(word) : 0);
}

/* Bytes of unknown origin: quoted in the line. */
static void put_bytes(struct event_report *report, enum report_field field, const char *key, const void *bytes,
                      size_t length)
{
    char quoted[LOG_QUOTED_BYTES];

    put(report, field, NULL, bytes, length);
    if (key != NULL && length != 0)
        put_word(report, LINE_ONLY, key, log_quote(bytes, length, quoted));
}

static void put_text(struct event_report *report, enum report_field field, const char *key, const char *text)
{
    put_bytes(report, field, key, text, text != NULL ? strlen(text) : 0);
}

static void put_number(struct event_report *report, enum report_field field, const char *key, uint64_t value)
{
    char *number = report->numbers[field];

    snprintf(number, NUMBER_BYTES, field == REPORT_FIELD_RIPD_OFFSET ? "0x%" PRIx64 : "%" PRIu64, value);
    put_word(report, field, key, number);
}

/* Adds nothing if the value is 0. */
static void put_nonzero(struct event_report *report, enum report_field field, const char *key, uint64_t value)
{
    if (value != 0)
        put_number(report, field, key, value);
}

static void put_who(struct event_report *report, const struct event *event)
{
    if (event->ring[0] != '\0') {
        put_text(report, REPORT_FIELD_RIPD_RING, "ring", event->ring);
        put_number(report, REPORT_FIELD_RIPD_ID, "id", event->id);
        if (event->tid == 0)
            put_word(report, LINE_ONLY, "tid", "null");
        put_nonzero(report, REPORT_FIELD_RIPD_TID, "tid", event->tid);
        if (event->name_bytes == 0)
            put_word(report, LINE_ONLY, "name", "\"\"");
        put_bytes(report, REPORT_FIELD_RIPD_NAME, "name", event->name, event->name_bytes);
    }
    put_nonzero(report, REPORT_FIELD_RIPD_PID, NULL, event->pid);
    put_text(report, REPORT_FIELD_RIPD_COMM, NULL, event->comm);
    put_text(report, REPORT_FIELD_RIPD_UNIT, NULL, event->unit);
    put_text(report, REPORT_FIELD_RIPD_CONTAINER, NULL, event->container);
}

/* The line of an end omits the location: the line of its begin has it. */
static void put_where(struct event_report *report, const struct event *event)
{
    put_text(report, REPORT_FIELD_RIPD_MODULE, "module", event->module);
    if (event->module != NULL)
        put_number(report, REPORT_FIELD_RIPD_OFFSET, "offset", event->offset);
    put_text(report, REPORT_FIELD_RIPD_FUNCTION, "function", event->function);
    put_text(report, REPORT_FIELD_RIPD_FILE, "file", event->file);
    put_nonzero(report, REPORT_FIELD_RIPD_LINE, "line", event->line);
    put_word(report, REPORT_FIELD_RIPD_SYSCALL, "syscall", event->syscall);
    put_text(report, REPORT_FIELD_RIPD_TARGET, "target", event->target);
    put_bytes(report, LINE_ONLY, "waits_for", event->holder, event->holder_bytes);
    put_nonzero(report, REPORT_FIELD_RIPD_WAITING_COUNT, "waiting_count", event->waiting_count);
}

static void put_what(struct event_report *report, const struct event *event)
{
    const char *cause = event->cause != CAUSE_NONE ? id_cause_name(event->cause) : NULL;
    const uint64_t duration_ms = event->duration_ns / MS;

    if (event->kind == EVENT_BEGIN) {
        if (cause == NULL)
            put_word(report, LINE_ONLY, "cause", "null");
        put_word(report, REPORT_FIELD_RIPD_CAUSE, "cause", cause);
        put_number(report, REPORT_FIELD_RIPD_FROZEN_FOR_MS, "frozen_for_ms", duration_ms);
        put_bytes(report, REPORT_FIELD_RIPD_NOTE, "note", event->note, event->note_bytes);
    } else {
        put_word(report, REPORT_FIELD_RIPD_CAUSE, NULL, cause);
        put_word(report, REPORT_FIELD_RIPD_REASON, "reason", event_reason_name(event->reason));
        put_number(report, REPORT_FIELD_RIPD_LASTED_MS, "lasted_ms", duration_ms);
        put_number(report, LINE_ONLY, "stalls", event->stall_count);
    }
    report->is_line_full = event->kind == EVENT_END;
    put_where(report, event);
    report->is_line_full = false;
    put_text(report, REPORT_FIELD_RIPD_SUMMARY, "summary", event->summary);
}

void report_event(const struct event *event)
{
    struct event_report report = {.line = "stall "};
    const char *kind = event_kind_name(event->kind);

    text_append(report.line, EVENT_LINE_BYTES, "%s", kind);
    put_word(&report, REPORT_FIELD_MESSAGE_ID, NULL,
             event->kind == EVENT_BEGIN ? REPORT_BEGIN_MESSAGE_ID : REPORT_END_MESSAGE_ID);
    put_word(&report, REPORT_FIELD_RIPD_EVENT, NULL, kind);
    put_number(&report, REPORT_FIELD_RIPD_EPISODE, "episode", event->episode);
    put_nonzero(&report, REPORT_FIELD_RIPD_INCIDENT, event->incident != event->episode ? "incident" : NULL,
                event->incident);
    put_who(&report, event);
    put_what(&report, event);
    log_event(LOG_LEVEL_WARNING, report.fields, report.count, "%s", report.line);
}
