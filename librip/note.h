/* SPDX-License-Identifier: Apache-2.0 */
/* note.h - the check by which a note proves that it is complete; for note.c and reader.c. */
#ifndef RIP_NOTE_H
#define RIP_NOTE_H

#include <stdint.h>

#include "rip/ring.h"

/* The length and the text of a note, stored and loaded as words. */
#define RIP_NOTE_WORDS ((1 + RIP_NOTE_BYTES) / sizeof(uint64_t))

/*
 * Returns the check of a note's number and words. Each step is a one-to-one mapping of the value so far. So two notes
 * with the same number have the same check only with a probability of 1 in 2^64.
 */
static inline uint64_t rip__note_check(uint64_t sequence, const uint64_t words[RIP_NOTE_WORDS])
{
    uint64_t check = sequence;

    for (unsigned i = 0; i < RIP_NOTE_WORDS; i++) {
        check = (check ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        check ^= check >> 32;
    }
    return check;
}

#endif
