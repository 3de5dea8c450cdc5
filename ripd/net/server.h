/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - what the parts of the HTTP server share. Private to net/.
 *
 * Everything here belongs to the HTTP thread once it runs, except the mailbox, which has a mutex.
 */
#ifndef RIPD_NET_SERVER_H
#define RIPD_NET_SERVER_H

#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "net/access.h"
#include "net/event_store.h"
#include "net/hosts.h"
#include "net/http.h"
#include "net/limits.h"
#include "net/listener.h"
#include "net/pages.h"

/* How long a client may take. */
struct http_limits {
    size_t connections_max; /* event streams are not counted */
    size_t streams_max;
    size_t body_bytes_max; /* of all lists kept or being sent */
    uint64_t idle_ns;      /* between requests */
    uint64_t request_ns;   /* for the head of a request, from its first byte */
    uint64_t stall_ns;     /* without taking a byte of its answer */
    uint64_t answer_ns;    /* for the whole of an answer */
    uint64_t heartbeat_ns; /* a stream in which nothing happens gives a sign of life */
    uint64_t linger_ns;    /* to close after the last answer */
    uint64_t wait_ns;      /* how long it is kept waiting for the scanner */
    uint64_t sweep_ns;     /* how often these are looked at */
};

/* How often each limit was hit. */
struct http_counters {
    uint64_t accepted_count;
    uint64_t request_count;
    uint64_t not_modified_count;
    uint64_t dropped_for_new_count;    /* at the connection cap, or for want of descriptors */
    uint64_t dropped_for_memory_count; /* did not take their answers, and these took too much memory */
    uint64_t accept_paused_count;
    uint64_t idle_closed_count;
    uint64_t request_timeout_count;
    uint64_t answer_timeout_count;
    uint64_t wait_timeout_count;
    uint64_t wait_refused_count;
    uint64_t stream_refused_count;
    uint64_t stream_dropped_count; /* did not take what was sent */
};

struct completion {
    uint64_t ticket;
    struct page *page;
};

/* From other threads. */
struct mailbox {
    pthread_mutex_t mutex;
    int descriptor; /* eventfd: something lies here */
    struct snapshot *snapshot;
    struct hosts hosts; /* names NULL: none new */
    struct event_store events;
    struct completion *completions;
    size_t completion_count;
    size_t completion_capacity;
    bool stop;
};

/* What was taken out of it. */
struct mail {
    struct hosts hosts;        /* as in the mailbox */
    struct snapshot *snapshot; /* NULL = no new one */
    struct event_store events;
    struct completion completion;
    bool found; /* a completion */
    bool stop;
};

struct door {
    struct http *http;
    struct listener listener;
    struct access_rules rules;
    struct event *event;
};

struct http {
    struct event_base *base;
    struct http_source source;
    struct http_limits limits;
    struct http_counters counters;
    struct door doors[HTTP_LISTENERS_MAX];
    size_t door_count;
    struct hosts hosts; /* further names that are ours */
    struct connection *connections;
    size_t connection_count;
    struct stream *streams;
    size_t stream_count;       /* of the connections */
    struct snapshot *snapshot; /* the last one; NULL before the first scan */
    struct event_store events;
    uint64_t epoch;    /* of the events' sequences */
    uint64_t instance; /* of this run, for what it tells of scans */
    struct pages pages;
    struct asking *askings;
    struct asking *building; /* the one whose list is being built; NULL = none */
    struct document_build *build;
    struct body *build_body;
    struct document_piece build_piece; /* that is being filled */
    bool build_long;                   /* it may fill pieces */
    struct event *build_event;         /* goes on with it */
    uint64_t last_ticket;
    uint64_t asked_tickets[HTTP_ASKED_MAX]; /* with the scanner, waited for or not */
    size_t asked_count;
    struct event *wake_event;
    struct event *sweep_event;
    struct event *resume_event; /* accepting goes on after a pause */
    struct event *stop_event;
    struct mailbox mailbox;
    pthread_t thread;
    bool started;
    bool stopping;
    uint64_t date_second; /* of date_text */
    char date_text[32];
};

/* For tests; before http_start(). */
void http_set_limits(struct http *http, const struct http_limits *limits);

struct timeval http_timeval(uint64_t duration_ns);

/* mailbox.c */
void mailbox_init(struct mailbox *mailbox);
int mailbox_open(struct mailbox *mailbox); /* after mailbox_init() */
void mailbox_done(struct mailbox *mailbox);
void mailbox_wake(struct mailbox *mailbox);
/* One completion at most, of a page that has no more than that many items. */
void mailbox_take(struct mailbox *mailbox, size_t items_max, struct mail *ret_mail);

/* handlers.c: answers a request, now or later. */
void server_request(struct http *http, struct connection *connection, const struct http_request *request);

/* askings.c: the connection waits for the answer to a question to the scanner; the same question is asked once. */
void asking_join(struct http *http, struct connection *connection, enum document_kind kind, const struct query *query);
/* The same for a list of the stalls that is too long to be built at once. */
void asking_join_build(struct http *http, struct connection *connection, enum document_kind kind,
                       const struct query *query);
/* How many items a page may have whose list can be begun now. */
size_t asking_items_max(const struct http *http);
int askings_prepare(struct http *http);
/* Bodies of lists that nobody has any more are freed from here on, in the loop's turns. */
void askings_free_bodies(struct http *http);
void asking_leave(struct http *http, struct connection *connection);
void asking_complete(struct http *http, uint64_t ticket, struct page *page);
void askings_expire(struct http *http, uint64_t now_mono_ns);
/* Answers everybody who waits with a problem. */
void askings_abandon(struct http *http);

/* streams.c: the connection is sent events as they come, from its wish's place on. */
void stream_open(struct http *http, struct connection *connection, const struct query *query);
void stream_turn(struct connection *connection);
void stream_expire(struct connection *connection, uint64_t now_mono_ns);
void stream_leave(struct connection *connection); /* nothing happens if it has none */
void streams_advance(struct http *http);          /* there are new events */
void streams_end(struct http *http);

/* accept.c */
void accept_start(struct http *http);
void accept_stop(struct http *http);
int accept_prepare(struct http *http);
/* While lists take too much memory, drops the client that has not taken anything of its answer for longest. */
void drop_stalled(struct http *http);

#endif
