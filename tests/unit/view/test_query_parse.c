/* SPDX-License-Identifier: Apache-2.0 */
/* test_query_parse.c - each parameter is accepted as a whole or refused by name: ripd/view/query_parse.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guarded_copy.h"
#include "support/test.h"
#include "view/query_parse.h"

#define ALL (0xffu | PARAMETER_TRAIL | PARAMETER_UNIT | PARAMETER_CONTAINER)

static void accept_query(const char *text, unsigned allowed, struct query *ret_query)
{
    struct query_error error = {0};

    if (query_parse(text, allowed, ret_query, &error) < 0)
        fail_msg("%s: %s %s", text, error.parameter, error.detail);
}

static void refuse_query(const char *text, unsigned allowed, const char *parameter, const char *part_of_detail)
{
    struct query_error error = {0};
    struct query query = {.pid = 77};

    assert_int_equal(query_parse(text, allowed, &query, &error), -EINVAL);
    if (strcmp(error.parameter, parameter) != 0 || strstr(error.detail, part_of_detail) == NULL)
        fail_msg("%s: %s: %s", text, error.parameter, error.detail);
    assert_int_equal(query.pid, 77); /* untouched */
}

TEST(no_parameters)
{
    struct query query;

    accept_query(NULL, ALL, &query);
    assert_int_equal(query.limit, 100);
    accept_query("", ALL, &query);
    accept_query("&&", ALL, &query);
    assert_int_equal(query.limit, 100);
    assert_false(query.has_trail || query.causes || query.states || query.after.present || query.one);
}

TEST(all_parameters)
{
    struct query query;

    accept_query("ring=check%20out&pid=4690&name=work*%2B+%25&cause=!sleeping&min_ms=250&limit=10000&trail=0&state=idle"
                 "&unit=*.service&container=web1&after=a00000000000003e80000000100000011",
                 ALL, &query);
    assert_string_equal(query.ring, "check out");
    assert_int_equal(query.pid, 4690);
    assert_string_equal(query.name, "work*+ %");
    assert_string_equal(query.unit, "*.service");
    assert_string_equal(query.container, "web1");
    assert_int_equal(query.causes, ~(1u << CAUSE_SLEEPING));
    assert_int_equal(query.min_ns, 250000000);
    assert_int_equal(query.limit, 10000);
    assert_true(query.has_trail);
    assert_int_equal(query.trail_count, 0);
    assert_int_equal(query.states, 1u << ID_IDLE);
    assert_true(query.after.present);
    assert_int_equal(query.after.frozen_since_ns, 1000);
    assert_int_equal(query.after.ring, 1);
    assert_int_equal(query.after.slot, 17);
}

TEST(since)
{
    static const struct {
        const char *text;
        uint64_t wall_ns, ago_ns;
    } cases[] = {
        {"since=2026-11-20T10:41:07%2B01:00", UINT64_C(1795167667000000000), 0},
        {"since=2026-11-20T10:41:07+01:00", UINT64_C(1795167667000000000), 0},
        {"since=10m", 0, UINT64_C(600000000000)},
        {"since=0s", 0, 1},
    };
    struct query query;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        accept_query(cases[i].text, PARAMETER_SINCE, &query);
        if (query.since_wall_ns != cases[i].wall_ns || query.since_ago_ns != cases[i].ago_ns)
            fail_msg("%s: %ju, %ju", cases[i].text, (uintmax_t)query.since_wall_ns, (uintmax_t)query.since_ago_ns);
    }
}

TEST(incident)
{
    struct query query;

    accept_query("incident=a%2a%2F4711", PARAMETER_INCIDENT, &query);
    assert_true(query.has_incident);
    assert_string_equal(query.incident_ring, "a*");
    assert_int_equal(query.incident_id, 4711);
    accept_query("group=incident", PARAMETER_GROUP_STALLS, &query);
    assert_int_equal(query.group, QUERY_GROUP_INCIDENT);
}

/* A name can be longer than a pattern. */
TEST(long_ring)
{
    char text[128] = "ring=";
    struct query query;

    memset(text + 5, 'a', 100);
    accept_query(text, ALL, &query);
    text[104] = '?';
    refuse_query(text, ALL, "ring", "more than 63 elements");
    text[104] = '*';
    refuse_query(text, ALL, "ring", "more than 63 elements");
    text[5 + 64] = '\0';
    text[5 + 63] = '*';
    accept_query(text, ALL, &query);
}

TEST(causes)
{
    struct query query;

    for (int cause = CAUSE_SPINNING; cause < CAUSE_COUNT; cause++) {
        char text[64];

        snprintf(text, sizeof(text), "cause=%s", id_cause_name((enum id_cause)cause));
        accept_query(text, ALL, &query);
        assert_int_equal(query.causes, 1u << cause);
    }
    accept_query("cause=null", ALL, &query);
    assert_int_equal(query.causes, 1u << CAUSE_NONE);
    accept_query("cause=!unknown", ALL, &query);
    assert_int_equal(query.causes, ~(1u << CAUSE_UNKNOWN));
}

TEST(refused)
{
    static const struct {
        const char *text, *detail; /* the text begins with the parameter that is refused */
    } cases[] = {
        {"colour=red", "unknown"},
        {"group=location", "unknown"},
        {"Limit=1", "unknown"},
        {"=1", "unknown"},
        {"limit=0", "from 1 to 10000"},
        {"limit=10001", "from 1 to 10000"},
        {"limit=99999999999999999999999999", "from 1 to 10000"},
        {"limit=-1", "\"-1\""},
        {"limit=+1", "whole number"},
        {"limit=1x", "whole number"},
        {"limit=", "no value"},
        {"limit", "no value"},
        {"limit=1&limit=1", "twice"},
        {"trail=33", "from 0 to 32"},
        {"trail=-1", "whole number"},
        {"limit=1&l%69mit=2", "twice"},
        {"pid=0", "from 1 to 2147483647"},
        {"pid=2147483648", "from 1"},
        {"min_ms=1000000000001", "whole number"},
        {"min_ms=1.5", "whole number"},
        {"cause=", "no value"},
        {"cause=!", "expected"},
        {"cause=!!blocked", "core-dump null"},
        {"cause=Blocked", "spinning"},
        {"state=frozen", "running"},
        {"after=1", "not a cursor"},
        {"after=a00000000000003E80000000100000011", "not a cursor"},
        {"after=b00000000000003e80000000100000011", "not a cursor"},
        {"after=a00000000000003e800000001000000110", "not a cursor"},
        {"name=%", "badly encoded"},
        {"name=%4", "badly encoded"},
        {"name=%zz", "badly encoded"},
        {"name=a%00b", "badly encoded"},
        {"n%ame=1", "badly encoded"},
        {"ring=%2", "badly encoded"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char parameter[32];

        snprintf(parameter, sizeof(parameter), "%.*s", (int)strcspn(cases[i].text, "="), cases[i].text);
        refuse_query(cases[i].text, ALL, parameter, cases[i].detail);
    }
    refuse_query("state=idle", ALL & ~PARAMETER_STATE, "state",
                 "takes ring pid name unit container cause min_ms limit trail after");
    refuse_query("since=yesterday", PARAMETER_SINCE, "since", "or a duration such as 10m");
    refuse_query("since=5", PARAMETER_SINCE, "since", "\"5\"");
    refuse_query("incident=4711", PARAMETER_INCIDENT, "incident", "RING/ID");
    refuse_query("incident=/4711", PARAMETER_INCIDENT, "incident", "RING/ID");
    refuse_query("incident=a/x", PARAMETER_INCIDENT, "incident", "x");
    refuse_query("group=ring", PARAMETER_GROUP_STALLS, "group", "one of location root incident");
    refuse_query("limit=1", 0, "limit", "takes no parameters");
}

TEST(text_that_is_too_long)
{
    char text[1024] = "name=";
    struct query_error error = {0};
    struct query query;

    memset(text + 5, 'a', QUERY_PATTERN_BYTES - 1);
    accept_query(text, ALL, &query);
    assert_int_equal(strlen(query.name), QUERY_PATTERN_BYTES - 1);
    text[5 + QUERY_PATTERN_BYTES - 1] = 'a';
    refuse_query(text, ALL, "name", "longer than 271");
    memset(text, 'b', 600);
    memset(text + 600, 0, sizeof(text) - 600);
    assert_int_equal(query_parse(text, ALL, &query, &error), -EINVAL);
    assert_int_equal(strlen(error.parameter), sizeof(error.parameter) - 1);
}

TEST(cursor)
{
    static const struct query_cursor cursors[] = {
        {true, 0, 0, 0, 0}, {true, 1000, 1, 17, 0}, {true, UINT64_MAX, UINT32_MAX, UINT32_MAX, 0}};

    for (size_t i = 0; i < COUNT_OF(cursors); i++) {
        struct query_cursor parsed;
        char text[CURSOR_TEXT_BYTES];

        cursor_format(&cursors[i], text);
        assert_int_equal(strspn(text, "abcdef0123456789"), strlen(text));
        assert_int_equal(cursor_parse(text, &parsed), 0);
        assert_true(parsed.present);
        assert_int_equal(parsed.frozen_since_ns, cursors[i].frozen_since_ns);
        assert_int_equal(parsed.ring, cursors[i].ring);
        assert_int_equal(parsed.slot, cursors[i].slot);
    }
}

/* No byte behind the text is read. */
TEST(percent_guard_page)
{
    static const char *const texts[] = {"%", "%4", "%41", "a%", "ab%4", "abc%41"};
    char decoded[4];

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        size_t length = strlen(texts[i]);
        struct guarded_copy copy;

        guarded_copy_new(&copy, texts[i], length);
        percent_decode((const char *)copy.bytes, length, false, decoded, sizeof(decoded));
        guarded_copy_free(&copy);
    }
    assert_int_equal(percent_decode("abc%41", 6, false, decoded, sizeof(decoded)), -ENAMETOOLONG);
    assert_int_equal(percent_decode("a+%2b", 5, false, decoded, sizeof(decoded)), 0);
    assert_string_equal(decoded, "a++");
}
