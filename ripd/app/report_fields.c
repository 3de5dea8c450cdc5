/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_fields.c - one function a field: its value, or that there is none.
 */
#include "app/report_fields.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000u

/* Of the getters below: number is room for a value that has to be written. False: the event has no such value. */
static bool give_bytes(struct log_field *field, const void *bytes, size_t length)
{
    field->value = bytes;
    field->length = length;
    return length != 0;
}

static bool give_text(struct log_field *field, const char *text)
{
    return text != NULL && give_bytes(field, text, strlen(text));
}

static bool give_number(struct log_field *field, char *number, uint64_t value)
{
    return give_bytes(field, number, (size_t)snprintf(number, REPORT_NUMBER_BYTES, "%" PRIu64, value));
}

static bool is_known(const struct event *event)
{
    return event->ring[0] != '\0';
}

static bool get_message_id(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event->kind == EVENT_BEGIN ? REPORT_BEGIN_MESSAGE_ID : REPORT_END_MESSAGE_ID);
}

static bool get_kind(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event_kind_name(event->kind));
}

static bool get_episode(const struct event *event, struct log_field *field, char *number)
{
    return give_number(field, number, event->episode);
}

static bool get_ring(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event->ring);
}

static bool get_id(const struct event *event, struct log_field *field, char *number)
{
    return is_known(event) && give_number(field, number, event->id);
}

static bool get_tid(const struct event *event, struct log_field *field, char *number)
{
    return event->tid != 0 && give_number(field, number, event->tid);
}

static bool get_name(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_bytes(field, event->name, event->name_bytes);
}

static bool get_pid(const struct event *event, struct log_field *field, char *number)
{
    return event->pid != 0 && give_number(field, number, event->pid);
}

static bool get_comm(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event->comm);
}

static bool get_cause(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return event->cause != CAUSE_NONE && give_text(field, id_cause_name(event->cause));
}

static bool get_frozen_for(const struct event *event, struct log_field *field, char *number)
{
    return event->kind == EVENT_BEGIN && give_number(field, number, event->duration_ns / MS);
}

static bool get_lasted(const struct event *event, struct log_field *field, char *number)
{
    return event->kind == EVENT_END && give_number(field, number, event->duration_ns / MS);
}

static bool get_module(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event->module);
}

static bool get_offset(const struct event *event, struct log_field *field, char *number)
{
    return event->module != NULL &&
           give_bytes(field, number, (size_t)snprintf(number, REPORT_NUMBER_BYTES, "0x%" PRIx64, event->offset));
}

static bool get_function(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event->function);
}

static bool get_file(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event->file);
}

static bool get_line(const struct event *event, struct log_field *field, char *number)
{
    return event->line != 0 && give_number(field, number, event->line);
}

static bool get_syscall(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event->syscall);
}

static bool get_target(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return give_text(field, event->target);
}

static bool get_reason(const struct event *event, struct log_field *field, char *number)
{
    (void)number;
    return event->kind == EVENT_END && give_text(field, event_reason_name(event->reason));
}

static const struct report_field_row {
    const char *name;
    bool (*get)(const struct event *event, struct log_field *field, char *number);
} rows[REPORT_FIELD_COUNT] = {
#define X(name, getter, meaning) [REPORT_FIELD_##name] = {#name, get_##getter},
    REPORT_FIELD_TABLE(X)
#undef X
};

void report_fields_fill(struct report_fields *ret_fields, const struct event *event)
{
    ret_fields->count = 0;
    for (size_t i = 0; i < REPORT_FIELD_COUNT; i++) {
        struct log_field *field = &ret_fields->fields[ret_fields->count];

        field->name = rows[i].name;
        ret_fields->count += rows[i].get(event, field, ret_fields->numbers[i]);
    }
}
