/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - what the detector stores for the ids of one ring: seven columns, ordered by slot. Pure.
 *
 * A scan walks the table from front to back in parallel with the samples and changes it in place. The caller collects
 * new ids and merges them, and marks ids that are gone and compacts the table, both at the end of the ring.
 *
 * The table uses columns instead of rows because memory bandwidth limits a scan of a million ids. Where slots are
 * consecutive, comparing the first and last slot of a run is enough, and the slot column is not read.
 *
 * Guarantees
 *   A. An id takes 26 bytes. A scan reads 16 or 20 of them in sequence, two more if there are rules or ids with
 *      deadlines of their own, and four more for each id with a deadline.
 *   B. Slots ascend strictly, except between the first id marked TABLE_REMOVED and table_compact().
 *   C. After table_compact() the capacity is at most twice the count plus a small constant.
 */
#ifndef RIPD_DETECT_TABLE_H
#define RIPD_DETECT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/rules.h"
#include "detect/state.h"

/*
 * A mark is everything known about an id except its progress:
 *
 *   31        9 8     4      3        2     0
 *   +----------+-------+-------------+-------+
 *   |  stamp   | cause | never moved | state |
 *   +----------+-------+-------------+-------+
 *
 * stamp: the scan that first saw the present progress, or the id idle at that progress, or the id dead; see history.h.
 * The stamp is in the high bits so that marks compare like stamps. The mark of a running id that has moved is only its
 * stamp.
 *
 * An exited id has no cause: the field holds the cause of its previous state, or MARK_CAUSE_RAN. A dead id does not
 * need its progress: the progress column holds its previous mark, or TABLE_LAST_UNKNOWN.
 */
#define MARK_STATE_MASK 0x7u
#define MARK_NEVER_MOVED 0x8u /* the progress is the one of the first sample */
#define MARK_CAUSE_SHIFT 4
#define MARK_CAUSE_MASK 0x1fu
#define MARK_CAUSE_RAN MARK_CAUSE_MASK /* the id was running when it exited */
#define MARK_STAMP_SHIFT 9
#define MARK_REST_MASK 0x1ffu

#define TABLE_LAST_UNKNOWN UINT64_MAX /* the id was dead in its first sample */

#define TABLE_REMOVED MARK_STATE_MASK /* in place of a state: removed, until table_compact() */

_Static_assert(ID_STATE_COUNT <= TABLE_REMOVED, "a state does not fit a mark");
_Static_assert((int)CAUSE_AND_REASON_COUNT <= (int)MARK_CAUSE_RAN, "a cause or reason does not fit a mark");
_Static_assert(ID_RUNNING == 0 && CAUSE_NONE == 0, "a running id must be a bare stamp");

static inline uint32_t mark_make(uint32_t stamp, enum id_state state, enum id_cause cause)
{
    return stamp << MARK_STAMP_SHIFT | (uint32_t)cause << MARK_CAUSE_SHIFT | (uint32_t)state;
}

static inline uint32_t mark_stamp(uint32_t mark)
{
    return mark >> MARK_STAMP_SHIFT;
}

static inline enum id_state mark_state(uint32_t mark)
{
    return (enum id_state)(mark & MARK_STATE_MASK);
}

static inline enum id_cause mark_cause(uint32_t mark)
{
    return (enum id_cause)(mark >> MARK_CAUSE_SHIFT & MARK_CAUSE_MASK);
}

/* Which threshold applies to an id: 1 + the number of its rule, or one of these. */
#define TABLE_RULE_NONE 0u
#define TABLE_RULE_PENDING (RULES_MAX + 1u) /* not known yet */
#define TABLE_RULE_OWN (RULES_MAX + 2u)     /* no rule applies, the id has a deadline of its own */

_Static_assert(TABLE_RULE_OWN <= UINT8_MAX, "a rule does not fit a byte");

struct table {
    uint64_t *progress;
    uint32_t *slots;
    uint32_t *generations;
    uint32_t *marks;
    uint32_t *deadlines; /* in ms, set by the program; 0 = none. Kept current unless a rule applies */
    uint8_t *rules;
    uint8_t *name_versions; /* version of the name that the rule was found for */
    size_t count;
    size_t capacity;
};

#define TABLE_ID_BYTES (sizeof(uint64_t) + 4 * sizeof(uint32_t) + 2 * sizeof(uint8_t))

void table_done(struct table *table);

/* Makes room for count ids. Returns 0, or -ENOMEM: then the table is unchanged. */
int table_reserve(struct table *table, size_t count);

/* Returns the index of the first id at or after `from` with at least this slot. Fast if that is near `from`. */
size_t table_seek(const struct table *table, size_t from, uint32_t slot);

/* Prefetches what a scan will read of the `count` ids from `from` on. */
void table_prefetch(const struct table *table, size_t from, size_t count, bool with_rules);

/* Removes the ids marked TABLE_REMOVED, and frees unused memory. */
void table_compact(struct table *table);

/*
 * Moves all ids of added into table; their slots must not be in table. Returns 0, or -ENOMEM: then both are unchanged.
 */
int table_merge(struct table *table, struct table *added);

#endif
