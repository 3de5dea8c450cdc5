/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c - SipHash-1-3, one word at a time. Pure. See hash.h. */
#include "util/hash.h"

#include <string.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void turn(struct state *state)
{
    state->v0 += state->v1;
    state->v2 += state->v3;
    state->v1 = rotate(state->v1, 13) ^ state->v0;
    state->v3 = rotate(state->v3, 16) ^ state->v2;
    state->v0 = rotate(state->v0, 32);
    state->v2 += state->v1;
    state->v0 += state->v3;
    state->v1 = rotate(state->v1, 17) ^ state->v2;
    state->v3 = rotate(state->v3, 21) ^ state->v0;
    state->v2 = rotate(state->v2, 32);
}

static inline void take(struct state *state, uint64_t word)
{
    state->v3 ^= word;
    turn(state);
    state->v0 ^= word;
}

uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t count)
{
    struct state state = {
        /* "somepseudorandomlygeneratedbytes" */
        .v0 = key->words[0] ^ UINT64_C(0x736f6d6570736575),
        .v1 = key->words[1] ^ UINT64_C(0x646f72616e646f6d),
        .v2 = key->words[0] ^ UINT64_C(0x6c7967656e657261),
        .v3 = key->words[1] ^ UINT64_C(0x7465646279746573),
    };
    const unsigned char *at = bytes;
    uint64_t word, last = (uint64_t)count << 56;

    for (size_t left = count / sizeof(word); left != 0; left--, at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        take(&state, word);
    }
    for (size_t i = 0; i < count % sizeof(word); i++)
        last |= (uint64_t)at[i] << 8 * i;
    take(&state, last);
    state.v2 ^= 0xff;
    turn(&state);
    turn(&state);
    turn(&state);
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

uint64_t hash_text(const struct hash_key *key, const char *text)
{
    return hash_bytes(key, text, strlen(text));
}
