/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.c - scan times by stamp. Pure. See history.h for the guarantees.
 */
#include "detect/history.h"

#include <errno.h>
#include <stdlib.h>

#include "util/search.h"

#define HISTORY_INITIAL_COUNT 64u
#define HISTORY_PRUNE_COUNT 4096u /* about an hour at the default interval */

int history_init(struct history *history)
{
    *history = (struct history){.capacity = HISTORY_INITIAL_COUNT, .prune_count = HISTORY_PRUNE_COUNT};
    history->scans = calloc(history->capacity, sizeof *history->scans);
    return history->scans ? 0 : -ENOMEM;
}

void history_done(struct history *history)
{
    free(history->scans);
    *history = (struct history){0};
}

static void resize(struct history *history, uint32_t capacity)
{
    struct history_scan *scans = realloc(history->scans, capacity * sizeof *scans);

    if (!scans)
        return;
    history->scans = scans;
    history->capacity = capacity;
}

uint32_t history_push(struct history *history, struct history_scan scan)
{
    if (history->count == history->capacity && history->capacity <= HISTORY_STAMP_MAX / 2)
        resize(history, 2 * history->capacity);
    if (history->count < history->capacity)
        history->count++;
    history->scans[history->count - 1] = scan;
    return history->count - 1;
}

static int compare_credit(const void *key, const void *item)
{
    return search_order(*(const uint64_t *)key, ((const struct history_scan *)item)->credit_ns);
}

uint32_t history_count_until(const struct history *history, uint64_t credit_ns)
{
    return (uint32_t)search_after(&credit_ns, history->scans, history->count, sizeof(*history->scans), compare_credit);
}

void history_prune(struct history *history, uint32_t *marks)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < history->count; i++) {
        if (!marks[i])
            continue;
        history->scans[kept] = history->scans[i];
        marks[i] = kept++;
    }
    history->count = kept;
    history->prune_count = kept < HISTORY_PRUNE_COUNT / 2 ? HISTORY_PRUNE_COUNT : 2 * kept;
    if (history->capacity > 2 * history->prune_count)
        resize(history, history->prune_count);
}
