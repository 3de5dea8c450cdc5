/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_writer.c - what comes out is valid JSON in valid UTF-8, whatever goes in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static void assert_bytes(const char *bytes, size_t length, const char *expected, bool changed)
{
    struct json_writer writer;

    json_init(&writer);
    assert_int_equal(json_bytes(&writer, bytes, length), changed);
    assert_text(&writer, expected);
}

static void test_structure(void **state)
{
    struct json_writer writer;

    (void)state;
    json_init(&writer);
    json_object_begin(&writer);
    json_key(&writer, "a");
    json_uint(&writer, 1);
    json_key(&writer, "b");
    json_array_begin(&writer);
    json_array_begin(&writer);
    json_array_end(&writer);
    json_none(&writer);
    json_bool(&writer, true);
    json_bool(&writer, false);
    json_object_begin(&writer);
    json_object_end(&writer);
    json_array_end(&writer);
    json_key(&writer, "c");
    json_text(&writer, "x");
    json_object_end(&writer);
    assert_int_equal(writer.depth, 0);
    assert_text(&writer, "{\"a\":1,\"b\":[[],null,true,false,{}],\"c\":\"x\"}");
}

static void test_numbers(void **state)
{
    static const uint64_t numbers[] = {
        0, 9, 10, 99, 100, 12345, UINT64_C(9999999999), INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    struct json_writer writer;

    (void)state;
    json_init(&writer);
    json_array_begin(&writer);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        json_uint(&writer, numbers[i]);
    json_hex_number(&writer, 0);
    json_hex_number(&writer, 0x1234);
    json_hex_number(&writer, UINT64_MAX);
    json_hex(&writer, "\x00\xff\x1b", 3);
    json_array_end(&writer);
    assert_text(&writer, "[0,9,10,99,100,12345,9999999999,9223372036854775807,null,null,\"0x0\","
                         "\"0x1234\",\"0xffffffffffffffff\",\"00ff1b\"]");
}

static void test_times(void **state)
{
    static const struct {
        uint64_t wall_ns;
        const char *expected;
    } times[] = {
        {0, "\"1970-01-01T00:00:00.000Z\""},
        {UINT64_C(951782399999999999), "\"2000-02-28T23:59:59.999Z\""},
        {UINT64_C(951782400000000000), "\"2000-02-29T00:00:00.000Z\""},
        {UINT64_C(951868800000000000), "\"2000-03-01T00:00:00.000Z\""},
        {UINT64_C(1795167667120000000), "\"2026-11-20T09:41:07.120Z\""},
        {UINT64_C(4107542400000000000), "\"2100-03-01T00:00:00.000Z\""},
        {UINT64_MAX, "\"2554-07-21T23:34:33.709Z\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct json_writer writer;

        json_init(&writer);
        json_time(&writer, times[i].wall_ns);
        assert_text(&writer, times[i].expected);
    }
}

static void test_text(void **state)
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
        {"\x80", "\"\xef\xbf\xbd\"", true},                 /* a continuation alone */
        {"\xc3", "\"\xef\xbf\xbd\"", true},                 /* cut short */
        {"\xc3(", "\"\xef\xbf\xbd(\"", true},               /* broken off */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"", true}, /* overlong */
        {"\xe0\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", true},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", true},                 /* surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", true}, /* beyond U+10FFFF */
        {"\xf0\x9f\x98", "\"\xef\xbf\xbd\"", true},  /* one for the maximal part */
        {"\xef\xbf\xbe", "\"\xef\xbf\xbd\"", true},  /* noncharacter U+FFFE */
        {"\xef\xb7\x90", "\"\xef\xbf\xbd\"", true},  /* noncharacter U+FDD0 */
        {"\xef\xbf\xbd", "\"\xef\xbf\xbd\"", false}, /* U+FFFD itself */
        {"\xff\xfe", "\"\xef\xbf\xbd\xef\xbf\xbd\"", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_bytes(rows[i].bytes, strlen(rows[i].bytes), rows[i].expected, rows[i].changed);
    assert_bytes("a\0b", 3, "\"a\\u0000b\"", true);
}

/* Quotes grow the most that text grows without being reported. */
static void test_quotes(void **state)
{
    char quotes[63];
    char expected[2 + 126 + 1] = "\"";

    (void)state;
    memset(quotes, '"', sizeof(quotes));
    for (size_t i = 0; i < sizeof(quotes); i++)
        memcpy(expected + 1 + 2 * i, "\\\"", 2);
    expected[127] = '"';
    assert_bytes(quotes, sizeof(quotes), expected, false);
}

/* The last byte of the input is the last byte of a page. */
static void test_guard_page(void **state)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page_bytes, page_bytes, PROT_NONE), 0);
    for (unsigned lead = 0; lead < 256; lead++) {
        for (size_t length = 1; length <= 4; length++) {
            char *bytes = pages + page_bytes - length;
            struct json_writer writer;

            memset(bytes, 0x9f, length);
            bytes[0] = (char)lead;
            json_init(&writer);
            json_bytes(&writer, bytes, length);
            json_hex(&writer, bytes, length);
            json_done(&writer);
        }
    }
    munmap(pages, 2 * page_bytes);
}

static void test_failure_sticks(void **state)
{
    struct json_writer writer;
    size_t length;
    char *text;

    (void)state;
    json_init(&writer);
    json_uint(&writer, 1);
    writer.failed = true;
    json_object_begin(&writer);
    json_key(&writer, "k");
    assert_false(json_bytes(&writer, "\n", 1));
    json_hex(&writer, "x", 1);
    json_time(&writer, 1);
    assert_true(json_finish(&writer, &text, &length) < 0);
    assert_null(writer.text);
}

static void test_growth(void **state)
{
    struct json_writer writer;
    size_t length;
    char *text;

    (void)state;
    json_init(&writer);
    json_array_begin(&writer);
    for (int i = 0; i < 10000; i++)
        json_uint(&writer, 7);
    json_array_end(&writer);
    assert_int_equal(json_finish(&writer, &text, &length), 0);
    assert_int_equal(length, 2 + 19999);
    assert_int_equal(strlen(text), length);
    free(text);
}

static void test_object_of_a_number_and_members(void **state)
{
    static const uint64_t values[] = {0,    9,     10,    99,       100,       999,          1000,
                                      9999, 10000, 12345, 99999999, 100000000, 999999999999, INT64_MAX};
    struct json_writer writer;
    char expected[64];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        json_init(&writer);
        json_uint(&writer, values[i]);
        json_object_raw(&writer, "n", values[i], "\"a\":1", 5);
        json_none(&writer);
        snprintf(expected, sizeof(expected), "%" PRIu64 ",{\"n\":%" PRIu64 ",\"a\":1},null", values[i], values[i]);
        assert_text(&writer, expected);
    }
    json_init(&writer);
    json_object_raw(&writer, "n", UINT64_MAX, "\"a\":1", 5);
    assert_text(&writer, "{\"n\":null,\"a\":1}");
}

/* In pieces, in the caller's blocks: in these, or in larger ones where they are too small. */
static void test_given_blocks(void **state)
{
    enum { BLOCK_BYTES = 32 };
    static const char long_text[] = "a text that is longer than a block of so many bytes";
    struct json_writer writer;
    char whole[256] = "", *text, *given;
    size_t length;

    (void)state;
    json_init(&writer);
    json_array_begin(&writer);
    for (uint64_t i = 0; i < 4; i++) {
        bool is_long = i == 2;

        if (i != 0) {
            given = malloc(BLOCK_BYTES);
            json_give(&writer, given, 0, BLOCK_BYTES);
        }
        if (is_long)
            json_text(&writer, long_text);
        else
            json_uint(&writer, i);
        assert_int_equal(writer.capacity == BLOCK_BYTES, i != 0 && !is_long);
        if (i == 3)
            json_array_end(&writer);
        assert_int_equal(json_take(&writer, &text, &length), 0);
        assert_int_equal(strlen(text), length);
        strcat(whole, text);
        free(text);
    }
    assert_string_equal(whole, "[0,1,\"a text that is longer than a block of so many bytes\",3]");
    json_done(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_guard_page),
        cmocka_unit_test(test_failure_sticks),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_object_of_a_number_and_members),
        cmocka_unit_test(test_given_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
