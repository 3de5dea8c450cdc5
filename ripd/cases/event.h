/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - the begin or the end of a stall, as it is kept, listed, streamed and handed to a command. Immutable and
 * shared. Pure.
 *
 * An event carries its JSON text, made once, and what lists filter by.
 *
 * Guarantees
 *   A. An event is constant from the moment it has a sequence number to the last unref; the count of references is
 *      atomic.
 *   B. Sequence numbers begin at 1 and have no gap within one epoch. The epoch of a history on disk outlives restarts;
 *      without one, each start of the daemon has its own.
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
    uint64_t incident;      /* of all episodes with one root: the number of the one that began it */
    uint32_t waiting_count; /* of a begin: stalled ids that wait for its root */
    bool reported;          /* it begins or ends an incident: the log and the command get it */
    uint64_t at_wall_ns;
    uint64_t duration_ns;     /* begin: frozen for; end: lasted */
    uint64_t duration_max_ns; /* the other end of it; EVENT_UNKNOWN_NS = not known */
    uint64_t since_wall_ns;   /* when it froze; 0 = not known */
    uint64_t threshold_ns;
    enum id_cause cause;
    enum event_reason reason; /* of an end */
    uint32_t stall_count;     /* of an end: stalls merged into the episode, at least 1 */
    uint32_t id;
    uint32_t tid; /* 0 = on no thread, or not known */
    uint32_t pid; /* 0 = not known */
    uint32_t uid; /* the user whose account the ring is on (work/work.h); 0 also of an event of a former run */
    char ring[QUERY_PATTERN_BYTES]; /* "" = the id could not be read, and id means nothing */
    uint8_t name_bytes;
    uint8_t name[RIP_NAME_BYTES];
    uint8_t note_bytes; /* of a begin; 0 = it had none */
    uint8_t note[RIP_NOTE_BYTES];
    char comm[RIP_COMM_BYTES + 1];  /* "" = not known */
    char *unit;                     /* of its process; NULL = none, or not known */
    char *container;                /* the same */
    char *module;                   /* of its last location; NULL = not known, and offset means nothing */
    uint64_t offset;                /* in that module */
    char *function;                 /* at that offset; NULL = not known */
    char *file;                     /* NULL = not known */
    uint32_t line;                  /* 0 = not known */
    uint8_t holder_bytes;           /* of holder; 0 = it waits for no lock whose holder is known, or that has no name */
    uint8_t holder[RIP_NAME_BYTES]; /* name of who holds the lock that it waits for, or that it is gone */
    const char *syscall;            /* of a begin: that its thread waited in, static; NULL = none, or not known */
    char *target;                   /* of a begin: what it waited for; NULL = not known */
    char *summary;                  /* the sentence in its text; NULL = read from disk, where only the text has it */
    size_t text_bytes;
    char *text;        /* one JSON object on one line, without a newline behind it; terminated */
    size_t subject_at; /* where in text the fields begin that a begin and its end have in common, up to its last byte */
};

/* How an epoch is written. */
#define EVENT_EPOCH_BYTES 17u
void event_epoch_format(uint64_t epoch, char ret_text[EVENT_EPOCH_BYTES]);

/* All zero, one reference. NULL: no memory. (event_new() is a function of libevent.) */
struct event *event_make(void);
REFERENCED(event);
void event_unref(struct event *event); /* NULL is allowed */

/* Whether the query selects it: by ring, name, pid, cause, kinds, since_wall_ns, min_ns of its duration. */
bool query_matches_event(const struct query_filter *filter, const struct event *event);

#endif
