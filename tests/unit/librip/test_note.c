/* SPDX-License-Identifier: Apache-2.0 */
/* test_note.c - notes of ids: librip/note.c and rip_view_note(). */
#include "unit/writer_test.h"

static void make_noted_ring(uint32_t max_procs)
{
    make_ring(max_procs);
    CHECK(rip_ring->note_offset != 0 && rip_ring->note_stride_bytes == RIP_SLOT_NOTE_BYTES);
    CHECK(rip_ring->note_offset + rip_ring->slot_capacity * (uint64_t)RIP_SLOT_NOTE_BYTES <= rip_ring->file_bytes);
}

static void note(const char *text)
{
    rip_note(text, strlen(text));
}

static enum rip_status copy(uint32_t slot, struct rip_note_info *ret_info)
{
    return rip_view_note(own_view(), slot, ret_info);
}

static bool slot_says(uint32_t slot, const char *text, size_t bytes)
{
    struct rip_note_info info;
    enum rip_status status = copy(slot, &info);

    if (bytes == 0)
        return status == RIP_NOT_LIVE;
    return status == RIP_OK && info.text_bytes == bytes && memcmp(info.text, text, bytes) == 0;
}

static bool says(const char *text)
{
    return slot_says(own_slot_index(), text, strlen(text));
}

FORKED_TEST(note_without_an_id_does_nothing)
{
    note("no ring");
    make_noted_ring(64);
    note("no id");
    register_id(7, "seven");
    CHECK(says(""));
    note("GET /checkout?id=7");
    CHECK(says("GET /checkout?id=7"));
    rip_exit();
    note("nobody");
}

FORKED_TEST(notes_of_any_bytes_and_length)
{
    static const size_t lengths[] = {1, 2, 63, 64, 126, 127, 128, 300, 0, 7};
    char text[300];

    make_noted_ring(64);
    register_id(7, "seven");
    for (unsigned i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 37); /* includes NUL and invalid UTF-8 */
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        case_number = i;
        rip_note(text, lengths[i]);
        CHECK(slot_says(own_slot_index(), text, lengths[i] < RIP_NOTE_BYTES ? lengths[i] : RIP_NOTE_BYTES));
    }
    rip_note(NULL, 7);
    CHECK(says(""));
}

FORKED_TEST(note_belongs_to_the_registration)
{
    make_noted_ring(64);
    register_id(7, "seven");
    note("of seven");
    rip_snap();
    register_id(8, "eight");
    CHECK(says(""));
    note("of eight");
    resume_id(7);
    CHECK(says("of seven"));
    rip_init(7, "renamed", 7, 1, 1);
    CHECK(says("of seven"));
    register_id(7, "seven"); /* a new registration */
    CHECK(says(""));
    note("again");
    rip_exit();
    register_ids(9, 70);
    CHECK(own_slot_index() != 0);
    register_id(71, "last"); /* reuses the slot of 7 */
    CHECK(says("") && own_slot_index() == 0);
    CHECK(slot_says(1, "of eight", 8));
}

FORKED_TEST(coroutines_have_notes_of_their_own)
{
    struct rip_context main_context, first, second;

    make_noted_ring(64);
    register_id(1, "main");
    note("main");
    CHECK(rip_context_init(&first, 2, "first", 5) && rip_context_init(&second, 3, "second", 6));
    rip_switch(&main_context, &first);
    note("first");
    rip_switch(&first, &second);
    CHECK(says(""));
    note("second");
    rip_switch(&second, &main_context);
    CHECK(says("main"));
    CHECK(slot_says(slot_index(first.slot), "first", 5) && slot_says(slot_index(second.slot), "second", 6));
}

/* In a large ring the note of each slot is allocated and accessible, and no two notes share a byte. */
FORKED_TEST(every_slot_has_a_note)
{
    enum { IDS = 30000 }; /* more slots and notes than are made accessible at once */
    char text[16];

    make_noted_ring(IDS);
    for (uint32_t i = 0; i < IDS; i++) {
        resume_id(i + 1);
        CHECK(rip__thread.slot != NULL);
        rip_note(text, (size_t)snprintf(text, sizeof(text), "note %u", i));
    }
    for (uint32_t i = 0; i < IDS; i++)
        CHECK(slot_says(i, text, (size_t)snprintf(text, sizeof(text), "note %u", i)));
}

/* A thread whose note has no memory is not traced: its first note would kill it. */
FORKED_TEST(id_without_memory_for_its_note_is_refused)
{
    make_noted_ring(64);
    rip__writer.geometry.note_offset = UINT64_C(1) << 46; /* unmapped */
    register_id(7, "seven");
    CHECK(rip__thread.slot == NULL && rip_ring->refused_memory_count == 1);
    note("nowhere");
}

FORKED_TEST(forked_child_has_no_note_until_it_registers)
{
    make_noted_ring(64);
    register_id(7, "seven");
    note("parent");
    if (in_child()) {
        note("stray");
        CHECK(slot_says(0, "parent", 6));
        register_id(8, "eight");
        CHECK(says(""));
        note("child");
        CHECK(says("child"));
        _exit(0);
    }
    CHECK(says("parent"));
}

FORKED_TEST(rings_of_the_preload_library_have_no_notes)
{
    struct rip_note_info info;

    rip__set_preloaded(0);
    make_ring(64);
    CHECK(rip_ring->note_offset == 0 && rip_ring->note_stride_bytes == 0);
    register_id(7, "seven");
    note("unheard");
    CHECK(rip__thread.slot != NULL && copy(0, &info) == RIP_NOT_LIVE);
}

static pthread_barrier_t turn;

static void *note_again_and_again(void *unused)
{
    register_id(8, "eight");
    for (unsigned i = 0; i < 4; i++) {
        note("worker");
        pthread_barrier_wait(&turn); /* the main thread leaves the ring, */
        pthread_barrier_wait(&turn); /* and has left */
    }
    return unused;
}

/* An interpreter under the preload library gives up root and gets another ring, while its other threads go on. */
FORKED_TEST(notes_after_the_ring_was_replaced)
{
    struct rip_slot *slot;
    pthread_t worker;

    make_noted_ring(64);
    register_id(7, "seven");
    slot = rip__thread.slot;
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    worker = start_thread(note_again_and_again, NULL);
    pthread_barrier_wait(&turn);
    rip__leave(RIP_LEAVE_LAST);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    rip__detach_mapping();
    rip__forget_ring();
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    CHECK(rip_create_ring(test_path("other"), 64));
    register_id(7, "seven");
    CHECK(rip__thread.slot != slot);
    note("first");
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    CHECK(says("first") && slot_says(1, "", 0));
    pthread_barrier_wait(&turn);
    join_thread(worker);
}
