/* SPDX-License-Identifier: Apache-2.0 */
/* test_claims.c - live slots, and the memory that they have: ripd/ring/claims.c, rip_view_live_count(). */
#include "unit/registry_test.h"

#include "ring/claims.h"

enum { SLOTS = 100000 };

static uint64_t live_count_of(struct ring_builder *builder)
{
    struct rip_view view;

    assert_int_equal(rip_view_open(&view, builder->bytes, builder->size_bytes), RIP_OK);
    return rip_view_live_count(&view);
}

static void test_live_slots_are_counted(void **state)
{
    static const uint32_t capacities[] = {1, 63, 64, 65, 4095, 4096, 4097, 70000};

    (void)state;
    for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
        const struct ring_geometry geometry = {.slot_capacity = capacities[i]};
        struct ring_builder builder;
        uint64_t expected = 0;

        ring_builder_new(&builder, &geometry);
        assert_int_equal(live_count_of(&builder), 0);
        for (uint32_t slot = 0; slot < capacities[i]; slot += 1 + slot % 7, expected++)
            ring_builder_set_live(&builder, slot, true);
        assert_int_equal(live_count_of(&builder), expected);
        /* bits past the last slot, and past the last word, are nobody's */
        memset(builder.bytes + builder.ring->summary_offset, 0xff, RIP_PAGE_BYTES);
        memset(builder.bytes + builder.ring->live_offset, 0xff, (capacities[i] + 63) / 64 * 8);
        assert_int_equal(live_count_of(&builder), capacities[i]);
        /* without its summary bit a word is not looked at */
        memset(builder.bytes + builder.ring->summary_offset, 0, RIP_PAGE_BYTES);
        assert_int_equal(live_count_of(&builder), 0);
        ring_builder_free(&builder);
    }
}

static uint64_t blocks_of(struct scene *scene, const char *name)
{
    struct stat status;

    assert_int_equal(stat(ring_stage_path(&scene->stage, name), &status), 0);
    return (uint64_t)status.st_blocks;
}

static void test_live_bits_over_holes(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = SLOTS};
    struct scene *scene = *state;
    struct ring_builder ring;
    uint64_t blocks;

    ring_stage_build(&scene->stage, "ring", &geometry, &ring);
    scene_refresh(scene);
    assert_non_null(ring_named(scene, "ring"));
    memset(ring.bytes + ring.ring->live_offset, 0xff, SLOTS / 8);
    memset(ring.bytes + ring.ring->summary_offset, 0xff, SLOTS / 64 / 8 + 1);
    blocks = blocks_of(scene, "ring");
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(scene->noticed[NOTICE_RING_DAMAGED], 1);
    assert_non_null(strstr(scene->last_reason, "memory"));
    assert_int_equal(blocks_of(scene, "ring"), blocks);
    ring_stage_release(&ring);
}

static void test_records_over_holes(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = 64, .process_capacity = 1024, .module_capacity = 4096};
    struct scene *scene = *state;
    struct ring_builder ring;
    uint64_t blocks;

    ring_stage_build(&scene->stage, "ring", &geometry, &ring);
    ring.ring->process_high_water = 1024;
    ring.ring->module_high_water = 4096;
    blocks = blocks_of(scene, "ring");
    scene_refresh(scene);
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(scene->noticed[NOTICE_RING_DAMAGED], 1);
    assert_int_equal(blocks_of(scene, "ring"), blocks);
    ring_stage_release(&ring);
}

static void test_full_to_the_last_slot(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = 4096};
    struct scene *scene = *state;
    struct ring_builder ring;

    ring_stage_build(&scene->stage, "ring", &geometry, &ring);
    for (uint32_t i = 0; i < 4096; i++)
        ring_builder_add_id(&ring, i, i, 0, 0, "full");
    for (uint32_t i = 0; i < 64; i++) /* writers back one after the other */
        ring_builder_add_process(&ring, i, 1, 0, "full");
    for (int i = 0; i < 64; i++)
        ring_builder_add_module(&ring, 1, 2, 0, "/x", NULL, 0);
    for (int i = 0; i < 3; i++)
        scene_refresh(scene);
    assert_int_equal(ring_count(scene), 1);
    ring_stage_release(&ring);
}

/* Elsewhere than on tmpfs a file need not have blocks for what is in it. */
static void test_other_file_systems_are_not_asked(void **state)
{
    char directory[] = "/var/tmp/claims-XXXXXX", path[64];
    const struct ring_geometry geometry = {.slot_capacity = 1024};
    struct rip_ring_info info = {0};
    struct ring_builder builder;
    struct mapping mapping;
    enum rip_status status;
    uint64_t bytes;
    int descriptor;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/ring", directory);
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(descriptor >= 0);
    ring_builder_new(&builder, &geometry);
    memset(builder.bytes + builder.ring->live_offset, 0xff, 1024 / 8);
    memset(builder.bytes + builder.ring->summary_offset, 0xff, 2);
    assert_int_equal(pwrite(descriptor, builder.bytes, builder.ring->slot_offset, 0), builder.ring->slot_offset);
    assert_int_equal(ftruncate(descriptor, (off_t)builder.size_bytes), 0);
    ring_builder_free(&builder);
    if (file_tmpfs_bytes(descriptor, &bytes) == 0) {
        close(descriptor);
        unlink(path);
        rmdir(directory);
        skip();
    }
    assert_int_equal(mapping_open(&mapping, descriptor, &status), 0);
    assert_int_equal(claims_check(&mapping, &info), 0);
    mapping_close(&mapping);
    assert_int_equal(claims_check(&mapping, &info), -EIO);
    unlink(path);
    rmdir(directory);
}

int main(void)
{
#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_slots_are_counted),
        SCENE_TEST(test_live_bits_over_holes),
        SCENE_TEST(test_records_over_holes),
        SCENE_TEST(test_full_to_the_last_slot),
        SCENE_TEST(test_other_file_systems_are_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
