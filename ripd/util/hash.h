/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - a keyed hash, for tables whose keys others choose. Pure.
 *
 * Rings choose the keys of our tables: offsets, paths, build ids, slots, numbers of threads. A user who can compute
 * where a key goes can send all of his to one place, and each search then walks through all of them. So the position of
 * a key in the table depends on a secret number.
 *
 * The hash is SipHash-1-3 (Jean-Philippe Aumasson and Daniel Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT
 * 2012), with one round for each word and three at the end, as in the tables of Rust, Python and Ruby. Its values are
 * never shown.
 *
 * Guarantees
 *   A. The same key and bytes give the same value: the published one, where numbers begin with their lowest byte.
 *   B. Without the key nobody can choose bytes whose values have anything in common.
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
