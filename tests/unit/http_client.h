/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client.h - the least of an HTTP client, so that tests see the bytes on the wire. Every wait ends after seconds.
 */
#ifndef TESTS_UNIT_HTTP_CLIENT_H
#define TESTS_UNIT_HTTP_CLIENT_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENT_WAIT_SECONDS 60

/* Bytes received and not yet used. */
struct client {
    int descriptor;
    char *bytes;
    size_t count;
    size_t capacity;
};

struct reply {
    int status;
    char head[4096];
    char *body;
    size_t body_bytes;
};

static inline void client_open(struct client *client, const char *address)
{
    const struct timeval limit = {.tv_sec = CLIENT_WAIT_SECONDS};
    int status;

    *client = (struct client){.descriptor = -1};
    if (strncmp(address, "unix:", 5) == 0) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};

        snprintf(name.sun_path, sizeof(name.sun_path), "%s", address + 5);
        client->descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        status = connect(client->descriptor, (const struct sockaddr *)&name, sizeof(name));
    } else {
        struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

        name.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
        client->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        status = connect(client->descriptor, (const struct sockaddr *)&name, sizeof(name));
    }
    assert_int_equal(status, 0);
    setsockopt(client->descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(client->descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static inline void client_close(struct client *client)
{
    close(client->descriptor);
    free(client->bytes);
    *client = (struct client){.descriptor = -1};
}

static inline void client_send(struct client *client, const char *text)
{
    size_t length = strlen(text);

    while (length != 0) {
        ssize_t sent = send(client->descriptor, text, length, MSG_NOSIGNAL);

        assert_true(sent > 0);
        text += sent;
        length -= (size_t)sent;
    }
}

/* More bytes. 0: the server has closed. */
static inline size_t client_fill(struct client *client)
{
    ssize_t count;

    if (client->capacity - client->count < 65536) {
        client->capacity = 2 * client->capacity + 131072;
        client->bytes = realloc(client->bytes, client->capacity);
        assert_non_null(client->bytes);
    }
    count = recv(client->descriptor, client->bytes + client->count, client->capacity - client->count - 1, 0);
    if (count < 0 && errno == ECONNRESET)
        return 0;
    if (count < 0)
        fail_msg("nothing came: %s", strerror(errno));
    client->count += (size_t)count;
    client->bytes[client->count] = '\0';
    return (size_t)count;
}

static inline void client_drop(struct client *client, size_t count)
{
    client->count -= count;
    memmove(client->bytes, client->bytes + count, client->count + 1);
}

/* Value of a field, up to its line's end; NULL if the head has none. */
static inline const char *reply_field(const struct reply *reply, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = strstr(reply->head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 2;
    }
    return NULL;
}

static inline bool reply_has(const struct reply *reply, const char *name, const char *value)
{
    const char *found = reply_field(reply, name);

    return found != NULL && strncmp(found, value, strlen(value)) == 0 && found[strlen(value)] == '\r';
}

/* The next reply's status and fields. False: the server closed instead. */
static inline bool client_receive_head(struct client *client, struct reply *ret_reply)
{
    const char *end;
    size_t head_bytes;

    while (client->count == 0 || (end = strstr(client->bytes, "\r\n\r\n")) == NULL)
        if (client_fill(client) == 0)
            return false;
    head_bytes = (size_t)(end - client->bytes) + 4;
    assert_true(head_bytes < sizeof(ret_reply->head));
    memcpy(ret_reply->head, client->bytes, head_bytes);
    ret_reply->head[head_bytes] = '\0';
    client_drop(client, head_bytes);
    assert_int_equal(sscanf(ret_reply->head, "HTTP/1.1 %d ", &ret_reply->status), 1);
    return true;
}

/* The next reply; of HEAD, without a body. False: the server closed instead. */
static inline bool client_receive_any(struct client *client, bool head_only, struct reply *ret_reply)
{
    bool empty;

    if (!client_receive_head(client, ret_reply))
        return false;
    empty = head_only || ret_reply->status == 304;
    assert_true(empty || reply_field(ret_reply, "Content-Length") != NULL);
    ret_reply->body_bytes = empty ? 0 : strtoul(reply_field(ret_reply, "Content-Length"), NULL, 10);
    while (client->count < ret_reply->body_bytes)
        if (client_fill(client) == 0)
            return false;
    ret_reply->body = strndup(client->bytes, ret_reply->body_bytes);
    client_drop(client, ret_reply->body_bytes);
    return true;
}

static inline void client_receive(struct client *client, struct reply *ret_reply)
{
    if (!client_receive_any(client, false, ret_reply))
        fail_msg("the server closed");
}

/* The server says nothing more and closes. */
static inline void client_expect_close(struct client *client)
{
    assert_int_equal(client->count, 0);
    assert_int_equal(client_fill(client), 0);
}

/* One request on a connection of its own. */
static inline int client_ask(const char *address, const char *request, struct reply *ret_reply)
{
    struct client client;

    client_open(&client, address);
    client_send(&client, request);
    client_receive(&client, ret_reply);
    client_close(&client);
    return ret_reply->status;
}

#endif
