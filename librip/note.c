/* SPDX-License-Identifier: Apache-2.0 */
/*
 * note.c - the note of an id: a short text that says what it is doing.
 *
 * Guarantees
 *   1. A reader gets a complete note or none: the check is a function of the number and of every byte of the note, and
 *      is stored last.
 *   2. A signal handler may interrupt a note at any instruction and make one itself. It takes another number; the
 *      interrupted call notices this and writes its note again. A note that is never completed (after a long jump) is
 *      not shown; later notes are.
 *   3. rip_note() makes no system call, takes no lock, and touches only pages that were backed with the slot.
 *   4. A thread whose process has left the ring makes no note, even if the process has another ring by then.
 *   5. A slot that gets another id, or whose id starts afresh, has no note.
 */
#include <string.h>

#include "note.h"
#include "writer.h"

RIP_STATIC_ASSERT(offsetof(struct rip_slot_note, text) == offsetof(struct rip_slot_note, text_bytes) + 1 &&
                      offsetof(struct rip_slot_note, text_bytes) % sizeof(uint64_t) == 0,
                  "the length and the text of a note are not whole words");

/* Returns NULL if the ring has no notes, or if the slot belongs to a ring that this process has left. */
static struct rip_slot_note *note_of(const struct rip_slot *slot)
{
    const struct rip_geometry *geometry = &rip__writer.geometry;
    const uintptr_t base = (uintptr_t)rip_load_relaxed(&rip__writer.base);
    const uint64_t index = ((uintptr_t)slot - base - geometry->slot_offset) / RIP_SLOT_BYTES;

    return geometry->note_offset != 0 && index < geometry->slot_capacity
               ? (struct rip_slot_note *)(base + geometry->note_offset + index * RIP_SLOT_NOTE_BYTES)
               : NULL;
}

static void write_note(struct rip_slot_note *note, const char *text, size_t bytes)
{
    uint64_t words[RIP_NOTE_WORDS] = {0}, sequence;
    unsigned char *copy = (unsigned char *)words;
    uint64_t *target = (uint64_t *)(void *)&note->text_bytes;

    copy[0] = (unsigned char)bytes;
    if (bytes != 0)
        memcpy(copy + 1, text, bytes);
    do { /* again if a handler made a note in between */
        sequence = rip_add_relaxed(&note->sequence, 1) + 1;
        rip_signal_fence();
        for (unsigned i = 0; i < RIP_NOTE_WORDS; i++)
            rip_store_relaxed(&target[i], words[i]);
        rip_signal_fence();
        rip_store_relaxed(&note->check, rip__note_check(sequence, words));
        rip_signal_fence();
    } while (rip_load_relaxed(&note->sequence) != sequence);
}

void rip_note(const char *text, size_t length)
{
    struct rip_slot_note *note = rip__thread.slot != NULL ? note_of(rip__thread.slot) : NULL;

    if (note == NULL)
        return;
    if (text == NULL)
        length = 0;
    write_note(note, text, length < RIP_NOTE_BYTES ? length : RIP_NOTE_BYTES);
}

void rip__note_clear(const struct rip_slot *slot)
{
    struct rip_slot_note *note = note_of(slot);

    if (note != NULL && rip_load_relaxed(&note->sequence) != 0) /* 0: no note ever; its line stays untouched */
        write_note(note, NULL, 0);
}
