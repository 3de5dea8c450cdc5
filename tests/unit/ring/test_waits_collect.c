/* SPDX-License-Identifier: Apache-2.0 */
/* test_waits_collect.c - collects the waits of suspects and the holders of locks: ripd/ring/waits_collect.c. */
#include "unit/registry_test.h"

#include <pthread.h>
#include <sys/syscall.h>

#include "cases/snapshot.h"
#include "os/clock.h"
#include "ring/scan.h"
#include "ring/waits_collect.h"
#include "unit/locker.h"
#include "work/jobs.h"

#define SECOND UINT64_C(1000000000)

/* Slot i has the id i + 1 on thread TID + i. */
enum { SLOTS = 300, TID = 5000, SCANS_MAX = 100 };

static struct ring_builder ring;
static struct detector *detector;
static struct work *work;
static struct cases *cases;
static uint64_t sequence;
static struct waits *waits;
static bool without_turn;             /* no suspect is examined */
static struct lock_wait locks[SLOTS]; /* of the memory of each process, by slot */
static struct detector_suspect *suspects;
static size_t suspect_count;
static void (*meanwhile)(void); /* called after the ids were scanned, before their waits are read */

static int set_up(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = SLOTS, .process_capacity = 2};
    const struct detector_config config = {.interval_ns = SECOND, .stall_after_ns = 2 * SECOND};

    scene_open(state);
    scene.now_mono_ns = clock_mono_ns();
    ring_stage_build(&scene.stage, "ring", &geometry, &ring);
    ring_stage_claim(&ring, 0, getpid(), "test");
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        ring_builder_add_id(&ring, slot, slot + 1, TID + slot, 0, "worker");
    assert_int_equal(detector_new(&detector, &config), 0);
    work = work_new();
    assert_non_null(work);
    cases = cases_new(work, 0);
    assert_non_null(cases);
    without_turn = false;
    meanwhile = NULL;
    memset(locks, 0, sizeof(locks));
    return 0;
}

static int tear_down(void **state)
{
    waits_free(waits);
    waits = NULL;
    cases_free(cases);
    work_free(work);
    detector_free(detector);
    ring_stage_release(&ring);
    return scene_close(state);
}

/* Marks a wait that began age_s seconds ago. The holder was read now. */
static void mark(uint32_t slot, uint32_t holder, uint8_t age_s, uint8_t flags)
{
    struct rip_slot *bytes = ring_builder_slot(&ring, slot);

    bytes->wait_address = 4096;
    bytes->wait_owner = holder;
    bytes->wait_flags = flags;
    bytes->wait_age_s = age_s;
    bytes->wait_tag = (uint8_t)bytes->count;
    bytes->idle_mark = clock_mono_ns();
}

/* Slots 200 and 201 wait for each other. */
static void mark_deadlock(void)
{
    mark(200, TID + 201, 3, 0);
    mark(201, TID + 200, 3, 0);
}

static uint32_t user_of(void *context, uint32_t serial)
{
    (void)context;
    return serial;
}

static struct stall_case *case_at(size_t suspect)
{
    const struct detector_suspect *wanted = &suspects[suspect];

    return cases_find(cases, wanted->ring, wanted->slot, wanted->generation);
}

/* One scan. The ids in slots below moving have snapped before it. */
static void scan(uint32_t moving)
{
    struct detector_update update;
    struct waits_source source;
    struct waits *before;

    for (uint32_t slot = 0; slot < moving; slot++)
        ring_builder_snap(&ring, slot, 4096);
    scene_refresh();
    detector_begin(detector, scene.now_mono_ns);
    assert_int_equal(scan_run(scene.registry, detector, NULL), 0);
    suspects = detector_suspects(detector, &suspect_count);
    assert_int_equal(cases_begin(cases, suspects, suspect_count, user_of, NULL), 0);
    for (size_t i = 0; i < suspect_count; i++)
        case_at(i)->lock = locks[suspects[i].slot];
    if (meanwhile != NULL)
        meanwhile();
    before = waits;
    work_begin(work);
    source = (struct waits_source){scene.registry, detector, cases, work, ++sequence, before};
    waits = waits_collect(&source);
    assert_non_null(waits);
    waits_free(before);
    source.before = NULL;
    for (size_t i = 0; i < suspect_count; i++)
        case_at(i)->evidence.examined |= !without_turn;
    cases_judge(cases, suspects, suspect_count);
    detector_end(detector, &update);
    cases_end(cases, &update, scene.now_mono_ns);
    waits_describe(waits, &source);
}

/* From now on the memory of the id in the slot names this holder. */
static void remember(uint32_t slot, uint32_t holder, uint64_t begun_mono_ns)
{
    struct lock_wait *lock = &locks[slot];

    *lock = (struct lock_wait){.holder = {4096, holder, 0}, .until_mono_ns = begun_mono_ns + SECOND};
    for (size_t i = 0; i < LOCK_WAIT_LOOKS; i++)
        lock->looks[i] = (struct lock_wait_look){begun_mono_ns + i * 10, begun_mono_ns + i * 10 + 1};
}

static const struct waits_node *node_of(uint32_t slot)
{
    for (size_t i = 0; i < waits->count; i++)
        if (waits->nodes[i].kind == WAITS_ID && waits->nodes[i].slot == slot)
            return &waits->nodes[i];
    return NULL;
}

static const struct stall_case *case_of(uint32_t slot)
{
    for (size_t i = 0; i < suspect_count; i++)
        if (suspects[i].slot == slot)
            return case_at(i);
    fail_msg("no suspect in slot %u", slot);
    return NULL;
}

static const struct detector_suspect *suspect_of(uint32_t slot)
{
    for (size_t i = 0; i < suspect_count; i++)
        if (suspects[i].slot == slot)
            return &suspects[i];
    return NULL;
}

/* Scans until the condition holds: a busy machine may not find all holders in one scan. */
static void scan_until(bool (*holds)(void))
{
    for (int i = 0; i == 0 || (i < SCANS_MAX && !holds()); i++)
        scan(100);
    assert_true(holds());
}

/* Slots from 100 on become suspects. */
static void freeze(void)
{
    for (int i = 0; i < 5; i++)
        scan(100);
}

/* The holder that the id in the slot waits for. Returns NULL if it is unknown. */
static const struct waits_node *holder_of(uint32_t slot)
{
    const struct waits_node *node = node_of(slot);

    return node != NULL && node->next != WAITS_NONE ? &waits->nodes[node->next] : NULL;
}

static bool slot_200_waits_for_slot_7(void)
{
    const struct waits_node *holder = holder_of(200);

    return holder != NULL && holder->kind == WAITS_ID && holder->slot == 7;
}

TEST(a_holder_that_runs_is_found_and_described, set_up, tear_down)
{
    const struct waits_node *waiting, *holder;

    freeze();
    mark(200, TID + 7, 3, 0);
    mark(201, TID + 7, 3, 0);
    scan_until(slot_200_waits_for_slot_7);
    waiting = node_of(200);
    holder = node_of(7);
    assert_non_null(waiting);
    assert_non_null(holder);
    assert_ptr_equal(&waits->nodes[waiting->next], holder);
    assert_int_equal(holder->id, 8);
    assert_memory_equal(holder->name, "worker", 6);
    assert_true(holder->has_state && holder->state == ID_RUNNING && waiting->state == ID_STALLED);
    assert_string_equal(holder->ring_name, "ring");
    assert_non_null(holder->item);
    assert_int_equal(holder->item->slot, 7);
    assert_null(waiting->item);
    assert_true(case_of(200)->evidence.lock.known && !node_of(200)->certain);
    assert_int_equal(waits_held_by(node_of(200)), TID + 7);
    assert_false(case_of(202)->evidence.lock.known);
}

TEST(a_deadlock_is_a_cause, set_up, tear_down)
{
    freeze();
    mark_deadlock();
    mark(202, TID + 200, 3, 0);
    scan(100);
    assert_true(case_of(200)->evidence.deadlocked && case_of(201)->evidence.deadlocked);
    assert_false(case_of(202)->evidence.deadlocked);
    assert_int_equal(suspect_of(200)->cause, CAUSE_DEADLOCK);
    assert_int_equal(node_of(200)->cause, CAUSE_DEADLOCK);
}

/* A second collection without waits clears what the first one found. */
TEST(a_second_collection_replaces_the_first, set_up, tear_down)
{
    const struct waits_source source = {scene.registry, detector, cases, work, 100, NULL};
    struct waits *second;

    freeze();
    mark_deadlock();
    scan(100);
    assert_true(case_of(200)->evidence.deadlocked);
    ring_builder_slot(&ring, 200)->wait_tag++; /* the marks are invalid now */
    ring_builder_slot(&ring, 201)->wait_tag++;
    second = waits_collect(&source);
    assert_non_null(second);
    assert_int_equal(second->waiting_count, 0);
    assert_false(case_of(200)->evidence.deadlocked || case_of(200)->evidence.lock.known);
    waits_free(second);
}

/* A deadlock of known stalls is reported even if the probe had no time for them in this scan. */
TEST(a_deadlock_needs_no_turn, set_up, tear_down)
{
    freeze();
    without_turn = true;
    mark_deadlock();
    scan(100);
    assert_int_equal(suspect_of(200)->cause, CAUSE_DEADLOCK);
    assert_int_not_equal(suspect_of(202)->cause, CAUSE_DEADLOCK);
}

static bool holders_by_id_are_found(void)
{
    const struct waits_node *by_id = holder_of(200), *untraced = holder_of(205);

    return by_id != NULL && by_id == node_of(250) && untraced != NULL && untraced->tid == (uint32_t)getpid();
}

TEST(holders_by_id, set_up, tear_down)
{
    freeze();
    ring_builder_slot(&ring, 250)->tid = 0;
    mark(200, 251, 3, RIP_WAIT_OWNER_IS_ID); /* slot 250, on no thread */
    mark(203, 99999, 3, RIP_WAIT_OWNER_IS_ID);
    mark(204, 4194303, 3, 0);
    mark(205, (uint32_t)getpid(), 3, 0);
    scan_until(holders_by_id_are_found);
    assert_int_equal(waits->nodes[node_of(203)->next].kind, WAITS_THREAD);
    assert_int_equal(waits->nodes[node_of(203)->next].tid, 0);
    assert_int_equal(waits->nodes[node_of(204)->next].kind, WAITS_THREAD);
    assert_int_equal(waits->nodes[node_of(204)->next].tid, 0); /* there is no such thread */
}

/* The tag matches, but the id was seen to move after the mark was made. */
TEST(a_mark_from_before_the_last_move_is_ignored, set_up, tear_down)
{
    struct rip_slot *slot = ring_builder_slot(&ring, 5);

    scan(100);
    scan(100);
    scene.now_mono_ns += 1; /* slot 5 stands still from here on */
    for (int i = 0; i < 4; i++)
        scan(5);
    mark(5, TID + 7, 0, 0);
    scan(5);
    assert_non_null(node_of(5));
    slot->idle_mark -= 3600 * SECOND;
    scan(5);
    assert_null(node_of(5));
}

TEST(ids_that_move_or_leave_the_wait_are_dropped, set_up, tear_down)
{
    freeze();
    mark(200, TID + 7, 3, 0);
    mark(201, TID + 7, 3, 0);
    scan(100);
    assert_int_equal(waits->waiting_count, 2);
    ring_builder_snap(&ring, 200, 4096);
    ring_builder_slot(&ring, 201)->idle_mark = 0;
    scan(100);
    assert_int_equal(waits->waiting_count, 0);
}

/* Slot 200 enters the same wait again, slot 202 leaves its wait. */
static void two_move(void)
{
    ring_builder_snap(&ring, 200, 4096);
    mark(200, TID + 201, 0, 0);
    ring_builder_snap(&ring, 202, 4096);
}

TEST(ids_that_move_after_the_scan_are_no_suspects, set_up, tear_down)
{
    freeze();
    mark_deadlock();
    remember(202, TID + 7, 100);
    remember(203, TID + 7, 100);
    meanwhile = two_move;
    scan(100);
    assert_int_equal(waits->waiting_count, 2);
    for (size_t i = 0; i < waits->waiting_count; i++)
        assert_int_equal(waits->nodes[i].slot, i == 0 ? 201 : 203);
    assert_int_not_equal(suspect_of(201)->cause, CAUSE_DEADLOCK);
}

static bool memory_names_holders(void)
{
    const struct waits_node *traced = holder_of(202), *untraced = holder_of(203);

    return traced != NULL && traced == node_of(7) && untraced != NULL && untraced->tid == (uint32_t)getpid();
}

/* Without marks. A holder need not be traced, but its thread has to exist. */
TEST(holders_from_memory, set_up, tear_down)
{
    freeze();
    remember(200, TID + 201, 100);
    remember(201, TID + 200, 105);
    remember(202, TID + 7, 100);
    remember(203, (uint32_t)getpid(), 100);
    remember(204, 4194303, 100);
    scan_until(memory_names_holders);
    assert_int_equal(suspect_of(200)->cause, CAUSE_DEADLOCK);
    assert_int_equal(suspect_of(201)->cause, CAUSE_DEADLOCK);
    assert_int_equal(node_of(204)->next, WAITS_NONE);
    assert_true(case_of(202)->evidence.lock.known);
    assert_int_equal(waits_held_by(node_of(202)), TID + 7);
}

static void *report_tid(void *tid)
{
    *(uint32_t *)tid = (uint32_t)syscall(SYS_gettid);
    return NULL;
}

/* Returns the tid of a thread that has ended. No id of the ring has it. */
static uint32_t ended_thread(void)
{
    pthread_t thread;
    char path[64];
    uint32_t tid;

    do {
        assert_int_equal(pthread_create(&thread, NULL, report_tid, &tid), 0);
        pthread_join(thread, NULL);
    } while (tid >= TID && tid < TID + SLOTS);
    snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
    while (access(path, F_OK) == 0)
        usleep(100);
    return tid;
}

/* The holder of slot 200 was certainly gone when it was read. */
static bool holder_is_gone(void)
{
    const struct waits_node *holder = holder_of(200);

    return holder != NULL && holder->kind == WAITS_GONE;
}

/* A read before the end was known proves nothing: the holder may have released the lock before it ended. */
TEST(a_holder_that_has_ended, set_up, tear_down)
{
    const uint32_t tid = ended_thread();
    const struct waits_node *holder;

    freeze();
    remember(200, tid, clock_mono_ns());
    remember(201, tid, clock_mono_ns());
    scan(100);
    assert_int_equal(node_of(200)->next, WAITS_NONE);
    assert_true(node_of(200)->doubted && !node_of(200)->certain);
    for (int i = 0; i < SCANS_MAX && !holder_is_gone(); i++) {
        remember(200, tid, clock_mono_ns());
        scan(100);
    }
    assert_true(holder_is_gone());
    holder = holder_of(200);
    assert_true(holder->tid == tid && !holder->has_state);
    assert_string_equal(holder->ring_name, "ring");
    assert_true(node_of(200)->certain && !case_of(200)->evidence.deadlocked);
    assert_int_equal(suspect_of(200)->cause, node_of(200)->cause);
    assert_int_equal(node_of(201)->next, WAITS_NONE);
    scan(100); /* while the wait lasts */
    assert_int_equal(waits->nodes[node_of(200)->next].kind, WAITS_GONE);
}

static bool a_shared_holder_is_found(void)
{
    return holder_of(200) != NULL;
}

/* A search for the holder of a shared lock takes a turn of its user, like every other search. */
TEST(shared_locks_take_turns, set_up, tear_down)
{
    const pid_t pid = locker_start(&scene.stage, "ring", &ring, 1, 0, NULL);

    ring_builder_slot(&ring, 200)->process = 1;
    freeze();
    mark(200, (uint32_t)pid, 3, RIP_WAIT_SHARED);
    scan_until(a_shared_holder_is_found);
    work_pause(work, geteuid(), UINT64_MAX);
    scan(100);
    assert_non_null(node_of(200));
    assert_null(holder_of(200));
    ring_stage_end(pid);
}

TEST(no_user_can_fill_the_graph, set_up, tear_down)
{
    size_t count = 0;

    while (work_take(work, 7, WORK_WAITS, 1))
        count++;
    assert_true(count < WAITS_NODES_MAX && work_take(work, 8, WORK_WAITS, 1));
}
