/* SPDX-License-Identifier: Apache-2.0 */
/* test_handlers_events.c - /events as a list: order, filters, pages, and events that are no longer held. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"
#include "unit/json_at.h"

static void start_with_events(uint64_t count)
{
    publish_events(1, count, 10);
    publish(1, 0);
    world_start(NULL);
}

/* The caller releases the list. */
static json_t *get_events(const char *parameters)
{
    char target[256];

    snprintf(target, sizeof(target), "/events%s", parameters);
    assert_int_equal(get(target), 200);
    assert_field("Content-Type", "application/json");
    return reply_json();
}

static uint64_t sequence_at(json_t *root, size_t i)
{
    return json_number_at(json_array_get(json_at(root, "events"), i), "sequence");
}

TEST(newest_first, world_prepare, world_tear_down)
{
    json_t *root;

    start_with_events(10);
    root = get_events("");
    assert_json_text(root, "schema", "ripd/events/1");
    assert_json_text(root, "epoch", EPOCH_TEXT);
    assert_json(root, "total", "10");
    assert_json(root, "returned", "10");
    assert_json(root, "oldest", "1");
    assert_json(root, "newest", "10");
    assert_json(root, "forgotten", "0");
    assert_json(root, "suppressed", "0");
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(sequence_at(root, i), 10 - i);
    assert_json(root, "next", NULL);
    assert_json(root, "counts/running", "9120");
    json_decref(root);
}

TEST(none_yet, world_prepare, world_tear_down)
{
    json_t *root;

    start_with_events(0);
    root = get_events("");
    assert_json(root, "total", "0");
    assert_json(root, "oldest", "null");
    assert_json(root, "newest", "null");
    assert_json(root, "forgotten", "0");
    json_decref(root);
}

TEST(filters, world_prepare, world_tear_down)
{
    static const struct {
        const char *parameters;
        uint64_t total, first;
    } cases[] = {
        {"?kind=begin", 6, 11},
        {"?kind=end", 6, 12},
        {"?cause=blocked", 4, 12},
        {"?cause=!blocked", 8, 11},
        {"?pid=7", 1, 7},
        {"?name=worker-1*", 4, 12},
        {"?min_ms=10", 3, 12},
        {"?ring=checkout&kind=end&cause=blocked", 2, 12},
        {"?ring=other", 0, 0},
        {"?after=5", 12, 4},
        {"?ring=check*", 12, 12},
        {"?since=2026-11-20T09:41:10Z", 3, 12},
        {"?since=2026-11-20T09:41:12.001Z", 0, 0},
        {"?since=1s", 7, 12}, /* before the scan, which was at 09:41:06.940 */
        {"?since=10m&kind=begin", 6, 11},
    };

    start_with_events(12);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *root = get_events(cases[i].parameters);

        if (json_number_at(root, "total") != cases[i].total ||
            (cases[i].total != 0 && sequence_at(root, 0) != cases[i].first))
            fail_msg("%s: %s", cases[i].parameters, reply.body);
        json_decref(root);
    }
}

TEST(bad_parameters, world_prepare, world_tear_down)
{
    static const char *const targets[] = {
        "/events?kind=middle", "/events?kind=",    "/events?after=a0",
        "/events?after=0",     "/events?after=-1", "/events?after=99999999999999999999",
        "/events?state=idle",  "/stalls?after=5" /* the cursor of another list */};

    start_with_events(2);
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        get(targets[i]);
        assert_problem(400);
    }
}

/* Page by page, while new events come: each earlier event is shown once. */
TEST(pages, world_prepare, world_tear_down)
{
    char parameters[64] = "?limit=7";
    uint64_t expected = 100;
    json_t *root, *next;

    start_with_events(100);
    do {
        root = get_events(parameters);
        for (size_t i = 0; i < json_number_at(root, "returned"); i++)
            assert_int_equal(sequence_at(root, i), expected--);
        publish_events(1000 - expected, 1000 - expected, 10);
        next = json_at(root, "next");
        if (next != NULL)
            snprintf(parameters, sizeof(parameters), "?limit=7&after=%s", json_string_value(next));
        json_decref(root);
    } while (next != NULL);
    assert_int_equal(expected, 0);
}

TEST(forgotten, world_prepare, world_tear_down)
{
    json_t *root;

    start_with_events(EVENT_STORE_COUNT_MAX + 5);
    root = get_events("?limit=1");
    assert_int_equal(json_number_at(root, "total"), EVENT_STORE_COUNT_MAX);
    assert_json(root, "oldest", "6");
    assert_json(root, "forgotten", "5");
    json_decref(root);
}

TEST(before_the_first_scan, world_set_up, world_tear_down)
{
    assert_int_equal(get("/events"), 503);
}
