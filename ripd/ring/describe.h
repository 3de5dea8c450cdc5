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
 * The page that a query asks for: of ids in order of ring serial and slot, each with its item, or each with what it
 * does alone (states); of stalls, as query_stalls() has them; of ids counted by their last location. It has the counts
 * of all ids that the query selects. States are as of the detector's last scan; snapshot: of that scan, for the frame.
 * NULL: no memory.
 */
struct page *describe_page(struct registry *registry, const struct detector *detector, const struct query *query,
                           struct snapshot *snapshot);

#endif
