/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_users.c - quotas of rings, address space and time: ripd/ring/registry.c, processes.c, host.c. */
#include "unit/registry_test.h"

#include "ring/host.h"
#include "ring/processes.h"
#include "unit/work_test.h"

enum { RECORDS = 200, STRANGER = 65534, NO_TIME_NS = 1 /* one record per user and refresh, which is the minimum */ };

static struct work *work; /* NULL: the registry has its own */

static void watch(uint64_t judging_ns)
{
    scene_options(&(struct registry_options){.judging_ns = judging_ns, .work = work});
}

static int open_with_work(void **state)
{
    scene_open(state);
    work = work_new();
    assert_non_null(work);
    watch(0);
    return 0;
}

static int close_with_work(void **state)
{
    scene_close(state);
    work_free(work);
    work = NULL;
    return 0;
}

/* Makes a ring with count records that all claim pid. */
static void make_records(const char *name, pid_t pid, uint32_t count, uid_t owner)
{
    const struct ring_geometry geometry = {.slot_capacity = 64, .process_capacity = 1024};
    struct ring_builder ring;

    ring_stage_build(&scene.stage, name, &geometry, &ring);
    for (uint32_t i = 0; i < count; i++)
        ring_stage_claim(&ring, i, pid, "test");
    ring_stage_release(&ring);
    if (owner != geteuid())
        give_file(name, owner);
}

static size_t look_count(const char *name)
{
    const struct ring *ring = ring_named(name);
    size_t count = 0;

    assert_non_null(ring);
    for (size_t i = 0; i < ring->process_count; i++)
        count += ring->processes[i].looked_at;
    return count;
}

SCENE(every_record_has_a_turn)
{
    struct ring *ring;

    make_records("ring", getpid(), RECORDS, geteuid());
    watch(NO_TIME_NS);
    for (size_t i = 1; i <= RECORDS; i++) {
        scene_refresh();
        assert_int_equal(look_count("ring"), i);
        assert_true(processes_live(ring_named("ring"))); /* also while its processes are unknown */
    }
    assert_int_equal(registry_health(scene.registry)->limit_counts[HEALTH_LIMIT_JUDGEMENTS],
                     RECORDS / HEALTH_PATIENCE_SCANS);
    assert_int_equal(scene.noticed[NOTICE_LIMIT], 1);
    ring = ring_named("ring");
    for (size_t i = 0; i < RECORDS; i++)
        assert_int_equal(ring->processes[i].verdict, PROCESS_ALIVE);
}

SCENE(rings_of_one_owner_take_turns)
{
    make_records("a", getpid(), RECORDS, geteuid());
    watch(NO_TIME_NS);
    scene_refresh();
    make_records("b", getpid(), 1, geteuid());
    for (int i = 0; i < 4 && (ring_named("b") == NULL || look_count("b") == 0); i++)
        scene_refresh();
    assert_int_equal(look_count("b"), 1);
    assert_in_range(look_count("a"), 1, 5);
}

SCENE(another_user_does_not_delay_mine)
{
    pid_t pid;

    need_root();
    for (char name[] = "a"; *name < 'i'; ++*name)
        make_records(name, 1, RECORDS, STRANGER);
    pid = ring_stage_start(NULL, NULL, NULL);
    make_records("mine", pid, 1, 0);
    watch(NO_TIME_NS);
    scene_refresh();
    assert_int_equal(ring_named("mine")->processes[0].verdict, PROCESS_ALIVE);
    ring_stage_end(pid);
    scene_refresh();
    scene_refresh();
    assert_int_equal(ring_named("mine")->processes[0].verdict, PROCESS_DEAD);
}

SCENE(facts_without_modules_when_time_is_spent)
{
    struct process_facts *facts;

    make_records("ring", getpid(), 1, geteuid());
    watch(NO_TIME_NS);
    scene_refresh();
    facts = registry_process_facts(scene.registry, ring_named("ring"), 0);
    assert_true(facts->without_modules);
    process_facts_unref(facts);
}

SCENE(a_removed_ring_that_names_another_users_process)
{
    need_root();
    make_records("ring", 1, 1, STRANGER);
    scene_refresh();
    assert_int_equal(ring_count(), 1);
    remove_file("ring");
    scene_refresh();
    scene_refresh();
    assert_int_equal(ring_count(), 0);
    assert_int_equal(scene.noticed[NOTICE_RING_GONE], 1);
}

/* Makes a ring of which only the header and the summary have pages. */
static void make_sparse(const char *name, uint32_t capacity, uid_t owner)
{
    const struct ring_geometry geometry = {.slot_capacity = capacity};
    struct ring_builder ring;

    ring_stage_build(&scene.stage, name, &geometry, &ring);
    ring_stage_release(&ring);
    give_file(name, owner);
}

static size_t rings_of(uid_t owner)
{
    size_t count, owned = 0;
    struct ring **rings = registry_rings(scene.registry, &count);

    for (size_t i = 0; i < count; i++)
        owned += rings[i]->mapping.file.uid == owner;
    return owned;
}

/* Files of a few pages that claim 24 GB each use up the address space of their user only. */
TEST(sparse_files_use_up_address_space, open_with_work, close_with_work)
{
    char name[16];

    need_root();
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "sparse-%d", i);
        make_sparse(name, RIP_CAPACITY_MAX, STRANGER);
    }
    scene_refresh();
    assert_in_range(rings_of(STRANGER), 1, 4);
    assert_true(work_held(work, STRANGER, WORK_MAPPED_BYTES) <= REGISTRY_MAPPED_BYTES / 2 + 1);
    assert_true(work_refused_count(work, WORK_MAPPED_BYTES) >= 96);
    make_ring("mine", true);
    make_sparse("also mine", RIP_CAPACITY_MAX, 0);
    /* On a busy machine a refresh may run out of time. */
    for (int i = 0; i < 20 && (ring_named("mine") == NULL || ring_named("also mine") == NULL); i++)
        scene_refresh();
    assert_non_null(ring_named("mine"));
    assert_non_null(ring_named("also mine"));
    assert_int_equal(work_held(work, 0, WORK_RINGS), 2);
    remove_file("also mine");
    scene_refresh();
    scene_refresh();
    assert_int_equal(work_held(work, 0, WORK_RINGS), 1);
    assert_int_equal(work_held(work, 0, WORK_MAPPED_BYTES), ring_named("mine")->mapping.size_bytes);
}

/* If too little is free for another user, the user who holds most loses its largest ring, not its newest. */
TEST(the_largest_mapping_gives_way, open_with_work, close_with_work)
{
    need_root();
    make_sparse("large", 1 << 20, STRANGER);
    make_sparse("medium", 1 << 19, STRANGER);
    scene_refresh();
    make_sparse("small", 64, STRANGER);
    scene_refresh();
    assert_int_equal(rings_of(STRANGER), 3);
    work_set_total(work, WORK_MAPPED_BYTES, work_held(work, STRANGER, WORK_MAPPED_BYTES) + 1000000);
    make_sparse("mine", 1 << 18, 0);
    scene_refresh();
    assert_non_null(ring_named("mine"));
    assert_null(ring_named("large"));
    assert_non_null(ring_named("medium"));
    assert_non_null(ring_named("small"));
    assert_int_equal(work_held(work, STRANGER, WORK_RINGS), 2);
    for (int i = 0; i < 3; i++) { /* this is stable */
        scene_rescan();
        assert_non_null(ring_named("mine"));
        assert_int_equal(rings_of(STRANGER), 2);
    }
}

/* The uids of a subordinate range count as one user, who cannot keep out rings of other users. */
TEST(rings_of_a_subordinate_range, open_with_work, close_with_work)
{
    const struct uid_range range = {.first = 100000, .count = 65536, .user = STRANGER};
    char name[16];

    need_root();
    assert_int_equal(work_set_ranges(work, &range, 1), 0);
    work_set_total(work, WORK_RINGS, 20);
    for (uint32_t i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "many-%u", i);
        make_sparse(name, 64, 100000 + i);
    }
    scene_refresh();
    assert_int_equal(ring_count(), 10);
    assert_int_equal(work_held(work, STRANGER, WORK_RINGS), 10);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "mine-%d", i);
        make_ring(name, true);
        scene_refresh();
        assert_non_null(ring_named(name));
    }
    assert_true(work_refused_count(work, WORK_RINGS) >= 20);
}

/* A ring whose file gets another owner is charged to the new owner. */
TEST(a_ring_that_is_given_away, open_with_work, close_with_work)
{
    need_root();
    make_ring("ring", true);
    scene_refresh();
    assert_int_equal(work_held(work, 0, WORK_RINGS), 1);
    give_file("ring", STRANGER);
    scene_refresh();
    assert_int_equal(ring_count(), 1);
    assert_int_equal(work_held(work, 0, WORK_RINGS), 0);
    assert_int_equal(work_held(work, 0, WORK_MAPPED_BYTES), 0);
    assert_int_equal(work_held(work, STRANGER, WORK_RINGS), 1);
}

/* Time that is not for records, for example for listing threads. */
TEST(time_is_left_for_the_next_user, open_with_work, close_with_work)
{
    struct ring_host *host;

    watch(REGISTRY_JUDGING_NS);
    host = registry_host(scene.registry);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(host_grant(host, 1, WORK_PROCESS_TIME, REGISTRY_JUDGING_NS), REGISTRY_JUDGING_NS);
        host_use(host, 1, WORK_PROCESS_TIME, 2 * REGISTRY_JUDGING_NS); /* longer than granted */
        assert_int_equal(host_grant(host, 1, WORK_PROCESS_TIME, REGISTRY_JUDGING_NS), 0);
        assert_in_range(host_grant(host, 2, WORK_PROCESS_TIME, UINT64_MAX), REGISTRY_JUDGING_NS / 4,
                        REGISTRY_JUDGING_NS / 2);
        scene_refresh();
    }
    assert_int_equal(work_refused_count(work, WORK_PROCESS_TIME), 2);
}
