/* SPDX-License-Identifier: Apache-2.0 */
/* event_stream.c - parses lines and fields; an empty line completes an event. Pure. */
#include "cli/event_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

void event_stream_init(struct event_stream *stream)
{
    *stream = (struct event_stream){.has_data = false};
}

void event_stream_done(struct event_stream *stream)
{
    free(stream->line.text);
    free(stream->data.text);
}

/* Keeps the text terminated. */
static int append(struct event_stream_text *text, const char *more, size_t more_bytes)
{
    size_t needed = text->bytes + more_bytes + 1;

    if (needed > EVENT_STREAM_BYTES_MAX)
        return -EMSGSIZE;
    if (!ARRAY_RESERVE(text->text, text->room, needed))
        return -ENOMEM;
    if (more_bytes != 0)
        memcpy(text->text + text->bytes, more, more_bytes);
    text->bytes += more_bytes;
    text->text[text->bytes] = '\0';
    return 0;
}

static int take_data(struct event_stream *stream, const char *value, size_t bytes)
{
    int status = stream->has_data ? append(&stream->data, "\n", 1) : 0;

    stream->has_data = true;
    return status != 0 ? status : append(&stream->data, value, bytes);
}

static int take_line(struct event_stream *stream)
{
    const char *line = stream->line.text, *end = line + stream->line.bytes;
    const char *colon = memchr(line, ':', stream->line.bytes);
    const char *value = colon != NULL ? colon + 1 : end;
    size_t name_bytes = (size_t)((colon != NULL ? colon : end) - line), bytes;

    if (value < end && *value == ' ')
        value++;
    bytes = (size_t)(end - value);
    if (name_bytes == 4 && memcmp(line, "data", 4) == 0)
        return take_data(stream, value, bytes);
    if (name_bytes == 5 && memcmp(line, "event", 5) == 0) {
        if (bytes >= EVENT_STREAM_KIND_BYTES)
            bytes = EVENT_STREAM_KIND_BYTES - 1;
        memcpy(stream->kind, value, bytes);
        stream->kind[bytes] = '\0';
    } else if (name_bytes == 2 && memcmp(line, "id", 2) == 0 && bytes < EVENT_STREAM_ID_BYTES &&
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
        .data = stream->has_data ? stream->data.text : NULL,
        .data_bytes = stream->data.bytes,
    };
    int status = take(context, &item);

    stream->has_data = false;
    stream->data.bytes = 0;
    stream->kind[0] = '\0';
    return status;
}

int event_stream_push(struct event_stream *stream, const char *bytes, size_t count, event_stream_function *take,
                      void *context)
{
    const char *end = bytes + count;
    int status = 0;

    while (bytes < end && status == 0) {
        const char *at = bytes;

        if (stream->after_return && *at == '\n')
            bytes = ++at;
        stream->after_return = false;
        while (at < end && *at != '\n' && *at != '\r')
            at++;
        status = append(&stream->line, bytes, (size_t)(at - bytes));
        bytes = at;
        if (status != 0 || at == end)
            continue;
        bytes++;
        stream->after_return = *at == '\r';
        status = stream->line.bytes != 0 ? take_line(stream) : complete(stream, take, context);
        stream->line.bytes = 0;
    }
    return status;
}
