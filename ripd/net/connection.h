/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - one client: reads requests, sends answers, keeps to the time limits. Private to net/.
 *
 * Guarantees
 *   A. Requests of one client are answered one by one, in order; while one is being answered nothing more is read.
 *   B. After an answer that ends the connection the client's remaining bytes are read past for a while, because a
 *      close with unread bytes would make the system throw the answer away.
 *   C. A client that goes at any moment frees everything that was kept for it.
 */
#ifndef RIPD_NET_CONNECTION_H
#define RIPD_NET_CONNECTION_H

#include <event2/buffer.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/server.h"
#include "net/wishes.h"

enum connection_state {
    CONNECTION_LINGERING, /* all is said; waits for the client to close */
    CONNECTION_READING,   /* waits for a request, or the rest of one */
    CONNECTION_WAITING,   /* its request is with the scanner */
    CONNECTION_WRITING,   /* its answer is being sent */
    CONNECTION_STREAMING, /* it is sent events as they come */
    CONNECTION_CLOSED,
};

struct connection {
    struct connection *next;
    struct connection *previous;
    struct http *http;
    const struct door *door;
    int descriptor;
    struct event *read_event;
    struct event *write_event;
    enum connection_state state;
    uint64_t since_ns;         /* in this state */
    uint64_t request_since_ns; /* the first byte of the request being read; 0 = there is none yet */
    uint64_t progress_ns;      /* the client last took something */
    char *input;
    size_t input_bytes;
    size_t input_capacity;
    size_t scanned_bytes; /* of the input, by the parser */
    uint64_t skip_bytes;  /* of a body, to be read past */
    struct evbuffer *output;
    bool keep_alive;
    bool head_only;
    unsigned minor_version;
    bool ended;            /* the client sends no more; it may still be listening */
    bool entered;          /* a callback is at work: freed at its end */
    struct wishes wishes;  /* of the request being answered */
    struct stream *stream; /* NULL unless STREAMING */
    struct asking *asking;
    struct connection *next_waiting;
};

/* One answer: text, and behind it a body, if there is one. */
struct answer {
    int status;
    const char *content_type;
    const char *extra_fields; /* "NAME: VALUE\r\n"..., or NULL */
    char *text;               /* taken over; NULL = none */
    size_t text_bytes;
    struct body *body;      /* the caller's; a reference is taken; NULL = none */
    const struct etag *tag; /* NULL: the answer may not be kept */
    bool endless;           /* without a length; the connection's end is its end */
};

/* Takes the descriptor over, also when it fails. */
int connection_open(struct http *http, const struct door *door, int descriptor);
void connection_close(struct connection *connection);

void connection_answer(struct connection *connection, const struct answer *answer);
/* parameter and extra_fields may be NULL. */
void connection_problem(struct connection *connection, int status, const char *detail, const char *parameter,
                        const char *extra_fields);

/* The client has it already. */
void connection_not_modified(struct connection *connection, const struct etag *tag, const char *extra_fields);

/* For streams.c: a state begins; sends what the client takes, false if that closed the connection; the output as it is
   becomes the end of the answer. */
void connection_enter_state(struct connection *connection, enum connection_state state);
bool connection_send(struct connection *connection);
void connection_finish(struct connection *connection);

/* Its request is answered later. */
void connection_wait(struct connection *connection);

/* Brackets around answering it later: what closes in between is freed at the end, and reading goes on there. */
void connection_enter(struct connection *connection);
void connection_leave(struct connection *connection);

/* Ends it if it is beyond a limit. */
void connection_expire(struct connection *connection, uint64_t now_mono_ns);

/* answer.c: status line and fields of an answer into the connection's output. */
int answer_write_head(struct connection *connection, const struct answer *answer);
const char *answer_phrase(int status);

#endif
