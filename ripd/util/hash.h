/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - a keyed hash, for tables whose keys others choose. Pure.
 *
 * Rings choose the keys of our tables: offsets, paths, build ids, slots, numbers of threads. A user who can compute
 * where a key goes can send all of his to one place, and each search then walks through all of them. So the place of a
 * key depends on a secret number, which the owner of a table is given.
 *
 * It is SipHash-1-3: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, with one
 * round for each word and three at the end, as Rust, Python and Ruby have it in their tables. Nobody sees its values.
 *
 * Guarantees
 *   A. The same key and bytes give the same value: the published one, where numbers begin with their lowest byte.
 *   B. Who does not know the key cannot choose bytes whose values have anything in common.
 */
#ifndef RIPD_UTIL_HASH_H
#define RIPD_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Drawn once, at the start; all zero does as well where nobody is hostile, as in tests. */
struct hash_key {
    uint64_t words[2];
};

uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t count);

uint64_t hash_text(const struct hash_key *key, const char *text); /* without the NUL */

#endif
