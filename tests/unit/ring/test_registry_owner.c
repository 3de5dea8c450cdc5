/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_owner.c - time for process records, shared by owners and rings: ripd/ring/registry_owner.c. */
#include "unit/registry_test.h"

#include "ring/registry_state.h"

enum { RECORDS = 200 };

/* A registry that has time for one record per owner and refresh. */
static void watch_without_time(struct scene *scene)
{
    const char *directories[] = {scene->stage.directory};
    struct registry_options options = {directories, 1, "/proc", "/sys/fs/cgroup", 1, {{0, 0}}};

    scene_options(scene, &options);
}

/* A ring of records that all claim to be of pid; made elsewhere and renamed, so that it is found complete. */
static void make_records(struct scene *scene, const char *name, pid_t pid, uint32_t count, uid_t owner)
{
    const struct ring_geometry geometry = {.slot_capacity = 64, .process_capacity = 1024};
    struct ring_builder ring;

    ring_stage_build(&scene->stage, name, &geometry, &ring);
    for (uint32_t i = 0; i < count; i++) {
        ring_builder_add_process(&ring, i, (uint32_t)pid, ring_stage_start_time(pid), "test");
        ring_builder_process(&ring, i)->flags = 0;
        ring_builder_process(&ring, i)->pid_namespace = ring_stage_pid_namespace();
    }
    ring_stage_release(&ring);
    if (owner != geteuid())
        assert_int_equal(chown(ring_stage_path(&scene->stage, name), owner, (gid_t)-1), 0);
}

static size_t looked_at(struct scene *scene, const char *name)
{
    const struct ring *ring = ring_named(scene, name);
    size_t count = 0;

    assert_non_null(ring);
    for (size_t i = 0; i < ring->process_count; i++)
        count += ring->processes[i].looked_at;
    return count;
}

static void test_every_record_has_its_turn(void **state)
{
    struct scene *scene = *state;
    struct ring *ring;

    make_records(scene, "ring", getpid(), RECORDS, geteuid());
    watch_without_time(scene);
    for (size_t i = 1; i <= RECORDS; i++) {
        scene_refresh(scene);
        assert_int_equal(looked_at(scene, "ring"), i);
        assert_true(registry_ring_lives(ring_named(scene, "ring"))); /* also while nothing is known */
    }
    assert_int_equal(registry_counters(scene->registry)->judgements_put_off, RECORDS);
    assert_int_equal(scene->noticed[NOTICE_LIMIT], 1);
    ring = ring_named(scene, "ring");
    for (size_t i = 0; i < RECORDS; i++)
        assert_int_equal(ring->processes[i].verdict, PROCESS_ALIVE);
}

static void test_rings_of_one_owner_take_turns(void **state)
{
    struct scene *scene = *state;

    make_records(scene, "a", getpid(), RECORDS, geteuid());
    watch_without_time(scene);
    scene_refresh(scene);
    make_records(scene, "b", getpid(), 1, geteuid());
    for (int i = 0; i < 4 && (ring_named(scene, "b") == NULL || looked_at(scene, "b") == 0); i++)
        scene_refresh(scene);
    assert_int_equal(looked_at(scene, "b"), 1);
    assert_in_range(looked_at(scene, "a"), 1, 5);
}

static void sleep_on(void *context)
{
    (void)context;
}

static void test_an_owner_has_a_share_of_its_own(void **state)
{
    struct scene *scene = *state;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    for (char name[] = "a"; *name < 'i'; ++*name)
        make_records(scene, name, 1, RECORDS, 65534);
    pid = ring_stage_start(sleep_on, NULL, NULL);
    make_records(scene, "mine", pid, 1, 0);
    watch_without_time(scene);
    scene_refresh(scene);
    assert_int_equal(ring_named(scene, "mine")->processes[0].verdict, PROCESS_ALIVE);
    ring_stage_end(pid);
    scene_refresh(scene);
    scene_refresh(scene);
    assert_int_equal(ring_named(scene, "mine")->processes[0].verdict, PROCESS_DEAD);
}

static void test_facts_without_modules_when_time_is_spent(void **state)
{
    struct scene *scene = *state;
    struct process_facts *facts;
    struct ring *ring;

    make_records(scene, "ring", getpid(), 1, geteuid());
    watch_without_time(scene);
    scene_refresh(scene);
    ring = ring_named(scene, "ring");
    facts = registry_process_facts(scene->registry, ring, 0);
    assert_true(facts->without_modules);
    assert_null(ring->processes[0].facts);
    process_facts_unref(facts);
}

static void test_a_removed_ring_that_names_another_users_process(void **state)
{
    struct scene *scene = *state;

    if (geteuid() != 0)
        skip();
    make_records(scene, "ring", 1, 1, 65534);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
    assert_int_equal(unlink(ring_stage_path(&scene->stage, "ring")), 0);
    scene_refresh(scene);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(scene->noticed[NOTICE_RING_GONE], 1);
}

static uint64_t descriptors_used(void)
{
    int descriptor = dup(0);

    close(descriptor);
    return (uint64_t)descriptor;
}

/* A user with more rings than there is room for keeps out nobody else's. */
static void test_rings_give_way(void **state)
{
    struct scene *scene = *state;
    char name[16];

    if (geteuid() != 0)
        skip();
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "many-%d", i);
        make_records(scene, name, getpid(), 1, 65534);
    }
    scene->registry->descriptors_max = descriptors_used() + 10;
    scene_refresh(scene);
    assert_in_range(ring_count(scene), 4, 10);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "mine-%d", i);
        make_records(scene, name, getpid(), 1, 0);
        scene_refresh(scene);
        assert_non_null(ring_named(scene, name));
        assert_in_range(ring_count(scene), 4, 10);
    }
    for (int i = 0; i < 3; i++) { /* and they stay */
        scene_rescan(scene);
        assert_non_null(ring_named(scene, "mine-0"));
        assert_in_range(ring_count(scene), 4, 10);
    }
}

int main(void)
{
#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_every_record_has_its_turn),
        SCENE_TEST(test_rings_of_one_owner_take_turns),
        SCENE_TEST(test_an_owner_has_a_share_of_its_own),
        SCENE_TEST(test_facts_without_modules_when_time_is_spent),
        SCENE_TEST(test_rings_give_way),
        SCENE_TEST(test_a_removed_ring_that_names_another_users_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
