/* SPDX-License-Identifier: Apache-2.0 */
/* preferences.c - parses three fields of a request (RFC 9110; the HTML standard's server-sent events). Pure. */
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
    const char *quoted = tag + 2; /* after W/: the comparison is weak */

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

struct last_event last_event_parse(const struct field *field)
{
    struct last_event event = {.given = field->count != 0 && (field->count > 1 || field->value.length != 0)};
    char text[EVENT_ID_BYTES] = "", again[EVENT_ID_BYTES];

    if (field->count != 1 || field->value.length >= sizeof(text))
        return event;
    memcpy(text, field->value.bytes, field->value.length);
    if (sscanf(text, "%16" SCNx64 "-%20" SCNu64, &event.epoch, &event.sequence) != 2)
        return event;
    event_id_format(event.epoch, event.sequence, again);
    event.known = strcmp(text, again) == 0; /* sscanf() also accepts signs, blanks, capitals and trailing text */
    return event;
}
