/* SPDX-License-Identifier: Apache-2.0 */
/* test_handlers.c - the status of each path, parameter and access rule: ripd/net/handlers.c. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"
#include "unit/json_at.h"
#include "view/metrics.h"

TEST(before_and_after_the_first_scan, world_set_up, world_tear_down)
{
    assert_int_equal(get("/healthz"), 200);
    assert_int_equal(get("/version"), 200);
    assert_int_equal(get("/readyz"), 503);
    assert_int_equal(get("/threads"), 503);
    get("/stalls");
    assert_problem(503);
    assert_field("Retry-After", "1");
    publish_and_wait(1, 3);
    assert_int_equal(get("/readyz"), 200);
    assert_int_equal(get("/stalls"), 200);
    assert_field("Content-Type", "application/json");
    assert_field("Cache-Control", "private, no-cache");
    assert_field("X-Content-Type-Options", "nosniff");
    assert_null(strcasestr(reply.head, "Access-Control"));
    assert_body_has("\"total\":3,\"returned\":3,\"stalls\":[");
}

TEST(ready_only_while_scans_complete, world_set_up, world_tear_down)
{
    struct snapshot *snapshot = sample_snapshot(2, clock_mono_ns() - 3100 * MS_NS, 0);

    publish_and_wait(1, 0);
    assert_int_equal(get("/readyz"), 200);
    http_publish(world.http, snapshot);
    snapshot_unref(snapshot);
    for (int i = 0; i < 1000 && get("/readyz") != 503; i++)
        usleep(1000);
    assert_int_equal(get("/readyz"), 503);
    assert_int_equal(get("/healthz"), 200);
}

TEST(access, world_set_up, world_tear_down)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\n" HOST HOST "\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
        {"GET /nothing HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
        {"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
        {"GET http://localhost/healthz HTTP/1.1\r\n" HOST "\r\n", 200},
        {"GET http://evil.example/healthz HTTP/1.1\r\n" HOST "\r\n", 421},
        {"GET /healthz HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n", 403},
        {"GET /healthz HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n", 403},
        {"GET /healthz HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n", 200},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (fetch(cases[i].request) != cases[i].status)
            fail_msg("status %d: %s", reply.status, cases[i].request);
        if (cases[i].status != 200)
            assert_problem(cases[i].status);
    }
}

TEST(methods, world_set_up, world_tear_down)
{
    static const char *const methods[] = {"POST /stalls", "DELETE /stalls", "PUT /x",       "PATCH /stalls",
                                          "TRACE /",      "OPTIONS *",      "BREW /stalls", "CONNECT localhost:1"};
    struct client client = client_open(world.address);

    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        char request[128];

        snprintf(request, sizeof(request), "%s HTTP/1.1\r\n" HOST "\r\n", methods[i]);
        client_send(&client, request);
        client_expect_problem(&client, 405);
        assert_field("Allow", "GET, HEAD");
    }
    client_close(&client);
}

TEST(parameters, world_set_up, world_tear_down)
{
    static const struct {
        const char *target, *parameter;
    } cases[] = {
        {"/stalls?colour=red", "colour"}, {"/stalls?limit=0", "limit"},
        {"/stalls?limit=10001", "limit"}, {"/stalls?name=%", "name"},
        {"/stalls?state=idle", "state"},  {"/threads?state=x", "state"},
        {"/rings?name=a", "name"},        {"/healthz?verbose=1", "verbose"},
        {"/stalls?after=1", "after"},     {"/threads/checkout/17?limit=1", "limit"},
        {"/metrics?name=x", "name"},
    };

    publish_and_wait(1, 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *root;

        get(cases[i].target);
        assert_problem(400);
        root = reply_json();
        assert_json_text(root, "parameter", cases[i].parameter);
        json_decref(root);
    }
    assert_int_equal(get("/stalls?limit=10000&cause=!sleeping&min_ms=0&ring=check*"), 200);
    assert_int_equal(get("/rings?ring=checkout&pid=4690&limit=1"), 200);
}

TEST(paths_that_do_not_exist, world_set_up, world_tear_down)
{
    /* clang-format off */
    static const char *const paths[] = {
        "//stalls", "/stalls/", "/Stalls", "/threads/", "/threads/a", "/threads//17", "/threads/a/", "/threads/a/17/",
        "/threads/a/x", "/threads/a/-1", "/threads/a/4294967296", "/threads/a/99999999999999999999999",
        "/threads/%/17", "/threads/%00/17", "/../stalls",
    };
    /* clang-format on */

    publish_and_wait(1, 0);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        get(paths[i]);
        assert_problem(404);
    }
}

/* All of 25,000 stalls by cursor, each once, although new scans come between the pages. */
TEST(paging, world_set_up, world_tear_down)
{
    enum { STALL_COUNT = 25000 };
    bool *seen = calloc(STALL_COUNT, sizeof(*seen));
    char target[128] = "/stalls?limit=1999";
    uint64_t sequence = 1;
    size_t total = 0;

    publish_and_wait(sequence, STALL_COUNT);
    for (int pages = 0; target[0] != '\0' && pages < 20; pages++) {
        json_t *root, *next, *stall;
        size_t i;

        assert_int_equal(get(target), 200);
        root = reply_json();
        assert_int_equal(json_number_at(root, "total"), STALL_COUNT);
        json_array_foreach(json_at(root, "stalls"), i, stall)
        {
            size_t id = json_number_at(stall, "id") - 17;

            assert_true(id < STALL_COUNT && !seen[id]);
            seen[id] = true;
            total++;
        }
        next = json_at(root, "next");
        target[0] = '\0';
        if (next != NULL)
            snprintf(target, sizeof(target), "/stalls?limit=1999&after=%s", json_string_value(next));
        json_decref(root);
        if (pages % 4 == 0)
            publish_and_wait(++sequence, STALL_COUNT);
    }
    assert_int_equal(total, STALL_COUNT);
    free(seen);
}

TEST(metrics, world_set_up, world_tear_down)
{
    assert_int_equal(get("/metrics"), 200);
    assert_field("Content-Type", METRICS_CONTENT_TYPE);
    assert_body_has("\nripd_scans_total 0\n");
    assert_null(strstr(reply.body, "ripd_scan_age_seconds"));
    assert_body_has("\nprocess_open_fds ");
    assert_body_has("\nripd_anonymous_memory_bytes ");
    assert_body_has("\nripd_http_connections 1\n");
    assert_body_has("\nripd_http_requests_total 1\n");
    assert_body_has("\nripd_http_connections_max 512\n");
    publish_and_wait(1, 3);
    assert_int_equal(get("/metrics"), 200);
    assert_body_has("\nripd_ids{state=\"stalled\"} 3\n");
    assert_body_has("\nripd_scan_age_seconds 0.");
}
