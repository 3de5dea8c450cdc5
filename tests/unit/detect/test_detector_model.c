/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector_model.c - the detector compared with a model that stores two full times for every slot of every ring
 * and visits all of them on every scan.
 *
 * Random worlds: ids come, go, move, become idle, stop and die. Rings come, go and are skipped. Verdicts are random.
 * Scans are late or early. Samples are fed in pieces of any size. There may be rules; they are found soon or late, and
 * change. Some ids have thresholds of their own and change them. Each world begins with stalls to adopt. After every
 * scan detector and model must agree on all states, unclassified ids, suspects, events and counts, and on when the next
 * scan is due.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/detector_test.h"

enum { RINGS = 4, SLOTS = 90, WORLDS = 60, SCANS = 400, RULES = 3 };

#define MS UINT64_C(1000000)
#define MODEL_INTERVAL (1000 * MS)
#define MODEL_STALL_AFTER (5000 * MS)

/* The slot number of a slot of the model: ascending, with gaps. */
static uint32_t number_of(uint32_t slot)
{
    return 3 * slot + slot % 2;
}

struct model_id {
    bool present;
    bool never_moved;
    uint32_t generation;
    uint64_t progress;
    uint64_t frozen_since;
    uint64_t moved_after;
    enum id_state state;
    enum id_cause cause;
    bool has_last;
    struct verdict last;
    uint64_t last_since;
    int rule;
    uint32_t deadline_ms;           /* of its last sample without a rule */
    const struct rip_sample *still; /* the sample of this scan; NULL: it has moved */
};

struct model {
    struct detector_config config;
    struct model_id ids[RINGS][SLOTS];
    uint64_t read[RINGS], read_credit[RINGS]; /* time of the last reading of each ring */
    uint64_t read_before[RINGS], read_credit_before[RINGS];
    uint64_t now, previous, credit;
    bool started, late, held_back;
    struct detector_event events[2 * RINGS * SLOTS];
    size_t event_count;
    struct detector_suspect suspects[RINGS * SLOTS];
    size_t suspect_count;
    uint64_t unclassified_count;
    uint64_t late_count;
};

/* The rings and ids as they are. */
struct world {
    struct rip_sample samples[RINGS][SLOTS];
    bool ring_present[RINGS];
    bool ring_skipped[RINGS];
    bool present[RINGS][SLOTS];
    uint8_t dead[RINGS][2];
    unsigned liveliness; /* ids of 100 that move between two scans */
    unsigned churn;      /* ids of 1000 that come or go */
    unsigned deadlines;  /* ids of 1000 that set or clear a threshold of their own */
};

static struct model *model;
static struct world *world;
static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % bound;
}

/* Nothing, or any of the announcements for which early suspects are examined. */
static const uint8_t calls[] = {RIP_CALL_NONE,    RIP_CALL_NONE,        RIP_CALL_NONE,    RIP_CALL_NONE,
                                RIP_CALL_OUTSIDE, RIP_CALL_INTERPRETER, RIP_CALL_COMPUTES};

static void world_step_slot(uint32_t ring, uint32_t slot)
{
    struct rip_sample *sample = &world->samples[ring][slot];

    if (random_below(1000) < world->churn) {
        if (random_below(3)) /* otherwise another id takes the slot, perhaps at the same progress */
            world->present[ring][slot] = !world->present[ring][slot];
        sample->slot = number_of(slot);
        sample->generation += 2 * random_below(2);
        sample->tid = random_below(1000);
        sample->process = (uint16_t)random_below(3);
        sample->call = calls[random_below(sizeof(calls))];
    }
    if (random_below(1000) < world->deadlines)
        sample->deadline_ms = random_below(3) ? 100 + random_below(9000) : 0;
    if (random_below(100) < world->liveliness) {
        sample->progress += UINT64_C(1) << random_below(40);
        sample->idle = random_below(4) == 0;
    } else if (random_below(50) == 0) {
        sample->idle = !sample->idle;
    }
}

static void world_step(void)
{
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        if (random_below(60) == 0)
            world->ring_present[ring] = !world->ring_present[ring];
        if (random_below(world->ring_skipped[ring] ? 3 : 30) == 0)
            world->ring_skipped[ring] = !world->ring_skipped[ring];
        if (random_below(100) == 0)
            world->dead[ring][random_below(2)] ^= 1;
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            world_step_slot(ring, slot);
    }
}

static void model_emit(enum detector_event_kind kind, uint32_t ring, uint32_t slot, uint64_t credit)
{
    const struct model_id *id = &model->ids[ring][slot];

    model->events[model->event_count++] = (struct detector_event){
        .kind = kind,
        .ring = ring + 1,
        .slot = number_of(slot),
        .generation = id->generation,
        .cause = id->cause,
        .progress = id->progress,
        .frozen_for_ns = credit - id->frozen_since,
        .moved_after_mono_ns = id->never_moved ? DETECTOR_UNKNOWN_NS : id->moved_after,
    };
}

static void model_leave(enum detector_event_kind kind, uint32_t ring, uint32_t slot)
{
    if (model->ids[ring][slot].present && model->ids[ring][slot].state == ID_STALLED)
        model_emit(kind, ring, slot, model->read_credit_before[ring]);
}

static uint64_t model_threshold(const struct model_id *id)
{
    if (id->rule == DETECTOR_RULE_UNKNOWN)
        return DETECTOR_UNKNOWN_NS;
    if (id->rule != RULES_NONE)
        return model->config.rule_thresholds_ns[id->rule];
    return id->deadline_ms != 0 ? id->deadline_ms * MS : model->config.stall_after_ns;
}

static bool model_is_due(const struct model_id *id)
{
    return model->credit - id->frozen_since >= model_threshold(id);
}

/* The id announces such a call, and is frozen for a quarter of its threshold. */
static bool model_is_early(const struct model_id *id)
{
    return id->state == ID_RUNNING && id->still->call != RIP_CALL_NONE &&
           model->credit - id->frozen_since >= model_threshold(id) / 4;
}

static uint64_t model_frozen_max(uint32_t ring, const struct model_id *id)
{
    return id->never_moved ? DETECTOR_UNKNOWN_NS : model->read[ring] - id->moved_after;
}

static void model_suspect(uint32_t ring, uint32_t slot, bool unread)
{
    const struct model_id *id = &model->ids[ring][slot];

    model->suspects[model->suspect_count++] = (struct detector_suspect){
        .ring = ring + 1,
        .slot = number_of(slot),
        .generation = id->generation,
        .tid = unread ? 0 : id->still->tid,
        .process = unread ? UINT16_MAX : id->still->process,
        .unread = unread,
        .progress = id->progress,
        .frozen_since_ns = id->frozen_since,
        .frozen_for_ns = model->read_credit[ring] - id->frozen_since,
        .frozen_for_max_ns = model_frozen_max(ring, id),
        .threshold_ns = model_threshold(id),
        .state = id->state,
        .cause = id->cause,
    };
}

static void model_see(uint32_t ring, uint32_t slot)
{
    const struct rip_sample *sample = &world->samples[ring][slot];
    struct model_id *id = &model->ids[ring][slot];
    const bool dead = sample->process < 2 && world->dead[ring][sample->process];
    const enum id_state state = dead ? ID_DEAD : sample->idle ? ID_IDLE : ID_RUNNING;
    const bool is_new = !id->present || id->generation != sample->generation;
    const int rule = !is_new ? id->rule : model->config.rule_count ? DETECTOR_RULE_UNKNOWN : RULES_NONE;
    const uint32_t deadline_ms = id->deadline_ms;

    id->still = NULL;
    if (!is_new && id->state == state && (dead || (sample->idle && id->progress == sample->progress)))
        ;
    else if (is_new || state != ID_RUNNING || id->state == ID_IDLE || id->state == ID_DEAD ||
             id->progress != sample->progress) {
        const struct verdict last = id->state == ID_EXITED ? id->last : (struct verdict){id->state, id->cause};
        const uint64_t last_since = id->frozen_since;

        model_leave(is_new || dead ? DETECTOR_GONE : DETECTOR_MOVED, ring, slot);
        *id = (struct model_id){.present = true,
                                .never_moved = is_new,
                                .generation = sample->generation,
                                .progress = sample->progress,
                                .frozen_since = model->credit,
                                .moved_after = model->read_before[ring],
                                .has_last = dead && !is_new,
                                .last = last,
                                .last_since = last_since,
                                .state = state,
                                .cause = CAUSE_NONE,
                                .rule = rule};
    } else {
        id->still = sample;
    }
    id->deadline_ms = rule < 0 ? sample->deadline_ms : deadline_ms;
}

/* Called when rules have been given to ids. */
static void model_find_suspects(uint32_t ring, uint32_t slot)
{
    struct model_id *id = &model->ids[ring][slot];
    const bool unknown = id->rule == DETECTOR_RULE_UNKNOWN;
    const bool due = !unknown && model_is_due(id);

    if (id->present && world->ring_present[ring] && world->ring_skipped[ring] &&
        (id->state == ID_STALLED || id->state == ID_STOPPED || id->state == ID_EXITED))
        model_suspect(ring, slot, true);
    if (!id->present || !id->still)
        return;
    if (id->state == ID_RUNNING && (!due || model->late)) {
        model->held_back |= due;
        if (!unknown && model_is_early(id))
            model_suspect(ring, slot, false);
    } else if (id->state == ID_STALLED && !due && !unknown) {
        model_emit(DETECTOR_EXCUSED, ring, slot, model->credit);
        id->state = ID_RUNNING;
        id->cause = CAUSE_NONE;
    } else {
        model_suspect(ring, slot, false);
    }
}

static void model_scan(uint64_t now)
{
    if (!model->started)
        model->credit = now;
    model->previous = model->started ? model->now : now;
    model->now = now;
    model->late = 2 * (now - model->previous) > 3 * MODEL_INTERVAL;
    model->late_count += model->late;
    model->credit += now - model->previous < MODEL_INTERVAL ? now - model->previous : MODEL_INTERVAL;
    model->started = true;
    model->held_back = false;
    model->event_count = model->suspect_count = 0;
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        const bool skipped = world->ring_present[ring] && world->ring_skipped[ring];

        model->read_before[ring] = model->read[ring];
        model->read_credit_before[ring] = model->read_credit[ring];
        model->read[ring] = skipped ? model->read[ring] : now;
        model->read_credit[ring] = skipped ? model->read_credit[ring] : model->credit;
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            if (skipped) {
                model->ids[ring][slot].still = NULL;
            } else if (world->ring_present[ring] && world->present[ring][slot]) {
                model_see(ring, slot);
            } else {
                model_leave(DETECTOR_GONE, ring, slot);
                model->ids[ring][slot].present = false;
            }
        }
    }
}

static void model_settle(struct detector_suspect *suspect)
{
    const uint32_t ring = suspect->ring - 1, slot = suspect->slot / 3;
    struct model_id *id = &model->ids[ring][slot];
    const struct verdict verdict =
        suspect->verdict.state == ID_RUNNING ? (struct verdict){ID_STALLED, CAUSE_NONE} : suspect->verdict;

    if (suspect->unread || (id->state == ID_RUNNING && !model_is_due(id)))
        return;
    if (verdict.state == ID_STALLED && id->state == ID_STOPPED) {
        id->state = ID_RUNNING;
        id->cause = CAUSE_NONE;
        id->frozen_since = model->credit;
        id->moved_after = model->read_before[ring];
        id->never_moved = false;
        return;
    }
    if (verdict.state == ID_STALLED && id->state != ID_STALLED && model->late)
        return;
    if (verdict.state != ID_STALLED && id->state == ID_STALLED)
        model_emit(verdict.state == ID_EXITED ? DETECTOR_GONE : DETECTOR_STOPPED, ring, slot, model->credit);
    if (verdict.state == ID_EXITED && id->state != ID_EXITED)
        id->last = (struct verdict){id->state, id->cause};
    id->cause = verdict.cause;
    if (verdict.state == ID_STALLED && id->state != ID_STALLED)
        model_emit(DETECTOR_STALLED, ring, slot, model->credit);
    id->state = verdict.state;
}

static void feed_ring(uint32_t ring)
{
    struct rip_sample samples[SLOTS];
    size_t count = 0, fed = 0;

    assert_int_equal(detector_ring(detector, ring + 1, world->dead[ring], 2), 0);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (world->present[ring][slot])
            samples[count++] = world->samples[ring][slot];
    while (fed < count) {
        size_t piece = 1 + random_below((uint32_t)(count - fed));

        assert_int_equal(detector_feed(detector, samples + fed, piece), 0);
        fed += piece;
    }
}

/* Gives some ids their rule. The others are unclassified again on the next scan. */
static void give_rules(void)
{
    size_t count, next = 0, unknown = 0;
    struct detector_unclassified *ids = detector_unclassified(detector, &count);

    for (uint32_t ring = 0; ring < RINGS; ring++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            struct model_id *id = &model->ids[ring][slot];

            if (!id->present || id->rule != DETECTOR_RULE_UNKNOWN || world->ring_skipped[ring])
                continue;
            assert_true(next < count);
            assert_int_equal(ids[next].ring, ring + 1);
            assert_int_equal(ids[next].slot, number_of(slot));
            assert_int_equal(ids[next].generation, id->generation);
            assert_int_equal(ids[next].rule, DETECTOR_RULE_UNKNOWN);
            if (random_below(3))
                id->rule = ids[next].rule = (int)random_below((uint32_t)model->config.rule_count + 1) - 1;
            else
                unknown++;
            next++;
        }
    }
    assert_int_equal(next, count);
    model->unclassified_count = unknown;
}

static void give_verdicts(struct detector_suspect *suspects, size_t count)
{
    static const struct verdict verdicts[] = {
        {ID_RUNNING, CAUSE_NONE},     {ID_STALLED, CAUSE_BLOCKED}, {ID_STALLED, CAUSE_UNKNOWN},
        {ID_STALLED, CAUSE_SPINNING}, {ID_STOPPED, CAUSE_SIGNAL},  {ID_EXITED, CAUSE_NONE},
    };

    for (size_t i = 0; i < count; i++)
        suspects[i].verdict =
            random_below(3) ? verdicts[random_below(COUNT_OF(verdicts))] : verdict_before(&suspects[i]);
}

static int compare_events(const void *left, const void *right)
{
    const struct detector_event *a = left, *b = right;
    const uint64_t x[] = {a->ring, a->slot, a->generation, a->kind}, y[] = {b->ring, b->slot, b->generation, b->kind};

    for (size_t i = 0; i < COUNT_OF(x); i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* The field is the same in a and b. */
#define SAME(field) assert_int_equal(a->field, b->field)

/* When an id that is not due yet will be. */
static uint64_t model_due(const struct model_id *id)
{
    return model->now + model_threshold(id) - (model->credit - id->frozen_since);
}

static void compare_id(uint32_t ring, const struct model_id *b, const struct detector_id *a)
{
    SAME(state);
    SAME(cause);
    assert_int_equal(a->progress, b->state != ID_DEAD ? b->progress : 0);
    assert_int_equal(a->frozen_since_ns, b->frozen_since);
    assert_int_equal(a->frozen_for_ns, model->read_credit[ring] - b->frozen_since);
    assert_int_equal(a->frozen_for_max_ns, model_frozen_max(ring, b));
    assert_true(a->frozen_for_max_ns >= a->frozen_for_ns);
    assert_int_equal(a->threshold_ns, model_threshold(b));
    assert_int_equal(a->has_last, b->state == ID_EXITED || (b->state == ID_DEAD && b->has_last));
    if (a->has_last) {
        SAME(last.state);
        SAME(last.cause);
    }
    if (a->has_last && b->state == ID_DEAD)
        assert_int_equal(a->last_for_ns, b->frozen_since - b->last_since);
}

static void compare_known(const struct detector_update *update)
{
    uint64_t counts[ID_STATE_COUNT] = {0}, due = UINT64_MAX, total = 0;

    for (uint32_t ring = 0; ring < RINGS; ring++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            const struct model_id *id = &model->ids[ring][slot];
            struct detector_id known;

            assert_int_equal(detector_find(detector, ring + 1, number_of(slot), id->generation, &known) == 0,
                             id->present);
            if (!id->present)
                continue;
            counts[id->state]++;
            total++;
            compare_id(ring, id, &known);
            if (id->state == ID_RUNNING && model->read[ring] == model->now && id->rule != DETECTOR_RULE_UNKNOWN &&
                !model_is_due(id) && model_due(id) < due)
                due = model_due(id);
        }
    }
    if (model->config.rule_count == 0 && counts[ID_RUNNING] && model->now + model->config.stall_after_ns < due)
        due = model->now + model->config.stall_after_ns; /* ids of skipped rings count as having moved */
    if (model->held_back || (model->late && due < model->now + MODEL_INTERVAL / 4))
        due = model->now + MODEL_INTERVAL / 4;
    assert_int_equal(detector_next_due(detector), due);
    assert_int_equal(update->id_count, total);
    assert_memory_equal(update->counts, counts, sizeof counts);
}

static void compare_lists(struct detector_update *update)
{
    static struct detector_event events[2 * RINGS * SLOTS];

    assert_int_equal(update->late, model->late);
    assert_int_equal(update->late_count, model->late_count);
    assert_int_equal(update->suspect_count, model->suspect_count);
    assert_int_equal(update->event_count, model->event_count);
    if (update->event_count)
        memcpy(events, update->events, update->event_count * sizeof *events);
    qsort(events, update->event_count, sizeof *events, compare_events);
    qsort(model->events, model->event_count, sizeof *model->events, compare_events);
    for (size_t i = 0; i < model->event_count; i++) {
        const struct detector_event *a = &events[i], *b = &model->events[i];

        assert_int_equal(compare_events(a, b), 0);
        SAME(cause);
        SAME(frozen_for_ns);
        SAME(progress);
        SAME(moved_after_mono_ns);
    }
}

static void compare_suspects(const struct detector_suspect *a, const struct detector_suspect *b)
{
    SAME(ring);
    SAME(slot);
    SAME(generation);
    SAME(tid);
    SAME(process);
    SAME(progress);
    SAME(frozen_since_ns);
    SAME(frozen_for_ns);
    SAME(frozen_for_max_ns);
    SAME(threshold_ns);
    SAME(state);
    SAME(cause);
    SAME(unread);
}

static void scan_both(uint64_t now)
{
    struct detector_update update;
    struct detector_suspect *suspects;
    size_t count;

    world_step();
    if (!model->started)
        memset(world->ring_skipped, 0, sizeof world->ring_skipped); /* the first scan reads all rings */
    model_scan(now);
    detector_begin(detector, now);
    for (uint32_t ring = 0; ring < RINGS; ring++)
        if (world->ring_present[ring] && world->ring_skipped[ring])
            assert_int_equal(detector_skip(detector, ring + 1), 0);
        else if (world->ring_present[ring])
            feed_ring(ring);
    give_rules();
    for (uint32_t ring = 0; ring < RINGS; ring++)
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            model_find_suspects(ring, slot);
    suspects = detector_suspects(detector, &count);
    assert_int_equal(count, model->suspect_count);
    for (size_t i = 0; i < count; i++)
        compare_suspects(&suspects[i], &model->suspects[i]);
    give_verdicts(suspects, count);
    for (size_t i = 0; i < count; i++)
        model_settle(&suspects[i]);
    detector_end(detector, &update);
    assert_int_equal(update.unclassified_count, model->unclassified_count);
    compare_lists(&update);
    compare_known(&update);
}

/* Sets other thresholds and rules, or none: all ids are unclassified again. */
static void configure_both(void)
{
    struct detector_config *config = &model->config;

    *config =
        (struct detector_config){.interval_ns = MODEL_INTERVAL, .stall_after_ns = (100 + random_below(10000)) * MS};
    config->rule_count = random_below(RULES + 1);
    for (size_t i = 0; i < config->rule_count; i++)
        config->rule_thresholds_ns[i] = (100 + random_below(20000)) * MS;
    detector_configure(detector, config);
    for (uint32_t ring = 0; ring < RINGS; ring++)
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            model->ids[ring][slot].rule = config->rule_count ? DETECTOR_RULE_UNKNOWN : RULES_NONE;
}

/* Stalls to adopt: some ids as they will be, some that have moved since, some that are gone. */
static size_t make_adoptions(uint64_t now, struct detector_adoption *adoptions)
{
    size_t count = 0;

    for (uint32_t ring = RINGS; ring-- > 0;) { /* in any order */
        model->read[ring] = model->read_credit[ring] = now;
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            const struct rip_sample *sample = &world->samples[ring][slot];
            struct detector_adoption *adoption = &adoptions[count];

            if (random_below(3))
                continue;
            count++;
            *adoption = (struct detector_adoption){
                .ring = ring + 1,
                .slot = number_of(slot),
                .generation = sample->generation + (random_below(9) ? 0 : 2),
                .progress = sample->progress + (random_below(9) ? 0 : 1),
                .frozen_since_mono_ns = now - 1 - random_below(20) * 997 * MS,
                .cause = random_below(2) ? CAUSE_BLOCKED : CAUSE_NONE,
            };
            adoption->moved_after_mono_ns =
                random_below(2) ? adoption->frozen_since_mono_ns - random_below(1000) * MS : DETECTOR_UNKNOWN_NS;
            if (model->read[ring] > adoption->frozen_since_mono_ns)
                model->read[ring] = adoption->frozen_since_mono_ns;
            model->ids[ring][slot] = (struct model_id){
                .present = true,
                .never_moved = adoption->moved_after_mono_ns == DETECTOR_UNKNOWN_NS,
                .generation = adoption->generation,
                .progress = adoption->progress,
                .frozen_since = adoption->frozen_since_mono_ns,
                .moved_after = adoption->moved_after_mono_ns,
                .state = ID_STALLED,
                .cause = adoption->cause,
                .rule = RULES_NONE,
            };
        }
    }
    return count;
}

TEST(detector_and_model_agree)
{
    for (uint32_t seed = 0; seed < WORLDS; seed++) {
        struct detector_adoption adoptions[RINGS * SLOTS];
        uint64_t now = 50000 * MS;

        model = calloc(1, sizeof *model);
        world = calloc(1, sizeof *world);
        model->config = (struct detector_config){.interval_ns = MODEL_INTERVAL, .stall_after_ns = MODEL_STALL_AFTER};
        assert_int_equal(detector_new(&detector, &model->config), 0);
        random_state = seed;
        world->liveliness = seed % 10 * 6;
        world->churn = seed % 3 ? 10 : 300;
        world->deadlines = seed % 4 * 15;
        for (unsigned i = seed % 7 * 20; i; i--) /* before the daemon starts */
            world_step();
        assert_int_equal(detector_adopt(detector, now, adoptions, make_adoptions(now, adoptions)), 0);
        for (int i = 0; i < SCANS; i++) {
            if (seed % 2 && random_below(25) == 0)
                configure_both();
            scan_both(now);
            now += (random_below(30) == 0 ? random_below(5000) : 700 + random_below(500)) * MS;
        }
        detector_free(detector);
        free(model);
        free(world);
    }
}
