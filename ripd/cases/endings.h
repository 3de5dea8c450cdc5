/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endings.h - on whom ids waited when they ended: chains copied out of the last graph of waits that had them. Pure.
 *
 * Guarantees
 *   A. The newest ENDINGS_MAX chains are kept, of WAITS_CHAIN_MAX members each at most.
 *   B. A chain is constant from the moment it is made to the last unref; the count of references is atomic.
 */
#ifndef RIPD_CASES_ENDINGS_H
#define RIPD_CASES_ENDINGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/waits.h"
#include "detect/detector.h"
#include "util/reference.h"

#define ENDINGS_MAX 1024u

/* As of the scan before the end. */
struct wait_chain {
    atomic_uint references;
    struct waits_chain chain;
    struct waits_node nodes[]; /* of its steps; with names of their own, and without items */
};

REFERENCED(wait_chain);
void wait_chain_unref(struct wait_chain *chain); /* both: NULL is allowed */

struct endings;

struct endings *endings_new(void); /* NULL: no memory */
void endings_free(struct endings *endings);

/* Takes in the ids that a scan saw end while they were stalled. waits: of the scan before; NULL = there were none. */
void endings_note(struct endings *endings, const struct detector_update *update, const struct waits *waits);

/* On whom that id waited; not a new reference. NULL: on nobody that is known. */
struct wait_chain *endings_find(const struct endings *endings, uint32_t ring, uint32_t slot, uint32_t generation);

#endif
