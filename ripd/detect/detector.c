/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector.c - compares samples with what is known of each id. Pure.
 *
 * The detector has its own clock, the credit: each scan adds the gap since the previous scan, but at most one interval.
 * An id is frozen since the scan that first saw its present progress. It is due when the credit has grown by its
 * threshold since then. So nothing that keeps the daemon from scanning (a stopped daemon, a suspended host, a busy
 * host) ages an id by more than one interval.
 *
 * Each rule is a level, and so is "no rule". A level knows which stamps are due on this scan, so an id costs one
 * comparison whatever its threshold. Unclassified ids are a level, too, with the shortest of all thresholds. An
 * unclassified id below it cannot be a suspect under any rule. One beyond it is a suspect until its rule is known.
 *
 * An id without a matching rule may have a deadline of its own, given by its samples. Programs choose deadlines freely,
 * so there is no level for them: each such id is compared separately, outside of the fast loop.
 *
 * An adopted stall is in the table before the first scan, as if a scan had left it there. Its history record has the
 * time since which it is frozen.
 *
 * Guarantees, in addition to those of detector.h
 *   H. The event for the end of a stall is never lost, even if out of memory. A stall begins only when there is
 *      room for both of its events; otherwise it begins on a later scan.
 *   I. If out of memory, a scan still updates every id that is already known.
 *   J. The loop of feed_run() reads samples and columns in order, calls nothing, and writes only to ids that moved.
 *   K. Samples that do not ascend are matched to wrong ids or ignored, and do no other harm.
 *   L. Without rules, rules cost nothing per id, except in detector_configure(). If no id of a ring has a deadline of
 *      its own, deadlines cost one look at each sample.
 *   M. A change of thresholds keeps the time since which an id is frozen.
 *   N. The time for which an id was stopped does not count: afterwards it runs, and its time starts again at zero.
 */
#include "detect/detector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect/history.h"
#include "detect/table.h"
#include "util/array.h"
#include "util/search.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* After a late scan, the next scan comes after this part of the interval. */
#define RECHECK_DIVISOR 4u

/* An id outside of all calls is a suspect from this part of its threshold on (struct detector_suspect). */
#define EARLY_DIVISOR 4u

#define NO_STAMP HISTORY_STAMP_MAX /* no scan has this stamp */
#define NS_PER_MS UINT64_C(1000000)

_Static_assert(HISTORY_STAMP_MAX == UINT32_MAX >> MARK_STAMP_SHIFT, "a stamp does not fit a mark");

/* A threshold, and the ids that it applies to. */
struct level {
    uint64_t threshold_ns;
    uint32_t due_count;    /* stamps below are frozen for the threshold */
    uint32_t early_count;  /* stamps below are frozen for 1/EARLY_DIVISOR of it */
    uint32_t oldest_stamp; /* of the running ids that are not due yet, or NO_STAMP */
};

/* Indexed by the table's rules column: no rule, each rule, unclassified. */
#define LEVEL_COUNT (TABLE_RULE_PENDING + 1u)

struct ring_ids {
    uint32_t serial;
    bool seen;             /* named in this scan */
    uint32_t stamp;        /* for ids that moved: their times begin at the previous reading of this ring */
    uint64_t read_mono_ns; /* when the ring was last read, on both clocks */
    uint64_t read_credit_ns;
    uint64_t previous_credit_ns;     /* when it was read before that */
    uint32_t counts[ID_STATE_COUNT]; /* ids by state */
    bool had_deadlines;              /* at the previous reading, some id had the threshold of its own deadline */
    bool has_deadlines;              /* the same, for this reading so far */
    struct table table;
};

struct detector {
    struct detector_config config;
    uint64_t gap_interval_ns; /* the next gap is compared with this: the larger interval after a change */

    struct history history;
    uint64_t now_mono_ns;
    uint64_t credit_ns;
    bool started;
    bool late;
    uint64_t late_count;
    uint32_t stamp; /* of this scan */
    struct level levels[LEVEL_COUNT];
    uint64_t deadline_wait_ns; /* until the first id is due by its own deadline, or UINT64_MAX */
    bool held_back;            /* an id would be a suspect if the scan were not late */

    struct ring_ids *rings; /* ascending by serial */
    size_t ring_count;
    size_t ring_capacity;
    size_t ring_next;         /* start of the search for the next ring */
    struct ring_ids *current; /* the ring being fed, or NULL */
    const uint8_t *conditions;
    size_t process_count;
    bool any_condition;   /* some process of the current ring is dead, stuck or stopped */
    size_t position;      /* in the table of the current ring */
    size_t removed_count; /* ids of the current ring marked TABLE_REMOVED */
    struct table added;   /* new ids of the current ring */

    struct detector_unclassified *unclassified;
    size_t unclassified_count;
    size_t unclassified_capacity;
    uint64_t still_unclassified_count; /* unclassified ids without an answer, or lost if out of memory */
    bool undecided;                    /* some suspect is unclassified */

    struct detector_suspect *suspects;
    size_t suspect_count;
    size_t suspect_capacity;

    struct detector_event *events; /* always has room for one event per stalled id */
    size_t event_count;
    size_t event_capacity;

    uint64_t counts[ID_STATE_COUNT];
    uint64_t halted_counts[CAUSE_COUNT]; /* of this scan: idle ids of stopped processes */
    uint64_t id_count;
};

/* Thresholds ------------------------------------------------------------------------------------------------------- */

static void set_levels(struct detector *detector)
{
    const struct detector_config *config = &detector->config;
    uint64_t shortest = config->stall_after_ns;

    if (config->rule_count > RULES_MAX)
        detector->config.rule_count = RULES_MAX;
    for (size_t i = 0; i < LEVEL_COUNT; i++)
        detector->levels[i] = (struct level){.oldest_stamp = NO_STAMP};
    detector->levels[TABLE_RULE_NONE].threshold_ns = config->stall_after_ns;
    for (size_t i = 0; i < config->rule_count; i++) {
        detector->levels[i + 1].threshold_ns = config->rule_thresholds_ns[i];
        if (config->rule_thresholds_ns[i] < shortest)
            shortest = config->rule_thresholds_ns[i];
    }
    detector->levels[TABLE_RULE_PENDING].threshold_ns = shortest;
}

/* Returns the level of an id whose rule is not known yet. */
static uint8_t initial_rule(const struct detector *detector)
{
    return detector->config.rule_count ? TABLE_RULE_PENDING : TABLE_RULE_NONE;
}

/* No rule applies to the id: uses the id's own deadline if there is one. */
static void apply_deadline(struct ring_ids *ring, struct table *table, size_t index)
{
    const bool is_own = table->deadlines[index] != 0;

    table->rules[index] = is_own ? TABLE_RULE_OWN : TABLE_RULE_NONE;
    ring->has_deadlines |= is_own;
}

void detector_configure(struct detector *detector, const struct detector_config *config)
{
    if (detector->gap_interval_ns < config->interval_ns)
        detector->gap_interval_ns = config->interval_ns;
    detector->config = *config;
    set_levels(detector);
    for (size_t i = 0; i < detector->ring_count; i++) {
        struct ring_ids *ring = &detector->rings[i];

        for (size_t j = 0; j < ring->table.count; j++) {
            ring->table.rules[j] = initial_rule(detector);
            if (config->rule_count == 0)
                apply_deadline(ring, &ring->table, j);
        }
    }
}

/* Returns the first stamp that has not been frozen for frozen_ns; all lower stamps have. */
static uint32_t stamps_frozen_for(const struct detector *detector, uint64_t frozen_ns)
{
    return detector->credit_ns >= frozen_ns ? history_count_until(&detector->history, detector->credit_ns - frozen_ns)
                                            : 0;
}

static void begin_level(struct detector *detector, struct level *level)
{
    level->oldest_stamp = NO_STAMP;
    level->due_count = stamps_frozen_for(detector, level->threshold_ns);
    level->early_count = stamps_frozen_for(detector, level->threshold_ns / EARLY_DIVISOR);
}

static uint64_t deadline_ns(const struct table *table, size_t index)
{
    return table->deadlines[index] * NS_PER_MS;
}

/* Returns how long the id is frozen, on the detector's clock. */
static uint64_t frozen_ns(const struct detector *detector, const struct table *table, size_t index)
{
    return detector->credit_ns - detector->history.scans[mark_stamp(table->marks[index])].credit_ns;
}

/*
 * Whether the id is frozen beyond its threshold or, with early, beyond 1/EARLY_DIVISOR of it. An unclassified id must
 * be beyond the shortest threshold, or its own deadline.
 */
static bool is_beyond(const struct detector *detector, const struct table *table, size_t index, bool early)
{
    const uint8_t rule = table->rules[index];

    if (rule != TABLE_RULE_OWN && mark_stamp(table->marks[index]) <
                                      (early ? detector->levels[rule].early_count : detector->levels[rule].due_count))
        return true;
    return (rule == TABLE_RULE_OWN || rule == TABLE_RULE_PENDING) && table->deadlines[index] != 0 &&
           frozen_ns(detector, table, index) >= deadline_ns(table, index) / (early ? EARLY_DIVISOR : 1);
}

static bool is_due(const struct detector *detector, const struct table *table, size_t index)
{
    return is_beyond(detector, table, index, false);
}

/* Whether the id is running, outside of all calls, and beyond the early part of its threshold. */
static bool is_early(const struct detector *detector, const struct table *table, size_t index, uint8_t call)
{
    return detector_is_outside(call) && mark_state(table->marks[index]) == ID_RUNNING &&
           is_beyond(detector, table, index, true);
}

/* The id is running and not due: takes it into account for detector_next_due(). */
static void expect_due(struct detector *detector, const struct table *table, size_t index)
{
    const uint8_t rule = table->rules[index];
    const uint32_t stamp = mark_stamp(table->marks[index]);

    if (rule == TABLE_RULE_OWN) {
        const uint64_t wait_ns = deadline_ns(table, index) - frozen_ns(detector, table, index);

        detector->deadline_wait_ns = wait_ns < detector->deadline_wait_ns ? wait_ns : detector->deadline_wait_ns;
    } else if (stamp < detector->levels[rule].oldest_stamp) {
        detector->levels[rule].oldest_stamp = stamp;
    }
}

static void expect_due_if_running(struct detector *detector, const struct table *table, size_t index)
{
    if (mark_state(table->marks[index]) == ID_RUNNING)
        expect_due(detector, table, index);
}

/* Returns the time until the first id of the level is due. */
static uint64_t level_wait(const struct detector *detector, const struct level *level)
{
    if (level->oldest_stamp == NO_STAMP)
        return UINT64_MAX;
    return level->threshold_ns - (detector->credit_ns - detector->history.scans[level->oldest_stamp].credit_ns);
}

uint64_t detector_next_due(const struct detector *detector)
{
    const uint64_t recheck = detector->config.interval_ns / RECHECK_DIVISOR;
    uint64_t wait = detector->deadline_wait_ns;

    if (detector->config.rule_count == 0 && detector->counts[ID_RUNNING] && detector->config.stall_after_ns < wait)
        wait = detector->config.stall_after_ns; /* of ids that are new or moved on this scan */
    for (size_t i = 0; i <= detector->config.rule_count; i++) {
        const uint64_t level = level_wait(detector, &detector->levels[i]);

        wait = level < wait ? level : wait;
    }
    if (detector->held_back || (detector->late && wait < recheck))
        wait = recheck;
    return wait > UINT64_MAX - detector->now_mono_ns ? UINT64_MAX : detector->now_mono_ns + wait;
}

/* Ids -------------------------------------------------------------------------------------------------------------- */

static uint64_t threshold_ns(const struct detector *detector, const struct table *table, size_t index)
{
    const uint8_t rule = table->rules[index];

    if (rule == TABLE_RULE_PENDING)
        return DETECTOR_UNKNOWN_NS;
    return rule == TABLE_RULE_OWN ? deadline_ns(table, index) : detector->levels[rule].threshold_ns;
}

/* Returns the verdict that a mark stands for. For an exited id: the verdict before it exited. */
static struct verdict verdict_at(uint32_t mark)
{
    const enum id_cause cause = mark_cause(mark);

    if (mark_state(mark) != ID_EXITED)
        return (struct verdict){mark_state(mark), cause};
    if (cause == MARK_CAUSE_RAN)
        return (struct verdict){ID_RUNNING, CAUSE_NONE};
    if (id_cause_idles(cause))
        return (struct verdict){ID_IDLE, cause};
    return (struct verdict){id_cause_stops(cause) ? ID_STOPPED : ID_STALLED, cause};
}

/* For an id that exited or died: fills in what it was before. */
static void set_last(const struct detector *detector, const struct table *table, size_t index, struct detector_id *id)
{
    const struct history_scan *scans = detector->history.scans;
    uint64_t last = table->marks[index];

    id->has_last = true;
    id->last_for_ns = id->frozen_for_ns;
    if (id->state == ID_DEAD) {
        last = id->progress;
        id->progress = 0;
        id->has_last = last != TABLE_LAST_UNKNOWN;
        id->last_for_ns = id->has_last ? id->frozen_since_ns - scans[mark_stamp((uint32_t)last)].credit_ns : 0;
    }
    if (id->has_last)
        id->last = verdict_at((uint32_t)last);
}

/* Describes the id as of the last reading of its ring. */
static struct detector_id id_at(const struct detector *detector, const struct ring_ids *ring, const struct table *table,
                                size_t index)
{
    const uint32_t mark = table->marks[index];
    const struct history_scan *seen = &detector->history.scans[mark_stamp(mark)];
    struct detector_id id = {
        .state = mark_state(mark),
        .cause = mark_state(mark) != ID_EXITED ? mark_cause(mark) : CAUSE_NONE,
        .progress = table->progress[index],
        .frozen_since_ns = seen->credit_ns,
        .frozen_for_ns = ring->read_credit_ns - seen->credit_ns,
        .frozen_for_max_ns =
            mark & MARK_NEVER_MOVED ? DETECTOR_UNKNOWN_NS : ring->read_mono_ns - seen->previous_mono_ns,
        .read_ago_ns = detector->now_mono_ns - ring->read_mono_ns,
        .threshold_ns = threshold_ns(detector, table, index),
    };

    if (id.state == ID_EXITED || id.state == ID_DEAD)
        set_last(detector, table, index, &id);
    return id;
}

static void count_in(struct detector *detector, struct ring_ids *ring, enum id_state state)
{
    detector->counts[state]++;
    ring->counts[state]++;
}

static void count_out(struct detector *detector, struct ring_ids *ring, enum id_state state)
{
    detector->counts[state]--;
    ring->counts[state]--;
}

static void set_mark(struct detector *detector, struct ring_ids *ring, struct table *table, size_t index, uint32_t mark)
{
    count_out(detector, ring, mark_state(table->marks[index]));
    count_in(detector, ring, mark_state(mark));
    table->marks[index] = mark;
}

/*
 * Makes room for one event now, plus one for each stalled id: any of their rings may be dropped on this scan. The next
 * scan needs one per stalled id, too.
 */
static bool reserve_events(struct detector *detector)
{
    const size_t open = detector->counts[ID_STALLED] + 1;

    return ARRAY_RESERVE(detector->events, detector->event_capacity, detector->event_count + 1 + open);
}

/* Adds an event with the cause of the stall and its length at credit_ns. */
static void add_event(struct detector *detector, const struct ring_ids *ring, const struct table *table, size_t index,
                      enum detector_event_kind kind, uint64_t credit_ns)
{
    const uint32_t mark = table->marks[index];
    const struct history_scan *seen = &detector->history.scans[mark_stamp(mark)];

    detector->events[detector->event_count++] = (struct detector_event){
        .kind = kind,
        .ring = ring->serial,
        .slot = table->slots[index],
        .generation = table->generations[index],
        .cause = mark_cause(mark),
        .progress = table->progress[index],
        .frozen_for_ns = credit_ns - seen->credit_ns,
        .moved_after_mono_ns = mark & MARK_NEVER_MOVED ? DETECTOR_UNKNOWN_NS : seen->previous_mono_ns,
    };
}

/* The id is gone; it was last observed at credit_ns. */
static void forget(struct detector *detector, struct ring_ids *ring, const struct table *table, size_t index,
                   uint64_t credit_ns)
{
    const enum id_state state = mark_state(table->marks[index]);

    if (state == ID_STALLED)
        add_event(detector, ring, table, index, DETECTOR_GONE, credit_ns);
    count_out(detector, ring, state);
    detector->id_count--;
}

/* A stalled id is below its new threshold: it is running again and keeps its stamp. */
static void excuse_stall(struct detector *detector, struct ring_ids *ring, struct table *table, size_t index)
{
    const uint32_t mark = table->marks[index];

    add_event(detector, ring, table, index, DETECTOR_EXCUSED, detector->credit_ns);
    set_mark(detector, ring, table, index,
             mark_make(mark_stamp(mark), ID_RUNNING, CAUSE_NONE) | (mark & MARK_NEVER_MOVED));
    expect_due(detector, table, index);
}

/* Idle by a verdict, not by the id's own declaration. */
static bool is_judged_idle(const struct table *table, size_t index)
{
    return mark_state(table->marks[index]) == ID_IDLE && mark_cause(table->marks[index]) != CAUSE_NONE;
}

/* Copies the state of an id into its suspect. */
static void update_suspect(struct detector_suspect *suspect, const struct detector_id id)
{
    suspect->progress = id.progress;
    suspect->frozen_since_ns = id.frozen_since_ns;
    suspect->frozen_for_ns = id.frozen_for_ns;
    suspect->frozen_for_max_ns = id.frozen_for_max_ns;
    suspect->read_ago_ns = id.read_ago_ns;
    suspect->threshold_ns = id.threshold_ns;
    suspect->state = id.state;
    suspect->cause = id.cause;
}

/* sample is NULL if the ring was not read. */
static int add_suspect(struct detector *detector, const struct ring_ids *ring, const struct table *table, size_t index,
                       const struct rip_sample *sample)
{
    if (!ARRAY_GROW(detector->suspects, detector->suspect_count, detector->suspect_capacity))
        return -ENOMEM;
    detector->suspects[detector->suspect_count] = (struct detector_suspect){
        .ring = ring->serial,
        .slot = table->slots[index],
        .generation = table->generations[index],
        .tid = sample ? sample->tid : 0,
        .process = sample ? sample->process : UINT16_MAX,
        .call = sample ? sample->call : RIP_CALL_NONE,
        .name_version = sample ? sample->name_version : 0,
        .unread = !sample,
    };
    update_suspect(&detector->suspects[detector->suspect_count++], id_at(detector, ring, table, index));
    return 0;
}

/* Samples ---------------------------------------------------------------------------------------------------------- */

static uint8_t condition_of(const struct detector *detector, uint16_t process)
{
    return process < detector->process_count ? detector->conditions[process] : DETECTOR_LIVES;
}

/* Returns the state of an id as its sample alone shows it. The cause is that of a stop. */
static struct verdict sampled_state(const struct detector *detector, const struct rip_sample *sample)
{
    const uint8_t condition = condition_of(detector, sample->process);

    if (condition == DETECTOR_DEAD)
        return (struct verdict){ID_DEAD, CAUSE_NONE};
    if (!sample->idle || (condition == DETECTOR_STUCK && sample->call == RIP_CALL_PRIVATE))
        return (struct verdict){ID_RUNNING, CAUSE_NONE};
    if (condition != DETECTOR_LIVES && condition != DETECTOR_STUCK)
        return (struct verdict){ID_STOPPED, (enum id_cause)condition};
    return (struct verdict){ID_IDLE, CAUSE_NONE};
}

/* Asks the caller for the rule of an id. If out of memory, the id is offered again on the next scan. */
static void ask_rule(struct detector *detector, const struct rip_sample *sample)
{
    if (!ARRAY_GROW(detector->unclassified, detector->unclassified_count, detector->unclassified_capacity)) {
        detector->still_unclassified_count++;
        return;
    }
    detector->unclassified[detector->unclassified_count++] = (struct detector_unclassified){
        .ring = detector->current->serial,
        .slot = sample->slot,
        .generation = sample->generation,
        .rule = DETECTOR_RULE_UNKNOWN,
    };
}

/* Takes the deadline of the sample, unless a rule applies to the id. */
static void update_deadline(struct detector *detector, struct table *table, size_t index,
                            const struct rip_sample *sample)
{
    const uint8_t rule = table->rules[index];

    if (rule == TABLE_RULE_NONE || rule >= TABLE_RULE_PENDING)
        table->deadlines[index] = sample->deadline_ms;
    if (rule == TABLE_RULE_NONE || rule == TABLE_RULE_OWN)
        apply_deadline(detector->current, table, index);
}

/* Stores an id at its first sample. If it is running, the caller must call expect_due_if_running(). */
static void set_new_id(struct detector *detector, struct table *table, size_t index, const struct rip_sample *sample)
{
    const struct verdict sampled = sampled_state(detector, sample);
    const enum id_state state = sampled.state;
    const uint32_t stamp = detector->current->stamp;

    table->progress[index] = state == ID_DEAD ? TABLE_LAST_UNKNOWN : sample->progress;
    table->slots[index] = sample->slot;
    table->generations[index] = sample->generation;
    table->marks[index] = mark_make(stamp, state, sampled.cause) | MARK_NEVER_MOVED;
    detector->halted_counts[sampled.cause] += state == ID_STOPPED;
    table->rules[index] = initial_rule(detector);
    table->name_versions[index] = sample->name_version;
    update_deadline(detector, table, index, sample);
    if (detector->config.rule_count)
        ask_rule(detector, sample);
    count_in(detector, detector->current, state);
    detector->id_count++;
}

/*
 * Handles an id of a living process that did not move. The id becomes a suspect if it is early, or if it is due and the
 * scan is not late, or if it is not running. An unclassified id becomes a suspect if any rule could make it one;
 * detector_suspects() decides when more rules are known.
 */
static int handle_unmoved(struct detector *detector, struct table *table, size_t index, const struct rip_sample *sample)
{
    const enum id_state state = mark_state(table->marks[index]);
    const bool pending = table->rules[index] == TABLE_RULE_PENDING;
    const bool due = is_due(detector, table, index);
    bool seen = is_early(detector, table, index, sample->call);

    if (state == ID_STALLED && !due && !pending) {
        excuse_stall(detector, detector->current, table, index);
        return 0;
    }
    if (state == ID_RUNNING && !due)
        expect_due(detector, table, index);
    else if (state == ID_RUNNING && detector->late && !pending)
        detector->held_back = true;
    else
        seen = true;
    if (!seen)
        return 0;
    detector->undecided |= pending;
    return add_suspect(detector, detector->current, table, index, sample);
}

static int add_new_id(struct detector *detector, const struct rip_sample *sample)
{
    const struct table *table = &detector->current->table;
    struct table *added = &detector->added;

    if (detector->position && table->slots[detector->position - 1] >= sample->slot)
        return 0;
    if (added->count && added->slots[added->count - 1] >= sample->slot)
        return 0;
    if (table_reserve(added, added->count + 1) < 0)
        return -ENOMEM;
    set_new_id(detector, added, added->count++, sample);
    expect_due_if_running(detector, added, added->count - 1);
    return 0;
}

/* Returns the new mark of an id that moved or changed its state. An id that keeps waiting keeps its stamp. */
static uint32_t changed_mark(const struct detector *detector, uint32_t before, bool moved, struct verdict sampled)
{
    const bool waited = mark_state(before) == ID_IDLE || mark_state(before) == ID_STOPPED;
    const bool waits_on = sampled.state == ID_STOPPED || (sampled.state == ID_IDLE && mark_state(before) == ID_IDLE);

    if (!moved && waited && waits_on)
        return mark_make(mark_stamp(before), sampled.state, sampled.cause) | (before & MARK_NEVER_MOVED);
    return mark_make(detector->current->stamp, sampled.state, sampled.cause);
}

static int update_id(struct detector *detector, struct table *table, size_t index, const struct rip_sample *sample)
{
    struct ring_ids *ring = detector->current;
    const struct verdict sampled = sampled_state(detector, sample);
    const uint32_t mark = table->marks[index];
    const enum id_state before = mark_state(mark);
    const bool declared = before == ID_IDLE && mark_cause(mark) == CAUSE_NONE;
    const bool moved = table->progress[index] != sample->progress;

    if (table->name_versions[index] != sample->name_version) {
        table->name_versions[index] = sample->name_version;
        table->rules[index] = initial_rule(detector);
    }
    update_deadline(detector, table, index, sample);
    if (table->rules[index] == TABLE_RULE_PENDING)
        ask_rule(detector, sample);
    if (sampled.state == ID_RUNNING && !declared && before != ID_DEAD && !moved)
        return handle_unmoved(detector, table, index, sample);
    detector->halted_counts[sampled.cause] += sampled.state == ID_STOPPED;
    if (sampled.state == before && (before == ID_DEAD || (!moved && mark_cause(mark) == sampled.cause)))
        return 0; /* dead, idle or stopped as before */
    if (before == ID_STALLED)
        add_event(detector, ring, table, index, sampled.state == ID_DEAD ? DETECTOR_GONE : DETECTOR_MOVED,
                  ring->previous_credit_ns);
    table->progress[index] = sampled.state == ID_DEAD ? mark : sample->progress;
    set_mark(detector, ring, table, index, changed_mark(detector, mark, moved, sampled));
    expect_due_if_running(detector, table, index);
    return 0;
}

/* The id at the present position has no sample any more. */
static void remove_id(struct detector *detector, struct table *table)
{
    const size_t index = detector->position++;

    forget(detector, detector->current, table, index, detector->current->previous_credit_ns);
    table->marks[index] = TABLE_REMOVED;
    detector->removed_count++;
}

/* Handles a sample that the fast loop does not. */
static __attribute__((noinline)) int feed_one(struct detector *detector, const struct rip_sample *sample)
{
    struct table *table = &detector->current->table;
    size_t index;

    while (detector->position < table->count && table->slots[detector->position] < sample->slot)
        remove_id(detector, table);
    if (detector->position == table->count || table->slots[detector->position] != sample->slot)
        return add_new_id(detector, sample);
    index = detector->position++;
    if (table->generations[index] == sample->generation)
        return update_id(detector, table, index, sample);
    forget(detector, detector->current, table, index, detector->current->previous_credit_ns);
    set_new_id(detector, table, index, sample);
    expect_due_if_running(detector, table, index);
    return 0;
}

/* Returns how many samples, from the present position on, match the slots of known ids one by one. */
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
    /* Both ascend strictly: if first and last slots match and there is no gap in between, all match. */
    if (slots[0] == samples[0].slot && slots[count - 1] == samples[count - 1].slot &&
        slots[count - 1] - slots[0] == count - 1)
        return count;
    while (i < count && slots[i] == samples[i].slot)
        i++;
    return i;
}

/* Returns how many samples, from the first on, belong to processes in state DETECTOR_LIVES. */
static size_t living_count(const struct detector *detector, const struct rip_sample *samples, size_t count)
{
    size_t i = detector->any_condition ? 0 : count;

    while (i < count && condition_of(detector, samples[i].process) == DETECTOR_LIVES)
        i++;
    return i;
}

/*
 * The fast loop, for an ordinary id: it moved, it is idle as before, or it has not moved and is not due; its rule is
 * known, and it has no deadline of its own. Takes samples, which must match the ids at the present position, up to the
 * first that is not ordinary. Returns how many it took. The loop relies on ID_RUNNING being 0 and ID_IDLE being 1, like
 * sample->idle.
 *
 * Compiled twice: without rules there is one level, which stays in registers, and the column of rules is not read.
 */
static inline __attribute__((always_inline)) size_t
feed_run(struct detector *detector, const struct rip_sample *samples, size_t count, const bool with_rules)
{
    const struct table *table = &detector->current->table;
    uint64_t *progress = table->progress + detector->position;
    uint32_t *marks = table->marks + detector->position;
    const uint32_t *generations = table->generations + detector->position;
    const uint8_t *rules = table->rules + detector->position;
    const uint8_t *name_versions = table->name_versions + detector->position;
    const uint32_t now = mark_make(detector->current->stamp, ID_RUNNING, CAUSE_NONE);
    struct level only = detector->levels[TABLE_RULE_NONE];
    size_t i;

    for (i = 0; i < count; i++) {
        const struct rip_sample *sample = &samples[i];
        const uint8_t rule = with_rules ? rules[i] : TABLE_RULE_NONE;
        struct level *level = with_rules ? &detector->levels[rule] : &only;
        uint32_t mark = marks[i];

        if (UNLIKELY((generations[i] ^ sample->generation) | (mark_state(mark) ^ sample->idle) |
                     (with_rules ? name_versions[i] ^ sample->name_version : 0) | (rule >= TABLE_RULE_PENDING) |
                     (rule == TABLE_RULE_NONE ? sample->deadline_ms : 0)))
            break;
        if (progress[i] != sample->progress) {
            progress[i] = sample->progress;
            marks[i] = mark = now | sample->idle;
            if (!with_rules)
                continue; /* detector_next_due() covers the ids that moved */
        } else if (!sample->idle &&
                   UNLIKELY(mark_stamp(mark) < level->early_count &&
                            (mark_stamp(mark) < level->due_count || detector_is_outside(sample->call)))) {
            break;
        }
        if (!sample->idle && mark_stamp(mark) < level->oldest_stamp)
            level->oldest_stamp = mark_stamp(mark);
    }
    if (!with_rules)
        detector->levels[TABLE_RULE_NONE] = only;
    detector->position += i;
    return i;
}

static __attribute__((noinline)) size_t feed_run_plain(struct detector *detector, const struct rip_sample *samples,
                                                       size_t count)
{
    return feed_run(detector, samples, count, false);
}

static __attribute__((noinline)) size_t feed_run_rules(struct detector *detector, const struct rip_sample *samples,
                                                       size_t count)
{
    return feed_run(detector, samples, count, true);
}

int detector_feed(struct detector *detector, const struct rip_sample *samples, size_t count)
{
    const size_t next_count = count; /* guess: the next batch is as large as this one */
    bool with_rules;
    int result = 0;

    if (!detector->current)
        return -EINVAL;
    with_rules = detector->config.rule_count != 0 || detector->current->had_deadlines;
    while (count) {
        size_t matching = matching_count(detector, samples, count), done = 0;

        while (done < matching) {
            const size_t living = living_count(detector, samples + done, matching - done);

            done += with_rules ? feed_run_rules(detector, samples + done, living)
                               : feed_run_plain(detector, samples + done, living);
            if (done < matching && feed_one(detector, &samples[done++]) < 0)
                result = -ENOMEM;
        }
        if (done < count && feed_one(detector, &samples[done++]) < 0)
            result = -ENOMEM;
        samples += done;
        count -= done;
    }
    table_prefetch(&detector->current->table, detector->position, next_count, with_rules);
    return result;
}

/* Rings ------------------------------------------------------------------------------------------------------------ */

static int compare_serial(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct ring_ids *)item)->serial);
}

static size_t ring_index(const struct detector *detector, size_t from, uint32_t serial)
{
    const size_t count = detector->ring_count - from;

    return count == 0
               ? from
               : from + search_first(&serial, &detector->rings[from], count, sizeof(*detector->rings), compare_serial);
}

static struct ring_ids *ring_of(const struct detector *detector, uint32_t serial)
{
    size_t i = ring_index(detector, 0, serial);

    return i < detector->ring_count && detector->rings[i].serial == serial ? &detector->rings[i] : NULL;
}

/* Ends the current ring: merges new ids and drops those that went. On -ENOMEM the new ids are lost. */
static int finish_ring(struct detector *detector)
{
    struct ring_ids *ring = detector->current;
    struct table *added = &detector->added;
    int result = 0;

    if (!ring)
        return 0;
    while (detector->position < ring->table.count)
        remove_id(detector, &ring->table);
    if (detector->removed_count)
        table_compact(&ring->table);
    if (added->count && table_merge(&ring->table, added) < 0) {
        for (size_t i = 0; i < added->count; i++) /* they are new again on the next scan */
            forget(detector, ring, added, i, ring->read_credit_ns);
        added->count = 0;
        result = -ENOMEM;
    }
    detector->current = NULL;
    return result;
}

/* Ends the previous ring, and marks the ring as seen if it is known. *ret_ring is NULL if it is not known. */
static int next_ring(struct detector *detector, uint32_t serial, struct ring_ids **ret_ring)
{
    int result = finish_ring(detector);
    size_t index;

    *ret_ring = NULL;
    if (detector->ring_next && detector->rings[detector->ring_next - 1].serial >= serial)
        return -EINVAL;
    index = ring_index(detector, detector->ring_next, serial);
    detector->ring_next = index;
    if (index < detector->ring_count && detector->rings[index].serial == serial) {
        *ret_ring = &detector->rings[detector->ring_next++];
        (*ret_ring)->seen = true;
    }
    return result;
}

static struct ring_ids *insert_ring(struct detector *detector, uint32_t serial)
{
    const size_t index = detector->ring_next;

    if (!ARRAY_GROW(detector->rings, detector->ring_count, detector->ring_capacity))
        return NULL;
    ARRAY_OPEN(detector->rings, detector->ring_count, index);
    detector->rings[index] = (struct ring_ids){
        .serial = serial, .seen = true, .read_mono_ns = detector->history.scans[detector->stamp].previous_mono_ns};
    return &detector->rings[detector->ring_next++];
}

/*
 * Returns the stamp of this scan for a ring that was last read at read_mono_ns. A scan needs few such stamps: one, and
 * one more for each earlier scan since which rings were skipped.
 */
static uint32_t stamp_after(struct detector *detector, uint64_t read_mono_ns)
{
    const struct history *history = &detector->history;
    uint32_t stamp = detector->stamp;

    while (stamp < history->count && history->scans[stamp].previous_mono_ns != read_mono_ns)
        stamp++;
    return stamp < history->count
               ? stamp
               : history_push(&detector->history, (struct history_scan){detector->credit_ns, read_mono_ns});
}

int detector_ring(struct detector *detector, uint32_t serial, const uint8_t *conditions, size_t process_count)
{
    struct ring_ids *ring;
    int result = next_ring(detector, serial, &ring);

    if (result == -EINVAL)
        return result;
    if (!ring)
        ring = insert_ring(detector, serial);
    if (!ring)
        return -ENOMEM;
    detector->current = ring;
    ring->had_deadlines = ring->has_deadlines;
    ring->has_deadlines = false;
    ring->stamp = stamp_after(detector, ring->read_mono_ns);
    ring->previous_credit_ns = ring->read_credit_ns;
    ring->read_credit_ns = detector->credit_ns;
    ring->read_mono_ns = detector->now_mono_ns;
    detector->conditions = conditions;
    detector->process_count = process_count;
    detector->any_condition = false;
    for (size_t i = 0; i < process_count; i++)
        detector->any_condition |= conditions[i] != DETECTOR_LIVES;
    detector->position = 0;
    detector->removed_count = 0;
    return result;
}

int detector_skip(struct detector *detector, uint32_t serial)
{
    struct ring_ids *ring;
    int result = next_ring(detector, serial, &ring);

    if (!ring)
        return result;
    for (size_t i = 0; i < ring->table.count; i++) {
        const enum id_state state = mark_state(ring->table.marks[i]);

        if ((state == ID_STALLED || state == ID_STOPPED || state == ID_EXITED || is_judged_idle(&ring->table, i)) &&
            add_suspect(detector, ring, &ring->table, i, NULL) < 0)
            result = -ENOMEM;
    }
    return result;
}

/* Drops the rings that were not named in this scan, with all their ids. */
static void drop_rings(struct detector *detector)
{
    size_t kept = 0;

    for (size_t r = 0; r < detector->ring_count; r++) {
        struct ring_ids *ring = &detector->rings[r];

        if (ring->seen) {
            detector->rings[kept++] = *ring;
            continue;
        }
        for (size_t i = 0; i < ring->table.count; i++)
            forget(detector, ring, &ring->table, i, ring->read_credit_ns);
        table_done(&ring->table);
    }
    detector->ring_count = kept;
    ARRAY_TRIM(detector->rings, detector->ring_capacity, kept);
}

/* Rules and verdicts ----------------------------------------------------------------------------------------------- */

/* A position while iterating over ids in order of ring and slot. */
struct place {
    struct ring_ids *ring;
    size_t index;
};

/* Moves place to the id. Returns false if the id is not known. */
static bool place_seek(const struct detector *detector, struct place *place, uint32_t ring, uint32_t slot,
                       uint32_t generation)
{
    if (!place->ring || place->ring->serial != ring)
        *place = (struct place){.ring = ring_of(detector, ring)};
    if (!place->ring)
        return false;
    place->index = table_seek(&place->ring->table, place->index, slot);
    return place->index < place->ring->table.count && place->ring->table.slots[place->index] == slot &&
           place->ring->table.generations[place->index] == generation;
}

struct detector_unclassified *detector_unclassified(struct detector *detector, size_t *ret_count)
{
    finish_ring(detector);
    *ret_count = detector->unclassified_count;
    return detector->unclassified;
}

static void apply_rules(struct detector *detector)
{
    struct place place = {0};

    for (size_t i = 0; i < detector->unclassified_count; i++) {
        const struct detector_unclassified *id = &detector->unclassified[i];
        struct table *table;

        if (id->rule == DETECTOR_RULE_UNKNOWN) {
            detector->still_unclassified_count++;
            continue;
        }
        if (!place_seek(detector, &place, id->ring, id->slot, id->generation))
            continue;
        table = &place.ring->table;
        if (id->rule >= 0 && (size_t)id->rule < detector->config.rule_count)
            table->rules[place.index] = (uint8_t)(id->rule + 1);
        else
            apply_deadline(place.ring, table, place.index);
        if (mark_state(table->marks[place.index]) == ID_RUNNING && !is_due(detector, table, place.index))
            expect_due(detector, table, place.index);
    }
}

/* Whether a suspect remains one, now that more rules are known. */
static bool stays_suspect(struct detector *detector, const struct place *place, struct detector_suspect *suspect)
{
    struct table *table = &place->ring->table;
    const bool due = is_due(detector, table, place->index);

    update_suspect(suspect, id_at(detector, place->ring, table, place->index));
    if (table->rules[place->index] == TABLE_RULE_PENDING)
        return suspect->state != ID_RUNNING;
    if (suspect->state == ID_RUNNING) {
        detector->held_back |= due && detector->late;
        return (due && !detector->late) || is_early(detector, table, place->index, suspect->call);
    }
    if (suspect->state == ID_STALLED && !due) {
        excuse_stall(detector, place->ring, table, place->index);
        return false;
    }
    return true;
}

struct detector_suspect *detector_suspects(struct detector *detector, size_t *ret_count)
{
    struct place place = {0};
    size_t kept = 0;

    finish_ring(detector);
    if (detector->unclassified_count || detector->undecided) {
        apply_rules(detector);
        for (size_t i = 0; i < detector->suspect_count; i++) {
            struct detector_suspect *suspect = &detector->suspects[i];

            if (suspect->unread || (place_seek(detector, &place, suspect->ring, suspect->slot, suspect->generation) &&
                                    stays_suspect(detector, &place, suspect)))
                detector->suspects[kept++] = *suspect;
        }
        detector->suspect_count = kept;
        detector->unclassified_count = 0;
        detector->undecided = false;
    }
    *ret_count = detector->suspect_count;
    return detector->suspects;
}

/* Returns the mark of an id after a verdict. */
static uint32_t mark_after_verdict(uint32_t mark, enum id_state state, enum id_cause cause)
{
    const enum id_state before = mark_state(mark);

    if (state == ID_EXITED && before == ID_EXITED)
        return mark;
    if (state == ID_EXITED)
        cause = before == ID_RUNNING ? MARK_CAUSE_RAN : mark_cause(mark);
    return mark_make(mark_stamp(mark), state, cause) | (mark & MARK_NEVER_MOVED);
}

/* Returns which event ends a stall when the verdict gives the id this state. */
static enum detector_event_kind end_kind(enum id_state state)
{
    if (state == ID_EXITED)
        return DETECTOR_GONE;
    return state == ID_STOPPED ? DETECTOR_STOPPED : DETECTOR_MOVED;
}

/* Applies the verdict to the suspect's id. An event has the cause of the stall that begins or ends. */
static void apply_verdict(struct detector *detector, const struct place *place, struct detector_suspect *suspect)
{
    struct table *table = &place->ring->table;
    const uint32_t mark = table->marks[place->index];
    const bool was_stalled = mark_state(mark) == ID_STALLED;
    const struct verdict verdict = suspect->verdict;
    const bool runs = verdict.state == ID_RUNNING && verdict.cause == CAUSE_UNSEEN;
    const bool stalls = verdict.state == ID_STALLED || (verdict.state == ID_RUNNING && !runs);

    if (mark_state(mark) == ID_RUNNING && !is_due(detector, table, place->index))
        return;                                               /* early */
    if ((stalls || runs) && mark_state(mark) == ID_STOPPED) { /* see N */
        set_mark(detector, place->ring, table, place->index, mark_make(place->ring->stamp, ID_RUNNING, CAUSE_NONE));
        expect_due(detector, table, place->index);
    } else if (was_stalled || !stalls || (!detector->late && reserve_events(detector))) {
        if (was_stalled && !stalls)
            add_event(detector, place->ring, table, place->index, end_kind(verdict.state), detector->credit_ns);
        set_mark(detector, place->ring, table, place->index,
                 mark_after_verdict(mark, stalls ? ID_STALLED : verdict.state, runs ? CAUSE_NONE : verdict.cause));
        if (stalls && !was_stalled)
            add_event(detector, place->ring, table, place->index, DETECTOR_STALLED, detector->credit_ns);
    }
    update_suspect(suspect, id_at(detector, place->ring, table, place->index));
}

/* Scans ------------------------------------------------------------------------------------------------------------ */

int detector_new(struct detector **ret_detector, const struct detector_config *config)
{
    struct detector *detector = calloc(1, sizeof *detector);

    if (!detector)
        return -ENOMEM;
    if (history_init(&detector->history) < 0) {
        free(detector);
        return -ENOMEM;
    }
    detector->config = *config;
    detector->gap_interval_ns = config->interval_ns;
    detector->deadline_wait_ns = UINT64_MAX;
    set_levels(detector);
    *ret_detector = detector;
    return 0;
}

void detector_free(struct detector *detector)
{
    if (!detector)
        return;
    for (size_t i = 0; i < detector->ring_count; i++)
        table_done(&detector->rings[i].table);
    table_done(&detector->added);
    history_done(&detector->history);
    free(detector->rings);
    free(detector->unclassified);
    free(detector->suspects);
    free(detector->events);
    free(detector);
}

/* First pass: notes the stamp as used. Second pass: replaces it by its new number. */
static uint32_t renumber(uint32_t mark, uint32_t *in_use, int pass)
{
    if (pass != 0)
        return (mark & MARK_REST_MASK) | in_use[mark_stamp(mark)] << MARK_STAMP_SHIFT;
    in_use[mark_stamp(mark)] = 1;
    return mark;
}

/* Frees the records of scans that no id refers to, and renumbers the stamps. Runs every few thousand scans. */
static void prune_history(struct detector *detector)
{
    uint32_t *in_use = calloc(detector->history.count, sizeof(*in_use));

    if (!in_use)
        return;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < detector->ring_count; r++) {
            const struct table *table = &detector->rings[r].table;

            for (size_t i = 0; i < table->count; i++) {
                uint64_t *last = mark_state(table->marks[i]) == ID_DEAD ? &table->progress[i] : NULL;

                table->marks[i] = renumber(table->marks[i], in_use, pass);
                if (last != NULL && *last != TABLE_LAST_UNKNOWN)
                    *last = renumber((uint32_t)*last, in_use, pass);
            }
        }
        if (pass == 0)
            history_prune(&detector->history, in_use);
    }
    free(in_use);
}

/* Clears the results of the previous scan. */
static void clear_scan(struct detector *detector)
{
    ARRAY_TRIM(detector->suspects, detector->suspect_capacity, detector->suspect_count);
    ARRAY_TRIM(detector->events, detector->event_capacity, detector->event_count + detector->counts[ID_STALLED]);
    ARRAY_TRIM(detector->unclassified, detector->unclassified_capacity, detector->unclassified_count);
    for (size_t i = 0; i < detector->ring_count; i++)
        detector->rings[i].seen = false;
    detector->ring_next = 0;
    detector->suspect_count = 0;
    detector->event_count = 0;
    detector->still_unclassified_count = 0;
    detector->held_back = false;
    detector->deadline_wait_ns = UINT64_MAX;
    memset(detector->halted_counts, 0, sizeof detector->halted_counts);
}

/* The detector's clock starts at the time of the first scan, so that an adopted stall fits on it. */
static void start_clock(struct detector *detector, uint64_t now_mono_ns)
{
    if (!detector->started)
        detector->now_mono_ns = detector->credit_ns = now_mono_ns;
    detector->started = true;
}

static int compare_places(const void *left, const void *right)
{
    const struct detector_adoption *a = left, *b = right;

    return search_order_pair(a->ring, a->slot, b->ring, b->slot);
}

static int compare_times(const void *left, const void *right)
{
    const struct detector_adoption *a = left, *b = right;

    return search_order(a->frozen_since_mono_ns, b->frozen_since_mono_ns);
}

/* Appends the id to the last ring. Its stamp is filled in later. */
static int adopt_one(struct detector *detector, const struct detector_adoption *adoption)
{
    struct ring_ids *ring = detector->ring_count != 0 ? &detector->rings[detector->ring_count - 1] : NULL;
    struct table *table;

    if (!ring || ring->serial != adoption->ring)
        ring = insert_ring(detector, adoption->ring);
    if (!ring || table_reserve(&ring->table, ring->table.count + 1) < 0)
        return -ENOMEM;
    table = &ring->table;
    if (table->count && table->slots[table->count - 1] == adoption->slot)
        return -EINVAL;
    ring->read_mono_ns = ring->read_credit_ns = detector->now_mono_ns;
    table->progress[table->count] = adoption->progress;
    table->slots[table->count] = adoption->slot;
    table->generations[table->count] = adoption->generation;
    table->marks[table->count] = mark_make(0, ID_STALLED, adoption->cause);
    table->deadlines[table->count] = 0;
    table->rules[table->count] = initial_rule(detector);
    table->name_versions[table->count] = 0;
    table->count++;
    count_in(detector, ring, ID_STALLED);
    detector->id_count++;
    return 0;
}

static uint64_t min_ns(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int detector_adopt(struct detector *detector, uint64_t now_mono_ns, const struct detector_adoption *adoptions,
                   size_t count)
{
    struct detector_adoption *sorted = calloc(count + 1, sizeof *sorted);
    int result = sorted && ARRAY_RESERVE(detector->events, detector->event_capacity, count + 1) ? 0 : -ENOMEM;

    start_clock(detector, now_mono_ns);
    if (result == 0 && count != 0) {
        memcpy(sorted, adoptions, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_places);
    }
    for (size_t i = 0; result == 0 && i < count; i++)
        result = adopt_one(detector, &sorted[i]);
    if (result == 0)
        qsort(sorted, count, sizeof *sorted, compare_times); /* stamps must ascend with time */
    for (size_t i = 0; result == 0 && i < count; i++) {
        const uint64_t since_ns = min_ns(sorted[i].frozen_since_mono_ns, now_mono_ns);
        const uint64_t before_ns = min_ns(sorted[i].moved_after_mono_ns, since_ns);
        struct place place = {0};

        (void)place_seek(detector, &place, sorted[i].ring, sorted[i].slot, sorted[i].generation);
        place.ring->read_mono_ns = min_ns(place.ring->read_mono_ns, since_ns);
        place.ring->table.marks[place.index] |=
            history_push(&detector->history, (struct history_scan){since_ns, before_ns}) << MARK_STAMP_SHIFT |
            (sorted[i].moved_after_mono_ns == DETECTOR_UNKNOWN_NS ? MARK_NEVER_MOVED : 0);
    }
    free(sorted);
    return result;
}

uint64_t detector_begin(struct detector *detector, uint64_t now_mono_ns)
{
    const uint64_t interval = detector->gap_interval_ns;
    uint64_t previous, gap, counted;

    clear_scan(detector);
    if (history_is_full(&detector->history))
        prune_history(detector);
    start_clock(detector, now_mono_ns);
    previous = detector->now_mono_ns;
    gap = now_mono_ns > previous ? now_mono_ns - previous : 0;
    counted = gap < interval ? gap : interval;
    detector->gap_interval_ns = detector->config.interval_ns;
    detector->late = gap - counted > interval / 2;
    detector->late_count += detector->late;
    detector->now_mono_ns = previous + gap;
    detector->credit_ns += counted;
    detector->stamp = history_push(&detector->history, (struct history_scan){detector->credit_ns, previous});
    for (size_t i = 0; i <= detector->config.rule_count; i++)
        begin_level(detector, &detector->levels[i]);
    begin_level(detector, &detector->levels[TABLE_RULE_PENDING]);
    return detector->late ? gap - counted : 0;
}

static uint64_t memory_bytes(const struct detector *detector)
{
    uint64_t bytes = sizeof *detector + detector->history.capacity * sizeof *detector->history.scans +
                     detector->ring_capacity * sizeof *detector->rings +
                     detector->suspect_capacity * sizeof *detector->suspects +
                     detector->unclassified_capacity * sizeof *detector->unclassified +
                     detector->event_capacity * sizeof *detector->events;

    for (size_t i = 0; i < detector->ring_count; i++)
        bytes += detector->rings[i].table.capacity * TABLE_ID_BYTES;
    return bytes;
}

void detector_end(struct detector *detector, struct detector_update *ret_update)
{
    struct place place = {0};
    size_t count;
    struct detector_suspect *suspects = detector_suspects(detector, &count);

    for (size_t i = 0; i < count; i++)
        if (!suspects[i].unread &&
            place_seek(detector, &place, suspects[i].ring, suspects[i].slot, suspects[i].generation))
            apply_verdict(detector, &place, &suspects[i]);
    drop_rings(detector);
    table_done(&detector->added);
    *ret_update = (struct detector_update){
        .suspects = suspects,
        .suspect_count = count,
        .events = detector->events,
        .event_count = detector->event_count,
        .late = detector->late,
        .late_count = detector->late_count,
        .id_count = detector->id_count,
        .unclassified_count = detector->still_unclassified_count,
        .memory_bytes = memory_bytes(detector),
    };
    memcpy(ret_update->counts, detector->counts, sizeof detector->counts);
    memcpy(ret_update->halted_counts, detector->halted_counts, sizeof detector->halted_counts);
}

/* Views ------------------------------------------------------------------------------------------------------------ */

int detector_find(const struct detector *detector, uint32_t ring, uint32_t slot, uint32_t generation,
                  struct detector_id *ret_id)
{
    struct place place = {0};

    if (!place_seek(detector, &place, ring, slot, generation))
        return -ENOENT;
    *ret_id = id_at(detector, place.ring, &place.ring->table, place.index);
    return 0;
}

void detector_ring_counts(const struct detector *detector, uint32_t ring, uint64_t ret_counts[ID_STATE_COUNT])
{
    const struct ring_ids *found = ring_of(detector, ring);

    for (int state = 0; state < ID_STATE_COUNT; state++)
        ret_counts[state] = found ? found->counts[state] : 0;
}

int detector_visit(const struct detector *detector, uint32_t ring,
                   int (*visit)(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id),
                   void *context)
{
    const struct ring_ids *found = ring_of(detector, ring);
    int result = 0;

    for (size_t i = 0; found && i < found->table.count && result == 0; i++) {
        const struct detector_id id = id_at(detector, found, &found->table, i);

        result = visit(context, found->table.slots[i], found->table.generations[i], &id);
    }
    return result;
}
