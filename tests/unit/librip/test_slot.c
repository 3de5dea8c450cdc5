/* SPDX-License-Identifier: Apache-2.0 */
/* test_slot.c - slots among processes, and the table of ids: librip/slot.c. */
#include "unit/writer_test.h"

static bool globals_are(pid_t tid, unsigned idx, unsigned ctr)
{
    return rip_tid == tid && rip_idx == (uint8_t)idx && rip_ctr == (uint8_t)ctr;
}

/* Full ------------------------------------------------------------------------------------------------------------- */

SCENE(full_ring_refuses)
{
    make_ring(64);
    for (uint32_t id = 1; id <= 64; id++) {
        begin_id(id, "x");
        CHECK(slot_index(own_slot()) == id - 1); /* dense */
    }
    rip_init(1000, "refused", 7, 2, 3);
    CHECK(rip__thread.slot == NULL && globals_are(1000, 2, 3));
    snap_times(4);
    CHECK(globals_are(1000, 2, 3) && rip_ring->refused_full_count == 1 && own_live_count() == 64);
    rip_exit();
    CHECK(globals_are(0, 0, 0));
    rip_init(30, NULL, 0, 0, 0);
    rip_exit();
    begin_id(1000, "now");
    CHECK(slot_index(own_slot()) == 29); /* the lowest that is free */
    CHECK(rip_ring->refused_full_count == 1);
}

/* A killed process's slots are taken when, and only when, there are no others. */
SCENE(slots_of_the_dead_are_swept)
{
    pid_t pid;

    make_ring(64);
    begin_id(1, "one");
    pid = fork();
    if (pid == 0) {
        for (uint32_t id = 1; id <= 63; id++)
            begin_id(id, "child");
        CHECK(rip__thread.slot != NULL && rip_ring->refused_full_count == 0);
        kill(getpid(), SIGKILL);
    }
    CHECK(end_of(pid) == 1000 + SIGKILL);
    CHECK(own_live_count() == 64);
    for (uint32_t id = 1; id <= 64; id++) {
        begin_traced(id, "parent");
    }
    begin_id(65, "refused");
    CHECK(rip__thread.slot == NULL && rip_ring->refused_full_count == 1);
}

/* A process that is killed between claiming a slot and publishing it takes nothing with it. */
SCENE(claimed_slots_of_the_dead_are_swept)
{
    pid_t pid;

    make_ring(64);
    pid = fork();
    if (pid == 0) {
        for (uint32_t id = 1; id <= 64; id++) {
            begin_id(id, "child");
            rip_ring->slot_hint = 0;
        }
        for (uint32_t i = 0; i < 64; i++)
            rip__slot_at(i)->state = (uint16_t)(RIP_SLOT_CLAIMED | rip__writer.process << RIP_SLOT_OWNER_SHIFT);
        *(uint64_t *)(void *)(rip__writer.base + rip__writer.geometry.live_offset) = 0;
        kill(getpid(), SIGKILL);
    }
    CHECK(end_of(pid) == 1000 + SIGKILL);
    begin_traced(1, "parent");
}

/* A record goes to the next process without the claims of the one before, which could not be told apart from its own.
 */
SCENE(claimed_slots_are_swept_before_the_record_is_reused)
{
    make_ring(100);
    begin_id(1, "one");
    for (unsigned i = 1; i < rip__writer.geometry.process_capacity; i++) {
        if (in_child(fork())) {
            begin_id(2, "two");
            if (i == 1)
                rip__slot_at(5)->state = (uint16_t)(RIP_SLOT_CLAIMED | rip__writer.process << RIP_SLOT_OWNER_SHIFT);
            _exit(0);
        }
    }
    CHECK(rip__slot_at(5)->state == (RIP_SLOT_CLAIMED | 1u << RIP_SLOT_OWNER_SHIFT));
    if (in_child(fork())) {
        begin_id(3, "three");
        CHECK(rip__writer.process == 1);
        CHECK(rip__slot_at(5)->state == RIP_SLOT_FREE || rip__slot_at(5)->process == 1);
        CHECK(rip__slot_at(5)->state != (RIP_SLOT_CLAIMED | 1u << RIP_SLOT_OWNER_SHIFT));
        _exit(0);
    }
}

SCENE(slots_of_the_living_are_not_swept)
{
    int ready[2];
    pid_t pid;

    make_ring(64);
    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        for (uint32_t id = 1; id <= 64; id++)
            begin_id(id, "child");
        signal_pipe(ready);
        pause();
    }
    await(ready);
    begin_id(1, "parent");
    CHECK(rip__thread.slot == NULL && own_live_count() == 64);
    CHECK(kill(pid, SIGKILL) == 0 && end_of(pid) == 1000 + SIGKILL);
    rip__writer.swept_boot_ns = 0; /* a second later */
    begin_traced(1, "parent");
}

enum { CROWD = 4, CROWD_ROUNDS = 3000 };

static void jostle(unsigned seed)
{
    begin_id(0, "jostler");
    for (unsigned round = 0; round < CROWD_ROUNDS; round++) {
        uint32_t id = 1 + (uint32_t)rand_r(&seed) % 20;

        begin_id(id, "x");
        CHECK(own_slot()->process == rip__writer.process && own_slot()->id == id);
        CHECK(own_slot()->state == RIP_SLOT_LIVE);
        rip_snap();
        if (rand_r(&seed) % 2)
            rip_exit();
    }
    rip__leave(RIP_LEAVE_FILE);
}

/* Several processes claim and free in the same words at once; nobody gets another's slot, and none is lost. */
SCENE(many_processes_share_the_bitmap)
{
    make_ring(200);
    for (unsigned i = 0; i < CROWD; i++) {
        if (fork() == 0) {
            jostle(i + 1);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < CROWD; i++)
        CHECK(end_of(-1) == 0);
    CHECK(own_live_count() == 0 && rip_ring->refused_full_count == 0);
    for (uint32_t id = 1; id <= 256; id++) {
        begin_traced(id, "x");
    }
}

/* The table -------------------------------------------------------------------------------------------------------- */

enum { TABLE_IDS = 3000 };

TEST(table_against_an_array)
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
