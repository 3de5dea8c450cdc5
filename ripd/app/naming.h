/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.h - gets names for the locations of stalls and pages before they are shown, within time limits.
 *
 * Names come from a separate process (sym/symbols.h) and may take a while when a file is used for the first time. A new
 * stall waits briefly for its name, so that its begin event has one. A page is held back while scans continue. A
 * location without a name by then is shown without one, and has it in the next answer.
 */
#ifndef RIPD_APP_NAMING_H
#define RIPD_APP_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "app/report.h"
#include "cases/case.h"
#include "cases/health.h"
#include "cases/query.h"
#include "cases/snapshot.h"
#include "probe/fetch.h"
#include "ring/registry.h"
#include "sym/symbols.h"

#define NAMING_PAGES_MAX 16u
#define NAMING_STALLS_NS UINT64_C(50000000) /* longest wait of a scan; at most a twentieth of its interval */
#define NAMING_PAGE_NS UINT64_C(1000000000) /* longest time that a page is held back */

struct naming {
    struct symbols *symbols;   /* NULL: there is no symbolizer, nothing is named */
    struct registry *registry; /* the scanner's; may be NULL if fetch is NULL */
    /* Used by the names thread only. NULL: files that ripd cannot open stay closed. */
    struct fetch *fetch;
    int descriptor;              /* readable when no query is pending any more; -1 = none */
    struct report_budget budget; /* for lines about symbolizers; used by the names thread only */
    struct held_page {
        uint64_t ticket;
        struct page *page; /* owned reference */
        uint64_t until_mono_ns;
    } held[NAMING_PAGES_MAX];
    size_t held_count;
};

/*
 * Logs what is missing; ripd runs without it. registry and fetch stay the caller's and must live until after
 * naming_close(). fetch may be NULL.
 */
void naming_open(struct naming *ret_naming, struct registry *registry, struct fetch *fetch,
                 const struct hash_key *hash_key, const struct uid_range *ranges, size_t range_count);
void naming_close(struct naming *naming); /* pages still held are released */

/* Queries names for described cases that have none yet, and waits briefly for those of their locations. */
void naming_cases(struct naming *naming, const struct cases *cases, const struct snapshot *snapshot);

/* For events_scan.name_is_pending: the name of the item's location may still arrive. context is a struct naming. */
bool naming_is_pending(void *context, const struct item *item);

/*
 * Takes ownership of the page and returns true if a name is pending. Otherwise returns false, and the caller keeps the
 * page.
 */
bool naming_hold(struct naming *naming, uint64_t ticket, struct page *page);

/* Returns the next page that need not be held any longer, with its reference, or false if there is none. */
bool naming_release(struct naming *naming, uint64_t *ret_ticket, struct page **ret_page);

/* Returns the time until naming_release() is due; UINT64_MAX if no page is held. */
uint64_t naming_wait_ns(const struct naming *naming, uint64_t now_mono_ns);

/* Adds the counters of queries and symbolizers to *health. */
void naming_health(const struct naming *naming, struct health *health);

#endif
