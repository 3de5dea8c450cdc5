/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chosen_keys.h - keys that a hash which everybody knows sends to one place, for tests of tables that must not have
 * one.
 *
 * Multiplying by an odd number is what such hashes do, and what anybody can undo.
 */
#ifndef TESTS_UNIT_CHOSEN_KEYS_H
#define TESTS_UNIT_CHOSEN_KEYS_H

#include <stdint.h>

#define GOLDEN_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define SPLITMIX_FACTOR UINT64_C(0xbf58476d1ce4e5b9)

/* The number whose product with an odd factor is that one. */
static inline uint64_t undo_product(uint64_t product, uint64_t factor)
{
    uint64_t inverse = factor;

    for (int i = 0; i < 6; i++) /* each turn doubles the bits that are right (Newton) */
        inverse *= 2 - factor * inverse;
    return product * inverse;
}

#endif
