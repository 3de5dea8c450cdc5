/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.h - which ids a request selects. Pure.
 */
#ifndef RIPD_CASES_QUERY_H
#define RIPD_CASES_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/locations.h"
#include "cases/roots.h"
#include "cases/snapshot.h"
#include "cases/state_map.h"
#include "util/glob.h"
#include "util/reference.h"

#define QUERY_LIMIT_DEFAULT 100u
#define QUERY_LIMIT_MAX 10000u
#define QUERY_STATES_DEFAULT 100000u /* for lists of states, whose items take a few bytes */
#define QUERY_STATES_MAX 1000000u
#define QUERY_TRAIL_MAX RIP_ENTRY_COUNT /* a whole trail */
#define QUERY_PATTERN_BYTES 272u        /* a file name of 255 bytes, "~4294967295", and a terminator */

/* A cursor names the last item that was returned. The next page begins after it, in the order of the list. */
struct query_cursor {
    bool present;
    uint64_t frozen_since_ns; /* /stalls: constant while the id stalls; /threads: 0 */
    uint32_t ring;            /* serial */
    uint32_t slot;            /* of a list of groups: number of groups before */
    uint64_t sequence;        /* /events: of the event; 0 for the other lists */
};

/* What one item of the list is. */
enum query_group { QUERY_GROUP_NONE, QUERY_GROUP_LOCATION, QUERY_GROUP_ROOT, QUERY_GROUP_INCIDENT };

/* What is listed. */
enum query_list { QUERY_LIST_IDS, QUERY_LIST_STALLS, QUERY_LIST_STATES };

struct query {
    enum query_list list;
    char ring[QUERY_PATTERN_BYTES];      /* glob for the ring name, or with `one` the name itself; "": any */
    char name[QUERY_PATTERN_BYTES];      /* glob for the name; "": any */
    char unit[QUERY_PATTERN_BYTES];      /* glob for the unit of the process; "": any */
    char container[QUERY_PATTERN_BYTES]; /* glob for its container; "": any */
    uint32_t pid;                        /* 0: any */
    uint32_t causes;                     /* sets of bits 1 << cause; 0: any */
    uint32_t states;
    uint32_t kinds; /* of events */
    uint64_t min_ns;
    uint64_t since_wall_ns; /* of events: not before this; 0: any */
    uint64_t since_ago_ns;  /* of events: this long before the answer; 0: not given. See query_at() */
    bool has_limit;
    uint32_t limit; /* QUERY_LIMIT_DEFAULT if not given */
    bool has_trail;
    uint32_t trail_count; /* breadcrumbs per id, at most QUERY_TRAIL_MAX; if not given, the path decides */
    struct query_cursor after;
    enum query_group group;
    bool one; /* only slots with this id (and ring) */
    uint32_t id;
    bool has_incident; /* /stalls: only the incident that this id is in */
    uint32_t incident_id;
    char incident_ring[QUERY_PATTERN_BYTES]; /* not a glob */
};

void query_init(struct query *query);

/* Whether a set of causes, states or kinds contains a value. */
static inline bool query_has(uint32_t set, unsigned value)
{
    return set == 0 || (set & 1u << value) != 0;
}

/* Returns the query with times relative to the answer, now_wall_ns, made absolute. */
struct query query_at(const struct query *query, uint64_t now_wall_ns);

/* A query with compiled patterns, for matching many ids. */
struct query_filter {
    const struct query *query; /* the caller's; must outlive the filter */
    struct glob ring;
    struct glob name;
    struct glob unit;
    struct glob container;
    /* The snapshot's wait graph, for has_incident, and the node of the incident's root; WAITS_NONE: only that id. */
    const struct waits *waits;
    uint32_t root;
};
void query_filter_make(struct query_filter *ret_filter, const struct query *query);

/*
 * Whether the filter selects rings of that name. A pattern always matches a name equal to it, even if the pattern is no
 * valid glob of at most 63 elements.
 */
bool query_selects_ring(const struct query_filter *filter, const char *ring_name);

/* The same for a process. NULL: it has none, or not known. */
bool query_selects_origin(const struct query_filter *filter, const char *unit, const char *container);

/* Whether the snapshot alone can answer: a list of stalls whose counts it has. */
bool query_is_local(const struct query *query);

/* Whether there is a condition on the contents of rings, not only on the rings. */
bool query_reads_ids(const struct query *query);

/* Whether the conditions on the id itself hold: all except state, cause and min_ns. */
bool query_selects(const struct query_filter *filter, const struct item *item);

/* Whether the conditions on its state hold: state, cause and min_ns. */
bool query_matches_verdict(const struct query *query, const struct sighting *sighting);

/* Both of them. Cursor and limit are ignored. */
bool query_matches(const struct query_filter *filter, const struct sighting *sighting);

/* Counts by state the ids of the rings of a snapshot that the filter selects. */
void query_count(const struct query_filter *filter, const struct snapshot *snapshot,
                 uint64_t ret_counts[ID_STATE_COUNT]);

/* One page of matching sightings in order, and how many match in total. */
struct page {
    atomic_uint references;
    struct snapshot *snapshot;       /* a reference: keeps the values alive */
    struct sighting *sightings;      /* NULL in a page of groups */
    struct locations *locations;     /* all groups, sorted; NULL in a page of ids */
    struct roots *roots;             /* the same, for groups by root */
    struct state_map *states;        /* NULL except in a page of states */
    uint64_t counts[ID_STATE_COUNT]; /* of the ids that the query selects, whatever their state */
    size_t first;                    /* first group of this page */
    size_t count;                    /* ids, groups, or pieces of states */
    uint64_t total;
    bool more;
    struct query_cursor next; /* start of the next page */
};
struct page *page_new(struct snapshot *snapshot);
REFERENCED(page);
void page_unref(struct page *page);

/*
 * Returns a page of the stalls of a snapshot, or of groups of them, or NULL if out of memory. Its counts are those of
 * the selected rings; if query_reads_ids(), the caller must count the ids itself.
 */
struct page *query_stalls(const struct query *query, struct snapshot *snapshot);

/*
 * Sorts groups and returns a page of them, or NULL if out of memory. Takes ownership of locations, also on failure. The
 * cursor of groups is a number of groups, because the order may differ on the next scan.
 */
struct page *page_of_locations(const struct query *query, struct snapshot *snapshot, struct locations *locations);

#endif
