/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_feed.c - samples against the table. Pure.
 *
 * feed_run() is the daemon's only work for an id that does nothing remarkable: it moved, it is idle as before, or it
 * has not moved but is not due. Everything else is another function's.
 *
 * Guarantees
 *   A. The loop of feed_run() reads samples and columns in order, calls nothing, and writes only of ids that moved.
 *   B. Samples that break the promise to ascend are matched to the wrong ids or ignored, and do no other harm.
 *   C. An id is marked TABLE_REMOVED at the latest when its ring ends without a sample of it.
 */
#include <errno.h>
#include <string.h>

#include "detect/detector_inside.h"
#include "util/array.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

void detector_emit(struct detector *detector, uint32_t ring, const struct table *table, size_t index,
                   enum detector_event_kind kind, uint64_t credit_ns)
{
    const uint32_t mark = table->marks[index];
    const struct history_scan *seen = &detector->history.scans[mark_stamp(mark)];

    detector->events[detector->event_count++] = (struct detector_event){
        .kind = kind,
        .ring = ring,
        .slot = table->slots[index],
        .generation = table->generations[index],
        .cause = mark_cause(mark),
        .progress = table->progress[index],
        .frozen_for_ns = credit_ns - seen->credit_ns,
        .moved_after_mono_ns = mark & MARK_NEVER_MOVED ? DETECTOR_UNKNOWN_NS : seen->previous_mono_ns,
    };
}

void detector_forget(struct detector *detector, uint32_t ring, const struct table *table, size_t index)
{
    const enum id_state state = mark_state(table->marks[index]);

    if (state == ID_STALLED)
        detector_emit(detector, ring, table, index, DETECTOR_GONE, detector->previous_credit_ns);
    detector->counts[state]--;
    detector->id_count--;
}

static bool is_dead(const struct detector *detector, uint16_t process)
{
    return process < detector->process_count && detector->dead[process];
}

static enum id_state state_of(const struct detector *detector, const struct rip_sample *sample)
{
    if (is_dead(detector, sample->process))
        return ID_DEAD;
    return sample->idle ? ID_IDLE : ID_RUNNING;
}

/* An id as of its first sight. */
static void set_new(struct detector *detector, struct table *table, size_t index, const struct rip_sample *sample)
{
    const enum id_state state = state_of(detector, sample);

    table->progress[index] = sample->progress;
    table->slots[index] = sample->slot;
    table->generations[index] = sample->generation;
    table->marks[index] = mark_make(detector->stamp, state, CAUSE_NONE) | MARK_NEVER_MOVED;
    table->rules[index] = detector_first_rule(detector);
    if (state == ID_RUNNING)
        detector_expect(detector, table->rules[index], detector->stamp);
    if (detector->config.rule_count)
        detector_offer(detector, sample->slot, sample->generation);
    detector->counts[state]++;
    detector->id_count++;
}

static int add_suspect(struct detector *detector, const struct table *table, size_t index,
                       const struct rip_sample *sample)
{
    const uint32_t mark = table->marks[index];
    const struct history_scan *seen = &detector->history.scans[mark_stamp(mark)];
    struct detector_suspect *suspects =
        array_reserve(detector->suspects, &detector->suspect_capacity, detector->suspect_count + 1, sizeof *suspects);

    if (!suspects)
        return -ENOMEM;
    detector->suspects = suspects;
    suspects[detector->suspect_count++] = (struct detector_suspect){
        .ring = detector->current->serial,
        .slot = sample->slot,
        .generation = sample->generation,
        .tid = sample->tid,
        .process = sample->process,
        .progress = sample->progress,
        .frozen_since_ns = seen->credit_ns,
        .frozen_for_ns = detector->credit_ns - seen->credit_ns,
        .frozen_for_max_ns = detector_frozen_max_ns(detector, mark),
        .threshold_ns = detector_threshold_ns(detector, table->rules[index]),
        .state = mark_state(mark),
        .cause = mark_cause(mark),
    };
    return 0;
}

/*
 * An id of a living process did not move: it is not due yet, or due on a late scan, or a suspect. Where its rule is
 * not known it is a suspect if any rule could make it one; detector_take_rules() knows more.
 */
static int watch(struct detector *detector, struct table *table, size_t index, const struct rip_sample *sample)
{
    const uint32_t stamp = mark_stamp(table->marks[index]);
    const enum id_state state = mark_state(table->marks[index]);
    const bool pending = table->rules[index] == TABLE_RULE_PENDING;
    const bool due = stamp < detector->levels[table->rules[index]].due_count;

    if (state == ID_STALLED && !due && !pending)
        detector_excuse(detector, detector->current->serial, table, index);
    else if (state == ID_RUNNING && !due)
        detector_expect(detector, table->rules[index], stamp);
    else if (state == ID_RUNNING && detector->late && !pending)
        detector->held_back = true;
    else {
        detector->undecided |= pending;
        return add_suspect(detector, table, index, sample);
    }
    return 0;
}

/* An id on the first scan, of which it is known that it was stalled before, and has not moved. */
static int take_up(struct detector *detector, struct table *table, size_t index, uint32_t mark,
                   const struct rip_sample *sample)
{
    detector_mark(detector, table, index, mark);
    return watch(detector, table, index, sample);
}

static int add_id(struct detector *detector, const struct rip_sample *sample)
{
    const struct table *table = &detector->current->table;
    struct table *added = &detector->added;
    uint32_t mark;

    if (detector->position && table->slots[detector->position - 1] >= sample->slot)
        return 0;
    if (added->count && added->slots[added->count - 1] >= sample->slot)
        return 0;
    if (table_reserve(added, added->count + 1) < 0)
        return -ENOMEM;
    set_new(detector, added, added->count++, sample);
    mark = detector->adopting ? detector_adopted_mark(detector, sample, state_of(detector, sample)) : 0;
    return mark ? take_up(detector, added, added->count - 1, mark, sample) : 0;
}

static int update(struct detector *detector, struct table *table, size_t index, const struct rip_sample *sample)
{
    const enum id_state state = state_of(detector, sample);
    const enum id_state before = mark_state(table->marks[index]);

    if (table->rules[index] == TABLE_RULE_PENDING)
        detector_offer(detector, sample->slot, sample->generation);
    if (state == ID_RUNNING && before != ID_IDLE && before != ID_DEAD && table->progress[index] == sample->progress)
        return watch(detector, table, index, sample);
    if (before == ID_STALLED)
        detector_emit(detector, detector->current->serial, table, index,
                      state == ID_DEAD ? DETECTOR_GONE : DETECTOR_MOVED, detector->previous_credit_ns);
    table->progress[index] = sample->progress;
    detector_mark(detector, table, index, mark_make(detector->stamp, state, CAUSE_NONE));
    if (state == ID_RUNNING)
        detector_expect(detector, table->rules[index], detector->stamp);
    return 0;
}

static void remove_id(struct detector *detector, struct table *table, size_t index)
{
    detector_forget(detector, detector->current->serial, table, index);
    table->marks[index] = TABLE_REMOVED;
    detector->removed_count++;
}

/* A sample of which something is remarkable, or may be. */
static __attribute__((noinline)) int feed_one(struct detector *detector, const struct rip_sample *sample)
{
    struct table *table = &detector->current->table;
    size_t index;

    while (detector->position < table->count && table->slots[detector->position] < sample->slot)
        remove_id(detector, table, detector->position++);
    if (detector->position == table->count || table->slots[detector->position] != sample->slot)
        return add_id(detector, sample);
    index = detector->position++;
    if (table->generations[index] == sample->generation)
        return update(detector, table, index, sample);
    detector_forget(detector, detector->current->serial, table, index);
    set_new(detector, table, index, sample);
    return 0;
}

/* How many samples meet ids of the same slots, one by one, from the present position on. */
static size_t matching_count(const struct detector *detector, const struct rip_sample *samples, size_t count)
{
    const struct table *table = &detector->current->table;
    const uint32_t *slots;
    size_t i = 0;

    if (count > table->count - detector->position)
        count = table->count - detector->position;
    if (count == 0)
        return 0;
    slots = table->slots + detector->position;
    /* Both ascend: with the same first and the same last as far from it as they can be near, all are the same. */
    if (slots[0] == samples[0].slot && slots[count - 1] == samples[count - 1].slot &&
        slots[count - 1] - slots[0] == count - 1)
        return count;
    while (i < count && slots[i] == samples[i].slot)
        i++;
    return i;
}

/* How many samples from the first on are of living processes. */
static size_t living_count(const struct detector *detector, const struct rip_sample *samples, size_t count)
{
    size_t i = detector->any_dead ? 0 : count;

    while (i < count && !is_dead(detector, samples[i].process))
        i++;
    return i;
}

/*
 * Takes samples that meet the ids at the present position, up to the first that is remarkable. Returns how many.
 * As before: running and not idle, or idle and idle. ID_RUNNING is 0 and ID_IDLE is 1, as sample->idle is.
 */
static __attribute__((noinline)) size_t feed_run(struct detector *detector, const struct rip_sample *samples,
                                                 size_t count)
{
    const struct table *table = &detector->current->table;
    uint64_t *progress = table->progress + detector->position;
    uint32_t *marks = table->marks + detector->position;
    const uint32_t *generations = table->generations + detector->position;
    const uint32_t now = mark_make(detector->stamp, ID_RUNNING, CAUSE_NONE);
    struct detector_level *level = &detector->levels[TABLE_RULE_NONE];
    const uint32_t due = mark_make(level->due_count, ID_RUNNING, CAUSE_NONE);
    uint32_t oldest = mark_make(level->oldest_stamp, ID_RUNNING, CAUSE_NONE);
    size_t i;

    for (i = 0; i < count; i++) {
        const struct rip_sample *sample = &samples[i];
        const uint32_t mark = marks[i];

        if (UNLIKELY((generations[i] ^ sample->generation) | (mark_state(mark) ^ sample->idle)))
            break;
        if (progress[i] != sample->progress) {
            progress[i] = sample->progress;
            marks[i] = now | sample->idle;
        } else if (!sample->idle) {
            if (UNLIKELY(mark < due))
                break;
            if (UNLIKELY(mark < oldest))
                oldest = mark;
        }
    }
    level->oldest_stamp = mark_stamp(oldest);
    detector->position += i;
    return i;
}

/* The same where there are rules: each id has a level of its own, and one whose rule is not known is remarkable. */
static __attribute__((noinline)) size_t feed_run_rules(struct detector *detector, const struct rip_sample *samples,
                                                       size_t count)
{
    const struct table *table = &detector->current->table;
    uint64_t *progress = table->progress + detector->position;
    uint32_t *marks = table->marks + detector->position;
    const uint32_t *generations = table->generations + detector->position;
    const uint8_t *rules = table->rules + detector->position;
    const uint32_t now = mark_make(detector->stamp, ID_RUNNING, CAUSE_NONE);
    size_t i;

    for (i = 0; i < count; i++) {
        const struct rip_sample *sample = &samples[i];
        struct detector_level *level = &detector->levels[rules[i]];
        uint32_t mark = marks[i];

        if (UNLIKELY((generations[i] ^ sample->generation) | (mark_state(mark) ^ sample->idle) |
                     (rules[i] == TABLE_RULE_PENDING)))
            break;
        if (progress[i] != sample->progress) {
            progress[i] = sample->progress;
            marks[i] = mark = now | sample->idle;
        } else if (!sample->idle && UNLIKELY(mark_stamp(mark) < level->due_count)) {
            break;
        }
        if (!sample->idle && mark_stamp(mark) < level->oldest_stamp)
            level->oldest_stamp = mark_stamp(mark);
    }
    detector->position += i;
    return i;
}

int detector_feed(struct detector *detector, const struct rip_sample *samples, size_t count)
{
    const size_t next_count = count; /* as far as can be told */
    const bool with_rules = detector->config.rule_count != 0;
    int result = 0;

    if (!detector->current)
        return -EINVAL;
    while (count) {
        size_t matching = matching_count(detector, samples, count), done = 0;

        while (done < matching) {
            const size_t living = living_count(detector, samples + done, matching - done);

            done += with_rules ? feed_run_rules(detector, samples + done, living)
                               : feed_run(detector, samples + done, living);
            if (done < matching && feed_one(detector, &samples[done++]) < 0)
                result = -ENOMEM;
        }
        if (done < count && feed_one(detector, &samples[done++]) < 0)
            result = -ENOMEM;
        samples += done;
        count -= done;
    }
    table_prefetch(&detector->current->table, detector->position, next_count, with_rules); /* for the next batch */
    return result;
}

/* Those that were added and cannot be kept for want of memory; they are new again on the next scan. */
static void drop_added(struct detector *detector)
{
    for (size_t i = 0; i < detector->added.count; i++)
        detector_forget(detector, detector->current->serial, &detector->added, i);
    detector->added.count = 0;
}

int detector_finish_ring(struct detector *detector)
{
    struct table *table;
    int result = 0;

    if (!detector->current)
        return 0;
    table = &detector->current->table;
    while (detector->position < table->count)
        remove_id(detector, table, detector->position++);
    if (detector->removed_count)
        table_compact(table);
    if (detector->added.count && table_merge(table, &detector->added) < 0) {
        drop_added(detector);
        result = -ENOMEM;
    }
    detector->current = NULL;
    detector->stamp = detector->scan_stamp;
    return result;
}
