/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c - URLs that are refused, targets, and what an error says: ripd/cli/client.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/client.h"

static void test_target(void **state)
{
    char target[32] = "/events";

    (void)state;
    assert_int_equal(client_target_add(target, sizeof(target), "name", "a *&=\xff"), 0);
    assert_string_equal(target, "/events?name=a%20%2A%26%3D%FF");
    assert_int_equal(client_target_add(target, sizeof(target), "ring", "x"), -ENAMETOOLONG);
    snprintf(target, sizeof(target), "/events");
    assert_int_equal(client_target_add(target, sizeof(target), "pid", "17"), 0);
    assert_int_equal(client_target_add(target, sizeof(target), "kind", "end"), 0);
    assert_string_equal(target, "/events?pid=17&kind=end");
}

static void test_urls(void **state)
{
    static const char *const wrong[] = {"ftp://x",    "127.0.0.1:7470", "http://",       "http:///x",  "http://a b",
                                        "http://a?b", "http://a#b",     "unix:relative", "http://:80", "http://a\n"};
    struct client *client = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(client_new(&client, wrong[i]), CLIENT_REFUSED);
        assert_non_null(strstr(client_error(), "expected"));
        assert_null(strchr(client_error(), '\n'));
    }
    assert_null(client);
}

/* Nothing listens there. */
static void test_nobody_answers(void **state)
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

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_nobody_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
