/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_stream.h - server-sent events: bytes as they come in -> events and places. Pure.
 *
 * As the HTML standard has it: lines end in CR, LF or both; "id", "event" and "data" are understood, comments and other
 * fields are not looked at; an event ends with an empty line, and one that the end of the stream cuts short is none.
 *
 * Guarantees
 *   A. However the bytes are cut into pieces, what comes out is the same.
 *   B. At most EVENT_STREAM_BYTES_MAX are kept of one event; of a larger one comes nothing but -EMSGSIZE.
 */
#ifndef RIP_CLI_EVENT_STREAM_H
#define RIP_CLI_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#define EVENT_STREAM_BYTES_MAX (1u << 20)
#define EVENT_STREAM_ID_BYTES 64u   /* longer ids are no ids of ours: not understood */
#define EVENT_STREAM_KIND_BYTES 32u /* longer kinds are cut */

struct event_stream {
    char *line; /* the line that is not complete yet */
    size_t line_bytes;
    size_t line_room;
    char *data;
    size_t data_bytes;
    size_t data_room;
    bool has_data;
    bool after_return; /* the last byte was a CR: an LF belongs to it */
    char kind[EVENT_STREAM_KIND_BYTES];
    char id[EVENT_STREAM_ID_BYTES]; /* of the last event or place; "" = none yet */
};

/* What an empty line completes: kind and data, or data NULL: only a place in the stream was told. */
struct event_stream_item {
    const char *id;
    const char *kind; /* "message" where none is given */
    const char *data; /* terminated; may hold NUL bytes */
    size_t data_bytes;
};

/* 0, or what ends the reading: event_stream_push() returns it. */
typedef int event_stream_function(void *context, const struct event_stream_item *item);

void event_stream_init(struct event_stream *stream);
void event_stream_done(struct event_stream *stream);

/* 0, -ENOMEM, -EMSGSIZE, or what take returned; not to be used any further then. */
int event_stream_push(struct event_stream *stream, const char *bytes, size_t count, event_stream_function *take,
                      void *context);

#endif
