/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_directory.c - a new list of directories at run time: what is in both lists keeps its state. */
#include <limits.h>

#include "unit/registry_test.h"

static void set_directories(struct scene *scene, const char *first, const char *second)
{
    char paths[2][PATH_MAX];
    const char *const directories[] = {paths[0], paths[1]};

    snprintf(paths[0], PATH_MAX, "%s", path_of(scene, first));
    snprintf(paths[1], PATH_MAX, "%s", second != NULL ? path_of(scene, second) : "");
    assert_int_equal(registry_set_directories(scene->registry, directories, second != NULL ? 2 : 1), 0);
}

/* There is only one ring, in this directory. */
static void assert_directory(struct scene *scene, const char *name)
{
    size_t count;
    struct ring_facts *facts = facts_of_rings(scene, &count);

    assert_int_equal(count, 1);
    assert_string_equal(facts->directory, path_of(scene, name));
    facts_free(facts, count);
}

SCENE(other_directories)
{
    uint32_t serial;

    make_directory(scene, "a");
    make_directory(scene, "b");
    make_directory(scene, "c");
    assert_int_equal(symlink("a", path_of(scene, "also-a")), 0);
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
    remove_file(scene, "a/in-a");
    scene_rescan(scene);

    set_directories(scene, "b", "nowhere");
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_DIRECTORY_MISSING], 1);
    assert_int_equal(ring_count(scene), 1);
    set_directories(scene, "nowhere", "b");
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_DIRECTORY_MISSING], 2); /* reported again for the new list */
    assert_int_equal(ring_count(scene), 1);
    make_directory(scene, "nowhere");
    make_ring(scene, "nowhere/here", true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 2);
}

/* Returns the number of rings that are listed as unreadable, all in the directory "a". */
static size_t unreadable_count(struct scene *scene)
{
    size_t count, unreadable = 0;
    struct ring_facts *facts = facts_of_rings(scene, &count);

    for (size_t i = 0; i < count; i++)
        if (facts[i].health == RING_UNREADABLE) {
            assert_string_equal(facts[i].directory, path_of(scene, "a"));
            unreadable++;
        }
    facts_free(facts, count);
    return unreadable;
}

SCENE(unreadable_in_other_directories)
{
    const char *many[REGISTRY_DIRECTORIES_MAX + 1];

    for (size_t i = 0; i <= REGISTRY_DIRECTORIES_MAX; i++)
        many[i] = scene->stage.directory;
    assert_int_equal(registry_set_directories(scene->registry, many, REGISTRY_DIRECTORIES_MAX + 1), -E2BIG);
    make_directory(scene, "a");
    make_directory(scene, "b");
    make_ring(scene, "a/cut", true);
    cut_file(scene, "a/cut", 4096);
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
        link_file(scene, "file", name);
    }
}

/* One listing does not read all names. The ring is among them. */
SCENE(more_names_than_are_listed_at_once)
{
    scene_refresh(scene);
    ring_stage_write(&scene->stage, "file", "", 0);
    make_names(scene, 0, REGISTRY_FILES_MAX);
    make_ring(scene, "ring", true);
    make_names(scene, REGISTRY_FILES_MAX, REGISTRY_FILES_MAX);
    registry_host(scene->registry)->is_first = false;
    for (int i = 0; i < 3; i++)
        scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);

    scene_watch(scene, "", NULL, "/proc"); /* the first listing reads all */
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
}

SCENE(unfinished_files_are_skipped)
{
    static const char hidden[] = RIP_UNFINISHED_PREFIX "0123456789abcdef";

    make_ring(scene, hidden, true);
    scene_watch(scene, ".", NULL, "/proc");
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 0);
    move_file(scene, hidden, "ring");
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
    make_ring(scene, hidden, true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
}
