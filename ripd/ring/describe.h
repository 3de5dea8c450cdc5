/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h - a slot as an item: everything about one id, read at one moment.
 */
#ifndef RIPD_RING_DESCRIBE_H
#define RIPD_RING_DESCRIBE_H

#include "cases/query.h"
#include "cases/snapshot.h"
#include "detect/detector.h"
#include "ring/registry.h"

/* A new item, one reference; NULL when that generation is not there any more, its ring is damaged, or no memory. */
struct item *describe_id(struct registry *registry, uint32_t ring, uint32_t slot, uint32_t generation);

/*
 * A page of all ids that match, in order of ring serial and slot, states as of the detector's last scan. NULL: no
 * memory. snapshot: of that scan, for the frame.
 */
struct page *describe_threads(struct registry *registry, const struct detector *detector, const struct query *query,
                              struct snapshot *snapshot);

/* query_stalls(), with the counts of all ids that the query selects. */
struct page *describe_stalls(struct registry *registry, const struct detector *detector, const struct query *query,
                             struct snapshot *snapshot);

/* What each of the ids does, as a page of pieces. */
struct page *describe_states(struct registry *registry, const struct detector *detector, const struct query *query,
                             struct snapshot *snapshot);

/* The same ids counted by their last location, as a page of groups. */
struct page *describe_locations(struct registry *registry, const struct detector *detector, const struct query *query,
                                struct snapshot *snapshot);

#endif
