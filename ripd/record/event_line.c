/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_line.c - lines through snprintf one way and jansson the other. Touches nothing.
 *
 * A line is compared with the forms literally but for what is in its objects: an event's text is needed byte for byte,
 * as it was made, with all that was escaped in it.
 */
#include "record/event_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cases/symbol.h"
#include "record/event_parse.h"

/* Most of an event can be the names of a location: a function and a file a frame, each byte escaped, and once more in
   hexadecimal. */
_Static_assert(SYMBOL_FRAMES_MAX * 2 * SYMBOL_TEXT_BYTES_MAX * (6 + 2) + (256u << 10) <= EVENT_LINE_BYTES_MAX,
               "an event may not fit its line");

#define SCHEMA "ripd/history/1"
#define HEX_ID_BYTES (2 * EVENT_SUBJECT_ID_BYTES + 1)
#define SUBJECT_TEXT_BYTES 512u
#define FRAME_TEXT_BYTES 64u

/* What is left of a line while it is taken apart. */
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

/* One JSON object from the front. NULL: there is none. */
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

static int take_event(struct rest *rest, struct event **ret_event)
{
    struct rest text;
    json_t *object = take_object(rest, &text);
    int status = object != NULL ? event_parse(object, text.text, text.length, ret_event) : -EBADMSG;

    json_decref(object);
    return status;
}

static int take_subject(struct rest *rest, struct event_subject *ret_subject)
{
    struct rest text;
    json_t *object = take_object(rest, &text);
    int status = object != NULL ? event_parse_subject(object, ret_subject) : -EBADMSG;

    json_decref(object);
    return status;
}

static int take_history(struct rest *rest, struct event_line *line)
{
    struct rest text;
    json_t *object = take_object(rest, &text);
    const char *schema = json_string_value(json_object_get(object, "schema"));
    int status = -EBADMSG;

    if (schema != NULL && strcmp(schema, SCHEMA) == 0 &&
        event_parse_hex(json_object_get(object, "epoch"), &line->epoch) == 0 && line->epoch != 0 &&
        event_parse_number(json_object_get(object, "sequence"), INT64_MAX, &line->sequence) == 0 &&
        event_parse_number(json_object_get(object, "episode"), INT64_MAX, &line->episode) == 0)
        status = 0;
    json_decref(object);
    return status;
}

static int parse_event_line(struct rest *rest, struct event_line *line)
{
    int status = take_event(rest, &line->event);

    if (status != 0)
        return status;
    if (line->event->kind == EVENT_END)
        return line->kind == EVENT_LINE_EVENT ? 0 : -EBADMSG;
    if (!take_literal(rest, ",\"subject\":"))
        return -EBADMSG;
    status = take_subject(rest, &line->subject);
    return status == 0 && line->subject.episode != line->event->episode ? -EBADMSG : status;
}

/* As it was written: an event goes out as it is, on one line. (And jansson does not count a NUL that it passes over.)
 */
static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return true;
}

int event_line_parse(const char *text, size_t length, struct event_line *ret_line)
{
    struct rest rest = {text, length};
    struct event_line line = {0};
    int status = -EBADMSG;

    if (!is_plain(text, length))
        return -EBADMSG;
    if (take_literal(&rest, "{\"event\":")) {
        line.kind = EVENT_LINE_EVENT;
        status = parse_event_line(&rest, &line);
    } else if (take_literal(&rest, "{\"carried\":")) {
        line.kind = EVENT_LINE_CARRIED;
        status = parse_event_line(&rest, &line);
    } else if (take_literal(&rest, "{\"subject\":")) {
        line.kind = EVENT_LINE_SUBJECT;
        status = take_subject(&rest, &line.subject);
    } else if (take_literal(&rest, "{\"history\":")) {
        line.kind = EVENT_LINE_HISTORY;
        status = take_history(&rest, &line);
    }
    if (status == 0 && (rest.length != 1 || rest.text[0] != '}'))
        status = -EBADMSG;
    if (status != 0) {
        event_unref(line.event);
        return status;
    }
    *ret_line = line;
    return 0;
}

static const char *format_id(const uint8_t *id, char ret_text[HEX_ID_BYTES])
{
    for (size_t i = 0; i < EVENT_SUBJECT_ID_BYTES; i++)
        snprintf(ret_text + 2 * i, 3, "%02x", id[i]);
    return ret_text;
}

/* Returns its length; 0 if it does not fit, which it does. */
static size_t format_subject(const struct event_subject *subject, char ret_text[SUBJECT_TEXT_BYTES])
{
    char boot_id[HEX_ID_BYTES], ring_id[HEX_ID_BYTES], moved_after[24] = "null";
    int length;

    if (subject->moved_after_mono_ns != EVENT_SUBJECT_UNKNOWN)
        snprintf(moved_after, sizeof(moved_after), "%" PRIu64, subject->moved_after_mono_ns);
    length =
        snprintf(ret_text, SUBJECT_TEXT_BYTES,
                 "{\"episode\":%" PRIu64 ",\"boot_id\":\"%s\",\"ring_id\":\"%s\",\"directory\":\"%" PRIx64 ":%" PRIx64
                 "\",\"slot\":%" PRIu32 ",\"generation\":%" PRIu32 ",\"began_mono_ns\":%" PRIu64 ",\"stalls\":%" PRIu32
                 ",\"progress\":\"%" PRIx64 "\",\"frozen_mono_ns\":%" PRIu64 ",\"moved_after_mono_ns\":%s}",
                 subject->episode, format_id(subject->boot_id, boot_id), format_id(subject->ring_id, ring_id),
                 subject->directory_device, subject->directory_inode, subject->slot, subject->generation,
                 subject->began_mono_ns, subject->stall_count, subject->progress, subject->frozen_mono_ns, moved_after);
    return length > 0 && (size_t)length < SUBJECT_TEXT_BYTES ? (size_t)length : 0;
}

static int format_history(const struct event_line *line, char **ret_text, size_t *ret_length)
{
    int length = asprintf(ret_text,
                          "{\"history\":{\"schema\":\"" SCHEMA "\",\"epoch\":\"%016" PRIx64 "\",\"sequence\":%" PRIu64
                          ",\"episode\":%" PRIu64 "}}\n",
                          line->epoch, line->sequence, line->episode);

    if (length < 0)
        return -ENOMEM;
    *ret_length = (size_t)length;
    return 0;
}

int event_line_format(const struct event_line *line, char **ret_text, size_t *ret_length)
{
    bool of_event = line->kind == EVENT_LINE_EVENT || line->kind == EVENT_LINE_CARRIED;
    char subject[SUBJECT_TEXT_BYTES], *text, *at;
    size_t event_bytes, subject_bytes = 0;

    if (line->kind == EVENT_LINE_HISTORY)
        return format_history(line, ret_text, ret_length);
    event_bytes = of_event ? line->event->text_bytes : 0;
    if (!of_event || line->event->kind == EVENT_BEGIN)
        subject_bytes = format_subject(&line->subject, subject);
    text = at = malloc(event_bytes + subject_bytes + FRAME_TEXT_BYTES);
    if (text == NULL)
        return -ENOMEM;
    *at++ = '{';
    if (of_event) {
        at = stpcpy(at, line->kind == EVENT_LINE_EVENT ? "\"event\":" : "\"carried\":");
        at = mempcpy(at, line->event->text, event_bytes);
        if (subject_bytes != 0)
            *at++ = ',';
    }
    if (subject_bytes != 0)
        at = mempcpy(stpcpy(at, "\"subject\":"), subject, subject_bytes);
    at = stpcpy(at, "}\n");
    *ret_text = text;
    *ret_length = (size_t)(at - text);
    return 0;
}
