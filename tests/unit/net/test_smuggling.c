/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_smuggling.c - requests that are malformed, or that two parsers could read in two ways, on the wire: each is
 * refused, the connection ends, and nothing behind it is answered, whatever that looks like.
 */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"

#define LINE "GET /healthz HTTP/1.1\r\n"
#define END "\r\n"
#define SMUGGLED GET("/version")

struct row {
    const char *text;
    int status;
    size_t length; /* 0: up to the terminator */
};

#define BYTES(text) text, 400, sizeof(text) - 1

static const struct row rows[] = {
    /* two lengths */
    {LINE HOST "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\nG", 400, 0},
    {LINE HOST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n" END "5c\r\n" SMUGGLED "\r\n0\r\n\r\n", 400, 0},
    {LINE HOST "Content-Length: 5\r\nContent-Length: 0\r\n" END "hello", 400, 0},
    {LINE HOST "Content-Length: 5\r\nContent-Length: 5\r\n" END "hello", 400, 0},
    {LINE HOST "Content-Length: 5, 5\r\n" END "hello", 400, 0},
    {LINE HOST "content-length: 0\r\nCONTENT-LENGTH: 44\r\n" END, 400, 0},
    /* lengths that are none */
    {LINE HOST "Content-Length: +5\r\n" END "hello", 400, 0},
    {LINE HOST "Content-Length: -1\r\n" END, 400, 0},
    {LINE HOST "Content-Length: 0x5\r\n" END "hello", 400, 0},
    {LINE HOST "Content-Length: 5 5\r\n" END "hello", 400, 0},
    {LINE HOST "Content-Length: 5;a=b\r\n" END "hello", 400, 0},
    {LINE HOST "Content-Length: 1e1\r\n" END, 400, 0},
    {LINE HOST "Content-Length: \r\n" END, 400, 0},
    /* codings */
    {LINE HOST "Transfer-Encoding: xchunked\r\n" END "0\r\n\r\n", 400, 0},
    {LINE HOST "Transfer-Encoding: chunked, identity\r\n" END "0\r\n\r\n", 400, 0},
    {LINE HOST "Transfer-Encoding: identity\r\n" END, 400, 0},
    {LINE HOST "Transfer-Encoding: gzip, chunked\r\n" END "0\r\n\r\n", 400, 0},
    {LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" END "0\r\n\r\n", 400, 0},
    {LINE HOST "Transfer-Encoding: \"chunked\"\r\n" END "0\r\n\r\n", 400, 0},
    {LINE HOST "Transfer-Encoding:\r\n" END, 400, 0},
    {LINE HOST "Transfer-Encoding : chunked\r\n" END "0\r\n\r\n", 400, 0},
    {LINE HOST "Transfer-Encoding\t: chunked\r\n" END "0\r\n\r\n", 400, 0},
    {LINE HOST "Transfer-Encoding: \x0b chunked\r\n" END "0\r\n\r\n", 400, 0},
    {LINE HOST "X: a\r\nTransfer-Encoding:\r\n chunked\r\n" END "0\r\n\r\n", 400, 0},
    {"GET /healthz HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n", 400, 0},
    /* a body is not read: the answer is the last */
    {LINE HOST "Content-Length: 5\r\n" END "hello", 200, 0},
    {LINE HOST "Content-Length: 0000000005\r\n" END "GET /", 200, 0},
    {LINE HOST "Content-Length: 99999999999999999999999999999999\r\n" END, 200, 0},
    {LINE HOST "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n", 200, 0},
    {LINE HOST "Transfer-Encoding: Chunked\r\n" END "FFFFFFFFFFFFFFFFFF\r\nx", 200, 0},
    {"POST /stalls HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n" END "7fffffffffffffff;a=\"\r\n\"\r\n", 405, 0},
    /* lines */
    {LINE HOST "X: a\r\n folded\r\n" END, 400, 0},
    {LINE HOST "X: a\r\n\tContent-Length: 44\r\n" END, 400, 0},
    {LINE " " HOST END, 400, 0},
    {"GET /healthz HTTP/1.1\n" HOST END, 400, 0},
    {LINE "Host: localhost\n" END, 400, 0},
    {LINE HOST "\n", 400, 0},
    {LINE HOST "X: a\rContent-Length: 44\r\n" END, 400, 0},
    {LINE HOST "X: a\r\r\n" END, 400, 0},
    {LINE HOST "X : a\r\n" END, 400, 0},
    {LINE HOST "X\r\n" END, 400, 0},
    {LINE HOST ": a\r\n" END, 400, 0},
    {LINE HOST "X(: a\r\n" END, 400, 0},
    {LINE HOST "X\xc3\xa9: a\r\n" END, 400, 0},
    {BYTES(LINE HOST "X: a\0b\r\n" END)},
    {BYTES(LINE HOST "X\0: a\r\n" END)},
    {BYTES("GET /healthz\0 HTTP/1.1\r\n" HOST END)},
    {BYTES("GET /healthz HTTP/1.1\r\nHost: localhost\0.example.org\r\n" END)},
    /* hosts */
    {LINE "Host: localhost\r\nHost: localhost\r\n" END, 400, 0},
    {LINE "Host: localhost\r\nHost: example.org\r\n" END, 400, 0},
    {LINE "X: a\r\n" END, 400, 0},
    {LINE "Host: localhost, example.org\r\n" END, 400, 0},
    {LINE "Host: localhost\r\n example.org\r\n" END, 400, 0},
    {LINE "Host: user@localhost\r\n" END, 400, 0},
    /* request lines */
    {"GET  /healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET\t/healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET /healthz  HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET /healthz HTTP/1.1 \r\n" HOST END, 400, 0},
    {"GET /healthz HTTP/1.1 HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET /healthz\r\n" END, 400, 0},
    {"GET\r\n" END, 400, 0},
    {"GET /healthz http/1.1\r\n" HOST END, 400, 0},
    {"GET /healthz HTTP/1.10\r\n" HOST END, 400, 0},
    {"GET /healthz HTTP/1.1\x0b\r\n" HOST END, 400, 0},
    {"GET /healthz HTTP/2.0\r\n" HOST END, 505, 0},
    {"GET /healthz HTTP/0.9\r\n" HOST END, 505, 0},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, 0},
    {"GET /healthz#x HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET localhost/healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET ftp://localhost/healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET http:/healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET http:///healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET http://user@localhost/healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"GET * HTTP/1.1\r\n" HOST END, 400, 0},
    {" GET /healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"G:T /healthz HTTP/1.1\r\n" HOST END, 400, 0},
    {"\xef\xbb\xbfGET /healthz HTTP/1.1\r\n" HOST END, 400, 0},
    /* what is no HTTP at all */
    {BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")},
    {"SSH-2.0-OpenSSH_9.2\r\n\r\n", 400, 0},
    {"EHLO localhost\r\n\r\n", 400, 0},
};

static void send_bytes(struct client *client, const struct row *row)
{
    size_t length = row->length == 0 ? strlen(row->text) : row->length;

    assert_int_equal(send(client->descriptor, row->text, length, MSG_NOSIGNAL), length);
}

/* The next answer is this row's, says that it is the last, and is. */
static void expect_refusal(struct client *client, const struct row *row)
{
    struct reply reply;

    if (!client_receive_any(client, false, &reply))
        fail_msg("no answer to %s", row->text);
    if (reply.status != row->status)
        fail_msg("%d, not %d, to %s", reply.status, row->status, row->text);
    if (!reply_has(&reply, "Connection", "close"))
        fail_msg("the connection goes on after %s", row->text);
    if (client->count != 0 || client_fill(client) != 0)
        fail_msg("something else is answered after %s: %s", row->text, client->bytes);
    if (row->status >= 400)
        assert_true(reply_has(&reply, "Content-Type", "application/problem+json"));
    free(reply.body);
}

TEST(alone)
{
    struct world world;

    world_open(&world);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct client client;

        client_open(&client, world.address);
        send_bytes(&client, &rows[i]);
        expect_refusal(&client, &rows[i]);
        client_close(&client);
    }
    assert_int_equal(ask(&world, GET("/healthz")), 200);
    world_close(&world);
}

/* Between good requests: those before it are answered, those behind it never. */
TEST(in_a_pipeline)
{
    struct world world;

    world_open(&world);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct client client;
        struct reply reply;

        client_open(&client, world.address);
        client_send(&client, GET("/healthz") "HEAD /healthz HTTP/1.1\r\n" HOST "\r\n");
        send_bytes(&client, &rows[i]);
        client_send(&client, SMUGGLED SMUGGLED);
        client_expect(&client, 200);
        assert_true(client_receive_any(&client, true, &reply));
        assert_int_equal(reply.status, 200);
        free(reply.body);
        expect_refusal(&client, &rows[i]);
        client_close(&client);
    }
    world_close(&world);
}

/* What looks odd and is not: one way to read it. */
TEST(allowed)
{
    static const struct {
        const char *text;
        int status;
    } allowed[] = {
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
    struct world world;

    world_open(&world);
    for (size_t i = 0; i < COUNT_OF(allowed); i++) {
        struct client client;
        struct reply reply;

        client_open(&client, world.address);
        client_send(&client, allowed[i].text);
        client_send(&client, GET("/healthz"));
        client_receive(&client, &reply);
        if (reply.status != allowed[i].status)
            fail_msg("%d, not %d, to %s", reply.status, allowed[i].status, allowed[i].text);
        free(reply.body);
        client_receive(&client, &reply);
        if (reply.status != 200 || client.count != 0)
            fail_msg("%d behind %s", reply.status, allowed[i].text);
        free(reply.body);
        client_close(&client);
    }
    world_close(&world);
}
