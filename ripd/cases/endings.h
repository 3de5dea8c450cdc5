/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endings.h - what ids waited for when they ended: chains copied from the last wait graph that had them. Pure.
 *
 * Guarantees
 *   A. The newest chains of each user are kept, as many as WORK_CHAINS allows, each with at most WAITS_CHAIN_MAX
 *      members. A chain of another user is dropped for them only if that user has more.
 *   B. A chain does not change from its creation to the last unref. The reference count is atomic.
 */
#ifndef RIPD_CASES_ENDINGS_H
#define RIPD_CASES_ENDINGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/waits.h"
#include "detect/detector.h"
#include "util/reference.h"
#include "work/work.h"

/* As of the scan before the id ended. */
struct wait_chain {
    atomic_uint references;
    struct waits_chain chain;
    struct waits_node nodes[]; /* of its steps, with their own copies of the names, and without items */
};

REFERENCED(wait_chain);
void wait_chain_unref(struct wait_chain *chain); /* Both: NULL is allowed. */

struct endings;

struct endings *endings_new(struct work *work); /* Borrows work. Returns NULL if out of memory. */
void endings_free(struct endings *endings);

/* Stores the chains of ids that ended while stalled. waits is that of the scan before; NULL: nothing waited. */
void endings_note(struct endings *endings, const struct detector_update *update, const struct waits *waits);

/* Returns what that id waited for, or NULL if not known. Borrowed: no reference is taken. */
struct wait_chain *endings_find(const struct endings *endings, uint32_t ring, uint32_t slot, uint32_t generation);

#endif
