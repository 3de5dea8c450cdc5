/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opened.h - idle ids that a client has opened: for a while their threads are examined, after those of suspects.
 *
 * An id that declares itself idle is no suspect, so its thread is not examined. But an id that has been idle for too
 * long may be a client that hangs. Then the user wants to know what it waits for.
 *
 * Guarantees
 *   A. At most OPENED_MAX ids are examined in this way, each for OPENED_NS after it was last opened. A new one replaces
 *      the one whose time ends first.
 *   B. This never turns an id into a suspect or a stall.
 */
#ifndef RIPD_APP_OPENED_H
#define RIPD_APP_OPENED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/case.h"
#include "cases/query.h"
#include "detect/detector.h"
#include "ring/registry.h"

#define OPENED_MAX 16u
#define OPENED_NS UINT64_C(30000000000)
#define OPENED_HELD_MAX 8u                  /* answers held for the next scan */
#define OPENED_HOLD_NS UINT64_C(2000000000) /* only if the next scan is due this soon */

struct opened_id {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint64_t until_mono_ns;
};

struct opened_query {
    uint64_t ticket;
    struct query query;
};

/* Initially all zero. */
struct opened {
    struct opened_id ids[OPENED_MAX];
    size_t count;
    struct opened_query held[OPENED_HELD_MAX];
    size_t held_count;
};

/*
 * Handles the answer to a query for one id: its idle threads that are not in the set yet are examined from the next
 * scan on. Returns true if the query is held until then; page is not needed then.
 */
bool opened_hold(struct opened *opened, uint64_t ticket, const struct query *query, const struct page *page,
                 uint64_t now_mono_ns, uint64_t wait_ns);

/* After a scan: returns the held queries one by one. Returns false if there is none. */
bool opened_release(struct opened *opened, struct opened_query *ret_query);

/*
 * Between cases_begin() and probe_examine(): gives each id that is still idle a case, charged to the user of its ring.
 */
void opened_renew(struct opened *opened, struct registry *registry, const struct detector *detector,
                  struct cases *cases, uint64_t now_mono_ns);

#endif
