/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - one client: reads requests, sends answers, keeps to the time limits. Private to net/.
 *
 * Guarantees
 *   A. Requests of one client are answered one by one, in order; while one is being answered nothing more is read.
 *   B. After an answer that ends the connection the client's remaining bytes are read and dropped for a while, because
 *      a close with unread bytes would make the system discard the answer. So ends the answer to a request with a
 *      body: where the body ends is no question then.
 *   C. A client that goes at any moment frees everything that was kept for it.
 *   D. Nothing is answered, not even a 404, before access_decide() has allowed the request.
 *   E. Every answer but an event stream has its length, so that a connection can be kept; HEAD has the fields of GET,
 *      its length included.
 *   F. No answer may be guessed at, framed, or read by a page of another origin; no CORS field, ever.
 *   G. None may be stored, except that a client may keep a list to ask whether it has changed.
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
    CONNECTION_LINGERING, /* all is sent; waits for the client to close */
    CONNECTION_READING,   /* waits for a request, or the rest of one */
    CONNECTION_WAITING,   /* its query is pending */
    CONNECTION_WRITING,   /* its answer is being sent */
    CONNECTION_STREAMING, /* it is sent events as they come */
    CONNECTION_CLOSED,
};

struct connection {
    LIST_ENTRY(connection) entry; /* of server->connections */
    struct server *server;
    const struct access_rules *rules; /* of its listener */
    int descriptor;
    struct event *read_event;
    struct event *write_event;
    enum connection_state state;
    uint64_t since_ns;         /* in this state */
    uint64_t request_since_ns; /* the first byte of the request being read; 0 = there is none yet */
    uint64_t progress_ns;      /* something was last sent */
    char *input;
    size_t input_bytes;
    size_t input_capacity;
    size_t scanned_bytes;        /* of the input, by the parser */
    struct http_request request; /* being answered; its spans lie in the input */
    size_t head_bytes;           /* of it; 0 = none is being answered */
    struct evbuffer *output;
    bool keep_alive;
    bool ended;                     /* the client sends no more; it may still be reading */
    bool entered;                   /* a callback is at work: freed at its end */
    struct stream *stream;          /* NULL unless STREAMING */
    struct pending_query *query;    /* NULL unless WAITING */
    LIST_ENTRY(connection) waiting; /* for the same query */
};

/* One answer: text, and behind it a list, if there is one. */
struct answer {
    int status;
    const char *content_type;
    const char *extra_fields; /* "NAME: VALUE\r\n"..., or NULL */
    char *text;               /* taken over; NULL = none */
    size_t text_bytes;
    struct list *list;    /* the caller's; a reference is taken; NULL = none */
    const char *constant; /* static text, sent by reference; NULL = none */
    size_t constant_bytes;
    const char *tag;    /* NULL: the answer may not be kept */
    const char *policy; /* Content-Security-Policy; NULL: nothing may be loaded by it */
    bool endless;       /* without a length; the connection's end is its end */
};

/* Takes the descriptor over, also when it fails. */
int connection_open(struct server *server, const struct access_rules *rules, int descriptor);
void connection_close(struct connection *connection);

void connection_answer(struct connection *connection, const struct answer *answer);
/* parameter and extra_fields may be NULL. */
void connection_problem(struct connection *connection, int status, const char *detail, const char *parameter,
                        const char *extra_fields);

/* The path and the parameters of its request, as they were written. */
struct span connection_key(const struct connection *connection);

/* Its request is answered later, between connection_enter() and connection_leave(): what closes in between is freed at
   the end, and reading goes on there. */
void connection_wait(struct connection *connection);
void connection_enter(struct connection *connection);
void connection_leave(struct connection *connection);

/* For streams.c: the head of an endless answer goes out and the state is STREAMING; sends what the client takes, false
   if that closed the connection; the output as it is becomes the end of the answer. */
int connection_start_stream(struct connection *connection, const struct answer *answer);
bool connection_send(struct connection *connection);
void connection_finish(struct connection *connection);

/* Ends connections that are beyond a time limit. */
void connections_expire(struct server *server, uint64_t now_mono_ns);
/* Ends the one that has been incomplete for longest, event streams last. False: there is none. */
bool connections_drop_one(struct server *server);
/* While lists take too much memory, ends the connection that has sent nothing of its answer for longest. */
void connections_drop_stalled(struct server *server);

#endif
