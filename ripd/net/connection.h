/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - one client connection: reads requests, sends answers, enforces the time limits. Private to net/.
 *
 * Guarantees
 *   A. Requests of one client are answered one by one, in order. While one is being answered, nothing more is read.
 *   B. After an answer that ends the connection, the client's remaining bytes are read and dropped for a while, because
 *      closing with unread bytes would make the kernel discard the answer. A request with a body ends the connection in
 *      this way, so that it does not matter where the body ends.
 *   C. A client may close at any moment; everything that was kept for it is freed.
 *   D. Nothing is answered, not even a 404, before access_decide() has allowed the request.
 *   E. Every answer except an event stream has a length, so that the connection can be kept. HEAD has the fields of
 *      GET, including the length.
 *   F. Answers must not be content-sniffed, framed, or read by a page of another origin. There is never a CORS field.
 *   G. Answers must not be stored, except that a client may keep a list to ask whether it has changed.
 */
#ifndef RIPD_NET_CONNECTION_H
#define RIPD_NET_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/access.h"
#include "net/lists.h"
#include "net/server.h"

enum connection_state {
    CONNECTION_LINGERING, /* all is sent; waits until the client closes */
    CONNECTION_READING,   /* waits for a request, or the rest of one */
    CONNECTION_WAITING,   /* its query is pending */
    CONNECTION_WRITING,   /* its answer is being sent */
    CONNECTION_STREAMING, /* it receives events as they happen */
    CONNECTION_CLOSED,
};

struct connection {
    LIST_ENTRY(connection) entry; /* in server->connections */
    struct server *server;
    const struct access_rules *rules; /* of its listener */
    int descriptor;
    struct event *read_event;
    struct event *write_event;
    enum connection_state state;
    uint64_t since_ns;         /* start of this state */
    uint64_t request_since_ns; /* first byte of the request being read; 0 = none yet */
    uint64_t progress_ns;      /* last successful send */
    char *input;
    size_t input_bytes;
    size_t input_capacity;
    size_t scanned_bytes;        /* bytes of the input that the parser has seen */
    struct http_request request; /* being answered; its spans point into the input */
    size_t head_bytes;           /* of that request; 0 = none is being answered */
    struct evbuffer *output;
    bool keep_alive;
    bool ended;                     /* the client sends no more; it may still be reading */
    bool entered;                   /* a callback is running, and frees it at its end */
    struct stream *stream;          /* NULL unless STREAMING */
    struct pending_query *query;    /* NULL unless WAITING */
    LIST_ENTRY(connection) waiting; /* in the list of the same query */
};

/* One answer: the text, followed by the list if there is one. */
struct answer {
    int status;
    const char *content_type;
    const char *extra_fields; /* "NAME: VALUE\r\n"..., or NULL */
    char *text;               /* ownership is taken; NULL = none */
    size_t text_bytes;
    struct list *list;    /* borrowed, a reference is taken; NULL = none */
    const char *constant; /* static text, sent by reference; NULL = none */
    size_t constant_bytes;
    const char *tag;    /* ETag; NULL: the answer must not be stored */
    const char *policy; /* Content-Security-Policy; NULL: it may load nothing */
    bool endless;       /* without a length; ends with the connection */
};

/* Takes ownership of the descriptor, even on failure. Returns 0 or -ENOMEM. */
int connection_open(struct server *server, const struct access_rules *rules, int descriptor);
void connection_close(struct connection *connection);

void connection_answer(struct connection *connection, const struct answer *answer);
/* parameter and extra_fields may be NULL. */
void connection_problem(struct connection *connection, int status, const char *detail, const char *parameter,
                        const char *extra_fields);

/* The path and the parameters of its request, as the client wrote them. */
struct span connection_key(const struct connection *connection);

/*
 * After connection_wait() the request is answered later, between connection_enter() and connection_leave(). A
 * connection closed in between is freed by connection_leave(); otherwise reading continues there.
 */
void connection_wait(struct connection *connection);
void connection_enter(struct connection *connection);
void connection_leave(struct connection *connection);

/*
 * For streams.c. connection_start_stream() sends the head of an endless answer; the state becomes STREAMING.
 * connection_send() sends what the socket accepts, and returns false if that closed the connection. connection_finish()
 * makes the output so far the end of the answer.
 */
int connection_start_stream(struct connection *connection, const struct answer *answer);
bool connection_send(struct connection *connection);
void connection_finish(struct connection *connection);

/* Closes connections that have exceeded a time limit. */
void connections_expire(struct server *server, uint64_t now_mono_ns);
/* Closes the connection that has been incomplete for longest, event streams last. Returns false if there is none. */
bool connections_drop_one(struct server *server);
/* While lists use too much memory, closes the connection that has sent nothing of its answer for longest. */
void connections_drop_stalled(struct server *server);

#endif
