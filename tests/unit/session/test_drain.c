/* SPDX-License-Identifier: Apache-2.0 */
/* test_drain.c - the events of drains, from rings that are built by hand. */
#include "unit/session/session_test.h"

#include "support/ring_builder.h"

static struct ring_builder builder;
static struct rip_view view;
static struct drain *drain;
static uint64_t now_ns;

static int set_up(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = 256, .note_stride_bytes = RIP_SLOT_NOTE_BYTES};

    (void)state;
    now_ns = 0;
    ring_builder_new(&builder, &geometry);
    builder.ring->compatible_flags = RIP_RING_COUNTS_ENDED;
    assert_int_equal(rip_view_open(&view, builder.bytes, builder.size_bytes), RIP_OK);
    assert_int_equal(drain_new(&drain, 1), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    drain_free(drain);
    ring_builder_free(&builder);
    text_clear(&text);
    return 0;
}

/* Makes a drain, and returns its events as text. */
static const char *drained(void)
{
    const struct rip_sink sink = {&text, take_text};

    text_clear(&text);
    drain_once(drain, &view, now_ns += 10, &sink);
    return text_of(&text);
}

static void assert_drained(const char *expected)
{
    assert_string_equal(drained(), expected);
}

static void assert_yields(const char *words)
{
    assert_non_null(strstr(drained(), words));
}

static void add_id(uint32_t slot, uint32_t id, uint64_t count)
{
    ring_builder_add_id(&builder, slot, id, 1000 + id, 0, "worker");
    ring_builder_slot(&builder, slot)->registered_boot_ns = id;
    for (uint64_t i = 1; i <= count; i++)
        ring_builder_snap(&builder, slot, 0x100 * id + i);
}

TEST_F(entries_are_reported_once)
{
    add_id(3, 7, 2);
    assert_drained("1/3 g2 id 7 of 0 (0 10] register \"worker\" tid 1007 idle 0 call 0 deadline 0 kind 0 "
                   "progress 2 snaps 2 born 7 found\n"
                   "1/3 g2 id 7 of 0 (0 10] made 2 overwritten 0 torn 0 progress 2: 1@701 2@702\n"
                   "1/0 g0 id 0 of 0 (0 10] made 2 = 2 + 0 + 0, ids 0 - 0, torn 0\n");
    assert_drained("");
    ring_builder_snap(&builder, 3, 0x1234);
    assert_drained("1/3 g2 id 7 of 0 (20 30] made 1 overwritten 0 torn 0 progress 3: 3@1234\n"
                   "1/0 g0 id 0 of 0 (20 30] made 3 = 3 + 0 + 0, ids 0 - 0, torn 0\n");
    assert_drained("");
}

/* A ring that was created after the previous scan of the directory: nothing in it is older. */
TEST_F(new_ring)
{
    add_id(0, 1, 40);
    add_id(1, 2, 3);
    ring_builder_end_id(&builder, 1);
    builder.ring->flush_count = 1;
    drain_made_after(drain, (struct drain_moment){5, 5});
    drained();
    assert_says("1/0 g2 id 1 of 0 (5 10] register \"worker\" tid 1001 idle 0 call 0 "
                "deadline 0 kind 0 progress 40 snaps 40 born 1\n");
    assert_says("made 40 overwritten 8 torn 0 progress 40: 9@109");
    assert_says("id 2 of 0 (5 10] exit 3\n");
    assert_says("flush 1\n");
    assert_says("made 43 = 35 + 8 + 0, ids 2 - 1, torn 0\n");
}

/* An id that ended before the first drain is reported as found, and does not count in later totals. */
TEST_F(earlier_ends_are_found)
{
    add_id(0, 1, 40);
    ring_builder_end_id(&builder, 0);
    drain_find_ended(drain);
    drained();
    assert_says("progress 40 snaps 40 born 1 found\n");
    assert_says("made 32 overwritten 0 torn 0 progress 40: 9@109");
    assert_says("id 1 of 0 (0 10] exit 40\n");
    assert_says("made 32 = 32 + 0 + 0, ids 0 - 0, torn 0\n");
    assert_drained("");
    add_id(2, 2, 5);
    ring_builder_end_id(&builder, 2);
    add_id(2, 3, 1);
    assert_yields("made 38 = 33 + 0 + 5, ids 2 - 1, torn 0\n");
}

/* Snaps made before an id was found do not count as made. For a new id all snaps count. */
TEST_F(lost_entries_count_as_overwritten)
{
    add_id(0, 1, 100);
    assert_yields("made 32 overwritten 0 torn 0 progress 100: 69@145 ");
    for (unsigned i = 0; i < 40; i++)
        ring_builder_snap(&builder, 0, 0x500 + i);
    add_id(1, 2, 33);
    drained();
    assert_says("made 40 overwritten 8 torn 0 progress 140: 109@508 ");
    assert_says("made 33 overwritten 1 torn 0 progress 33: 2@202 ");
    assert_says("made 105 = 96 + 9 + 0, ids 1 - 0, torn 0\n");
    ring_builder_snap(&builder, 1, 0x222);
    ring_builder_entries(&builder, 1)[34 % RIP_ENTRY_COUNT] = 0; /* not yet stored */
    assert_yields("made 1 overwritten 1 torn 1 progress 34:\n");
    assert_says("made 106 = 96 + 10 + 0, ids 1 - 0, torn 1\n");
}

TEST_F(states_and_notes)
{
    struct rip_slot *slot = ring_builder_slot(&builder, 5);

    add_id(5, 1, 1);
    drained();
    ring_builder_snap(&builder, 5, 0x111);
    ring_builder_idle(&builder, 5);
    slot->deadline_ms = 50;
    ring_builder_note(&builder, 5, "reading", 7);
    assert_drained("1/5 g2 id 1 of 0 (10 20] made 1 overwritten 0 torn 0 progress 2: 2@111\n"
                   "1/5 g2 id 1 of 0 (10 20] state \"worker\" tid 1001 idle 1 call 0 deadline 50 kind 0 "
                   "progress 2 snaps 2 born 1\n"
                   "1/5 g2 id 1 of 0 (10 20] note 1 \"reading\"\n"
                   "1/0 g0 id 0 of 0 (10 20] made 2 = 2 + 0 + 0, ids 0 - 0, torn 0\n");
    ring_builder_note(&builder, 5, "writing", 7); /* after the last snap */
    assert_drained("1/5 g2 id 1 of 0 (20 30] note 2 \"writing\"\n");
    assert_drained("");
    slot->idle_mark = 0;
    slot->call = RIP_CALL_LOCK;
    slot->tid = 0;
    ring_builder_note(&builder, 5, "", 0);
    assert_drained("1/5 g2 id 1 of 0 (40 50] state \"worker\" tid 0 idle 0 call 8 deadline 50 kind 0 "
                   "progress 2 snaps 2 born 1\n"
                   "1/5 g2 id 1 of 0 (40 50] note 0 \"\"\n");
}

/* A new name or counter changes the generation of an id, not its totals. */
TEST_F(renamed_id_keeps_its_totals)
{
    struct rip_slot *slot = ring_builder_slot(&builder, 5);

    add_id(5, 1, 3);
    drained();
    slot->generation += 2;
    memcpy(slot->name, "WORKER", 6);
    ring_builder_snap(&builder, 5, 0x111);
    assert_drained("1/5 g2 id 1 of 0 (10 20] made 1 overwritten 0 torn 0 progress 4: 4@111\n"
                   "1/5 g4 id 1 of 0 (10 20] state \"WORKER\" tid 1001 idle 0 call 0 deadline 0 kind 0 "
                   "progress 4 snaps 4 born 1\n"
                   "1/0 g0 id 0 of 0 (10 20] made 4 = 4 + 0 + 0, ids 0 - 0, torn 0\n");
    slot->generation += 2; /* resumed with a counter that is 32 higher */
    slot->counter_bias = 32;
    slot->count += 32;
    for (unsigned i = 0; i < RIP_ENTRY_COUNT; i++)
        ring_builder_entries(&builder, 5)[i] += UINT64_C(32) << RIP_ENTRY_TAG_SHIFT;
    ring_builder_snap(&builder, 5, 0x112);
    assert_drained("1/5 g4 id 1 of 0 (20 30] made 1 overwritten 0 torn 0 progress 37: 5@112\n"
                   "1/5 g6 id 1 of 0 (20 30] state \"WORKER\" tid 1001 idle 0 call 0 deadline 0 kind 0 "
                   "progress 37 snaps 5 born 1\n"
                   "1/0 g0 id 0 of 0 (20 30] made 5 = 5 + 0 + 0, ids 0 - 0, torn 0\n");
}

TEST_F(last_entries_come_with_the_end)
{
    add_id(5, 1, 1);
    drained();
    ring_builder_snap(&builder, 5, 0x111);
    ring_builder_slot(&builder, 5)->generation += 2; /* renamed, then ended */
    ring_builder_end_id(&builder, 5);
    add_id(9, 2, 3); /* registered and ended between two drains */
    ring_builder_end_id(&builder, 9);
    assert_drained("1/5 g2 id 1 of 0 (10 20] made 1 overwritten 0 torn 0 progress 2: 2@111\n"
                   "1/5 g4 id 1 of 0 (10 20] state \"worker\" tid 1001 idle 0 call 0 deadline 0 kind 0 "
                   "progress 2 snaps 2 born 1\n"
                   "1/5 g4 id 1 of 0 (10 20] exit 2\n"
                   "1/9 g2 id 2 of 0 (10 20] register \"worker\" tid 1002 idle 0 call 0 deadline 0 kind 0 "
                   "progress 3 snaps 3 born 2\n"
                   "1/9 g2 id 2 of 0 (10 20] made 3 overwritten 0 torn 0 progress 3: 1@201 2@202 3@203\n"
                   "1/9 g2 id 2 of 0 (10 20] exit 3\n"
                   "1/0 g0 id 0 of 0 (10 20] made 5 = 5 + 0 + 0, ids 1 - 2, torn 0\n");
    assert_drained("");
}

/* Snaps after the last drain are lost if the slot of the id is reused. */
TEST_F(a_reused_slot)
{
    add_id(5, 1, 4);
    drained();
    ring_builder_snap(&builder, 5, 0x111);
    ring_builder_end_id(&builder, 5);
    add_id(5, 2, 7);
    ring_builder_end_id(&builder, 5);
    add_id(5, 3, 1);
    assert_drained("1/5 g2 id 1 of 0 (10 20] exit 0 not known\n"
                   "1/5 g6 id 3 of 0 (10 20] register \"worker\" tid 1003 idle 0 call 0 deadline 0 kind 0 "
                   "progress 1 snaps 1 born 3\n"
                   "1/5 g6 id 3 of 0 (10 20] made 1 overwritten 0 torn 0 progress 1: 1@301\n"
                   "1/0 g0 id 0 of 0 (10 20] made 13 = 5 + 0 + 8, ids 2 - 2, torn 0\n");
}

/* An id that ends between its sample and the read of the log ends in the next drain. */
TEST_F(an_end_during_a_drain)
{
    const struct rip_sink sink = {&text, take_text};
    struct drain_batch *batch = drain_batch_new();
    struct rip_scan_position position = {0};
    struct rip_sample samples[DRAIN_BATCH];
    size_t count;

    assert_non_null(batch);
    add_id(5, 1, 4);
    drained();
    text_clear(&text);
    ring_builder_snap(&builder, 5, 0x111);
    drain_begin(drain, (struct drain_moment){20, 20});
    assert_false(drain_open(drain, &view, batch));
    count = rip_view_scan(&view, &position, samples, DRAIN_BATCH);
    ring_builder_snap(&builder, 5, 0x112);
    drain_read(drain, &view, samples, count, batch);
    assert_int_equal(drain_take(drain, batch, &sink), 0);
    ring_builder_end_id(&builder, 5);
    while (drain_finish(drain, &view, batch))
        assert_int_equal(drain_take(drain, batch, &sink), 0);
    assert_int_equal(drain_end(drain, &sink), 0);
    assert_string_equal(text_of(&text), "1/5 g2 id 1 of 0 (10 20] made 1 overwritten 0 torn 0 progress 5: 5@111\n"
                                        "1/0 g0 id 0 of 0 (10 20] made 5 = 5 + 0 + 0, ids 0 - 1, torn 0\n");
    now_ns = 20;
    assert_drained("1/5 g2 id 1 of 0 (20 30] made 1 overwritten 0 torn 0 progress 6: 6@112\n"
                   "1/5 g2 id 1 of 0 (20 30] exit 6\n"
                   "1/0 g0 id 0 of 0 (20 30] made 6 = 6 + 0 + 0, ids 0 - 1, torn 0\n");
    drain_batch_free(batch);
}

/* The live bit is set and the generation odd: the id is being renamed, and is not reported until that is done. */
TEST_F(id_that_is_being_renamed)
{
    add_id(5, 1, 4);
    drained();
    ring_builder_slot(&builder, 5)->generation++;
    ring_builder_snap(&builder, 5, 0x111);
    assert_drained("1/0 g0 id 0 of 0 (10 20] made 4 = 4 + 0 + 0?, ids 0 - 0, torn 0\n");
    ring_builder_slot(&builder, 5)->generation++;
    assert_yields("made 1 overwritten 0 torn 0 progress 5: 5@111\n");
    assert_says("made 5 = 5 + 0 + 0, ids 0 - 0");
}

/* More ends than the log holds: their snaps are counted, and their entries lost. */
TEST_F(more_ends_than_the_log_holds)
{
    add_id(200, 1, 4);
    drained();
    for (uint32_t i = 0; i < 300; i++) {
        add_id(i % 100, 100 + i, 2);
        ring_builder_end_id(&builder, i % 100);
    }
    ring_builder_end_id(&builder, 200);
    drained();
    assert_says("id 1 of 0 (10 20] exit 4\n");
    assert_null(strstr(text_of(&text), "id 200 of"));
    assert_says("id 300 of 0 (10 20] exit 2\n");
    assert_says("made 604 = 204 + 0 + 400, ids 300 - 301, torn 0\n");
    assert_drained("");
}

TEST_F(hostile_counts)
{
    struct rip_slot *slot = ring_builder_slot(&builder, 5);

    add_id(5, 1, 4);
    drained();
    slot->count = UINT64_C(1) << 63;
    drained();
    assert_says("made 9223372036854775804 overwritten 9223372036854775804 torn 32");
    slot->count = 1;
    drained();
    assert_says("made 0 overwritten 0 torn 0 progress 1:\n");
    assert_says("+ 0?, ids 0 - 0");
    builder.ring->ended_snap_count = UINT64_MAX;
    builder.ring->ended_count = UINT64_MAX - 3;
    drained();
    assert_says("+ 0?, ids 0 - ");
}

/* A ring from before ended ids were counted. */
TEST_F(ring_without_counts_of_ended_ids)
{
    builder.ring->compatible_flags = 0;
    add_id(5, 1, 4);
    assert_yields("made 4 = 4 + 0 + 0?, ids 0 - 0");
    ring_builder_set_live(&builder, 5, false);
    assert_drained("1/5 g2 id 1 of 0 (10 20] exit 4\n");
}

TEST_F(processes_modules_and_flushes)
{
    uint32_t module;

    ring_builder_add_process(&builder, 1, 500, 9, "server");
    module = ring_builder_add_module(&builder, 0x1000, 0x2000, 0, "/bin/server", "id", 2);
    ring_builder_link_module(&builder, 1, module);
    assert_drained("1/0 g0 id 0 of 1 (0 10] process pid 500 server modules 1\n"
                   "1/0 g0 id 0 of 1 (0 10] module 0 1000-2000 /bin/server\n"
                   "1/0 g0 id 0 of 0 (0 10] made 0 = 0 + 0 + 0, ids 0 - 0, torn 0\n");
    module = ring_builder_add_module(&builder, 0x3000, 0x4000, 0, "/lib/one", NULL, 0);
    ring_builder_link_module(&builder, 1, module);
    builder.ring->flush_count = 3;
    assert_drained("1/0 g0 id 0 of 1 (10 20] module 1 3000-4000 /lib/one\n"
                   "1/0 g0 id 0 of 0 (10 20] flush 3\n");
    ring_builder_process(&builder, 1)->state = RIP_PROCESS_EXITED;
    assert_drained("1/0 g0 id 0 of 1 (20 30] death 0 0 100\n");
    ring_builder_add_process(&builder, 1, 501, 10, "next");
    ring_builder_process(&builder, 1)->generation++;
    assert_yields("process pid 501 next");
    ring_builder_process(&builder, 1)->state = RIP_PROCESS_FREE;
    assert_drained("1/0 g0 id 0 of 1 (40 50] death 0 0 000\n");
    assert_drained("");
}

/* A process with all 384 modules: more than a batch. */
TEST_F(many_modules)
{
    char path[32];

    ring_builder_add_process(&builder, 0, 500, 9, "server");
    ring_builder_add_process(&builder, 1, 501, 9, "other");
    for (uint32_t i = 0; i < 64; i++) {
        snprintf(path, sizeof(path), "/lib/%u", i);
        ring_builder_add_module(&builder, 0x1000 * i + 0x1000, 0x1000 * i + 0x2000, 0, path, NULL, 0);
    }
    for (uint32_t i = 0; i < RIP_PROCESS_MODULES; i++)
        ring_builder_link_module(&builder, 0, i % 64);
    ring_builder_link_module(&builder, 1, 63);
    drained();
    assert_says("module 383 40000-41000 /lib/63\n");
    assert_says("1/0 g0 id 0 of 1 (0 10] module 0 40000-41000 /lib/63\n");
}
