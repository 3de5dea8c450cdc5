/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - a keyed hash, for tables whose keys come from others. Pure.
 *
 * Rings choose the keys of our tables: offsets, paths, build ids, slots, numbers of threads. A user who can compute the
 * position of a key could put all keys in the same position, and make each search walk through all of them. So the
 * position depends on a secret.
 *
 * The hash is SipHash-1-3 (Jean-Philippe Aumasson and Daniel Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT
 * 2012), with one round for each word and three at the end, as in the tables of Rust, Python and Ruby. Its values are
 * never shown.
 *
 * Guarantees
 *   A. The same key and bytes give the same value. On little-endian machines it is the published value.
 *   B. Without the key it is not possible to choose bytes whose values are related.
 */
#ifndef RIPD_UTIL_HASH_H
#define RIPD_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A random key, made once at the start. All zero is sufficient if no user is hostile, as in tests. */
struct hash_key {
    uint64_t words[2];
};

uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t count);

uint64_t hash_text(const struct hash_key *key, const char *text); /* without the NUL */

#endif
