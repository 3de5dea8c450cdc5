/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preferences.h - what a request prefers: Accept, If-None-Match, Last-Event-ID. Pure; hostile bytes.
 *
 * A field that cannot be parsed is ignored, except Last-Event-ID: one of another form is an event of another history.
 */
#ifndef RIPD_NET_PREFERENCES_H
#define RIPD_NET_PREFERENCES_H

#include "net/request.h"

/*
 * The ETag of a list: W/"INSTANCE-VERSION-QUESTION". Lists with equal tags are equal. question is a hash of the query.
 */
#define ETAG_TEXT_BYTES 64u
void etag_format(uint64_t instance, uint64_t version, uint64_t question, char ret_text[ETAG_TEXT_BYTES]);

/* Returns true if If-None-Match contains this tag, weak or strong. */
bool preference_names_tag(struct span if_none_match, const char *tag);

/* Returns true if Accept contains text/event-stream, and not application/json. */
bool preference_is_stream(struct span accept);

/* Last-Event-ID: EPOCH-SEQUENCE. */
struct last_event {
    bool given;
    bool known; /* it has this form */
    uint64_t epoch;
    uint64_t sequence;
};

#define EVENT_ID_BYTES 40u
void event_id_format(uint64_t epoch, uint64_t sequence, char ret_text[EVENT_ID_BYTES]);
struct last_event last_event_parse(const struct field *field);

#endif
