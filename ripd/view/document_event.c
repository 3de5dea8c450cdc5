/* SPDX-License-Identifier: Apache-2.0 */
/* document_event.c - what differs between events first, then the id it is about. Pure. See document_event.h. */
#include "view/document_event.h"

#include <stdlib.h>
#include <string.h>

#include "view/item.h"
#include "view/summary.h"

static uint64_t ms_of(uint64_t ns)
{
    return ns == EVENT_UNKNOWN_NS ? JSON_UNKNOWN : ns / ITEM_NS_PER_MS;
}

/* Takes the sentence into the event as well: the log shows it. */
static void write_head(struct json_writer *writer, struct event *event, const char *summary)
{
    bool end = event->kind == EVENT_END;

    json_init(writer);
    json_open(writer, NULL, '{');
    json_uint(writer, "sequence", event->sequence);
    json_text(writer, "kind", event_kind_name(event->kind));
    json_time(writer, "at", event->at_wall_ns);
    json_uint(writer, "episode", event->episode);
    json_uint(writer, "incident", event->incident);
    json_uint(writer, "waiting_count", end ? JSON_UNKNOWN : event->waiting_count);
    json_text(writer, "reason", end ? event_reason_name(event->reason) : NULL);
    json_uint(writer, "lasted_ms", end ? ms_of(event->duration_ns) : JSON_UNKNOWN);
    json_uint(writer, "lasted_max_ms", end ? ms_of(event->duration_max_ns) : JSON_UNKNOWN);
    json_uint(writer, "stalls", end ? event->stall_count : JSON_UNKNOWN);
    json_text(writer, "summary", summary);
    free(event->summary);
    event->summary = strdup(summary);
}

static int write_begin(struct event *event, const struct sighting *sighting, bool named)
{
    char summary[SUMMARY_BYTES];
    struct json_writer writer;
    size_t subject_at;
    int status;

    summary_of_id(sighting, summary);
    write_head(&writer, event, summary);
    item_write_verdict(&writer, sighting);
    subject_at = writer.length + 1; /* behind the comma */
    item_write_who(&writer, sighting->item);
    item_write_where(&writer, sighting, named);
    item_write_root(&writer, sighting);
    json_close(&writer, '}');
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

int document_event_end(struct event *event, const struct event *begin)
{
    char summary[SUMMARY_BYTES];
    struct json_writer writer;
    size_t subject_at;
    int status;

    summary_of_end(event, summary);
    write_head(&writer, event, summary);
    /* an end repeats what the stall was; it does not say what the id does now */
    json_none(&writer, "state");
    item_write_cause(&writer, event->cause);
    json_time(&writer, "since", event->since_wall_ns);
    json_none(&writer, "frozen_for_ms");
    json_none(&writer, "frozen_for_max_ms");
    json_uint(&writer, "threshold_ms", ms_of(event->threshold_ns));
    subject_at = writer.length + 1;
    json_raw(&writer, NULL, begin->text + begin->subject_at, begin->text_bytes - begin->subject_at); /* with its '}' */
    status = json_finish(&writer, &event->text, &event->text_bytes);
    if (status == 0)
        event->subject_at = subject_at;
    return status;
}
