/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - text that is safe for a terminal: ripd/cli/text.c. */
#include <locale.h>
#include <string.h>

#include "cli/text.h"
#include "support/guarded_copy.h"
#include "support/test.h"

#define BAD "\xef\xbf\xbd"
#define NI_HAO "\xe4\xbd\xa0\xe5\xa5\xbd" /* two characters of two columns each */
#define ACCENT "\xcc\x81"                 /* takes no column */

TEST(fit)
{
    static const struct {
        const char *text;
        unsigned columns;
        bool ascii;
        const char *shown;
    } cases[] = {
        {"worker-17", 80, false, "worker-17"},
        {"\x1b[31m\n\r\t\x7f", 80, false, BAD "[31m" BAD BAD BAD BAD},
        {"\xc2\x9b", 80, false, BAD}, /* CSI as one character */
        {"a\xe2\x80\xae"
         "b",
         80, false, "a" BAD "b"}, /* right-to-left override */
        {"\xe2\x80\xa8\xef\xbb\xbf", 80, false, BAD BAD},
        {"\xc0\xaf\xed\xa0\x80\xff", 80, false, BAD BAD BAD BAD BAD BAD},
        {"\xe2\x80", 80, false, BAD}, /* cut short */
        {"k\xc3\xa4se \xf0\x9f\x92\xa3", 80, false, "k\xc3\xa4se \xf0\x9f\x92\xa3"},
        {"k\xc3\xa4se\x1b", 80, true, "k?se?"},
        {"abcdef", 6, false, "abcdef"},
        {"abcdef", 5, false, "abcd~"},
        {"abcdef", 1, false, "~"},
        {"abcdef", 0, false, ""},
        {"", 0, false, ""},
        {NI_HAO "!", 5, false, NI_HAO "!"},
        {NI_HAO "!", 4, false, "\xe4\xbd\xa0~"},
        {"e" ACCENT "f" ACCENT, 2, false, "e" ACCENT "f" ACCENT},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct text_style style = {.utf8 = !cases[i].ascii, .columns = 80};
        struct guarded_copy copy;
        char out[256];

        guarded_copy_new(&copy, cases[i].text, strlen(cases[i].text));
        text_fit(&style, (const char *)copy.bytes, strlen(cases[i].text), cases[i].columns, out, sizeof(out));
        guarded_copy_free(&copy);
        assert_string_equal(out, cases[i].shown);
    }
}

/* For all bytes and buffer sizes the text is terminated, fits the columns, and has no control characters. */
TEST(every_size)
{
    static const struct text_style ascii = {.utf8 = false, .columns = 80};
    char bytes[512], out[64];

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
    setlocale(LC_CTYPE, "C.UTF-8");
    return tests_run(NULL, NULL);
}
