/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incidents.c - disjoint sets of nodes. A node is a stall of the list, or a member of a chain that is not a stall.
 * Pure.
 */
#include "cli/incidents.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/item.h"
#include "util/array.h"

struct sets {
    size_t *parents; /* by node; stalls come first */
    size_t count;
    size_t capacity;
    json_t *numbers; /* node numbers, by key */
};

static size_t root_of(struct sets *sets, size_t node)
{
    while (sets->parents[node] != node) {
        sets->parents[node] = sets->parents[sets->parents[node]];
        node = sets->parents[node];
    }
    return node;
}

/* The lower number becomes the root: the first in the list. */
static void join(struct sets *sets, size_t a, size_t b)
{
    a = root_of(sets, a);
    b = root_of(sets, b);
    if (a < b)
        sets->parents[b] = a;
    else
        sets->parents[a] = b;
}

static void add_node(struct sets *sets, const char *key)
{
    if (!ARRAY_GROW(sets->parents, sets->count, sets->capacity))
        cli_end_without_memory();
    sets->parents[sets->count] = sets->count;
    if (key != NULL)
        json_object_set_new_nocheck(sets->numbers, key, json_integer((json_int_t)sets->count));
    sets->count++;
}

/* Two processes may have ids with the same number in one ring. The chain may mean either, so both are one incident. */
static void add_stall(struct sets *sets, const json_t *stall)
{
    char key[ITEM_KEY_BYTES];
    bool named = item_make_key(key, stall);
    const json_t *known = named ? json_object_get(sets->numbers, key) : NULL;

    add_node(sets, named && known == NULL ? key : NULL);
    if (known != NULL)
        join(sets, sets->count - 1, (size_t)json_integer_value(known));
}

static void join_chain(struct sets *sets, size_t node, const json_t *chain)
{
    size_t i;
    json_t *member;

    json_array_foreach(chain, i, member)
    {
        char key[ITEM_KEY_BYTES];
        const json_t *known;

        if (!item_make_key(key, member))
            continue;
        known = json_object_get(sets->numbers, key);
        if (known == NULL)
            add_node(sets, key);
        join(sets, node, known != NULL ? (size_t)json_integer_value(known) : sets->count - 1);
    }
}

struct incident {
    json_t *shown; /* a member of a deadlock, else the stall that waits for none, else the first */
    bool is_root;
    json_int_t waiting_count;
    json_int_t longest_ms;
};

static void count_stall(struct incident *incident, json_t *stall)
{
    long long ms = item_number(stall, "frozen_for_ms");
    bool is_root = item_is(stall, "cause", "deadlock") || json_array_size(json_object_get(stall, "waits_for")) == 0;

    if (incident->shown == NULL || ms > incident->longest_ms)
        incident->longest_ms = ms;
    if (incident->shown == NULL || (is_root && !incident->is_root)) {
        incident->shown = stall;
        incident->is_root = is_root;
    }
    if (!is_root)
        incident->waiting_count++;
}

json_t *incidents_of(const json_t *stalls)
{
    struct sets sets = {.numbers = json_object()};
    size_t count = json_array_size(stalls), i;
    struct incident *incidents = cli_allocate(count, sizeof(*incidents)); /* by root */
    json_t *shown = json_array(), *stall;

    json_array_foreach(stalls, i, stall) add_stall(&sets, stall);
    json_array_foreach(stalls, i, stall) join_chain(&sets, i, json_object_get(stall, "waits_for"));
    json_array_foreach(stalls, i, stall) count_stall(&incidents[root_of(&sets, i)], stall);
    for (i = 0; i < count; i++) {
        if (incidents[i].shown == NULL)
            continue;
        json_object_update_new(incidents[i].shown,
                               json_pack("{s:I, s:I, s:b}", "longest_ms", incidents[i].longest_ms, "waiting",
                                         incidents[i].waiting_count, "is_root", incidents[i].is_root));
        json_array_append(shown, incidents[i].shown);
    }
    json_decref(sets.numbers);
    free(sets.parents);
    free(incidents);
    return shown;
}
