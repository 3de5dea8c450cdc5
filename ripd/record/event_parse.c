/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_parse.c - fields of an event and of its subject, each checked. Touches nothing.
 *
 * The fields that are read are those that lists filter by, the log tells, and an end has of its begin; the others are
 * in the text, and nowhere else.
 */
#include "record/event_parse.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define MS_MAX (INT64_MAX / NS_PER_MS)
#define MODULE_BYTES_MAX PATH_MAX
#define SUBJECT_KEY ",\"ring\":"

int event_parse_number(const json_t *value, uint64_t max, uint64_t *ret_number)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number > max)
        return -EBADMSG;
    *ret_number = (uint64_t)number;
    return 0;
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Up to 16 hexadecimal digits; returns where they end, NULL if there is none or too many. */
static const char *take_hex(const char *text, uint64_t *ret_number)
{
    const char *at = text;
    uint64_t number = 0;

    for (; digit_value(*at) >= 0 && at - text < 16; at++)
        number = number << 4 | (uint64_t)digit_value(*at);
    if (at == text || digit_value(*at) >= 0)
        return NULL;
    *ret_number = number;
    return at;
}

int event_parse_hex(const json_t *value, uint64_t *ret_number)
{
    const char *text = json_string_value(value), *end;
    uint64_t number;

    end = text != NULL ? take_hex(text, &number) : NULL;
    if (end == NULL || *end != '\0')
        return -EBADMSG;
    *ret_number = number;
    return 0;
}

/* Exactly size bytes at most, as pairs of digits; *ret_bytes how many. */
static int parse_hex_bytes(const json_t *value, uint8_t *ret_buffer, size_t size, size_t *ret_bytes)
{
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);

    if (text == NULL || length % 2 != 0 || length / 2 > size)
        return -EBADMSG;
    for (size_t i = 0; i < length; i += 2) {
        int high = digit_value(text[i]), low = digit_value(text[i + 1]);

        if (high < 0 || low < 0)
            return -EBADMSG;
        ret_buffer[i / 2] = (uint8_t)(high << 4 | low);
    }
    *ret_bytes = length / 2;
    return 0;
}

/* Bytes as KEY shows them, or as KEY_hex has them where showing changed them. null is none. */
static int parse_bytes(const json_t *object, const char *key, const char *key_hex, uint8_t *ret_buffer, size_t size,
                       size_t *ret_bytes)
{
    const json_t *value = json_object_get(object, key), *hex = json_object_get(object, key_hex);

    if (hex != NULL)
        return parse_hex_bytes(hex, ret_buffer, size, ret_bytes);
    if (json_is_null(value)) {
        *ret_bytes = 0;
        return 0;
    }
    if (!json_is_string(value) || json_string_length(value) > size)
        return -EBADMSG;
    memcpy(ret_buffer, json_string_value(value), json_string_length(value));
    *ret_bytes = json_string_length(value);
    return 0;
}

/* A name among those of a table; null is none of them. */
static int parse_name(const json_t *value, int (*from_name)(const char *name), int none, int *ret_number)
{
    int number = json_is_string(value) ? from_name(json_string_value(value)) : json_is_null(value) ? none : -1;

    if (number < 0)
        return -EBADMSG;
    *ret_number = number;
    return 0;
}

static int parse_ms(const json_t *value, uint64_t unknown, uint64_t *ret_ns)
{
    uint64_t ms;

    if (json_is_null(value)) {
        *ret_ns = unknown;
        return 0;
    }
    if (event_parse_number(value, MS_MAX, &ms) != 0)
        return -EBADMSG;
    *ret_ns = ms * NS_PER_MS;
    return 0;
}

/* "2026-11-20T09:41:07.120Z"; null is 0. */
static int parse_time(const json_t *value, uint64_t *ret_wall_ns)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    const char *text = json_string_value(value);
    struct tm time = {0};
    time_t seconds;
    int ms;

    if (json_is_null(value)) {
        *ret_wall_ns = 0;
        return 0;
    }
    if (text == NULL || json_string_length(value) != sizeof(form) - 1)
        return -EBADMSG;
    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return -EBADMSG;
    sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &time.tm_year, &time.tm_mon, &time.tm_mday, &time.tm_hour,
           &time.tm_min, &time.tm_sec, &ms);
    if (time.tm_year < 1970 || time.tm_year > 2500)
        return -EBADMSG;
    time.tm_year -= 1900;
    time.tm_mon -= 1;
    seconds = timegm(&time);
    if (seconds < 0)
        return -EBADMSG;
    *ret_wall_ns = (uint64_t)seconds * 1000 * NS_PER_MS + (uint64_t)ms * NS_PER_MS;
    return 0;
}

static int parse_head(const json_t *object, struct event *event)
{
    uint64_t stalls = 0;
    int kind, reason;

    if (event_parse_number(json_object_get(object, "sequence"), INT64_MAX, &event->sequence) != 0 ||
        event_parse_number(json_object_get(object, "episode"), INT64_MAX, &event->episode) != 0 ||
        parse_name(json_object_get(object, "kind"), event_kind_from_name, -1, &kind) != 0 ||
        parse_time(json_object_get(object, "at"), &event->at_wall_ns) != 0 || event->sequence == 0 ||
        event->episode == 0)
        return -EBADMSG;
    event->kind = (enum event_kind)kind;
    if (event->kind == EVENT_BEGIN)
        return 0;
    if (parse_name(json_object_get(object, "reason"), event_reason_from_name, -1, &reason) != 0 ||
        event_parse_number(json_object_get(object, "stalls"), UINT32_MAX, &stalls) != 0)
        return -EBADMSG;
    event->reason = (enum event_reason)reason;
    event->stall_count = (uint32_t)stalls;
    return 0;
}

static int parse_verdict(const json_t *object, struct event *event)
{
    bool begin = event->kind == EVENT_BEGIN;
    int cause;

    if (parse_name(json_object_get(object, "cause"), id_cause_from_name, CAUSE_NONE, &cause) != 0 ||
        parse_time(json_object_get(object, "since"), &event->since_wall_ns) != 0 ||
        parse_ms(json_object_get(object, "threshold_ms"), EVENT_UNKNOWN_NS, &event->threshold_ns) != 0 ||
        parse_ms(json_object_get(object, begin ? "frozen_for_ms" : "lasted_ms"), EVENT_UNKNOWN_NS,
                 &event->duration_ns) != 0 ||
        parse_ms(json_object_get(object, begin ? "frozen_for_max_ms" : "lasted_max_ms"), EVENT_UNKNOWN_NS,
                 &event->duration_max_ns) != 0)
        return -EBADMSG;
    event->cause = (enum id_cause)cause;
    return 0;
}

static int parse_optional(const json_t *value, uint32_t *ret_number)
{
    uint64_t number = 0;

    if (!json_is_null(value) && event_parse_number(value, UINT32_MAX, &number) != 0)
        return -EBADMSG;
    *ret_number = (uint32_t)number;
    return 0;
}

static int parse_who(const json_t *object, struct event *event)
{
    const json_t *process = json_object_get(object, "process");
    size_t ring_bytes, name_bytes, comm_bytes;

    if (parse_bytes(object, "ring", "ring_hex", (uint8_t *)event->ring, sizeof(event->ring) - 1, &ring_bytes) != 0 ||
        parse_bytes(object, "name", "name_hex", event->name, sizeof(event->name), &name_bytes) != 0 ||
        parse_optional(json_object_get(object, "id"), &event->id) != 0 ||
        parse_optional(json_object_get(object, "tid"), &event->tid) != 0)
        return -EBADMSG;
    event->name_bytes = (uint8_t)name_bytes;
    if (json_is_null(process))
        return 0;
    if (parse_bytes(process, "comm", "comm_hex", (uint8_t *)event->comm, sizeof(event->comm) - 1, &comm_bytes) != 0)
        return -EBADMSG;
    return parse_optional(json_object_get(process, "pid"), &event->pid);
}

/* What the place was called when it was written; nothing is lost where that cannot be understood. */
static void parse_names(const json_t *location, struct event *event)
{
    const json_t *line = json_object_get(location, "line");
    uint8_t text[SYMBOL_TEXT_BYTES_MAX];
    size_t bytes;

    if (parse_bytes(location, "function", "function_hex", text, sizeof(text), &bytes) == 0 && bytes != 0)
        event->function = strndup((const char *)text, bytes);
    if (parse_bytes(location, "file", "file_hex", text, sizeof(text), &bytes) == 0 && bytes != 0)
        event->file = strndup((const char *)text, bytes);
    if (json_is_integer(line) && json_integer_value(line) > 0 && json_integer_value(line) <= UINT32_MAX)
        event->line = (uint32_t)json_integer_value(line);
}

static int parse_where(const json_t *object, struct event *event)
{
    const json_t *location = json_object_get(object, "location");
    const char *offset = json_string_value(json_object_get(location, "offset")), *end;
    uint8_t module[MODULE_BYTES_MAX + 1];
    size_t bytes;

    if (json_is_null(location) || json_is_null(json_object_get(location, "module")))
        return 0;
    if (parse_bytes(location, "module", "module_hex", module, sizeof(module) - 1, &bytes) != 0 || offset == NULL ||
        strncmp(offset, "0x", 2) != 0 || (end = take_hex(offset + 2, &event->offset)) == NULL || *end != '\0')
        return -EBADMSG;
    event->module = strndup((const char *)module, bytes);
    parse_names(location, event);
    return event->module != NULL ? 0 : -ENOMEM;
}

/* Where the fields begin that an end takes over from its begin: they must make an object by themselves. */
static int find_subject(struct event *event)
{
    char *found = strstr(event->text, SUBJECT_KEY);
    json_t *object;

    if (found == NULL)
        return -EBADMSG;
    *found = '{';
    object = json_loads(found, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    *found = ',';
    json_decref(object);
    event->subject_at = (size_t)(found + 1 - event->text);
    return object != NULL ? 0 : -EBADMSG;
}

int event_parse(const json_t *object, const char *text, size_t length, struct event **ret_event)
{
    struct event *event = event_make();
    int status;

    if (event == NULL)
        return -ENOMEM;
    event->text = strndup(text, length);
    event->text_bytes = length;
    status = event->text != NULL ? parse_head(object, event) : -ENOMEM;
    if (status == 0)
        status = parse_verdict(object, event);
    if (status == 0)
        status = parse_who(object, event);
    if (status == 0)
        status = parse_where(object, event);
    if (status == 0 && event->kind == EVENT_BEGIN)
        status = find_subject(event);
    if (status != 0) {
        event_unref(event);
        return status;
    }
    *ret_event = event;
    return 0;
}

static int parse_id(const json_t *value, uint8_t ret_id[EVENT_SUBJECT_ID_BYTES])
{
    size_t bytes;

    if (parse_hex_bytes(value, ret_id, EVENT_SUBJECT_ID_BYTES, &bytes) != 0 || bytes != EVENT_SUBJECT_ID_BYTES)
        return -EBADMSG;
    return 0;
}

/* "DEVICE:INODE" */
static int parse_directory(const json_t *value, struct event_subject *subject)
{
    const char *at = json_string_value(value);

    at = at != NULL ? take_hex(at, &subject->directory_device) : NULL;
    if (at == NULL || *at != ':')
        return -EBADMSG;
    at = take_hex(at + 1, &subject->directory_inode);
    return at != NULL && *at == '\0' ? 0 : -EBADMSG;
}

int event_parse_subject(const json_t *object, struct event_subject *ret_subject)
{
    const json_t *moved_after = json_object_get(object, "moved_after_mono_ns");
    struct event_subject subject = {.moved_after_mono_ns = EVENT_SUBJECT_UNKNOWN};
    uint64_t slot, generation, stalls;

    if (event_parse_number(json_object_get(object, "episode"), INT64_MAX, &subject.episode) != 0 ||
        parse_id(json_object_get(object, "boot_id"), subject.boot_id) != 0 ||
        parse_id(json_object_get(object, "ring_id"), subject.ring_id) != 0 ||
        parse_directory(json_object_get(object, "directory"), &subject) != 0 ||
        event_parse_number(json_object_get(object, "slot"), UINT32_MAX, &slot) != 0 ||
        event_parse_number(json_object_get(object, "generation"), UINT32_MAX, &generation) != 0 ||
        event_parse_hex(json_object_get(object, "progress"), &subject.progress) != 0 ||
        event_parse_number(json_object_get(object, "began_mono_ns"), INT64_MAX, &subject.began_mono_ns) != 0 ||
        event_parse_number(json_object_get(object, "frozen_mono_ns"), INT64_MAX, &subject.frozen_mono_ns) != 0 ||
        event_parse_number(json_object_get(object, "stalls"), UINT32_MAX, &stalls) != 0)
        return -EBADMSG;
    if (!json_is_null(moved_after) && event_parse_number(moved_after, INT64_MAX, &subject.moved_after_mono_ns) != 0)
        return -EBADMSG;
    if (subject.episode == 0 || stalls == 0)
        return -EBADMSG;
    subject.slot = (uint32_t)slot;
    subject.generation = (uint32_t)generation;
    subject.stall_count = (uint32_t)stalls;
    *ret_subject = subject;
    return 0;
}
