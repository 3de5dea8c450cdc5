/* SPDX-License-Identifier: Apache-2.0 */
/* test_scripts.c - quota and lifetime of the names of script functions: ripd/ring/modules.c. */
#include "unit/registry_test.h"

#include "ring/describe.h"
#include "unit/work_test.h"
#include "work/work.h"

enum { IDS = 16, FUNCTIONS = IDS * RIP_ENTRY_COUNT, BYTES = 64 << 10 };

/* Makes a dead ring. Each id has been in functions of its own. */
static void populate(const struct ring_stage *stage, struct ring_builder *ring)
{
    const struct ring_geometry geometry = {.slot_capacity = IDS, .script_capacity = FUNCTIONS};
    char function[RIP_SCRIPT_FUNCTION_BYTES + 1];

    ring_stage_build(stage, "ring", &geometry, ring);
    ring_stage_claim(ring, 0, getpid(), "script");
    ring_builder_process(ring, 0)->start_time_ticks = 1; /* the pid was reused */
    for (uint32_t slot = 0; slot < IDS; slot++)
        ring_builder_add_id(ring, slot, slot + 1, 0, 0, "id");
    for (uint64_t i = 0; i < FUNCTIONS; i++) {
        snprintf(function, sizeof(function), "%0*u", RIP_SCRIPT_FUNCTION_BYTES, (unsigned)i);
        ring_builder_add_script(ring, "app.rb", function);
        ring_builder_snap(ring, (uint32_t)i / RIP_ENTRY_COUNT, RIP_PLACE_SCRIPT | i << RIP_PLACE_INDEX_SHIFT);
    }
}

static struct item *described(uint32_t slot)
{
    struct item *item = describe_id(scene.registry, serial_of("ring"), slot, 2);

    assert_non_null(item);
    assert_non_null(item->process);
    return item;
}

static struct symbol_frame place_of(const struct item *item)
{
    return module_place(item->process->scripts, item->entries[0].address - RIP_PLACE_SCRIPT);
}

/* The names of a user may take half of the quota, and are charged until the last item that has them is released. */
SCENE(names_are_charged_to_their_user)
{
    struct work *work = work_new();
    struct item *items[IDS];
    struct ring_builder ring;
    uint64_t held;

    work_set_total(work, WORK_SCRIPT_BYTES, BYTES);
    scene_options(&(struct registry_options){.work = work});
    populate(&scene.stage, &ring);
    scene_refresh();
    for (uint32_t slot = 0; slot < IDS; slot++)
        items[slot] = described(slot);
    held = work_held(work, getuid(), WORK_SCRIPT_BYTES);
    assert_in_range(held, BYTES / 2 - 512, BYTES / 2);
    assert_true(work_refused_count(work, WORK_SCRIPT_BYTES) > 0);
    assert_non_null(place_of(items[0]).function);
    assert_null(place_of(items[IDS - 1]).function);
    remove_file("ring");
    scene_rescan();
    scene_rescan(); /* the first one still lists the ring */
    assert_int_equal(ring_count(), 0);
    for (uint32_t slot = 0; slot < IDS; slot++) {
        assert_int_equal(work_held(work, getuid(), WORK_SCRIPT_BYTES), held);
        item_unref(items[slot]);
        scene_refresh();
    }
    assert_int_equal(work_held(work, getuid(), WORK_SCRIPT_BYTES), 0);
    ring_stage_release(&ring);
    registry_free(scene.registry);
    scene.registry = NULL;
    work_free(work);
}

/* An item may be used after the registry was freed. */
SCENE(names_outlive_the_registry)
{
    struct ring_builder ring;
    struct item *item;

    populate(&scene.stage, &ring);
    scene_refresh();
    item = described(1);
    registry_free(scene.registry);
    scene.registry = NULL;
    assert_string_equal(place_of(item).file, "app.rb");
    item_unref(item);
    ring_stage_release(&ring);
}
