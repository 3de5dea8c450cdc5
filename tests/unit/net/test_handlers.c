/* SPDX-License-Identifier: Apache-2.0 */
/* test_handlers.c - what is answered, and to whom: the statuses of every path, parameter and rule of access. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"
#include "view/metrics.h"

TEST(before_and_after_the_first_scan)
{
    struct world world;
    struct reply reply;

    world_open(&world);
    assert_int_equal(ask(&world, GET("/healthz")), 200);
    assert_int_equal(ask(&world, GET("/version")), 200);
    assert_int_equal(ask(&world, GET("/readyz")), 503);
    assert_int_equal(ask(&world, GET("/threads")), 503);
    client_ask(world.address, GET("/stalls"), &reply);
    assert_problem(&reply, 503);
    assert_true(reply_has(&reply, "Retry-After", "1"));
    free(reply.body);
    publish_and_wait(&world, 1, 3);
    assert_int_equal(ask(&world, GET("/readyz")), 200);
    client_ask(world.address, GET("/stalls"), &reply);
    assert_int_equal(reply.status, 200);
    assert_true(reply_has(&reply, "Content-Type", "application/json"));
    assert_true(reply_has(&reply, "Cache-Control", "private, no-cache"));
    assert_true(reply_has(&reply, "X-Content-Type-Options", "nosniff"));
    assert_null(strcasestr(reply.head, "Access-Control"));
    assert_non_null(strstr(reply.body, "\"total\":3,\"returned\":3,\"stalls\":["));
    free(reply.body);
    world_close(&world);
}

TEST(ready_only_while_scans_come)
{
    struct snapshot *snapshot = sample_snapshot(2, clock_mono_ns() - UINT64_C(3100000000), 0);
    struct world world;

    world_open(&world);
    publish_and_wait(&world, 1, 0);
    assert_int_equal(ask(&world, GET("/readyz")), 200);
    http_publish(world.http, snapshot);
    snapshot_unref(snapshot);
    for (int i = 0; i < 1000 && ask(&world, GET("/readyz")) != 503; i++)
        usleep(1000);
    assert_int_equal(ask(&world, GET("/readyz")), 503);
    assert_int_equal(ask(&world, GET("/healthz")), 200);
    world_close(&world);
}

TEST(who_may_ask)
{
    static const struct {
        const char *request;
        int status;
    } rows[] = {
        {"GET /healthz HTTP/1.1\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\n" HOST HOST "\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
        {"GET /nothing HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
        {"GET http://localhost/healthz HTTP/1.1\r\n" HOST "\r\n", 200},
        {"GET http://evil.example/healthz HTTP/1.1\r\n" HOST "\r\n", 421},
        {"GET /healthz HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n", 403},
        {"GET /healthz HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n", 403},
        {"GET /healthz HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n", 200},
    };
    struct world world;

    world_open(&world);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct reply reply;

        client_ask(world.address, rows[i].request, &reply);
        if (rows[i].status != 200)
            assert_problem(&reply, rows[i].status);
        assert_int_equal(reply.status, rows[i].status);
        free(reply.body);
    }
    world_close(&world);
}

TEST(methods)
{
    static const char *const methods[] = {"POST /stalls", "DELETE /stalls", "PUT /x",       "PATCH /stalls",
                                          "TRACE /",      "OPTIONS *",      "BREW /stalls", "CONNECT localhost:1"};
    struct world world;
    struct client client;

    world_open(&world);
    client_open(&client, world.address);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        char request[128];
        struct reply reply;

        snprintf(request, sizeof(request), "%s HTTP/1.1\r\n" HOST "\r\n", methods[i]);
        client_send(&client, request);
        client_receive(&client, &reply);
        assert_problem(&reply, 405);
        assert_true(reply_has(&reply, "Allow", "GET, HEAD"));
        free(reply.body);
    }
    client_close(&client);
    world_close(&world);
}

TEST(parameters)
{
    static const struct {
        const char *target;
        const char *parameter;
    } rows[] = {
        {"/stalls?colour=red", "colour"}, {"/stalls?limit=0", "limit"},
        {"/stalls?limit=10001", "limit"}, {"/stalls?name=%", "name"},
        {"/stalls?state=idle", "state"},  {"/threads?state=x", "state"},
        {"/rings?name=a", "name"},        {"/healthz?verbose=1", "verbose"},
        {"/stalls?after=1", "after"},     {"/threads/checkout/17?limit=1", "limit"},
    };
    struct world world;

    world_open(&world);
    publish_and_wait(&world, 1, 2);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char request[256];
        struct reply reply;
        json_t *root;

        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "\r\n", rows[i].target);
        client_ask(world.address, request, &reply);
        assert_problem(&reply, 400);
        root = json_loads(reply.body, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(root, "parameter")), rows[i].parameter);
        json_decref(root);
        free(reply.body);
    }
    assert_int_equal(ask(&world, GET("/stalls?limit=10000&cause=!sleeping&min_ms=0&ring=check*")), 200);
    assert_int_equal(ask(&world, GET("/rings?ring=checkout&pid=4690&limit=1")), 200);
    world_close(&world);
}

TEST(paths)
{
    static const char *const missing[] = {"//stalls",
                                          "/stalls/",
                                          "/Stalls",
                                          "/threads/",
                                          "/threads/a",
                                          "/threads//17",
                                          "/threads/a/",
                                          "/threads/a/17/",
                                          "/threads/a/x",
                                          "/threads/a/-1",
                                          "/threads/a/4294967296",
                                          "/threads/a/99999999999999999999999",
                                          "/threads/%/17",
                                          "/threads/%00/17",
                                          "/../stalls"};
    struct world world;

    world_open(&world);
    publish_and_wait(&world, 1, 0);
    for (size_t i = 0; i < COUNT_OF(missing); i++) {
        char request[256];
        struct reply reply;

        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "\r\n", missing[i]);
        client_ask(world.address, request, &reply);
        assert_problem(&reply, 404);
        free(reply.body);
    }
    world_close(&world);
}

/* All of 25,000 stalls by cursor, each once, although a new scan comes between any two pages. */
TEST(paging)
{
    enum { STALL_COUNT = 25000 };
    bool *seen = calloc(STALL_COUNT, sizeof(*seen));
    char target[128] = "/stalls?limit=1999";
    uint64_t sequence = 1;
    size_t total = 0;
    struct world world;

    world_open(&world);
    publish_and_wait(&world, sequence, STALL_COUNT);
    for (int pages = 0; target[0] != '\0' && pages < 20; pages++) {
        char request[256];
        struct reply reply;
        json_t *root;
        json_t *list;

        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "\r\n", target);
        assert_int_equal(client_ask(world.address, request, &reply), 200);
        root = json_loads(reply.body, 0, NULL);
        free(reply.body);
        assert_int_equal(json_integer_value(json_object_get(root, "total")), STALL_COUNT);
        list = json_object_get(root, "stalls");
        for (size_t i = 0; i < json_array_size(list); i++) {
            size_t id = (size_t)json_integer_value(json_object_get(json_array_get(list, i), "id")) - 17;

            assert_true(id < STALL_COUNT && !seen[id]);
            seen[id] = true;
            total++;
        }
        target[0] = '\0';
        if (json_object_get(root, "next") != NULL)
            snprintf(target, sizeof(target), "/stalls?limit=1999&after=%s",
                     json_string_value(json_object_get(root, "next")));
        json_decref(root);
        if (pages % 4 == 0)
            publish_and_wait(&world, ++sequence, STALL_COUNT);
    }
    assert_int_equal(total, STALL_COUNT);
    free(seen);
    world_close(&world);
}

TEST(metrics)
{
    struct world world;
    struct reply reply;

    world_open(&world);
    assert_int_equal(client_ask(world.address, GET("/metrics"), &reply), 200);
    assert_true(reply_has(&reply, "Content-Type", METRICS_CONTENT_TYPE));
    assert_non_null(strstr(reply.body, "\nripd_scans_total 0\n"));
    assert_null(strstr(reply.body, "ripd_scan_age_seconds"));
    assert_non_null(strstr(reply.body, "\nprocess_open_fds "));
    assert_non_null(strstr(reply.body, "\nripd_anonymous_memory_bytes "));
    assert_non_null(strstr(reply.body, "\nripd_http_connections 1\n"));
    assert_non_null(strstr(reply.body, "\nripd_http_requests_total 1\n"));
    assert_non_null(strstr(reply.body, "\nripd_http_connections_max 512\n"));
    free(reply.body);
    publish_and_wait(&world, 1, 3);
    assert_int_equal(client_ask(world.address, GET("/metrics"), &reply), 200);
    assert_non_null(strstr(reply.body, "\nripd_ids{state=\"stalled\"} 3\n"));
    assert_non_null(strstr(reply.body, "\nripd_scan_age_seconds 0."));
    free(reply.body);
    world_close(&world);
}

TEST(metrics_refused)
{
    struct world world;
    struct reply reply;

    world_open(&world);
    client_ask(world.address, GET("/metrics?name=x"), &reply);
    assert_problem(&reply, 400);
    free(reply.body);
    client_ask(world.address, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", &reply);
    assert_problem(&reply, 421);
    free(reply.body);
    world_close(&world);
}
