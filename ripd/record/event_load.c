/* SPDX-License-Identifier: Apache-2.0 */
/* event_load.c - lines into state. Touches the files through event_file.h. See event_load.h for the guarantees. */
#include "record/event_load.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"
#include "record/event_history.h"
#include "record/event_line.h"
#include "util/array.h"

static size_t event_bytes(const struct event *event)
{
    return sizeof(*event) + event->text_bytes + 1;
}

void event_load_forget_events(struct event_load *load)
{
    for (size_t i = load->dropped_count; i < load->event_count; i++)
        event_unref(load->events[i]);
    free(load->events);
    load->events = NULL;
    load->dropped_count = load->event_count = load->capacity = load->bytes = 0;
}

void event_load_done(struct event_load *load)
{
    event_load_forget_events(load);
    event_open_done(&load->open);
    *load = (struct event_load){0};
}

static void drop_oldest(struct event_load *load)
{
    struct event *event = load->events[load->dropped_count++];

    load->bytes -= event_bytes(event);
    event_unref(event);
}

/* Takes over the reference. */
static int keep(struct event_load *load, struct event *event)
{
    struct event **longer;

    if (load->dropped_count >= EVENT_HISTORY_KEPT_MAX) {
        load->event_count -= load->dropped_count;
        memmove(load->events, load->events + load->dropped_count, load->event_count * sizeof(struct event *));
        load->dropped_count = 0;
    }
    longer = array_reserve(load->events, &load->capacity, load->event_count + 1, sizeof(struct event *));
    if (longer == NULL) {
        event_unref(event);
        return -ENOMEM;
    }
    load->events = longer;
    load->events[load->event_count++] = event;
    load->bytes += event_bytes(event);
    while (load->event_count - load->dropped_count > EVENT_HISTORY_KEPT_MAX ||
           load->bytes > EVENT_HISTORY_KEPT_BYTES_MAX)
        drop_oldest(load);
    return 0;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int open_once(struct event_load *load, const struct event_line *line)
{
    int status = event_open_add(&load->open, line->event, &line->subject);

    return status == -EEXIST ? 0 : status;
}

/* Takes over the line's reference. */
static int take_event(struct event_load *load, const struct event_line *line)
{
    struct event *event = line->event;
    int status = 0;

    if (event->sequence <= load->sequence) { /* of a file that is read twice, or not ours */
        load->damaged_count++;
        event_unref(event);
        return 0;
    }
    load->sequence = event->sequence;
    load->episode = max_of(load->episode, event->episode);
    if (event->kind == EVENT_BEGIN)
        status = open_once(load, line);
    else
        event_open_remove(&load->open, event->episode);
    if (status == 0)
        return keep(load, event);
    event_unref(event);
    return status;
}

static int take_carried(struct event_load *load, const struct event_line *line)
{
    int status = open_once(load, line);

    load->episode = max_of(load->episode, line->event->episode);
    event_unref(line->event);
    return status;
}

int event_load_line(struct event_load *load, const char *text, size_t length)
{
    struct event_line line;
    struct event_open *open;
    int status = event_line_parse(text, length, &line);

    if (status == -EBADMSG) {
        load->damaged_count++;
        return 0;
    }
    if (status != 0)
        return status;
    load->line_count++;
    switch (line.kind) {
    case EVENT_LINE_HISTORY: /* what is open follows in full */
        event_open_done(&load->open);
        load->epoch = line.epoch;
        load->sequence = max_of(load->sequence, line.sequence);
        load->episode = max_of(load->episode, line.episode);
        return 0;
    case EVENT_LINE_CARRIED:
        return take_carried(load, &line);
    case EVENT_LINE_EVENT:
        return take_event(load, &line);
    case EVENT_LINE_SUBJECT:
        break;
    }
    open = event_open_find(&load->open, line.subject.episode);
    if (open != NULL)
        open->subject = line.subject;
    return 0;
}

static int visit_line(void *context, const char *text, size_t length)
{
    return event_load_line(context, text, length);
}

/* *ret_complete_bytes: up to its last whole line. */
static int load_file(struct event_load *load, struct event_file *file, const char *name, uint64_t *ret_complete_bytes,
                     char ret_aside[EVENT_FILE_ASIDE_BYTES])
{
    uint64_t lines_before = load->line_count, damaged_before = load->damaged_count;
    struct file_identity identity;
    int status;

    *ret_complete_bytes = 0;
    status = file_identify_at(file->directory, name, &identity);
    if (status != 0)
        return status == -ENOENT ? 0 : status;
    status = event_file_read(file, name, visit_line, load, ret_complete_bytes);
    if (status != 0 || load->line_count != lines_before || identity.size_bytes == 0)
        return status;
    load->damaged_count = damaged_before;
    *ret_complete_bytes = 0;
    return event_file_set_aside(file, name, ret_aside);
}

int event_load_files(struct event_load *load, struct event_file *file, bool *ret_torn,
                     char ret_aside[EVENT_FILE_ASIDE_BYTES])
{
    uint64_t complete_bytes;
    bool torn = false;
    int status;

    ret_aside[0] = '\0';
    status = load_file(load, file, EVENT_FILE_OLDER_NAME, &complete_bytes, ret_aside);
    if (status == 0)
        status = load_file(load, file, EVENT_FILE_NAME, &complete_bytes, ret_aside);
    if (status == 0 && file->descriptor >= 0 && complete_bytes < file->bytes) {
        torn = true;
        status = event_file_cut(file, complete_bytes);
    }
    if (status == 0)
        *ret_torn = torn;
    return status;
}
