/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry.c - ring files and directories that come, go and are malformed: ripd/ring/registry*.c. */
#include "unit/registry_test.h"

#include <sys/fsuid.h>
#include <sys/resource.h>

/* Files ------------------------------------------------------------------------------------------------------------ */

SCENE(a_ring_is_found_by_its_content)
{
    make_ring("no suffix\n at all", true);
    assert_int_equal(scene_refresh(), 1);
    assert_int_equal(scene.noticed[NOTICE_RING_FOUND], 1);
    assert_string_equal(scene.last_name, "no suffix\n at all");
    assert_int_equal(ring_count(), 1);
    make_ring("later", true); /* changes the directory */
    assert_int_equal(scene_refresh(), 1);
    assert_int_equal(ring_count(), 2);
    for (int i = 0; i < 20; i++)
        assert_int_equal(scene_rescan(), 0);
}

/* Serials wrap after 2^32 files: rings keep theirs, and new rings get one that is free. */
SCENE(serials_wrap)
{
    struct ring **rings;
    size_t count;

    scene_options(&(struct registry_options){.last_serial = UINT32_MAX - 3});
    make_ring("old", true);
    scene_refresh();
    assert_int_equal(serial_of("old"), UINT32_MAX - 2);
    for (char name[] = "a"; *name <= 'e'; ++*name) {
        make_ring(name, true);
        assert_int_equal(scene_refresh(), 1);
    }
    rings = registry_rings(scene.registry, &count);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_true(rings[i]->serial > (i == 0 ? 0 : rings[i - 1]->serial));
        assert_ptr_equal(registry_find(scene.registry, rings[i]->serial), rings[i]);
    }
    assert_int_equal(serial_of("old"), UINT32_MAX - 2);
    assert_int_equal(serial_of("c"), 1);
}

SCENE(a_hard_link_from_a_directory_that_is_not_watched)
{
    make_directory("elsewhere");
    assert_int_equal(scene_refresh(), 0);
    make_ring("elsewhere/ring", true);
    assert_int_equal(scene_refresh(), 0);
    link_file("elsewhere/ring", "ring");
    assert_int_equal(scene_refresh(), 1);
    assert_non_null(ring_named("ring"));
}

static void make_short_ring(const char *name)
{
    ring_stage_write(&scene.stage, name, "RIPRING\0and not much more", 24);
}

/* Files of other kinds are skipped, malformed rings are reported once, and neither affects other rings. */
SCENE(files_of_all_kinds)
{
    const struct ring_geometry geometry = {.slot_capacity = 64};
    struct ring_builder newer, half;

    ring_stage_write(&scene.stage, "empty", "", 0);
    ring_stage_write(&scene.stage, "foreign", "\177ELF and so on", 14);
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    assert_int_equal(symlink("/etc/passwd", path_of("link")), 0);
    make_directory("directory");
    ring_stage_build(&scene.stage, "newer", &geometry, &newer);
    newer.ring->format_version = 2;
    ring_stage_build(&scene.stage, "half", &geometry, &half);
    half.ring->magic = 0;
    make_short_ring("short");
    make_ring("good", true);
    for (int i = 0; i < 5; i++) {
        scene_rescan();
        assert_int_equal(ring_count(), 1);
        assert_non_null(ring_named("good"));
    }
    for (int kind = 0; kind < NOTICE_KINDS; kind++)
        assert_int_equal(scene.noticed[kind], kind == NOTICE_RING_FOUND        ? 1
                                              : kind == NOTICE_RING_UNREADABLE ? 2 /* newer and short */
                                                                               : 0);
    ring_stage_release(&newer);
    ring_stage_release(&half);
}

/* Compares the list of /rings, "NAME;" for each ring, "!NAME: REASON;" for each ring that cannot be read. */
static void assert_listed(const char *expected)
{
    char line[1024] = "";
    size_t count, length = 0;
    struct ring_facts *facts = facts_of_rings(&count);

    for (size_t i = 0; i < count; i++) {
        const char *reason = facts[i].reason;

        length += (size_t)snprintf(line + length, sizeof(line) - length, "%s%s%s%s;",
                                   facts[i].health != RING_READABLE ? "!" : "", facts[i].name,
                                   reason != NULL ? ": " : "", reason != NULL ? reason : "");
    }
    facts_free(facts, count);
    assert_string_equal(line, expected);
}

SCENE(unreadable_rings_are_listed)
{
    make_ring("b-ring", true);
    make_short_ring("a-short");
    scene_refresh();
    assert_listed("!a-short: is shorter than its header says;b-ring;");
    remove_file("a-short");
    scene_rescan();
    assert_listed("b-ring;");
}

SCENE(an_unreadable_file_is_replaced_by_a_ring)
{
    make_short_ring("ring");
    scene_refresh();
    assert_int_equal(scene.noticed[NOTICE_RING_UNREADABLE], 1);
    make_ring("other", true);
    move_file("other", "ring");
    scene_rescan();
    assert_int_equal(ring_count(), 1);
    assert_listed("ring;");
}

/* The inode stays the same: an empty file is filled under its final name. */
SCENE(a_file_that_is_filled_in_place)
{
    int descriptor = open(path_of("ring"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct ring_builder image;
    size_t half;

    ring_builder_new_sample(&image);
    half = image.size_bytes / 2;
    scene_refresh();
    assert_int_equal(write(descriptor, image.bytes, half), half);
    scene_refresh();
    assert_int_equal(ring_count(), 0);
    assert_int_equal(write(descriptor, image.bytes + half, image.size_bytes - half), image.size_bytes - half);
    close(descriptor);
    scene_refresh();
    assert_int_equal(ring_count(), 1);
    assert_true(scene.noticed[NOTICE_RING_UNREADABLE] <= 1);
    ring_builder_free(&image);
}

SCENE(permission_denied)
{
    need_root();
    make_ring("ring", true);
    assert_int_equal(chmod(path_of("ring"), 0600), 0);
    assert_int_equal(chmod(scene.stage.directory, 0755), 0);
    setfsuid(65534);
    rescan_times(5);
    assert_int_equal(scene.noticed[NOTICE_RING_UNREADABLE], 1);
    assert_listed("!ring: permission denied;");
    setfsuid(0);
    assert_int_equal(chmod(path_of("ring"), 0644), 0);
    scene_rescan();
    assert_listed("ring;");
}

/* Limits ----------------------------------------------------------------------------------------------------------- */

SCENE(many_files)
{
    enum { JUNK = 10000 };
    const uint64_t *refused_count = &registry_health(scene.registry)->limit_counts[HEALTH_LIMIT_FILES];
    char name[32];

    for (int i = 0; i < JUNK; i++) {
        snprintf(name, sizeof(name), "junk-%d", i);
        ring_stage_write(&scene.stage, name, "junk", i % 2 != 0 ? 4 : 0);
    }
    make_ring("ring", true);
    rescan_times(3);
    assert_int_equal(ring_count(), 1);
    for (int i = 0; i < JUNK; i++) {
        snprintf(name, sizeof(name), "junk-%d", i);
        remove_file(name);
    }
    scene_rescan();
    assert_int_equal(ring_count(), 1);
    assert_int_equal(*refused_count, 0);
}

/* Too many names in a directory cannot hide a new ring, nor make a ring seem removed. */
SCENE(more_names_than_one_listing_reads)
{
    char name[32];

    ring_stage_write(&scene.stage, "junk", "junk", 4);
    for (uint32_t i = 0; i <= REGISTRY_FILES_MAX; i++) {
        snprintf(name, sizeof(name), "junk-%u", i);
        link_file("junk", name);
    }
    registry_host(scene.registry)->is_first = false;
    rescan_times(3); /* the second one reaches the end */
    assert_int_equal(scene.noticed[NOTICE_LIMIT], 1);
    assert_int_equal(registry_health(scene.registry)->limit_counts[HEALTH_LIMIT_FILES], 2);
    make_ring("ring", true);
    rescan_times(2);
    assert_int_equal(ring_count(), 1);
    rescan_times(2);
    assert_false(ring_named("ring")->unlinked);
}

SCENE(more_unreadable_rings_than_are_listed)
{
    enum { LISTED = 1024, RINGS = LISTED + 100 };
    struct ring_facts *facts;
    char name[32];
    size_t count;

    for (int i = 0; i < RINGS; i++) {
        snprintf(name, sizeof(name), "short-%d", i);
        make_short_ring(name);
    }
    usleep(150000); /* until a file that does not change counts as finished */
    rescan_times(3);
    assert_int_equal(scene.noticed[NOTICE_RING_UNREADABLE], LISTED);
    assert_int_equal(scene.noticed[NOTICE_LIMIT], 1);
    assert_int_equal(registry_health(scene.registry)->limit_counts[HEALTH_LIMIT_UNREADABLE], 100);
    facts = facts_of_rings(&count);
    facts_free(facts, count);
    assert_int_equal(count, LISTED);
}

/* Files and unreadable rings of one user do not hide an unreadable ring of another user. */
SCENE(unreadable_rings_of_two_users)
{
    enum { STRANGER = 65534 };
    struct work *work = work_new();
    char name[32];

    need_root();
    work_set_total(work, WORK_FILES, 20);
    work_set_total(work, WORK_UNREADABLE, 8);
    scene_options(&(struct registry_options){.work = work});
    for (char file[] = "a"; *file <= 'z'; ++*file) {
        snprintf(name, sizeof(name), "junk-%s", file);
        ring_stage_write(&scene.stage, name, "junk", 4);
        give_file(name, STRANGER);
        make_short_ring(file);
        give_file(file, STRANGER);
    }
    rescan_times(2);
    assert_in_range(scene.noticed[NOTICE_RING_UNREADABLE], 0, 4);
    assert_int_equal(work_held(work, STRANGER, WORK_FILES), 10);
    make_short_ring("mine");
    scene.last_name[0] = '\0';
    scene_rescan();
    assert_string_equal(scene.last_name, "mine");
    assert_int_equal(work_held(work, 0, WORK_UNREADABLE), 1);
    give_file("mine", STRANGER); /* the other user has no quota for it */
    scene_rescan();
    assert_int_equal(work_held(work, 0, WORK_UNREADABLE), 0);
    for (char file[] = "a"; *file <= 'z'; ++*file) {
        snprintf(name, sizeof(name), "junk-%s", file);
        remove_file(name);
        remove_file(file);
    }
    rescan_times(2);
    assert_int_equal(work_held(work, STRANGER, WORK_UNREADABLE), 1);
    registry_free(scene.registry);
    scene.registry = NULL;
    assert_int_equal(work_held(work, STRANGER, WORK_FILES) + work_held(work, STRANGER, WORK_UNREADABLE), 0);
    work_free(work);
}

/* Without a free file descriptor this is reported once. The ring is found as soon as there is a descriptor. */
SCENE(no_descriptor_left)
{
    struct rlimit limit;
    int next = dup(0);

    scene_refresh();
    make_ring("ring", true);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, limit.rlim_max}), 0);
    scene_refresh();
    rescan_times(2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(ring_count(), 0);
    assert_int_equal(scene.noticed[NOTICE_LIMIT], 1);
    scene_rescan();
    assert_int_equal(ring_count(), 1);
}

/* Names ------------------------------------------------------------------------------------------------------------ */

SCENE(a_renamed_ring_keeps_its_serial)
{
    uint32_t serial;

    make_ring("old", true);
    scene_refresh();
    serial = serial_of("old");
    move_file("old", "new");
    assert_int_equal(scene_refresh(), 0);
    assert_int_equal(serial_of("new"), serial);
    assert_int_equal(ring_count(), 1);
    assert_false(ring_named("new")->unlinked);
}

SCENE(hard_links_are_one_ring)
{
    make_ring("a", true);
    scene_refresh();
    link_file("a", "b");
    for (int i = 0; i < 3; i++) {
        scene_rescan();
        assert_int_equal(ring_count(), 1);
        assert_non_null(ring_named("a"));
        move_file("a", "c"); /* may change the order in the directory */
        move_file("c", "a");
    }
    remove_file("a");
    scene_rescan();
    assert_non_null(ring_named("b"));
    assert_int_equal(scene.noticed[NOTICE_RING_FOUND], 1);
}

/* This is what librip does: it renames the dead ring, and a new ring takes the name. */
SCENE(a_new_ring_takes_the_name_of_a_dead_one)
{
    uint32_t old;

    make_ring("ring", false);
    scene_refresh();
    old = serial_of("ring");
    move_file("ring", "ring.prev");
    make_ring("ring", true);
    scene_refresh();
    assert_int_equal(ring_count(), 2);
    assert_int_equal(serial_of("ring.prev"), old);
    assert_true(serial_of("ring") > old);
}

/* The second ring of a name gets another name, and keeps it after the first one is gone. */
SCENE(two_directories_with_the_same_name)
{
    uint32_t first, second = 0;

    make_directory("one");
    make_directory("two");
    scene_watch("one", "two", "/proc");
    make_ring("one/ring", true);
    make_ring("two/ring", true);
    make_ring("two/ring~2", true); /* the name that the second ring would get */
    scene_refresh();
    assert_int_equal(ring_count(), 3);
    first = serial_of("ring");
    assert_string_equal(registry_find(scene.registry, first)->file_name, "ring");
    assert_int_equal(registry_find(scene.registry, first)->directory, 0);
    rescan_times(3);
    assert_int_equal(serial_of("ring"), first);
    for (uint32_t serial = 1; serial <= 3; serial++)
        if (serial != first && strcmp(registry_find(scene.registry, serial)->file_name, "ring") == 0)
            second = serial;
    remove_file("one/ring");
    scene_rescan();
    assert_string_not_equal(registry_find(scene.registry, second)->name, "ring");
}

/* A removed file stays a ring while a process uses it. A new ring of the name has precedence. */
SCENE(a_removed_ring_that_is_in_use)
{
    uint32_t serial;

    make_ring("ring", true);
    make_ring("dead", false);
    scene_refresh();
    serial = serial_of("ring");
    remove_file("ring");
    remove_file("dead");
    rescan_times(3);
    assert_int_equal(scene.noticed[NOTICE_RING_GONE], 1);
    assert_int_equal(ring_count(), 1);
    assert_true(ring_named("ring")->unlinked);
    make_ring("ring", true);
    scene_refresh();
    assert_int_equal(serial_of("ring~2"), serial);
    assert_int_not_equal(serial_of("ring"), serial);
}

/* Directories ------------------------------------------------------------------------------------------------------ */

SCENE(a_directory_that_comes_and_goes)
{
    scene_watch("late", NULL, "/proc");
    rescan_times(3);
    assert_int_equal(scene.noticed[NOTICE_DIRECTORY_MISSING], 1);
    make_directory("late");
    make_ring("late/ring", false);
    scene_refresh();
    assert_int_equal(scene.noticed[NOTICE_DIRECTORY_FOUND], 1);
    assert_int_equal(ring_count(), 1);
    remove_file("late/ring");
    rmdir(path_of("late"));
    scene_refresh();
    assert_int_equal(scene.noticed[NOTICE_DIRECTORY_MISSING], 2);
    assert_int_equal(ring_count(), 0);
    make_directory("late");
    scene_refresh();
    make_ring("late/ring", false);
    scene_refresh();
    assert_int_equal(ring_count(), 1);
}

SCENE(a_directory_that_is_replaced)
{
    uint32_t serial;

    make_directory("now");
    make_directory("next");
    make_ring("now/moved", true);
    make_ring("now/left", false);
    make_ring("next/new", true);
    scene_watch("now", NULL, "/proc");
    scene_refresh();
    serial = serial_of("moved");
    move_file("now/moved", "next/moved");
    move_file("now", "before");
    move_file("next", "now");
    scene_refresh();
    assert_int_equal(serial_of("moved"), serial);
    assert_non_null(ring_named("new"));
    assert_null(ring_named("left"));
    assert_int_equal(scene.noticed[NOTICE_RING_GONE], 1);
    make_ring("before/unseen", true);
    scene_refresh();
    assert_int_equal(ring_count(), 2);
}

SCENE(the_same_directory_by_two_paths)
{
    make_directory("one");
    assert_int_equal(symlink("one", path_of("same")), 0);
    scene_watch("one", "same", "/proc");
    scene_refresh();
    make_ring("one/ring", true);
    scene_refresh();
    assert_int_equal(ring_count(), 1);
    remove_file("same");
    scene_refresh();
    make_ring("one/second", true);
    scene_refresh();
    assert_int_equal(ring_count(), 2);
}

SCENE(options)
{
    const char *directories[REGISTRY_DIRECTORIES_MAX + 1];
    struct registry_options options = {
        .directories = directories, .directory_count = REGISTRY_DIRECTORIES_MAX + 1, .proc_path = "/proc"};
    struct registry *registry = NULL;

    for (size_t i = 0; i <= REGISTRY_DIRECTORIES_MAX; i++)
        directories[i] = scene.stage.directory;
    assert_int_equal(registry_new(&registry, &options), -E2BIG);
    options.directory_count--;
    options.proc_path = "/nowhere";
    assert_int_equal(registry_new(&registry, &options), -ENOENT);
    assert_null(registry);
    options.proc_path = "/proc";
    scene_options(&options);
    make_ring("ring", true);
    scene_refresh();
    assert_int_equal(ring_count(), 1);
}

/* Damage ----------------------------------------------------------------------------------------------------------- */

SCENE(a_truncated_ring)
{
    make_ring("ring", true);
    scene_refresh();
    cut_file("ring", ring_named("ring")->mapping.file.size_bytes - 1);
    rescan_times(5);
    assert_int_equal(ring_count(), 0);
    assert_int_equal(scene.noticed[NOTICE_RING_DAMAGED], 1);
    assert_int_equal(scene.noticed[NOTICE_RING_UNREADABLE], 0);
    assert_listed("!ring: is shorter than its header says;");
    remove_file("ring");
    scene_rescan();
    assert_listed("");
}

SCENE(a_ring_of_another_boot_is_dead)
{
    const struct ring_geometry geometry = {.slot_capacity = 64};
    struct ring_builder ring;
    struct ring_facts *facts;
    size_t count;

    ring_stage_build(&scene.stage, "ring", &geometry, &ring);
    ring_stage_claim(&ring, 0, getpid(), "test");
    ring.ring->boot_id[3] ^= 1;
    ring_stage_release(&ring);
    scene_refresh();
    assert_int_equal(ring_named("ring")->conditions[0], 1);
    facts = facts_of_rings(&count);
    assert_int_equal(count, 1);
    assert_true(facts->dead);
    assert_int_equal(facts->process_count, 1);
    assert_int_equal(facts->processes[0]->pid, 0); /* the claim of another boot */
    facts_free(facts, count);
}
