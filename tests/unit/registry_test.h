/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_test.h - a scene: a registry that watches a stage, refreshed on a clock of the test.
 *
 * SCENE(name) { ... } is a test with a scene of its own.
 */
#ifndef REGISTRY_TEST_H
#define REGISTRY_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

#include "os/sigbus.h"
#include "ring/host.h"
#include "ring/registry.h"
#include "support/ring_stage.h"

enum { NOTICE_KINDS = NOTICE_LIMIT + 1 };

static struct scene {
    struct ring_stage stage;
    struct registry *registry;
    uint64_t now_mono_ns;
    size_t notice_count;          /* since the last scene_refresh() */
    size_t noticed[NOTICE_KINDS]; /* since scene_open() */
    char last_name[256];          /* of the last notice */
    char last_reason[256];
} scene;

#define SCENE(title) TEST(title, scene_open, scene_close)

static inline void scene_noticed(void *context, uint32_t user, enum registry_notice_kind kind, const char *name,
                                 const char *reason)
{
    (void)context;
    (void)user;
    scene.notice_count++;
    scene.noticed[kind]++;
    snprintf(scene.last_name, sizeof(scene.last_name), "%s", name);
    snprintf(scene.last_reason, sizeof(scene.last_reason), "%s", reason != NULL ? reason : "");
}

/*
 * Replaces the registry. It watches the stage and /proc, and has unlimited time because a busy machine may be slow,
 * unless the options say otherwise.
 */
static inline void scene_options(const struct registry_options *given)
{
    const char *directory = scene.stage.directory;
    struct registry_options options = *given;

    if (options.directory_count == 0) {
        options.directories = &directory;
        options.directory_count = 1;
    }
    if (options.proc_path == NULL)
        options.proc_path = "/proc";
    if (options.judging_ns == 0)
        options.judging_ns = UINT64_C(3600000000000);
    options.noticed = scene_noticed;
    registry_free(scene.registry);
    assert_int_equal(registry_new(&scene.registry, &options), 0);
    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    memset(scene.noticed, 0, sizeof(scene.noticed));
}

/* Watches one or two directories below the stage; "" is the stage itself. second may be NULL. */
static inline void scene_watch(const char *first, const char *second, const char *proc_path)
{
    const char *directories[2] = {ring_stage_path(&scene.stage, first), NULL};
    struct registry_options options = {.directories = directories, .directory_count = 1, .proc_path = proc_path};

    if (second != NULL)
        directories[options.directory_count++] = ring_stage_path(&scene.stage, second);
    scene_options(&options);
}

static inline int scene_open(void **state)
{
    (void)state;
    scene = (struct scene){.now_mono_ns = UINT64_C(1000000000000)};
    ring_stage_open(&scene.stage);
    scene_watch("", NULL, "/proc");
    return 0;
}

static inline int scene_close(void **state)
{
    (void)state;
    registry_free(scene.registry);
    ring_stage_close(&scene.stage);
    return 0;
}

/* Refreshes a second after the last refresh. Returns the number of notices since then. */
static inline size_t scene_refresh(void)
{
    size_t count;

    assert_int_equal(sigbus_install(), 0);
    scene.now_mono_ns += 1000000000;
    registry_refresh(scene.registry, scene.now_mono_ns);
    count = scene.notice_count;
    scene.notice_count = 0;
    return count;
}

/* Refreshes so much later that all directories are listed. */
static inline size_t scene_rescan(void)
{
    scene.now_mono_ns += REGISTRY_RESCAN_NS;
    return scene_refresh();
}

static inline void rescan_times(int times)
{
    for (int i = 0; i < times; i++)
        scene_rescan();
}

static inline size_t ring_count(void)
{
    size_t count;

    registry_rings(scene.registry, &count);
    return count;
}

/* Returns NULL if there is no ring of this name. */
static inline struct ring *ring_named(const char *name)
{
    size_t count;
    struct ring **rings = registry_rings(scene.registry, &count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(rings[i]->name, name) == 0)
            return rings[i];
    return NULL;
}

static inline uint32_t serial_of(const char *name)
{
    struct ring *ring = ring_named(name);

    assert_non_null(ring);
    return ring->serial;
}

/* Returns the facts of all rings, to be released by facts_free(). */
static inline struct ring_facts *facts_of_rings(size_t *ret_count)
{
    struct ring_facts *facts;

    assert_int_equal(registry_facts(scene.registry, &facts, ret_count), 0);
    return facts;
}

static inline void facts_free(struct ring_facts *facts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ring_facts_done(&facts[i]);
    free(facts);
}

static inline void need_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("skipped: needs root to act as another user\n");
    skip();
}

static inline const char *path_of(const char *name)
{
    return ring_stage_path(&scene.stage, name);
}

/* Files and directories of the stage. Each call succeeds. */
static inline void make_directory(const char *name)
{
    assert_int_equal(mkdir(path_of(name), 0700), 0);
}

static inline void move_file(const char *from, const char *to)
{
    assert_int_equal(rename(path_of(from), path_of(to)), 0);
}

static inline void link_file(const char *from, const char *to)
{
    assert_int_equal(link(path_of(from), path_of(to)), 0);
}

static inline void remove_file(const char *name)
{
    assert_int_equal(unlink(path_of(name)), 0);
}

static inline void cut_file(const char *name, uint64_t to_bytes)
{
    assert_int_equal(truncate(path_of(name), (off_t)to_bytes), 0);
}

static inline void give_file(const char *name, uid_t owner)
{
    assert_int_equal(chown(path_of(name), owner, (gid_t)-1), 0);
}

/* Makes a ring file that is empty or has a record of this process. */
static inline void make_ring(const char *name, bool inhabited)
{
    const struct ring_geometry geometry = {.slot_capacity = 64};
    struct ring_builder ring;

    ring_stage_build(&scene.stage, name, &geometry, &ring);
    if (inhabited) {
        ring_stage_claim(&ring, 0, getpid(), "test");
    }
    ring_stage_release(&ring);
}

#endif
