/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel_text.c - parses numbers, fields and lines, and appends text: ripd/util/text.c. */
#include <string.h>

#include "support/test.h"
#include "util/text.h"

typedef const char *parser(const char *text, uint64_t limit, uint64_t *ret_value);

/* A parser returns the text after the number, or NULL if there is no number. */
TEST(numbers)
{
    static const struct {
        parser *parse;
        const char *text;
        uint64_t limit;
        const char *behind;
        uint64_t value;
    } cases[] = {
        {text_hex, "g", UINT64_MAX, NULL, 0},
        {text_hex, "100", 0xff, NULL, 0},
        {text_hex, " \tfF:", 0xff, ":", 0xff},
        {text_hex, "ffffffffffffffff", UINT64_MAX, "", UINT64_MAX},
        {text_hex, "10000000000000000", UINT64_MAX, NULL, 0},
        {text_decimal, "256", 255, NULL, 0},
        {text_decimal, "255f", 255, "f", 255},
        {text_decimal, "a", 255, NULL, 0},
        {text_decimal, "-1", 255, NULL, 0},
        {text_decimal, "", 255, NULL, 0},
        {text_decimal, "18446744073709551616", UINT64_MAX, NULL, 0},
        {text_decimal, NULL, 255, NULL, 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t value = 0;
        const char *behind = cases[i].parse(cases[i].text, cases[i].limit, &value);

        assert_int_equal(behind != NULL, cases[i].behind != NULL);
        assert_int_equal(value, cases[i].value);
        if (behind != NULL)
            assert_string_equal(behind, cases[i].behind);
    }
}

TEST(whole_numbers)
{
    static const char *const wrong[] = {"", " 5", "5 ", "+5", "-5", "4", "10", "0x5", "18446744073709551621"};
    uint64_t number = 0;

    assert_true(text_number("5", 5, 9, &number));
    assert_int_equal(number, 5);
    assert_true(text_number("0009", 5, 9, &number));
    assert_int_equal(number, 9);
    assert_true(text_number("18446744073709551615", 0, UINT64_MAX, &number));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(text_number(wrong[i], 5, 9, &number));
}

TEST(hex_bytes)
{
    unsigned char bytes[4] = {0};

    assert_true(text_hex_bytes("00fFa5zz", bytes, 3));
    assert_memory_equal(bytes, "\x00\xff\xa5\x00", 4);
    assert_true(text_hex_bytes("", bytes, 0));
    assert_false(text_hex_bytes("00f", bytes, 2));
    assert_false(text_hex_bytes("00 1", bytes, 2));
    assert_false(text_hex_bytes("00", bytes, 2));
}

TEST(fields_and_lines)
{
    uint64_t values[3];

    assert_string_equal(text_skip_fields("  a bc\td", 1), "bc\td");
    assert_string_equal(text_skip_fields("a\nb", 3), "\nb"); /* stops at the end of a line */
    assert_null(text_skip_fields(NULL, 1));
    assert_string_equal(text_decimals("1 2\t3 4", 9, values, 3), " 4");
    assert_int_equal(values[2], 3);
    assert_null(text_decimals("1 2", 9, values, 3));
    assert_null(text_next_line("a\n"));
    assert_string_equal(text_next_line("a\nb"), "b");
    assert_string_equal(text_find_line("Xkey:1\nkey:2\nkey:3", "key:"), "2\nkey:3");
    assert_null(text_find_line("Xkey:1\n", "key:"));
}

/* Text that does not fit is truncated and terminated. */
TEST(append)
{
    char text[8] = "";

    text_append(text, sizeof(text), "%d-", 12);
    text_append(text, sizeof(text), "%s", "345");
    assert_string_equal(text, "12-345");
    text_append(text, sizeof(text), "6789");
    assert_string_equal(text, "12-3456");
    text_append(text, sizeof(text), "more");
    assert_string_equal(text, "12-3456");
}

TEST(printable)
{
    char text[] = "a ~\x1f\x7f\xc3\xa4\n";

    text_make_printable(text);
    assert_string_equal(text, "a ~?????");
}
