/* SPDX-License-Identifier: Apache-2.0 */
/* test_conditional.c - a client that has a list already gets 304, and only then. */
#include <stdbool.h>

#include "net/preferences.h"
#include "support/test.h"
#include "unit/http_world.h"
#include "unit/sample_event.h"

struct visit {
    struct client client;
    struct reply reply;
};

/* On one connection, so that a body that should not be there would be taken for the next answer. */
static int visit(struct visit *visit, const char *method, const char *path, const char *tags)
{
    char request[1024];

    free(visit->reply.body);
    snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\n" HOST "%s%s%s\r\n", method, path,
             tags == NULL ? "" : "If-None-Match: ", tags == NULL ? "" : tags, tags == NULL ? "" : "\r\n");
    client_send(&visit->client, request);
    assert_true(client_receive_any(&visit->client, strcmp(method, "HEAD") == 0, &visit->reply));
    return visit->reply.status;
}

static void begin(struct world *world, struct visit *ret_visit)
{
    *ret_visit = (struct visit){0};
    world_open(world);
    publish_and_wait(world, 1, 3);
    client_open(&ret_visit->client, world->address);
}

static void end(struct world *world, struct visit *visit)
{
    free(visit->reply.body);
    client_close(&visit->client);
    world_close(world);
}

static void take_tag(const struct visit *visit, char ret_tag[ETAG_TEXT_BYTES])
{
    const char *found = reply_field(&visit->reply, "ETag");

    assert_non_null(found);
    snprintf(ret_tag, ETAG_TEXT_BYTES, "%.*s", (int)strcspn(found, "\r"), found);
}

static void assert_not_modified(const struct visit *visit, const char *tag)
{
    char again[ETAG_TEXT_BYTES];

    assert_int_equal(visit->reply.status, 304);
    assert_int_equal(visit->client.count, 0);
    assert_null(reply_field(&visit->reply, "Content-Type"));
    assert_null(reply_field(&visit->reply, "Content-Length"));
    assert_true(reply_has(&visit->reply, "Cache-Control", "private, no-cache"));
    take_tag(visit, again);
    assert_string_equal(tag, again);
}

TEST(the_same_scan)
{
    static const char *const paths[] = {"/stalls", "/rings", "/stalls?limit=1", "/events"};
    struct health_http health;
    struct visit v;
    struct world world;

    begin(&world, &v);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        char tag[ETAG_TEXT_BYTES];
        char list[1024];

        assert_int_equal(visit(&v, "GET", paths[i], NULL), 200);
        assert_true(reply_has(&v.reply, "Cache-Control", "private, no-cache"));
        take_tag(&v, tag);
        assert_int_equal(strncmp(tag, "W/\"", 3), 0);
        visit(&v, "GET", paths[i], tag);
        assert_not_modified(&v, tag);
        visit(&v, "HEAD", paths[i], tag);
        assert_not_modified(&v, tag);
        visit(&v, "GET", paths[i], "*");
        assert_not_modified(&v, tag);
        visit(&v, "GET", paths[i], tag + 2); /* as a strong one */
        assert_not_modified(&v, tag);
        snprintf(list, sizeof(list), "\"x\", W/\"y\", %s, \"z\"", tag);
        visit(&v, "GET", paths[i], list);
        assert_not_modified(&v, tag);
        assert_int_equal(visit(&v, "GET", paths[i], "\"x\""), 200);
        assert_int_equal(visit(&v, "GET", "/stalls?limit=2", tag), 200); /* another question */
    }
    http_stop(world.http);
    http_health(world.http, &health);
    assert_int_equal(health.not_modified_count, 5 * COUNT_OF(paths));
    end(&world, &v);
}

TEST(the_next_scan)
{
    char tag[ETAG_TEXT_BYTES];
    struct world world;
    struct visit v;

    begin(&world, &v);
    visit(&v, "GET", "/stalls", NULL);
    take_tag(&v, tag);
    publish_and_wait(&world, 2, 3);
    assert_int_equal(visit(&v, "GET", "/stalls", tag), 200);
    end(&world, &v);
}

/* Scans do not make a list of events another one, events do. */
TEST(events)
{
    struct event *event = sample_event(1, 10);
    char tag[ETAG_TEXT_BYTES];
    struct world world;
    struct visit v;

    begin(&world, &v);
    visit(&v, "GET", "/events", NULL);
    assert_true(reply_has(&v.reply, "Vary", "Accept"));
    take_tag(&v, tag);
    publish_and_wait(&world, 2, 3);
    visit(&v, "GET", "/events", tag);
    assert_not_modified(&v, tag);
    assert_true(reply_has(&v.reply, "Vary", "Accept"));
    http_publish_event(world.http, event);
    event_unref(event);
    for (int i = 0; i < 5000 && visit(&v, "GET", "/events", tag) == 304; i++)
        usleep(1000); /* it is on its way */
    assert_int_equal(v.reply.status, 200);
    end(&world, &v);
}

/* The scanner is not asked for what the client has. */
TEST(questions)
{
    char tag[ETAG_TEXT_BYTES];
    struct world world;
    struct visit v;

    begin(&world, &v);
    client_send(&v.client, GET("/threads"));
    complete(&world, wait_for_ticket(&world, 0), 1, 3);
    client_receive(&v.client, &v.reply);
    take_tag(&v, tag);
    publish_and_wait(&world, 1, 3);
    visit(&v, "GET", "/threads", tag);
    assert_not_modified(&v, tag);
    assert_int_equal(tickets_of(&world), 1);
    publish_and_wait(&world, 2, 3);
    client_send(&v.client, "GET /threads/nobody/1 HTTP/1.1\r\n" HOST "If-None-Match: *\r\n\r\n");
    complete(&world, wait_for_ticket(&world, 1), 2, 0);
    free(v.reply.body);
    client_receive(&v.client, &v.reply);
    assert_problem(&v.reply, 404); /* there is nothing that the client could have */
    end(&world, &v);
}

/* What is of the moment is not kept by anybody. */
TEST(others_are_not_stored)
{
    static const char *const paths[] = {"/healthz", "/readyz", "/version", "/nothing", "/stalls?limit=0"};
    struct world world;
    struct visit v;

    begin(&world, &v);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        assert_int_not_equal(visit(&v, "GET", paths[i], "*"), 304);
        assert_true(reply_has(&v.reply, "Cache-Control", "no-store"));
        assert_null(reply_field(&v.reply, "ETag"));
    }
    end(&world, &v);
}
