/* SPDX-License-Identifier: Apache-2.0 */
/* test_drain.c - what drains of a ring yield, of rings that are built by hand. */
#include "unit/session/session_test.h"

#include "support/ring_builder.h"

static struct stage {
    struct ring_builder builder;
    struct rip_view view;
    struct drain *drain;
    struct event_text text;
    uint64_t now_ns;
} stage;

static int set_stage(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = 256, .note_stride_bytes = RIP_SLOT_NOTE_BYTES};

    (void)state;
    stage = (struct stage){.now_ns = 0};
    ring_builder_new(&stage.builder, &geometry);
    stage.builder.ring->compatible_flags = RIP_RING_COUNTS_ENDED;
    assert_int_equal(rip_view_open(&stage.view, stage.builder.bytes, stage.builder.size_bytes), RIP_OK);
    assert_int_equal(drain_new(&stage.drain, 1), 0);
    return 0;
}

static int clear_stage(void **state)
{
    (void)state;
    drain_free(stage.drain);
    ring_builder_free(&stage.builder);
    text_clear(&stage.text);
    return 0;
}

/* What the next drain yields. */
static const char *drained(void)
{
    const struct rip_sink sink = {&stage.text, take_text};

    text_clear(&stage.text);
    drain_once(stage.drain, &stage.view, stage.now_ns += 10, &sink);
    return text_of(&stage.text);
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
    ring_builder_add_id(&stage.builder, slot, id, 1000 + id, 0, "worker");
    ring_builder_slot(&stage.builder, slot)->registered_boot_ns = id;
    for (uint64_t i = 1; i <= count; i++)
        ring_builder_snap(&stage.builder, slot, 0x100 * id + i);
}

TEST(entries_are_yielded_once, set_stage, clear_stage)
{
    add_id(3, 7, 2);
    assert_drained("1/3 g2 id 7 of 0 (0 10] register \"worker\" tid 1007 idle 0 call 0 deadline 0 kind 0 "
                   "progress 2 snaps 2 born 7 found\n"
                   "1/3 g2 id 7 of 0 (0 10] made 2 overwritten 0 torn 0 progress 2: 1@701 2@702\n"
                   "1/0 g0 id 0 of 0 (0 10] made 2 = 2 + 0 + 0, ids 0 - 0, torn 0\n");
    assert_drained("");
    ring_builder_snap(&stage.builder, 3, 0x1234);
    assert_drained("1/3 g2 id 7 of 0 (20 30] made 1 overwritten 0 torn 0 progress 3: 3@1234\n"
                   "1/0 g0 id 0 of 0 (20 30] made 3 = 3 + 0 + 0, ids 0 - 0, torn 0\n");
    assert_drained("");
}

/* A ring that was made since the session looked last: nothing of it was there before. */
TEST(a_ring_that_is_new, set_stage, clear_stage)
{
    add_id(0, 1, 40);
    add_id(1, 2, 3);
    ring_builder_end_id(&stage.builder, 1);
    stage.builder.ring->flush_count = 1;
    drain_made_after(stage.drain, (struct drain_moment){5, 5});
    drained();
    assert_says(&stage.text, "1/0 g2 id 1 of 0 (5 10] register \"worker\" tid 1001 idle 0 call 0 "
                             "deadline 0 kind 0 progress 40 snaps 40 born 1\n");
    assert_says(&stage.text, "made 40 overwritten 8 torn 0 progress 40: 9@109");
    assert_says(&stage.text, "id 2 of 0 (5 10] exit 3\n");
    assert_says(&stage.text, "flush 1\n");
    assert_says(&stage.text, "made 43 = 35 + 8 + 0, ids 2 - 1, torn 0\n");
}

/* What had ended is found like what lives, and counts in no account of what came later. */
TEST(what_had_ended_is_found, set_stage, clear_stage)
{
    add_id(0, 1, 40);
    ring_builder_end_id(&stage.builder, 0);
    drain_find_ended(stage.drain);
    drained();
    assert_says(&stage.text, "progress 40 snaps 40 born 1 found\n");
    assert_says(&stage.text, "made 32 overwritten 0 torn 0 progress 40: 9@109");
    assert_says(&stage.text, "id 1 of 0 (0 10] exit 40\n");
    assert_says(&stage.text, "made 32 = 32 + 0 + 0, ids 0 - 0, torn 0\n");
    assert_drained("");
    add_id(2, 2, 5);
    ring_builder_end_id(&stage.builder, 2);
    add_id(2, 3, 1);
    assert_yields("made 38 = 33 + 0 + 5, ids 2 - 1, torn 0\n");
}

/* Of one that is found what it did before is not made; of one that comes all is. */
TEST(what_is_gone_is_overwritten, set_stage, clear_stage)
{
    add_id(0, 1, 100);
    assert_yields("made 32 overwritten 0 torn 0 progress 100: 69@145 ");
    for (unsigned i = 0; i < 40; i++)
        ring_builder_snap(&stage.builder, 0, 0x500 + i);
    add_id(1, 2, 33);
    drained();
    assert_says(&stage.text, "made 40 overwritten 8 torn 0 progress 140: 109@508 ");
    assert_says(&stage.text, "made 33 overwritten 1 torn 0 progress 33: 2@202 ");
    assert_says(&stage.text, "made 105 = 96 + 9 + 0, ids 1 - 0, torn 0\n");
    ring_builder_snap(&stage.builder, 1, 0x222);
    ring_builder_entries(&stage.builder, 1)[34 % RIP_ENTRY_COUNT] = 0; /* the pen is still on it */
    assert_yields("made 1 overwritten 1 torn 1 progress 34:\n");
    assert_says(&stage.text, "made 106 = 96 + 10 + 0, ids 1 - 0, torn 1\n");
}

TEST(states_and_notes, set_stage, clear_stage)
{
    struct rip_slot *slot = ring_builder_slot(&stage.builder, 5);

    add_id(5, 1, 1);
    drained();
    ring_builder_snap(&stage.builder, 5, 0x111);
    ring_builder_idle(&stage.builder, 5);
    slot->deadline_ms = 50;
    ring_builder_note(&stage.builder, 5, "reading", 7);
    assert_drained("1/5 g2 id 1 of 0 (10 20] made 1 overwritten 0 torn 0 progress 2: 2@111\n"
                   "1/5 g2 id 1 of 0 (10 20] state \"worker\" tid 1001 idle 1 call 0 deadline 50 kind 0 "
                   "progress 2 snaps 2 born 1\n"
                   "1/5 g2 id 1 of 0 (10 20] note 1 \"reading\"\n"
                   "1/0 g0 id 0 of 0 (10 20] made 2 = 2 + 0 + 0, ids 0 - 0, torn 0\n");
    ring_builder_note(&stage.builder, 5, "writing", 7); /* after its last snap */
    assert_drained("1/5 g2 id 1 of 0 (20 30] note 2 \"writing\"\n");
    assert_drained("");
    slot->idle_mark = 0;
    slot->call = RIP_CALL_LOCK;
    slot->tid = 0;
    ring_builder_note(&stage.builder, 5, "", 0);
    assert_drained("1/5 g2 id 1 of 0 (40 50] state \"worker\" tid 0 idle 0 call 8 deadline 50 kind 0 "
                   "progress 2 snaps 2 born 1\n"
                   "1/5 g2 id 1 of 0 (40 50] note 0 \"\"\n");
}

/* The name and the counter of an id change its generation, and not its account. */
TEST(a_renamed_id_is_the_same, set_stage, clear_stage)
{
    struct rip_slot *slot = ring_builder_slot(&stage.builder, 5);

    add_id(5, 1, 3);
    drained();
    slot->generation += 2;
    memcpy(slot->name, "WORKER", 6);
    ring_builder_snap(&stage.builder, 5, 0x111);
    assert_drained("1/5 g2 id 1 of 0 (10 20] made 1 overwritten 0 torn 0 progress 4: 4@111\n"
                   "1/5 g4 id 1 of 0 (10 20] state \"WORKER\" tid 1001 idle 0 call 0 deadline 0 kind 0 "
                   "progress 4 snaps 4 born 1\n"
                   "1/0 g0 id 0 of 0 (10 20] made 4 = 4 + 0 + 0, ids 0 - 0, torn 0\n");
    slot->generation += 2; /* resumed with a counter of 32 more */
    slot->counter_bias = 32;
    slot->count += 32;
    for (unsigned i = 0; i < RIP_ENTRY_COUNT; i++)
        ring_builder_entries(&stage.builder, 5)[i] += UINT64_C(32) << RIP_ENTRY_TAG_SHIFT;
    ring_builder_snap(&stage.builder, 5, 0x112);
    assert_drained("1/5 g4 id 1 of 0 (20 30] made 1 overwritten 0 torn 0 progress 37: 5@112\n"
                   "1/5 g6 id 1 of 0 (20 30] state \"WORKER\" tid 1001 idle 0 call 0 deadline 0 kind 0 "
                   "progress 37 snaps 5 born 1\n"
                   "1/0 g0 id 0 of 0 (20 30] made 5 = 5 + 0 + 0, ids 0 - 0, torn 0\n");
}

TEST(last_entries_come_with_the_end, set_stage, clear_stage)
{
    add_id(5, 1, 1);
    drained();
    ring_builder_snap(&stage.builder, 5, 0x111);
    ring_builder_slot(&stage.builder, 5)->generation += 2; /* renamed before it ended */
    ring_builder_end_id(&stage.builder, 5);
    add_id(9, 2, 3); /* came and went */
    ring_builder_end_id(&stage.builder, 9);
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

/* What an id made after its last drain is not seen, if its slot is another's. */
TEST(a_reused_slot, set_stage, clear_stage)
{
    add_id(5, 1, 4);
    drained();
    ring_builder_snap(&stage.builder, 5, 0x111);
    ring_builder_end_id(&stage.builder, 5);
    add_id(5, 2, 7);
    ring_builder_end_id(&stage.builder, 5);
    add_id(5, 3, 1);
    assert_drained("1/5 g2 id 1 of 0 (10 20] exit 0 not known\n"
                   "1/5 g6 id 3 of 0 (10 20] register \"worker\" tid 1003 idle 0 call 0 deadline 0 kind 0 "
                   "progress 1 snaps 1 born 3\n"
                   "1/5 g6 id 3 of 0 (10 20] made 1 overwritten 0 torn 0 progress 1: 1@301\n"
                   "1/0 g0 id 0 of 0 (10 20] made 13 = 5 + 0 + 8, ids 2 - 2, torn 0\n");
}

/* One that ends between its sample and the look at the log has ended in the next drain. */
TEST(an_end_during_a_drain, set_stage, clear_stage)
{
    const struct rip_sink sink = {&stage.text, take_text};
    struct drain_batch *batch = drain_batch_new();
    struct rip_scan_position position = {0};
    struct rip_sample samples[DRAIN_BATCH];
    size_t count;

    assert_non_null(batch);
    add_id(5, 1, 4);
    drained();
    text_clear(&stage.text);
    ring_builder_snap(&stage.builder, 5, 0x111);
    drain_begin(stage.drain, (struct drain_moment){20, 20});
    assert_false(drain_open(stage.drain, &stage.view, batch));
    count = rip_view_scan(&stage.view, &position, samples, DRAIN_BATCH);
    ring_builder_snap(&stage.builder, 5, 0x112);
    drain_read(stage.drain, &stage.view, samples, count, batch);
    assert_int_equal(drain_take(stage.drain, batch, &sink), 0);
    ring_builder_end_id(&stage.builder, 5);
    while (drain_finish(stage.drain, &stage.view, batch))
        assert_int_equal(drain_take(stage.drain, batch, &sink), 0);
    assert_int_equal(drain_end(stage.drain, &sink), 0);
    assert_string_equal(text_of(&stage.text), "1/5 g2 id 1 of 0 (10 20] made 1 overwritten 0 torn 0 progress 5: 5@111\n"
                                              "1/0 g0 id 0 of 0 (10 20] made 5 = 5 + 0 + 0, ids 0 - 1, torn 0\n");
    stage.now_ns = 20;
    assert_drained("1/5 g2 id 1 of 0 (20 30] made 1 overwritten 0 torn 0 progress 6: 6@112\n"
                   "1/5 g2 id 1 of 0 (20 30] exit 6\n"
                   "1/0 g0 id 0 of 0 (20 30] made 6 = 6 + 0 + 0, ids 0 - 1, torn 0\n");
    drain_batch_free(batch);
}

/* Its bit is set, and its generation odd: it is being renamed, and says nothing until that is done. */
TEST(an_id_that_is_being_changed, set_stage, clear_stage)
{
    add_id(5, 1, 4);
    drained();
    ring_builder_slot(&stage.builder, 5)->generation++;
    ring_builder_snap(&stage.builder, 5, 0x111);
    assert_drained("1/0 g0 id 0 of 0 (10 20] made 4 = 4 + 0 + 0?, ids 0 - 0, torn 0\n");
    ring_builder_slot(&stage.builder, 5)->generation++;
    assert_yields("made 1 overwritten 0 torn 0 progress 5: 5@111\n");
    assert_says(&stage.text, "made 5 = 5 + 0 + 0, ids 0 - 0");
}

/* More than the log has room for: what they made is counted, and nothing of it seen. */
TEST(more_ends_than_the_ring_remembers, set_stage, clear_stage)
{
    add_id(200, 1, 4);
    drained();
    for (uint32_t i = 0; i < 300; i++) {
        add_id(i % 100, 100 + i, 2);
        ring_builder_end_id(&stage.builder, i % 100);
    }
    ring_builder_end_id(&stage.builder, 200);
    drained();
    assert_says(&stage.text, "id 1 of 0 (10 20] exit 4\n");
    assert_null(strstr(text_of(&stage.text), "id 200 of"));
    assert_says(&stage.text, "id 300 of 0 (10 20] exit 2\n");
    assert_says(&stage.text, "made 604 = 204 + 0 + 400, ids 300 - 301, torn 0\n");
    assert_drained("");
}

TEST(a_ring_that_lies, set_stage, clear_stage)
{
    struct rip_slot *slot = ring_builder_slot(&stage.builder, 5);

    add_id(5, 1, 4);
    drained();
    slot->count = UINT64_C(1) << 63;
    drained();
    assert_says(&stage.text, "made 9223372036854775804 overwritten 9223372036854775804 torn 32");
    slot->count = 1;
    drained();
    assert_says(&stage.text, "made 0 overwritten 0 torn 0 progress 1:\n");
    assert_says(&stage.text, "+ 0?, ids 0 - 0");
    stage.builder.ring->ended_snap_count = UINT64_MAX;
    stage.builder.ring->ended_count = UINT64_MAX - 3;
    drained();
    assert_says(&stage.text, "+ 0?, ids 0 - ");
}

/* A ring of before ended ids were counted. */
TEST(a_ring_that_does_not_count, set_stage, clear_stage)
{
    stage.builder.ring->compatible_flags = 0;
    add_id(5, 1, 4);
    assert_yields("made 4 = 4 + 0 + 0?, ids 0 - 0");
    ring_builder_set_live(&stage.builder, 5, false);
    assert_drained("1/5 g2 id 1 of 0 (10 20] exit 4\n");
}

TEST(processes_modules_and_flushes, set_stage, clear_stage)
{
    uint32_t module;

    ring_builder_add_process(&stage.builder, 1, 500, 9, "server");
    module = ring_builder_add_module(&stage.builder, 0x1000, 0x2000, 0, "/bin/server", "id", 2);
    ring_builder_link_module(&stage.builder, 1, module);
    assert_drained("1/0 g0 id 0 of 1 (0 10] process pid 500 server modules 1\n"
                   "1/0 g0 id 0 of 1 (0 10] module 0 1000-2000 /bin/server\n"
                   "1/0 g0 id 0 of 0 (0 10] made 0 = 0 + 0 + 0, ids 0 - 0, torn 0\n");
    module = ring_builder_add_module(&stage.builder, 0x3000, 0x4000, 0, "/lib/one", NULL, 0);
    ring_builder_link_module(&stage.builder, 1, module);
    stage.builder.ring->flush_count = 3;
    assert_drained("1/0 g0 id 0 of 1 (10 20] module 1 3000-4000 /lib/one\n"
                   "1/0 g0 id 0 of 0 (10 20] flush 3\n");
    ring_builder_process(&stage.builder, 1)->state = RIP_PROCESS_EXITED;
    assert_drained("1/0 g0 id 0 of 1 (20 30] death 0 0 100\n");
    ring_builder_add_process(&stage.builder, 1, 501, 10, "next");
    ring_builder_process(&stage.builder, 1)->generation++;
    assert_yields("process pid 501 next");
    ring_builder_process(&stage.builder, 1)->state = RIP_PROCESS_FREE;
    assert_drained("1/0 g0 id 0 of 1 (40 50] death 0 0 000\n");
    assert_drained("");
}

/* All 384 of a process: more than a batch. */
TEST(many_modules, set_stage, clear_stage)
{
    char path[32];

    ring_builder_add_process(&stage.builder, 0, 500, 9, "server");
    ring_builder_add_process(&stage.builder, 1, 501, 9, "other");
    for (uint32_t i = 0; i < 64; i++) {
        snprintf(path, sizeof(path), "/lib/%u", i);
        ring_builder_add_module(&stage.builder, 0x1000 * i + 0x1000, 0x1000 * i + 0x2000, 0, path, NULL, 0);
    }
    for (uint32_t i = 0; i < RIP_PROCESS_MODULES; i++)
        ring_builder_link_module(&stage.builder, 0, i % 64);
    ring_builder_link_module(&stage.builder, 1, 63);
    drained();
    assert_says(&stage.text, "module 383 40000-41000 /lib/63\n");
    assert_says(&stage.text, "1/0 g0 id 0 of 1 (0 10] module 0 40000-41000 /lib/63\n");
}
