/* SPDX-License-Identifier: Apache-2.0 */
/* test_slot.c - slots shared by processes, and the table of ids: librip/slot.c. */
#include "unit/writer_test.h"

static bool globals_are(pid_t tid, unsigned idx, unsigned ctr)
{
    return rip_tid == tid && rip_idx == (uint8_t)idx && rip_ctr == (uint8_t)ctr;
}

/* Leaves a slot in the state of one that this process is claiming. */
static void claim_slot(uint32_t slot)
{
    rip__slot_at(slot)->state = (uint16_t)(RIP_SLOT_CLAIMED | rip__writer.process << RIP_SLOT_OWNER_SHIFT);
}

/* A full ring ------------------------------------------------------------------------------------------------------ */

FORKED_TEST(full_ring_refuses_ids)
{
    make_ring(64);
    for (uint32_t id = 1; id <= 64; id++) {
        register_id(id, "x");
        CHECK(own_slot_index() == id - 1); /* slots are used in order */
    }
    rip_init(1000, "refused", 7, 2, 3);
    CHECK(rip__thread.slot == NULL && globals_are(1000, 2, 3));
    snap_times(4);
    CHECK(globals_are(1000, 2, 3) && rip_ring->refused_full_count == 1 && own_live_count() == 64);
    rip_exit();
    CHECK(globals_are(0, 0, 0));
    rip_init(30, NULL, 0, 0, 0);
    rip_exit();
    register_id(1000, "now");
    CHECK(own_slot_index() == 29); /* the lowest free slot */
    CHECK(rip_ring->refused_full_count == 1);
}

/* A process that is killed between claiming a slot and publishing it does not keep the slot. */
FORKED_TEST(claimed_slots_of_killed_processes_are_swept)
{
    make_ring(64);
    if (in_killed_child()) {
        for (uint32_t id = 1; id <= 64; id++) {
            register_id(id, "child");
            rip_ring->slot_hint = 0;
        }
        for (uint32_t i = 0; i < 64; i++)
            claim_slot(i);
        *(uint64_t *)(void *)(rip__writer.base + rip__writer.geometry.live_offset) = 0;
        die();
    }
    register_traced(1, "parent");
}

FORKED_TEST(claimed_slot_is_skipped)
{
    make_ring_with_id(64);
    claim_slot(1);
    register_traced(2, "two");
    CHECK(own_slot_index() == 2);
}

/*
 * A record is reused only after the claims of its dead process are swept: the next process could not distinguish them
 * from its own.
 */
FORKED_TEST(claimed_slots_are_swept_before_the_record_is_reused)
{
    make_ring_with_id(100);
    for (unsigned i = 1; i < rip__writer.geometry.process_capacity; i++) {
        if (in_child()) {
            register_id(2, "two");
            if (i == 1)
                claim_slot(5);
            _exit(0);
        }
    }
    CHECK(rip__slot_at(5)->state == (RIP_SLOT_CLAIMED | 1u << RIP_SLOT_OWNER_SHIFT));
    if (in_child()) {
        register_id(3, "three");
        CHECK(rip__writer.process == 1);
        CHECK(rip__slot_at(5)->state == RIP_SLOT_FREE || rip__slot_at(5)->process == 1);
        CHECK(rip__slot_at(5)->state != (RIP_SLOT_CLAIMED | 1u << RIP_SLOT_OWNER_SHIFT));
        _exit(0);
    }
}

FORKED_TEST(slots_of_the_living_are_not_swept)
{
    int ready[2];
    pid_t pid;

    make_ring(64);
    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        register_ids(1, 64);
        signal_pipe(ready);
        pause();
    }
    await_pipe(ready);
    register_id(1, "parent");
    CHECK(rip__thread.slot == NULL && own_live_count() == 64);
    kill_child(pid);
    rip__writer.swept_boot_ns = 0; /* as if a second had passed */
    register_traced(1, "parent");
}

enum { PROCESSES = 4, ROUNDS = 3000 };

static void claim_and_free_slots(unsigned seed)
{
    register_id(0, "worker");
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint32_t id = 1 + (uint32_t)rand_r(&seed) % 20;

        register_id(id, "x");
        CHECK(own_slot()->process == rip__writer.process && own_slot()->id == id);
        CHECK(own_slot()->state == RIP_SLOT_LIVE);
        rip_snap();
        if (rand_r(&seed) % 2)
            rip_exit();
    }
    rip__leave(RIP_LEAVE_FILE);
}

/*
 * Several processes claim and free slots in the same bitmap words at once: none gets the slot of another, and none is
 * lost.
 */
FORKED_TEST(many_processes_share_the_bitmap)
{
    make_ring(200);
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            claim_and_free_slots(i + 1);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        CHECK(exit_status_of(-1) == 0);
    CHECK(own_live_count() == 0 && rip_ring->refused_full_count == 0);
    for (uint32_t id = 1; id <= 256; id++) {
        register_traced(id, "x");
    }
}

/* The table of ids ------------------------------------------------------------------------------------------------- */

enum { TABLE_IDS = 3000 };

TEST(table_of_ids_equals_an_array)
{
    static uint32_t expected[TABLE_IDS];
    unsigned seed = 7;

    memset(expected, 0xff, sizeof(expected));
    for (unsigned step = 0; step < 100000; step++) {
        uint32_t n = (uint32_t)rand_r(&seed) % TABLE_IDS, id = n * 64;

        if (rand_r(&seed) % 3 != 0) {
            assert_int_equal(rip__table_insert(id, step), 0);
            expected[n] = step;
        } else {
            rip__table_remove(id);
            expected[n] = RIP_NO_SLOT;
        }
        assert_int_equal(rip__table_find(id), expected[n]);
    }
    for (uint32_t n = 0; n < TABLE_IDS; n++)
        assert_int_equal(rip__table_find(n * 64), expected[n]);
    rip__table_drop();
    assert_int_equal(rip__table_find(0), RIP_NO_SLOT);
}
