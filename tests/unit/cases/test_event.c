/* SPDX-License-Identifier: Apache-2.0 */
/* test_event.c - names, references, and which events a query matches: ripd/cases/event.c. */
#include "support/test.h"
#include "unit/event_samples.h"

TEST(names)
{
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        assert_int_equal(event_kind_from_name(event_kind_name((enum event_kind)kind)), kind);
    for (int reason = 0; reason < EVENT_REASON_COUNT; reason++)
        assert_int_equal(event_reason_from_name(event_reason_name((enum event_reason)reason)), reason);
    assert_string_equal(event_kind_name(EVENT_END), "end");
    assert_string_equal(event_reason_name(EVENT_REASON_UNWATCHED), "unwatched");
    assert_int_equal(event_kind_from_name("begins"), -1);
    assert_int_equal(event_kind_from_name(""), -1);
    assert_int_equal(event_reason_from_name("move"), -1);
}

TEST(references)
{
    struct event *event = sample_begin(1, 1); /* AddressSanitizer reports what is not freed */

    assert_ptr_equal(event_ref(event), event);
    event_unref(event);
    assert_int_equal(event->sequence, 1);
    event_unref(event);
    event_unref(NULL);
}

static bool shows(const struct query *query, const struct event *event)
{
    struct query_filter filter;

    query_filter_make(&filter, query);
    return query_matches_event(&filter, event);
}

/* Whether a query with this condition matches the event. */
#define SHOWS(condition, shown)                                                                                        \
    do {                                                                                                               \
        query_init(&query);                                                                                            \
        condition;                                                                                                     \
        assert_int_equal(shows(&query, event), shown);                                                                 \
    } while (0)

TEST(query)
{
    struct event *event = sample_begin(1, 1);
    struct query query;

    SHOWS(, true);
    SHOWS(strcpy(query.ring, "checkout"), true);
    SHOWS(strcpy(query.ring, "checkout~2"), false);
    SHOWS(strcpy(query.ring, "check*"), true);
    SHOWS(query.since_wall_ns = event->at_wall_ns, true);
    SHOWS(query.since_wall_ns = event->at_wall_ns + 1, false);
    SHOWS((query.since_ago_ns = 1000, query = query_at(&query, event->at_wall_ns + 1000)), true);
    SHOWS((query.since_ago_ns = 1000, query = query_at(&query, event->at_wall_ns + 1001)), false);
    SHOWS(query.pid = 4690, true);
    SHOWS(query.pid = 4691, false);
    SHOWS(query.causes = 1u << CAUSE_BLOCKED, true);
    SHOWS(query.causes = 1u << CAUSE_NONE, false);
    SHOWS(query.causes = ~(1u << CAUSE_BLOCKED), false);
    SHOWS(query.causes = ~(1u << CAUSE_SLEEPING), true);
    free(event->unit);
    event->unit = strdup("checkout@80.service");
    SHOWS(strcpy(query.unit, "checkout@*.service"), true);
    SHOWS(strcpy(query.unit, "checkout"), false);
    SHOWS(strcpy(query.container, "*"), false);
    event->container = strdup("web1");
    SHOWS(strcpy(query.container, "web?"), true);
    SHOWS(strcpy(query.container, "web2"), false);
    SHOWS(query.min_ns = event->duration_ns, true);
    SHOWS(query.min_ns = event->duration_ns + 1, false);
    SHOWS(strcpy(query.name, "work*"), true);
    SHOWS(strcpy(query.name, "*18"), false);
    event_unref(event);
}
