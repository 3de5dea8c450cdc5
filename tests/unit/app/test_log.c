/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - nothing that a hostile name holds reaches a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/log.h"

static void test_quote(void **state)
{
    char text[LOG_QUOTED_BYTES];

    (void)state;
    assert_string_equal(log_quote("worker-17", 9, text), "\"worker-17\"");
    assert_string_equal(log_quote("", 0, text), "\"\"");
    assert_string_equal(log_quote("a\"b\\c", 5, text), "\"a\\\"b\\\\c\"");
    assert_string_equal(log_quote("\x1b[31m\n\0\xff", 8, text), "\"\\x1b[31m\\x0a\\x00\\xff\"");
}

static void test_every_byte_and_every_length(void **state)
{
    unsigned char bytes[4096];
    char text[LOG_QUOTED_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t length = 0; length < sizeof(bytes); length++) {
        size_t size = strlen(log_quote(bytes, length, text));

        assert_true(size < LOG_QUOTED_BYTES);
        assert_int_equal(text[0], '"');
        assert_int_equal(text[size - 1], '"');
        for (size_t i = 0; i < size; i++)
            assert_true(text[i] >= 0x20 && text[i] < 0x7f);
    }
    memset(bytes, 0xff, sizeof(bytes));
    log_quote(bytes, sizeof(bytes), text);
    assert_non_null(strstr(text, "...\""));
}

static void test_levels(void **state)
{
    (void)state;
    assert_int_equal(log_level_from_name("error"), LOG_LEVEL_ERROR);
    assert_int_equal(log_level_from_name("debug"), LOG_LEVEL_DEBUG);
    assert_int_equal(log_level_from_name("loud"), -1);
    assert_int_equal(log_level_from_name(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_every_byte_and_every_length),
        cmocka_unit_test(test_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
