/* SPDX-License-Identifier: Apache-2.0 */
/* test_page.c - the page's files: types, tags, the policy, and that they name nothing of another host. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"
#include "web/assets.h"

#define POLICY                                                                                                         \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "                    \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

TEST(each_file)
{
    static const struct {
        const char *request;
        const char *content_type;
        const char *begins;
    } rows[] = {
        {GET("/"), "text/html; charset=utf-8", "<!doctype html>"},
        {GET("/page/page.css"), "text/css; charset=utf-8", "/* SPDX"},
        {GET("/page/main.js"), "text/javascript; charset=utf-8", "// SPDX"},
        {GET("/page/icon.svg"), "image/svg+xml", "<svg "},
    };
    struct world world;
    struct reply reply;

    world_open(&world); /* before the first scan, too: the page says so */
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        client_ask(world.address, rows[i].request, &reply);
        assert_int_equal(reply.status, 200);
        assert_true(reply_has(&reply, "Content-Type", rows[i].content_type));
        assert_true(reply_has(&reply, "Content-Security-Policy", POLICY));
        assert_true(reply_has(&reply, "X-Content-Type-Options", "nosniff"));
        assert_memory_equal(reply.body, rows[i].begins, strlen(rows[i].begins));
        free(reply.body);
    }
    client_ask(world.address, GET("/page/none.js"), &reply);
    assert_problem(&reply, 404);
    assert_true(reply_has(&reply, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"));
    free(reply.body);
    assert_int_equal(ask(&world, GET("/page/")), 404);
    assert_int_equal(ask(&world, GET("/?x=1")), 400);
    world_close(&world);
}

TEST(a_file_that_the_browser_has)
{
    const struct web_asset *asset = web_asset_find(WEB_PAGE_NAME, strlen(WEB_PAGE_NAME));
    struct client client;
    struct world world;
    struct reply reply;
    char request[256];

    world_open(&world);
    client_open(&client, world.address);
    client_send(&client, "HEAD / HTTP/1.1\r\n" HOST "\r\n"); /* a body would be taken for the next answer */
    assert_true(client_receive_any(&client, true, &reply));
    assert_int_equal(reply.status, 200);
    assert_true(reply_has(&reply, "ETag", asset->tag));
    snprintf(request, sizeof(request), "%zu", asset->length);
    assert_true(reply_has(&reply, "Content-Length", request));
    free(reply.body);
    snprintf(request, sizeof(request), "GET / HTTP/1.1\r\n" HOST "If-None-Match: \"other\", %s\r\n\r\n", asset->tag);
    client_send(&client, request);
    assert_true(client_receive_any(&client, false, &reply));
    assert_int_equal(reply.status, 304);
    assert_true(reply_has(&reply, "Content-Security-Policy", POLICY)); /* a browser takes it from the newer answer */
    free(reply.body);
    client_send(&client, "GET / HTTP/1.1\r\n" HOST "If-None-Match: \"other\"\r\n\r\n");
    assert_true(client_receive_any(&client, false, &reply));
    assert_int_equal(reply.status, 200);
    assert_memory_equal(reply.body, asset->bytes, asset->length);
    free(reply.body);
    client_close(&client);
    world_close(&world);
}

/* All that is named in the page comes from ripd, and none of it is code written into the page. */
TEST(nothing_inline_and_nothing_foreign)
{
    static const char *const forbidden[] = {"http:", "https:", "<style", " style=", " onclick", "javascript:", "eval("};
    const struct web_asset *asset = web_asset_find(WEB_PAGE_NAME, strlen(WEB_PAGE_NAME));
    char *text = strndup(asset->bytes, asset->length);

    assert_non_null(text);
    for (size_t i = 0; i < COUNT_OF(forbidden); i++)
        assert_null(strstr(text, forbidden[i]));
    assert_non_null(strstr(text, "src=\"/page/main.js\""));
    free(text);
}
