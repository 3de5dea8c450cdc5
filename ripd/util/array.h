/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.h - room in arrays that grow and shrink with what they hold. Pure.
 */
#ifndef RIPD_UTIL_ARRAY_H
#define RIPD_UTIL_ARRAY_H

#include <stddef.h>

/*
 * items with room for at least needed items, *capacity updated; as it was where that much is there already. NULL: no
 * memory, items and *capacity are as they were. Grows by half, so that appending is cheap.
 */
void *array_reserve(void *items, size_t *capacity, size_t needed, size_t item_bytes);

/* Gives back what exceeds count items and a margin, when that is more than half. Returns items, moved perhaps. */
void *array_trim(void *items, size_t *capacity, size_t count, size_t item_bytes);

#endif
