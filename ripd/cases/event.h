/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - the begin or the end of a stall, as it is stored, listed, streamed and passed to a command. Immutable and
 * shared. Pure.
 *
 * An event carries its JSON text, which is made once, and the fields that lists filter by.
 *
 * Guarantees
 *   A. An event does not change from when it gets its sequence number to the last unref. The reference count is atomic.
 *   B. Sequence numbers begin at 1 and have no gap within an epoch. The epoch of a history on disk survives restarts;
 *      without such a history, each start of the daemon has its own epoch.
 */
#ifndef RIPD_CASES_EVENT_H
#define RIPD_CASES_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event_kind.h"
#include "cases/query.h"
#include "detect/state.h"
#include "util/reference.h"

#define EVENT_UNKNOWN_NS UINT64_MAX

struct event {
    atomic_uint references;
    uint64_t sequence;
    enum event_kind kind;
    uint64_t episode;       /* the same number for a begin and its end */
    uint64_t incident;      /* of all episodes with one root: number of the episode that began it */
    uint32_t waiting_count; /* of a begin: stalled ids that wait for its root */
    bool reported;          /* it begins or ends an incident: goes to the log and to the command */
    uint64_t at_wall_ns;
    uint64_t duration_ns;     /* begin: how long the id is frozen; end: length of the stall */
    uint64_t duration_max_ns; /* its upper bound; EVENT_UNKNOWN_NS: not known */
    uint64_t since_wall_ns;   /* when the id froze; 0: not known */
    uint64_t threshold_ns;
    enum id_cause cause;
    enum event_reason reason; /* of an end */
    uint32_t stall_count;     /* of an end: stalls merged into the episode, at least 1 */
    uint32_t id;
    uint32_t tid; /* 0: on no thread, or not known */
    uint32_t pid; /* 0: not known */
    uint32_t uid; /* user that the ring is charged to (work/work.h); 0 also for events of an earlier run */
    char ring[QUERY_PATTERN_BYTES]; /* "": the id could not be read, and `id` is meaningless */
    uint8_t name_bytes;
    uint8_t name[RIP_NAME_BYTES];
    uint8_t note_bytes; /* of a begin; 0: no note */
    uint8_t note[RIP_NOTE_BYTES];
    char comm[RIP_COMM_BYTES + 1];  /* "": not known */
    char *unit;                     /* of its process; NULL: none, or not known */
    char *container;                /* likewise */
    char *module;                   /* of its last location; NULL: not known, and offset is meaningless */
    uint64_t offset;                /* in that module */
    char *function;                 /* at that offset; NULL: not known */
    char *file;                     /* NULL: not known */
    uint32_t line;                  /* 0: not known */
    uint8_t holder_bytes;           /* of holder; 0: no lock, or its holder has no name or is not known */
    uint8_t holder[RIP_NAME_BYTES]; /* name of the holder of the lock, or that it is gone */
    const char *syscall;            /* of a begin: in which the thread waited, static; NULL: none, or not known */
    char *target;                   /* of a begin: what it waited for; NULL: not known */
    char *summary;                  /* the sentence in text; NULL: read from disk, where only text has it */
    size_t text_bytes;
    char *text; /* one JSON object on one line, without newline; terminated */
    /* Offset in text of the fields that a begin and its end share; they extend to the last byte. */
    size_t subject_at;
};

/* Formats an epoch. */
#define EVENT_EPOCH_BYTES 17u
void event_epoch_format(uint64_t epoch, char ret_text[EVENT_EPOCH_BYTES]);

/* Returns an event with all fields zero and one reference, or NULL if out of memory. (libevent has event_new().) */
struct event *event_make(void);
REFERENCED(event);
void event_unref(struct event *event); /* NULL is allowed. */

/*
 * Whether the query selects the event, by ring, name, pid, unit, container, cause, kinds, since_wall_ns and duration.
 */
bool query_matches_event(const struct query_filter *filter, const struct event *event);

#endif
