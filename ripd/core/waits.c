/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.c - nodes, and the graph in which each has at most one edge. Pure; see waits.h for the guarantees.
 *
 * Everything that is looked up is sorted: keys come from rings, and a hash of them could be made to collide.
 */
#include "core/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/snapshot.h"

#define KNOWN_FLAGS (RIP_WAIT_OWNER_IS_ID | RIP_WAIT_SHARABLE | RIP_WAIT_ENDS | RIP_WAIT_OWNER_LASTS)

const char *waits_kind_name(enum waits_kind kind)
{
    static const char *const names[] = {[WAITS_ID] = "id", [WAITS_THREAD] = "thread", [WAITS_READERS] = "readers"};

    return names[kind];
}

/* Life ------------------------------------------------------------------------------------------------------------- */

struct waits *waits_new(void)
{
    struct waits *waits = calloc(1, sizeof(*waits));

    if (waits != NULL)
        atomic_init(&waits->references, 1);
    return waits;
}

struct waits *waits_ref(struct waits *waits)
{
    if (waits != NULL)
        atomic_fetch_add_explicit(&waits->references, 1, memory_order_relaxed);
    return waits;
}

void waits_unref(struct waits *waits)
{
    /* Acquire and release. Partner: the same decrement by every other holder. */
    if (waits == NULL || atomic_fetch_sub_explicit(&waits->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < waits->count; i++)
        item_unref(waits->nodes[i].item);
    for (size_t i = 0; i < waits->ring_name_count; i++)
        free(waits->ring_names[i]);
    free(waits->ring_names);
    free(waits->nodes);
    free(waits);
}

const char *waits_ring_name(struct waits *waits, const char *name)
{
    char **names, *copy;

    if (waits->ring_name_count != 0 && strcmp(waits->ring_names[waits->ring_name_count - 1], name) == 0)
        return waits->ring_names[waits->ring_name_count - 1];
    names = array_reserve(waits->ring_names, &waits->ring_name_capacity, waits->ring_name_count + 1, sizeof(*names));
    if (names == NULL)
        return NULL;
    waits->ring_names = names;
    copy = strdup(name);
    if (copy != NULL)
        names[waits->ring_name_count++] = copy;
    return copy;
}

static struct waits_node *append(struct waits *waits)
{
    struct waits_node *nodes = array_reserve(waits->nodes, &waits->capacity, waits->count + 1, sizeof(*nodes));

    if (nodes == NULL)
        return NULL;
    waits->nodes = nodes;
    nodes[waits->count] = (struct waits_node){.next = WAITS_NONE};
    return &nodes[waits->count++];
}

int waits_add(struct waits *waits, uint32_t ring, const struct rip_wait_info *wait)
{
    struct waits_node *node;

    if (waits->count == WAITS_NODES_MAX) {
        waits->left_out_count++;
        return -ENOSPC;
    }
    node = append(waits);
    if (node == NULL)
        return -ENOMEM;
    node->kind = WAITS_ID;
    node->ring = ring;
    node->process = wait->process;
    node->slot = wait->slot;
    node->generation = wait->generation;
    node->id = wait->id;
    node->ring_tid = wait->tid;
    node->waits = true;
    node->wait = *wait;
    waits->waiting_count = waits->count;
    return 0;
}

/* Edges ------------------------------------------------------------------------------------------------------------ */

enum key_kind { KEY_TID, KEY_ID, KEY_LOCK };

/* What a node is known by, or waits for. */
struct key {
    uint32_t ring;
    uint32_t process;
    uint64_t value;
    enum key_kind kind;
    uint32_t node;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int order = compare_numbers(a->ring, b->ring);

    if (order == 0)
        order = compare_numbers(a->process, b->process);
    if (order == 0)
        order = compare_numbers(a->kind, b->kind);
    if (order == 0)
        order = compare_numbers(a->value, b->value);
    return order;
}

static int compare_keys_and_nodes(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int order = compare_keys(a, b);

    return order != 0 ? order : compare_numbers(a->node, b->node);
}

/* The first of those that are equal: a ring may claim one thread for many ids. */
static const struct key *find_key(const struct key *keys, size_t count, const struct key *wanted)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_keys(&keys[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && compare_keys(&keys[low], wanted) == 0 ? &keys[low] : NULL;
}

/* False: who holds the lock is not known. */
static bool holder_key(const struct waits_node *node, uint32_t index, struct key *ret_key)
{
    *ret_key = (struct key){.ring = node->ring, .process = node->process, .node = index};
    if (node->wait.owner != 0) {
        ret_key->kind = (node->wait.flags & RIP_WAIT_OWNER_IS_ID) != 0 ? KEY_ID : KEY_TID;
        ret_key->value = node->wait.owner;
        return true;
    }
    ret_key->kind = KEY_LOCK;
    ret_key->value = node->wait.address;
    return (node->wait.flags & RIP_WAIT_SHARABLE) != 0;
}

/* Links those whose holder waits too, and leaves the others in wanted, sorted. Returns how many those are. */
static size_t link_waiting(struct waits *waits, const struct key *own, size_t own_count, struct key *wanted)
{
    size_t wanted_count = 0;

    for (uint32_t i = 0; i < waits->waiting_count; i++) {
        const struct key *found;
        struct key key;

        if (!holder_key(&waits->nodes[i], i, &key))
            continue;
        found = find_key(own, own_count, &key);
        if (found != NULL)
            waits->nodes[i].next = found->node;
        else
            wanted[wanted_count++] = key;
    }
    qsort(wanted, wanted_count, sizeof(*wanted), compare_keys_and_nodes);
    return wanted_count;
}

static size_t own_keys(const struct waits *waits, struct key *ret_keys)
{
    size_t count = 0;

    for (uint32_t i = 0; i < waits->waiting_count; i++) {
        const struct waits_node *node = &waits->nodes[i];

        ret_keys[count++] = (struct key){node->ring, node->process, node->id, KEY_ID, i};
        if (node->ring_tid != 0)
            ret_keys[count++] = (struct key){node->ring, node->process, node->ring_tid, KEY_TID, i};
    }
    qsort(ret_keys, count, sizeof(*ret_keys), compare_keys_and_nodes);
    return count;
}

/* A node for a holder that is not among those who wait. */
static int add_holder(struct waits *waits, const struct key *key)
{
    struct waits_node *node = append(waits);

    if (node == NULL)
        return -ENOMEM;
    node->kind = key->kind == KEY_LOCK ? WAITS_READERS : WAITS_THREAD;
    node->ring = key->ring;
    node->process = key->process;
    if (key->kind != KEY_LOCK)
        node->owner = (uint32_t)key->value;
    node->owner_is_id = key->kind == KEY_ID;
    return 0;
}

int waits_link(struct waits *waits)
{
    struct key *keys, *wanted;
    size_t wanted_count;
    int result = 0;

    if (waits->count == 0)
        return 0;
    keys = malloc(3 * waits->waiting_count * sizeof(*keys));
    if (keys == NULL)
        return -ENOMEM;
    wanted = keys + 2 * waits->waiting_count;
    wanted_count = link_waiting(waits, keys, own_keys(waits, keys), wanted);
    for (size_t i = 0; i < wanted_count && result == 0; i++) {
        if (i == 0 || compare_keys(&wanted[i - 1], &wanted[i]) != 0)
            result = add_holder(waits, &wanted[i]);
        if (result == 0)
            waits->nodes[wanted[i].node].next = (uint32_t)waits->count - 1;
    }
    free(keys);
    return result;
}

/* Holders were added in the order of their keys. */
static struct waits_node *find_holder(struct waits *waits, const struct key *wanted)
{
    size_t low = waits->waiting_count, high = waits->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct waits_node *node = &waits->nodes[middle];
        struct key key = {node->ring, node->process, node->owner, node->owner_is_id ? KEY_ID : KEY_TID, 0};
        int order;

        key.kind = node->kind == WAITS_READERS ? KEY_LOCK : key.kind;
        order = compare_keys(&key, wanted);
        if (order == 0)
            return waits->nodes[middle].kind == WAITS_THREAD ? &waits->nodes[middle] : NULL;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

size_t waits_missing(struct waits *waits, uint32_t ring, uint32_t process, uint32_t tid, uint32_t id,
                     struct waits_node *ret_nodes[2])
{
    struct waits_node *by_tid = NULL, *by_id;
    size_t count = 0;

    if (tid != 0)
        by_tid = find_holder(waits, &(struct key){ring, process, tid, KEY_TID, 0});
    by_id = find_holder(waits, &(struct key){ring, process, id, KEY_ID, 0});
    if (by_tid != NULL)
        ret_nodes[count++] = by_tid;
    if (by_id != NULL)
        ret_nodes[count++] = by_id;
    return count;
}

/* Certainty -------------------------------------------------------------------------------------------------------- */

void waits_again(struct waits_node *node, const struct rip_wait_info *wait)
{
    node->again = wait != NULL && wait->generation == node->generation && wait->progress == node->wait.progress &&
                  wait->address == node->wait.address && wait->owner == node->wait.owner &&
                  wait->flags == node->wait.flags;
    node->begun_ns = node->again ? wait->begun_mono_ns : UINT64_MAX;
}

/* See guarantee A. The beginning is that of the second reading: the wait in which the holder was then. */
static bool is_certain(const struct waits *waits, const struct waits_node *node)
{
    const struct waits_node *holder = node->next != WAITS_NONE ? &waits->nodes[node->next] : NULL;
    uint64_t read_ns = node->wait.seen_mono_ns;

    if (holder == NULL || !node->again || !holder->waits || !holder->again ||
        (node->wait.flags & (RIP_WAIT_ENDS | ~KNOWN_FLAGS)) != 0)
        return false;
    if ((node->wait.flags & RIP_WAIT_OWNER_LASTS) != 0)
        return holder->begun_ns <= holder->wait.seen_mono_ns; /* in both readings it was in one wait */
    return read_ns > WAITS_SLACK_NS && read_ns - WAITS_SLACK_NS > holder->begun_ns;
}

/* Chains ----------------------------------------------------------------------------------------------------------- */

/* Marks in root while the graph is walked. */
#define NOT_SEEN WAITS_NONE
#define ON_PATH (WAITS_NONE - 1)

/* All of a cycle are certain, or it is not one: then its uncertain edges are taken away. */
static void judge_cycle(struct waits *waits, uint32_t first)
{
    struct waits_node *nodes = waits->nodes;
    bool certain = true;
    uint32_t node = first, lowest = first, length = 0;

    do {
        certain = certain && nodes[node].certain;
        lowest = node < lowest ? node : lowest;
        length++;
        node = nodes[node].next;
    } while (node != first);
    do {
        uint32_t next = nodes[node].next;

        if (certain) {
            nodes[node].deadlocked = true;
            nodes[node].root = lowest;
            nodes[node].last = node;
            nodes[node].length = length;
        } else if (!nodes[node].certain) {
            nodes[node].next = WAITS_NONE;
        }
        node = next;
    } while (node != first);
    waits->deadlocked_count += certain ? length : 0;
}

static void find_cycles(struct waits *waits)
{
    struct waits_node *nodes = waits->nodes;

    for (uint32_t start = 0; start < waits->waiting_count; start++) {
        uint32_t node = start;

        /* length is who came by here: start + 1 */
        while (node != WAITS_NONE && nodes[node].root == NOT_SEEN) {
            nodes[node].root = ON_PATH;
            nodes[node].length = start + 1;
            node = nodes[node].next;
        }
        if (node != WAITS_NONE && nodes[node].root == ON_PATH && nodes[node].length == start + 1)
            judge_cycle(waits, node);
    }
}

/* The member of a cycle before the one at which a chain comes in is where that chain ends. */
static void find_ends(struct waits *waits, uint32_t *before)
{
    struct waits_node *nodes = waits->nodes;

    for (uint32_t i = 0; i < waits->count; i++) {
        if (nodes[i].deadlocked)
            before[nodes[i].next] = i;
        else
            nodes[i].root = NOT_SEEN;
    }
}

/* From start to a node that is known, turning the edges round on the way, and back, with what is known. */
static void settle_chain(struct waits *waits, uint32_t start, const uint32_t *before, uint32_t *back)
{
    struct waits_node *nodes = waits->nodes;
    uint32_t node = start, came_from = WAITS_NONE;

    while (nodes[node].root == NOT_SEEN && nodes[node].next != WAITS_NONE) {
        back[node] = came_from;
        came_from = node;
        node = nodes[node].next;
    }
    if (nodes[node].root == NOT_SEEN) {
        nodes[node].root = nodes[node].last = node;
        nodes[node].length = 0;
    }
    for (uint32_t i = came_from; i != WAITS_NONE; i = back[i]) {
        uint32_t next = nodes[i].next;

        nodes[i].root = nodes[next].root;
        nodes[i].last = nodes[next].deadlocked ? before[next] : nodes[next].last;
        nodes[i].length = nodes[next].length + !nodes[next].deadlocked; /* a cycle's has the one at which it begins */
    }
}

void waits_settle(struct waits *waits)
{
    uint32_t *scratch = malloc((2 * waits->count + 1) * sizeof(*scratch));

    for (size_t i = 0; i < waits->count; i++) {
        struct waits_node *node = &waits->nodes[i];

        node->root = NOT_SEEN;
        if (scratch == NULL || (node->waits && !node->again))
            node->next = WAITS_NONE; /* nothing is told without memory, nor of a wait that is over */
        node->certain = is_certain(waits, node);
    }
    find_cycles(waits);
    if (scratch != NULL)
        find_ends(waits, scratch);
    for (uint32_t i = 0; i < waits->count; i++) {
        if (scratch == NULL)
            waits->nodes[i].root = waits->nodes[i].last = i;
        else if (waits->nodes[i].root == NOT_SEEN)
            settle_chain(waits, i, scratch, scratch + waits->count);
    }
    free(scratch);
}

uint32_t waits_find(const struct waits *waits, uint32_t ring, uint32_t slot, uint32_t generation)
{
    size_t low = 0, high = waits != NULL ? waits->waiting_count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct waits_node *node = &waits->nodes[middle];
        int order = node->ring != ring ? compare_numbers(node->ring, ring) : compare_numbers(node->slot, slot);

        if (order == 0)
            return node->generation == generation ? (uint32_t)middle : WAITS_NONE;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return WAITS_NONE;
}

size_t waits_chain(const struct waits *waits, uint32_t node, uint32_t ret_nodes[WAITS_CHAIN_MAX],
                   uint32_t *ret_left_out)
{
    const uint32_t length = waits->nodes[node].length;
    const size_t count = length < WAITS_CHAIN_MAX ? length : WAITS_CHAIN_MAX;
    uint32_t next = waits->nodes[node].next;

    for (size_t i = 0; i < count; i++) {
        ret_nodes[i] = next;
        next = waits->nodes[next].next;
    }
    if (length > WAITS_CHAIN_MAX)
        ret_nodes[WAITS_CHAIN_MAX - 1] = waits->nodes[node].last;
    *ret_left_out = length - (uint32_t)count;
    return count;
}
