/* SPDX-License-Identifier: Apache-2.0 */
/* test_rules.c - rules as they are written, and which one a name gets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "detect/rules.h"
#include "rip/ring.h"
#include "support/guarded_copy.h"
#include "support/test.h"
#include "util/duration.h"

#define NS_PER_MS UINT64_C(1000000)

static void add(struct rules *rules, const char *text)
{
    const char *expected = "untouched";

    assert_int_equal(rules_add(rules, text, &expected), 0);
    assert_string_equal(expected, "untouched");
}

static int find_bytes(const struct rules *rules, const uint8_t *name, size_t name_bytes)
{
    static struct rules_table table;

    rules_table_make(&table, rules);
    return rules_find(&table, name, name_bytes);
}

static int find(const struct rules *rules, const char *name)
{
    return find_bytes(rules, (const uint8_t *)name, strlen(name));
}

TEST(what_is_written_is_taken)
{
    static const struct {
        const char *text;
        const char *glob;
        uint64_t ms;
    } cases[] = {
        {"batch-*=10m", "batch-*", 600000},
        {"*=10ms", "*", 10},
        {"[a-z]?\\*=8760h", "[a-z]?\\*", UINT64_C(31536000000)},
        {"queue=high*=250ms", "queue=high*", 250}, /* the last one splits */
        {"==1s", "=", 1000},
        {" spaced =1s", " spaced ", 1000},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rules rules = {0};

        add(&rules, cases[i].text);
        assert_int_equal(rules.count, 1);
        assert_string_equal(rules.rules[0].glob, cases[i].glob);
        assert_int_equal(rules.rules[0].threshold_ns, cases[i].ms * NS_PER_MS);
    }
}

TEST(what_cannot_be_a_rule_is_refused)
{
    static const struct {
        const char *text;
        const char *expected; /* a part of it */
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
        struct rules rules = {0};
        const char *expected = NULL;

        assert_int_equal(rules_add(&rules, cases[i].text, &expected), -EINVAL);
        assert_int_equal(rules.count, 0);
        assert_non_null(strstr(expected, cases[i].expected));
    }
}

TEST(a_glob_has_its_limit)
{
    char text[RULE_GLOB_BYTES + 8];
    const char *expected = "";
    struct rules rules = {0};

    memset(text, 'x', sizeof text);
    memcpy(text + RULE_GLOB_BYTES - 1, "=1s", 4);
    add(&rules, text);
    assert_int_equal(strlen(rules.rules[0].glob), RULE_GLOB_BYTES - 1);
    text[RULE_GLOB_BYTES - 1] = 'x';
    memcpy(text + RULE_GLOB_BYTES, "=1s", 4);
    assert_int_equal(rules_add(&rules, text, &expected), -EINVAL);
    assert_non_null(strstr(expected, "127"));
    assert_int_equal(RULE_GLOB_BYTES - 1, 127); /* as the text says */
    assert_int_equal(rules.count, 1);
}

TEST(there_are_so_many_and_no_more)
{
    const char *expected = "";
    struct rules rules = {0};
    char text[32];

    for (unsigned i = 0; i < RULES_MAX; i++) {
        snprintf(text, sizeof text, "name-%u=%us", i, i + 1);
        add(&rules, text);
    }
    assert_int_equal(rules_add(&rules, "one-more=1s", &expected), -EINVAL);
    assert_string_equal(expected, "at most 64 rules");
    assert_int_equal(RULES_MAX, 64); /* as the text says */
    assert_int_equal(rules.count, RULES_MAX);
    assert_int_equal(find(&rules, "name-63"), 63);
    assert_int_equal(find(&rules, "one-more"), RULES_NONE);
}

TEST(the_first_that_matches_decides)
{
    struct rules rules = {0};

    assert_int_equal(find(&rules, "anything"), RULES_NONE);
    add(&rules, "batch-nightly=2h");
    add(&rules, "batch-*=10m");
    add(&rules, "*-nightly=1h");
    assert_int_equal(find(&rules, "batch-nightly"), 0);
    assert_int_equal(find(&rules, "batch-7"), 1);
    assert_int_equal(find(&rules, "report-nightly"), 2);
    assert_int_equal(find(&rules, "worker-7"), RULES_NONE);
    assert_int_equal(find(&rules, ""), RULES_NONE);
    add(&rules, "*=1m");
    assert_int_equal(find(&rules, ""), 3);
    assert_int_equal(find(&rules, "batch-7"), 1);
}

/* Names are neither terminated nor free of zeros; nothing behind them is read, nor behind the text of a rule. */
TEST(bytes_end_where_they_end)
{
    static const char text[] = "w*\xff=1s";
    static const uint8_t name[] = {'w', 0, 0x1b, 0xff};
    struct guarded_copy text_copy, name_copy;
    const char *expected = "";
    struct rules rules = {0};

    guarded_copy_new(&text_copy, text, sizeof text);
    guarded_copy_new(&name_copy, name, sizeof name);
    assert_int_equal(rules_add(&rules, (const char *)text_copy.bytes, &expected), 0);
    guarded_copy_free(&text_copy);
    assert_int_equal(find_bytes(&rules, name_copy.bytes, sizeof name), 0);
    assert_int_equal(find_bytes(&rules, name_copy.bytes, sizeof name - 1), RULES_NONE);
    assert_int_equal(find_bytes(&rules, name_copy.bytes + sizeof name, 0), RULES_NONE);
    guarded_copy_free(&name_copy);
}
