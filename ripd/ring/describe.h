/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - describes ids: an item has everything about one id, read from its slot at one moment. */
#ifndef RIPD_RING_DESCRIBE_H
#define RIPD_RING_DESCRIBE_H

#include "cases/query.h"
#include "cases/snapshot.h"
#include "detect/detector.h"
#include "ring/registry.h"

/*
 * Returns a new item with one reference, or NULL if that generation does not exist any more, its ring is damaged, or
 * out of memory.
 */
struct item *describe_id(struct registry *registry, uint32_t ring, uint32_t slot, uint32_t generation);

/*
 * Makes the page that a query asks for. There are four kinds: ids in order of ring serial and slot, each with its item;
 * the same with only the state of each id; stalls, as query_stalls() makes them; ids counted by their last location.
 *
 * The page has the counts of all ids that the query selects. States are as of the detector's last scan. snapshot is
 * that of the same scan, for the frame. Returns NULL if out of memory.
 */
struct page *describe_page(struct registry *registry, const struct detector *detector, const struct query *query,
                           struct snapshot *snapshot);

#endif
