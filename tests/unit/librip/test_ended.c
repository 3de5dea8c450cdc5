/* SPDX-License-Identifier: Apache-2.0 */
/* test_ended.c - ids that have ended: the log, what stays in their slots, which slots come next, and rip_flush(). */
#include "unit/writer_test.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

static void make_ring(uint32_t max_procs)
{
    CHECK(rip_create_ring(on_stage("ring"), max_procs));
}

/* Registers an id, makes so many snaps, and ends it. The slot that it had. */
static uint32_t live_and_end(uint32_t id, unsigned snap_count)
{
    uint32_t slot;

    rip_init(id, "short", 5, 0, 0);
    CHECK(rip__thread.slot != NULL);
    slot = rip__slot_index(rip__thread.slot);
    for (unsigned i = 1; i <= snap_count; i++)
        rip_snap_at((const void *)(uintptr_t)(id * UINT64_C(1000) + i));
    rip_exit();
    return slot;
}

static struct rip_ring_info ring_info(void)
{
    struct rip_ring_info info;

    rip_view_info(&rip__writer.view, &info);
    CHECK(info.counts_ended == 1 && info.ended_settled == 1);
    return info;
}

/* The only entry of this number. */
static struct rip_ended ended_at(uint64_t number)
{
    struct rip_ended ended;
    uint64_t next;

    CHECK(rip_view_ended(&rip__writer.view, number, &ended, 1, &next) == 1 && next == number + 1);
    CHECK(ended.number == number);
    return ended;
}

/* The log ---------------------------------------------------------------------------------------------------------- */

SCENE(ends_are_logged_in_order)
{
    enum { IDS = 3 * RIP_ENDED_COUNT + 7 };
    static struct rip_ended ended[IDS];
    uint32_t slots[IDS];
    uint64_t next = 9;

    make_ring(1000);
    CHECK(rip_view_ended(&rip__writer.view, 0, ended, IDS, &next) == 0 && next == 0);
    for (uint32_t i = 0; i < IDS; i++) {
        slots[i] = live_and_end(i + 1, i % 5);
        CHECK(ended_at(i).slot == slots[i]);
    }
    CHECK(rip_view_ended(&rip__writer.view, 0, ended, IDS, &next) == RIP_ENDED_COUNT && next == IDS);
    for (uint32_t i = 0; i < RIP_ENDED_COUNT; i++) {
        uint64_t number = IDS - RIP_ENDED_COUNT + i;

        CHECK(ended[i].number == number && ended[i].slot == slots[number]);
    }
    CHECK(rip_view_ended(&rip__writer.view, IDS - 10, ended, 4, &next) == 4 && next == IDS - 6);
    CHECK(rip_view_ended(&rip__writer.view, next, ended, 40, &next) == 6 && next == IDS);
    CHECK(rip_view_ended(&rip__writer.view, IDS + 5, ended, 40, &next) == 0 && next == IDS);
}

SCENE(what_they_left_stays)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_note_info note;
    struct rip_id_info info;
    struct rip_ended ended;
    size_t count;

    make_ring(1000);
    rip_init(7, "seven", 5, 0, 0);
    rip_note("the last words", 14);
    for (unsigned i = 1; i <= 40; i++)
        rip_snap_at((const void *)(uintptr_t)i);
    rip_exit();
    ended = ended_at(0);
    CHECK(rip_view_id(&rip__writer.view, ended.slot, &info) == RIP_NOT_LIVE);
    for (uint32_t id = 100; id < 99 + RIP_ENDED_COUNT; id++)
        CHECK(live_and_end(id, 1) != ended.slot);
    CHECK(rip_view_ended_id(&rip__writer.view, ended.slot, ended.generation, &info) == RIP_OK);
    CHECK(info.id == 7 && info.snap_count == 40 && info.name_bytes == 5 && memcmp(info.name, "seven", 5) == 0);
    CHECK(rip_view_ended_trail(&rip__writer.view, ended.slot, ended.generation, entries, &count) == RIP_OK);
    CHECK(count == 32 && entries[0].snap == 40 && entries[0].address == 40 && entries[31].address == 9);
    CHECK(rip_view_ended_note(&rip__writer.view, ended.slot, ended.generation, &note) == RIP_OK);
    CHECK(note.text_bytes == 14 && memcmp(note.text, "the last words", 14) == 0);
    CHECK(rip_view_ended_id(&rip__writer.view, ended.slot, ended.generation + 2, &info) == RIP_NOT_LIVE);

    live_and_end(500, 1);
    CHECK(live_and_end(501, 1) == ended.slot); /* it has been long enough */
    CHECK(rip_view_ended_id(&rip__writer.view, ended.slot, ended.generation, &info) == RIP_NOT_LIVE);
    CHECK(rip_view_ended_trail(&rip__writer.view, ended.slot, ended.generation, entries, &count) == RIP_NOT_LIVE);
    CHECK(rip_view_ended_note(&rip__writer.view, ended.slot, ended.generation, &note) == RIP_NOT_LIVE);
}

/* Only ids that are over, and only slots of the ring. */
SCENE(the_living_have_not_ended)
{
    struct rip_id_info info;

    make_ring(64);
    rip_init(1, "one", 3, 0, 0);
    CHECK(rip_view_id(&rip__writer.view, 0, &info) == RIP_OK);
    CHECK(rip_view_ended_id(&rip__writer.view, 0, info.generation, &info) == RIP_NOT_LIVE);
    CHECK(rip_view_ended_id(&rip__writer.view, 64, 2, &info) == RIP_NOT_LIVE);
    CHECK(rip_view_ended_id(&rip__writer.view, UINT32_MAX, 2, &info) == RIP_NOT_LIVE);
}

/* Which slot is next ----------------------------------------------------------------------------------------------- */

/* In a ring of few slots each is used again, the one whose id ended first before the others, and none is refused. */
SCENE(oldest_first)
{
    make_ring(64);
    for (uint32_t id = 1; id <= 64; id++)
        rip_init(id, "x", 1, 0, 0);
    for (uint32_t i = 0; i < 64; i++) { /* ends 64 slots, in an order of its own */
        rip_init(1 + i * 37 % 64, NULL, 0, 1, 1);
        rip_exit();
    }
    for (uint32_t i = 0; i < 1000; i++)
        CHECK(live_and_end(1000 + i, 1) == i % 64 * 37 % 64);
    CHECK(ring_info().refused_full_count == 0);
}

/* A slot that the log names, but that a killed process has claimed since: it is taken when there is no other. */
SCENE(none_is_lost)
{
    make_ring(64);
    for (uint32_t id = 1; id <= 64; id++)
        live_and_end(id, 1);
    for (uint32_t slot = 0; slot < 64; slot++)
        rip__slot_at(slot)->generation += slot == 5 ? 2 : 0;
    for (uint32_t id = 1; id <= 64; id++) {
        rip_init(id, "x", 1, 0, 0);
        CHECK(rip__thread.slot != NULL);
        CHECK((rip__slot_index(rip__thread.slot) == 5) == (id == 64));
    }
}

/* How many snaps --------------------------------------------------------------------------------------------------- */

SCENE(snaps_are_counted)
{
    make_ring(64);
    live_and_end(1, 300);
    CHECK(ring_info().ended_count == 1 && ring_info().ended_snap_count == 300);
    rip_init(2, "two", 3, 77, 200); /* whatever its counter begins with */
    rip_snap();
    rip_init(2, NULL, 0, 3, 9); /* or goes on with */
    rip_snap();
    CHECK(ring_info().ended_count == 1);
    rip_init(2, "two", 3, 0, 0); /* begins anew */
    CHECK(ring_info().ended_count == 2 && ring_info().ended_snap_count == 302);
    rip_snap();
    CHECK(made_count(&rip__writer.view) == 303);
    rip_exit();
    CHECK(ring_info().ended_count == 3 && ring_info().ended_snap_count == 303);
    CHECK(ended_at(1).slot == ended_at(2).slot && ended_at(1).generation != ended_at(2).generation);
}

/* rip_flush() ------------------------------------------------------------------------------------------------------ */

/* Another process, with a mapping that it may only read, is woken. */
SCENE(flush_wakes)
{
    int ready[2];
    pid_t pid;

    rip_flush();
    make_ring(64);
    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        int descriptor = open(rip__writer.path, O_RDONLY);
        const struct rip_ring *ring = mmap(NULL, RIP_PAGE_BYTES, PROT_READ, MAP_SHARED, descriptor, 0);

        CHECK(ring != MAP_FAILED);
        signal_pipe(ready);
        while (rip_load_acquire(&ring->flush_count) == 0)
            CHECK(syscall(SYS_futex, &ring->flush_count, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 || errno == EAGAIN ||
                  errno == EINTR);
        _exit(0);
    }
    await(ready);
    sleep_ms(50); /* likely, it waits */
    errno = 77;
    rip_flush();
    CHECK(errno == 77 && ring_info().flush_count == 1);
    CHECK(end_of(pid) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(ends_are_logged_in_order),
        SCENE_TEST(what_they_left_stays),
        SCENE_TEST(the_living_have_not_ended),
        SCENE_TEST(oldest_first),
        SCENE_TEST(none_is_lost),
        SCENE_TEST(snaps_are_counted),
        SCENE_TEST(flush_wakes),
    };

    return cmocka_run_group_tests_name("ended", tests, NULL, NULL);
}
