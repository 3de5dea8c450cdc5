/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incidents.c - disjoint sets of nodes. A node is a stall of the list, or a member of a chain that is none. Pure.
 */
#include "cli/incidents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/item.h"
#include "util/array.h"

struct sets {
    size_t *parents; /* by node; the stalls come first */
    size_t count;
    size_t capacity;
    json_t *numbers; /* of the nodes, by key */
};

static size_t root_of(struct sets *sets, size_t node)
{
    while (sets->parents[node] != node) {
        sets->parents[node] = sets->parents[sets->parents[node]];
        node = sets->parents[node];
    }
    return node;
}

/* The lower number becomes the root: the first of the list. */
static void join(struct sets *sets, size_t a, size_t b)
{
    a = root_of(sets, a);
    b = root_of(sets, b);
    if (a < b)
        sets->parents[b] = a;
    else
        sets->parents[a] = b;
}

static int add_node(struct sets *sets, const char *key)
{
    if (!ARRAY_GROW(sets->parents, sets->count, sets->capacity))
        return -ENOMEM;
    sets->parents[sets->count] = sets->count;
    if (key != NULL && json_object_set_new_nocheck(sets->numbers, key, json_integer((json_int_t)sets->count)) != 0)
        return -ENOMEM;
    sets->count++;
    return 0;
}

/* Ids of one number in one ring, in two processes: the chain may mean either, and they are one incident. */
static int add_stall(struct sets *sets, const json_t *stall)
{
    char key[ITEM_KEY_BYTES];
    bool named = item_make_key(key, stall);
    const json_t *known = named ? json_object_get(sets->numbers, key) : NULL;
    int status = add_node(sets, named && known == NULL ? key : NULL);

    if (status == 0 && known != NULL)
        join(sets, sets->count - 1, (size_t)json_integer_value(known));
    return status;
}

static int join_chain(struct sets *sets, size_t node, const json_t *chain)
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
        if (known == NULL && add_node(sets, key) != 0)
            return -ENOMEM;
        join(sets, node, known != NULL ? (size_t)json_integer_value(known) : sets->count - 1);
    }
    return 0;
}

static int make_sets(struct sets *sets, const json_t *stalls)
{
    size_t i;
    json_t *stall;

    sets->numbers = json_object();
    if (sets->numbers == NULL)
        return -ENOMEM;
    json_array_foreach(stalls, i, stall) if (add_stall(sets, stall) != 0) return -ENOMEM;
    json_array_foreach(stalls, i,
                       stall) if (join_chain(sets, i, json_object_get(stall, "waits_for")) != 0) return -ENOMEM;
    return 0;
}

/* Adds a stall. shown is a member of a deadlock, else the stall that waits for nobody, else the first. */
static void count_stall(struct incident *incident, const json_t *stall)
{
    long long ms = item_number(stall, "frozen_for_ms");
    bool is_root = item_is_deadlocked(stall) || json_array_size(json_object_get(stall, "waits_for")) == 0;

    if (incident->member_count++ == 0 || (is_root && !incident->is_root)) {
        incident->shown = stall;
        incident->is_root = is_root;
    }
    if (!is_root)
        incident->waiting_count++;
    if (ms > incident->longest_ms)
        incident->longest_ms = ms;
}

int incidents_of(const json_t *stalls, struct incident **ret_incidents, size_t *ret_count)
{
    struct sets sets = {.count = 0};
    size_t stall_count = json_array_size(stalls), count = 0;
    struct incident *incidents = calloc(stall_count + 1, sizeof(*incidents));
    size_t *places = calloc(stall_count + 1, sizeof(*places)); /* of the incident, by root; one more than the index */
    int status = incidents != NULL && places != NULL ? make_sets(&sets, stalls) : -ENOMEM;

    for (size_t i = 0; status == 0 && i < stall_count; i++) {
        size_t root = root_of(&sets, i);

        if (places[root] == 0) {
            incidents[count].longest_ms = ITEM_UNKNOWN;
            places[root] = ++count;
        }
        count_stall(&incidents[places[root] - 1], json_array_get(stalls, i));
    }
    json_decref(sets.numbers);
    free(sets.parents);
    free(places);
    if (status == 0) {
        *ret_incidents = incidents;
        *ret_count = count;
    } else {
        free(incidents);
    }
    return status;
}
