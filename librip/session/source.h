/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - where the events of a session come from: live rings, a capture, a recording. */
#ifndef RIP_SESSION_SOURCE_H
#define RIP_SESSION_SOURCE_H

#include "session/event_queue.h"

/* Why something failed, as one line. */
struct source_error {
    char text[512];
};

/* Writes the line, and returns result. */
int source_fail(struct source_error *error, int result, const char *format, ...) __attribute__((format(printf, 3, 4)));

struct source;

/* What a source can do. NULL: not this one. */
struct source_kind {
    /* Adds the next events to an empty queue. 1: there are some, or the next call may have some; 0: it has ended;
     * -EAGAIN: none before the next drain is due; -EBADMSG, ... */
    int (*read)(struct source *source, struct event_queue *queue, struct source_error *error);
    void (*close)(struct source *source);
    /* All that is there, as if found now; between two drains. */
    int (*repeat)(struct source *source, const struct rip_sink *sink);
    /* Live sources. */
    uint64_t (*due_ns)(const struct source *source);
    int (*wait)(struct source *source, uint64_t timeout_ns);
    void (*drain_now)(struct source *source);
    /* Recordings. */
    int (*seek)(struct source *source, uint64_t wall_ns, struct source_error *error);
    void (*position)(const struct source *source, uint64_t *ret_bytes, uint64_t *ret_total_bytes);
};

/* The first member of each. */
struct source {
    const struct source_kind *kind;
    enum rip_session_source name;
};

#endif
