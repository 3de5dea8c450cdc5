/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_preferences.c - Accept, If-None-Match and Last-Event-ID: any text is accepted or refused, and an accepted value
 * appears in its text.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/preferences.h"

/* Is text somewhere in the bytes of span, which are not terminated? */
static int has(struct span span, const char *text)
{
    return span.length != 0 && memmem(span.bytes, span.length, text, strlen(text)) != NULL;
}

static void check_last_event(struct span span)
{
    struct field field = {1, span};
    struct last_event event = last_event_parse(&field);
    char text[EVENT_ID_BYTES];

    require(event.given == (span.length != 0));
    if (!event.known)
        return;
    event_id_format(event.epoch, event.sequence, text);
    field.value = (struct span){text, strlen(text)};
    require(last_event_parse(&field).known && last_event_parse(&field).epoch == event.epoch &&
            last_event_parse(&field).sequence == event.sequence);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct span span = {(const char *)bytes, size_bytes};
    char tag[ETAG_TEXT_BYTES];

    if (preference_is_stream(span)) {
        char *lower = calloc(1, size_bytes + 1);

        require(lower != NULL);
        for (size_t i = 0; i < size_bytes; i++)
            lower[i] = (char)(bytes[i] >= 'A' && bytes[i] <= 'Z' ? bytes[i] | 0x20 : bytes[i]);
        require(has((struct span){lower, size_bytes}, "text/event-stream"));
        free(lower);
    }
    etag_format(UINT64_C(0x0123456789abcdef), 0x1a5, 0xaa, tag);
    require(preference_names_tag(span, tag) == has(span, tag + 2));
    check_last_event(span);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "text/event-stream;q=0.9, application/json;q=0.5;x=\"a,\\\"b\", */*;q=0.1",
        "W/\"0123456789abcdef-1a5-00000000000000aa\", \"x\", *",
        "*",
        "0123456789abcdef-42",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
