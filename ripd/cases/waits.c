/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.c - the nodes of the graph; each has at most one edge. Pure. See waits.h for the guarantees.
 *
 * All look-ups are by sorted keys: keys come from rings, which could make the keys of a hash table collide.
 */
#include "cases/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases/snapshot.h"
#include "util/array.h"
#include "util/search.h"

const char *waits_kind_name(enum waits_kind kind)
{
    static const char *const names[] = {
        [WAITS_ID] = "id",
        [WAITS_THREAD] = "thread",
        [WAITS_READERS] = "readers",
        [WAITS_GONE] = "gone",
    };

    return names[kind];
}

/* Life ------------------------------------------------------------------------------------------------------------- */

struct waits *waits_new(void)
{
    return calloc(1, sizeof(struct waits));
}

void waits_free(struct waits *waits)
{
    if (waits == NULL)
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
    char *copy;

    if (waits->ring_name_count != 0 && strcmp(waits->ring_names[waits->ring_name_count - 1], name) == 0)
        return waits->ring_names[waits->ring_name_count - 1];
    if (!ARRAY_GROW(waits->ring_names, waits->ring_name_count, waits->ring_name_capacity))
        return NULL;
    copy = strdup(name);
    if (copy != NULL)
        waits->ring_names[waits->ring_name_count++] = copy;
    return copy;
}

static struct waits_node *append(struct waits *waits)
{
    if (!ARRAY_GROW(waits->nodes, waits->count, waits->capacity))
        return NULL;
    waits->nodes[waits->count] = (struct waits_node){.next = WAITS_NONE};
    return &waits->nodes[waits->count++];
}

/* Adds a node for an id that waits. */
static int append_waiting(struct waits *waits, const struct waits_node *made)
{
    struct waits_node *node;

    if (waits->count == WAITS_NODES_MAX) {
        waits->left_out_count++;
        return -ENOSPC;
    }
    node = append(waits);
    if (node == NULL)
        return -ENOMEM;
    *node = *made;
    node->kind = WAITS_ID;
    node->waits = true;
    node->next = WAITS_NONE;
    node->holder_ring = node->ring;
    node->holder_process = node->process;
    waits->waiting_count = waits->count;
    return 0;
}

int waits_add(struct waits *waits, uint32_t ring, const struct rip_wait_info *wait)
{
    return append_waiting(waits, &(struct waits_node){.ring = ring,
                                                      .process = wait->process,
                                                      .slot = wait->slot,
                                                      .generation = wait->generation,
                                                      .id = wait->id,
                                                      .ring_tid = wait->tid,
                                                      .progress = wait->progress,
                                                      .marked = true,
                                                      .wait = *wait});
}

int waits_add_thread(struct waits *waits, uint32_t ring, const struct rip_id_info *id, const struct lock_wait *lock)
{
    int result = append_waiting(waits, &(struct waits_node){.ring = ring,
                                                            .process = id->process,
                                                            .slot = id->slot,
                                                            .generation = id->generation,
                                                            .id = id->id,
                                                            .ring_tid = id->tid,
                                                            .progress = id->progress});

    if (result == 0)
        waits_add_lock(waits, lock);
    return result;
}

/*
 * If the mark names a lock of the program's own making, and the lock in memory is part of it, the mark takes
 * precedence. If both name the same lock, the mark knows whether the wait has a time limit: the wait in memory may be
 * one of several short pieces.
 */
void waits_add_lock(struct waits *waits, const struct lock_wait *lock)
{
    struct waits_node *node = &waits->nodes[waits->waiting_count - 1];
    const bool is_same = node->marked && node->wait.address == lock->holder.address;

    node->lock = *lock;
    if (is_same && (node->wait.flags & RIP_WAIT_ENDS) == 0)
        node->lock.holder.flags &= (uint8_t)~RIP_WAIT_ENDS;
    node->by_memory =
        !node->marked || ((node->wait.flags & RIP_WAIT_OWNER_IS_ID) == 0 && (node->wait.owner == 0 || is_same));
}

static uint64_t address_of(const struct waits_node *node)
{
    return node->by_memory ? node->lock.holder.address : node->wait.address;
}

uint32_t waits_held_by(const struct waits_node *node)
{
    return node->by_memory ? node->lock.holder.tid : node->wait.owner;
}

static uint8_t flags_of(const struct waits_node *node)
{
    return node->by_memory ? node->lock.holder.flags : node->wait.flags;
}

bool waits_is_shared(const struct waits_node *node)
{
    return (flags_of(node) & RIP_WAIT_SHARED) != 0 && waits_held_by(node) != 0;
}

uint64_t waits_read_ns(const struct waits_node *node)
{
    return node->by_memory ? node->lock.looks[LOCK_WAIT_LOOKS - 1].begun_mono_ns : node->wait.seen_mono_ns;
}

/* Edges ------------------------------------------------------------------------------------------------------------ */

enum key_kind { KEY_TID, KEY_ID, KEY_LOCK };

/* A name of a node, or of what it waits for. */
struct key {
    uint32_t ring;
    uint32_t process;
    uint64_t value;
    enum key_kind kind;
    uint32_t node;
};

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;

    return search_order_then(search_order_pair(a->ring, a->process, b->ring, b->process),
                             search_order_pair(a->kind, a->value, b->kind, b->value));
}

static int compare_keys_and_nodes(const void *left, const void *right)
{
    const struct key *a = left, *b = right;

    return search_order_then(compare_keys(a, b), search_order(a->node, b->node));
}

/* Returns the first of equal keys: a ring may claim one thread for many ids. */
static const struct key *find_key(const struct key *keys, size_t count, const struct key *wanted)
{
    const size_t i = search_equal(wanted, keys, count, sizeof(*keys), compare_keys);

    return i < count ? &keys[i] : NULL;
}

/* Returns false if the holder of the lock is not known. */
static bool holder_key(const struct waits_node *node, uint32_t index, struct key *ret_key)
{
    const uint8_t flags = flags_of(node);

    if (node->by_memory && (flags & LOCK_WAIT_HANDED_ON) != 0 && node->lock.holder.tid == node->ring_tid)
        return false;
    *ret_key = (struct key){.ring = node->holder_ring, .process = node->holder_process, .node = index};
    ret_key->value = waits_held_by(node);
    ret_key->kind = (flags & RIP_WAIT_OWNER_IS_ID) != 0 ? KEY_ID : KEY_TID;
    if (ret_key->value != 0)
        return node->holder_ring != 0;
    ret_key->kind = KEY_LOCK;
    ret_key->value = address_of(node);
    return (flags & RIP_WAIT_SHARABLE) != 0;
}

/* Links nodes whose holder waits, too. The keys of other holders are stored in wanted, sorted; returns how many. */
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

/* Adds a node for a holder that is not a waiting id. */
static int add_holder(struct waits *waits, const struct key *key)
{
    struct waits_node *node = append(waits);

    if (node == NULL)
        return -ENOMEM;
    node->kind = key->kind == KEY_LOCK ? WAITS_READERS : WAITS_THREAD;
    node->ring = key->ring;
    node->process = key->process;
    if (key->kind != KEY_LOCK)
        node->holder = (uint32_t)key->value;
    node->holder_is_id = key->kind == KEY_ID;
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

static int compare_with_holder(const void *wanted, const void *item)
{
    const struct waits_node *node = item;
    const enum key_kind kind = node->holder_is_id ? KEY_ID : KEY_TID;

    return compare_keys(wanted, &(struct key){node->ring, node->process, node->holder,
                                              node->kind == WAITS_READERS ? KEY_LOCK : kind, 0});
}

/* Binary search: holders were added in the order of their keys. */
static uint32_t find_holder(const struct waits *waits, const struct key *wanted)
{
    const size_t first = waits->waiting_count, count = waits->count - first;
    size_t i;

    if (count == 0)
        return WAITS_NONE;
    i = search_equal(wanted, &waits->nodes[first], count, sizeof(*waits->nodes), compare_with_holder);
    return i < count ? (uint32_t)(first + i) : WAITS_NONE;
}

/* Finds a holder that is not known as an id yet. */
static struct waits_node *find_unknown(struct waits *waits, const struct key *wanted)
{
    uint32_t found = find_holder(waits, wanted);

    return found != WAITS_NONE && waits->nodes[found].kind == WAITS_THREAD ? &waits->nodes[found] : NULL;
}

uint64_t waits_gone_since(const struct waits *waits, uint32_t ring, uint32_t process, uint32_t tid)
{
    uint32_t found = waits != NULL ? find_holder(waits, &(struct key){ring, process, tid, KEY_TID, 0}) : WAITS_NONE;

    return found != WAITS_NONE ? waits->nodes[found].gone_since_ns : 0;
}

size_t waits_missing(struct waits *waits, uint32_t ring, uint32_t process, uint32_t tid, uint32_t id,
                     struct waits_node *ret_nodes[2])
{
    struct waits_node *by_tid = NULL, *by_id;
    size_t count = 0;

    if (tid != 0)
        by_tid = find_unknown(waits, &(struct key){ring, process, tid, KEY_TID, 0});
    by_id = find_unknown(waits, &(struct key){ring, process, id, KEY_ID, 0});
    if (by_tid != NULL)
        ret_nodes[count++] = by_tid;
    if (by_id != NULL)
        ret_nodes[count++] = by_id;
    return count;
}

/* Queries ---------------------------------------------------------------------------------------------------------- */

static int compare_with_waiting(const void *wanted, const void *item)
{
    const struct waits_node *a = wanted, *b = item;

    return search_order_pair(a->ring, a->slot, b->ring, b->slot);
}

uint32_t waits_find(const struct waits *waits, uint32_t ring, uint32_t slot, uint32_t generation)
{
    const struct waits_node wanted = {.ring = ring, .slot = slot};
    const size_t count = waits != NULL ? waits->waiting_count : 0;
    const size_t i = count == 0 ? 0 : search_equal(&wanted, waits->nodes, count, sizeof(wanted), compare_with_waiting);

    return i < count && waits->nodes[i].generation == generation ? (uint32_t)i : WAITS_NONE;
}

void waits_chain(const struct waits *waits, uint32_t node, struct waits_chain *ret_chain)
{
    const struct waits_node *nodes = waits->nodes, *from = &nodes[node];
    const uint32_t length = from->length, last = from->last;
    const size_t count = length < WAITS_CHAIN_MAX ? length : WAITS_CHAIN_MAX;

    ret_chain->count = count;
    ret_chain->left_out = length - (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        ret_chain->steps[i].node = &nodes[from->next];
        ret_chain->steps[i].certain = from->certain;
        from = &nodes[from->next];
    }
    if (ret_chain->left_out != 0) {
        ret_chain->steps[count - 1].node = &nodes[last];
        ret_chain->steps[count - 1].certain = false;
    }
}
