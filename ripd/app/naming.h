/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.h - has the places of stalls and pages called by their names before they are shown, within limits of time.
 *
 * Names come from a process of their own (sym/symbols.h) and may take a while the first time a file is met. A new stall
 * waits briefly for its name, so that its begin event has one; a page is held back, while scans go on. A place that has
 * no name by then is shown without one, and has it in the next answer.
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
#define NAMING_STALLS_NS UINT64_C(50000000) /* a scan waits at most so long, and a twentieth of its interval */
#define NAMING_PAGE_NS UINT64_C(1000000000) /* a page is held back at most so long */

struct naming {
    struct symbols *symbols;     /* NULL: there is no symbolizer, nothing is named */
    struct registry *registry;   /* the scanner's; NULL only with fetch */
    struct fetch *fetch;         /* the thread of the names alone asks it; NULL: nobody opens what we cannot */
    int descriptor;              /* readable once no question waits any more; -1 = none */
    struct report_budget budget; /* of lines about symbolizers; their thread's alone */
    struct held_page {
        uint64_t ticket;
        struct page *page; /* a reference */
        uint64_t until_mono_ns;
    } held[NAMING_PAGES_MAX];
    size_t held_count;
};

/* Logs what is missing; ripd runs without. registry and fetch stay the caller's, until after naming_close(); fetch may
 * be NULL. */
void naming_open(struct naming *ret_naming, struct registry *registry, struct fetch *fetch,
                 const struct hash_key *hash_key, const struct uid_range *ranges, size_t range_count);
void naming_close(struct naming *naming); /* pages still held are released */

/* Asks for the places of described cases that were not asked for yet, and waits briefly for their locations. */
void naming_cases(struct naming *naming, const struct cases *cases, const struct snapshot *snapshot);

/* Whether the name of an item's location may still be found: for struct events_scan. context: the struct naming. */
bool naming_comes(void *context, const struct item *item);

/* Takes the page over if it has to be waited for; false: it can be shown, and stays the caller's. */
bool naming_hold(struct naming *naming, uint64_t ticket, struct page *page);

/* The next page that need not be held any more; false: none. The reference is the caller's. */
bool naming_release(struct naming *naming, uint64_t *ret_ticket, struct page **ret_page);

/* How long until naming_release() should be asked, if nothing comes in; UINT64_MAX: nothing is held. */
uint64_t naming_wait_ns(const struct naming *naming, uint64_t now_mono_ns);

/* What came of the questions so far. */
void naming_health(const struct naming *naming, struct health *health);

#endif
