/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits_collect.c - reads the marks of suspects twice, adds what their memory says, finds holders among the live ids of
 * their rings and the threads of their processes. Touches the mappings, the clock, and /proc through the registry. What
 * follows from it is decided in cases/waits.c.
 */
#include "ring/waits_collect.h"

#include <errno.h>
#include <string.h>

#include "os/clock.h"
#include "ring/describe.h"
#include "ring/turns.h"
#include "work/share.h"

#define BATCH 128u
#define TRANSLATE_NS UINT64_C(10000000) /* for the tids of all of them together, twice; the registry bounds it too */
#define ROOTS_DESCRIBED_MAX 1024u       /* items made of those who hold others up, per scan */
#define STALE_NS UINT64_C(1000000000)

/* The ring of a node; last: that of another one, or NULL. NULL: it is gone. */
static struct ring *ring_of(struct registry *registry, struct ring *last, const struct waits_node *node)
{
    return last != NULL && last->serial == node->ring ? last : registry_find(registry, node->ring);
}

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

/* Without memory to note it, it waits for nobody that we know. room: of its ring. */
static void add_suspect(struct waits *waits, struct ring *ring, const struct detector_suspect *suspect,
                        uint64_t now_mono_ns, size_t *room)
{
    struct rip_wait_info wait;
    struct rip_id_info id;
    const bool marked = read_mark(ring, suspect, now_mono_ns, &wait);

    if (!marked && (suspect->lock == NULL || mapping_id(&ring->mapping, suspect->slot, &id) != 0 ||
                    id.generation != suspect->generation || id.progress != suspect->progress))
        return;
    if (*room == 0) {
        waits->left_out_count++;
        return;
    }
    if (marked && waits_add(waits, ring->serial, &wait) == 0 && suspect->lock != NULL)
        waits_add_lock(waits, suspect->lock);
    else if (!marked)
        waits_add_thread(waits, ring->serial, &id, suspect->lock);
    (*room)--;
}

static void read_first(struct waits *waits, struct registry *registry, const struct detector_suspect *suspects,
                       size_t count)
{
    const size_t share = share_of_ring(suspects, count, NULL, WAITS_NODES_MAX);
    uint64_t now_mono_ns = clock_mono_ns();
    struct ring *ring = NULL;
    size_t room = share;

    for (size_t i = 0; i < count; i++) {
        if (ring == NULL || ring->serial != suspects[i].ring) {
            ring = registry_find(registry, suspects[i].ring);
            room = share;
        }
        if (ring != NULL)
            add_suspect(waits, ring, &suspects[i], now_mono_ns, &room);
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
    size_t left;      /* holders not found yet */
    bool by_id;       /* some of them are given as ids */
    uint64_t lookups; /* reads of ids that are left for them */
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

    if (search->by_id && search->lookups != 0) {
        search->lookups--;
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

/* How many ids were read. */
static uint64_t search_ring(struct search *search)
{
    const uint64_t lookups = search->lookups;
    struct rip_scan_position position = {0};
    struct rip_sample samples[BATCH];
    size_t count;

    do {
        count = 0;
        if (mapping_scan(&search->ring->mapping, &position, samples, BATCH, &count) != 0)
            break;
        for (size_t i = 0; i < count && search->left != 0; i++)
            take_sample(search, &samples[i]);
    } while (count == BATCH && search->left != 0);
    return lookups - search->lookups;
}

/* The search for the holders of a ring, from the first of them on; *holder becomes the first one of another ring. */
static struct search search_of(struct waits *waits, struct registry *registry, size_t *holder)
{
    const uint32_t serial = waits->nodes[*holder].ring;
    struct search search = {.waits = waits, .ring = registry_find(registry, serial)};

    for (; *holder < waits->count && waits->nodes[*holder].ring == serial; (*holder)++) {
        search.left += waits->nodes[*holder].kind == WAITS_THREAD;
        search.by_id |= waits->nodes[*holder].kind == WAITS_THREAD && waits->nodes[*holder].owner_is_id;
    }
    return search;
}

/* Holders stand in order of ring. */
static void find_holders(struct waits *waits, struct registry *registry)
{
    struct turns turns;

    turns_begin(&turns, registry, TURNS_LOOKUPS);
    for (size_t i = waits->waiting_count; i < waits->count;) {
        const struct search search = search_of(waits, registry, &i);

        if (search.ring != NULL && search.by_id)
            turns_wish(&turns, search.ring);
    }
    turns_share(&turns, WAITS_LOOKUPS_MAX);
    for (unsigned sweep = 0; sweep < TURNS_SWEEPS; sweep++) {
        for (size_t i = waits->waiting_count; i < waits->count;) {
            struct search search = search_of(waits, registry, &i);
            const uint64_t key = search.ring != NULL ? turns_key(search.ring->serial, 0) : 0;

            if (search.ring == NULL || search.left == 0 || !turns_due(&turns, search.ring, key, sweep))
                continue;
            search.lookups = search.by_id ? turns_left(&turns, search.ring, key) : 0;
            turns_spend(&turns, search.ring, search_ring(&search));
        }
    }
    turns_end(&turns);
}

/*
 * Something that is asked of /proc for nodes, in turns. wishes: of which; serve: asks for one. It begins with the node
 * at first.
 */
struct service {
    enum turns_kind kind;
    bool (*wishes)(const struct waits_node *node);
    void (*serve)(const struct service *service, struct registry *registry, struct ring *ring, struct waits_node *node,
                  uint64_t deadline_mono_ns);
    const struct waits *before; /* see waits_collect() */
};

/* NULL: nothing is wished for it, or it has no ring. */
static struct ring *wishing_ring(const struct service *service, struct registry *registry, struct ring *last,
                                 const struct waits_node *node)
{
    return service->wishes(node) ? ring_of(registry, last, node) : NULL;
}

static void serve_sweep(struct waits *waits, size_t first, struct turns *turns, const struct service *service,
                        unsigned sweep)
{
    struct ring *ring = NULL;
    size_t first_of_ring = first;

    for (size_t i = first; i < waits->count; i++) {
        struct waits_node *node = &waits->nodes[i];
        uint64_t key, left_ns, now_mono_ns;

        first_of_ring = node->ring == waits->nodes[first_of_ring].ring ? first_of_ring : i;
        key = turns_key(node->ring, (uint32_t)(i - first_of_ring));
        ring = wishing_ring(service, turns->registry, ring, node);
        left_ns = ring != NULL && turns_due(turns, ring, key, sweep) ? turns_left(turns, ring, key) : 0;
        if (left_ns == 0)
            continue;
        now_mono_ns = clock_mono_ns();
        service->serve(service, turns->registry, ring, node, now_mono_ns + left_ns);
        turns_spend(turns, ring, clock_mono_ns() - now_mono_ns);
    }
}

static void serve_in_turns(struct waits *waits, size_t first, struct registry *registry, const struct service *service)
{
    struct ring *ring = NULL;
    struct turns turns;

    turns_begin(&turns, registry, service->kind);
    for (size_t i = first; i < waits->count; i++) {
        ring = wishing_ring(service, registry, ring, &waits->nodes[i]);
        if (ring != NULL)
            turns_wish(&turns, ring);
    }
    turns_share(&turns, TRANSLATE_NS);
    for (unsigned sweep = 0; sweep < TURNS_SWEEPS; sweep++)
        serve_sweep(waits, first, &turns, service, sweep);
    turns_end(&turns);
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
static bool may_be_absent(const struct waits_node *node)
{
    return node->kind == WAITS_THREAD && !node->owner_is_id;
}

static void look_for_thread(const struct service *service, struct registry *registry, struct ring *ring,
                            struct waits_node *node, uint64_t deadline_mono_ns)
{
    uint32_t tid;

    node->absent = registry_find_thread(registry, ring, node->process, node->owner, deadline_mono_ns, &tid) != 0 ||
                   !registry_has_thread(registry, ring, node->process, tid);
    if (node->absent && clock_mono_ns() < deadline_mono_ns)
        node->gone_since_ns = gone_since(registry, ring, node, service->before);
}

static void find_absent(struct waits *waits, struct registry *registry, const struct waits *before)
{
    const struct service service = {TURNS_OWNERS, may_be_absent, look_for_thread, before};

    for (size_t i = waits->waiting_count; i < waits->count; i++)
        waits->nodes[i].absent = may_be_absent(&waits->nodes[i]); /* until it is found */
    serve_in_turns(waits, waits->waiting_count, registry, &service);
}

/* Of locks that processes share ------------------------------------------------------------------------------------ */

#define SHARED_KNOWN 64u /* many wait for few: a place for each number, for who had it last */

/* Whose thread it is that a process calls by a number. */
struct shared_owner {
    uint32_t ring; /* of who waits; 0 = nobody */
    uint32_t process;
    uint32_t tid;
    uint32_t owner_ring; /* 0 = not known */
    uint32_t owner_process;
};

static void find_shared_owner(struct registry *registry, const struct waits_node *node, uint64_t deadline_mono_ns,
                              struct shared_owner *known)
{
    const struct ring *ring;

    if (known->ring == node->ring && known->process == node->process && known->tid == waits_owner(node))
        return;
    *known = (struct shared_owner){.ring = node->ring, .process = node->process, .tid = waits_owner(node)};
    ring = registry_find(registry, node->ring);
    if (ring != NULL)
        (void)registry_find_owner(registry, ring, node->process, known->tid, deadline_mono_ns, &known->owner_ring,
                                  &known->owner_process);
}

/*
 * What is not found out in time is not known, and tried again on the next scan. In another pid namespace nobody's is
 * known: whoever shares the lock may have its number from a third one.
 */
static void find_shared_owners(struct waits *waits, struct registry *registry)
{
    const uint64_t deadline_mono_ns = clock_mono_ns() + TRANSLATE_NS;
    struct shared_owner known[SHARED_KNOWN] = {{0}};

    for (size_t i = 0; i < waits->waiting_count; i++) {
        struct waits_node *node = &waits->nodes[i];
        struct shared_owner *place = &known[waits_owner(node) % SHARED_KNOWN];

        if (!waits_is_shared(node))
            continue;
        find_shared_owner(registry, node, deadline_mono_ns, place);
        waits_set_holder(node, place->owner_ring, place->owner_process);
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
    find_shared_owners(waits, registry);
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

/* As its process has it; 0 = it is on none, or none is known. */
static uint32_t ring_tid_of(const struct waits_node *node)
{
    if (node->kind == WAITS_ID)
        return node->ring_tid;
    return node->kind == WAITS_THREAD && !node->owner_is_id ? node->owner : 0;
}

static bool has_ring_tid(const struct waits_node *node)
{
    return ring_tid_of(node) != 0;
}

static void find_number(const struct service *service, struct registry *registry, struct ring *ring,
                        struct waits_node *node, uint64_t deadline_mono_ns)
{
    uint32_t tid;

    (void)service;
    if (registry_find_thread(registry, ring, node->process, ring_tid_of(node), deadline_mono_ns, &tid) != 0 ||
        (node->kind == WAITS_THREAD && !registry_has_thread(registry, ring, node->process, tid)))
        return; /* or it has ended: its lock is held by nobody now */
    node->tid = tid;
}

static void describe_node(struct waits_node *node, struct ring *ring, const struct detector *detector)
{
    struct detector_id id;
    struct rip_id_info info;

    if (node->kind == WAITS_GONE)
        node->tid = node->owner; /* as it was: only numbers of ours are known to be gone */
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
static void describe_roots_sweep(struct waits *waits, struct turns *turns, unsigned sweep)
{
    struct ring *ring = NULL;

    for (size_t i = 0; i < waits->waiting_count; i++) {
        const struct waits_node *node = &waits->nodes[i];
        struct waits_node *root = &waits->nodes[node->root];
        const uint64_t key = turns_key(node->ring, node->slot);

        if (node->next == WAITS_NONE || root->kind != WAITS_ID || root->item != NULL)
            continue;
        ring = ring_of(turns->registry, ring, node);
        if (ring == NULL || !turns_due(turns, ring, key, sweep) || turns_left(turns, ring, key) == 0)
            continue;
        root->item = describe_id(turns->registry, root->ring, root->slot, root->generation);
        turns_spend(turns, ring, 1);
    }
}

static void describe_roots(struct waits *waits, struct registry *registry)
{
    struct ring *ring = NULL;
    struct turns turns;

    turns_begin(&turns, registry, TURNS_ROOTS);
    for (size_t i = 0; i < waits->waiting_count; i++) {
        ring = ring_of(registry, ring, &waits->nodes[i]);
        if (ring != NULL && waits->nodes[i].next != WAITS_NONE)
            turns_wish(&turns, ring);
    }
    turns_share(&turns, ROOTS_DESCRIBED_MAX);
    for (unsigned sweep = 0; sweep < TURNS_SWEEPS; sweep++)
        describe_roots_sweep(waits, &turns, sweep);
    turns_end(&turns);
}

void waits_describe(struct waits *waits, struct registry *registry, const struct detector *detector)
{
    static const struct service service = {TURNS_NUMBERS, has_ring_tid, find_number, NULL};
    struct ring *ring = NULL;

    if (waits == NULL)
        return;
    for (size_t i = 0; i < waits->count; i++) {
        struct waits_node *node = &waits->nodes[i];

        ring = ring_of(registry, ring, node);
        if (ring == NULL)
            continue;
        node->ring_name = waits_ring_name(waits, ring->name != NULL ? ring->name : ring->file_name);
        describe_node(node, ring, detector);
    }
    serve_in_turns(waits, 0, registry, &service);
    describe_roots(waits, registry);
}
