/* SPDX-License-Identifier: Apache-2.0 */
/* test_case_incidents.c - episodes with one root are one incident: ripd/cases/incidents.c. */
#include <stdlib.h>
#include <string.h>

#include "cases/incidents.h"
#include "support/test.h"

#define CASES_MAX 8u
#define NOBODY WAITS_NONE

/* Cases of ring 1 in order of slot, as far as the module looks at them; slot and episode are the same number. */
struct scene {
    struct stall_case cases[CASES_MAX];
    struct stall_case *pointers[CASES_MAX];
    size_t count;
    struct waits *waits;
};

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct scene));
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    waits_free(scene->waits);
    free(scene);
    return 0;
}

/* A stall whose begin is published now. */
static void begin(struct scene *scene, uint32_t slot)
{
    struct stall_case *stall = &scene->cases[scene->count];

    *stall = (struct stall_case){.ring = 1, .slot = slot, .generation = 2, .is_suspect = true};
    stall->suspect.state = ID_STALLED;
    stall->episode.stage = EPISODE_OPEN;
    stall->episode.number = slot;
    stall->episode.cause = CAUSE_BLOCKED;
    scene->pointers[scene->count++] = stall;
}

/* Slot i waits for slot next[i]; roots as waits_settle() has them. All are ids that wait, or hold a lock. */
static void wait_as(struct scene *scene, const uint32_t *next, const uint32_t *root, uint32_t count)
{
    uint32_t waiting = 0;

    waits_free(scene->waits);
    scene->waits = waits_new();
    scene->waits->nodes = calloc(count, sizeof(struct waits_node));
    scene->waits->count = count;
    for (uint32_t i = 0; i < count; i++) {
        scene->waits->nodes[i] = (struct waits_node){
            .kind = WAITS_ID, .ring = 1, .slot = i + 1, .generation = 2, .next = next[i], .root = root[i]};
        waiting += next[i] != NOBODY;
    }
    scene->waits->waiting_count = waiting; /* those that wait come first */
}

static void assign(struct scene *scene)
{
    incidents_find_roots(scene->pointers, scene->count, scene->waits);
    assert_int_equal(incidents_assign(scene->pointers, scene->count), 0);
}

static void assert_incidents(const struct scene *scene, const uint64_t *expected)
{
    for (size_t i = 0; i < scene->count; i++)
        assert_int_equal(scene->cases[i].episode.incident, expected[i]);
}

TEST(those_alone_are_by_themselves, set_up, tear_down)
{
    struct scene *scene = *state;

    for (uint32_t slot = 1; slot <= 3; slot++)
        begin(scene, slot);
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 2, 3});
    assert_int_equal(scene->cases[0].episode.waiting_count, 0);
}

/* 1 and 2 wait for 3, which waits for 4; 5 for nobody. The root's own episode names the incident. */
TEST(a_chain, set_up, tear_down)
{
    struct scene *scene = *state;

    for (uint32_t slot = 1; slot <= 5; slot++)
        begin(scene, slot);
    wait_as(scene, (const uint32_t[]){2, 2, 3, NOBODY, NOBODY}, (const uint32_t[]){3, 3, 3, 3, 4}, 5);
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){4, 4, 4, 4, 5});
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(scene->cases[i].episode.waiting_count, 3);
    assert_int_equal(scene->cases[4].episode.waiting_count, 0);
}

/* The root is no stall: the first of those that wait names the incident. */
TEST(a_root_that_is_no_stall, set_up, tear_down)
{
    struct scene *scene = *state;

    begin(scene, 1);
    begin(scene, 2);
    wait_as(scene, (const uint32_t[]){2, 2, NOBODY}, (const uint32_t[]){2, 2, 2}, 3);
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1});
}

/* Another kind of root: a thread that is no id. */
TEST(a_thread_as_root, set_up, tear_down)
{
    struct scene *scene = *state;

    begin(scene, 1);
    begin(scene, 2);
    begin(scene, 3);
    wait_as(scene, (const uint32_t[]){3, 3, 4, NOBODY, NOBODY}, (const uint32_t[]){3, 3, 4, 3, 4}, 5);
    scene->waits->nodes[3].kind = scene->waits->nodes[4].kind = WAITS_THREAD;
    scene->waits->nodes[3].holder = 77;
    scene->waits->nodes[4].holder = 78;
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1, 3});
}

TEST(a_deadlock, set_up, tear_down)
{
    struct scene *scene = *state;

    for (uint32_t slot = 1; slot <= 3; slot++)
        begin(scene, slot);
    wait_as(scene, (const uint32_t[]){1, 0, 1}, (const uint32_t[]){0, 0, 0}, 3); /* 3 hangs on it */
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1, 1});
    assert_int_equal(scene->cases[0].episode.waiting_count, 3);
}

/* Threads 1, 2 and 4 of process 0 and 5 of process 1 wait for others of their process; 3 waits for something else. */
TEST(stuck_processes, set_up, tear_down)
{
    struct scene *scene = *state;

    for (uint32_t slot = 1; slot <= 5; slot++) {
        begin(scene, slot);
        scene->cases[slot - 1].suspect.call = slot == 3 ? RIP_CALL_BLOCK : RIP_CALL_PRIVATE;
    }
    scene->cases[4].suspect.process = 1;
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1, 3, 1, 5});
    assert_int_equal(scene->cases[0].episode.waiting_count, 3);
    assert_int_equal(scene->cases[2].episode.waiting_count, 0);
}

/* Who comes later joins, and changes nothing of those that are there. */
TEST(later_ones_join, set_up, tear_down)
{
    struct scene *scene = *state;

    begin(scene, 1);
    assign(scene);
    begin(scene, 2);
    begin(scene, 3);
    wait_as(scene, (const uint32_t[]){2, 2, NOBODY}, (const uint32_t[]){2, 2, 2}, 3);
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1, 1});
    assert_int_equal(scene->cases[0].episode.waiting_count, 0);
    assert_int_equal(scene->cases[1].episode.waiting_count, 2);
    wait_as(scene, (const uint32_t[]){NOBODY, NOBODY, NOBODY}, (const uint32_t[]){0, 1, 2}, 3);
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1, 1});
}

/* 1 and 2 could not be examined in time, nor could 3 of another process; 4 was, and is alone. */
static void begin_unexamined(struct scene *scene)
{
    for (uint32_t slot = 1; slot <= 4; slot++) {
        begin(scene, slot);
        scene->cases[slot - 1].episode.cause = slot == 4 ? CAUSE_BLOCKED : CAUSE_NONE;
    }
    scene->cases[2].suspect.process = 1;
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1, 3, 4});
}

/* What 1 and 2 are found to wait for then changes nothing, so that 5, which is not examined in time either, joins them;
 * 6 was examined and joins those with its root: of two incidents the older. */
TEST(those_unexamined_are_one_by_process, set_up, tear_down)
{
    struct scene *scene = *state;

    begin_unexamined(scene);
    begin(scene, 5);
    scene->cases[4].episode.cause = CAUSE_NONE;
    begin(scene, 6);
    wait_as(scene, (const uint32_t[]){3, 3, NOBODY, NOBODY, NOBODY, 3}, (const uint32_t[]){3, 3, 2, 3, 4, 3}, 6);
    scene->waits->waiting_count = 6;
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1, 3, 4, 1, 1});
    assert_int_equal(scene->cases[4].episode.waiting_count, 0);
    assert_int_equal(scene->cases[5].episode.waiting_count, 3);
}

/* The holder is found after those who wait for it began; then it stalls as well, and others come. */
TEST(a_holder_that_is_learnt_late, set_up, tear_down)
{
    struct scene *scene = *state;

    begin_unexamined(scene);
    begin(scene, 5);
    begin(scene, 6);
    begin(scene, 7);
    wait_as(scene, (const uint32_t[]){4, 4, NOBODY, NOBODY, NOBODY, 4, NOBODY}, (const uint32_t[]){4, 4, 2, 3, 4, 4, 6},
            7);
    scene->waits->waiting_count = 6;
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 1, 3, 4, 1, 1, 7});
    assert_int_equal(scene->cases[4].episode.waiting_count, 3);
}

/* Its lock is known from its own mark, though nobody has looked at its thread. */
TEST(unexamined_with_a_known_root, set_up, tear_down)
{
    struct scene *scene = *state;

    begin(scene, 1);
    begin(scene, 2);
    scene->cases[0].episode.cause = CAUSE_NONE;
    wait_as(scene, (const uint32_t[]){1, NOBODY}, (const uint32_t[]){1, 1}, 2);
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){2, 2});
}

/* One that is over takes nobody in. */
TEST(nobody_joins_what_is_over, set_up, tear_down)
{
    struct scene *scene = *state;

    begin(scene, 1);
    assign(scene);
    begin(scene, 2);
    wait_as(scene, (const uint32_t[]){1, NOBODY}, (const uint32_t[]){1, 1}, 2);
    scene->cases[0].episode.stage = EPISODE_OVER;
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){1, 2});
}

/* Its begin waits for room: it has no number yet. */
TEST(no_number_no_incident, set_up, tear_down)
{
    struct scene *scene = *state;

    begin(scene, 1);
    begin(scene, 2);
    scene->cases[0].episode.number = 0;
    wait_as(scene, (const uint32_t[]){1, NOBODY}, (const uint32_t[]){1, 1}, 2);
    assign(scene);
    assert_incidents(scene, (const uint64_t[]){0, 2});
    assert_int_equal(scene->cases[1].episode.waiting_count, 1); /* it waits all the same */
}

TEST(first_and_last, set_up, tear_down)
{
    struct incidents incidents = {.count = 0};

    assert_true(incidents_enter(&incidents, 5));
    assert_false(incidents_enter(&incidents, 5));
    assert_true(incidents_enter(&incidents, 3));
    assert_int_equal(incidents.count, 2);
    assert_false(incidents_leave(&incidents, 5));
    assert_true(incidents_leave(&incidents, 5));
    assert_int_equal(incidents.count, 1);
    assert_true(incidents_leave(&incidents, 5)); /* not known: then nothing is kept back */
    assert_true(incidents_leave(&incidents, 3));
    assert_int_equal(incidents.count, 0);
    incidents_done(&incidents);
}

TEST(many, set_up, tear_down)
{
    struct incidents incidents = {.count = 0};

    for (uint64_t number = 1; number <= 10000; number++)
        assert_true(incidents_enter(&incidents, number));
    for (uint64_t number = 1; number <= 10000; number += 2)
        assert_true(incidents_leave(&incidents, number));
    assert_int_equal(incidents.count, 5000);
    assert_true(incidents_enter(&incidents, 1)); /* once more */
    assert_int_equal(incidents.count, 5001);
    for (uint64_t number = 2; number <= 10000; number += 2)
        assert_true(incidents_leave(&incidents, number));
    assert_true(incidents_leave(&incidents, 1));
    assert_int_equal(incidents.count, 0);
    assert_true(incidents.count < 3); /* and memory is used again */
    incidents_done(&incidents);
}
