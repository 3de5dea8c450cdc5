/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_line.h - one line of the history of events, as text and as values.
 *
 *   {"history":{"schema":"ripd/history/1","epoch":"..","sequence":..,"episode":..}}
 *                                      the first line of a file: whose numbers follow, and the last before them
 *   {"carried":{..},"subject":{..}}    the begin of an episode that was open when the file was begun
 *   {"event":{..},"subject":{..}}      a begin, and how its id is known again
 *   {"event":{..}}                     an end
 *   {"subject":{..}}                   the id of an open episode moved and stalled again: where it stands now
 *
 * The object of an event is the very text that /events shows.
 *
 * Guarantees
 *   A. Nothing is read but what lies within length; whatever it holds, the result is a line as above or -EBADMSG.
 *   B. A line that was formatted is parsed into the same values, times and durations to the millisecond.
 *   C. Only fields that lists filter by, that the log shows, and that an end has of its begin are parsed. The rest is
 *      in the text, and nowhere else.
 */
#ifndef RIPD_RECORD_EVENT_LINE_H
#define RIPD_RECORD_EVENT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"

#define EVENT_LINE_BYTES_MAX (2u << 20) /* longer ones are damaged; no event comes near, whatever its names are */

/* What it takes to know the id of an open episode again when ripd has been away. */
#define EVENT_SUBJECT_ID_BYTES 16u
#define EVENT_SUBJECT_UNKNOWN UINT64_MAX

struct event_subject {
    uint64_t episode;
    uint8_t boot_id[EVENT_SUBJECT_ID_BYTES]; /* the run of the system; monotonic times are of it */
    uint8_t ring_id[EVENT_SUBJECT_ID_BYTES]; /* all zero = not known */
    uint64_t directory_device;               /* of the directory in which the ring's file is */
    uint64_t directory_inode;                /* 0 = not known */
    uint32_t slot;
    uint32_t generation;
    uint64_t began_mono_ns;       /* first seen frozen in this episode */
    uint32_t stall_count;         /* of the episode so far, at least 1; of the last of them is what follows */
    uint64_t progress;            /* at which it stands still */
    uint64_t frozen_mono_ns;      /* first seen frozen at it */
    uint64_t moved_after_mono_ns; /* last seen at another; EVENT_SUBJECT_UNKNOWN = never */
};

enum event_line_kind { EVENT_LINE_HISTORY, EVENT_LINE_CARRIED, EVENT_LINE_EVENT, EVENT_LINE_SUBJECT };
#define EVENT_LINE_KIND_COUNT (EVENT_LINE_SUBJECT + 1)

struct event_line {
    enum event_line_kind kind;
    struct event *event;          /* a reference, of CARRIED and EVENT */
    struct event_subject subject; /* of CARRIED, SUBJECT, and of an EVENT that is a begin */
    uint64_t epoch;               /* of HISTORY */
    uint64_t sequence;            /* of HISTORY: of the last event before */
    uint64_t episode;             /* of HISTORY: the last episode before */
};

/* length: without the line's end. 0, -EBADMSG: it is none of them; -ENOMEM. */
int event_line_parse(const char *text, size_t length, struct event_line *ret_line);

/* The text of one event, as /events shows it. 0, -EBADMSG, -ENOMEM. */
int event_line_parse_event(const char *text, size_t length, struct event **ret_event);

/* Text with a newline at the end of each (malloc'ed). Only what a line's kind has is looked at. 0 or -ENOMEM. */
int event_line_format(const struct event_line *lines, size_t count, char **ret_text, size_t *ret_length);

#endif
