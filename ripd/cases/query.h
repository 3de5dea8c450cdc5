/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.h - which ids a request asks for. Pure.
 */
#ifndef RIPD_CASES_QUERY_H
#define RIPD_CASES_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/locations.h"
#include "cases/roots.h"
#include "cases/snapshot.h"
#include "util/glob.h"

#define QUERY_LIMIT_DEFAULT 100u
#define QUERY_LIMIT_MAX 10000u
#define QUERY_TRAIL_MAX RIP_ENTRY_COUNT /* a whole trail */
#define QUERY_PATTERN_BYTES 272u        /* a file's name of 255 bytes, "~4294967295", and a terminator */

/* A cursor names the last item returned; what follows it in the list's order is next. */
struct query_cursor {
    bool present;
    uint64_t frozen_since_ns; /* /stalls: constant while the id stalls; 0 for /threads */
    uint32_t ring;            /* serial */
    uint32_t slot;            /* of a list of groups: how many come before */
    uint64_t sequence;        /* /events: of the event; 0 for the other lists */
};

/* What one item of the list is. */
enum query_group { QUERY_GROUP_NONE, QUERY_GROUP_LOCATION, QUERY_GROUP_ROOT };

struct query {
    char ring[QUERY_PATTERN_BYTES]; /* exact name; "" = any */
    char name[QUERY_PATTERN_BYTES]; /* glob over the bytes of the name; "" = any */
    uint32_t pid;                   /* 0 = any */
    bool has_cause;
    bool cause_excluded;
    enum id_cause cause;
    bool has_state;
    enum id_state state;
    uint32_t kinds; /* of events: bit 1 << kind; 0 = any */
    uint64_t min_ns;
    bool has_limit;
    uint32_t limit; /* QUERY_LIMIT_DEFAULT when not given */
    bool has_trail;
    uint32_t trail_count; /* breadcrumbs with each id, at most QUERY_TRAIL_MAX; the path decides when not given */
    struct query_cursor after;
    enum query_group group;
    bool one; /* only slots whose id is this one (and ring) */
    uint32_t id;
};

void query_init(struct query *query);

/* Of query_matches() what needs no item: state, cause, min_ns. */
bool query_matches_verdict(const struct query *query, const struct sighting *sighting);

/* Without regard to cursor and limit. name is made of query->name, once for all sightings. */
bool query_matches(const struct query *query, const struct glob *name, const struct sighting *sighting);

/* Some matching sightings in order, and how many match in all. */
struct page {
    atomic_uint references;
    struct snapshot *snapshot;   /* a reference: frame values */
    struct sighting *sightings;  /* NULL in a page of groups */
    struct locations *locations; /* all groups, sorted; NULL in a page of ids */
    struct roots *roots;         /* the same, by who holds them up */
    size_t first;                /* group of this page */
    size_t count;                /* ids, or groups */
    uint64_t total;
    bool more;
    struct query_cursor next; /* where the next page begins */
};
struct page *page_new(struct snapshot *snapshot);
struct page *page_ref(struct page *page);
void page_unref(struct page *page);

/* Page of the stalls of a snapshot, or of groups of them. NULL: no memory. */
struct page *query_stalls(const struct query *query, struct snapshot *snapshot);

/*
 * Sorts groups and makes a page of them; locations is taken over, also on failure. A cursor of groups says how many
 * come before: the order may be another on the next scan. NULL: no memory.
 */
struct page *page_of_locations(const struct query *query, struct snapshot *snapshot, struct locations *locations);

#endif
