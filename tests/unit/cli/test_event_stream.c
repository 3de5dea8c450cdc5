/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_stream.c - server-sent events, cut in every way, too large, malformed: ripd/cli/event_stream.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/event_stream.h"
#include "support/guarded_copy.h"

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

static void check(const char *text, const char *expected)
{
    struct heard heard = {.answer = 0};

    for (size_t piece = 1; piece <= strlen(text); piece++) {
        assert_int_equal(push(text, strlen(text), piece, &heard), 0);
        assert_string_equal(heard.text, expected);
    }
}

static void test_events(void **state)
{
    (void)state;
    check("retry: 3000\nid: 0-1\n\n", "[0-1|-|-]");
    check("id: 0-2\nevent: begin\ndata: {\"a\": 1}\n\n", "[0-2|begin|{\"a\": 1}]");
    check("id:0-2\r\nevent:begin\r\ndata:x\r\n\r\n", "[0-2|begin|x]");
    check("data: x\r\rdata: y\r\r", "[|message|x][|message|y]");
    check("id: 1\ndata: x\n\nevent: end\ndata: y\n\n", "[1|message|x][1|end|y]"); /* an id stays, a kind does not */
    check("data: a\ndata\ndata:  b\n\n", "[|message|a\n\n b]");
    check(": alive\n\n", "[|-|-]");
    check("nonsense: 1\nda: ta\ndatax: 1\nevent: e\n\n", "[|-|-]");
    check("id: 1\nevent: begin\ndata: cut short", "");
    check("", "");
    check("\n\n\n", "[|-|-][|-|-][|-|-]");
}

static void test_what_does_not_fit(void **state)
{
    const char *with_nul = "id: a\0b\ndata: x\n\n";
    struct heard heard = {.answer = 0};
    char text[512] = "id: ";

    (void)state;
    assert_int_equal(push(with_nul, 17, 17, &heard), 0);
    assert_string_equal(heard.text, "[|message|x]"); /* an id with a NUL is none */
    memset(text + 4, '1', 100);
    snprintf(text + 104, sizeof(text) - 104, "\nevent: %050d\ndata: x\n\n", 0);
    check(text, "[|0000000000000000000000000000000|x]");
}

static void test_too_large(void **state)
{
    size_t bytes = EVENT_STREAM_BYTES_MAX + 100;
    char *text = malloc(bytes);
    struct heard heard = {.answer = 0};

    (void)state;
    assert_non_null(text);
    memset(text, 'x', bytes);
    assert_int_equal(push(text, bytes, 65536, &heard), -EMSGSIZE); /* one line */
    for (size_t at = 0; at + 16 <= bytes; at += 16)
        memcpy(text + at, "data: 123456789\n", 16);
    assert_int_equal(push(text, bytes, 65536, &heard), 0); /* the names do not count */
    assert_int_equal(push(text, EVENT_STREAM_BYTES_MAX / 2, 100, &heard), 0);
    free(text);
}

static void test_end_at_will(void **state)
{
    struct heard heard = {.answer = 7};

    (void)state;
    assert_int_equal(push("data: a\n\ndata: b\n\n", 18, 18, &heard), 7);
    assert_string_equal(heard.text, "[|message|a]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_end_at_will),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
