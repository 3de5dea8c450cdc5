/* SPDX-License-Identifier: Apache-2.0 */
/* test_rules.c - the syntax of rules, and which rule a name gets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "detect/rules.h"
#include "rip/ring.h"
#include "support/guarded_copy.h"
#include "support/test.h"
#include "util/duration.h"

#define NS_PER_MS UINT64_C(1000000)

static struct rules rules;
static const char *expected; /* of the last rule that was refused */

static int setup(void **state)
{
    (void)state;
    rules = (struct rules){0};
    expected = NULL;
    return 0;
}

static int try_add(const char *text)
{
    return rules_add(&rules, text, &expected);
}

static void add(const char *text)
{
    assert_int_equal(try_add(text), 0);
    assert_null(expected);
}

static int find_bytes(const uint8_t *name, size_t name_bytes)
{
    static struct rules_table table;

    rules_table_make(&table, &rules);
    return rules_find(&table, name, name_bytes);
}

static int find(const char *name)
{
    return find_bytes((const uint8_t *)name, strlen(name));
}

TEST(valid_rules, setup)
{
    static const struct {
        const char *text;
        const char *glob;
        uint64_t ms;
    } cases[] = {
        {"batch-*=10m", "batch-*", 600000},
        {"*=10ms", "*", 10},
        {"[a-z]?\\*=8760h", "[a-z]?\\*", UINT64_C(31536000000)},
        {"queue=high*=250ms", "queue=high*", 250}, /* the last '=' splits */
        {"==1s", "=", 1000},
        {" spaced =1s", " spaced ", 1000},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        rules.count = 0;
        add(cases[i].text);
        assert_int_equal(rules.count, 1);
        assert_string_equal(rules.rules[0].glob, cases[i].glob);
        assert_int_equal(rules.rules[0].threshold_ns, cases[i].ms * NS_PER_MS);
    }
}

TEST(invalid_rules, setup)
{
    static const struct {
        const char *text;
        const char *expected; /* part of the message */
    } cases[] = {
        {"", "pattern, '=' and a duration"},
        {"5s", "pattern, '=' and a duration"},
        {"batch-*", "pattern, '=' and a duration"},
        {"=5s", "pattern, '=' and a duration"},
        {"batch-*=", "250ms"},
        {"batch-*=5", "250ms"},
        {"batch-*=5s ", "250ms"},
        {"batch-*= 5s", "250ms"},
        {"batch-*=5s=", "250ms"},
        {"batch-*=99999999999999999999h", "250ms"},
        {"batch-*=9ms", "10ms to a year"},
        {"batch-*=0s", "10ms to a year"},
        {"batch-*=8761h", "10ms to a year"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (try_add(cases[i].text) != -EINVAL || rules.count != 0 || strstr(expected, cases[i].expected) == NULL)
            fail_msg("\"%s\"", cases[i].text);
    }
}

TEST(the_length_of_a_glob_is_limited, setup)
{
    char text[RULE_GLOB_BYTES + 8];

    memset(text, 'x', sizeof text);
    memcpy(text + RULE_GLOB_BYTES - 1, "=1s", 4);
    add(text);
    assert_int_equal(strlen(rules.rules[0].glob), RULE_GLOB_BYTES - 1);
    text[RULE_GLOB_BYTES - 1] = 'x';
    memcpy(text + RULE_GLOB_BYTES, "=1s", 4);
    assert_int_equal(try_add(text), -EINVAL);
    assert_non_null(strstr(expected, "127"));
    assert_int_equal(RULE_GLOB_BYTES - 1, 127); /* as in the message */
    assert_int_equal(rules.count, 1);
}

TEST(the_number_of_rules_is_limited, setup)
{
    char text[32];

    for (unsigned i = 0; i < RULES_MAX; i++) {
        snprintf(text, sizeof text, "name-%u=%us", i, i + 1);
        add(text);
    }
    assert_int_equal(try_add("one-more=1s"), -EINVAL);
    assert_string_equal(expected, "at most 64 rules");
    assert_int_equal(RULES_MAX, 64); /* as in the message */
    assert_int_equal(rules.count, RULES_MAX);
    assert_int_equal(find("name-63"), 63);
    assert_int_equal(find("one-more"), RULES_NONE);
}

TEST(the_first_that_matches_decides, setup)
{
    assert_int_equal(find("anything"), RULES_NONE);
    add("batch-nightly=2h");
    add("batch-*=10m");
    add("*-nightly=1h");
    assert_int_equal(find("batch-nightly"), 0);
    assert_int_equal(find("batch-7"), 1);
    assert_int_equal(find("report-nightly"), 2);
    assert_int_equal(find("worker-7"), RULES_NONE);
    assert_int_equal(find(""), RULES_NONE);
    add("*=1m");
    assert_int_equal(find(""), 3);
    assert_int_equal(find("batch-7"), 1);
}

/* A name may contain zeros and has no terminator. Nothing after the name, or after the text of a rule, is read. */
TEST(nothing_is_read_after_the_end, setup)
{
    static const char text[] = "w*\xff=1s";
    static const uint8_t name[] = {'w', 0, 0x1b, 0xff};
    struct guarded_copy text_copy, name_copy;

    guarded_copy_new(&text_copy, text, sizeof text);
    guarded_copy_new(&name_copy, name, sizeof name);
    assert_int_equal(try_add((const char *)text_copy.bytes), 0);
    guarded_copy_free(&text_copy);
    assert_int_equal(find_bytes(name_copy.bytes, sizeof name), 0);
    assert_int_equal(find_bytes(name_copy.bytes, sizeof name - 1), RULES_NONE);
    assert_int_equal(find_bytes(name_copy.bytes + sizeof name, 0), RULES_NONE);
    guarded_copy_free(&name_copy);
}
