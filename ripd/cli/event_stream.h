/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_stream.h - server-sent events: bytes as they come in -> events and ids. Pure.
 *
 * As the HTML standard defines them: lines end in CR, LF or both; the fields "id", "event" and "data" are read, others
 * and comments skipped; an empty line completes an event. The end of the stream completes none.
 *
 * Guarantees
 *   A. However the bytes are cut into pieces, the items are the same.
 *   B. At most EVENT_STREAM_BYTES_MAX are kept of one event; a larger one is -EMSGSIZE.
 */
#ifndef RIP_CLI_EVENT_STREAM_H
#define RIP_CLI_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#define EVENT_STREAM_BYTES_MAX (1u << 20)
#define EVENT_STREAM_ID_BYTES 64u   /* longer ids are ignored: ripd has none */
#define EVENT_STREAM_KIND_BYTES 32u /* longer kinds are cut */

struct event_stream_text {
    char *text;
    size_t bytes;
    size_t room;
};

struct event_stream {
    struct event_stream_text line; /* the line that is not complete yet */
    struct event_stream_text data;
    bool has_data;
    bool after_return; /* the last byte was a CR: an LF belongs to it */
    char kind[EVENT_STREAM_KIND_BYTES];
    char id[EVENT_STREAM_ID_BYTES]; /* the last one; "" = none yet */
};

/* What an empty line completes: an event, or, with data NULL, an id alone. */
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

/* 0, -ENOMEM, -EMSGSIZE, or what take returned. After anything but 0 the stream cannot be used further. */
int event_stream_push(struct event_stream *stream, const char *bytes, size_t count, event_stream_function *take,
                      void *context);

#endif
