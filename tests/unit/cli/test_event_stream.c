/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_stream.c - server-sent events, cut in every way, too large, malformed: ripd/cli/event_stream.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/event_stream.h"
#include "support/guarded_copy.h"
#include "support/test.h"

struct heard {
    char text[4096];
    size_t length;
    int answer;
};

static int hear(void *context, const struct event_stream_item *item)
{
    struct heard *heard = context;

    heard->length +=
        (size_t)snprintf(heard->text + heard->length, sizeof(heard->text) - heard->length, "[%s|%s|%s]", item->id,
                         item->data != NULL ? item->kind : "-", item->data != NULL ? item->data : "-");
    return heard->answer;
}

/* In pieces of so many bytes, each at the end of a page. */
static int push(const char *text, size_t bytes, size_t piece, struct heard *heard)
{
    struct event_stream stream;
    int status = 0;

    heard->length = 0;
    heard->text[0] = '\0';
    event_stream_init(&stream);
    for (size_t at = 0; at < bytes && status == 0; at += piece) {
        size_t count = bytes - at < piece ? bytes - at : piece;
        struct guarded_copy copy;

        guarded_copy_new(&copy, text + at, count);
        status = event_stream_push(&stream, (const char *)copy.bytes, count, hear, heard);
        guarded_copy_free(&copy);
    }
    event_stream_done(&stream);
    return status;
}

TEST(events)
{
    static const struct {
        const char *text;
        const char *heard;
    } cases[] = {
        {"retry: 3000\nid: 0-1\n\n", "[0-1|-|-]"},
        {"id: 0-2\nevent: begin\ndata: {\"a\": 1}\n\n", "[0-2|begin|{\"a\": 1}]"},
        {"id:0-2\r\nevent:begin\r\ndata:x\r\n\r\n", "[0-2|begin|x]"},
        {"data: x\r\rdata: y\r\r", "[|message|x][|message|y]"},
        {"id: 1\ndata: x\n\nevent: end\ndata: y\n\n", "[1|message|x][1|end|y]"}, /* an id stays, a kind does not */
        {"data: a\ndata\ndata:  b\n\n", "[|message|a\n\n b]"},
        {": alive\n\n", "[|-|-]"},
        {"nonsense: 1\nda: ta\ndatax: 1\nevent: e\n\n", "[|-|-]"},
        {"id: 1\nevent: begin\ndata: cut short", ""},
        {"", ""},
        {"\n\n\n", "[|-|-][|-|-][|-|-]"},
        /* an id of 64 bytes is ignored, a kind of 33 is cut */
        {"id: 1234567812345678123456781234567812345678123456781234567812345678\n"
         "event: 123456781234567812345678123456789\ndata: x\n\n",
         "[|1234567812345678123456781234567|x]"},
    };
    struct heard heard = {.answer = 0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
            assert_int_equal(push(cases[i].text, strlen(cases[i].text), piece, &heard), 0);
            assert_string_equal(heard.text, cases[i].heard);
        }
    assert_int_equal(push("id: a\0b\ndata: x\n\n", 17, 17, &heard), 0);
    assert_string_equal(heard.text, "[|message|x]"); /* an id with a NUL is ignored */
    heard.answer = 7;
    assert_int_equal(push("data: a\n\ndata: b\n\n", 18, 18, &heard), 7);
    assert_string_equal(heard.text, "[|message|a]"); /* the caller ends the reading */
}

TEST(too_large)
{
    size_t bytes = EVENT_STREAM_BYTES_MAX * 2;
    char *text = malloc(bytes);
    struct heard heard = {.answer = 0};

    assert_non_null(text);
    memset(text, 'x', bytes);
    assert_int_equal(push(text, bytes, 65536, &heard), -EMSGSIZE); /* one line */
    for (size_t at = 0; at + 16 <= bytes; at += 16)
        memcpy(text + at, "data: 123456789\n", 16);
    assert_int_equal(push(text, bytes, 65536, &heard), -EMSGSIZE); /* many */
    assert_int_equal(push(text, bytes / 2, 65536, &heard), 0);     /* names of fields do not count */
    free(text);
}
