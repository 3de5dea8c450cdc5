/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits_collect.c - reads the marks of suspects twice, adds what their memory says, finds holders among the live ids of
 * their rings and the threads of their processes. Touches the mappings, the clock, and /proc through the registry. What
 * follows from it is decided in core/waits.c.
 */
#include "ring/waits_collect.h"

#include <errno.h>
#include <string.h>

#include "os/clock.h"
#include "ring/describe.h"

#define BATCH 128u
#define TRANSLATE_NS UINT64_C(10000000) /* for the tids of all of them together; the registry bounds it too */
#define ROOTS_DESCRIBED_MAX 1024u       /* items made of those who hold others up, per scan */
#define STALE_NS UINT64_C(1000000000)

/* Readings --------------------------------------------------------------------------------------------------------- */

/*
 * A mark is told from older ones by 8 bits of the count. One that a thread left behind (a long jump out of the wait, a
 * wait that was never ended) and that fits by chance is older than the last scan that saw another count.
 */
static bool is_of_this_stand(const struct rip_wait_info *wait, const struct detector_suspect *suspect,
                             uint64_t now_mono_ns)
{
    uint64_t age_ns = now_mono_ns > wait->begun_mono_ns ? now_mono_ns - wait->begun_mono_ns : 0;

    return suspect->frozen_for_max_ns == DETECTOR_UNKNOWN_NS || age_ns <= suspect->frozen_for_max_ns + STALE_NS;
}

static bool read_mark(struct ring *ring, const struct detector_suspect *suspect, uint64_t now_mono_ns,
                      struct rip_wait_info *ret_wait)
{
    return mapping_wait(&ring->mapping, suspect->slot, ret_wait) == 0 && ret_wait->generation == suspect->generation &&
           ret_wait->progress == suspect->progress && is_of_this_stand(ret_wait, suspect, now_mono_ns);
}

/* Without memory to note it, it waits for nobody that we know. */
static void add_suspect(struct waits *waits, struct ring *ring, const struct detector_suspect *suspect,
                        uint64_t now_mono_ns)
{
    struct rip_wait_info wait;
    struct rip_id_info id;

    if (read_mark(ring, suspect, now_mono_ns, &wait)) {
        if (waits_add(waits, ring->serial, &wait) == 0 && suspect->lock != NULL)
            waits_add_lock(waits, suspect->lock);
    } else if (suspect->lock != NULL && mapping_id(&ring->mapping, suspect->slot, &id) == 0 &&
               id.generation == suspect->generation && id.progress == suspect->progress) {
        waits_add_thread(waits, ring->serial, &id, suspect->lock);
    }
}

static void read_first(struct waits *waits, struct registry *registry, const struct detector_suspect *suspects,
                       size_t count)
{
    uint64_t now_mono_ns = clock_mono_ns();
    struct ring *ring = NULL;

    for (size_t i = 0; i < count; i++) {
        if (ring == NULL || ring->serial != suspects[i].ring)
            ring = registry_find(registry, suspects[i].ring);
        if (ring != NULL)
            add_suspect(waits, ring, &suspects[i], now_mono_ns);
    }
}

static void read_node_again(struct waits_node *node, struct ring *ring)
{
    struct rip_wait_info wait;
    struct rip_id_info id;

    if (node->marked)
        waits_again(node, mapping_wait(&ring->mapping, node->slot, &wait) == 0 ? &wait : NULL);
    else if (mapping_id(&ring->mapping, node->slot, &id) == 0)
        waits_stands(node, id.generation, id.progress);
}

static void read_again(struct waits *waits, struct registry *registry)
{
    struct ring *ring = NULL;

    for (size_t i = 0; i < waits->waiting_count; i++) {
        struct waits_node *node = &waits->nodes[i];

        if (ring == NULL || ring->serial != node->ring)
            ring = registry_find(registry, node->ring);
        if (ring != NULL)
            read_node_again(node, ring);
    }
}

/* Holders ---------------------------------------------------------------------------------------------------------- */

/* What one ring's search is for. */
struct search {
    struct waits *waits;
    struct ring *ring;
    size_t left;     /* holders not found yet */
    bool by_id;      /* some of them are given as ids */
    size_t *lookups; /* reads of ids that are left in this scan */
};

static void take_holder(struct waits_node *node, const struct rip_id_info *info)
{
    node->kind = WAITS_ID;
    node->slot = info->slot;
    node->generation = info->generation;
    node->id = info->id;
    node->ring_tid = info->tid;
}

static void take_sample(struct search *search, const struct rip_sample *sample)
{
    struct waits_node *found[2];
    struct rip_id_info info;
    bool has_info = false;
    size_t count;

    if (search->by_id && *search->lookups != 0) {
        (*search->lookups)--;
        has_info = mapping_id(&search->ring->mapping, sample->slot, &info) == 0;
    }
    if (!has_info && sample->tid == 0)
        return;
    count =
        waits_missing(search->waits, search->ring->serial, sample->process, sample->tid, has_info ? info.id : 0, found);
    for (size_t i = 0; i < count; i++) {
        if (!has_info && mapping_id(&search->ring->mapping, sample->slot, &info) != 0)
            return;
        if (info.generation != sample->generation)
            return;
        take_holder(found[i], &info);
        search->left--;
    }
}

static void search_ring(struct search *search)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[BATCH];
    size_t count;

    do {
        count = 0;
        if (mapping_scan(&search->ring->mapping, &position, samples, BATCH, &count) != 0)
            return;
        for (size_t i = 0; i < count && search->left != 0; i++)
            take_sample(search, &samples[i]);
    } while (count == BATCH && search->left != 0);
}

/* Holders stand in order of ring. */
static void find_holders(struct waits *waits, struct registry *registry)
{
    size_t lookups = WAITS_LOOKUPS_MAX;

    for (size_t i = waits->waiting_count; i < waits->count;) {
        uint32_t serial = waits->nodes[i].ring;
        struct search search = {.waits = waits, .ring = registry_find(registry, serial), .lookups = &lookups};

        for (; i < waits->count && waits->nodes[i].ring == serial; i++) {
            search.left += waits->nodes[i].kind == WAITS_THREAD;
            search.by_id |= waits->nodes[i].kind == WAITS_THREAD && waits->nodes[i].owner_is_id;
        }
        if (search.ring != NULL && search.left != 0)
            search_ring(&search);
    }
}

/* The thread of an owner: whether there is one, and we know it. */
static bool is_thread(struct registry *registry, struct ring *ring, const struct waits_node *node,
                      uint64_t deadline_mono_ns)
{
    uint32_t tid;

    return clock_mono_ns() < deadline_mono_ns &&
           registry_find_thread(registry, ring, node->process, node->owner, deadline_mono_ns, &tid) == 0 &&
           registry_has_thread(registry, ring, node->process, tid);
}

/* Since when it is certain that an owner has ended; 0 = it is not. Such a one does not come back. */
static uint64_t gone_since(struct registry *registry, const struct ring *ring, const struct waits_node *node,
                           const struct waits *before)
{
    uint64_t since_ns;

    if (!registry_is_gone(registry, ring, node->process, node->owner))
        return 0;
    since_ns = waits_gone_since(before, node->ring, node->process, node->owner);
    return since_ns != 0 ? since_ns : clock_mono_ns();
}

/* What looks like an owner in memory may be a number of something else: then there is hardly a thread of that number.
 */
static void find_absent(struct waits *waits, struct registry *registry, const struct waits *before)
{
    uint64_t deadline_mono_ns = clock_mono_ns() + TRANSLATE_NS;
    struct ring *ring = NULL;

    for (size_t i = waits->waiting_count; i < waits->count; i++) {
        struct waits_node *node = &waits->nodes[i];

        if (node->kind != WAITS_THREAD || node->owner_is_id)
            continue;
        if (ring == NULL || ring->serial != node->ring)
            ring = registry_find(registry, node->ring);
        node->absent = ring == NULL || !is_thread(registry, ring, node, deadline_mono_ns);
        if (node->absent && ring != NULL && clock_mono_ns() < deadline_mono_ns)
            node->gone_since_ns = gone_since(registry, ring, node, before);
    }
}

/* The whole -------------------------------------------------------------------------------------------------------- */

static void fill_evidence(const struct waits *waits, struct detector_suspect *suspects, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t found = waits_find(waits, suspects[i].ring, suspects[i].slot, suspects[i].generation);
        const struct waits_node *node;

        suspects[i].evidence.deadlocked = false; /* as it was told before, if it was */
        suspects[i].evidence.lock = (struct evidence_lock){.known = false};
        if (found == WAITS_NONE)
            continue;
        node = &waits->nodes[found];
        suspects[i].evidence.deadlocked = node->deadlocked;
        /* who was examined once need not have a turn again to be told of a deadlock */
        suspects[i].evidence.examined |=
            node->deadlocked && suspects[i].state == ID_STALLED && suspects[i].cause != CAUSE_NONE;
        suspects[i].evidence.lock = (struct evidence_lock){
            .known = node->again,
            .certain = node->certain,
            .owner_tid = waits_owner(node),
            .address = waits_address(node),
        };
    }
}

struct waits *waits_collect(struct registry *registry, struct detector_suspect *suspects, size_t count,
                            const struct waits *before)
{
    struct waits *waits = waits_new();

    if (waits == NULL)
        return NULL;
    read_first(waits, registry, suspects, count);
    if (waits->waiting_count == 0)
        return waits;
    if (waits_link(waits) != 0) {
        waits_unref(waits);
        return NULL;
    }
    find_holders(waits, registry);
    find_absent(waits, registry, before);
    read_again(waits, registry);
    waits_settle(waits);
    fill_evidence(waits, suspects, count);
    return waits;
}

static void describe_node(struct waits_node *node, struct registry *registry, struct ring *ring,
                          const struct detector *detector, uint64_t deadline_mono_ns)
{
    uint32_t ring_tid = node->kind == WAITS_ID ? node->ring_tid : node->owner_is_id ? 0 : node->owner;
    struct detector_id id;
    struct rip_id_info info;

    if (node->kind == WAITS_GONE)
        node->tid = node->owner; /* as it was: only numbers of ours are known to be gone */
    if (node->kind == WAITS_READERS || node->kind == WAITS_GONE)
        return;
    if (ring_tid == 0 ||
        registry_find_thread(registry, ring, node->process, ring_tid, deadline_mono_ns, &node->tid) != 0 ||
        (node->kind == WAITS_THREAD && !registry_has_thread(registry, ring, node->process, node->tid)))
        node->tid = 0; /* or it has ended: its lock is held by nobody now */
    if (node->kind != WAITS_ID)
        return;
    if (mapping_id(&ring->mapping, node->slot, &info) == 0 && info.generation == node->generation) {
        node->name_bytes = info.name_bytes;
        memcpy(node->name, info.name, info.name_bytes);
    }
    if (detector_find(detector, node->ring, node->slot, node->generation, &id) != 0)
        return;
    node->has_state = true;
    node->state = id.state;
    node->cause = id.cause;
    node->frozen_for_ns = id.state == ID_RUNNING || id.state == ID_IDLE ? 0 : id.frozen_for_ns;
}

/* Those at the end of somebody's chain; of a deadlock, the one that stands for it. */
static void describe_roots(struct waits *waits, struct registry *registry)
{
    size_t room = ROOTS_DESCRIBED_MAX;

    for (size_t i = 0; i < waits->waiting_count && room != 0; i++) {
        struct waits_node *root = &waits->nodes[waits->nodes[i].root];

        if (waits->nodes[i].next == WAITS_NONE || root->kind != WAITS_ID || root->item != NULL)
            continue;
        root->item = describe_id(registry, root->ring, root->slot, root->generation);
        room--;
    }
}

void waits_describe(struct waits *waits, struct registry *registry, const struct detector *detector)
{
    uint64_t deadline_mono_ns = clock_mono_ns() + TRANSLATE_NS;
    struct ring *ring = NULL;

    if (waits == NULL)
        return;
    for (size_t i = 0; i < waits->count; i++) {
        struct waits_node *node = &waits->nodes[i];

        if (ring == NULL || ring->serial != node->ring)
            ring = registry_find(registry, node->ring);
        if (ring == NULL)
            continue;
        node->ring_name = waits_ring_name(waits, ring->name != NULL ? ring->name : ring->file_name);
        describe_node(node, registry, ring, detector, deadline_mono_ns);
    }
    describe_roots(waits, registry);
}
