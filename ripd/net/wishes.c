/* SPDX-License-Identifier: Apache-2.0 */
/* wishes.c - three fields of a request (RFC 9110; the HTML standard's server-sent events) into values. Pure. */
#include "net/wishes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define QUALITY_MAX 1000u /* q=1 */
#define HEX_DIGITS 16u

/* Cuts off what stands before the first `separator` outside of quotes; all if there is none. Trimmed. */
static struct span cut(struct span *rest, char separator)
{
    bool quoted = false;
    size_t i;
    struct span piece;

    for (i = 0; i < rest->length && (quoted || rest->bytes[i] != separator); i++) {
        if (rest->bytes[i] == '"')
            quoted = !quoted;
        else if (quoted && rest->bytes[i] == '\\' && i + 1 < rest->length)
            i++;
    }
    piece = (struct span){rest->bytes, i};
    if (i < rest->length)
        i++;
    rest->bytes += i;
    rest->length -= i;
    return span_trim(piece);
}

/* "0", "0.5", "1.000" in thousandths. False: it is nothing of the kind. */
static bool parse_quality(struct span value, unsigned *ret_quality)
{
    unsigned quality = 0;

    if (value.length == 0 || value.length > 5 || (value.bytes[0] != '0' && value.bytes[0] != '1') ||
        (value.length > 1 && value.bytes[1] != '.'))
        return false;
    for (size_t i = 0; i < 5; i++) {
        char digit = i < value.length ? value.bytes[i] : '0';

        if (i == 1)
            continue;
        if (digit < '0' || digit > '9')
            return false;
        quality = quality * 10 + (unsigned)(digit - '0');
    }
    if (quality > QUALITY_MAX)
        return false;
    *ret_quality = quality;
    return true;
}

/* Quality of a media range, given what follows it: TYPE;a=b;q=0.5. False: it is malformed. */
static bool range_quality(struct span parameters, unsigned *ret_quality)
{
    unsigned quality = QUALITY_MAX;

    while (parameters.length != 0) {
        struct span value = cut(&parameters, ';');
        struct span name = cut(&value, '=');

        if (span_equals(name, "q") && !parse_quality(span_trim(value), &quality))
            return false;
    }
    *ret_quality = quality;
    return true;
}

bool accept_prefers_stream(struct span value)
{
    static const char *const json_ranges[] = {"*/*", "application/*", "application/json"}; /* the most specific last */
    unsigned stream_quality = 0;
    unsigned json_quality = 0;
    size_t json_rank = 0; /* 1 + index of the range that decided; 0 = none */

    while (value.length != 0) {
        struct span range = cut(&value, ',');
        struct span type = cut(&range, ';');
        unsigned quality;

        if (!range_quality(range, &quality))
            continue;
        if (span_equals(type, "text/event-stream"))
            stream_quality = quality;
        for (size_t i = 0; i < sizeof(json_ranges) / sizeof(json_ranges[0]); i++)
            if (i + 1 >= json_rank && span_equals(type, json_ranges[i])) {
                json_rank = i + 1;
                json_quality = quality;
            }
    }
    /* of two that are as welcome, the stream only if it alone was named: it never ends */
    return stream_quality > json_quality || (stream_quality != 0 && stream_quality == json_quality &&
                                             json_rank < sizeof(json_ranges) / sizeof(json_ranges[0]));
}

/* Cuts hexadecimal digits, in lower case, from `low` to 16 of them. */
static bool cut_hex(struct span *rest, size_t low, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t i;

    for (i = 0; i < rest->length && i < HEX_DIGITS; i++) {
        char digit = rest->bytes[i];

        if (digit >= '0' && digit <= '9')
            number = number << 4 | (uint64_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            number = number << 4 | (uint64_t)(digit - 'a' + 10);
        else
            break;
    }
    if (i < low)
        return false;
    rest->bytes += i;
    rest->length -= i;
    *ret_number = number;
    return true;
}

static bool cut_byte(struct span *rest, char byte)
{
    if (rest->length == 0 || rest->bytes[0] != byte)
        return false;
    rest->bytes++;
    rest->length--;
    return true;
}

void etag_format(uint64_t instance, const struct etag *tag, char ret_text[ETAG_TEXT_BYTES])
{
    snprintf(ret_text, ETAG_TEXT_BYTES, "W/\"%016" PRIx64 "-%" PRIx64 "-%016" PRIx64 "\"", instance, tag->version,
             tag->question);
}

/* What stands between the quotes of one of our tags. */
static bool parse_tag(struct span text, uint64_t instance, struct etag *ret_tag)
{
    struct etag tag;
    uint64_t of;

    if (!cut_hex(&text, HEX_DIGITS, &of) || of != instance || !cut_byte(&text, '-') ||
        !cut_hex(&text, 1, &tag.version) || !cut_byte(&text, '-') || !cut_hex(&text, HEX_DIGITS, &tag.question) ||
        text.length != 0)
        return false;
    *ret_tag = tag;
    return true;
}

/* Cuts an entity tag off; what is between its quotes. False: there is none. */
static bool cut_tag(struct span *rest, struct span *ret_text)
{
    const char *end;

    if (rest->length >= 2 && memcmp(rest->bytes, "W/", 2) == 0) {
        rest->bytes += 2;
        rest->length -= 2;
    }
    if (!cut_byte(rest, '"'))
        return false;
    end = rest->length == 0 ? NULL : memchr(rest->bytes, '"', rest->length);
    if (end == NULL)
        return false;
    *ret_text = (struct span){rest->bytes, (size_t)(end - rest->bytes)};
    rest->bytes += ret_text->length + 1;
    rest->length -= ret_text->length + 1;
    return true;
}

void condition_parse(struct span value, uint64_t instance, struct condition *ret_condition)
{
    struct condition condition = {0};

    value = span_trim(value);
    condition.any = value.length == 1 && value.bytes[0] == '*';
    while (!condition.any && value.length != 0) {
        struct span text;

        if (!cut_byte(&value, ',')) { /* an empty element is allowed */
            if (!cut_tag(&value, &text))
                goto malformed;
            if (condition.count < CONDITION_TAGS_MAX && parse_tag(text, instance, &condition.tags[condition.count]))
                condition.count++;
            value = span_trim(value);
            if (value.length != 0 && !cut_byte(&value, ','))
                goto malformed;
        }
        value = span_trim(value);
    }
    *ret_condition = condition;
    return;
malformed:
    *ret_condition = (struct condition){0};
}

bool condition_names(const struct condition *condition, const struct etag *tag)
{
    for (size_t i = 0; i < condition->count; i++)
        if (condition->tags[i].version == tag->version && condition->tags[i].question == tag->question)
            return true;
    return false;
}

void event_id_format(uint64_t epoch, uint64_t sequence, char ret_text[EVENT_ID_BYTES])
{
    snprintf(ret_text, EVENT_ID_BYTES, "%016" PRIx64 "-%" PRIu64, epoch, sequence);
}

void last_event_parse(struct span value, struct last_event *ret_event)
{
    struct last_event event = {.given = value.length != 0};
    uint64_t sequence = 0;
    size_t digits;

    if (cut_hex(&value, HEX_DIGITS, &event.epoch) && cut_byte(&value, '-')) {
        for (digits = 0; digits < value.length && digits < 19; digits++) {
            char digit = value.bytes[digits];

            if (digit < '0' || digit > '9')
                break;
            sequence = sequence * 10 + (uint64_t)(digit - '0');
        }
        event.known = digits != 0 && digits == value.length;
        event.sequence = sequence;
    }
    *ret_event = event;
}

void wishes_read(const struct http_request *request, uint64_t instance, struct wishes *ret_wishes)
{
    const struct field *accept = &request->fields[FIELD_ACCEPT];
    const struct field *tags = &request->fields[FIELD_IF_NONE_MATCH];
    const struct field *last = &request->fields[FIELD_LAST_EVENT_ID];
    struct wishes wishes = {0};

    wishes.stream = accept->count == 1 && accept_prefers_stream(accept->value);
    if (tags->count == 1)
        condition_parse(tags->value, instance, &wishes.condition);
    if (last->count == 1)
        last_event_parse(last->value, &wishes.last_event);
    else
        wishes.last_event.given = last->count != 0;
    *ret_wishes = wishes;
}
