/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_line.h - one line of the event history, as text and as values.
 *
 *   {"history":{"schema":"ripd/history/1","epoch":"..","sequence":..,"episode":..}}
 *                                      the first line of a file: its epoch, and the last numbers before it
 *   {"carried":{..},"subject":{..}}    the begin of an episode that was open when the file was begun
 *   {"event":{..},"subject":{..}}      a begin, and what identifies its id after a restart
 *   {"event":{..}}                     an end
 *   {"subject":{..}}                   the id of an open episode moved and stalled again: its new progress
 *
 * The object of an event is exactly the text that /events shows.
 *
 * Guarantees
 *   A. Nothing outside length is read. Whatever the bytes are, the result is a line as above or -EBADMSG.
 *   B. A formatted line is parsed into the same values; times and durations are exact to the millisecond.
 *   C. Only fields that lists filter by, that the log shows, and that an end copies from its begin are parsed. The rest
 *      is only in the text.
 */
#ifndef RIPD_RECORD_EVENT_LINE_H
#define RIPD_RECORD_EVENT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"

#define EVENT_LINE_BYTES_MAX (2u << 20) /* longer lines are damaged; no event reaches this, whatever its names are */

/* What identifies the id of an open episode after a restart of ripd. */
#define EVENT_SUBJECT_ID_BYTES 16u
#define EVENT_SUBJECT_UNKNOWN UINT64_MAX

struct event_subject {
    uint64_t episode;
    uint8_t boot_id[EVENT_SUBJECT_ID_BYTES]; /* the boot to which the monotonic times belong */
    uint8_t ring_id[EVENT_SUBJECT_ID_BYTES]; /* all zero = not known */
    uint64_t directory_device;               /* of the directory of the ring's file */
    uint64_t directory_inode;                /* 0 = not known */
    uint32_t slot;
    uint32_t generation;
    uint64_t began_mono_ns;       /* first seen frozen in this episode */
    uint32_t stall_count;         /* stalls in the episode, at least 1; the rest is about the last one */
    uint64_t progress;            /* value of the frozen counter */
    uint64_t frozen_mono_ns;      /* first seen frozen at it */
    uint64_t moved_after_mono_ns; /* last seen at another value; EVENT_SUBJECT_UNKNOWN = never */
};

enum event_line_kind { EVENT_LINE_HISTORY, EVENT_LINE_CARRIED, EVENT_LINE_EVENT, EVENT_LINE_SUBJECT };
#define EVENT_LINE_KIND_COUNT (EVENT_LINE_SUBJECT + 1)

struct event_line {
    enum event_line_kind kind;
    struct event *event;          /* owned reference; of CARRIED and EVENT */
    struct event_subject subject; /* of CARRIED, SUBJECT, and of an EVENT that is a begin */
    uint64_t epoch;               /* of HISTORY */
    uint64_t sequence;            /* of HISTORY: of the last event before */
    uint64_t episode;             /* of HISTORY: the last episode before */
};

/* length is without the line's end. Returns 0, -EBADMSG if it is no such line, or -ENOMEM. */
int event_line_parse(const char *text, size_t length, struct event_line *ret_line);

/* Parses the text of one event, as /events shows it. Returns 0, -EBADMSG or -ENOMEM. */
int event_line_parse_event(const char *text, size_t length, struct event **ret_event);

/*
 * Formats lines, each with a newline at the end. Only the fields of a line's kind are used. The caller frees the text.
 * Returns 0 or -ENOMEM.
 */
int event_line_format(const struct event_line *lines, size_t count, char **ret_text, size_t *ret_length);

#endif
