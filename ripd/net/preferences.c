/* SPDX-License-Identifier: Apache-2.0 */
/* preferences.c - three fields of a request (RFC 9110; the HTML standard's server-sent events) into values. Pure. */
#include "net/preferences.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void etag_format(uint64_t instance, uint64_t version, uint64_t question, char ret_text[ETAG_TEXT_BYTES])
{
    snprintf(ret_text, ETAG_TEXT_BYTES, "W/\"%016" PRIx64 "-%" PRIx64 "-%016" PRIx64 "\"", instance, version, question);
}

bool preference_names_tag(struct span if_none_match, const char *tag)
{
    const char *quoted = tag + 2; /* behind W/: the comparison is weak */

    return if_none_match.length != 0 &&
           memmem(if_none_match.bytes, if_none_match.length, quoted, strlen(quoted)) != NULL;
}

bool preference_is_stream(struct span accept)
{
    bool stream = false, json = false;

    while (accept.length != 0) {
        struct span range, type;

        span_cut(&accept, ',', &range);
        span_cut(&range, ';', &type);
        stream |= span_equals(span_trim(type), "text/event-stream");
        json |= span_equals(span_trim(type), "application/json");
    }
    return stream && !json;
}

void event_id_format(uint64_t epoch, uint64_t sequence, char ret_text[EVENT_ID_BYTES])
{
    snprintf(ret_text, EVENT_ID_BYTES, "%016" PRIx64 "-%" PRIu64, epoch, sequence);
}

/* Digits of a base up to 16, in lower case, and nothing else. */
static bool parse_digits(struct span text, unsigned base, size_t digits_max, uint64_t *ret_number)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t number = 0;

    for (size_t i = 0; i < text.length; i++) {
        const char *digit = memchr(digits, text.bytes[i], base);

        if (digit == NULL)
            return false;
        number = number * base + (uint64_t)(digit - digits);
    }
    *ret_number = number;
    return text.length != 0 && text.length <= digits_max;
}

struct last_event last_event_parse(const struct field *field)
{
    struct last_event event = {.given = field->count != 0 && (field->count > 1 || field->value.length != 0)};
    struct span rest = field->value, epoch;

    event.known = field->count == 1 && span_cut(&rest, '-', &epoch) && parse_digits(epoch, 16, 16, &event.epoch) &&
                  parse_digits(rest, 10, 19, &event.sequence);
    return event;
}
