/* SPDX-License-Identifier: Apache-2.0 */
/* event_stream.c - lines, their fields, and what an empty one completes. Pure. */
#include "cli/event_stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void event_stream_init(struct event_stream *stream)
{
    *stream = (struct event_stream){.line = NULL};
}

void event_stream_done(struct event_stream *stream)
{
    free(stream->line);
    free(stream->data);
}

/* Room for one byte more than that, for a terminator. */
static int append(char **text, size_t *bytes, size_t *room, const char *more, size_t more_bytes)
{
    size_t needed = *bytes + more_bytes + 1;

    if (needed > EVENT_STREAM_BYTES_MAX)
        return -EMSGSIZE;
    if (needed > *room) {
        size_t larger = needed < 4096 ? 4096 : needed * 2;
        char *grown = realloc(*text, larger);

        if (grown == NULL)
            return -ENOMEM;
        *text = grown;
        *room = larger;
    }
    if (more_bytes != 0)
        memcpy(*text + *bytes, more, more_bytes);
    *bytes += more_bytes;
    (*text)[*bytes] = '\0';
    return 0;
}

static bool is_field(const char *line, size_t name_bytes, const char *name)
{
    return strlen(name) == name_bytes && memcmp(line, name, name_bytes) == 0;
}

static int take_data(struct event_stream *stream, const char *value, size_t bytes)
{
    int status = stream->has_data ? append(&stream->data, &stream->data_bytes, &stream->data_room, "\n", 1) : 0;

    stream->has_data = true;
    return status != 0 ? status : append(&stream->data, &stream->data_bytes, &stream->data_room, value, bytes);
}

static int take_field(struct event_stream *stream)
{
    const char *line = stream->line;
    const char *colon = memchr(line, ':', stream->line_bytes);
    size_t name_bytes = colon != NULL ? (size_t)(colon - line) : stream->line_bytes;
    const char *value = colon != NULL ? colon + 1 : line + stream->line_bytes;
    size_t bytes;

    if (colon != NULL && *value == ' ')
        value++;
    bytes = (size_t)(line + stream->line_bytes - value);
    if (is_field(line, name_bytes, "data"))
        return take_data(stream, value, bytes);
    if (is_field(line, name_bytes, "event")) {
        if (bytes >= EVENT_STREAM_KIND_BYTES)
            bytes = EVENT_STREAM_KIND_BYTES - 1;
        memcpy(stream->kind, value, bytes);
        stream->kind[bytes] = '\0';
    } else if (is_field(line, name_bytes, "id") && bytes < EVENT_STREAM_ID_BYTES &&
               memchr(value, '\0', bytes) == NULL) {
        memcpy(stream->id, value, bytes);
        stream->id[bytes] = '\0';
    }
    return 0;
}

static int complete(struct event_stream *stream, event_stream_function *take, void *context)
{
    struct event_stream_item item = {
        .id = stream->id,
        .kind = stream->kind[0] != '\0' ? stream->kind : "message",
        .data = stream->has_data ? stream->data : NULL,
        .data_bytes = stream->has_data ? stream->data_bytes : 0,
    };
    int status = take(context, &item);

    stream->has_data = false;
    stream->data_bytes = 0;
    stream->kind[0] = '\0';
    return status;
}

static int end_line(struct event_stream *stream, event_stream_function *take, void *context)
{
    int status = stream->line_bytes != 0 ? take_field(stream) : complete(stream, take, context);

    stream->line_bytes = 0;
    return status;
}

int event_stream_push(struct event_stream *stream, const char *bytes, size_t count, event_stream_function *take,
                      void *context)
{
    int status = 0;

    for (size_t at = 0; at < count && status == 0;) {
        size_t end = at;

        if (stream->after_return && bytes[at] == '\n') {
            stream->after_return = false;
            at++;
            continue;
        }
        stream->after_return = false;
        while (end < count && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        status = append(&stream->line, &stream->line_bytes, &stream->line_room, bytes + at, end - at);
        if (status == 0 && end < count) {
            stream->after_return = bytes[end] == '\r';
            status = end_line(stream, take, context);
            end++;
        }
        at = end;
    }
    return status;
}
