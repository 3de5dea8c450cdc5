/* SPDX-License-Identifier: Apache-2.0 */
/* test_handlers_events.c - /events as a list: order, filters, pages, and what is no longer held. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"
#include "unit/sample_event.h"

#define EPOCH UINT64_C(0xabc)

static void open_with_events(struct world *world, uint64_t first, uint64_t last, size_t text_bytes)
{
    world_make(world, "127.0.0.1:0");
    http_set_epoch(world->http, EPOCH);
    for (uint64_t i = first; i <= last; i++) {
        struct event *event = sample_event(i, text_bytes);

        http_publish_event(world->http, event);
        event_unref(event);
    }
    publish(world, 1, 0);
    assert_int_equal(http_start(world->http), 0);
}

static json_t *get_events(struct world *world, const char *question)
{
    char request[512];
    struct reply reply;
    json_t *root;

    snprintf(request, sizeof(request), "GET /events%s HTTP/1.1\r\n" HOST "\r\n", question);
    assert_int_equal(client_ask(world->address, request, &reply), 200);
    assert_true(reply_has(&reply, "Content-Type", "application/json"));
    root = json_loads(reply.body, 0, NULL);
    assert_non_null(root);
    free(reply.body);
    return root;
}

static uint64_t number_of(json_t *root, const char *key)
{
    json_t *value = json_object_get(root, key);

    return json_is_null(value) ? UINT64_MAX : (uint64_t)json_integer_value(value);
}

static uint64_t sequence_at(json_t *root, size_t i)
{
    return number_of(json_array_get(json_object_get(root, "events"), i), "sequence");
}

TEST(newest_first)
{
    struct world world;
    json_t *root;

    open_with_events(&world, 1, 10, 10);
    root = get_events(&world, "");
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "ripd/events/1");
    assert_string_equal(json_string_value(json_object_get(root, "epoch")), "0000000000000abc");
    assert_int_equal(number_of(root, "total"), 10);
    assert_int_equal(number_of(root, "returned"), 10);
    assert_int_equal(number_of(root, "oldest"), 1);
    assert_int_equal(number_of(root, "newest"), 10);
    assert_int_equal(number_of(root, "forgotten"), 0);
    assert_int_equal(number_of(root, "suppressed"), 0);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(sequence_at(root, i), 10 - i);
    assert_null(json_object_get(root, "next"));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "counts"), "running")), 9120);
    json_decref(root);
    world_close(&world);
}

TEST(none_yet)
{
    struct world world;
    json_t *root;

    open_with_events(&world, 1, 0, 0);
    root = get_events(&world, "");
    assert_int_equal(number_of(root, "total"), 0);
    assert_int_equal(number_of(root, "oldest"), UINT64_MAX);
    assert_int_equal(number_of(root, "newest"), UINT64_MAX);
    assert_int_equal(number_of(root, "forgotten"), 0);
    json_decref(root);
    world_close(&world);
}

TEST(filters)
{
    static const struct {
        const char *question;
        uint64_t total;
        uint64_t first;
    } rows[] = {
        {"?kind=begin", 6, 11},
        {"?kind=end", 6, 12},
        {"?cause=blocked", 4, 12},
        {"?cause=!blocked", 8, 11},
        {"?pid=7", 1, 7},
        {"?name=worker-1*", 4, 12},
        {"?min_ms=10", 3, 12},
        {"?ring=checkout&kind=end&cause=blocked", 2, 12},
        {"?ring=other", 0, UINT64_MAX},
        {"?after=5", 12, 4},
        {"?ring=check*", 12, 12},
        {"?since=2026-11-20T09:41:10Z", 3, 12},
        {"?since=2026-11-20T09:41:12.001Z", 0, UINT64_MAX},
        {"?since=1s", 7, 12}, /* before the scan, which was at 09:41:06.940 */
        {"?since=10m&kind=begin", 6, 11},
    };
    struct world world;

    open_with_events(&world, 1, 12, 10);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        json_t *root = get_events(&world, rows[i].question);

        if (number_of(root, "total") != rows[i].total)
            fail_msg("%s: %llu", rows[i].question, (unsigned long long)number_of(root, "total"));
        if (rows[i].first != UINT64_MAX)
            assert_int_equal(sequence_at(root, 0), rows[i].first);
        json_decref(root);
    }
    world_close(&world);
}

TEST(bad_parameters)
{
    static const char *const questions[] = {
        "kind=middle", "kind=", "after=a0", "after=0", "after=-1", "state=idle", "after=99999999999999999999"};
    struct world world;

    open_with_events(&world, 1, 2, 10);
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        char request[256];
        struct reply reply;

        snprintf(request, sizeof(request), "GET /events?%s HTTP/1.1\r\n" HOST "\r\n", questions[i]);
        client_ask(world.address, request, &reply);
        assert_problem(&reply, 400);
        free(reply.body);
    }
    assert_int_equal(ask(&world, GET("/stalls?after=5")), 400); /* another list's cursor */
    world_close(&world);
}

/* Page by page, while others come: each that was there is shown once. */
TEST(pages)
{
    struct world world;
    char question[64] = "?limit=7";
    uint64_t expected = 100;

    open_with_events(&world, 1, 100, 10);
    for (;;) {
        struct event *event = sample_event(1000 - expected, 10);
        json_t *root = get_events(&world, question);

        for (size_t i = 0; i < number_of(root, "returned"); i++)
            assert_int_equal(sequence_at(root, i), expected--);
        http_publish_event(world.http, event);
        event_unref(event);
        if (json_object_get(root, "next") == NULL) {
            json_decref(root);
            break;
        }
        snprintf(question, sizeof(question), "?limit=7&after=%s", json_string_value(json_object_get(root, "next")));
        json_decref(root);
    }
    assert_int_equal(expected, 0);
    world_close(&world);
}

TEST(forgotten)
{
    struct world world;
    json_t *root;

    open_with_events(&world, 1, EVENT_STORE_COUNT_MAX + 5, 10);
    root = get_events(&world, "?limit=1");
    assert_int_equal(number_of(root, "total"), EVENT_STORE_COUNT_MAX);
    assert_int_equal(number_of(root, "oldest"), 6);
    assert_int_equal(number_of(root, "forgotten"), 5);
    json_decref(root);
    world_close(&world);
}

TEST(before_the_first_scan)
{
    struct world world;

    world_open(&world);
    assert_int_equal(ask(&world, GET("/events")), 503);
    world_close(&world);
}
