/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents_events.c - the list of events: their texts, made when they happened, joined. Pure.
 *
 * Before the list stands what is not in it: `oldest` and `newest` are the sequence numbers between which events are
 * held, `forgotten` how many there were before them, `suppressed` the stalls that became no event.
 */
#include "view/documents.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "view/document_parts.h"

#define ITEM_EXTRA_BYTES 2u /* comma and line feed */

static void write_held(struct json_writer *writer, const struct event_page *page)
{
    char epoch[EVENT_EPOCH_BYTES];

    event_epoch_format(page->epoch, epoch);
    json_key(writer, "epoch");
    json_text(writer, epoch);
    json_key(writer, "oldest");
    if (page->oldest_sequence > page->newest_sequence)
        json_none(writer);
    else
        json_uint(writer, page->oldest_sequence);
    json_key(writer, "newest");
    if (page->newest_sequence == 0)
        json_none(writer);
    else
        json_uint(writer, page->newest_sequence);
    json_key(writer, "forgotten");
    json_uint(writer, page->oldest_sequence - 1);
    json_key(writer, "suppressed");
    json_uint(writer, page->suppressed_count);
}

int document_events_body(const struct snapshot *snapshot, const struct event_page *page,
                         struct document_frame *ret_frame, char **ret_text, size_t *ret_length)
{
    struct document_frame frame = part_frame(DOCUMENT_EVENTS, snapshot);
    struct json_writer writer;
    size_t bytes = 64; /* what closes the list */
    int status;

    frame.total = page->total;
    frame.returned = page->count;
    frame.more = page->more;
    if (page->count != 0)
        frame.next = (struct query_cursor){.present = true, .sequence = page->events[page->count - 1]->sequence};
    part_body_begin(&writer);
    write_held(&writer, page);
    for (size_t i = 0; i < page->count; i++)
        bytes += page->events[i]->text_bytes + ITEM_EXTRA_BYTES;
    json_reserve(&writer, bytes);
    json_key(&writer, "events");
    json_array_begin(&writer);
    for (size_t i = 0; i < page->count; i++) {
        json_line(&writer);
        json_raw(&writer, page->events[i]->text, page->events[i]->text_bytes);
    }
    json_array_end(&writer);
    status = part_finish(&writer, ret_text, ret_length);
    if (status == 0)
        *ret_frame = frame;
    return status;
}
