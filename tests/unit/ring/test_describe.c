/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe.c - slots as items, one or a page of them: ripd/ring/describe.c. */
#include "unit/registry_test.h"

#include "os/clock.h"
#include "ring/describe.h"
#include "ring/scan.h"

static const uint64_t second_ns = 1000000000;

struct world {
    struct scene *scene;
    struct ring_builder rings[2];
    struct detector *detector;
    struct snapshot *snapshot;
};

/* "a" holds ids 1-100, "b" ids 101-150; every tenth is idle; all claimed by this process. */
static void populate(struct world *world)
{
    const struct ring_geometry geometry = {.slot_capacity = 128, .note_stride_bytes = RIP_SLOT_NOTE_BYTES};

    for (uint32_t i = 0; i < 2; i++) {
        struct ring_builder *ring = &world->rings[i];

        ring_stage_build(&world->scene->stage, i == 0 ? "a" : "b", &geometry, ring);
        ring_builder_add_process(ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
        ring_builder_process(ring, 0)->flags = 0;
        ring_builder_process(ring, 0)->pid_namespace = ring_stage_pid_namespace();
        for (uint32_t slot = 0; slot < (i == 0 ? 100u : 50u); slot++) {
            uint32_t id = i * 100 + slot + 1;

            ring_builder_add_id(ring, slot, id, id + 1000, 0, slot % 2 != 0 ? "odd" : "even");
            ring_builder_run_to(ring, slot, slot);
            if (slot % 10 == 0)
                ring_builder_idle(ring, slot);
        }
        scene_refresh(world->scene); /* one after the other: "a" has the lower serial */
    }
}

static struct detector_suspect *scan(struct world *world, size_t *ret_count)
{
    scene_refresh(world->scene);
    detector_begin(world->detector, world->scene->now_mono_ns);
    assert_int_equal(scan_run(world->scene->registry, world->detector, NULL), 0);
    return detector_suspects(world->detector, ret_count);
}

static void scan_and_settle(struct world *world)
{
    struct detector_update update;
    size_t count;

    scan(world, &count);
    detector_end(world->detector, &update);
}

static int set_up(void **state)
{
    const struct detector_config config = {.interval_ns = second_ns, .stall_after_ns = 5 * second_ns};
    struct world *world = calloc(1, sizeof(*world));
    void *scene;

    assert_non_null(world);
    scene_open(&scene);
    world->scene = scene;
    assert_int_equal(detector_new(&world->detector, &config), 0);
    populate(world);
    world->snapshot = snapshot_new();
    world->snapshot->scanned_wall_ns = 1000 * second_ns;
    scan_and_settle(world);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    void *scene = world->scene;

    snapshot_unref(world->snapshot);
    detector_free(world->detector);
    ring_stage_release(&world->rings[0]);
    ring_stage_release(&world->rings[1]);
    scene_close(&scene);
    free(world);
    return 0;
}

static struct page *page_of(struct world *world, const struct query *query)
{
    struct page *page;

    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    page = describe_page(world->scene->registry, world->detector, query, world->snapshot);
    assert_non_null(page);
    return page;
}

static uint64_t total_of(struct world *world, const struct query *query)
{
    struct page *page = page_of(world, query);
    uint64_t total = page->total;
    struct query_filter filter;

    query_filter_make(&filter, query);
    assert_int_equal(page->count, total < query->limit ? total : query->limit);
    for (size_t i = 0; i < page->count; i++)
        assert_true(query_matches(&filter, &page->sightings[i])); /* what was left out early is left out by this */
    page_unref(page);
    return total;
}

/* One id ----------------------------------------------------------------------------------------------------------- */

TEST(an_item_has_it_all, set_up, tear_down)
{
    struct world *world = *state;
    uint32_t serial = serial_of(world->scene, "a");
    uint32_t generation = ring_builder_slot(&world->rings[0], 41)->generation;
    struct item *item;

    ring_builder_note(&world->rings[0], 41, "GET /\xff", 6);
    item = describe_id(world->scene->registry, serial, 41, generation);
    assert_non_null(item);
    assert_int_equal(item->note_bytes, 6);
    assert_memory_equal(item->note, "GET /\xff", 6);
    assert_string_equal(item->ring_name, "a");
    assert_int_equal(item->ring, serial);
    assert_int_equal(item->slot, 41);
    assert_int_equal(item->id, 42);
    assert_int_equal(item->tid, 1042);
    assert_int_equal(item->kind, RIP_KIND_THREAD);
    assert_int_equal(item->name_bytes, 3);
    assert_memory_equal(item->name, "odd", 3);
    assert_int_equal(item->snap_count, 41);
    assert_int_equal(item->entry_count, RIP_ENTRY_COUNT);
    assert_int_equal(item->entries[0].snap, 41);
    assert_int_equal(item->entries[0].address, ring_builder_address(41));
    assert_non_null(item->process);
    assert_int_equal(item->process->pid, getpid());
    assert_false(item->process->attested);
    item_unref(item);
}

TEST(no_item, set_up, tear_down)
{
    struct world *world = *state;
    struct registry *registry = world->scene->registry;
    uint32_t serial = serial_of(world->scene, "a");
    uint32_t generation = ring_builder_slot(&world->rings[0], 41)->generation;

    assert_int_equal(sigbus_install(), 0);
    assert_null(describe_id(registry, 99, 41, generation));
    assert_null(describe_id(registry, serial, 41, generation + 2));
    assert_null(describe_id(registry, serial, 127, generation));
    assert_null(describe_id(registry, serial, UINT32_MAX, generation));
    ring_builder_remove_id(&world->rings[0], 41);
    assert_null(describe_id(registry, serial, 41, generation));
    assert_int_equal(truncate(ring_stage_path(&world->scene->stage, "a"), 0), 0);
    assert_null(describe_id(registry, serial, 42, ring_builder_slot(&world->rings[1], 42)->generation));
    assert_null(registry_find(registry, serial)); /* damaged */
    assert_int_equal(ring_count(world->scene), 1);
}

TEST(an_item_outlives_its_ring, set_up, tear_down)
{
    struct world *world = *state;
    uint32_t generation = ring_builder_slot(&world->rings[1], 0)->generation;
    struct item *item = describe_id(world->scene->registry, serial_of(world->scene, "b"), 0, generation);

    assert_int_equal(truncate(ring_stage_path(&world->scene->stage, "b"), 0), 0);
    unlink(ring_stage_path(&world->scene->stage, "b"));
    for (int i = 0; i < 3; i++)
        scene_rescan(world->scene);
    assert_int_equal(ring_count(world->scene), 1);
    assert_string_equal(item->ring_name, "b");
    assert_string_equal(item->process->comm, "test");
    item_unref(item);
}

/* Pages ------------------------------------------------------------------------------------------------------------ */

TEST(everything_in_order, set_up, tear_down)
{
    struct world *world = *state;
    struct query query;
    struct page *page;

    query_init(&query);
    query.limit = 150;
    page = page_of(world, &query);
    assert_int_equal(page->total, 150);
    assert_int_equal(page->count, 150);
    assert_false(page->more);
    for (uint32_t i = 0; i < 150; i++) {
        const struct sighting *sighting = &page->sightings[i];

        assert_int_equal(sighting->item->id, i + 1);
        assert_int_equal(sighting->state, (i < 100 ? i : i - 100) % 10 == 0 ? ID_IDLE : ID_RUNNING);
        assert_int_equal(sighting->since_wall_ns, sighting->state == ID_IDLE ? 1000 * second_ns : 0);
        assert_int_equal(sighting->frozen_for_ns, 0);
    }
    assert_ptr_equal(page->snapshot, world->snapshot);
    page_unref(page);
}

TEST(page_after_page, set_up, tear_down)
{
    struct world *world = *state;
    struct query query;
    uint32_t next_id = 1;
    bool more = true;

    query_init(&query);
    query.limit = 7;
    while (more) {
        struct page *page = page_of(world, &query);

        assert_int_equal(page->total, 150);
        assert_true(page->count <= 7);
        for (size_t i = 0; i < page->count; i++)
            assert_int_equal(page->sightings[i].item->id, next_id++);
        more = page->more;
        query.after = page->next;
        page_unref(page);
    }
    assert_int_equal(next_id, 151);
}

TEST(conditions, set_up, tear_down)
{
    struct world *world = *state;
    struct query query;

    query_init(&query);
    strcpy(query.ring, "b");
    assert_int_equal(total_of(world, &query), 50);
    strcpy(query.ring, "c");
    assert_int_equal(total_of(world, &query), 0);
    query_init(&query);
    query.states = 1u << ID_IDLE;
    assert_int_equal(total_of(world, &query), 15);
    query.states = 1u << ID_STALLED;
    assert_int_equal(total_of(world, &query), 0);
    query_init(&query);
    strcpy(query.name, "o*");
    assert_int_equal(total_of(world, &query), 75);
    query_init(&query);
    query.pid = (uint32_t)getpid();
    assert_int_equal(total_of(world, &query), 150);
    query.pid++;
    assert_int_equal(total_of(world, &query), 0);
    query_init(&query);
    query.one = true;
    query.id = 120;
    assert_int_equal(total_of(world, &query), 1);
    query_init(&query);
    query.min_ns = 1;
    assert_int_equal(total_of(world, &query), 0);
    query_init(&query);
    query.causes = 1u << CAUSE_BLOCKED;
    assert_int_equal(total_of(world, &query), 0);
    query.causes = ~query.causes;
    assert_int_equal(total_of(world, &query), 150);
}

static void assert_counts(struct page *page, uint64_t running, uint64_t idle)
{
    assert_non_null(page);
    assert_int_equal(page->counts[ID_RUNNING], running);
    assert_int_equal(page->counts[ID_IDLE], idle);
    page_unref(page);
}

/* Of the ids that the query selects, also where it lists none of them for what they do. */
TEST(counts, set_up, tear_down)
{
    struct world *world = *state;
    struct query query;

    query_init(&query);
    query.states = 1u << ID_STALLED;
    assert_counts(page_of(world, &query), 135, 15);
    strcpy(query.ring, "[b]");
    assert_counts(page_of(world, &query), 45, 5);
    query.group = QUERY_GROUP_LOCATION;
    assert_counts(page_of(world, &query), 45, 5);
    query.group = QUERY_GROUP_NONE;
    strcpy(query.name, "odd");
    assert_counts(page_of(world, &query), 25, 0);
    query.group = QUERY_GROUP_LOCATION;
    assert_counts(page_of(world, &query), 25, 0);
    query.list = QUERY_LIST_STALLS;
    assert_counts(page_of(world, &query), 25, 0);
    strcpy(query.name, "even");
    assert_counts(page_of(world, &query), 20, 5);
}

/* In order of ring and slot, a piece a ring; page after page all of them. */
TEST(states, set_up, tear_down)
{
    struct world *world = *state;
    struct query query;
    struct page *page;

    query_init(&query);
    query.list = QUERY_LIST_STATES;
    query.limit = QUERY_STATES_DEFAULT;
    page = page_of(world, &query);
    assert_int_equal(page->total, 150);
    assert_int_equal(page->states->count, 150);
    assert_int_equal(page->count, 2);
    assert_false(page->more);
    assert_string_equal(page->states->pieces[1].ring_name, "b");
    assert_memory_equal(page->states->letters, "irrrrrrrrri", 11);
    for (uint32_t i = 0; i < 150; i++)
        assert_int_equal(page->states->ids[i], i + 1);
    assert_counts(page, 135, 15);
    query.limit = 90;
    page = page_of(world, &query);
    assert_int_equal(page->total, 150);
    assert_int_equal(page->states->count, 90);
    assert_true(page->more);
    query.after = page->next;
    page_unref(page);
    page = page_of(world, &query);
    assert_int_equal(page->states->count, 60);
    assert_int_equal(page->states->ids[0], 91);
    assert_false(page->more);
    page_unref(page);
    query_init(&query);
    query.list = QUERY_LIST_STATES;
    strcpy(query.name, "odd");
    page = page_of(world, &query);
    assert_int_equal(page->states->count, 75);
    assert_counts(page, 75, 0);
}

TEST(frozen_values, set_up, tear_down)
{
    struct world *world = *state;
    struct detector_update update;
    struct query query;
    struct page *page;
    size_t count;

    for (int i = 0; i < 6; i++)
        scan(world, &count);
    assert_int_equal(count, 135);
    detector_end(world->detector, &update);
    query_init(&query);
    query.states = 1u << ID_STALLED;
    query.min_ns = 5 * second_ns;
    page = page_of(world, &query);
    assert_int_equal(page->total, 135);
    assert_true(page->sightings[0].frozen_for_ns >= 5 * second_ns);
    assert_int_equal(page->sightings[0].since_wall_ns, 1000 * second_ns - page->sightings[0].frozen_for_ns);
    assert_int_equal(page->sightings[0].threshold_ns, 5 * second_ns);
    page_unref(page);
}

/* Also of those that wait for work: who has done so for that long. */
TEST(idle_since, set_up, tear_down)
{
    struct world *world = *state;
    struct query query;
    struct page *page;

    for (int i = 0; i < 3; i++)
        scan_and_settle(world);
    query_init(&query);
    query.states = 1u << ID_IDLE;
    query.min_ns = 3 * second_ns;
    page = page_of(world, &query);
    assert_int_equal(page->total, 15);
    assert_int_equal(page->sightings[0].since_wall_ns, 1000 * second_ns - page->sightings[0].frozen_for_ns);
    page_unref(page);
    query.min_ns = 4 * second_ns;
    assert_int_equal(total_of(world, &query), 0);
}

/* A ring that is cut is left out, wherever it stands and whatever the walk was reading. */
TEST(cut_rings, set_up, tear_down)
{
    struct world *world = *state;
    struct query query;

    query_init(&query);
    strcpy(query.name, "*");
    assert_int_equal(truncate(ring_stage_path(&world->scene->stage, "a"), 0), 0);
    assert_int_equal(total_of(world, &query), 50);
    assert_int_equal(truncate(ring_stage_path(&world->scene->stage, "b"), 0), 0);
    assert_int_equal(total_of(world, &query), 0);
    assert_int_equal(ring_count(world->scene), 0);
}

TEST(a_large_ring, set_up, tear_down)
{
    struct world *world = *state;
    const struct ring_geometry geometry = {.slot_capacity = 200000};
    struct ring_builder ring;
    struct query query;
    uint64_t started_ns;

    ring_stage_build(&world->scene->stage, "large", &geometry, &ring);
    ring_builder_add_process(&ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    for (uint32_t slot = 0; slot < geometry.slot_capacity; slot++)
        ring_builder_add_id(&ring, slot, slot + 1, slot + 1, 0, "worker");
    scan_and_settle(world);
    query_init(&query);
    started_ns = clock_mono_ns();
    assert_int_equal(total_of(world, &query), 200150);
    print_message("200150 ids, a page of %u: %.1f ms\n", query.limit, (double)(clock_mono_ns() - started_ns) / 1e6);
    strcpy(query.name, "w*");
    started_ns = clock_mono_ns();
    assert_int_equal(total_of(world, &query), 200000);
    print_message("with a pattern: %.1f ms\n", (double)(clock_mono_ns() - started_ns) / 1e6);
    query_init(&query);
    query.limit = QUERY_STATES_MAX;
    started_ns = clock_mono_ns();
    page_unref(page_of(world, &query));
    print_message("states of all: %.1f ms\n", (double)(clock_mono_ns() - started_ns) / 1e6);
    ring_stage_release(&ring);
}
