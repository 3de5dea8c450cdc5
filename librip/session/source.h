/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - the interface of what a session reads events from: live rings, a capture, a recording. */
#ifndef RIP_SESSION_SOURCE_H
#define RIP_SESSION_SOURCE_H

#include "session/event_queue.h"

/* The reason of a failure, as one line. */
struct source_error {
    char text[512];
};

/* Formats the line and returns result. */
int source_fail(struct source_error *error, int result, const char *format, ...) __attribute__((format(printf, 3, 4)));

struct source;

/* The functions of a source. NULL: the source does not have this one. */
struct source_kind {
    /*
     * Adds the next events to an empty queue. Returns 1 if there are some, or if the next call may find some; 0 at the
     * end of the source; -EAGAIN if there are none before the next drain is due; or an error, also as a line.
     */
    int (*read)(struct source *source, struct event_queue *queue, struct source_error *error);
    void (*close)(struct source *source);
    /* Yields all that exists now. Called between two drains. Returns 0 or an error. */
    int (*repeat)(struct source *source, const struct rip_sink *sink);
    /* Live sources. */
    uint64_t (*due_ns)(const struct source *source);
    int (*wait)(struct source *source, uint64_t timeout_ns);
    void (*drain_now)(struct source *source);
    /* Recordings. */
    int (*seek)(struct source *source, uint64_t wall_ns, struct source_error *error);
    void (*position)(const struct source *source, uint64_t *ret_bytes, uint64_t *ret_total_bytes);
};

/* The first member of the struct of each source. */
struct source {
    const struct source_kind *kind;
    enum rip_session_source name;
};

#endif
