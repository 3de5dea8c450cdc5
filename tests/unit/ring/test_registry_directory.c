/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_directory.c - other directories while the daemon runs: what is in both lists stays as it is. */
#include <limits.h>

#include "unit/registry_test.h"

static void set_directories(struct scene *scene, const char *first, const char *second)
{
    char paths[2][PATH_MAX];
    const char *const directories[] = {paths[0], paths[1]};

    snprintf(paths[0], PATH_MAX, "%s", ring_stage_path(&scene->stage, first));
    snprintf(paths[1], PATH_MAX, "%s", second != NULL ? ring_stage_path(&scene->stage, second) : "");
    assert_int_equal(registry_set_directories(scene->registry, directories, second != NULL ? 2 : 1), 0);
}

/* The only ring there is stands in that directory. */
static void assert_directory(struct scene *scene, const char *name)
{
    struct ring_facts *facts;
    size_t count;

    assert_int_equal(registry_facts(scene->registry, &facts, &count), 0);
    assert_int_equal(count, 1);
    assert_string_equal(facts->directory, ring_stage_path(&scene->stage, name));
    ring_facts_done(facts);
    free(facts);
}

TEST(other_directories, scene_open, scene_close)
{
    struct scene *scene = *state;
    uint32_t serial;

    for (size_t i = 0; i < 3; i++)
        assert_int_equal(mkdir(ring_stage_path(&scene->stage, (const char *const[]){"a", "b", "c"}[i]), 0700), 0);
    assert_int_equal(symlink("a", ring_stage_path(&scene->stage, "also-a")), 0);
    make_ring(scene, "a/in-a", true);
    make_ring(scene, "b/in-b", true);
    make_ring(scene, "c/in-c", true);
    scene_watch(scene, "a", "b", "/proc");
    scene_refresh(scene);
    serial = serial_of(scene, "in-a");

    set_directories(scene, "c", "a"); /* at another place in the list */
    assert_directory(scene, "a");
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_RING_GONE], 1);
    assert_int_equal(ring_count(scene), 2);
    assert_int_equal(serial_of(scene, "in-a"), serial);
    assert_non_null(ring_named(scene, "in-c"));

    set_directories(scene, "also-a", NULL); /* by another path */
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
    assert_int_equal(serial_of(scene, "in-a"), serial);
    make_ring(scene, "a/new", true);
    make_ring(scene, "c/new", true); /* in a directory that is not listed any more */
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 2);
    unlink(ring_stage_path(&scene->stage, "a/in-a"));
    scene_rescan(scene);

    set_directories(scene, "b", "nowhere");
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_DIRECTORY_MISSING], 1);
    assert_int_equal(ring_count(scene), 1);
    set_directories(scene, "nowhere", "b");
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_DIRECTORY_MISSING], 2); /* said again to who names it */
    assert_int_equal(ring_count(scene), 1);
    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "nowhere"), 0700), 0);
    make_ring(scene, "nowhere/here", true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 2);
}

/* How many rings are listed as unreadable, all in the directory a. */
static size_t unreadable_count(struct scene *scene)
{
    struct ring_facts *facts;
    size_t count, unreadable = 0;

    assert_int_equal(registry_facts(scene->registry, &facts, &count), 0);
    for (size_t i = 0; i < count; i++) {
        if (facts[i].health == RING_UNREADABLE) {
            assert_string_equal(facts[i].directory, ring_stage_path(&scene->stage, "a"));
            unreadable++;
        }
        ring_facts_done(&facts[i]);
    }
    free(facts);
    return unreadable;
}

TEST(unreadable_in_other_directories, scene_open, scene_close)
{
    struct scene *scene = *state;
    const char *many[REGISTRY_DIRECTORIES_MAX + 1];

    for (size_t i = 0; i <= REGISTRY_DIRECTORIES_MAX; i++)
        many[i] = scene->stage.directory;
    assert_int_equal(registry_set_directories(scene->registry, many, REGISTRY_DIRECTORIES_MAX + 1), -E2BIG);
    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "a"), 0700), 0);
    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "b"), 0700), 0);
    make_ring(scene, "a/cut", true);
    assert_int_equal(truncate(ring_stage_path(&scene->stage, "a/cut"), 4096), 0);
    scene_watch(scene, "b", "a", "/proc");
    for (int i = 0; i < 2; i++) {
        scene_refresh(scene);
        assert_int_equal(unreadable_count(scene), 1);
        set_directories(scene, "a", NULL);
        scene_refresh(scene);
        assert_int_equal(unreadable_count(scene), 1);
        set_directories(scene, "b", NULL);
        scene_refresh(scene);
        assert_int_equal(unreadable_count(scene), 0);
        set_directories(scene, "b", "a");
    }
}

static void make_names(struct scene *scene, unsigned first, unsigned count)
{
    char name[32];

    for (unsigned i = first; i < first + count; i++) {
        snprintf(name, sizeof(name), "name-%u", i);
        assert_int_equal(link(ring_stage_path(&scene->stage, "file"), ring_stage_path(&scene->stage, name)), 0);
    }
}

/* More than a listing takes in at once, made before and after the ring. */
TEST(more_names_than_are_listed_at_once, scene_open, scene_close)
{
    struct scene *scene = *state;

    scene_refresh(scene);
    ring_stage_write(&scene->stage, "file", "", 0);
    make_names(scene, 0, REGISTRY_FILES_MAX);
    make_ring(scene, "ring", true);
    make_names(scene, REGISTRY_FILES_MAX, REGISTRY_FILES_MAX);
    registry_host(scene->registry)->is_first = false;
    for (int i = 0; i < 3; i++)
        scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);

    scene_watch(scene, "", NULL, "/proc"); /* whatever was there before is found at once */
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
}

TEST(unfinished_are_left_alone, scene_open, scene_close)
{
    static const char hidden[] = RIP_UNFINISHED_PREFIX "0123456789abcdef";
    struct scene *scene = *state;

    make_ring(scene, hidden, true);
    scene_watch(scene, ".", NULL, "/proc");
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(rename(ring_stage_path(&scene->stage, hidden), ring_stage_path(&scene->stage, "ring")), 0);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
    make_ring(scene, hidden, true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
}
