/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - limits of what a client may use: the numbers, and the table of those that users should know. */
#ifndef RIPD_NET_LIMITS_H
#define RIPD_NET_LIMITS_H

#include "net/event_store.h"
#include "net/request.h"

#define HTTP_CONNECTIONS_MAX 512u
#define HTTP_STREAMS_MAX 64u                /* of events; not counted as connections */
#define HTTP_STREAM_OUTPUT_BYTES_MAX 65536u /* rendered for one stream and not sent; one event may exceed it */
#define HTTP_STREAM_SOCKET_BYTES 65536      /* SO_SNDBUF of a stream */
#define HTTP_STREAM_EVENTS_PER_TURN 500u    /* filtered for one stream */
#define HTTP_STREAM_RETRY_MS 3000u          /* delay before a client reconnects */
#define HTTP_WRITE_BYTES_MAX (256u << 10)   /* to one client in one turn of the loop */
#define HTTP_REQUESTS_PER_TURN 16u          /* pipelined by one client */
#define HTTP_ACCEPTS_PER_TURN 64u
#define HTTP_QUERIES_MAX 64u                   /* pending */
#define HTTP_QUERIES_AT_WORK_MAX 4u            /* of them at the scanner, or answered and not yet built */
#define HTTP_BUILD_BYTES_PER_TURN (128u << 10) /* of a list, before other clients have their turn */
#define HTTP_BUILD_ITEMS_AT_ONCE 100u          /* a list of at most this many items is built in one turn */
#define HTTP_BUILD_STATES_AT_ONCE 10000u       /* the same for ids of a list of states */
#define HTTP_CALLBACKS_PER_TURN 16             /* of the loop, before it polls again */
#define HTTP_LISTS_BYTES_MAX (64u << 20)

#define HTTP_REQUEST_S 10u
#define HTTP_IDLE_S 30u
#define HTTP_STALL_S 30u
#define HTTP_ANSWER_S 300u
#define HTTP_WAIT_S 5u
#define HTTP_LINGER_S 2u
#define HTTP_HEARTBEAT_S 15u

/* The number, its unit, and its meaning. */
#define HTTP_LIMIT_TABLE(X)                                                                                            \
    X(HTTP_CONNECTIONS_MAX, "connections",                                                                             \
      "at a time; a new one replaces the one that has been incomplete for longest")                                    \
    X(HTTP_STREAMS_MAX, "event streams",                                                                               \
      "at a time, not counted as connections; a new one replaces the oldest of the user "                              \
      "or address that has most; loopback is one address")                                                             \
    X(REQUEST_HEAD_BYTES_MAX, "bytes", "of a request head; a longer one is answered with 431")                         \
    X(REQUEST_FIELDS_MAX, "fields", "in a request head; more are answered with 431")                                   \
    X(HTTP_REQUEST_S, "seconds", "for a request head, from its first byte; then it is answered with 408")              \
    X(HTTP_IDLE_S, "seconds", "between two requests on a connection; then it is closed")                               \
    X(HTTP_STALL_S, "seconds", "in which a client reads nothing of an answer or a stream; then it is dropped")         \
    X(HTTP_ANSWER_S, "seconds", "for a whole answer; then the client is dropped")                                      \
    X(HTTP_WAIT_S, "seconds", "that a client waits for the scanner; then it is answered with 503")                     \
    X(HTTP_QUERIES_MAX, "queries", "that are pending at a time; another is answered with 503")                         \
    X(HTTP_LISTS_BYTES_MAX, "bytes", "of lists that are cached or being sent, plus the newest one")                    \
    X(HTTP_STREAM_OUTPUT_BYTES_MAX, "bytes", "of events that a stream has not sent yet; then it falls behind")         \
    X(EVENT_STORE_COUNT_MAX, "events", "held for lists and streams; the oldest are dropped")                           \
    X(EVENT_STORE_BYTES_MAX, "bytes", "of events held")                                                                \
    X(HTTP_HEARTBEAT_S, "seconds", "between the heartbeats of an idle stream")

/* Limits of a server, which tests may change. */
struct http_limits {
    size_t connections_max; /* without event streams */
    size_t streams_max;
    size_t lists_bytes_max; /* of all lists cached or being sent */
    uint64_t idle_ns;       /* between requests */
    uint64_t request_ns;    /* for a request head, from its first byte */
    uint64_t stall_ns;      /* without sending a byte of the answer */
    uint64_t answer_ns;     /* for a whole answer */
    uint64_t heartbeat_ns;  /* of an idle stream */
    uint64_t linger_ns;     /* to close after the last answer */
    uint64_t wait_ns;       /* for the scanner */
    uint64_t sweep_ns;      /* how often these limits are checked */
};

extern const struct http_limits http_default_limits;

/* Reasons in the gap event of a stream. */
#define STREAM_GAP_TABLE(X)                                                                                            \
    X(FORGOTTEN, "forgotten", "the events `from' to `to' are no longer held")                                          \
    X(OTHER_HISTORY, "other_history",                                                                                  \
      "the client's last event belongs to another history; all events held of this one follow")                        \
    X(AHEAD, "ahead", "the client's last event is newer than all events of this history; new ones follow")

#endif
