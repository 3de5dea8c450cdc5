/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_wishes.c - Accept, If-None-Match and Last-Event-ID: whatever comes is understood or is not, and what was
 * understood is what its own text says.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/wishes.h"

#define INSTANCE UINT64_C(0x0123456789abcdef)

/* The text, which is not terminated, has these bytes somewhere. */
static int has(struct span span, const char *text)
{
    return span.length != 0 && memmem(span.bytes, span.length, text, strlen(text)) != NULL;
}

static void check_condition(struct span span)
{
    char text[ETAG_TEXT_BYTES];
    struct condition condition;

    condition_parse(span, INSTANCE, &condition);
    require(condition.count <= CONDITION_TAGS_MAX && (!condition.any || condition.count == 0));
    for (size_t i = 0; i < condition.count; i++) {
        require(condition_names(&condition, &condition.tags[i]));
        require(has(span, "0123456789abcdef-"));
        etag_format(INSTANCE, &condition.tags[i], text);
        require(strlen(text) < sizeof(text) - 1);
    }
}

static void check_last_event(struct span span)
{
    char text[EVENT_ID_BYTES];
    struct last_event event;
    struct last_event again;

    last_event_parse(span, &event);
    require(event.given == (span.length != 0));
    if (!event.known)
        return;
    event_id_format(event.epoch, event.sequence, text);
    last_event_parse((struct span){text, strlen(text)}, &again);
    require(again.known && again.epoch == event.epoch && again.sequence == event.sequence);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct span span = {(const char *)bytes, size_bytes};

    if (accept_prefers_stream(span)) {
        char *lower = calloc(1, size_bytes + 1);

        require(lower != NULL);
        for (size_t i = 0; i < size_bytes; i++)
            lower[i] = (char)(bytes[i] >= 'A' && bytes[i] <= 'Z' ? bytes[i] | 0x20 : bytes[i]);
        require(has((struct span){lower, size_bytes}, "text/event-stream"));
        free(lower);
    }
    check_condition(span);
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
