/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c - URLs, targets and error messages: ripd/cli/client.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "support/test.h"

TEST(target)
{
    char target[32] = "/events";

    assert_true(client_target_add(target, sizeof(target), "name", "a *&=\xff"));
    assert_string_equal(target, "/events?name=a%20%2A%26%3D%FF");
    assert_false(client_target_add(target, sizeof(target), "ring", "x"));
    snprintf(target, sizeof(target), "/events");
    assert_true(client_target_add(target, sizeof(target), "pid", "17"));
    assert_true(client_target_add(target, sizeof(target), "kind", "end"));
    assert_string_equal(target, "/events?pid=17&kind=end");
}

TEST(urls)
{
    static const char *const wrong[] = {"ftp://x",    "127.0.0.1:7470", "http://",       "http:///x",  "http://a b",
                                        "http://a?b", "http://a#b",     "unix:relative", "http://:80", "http://a\n"};
    struct client client;

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(client_open(&client, wrong[i]), CLIENT_REFUSED);
        assert_non_null(strstr(client.error, "expected"));
        assert_null(strchr(client.error, '\n'));
    }
}

/* Nothing listens there. */
TEST(no_server)
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

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct client client;

        assert_int_equal(client_open(&client, cases[i].url), CLIENT_OK);
        client.target = "/events";
        client.schema = "ripd/events/1";
        client.list = "events";
        client_get_all(&client, 1, 10000);
        assert_int_equal(client.result, CLIENT_UNREACHABLE);
        assert_string_equal(client.error, cases[i].error);
        assert_null(client.document);
        client_close(&client);
    }
}
