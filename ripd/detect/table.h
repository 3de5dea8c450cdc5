/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - what the detector remembers of the ids of one ring: seven columns in order of slot. Pure.
 *
 * A scan walks it from front to back beside the samples and changes it in place. The caller collects new ids and merges
 * them in, marks ids that are gone and squeezes them out, both at the end of the ring.
 *
 * Columns and not rows, because memory traffic limits a scan of a million ids: where slots follow one another without a
 * gap, the first and the last of a run prove it for all between, and the column of slots is not read.
 *
 * Guarantees
 *   A. An id takes 26 bytes, of which a scan reads 16 or 20 in sequence, and two more where there are rules or ids with
 *      deadlines of their own, and four more of those ids.
 *   B. Slots ascend strictly, except between the first ID marked TABLE_REMOVED and table_compact().
 *   C. The capacity is at most twice the count and a small constant, after each table_compact().
 */
#ifndef RIPD_DETECT_TABLE_H
#define RIPD_DETECT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/rules.h"
#include "detect/state.h"

/*
 * A mark is all that is known of an id besides its progress:
 *
 *   31        8 7     4      3        2     0
 *   +----------+-------+-------------+-------+
 *   |  stamp   | cause | never moved | state |
 *   +----------+-------+-------------+-------+
 *
 * stamp: the scan that first saw its progress, or an idle id idle with it, or a dead one dead; see history.h. The stamp
 * comes first so that marks compare as stamps do; a running id that has moved is its stamp and nothing else.
 *
 * An exited id has no cause: in its place is that of what it was last, or MARK_CAUSE_RAN. A dead id has no use for its
 * progress: the mark that it had last is in its place, or TABLE_LAST_UNKNOWN.
 */
#define MARK_STATE_MASK 0x7u
#define MARK_NEVER_MOVED 0x8u /* its progress is the one it had when it was first seen */
#define MARK_CAUSE_SHIFT 4
#define MARK_CAUSE_MASK 0xfu
#define MARK_CAUSE_RAN MARK_CAUSE_MASK /* in place of a cause: it was running, or judged idle, when it exited */
#define MARK_STAMP_SHIFT 8
#define MARK_REST_MASK 0xffu

#define TABLE_LAST_UNKNOWN UINT64_MAX /* it was dead when it was first seen */

#define TABLE_REMOVED MARK_STATE_MASK /* in place of a state: gone, to be squeezed out by table_compact() */

_Static_assert(ID_STATE_COUNT <= TABLE_REMOVED, "a state does not fit a mark");
_Static_assert((int)CAUSE_DECLARED <= (int)MARK_CAUSE_RAN, "a cause, or a reason that is judged, does not fit a mark");
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

/* Which rule's threshold applies to an id: its number and 1, or one of these. */
#define TABLE_RULE_NONE 0u
#define TABLE_RULE_PENDING (RULES_MAX + 1u) /* to be found out */
#define TABLE_RULE_OWN (RULES_MAX + 2u)     /* no rule's, but the deadline that the id has of its own */

_Static_assert(TABLE_RULE_OWN <= UINT8_MAX, "a rule does not fit a byte");

struct table {
    uint64_t *progress;
    uint32_t *slots;
    uint32_t *generations;
    uint32_t *marks;
    uint32_t *deadlines; /* ms, of the ids' own; 0 = none. Kept up of those that no rule applies to */
    uint8_t *rules;
    uint8_t *name_versions; /* its rule is that of the name it had then */
    size_t count;
    size_t capacity;
};

#define TABLE_ID_BYTES (sizeof(uint64_t) + 4 * sizeof(uint32_t) + 2 * sizeof(uint8_t))

void table_done(struct table *table);

/* Room for count ids. -ENOMEM: table is as it was. */
int table_reserve(struct table *table, size_t count);

/* Index of the first id at or behind `from` whose slot is not below slot; fast where that is near `from`. */
size_t table_seek(const struct table *table, size_t from, uint32_t slot);

/* Has the processor fetch what a scan will read of the `count` ids from `from` on. */
void table_prefetch(const struct table *table, size_t from, size_t count, bool with_rules);

/* Squeezes out the ids marked TABLE_REMOVED, and gives memory back. */
void table_compact(struct table *table);

/* Takes in all of added, whose slots are not in table; added is empty afterwards. -ENOMEM: both are as they were. */
int table_merge(struct table *table, struct table *added);

#endif
