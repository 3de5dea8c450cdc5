/* SPDX-License-Identifier: Apache-2.0 */
/* roots.c - one counter for each node, so that counting takes linear time. Pure. See roots.h. */
#include "cases/roots.h"

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

static bool has_known_holder(const struct sighting *stall)
{
    return stall->waits != NULL && stall->waits->nodes[stall->wait_node].next != WAITS_NONE;
}

static void add_stall(struct root_group *group, const struct sighting *stall)
{
    if (group->count++ != 0 && stall->frozen_for_ns <= group->longest_ns)
        return;
    group->longest = stall;
    group->longest_ns = stall->frozen_for_ns;
}

static void count_stall(struct roots *roots, const struct sighting *stall)
{
    if (has_known_holder(stall))
        add_stall(&roots->groups[stall->waits->nodes[stall->wait_node].root], stall);
    else
        roots->alone_count++;
}

/* Drops empty groups and sorts the rest. */
static void drop_empty_groups(struct roots *roots, size_t node_count)
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

/* Finds the roots that are stalled themselves. sorted has room for all stalls. */
static void find_stalled_roots(struct roots *roots, const struct snapshot *snapshot, const struct sighting **sorted)
{
    if (roots->count == 0)
        return;
    for (size_t i = 0; i < snapshot->stall_count; i++)
        sorted[i] = &snapshot->stalls[i];
    qsort(sorted, snapshot->stall_count, sizeof(*sorted), compare_stalls);
    for (size_t i = 0; i < roots->count; i++) {
        const struct waits_node *node = &snapshot->waits->nodes[roots->groups[i].root];
        const struct sighting **found =
            bsearch(node, sorted, snapshot->stall_count, sizeof(*sorted), compare_with_node);

        if (node->kind == WAITS_ID && found != NULL && (*found)->item->generation == node->generation)
            roots->groups[i].stalled = *found;
    }
}

static uint64_t place_of(const struct item *item)
{
    return item->entry_count != 0 ? item->entries[0].address : 0;
}

/* Similar incidents are adjacent. */
static int compare_alike(const struct sighting *a, const struct sighting *b)
{
    const uint32_t pid_a = a->item->process != NULL ? a->item->process->pid : 0;
    const uint32_t pid_b = b->item->process != NULL ? b->item->process->pid : 0;

    return search_order_then(search_order_pair(a->item->ring, pid_a, b->item->ring, pid_b),
                             search_order_pair(a->cause, place_of(a->item), b->cause, place_of(b->item)));
}

static int compare_alone(const void *left, const void *right)
{
    const struct sighting *a = *(const struct sighting *const *)left, *b = *(const struct sighting *const *)right;

    return search_order_then(compare_alike(a, b), search_order(a->item->slot, b->item->slot));
}

static int compare_incidents(const void *left, const void *right)
{
    const struct root_group *a = left, *b = right;

    return search_order_then(search_order_pair(b->longest_ns, b->count, a->longest_ns, a->count),
                             compare_stalls(&a->longest, &b->longest));
}

/* Counts the root. The members of a deadlock have been counted already. */
static void count_root(struct root_group *group, const struct waits *waits)
{
    if (group->stalled == NULL)
        return;
    if (!waits->nodes[group->root].deadlocked)
        add_stall(group, group->stalled);
    group->longest = group->stalled; /* the root represents the group */
}

/* Moves the stalls that are in no group to the front of stalls. Returns how many there are. */
static size_t find_alone(const struct roots *roots, const struct sighting *first, const struct sighting **stalls,
                         size_t count)
{
    size_t alone_count = 0;

    for (size_t i = 0; i < roots->count; i++)
        if (roots->groups[i].stalled != NULL)
            stalls[roots->groups[i].stalled - first] = NULL;
    for (size_t i = 0; i < count; i++)
        if (stalls[i] != NULL && !has_known_holder(stalls[i]))
            stalls[alone_count++] = stalls[i];
    return alone_count;
}

static void add_alone(struct roots *roots, const struct sighting **stalls, size_t count)
{
    roots->incident_count = roots->count + count;
    qsort(stalls, count, sizeof(*stalls), compare_alone);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_alike(stalls[i - 1], stalls[i]) != 0)
            roots->groups[roots->count++] = (struct root_group){.root = WAITS_NONE};
        add_stall(&roots->groups[roots->count - 1], stalls[i]);
        if (stalls[i]->cause == CAUSE_SLEEPING)
            roots->asleep_count++;
    }
}

/* stalls has NULL for each stall that is not wanted. */
static void add_incidents(struct roots *roots, const struct snapshot *snapshot, const struct sighting **stalls)
{
    for (size_t i = 0; i < roots->count; i++)
        count_root(&roots->groups[i], snapshot->waits);
    add_alone(roots, stalls, find_alone(roots, snapshot->stalls, stalls, snapshot->stall_count));
    qsort(roots->groups, roots->count, sizeof(*roots->groups), compare_incidents);
}

struct roots *roots_of(const struct snapshot *snapshot, bool incidents,
                       bool (*wanted)(const void *context, const struct sighting *stall), const void *context)
{
    const size_t node_count = snapshot->waits != NULL ? snapshot->waits->count : 0;
    const struct sighting **stalls = calloc(snapshot->stall_count + 1, sizeof(*stalls));
    struct roots *roots = calloc(1, sizeof(*roots));

    if (roots != NULL)
        roots->groups = calloc(node_count + snapshot->stall_count + 1, sizeof(*roots->groups));
    if (stalls == NULL || roots == NULL || roots->groups == NULL) {
        free(stalls);
        roots_free(roots);
        return NULL;
    }
    for (size_t i = 0; i < snapshot->stall_count; i++)
        if (wanted(context, &snapshot->stalls[i]))
            count_stall(roots, &snapshot->stalls[i]);
    drop_empty_groups(roots, node_count);
    find_stalled_roots(roots, snapshot, stalls);
    for (size_t i = 0; incidents && i < snapshot->stall_count; i++)
        stalls[i] = wanted(context, &snapshot->stalls[i]) ? &snapshot->stalls[i] : NULL;
    if (incidents)
        add_incidents(roots, snapshot, stalls);
    free(stalls);
    return roots;
}
