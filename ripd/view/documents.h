/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents.h - the answers as JSON text. Pure: values to bytes.
 *
 * Guarantees
 *   A. No absolute address is written: an address is a module and an offset in its file, or null.
 *   B. A value that is not known is null.
 *   C. Every document ends in a newline, for terminals.
 */
#ifndef RIPD_VIEW_DOCUMENTS_H
#define RIPD_VIEW_DOCUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"
#include "cases/query.h"
#include "cases/snapshot.h"

/*
 * A list document is a head, which has the time of the request, and a body, which changes only with the scan. So a
 * server that answers often can cache the body.
 */
enum document_kind {
    DOCUMENT_STALLS,
    DOCUMENT_THREADS,
    DOCUMENT_THREAD, /* of /threads/RING/ID: a page with one id, or several with that number */
    DOCUMENT_RINGS,
    DOCUMENT_LOCATIONS,
    DOCUMENT_STALLS_BY_LOCATION,
    DOCUMENT_THREADS_BY_LOCATION,
    DOCUMENT_STALLS_BY_ROOT,
    DOCUMENT_STALLS_BY_INCIDENT,
    DOCUMENT_EVENTS,
    DOCUMENT_STATES, /* of /states: the state of each id, in pieces */
    DOCUMENT_KIND_COUNT
};

/* A body, and the values that the head needs, so that caching a body keeps no snapshot. */
struct document {
    enum document_kind kind;
    uint64_t sequence;
    uint64_t scanned_mono_ns;
    uint64_t interval_ns;
    uint64_t counts[ID_STATE_COUNT];
    uint64_t unreadable_ring_count;
    uint64_t total;
    uint64_t returned;
    bool more;
    struct query_cursor next;
    char *body; /* malloc'ed; owned by the caller */
    size_t body_bytes;
};

/* Some of the events that are held, newest first, and facts about the others. */
struct event_page {
    struct event **events; /* owned by the caller, with a reference each */
    size_t count;
    uint64_t total; /* events held that match */
    bool more;
    uint64_t epoch;
    uint64_t oldest_sequence; /* of the events held; newest_sequence + 1 if there are none */
    uint64_t newest_sequence;
    uint64_t forgotten_count;  /* events that are no longer held */
    uint64_t suppressed_count; /* stalls since the start that became no event */
};

/* Each returns 0 and a text that the caller frees, or -ENOMEM. now_* is the time of the request. */
int document_head(const struct document *document, uint64_t now_wall_ns, uint64_t now_mono_ns, char **ret_text,
                  size_t *ret_length);
/* Makes the whole body. trail_count: breadcrumbs of each id. */
int document_page_body(enum document_kind kind, struct page *page, uint32_t trail_count, struct document *ret_document);
int document_rings_body(const struct snapshot *snapshot, const struct query *query, struct document *ret_document);

/* Counts are of the rings that the query selects. */
int document_events_body(const struct snapshot *snapshot, const struct query *query, const struct event_page *page,
                         struct document *ret_document);

/*
 * Builds the body of a page in slices, so that the caller can do other work in between. It holds a reference to the
 * page. Returns NULL if out of memory.
 */
struct document_build;

struct document_build *document_build_new(enum document_kind kind, struct page *page, uint32_t trail_count);
/*
 * Adds about that many bytes. Returns 1 if there is more, 0 if the document is complete (the caller owns it), or
 * -ENOMEM.
 */
int document_build_step(struct document_build *build, size_t bytes, struct document *ret_document);
void document_build_free(struct document_build *build);

int document_version(char **ret_text, size_t *ret_length);
int document_health(const char *status, char **ret_text, size_t *ret_length);

/* RFC 9457. parameter: the query parameter at fault, or NULL. */
int document_problem(int status, const char *title, const char *detail, const char *parameter, char **ret_text,
                     size_t *ret_length);

#endif
