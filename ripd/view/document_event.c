/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_event.c - writes the fields that differ between events first, then those of the id. Pure. See
 * document_event.h.
 */
#include "view/document_event.h"

#include <stdlib.h>
#include <string.h>

#include "view/item.h"
#include "view/summary.h"

static void write_head(struct json_writer *writer, const struct event *event)
{
    bool end = event->kind == EVENT_END;

    json_begin(writer, NULL);
    json_uint(writer, "sequence", event->sequence);
    json_text(writer, "kind", event_kind_name(event->kind));
    json_time(writer, "at", event->at_wall_ns);
    json_uint(writer, "episode", event->episode);
    json_uint(writer, "incident", event->incident);
    json_uint(writer, "waiting_count", end ? JSON_UNKNOWN : event->waiting_count);
    json_text(writer, "reason", end ? event_reason_name(event->reason) : NULL);
    json_ms(writer, "lasted_ms", end ? event->duration_ns : JSON_UNKNOWN);
    json_ms(writer, "lasted_max_ms", end ? event->duration_max_ns : JSON_UNKNOWN);
    json_uint(writer, "stalls", end ? event->stall_count : JSON_UNKNOWN);
}

/* Also copies the sentence to the event, because the log shows it. */
static void write_summary(struct json_writer *writer, struct event *event, const char *summary)
{
    json_text(writer, "summary", summary);
    free(event->summary);
    event->summary = strdup(summary);
}

/* Writes the fields that a begin and its end have in common, copied from another event, with its last brace. */
static int finish_with_subject(struct json_writer *writer, struct event *event, const struct event *from)
{
    event->subject_at = writer->length + 1; /* after the comma */
    json_raw(writer, NULL, from->text + from->subject_at, from->text_bytes - from->subject_at);
    return json_finish(writer, &event->text, &event->text_bytes);
}

/*
 * Writes the summary of another begin of the same standstill, but with the cause and time of the sighting. The text of
 * that event is already escaped. A quote in it is escaped too, so the search does not match inside the sentence.
 */
static void copy_summary(struct json_writer *writer, const struct sighting *sighting, const struct event *seen)
{
    static const char key[] = "\"summary\":";
    const char *text = strstr(seen->text, key), *end = text != NULL ? strstr(text, ",\"state\":") : NULL, *found;
    const struct sighting then = {.state = ID_STALLED,
                                  .cause = seen->cause,
                                  .since_wall_ns = seen->since_wall_ns,
                                  .frozen_for_ns = seen->duration_ns};
    char was[SUMMARY_BYTES], is[SUMMARY_BYTES];

    if (end == NULL) {
        json_none(writer, "summary");
        return;
    }
    text += sizeof(key) - 1;
    summary_of_state(&then, was);
    summary_of_state(sighting, is);
    found = memmem(text, (size_t)(end - text), was, strlen(was));
    if (found == NULL) {
        json_raw(writer, "summary", text, (size_t)(end - text));
        return;
    }
    json_raw(writer, "summary", text, (size_t)(found - text));
    writer->comma = false;
    json_raw(writer, NULL, is, strlen(is));
    writer->comma = false;
    found += strlen(was);
    json_raw(writer, NULL, found, (size_t)(end - found));
}

static int write_seen(struct event *event, const struct sighting *sighting, const struct event *seen)
{
    struct json_writer writer;

    write_head(&writer, event);
    copy_summary(&writer, sighting, seen);
    item_write_verdict(&writer, sighting);
    return finish_with_subject(&writer, event, seen);
}

static int write_begin(struct event *event, const struct sighting *sighting, bool named)
{
    char summary[SUMMARY_BYTES];
    struct json_writer writer;

    summary_of_id(sighting, summary);
    write_head(&writer, event);
    write_summary(&writer, event, summary);
    item_write_verdict(&writer, sighting);
    event->subject_at = writer.length + 1; /* after the comma */
    item_write_identity(&writer, sighting->item);
    item_write_where(&writer, sighting, named);
    item_write_root(&writer, sighting);
    json_close(&writer);
    return json_finish(&writer, &event->text, &event->text_bytes);
}

int document_event_begin(struct event *event, const struct sighting *sighting, const struct event *seen)
{
    int status = seen != NULL ? write_seen(event, sighting, seen) : write_begin(event, sighting, true);

    if (status < 0 || seen != NULL || event->text_bytes <= EVENT_NAMED_BYTES_MAX)
        return status;
    free(event->text);
    event->text = NULL;
    return write_begin(event, sighting, false);
}

int document_event_end(struct event *event, const struct event *begin)
{
    char summary[SUMMARY_BYTES];
    struct json_writer writer;

    summary_of_end(event, summary);
    write_head(&writer, event);
    write_summary(&writer, event, summary);
    /* an end repeats the verdict of the stall; the present state is not known */
    json_none(&writer, "state");
    item_write_cause(&writer, event->cause);
    json_time(&writer, "since", event->since_wall_ns);
    json_none(&writer, "frozen_for_ms");
    json_none(&writer, "frozen_for_max_ms");
    json_ms(&writer, "threshold_ms", event->threshold_ns);
    return finish_with_subject(&writer, event, begin);
}
