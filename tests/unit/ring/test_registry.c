/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry.c - files and directories that come, go and lie: ripd/ring/registry*.c but for processes. */
#include "unit/registry_test.h"

#include <sys/fsuid.h>
#include <sys/resource.h>

/* Files ------------------------------------------------------------------------------------------------------------ */

TEST(a_ring_is_found_by_its_content, scene_open, scene_close)
{
    struct scene *scene = *state;

    make_ring(scene, "no suffix\n at all", true);
    assert_int_equal(scene_refresh(scene), 1);
    assert_int_equal(scene->noticed[NOTICE_RING_FOUND], 1);
    assert_string_equal(scene->last_name, "no suffix\n at all");
    assert_int_equal(ring_count(scene), 1);
    make_ring(scene, "later", true); /* its directory has changed */
    assert_int_equal(scene_refresh(scene), 1);
    assert_int_equal(ring_count(scene), 2);
    for (int i = 0; i < 20; i++)
        assert_int_equal(scene_rescan(scene), 0);
}

/* A user who made four thousand million files: those that stay are found as before, and so are new ones. */
TEST(numbers_that_run_out, scene_open, scene_close)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct scene *scene = *state;
    const char *directories[] = {scene->stage.directory};
    const struct registry_options options = {
        .directories = directories, .directory_count = 1, .proc_path = "/proc", .last_serial = UINT32_MAX - 3};
    struct ring **rings;
    size_t count;

    scene_options(scene, &options);
    make_ring(scene, "old", true);
    scene_refresh(scene);
    assert_int_equal(ring_named(scene, "old")->serial, UINT32_MAX - 2);
    for (size_t i = 0; i < 5; i++) {
        make_ring(scene, names[i], true);
        assert_int_equal(scene_refresh(scene), 1);
    }
    rings = registry_rings(scene->registry, &count);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_true(rings[i]->serial > (i == 0 ? 0 : rings[i - 1]->serial));
        assert_ptr_equal(registry_find(scene->registry, rings[i]->serial), rings[i]);
    }
    assert_int_equal(ring_named(scene, "old")->serial, UINT32_MAX - 2);
    assert_int_equal(ring_named(scene, "c")->serial, 1);
}

TEST(a_ring_that_is_linked_in, scene_open, scene_close)
{
    struct scene *scene = *state;

    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "elsewhere"), 0700), 0);
    assert_int_equal(scene_refresh(scene), 0);
    make_ring(scene, "elsewhere/ring", true);
    assert_int_equal(scene_refresh(scene), 0);
    assert_int_equal(link(ring_stage_path(&scene->stage, "elsewhere/ring"), ring_stage_path(&scene->stage, "ring")), 0);
    assert_int_equal(scene_refresh(scene), 1);
    assert_non_null(ring_named(scene, "ring"));
}

/* What is not a ring is passed over; what cannot be read is noticed once; one bad file spoils nothing. */
TEST(strange_files, scene_open, scene_close)
{
    struct scene *scene = *state;
    const struct ring_stage *stage = &scene->stage;
    const struct ring_geometry geometry = {.slot_capacity = 64};
    struct ring_builder newer, half;

    ring_stage_write(stage, "empty", "", 0);
    ring_stage_write(stage, "foreign",
                     "\x7f"
                     "ELF and so on",
                     14);
    assert_int_equal(mkfifo(ring_stage_path(stage, "fifo"), 0600), 0);
    assert_int_equal(symlink("/etc/passwd", ring_stage_path(stage, "link")), 0);
    assert_int_equal(mkdir(ring_stage_path(stage, "directory"), 0700), 0);
    ring_stage_build(stage, "newer", &geometry, &newer);
    newer.ring->format_version = 2;
    ring_stage_build(stage, "half", &geometry, &half);
    half.ring->magic = 0;
    ring_stage_write(stage, "short", "RIPRING\0and not much more", 24);
    make_ring(scene, "good", true);
    for (int i = 0; i < 5; i++) {
        scene_rescan(scene);
        assert_int_equal(ring_count(scene), 1);
        assert_non_null(ring_named(scene, "good"));
    }
    assert_int_equal(scene->noticed[NOTICE_RING_FOUND], 1);
    assert_int_equal(scene->noticed[NOTICE_RING_UNREADABLE], 2); /* newer, and short */
    for (int kind = 0; kind < NOTICE_KINDS; kind++)
        if (kind != NOTICE_RING_FOUND && kind != NOTICE_RING_UNREADABLE)
            assert_int_equal(scene->noticed[kind], 0);
    ring_stage_release(&newer);
    ring_stage_release(&half);
}

/* The names of /rings, in one line, with '!' before those that cannot be read and their reason behind. */
static const char *facts_line(struct scene *scene)
{
    static char line[1024];
    struct ring_facts *facts;
    size_t count, length = 0;

    assert_int_equal(registry_facts(scene->registry, &facts, &count), 0);
    line[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        length += (size_t)snprintf(line + length, sizeof(line) - length, "%s%s%s%s;",
                                   facts[i].health != RING_READABLE ? "!" : "", facts[i].name,
                                   facts[i].reason != NULL ? ": " : "", facts[i].reason != NULL ? facts[i].reason : "");
        ring_facts_done(&facts[i]);
    }
    free(facts);
    return line;
}

TEST(facts_list_the_unreadable, scene_open, scene_close)
{
    struct scene *scene = *state;

    make_ring(scene, "b-ring", true);
    ring_stage_write(&scene->stage, "a-short", "RIPRING\0and not much more", 24);
    scene_refresh(scene);
    assert_string_equal(facts_line(scene), "!a-short: is shorter than its header says;b-ring;");
    unlink(ring_stage_path(&scene->stage, "a-short"));
    scene_rescan(scene);
    assert_string_equal(facts_line(scene), "b-ring;");
}

TEST(a_file_becomes_a_ring, scene_open, scene_close)
{
    struct scene *scene = *state;

    ring_stage_write(&scene->stage, "ring", "RIPRING\0and not much more", 24);
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_RING_UNREADABLE], 1);
    unlink(ring_stage_path(&scene->stage, "ring"));
    make_ring(scene, "other", true);
    assert_int_equal(rename(ring_stage_path(&scene->stage, "other"), ring_stage_path(&scene->stage, "ring")), 0);
    scene_rescan(scene);
    assert_int_equal(ring_count(scene), 1);
    assert_string_equal(facts_line(scene), "ring;");
}

/* The same inode, first empty, then written to under its name. */
TEST(a_file_that_is_filled_in_place, scene_open, scene_close)
{
    struct scene *scene = *state;
    struct ring_builder image;
    int descriptor;

    ring_builder_new_sample(&image);
    descriptor = open(ring_stage_path(&scene->stage, "ring"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    scene_refresh(scene);
    assert_int_equal(write(descriptor, image.bytes, image.size_bytes / 2), image.size_bytes / 2);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(write(descriptor, image.bytes + image.size_bytes / 2, image.size_bytes - image.size_bytes / 2),
                     image.size_bytes - image.size_bytes / 2);
    close(descriptor);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
    assert_true(scene->noticed[NOTICE_RING_UNREADABLE] <= 1);
    ring_builder_free(&image);
}

TEST(permission_denied, scene_open, scene_close)
{
    struct scene *scene = *state;

    if (getuid() != 0) {
        print_message("skipped: needs root to be somebody else\n");
        skip();
    }
    make_ring(scene, "ring", true);
    assert_int_equal(chmod(ring_stage_path(&scene->stage, "ring"), 0600), 0);
    assert_int_equal(chmod(scene->stage.directory, 0755), 0);
    setfsuid(65534);
    for (int i = 0; i < 5; i++)
        scene_rescan(scene);
    assert_int_equal(scene->noticed[NOTICE_RING_UNREADABLE], 1);
    assert_string_equal(facts_line(scene), "!ring: permission denied;");
    setfsuid(0);
    assert_int_equal(chmod(ring_stage_path(&scene->stage, "ring"), 0644), 0);
    scene_rescan(scene);
    assert_string_equal(facts_line(scene), "ring;");
}

TEST(many_files, scene_open, scene_close)
{
    enum { JUNK = 10000 };
    struct scene *scene = *state;
    char name[32];

    for (int i = 0; i < JUNK; i++) {
        snprintf(name, sizeof(name), "junk-%d", i);
        ring_stage_write(&scene->stage, name, "junk", i % 2 != 0 ? 4 : 0);
    }
    make_ring(scene, "ring", true);
    for (int i = 0; i < 3; i++)
        scene_rescan(scene);
    assert_int_equal(ring_count(scene), 1);
    assert_int_equal(registry_health(scene->registry)->limit_counts[HEALTH_LIMIT_FILES], 0);
    for (int i = 0; i < JUNK; i++) {
        snprintf(name, sizeof(name), "junk-%d", i);
        unlink(ring_stage_path(&scene->stage, name));
    }
    scene_rescan(scene);
    assert_int_equal(ring_count(scene), 1);
    assert_int_equal(registry_health(scene->registry)->limit_counts[HEALTH_LIMIT_FILES], 0);
}

TEST(more_names_than_are_looked_at, scene_open, scene_close)
{
    struct scene *scene = *state;
    char name[32];

    ring_stage_write(&scene->stage, "junk", "junk", 4);
    for (uint32_t i = 0; i <= REGISTRY_FILES_MAX; i++) {
        snprintf(name, sizeof(name), "junk-%u", i);
        assert_int_equal(link(ring_stage_path(&scene->stage, "junk"), ring_stage_path(&scene->stage, name)), 0);
    }
    registry_host(scene->registry)->is_first = false;
    for (int i = 0; i < 3; i++) /* the second one comes to the end */
        scene_rescan(scene);
    assert_int_equal(scene->noticed[NOTICE_LIMIT], 1);
    assert_int_equal(registry_health(scene->registry)->limit_counts[HEALTH_LIMIT_FILES], 2);
    make_ring(scene, "ring", true); /* nobody can hide one that comes now */
    scene_rescan(scene);
    scene_rescan(scene);
    assert_int_equal(ring_count(scene), 1);
    scene_rescan(scene);
    scene_rescan(scene);
    assert_false(ring_named(scene, "ring")->unlinked); /* nor make one go away that is there */
}

TEST(more_unreadable_rings_than_are_listed, scene_open, scene_close)
{
    enum { RINGS = REGISTRY_UNREADABLE_MAX + 100 };
    struct scene *scene = *state;
    struct ring_facts *facts;
    char name[32];
    size_t count;

    for (int i = 0; i < RINGS; i++) {
        snprintf(name, sizeof(name), "short-%d", i);
        ring_stage_write(&scene->stage, name, "RIPRING\0and not much more", 24);
    }
    usleep(150000); /* settled */
    for (int i = 0; i < 3; i++)
        scene_rescan(scene);
    assert_int_equal(scene->noticed[NOTICE_RING_UNREADABLE], REGISTRY_UNREADABLE_MAX);
    assert_int_equal(scene->noticed[NOTICE_LIMIT], 1);
    assert_int_equal(registry_health(scene->registry)->limit_counts[HEALTH_LIMIT_UNREADABLE], 100);
    assert_int_equal(registry_facts(scene->registry, &facts, &count), 0);
    assert_int_equal(count, REGISTRY_UNREADABLE_MAX);
    for (size_t i = 0; i < count; i++)
        ring_facts_done(&facts[i]);
    free(facts);
}

/* No descriptor left: said once, and the ring is found when there is one again. */
TEST(no_descriptor_left, scene_open, scene_close)
{
    struct scene *scene = *state;
    struct rlimit limit, low;
    int next = dup(0);

    scene_refresh(scene);
    make_ring(scene, "ring", true);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){(rlim_t)next, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    scene_refresh(scene);
    scene_rescan(scene);
    scene_rescan(scene);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(scene->noticed[NOTICE_LIMIT], 1);
    scene_rescan(scene);
    assert_int_equal(ring_count(scene), 1);
}

/* Names ------------------------------------------------------------------------------------------------------------ */

TEST(a_renamed_ring_keeps_its_serial, scene_open, scene_close)
{
    struct scene *scene = *state;
    uint32_t serial;

    make_ring(scene, "old", true);
    scene_refresh(scene);
    serial = serial_of(scene, "old");
    assert_int_equal(rename(ring_stage_path(&scene->stage, "old"), ring_stage_path(&scene->stage, "new")), 0);
    assert_int_equal(scene_refresh(scene), 0);
    assert_int_equal(serial_of(scene, "new"), serial);
    assert_int_equal(ring_count(scene), 1);
    assert_false(ring_named(scene, "new")->unlinked);
}

TEST(links_count_once, scene_open, scene_close)
{
    struct scene *scene = *state;

    make_ring(scene, "a", true);
    scene_refresh(scene);
    assert_int_equal(link(ring_stage_path(&scene->stage, "a"), ring_stage_path(&scene->stage, "b")), 0);
    for (int i = 0; i < 3; i++) {
        scene_rescan(scene);
        assert_int_equal(ring_count(scene), 1);
        assert_non_null(ring_named(scene, "a"));
        /* away and back: now it comes before the other in the listing, or after it */
        assert_int_equal(rename(ring_stage_path(&scene->stage, "a"), ring_stage_path(&scene->stage, "c")), 0);
        assert_int_equal(rename(ring_stage_path(&scene->stage, "c"), ring_stage_path(&scene->stage, "a")), 0);
    }
    unlink(ring_stage_path(&scene->stage, "a"));
    scene_rescan(scene);
    assert_non_null(ring_named(scene, "b"));
    assert_int_equal(scene->noticed[NOTICE_RING_FOUND], 1);
}

/* As the library does: the dead ring is moved aside, and a new one takes its name. */
TEST(a_ring_takes_the_name_of_a_dead_one, scene_open, scene_close)
{
    struct scene *scene = *state;
    uint32_t old;

    make_ring(scene, "ring", false);
    scene_refresh(scene);
    old = serial_of(scene, "ring");
    assert_int_equal(rename(ring_stage_path(&scene->stage, "ring"), ring_stage_path(&scene->stage, "ring.prev")), 0);
    make_ring(scene, "ring", true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 2);
    assert_int_equal(serial_of(scene, "ring.prev"), old);
    assert_true(serial_of(scene, "ring") > old);
}

TEST(two_directories_with_the_same_name, scene_open, scene_close)
{
    struct scene *scene = *state;
    uint32_t first, second;

    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "one"), 0700), 0);
    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "two"), 0700), 0);
    scene_watch(scene, "one", "two", "/proc");
    make_ring(scene, "one/ring", true);
    make_ring(scene, "two/ring", true);
    make_ring(scene, "two/ring~2", true); /* somebody may really be called that */
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 3);
    first = serial_of(scene, "ring");
    assert_string_equal(registry_find(scene->registry, first)->file_name, "ring");
    assert_int_equal(registry_find(scene->registry, first)->directory, 0);
    for (int i = 0; i < 3; i++)
        scene_rescan(scene);
    assert_int_equal(serial_of(scene, "ring"), first);
    second = 0;
    for (uint32_t serial = 1; serial <= 3; serial++)
        if (serial != first && strcmp(registry_find(scene->registry, serial)->file_name, "ring") == 0)
            second = serial;
    unlink(ring_stage_path(&scene->stage, "one/ring")); /* the second keeps its name for as long as it lives */
    scene_rescan(scene);
    assert_string_not_equal(registry_find(scene->registry, second)->name, "ring");
}

TEST(unlinked_while_somebody_lives_in_it, scene_open, scene_close)
{
    struct scene *scene = *state;
    uint32_t serial;

    make_ring(scene, "ring", true);
    make_ring(scene, "dead", false);
    scene_refresh(scene);
    serial = serial_of(scene, "ring");
    unlink(ring_stage_path(&scene->stage, "ring"));
    unlink(ring_stage_path(&scene->stage, "dead"));
    for (int i = 0; i < 3; i++)
        scene_rescan(scene);
    assert_int_equal(scene->noticed[NOTICE_RING_GONE], 1);
    assert_int_equal(ring_count(scene), 1);
    assert_true(ring_named(scene, "ring")->unlinked);
    make_ring(scene, "ring", true); /* its successor has the better right to the name */
    scene_refresh(scene);
    assert_int_equal(serial_of(scene, "ring~2"), serial);
    assert_int_not_equal(serial_of(scene, "ring"), serial);
}

/* Directories ------------------------------------------------------------------------------------------------------ */

TEST(a_directory_that_comes_and_goes, scene_open, scene_close)
{
    struct scene *scene = *state;

    scene_watch(scene, "late", NULL, "/proc");
    for (int i = 0; i < 3; i++)
        scene_rescan(scene);
    assert_int_equal(scene->noticed[NOTICE_DIRECTORY_MISSING], 1);
    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "late"), 0700), 0);
    make_ring(scene, "late/ring", false);
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_DIRECTORY_FOUND], 1);
    assert_int_equal(ring_count(scene), 1);
    unlink(ring_stage_path(&scene->stage, "late/ring"));
    rmdir(ring_stage_path(&scene->stage, "late"));
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_DIRECTORY_MISSING], 2);
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "late"), 0700), 0);
    scene_refresh(scene);
    make_ring(scene, "late/ring", false);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
}

TEST(a_directory_that_is_replaced, scene_open, scene_close)
{
    struct scene *scene = *state;
    uint32_t serial;

    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "now"), 0700), 0);
    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "next"), 0700), 0);
    make_ring(scene, "now/moved", true);
    make_ring(scene, "now/left", false);
    make_ring(scene, "next/new", true);
    scene_watch(scene, "now", NULL, "/proc");
    scene_refresh(scene);
    serial = serial_of(scene, "moved");
    assert_int_equal(rename(ring_stage_path(&scene->stage, "now/moved"), ring_stage_path(&scene->stage, "next/moved")),
                     0);
    assert_int_equal(rename(ring_stage_path(&scene->stage, "now"), ring_stage_path(&scene->stage, "before")), 0);
    assert_int_equal(rename(ring_stage_path(&scene->stage, "next"), ring_stage_path(&scene->stage, "now")), 0);
    scene_refresh(scene);
    assert_int_equal(serial_of(scene, "moved"), serial);
    assert_non_null(ring_named(scene, "new"));
    assert_null(ring_named(scene, "left"));
    assert_int_equal(scene->noticed[NOTICE_RING_GONE], 1);
    make_ring(scene, "before/unseen", true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 2);
}

TEST(the_same_directory_twice, scene_open, scene_close)
{
    struct scene *scene = *state;

    assert_int_equal(mkdir(ring_stage_path(&scene->stage, "one"), 0700), 0);
    assert_int_equal(symlink("one", ring_stage_path(&scene->stage, "same")), 0);
    scene_watch(scene, "one", "same", "/proc");
    scene_refresh(scene);
    make_ring(scene, "one/ring", true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
    unlink(ring_stage_path(&scene->stage, "same"));
    scene_refresh(scene);
    make_ring(scene, "one/second", true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 2);
}

TEST(options, scene_open, scene_close)
{
    struct scene *scene = *state;
    const char *directories[REGISTRY_DIRECTORIES_MAX + 1];
    struct registry_options options = {
        .directories = directories, .directory_count = REGISTRY_DIRECTORIES_MAX + 1, .proc_path = "/proc"};
    struct registry *registry = NULL;

    for (size_t i = 0; i <= REGISTRY_DIRECTORIES_MAX; i++)
        directories[i] = scene->stage.directory;
    assert_int_equal(registry_new(&registry, &options), -E2BIG);
    options.directory_count--;
    options.proc_path = "/nowhere";
    assert_int_equal(registry_new(&registry, &options), -ENOENT);
    assert_null(registry);
    options.proc_path = "/proc";
    scene_options(scene, &options);
    make_ring(scene, "ring", true);
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
}

/* Damage ----------------------------------------------------------------------------------------------------------- */

TEST(a_ring_that_is_cut, scene_open, scene_close)
{
    struct scene *scene = *state;
    struct file_identity file;

    make_ring(scene, "ring", true);
    scene_refresh(scene);
    file = ring_named(scene, "ring")->mapping.file;
    assert_int_equal(truncate(ring_stage_path(&scene->stage, "ring"), (off_t)file.size_bytes - 1), 0);
    for (int i = 0; i < 5; i++)
        scene_rescan(scene);
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(scene->noticed[NOTICE_RING_DAMAGED], 1);
    assert_int_equal(scene->noticed[NOTICE_RING_UNREADABLE], 0);
    assert_string_equal(facts_line(scene), "!ring: is shorter than its header says;");
    unlink(ring_stage_path(&scene->stage, "ring"));
    scene_rescan(scene);
    assert_string_equal(facts_line(scene), "");
}

TEST(a_ring_of_another_boot_is_dead, scene_open, scene_close)
{
    struct scene *scene = *state;
    const struct ring_geometry geometry = {.slot_capacity = 64};
    struct ring_builder ring;
    struct ring_facts *facts;
    size_t count;

    ring_stage_build(&scene->stage, "ring", &geometry, &ring);
    ring_builder_add_process(&ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring.ring->boot_id[3] ^= 1;
    ring_stage_release(&ring);
    scene_refresh(scene);
    assert_int_equal(ring_named(scene, "ring")->conditions[0], 1);
    assert_int_equal(registry_facts(scene->registry, &facts, &count), 0);
    assert_int_equal(count, 1);
    assert_true(facts[0].dead);
    assert_int_equal(facts[0].process_count, 1);
    assert_int_equal(facts[0].processes[0]->pid, 0); /* a claim, and of another time */
    ring_facts_done(&facts[0]);
    free(facts);
}
