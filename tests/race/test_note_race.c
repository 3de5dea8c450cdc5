/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_note_race.c - notes that are read while they are written, and notes that interrupt notes.
 *
 *   A. While a thread writes notes, a reader gets only complete notes. The bytes of a note follow from its number.
 *   B. Before any instruction of rip_note() a signal handler writes its own note. At every instruction a reader finds
 *      the previous note, the handler's, the interrupted one, or none; never a mixture.
 *   C. Afterwards the reader finds the interrupted note, or the handler's if that was last.
 *   D. A note whose handler jumped out is not shown, and hides no later note.
 *   E. The test can detect a mixture: at some instruction the slot holds bytes of both notes.
 *
 * B to E need the trap flag of amd64. Built without a red zone there, because the flag is set through the stack.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <librip.h>
#include <rip/reader.h>

#include "support/test.h"

#define NOTES_READ 5000u

static struct rip_view view;

static uint32_t own_slot(void)
{
    const unsigned char *first = (const unsigned char *)rip_ring + rip_ring->slot_offset;

    return (uint32_t)((size_t)((const unsigned char *)rip__thread.slot - first) / RIP_SLOT_BYTES);
}

/* One thread writes, another reads --------------------------------------------------------------------------------- */

static atomic_bool done;
static atomic_int slot_of_writer = -1;

/* Note `number` is one byte, repeated. */
static size_t note_of(uint64_t number, char text[RIP_NOTE_BYTES])
{
    const size_t bytes = 1 + number * 37 % RIP_NOTE_BYTES;

    memset(text, (int)('a' + number % 26), bytes);
    return bytes;
}

static void *write_notes(void *unused)
{
    char text[RIP_NOTE_BYTES];

    (void)unused;
    rip_init(21, "writer", 6, 0, 0);
    atomic_store(&slot_of_writer, (int)own_slot());
    for (uint64_t number = 1; !atomic_load(&done); number++)
        rip_note(text, note_of(number, text));
    rip_exit();
    return NULL;
}

TEST(a_reader_gets_whole_notes)
{
    unsigned whole = 0, changed = 0;
    char expected[RIP_NOTE_BYTES];
    struct rip_note_info info;
    pthread_t writer;

    assert_int_equal(pthread_create(&writer, NULL, write_notes, NULL), 0);
    while (whole < NOTES_READ) {
        int slot = atomic_load(&slot_of_writer);
        enum rip_status status = slot < 0 ? RIP_NOT_LIVE : rip_view_note(&view, (uint32_t)slot, &info);

        changed += status == RIP_CHANGED;
        if (status != RIP_OK) {
            sched_yield(); /* the writer may wait for this CPU inside a note */
            continue;
        }
        whole++;
        assert_int_equal(info.text_bytes, note_of(info.sequence, expected));
        assert_memory_equal(info.text, expected, info.text_bytes);
    }
    atomic_store(&done, true);
    pthread_join(writer, NULL);
    print_message("%u complete notes, %u reads without one\n", whole, changed);
}

#if defined(__x86_64__) && !defined(RIP_PORTABLE_SNAP)
/* One thread interrupts itself ------------------------------------------------------------------------------------- */

#define TRAP_ON() __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc")
#define TRAP_OFF() __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc")

/* Equal lengths, different in every word, so that every mixture is detected. */
#define NOTE_LENGTH 90
static char before[NOTE_LENGTH], handlers[NOTE_LENGTH], outer[NOTE_LENGTH];

static void make_texts(void)
{
    for (size_t i = 0; i < NOTE_LENGTH; i++) {
        before[i] = "before "[i % 7];
        handlers[i] = "HANDLER "[i % 8];
        outer[i] = "outer."[i % 6];
    }
}

/* Returns the distance between interruptions. Sanitizers add many instructions; most of them are skipped. */
static int stride_of(int steps)
{
    return steps <= 500 ? 1 : 1 + steps / 100;
}

static struct {
    int step;    /* instructions so far */
    int at;      /* write a note before this instruction; -1 = never */
    bool leaves; /* then jump out of the handler */
    unsigned mixtures;
    unsigned wrong;
    sigjmp_buf out;
} trap;

static bool is_text(const uint8_t *text, const char *expected)
{
    return memcmp(text, expected, NOTE_LENGTH) == 0;
}

/* The bytes of the note, ignoring its check. */
static bool is_mixture(void)
{
    const struct rip_slot_note *note =
        (const void *)((const unsigned char *)rip_ring + rip_ring->note_offset + own_slot() * RIP_SLOT_NOTE_BYTES);

    return !is_text(note->text, before) && !is_text(note->text, handlers) && !is_text(note->text, outer);
}

static void on_trap(int number)
{
    struct rip_note_info info;
    enum rip_status status = rip_view_note(&view, own_slot(), &info);

    (void)number;
    trap.mixtures += is_mixture();
    if (status == RIP_OK)
        trap.wrong += info.text_bytes != NOTE_LENGTH ||
                      (!is_text(info.text, before) && !is_text(info.text, handlers) && !is_text(info.text, outer));
    else
        trap.wrong += status != RIP_CHANGED;
    if (trap.step++ == trap.at) {
        rip_note(handlers, NOTE_LENGTH);
        if (trap.leaves)
            siglongjmp(trap.out, 1);
    }
}

/*
 * Writes the outer note, interrupted before instruction `at`. Returns the number of instructions, or 0 if the handler
 * jumped out.
 */
static int step_note(int at, bool leaves)
{
    rip_note(before, NOTE_LENGTH);
    trap.step = 0;
    trap.at = at;
    trap.leaves = leaves;
    if (sigsetjmp(trap.out, 1) != 0)
        return 0;
    TRAP_ON();
    rip_note(outer, NOTE_LENGTH);
    TRAP_OFF();
    return trap.step;
}

static bool reads(const char *expected)
{
    struct rip_note_info info;

    return rip_view_note(&view, own_slot(), &info) == RIP_OK && info.text_bytes == NOTE_LENGTH &&
           is_text(info.text, expected);
}

TEST(handler_inside_a_note)
{
    int steps = step_note(-1, false), handler_last = 0;

    assert_true(steps > (int)RIP_NOTE_BYTES / 8);
    assert_true(reads(outer));
    for (int at = 0; at < steps; at += stride_of(steps)) {
        step_note(at, false);
        assert_int_equal(trap.wrong, 0);
        handler_last += reads(handlers);
        assert_true(reads(handlers) || (handler_last == 0 && reads(outer))); /* after the first late one all are late */
    }
    print_message("%d instructions; %u mixtures, none returned; the handler was last %d times\n", steps, trap.mixtures,
                  handler_last);
    assert_true(trap.mixtures > 0);
    assert_true(handler_last > 0 && handler_last < steps / 2);
}

TEST(note_whose_handler_jumped_out)
{
    int steps = step_note(-1, false), at;

    for (at = 0; at < steps; at += stride_of(steps)) {
        assert_int_equal(step_note(at, true), 0);
        assert_int_equal(trap.wrong, 0);
        assert_true(reads(handlers));
        rip_note(outer, NOTE_LENGTH);
        assert_true(reads(outer));
    }
    assert_true(at > 0);
}
#endif

static int set_up(void **state)
{
    char path[64];

    (void)state;
#if defined(__x86_64__) && !defined(RIP_PORTABLE_SNAP)
    make_texts();
    if (sigaction(SIGTRAP, &(struct sigaction){.sa_handler = on_trap}, NULL) != 0)
        return -1;
#endif
    snprintf(path, sizeof(path), "/dev/shm/rip-note-race.%d", (int)getpid());
    if (!rip_create_ring(path, 64))
        return -1;
    unlink(path);
    rip_init(7, "stepped", 7, 0, 0);
    return rip_view_open(&view, rip_ring, rip_ring->file_bytes) == RIP_OK && rip__thread.slot != NULL ? 0 : -1;
}

int main(void)
{
    return tests_run(set_up, NULL);
}
