/* SPDX-License-Identifier: Apache-2.0 */
/* note.h - what a note carries so that it proves by itself to be whole; for note.c and reader.c. */
#ifndef RIP_NOTE_H
#define RIP_NOTE_H

#include <stdint.h>

#include "rip/ring.h"

/* The length and the text, which are stored and loaded as words. */
#define RIP_NOTE_WORDS ((1 + RIP_NOTE_BYTES) / sizeof(uint64_t))

/*
 * Of a note's number and words. Each step maps the sum so far one to one, so that two notes with one number have equal
 * sums only by an accident of one in 2^64.
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
