/* SPDX-License-Identifier: Apache-2.0 */
/* test_wishes.c - Accept, If-None-Match and Last-Event-ID, right and wrong, and no byte read beyond them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/wishes.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define INSTANCE UINT64_C(0x0123456789abcdef)
#define OURS(version) "\"0123456789abcdef-" version "-00000000000000aa\""

/* A copy whose end is the end of what may be read. */
static struct span at_the_edge(const char *text)
{
    static char *pages;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t length = strlen(text);

    if (pages == NULL) {
        pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(pages, MAP_FAILED);
        assert_int_equal(mprotect(pages + page_bytes, page_bytes, PROT_NONE), 0);
    }
    memcpy(pages + page_bytes - length, text, length);
    return (struct span){pages + page_bytes - length, length};
}

static void test_accept(void **state)
{
    static const struct {
        const char *value;
        bool stream;
    } rows[] = {
        {"", false},
        {"*/*", false},
        {"text/*", false},
        {"text/html,application/xhtml+xml,*/*;q=0.8", false},
        {"application/json", false},
        {"text/event-stream", true},
        {"Text/Event-Stream", true},
        {"text/event-stream;charset=utf-8", true},
        {"text/event-stream, */*", true},
        {"*/*, text/event-stream", true},
        {"text/event-stream, application/json", false},
        {"text/event-stream, application/json;q=0.9", true},
        {"text/event-stream;q=0.9, application/json", false},
        {"text/event-stream;q=0.9, application/json;q=0.5, */*", true},
        {"text/event-stream;q=0.5, application/*;q=0.6", false},
        {"text/event-stream;q=0", false},
        {"text/event-stream;q=0.000, */*;q=0", false},
        {"text/event-stream;q=0.001", true},
        {"text/event-stream;q=1.001", false},
        {"text/event-stream;q=2", false},
        {"text/event-stream;q=", false},
        {"text/event-stream;q=0.12345", false},
        {"text/event-stream;q=.5", false},
        {"text/event-stream ; Q=0.5 , application/json ; q=0.4", true},
        {"text/event-stream;x=\"a,b;q=0\"", true},
        {"a/b;x=\"text/event-stream", false},
        {"a/b;x=\"\\", false},
        {",,,text/event-stream,,", true},
        {"text/event-streams", false},
        {";q=1", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (accept_prefers_stream(at_the_edge(rows[i].value)) != rows[i].stream)
            fail_msg("%s", rows[i].value);
}

static void test_if_none_match(void **state)
{
    static const struct {
        const char *value;
        size_t count;
        bool any;
        bool names; /* version 1a5 */
    } rows[] = {
        {"", 0, false, false},
        {"*", 0, true, false},
        {"W/" OURS("1a5"), 1, false, true},
        {OURS("1a5"), 1, false, true}, /* weak comparison */
        {OURS("1a6"), 1, false, false},
        {"\"other\", W/\"\", " OURS("1a6") " ,W/" OURS("1a5"), 2, false, true},
        {", ,\t" OURS("1a5") ",", 1, false, true},
        {"\"a,b\"," OURS("1a5"), 1, false, true},
        {OURS("1a5") " " OURS("1a5"), 0, false, false},
        {OURS("1a5") ", *", 0, false, false},
        {"*, " OURS("1a5"), 0, false, false},
        {"w/" OURS("1a5"), 0, false, false},
        {OURS("1a5") ", \"open", 0, false, false},
        {"W/", 0, false, false},
        {"\"", 0, false, false},
        {"0123456789abcdef-1a5-00000000000000aa", 0, false, false},
        {"\"0123456789abcdee-1a5-00000000000000aa\"", 0, false, false}, /* of another run */
        {"\"0123456789abcdef-1a5-0000000000000aa\"", 0, false, false},
        {"\"0123456789abcdef-1a5-00000000000000aaa\"", 0, false, false},
        {"\"0123456789ABCDEF-1a5-00000000000000aa\"", 0, false, false},
        {"\"0123456789abcdef--00000000000000aa\"", 0, false, false},
    };
    const struct etag tag = {.version = 0x1a5, .question = 0xaa};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct condition condition;

        condition_parse(at_the_edge(rows[i].value), INSTANCE, &condition);
        if (condition.count != rows[i].count || condition.any != rows[i].any ||
            condition_names(&condition, &tag) != rows[i].names)
            fail_msg("%s", rows[i].value);
    }
}

/* What is written is read again; of too many the first are kept. */
static void test_tags_there_and_back(void **state)
{
    char list[2048] = "";
    struct condition condition;
    struct etag tag = {.question = UINT64_MAX};

    (void)state;
    for (uint64_t i = 0; i < 2 * CONDITION_TAGS_MAX; i++) {
        tag.version = UINT64_MAX - i;
        etag_format(INSTANCE, &tag, list + strlen(list));
        strcat(list, ",");
    }
    condition_parse(at_the_edge(list), INSTANCE, &condition);
    assert_int_equal(condition.count, CONDITION_TAGS_MAX);
    assert_false(condition_names(&condition, &tag));
    tag.version = UINT64_MAX;
    assert_true(condition_names(&condition, &tag));
}

static void test_last_event_id(void **state)
{
    static const struct {
        const char *value;
        bool known;
        uint64_t epoch;
        uint64_t sequence;
    } rows[] = {
        {"0000000000000abc-17", true, 0xabc, 17},
        {"0000000000000abc-0", true, 0xabc, 0},
        {"ffffffffffffffff-9999999999999999999", true, UINT64_MAX, UINT64_C(9999999999999999999)},
        {"0000000000000abc-99999999999999999999", false, 0, 0},
        {"00000000000000abc-17", false, 0, 0},
        {"abc-1", false, 0, 0},
        {"0000000000000abc-", false, 0, 0},
        {"-17", false, 0, 0},
        {"17", false, 0, 0},
        {"0000000000000abc-17 ", false, 0, 0},
        {"0000000000000ABC-17", false, 0, 0},
        {"0000000000000abc-1-7", false, 0, 0},
        {"\xff\xfe", false, 0, 0},
    };
    char text[EVENT_ID_BYTES];
    struct last_event event;

    (void)state;
    last_event_parse(at_the_edge(""), &event);
    assert_false(event.given);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        last_event_parse(at_the_edge(rows[i].value), &event);
        assert_true(event.given);
        if (event.known != rows[i].known ||
            (event.known && (event.epoch != rows[i].epoch || event.sequence != rows[i].sequence)))
            fail_msg("%s", rows[i].value);
    }
    event_id_format(UINT64_MAX, UINT64_C(9999999999999999999), text);
    assert_string_equal(text, rows[2].value);
}

/* Of a field that came twice nothing is believed. */
static void test_fields_given_twice(void **state)
{
    struct http_request request = {0};
    struct wishes wishes;

    (void)state;
    request.fields[FIELD_ACCEPT] = (struct field){1, {"text/event-stream", 17}};
    request.fields[FIELD_IF_NONE_MATCH] = (struct field){1, {"*", 1}};
    request.fields[FIELD_LAST_EVENT_ID] = (struct field){1, {"0000000000000abc-1", 18}};
    wishes_read(&request, INSTANCE, &wishes);
    assert_true(wishes.stream && wishes.condition.any && wishes.last_event.known);
    for (int i = 0; i < FIELD_COUNT; i++)
        request.fields[i].count *= 2;
    wishes_read(&request, INSTANCE, &wishes);
    assert_false(wishes.stream || wishes.condition.any || wishes.last_event.known);
    assert_true(wishes.last_event.given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_if_none_match),
        cmocka_unit_test(test_tags_there_and_back),
        cmocka_unit_test(test_last_event_id),
        cmocka_unit_test(test_fields_given_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
