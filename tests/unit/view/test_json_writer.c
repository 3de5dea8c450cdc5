/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_writer.c - the output is valid JSON in valid UTF-8, whatever the input: ripd/view/json_writer.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guarded_copy.h"
#include "support/test.h"
#include "view/json_writer.h"

static void assert_text(struct json_writer *writer, const char *expected)
{
    size_t length;
    char *text;

    assert_int_equal(json_finish(writer, &text, &length), 0);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
    free(text);
}

/* KEY_hex is there if a byte was changed. */
static void assert_bytes(const char *bytes, size_t length, const char *expected, bool changed)
{
    struct json_writer writer;
    char whole[1024];
    size_t at;

    json_init(&writer);
    json_bytes(&writer, "k", bytes, length);
    at = (size_t)snprintf(whole, sizeof(whole), "\"k\":%s%s", expected, changed ? ",\"k_hex\":\"" : "");
    for (size_t i = 0; changed && i < length; i++)
        at += (size_t)snprintf(whole + at, sizeof(whole) - at, "%02x", (unsigned char)bytes[i]);
    snprintf(whole + at, sizeof(whole) - at, "%s", changed ? "\"" : "");
    assert_text(&writer, whole);
    json_init(&writer);
    json_bytes(&writer, NULL, bytes, length);
    assert_text(&writer, expected);
}

TEST(structure)
{
    struct json_writer writer;

    json_init(&writer);
    json_open(&writer, NULL, '{');
    json_uint(&writer, "a", 1);
    json_open(&writer, "b", '[');
    json_open(&writer, NULL, '[');
    json_close(&writer);
    json_none(&writer, NULL);
    json_bool(&writer, NULL, true);
    json_bool(&writer, NULL, false);
    json_open(&writer, NULL, '{');
    json_close(&writer);
    json_line(&writer);
    json_raw(&writer, NULL, "{\"x\":1}", 7);
    json_close(&writer);
    json_text(&writer, "c", "x");
    json_text(&writer, "d", NULL);
    json_name(&writer, "e", NULL);
    json_name(&writer, "f", "\x1b");
    assert_true(json_open_known(&writer, "g", '[', true));
    json_close(&writer);
    assert_false(json_open_known(&writer, "h", '{', false));
    json_close(&writer);
    assert_text(&writer, "{\"a\":1,\"b\":[[],null,true,false,{},\n{\"x\":1}],\"c\":\"x\",\"d\":null,\"e\":null,"
                         "\"f\":\"\\u001b\",\"f_hex\":\"1b\",\"g\":[],\"h\":null}");
}

TEST(numbers)
{
    static const uint64_t numbers[] = {
        0, 9, 10, 99, 100, 12345, UINT64_C(9999999999), INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    struct json_writer writer;

    json_init(&writer);
    json_open(&writer, NULL, '[');
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        json_uint(&writer, NULL, numbers[i]);
    json_hex_number(&writer, NULL, 0);
    json_hex_number(&writer, NULL, 0x1234);
    json_hex_number(&writer, NULL, UINT64_MAX);
    json_close(&writer);
    assert_text(&writer, "[0,9,10,99,100,12345,9999999999,9223372036854775807,null,null,\"0x0\","
                         "\"0x1234\",\"0xffffffffffffffff\"]");
}

TEST(times)
{
    static const struct {
        uint64_t wall_ns;
        const char *expected;
    } times[] = {
        {0, "null"},
        {1, "\"1970-01-01T00:00:00.000Z\""},
        {UINT64_C(951782399999999999), "\"2000-02-28T23:59:59.999Z\""},
        {UINT64_C(951782400000000000), "\"2000-02-29T00:00:00.000Z\""},
        {UINT64_C(951868800000000000), "\"2000-03-01T00:00:00.000Z\""},
        {UINT64_C(1795167667120000000), "\"2026-11-20T09:41:07.120Z\""},
        {UINT64_C(4107542400000000000), "\"2100-03-01T00:00:00.000Z\""},
        {UINT64_MAX, "\"2554-07-21T23:34:33.709Z\""},
    };

    for (size_t i = 0; i < COUNT_OF(times); i++) {
        struct json_writer writer;

        json_init(&writer);
        json_time(&writer, NULL, times[i].wall_ns);
        assert_text(&writer, times[i].expected);
    }
}

TEST(text)
{
    static const struct {
        const char *bytes;
        const char *expected;
        bool changed;
    } rows[] = {
        {"", "\"\"", false},
        {"worker-17", "\"worker-17\"", false},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\"", false},
        {"\x1b[2J\n\t\x7f", "\"\\u001b[2J\\u000a\\u0009\\u007f\"", true},
        {"w\xc3\xb6rker \xe2\x82\xac \xf0\x9f\x98\x80", "\"w\xc3\xb6rker \xe2\x82\xac \xf0\x9f\x98\x80\"", false},
        {"\xc2\x9b"
         "31m",
         "\"\\u009b31m\"", true}, /* C1: CSI */
        {"\xe2\x80\xae"
         "abc",
         "\"\\u202eabc\"", true},                           /* right-to-left override */
        {"\xe2\x80\xa8", "\"\\u2028\"", true},              /* line separator */
        {"\x80", "\"\xef\xbf\xbd\"", true},                 /* a continuation byte alone */
        {"\xc3", "\"\xef\xbf\xbd\"", true},                 /* cut short */
        {"\xc3(", "\"\xef\xbf\xbd(\"", true},               /* cut short before another character */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"", true}, /* overlong */
        {"\xe0\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", true},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", true},                 /* surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", true}, /* beyond U+10FFFF */
        {"\xf0\x9f\x98", "\"\xef\xbf\xbd\"", true},  /* cut short: one replacement for the valid part */
        {"\xef\xbf\xbe", "\"\xef\xbf\xbd\"", true},  /* noncharacter U+FFFE */
        {"\xef\xb7\x90", "\"\xef\xbf\xbd\"", true},  /* noncharacter U+FDD0 */
        {"\xef\xbf\xbd", "\"\xef\xbf\xbd\"", false}, /* U+FFFD itself */
        {"\xff\xfe", "\"\xef\xbf\xbd\xef\xbf\xbd\"", true},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_bytes(rows[i].bytes, strlen(rows[i].bytes), rows[i].expected, rows[i].changed);
    assert_bytes("a\0b", 3, "\"a\\u0000b\"", true);
}

/* Quotes are the longest escape that is not reported in KEY_hex. */
TEST(quotes)
{
    char quotes[63];
    char expected[2 + 126 + 1] = "\"";

    memset(quotes, '"', sizeof(quotes));
    for (size_t i = 0; i < sizeof(quotes); i++)
        memcpy(expected + 1 + 2 * i, "\\\"", 2);
    expected[127] = '"';
    assert_bytes(quotes, sizeof(quotes), expected, false);
}

/* No byte behind the input is read. */
TEST(guard_page)
{
    for (unsigned lead = 0; lead < 256; lead++) {
        for (size_t length = 1; length <= 4; length++) {
            const char bytes[] = {(char)lead, '\x9f', '\x9f', '\x9f'};
            struct guarded_copy copy;
            struct json_writer writer;

            guarded_copy_new(&copy, bytes, length);
            json_init(&writer);
            json_bytes(&writer, "k", (const char *)copy.bytes, length);
            json_done(&writer);
            guarded_copy_free(&copy);
        }
    }
}

TEST(failure_sticks)
{
    struct json_writer writer;
    size_t length;
    char *text;

    json_init(&writer);
    json_uint(&writer, NULL, 1);
    json_raw(&writer, NULL, "", SIZE_MAX / 2); /* cannot be allocated */
    json_open(&writer, NULL, '{');
    json_bytes(&writer, "k", "\n", 1);
    json_time(&writer, "t", 1);
    assert_int_equal(json_finish(&writer, &text, &length), -ENOMEM);
    assert_null(writer.text);
}

TEST(growth)
{
    struct json_writer writer;
    size_t length;
    char *text;

    json_init(&writer);
    json_open(&writer, NULL, '[');
    for (int i = 0; i < 10000; i++)
        json_uint(&writer, NULL, 7);
    json_close(&writer);
    assert_int_equal(json_finish(&writer, &text, &length), 0);
    assert_int_equal(length, 2 + 19999);
    assert_int_equal(strlen(text), length);
    free(text);
}
