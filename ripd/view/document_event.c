/* SPDX-License-Identifier: Apache-2.0 */
/* document_event.c - what differs between events first, then the id it is about. Pure. See document_event.h. */
#include "view/document_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/document_parts.h"

#define NS_PER_MS 1000000u

static uint64_t ms_or_unknown(uint64_t ns)
{
    return ns == EVENT_UNKNOWN_NS ? UINT64_MAX : ns / NS_PER_MS;
}

static void write_head(struct json_writer *writer, const struct event *event)
{
    bool end = event->kind == EVENT_END;

    part_uint(writer, "sequence", event->sequence);
    json_key(writer, "kind");
    json_text(writer, event_kind_name(event->kind));
    part_time(writer, "at", event->at_wall_ns);
    part_uint(writer, "episode", event->episode);
    json_key(writer, "reason");
    if (end)
        json_text(writer, event_reason_name(event->reason));
    else
        json_none(writer);
    part_uint_or_null(writer, "lasted_ms", end ? ms_or_unknown(event->duration_ns) : UINT64_MAX, UINT64_MAX);
    part_uint_or_null(writer, "lasted_max_ms", end ? ms_or_unknown(event->duration_max_ns) : UINT64_MAX, UINT64_MAX);
    part_uint_or_null(writer, "stalls", end ? event->stall_count : UINT64_MAX, UINT64_MAX);
}

static int write_begin(struct event *event, const struct sighting *sighting, bool named)
{
    struct json_writer writer;
    size_t subject_at;
    int status;

    json_init(&writer);
    json_object_begin(&writer);
    write_head(&writer, event);
    part_verdict(&writer, sighting);
    subject_at = writer.length + 1; /* behind the comma */
    part_who(&writer, sighting->item, NULL);
    part_where(&writer, sighting, named, NULL);
    json_object_end(&writer);
    status = json_finish(&writer, &event->text, &event->text_bytes);
    if (status == 0)
        event->subject_at = subject_at;
    return status;
}

int document_event_begin(struct event *event, const struct sighting *sighting)
{
    int status = write_begin(event, sighting, true);

    if (status < 0 || event->text_bytes <= EVENT_NAMED_BYTES_MAX)
        return status;
    free(event->text);
    event->text = NULL;
    return write_begin(event, sighting, false);
}

/* The verdict of a stall that is over: what it was is known, what the id does now is not told here. */
static void write_past_verdict(struct json_writer *writer, const struct event *event)
{
    part_null(writer, "state");
    part_cause(writer, event->cause);
    part_time(writer, "since", event->since_wall_ns);
    part_null(writer, "frozen_for_ms");
    part_null(writer, "frozen_for_max_ms");
    part_uint_or_null(writer, "threshold_ms", ms_or_unknown(event->threshold_ns), UINT64_MAX);
}

int document_event_end(struct event *event, const struct event *begin)
{
    size_t subject_bytes = begin->text_bytes - begin->subject_at; /* its closing brace included */
    struct json_writer writer;
    size_t head_bytes;
    char *text, *longer;
    int status;

    json_init(&writer);
    json_object_begin(&writer);
    write_head(&writer, event);
    write_past_verdict(&writer, event);
    status = json_finish(&writer, &text, &head_bytes);
    if (status < 0)
        return status;
    longer = realloc(text, head_bytes + 1 + subject_bytes + 1);
    if (longer == NULL) {
        free(text);
        return -ENOMEM;
    }
    longer[head_bytes] = ',';
    memcpy(longer + head_bytes + 1, begin->text + begin->subject_at, subject_bytes);
    longer[head_bytes + 1 + subject_bytes] = '\0';
    event->text = longer;
    event->text_bytes = head_bytes + 1 + subject_bytes;
    event->subject_at = head_bytes + 1;
    return 0;
}
