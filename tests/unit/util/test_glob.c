/* SPDX-License-Identifier: Apache-2.0 */
/* test_glob.c - patterns that match, that do not, and that are made to take long: ripd/util/glob.c. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases/query.h"
#include "support/guarded_copy.h"
#include "support/test.h"
#include "util/glob.h"

/* Pairs of a pattern and a text. */
static const char *const matching[][2] = {
    {"", ""},
    {"*", ""},
    {"*", "anything"},
    {"**", "anything"},
    {"?", "a"},
    {"worker-*", "worker-17"},
    {"worker-*", "worker-"},
    {"*-17", "worker-17"},
    {"*-17", "worker-17-17"},
    {"w*r*-1?", "worker-17"},
    {"*a*b", "aXbXab"},
    {"a*b*c", "abcbc"},
    {"[abc]", "b"},
    {"[a-c]x", "bx"},
    {"[!a-c]", "d"},
    {"*[0-9]", "worker-7"},
    {"[]]", "]"},
    {"[]a]", "a"},
    {"[!]]", "a"},
    {"[a-]", "-"},
    {"[-a]", "-"},
    {"[\\]]", "]"},
    {"[\\!a]", "!"},
    {"[a\\-c]", "-"},
    {"[", "["},
    {"[a", "[a"},
    {"[!", "[!"},
    {"[]", "[]"},
    {"[a\\]", "[a]"},
    {"\\*", "*"},
    {"\\?", "?"},
    {"\\[a]", "[a]"},
    {"\\\\", "\\"},
    {"\\", "\\"},
    {"a\\", "a\\"},
    {"*\\*", "ab*"},
    {"[[]x", "[x"},
    {"]", "]"},
    {"a]", "a]"},
};
static const char *const different[][2] = {
    {"", "a"},
    {"a", ""},
    {"?", ""},
    {"?", "ab"},
    {"worker-*", "worker"},
    {"*-17", "worker-171"},
    {"w*r*-1?", "worker-1"},
    {"a*b*c", "acb"},
    {"[abc]", "d"},
    {"[!a-c]", "b"},
    {"[!a-c]", ""},
    {"*[0-9]", "worker-x"},
    {"[!]]", "]"},
    {"[c-a]", "b"},
    {"[a\\-c]", "b"},
    {"[a", "a"},
    {"[a\\]", "[a\\]"},
    {"\\*", "x"},
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

TEST(examples)
{
    for (size_t i = 0; i < COUNT_OF(matching); i++)
        if (!matches(matching[i][0], matching[i][1]))
            fail_msg("'%s' does not match '%s'", matching[i][0], matching[i][1]);
    for (size_t i = 0; i < COUNT_OF(different); i++)
        if (matches(different[i][0], different[i][1]))
            fail_msg("'%s' matches '%s'", different[i][0], different[i][1]);
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

/* Classes and escapes that are not closed end with the pattern. */
TEST(nothing_after_the_pattern_is_read)
{
    static const char *const patterns[] = {"", "[", "[!", "[]", "[!]", "[a-", "[a\\", "\\", "a\\", "*[a-z", "[[", "*"};

    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        struct guarded_copy copy;

        guarded_copy_new(&copy, patterns[i], strlen(patterns[i]) + 1);
        assert_int_equal(matches((const char *)copy.bytes, patterns[i]), patterns[i][0] != '\\' || !patterns[i][1]);
        guarded_copy_free(&copy);
    }
}

/* A pattern that needs more bytes than a name may have matches no name. */
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
 * With backtracking these patterns take exponential, cubic or quadratic time: some twenty seconds even if only the last
 * star is tried again. The number of names is ten times that of the stalls in a list.
 */
TEST(slow_patterns)
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

/* The recursive definition of a pattern without classes. */
static bool by_definition(const char *pattern, const char *text)
{
    if (*pattern == '*')
        return by_definition(pattern + 1, text) || (*text && by_definition(pattern, text + 1));
    if (!*pattern || !*text)
        return !*pattern && !*text;
    return (*pattern == '?' || *pattern == *text) && by_definition(pattern + 1, text + 1);
}

TEST(all_short_patterns_match_by_definition)
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
                if (matches(pattern, text) != by_definition(pattern, text))
                    fail_msg("'%s' against '%s'", pattern, text);
            }
        }
    }
}
