/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_text.c - lines of the text format: numbers to the last digit, labels of any bytes, buffers too small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/guarded_copy.h"
#include "view/metrics_text.h"

static char buffer[4096];

static struct metrics_text fresh(void)
{
    buffer[0] = '\0';
    return (struct metrics_text){.text = buffer, .capacity = sizeof(buffer)};
}

static void test_numbers(void **state)
{
    static const struct {
        uint64_t value;
        enum metric_unit unit;
        const char *text;
    } rows[] = {
        {0, METRIC_COUNT, "0"},
        {UINT64_MAX, METRIC_COUNT, "18446744073709551615"},
        {1000, METRIC_COUNT, "1000"},
        {0, METRIC_SECONDS_OF_NS, "0"},
        {1, METRIC_SECONDS_OF_NS, "0.000000001"},
        {1000000000, METRIC_SECONDS_OF_NS, "1"},
        {1500000000, METRIC_SECONDS_OF_NS, "1.5"},
        {UINT64_C(1795167666940000000), METRIC_SECONDS_OF_NS, "1795167666.94"},
        {UINT64_MAX, METRIC_SECONDS_OF_NS, "18446744073.709551615"},
        {100, METRIC_SECONDS_OF_US, "0.0001"},
        {1000000, METRIC_RATIO_OF_MILLIONTHS, "1"},
        {10, METRIC_RATIO_OF_MILLIONTHS, "0.00001"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[METRIC_NUMBER_BYTES];

        metrics_text_number(text, rows[i].value, rows[i].unit);
        assert_string_equal(text, rows[i].text);
    }
}

static void test_lines(void **state)
{
    static const struct metric_label labels[] = {{"cause", "blocked"}, {"b", "c"}};
    struct metrics_text text = fresh();

    (void)state;
    metrics_text_family(&text, "a_total", "counter", "Some of a.");
    metrics_text_sample(&text, "a_total", "", NULL, 0, 17, METRIC_COUNT);
    metrics_text_sample(&text, "a", "_bucket", labels, 2, 2500000000, METRIC_SECONDS_OF_NS);
    assert_string_equal(buffer, "# HELP a_total Some of a.\n# TYPE a_total counter\n"
                                "a_total 17\n"
                                "a_bucket{cause=\"blocked\",b=\"c\"} 2.5\n");
    assert_int_equal(text.length, strlen(buffer));
    metrics_text_cut(&text, 7);
    assert_string_equal(buffer, "# HELP ");
}

static void test_label_of_any_bytes(void **state)
{
    char value[256];
    struct metric_label label = {"l", value};
    struct metrics_text text = fresh();

    (void)state;
    for (int i = 1; i < 256; i++)
        value[i - 1] = (char)i;
    value[255] = '\0';
    metrics_text_sample(&text, "m", "", &label, 1, 1, METRIC_COUNT);
    assert_null(memchr(buffer, '\n', text.length - 1));
    assert_non_null(strstr(buffer, "m{l=\"?????????\\n??"));
    assert_non_null(strstr(buffer, " !\\\"#$%"));
    assert_non_null(strstr(buffer, "[\\\\]^_`"));
    for (size_t i = 0; i + 1 < text.length; i++)
        assert_in_range(buffer[i], ' ', '~');
}

/* Whatever room there is, what is written ends inside it, terminated, and is told to be incomplete. */
static void test_every_capacity(void **state)
{
    static const struct metric_label label = {"l", "a\"b\\c\nd"};
    struct metrics_text whole = fresh();

    (void)state;
    metrics_text_family(&whole, "m", "gauge", "Help.");
    metrics_text_sample(&whole, "m", "", &label, 1, UINT64_MAX, METRIC_SECONDS_OF_NS);
    for (size_t capacity = 1; capacity <= whole.length + 1; capacity++) {
        struct guarded_copy copy;
        struct metrics_text text = {.capacity = capacity};
        char *place;

        guarded_copy_new(&copy, NULL, capacity);
        text.text = place = (char *)copy.bytes;
        metrics_text_family(&text, "m", "gauge", "Help.");
        metrics_text_sample(&text, "m", "", &label, 1, UINT64_MAX, METRIC_SECONDS_OF_NS);
        assert_int_equal(text.full, capacity <= whole.length);
        assert_int_equal(strlen(place), text.length);
        assert_memory_equal(place, buffer, text.length);
        guarded_copy_free(&copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_label_of_any_bytes),
        cmocka_unit_test(test_every_capacity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
