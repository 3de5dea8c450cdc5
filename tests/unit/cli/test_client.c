/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c - URLs that are refused, targets, and what an error says: ripd/cli/client.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "support/test.h"

TEST(target)
{
    char target[32] = "/events";

    assert_int_equal(client_target_add(target, sizeof(target), "name", "a *&=\xff"), 0);
    assert_string_equal(target, "/events?name=a%20%2A%26%3D%FF");
    assert_int_equal(client_target_add(target, sizeof(target), "ring", "x"), -ENAMETOOLONG);
    snprintf(target, sizeof(target), "/events");
    assert_int_equal(client_target_add(target, sizeof(target), "pid", "17"), 0);
    assert_int_equal(client_target_add(target, sizeof(target), "kind", "end"), 0);
    assert_string_equal(target, "/events?pid=17&kind=end");
}

TEST(urls)
{
    static const char *const wrong[] = {"ftp://x",    "127.0.0.1:7470", "http://",       "http:///x",  "http://a b",
                                        "http://a?b", "http://a#b",     "unix:relative", "http://:80", "http://a\n"};
    struct client *client = NULL;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(client_new(&client, wrong[i]), CLIENT_REFUSED);
        assert_non_null(strstr(client_error(), "expected"));
        assert_null(strchr(client_error(), '\n'));
    }
    assert_null(client);
}

/* Nothing listens there. */
TEST(nobody_answers)
{
    static const struct {
        const char *url;
        const char *error;
    } cases[] = {
        {"http://127.0.0.1:1/", "ripd does not answer on 127.0.0.1:1 (connection refused). Is it running? "
                                "systemctl status ripd"},
        {"https://127.0.0.1:1", "ripd does not answer on https://127.0.0.1:1 (connection refused). Is it running? "
                                "systemctl status ripd"},
        {"unix:/nonexistent/k\xc3\xa4se", "ripd does not answer on unix:/nonexistent/k??se (no such file or "
                                          "directory). Is it running? systemctl status ripd"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct client_request request = {.target = "/events", .schema = "ripd/events/1", .list = "events"};

        assert_int_equal(client_new(&request.client, cases[i].url), CLIENT_OK);
        client_get_all(&request, 1, 10000);
        assert_int_equal(request.result, CLIENT_UNREACHABLE);
        assert_string_equal(request.error, cases[i].error);
        assert_null(request.document);
        client_free(request.client);
    }
}
