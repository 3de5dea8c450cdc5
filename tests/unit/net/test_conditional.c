/* SPDX-License-Identifier: Apache-2.0 */
/* test_conditional.c - a client that already has the list gets 304, and only such a client: ripd/net/handlers.c. */
#include <stdbool.h>

#include "net/preferences.h"
#include "support/test.h"
#include "unit/http_world.h"

/* One connection: an unexpected body would be read as the next reply. */
static struct client client;

static int set_up(void **state)
{
    world_set_up(state);
    publish_and_wait(1, 3);
    client = client_open(world.address);
    return 0;
}

static int tear_down(void **state)
{
    client_close(&client);
    return world_tear_down(state);
}

/* tags is the value of If-None-Match, or NULL. Returns the status. */
static int request(const char *method, const char *path, const char *tags)
{
    char text[1024];

    snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\n" HOST "%s%s%s\r\n", method, path,
             tags == NULL ? "" : "If-None-Match: ", tags == NULL ? "" : tags, tags == NULL ? "" : "\r\n");
    client_send(&client, text);
    assert_true(client_receive_any(&client, strcmp(method, "HEAD") == 0));
    return reply.status;
}

static void copy_tag(char ret_tag[ETAG_TEXT_BYTES])
{
    const char *found = reply_field("ETag");

    assert_non_null(found);
    snprintf(ret_tag, ETAG_TEXT_BYTES, "%.*s", (int)strcspn(found, "\r"), found);
}

static void assert_not_modified(const char *method, const char *path, const char *tags, const char *tag)
{
    assert_int_equal(request(method, path, tags), 304);
    assert_int_equal(client.count, 0);
    assert_null(reply_field("Content-Type"));
    assert_null(reply_field("Content-Length"));
    assert_field("Cache-Control", "private, no-cache");
    assert_field("ETag", tag);
}

TEST(the_same_scan, set_up, tear_down)
{
    static const char *const paths[] = {"/stalls", "/rings", "/stalls?limit=1", "/events"};
    struct health_http health;

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        char tag[ETAG_TEXT_BYTES];
        char list[1024];

        assert_int_equal(request("GET", paths[i], NULL), 200);
        assert_field("Cache-Control", "private, no-cache");
        copy_tag(tag);
        assert_memory_equal(tag, "W/\"", 3);
        snprintf(list, sizeof(list), "\"x\", W/\"y\", %s, \"z\"", tag);
        assert_not_modified("GET", paths[i], tag, tag);
        assert_not_modified("HEAD", paths[i], tag, tag);
        assert_not_modified("GET", paths[i], "*", tag);
        assert_not_modified("GET", paths[i], tag + 2, tag); /* as a strong tag */
        assert_not_modified("GET", paths[i], list, tag);
        assert_int_equal(request("GET", paths[i], "\"x\""), 200);
        assert_int_equal(request("GET", "/stalls?limit=2", tag), 200); /* another list */
    }
    http_stop(world.http);
    http_health(world.http, &health);
    assert_int_equal(health.not_modified_count, 5 * COUNT_OF(paths));
}

TEST(the_next_scan, set_up, tear_down)
{
    char tag[ETAG_TEXT_BYTES];

    request("GET", "/stalls", NULL);
    copy_tag(tag);
    publish_and_wait(2, 3);
    assert_int_equal(request("GET", "/stalls", tag), 200);
}

/* A list of events changes with events, not with scans. */
TEST(events, set_up, tear_down)
{
    char tag[ETAG_TEXT_BYTES];

    request("GET", "/events", NULL);
    assert_field("Vary", "Accept");
    copy_tag(tag);
    publish_and_wait(2, 3);
    assert_not_modified("GET", "/events", tag, tag);
    assert_field("Vary", "Accept");
    publish_events(1, 1, 10);
    for (int i = 0; i < 5000 && request("GET", "/events", tag) == 304; i++)
        usleep(1000); /* the event is on its way */
    assert_int_equal(reply.status, 200);
}

/* The scanner is not queried for what the client has. */
TEST(queries, set_up, tear_down)
{
    char tag[ETAG_TEXT_BYTES];

    client_send(&client, GET("/threads"));
    answer_query(0, 1, 3);
    client_expect(&client, 200);
    copy_tag(tag);
    publish_and_wait(1, 3);
    assert_not_modified("GET", "/threads", tag, tag);
    assert_int_equal(ticket_count(), 1);
    publish_and_wait(2, 3);
    client_send(&client, "GET /threads/nobody/1 HTTP/1.1\r\n" HOST "If-None-Match: *\r\n\r\n");
    answer_query(1, 2, 0);
    client_expect_problem(&client, 404); /* a client cannot have what does not exist */
}

TEST(other_replies_must_not_be_stored, set_up, tear_down)
{
    static const char *const paths[] = {"/healthz", "/readyz", "/version", "/nothing", "/stalls?limit=0"};

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        assert_int_not_equal(request("GET", paths[i], "*"), 304);
        assert_field("Cache-Control", "no-store");
        assert_null(reply_field("ETag"));
    }
}
