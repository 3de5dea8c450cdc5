/* SPDX-License-Identifier: Apache-2.0 */
/* test_request.c - the head of a request: what is taken, what is refused, and that nothing else is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/request.h"
#include "support/test.h"

#define HOST "Host: localhost\r\n"

static enum request_outcome parse(const char *text, struct http_request *ret_request, int *ret_status)
{
    struct request_fault fault = {0};
    size_t head_bytes = 0;
    enum request_outcome outcome = request_parse(text, strlen(text), 0, ret_request, &head_bytes, &fault);

    *ret_status = fault.status;
    if (outcome == REQUEST_BAD)
        assert_non_null(fault.detail);
    return outcome;
}

static void assert_span(struct span span, const char *expected)
{
    assert_int_equal(span.length, strlen(expected));
    assert_memory_equal(span.bytes, expected, span.length);
}

TEST(plain)
{
    struct http_request request;
    int status;

    assert_int_equal(
        parse("GET /stalls?limit=1&a=? HTTP/1.1\r\nHost:  localhost \r\nContent-Length: 12\r\n\r\n", &request, &status),
        REQUEST_COMPLETE);
    assert_int_equal(request.method, REQUEST_GET);
    assert_span(request.path, "/stalls");
    assert_span(request.query, "limit=1&a=?");
    assert_span(request.fields[FIELD_HOST].value, "localhost");
    assert_int_equal(request.fields[FIELD_HOST].count, 1);
    assert_true(request.has_body);
    assert_true(request.keep_alive);
    assert_false(request.has_authority);
    assert_int_equal(parse("HEAD http://h:1/x HTTP/1.1\r\n\r\n", &request, &status), REQUEST_COMPLETE);
    assert_int_equal(request.method, REQUEST_HEAD);
    assert_true(request.has_authority);
    assert_span(request.authority, "h:1");
    assert_span(request.path, "/x");
    assert_int_equal(parse("GET HTTPS://h?q HTTP/1.1\r\n\r\n", &request, &status), REQUEST_COMPLETE);
    assert_span(request.path, "/");
    assert_span(request.query, "q");
}

TEST(methods)
{
    static const char *const others[] = {"POST /", "get /", "GETT /", "BREW /", "OPTIONS *", "CONNECT h:80", "HEA /"};

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct http_request request;
        char text[128];
        int status;

        snprintf(text, sizeof(text), "%s HTTP/1.1\r\n\r\n", others[i]);
        assert_int_equal(parse(text, &request, &status), REQUEST_COMPLETE);
        assert_int_equal(request.method, REQUEST_OTHER);
    }
}

TEST(keep_alive)
{
    static const struct {
        const char *text;
        bool keep_alive;
    } rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: upgrade, Close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", true},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_request request;
        int status;

        assert_int_equal(parse(rows[i].text, &request, &status), REQUEST_COMPLETE);
        assert_int_equal(request.keep_alive, rows[i].keep_alive);
    }
}

TEST(refused)
{
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"GET / HTTP/1.1\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "\n", 400},
        {"GET / HTTP/1.1\rX\r\n\r\n", 400},
        {"GET /\x01 HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nA: \x1b\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\n\r\n", 400},
        {"GET / x HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\n\r\n", 400},
        {" GET / HTTP/1.1\r\n\r\n", 400},
        {"GET /\ta HTTP/1.1\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\n\r\n", 400},
        {"GET stalls HTTP/1.1\r\n\r\n", 400},
        {"GET * HTTP/1.1\r\n\r\n", 400},
        {"GET ftp://h/ HTTP/1.1\r\n\r\n", 400},
        {"GET /#top HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1\r\n\r\n", 400},
        {"GET / http/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1x\r\n\r\n", 400},
        {"GET / HTTP/+1.1\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET / HTTP/0.9\r\n\r\n", 505},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"GET / HTTP/1.1\r\nHost\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n: localhost\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"\r\n\r\n", 400},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_request request;
        int status;

        if (parse(rows[i].text, &request, &status) != REQUEST_BAD || status != rows[i].status)
            fail_msg("%s gives %d", rows[i].text, status);
    }
}

TEST(limits)
{
    char *text = calloc(1, 3 * REQUEST_HEAD_BYTES_MAX);
    struct http_request request;
    size_t length;
    int status;

    length = (size_t)sprintf(text, "GET / HTTP/1.1\r\nA: ");
    memset(text + length, 'a', REQUEST_HEAD_BYTES_MAX - length - 4);
    memcpy(text + REQUEST_HEAD_BYTES_MAX - 4, "\r\n\r\n", 4);
    assert_int_equal(parse(text, &request, &status), REQUEST_COMPLETE);
    memcpy(text + REQUEST_HEAD_BYTES_MAX - 4, "a\r\n\r\n", 5);
    assert_int_equal(parse(text, &request, &status), REQUEST_BAD);
    assert_int_equal(status, 431);

    length = (size_t)sprintf(text, "GET / HTTP/1.1\r\n");
    for (unsigned i = 0; i < REQUEST_FIELDS_MAX; i++)
        length += (size_t)sprintf(text + length, "A:\r\n");
    memcpy(text + length, "\r\n", 3);
    assert_int_equal(parse(text, &request, &status), REQUEST_COMPLETE);
    memcpy(text + length, "A:\r\n\r\n", 7);
    assert_int_equal(parse(text, &request, &status), REQUEST_BAD);
    assert_int_equal(status, 431);
    free(text);
}

/* Byte by byte, each prefix at the end of a page: incomplete until it is complete, as when given at once. */
TEST(guard_page)
{
    static const char text[] = "GET http://localhost:7470/threads/a%20b/17?x=y HTTP/1.1\r\nHost: localhost\r\n"
                               "Origin: http://localhost\r\nConnection: keep-alive, close\r\nContent-Length: 3\r\n\r\n";
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page_bytes, page_bytes, PROT_NONE), 0);
    for (size_t length = 0; length <= sizeof(text) - 1; length++) {
        char *bytes = pages + page_bytes - length;
        enum request_outcome expected = length == sizeof(text) - 1 ? REQUEST_COMPLETE : REQUEST_INCOMPLETE;
        struct http_request request;
        struct request_fault fault;
        size_t head_bytes;

        memcpy(bytes, text, length);
        assert_int_equal(request_parse(bytes, length, length == 0 ? 0 : length - 1, &request, &head_bytes, &fault),
                         expected);
    }
    munmap(pages, 2 * page_bytes);
}
