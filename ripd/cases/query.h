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
#include "cases/state_map.h"
#include "util/glob.h"
#include "util/reference.h"

#define QUERY_LIMIT_DEFAULT 100u
#define QUERY_LIMIT_MAX 10000u
#define QUERY_STATES_DEFAULT 100000u /* of a list of states, whose items are a few bytes */
#define QUERY_STATES_MAX 1000000u
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
enum query_group { QUERY_GROUP_NONE, QUERY_GROUP_LOCATION, QUERY_GROUP_ROOT, QUERY_GROUP_INCIDENT };

/* What is listed. */
enum query_list { QUERY_LIST_IDS, QUERY_LIST_STALLS, QUERY_LIST_STATES };

struct query {
    enum query_list list;
    char ring[QUERY_PATTERN_BYTES];      /* glob over its name, or with `one` the name itself; "" = any */
    char name[QUERY_PATTERN_BYTES];      /* glob over the bytes of the name; "" = any */
    char unit[QUERY_PATTERN_BYTES];      /* glob over the unit of its process; "" = any */
    char container[QUERY_PATTERN_BYTES]; /* the same of its container */
    uint32_t pid;                        /* 0 = any */
    uint32_t causes;                     /* sets: bit 1 << cause; 0 = any */
    uint32_t states;
    uint32_t kinds; /* of events */
    uint64_t min_ns;
    uint64_t since_wall_ns; /* of events: not before that; 0 = any */
    uint64_t since_ago_ns;  /* of events: as long before the answer; 0 = not given. See query_at() */
    bool has_limit;
    uint32_t limit; /* QUERY_LIMIT_DEFAULT when not given */
    bool has_trail;
    uint32_t trail_count; /* breadcrumbs with each id, at most QUERY_TRAIL_MAX; the path decides when not given */
    struct query_cursor after;
    enum query_group group;
    bool one; /* only slots whose id is this one (and ring) */
    uint32_t id;
    bool has_incident; /* /stalls: of the incident that this id is in */
    uint32_t incident_id;
    char incident_ring[QUERY_PATTERN_BYTES]; /* no glob */
};

void query_init(struct query *query);

/* Whether a set of causes, states or kinds has a value. */
static inline bool query_has(uint32_t set, unsigned value)
{
    return set == 0 || (set & 1u << value) != 0;
}

/* One that was asked for at that time: what it says relative to the time of its answer is absolute. */
struct query query_at(const struct query *query, uint64_t now_wall_ns);

/* A query with its patterns made ready, once for all that they are matched against. */
struct query_filter {
    const struct query *query; /* the caller's; it outlives the filter */
    struct glob ring;
    struct glob name;
    struct glob unit;
    struct glob container;
    const struct waits *waits; /* the snapshot's, for the incident asked for, */
    uint32_t root;             /* and who holds it up; WAITS_NONE: it is that id alone */
};
void query_filter_make(struct query_filter *ret_filter, const struct query *query);

/* Whether it selects rings of that name. A name that is no glob of 63 elements at most matches itself alone. */
bool query_selects_ring(const struct query_filter *filter, const char *ring_name);

/* The same of a process; NULL: it has none, or that is not known. */
bool query_selects_origin(const struct query_filter *filter, const char *unit, const char *container);

/* Whether a snapshot has all of the answer: a list of stalls whose counts it has. */
bool query_is_local(const struct query *query);

/* Whether it has a condition on what stands in a ring, not only on which ring that is. */
bool query_reads_ids(const struct query *query);

/* The conditions on an id itself: all but state, cause and min_ns. */
bool query_selects(const struct query_filter *filter, const struct item *item);

/* Those on what it does: state, cause, min_ns. */
bool query_matches_verdict(const struct query *query, const struct sighting *sighting);

/* Both, without regard to cursor and limit. */
bool query_matches(const struct query_filter *filter, const struct sighting *sighting);

/* The ids, by state, of the rings of a snapshot that it selects. */
void query_count(const struct query_filter *filter, const struct snapshot *snapshot,
                 uint64_t ret_counts[ID_STATE_COUNT]);

/* Some matching sightings in order, and how many match in all. */
struct page {
    atomic_uint references;
    struct snapshot *snapshot;       /* a reference: frame values */
    struct sighting *sightings;      /* NULL in a page of groups */
    struct locations *locations;     /* all groups, sorted; NULL in a page of ids */
    struct roots *roots;             /* the same, by who holds them up */
    struct state_map *states;        /* NULL but in a page of states */
    uint64_t counts[ID_STATE_COUNT]; /* of the ids that the query selects, whatever they do */
    size_t first;                    /* group of this page */
    size_t count;                    /* ids, or groups, or pieces of states */
    uint64_t total;
    bool more;
    struct query_cursor next; /* where the next page begins */
};
struct page *page_new(struct snapshot *snapshot);
REFERENCED(page);
void page_unref(struct page *page);

/*
 * Page of the stalls of a snapshot, or of groups of them. NULL: no memory. Its counts are of the selected rings: where
 * query_reads_ids(), who has the ids has to count.
 */
struct page *query_stalls(const struct query *query, struct snapshot *snapshot);

/*
 * Sorts groups and makes a page of them; locations is taken over, also on failure. A cursor of groups says how many
 * come before: the order may be another on the next scan. NULL: no memory.
 */
struct page *page_of_locations(const struct query *query, struct snapshot *snapshot, struct locations *locations);

#endif
