/* SPDX-License-Identifier: Apache-2.0 */
/* roots.c - one place for each node, so that counting takes a step for each stall. Pure; see roots.h. */
#include "cases/roots.h"

#include <errno.h>
#include <stdlib.h>

#include "util/search.h"

void roots_free(struct roots *roots)
{
    if (roots == NULL)
        return;
    free(roots->groups);
    free(roots);
}

static int compare_groups(const void *left, const void *right)
{
    const struct root_group *a = left, *b = right;

    return search_order_then(search_order_pair(b->count, b->longest_ns, a->count, a->longest_ns),
                             search_order(a->root, b->root));
}

static void count_stall(struct roots *roots, const struct sighting *stall)
{
    const struct waits_node *node = stall->waits != NULL ? &stall->waits->nodes[stall->wait_node] : NULL;
    struct root_group *group;

    if (node == NULL || node->next == WAITS_NONE) {
        roots->alone_count++;
        return;
    }
    group = &roots->groups[node->root];
    group->count++;
    if (stall->frozen_for_ns > group->longest_ns)
        group->longest_ns = stall->frozen_for_ns;
}

/* Drops the empty groups. */
static void close_up(struct roots *roots, size_t node_count)
{
    for (size_t i = 0; i < node_count; i++) {
        if (roots->groups[i].count == 0)
            continue;
        roots->groups[roots->count] = roots->groups[i];
        roots->groups[roots->count++].root = (uint32_t)i;
    }
    qsort(roots->groups, roots->count, sizeof(*roots->groups), compare_groups);
}

static int compare_stalls(const void *left, const void *right)
{
    const struct item *a = (*(const struct sighting *const *)left)->item;
    const struct item *b = (*(const struct sighting *const *)right)->item;

    return search_order_pair(a->ring, a->slot, b->ring, b->slot);
}

static int compare_with_node(const void *wanted, const void *stall)
{
    const struct waits_node *node = wanted;
    const struct item *item = (*(const struct sighting *const *)stall)->item;

    return search_order_pair(node->ring, node->slot, item->ring, item->slot);
}

/* Which of the roots are stalls themselves. */
static int find_stalled(struct roots *roots, const struct snapshot *snapshot)
{
    const struct sighting **stalls;

    if (roots->count == 0)
        return 0;
    stalls = malloc(snapshot->stall_count * sizeof(*stalls));
    if (stalls == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < snapshot->stall_count; i++)
        stalls[i] = &snapshot->stalls[i];
    qsort(stalls, snapshot->stall_count, sizeof(*stalls), compare_stalls);
    for (size_t i = 0; i < roots->count; i++) {
        const struct waits_node *node = &snapshot->waits->nodes[roots->groups[i].root];
        const struct sighting **found =
            bsearch(node, stalls, snapshot->stall_count, sizeof(*stalls), compare_with_node);

        if (node->kind == WAITS_ID && found != NULL && (*found)->item->generation == node->generation)
            roots->groups[i].stalled = *found;
    }
    free(stalls);
    return 0;
}

struct roots *roots_of(const struct snapshot *snapshot,
                       bool (*wanted)(const void *context, const struct sighting *stall), const void *context)
{
    size_t node_count = snapshot->waits != NULL ? snapshot->waits->count : 0;
    struct roots *roots = calloc(1, sizeof(*roots));

    if (roots == NULL)
        return NULL;
    roots->groups = calloc(node_count + 1, sizeof(*roots->groups));
    if (roots->groups != NULL) {
        for (size_t i = 0; i < snapshot->stall_count; i++)
            if (wanted(context, &snapshot->stalls[i]))
                count_stall(roots, &snapshot->stalls[i]);
        close_up(roots, node_count);
    }
    if (roots->groups == NULL || find_stalled(roots, snapshot) != 0) {
        roots_free(roots);
        return NULL;
    }
    return roots;
}
