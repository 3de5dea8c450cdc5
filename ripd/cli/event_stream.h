/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_stream.h - parses server-sent events: received bytes -> events and ids. Pure.
 *
 * As in the HTML standard: lines end in CR, LF or both; the fields "id", "event" and "data" are read, others and
 * comments skipped; an empty line completes an event. The end of the stream completes none.
 *
 * Guarantees
 *   A. The items do not depend on how the bytes are split.
 *   B. At most EVENT_STREAM_BYTES_MAX are kept of one event; a larger one returns -EMSGSIZE.
 */
#ifndef RIP_CLI_EVENT_STREAM_H
#define RIP_CLI_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#define EVENT_STREAM_BYTES_MAX (1u << 20)
#define EVENT_STREAM_ID_BYTES 64u   /* longer ids are ignored; ripd has none */
#define EVENT_STREAM_KIND_BYTES 32u /* longer kinds are cut */

struct event_stream_text {
    char *text;
    size_t bytes;
    size_t room;
};

struct event_stream {
    struct event_stream_text line; /* the incomplete line */
    struct event_stream_text data;
    bool has_data;
    bool after_return; /* the last byte was a CR; a following LF belongs to it */
    char kind[EVENT_STREAM_KIND_BYTES];
    char id[EVENT_STREAM_ID_BYTES]; /* the last id; "": none yet */
};

/* An event that an empty line completes, or only an id if data is NULL. */
struct event_stream_item {
    const char *id;
    const char *kind; /* "message" if none is given */
    const char *data; /* terminated; may contain NUL bytes */
    size_t data_bytes;
};

/* Returns 0 to continue; event_stream_push() returns any other value at once. */
typedef int event_stream_function(void *context, const struct event_stream_item *item);

void event_stream_init(struct event_stream *stream);
void event_stream_done(struct event_stream *stream);

/* Returns 0, -ENOMEM, -EMSGSIZE, or the result of take. After any value but 0 the stream can no longer be used. */
int event_stream_push(struct event_stream *stream, const char *bytes, size_t count, event_stream_function *take,
                      void *context);

#endif
