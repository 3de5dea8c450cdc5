/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opened.h - idle ids that somebody has opened: for a while their threads are examined, after those of suspects.
 *
 * An id that declares that it waits for work is no suspect, so nothing is read of its thread. But one that has been
 * idle for too long may be a client that hangs, and then the answer is what it waits for.
 *
 * Guarantees
 *   A. At most OPENED_MAX ids are examined so, each for OPENED_NS after it was opened last; for a newer one that goes
 *      whose time is over first.
 *   B. It makes no suspect and no stall of an id.
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
#define OPENED_HELD_MAX 8u                  /* answers that wait for the next scan */
#define OPENED_HOLD_NS UINT64_C(2000000000) /* where it comes that soon */

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

/* All zero at first. */
struct opened {
    struct opened_id ids[OPENED_MAX];
    size_t count;
    struct opened_query held[OPENED_HELD_MAX];
    size_t held_count;
};

/*
 * The answer to a query for one id: its idle threads of which nothing is known yet are examined from the next scan on.
 * True: it is kept until then, and page is not needed.
 */
bool opened_hold(struct opened *opened, uint64_t ticket, const struct query *query, const struct page *page,
                 uint64_t now_mono_ns, uint64_t wait_ns);

/* After a scan: what was kept, one by one. False: there is none. */
bool opened_release(struct opened *opened, struct opened_query *ret_query);

/* Between cases_begin() and probe_examine(): each that is still idle has a case, on the account of its ring. */
void opened_renew(struct opened *opened, struct registry *registry, const struct detector *detector,
                  struct cases *cases, uint64_t now_mono_ns);

#endif
