/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_test.h - what the tests of the registry share: one on a stage, refreshed on a clock of its own.
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

struct scene {
    struct ring_stage stage;
    struct registry *registry;
    uint64_t now_mono_ns;
    size_t notice_count;          /* since the last scene_refresh() */
    size_t noticed[NOTICE_KINDS]; /* since scene_open() */
    char last_name[256];          /* of the last notice */
    char last_reason[256];
};

static inline void scene_noticed(void *context, enum registry_notice_kind kind, const char *name, const char *reason)
{
    struct scene *scene = context;

    scene->notice_count++;
    scene->noticed[kind]++;
    snprintf(scene->last_name, sizeof(scene->last_name), "%s", name);
    snprintf(scene->last_reason, sizeof(scene->last_reason), "%s", reason != NULL ? reason : "");
}

/* With time for whatever there is, unless the options limit it: on a busy machine a look may take any time. */
static inline void scene_options(struct scene *scene, const struct registry_options *options)
{
    struct registry_options unhurried = *options;

    if (unhurried.judging_ns == 0)
        unhurried.judging_ns = UINT64_C(3600000000000);
    unhurried.noticed = scene_noticed;
    unhurried.notice_context = scene;
    registry_free(scene->registry);
    assert_int_equal(registry_new(&scene->registry, &unhurried), 0);
    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    memset(scene->noticed, 0, sizeof(scene->noticed));
}

/* A registry of the directories below the stage; "" is the stage itself. */
static inline void scene_watch(struct scene *scene, const char *first, const char *second, const char *proc_path)
{
    const char *directories[2] = {ring_stage_path(&scene->stage, first), NULL};
    struct registry_options options = {.directories = directories, .directory_count = 1, .proc_path = proc_path};

    if (second != NULL)
        directories[options.directory_count++] = ring_stage_path(&scene->stage, second);
    scene_options(scene, &options);
}

static inline int scene_open(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    ring_stage_open(&scene->stage);
    scene->now_mono_ns = UINT64_C(1000000000000);
    scene_watch(scene, "", NULL, "/proc");
    *state = scene;
    return 0;
}

static inline int scene_close(void **state)
{
    struct scene *scene = *state;

    registry_free(scene->registry);
    ring_stage_close(&scene->stage);
    free(scene);
    return 0;
}

/* One refresh, a second after the last. Returns how many notices there were since that. */
static inline size_t scene_refresh(struct scene *scene)
{
    size_t count;

    assert_int_equal(sigbus_install(), 0);
    scene->now_mono_ns += 1000000000;
    registry_refresh(scene->registry, scene->now_mono_ns);
    count = scene->notice_count;
    scene->notice_count = 0;
    return count;
}

/* A refresh that lists all directories. */
static inline size_t scene_rescan(struct scene *scene)
{
    scene->now_mono_ns += REGISTRY_RESCAN_NS;
    return scene_refresh(scene);
}

static inline size_t ring_count(struct scene *scene)
{
    size_t count;

    registry_rings(scene->registry, &count);
    return count;
}

/* The ring of that name, or NULL. */
static inline struct ring *ring_named(struct scene *scene, const char *name)
{
    size_t count;
    struct ring **rings = registry_rings(scene->registry, &count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(rings[i]->name, name) == 0)
            return rings[i];
    return NULL;
}

static inline uint32_t serial_of(struct scene *scene, const char *name)
{
    struct ring *ring = ring_named(scene, name);

    assert_non_null(ring);
    return ring->serial;
}

/* A ring file that nobody lives in, or that this very process claims to live in. */
static inline void make_ring(struct scene *scene, const char *name, bool inhabited)
{
    const struct ring_geometry geometry = {.slot_capacity = 64};
    struct ring_builder ring;

    ring_stage_build(&scene->stage, name, &geometry, &ring);
    if (inhabited) {
        ring_builder_add_process(&ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
        ring_builder_process(&ring, 0)->flags = 0;
        ring_builder_process(&ring, 0)->pid_namespace = ring_stage_pid_namespace();
    }
    ring_stage_release(&ring);
}

#endif
