/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.h - a minimal HTTP client, so that tests see the bytes on the wire. Every wait has a timeout. */
#ifndef TESTS_UNIT_HTTP_CLIENT_H
#define TESTS_UNIT_HTTP_CLIENT_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENT_WAIT_SECONDS 60

/* A connection, with the bytes that were received and not yet used. */
struct client {
    int descriptor;
    char *bytes;
    size_t count;
    size_t capacity;
};

/* The last reply that was received. The next one frees its body. */
static struct {
    int status;
    char head[4096];
    char *body;
    size_t body_bytes;
} reply;

static inline struct client client_open(const char *address)
{
    const struct timeval limit = {.tv_sec = CLIENT_WAIT_SECONDS};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool is_unix = strncmp(address, "unix:", 5) == 0;
    struct client client = {.descriptor = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    int status;

    if (is_unix) {
        snprintf(path.sun_path, sizeof(path.sun_path), "%s", address + 5);
        status = connect(client.descriptor, (const struct sockaddr *)&path, sizeof(path));
    } else {
        inet.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
        status = connect(client.descriptor, (const struct sockaddr *)&inet, sizeof(inet));
    }
    assert_int_equal(status, 0);
    setsockopt(client.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(client.descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    return client;
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

/* Receives more bytes. Returns 0 if the server has closed the connection. */
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
        fail_msg("nothing received: %s", strerror(errno));
    client->count += (size_t)count;
    client->bytes[client->count] = '\0';
    return (size_t)count;
}

/* Returns the next bytes up to and including this end; the caller frees them. NULL: the server closed first. */
static inline char *client_receive_until(struct client *client, const char *end)
{
    const char *found;
    char *text;

    while (client->count == 0 || (found = strstr(client->bytes, end)) == NULL)
        if (client_fill(client) == 0)
            return NULL;
    text = strndup(client->bytes, (size_t)(found - client->bytes) + strlen(end));
    client->count -= strlen(text);
    memmove(client->bytes, client->bytes + strlen(text), client->count + 1);
    return text;
}

/* Returns the value of a field, up to the end of its line, or NULL if the reply does not have the field. */
static inline const char *reply_field(const char *name)
{
    size_t length = strlen(name);

    for (const char *line = strstr(reply.head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 2;
    }
    return NULL;
}

static inline void assert_field(const char *name, const char *value)
{
    const char *found = reply_field(name);

    if (found == NULL || strncmp(found, value, strlen(value)) != 0 || found[strlen(value)] != '\r')
        fail_msg("no field %s: %s in %s", name, value, reply.head);
}

static inline void assert_body_has(const char *part)
{
    if (strstr(reply.body, part) == NULL)
        fail_msg("no %s in %.1000s", part, reply.body);
}

/* Receives the status and the fields of the next reply. Returns false if the server closed first. */
static inline bool client_receive_head(struct client *client)
{
    char *head = client_receive_until(client, "\r\n\r\n");

    if (head == NULL)
        return false;
    assert_true(strlen(head) < sizeof(reply.head));
    strcpy(reply.head, head);
    free(head);
    free(reply.body);
    reply.body = NULL;
    assert_int_equal(sscanf(reply.head, "HTTP/1.1 %d ", &reply.status), 1);
    return true;
}

/* Receives the next reply; the reply to HEAD has no body. Returns false if the server closed first. */
static inline bool client_receive_any(struct client *client, bool head_only)
{
    bool empty;

    if (!client_receive_head(client))
        return false;
    empty = head_only || reply.status == 304;
    assert_true(empty || reply_field("Content-Length") != NULL);
    reply.body_bytes = empty ? 0 : strtoul(reply_field("Content-Length"), NULL, 10);
    while (client->count < reply.body_bytes)
        if (client_fill(client) == 0)
            return false;
    reply.body = strndup(empty ? "" : client->bytes, reply.body_bytes);
    client->count -= reply.body_bytes;
    if (!empty)
        memmove(client->bytes, client->bytes + reply.body_bytes, client->count + 1);
    return true;
}

/* Receives the next reply, which must have this status. */
static inline void client_expect(struct client *client, int status)
{
    if (!client_receive_any(client, false))
        fail_msg("the server closed the connection");
    if (reply.status != status)
        fail_msg("status %d, expected %d: %.1000s", reply.status, status, reply.body);
}

/* The server sends nothing more and closes the connection. */
static inline void client_expect_close(struct client *client)
{
    assert_int_equal(client->count, 0);
    assert_int_equal(client_fill(client), 0);
}

#endif
