/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector_model.c - the detector against a model of it that keeps two full times for every slot of every ring
 * and looks at each on every scan. Random worlds: ids come, go, move, rest, stop and die, rings come and go, evidence
 * is there or not, scans are late or early, samples are fed in pieces of any size. After every scan both must agree
 * on every state, every suspect, every event, every count, and when the next scan is wanted.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/detector_test.h"

enum { RINGS = 4, SLOTS = 90, WORLDS = 60, SCANS = 400 };

struct model_id {
    bool present;
    bool never_moved;
    uint32_t generation;
    uint64_t progress;
    uint64_t frozen_since;
    uint64_t moved_after;
    enum id_state state;
    enum id_cause cause;
};

struct model {
    struct model_id ids[RINGS][SLOTS];
    uint64_t now, previous, credit, previous_credit;
    bool started, late, held_back;
    struct detector_event events[2 * RINGS * SLOTS];
    size_t event_count;
    struct detector_suspect suspects[RINGS * SLOTS];
    size_t suspect_count;
};

/* What is really there. */
struct world {
    struct rip_sample samples[RINGS][SLOTS];
    bool ring_present[RINGS];
    bool present[RINGS][SLOTS];
    uint8_t dead[RINGS][2];
    unsigned liveliness; /* of 100, how many move between two scans */
    unsigned churn;      /* of 1000, how many come or go */
};

static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % bound;
}

static void world_step_slot(struct world *world, uint32_t ring, uint32_t slot)
{
    struct rip_sample *sample = &world->samples[ring][slot];

    if (random_below(1000) < world->churn) {
        if (random_below(3)) /* otherwise it is replaced, perhaps by one of the same progress */
            world->present[ring][slot] = !world->present[ring][slot];
        sample->slot = 3 * slot + slot % 2;
        sample->generation += 2 * random_below(2);
        sample->tid = random_below(1000);
        sample->process = (uint16_t)random_below(3);
    }
    if (random_below(100) < world->liveliness) {
        sample->progress += UINT64_C(1) << random_below(40);
        sample->idle = random_below(4) == 0;
    } else if (random_below(50) == 0) {
        sample->idle = !sample->idle;
    }
}

static void world_step(struct world *world)
{
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        if (random_below(60) == 0)
            world->ring_present[ring] = !world->ring_present[ring];
        if (random_below(100) == 0)
            world->dead[ring][random_below(2)] ^= 1;
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            world_step_slot(world, ring, slot);
    }
}

static void model_emit(struct model *model, enum detector_event_kind kind, uint32_t ring, uint32_t slot,
                       uint64_t credit)
{
    const struct model_id *id = &model->ids[ring][slot];

    model->events[model->event_count++] = (struct detector_event){
        .kind = kind,
        .ring = ring + 1,
        .slot = 3 * slot + slot % 2,
        .generation = id->generation,
        .cause = id->cause,
        .frozen_for_ns = credit - id->frozen_since,
    };
}

static void model_leave(struct model *model, enum detector_event_kind kind, uint32_t ring, uint32_t slot)
{
    if (model->ids[ring][slot].present && model->ids[ring][slot].state == ID_STALLED)
        model_emit(model, kind, ring, slot, model->previous_credit);
}

static void model_suspect(struct model *model, uint32_t ring, uint32_t slot, const struct rip_sample *sample)
{
    const struct model_id *id = &model->ids[ring][slot];

    model->suspects[model->suspect_count++] = (struct detector_suspect){
        .ring = ring + 1,
        .slot = sample->slot,
        .generation = id->generation,
        .tid = sample->tid,
        .process = sample->process,
        .progress = id->progress,
        .frozen_since_ns = id->frozen_since,
        .frozen_for_ns = model->credit - id->frozen_since,
        .frozen_for_max_ns = id->never_moved ? DETECTOR_UNKNOWN_NS : model->now - id->moved_after,
        .threshold_ns = STALL_AFTER,
        .state = id->state,
        .cause = id->cause,
    };
}

static void model_see(struct model *model, uint32_t ring, uint32_t slot, const struct world *world)
{
    const struct rip_sample *sample = &world->samples[ring][slot];
    struct model_id *id = &model->ids[ring][slot];
    const bool dead = sample->process < 2 && world->dead[ring][sample->process];
    const enum id_state state = dead ? ID_DEAD : sample->idle ? ID_IDLE : ID_RUNNING;
    const bool is_new = !id->present || id->generation != sample->generation;

    if (is_new || state != ID_RUNNING || id->state == ID_IDLE || id->state == ID_DEAD ||
        id->progress != sample->progress) {
        model_leave(model, is_new || dead ? DETECTOR_GONE : DETECTOR_MOVED, ring, slot);
        *id = (struct model_id){true,  is_new,    sample->generation, sample->progress, model->credit, model->previous,
                                state, CAUSE_NONE};
    } else if (id->state != ID_RUNNING || model->credit - id->frozen_since >= STALL_AFTER) {
        if (id->state == ID_RUNNING && model->late)
            model->held_back = true;
        else
            model_suspect(model, ring, slot, sample);
    }
}

static void model_scan(struct model *model, uint64_t now, const struct world *world)
{
    model->previous = model->started ? model->now : now;
    model->now = now;
    model->previous_credit = model->credit;
    model->late = 2 * (now - model->previous) > 3 * INTERVAL;
    model->credit += now - model->previous < INTERVAL ? now - model->previous : INTERVAL;
    model->started = true;
    model->held_back = false;
    model->event_count = model->suspect_count = 0;
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            if (world->ring_present[ring] && world->present[ring][slot]) {
                model_see(model, ring, slot, world);
            } else {
                model_leave(model, DETECTOR_GONE, ring, slot);
                model->ids[ring][slot].present = false;
            }
        }
    }
}

static void model_settle(struct model *model, struct detector_suspect *suspect)
{
    const uint32_t ring = suspect->ring - 1, slot = suspect->slot / 3;
    struct model_id *id = &model->ids[ring][slot];
    struct verdict verdict = cause_judge(&suspect->evidence);

    if (!suspect->evidence.examined && id->state != ID_RUNNING)
        verdict = (struct verdict){id->state, id->cause};
    if (verdict.state == ID_STALLED && id->state == ID_STOPPED) {
        id->state = ID_RUNNING;
        id->cause = CAUSE_NONE;
        id->frozen_since = model->credit;
        id->moved_after = model->previous;
        id->never_moved = false;
        return;
    }
    if (verdict.state == ID_STALLED && id->state != ID_STALLED && model->late)
        return;
    if (verdict.state == ID_EXITED && id->state == ID_STALLED)
        model_emit(model, DETECTOR_GONE, ring, slot, model->credit);
    id->cause = verdict.cause;
    if (verdict.state == ID_STALLED && id->state != ID_STALLED)
        model_emit(model, DETECTOR_STALLED, ring, slot, model->credit);
    if (verdict.state == ID_STOPPED && id->state == ID_STALLED)
        model_emit(model, DETECTOR_STOPPED, ring, slot, model->credit);
    id->state = verdict.state;
}

static void feed_ring(struct detector *detector, const struct world *world, uint32_t ring)
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

static void give_evidence(struct detector_suspect *suspects, size_t count)
{
    static const char letters[] = {'S', 'S', 'S', 'T', 'D', 'Z'};

    for (size_t i = 0; i < count; i++)
        suspects[i].evidence = (struct evidence){
            .examined = random_below(3) != 0,
            .thread_state = letters[random_below(sizeof letters)],
            .frozen = random_below(20) == 0,
        };
}

static int compare_events(const void *left, const void *right)
{
    const struct detector_event *a = left, *b = right;
    const uint64_t x = (uint64_t)a->ring << 32 | a->slot, y = (uint64_t)b->ring << 32 | b->slot;

    if (x != y)
        return x < y ? -1 : 1;
    if (a->generation != b->generation)
        return a->generation < b->generation ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

static void compare_known(const struct model *model, const struct detector *detector,
                          const struct detector_update *update)
{
    uint64_t counts[ID_STATE_COUNT] = {0}, due = UINT64_MAX, total = 0;

    for (uint32_t ring = 0; ring < RINGS; ring++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            const struct model_id *id = &model->ids[ring][slot];
            struct detector_id known;

            assert_int_equal(detector_find(detector, ring + 1, 3 * slot + slot % 2, id->generation, &known) == 0,
                             id->present);
            if (!id->present)
                continue;
            counts[id->state]++;
            total++;
            assert_int_equal(known.state, id->state);
            assert_int_equal(known.cause, id->cause);
            assert_int_equal(known.progress, id->progress);
            if (id->state != ID_IDLE) {
                assert_int_equal(known.frozen_since_ns, id->frozen_since);
                assert_true(known.frozen_for_max_ns ==
                            (id->never_moved ? DETECTOR_UNKNOWN_NS : model->now - id->moved_after));
                assert_true(known.frozen_for_max_ns >= known.frozen_for_ns);
            }
            if (id->state == ID_RUNNING && model->credit - id->frozen_since < STALL_AFTER &&
                model->now + STALL_AFTER - (model->credit - id->frozen_since) < due)
                due = model->now + STALL_AFTER - (model->credit - id->frozen_since);
        }
    }
    if (model->held_back || (model->late && due < model->now + INTERVAL / 4))
        due = model->now + INTERVAL / 4;
    assert_true(detector_next_due(detector) == due);
    assert_int_equal(update->id_count, total);
    assert_memory_equal(update->counts, counts, sizeof counts);
}

static void compare_lists(struct model *model, struct detector_update *update)
{
    struct detector_event *events = malloc((update->event_count + 1) * sizeof *events);

    assert_int_equal(update->late, model->late);
    assert_int_equal(update->suspect_count, model->suspect_count);
    assert_int_equal(update->event_count, model->event_count);
    if (update->event_count)
        memcpy(events, update->events, update->event_count * sizeof *events);
    qsort(events, update->event_count, sizeof *events, compare_events);
    qsort(model->events, model->event_count, sizeof *model->events, compare_events);
    for (size_t i = 0; i < model->event_count; i++) {
        assert_int_equal(compare_events(&events[i], &model->events[i]), 0);
        assert_int_equal(events[i].cause, model->events[i].cause);
        assert_int_equal(events[i].frozen_for_ns, model->events[i].frozen_for_ns);
    }
    free(events);
}

static void compare_suspects(const struct detector_suspect *a, const struct detector_suspect *b)
{
    assert_int_equal(a->ring, b->ring);
    assert_int_equal(a->slot, b->slot);
    assert_int_equal(a->generation, b->generation);
    assert_int_equal(a->tid, b->tid);
    assert_int_equal(a->process, b->process);
    assert_int_equal(a->progress, b->progress);
    assert_int_equal(a->frozen_since_ns, b->frozen_since_ns);
    assert_int_equal(a->frozen_for_ns, b->frozen_for_ns);
    assert_true(a->frozen_for_max_ns == b->frozen_for_max_ns);
    assert_int_equal(a->threshold_ns, b->threshold_ns);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->cause, b->cause);
    assert_false(a->evidence.examined);
}

static void scan_both(struct detector *detector, struct model *model, struct world *world, uint64_t now)
{
    struct detector_update update;
    struct detector_suspect *suspects;
    size_t count;

    world_step(world);
    model_scan(model, now, world);
    detector_begin(detector, now);
    for (uint32_t ring = 0; ring < RINGS; ring++)
        if (world->ring_present[ring])
            feed_ring(detector, world, ring);
    suspects = detector_suspects(detector, &count);
    assert_int_equal(count, model->suspect_count);
    for (size_t i = 0; i < count; i++)
        compare_suspects(&suspects[i], &model->suspects[i]);
    give_evidence(suspects, count);
    for (size_t i = 0; i < count; i++)
        model_settle(model, &suspects[i]);
    detector_end(detector, &update);
    compare_lists(model, &update);
    compare_known(model, detector, &update);
}

static void detector_and_model_agree(void **context)
{
    (void)context;
    for (uint32_t seed = 0; seed < WORLDS; seed++) {
        struct detector *detector = detector_make();
        struct model *model = calloc(1, sizeof *model);
        struct world *world = calloc(1, sizeof *world);
        uint64_t now = 0;

        random_state = seed;
        world->liveliness = seed % 10 * 6;
        world->churn = seed % 3 ? 10 : 300;
        for (int i = 0; i < SCANS; i++) {
            now += random_below(30) == 0 ? random_below(5000) : 700 + random_below(500);
            scan_both(detector, model, world, now);
        }
        detector_free(detector);
        free(model);
        free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detector_and_model_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
