/* SPDX-License-Identifier: Apache-2.0 */
/* test_preferences.c - Accept, If-None-Match and Last-Event-ID, right and wrong. No byte behind them is read. */
#include <stdbool.h>

#include <string.h>

#include "net/preferences.h"
#include "support/guarded_copy.h"
#include "support/test.h"

#define OURS(version) "\"0123456789abcdef-" version "-00000000000000aa\""

static struct guarded_copy copy;

/* Reading behind the value is a fault. Valid until the next call. */
static struct field field_of(const char *value, unsigned count)
{
    guarded_copy_free(&copy);
    guarded_copy_new(&copy, value, strlen(value));
    return (struct field){count, {(const char *)copy.bytes, strlen(value)}};
}

TEST(accept)
{
    static const struct {
        const char *value;
        bool stream;
    } cases[] = {
        {"", false},
        {"*/*", false},
        {"text/*", false},
        {"text/html,application/xhtml+xml,*/*;q=0.8", false},
        {"application/json", false},
        {"text/event-stream", true},
        {"Text/Event-Stream", true},
        {"text/event-stream ; charset=utf-8", true},
        {"*/*, text/event-stream", true},
        {"text/event-stream, application/json;q=0.9", false}, /* a client that can read both gets the list */
        {",,,text/event-stream,,", true},
        {"text/event-streams", false},
        {";q=1", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (preference_is_stream(field_of(cases[i].value, 1).value) != cases[i].stream)
            fail_msg("%s", cases[i].value);
}

TEST(if_none_match)
{
    static const struct {
        const char *value;
        bool names;
    } cases[] = {
        {"", false},
        {"*", false},
        {"W/" OURS("1a5"), true},
        {OURS("1a5"), true}, /* weak comparison */
        {OURS("1a6"), false},
        {"\"other\", W/\"\", " OURS("1a6") " ,W/" OURS("1a5"), true},
        {"0123456789abcdef-1a5-00000000000000aa", false},
        {"\"0123456789abcdee-1a5-00000000000000aa\"", false}, /* of another run */
        {"\"0123456789abcdef-1a5-00000000000000aaa\"", false},
        {"\"0123456789ABCDEF-1a5-00000000000000aa\"", false},
    };
    char tag[ETAG_TEXT_BYTES];

    etag_format(UINT64_C(0x0123456789abcdef), 0x1a5, 0xaa, tag);
    assert_string_equal(tag, "W/" OURS("1a5"));
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (preference_names_tag(field_of(cases[i].value, 1).value, tag) != cases[i].names)
            fail_msg("%s", cases[i].value);
    etag_format(UINT64_MAX, UINT64_MAX, UINT64_MAX, tag);
    assert_true(strlen(tag) < ETAG_TEXT_BYTES - 1);
}

TEST(last_event)
{
    static const struct {
        const char *value;
        unsigned count;
        bool given, known;
        uint64_t epoch, sequence;
    } cases[] = {
        {"", 0, false, false, 0, 0},
        {"", 1, false, false, 0, 0},
        {"0123456789abcdef-42", 1, true, true, UINT64_C(0x0123456789abcdef), 42},
        {"0000000000000000-0", 1, true, true, 0, 0},
        {"0-0", 1, true, false, 0, 0},
        {"ffffffffffffffff-9999999999999999999", 1, true, true, UINT64_MAX, UINT64_C(9999999999999999999)},
        {"0123456789abcdef-42", 2, true, false, 0, 0}, /* two fields are ambiguous */
        {"42", 1, true, false, 0, 0},
        {"-000000000000042-42", 1, true, false, 0, 0},
        {"000000000000000a-", 1, true, false, 0, 0},
        {"000000000000000a-4-2", 1, true, false, 0, 0},
        {"000000000000000A-42", 1, true, false, 0, 0},
        {"000000000000000a-4f", 1, true, false, 0, 0},
        {"00123456789abcdef-42", 1, true, false, 0, 0},
        {"000000000000000a-20000000000000000000", 1, true, false, 0, 0},
    };
    char text[EVENT_ID_BYTES];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct field field = field_of(cases[i].value, cases[i].count);
        struct last_event event = last_event_parse(&field);

        if (event.given != cases[i].given || event.known != cases[i].known ||
            (event.known && (event.epoch != cases[i].epoch || event.sequence != cases[i].sequence)))
            fail_msg("%s", cases[i].value);
    }
    event_id_format(UINT64_MAX, UINT64_MAX, text);
    assert_true(strlen(text) < EVENT_ID_BYTES - 1);
    event_id_format(10, 42, text);
    assert_string_equal(text, "000000000000000a-42");
}
