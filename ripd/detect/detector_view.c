/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_view.c - what the detector knows, id by id, as of the last scan. Pure; changes nothing.
 *
 * Guarantees
 *   A. An idle id is frozen for no time at all, since now.
 */
#include <errno.h>

#include "detect/detector_inside.h"

static struct detector_id view_id(const struct detector *detector, const struct table *table, size_t index)
{
    const uint32_t mark = table->marks[index];
    const struct history_scan *seen = &detector->history.scans[mark_stamp(mark)];
    struct detector_id id = {
        .state = mark_state(mark),
        .cause = mark_cause(mark),
        .progress = table->progress[index],
        .frozen_since_ns = detector->credit_ns,
        .threshold_ns = detector_threshold_ns(detector, table->rules[index]),
    };

    if (id.state == ID_IDLE)
        return id;
    id.frozen_since_ns = seen->credit_ns;
    id.frozen_for_ns = detector->credit_ns - seen->credit_ns;
    id.frozen_for_max_ns = detector_frozen_max_ns(detector, mark);
    return id;
}

int detector_find(const struct detector *detector, uint32_t ring, uint32_t slot, uint32_t generation,
                  struct detector_id *ret_id)
{
    const struct detector_ring *found = detector_ring_of(detector, ring);
    size_t index;

    if (!found || !table_find(&found->table, slot, &index) || found->table.generations[index] != generation)
        return -ENOENT;
    *ret_id = view_id(detector, &found->table, index);
    return 0;
}

int detector_visit(const struct detector *detector, uint32_t ring,
                   int (*visit)(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id),
                   void *context)
{
    const struct detector_ring *found = detector_ring_of(detector, ring);
    int result = 0;

    for (size_t i = 0; found && i < found->table.count && result == 0; i++) {
        const struct detector_id id = view_id(detector, &found->table, i);

        result = visit(context, found->table.slots[i], found->table.generations[i], &id);
    }
    return result;
}
