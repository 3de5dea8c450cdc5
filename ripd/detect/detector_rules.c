/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_rules.c - each id's threshold: by the rule that applies to its name, once the caller has said which. Pure.
 *
 * Each rule is a level, and so is having none. A level knows which stamps are due on this scan, so an id costs one
 * comparison whatever its threshold. What is not known yet is a level too, with the shortest of all thresholds: an id
 * that no rule could accuse needs no closer look, and one that some rule could is a suspect until the answer is there.
 *
 * Guarantees
 *   A. After detector_take_rules() no suspect is within its threshold, and none whose rule is not known begins to
 * stall. B. Without rules nothing here costs anything by the id, except in detector_configure(). C. A change of
 * thresholds keeps since when an id stands still.
 */
#include <string.h>

#include "detect/detector_inside.h"
#include "util/array.h"

void detector_set_levels(struct detector *detector)
{
    const struct detector_config *config = &detector->config;
    uint64_t shortest = config->stall_after_ns;

    if (detector->config.rule_count > RULES_MAX)
        detector->config.rule_count = RULES_MAX;
    for (size_t i = 0; i < DETECTOR_LEVEL_COUNT; i++)
        detector->levels[i] = (struct detector_level){.oldest_stamp = DETECTOR_NO_STAMP};
    detector->levels[TABLE_RULE_NONE].threshold_ns = config->stall_after_ns;
    for (size_t i = 0; i < config->rule_count; i++) {
        detector->levels[i + 1].threshold_ns = config->rule_thresholds_ns[i];
        if (config->rule_thresholds_ns[i] < shortest)
            shortest = config->rule_thresholds_ns[i];
    }
    detector->levels[TABLE_RULE_PENDING].threshold_ns = shortest;
}

void detector_configure(struct detector *detector, const struct detector_config *config)
{
    if (detector->gap_interval_ns < config->interval_ns)
        detector->gap_interval_ns = config->interval_ns;
    detector->config = *config;
    detector_set_levels(detector);
    for (size_t i = 0; i < detector->ring_count; i++)
        memset(detector->rings[i].table.rules, detector_first_rule(detector), detector->rings[i].table.count);
}

static void begin_level(struct detector *detector, struct detector_level *level)
{
    level->oldest_stamp = DETECTOR_NO_STAMP;
    level->due_count = 0;
    if (detector->credit_ns >= level->threshold_ns)
        level->due_count = history_count_until(&detector->history, detector->credit_ns - level->threshold_ns);
}

void detector_begin_levels(struct detector *detector)
{
    for (size_t i = 0; i <= detector->config.rule_count; i++)
        begin_level(detector, &detector->levels[i]);
    begin_level(detector, &detector->levels[TABLE_RULE_PENDING]);
}

void detector_offer(struct detector *detector, uint32_t slot, uint32_t generation)
{
    struct detector_newcomer *newcomers = array_reserve(detector->newcomers, &detector->newcomer_capacity,
                                                        detector->newcomer_count + 1, sizeof *newcomers);

    if (!newcomers) {
        detector->unnamed_count++;
        return;
    }
    detector->newcomers = newcomers;
    newcomers[detector->newcomer_count++] = (struct detector_newcomer){
        .ring = detector->current->serial,
        .slot = slot,
        .generation = generation,
        .rule = DETECTOR_RULE_UNKNOWN,
    };
}

void detector_excuse(struct detector *detector, uint32_t ring, struct table *table, size_t index)
{
    const uint32_t mark = table->marks[index];

    detector_emit(detector, ring, table, index, DETECTOR_EXCUSED, detector->credit_ns);
    detector_mark(detector, table, index,
                  mark_make(mark_stamp(mark), ID_RUNNING, CAUSE_NONE) | (mark & MARK_NEVER_MOVED));
    detector_expect(detector, table->rules[index], mark_stamp(mark));
}

/* A walk over ids in order of ring and slot. */
struct place {
    struct detector_ring *ring;
    size_t index;
};

/* False: that id is not there. */
static bool place_seek(const struct detector *detector, struct place *place, uint32_t ring, uint32_t slot,
                       uint32_t generation)
{
    if (!place->ring || place->ring->serial != ring)
        *place = (struct place){.ring = detector_ring_of(detector, ring)};
    if (!place->ring)
        return false;
    place->index = table_seek(&place->ring->table, place->index, slot);
    return place->index < place->ring->table.count && place->ring->table.slots[place->index] == slot &&
           place->ring->table.generations[place->index] == generation;
}

static void take_answers(struct detector *detector)
{
    struct place place = {0};

    for (size_t i = 0; i < detector->newcomer_count; i++) {
        const struct detector_newcomer *newcomer = &detector->newcomers[i];
        uint8_t rule = TABLE_RULE_NONE;
        uint32_t mark;

        if (newcomer->rule == DETECTOR_RULE_UNKNOWN) {
            detector->unnamed_count++;
            continue;
        }
        if (!place_seek(detector, &place, newcomer->ring, newcomer->slot, newcomer->generation))
            continue;
        if (newcomer->rule >= 0 && (size_t)newcomer->rule < detector->config.rule_count)
            rule = (uint8_t)(newcomer->rule + 1);
        place.ring->table.rules[place.index] = rule;
        mark = place.ring->table.marks[place.index];
        if (mark_state(mark) == ID_RUNNING && mark_stamp(mark) >= detector->levels[rule].due_count)
            detector_expect(detector, rule, mark_stamp(mark));
    }
}

/* Whether a suspect is still one, now that more rules are known. */
static bool stays_suspect(struct detector *detector, struct place *place, struct detector_suspect *suspect)
{
    struct table *table = &place->ring->table;
    const uint8_t rule = table->rules[place->index];
    const bool due = mark_stamp(table->marks[place->index]) < detector->levels[rule].due_count;

    suspect->threshold_ns = detector_threshold_ns(detector, rule);
    if (rule == TABLE_RULE_PENDING)
        return suspect->state != ID_RUNNING;
    if (suspect->state == ID_RUNNING) {
        detector->held_back |= due && detector->late;
        return due && !detector->late;
    }
    if (suspect->state == ID_STALLED && !due) {
        detector_excuse(detector, suspect->ring, table, place->index);
        return false;
    }
    return true;
}

void detector_take_rules(struct detector *detector)
{
    struct place place = {0};
    size_t kept = 0;

    if (!detector->newcomer_count && !detector->undecided)
        return;
    take_answers(detector);
    detector->newcomer_count = 0;
    detector->undecided = false;
    for (size_t i = 0; i < detector->suspect_count; i++) {
        struct detector_suspect *suspect = &detector->suspects[i];

        if (place_seek(detector, &place, suspect->ring, suspect->slot, suspect->generation) &&
            stays_suspect(detector, &place, suspect))
            detector->suspects[kept++] = *suspect;
    }
    detector->suspect_count = kept;
}
