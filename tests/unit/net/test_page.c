/* SPDX-License-Identifier: Apache-2.0 */
/* test_page.c - the files of the web page: types, tags, the policy, and no reference to another host. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"
#include "web/assets.h"

#define POLICY                                                                                                         \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "                    \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Also before the first scan. */
TEST(each_file, world_set_up, world_tear_down)
{
    static const struct {
        const char *target, *content_type, *begins;
    } cases[] = {
        {"/", "text/html; charset=utf-8", "<!doctype html>"},
        {"/page/page.css", "text/css; charset=utf-8", "/* SPDX"},
        {"/page/main.js", "text/javascript; charset=utf-8", "// SPDX"},
        {"/page/icon.svg", "image/svg+xml", "<svg "},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(get(cases[i].target), 200);
        assert_field("Content-Type", cases[i].content_type);
        assert_field("Content-Security-Policy", POLICY);
        assert_field("X-Content-Type-Options", "nosniff");
        assert_memory_equal(reply.body, cases[i].begins, strlen(cases[i].begins));
    }
    get("/page/none.js");
    assert_problem(404);
    assert_field("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    assert_int_equal(get("/page/"), 404);
    assert_int_equal(get("/?x=1"), 400);
}

TEST(a_file_that_the_browser_has, world_set_up, world_tear_down)
{
    const struct web_asset *asset = web_asset_find(WEB_PAGE_NAME, strlen(WEB_PAGE_NAME));
    struct client client = connect_and_send("HEAD / HTTP/1.1\r\n" HOST "\r\n");
    char text[256];

    assert_true(client_receive_any(&client, true));
    assert_int_equal(reply.status, 200);
    assert_field("ETag", asset->tag);
    snprintf(text, sizeof(text), "%zu", asset->length);
    assert_field("Content-Length", text);
    snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" HOST "If-None-Match: \"other\", %s\r\n\r\n", asset->tag);
    client_send(&client, text);
    client_expect(&client, 304);
    assert_field("Content-Security-Policy", POLICY); /* a browser uses that of the newer reply */
    client_send(&client, "GET / HTTP/1.1\r\n" HOST "If-None-Match: \"other\"\r\n\r\n");
    client_expect(&client, 200);
    assert_memory_equal(reply.body, asset->bytes, asset->length);
    client_close(&client);
}

/* The page loads everything from ripd, and contains no code itself. */
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
