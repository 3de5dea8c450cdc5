/* SPDX-License-Identifier: Apache-2.0 */
/* test_access.c - the access rules, by requests as they come over the wire: ripd/net/access.c. */
#include <stdio.h>
#include <string.h>

#include "net/access.h"
#include "support/test.h"

static char names[] = "ops.example.com\0Prometheus.";
static const struct access_hosts allowed = {names, sizeof(names)};
static const struct access_rules loopback = {.allowed = &allowed};
static const struct access_rules one_address = {.own_address = "192.168.1.5"};
static const struct access_rules one_address6 = {.own_address = "2001:db8::5"};
static const struct access_rules unix_socket = {.is_unix = true};

/* The status for a request line and fields. Each line ends with \n, which becomes CR LF. */
static void assert_status(const struct access_rules *rules, const char *lines, int expected)
{
    struct http_request request;
    struct request_fault fault;
    char text[2048];
    size_t length = 0;
    size_t head_bytes;
    int status;

    for (const char *at = lines; *at != '\0'; at++) {
        if (*at == '\n')
            text[length++] = '\r';
        text[length++] = *at;
    }
    memcpy(text + length, "\r\n", 2);
    if (request_parse(text, length + 2, 0, &request, &head_bytes, &fault) != REQUEST_COMPLETE)
        fail_msg("not a request: %s", lines);
    status = access_decide(rules, &request).status;
    if (status != expected)
        fail_msg("status %d, expected %d: %s", status, expected, lines);
}

static void assert_host(const struct access_rules *rules, const char *host, int status)
{
    char text[1024];

    snprintf(text, sizeof(text), "GET / HTTP/1.1\nHost: %s\n", host);
    assert_status(rules, text, status);
}

TEST(hosts)
{
    /* clang-format off */
    static const char *const accepted[] = {
        "localhost", "localhost:7470", "LOCALHOST.:1", "localhost:", "app.localhost", "127.0.0.1", "127.0.0.1:80",
        "127.255.1.2", "[::1]", "[::1]:7470", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "ops.example.com",
        "OPS.Example.com.:9090", "prometheus",
    };
    /* "127.1" and "0127.0.0.1" are not address literals: only a resolver accepts them. */
    static const char *const others[] = {
        "evil.example", "localhost.evil.example", "evillocalhost", ".localhost", "127.0.0.1.evil.example", "127.1",
        "0127.0.0.1", "128.0.0.1", "0.0.0.0", "192.168.1.5", "[::2]", "[::ffff:10.0.0.1]", "sub.ops.example.com",
        "ops.example.co", ".",
    };
    static const char *const malformed[] = {
        "", "local host", "localhost:x", "localhost:123456", "localhost:80:80", "user@localhost", "localhost/",
        "localhost, evil.example", "[::1", "[::1]x", "[127.0.0.1]", "[]", "::1", "loc\xe4lhost",
    };
    /* clang-format on */
    static const struct {
        const char *host;
        const struct access_rules *rules;
        int status;
    } cases[] = {
        {"192.168.1.5:7470", &one_address, 0},      {"192.168.1.6", &one_address, 421},
        {"[2001:db8:0::5]:7470", &one_address6, 0}, {"[2001:db8:0::6]", &one_address6, 421},
        {"anything.at.all", &unix_socket, 0},       {"any thing", &unix_socket, 400},
    };

    for (size_t i = 0; i < COUNT_OF(accepted); i++)
        assert_host(&loopback, accepted[i], 0);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_host(&loopback, others[i], 421);
    for (size_t i = 0; i < COUNT_OF(malformed); i++)
        assert_host(&loopback, malformed[i], 400);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_host(cases[i].rules, cases[i].host, cases[i].status);
}

/* Exactly one Host, also on a socket that accepts any. */
TEST(host_count)
{
    assert_status(&loopback, "GET / HTTP/1.1\n", 400);
    assert_status(&loopback, "GET / HTTP/1.0\n", 400);
    assert_status(&loopback, "GET / HTTP/1.1\nHost: localhost\nHost: localhost\n", 400);
    assert_status(&loopback, "GET / HTTP/1.1\nhOST: localhost\nHost: evil.example\n", 400);
    assert_status(&unix_socket, "GET / HTTP/1.1\n", 400);
    assert_status(&unix_socket, "GET / HTTP/1.1\nHost: a\nHost: a\n", 400);
}

TEST(absolute_target)
{
    assert_status(&loopback, "GET http://localhost/ HTTP/1.1\nHost: localhost\n", 0);
    assert_status(&loopback, "GET http://evil.example/ HTTP/1.1\nHost: localhost\n", 421);
    assert_status(&loopback, "GET http://localhost/ HTTP/1.1\nHost: evil.example\n", 421);
    assert_status(&loopback, "GET http://u@localhost/ HTTP/1.1\nHost: localhost\n", 400);
    assert_status(&loopback, "GET http:// HTTP/1.1\nHost: localhost\n", 400);
    assert_status(&loopback, "GET https://[::1]:7470?a HTTP/1.1\nHost: localhost\n", 0);
}

static void assert_origin(const char *fields, int status)
{
    char text[512];

    snprintf(text, sizeof(text), "GET / HTTP/1.1\nHost: localhost:7470\n%s", fields);
    assert_status(&loopback, text, status);
}

/* Only the origin of the server itself: neither another server on this host nor another name of it. */
TEST(origin)
{
    /* clang-format off */
    static const char *const refused[] = {
        "Origin: http://localhost\n", "Origin: http://localhost:3000\n", "Origin: http://127.0.0.1:7470\n",
        "Origin: http://evil.example\n", "Origin: http://localhost:7470.evil.example\n",
        "Origin: http://localhost:7470/\n", "Origin: null\n", "Origin:\n", "Origin: file://\n",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_origin(refused[i], 403);
    assert_origin("Origin: http://localhost:7470\n", 0);
    assert_origin("Origin: HTTP://LOCALHOST:7470\n", 0);
    assert_origin("Origin: http://localhost:7470\nOrigin: http://localhost:7470\n", 400);
    assert_status(&loopback, "GET / HTTP/1.1\nHost: localhost\nOrigin: http://localhost:80\n", 0);
    assert_status(&loopback, "GET / HTTP/1.1\nHost: ops.example.com\nOrigin: https://ops.example.com\n", 0);
    assert_status(&unix_socket, "GET / HTTP/1.1\nHost: a\nOrigin: http://evil.example\n", 403);
}

TEST(fetch_metadata)
{
    static const struct {
        const char *method;
        const char *fields;
        int status;
    } cases[] = {
        {"GET", "Sec-Fetch-Site: same-origin\n", 0},
        {"GET", "Sec-Fetch-Site: none\nSec-Fetch-Mode: navigate\n", 0},
        {"GET", "Sec-Fetch-Site: cross-site\n", 403},
        {"GET", "Sec-Fetch-Site: same-site\n", 403},
        {"GET", "Sec-Fetch-Site: later-invention\n", 403},
        {"GET", "Sec-Fetch-Site:\n", 403},
        {"GET", "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors\nSec-Fetch-Dest: script\n", 403},
        {"GET", "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\n", 0},
        {"GET", "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document\n", 0},
        {"HEAD", "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document\n", 0},
        {"GET", "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: iframe\n", 403},
        {"POST", "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document\n", 403},
        {"GET", "Sec-Fetch-Site: cross-site\nSec-Fetch-Site: none\n", 400},
        {"GET", "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: cors\nSec-Fetch-Mode: navigate\n", 400},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[512];

        snprintf(text, sizeof(text), "%s / HTTP/1.1\nHost: localhost\n%s", cases[i].method, cases[i].fields);
        assert_status(&loopback, text, cases[i].status);
    }
}

TEST(valid_names)
{
    assert_true(access_host_valid("ops.example.com"));
    assert_true(access_host_valid("10.0.0.1"));
    assert_true(access_host_valid("[2001:db8::1]"));
    assert_false(access_host_valid(""));
    assert_false(access_host_valid("ops.example.com:7470"));
    assert_false(access_host_valid("http://ops"));
    assert_false(access_host_valid("*"));
}
