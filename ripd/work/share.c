/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - a search for the largest share with which all fit. Pure. */
#include "work/share.h"

#include <stdint.h>
#include <stdlib.h>

#include "util/array.h"

/* How many of each ring claim a place, in order of ring: an array of *ret_ring_count. NULL: no memory. */
static size_t *count_by_ring(const struct detector_suspect *suspects, size_t count,
                             bool (*claims)(const struct detector_suspect *suspect), size_t *ret_ring_count)
{
    size_t *counts = NULL, ring_count = 0, capacity = 0;
    uint32_t ring = 0;

    for (size_t i = 0; i < count; i++) {
        if (claims != NULL && !claims(&suspects[i]))
            continue;
        if (ring_count == 0 || suspects[i].ring != ring) {
            size_t *longer = array_reserve(counts, &capacity, ring_count + 1, sizeof(*counts));

            if (longer == NULL) {
                free(counts);
                return NULL;
            }
            counts = longer;
            counts[ring_count++] = 0;
            ring = suspects[i].ring;
        }
        counts[ring_count - 1]++;
    }
    *ret_ring_count = ring_count;
    return counts;
}

static size_t sum_of_shares(const size_t *counts, size_t ring_count, size_t share)
{
    size_t sum = 0;

    for (size_t i = 0; i < ring_count; i++)
        sum += counts[i] < share ? counts[i] : share;
    return sum;
}

size_t share_of_ring(const struct detector_suspect *suspects, size_t count,
                     bool (*claims)(const struct detector_suspect *suspect), size_t most)
{
    size_t low = 0, high = most, ring_count = 0;
    size_t *counts;

    if (count <= most)
        return most;
    counts = count_by_ring(suspects, count, claims, &ring_count);
    if (counts == NULL)
        return most;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (sum_of_shares(counts, ring_count, middle) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    free(counts);
    return low;
}
