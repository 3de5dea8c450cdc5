/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wishes.h - what a request asks for besides its target: Accept, If-None-Match, Last-Event-ID. Pure; hostile bytes.
 *
 * Guarantees
 *   A. A field that cannot be understood wishes for nothing: the answer is the one to a request without it, except that
 *      whoever names an event that is not ours is told that there is a gap.
 *   B. The result holds values, no pointer into the request.
 */
#ifndef RIPD_NET_WISHES_H
#define RIPD_NET_WISHES_H

#include "net/request.h"

/* An answer's version: equal tags are answers that say the same. Written W/"INSTANCE-VERSION-QUESTION". */
struct etag {
    uint64_t version;
    uint64_t question; /* hash of what was asked */
};

#define ETAG_TEXT_BYTES 64u
void etag_format(uint64_t instance, const struct etag *tag, char ret_text[ETAG_TEXT_BYTES]);

#define CONDITION_TAGS_MAX 16u /* of ours in one list; the others are not looked at */

/* If-None-Match: the tags in it that were given out by this run of the server. */
struct condition {
    bool any; /* "*" */
    size_t count;
    struct etag tags[CONDITION_TAGS_MAX];
};

/* Whether the client has what this tag is of, and names it: then 304. Does not look at `any`. */
bool condition_names(const struct condition *condition, const struct etag *tag);

/* Last-Event-ID: EPOCH-SEQUENCE. */
struct last_event {
    bool given;
    bool known; /* it is of that form */
    uint64_t epoch;
    uint64_t sequence;
};

#define EVENT_ID_BYTES 40u
void event_id_format(uint64_t epoch, uint64_t sequence, char ret_text[EVENT_ID_BYTES]);

struct wishes {
    bool stream; /* text/event-stream rather than application/json */
    struct condition condition;
    struct last_event last_event;
};

void wishes_read(const struct http_request *request, uint64_t instance, struct wishes *ret_wishes);

/* The three parsers. */
bool accept_prefers_stream(struct span value);
void condition_parse(struct span value, uint64_t instance, struct condition *ret_condition);
void last_event_parse(struct span value, struct last_event *ret_event);

#endif
