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
    /* clang-format off */
    static const char *const streams[] = {
        "text/event-stream", "Text/Event-Stream", "text/event-stream ; charset=utf-8", "*/*, text/event-stream",
        ",,,text/event-stream,,",
    };
    /* A client that accepts both gets the list. */
    static const char *const lists[] = {
        "", "*/*", "text/*", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json",
        "text/event-stream, application/json;q=0.9", "text/event-streams", ";q=1",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(streams); i++)
        if (!preference_is_stream(field_of(streams[i], 1).value))
            fail_msg("no stream for %s", streams[i]);
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        if (preference_is_stream(field_of(lists[i], 1).value))
            fail_msg("a stream for %s", lists[i]);
}

/* The comparison is weak. A tag of another run or version does not match. */
TEST(if_none_match)
{
    static const char *const matching[] = {
        "W/" OURS("1a5"),
        OURS("1a5"),
        "\"other\", W/\"\", " OURS("1a6") " ,W/" OURS("1a5"),
    };
    static const char *const others[] = {
        "",
        "*",
        OURS("1a6"),
        "0123456789abcdef-1a5-00000000000000aa",
        "\"0123456789abcdee-1a5-00000000000000aa\"",
        "\"0123456789abcdef-1a5-00000000000000aaa\"",
        "\"0123456789ABCDEF-1a5-00000000000000aa\"",
    };
    char tag[ETAG_TEXT_BYTES];

    etag_format(UINT64_C(0x0123456789abcdef), 0x1a5, 0xaa, tag);
    assert_string_equal(tag, "W/" OURS("1a5"));
    for (size_t i = 0; i < COUNT_OF(matching); i++)
        if (!preference_names_tag(field_of(matching[i], 1).value, tag))
            fail_msg("%s does not match", matching[i]);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (preference_names_tag(field_of(others[i], 1).value, tag))
            fail_msg("%s matches", others[i]);
    etag_format(UINT64_MAX, UINT64_MAX, UINT64_MAX, tag);
    assert_true(strlen(tag) < ETAG_TEXT_BYTES - 1);
}

static struct last_event last_event_of(const char *value, unsigned count)
{
    struct field field = field_of(value, count);

    return last_event_parse(&field);
}

TEST(last_event)
{
    static const struct {
        const char *value;
        uint64_t epoch, sequence;
    } known[] = {
        {"0123456789abcdef-42", UINT64_C(0x0123456789abcdef), 42},
        {"0000000000000000-0", 0, 0},
        {"ffffffffffffffff-9999999999999999999", UINT64_MAX, UINT64_C(9999999999999999999)},
    };
    static const char *const unknown[] = {
        "0-0",
        "42",
        "-000000000000042-42",
        "000000000000000a-",
        "000000000000000a-4-2",
        "000000000000000A-42",
        "000000000000000a-4f",
        "00123456789abcdef-42",
        "000000000000000a-20000000000000000000",
    };
    char text[EVENT_ID_BYTES];

    assert_false(last_event_of("", 0).given);
    assert_false(last_event_of("", 1).given);
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct last_event event = last_event_of(known[i].value, 1);

        if (!event.given || !event.known || event.epoch != known[i].epoch || event.sequence != known[i].sequence)
            fail_msg("not read as an event: %s", known[i].value);
    }
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        if (!last_event_of(unknown[i], 1).given || last_event_of(unknown[i], 1).known)
            fail_msg("not an unknown event: %s", unknown[i]);
    assert_false(last_event_of(known[0].value, 2).known); /* two fields are ambiguous */
    event_id_format(UINT64_MAX, UINT64_MAX, text);
    assert_true(strlen(text) < EVENT_ID_BYTES - 1);
    event_id_format(10, 42, text);
    assert_string_equal(text, "000000000000000a-42");
}
