/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_glob.c - patterns that match, patterns that do not, and patterns that were made to take forever.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases/query.h"
#include "support/guarded_copy.h"
#include "support/test.h"
#include "util/glob.h"

struct example {
    const char *pattern;
    const char *text;
    bool matches;
};

static const struct example examples[] = {
    {"", "", true},
    {"", "a", false},
    {"a", "", false},
    {"*", "", true},
    {"*", "anything", true},
    {"**", "anything", true},
    {"?", "", false},
    {"?", "a", true},
    {"?", "ab", false},
    {"worker-*", "worker-17", true},
    {"worker-*", "worker-", true},
    {"worker-*", "worker", false},
    {"*-17", "worker-17", true},
    {"*-17", "worker-171", false},
    {"*-17", "worker-17-17", true},
    {"w*r*-1?", "worker-17", true},
    {"w*r*-1?", "worker-1", false},
    {"*a*b", "aXbXab", true},
    {"a*b*c", "abcbc", true},
    {"a*b*c", "acb", false},
    {"[abc]", "b", true},
    {"[abc]", "d", false},
    {"[a-c]x", "bx", true},
    {"[!a-c]", "b", false},
    {"[!a-c]", "d", true},
    {"[!a-c]", "", false},
    {"*[0-9]", "worker-7", true},
    {"*[0-9]", "worker-x", false},
    {"[]]", "]", true},
    {"[]a]", "a", true},
    {"[!]]", "]", false},
    {"[!]]", "a", true},
    {"[a-]", "-", true},
    {"[-a]", "-", true},
    {"[c-a]", "b", false},
    {"[\\]]", "]", true},
    {"[\\!a]", "!", true},
    {"[a\\-c]", "b", false},
    {"[a\\-c]", "-", true},
    {"[", "[", true},
    {"[a", "[a", true},
    {"[a", "a", false},
    {"[!", "[!", true},
    {"[]", "[]", true},
    {"[a\\]", "[a\\]", false},
    {"[a\\]", "[a]", true},
    {"\\*", "*", true},
    {"\\*", "x", false},
    {"\\?", "?", true},
    {"\\[a]", "[a]", true},
    {"\\\\", "\\", true},
    {"\\", "\\", true},
    {"a\\", "a\\", true},
    {"*\\*", "ab*", true},
    {"[[]x", "[x", true},
    {"]", "]", true},
    {"a]", "a]", true},
};

static bool matches_bytes(const char *pattern, const unsigned char *text, size_t text_bytes)
{
    struct glob glob;

    memset(&glob, 0x55, sizeof glob);
    glob_make(&glob, pattern);
    return glob_matches(&glob, text, text_bytes);
}

static bool matches(const char *pattern, const char *text)
{
    return matches_bytes(pattern, (const unsigned char *)text, strlen(text));
}

TEST(examples_match_or_do_not)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++)
        if (matches(examples[i].pattern, examples[i].text) != examples[i].matches)
            fail_msg("'%s' against '%s'", examples[i].pattern, examples[i].text);
}

TEST(bytes_are_unsigned_and_may_be_zero)
{
    static const unsigned char text[] = {'a', 0, 0xff, 'b'};

    assert_true(matches_bytes("a*b", text, 4));
    assert_true(matches_bytes("a??b", text, 4));
    assert_true(matches_bytes("a?[\x80-\xff]b", text, 4));
    assert_false(matches_bytes("a", text, 4));
    assert_true(matches_bytes("a", text, 1)); /* the text is not terminated */
}

/* Classes and quotes that are not closed end where the pattern does. */
TEST(nothing_behind_the_pattern_is_read)
{
    static const char *const patterns[] = {"", "[", "[!", "[]", "[!]", "[a-", "[a\\", "\\", "a\\", "*[a-z", "[[", "*"};

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct guarded_copy copy;

        guarded_copy_new(&copy, patterns[i], strlen(patterns[i]) + 1);
        assert_int_equal(matches((const char *)copy.bytes, patterns[i]), patterns[i][0] != '\\' || !patterns[i][1]);
        guarded_copy_free(&copy);
    }
}

/* As long as a name can be, and one more: what is longer than any name matches none, whatever it is made of. */
TEST(patterns_up_to_the_longest_name)
{
    char pattern[QUERY_PATTERN_BYTES] = "", text[RIP_NAME_BYTES + 1];

    memset(text, 'a', RIP_NAME_BYTES);
    text[RIP_NAME_BYTES] = 0;
    for (size_t i = 0; i < RIP_NAME_BYTES; i++)
        strcat(pattern, i % 3 ? "[a]" : "*a");
    assert_true(matches(pattern, text));
    assert_false(matches(pattern, text + 1));
    strcat(pattern, "*");
    assert_true(matches(pattern, text));
    strcat(pattern, "*?"); /* one element too many */
    assert_false(matches(pattern, text));
    memset(pattern, '*', sizeof pattern - 1);
    assert_true(matches(pattern, text));
}

/*
 * Each of these takes exponential, cubic or quadratic time where something is tried again: some twenty seconds of this
 * test where only the last star is widened. Ten times as many names as there can be stalls in a list.
 */
TEST(pathological_patterns_are_quick)
{
    unsigned char text[RIP_NAME_BYTES];
    const clock_t began = clock();
    char pattern[QUERY_PATTERN_BYTES];

    memset(text, 'a', sizeof text);
    for (int round = 0; round < 4; round++) {
        static const char *const pieces[] = {"*a", "a", "[", "[bcdefa]"};
        const size_t length = strlen(pieces[round]);
        struct glob glob;

        memset(pattern, 0, sizeof pattern);
        pattern[0] = '*';
        for (size_t at = 1; at + length < (round == 1 ? 33 : sizeof pattern - 1); at += length)
            memcpy(pattern + at, pieces[round], length);
        strcat(pattern, "b");
        glob_make(&glob, pattern);
        for (unsigned i = 0; i < 655360; i++)
            assert_false(glob_matches(&glob, text, sizeof text));
    }
    assert_true(clock() - began < 5 * CLOCKS_PER_SEC);
}

/* Against the obvious recursive definition, on all short patterns over an alphabet that has everything but classes. */
static bool obvious(const char *pattern, const char *text)
{
    if (*pattern == '*')
        return obvious(pattern + 1, text) || (*text && obvious(pattern, text + 1));
    if (!*pattern || !*text)
        return !*pattern && !*text;
    return (*pattern == '?' || *pattern == *text) && obvious(pattern + 1, text + 1);
}

TEST(agrees_with_the_obvious_definition)
{
    static const char alphabet[] = "ab*?";

    for (unsigned p = 0; p < 1024; p++) {
        char pattern[6] = {0};

        for (unsigned i = 0; i < 5; i++)
            pattern[i] = alphabet[p >> 2 * i & 3];
        for (unsigned t = 0; t < 32; t++) {
            for (unsigned length = 0; length <= 5; length++) {
                char text[6] = {0};

                for (unsigned i = 0; i < length; i++)
                    text[i] = t >> i & 1 ? 'a' : 'b';
                if (matches(pattern, text) != obvious(pattern, text))
                    fail_msg("'%s' against '%s'", pattern, text);
            }
        }
    }
}
