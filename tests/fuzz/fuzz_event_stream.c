/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_event_stream.c - an event stream of a server: in two parts it reads like the whole, and output to a terminal is
 * harmless.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/event_stream.h"
#include "cli/text.h"
#include "fuzz.h"

struct heard {
    uint64_t hash;
    size_t count;
};

static void mix(struct heard *heard, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        heard->hash = (heard->hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
}

static int hear(void *context, const struct event_stream_item *item)
{
    static const struct text_style style = {.utf8 = false};
    struct heard *heard = context;
    char shown[64];

    require(strlen(item->id) < EVENT_STREAM_ID_BYTES && strlen(item->kind) < EVENT_STREAM_KIND_BYTES);
    require(item->data == NULL || item->data[item->data_bytes] == '\0');
    mix(heard, item->id, strlen(item->id) + 1);
    mix(heard, item->kind, strlen(item->kind) + 1);
    if (item->data != NULL) {
        unsigned columns = text_fit(&style, item->data, item->data_bytes, 50, shown, sizeof(shown));

        require(columns <= 50 && strlen(shown) == columns);
        for (unsigned i = 0; i < columns; i++)
            require(shown[i] >= 0x20 && shown[i] < 0x7f);
        mix(heard, item->data, item->data_bytes);
    }
    return ++heard->count > 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    const char *text = (const char *)bytes;
    size_t cut = size_bytes > 0 ? bytes[0] % size_bytes : 0;
    struct heard whole = {.hash = 1}, pieces = {.hash = 1};
    struct event_stream stream;
    int of_whole, of_pieces;

    event_stream_init(&stream);
    of_whole = event_stream_push(&stream, text, size_bytes, hear, &whole);
    event_stream_done(&stream);
    event_stream_init(&stream);
    of_pieces = event_stream_push(&stream, text, cut, hear, &pieces);
    if (of_pieces == 0)
        of_pieces = event_stream_push(&stream, text + cut, size_bytes - cut, hear, &pieces);
    event_stream_done(&stream);
    require(of_whole == of_pieces && whole.hash == pieces.hash && whole.count == pieces.count);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "retry: 3000\nid: 0123456789abcdef-1\n\nid: 0123456789abcdef-2\nevent: begin\ndata: {\"a\": \"b\"}\n\n",
        ": alive\r\nid: 5\r\n\r\ndata: a\r\ndata: b\r\n\r\n",
        "event: gap\ndata: {\"reason\":\"forgotten\",\"epoch\":\"0\",\"from\":1,\"to\":2}\n\n",
        "data\rdata:\rdata: \xf0\x9f\x92\xa3\xe2\x80\xae\r\r",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
