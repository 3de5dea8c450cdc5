/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_smuggling.c - malformed requests, and requests that two parsers could read in two ways, on the wire: each is
 * refused, the connection ends, and nothing behind the request is answered, whatever it looks like.
 */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"

#define LINE "GET /healthz HTTP/1.1\r\n"
#define END "\r\n"
#define SMUGGLED GET("/version")

struct request {
    const char *text;
    size_t length;
    int status;
};

#define REQUEST(status, text)                                                                                          \
    {                                                                                                                  \
        text, sizeof(text) - 1, status                                                                                 \
    }

static const struct request requests[] = {
    /* two lengths */
    REQUEST(400, LINE HOST "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\nG"),
    REQUEST(400, LINE HOST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n" END "5c\r\n" SMUGGLED "\r\n0\r\n\r\n"),
    REQUEST(400, LINE HOST "Content-Length: 5\r\nContent-Length: 0\r\n" END "hello"),
    REQUEST(400, LINE HOST "Content-Length: 5\r\nContent-Length: 5\r\n" END "hello"),
    REQUEST(400, LINE HOST "Content-Length: 5, 5\r\n" END "hello"),
    REQUEST(400, LINE HOST "content-length: 0\r\nCONTENT-LENGTH: 44\r\n" END),
    /* malformed lengths */
    REQUEST(400, LINE HOST "Content-Length: +5\r\n" END "hello"),
    REQUEST(400, LINE HOST "Content-Length: -1\r\n" END),
    REQUEST(400, LINE HOST "Content-Length: 0x5\r\n" END "hello"),
    REQUEST(400, LINE HOST "Content-Length: 5 5\r\n" END "hello"),
    REQUEST(400, LINE HOST "Content-Length: 5;a=b\r\n" END "hello"),
    REQUEST(400, LINE HOST "Content-Length: 1e1\r\n" END),
    REQUEST(400, LINE HOST "Content-Length: \r\n" END),
    /* transfer codings */
    REQUEST(400, LINE HOST "Transfer-Encoding: xchunked\r\n" END "0\r\n\r\n"),
    REQUEST(400, LINE HOST "Transfer-Encoding: chunked, identity\r\n" END "0\r\n\r\n"),
    REQUEST(400, LINE HOST "Transfer-Encoding: identity\r\n" END),
    REQUEST(400, LINE HOST "Transfer-Encoding: gzip, chunked\r\n" END "0\r\n\r\n"),
    REQUEST(400, LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" END "0\r\n\r\n"),
    REQUEST(400, LINE HOST "Transfer-Encoding: \"chunked\"\r\n" END "0\r\n\r\n"),
    REQUEST(400, LINE HOST "Transfer-Encoding:\r\n" END),
    REQUEST(400, LINE HOST "Transfer-Encoding : chunked\r\n" END "0\r\n\r\n"),
    REQUEST(400, LINE HOST "Transfer-Encoding\t: chunked\r\n" END "0\r\n\r\n"),
    REQUEST(400, LINE HOST "Transfer-Encoding: \x0b chunked\r\n" END "0\r\n\r\n"),
    REQUEST(400, LINE HOST "X: a\r\nTransfer-Encoding:\r\n chunked\r\n" END "0\r\n\r\n"),
    REQUEST(400, "GET /healthz HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n"),
    /* a body is not read: this reply is the last */
    REQUEST(200, LINE HOST "Content-Length: 5\r\n" END "hello"),
    REQUEST(200, LINE HOST "Content-Length: 0000000005\r\n" END "GET /"),
    REQUEST(200, LINE HOST "Content-Length: 99999999999999999999999999999999\r\n" END),
    REQUEST(200, LINE HOST "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n"),
    REQUEST(200, LINE HOST "Transfer-Encoding: Chunked\r\n" END "FFFFFFFFFFFFFFFFFF\r\nx"),
    REQUEST(405,
            "POST /stalls HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n" END "7fffffffffffffff;a=\"\r\n\"\r\n"),
    /* lines */
    REQUEST(400, LINE HOST "X: a\r\n folded\r\n" END),
    REQUEST(400, LINE HOST "X: a\r\n\tContent-Length: 44\r\n" END),
    REQUEST(400, LINE " " HOST END),
    REQUEST(400, "GET /healthz HTTP/1.1\n" HOST END),
    REQUEST(400, LINE "Host: localhost\n" END),
    REQUEST(400, LINE HOST "\n"),
    REQUEST(400, LINE HOST "X: a\rContent-Length: 44\r\n" END),
    REQUEST(400, LINE HOST "X: a\r\r\n" END),
    REQUEST(400, LINE HOST "X : a\r\n" END),
    REQUEST(400, LINE HOST "X\r\n" END),
    REQUEST(400, LINE HOST ": a\r\n" END),
    REQUEST(400, LINE HOST "X(: a\r\n" END),
    REQUEST(400, LINE HOST "X\xc3\xa9: a\r\n" END),
    REQUEST(400, LINE HOST "X: a\0b\r\n" END),
    REQUEST(400, LINE HOST "X\0: a\r\n" END),
    REQUEST(400, "GET /healthz\0 HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET /healthz HTTP/1.1\r\nHost: localhost\0.example.org\r\n" END),
    /* hosts */
    REQUEST(400, LINE "Host: localhost\r\nHost: localhost\r\n" END),
    REQUEST(400, LINE "Host: localhost\r\nHost: example.org\r\n" END),
    REQUEST(400, LINE "X: a\r\n" END),
    REQUEST(400, LINE "Host: localhost, example.org\r\n" END),
    REQUEST(400, LINE "Host: localhost\r\n example.org\r\n" END),
    REQUEST(400, LINE "Host: user@localhost\r\n" END),
    /* request lines */
    REQUEST(400, "GET  /healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET\t/healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET /healthz  HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET /healthz HTTP/1.1 \r\n" HOST END),
    REQUEST(400, "GET /healthz HTTP/1.1 HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET /healthz\r\n" END),
    REQUEST(400, "GET\r\n" END),
    REQUEST(400, "GET /healthz http/1.1\r\n" HOST END),
    REQUEST(400, "GET /healthz HTTP/1.10\r\n" HOST END),
    REQUEST(400, "GET /healthz HTTP/1.1\x0b\r\n" HOST END),
    REQUEST(505, "GET /healthz HTTP/2.0\r\n" HOST END),
    REQUEST(505, "GET /healthz HTTP/0.9\r\n" HOST END),
    REQUEST(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    REQUEST(400, "GET /healthz#x HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET localhost/healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET ftp://localhost/healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET http:/healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET http:///healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET http://user@localhost/healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "GET * HTTP/1.1\r\n" HOST END),
    REQUEST(400, " GET /healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "G:T /healthz HTTP/1.1\r\n" HOST END),
    REQUEST(400, "\xef\xbb\xbfGET /healthz HTTP/1.1\r\n" HOST END),
    /* other protocols */
    REQUEST(400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    REQUEST(400, "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    REQUEST(400, "EHLO localhost\r\n\r\n"),
};

static void send_request(struct client *client, const struct request *request)
{
    assert_int_equal(send(client->descriptor, request->text, request->length, MSG_NOSIGNAL), request->length);
}

/* The next reply is the one to this request, announces that it is the last, and is. */
static void expect_last_reply(struct client *client, const struct request *request)
{
    if (!client_receive_any(client, false))
        fail_msg("no reply to %s", request->text);
    if (reply.status != request->status)
        fail_msg("status %d, expected %d, to %s", reply.status, request->status, request->text);
    if (reply_field("Connection") == NULL || strncmp(reply_field("Connection"), "close\r", 6) != 0)
        fail_msg("no \"Connection: close\" after %s", request->text);
    if (client->count != 0 || client_fill(client) != 0)
        fail_msg("something else is answered after %s: %s", request->text, client->bytes);
    if (request->status >= 400)
        assert_field("Content-Type", "application/problem+json");
}

TEST(alone, world_set_up, world_tear_down)
{
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        struct client client = client_open(world.address);

        send_request(&client, &requests[i]);
        expect_last_reply(&client, &requests[i]);
        client_close(&client);
    }
    assert_int_equal(get("/healthz"), 200);
}

/* Among good requests: those before it are answered, those behind it never. */
TEST(in_a_pipeline, world_set_up, world_tear_down)
{
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        struct client client = connect_and_send(GET("/healthz") "HEAD /healthz HTTP/1.1\r\n" HOST "\r\n");

        send_request(&client, &requests[i]);
        client_send(&client, SMUGGLED SMUGGLED);
        client_expect(&client, 200);
        assert_true(client_receive_any(&client, true));
        assert_int_equal(reply.status, 200);
        expect_last_reply(&client, &requests[i]);
        client_close(&client);
    }
}

/* Odd requests with one meaning: the connection goes on. */
TEST(allowed, world_set_up, world_tear_down)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"\r\n\r\n" LINE HOST END, 200},
        {LINE "HOST:localhost\r\n" END, 200},
        {LINE "Host: \t localhost \t \r\n" END, 200},
        {LINE HOST "Content-Length: 0\r\n" END, 200},
        {LINE HOST "X: \x80\xff\r\n" END, 200},
        {LINE HOST "X:\r\n" END, 200},
        {LINE HOST "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nConnection: Upgrade, HTTP2-Settings\r\n" END, 200},
        {"GET http://localhost/healthz HTTP/1.1\r\n" HOST END, 200},
        {"GET http://example.org/healthz HTTP/1.1\r\n" HOST END, 421},
        {"GET //example.org/healthz HTTP/1.1\r\n" HOST END, 404},
        {"GET /stalls/../healthz HTTP/1.1\r\n" HOST END, 404},
        {"GET /%68ealthz HTTP/1.1\r\n" HOST END, 404},
        {"OPTIONS * HTTP/1.1\r\n" HOST END, 405},
        {"CONNECT localhost:22 HTTP/1.1\r\n" HOST END, 405},
        {"TRACE /healthz HTTP/1.1\r\n" HOST END, 405},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct client client = connect_and_send(cases[i].text);

        client_send(&client, GET("/healthz"));
        assert_true(client_receive_any(&client, false));
        if (reply.status != cases[i].status)
            fail_msg("status %d, expected %d, to %s", reply.status, cases[i].status, cases[i].text);
        client_expect(&client, 200);
        assert_int_equal(client.count, 0);
        client_close(&client);
    }
}
