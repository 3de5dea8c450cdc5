/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits_settle.c - decides which edges are certain and which cycles are deadlocks, and finds the ends of chains. Pure.
 * See waits.h for the guarantees.
 */
#include "cases/waits.h"

#define KNOWN_FLAGS (RIP_WAIT_OWNER_IS_ID | RIP_WAIT_SHARABLE | RIP_WAIT_ENDS | RIP_WAIT_OWNER_LASTS | RIP_WAIT_SHARED)

/* Certainty -------------------------------------------------------------------------------------------------------- */

void waits_again(struct waits_node *node, const struct rip_wait_info *wait)
{
    node->again = wait != NULL && wait->generation == node->generation && wait->progress == node->wait.progress &&
                  wait->address == node->wait.address && wait->owner == node->wait.owner &&
                  wait->flags == node->wait.flags;
    node->begun_ns = node->again ? wait->begun_mono_ns : UINT64_MAX;
}

void waits_stands(struct waits_node *node, uint32_t generation, uint64_t progress)
{
    node->again = generation == node->generation && progress == node->progress;
}

static bool is_same_process(const struct waits_node *node, const struct waits_node *holder)
{
    return node->ring == holder->ring && node->process == holder->process;
}

/* begun_ns is from the second reading: the begin of the wait that the holder was in at that time. */
static bool is_certain_by_mark(const struct waits_node *node, const struct waits_node *holder)
{
    uint64_t read_ns = node->wait.seen_mono_ns;

    if (!node->marked || !holder->marked || waits_held_by(node) != node->wait.owner || !is_same_process(node, holder) ||
        (node->wait.flags & (RIP_WAIT_ENDS | ~KNOWN_FLAGS)) != 0)
        return false;
    if ((node->wait.flags & RIP_WAIT_OWNER_LASTS) != 0)
        return holder->begun_ns <= holder->wait.seen_mono_ns; /* one wait in both readings */
    return read_ns > WAITS_SLACK_NS && read_ns - WAITS_SLACK_NS > holder->begun_ns;
}

/* The period in which a node was certainly in its wait. */
struct period {
    uint64_t from_ns;
    uint64_t until_ns;
};

static struct period wait_by_memory(const struct waits_node *node)
{
    if (node->lock.holder.address == 0)
        return (struct period){UINT64_MAX, 0};
    return (struct period){node->lock.looks[0].begun_mono_ns, node->lock.until_mono_ns};
}

static struct period wait_by_mark(const struct waits_node *node)
{
    if (!node->marked || node->begun_ns > UINT64_MAX - WAITS_SLACK_NS)
        return (struct period){UINT64_MAX, 0};
    return (struct period){node->begun_ns + WAITS_SLACK_NS, UINT64_MAX}; /* until now, which is after everything else */
}

static bool is_within(const struct lock_wait_look *look, struct period period)
{
    return period.from_ns <= look->begun_mono_ns && look->ended_mono_ns <= period.until_ns;
}

static bool is_certain_by_memory(const struct waits_node *node, const struct waits_node *holder)
{
    const struct period memory = wait_by_memory(holder), mark = wait_by_mark(holder);
    bool within = false;

    for (size_t i = 0; i < LOCK_WAIT_LOOKS; i++)
        within |= is_within(&node->lock.looks[i], memory) ||
                  (is_same_process(node, holder) && is_within(&node->lock.looks[i], mark));
    return within && node->by_memory && (node->lock.holder.flags & RIP_WAIT_ENDS) == 0;
}

/* Whether the holder may be reported as ended, see guarantee E. Never for a lock that the kernel hands over. */
static bool can_be_gone(const struct waits_node *node, const struct waits_node *holder)
{
    return holder->kind != WAITS_ID && holder->gone_since_ns != 0 && node->by_memory &&
           (node->lock.holder.flags & (RIP_WAIT_SHARED | LOCK_WAIT_HANDED_ON)) == 0;
}

static bool is_gone(const struct waits_node *node, const struct waits_node *holder)
{
    bool owned = false;

    for (size_t i = 0; i < LOCK_WAIT_LOOKS; i++)
        owned |= node->lock.looks[i].begun_mono_ns >= holder->gone_since_ns;
    return owned && can_be_gone(node, holder);
}

/* See guarantee A. */
static bool is_certain(const struct waits *waits, const struct waits_node *node)
{
    const struct waits_node *holder = node->next != WAITS_NONE ? &waits->nodes[node->next] : NULL;

    if (holder != NULL && holder->kind == WAITS_GONE)
        return is_gone(node, holder);

    return holder != NULL && node->again && holder->waits && holder->again &&
           (is_certain_by_mark(node, holder) || is_certain_by_memory(node, holder));
}

/* Whether all members of a cycle were in their waits at one instant. */
static bool overlap_at_one_instant(const struct waits *waits, uint32_t first)
{
    struct period all = {0, UINT64_MAX};
    uint32_t node = first;

    do {
        const struct period memory = wait_by_memory(&waits->nodes[node]), mark = wait_by_mark(&waits->nodes[node]);
        const uint64_t from_ns = memory.from_ns < mark.from_ns ? memory.from_ns : mark.from_ns;
        const uint64_t until_ns = memory.until_ns > mark.until_ns ? memory.until_ns : mark.until_ns;

        all.from_ns = from_ns > all.from_ns ? from_ns : all.from_ns;
        all.until_ns = until_ns < all.until_ns ? until_ns : all.until_ns;
        node = waits->nodes[node].next;
    } while (node != first);
    return all.from_ns <= all.until_ns;
}

/* Chains ----------------------------------------------------------------------------------------------------------- */

/* Values of root while the graph is traversed. */
#define NOT_SEEN WAITS_NONE
#define ON_PATH (WAITS_NONE - 1)

/* If all edges of a cycle are certain, it is a deadlock. Otherwise removes its uncertain edges. */
static void judge_cycle(struct waits *waits, uint32_t first)
{
    struct waits_node *nodes = waits->nodes;
    const bool together = overlap_at_one_instant(waits, first);
    bool certain = true;
    uint32_t node = first, lowest = first, length = 0;

    do {
        nodes[node].certain &= together || nodes[node].marked;
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
        } else {
            nodes[node].doubted = true;
            if (!nodes[node].certain)
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

        /* length temporarily holds start + 1, which identifies this traversal */
        while (node != WAITS_NONE && nodes[node].root == NOT_SEEN) {
            nodes[node].root = ON_PATH;
            nodes[node].length = start + 1;
            node = nodes[node].next;
        }
        if (node != WAITS_NONE && nodes[node].root == ON_PATH && nodes[node].length == start + 1)
            judge_cycle(waits, node);
    }
}

/* Finds the previous member of each cycle member: a chain that enters a cycle ends before the member it enters at. */
static void find_ends(struct waits *waits)
{
    struct waits_node *nodes = waits->nodes;

    for (uint32_t i = 0; i < waits->count; i++) {
        if (nodes[i].deadlocked)
            nodes[nodes[i].next].before = i;
        else
            nodes[i].root = NOT_SEEN;
    }
}

/* Walks from start to a node whose root is known, storing the way back, then returns and fills in each node. */
static void settle_chain(struct waits *waits, uint32_t start)
{
    struct waits_node *nodes = waits->nodes;
    uint32_t node = start, came_from = WAITS_NONE;

    while (nodes[node].root == NOT_SEEN && nodes[node].next != WAITS_NONE) {
        nodes[node].back = came_from;
        came_from = node;
        node = nodes[node].next;
    }
    if (nodes[node].root == NOT_SEEN) {
        nodes[node].root = nodes[node].last = node;
        nodes[node].length = 0;
    }
    for (uint32_t i = came_from; i != WAITS_NONE; i = nodes[i].back) {
        uint32_t next = nodes[i].next;

        nodes[i].root = nodes[next].root;
        nodes[i].last = nodes[next].deadlocked ? nodes[next].before : nodes[next].last;
        /* The length of a cycle includes the member that the chain enters at. */
        nodes[i].length = nodes[next].length + !nodes[next].deadlocked;
    }
}

/*
 * Removes the edge of a wait that is over, and an edge to an absent thread that is not certain to have ended as holder.
 */
static void judge_edge(struct waits *waits, struct waits_node *node)
{
    struct waits_node *holder = node->next != WAITS_NONE ? &waits->nodes[node->next] : NULL;

    node->root = NOT_SEEN;
    if (node->waits && !node->again) {
        node->next = WAITS_NONE;
    } else if (holder != NULL && holder->absent && node->by_memory) {
        if (is_gone(node, holder)) {
            holder->kind = WAITS_GONE;
        } else {
            node->doubted = can_be_gone(node, holder);
            node->next = WAITS_NONE;
        }
    }
    node->certain = is_certain(waits, node);
}

void waits_settle(struct waits *waits)
{
    for (size_t i = 0; i < waits->count; i++)
        judge_edge(waits, &waits->nodes[i]);
    find_cycles(waits);
    find_ends(waits);
    for (uint32_t i = 0; i < waits->count; i++)
        if (waits->nodes[i].root == NOT_SEEN)
            settle_chain(waits, i);
}
