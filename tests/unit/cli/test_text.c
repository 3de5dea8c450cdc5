/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - what reaches a terminal: ripd/cli/text.c. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/text.h"
#include "support/guarded_copy.h"

static const struct text_style utf8 = {.utf8 = true, .columns = 80};
static const struct text_style ascii = {.utf8 = false, .columns = 80};

static const char *fit(const struct text_style *style, const char *text, unsigned columns)
{
    static char out[256];
    struct guarded_copy copy;

    guarded_copy_new(&copy, text, strlen(text));
    text_fit(style, (const char *)copy.bytes, strlen(text), columns, out, sizeof(out));
    guarded_copy_free(&copy);
    return out;
}

#define BAD "\xef\xbf\xbd"

static void test_unfit(void **state)
{
    (void)state;
    assert_string_equal(fit(&utf8, "worker-17", 80), "worker-17");
    assert_string_equal(fit(&utf8, "\x1b[31m\n\r\t\x7f", 80), BAD "[31m" BAD BAD BAD BAD);
    assert_string_equal(fit(&utf8, "\xc2\x9b", 80), BAD); /* CSI as one character */
    assert_string_equal(fit(&utf8,
                            "a\xe2\x80\xae"
                            "b",
                            80),
                        "a" BAD "b"); /* right-to-left override */
    assert_string_equal(fit(&utf8, "\xe2\x80\xa8\xef\xbb\xbf", 80), BAD BAD);
    assert_string_equal(fit(&utf8, "\xc0\xaf\xed\xa0\x80\xff", 80), BAD BAD BAD);
    assert_string_equal(fit(&utf8, "\xe2\x80", 80), BAD BAD); /* cut short */
    assert_string_equal(fit(&utf8, "k\xc3\xa4se \xf0\x9f\x92\xa3", 80), "k\xc3\xa4se \xf0\x9f\x92\xa3");
    assert_string_equal(fit(&ascii, "k\xc3\xa4se\x1b", 80), "k?se?");
}

static void test_columns(void **state)
{
    (void)state;
    assert_string_equal(fit(&utf8, "abcdef", 6), "abcdef");
    assert_string_equal(fit(&utf8, "abcdef", 5), "abcd~");
    assert_string_equal(fit(&utf8, "abcdef", 1), "~");
    assert_string_equal(fit(&utf8, "abcdef", 0), "");
    assert_string_equal(fit(&utf8, "", 0), "");
    assert_string_equal(fit(&utf8, "\xe4\xbd\xa0\xe5\xa5\xbd!", 5), "\xe4\xbd\xa0\xe5\xa5\xbd!"); /* two columns each */
    assert_string_equal(fit(&utf8, "\xe4\xbd\xa0\xe5\xa5\xbd!", 4), "\xe4\xbd\xa0~");
    assert_string_equal(fit(&utf8,
                            "e\xcc\x81"
                            "e\xcc\x81",
                            2),
                        "e\xcc\x81"
                        "e\xcc\x81"); /* an accent takes none */
}

/* Every byte, every size of the buffer: terminated, within the columns, nothing that acts. */
static void test_every_size(void **state)
{
    char bytes[512], out[64];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7);
    for (size_t size = 1; size <= sizeof(out); size++)
        for (unsigned columns = 0; columns < 40; columns++) {
            unsigned taken = text_fit(&ascii, bytes, sizeof(bytes), columns, out, size);

            assert_true(taken <= columns && strlen(out) == taken && taken < size);
            for (size_t i = 0; i < taken; i++)
                assert_in_range(out[i], 0x20, 0x7e);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unfit),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_every_size),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
