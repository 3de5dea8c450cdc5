/* SPDX-License-Identifier: Apache-2.0 */
/* test_access.c - who may ask: requests as they come over the wire, and what is said to them. */
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

/* Status for a request line and its fields, each ended by \n, which becomes CR LF. */
static int decide(const struct access_rules *rules, const char *lines)
{
    struct http_request request;
    struct request_fault fault;
    char text[2048];
    size_t length = 0;
    size_t head_bytes;

    for (; *lines != '\0'; lines++) {
        if (*lines == '\n')
            text[length++] = '\r';
        text[length++] = *lines;
    }
    memcpy(text + length, "\r\n", 2);
    if (request_parse(text, length + 2, 0, &request, &head_bytes, &fault) != REQUEST_COMPLETE)
        fail_msg("not a request: %s", lines);
    return access_decide(rules, &request).status;
}

static void assert_host(const struct access_rules *rules, const char *host, int status)
{
    char text[1024];

    snprintf(text, sizeof(text), "GET / HTTP/1.1\nHost: %s\n", host);
    if (decide(rules, text) != status)
        fail_msg("Host: %s gives %d, not %d", host, decide(rules, text), status);
}

TEST(hosts)
{
    static const struct {
        const char *host;
        int status;
    } rows[] = {
        {"localhost", 0},
        {"localhost:7470", 0},
        {"LOCALHOST.:1", 0},
        {"localhost:", 0},
        {"app.localhost", 0},
        {"127.0.0.1", 0},
        {"127.0.0.1:80", 0},
        {"127.255.1.2", 0},
        {"[::1]", 0},
        {"[::1]:7470", 0},
        {"[0:0:0:0:0:0:0:1]", 0},
        {"[::ffff:127.0.0.1]", 0},
        {"ops.example.com", 0},
        {"OPS.Example.com.:9090", 0},
        {"prometheus", 0},

        {"evil.example", 421},
        {"localhost.evil.example", 421},
        {"evillocalhost", 421},
        {".localhost", 421},
        {"127.0.0.1.evil.example", 421},
        {"127.1", 421}, /* not a literal: a resolver's business */
        {"0127.0.0.1", 421},
        {"128.0.0.1", 421},
        {"0.0.0.0", 421},
        {"192.168.1.5", 421},
        {"[::2]", 421},
        {"[::ffff:10.0.0.1]", 421},
        {"sub.ops.example.com", 421},
        {"ops.example.co", 421},

        {"", 400},
        {".", 421},
        {"local host", 400},
        {"localhost:x", 400},
        {"localhost:123456", 400},
        {"localhost:80:80", 400},
        {"user@localhost", 400},
        {"localhost/", 400},
        {"localhost, evil.example", 400},
        {"[::1", 400},
        {"[::1]x", 400},
        {"[127.0.0.1]", 400},
        {"[]", 400},
        {"::1", 400},
        {"loc\xe4lhost", 400},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_host(&loopback, rows[i].host, rows[i].status);
    assert_host(&one_address, "192.168.1.5:7470", 0);
    assert_host(&one_address, "192.168.1.6", 421);
    assert_host(&one_address6, "[2001:db8:0::5]:7470", 0);
    assert_host(&one_address6, "[2001:db8:0::6]", 421);
    assert_host(&unix_socket, "anything.at.all", 0);
    assert_host(&unix_socket, "any thing", 400);
}

TEST(host_count)
{
    assert_int_equal(decide(&loopback, "GET / HTTP/1.1\n"), 400);
    assert_int_equal(decide(&loopback, "GET / HTTP/1.0\n"), 400);
    assert_int_equal(decide(&loopback, "GET / HTTP/1.1\nHost: localhost\nHost: localhost\n"), 400);
    assert_int_equal(decide(&loopback, "GET / HTTP/1.1\nhOST: localhost\nHost: evil.example\n"), 400);
    assert_int_equal(decide(&unix_socket, "GET / HTTP/1.1\n"), 400);
    assert_int_equal(decide(&unix_socket, "GET / HTTP/1.1\nHost: a\nHost: a\n"), 400);
}

TEST(absolute_target)
{
    assert_int_equal(decide(&loopback, "GET http://localhost/ HTTP/1.1\nHost: localhost\n"), 0);
    assert_int_equal(decide(&loopback, "GET http://evil.example/ HTTP/1.1\nHost: localhost\n"), 421);
    assert_int_equal(decide(&loopback, "GET http://localhost/ HTTP/1.1\nHost: evil.example\n"), 421);
    assert_int_equal(decide(&loopback, "GET http://u@localhost/ HTTP/1.1\nHost: localhost\n"), 400);
    assert_int_equal(decide(&loopback, "GET http:// HTTP/1.1\nHost: localhost\n"), 400);
    assert_int_equal(decide(&loopback, "GET https://[::1]:7470?a HTTP/1.1\nHost: localhost\n"), 0);
}

TEST(origin)
{
    static const struct {
        const char *fields;
        int status;
    } rows[] = {
        {"Origin: http://localhost:7470\n", 0},
        {"Origin: HTTP://LOCALHOST:7470\n", 0},
        {"Origin: http://localhost\n", 403},
        {"Origin: http://localhost:3000\n", 403}, /* another server on this host */
        {"Origin: http://127.0.0.1:7470\n", 403},
        {"Origin: http://evil.example\n", 403},
        {"Origin: http://localhost:7470.evil.example\n", 403},
        {"Origin: http://localhost:7470/\n", 403},
        {"Origin: null\n", 403},
        {"Origin:\n", 403},
        {"Origin: file://\n", 403},
        {"Origin: http://localhost:7470\nOrigin: http://localhost:7470\n", 400},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[512];

        snprintf(text, sizeof(text), "GET / HTTP/1.1\nHost: localhost:7470\n%s", rows[i].fields);
        if (decide(&loopback, text) != rows[i].status)
            fail_msg("%s gives %d", rows[i].fields, decide(&loopback, text));
    }
    assert_int_equal(decide(&loopback, "GET / HTTP/1.1\nHost: localhost\nOrigin: http://localhost:80\n"), 0);
    assert_int_equal(decide(&loopback, "GET / HTTP/1.1\nHost: ops.example.com\nOrigin: https://ops.example.com\n"), 0);
    assert_int_equal(decide(&unix_socket, "GET / HTTP/1.1\nHost: a\nOrigin: http://evil.example\n"), 403);
}

TEST(fetch_metadata)
{
    static const struct {
        const char *method;
        const char *fields;
        int status;
    } rows[] = {
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

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[512];

        snprintf(text, sizeof(text), "%s / HTTP/1.1\nHost: localhost\n%s", rows[i].method, rows[i].fields);
        if (decide(&loopback, text) != rows[i].status)
            fail_msg("%s gives %d", text, decide(&loopback, text));
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
