/* SPDX-License-Identifier: Apache-2.0 */
/* test_request.c - the head of a request: what is accepted, what is refused, and that no byte behind it is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/request.h"
#include "support/guarded_copy.h"
#include "support/test.h"

#define HOST "Host: localhost\r\n"

static struct http_request parse(const char *text)
{
    struct http_request request;
    struct request_fault fault;
    size_t head_bytes;

    if (request_parse(text, strlen(text), 0, &request, &head_bytes, &fault) != REQUEST_COMPLETE)
        fail_msg("not complete: %s", text);
    return request;
}

static void refuse(const char *text, int status)
{
    struct http_request request;
    struct request_fault fault = {0};
    size_t head_bytes;

    if (request_parse(text, strlen(text), 0, &request, &head_bytes, &fault) != REQUEST_BAD || fault.status != status)
        fail_msg("status %d, expected %d: %s", fault.status, status, text);
    assert_non_null(fault.detail);
}

static void assert_span(struct span span, const char *expected)
{
    assert_int_equal(span.length, strlen(expected));
    assert_memory_equal(span.bytes, expected, span.length);
}

TEST(parts)
{
    struct http_request request =
        parse("GET /stalls?limit=1&a=? HTTP/1.1\r\nHost:  localhost \r\nContent-Length: 12\r\n\r\n");

    assert_int_equal(request.method, REQUEST_GET);
    assert_span(request.path, "/stalls");
    assert_span(request.query, "limit=1&a=?");
    assert_span(request.fields[FIELD_HOST].value, "localhost");
    assert_int_equal(request.fields[FIELD_HOST].count, 1);
    assert_true(request.has_body);
    assert_true(request.keep_alive);
    assert_false(request.has_authority);
    request = parse("HEAD http://h:1/x HTTP/1.1\r\n\r\n");
    assert_int_equal(request.method, REQUEST_HEAD);
    assert_true(request.has_authority);
    assert_span(request.authority, "h:1");
    assert_span(request.path, "/x");
    request = parse("GET HTTPS://h?q HTTP/1.1\r\n\r\n");
    assert_span(request.path, "/");
    assert_span(request.query, "q");
}

TEST(other_methods)
{
    static const char *const others[] = {"POST /", "get /", "GETT /", "BREW /", "OPTIONS *", "CONNECT h:80", "HEA /"};

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char text[128];

        snprintf(text, sizeof(text), "%s HTTP/1.1\r\n\r\n", others[i]);
        assert_int_equal(parse(text).method, REQUEST_OTHER);
    }
}

TEST(keep_alive)
{
    static const struct {
        const char *text;
        bool keep_alive;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: upgrade, Close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", true},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (parse(cases[i].text).keep_alive != cases[i].keep_alive)
            fail_msg("keep_alive is not %d: %s", cases[i].keep_alive, cases[i].text);
}

TEST(refused)
{
    static const char *const malformed[] = {
        "GET / HTTP/1.1\n",
        "GET / HTTP/1.1\r\n" HOST "\n",
        "GET / HTTP/1.1\rX\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nA: \x1b\r\n\r\n",
        "GET /\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET / x HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1 \r\n\r\n",
        " GET / HTTP/1.1\r\n\r\n",
        "GET /\ta HTTP/1.1\r\n\r\n",
        "G(T / HTTP/1.1\r\n\r\n",
        "GET stalls HTTP/1.1\r\n\r\n",
        "GET * HTTP/1.1\r\n\r\n",
        "GET ftp://h/ HTTP/1.1\r\n\r\n",
        "GET /#top HTTP/1.1\r\n\r\n",
        "GET / HTTP/1\r\n\r\n",
        "GET / http/1.1\r\n\r\n",
        "GET / HTTP/1.1x\r\n\r\n",
        "GET / HTTP/+1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        "GET / HTTP/1.1\r\n: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length:\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "\r\n\r\n",
    };
    static const char *const versions[] = {
        "GET / HTTP/2.0\r\n\r\n",
        "GET / HTTP/0.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    };

    for (size_t i = 0; i < COUNT_OF(malformed); i++)
        refuse(malformed[i], 400);
    for (size_t i = 0; i < COUNT_OF(versions); i++)
        refuse(versions[i], 505);
}

TEST(limits)
{
    char *text = calloc(1, 3 * REQUEST_HEAD_BYTES_MAX);
    size_t length = (size_t)sprintf(text, "GET / HTTP/1.1\r\nA: ");

    memset(text + length, 'a', REQUEST_HEAD_BYTES_MAX - length - 4);
    memcpy(text + REQUEST_HEAD_BYTES_MAX - 4, "\r\n\r\n", 4);
    parse(text);
    memcpy(text + REQUEST_HEAD_BYTES_MAX - 4, "a\r\n\r\n", 5);
    refuse(text, 431);

    length = (size_t)sprintf(text, "GET / HTTP/1.1\r\n");
    for (unsigned i = 0; i < REQUEST_FIELDS_MAX; i++)
        length += (size_t)sprintf(text + length, "A:\r\n");
    memcpy(text + length, "\r\n", 3);
    parse(text);
    memcpy(text + length, "A:\r\n\r\n", 7);
    refuse(text, 431);
    free(text);
}

/* Byte by byte, as it arrives: each prefix is incomplete, and no byte behind it is read. */
TEST(guard_page)
{
    static const char text[] = "GET http://localhost:7470/threads/a%20b/17?x=y HTTP/1.1\r\nHost: localhost\r\n"
                               "Origin: http://localhost\r\nConnection: keep-alive, close\r\nContent-Length: 3\r\n\r\n";
    const size_t whole = sizeof(text) - 1;

    for (size_t length = 0; length <= whole; length++) {
        struct guarded_copy copy;
        struct http_request request;
        struct request_fault fault;
        size_t head_bytes;

        guarded_copy_new(&copy, text, length);
        assert_int_equal(request_parse((const char *)copy.bytes, length, length == 0 ? 0 : length - 1, &request,
                                       &head_bytes, &fault),
                         length == whole ? REQUEST_COMPLETE : REQUEST_INCOMPLETE);
        guarded_copy_free(&copy);
    }
}
