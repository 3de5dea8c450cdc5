/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - quoted names have no byte that acts on a terminal; the names of levels: ripd/app/log.c. */
#include <string.h>

#include "app/log.h"
#include "support/test.h"

TEST(quote)
{
    char text[LOG_QUOTED_BYTES];

    assert_string_equal(log_quote("worker-17", 9, text), "\"worker-17\"");
    assert_string_equal(log_quote("", 0, text), "\"\"");
    assert_string_equal(log_quote("a\"b\\c", 5, text), "\"a\\\"b\\\\c\"");
    assert_string_equal(log_quote("\x1b[31m\n\0\xff", 8, text), "\"\\x1b[31m\\x0a\\x00\\xff\"");
}

TEST(every_byte_and_every_length)
{
    unsigned char bytes[4096];
    char text[LOG_QUOTED_BYTES];

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

TEST(levels)
{
    assert_int_equal(log_level_from_name("error"), LOG_LEVEL_ERROR);
    assert_int_equal(log_level_from_name("debug"), LOG_LEVEL_DEBUG);
    assert_int_equal(log_level_from_name("loud"), -1);
    assert_int_equal(log_level_from_name(""), -1);
}
