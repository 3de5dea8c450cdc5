/* SPDX-License-Identifier: Apache-2.0 */
/* test_waits_collect.c - what suspects say of their waits in real ring files, and who holds the locks there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases/snapshot.h"
#include "os/clock.h"
#include "os/sigbus.h"
#include "ring/scan.h"
#include "ring/waits_collect.h"
#include "support/ring_stage.h"
#include "support/test.h"
#include "work/jobs.h"

#define SECOND UINT64_C(1000000000)

enum { SLOTS = 300, TID = 5000, SCANS_MAX = 100 };

struct fixture {
    struct ring_stage stage;
    struct ring_builder ring;
    struct registry *registry;
    struct detector *detector;
    struct work *work;
    struct cases *cases;
    uint64_t sequence;
    uint64_t now_mono_ns;
    struct waits *waits;
    bool without_turn; /* nobody is examined */
    struct lock_wait locks[SLOTS];
    struct detector_suspect *suspects;
    size_t suspect_count;
    void (*meanwhile)(struct fixture *fixture); /* happens after the ids were scanned, before their waits are read */
};

static int set_up(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = SLOTS, .process_capacity = 2};
    const struct detector_config config = {.interval_ns = SECOND, .stall_after_ns = 2 * SECOND};
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const char *directories[1];
    struct registry_options options = {.directories = directories, .directory_count = 1, .proc_path = "/proc"};

    assert_non_null(fixture);
    ring_stage_open(&fixture->stage);
    directories[0] = fixture->stage.directory;
    ring_stage_build(&fixture->stage, "ring", &geometry, &fixture->ring);
    ring_builder_add_process(&fixture->ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring_builder_process(&fixture->ring, 0)->flags = 0;
    ring_builder_process(&fixture->ring, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        ring_builder_add_id(&fixture->ring, slot, slot + 1, TID + slot, 0, "worker");
    assert_int_equal(registry_new(&fixture->registry, &options), 0);
    assert_int_equal(detector_new(&fixture->detector, &config), 0);
    fixture->work = work_new();
    assert_non_null(fixture->work);
    fixture->cases = cases_new(fixture->work, 0);
    assert_non_null(fixture->cases);
    fixture->now_mono_ns = clock_mono_ns();
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    waits_free(fixture->waits);
    cases_free(fixture->cases);
    work_free(fixture->work);
    registry_free(fixture->registry);
    detector_free(fixture->detector);
    ring_stage_release(&fixture->ring);
    ring_stage_close(&fixture->stage);
    free(fixture);
    return 0;
}

/* The wait began so many seconds ago, and its owner was read now. */
static void mark(struct fixture *fixture, uint32_t slot, uint32_t owner, uint8_t age_s, uint8_t flags)
{
    struct rip_slot *bytes = ring_builder_slot(&fixture->ring, slot);

    bytes->wait_address = 4096;
    bytes->wait_owner = owner;
    bytes->wait_flags = flags;
    bytes->wait_age_s = age_s;
    bytes->wait_tag = (uint8_t)bytes->count;
    bytes->idle_mark = clock_mono_ns();
}

static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring;
}

/* The case of a suspect of this scan. */
static struct stall_case *case_at(const struct fixture *fixture, size_t suspect)
{
    const struct detector_suspect *wanted = &fixture->suspects[suspect];

    return cases_find(fixture->cases, wanted->ring, wanted->slot, wanted->generation);
}

/* One scan; those in slots [0, moving) have snapped before it. */
static void scan(struct fixture *fixture, uint32_t moving)
{
    struct detector_update update;
    struct waits_source source;
    struct waits *before;

    for (uint32_t slot = 0; slot < moving; slot++)
        ring_builder_snap(&fixture->ring, slot, 4096);
    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    fixture->now_mono_ns += SECOND;
    registry_refresh(fixture->registry, fixture->now_mono_ns);
    detector_begin(fixture->detector, fixture->now_mono_ns);
    assert_int_equal(scan_run(fixture->registry, fixture->detector, NULL), 0);
    fixture->suspects = detector_suspects(fixture->detector, &fixture->suspect_count);
    assert_int_equal(cases_begin(fixture->cases, fixture->suspects, fixture->suspect_count, user_of, NULL), 0);
    for (size_t i = 0; i < fixture->suspect_count; i++)
        case_at(fixture, i)->lock = fixture->locks[fixture->suspects[i].slot];
    if (fixture->meanwhile != NULL)
        fixture->meanwhile(fixture);
    before = fixture->waits;
    work_begin(fixture->work);
    source = (struct waits_source){fixture->registry, fixture->detector,   fixture->cases,
                                   fixture->work,     ++fixture->sequence, before};
    fixture->waits = waits_collect(&source);
    assert_non_null(fixture->waits);
    waits_free(before);
    source.before = NULL;
    for (size_t i = 0; i < fixture->suspect_count; i++)
        case_at(fixture, i)->evidence.examined |= !fixture->without_turn;
    cases_judge(fixture->cases, fixture->suspects, fixture->suspect_count);
    detector_end(fixture->detector, &update);
    cases_end(fixture->cases, &update, fixture->now_mono_ns);
    waits_describe(fixture->waits, &source);
}

/* What the memory of the one in a slot says from now on. */
static void remember(struct fixture *fixture, uint32_t slot, uint32_t owner, uint64_t begun_mono_ns)
{
    struct lock_wait *lock = &fixture->locks[slot];

    *lock = (struct lock_wait){.holder = {4096, owner, 0}, .until_mono_ns = begun_mono_ns + SECOND};
    for (size_t i = 0; i < LOCK_WAIT_LOOKS; i++)
        lock->looks[i] = (struct lock_wait_look){begun_mono_ns + i * 10, begun_mono_ns + i * 10 + 1};
}

static const struct waits_node *node_of(const struct fixture *fixture, uint32_t slot)
{
    for (size_t i = 0; i < fixture->waits->count; i++)
        if (fixture->waits->nodes[i].kind == WAITS_ID && fixture->waits->nodes[i].slot == slot)
            return &fixture->waits->nodes[i];
    return NULL;
}

static const struct stall_case *case_of(const struct fixture *fixture, uint32_t slot)
{
    for (size_t i = 0; i < fixture->suspect_count; i++)
        if (fixture->suspects[i].slot == slot)
            return case_at(fixture, i);
    fail_msg("no suspect in slot %u", slot);
    return NULL;
}

static const struct detector_suspect *suspect_of(const struct fixture *fixture, uint32_t slot)
{
    for (size_t i = 0; i < fixture->suspect_count; i++)
        if (fixture->suspects[i].slot == slot)
            return &fixture->suspects[i];
    return NULL;
}

/* Scans until then: on a busy machine there is not always time for all holders. */
static void scan_until(struct fixture *fixture, bool (*holds)(const struct fixture *fixture))
{
    for (int i = 0; i == 0 || (i < SCANS_MAX && !holds(fixture)); i++)
        scan(fixture, 100);
    assert_true(holds(fixture));
}

/* Slots from 100 on stand still. */
static void freeze(struct fixture *fixture)
{
    for (int i = 0; i < 5; i++)
        scan(fixture, 100);
}

/* Who holds up the one in a slot; NULL: nobody is known. */
static const struct waits_node *holder_of(const struct fixture *fixture, uint32_t slot)
{
    const struct waits_node *node = node_of(fixture, slot);

    return node != NULL && node->next != WAITS_NONE ? &fixture->waits->nodes[node->next] : NULL;
}

static bool slot_7_holds_up_200(const struct fixture *fixture)
{
    const struct waits_node *holder = holder_of(fixture, 200);

    return holder != NULL && holder->kind == WAITS_ID && holder->slot == 7;
}

TEST(a_holder_that_runs_is_found_and_described, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct waits_node *waiting, *holder;

    freeze(fixture);
    mark(fixture, 200, TID + 7, 3, 0);
    mark(fixture, 201, TID + 7, 3, 0);
    scan_until(fixture, slot_7_holds_up_200);
    waiting = node_of(fixture, 200);
    holder = node_of(fixture, 7);
    assert_non_null(waiting);
    assert_non_null(holder);
    assert_ptr_equal(&fixture->waits->nodes[waiting->next], holder);
    assert_int_equal(holder->id, 8);
    assert_memory_equal(holder->name, "worker", 6);
    assert_true(holder->has_state && holder->state == ID_RUNNING && waiting->state == ID_STALLED);
    assert_string_equal(holder->ring_name, "ring");
    assert_non_null(holder->item);
    assert_int_equal(holder->item->slot, 7);
    assert_null(waiting->item);
    assert_true(case_of(fixture, 200)->evidence.lock.known && !node_of(fixture, 200)->certain);
    assert_int_equal(waits_held_by(node_of(fixture, 200)), TID + 7);
    assert_false(case_of(fixture, 202)->evidence.lock.known);
}

TEST(a_deadlock_is_a_cause, set_up, tear_down)
{
    struct fixture *fixture = *state;

    freeze(fixture);
    mark(fixture, 200, TID + 201, 3, 0);
    mark(fixture, 201, TID + 200, 3, 0);
    mark(fixture, 202, TID + 200, 3, 0);
    scan(fixture, 100);
    assert_true(case_of(fixture, 200)->evidence.deadlocked && case_of(fixture, 201)->evidence.deadlocked);
    assert_false(case_of(fixture, 202)->evidence.deadlocked);
    assert_int_equal(suspect_of(fixture, 200)->cause, CAUSE_DEADLOCK);
    assert_int_equal(node_of(fixture, 200)->cause, CAUSE_DEADLOCK);
}

/* A second look at the same suspects that finds nobody in a wait takes back what the first one found. */
TEST(a_second_look_replaces_the_first, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct waits_source source = {fixture->registry, fixture->detector, fixture->cases, fixture->work, 100, NULL};
    struct waits *second;

    freeze(fixture);
    mark(fixture, 200, TID + 201, 3, 0);
    mark(fixture, 201, TID + 200, 3, 0);
    scan(fixture, 100);
    assert_true(case_of(fixture, 200)->evidence.deadlocked);
    ring_builder_slot(&fixture->ring, 200)->wait_tag++; /* their marks are not valid any more */
    ring_builder_slot(&fixture->ring, 201)->wait_tag++;
    second = waits_collect(&source);
    assert_non_null(second);
    assert_int_equal(second->waiting_count, 0);
    assert_false(case_of(fixture, 200)->evidence.deadlocked || case_of(fixture, 200)->evidence.lock.known);
    waits_free(second);
}

/* A deadlock of known stalls is reported even on a scan on which the probe has no time for them. */
TEST(a_deadlock_needs_no_turn, set_up, tear_down)
{
    struct fixture *fixture = *state;

    freeze(fixture);
    fixture->without_turn = true;
    mark(fixture, 200, TID + 201, 3, 0);
    mark(fixture, 201, TID + 200, 3, 0);
    scan(fixture, 100);
    assert_int_equal(suspect_of(fixture, 200)->cause, CAUSE_DEADLOCK);
    assert_int_not_equal(suspect_of(fixture, 202)->cause, CAUSE_DEADLOCK);
}

static bool holders_by_id_are_found(const struct fixture *fixture)
{
    const struct waits_node *by_id = holder_of(fixture, 200), *untraced = holder_of(fixture, 205);

    return by_id != NULL && by_id == node_of(fixture, 250) && untraced != NULL && untraced->tid == (uint32_t)getpid();
}

TEST(holders_by_id, set_up, tear_down)
{
    struct fixture *fixture = *state;

    freeze(fixture);
    ring_builder_slot(&fixture->ring, 250)->tid = 0;
    mark(fixture, 200, 251, 3, RIP_WAIT_OWNER_IS_ID); /* of slot 250, on no thread */
    mark(fixture, 203, 99999, 3, RIP_WAIT_OWNER_IS_ID);
    mark(fixture, 204, 4194303, 3, 0);
    mark(fixture, 205, (uint32_t)getpid(), 3, 0);
    scan_until(fixture, holders_by_id_are_found);
    assert_int_equal(fixture->waits->nodes[node_of(fixture, 203)->next].kind, WAITS_THREAD);
    assert_int_equal(fixture->waits->nodes[node_of(fixture, 203)->next].tid, 0);
    assert_int_equal(fixture->waits->nodes[node_of(fixture, 204)->next].kind, WAITS_THREAD);
    assert_int_equal(fixture->waits->nodes[node_of(fixture, 204)->next].tid, 0); /* there is no such thread */
}

/* It fits by its tag, and by nothing else: the id has been seen to move since it was made. */
TEST(a_mark_from_before_the_last_move_is_none, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct rip_slot *slot = ring_builder_slot(&fixture->ring, 5);

    scan(fixture, 100);
    scan(fixture, 100);
    fixture->now_mono_ns += 1; /* slot 5 stands still from here on */
    for (int i = 0; i < 4; i++)
        scan(fixture, 5);
    mark(fixture, 5, TID + 7, 0, 0);
    scan(fixture, 5);
    assert_non_null(node_of(fixture, 5));
    slot->idle_mark -= 3600 * SECOND;
    scan(fixture, 5);
    assert_null(node_of(fixture, 5));
}

TEST(who_moves_or_ends_waits_no_more, set_up, tear_down)
{
    struct fixture *fixture = *state;

    freeze(fixture);
    mark(fixture, 200, TID + 7, 3, 0);
    mark(fixture, 201, TID + 7, 3, 0);
    scan(fixture, 100);
    assert_int_equal(fixture->waits->waiting_count, 2);
    ring_builder_snap(&fixture->ring, 200, 4096);
    ring_builder_slot(&fixture->ring, 201)->idle_mark = 0;
    scan(fixture, 100);
    assert_int_equal(fixture->waits->waiting_count, 0);
}

/* One goes into the same wait again, the other leaves what its memory said. */
static void two_move(struct fixture *fixture)
{
    ring_builder_snap(&fixture->ring, 200, 4096);
    mark(fixture, 200, TID + 201, 0, 0);
    ring_builder_snap(&fixture->ring, 202, 4096);
}

TEST(who_moves_after_the_scan_is_no_suspect, set_up, tear_down)
{
    struct fixture *fixture = *state;

    freeze(fixture);
    mark(fixture, 200, TID + 201, 3, 0);
    mark(fixture, 201, TID + 200, 3, 0);
    remember(fixture, 202, TID + 7, 100);
    remember(fixture, 203, TID + 7, 100);
    fixture->meanwhile = two_move;
    scan(fixture, 100);
    assert_int_equal(fixture->waits->waiting_count, 2);
    for (size_t i = 0; i < fixture->waits->waiting_count; i++)
        assert_int_equal(fixture->waits->nodes[i].slot, i == 0 ? 201 : 203);
    assert_int_not_equal(suspect_of(fixture, 201)->cause, CAUSE_DEADLOCK);
}

static bool memory_names_holders(const struct fixture *fixture)
{
    const struct waits_node *traced = holder_of(fixture, 202), *untraced = holder_of(fixture, 203);

    return traced != NULL && traced == node_of(fixture, 7) && untraced != NULL && untraced->tid == (uint32_t)getpid();
}

/* Without any mark. An owner need not be traced, but it has to be. */
TEST(what_memory_says, set_up, tear_down)
{
    struct fixture *fixture = *state;

    freeze(fixture);
    remember(fixture, 200, TID + 201, 100);
    remember(fixture, 201, TID + 200, 105);
    remember(fixture, 202, TID + 7, 100);
    remember(fixture, 203, (uint32_t)getpid(), 100);
    remember(fixture, 204, 4194303, 100);
    scan_until(fixture, memory_names_holders);
    assert_int_equal(suspect_of(fixture, 200)->cause, CAUSE_DEADLOCK);
    assert_int_equal(suspect_of(fixture, 201)->cause, CAUSE_DEADLOCK);
    assert_int_equal(node_of(fixture, 204)->next, WAITS_NONE);
    assert_true(case_of(fixture, 202)->evidence.lock.known);
    assert_int_equal(waits_held_by(node_of(fixture, 202)), TID + 7);
}

static void *say_tid(void *tid)
{
    *(uint32_t *)tid = (uint32_t)syscall(SYS_gettid);
    return NULL;
}

/* Of another number than those that the ids of the ring have. */
static uint32_t ended_thread(void)
{
    pthread_t thread;
    char path[64];
    uint32_t tid;

    do {
        assert_int_equal(pthread_create(&thread, NULL, say_tid, &tid), 0);
        pthread_join(thread, NULL);
    } while (tid >= TID && tid < TID + SLOTS);
    snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
    while (access(path, F_OK) == 0)
        usleep(100);
    return tid;
}

/* It is certain that it was gone when it was read as the holder of slot 200. */
static bool holder_is_gone(const struct fixture *fixture)
{
    const struct waits_node *holder = holder_of(fixture, 200);

    return holder != NULL && holder->kind == WAITS_GONE;
}

/* What was read before anybody knew says nothing: then it may have let go before it ended. */
TEST(an_owner_that_has_ended, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const uint32_t tid = ended_thread();
    const struct waits_node *holder;

    freeze(fixture);
    remember(fixture, 200, tid, clock_mono_ns());
    remember(fixture, 201, tid, clock_mono_ns());
    scan(fixture, 100);
    assert_int_equal(node_of(fixture, 200)->next, WAITS_NONE);
    assert_true(node_of(fixture, 200)->doubted && !node_of(fixture, 200)->certain);
    for (int i = 0; i < SCANS_MAX && !holder_is_gone(fixture); i++) {
        remember(fixture, 200, tid, clock_mono_ns());
        scan(fixture, 100);
    }
    assert_true(holder_is_gone(fixture));
    holder = holder_of(fixture, 200);
    assert_true(holder->tid == tid && !holder->has_state);
    assert_string_equal(holder->ring_name, "ring");
    assert_true(node_of(fixture, 200)->certain && !case_of(fixture, 200)->evidence.deadlocked);
    assert_int_equal(suspect_of(fixture, 200)->cause, node_of(fixture, 200)->cause);
    assert_int_equal(node_of(fixture, 201)->next, WAITS_NONE);
    scan(fixture, 100); /* as long as it lasts */
    assert_int_equal(fixture->waits->nodes[node_of(fixture, 200)->next].kind, WAITS_GONE);
}
