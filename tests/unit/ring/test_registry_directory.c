/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_directory.c - a new list of directories at run time: what is in both lists keeps its state. */
#include <limits.h>

#include "unit/registry_test.h"

static void set_directories(const char *first, const char *second)
{
    char paths[2][PATH_MAX];
    const char *const directories[] = {paths[0], paths[1]};

    snprintf(paths[0], PATH_MAX, "%s", path_of(first));
    snprintf(paths[1], PATH_MAX, "%s", second != NULL ? path_of(second) : "");
    assert_int_equal(registry_set_directories(scene.registry, directories, second != NULL ? 2 : 1), 0);
}

/* There is only one ring, in this directory. */
static void assert_directory(const char *name)
{
    size_t count;
    struct ring_facts *facts = facts_of_rings(&count);

    assert_int_equal(count, 1);
    assert_string_equal(facts->directory, path_of(name));
    facts_free(facts, count);
}

SCENE(other_directories)
{
    uint32_t serial;

    make_directory("a");
    make_directory("b");
    make_directory("c");
    assert_int_equal(symlink("a", path_of("also-a")), 0);
    make_ring("a/in-a", true);
    make_ring("b/in-b", true);
    make_ring("c/in-c", true);
    scene_watch("a", "b", "/proc");
    scene_refresh();
    serial = serial_of("in-a");

    set_directories("c", "a"); /* at another place in the list */
    assert_directory("a");
    scene_refresh();
    assert_int_equal(scene.noticed[NOTICE_RING_GONE], 1);
    assert_int_equal(ring_count(), 2);
    assert_int_equal(serial_of("in-a"), serial);
    assert_non_null(ring_named("in-c"));

    set_directories("also-a", NULL); /* by another path */
    scene_refresh();
    assert_int_equal(ring_count(), 1);
    assert_int_equal(serial_of("in-a"), serial);
    make_ring("a/new", true);
    make_ring("c/new", true); /* in a directory that is not listed any more */
    scene_refresh();
    assert_int_equal(ring_count(), 2);
    remove_file("a/in-a");
    scene_rescan();

    set_directories("b", "nowhere");
    scene_refresh();
    assert_int_equal(scene.noticed[NOTICE_DIRECTORY_MISSING], 1);
    assert_int_equal(ring_count(), 1);
    set_directories("nowhere", "b");
    scene_refresh();
    assert_int_equal(scene.noticed[NOTICE_DIRECTORY_MISSING], 2); /* reported again for the new list */
    assert_int_equal(ring_count(), 1);
    make_directory("nowhere");
    make_ring("nowhere/here", true);
    scene_refresh();
    assert_int_equal(ring_count(), 2);
}

/* Returns the number of rings that are listed as unreadable, all in the directory "a". */
static size_t unreadable_count(void)
{
    size_t count, unreadable = 0;
    struct ring_facts *facts = facts_of_rings(&count);

    for (size_t i = 0; i < count; i++)
        if (facts[i].health == RING_UNREADABLE) {
            assert_string_equal(facts[i].directory, path_of("a"));
            unreadable++;
        }
    facts_free(facts, count);
    return unreadable;
}

SCENE(unreadable_in_other_directories)
{
    const char *many[REGISTRY_DIRECTORIES_MAX + 1];

    for (size_t i = 0; i <= REGISTRY_DIRECTORIES_MAX; i++)
        many[i] = scene.stage.directory;
    assert_int_equal(registry_set_directories(scene.registry, many, REGISTRY_DIRECTORIES_MAX + 1), -E2BIG);
    make_directory("a");
    make_directory("b");
    make_ring("a/cut", true);
    cut_file("a/cut", 4096);
    scene_watch("b", "a", "/proc");
    for (int i = 0; i < 2; i++) {
        scene_refresh();
        assert_int_equal(unreadable_count(), 1);
        set_directories("a", NULL);
        scene_refresh();
        assert_int_equal(unreadable_count(), 1);
        set_directories("b", NULL);
        scene_refresh();
        assert_int_equal(unreadable_count(), 0);
        set_directories("b", "a");
    }
}

static void make_names(unsigned first, unsigned count)
{
    char name[32];

    for (unsigned i = first; i < first + count; i++) {
        snprintf(name, sizeof(name), "name-%u", i);
        link_file("file", name);
    }
}

/* One listing does not read all names. The ring is among them. */
SCENE(more_names_than_are_listed_at_once)
{
    scene_refresh();
    ring_stage_write(&scene.stage, "file", "", 0);
    make_names(0, REGISTRY_FILES_MAX);
    make_ring("ring", true);
    make_names(REGISTRY_FILES_MAX, REGISTRY_FILES_MAX);
    registry_host(scene.registry)->is_first = false;
    for (int i = 0; i < 3; i++)
        scene_refresh();
    assert_int_equal(ring_count(), 1);

    scene_watch("", NULL, "/proc"); /* the first listing reads all */
    scene_refresh();
    assert_int_equal(ring_count(), 1);
}

SCENE(unfinished_files_are_skipped)
{
    static const char hidden[] = RIP_UNFINISHED_PREFIX "0123456789abcdef";

    make_ring(hidden, true);
    scene_watch(".", NULL, "/proc");
    scene_refresh();
    assert_int_equal(ring_count(), 0);
    move_file(hidden, "ring");
    scene_refresh();
    assert_int_equal(ring_count(), 1);
    make_ring(hidden, true);
    scene_refresh();
    assert_int_equal(ring_count(), 1);
}
