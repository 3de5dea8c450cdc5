/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe.c - describes one id, or a page of ids: ripd/ring/describe.c. */
#include "unit/registry_test.h"

#include "os/clock.h"
#include "ring/describe.h"
#include "ring/scan.h"

#define SECOND_NS UINT64_C(1000000000)

static struct ring_builder rings[2]; /* "a" has ids 1 to 100, "b" ids 101 to 150; every tenth id is idle */
static struct detector *detector;
static struct snapshot *snapshot;

/* "a" has the lower serial: "b" is built after a refresh. */
static void build(struct ring_builder *ring, const char *name, uint32_t first_id, uint32_t count)
{
    const struct ring_geometry geometry = {.slot_capacity = 128, .note_stride_bytes = RIP_SLOT_NOTE_BYTES};

    ring_stage_build(&scene.stage, name, &geometry, ring);
    ring_stage_claim(ring, 0, getpid(), "test");
    for (uint32_t slot = 0; slot < count; slot++) {
        ring_builder_add_id(ring, slot, first_id + slot, first_id + slot + 1000, 0, slot % 2 != 0 ? "odd" : "even");
        ring_builder_run_to(ring, slot, slot);
        if (slot % 10 == 0)
            ring_builder_idle(ring, slot);
    }
    scene_refresh();
}

/* Returns the number of suspects. */
static size_t scan(void)
{
    struct detector_update update;
    size_t count;

    scene_refresh();
    detector_begin(detector, scene.now_mono_ns);
    assert_int_equal(scan_run(scene.registry, detector, NULL), 0);
    detector_suspects(detector, &count);
    detector_end(detector, &update);
    return count;
}

static int set_up(void **state)
{
    const struct detector_config config = {.interval_ns = SECOND_NS, .stall_after_ns = 5 * SECOND_NS};

    scene_open(state);
    assert_int_equal(detector_new(&detector, &config), 0);
    build(&rings[0], "a", 1, 100);
    build(&rings[1], "b", 101, 50);
    snapshot = snapshot_new();
    snapshot->scanned_wall_ns = 1000 * SECOND_NS;
    scan();
    return 0;
}

static int tear_down(void **state)
{
    snapshot_unref(snapshot);
    detector_free(detector);
    ring_stage_release(&rings[0]);
    ring_stage_release(&rings[1]);
    return scene_close(state);
}

static struct item *describe(const char *ring, uint32_t slot, uint32_t generation)
{
    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    return describe_id(scene.registry, serial_of(ring), slot, generation);
}

static uint32_t generation_of(size_t ring, uint32_t slot)
{
    return ring_builder_slot(&rings[ring], slot)->generation;
}

static struct page *page_of(const struct query *query)
{
    struct page *page;

    assert_int_equal(sigbus_install(), 0);
    page = describe_page(scene.registry, detector, query, snapshot);
    assert_non_null(page);
    return page;
}

/* All sightings of the page match the query: what is skipped early is what query_matches() rejects. */
static uint64_t total_of(const struct query *query)
{
    struct page *page = page_of(query);
    uint64_t total = page->total;
    struct query_filter filter;

    query_filter_make(&filter, query);
    assert_int_equal(page->count, total < query->limit ? total : query->limit);
    for (size_t i = 0; i < page->count; i++)
        assert_true(query_matches(&filter, &page->sightings[i]));
    page_unref(page);
    return total;
}

static struct query new_query(void)
{
    struct query query;

    query_init(&query);
    return query;
}

/* One id ----------------------------------------------------------------------------------------------------------- */

TEST(an_item_is_complete, set_up, tear_down)
{
    struct item *item;

    ring_builder_note(&rings[0], 41, "GET /\xff", 6);
    item = describe("a", 41, generation_of(0, 41));
    assert_non_null(item);
    assert_int_equal(item->note_bytes, 6);
    assert_memory_equal(item->note, "GET /\xff", 6);
    assert_string_equal(item->ring_name, "a");
    assert_int_equal(item->ring, serial_of("a"));
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
    const uint32_t generation = generation_of(0, 41), serial = serial_of("a");

    assert_null(describe_id(scene.registry, 99, 41, generation));
    assert_null(describe("a", 41, generation + 2));
    assert_null(describe("a", 127, generation));
    assert_null(describe("a", UINT32_MAX, generation));
    ring_builder_remove_id(&rings[0], 41);
    assert_null(describe("a", 41, generation));
    cut_file("a", 0);
    assert_null(describe("a", 42, generation));
    assert_null(registry_find(scene.registry, serial)); /* damaged */
    assert_int_equal(ring_count(), 1);
}

TEST(an_item_outlives_its_ring, set_up, tear_down)
{
    struct item *item = describe("b", 0, generation_of(1, 0));

    cut_file("b", 0);
    remove_file("b");
    for (int i = 0; i < 3; i++)
        scene_rescan();
    assert_int_equal(ring_count(), 1);
    assert_string_equal(item->ring_name, "b");
    assert_string_equal(item->process->comm, "test");
    item_unref(item);
}

/* Pages ------------------------------------------------------------------------------------------------------------ */

TEST(all_ids_in_order, set_up, tear_down)
{
    struct query query = new_query();
    struct page *page;

    query.limit = 150;
    page = page_of(&query);
    assert_int_equal(page->total, 150);
    assert_int_equal(page->count, 150);
    assert_false(page->more);
    for (uint32_t i = 0; i < 150; i++) {
        const struct sighting *sighting = &page->sightings[i];

        assert_int_equal(sighting->item->id, i + 1);
        assert_int_equal(sighting->state, i % 10 == 0 ? ID_IDLE : ID_RUNNING);
        assert_int_equal(sighting->since_wall_ns, i % 10 == 0 ? 1000 * SECOND_NS : 0);
        assert_int_equal(sighting->frozen_for_ns, 0);
    }
    assert_ptr_equal(page->snapshot, snapshot);
    page_unref(page);
}

TEST(page_after_page, set_up, tear_down)
{
    struct query query = new_query();
    uint32_t next_id = 1;
    bool more = true;

    query.limit = 7;
    while (more) {
        struct page *page = page_of(&query);

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
    const struct {
        struct query query;
        uint64_t total;
    } cases[] = {
        {{.ring = "b"}, 50},
        {{.ring = "c"}, 0},
        {{.states = 1u << ID_IDLE}, 15},
        {{.states = 1u << ID_STALLED}, 0},
        {{.name = "o*"}, 75},
        {{.pid = (uint32_t)getpid()}, 150},
        {{.pid = (uint32_t)getpid() + 1}, 0},
        {{.one = true, .id = 120}, 1},
        {{.min_ns = 1}, 0},
        {{.causes = 1u << CAUSE_BLOCKED}, 0},
        {{.causes = ~(1u << CAUSE_BLOCKED)}, 150},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct query query = cases[i].query;
        uint64_t total;

        query.limit = QUERY_LIMIT_DEFAULT;
        total = total_of(&query);
        if (total != cases[i].total)
            fail_msg("case %zu: %d ids", i, (int)total);
    }
}

static void assert_counts(struct page *page, uint64_t running, uint64_t idle)
{
    assert_int_equal(page->counts[ID_RUNNING], running);
    assert_int_equal(page->counts[ID_IDLE], idle);
    page_unref(page);
}

/* The counts include ids that match in everything but their state. */
TEST(counts, set_up, tear_down)
{
    static const struct {
        struct query query;
        uint64_t running, idle;
    } cases[] = {
        {{.ring = ""}, 135, 15},
        {{.ring = "[b]"}, 45, 5},
        {{.ring = "[b]", .group = QUERY_GROUP_LOCATION}, 45, 5},
        {{.ring = "[b]", .name = "odd"}, 25, 0},
        {{.ring = "[b]", .name = "odd", .group = QUERY_GROUP_LOCATION}, 25, 0},
        {{.ring = "[b]", .name = "odd", .group = QUERY_GROUP_LOCATION, .list = QUERY_LIST_STALLS}, 25, 0},
        {{.ring = "[b]", .name = "even", .list = QUERY_LIST_STALLS}, 20, 5},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct query query = cases[i].query;

        query.limit = QUERY_LIMIT_DEFAULT;
        query.states = 1u << ID_STALLED;
        assert_counts(page_of(&query), cases[i].running, cases[i].idle);
    }
}

/* In order of ring and slot, one piece per ring. Page after page lists all ids. */
TEST(states, set_up, tear_down)
{
    struct query query = new_query();
    struct page *page;

    query.list = QUERY_LIST_STATES;
    query.limit = QUERY_STATES_DEFAULT;
    page = page_of(&query);
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
    page = page_of(&query);
    assert_int_equal(page->total, 150);
    assert_int_equal(page->states->count, 90);
    assert_true(page->more);
    query.after = page->next;
    page_unref(page);
    page = page_of(&query);
    assert_int_equal(page->states->count, 60);
    assert_int_equal(page->states->ids[0], 91);
    assert_false(page->more);
    page_unref(page);

    query = new_query();
    query.list = QUERY_LIST_STATES;
    strcpy(query.name, "odd");
    page = page_of(&query);
    assert_int_equal(page->states->count, 75);
    assert_counts(page, 75, 0);
}

TEST(stalled_for, set_up, tear_down)
{
    struct query query = new_query();
    const struct sighting *sighting;
    struct page *page;

    for (int i = 0; i < 5; i++)
        scan();
    assert_int_equal(scan(), 135);
    query.states = 1u << ID_STALLED;
    query.min_ns = 5 * SECOND_NS;
    page = page_of(&query);
    assert_int_equal(page->total, 135);
    sighting = page->sightings;
    assert_true(sighting->frozen_for_ns >= 5 * SECOND_NS);
    assert_int_equal(sighting->since_wall_ns, 1000 * SECOND_NS - sighting->frozen_for_ns);
    assert_int_equal(sighting->threshold_ns, 5 * SECOND_NS);
    page_unref(page);
}

/* The minimum duration applies to idle ids, too. */
TEST(idle_for, set_up, tear_down)
{
    struct query query = new_query();
    struct page *page;

    for (int i = 0; i < 3; i++)
        scan();
    query.states = 1u << ID_IDLE;
    query.min_ns = 3 * SECOND_NS;
    page = page_of(&query);
    assert_int_equal(page->total, 15);
    assert_int_equal(page->sightings[0].since_wall_ns, 1000 * SECOND_NS - page->sightings[0].frozen_for_ns);
    page_unref(page);
    query.min_ns = 4 * SECOND_NS;
    assert_int_equal(total_of(&query), 0);
}

/* A truncated ring is left out, and dropped. */
TEST(truncated_rings, set_up, tear_down)
{
    struct query query = new_query();

    strcpy(query.name, "*");
    cut_file("a", 0);
    assert_int_equal(total_of(&query), 50);
    cut_file("b", 0);
    assert_int_equal(total_of(&query), 0);
    assert_int_equal(ring_count(), 0);
}

static void print_time(const char *what, uint64_t started_ns)
{
    print_message("%s: %.1f ms\n", what, (double)(clock_mono_ns() - started_ns) / 1e6);
}

TEST(a_large_ring, set_up, tear_down)
{
    const struct ring_geometry geometry = {.slot_capacity = 200000};
    struct query query = new_query();
    struct ring_builder ring;
    uint64_t started_ns;

    ring_stage_build(&scene.stage, "large", &geometry, &ring);
    ring_stage_claim(&ring, 0, getpid(), "test");
    for (uint32_t slot = 0; slot < geometry.slot_capacity; slot++)
        ring_builder_add_id(&ring, slot, slot + 1, slot + 1, 0, "worker");
    scan();
    started_ns = clock_mono_ns();
    assert_int_equal(total_of(&query), 200150);
    print_time("a page of 200150 ids", started_ns);
    strcpy(query.name, "w*");
    started_ns = clock_mono_ns();
    assert_int_equal(total_of(&query), 200000);
    print_time("with a pattern", started_ns);
    query = new_query();
    query.limit = QUERY_STATES_MAX;
    started_ns = clock_mono_ns();
    page_unref(page_of(&query));
    print_time("states of all", started_ns);
    ring_stage_release(&ring);
}
