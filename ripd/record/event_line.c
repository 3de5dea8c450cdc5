/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_line.c - formats lines with stdio, and parses them with jansson. Touches nothing.
 *
 * The text around the objects of a line is compared literally, because the text of an event must be kept byte for byte.
 */
#include "record/event_line.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cases/symbol.h"
#include "util/rfc3339.h"
#include "util/text.h"

/*
 * Most of an event may be the names of a location: a function and a file per frame, each byte escaped, and once more in
 * hexadecimal.
 */
_Static_assert(SYMBOL_FRAMES_MAX * 2 * SYMBOL_TEXT_BYTES_MAX * (6 + 2) + (256u << 10) <= EVENT_LINE_BYTES_MAX,
               "an event may not fit its line");

#define NS_PER_MS UINT64_C(1000000)
#define MS_MAX (INT64_MAX / NS_PER_MS)
#define MODULE_BYTES_MAX PATH_MAX
#define SUBJECT_KEY ",\"ring\":"
#define SCHEMA "ripd/history/1"
#define KEY_BYTES 32u
#define HEX_ID_BYTES (2 * EVENT_SUBJECT_ID_BYTES + 1)

/* JSON values ------------------------------------------------------------------------------------------------------ */

/* A whole number from 0 to max; null is `none`. Returns 0 or -EBADMSG. */
static int parse_number(const json_t *value, uint64_t none, uint64_t max, uint64_t *ret_number)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_null(value) && (!json_is_integer(value) || number < 0 || (uint64_t)number > max))
        return -EBADMSG;
    *ret_number = json_is_null(value) ? none : (uint64_t)number;
    return 0;
}

/* Milliseconds; null is unknown. */
static int parse_ms(const json_t *value, uint64_t *ret_ns)
{
    int status = parse_number(value, EVENT_UNKNOWN_NS, MS_MAX, ret_ns);

    if (status == 0 && *ret_ns != EVENT_UNKNOWN_NS)
        *ret_ns *= NS_PER_MS;
    return status;
}

/* null is 0. */
static int parse_32(const json_t *value, uint32_t *ret_number)
{
    uint64_t number;
    int status = parse_number(value, 0, UINT32_MAX, &number);

    if (status == 0)
        *ret_number = (uint32_t)number;
    return status;
}

/* Bytes from KEY, or from KEY_hex if the text in KEY is not exact. null is no bytes. */
static int parse_bytes(const json_t *object, const char *key, uint8_t *ret_buffer, size_t size, size_t *ret_bytes)
{
    const json_t *value = json_object_get(object, key), *hex;
    char key_hex[KEY_BYTES];

    snprintf(key_hex, sizeof(key_hex), "%s_hex", key);
    hex = json_object_get(object, key_hex);
    if (hex != NULL) {
        if (!json_is_string(hex) || json_string_length(hex) > 2 * size || json_string_length(hex) % 2 != 0 ||
            strlen(json_string_value(hex)) != json_string_length(hex))
            return -EBADMSG;
        *ret_bytes = json_string_length(hex) / 2;
        return text_hex_bytes(json_string_value(hex), ret_buffer, *ret_bytes) ? 0 : -EBADMSG;
    }
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

/* "2026-11-20T09:41:07.120Z"; null is 0. */
static int parse_time(const json_t *value, uint64_t *ret_wall_ns)
{
    if (json_is_null(value))
        *ret_wall_ns = 0;
    else if (!json_is_string(value) || rfc3339_parse(json_string_value(value), ret_wall_ns) != 0)
        return -EBADMSG;
    return 0;
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static int parse_end(json_t *object, struct event *event)
{
    const char *word;
    json_int_t stalls;
    int reason;

    if (json_unpack(object, "{ss sI}", "reason", &word, "stalls", &stalls) != 0 ||
        (reason = event_reason_from_name(word)) < 0 || stalls < 0 || stalls > UINT32_MAX)
        return -EBADMSG;
    event->reason = (enum event_reason)reason;
    event->stall_count = (uint32_t)stalls;
    return 0;
}

static int parse_verdict(json_t *object, struct event *event)
{
    json_t *at, *cause, *since, *threshold, *id, *tid;
    json_int_t sequence, episode, incident = json_integer_value(json_object_get(object, "incident"));
    const char *word;
    int kind, cause_number;
    bool begins;

    if (json_unpack(object, "{sI sI ss so so so so so so}", "sequence", &sequence, "episode", &episode, "kind", &word,
                    "at", &at, "cause", &cause, "since", &since, "threshold_ms", &threshold, "id", &id, "tid",
                    &tid) != 0 ||
        sequence <= 0 || episode <= 0 || (kind = event_kind_from_name(word)) < 0)
        return -EBADMSG;
    begins = kind == EVENT_BEGIN;
    cause_number = json_is_string(cause) ? id_cause_from_name(json_string_value(cause)) : CAUSE_NONE;
    if (cause_number < 0 || !(json_is_string(cause) || json_is_null(cause)) ||
        parse_time(at, &event->at_wall_ns) != 0 || parse_time(since, &event->since_wall_ns) != 0 ||
        parse_ms(threshold, &event->threshold_ns) != 0 || parse_32(id, &event->id) != 0 ||
        parse_32(tid, &event->tid) != 0 ||
        parse_ms(json_object_get(object, begins ? "frozen_for_ms" : "lasted_ms"), &event->duration_ns) != 0 ||
        parse_ms(json_object_get(object, begins ? "frozen_for_max_ms" : "lasted_max_ms"), &event->duration_max_ns) != 0)
        return -EBADMSG;
    event->kind = (enum event_kind)kind;
    event->sequence = (uint64_t)sequence;
    event->episode = (uint64_t)episode;
    event->incident = incident > 0 ? (uint64_t)incident : event->episode; /* lines of earlier versions have none */
    event->cause = (enum id_cause)cause_number;
    return begins ? 0 : parse_end(object, event);
}

/* Bytes into an array that has room for a terminator. null is no bytes. */
static int parse_text(const json_t *object, const char *key, char *ret_text, size_t size)
{
    size_t bytes;

    return parse_bytes(object, key, (uint8_t *)ret_text, size - 1, &bytes);
}

/* An optional text. Earlier versions did not write it, and a text that cannot be parsed is ignored. */
static void parse_word(const json_t *object, const char *key, size_t bytes_max, char **ret_word)
{
    uint8_t text[SYMBOL_TEXT_BYTES_MAX];
    size_t bytes = 0;

    if (parse_bytes(object, key, text, bytes_max, &bytes) == 0 && bytes != 0)
        *ret_word = strndup((const char *)text, bytes);
}
_Static_assert(QUERY_PATTERN_BYTES <= SYMBOL_TEXT_BYTES_MAX, "a word may not fit");

static int parse_who(const json_t *object, struct event *event)
{
    const json_t *process = json_object_get(object, "process");
    size_t name_bytes;

    if (parse_text(object, "ring", event->ring, sizeof(event->ring)) != 0 ||
        parse_bytes(object, "name", event->name, sizeof(event->name), &name_bytes) != 0)
        return -EBADMSG;
    event->name_bytes = (uint8_t)name_bytes;
    if (json_is_null(process))
        return 0;
    if (parse_text(process, "comm", event->comm, sizeof(event->comm)) != 0)
        return -EBADMSG;
    parse_word(process, "unit", QUERY_PATTERN_BYTES - 1, &event->unit); /* lists filter by them */
    parse_word(process, "container", QUERY_PATTERN_BYTES - 1, &event->container);
    return parse_32(json_object_get(process, "pid"), &event->pid);
}

static int parse_where(const json_t *object, struct event *event)
{
    const json_t *location = json_object_get(object, "location");
    const char *offset = json_string_value(json_object_get(location, "offset")), *end;
    uint8_t module[MODULE_BYTES_MAX + 1];
    size_t bytes;

    if (json_is_null(location))
        return 0;
    parse_word(location, "function", SYMBOL_TEXT_BYTES_MAX, &event->function);
    parse_word(location, "file", SYMBOL_TEXT_BYTES_MAX, &event->file);
    (void)parse_32(json_object_get(location, "line"), &event->line);
    if (json_is_null(json_object_get(location, "module")))
        return 0; /* in a script, or not known */
    if (parse_bytes(location, "module", module, sizeof(module) - 1, &bytes) != 0 || offset == NULL ||
        strncmp(offset, "0x", 2) != 0 || (end = text_hex(offset + 2, UINT64_MAX, &event->offset)) == NULL ||
        *end != '\0')
        return -EBADMSG;
    event->module = strndup((const char *)module, bytes);
    return event->module != NULL ? 0 : -ENOMEM;
}

/*
 * Finds the fields that an end copies from its begin. They must form a valid object by themselves. Returns 0 or
 * -EBADMSG.
 */
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

/* Makes an event from an object and a copy of its text. */
static int parse_event(json_t *object, const char *text, size_t length, struct event **ret_event)
{
    struct event *event = event_make();
    int status;

    if (event == NULL)
        return -ENOMEM;
    event->text = strndup(text, length);
    event->text_bytes = length;
    status = event->text != NULL ? parse_verdict(object, event) : -ENOMEM;
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

static bool is_id(const char *text, uint8_t ret_id[EVENT_SUBJECT_ID_BYTES])
{
    return strlen(text) == 2 * (size_t)EVENT_SUBJECT_ID_BYTES && text_hex_bytes(text, ret_id, EVENT_SUBJECT_ID_BYTES);
}

static int parse_subject(json_t *object, struct event_subject *ret_subject)
{
    const char *boot_id, *ring_id, *directory, *progress;
    json_t *slot, *generation, *stalls, *moved_after;
    struct event_subject subject = {.episode = 0};
    json_int_t episode, began, frozen;

    if (json_unpack(object, "{sI ss ss ss so so sI so ss sI so}", "episode", &episode, "boot_id", &boot_id, "ring_id",
                    &ring_id, "directory", &directory, "slot", &slot, "generation", &generation, "began_mono_ns",
                    &began, "stalls", &stalls, "progress", &progress, "frozen_mono_ns", &frozen, "moved_after_mono_ns",
                    &moved_after) != 0 ||
        episode <= 0 || began < 0 || frozen < 0 || !is_id(boot_id, subject.boot_id) ||
        !is_id(ring_id, subject.ring_id) || parse_32(slot, &subject.slot) != 0 ||
        parse_32(generation, &subject.generation) != 0 || parse_32(stalls, &subject.stall_count) != 0 ||
        subject.stall_count == 0 ||
        parse_number(moved_after, EVENT_SUBJECT_UNKNOWN, INT64_MAX, &subject.moved_after_mono_ns) != 0)
        return -EBADMSG;
    subject.episode = (uint64_t)episode;
    subject.began_mono_ns = (uint64_t)began;
    subject.frozen_mono_ns = (uint64_t)frozen;
    progress = text_hex(progress, UINT64_MAX, &subject.progress);
    directory = text_hex(directory, UINT64_MAX, &subject.directory_device); /* "DEVICE:INODE" */
    if (directory != NULL)
        directory = *directory == ':' ? text_hex(directory + 1, UINT64_MAX, &subject.directory_inode) : NULL;
    if (progress == NULL || *progress != '\0' || directory == NULL || *directory != '\0')
        return -EBADMSG;
    *ret_subject = subject;
    return 0;
}

/* Lines ------------------------------------------------------------------------------------------------------------ */

/* The rest of a line that is being parsed. */
struct rest {
    const char *text;
    size_t length;
};

static bool take_literal(struct rest *rest, const char *literal)
{
    size_t length = strlen(literal);

    if (rest->length < length || memcmp(rest->text, literal, length) != 0)
        return false;
    rest->text += length;
    rest->length -= length;
    return true;
}

/* Takes one JSON object from the front. Returns NULL if there is none. */
static json_t *take_object(struct rest *rest, struct rest *ret_text)
{
    json_error_t error;
    json_t *object;

    if (rest->length == 0 || rest->text[0] != '{')
        return NULL;
    object =
        json_loadb(rest->text, rest->length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, &error);
    if (object == NULL)
        return NULL;
    *ret_text = (struct rest){rest->text, (size_t)error.position};
    rest->text += ret_text->length;
    rest->length -= ret_text->length;
    return object;
}

/* Takes an event or a subject; the other pointer is NULL. */
static int take_part(struct rest *rest, struct event **ret_event, struct event_subject *ret_subject)
{
    struct rest text;
    json_t *object = take_object(rest, &text);
    int status = -EBADMSG;

    if (object != NULL)
        status = ret_event != NULL ? parse_event(object, text.text, text.length, ret_event)
                                   : parse_subject(object, ret_subject);
    json_decref(object);
    return status;
}

static int take_history(struct rest *rest, struct event_line *line)
{
    json_int_t sequence = -1, episode = -1;
    const char *schema, *epoch;
    struct rest text;
    json_t *object = take_object(rest, &text);
    int status = -EBADMSG;

    if (object != NULL &&
        json_unpack(object, "{ss ss sI sI}", "schema", &schema, "epoch", &epoch, "sequence", &sequence, "episode",
                    &episode) == 0 &&
        strcmp(schema, SCHEMA) == 0 && (epoch = text_hex(epoch, UINT64_MAX, &line->epoch)) != NULL && *epoch == '\0')
        status = line->epoch != 0 && sequence >= 0 && episode >= 0 ? 0 : -EBADMSG;
    line->sequence = (uint64_t)sequence;
    line->episode = (uint64_t)episode;
    json_decref(object);
    return status;
}

static int parse_event_line(struct rest *rest, struct event_line *line)
{
    int status = take_part(rest, &line->event, NULL);

    if (status != 0)
        return status;
    if (line->event->kind == EVENT_END)
        return line->kind == EVENT_LINE_EVENT ? 0 : -EBADMSG;
    if (!take_literal(rest, ",\"subject\":"))
        return -EBADMSG;
    status = take_part(rest, NULL, &line->subject);
    return status == 0 && line->subject.episode != line->event->episode ? -EBADMSG : status;
}

/*
 * Returns true if the text has no control characters: an event is sent as it is, on one line. (Also, jansson does not
 * count a NUL that it skips.)
 */
static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return true;
}

/* The beginnings of lines. */
static const char *const heads[EVENT_LINE_KIND_COUNT] = {
    [EVENT_LINE_HISTORY] = "{\"history\":",
    [EVENT_LINE_CARRIED] = "{\"carried\":",
    [EVENT_LINE_EVENT] = "{\"event\":",
    [EVENT_LINE_SUBJECT] = "{\"subject\":",
};

int event_line_parse(const char *text, size_t length, struct event_line *ret_line)
{
    struct rest rest = {text, length};
    struct event_line line = {0};
    int status = -EBADMSG;

    if (!is_plain(text, length))
        return -EBADMSG;
    while (line.kind < EVENT_LINE_KIND_COUNT && !take_literal(&rest, heads[line.kind]))
        line.kind++;
    if (line.kind == EVENT_LINE_EVENT || line.kind == EVENT_LINE_CARRIED)
        status = parse_event_line(&rest, &line);
    else if (line.kind == EVENT_LINE_SUBJECT)
        status = take_part(&rest, NULL, &line.subject);
    else if (line.kind == EVENT_LINE_HISTORY)
        status = take_history(&rest, &line);
    if (status == 0 && (rest.length != 1 || rest.text[0] != '}'))
        status = -EBADMSG;
    if (status != 0) {
        event_unref(line.event);
        return status;
    }
    *ret_line = line;
    return 0;
}

int event_line_parse_event(const char *text, size_t length, struct event **ret_event)
{
    struct rest rest = {text, length};
    struct event *event = NULL;
    int status = is_plain(text, length) ? take_part(&rest, &event, NULL) : -EBADMSG;

    if (status == 0 && rest.length != 0) {
        event_unref(event);
        status = -EBADMSG;
    }
    if (status == 0)
        *ret_event = event;
    return status;
}

static void print_subject(FILE *stream, const struct event_subject *subject)
{
    char boot_id[HEX_ID_BYTES], ring_id[HEX_ID_BYTES];

    text_put_hex(boot_id, subject->boot_id, sizeof(subject->boot_id));
    text_put_hex(ring_id, subject->ring_id, sizeof(subject->ring_id));
    fprintf(stream,
            "{\"episode\":%" PRIu64 ",\"boot_id\":\"%s\",\"ring_id\":\"%s\",\"directory\":\"%" PRIx64 ":%" PRIx64
            "\",\"slot\":%" PRIu32 ",\"generation\":%" PRIu32 ",\"began_mono_ns\":%" PRIu64 ",\"stalls\":%" PRIu32
            ",\"progress\":\"%" PRIx64 "\",\"frozen_mono_ns\":%" PRIu64 ",\"moved_after_mono_ns\":",
            subject->episode, boot_id, ring_id, subject->directory_device, subject->directory_inode, subject->slot,
            subject->generation, subject->began_mono_ns, subject->stall_count, subject->progress,
            subject->frozen_mono_ns);
    if (subject->moved_after_mono_ns != EVENT_SUBJECT_UNKNOWN)
        fprintf(stream, "%" PRIu64 "}", subject->moved_after_mono_ns);
    else
        fputs("null}", stream);
}

static void print_line(FILE *stream, const struct event_line *line)
{
    const bool of_event = line->kind == EVENT_LINE_EVENT || line->kind == EVENT_LINE_CARRIED;

    fputs(heads[line->kind], stream);
    if (line->kind == EVENT_LINE_HISTORY)
        fprintf(stream,
                "{\"schema\":\"" SCHEMA "\",\"epoch\":\"%016" PRIx64 "\",\"sequence\":%" PRIu64 ",\"episode\":%" PRIu64
                "}",
                line->epoch, line->sequence, line->episode);
    if (of_event)
        fwrite(line->event->text, 1, line->event->text_bytes, stream);
    if (of_event && line->event->kind == EVENT_BEGIN)
        fputs(",\"subject\":", stream);
    if (line->kind == EVENT_LINE_SUBJECT || (of_event && line->event->kind == EVENT_BEGIN))
        print_subject(stream, &line->subject);
    fputs("}\n", stream);
}

int event_line_format(const struct event_line *lines, size_t count, char **ret_text, size_t *ret_length)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    bool failed;

    if (stream == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        print_line(stream, &lines[i]);
    failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed || text == NULL) {
        free(text);
        return -ENOMEM;
    }
    *ret_text = text;
    *ret_length = length;
    return 0;
}
