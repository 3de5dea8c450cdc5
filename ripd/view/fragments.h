/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragments.h - text that comes again and again in one document, written once and copied from then on. Pure.
 *
 * Ten thousand threads that wait at one place have come there by the same way: a list of them names a few hundred
 * places a few hundred thousand times.
 *
 * Guarantees
 *   A. At most FRAGMENTS_MAX of them and FRAGMENTS_BYTES_MAX of text are kept; what is beyond is written anew each
 *      time.
 *   B. Without memory nothing is kept, and nothing else happens.
 *   C. To find one takes at most FRAGMENTS_STEPS_MAX comparisons. Numbers come from rings, and could be made to
 *      collide: those that do are written anew too.
 *
 * Who keeps the text of something sees to it that its owner lives as long, so that no other comes to have its address.
 */
#ifndef RIPD_VIEW_FRAGMENTS_H
#define RIPD_VIEW_FRAGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/json_writer.h"

#define FRAGMENTS_MAX 8192u
#define FRAGMENTS_BYTES_MAX (2u << 20)
#define FRAGMENTS_STEPS_MAX 16u

enum fragment_kind { FRAGMENT_PROCESS, FRAGMENT_LOCATION, FRAGMENT_ENTRY };

struct fragment_key {
    const void *owner; /* compared, never followed */
    uint64_t number;
    enum fragment_kind kind;
};

struct fragments;

struct fragments *fragments_new(void); /* NULL: no memory, which all of these allow */
void fragments_free(struct fragments *fragments);

/* JSON members or a value, without a comma before it. NULL: it is not kept. Valid until the next fragments_keep(). */
const char *fragments_find(const struct fragments *fragments, const struct fragment_key *key, size_t *ret_length);

/* What the writer has written since it was `from` bytes long; the key must not be there. */
void fragments_keep(struct fragments *fragments, const struct fragment_key *key, const struct json_writer *writer,
                    size_t from);

/* Writes what is kept. False: nothing is. */
bool fragments_write(const struct fragments *fragments, const struct fragment_key *key, struct json_writer *writer);

#endif
