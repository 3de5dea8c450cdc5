/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_stream.c - server-sent events, in pieces of any size, too large, malformed: ripd/cli/event_stream.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/event_stream.h"
#include "support/guarded_copy.h"
#include "support/test.h"
#include "util/text.h"

static char heard[4096]; /* "[ID|KIND|DATA]" of each event */
static int answer;       /* of hear() */

static int hear(void *context, const struct event_stream_item *item)
{
    (void)context;
    text_append(heard, sizeof(heard), "[%s|%s|%s]", item->id, item->data != NULL ? item->kind : "-",
                item->data != NULL ? item->data : "-");
    return answer;
}

/* Pushes a stream in pieces of this size. */
static int push(const char *text, size_t bytes, size_t piece)
{
    struct event_stream stream;
    int status = 0;

    heard[0] = '\0';
    event_stream_init(&stream);
    for (size_t at = 0; at < bytes && status == 0; at += piece) {
        size_t count = bytes - at < piece ? bytes - at : piece;
        struct guarded_copy copy;

        guarded_copy_new(&copy, text + at, count);
        status = event_stream_push(&stream, (const char *)copy.bytes, count, hear, NULL);
        guarded_copy_free(&copy);
    }
    event_stream_done(&stream);
    return status;
}

TEST(events)
{
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"retry: 3000\nid: 0-1\n\n", "[0-1|-|-]"},
        {"id: 0-2\nevent: begin\ndata: {\"a\": 1}\n\n", "[0-2|begin|{\"a\": 1}]"},
        {"id:0-2\r\nevent:begin\r\ndata:x\r\n\r\n", "[0-2|begin|x]"},
        {"data: x\r\rdata: y\r\r", "[|message|x][|message|y]"},
        {"id: 1\ndata: x\n\nevent: end\ndata: y\n\n", "[1|message|x][1|end|y]"}, /* the id is kept, the kind is not */
        {"data: a\ndata\ndata:  b\n\n", "[|message|a\n\n b]"},
        {": alive\n\n", "[|-|-]"},
        {"nonsense: 1\nda: ta\ndatax: 1\nevent: e\n\n", "[|-|-]"},
        {"id: 1\nevent: begin\ndata: cut short", ""},
        {"", ""},
        {"\n\n\n", "[|-|-][|-|-][|-|-]"},
        {"event: 12345678123456781234567812345678\ndata: x\n\n", "[|1234567812345678123456781234567|x]"},
        /* an id of 64 bytes is ignored, a kind of 33 bytes is truncated */
        {"id: 1234567812345678123456781234567812345678123456781234567812345678\n"
         "event: 123456781234567812345678123456789\ndata: x\n\n",
         "[|1234567812345678123456781234567|x]"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
            assert_int_equal(push(cases[i].text, strlen(cases[i].text), piece), 0);
            assert_string_equal(heard, cases[i].expected);
        }
    assert_int_equal(push("id: a\0b\ndata: x\n\n", 17, 17), 0);
    assert_string_equal(heard, "[|message|x]"); /* an id with a NUL is ignored */
    answer = 7;
    assert_int_equal(push("data: a\n\ndata: b\n\n", 18, 18), 7);
    assert_string_equal(heard, "[|message|a]"); /* the callback stops the stream */
    answer = 0;
}

TEST(too_large)
{
    size_t bytes = EVENT_STREAM_BYTES_MAX * 2;
    char *text = malloc(bytes);

    assert_non_null(text);
    memset(text, 'x', bytes);
    assert_int_equal(push(text, bytes, 65536), -EMSGSIZE); /* one line */
    for (size_t at = 0; at + 16 <= bytes; at += 16)
        memcpy(text + at, "data: 123456789\n", 16);
    assert_int_equal(push(text, bytes, 65536), -EMSGSIZE); /* many lines */
    assert_int_equal(push(text, bytes / 2, 65536), 0);     /* field names do not count */
    free(text);
}
