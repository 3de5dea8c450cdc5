/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits_collect.c - reads the marks of suspects twice, adds what their memory says, and finds the holders among the
 * live ids of their rings and the threads of their processes. Touches the mappings, the clock, and /proc through the
 * registry. cases/waits.c draws the conclusions.
 */
#include "ring/waits_collect.h"

#include <errno.h>
#include <string.h>

#include "os/clock.h"
#include "ring/describe.h"
#include "ring/file_locks.h"
#include "work/jobs.h"

#define BATCH 128u
#define LOOKUPS_MAX 65536u              /* ids of one ring read to find holders that are given as ids */
#define SEARCH_NS UINT64_C(50000000)    /* for the searches of all rings together */
#define TRANSLATE_NS UINT64_C(10000000) /* for the thread ids of all nodes together; the registry limits it too */
#define STALE_NS UINT64_C(1000000000)
#define SOUGHT_MAX 8u /* scans */

/* Readings --------------------------------------------------------------------------------------------------------- */

/*
 * Returns true if a mark belongs to the current wait. Eight bits of the count distinguish a mark from older ones. A
 * thread can leave a mark behind (a long jump out of the wait, or a wait that was never ended) that matches by chance.
 * Such a mark is older than the last scan that saw another count.
 */
static bool is_of_current_wait(const struct rip_wait_info *wait, const struct detector_suspect *suspect,
                               uint64_t now_mono_ns)
{
    uint64_t age_ns = now_mono_ns > wait->begun_mono_ns ? now_mono_ns - wait->begun_mono_ns : 0;

    return suspect->frozen_for_max_ns == DETECTOR_UNKNOWN_NS || age_ns <= suspect->frozen_for_max_ns + STALE_NS;
}

static bool read_mark(struct ring *ring, const struct detector_suspect *suspect, uint64_t now_mono_ns,
                      struct rip_wait_info *ret_wait)
{
    return mapping_wait(&ring->mapping, suspect->slot, ret_wait) == 0 && ret_wait->generation == suspect->generation &&
           ret_wait->progress == suspect->progress && is_of_current_wait(ret_wait, suspect, now_mono_ns);
}

/* If out of memory, the suspect is treated as if it waited for nobody. */
static void add_case(struct waits *waits, struct work *work, struct ring *ring, const struct stall_case *stall,
                     uint64_t now_mono_ns)
{
    const struct lock_wait *lock = stall->lock.holder.address != 0 ? &stall->lock : NULL;
    struct rip_wait_info wait;
    struct rip_id_info id;
    const bool marked = read_mark(ring, &stall->suspect, now_mono_ns, &wait);

    if (!marked && (lock == NULL || mapping_id(&ring->mapping, stall->slot, &id) != 0 ||
                    id.generation != stall->generation || id.progress != stall->suspect.progress))
        return;
    if (!work_take(work, stall->user, WORK_WAITS, 1)) {
        waits->left_out_count++;
        return;
    }
    if ((marked ? waits_add(waits, ring->serial, &wait) : waits_add_thread(waits, ring->serial, &id, lock)) != 0)
        return;
    if (marked && lock != NULL)
        waits_add_lock(waits, lock);
    waits->nodes[waits->count - 1].user = stall->user;
}

static void read_first(struct waits *waits, const struct waits_source *source)
{
    uint64_t now_mono_ns = clock_mono_ns();
    size_t count;
    struct stall_case *const *stalls = cases_all(source->cases, &count);

    work_reset(source->work, WORK_WAITS);
    for (size_t i = 0; i < count; i++) {
        struct ring *ring = registry_find(source->registry, stalls[i]->ring);

        if (ring != NULL && stalls[i]->is_suspect && !stalls[i]->suspect.unread)
            add_case(waits, source->work, ring, stalls[i], now_mono_ns);
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
    for (size_t i = 0; i < waits->waiting_count; i++) {
        struct waits_node *node = &waits->nodes[i];
        struct ring *ring = registry_find(registry, node->ring);

        if (ring != NULL)
            read_node_again(node, ring);
    }
}

/* Turns ------------------------------------------------------------------------------------------------------------ */

struct shared_holder;

/* The limit of a turn, and what the turns of one service share. */
struct turn {
    uint64_t deadline_mono_ns;
    struct shared_holder *known; /* a cache of SHARED_KNOWN; NULL = none */
};

/* A step that is done for each node while there is time. */
struct service {
    uint64_t budget_ns;
    bool (*applies)(const struct waits *waits, size_t node);
    void (*serve)(const struct waits_source *source, struct waits *waits, struct ring *ring, size_t node,
                  const struct turn *turn);
};

/* Serves the nodes from first on, with the users taking turns. The node to begin with differs from scan to scan. */
static void serve_nodes(const struct waits_source *source, struct waits *waits, size_t first,
                        const struct service *service, struct shared_holder *known)
{
    const struct turn turn = {clock_mono_ns() + service->budget_ns, known};
    uint64_t now_mono_ns = 0;
    struct ring *ring;
    struct work_job job;
    uint32_t user;

    for (size_t i = first; i < waits->count; i++) {
        const struct waits_node *node = &waits->nodes[i];
        const uint64_t key = (uint64_t)node->ring << 32 | (uint32_t)(i - first);

        if (!service->applies(waits, i) || (ring = registry_find(source->registry, node->ring)) == NULL)
            continue;
        job = (struct work_job){.subject = (uint32_t)i, .order = key + source->sequence * UINT64_C(0x9e3779b97f4a7c15)};
        (void)work_push(source->work, work_user(source->work, mapping_owner(&ring->mapping)), job);
    }
    while (now_mono_ns < turn.deadline_mono_ns && work_next(source->work, 0, UINT16_MAX, &job, &user)) {
        const uint64_t began_mono_ns = clock_mono_ns();

        ring = registry_find(source->registry, waits->nodes[job.subject].ring);
        if (ring != NULL)
            service->serve(source, waits, ring, job.subject, &turn);
        now_mono_ns = clock_mono_ns();
        work_spend(source->work, user, now_mono_ns - began_mono_ns);
    }
    work_refuse_queued(source->work, WORK_PROCESS_TIME, UINT16_MAX);
}

/* Holders ---------------------------------------------------------------------------------------------------------- */

/* The search of one ring. */
struct search {
    struct waits *waits;
    struct ring *ring;
    size_t left;      /* number of holders not found yet */
    bool by_id;       /* some of them are given as ids */
    uint64_t lookups; /* remaining reads of ids for those */
};

static void take_holder(struct waits_node *node, const struct rip_id_info *info)
{
    node->kind = WAITS_ID;
    node->slot = info->slot;
    node->generation = info->generation;
    node->id = info->id;
    node->ring_tid = info->tid;
    node->idles = info->idle != 0;
    node->receives = node->idles && (info->call == RIP_CALL_READY || info->call == RIP_CALL_INPUT);
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

/* Holders are in order of ring: the first one of each ring is the job for all of them. */
static bool is_first_of_ring(const struct waits *waits, size_t node)
{
    return node == waits->waiting_count || waits->nodes[node - 1].ring != waits->nodes[node].ring;
}

static void search_ring(const struct waits_source *source, struct waits *waits, struct ring *ring, size_t node,
                        const struct turn *turn)
{
    struct search search = {.waits = waits, .ring = ring, .lookups = LOOKUPS_MAX};
    struct rip_scan_position position = {0};
    struct rip_sample samples[BATCH];
    size_t count = BATCH;

    (void)source;
    (void)turn;
    for (; node < waits->count && waits->nodes[node].ring == ring->serial; node++) {
        waits->nodes[node].searched = true;
        search.left += waits->nodes[node].kind == WAITS_THREAD;
        search.by_id |= waits->nodes[node].kind == WAITS_THREAD && waits->nodes[node].holder_is_id;
    }
    while (count == BATCH && search.left != 0) {
        count = 0;
        if (mapping_scan(&ring->mapping, &position, samples, BATCH, &count) != 0)
            return;
        for (size_t i = 0; i < count && search.left != 0; i++)
            take_sample(&search, &samples[i]);
    }
}

/*
 * Returns the time since which the holder has certainly ended, or 0 if that is not certain. A thread that has ended
 * does not come back.
 */
static uint64_t gone_since(struct registry *registry, const struct ring *ring, const struct waits_node *node,
                           const struct waits *before)
{
    uint64_t since_ns;

    if (!registry_is_gone(registry, ring, node->process, node->holder))
        return 0;
    since_ns = waits_gone_since(before, node->ring, node->process, node->holder);
    return since_ns != 0 ? since_ns : clock_mono_ns();
}

/* A value in memory that looks like a holder may be something else. Then such a thread hardly exists. */
static bool may_be_absent(const struct waits *waits, size_t node)
{
    return waits->nodes[node].kind == WAITS_THREAD && !waits->nodes[node].holder_is_id;
}

static void look_for_thread(const struct waits_source *source, struct waits *waits, struct ring *ring, size_t index,
                            const struct turn *turn)
{
    struct waits_node *node = &waits->nodes[index];
    uint32_t tid;

    node->absent =
        registry_find_thread(source->registry, ring, node->process, node->holder, turn->deadline_mono_ns, &tid) != 0 ||
        !registry_has_thread(source->registry, ring, node->process, tid);
    if (node->absent && clock_mono_ns() < turn->deadline_mono_ns)
        node->gone_since_ns = gone_since(source->registry, ring, node, source->before);
}

static void find_holders(const struct waits_source *source, struct waits *waits)
{
    static const struct service search = {SEARCH_NS, is_first_of_ring, search_ring};
    static const struct service presence = {TRANSLATE_NS, may_be_absent, look_for_thread};

    serve_nodes(source, waits, waits->waiting_count, &search, NULL);
    for (size_t i = waits->waiting_count; i < waits->count; i++)
        waits->nodes[i].absent = may_be_absent(waits, i); /* until look_for_thread() finds it */
    serve_nodes(source, waits, waits->waiting_count, &presence, NULL);
}

/* Of locks that processes share ------------------------------------------------------------------------------------ */

#define SHARED_KNOWN 64u /* direct-mapped cache, because many wait for few holders */

/* Says which process has the thread that another process names by a tid. */
struct shared_holder {
    uint32_t ring; /* of the waiter; 0 = empty */
    uint32_t process;
    uint32_t tid;
    uint32_t holder_ring; /* 0 = not known */
    uint32_t holder_process;
};

static bool has_shared_lock(const struct waits *waits, size_t node)
{
    return waits_is_shared(&waits->nodes[node]);
}

static void find_shared_holder(const struct waits_source *source, struct waits *waits, struct ring *ring, size_t index,
                               const struct turn *turn)
{
    struct waits_node *node = &waits->nodes[index];
    const uint32_t tid = waits_held_by(node);
    struct shared_holder *known = &turn->known[tid % SHARED_KNOWN];

    if (known->ring != node->ring || known->process != node->process || known->tid != tid) {
        *known = (struct shared_holder){.ring = node->ring, .process = node->process, .tid = tid};
        (void)registry_find_holder(source->registry, ring, node->process, tid, turn->deadline_mono_ns,
                                   &known->holder_ring, &known->holder_process);
    }
    node->holder_ring = known->holder_ring;
    node->holder_process = known->holder_process;
}

/*
 * A holder that is not found in time is unknown, and searched again on the next scan. In another pid namespace, a
 * holder that shares no ring with the waiter is also unknown: the tid in the lock may be from a third namespace.
 */
static void find_shared_holders(const struct waits_source *source, struct waits *waits)
{
    static const struct service holders = {TRANSLATE_NS, has_shared_lock, find_shared_holder};
    struct shared_holder known[SHARED_KNOWN] = {{0}};

    for (size_t i = 0; i < waits->waiting_count; i++)
        if (has_shared_lock(waits, i))
            waits->nodes[i].holder_ring = 0; /* until find_shared_holder() finds it */
    serve_nodes(source, waits, 0, &holders, known);
}

/* The whole -------------------------------------------------------------------------------------------------------- */

/* Returns true if the holder has not moved since it was read as the holder. Then it still holds the lock. */
static bool has_not_moved(const struct waits_source *source, const struct waits_node *node,
                          const struct waits_node *holder)
{
    struct detector_id id;

    return detector_find(source->detector, holder->ring, holder->slot, holder->generation, &id) == 0 &&
           clock_mono_ns() <= waits_read_ns(node) + id.frozen_for_ns;
}

/*
 * A holder of a lock within one process blocks the others if it waits for anything except a descriptor. A lock that
 * processes share may have changed hands since it was read: if its holder has moved, nothing is known.
 */
static enum evidence_holder holder_of(const struct waits *waits, const struct waits_node *node,
                                      const struct waits_source *source)
{
    const struct waits_node *holder = node->next != WAITS_NONE ? &waits->nodes[node->next] : NULL;
    const struct stall_case *stall;

    if (holder != NULL && holder->kind == WAITS_THREAD && !holder->searched)
        return HOLDER_SOUGHT;
    if (holder == NULL || (holder->kind != WAITS_ID && holder->kind != WAITS_GONE))
        return HOLDER_UNKNOWN;
    if (holder->kind == WAITS_GONE)
        return HOLDER_STANDS;
    if (waits_is_shared(node) && !holder->idles && !has_not_moved(source, node, holder))
        return HOLDER_UNKNOWN;
    if (holder->idles)
        return holder->receives || waits_is_shared(node) ? HOLDER_IDLE : HOLDER_STANDS;
    stall = cases_find(source->cases, holder->ring, holder->slot, holder->generation);
    return stall != NULL && stall->is_suspect ? HOLDER_STANDS : HOLDER_RUNS;
}

static bool was_examined(const struct stall_case *stall)
{
    return stall->suspect.state == ID_STALLED && stall->suspect.cause != CAUSE_NONE;
}

/*
 * Reports HOLDER_SOUGHT until there was enough time to find the holder, so that no suspect is accused while its holder
 * may be idle. A suspect that was accused already stays so if there is no time to find the holder again.
 */
static void delay_verdict(struct stall_case *stall)
{
    enum evidence_holder *holder = &stall->evidence.lock.holder;

    if (*holder != HOLDER_SOUGHT && (*holder != HOLDER_UNKNOWN || stall->suspect.call != RIP_CALL_SHARED))
        stall->sought_count = 0;
    else if (stall->evidence.examined)
        *holder = !was_examined(stall) && stall->sought_count++ < SOUGHT_MAX ? HOLDER_SOUGHT : HOLDER_UNKNOWN;
}

/* Fills in the cases of suspects from the graph. If waits is NULL, nobody is known to wait. */
static void fill_evidence(const struct waits *waits, const struct waits_source *source)
{
    size_t count;
    struct stall_case *const *stalls = cases_all(source->cases, &count);

    for (size_t i = 0; i < count; i++) {
        struct stall_case *stall = stalls[i];
        uint32_t found = waits_find(waits, stall->ring, stall->slot, stall->generation);
        const struct waits_node *node = found != WAITS_NONE ? &waits->nodes[found] : NULL;

        if (!stall->is_suspect)
            continue;
        stall->evidence.deadlocked = node != NULL && node->deadlocked;
        stall->evidence.lock = (struct evidence_lock){.known = false};
        stall->doubted = node != NULL && node->doubted && stall->kernel != NULL;
        if (node == NULL)
            continue;
        stall->evidence.examined |= node->deadlocked && was_examined(stall); /* the deadlock needs no new examination */
        stall->evidence.lock = (struct evidence_lock){node->again, holder_of(waits, node, source)};
    }
    file_locks_fill(source, waits);
    for (size_t i = 0; i < count; i++)
        if (stalls[i]->is_suspect)
            delay_verdict(stalls[i]);
}

static struct waits *build(const struct waits_source *source)
{
    struct waits *waits = waits_new();

    if (waits == NULL)
        return NULL;
    read_first(waits, source);
    if (waits->waiting_count == 0)
        return waits;
    find_shared_holders(source, waits);
    if (waits_link(waits) != 0) {
        waits_free(waits);
        return NULL;
    }
    find_holders(source, waits);
    read_again(waits, source->registry);
    waits_settle(waits);
    return waits;
}

struct waits *waits_collect(const struct waits_source *source)
{
    struct waits *waits = build(source);

    fill_evidence(waits, source);
    return waits;
}

/* Description ------------------------------------------------------------------------------------------------------ */

/* Returns the tid in the process's own namespace, or 0 if it is on no thread or not known. */
static uint32_t ring_tid_of(const struct waits_node *node)
{
    if (node->kind == WAITS_ID)
        return node->ring_tid;
    return node->kind == WAITS_THREAD && !node->holder_is_id ? node->holder : 0;
}

static bool has_ring_tid(const struct waits *waits, size_t node)
{
    return ring_tid_of(&waits->nodes[node]) != 0;
}

static void find_tid(const struct waits_source *source, struct waits *waits, struct ring *ring, size_t index,
                     const struct turn *turn)
{
    struct waits_node *node = &waits->nodes[index];
    uint32_t tid;

    if (registry_find_thread(source->registry, ring, node->process, ring_tid_of(node), turn->deadline_mono_ns, &tid) !=
            0 ||
        (node->kind == WAITS_THREAD && !registry_has_thread(source->registry, ring, node->process, tid)))
        return; /* not known, or it has ended and nobody holds its lock now */
    node->tid = tid;
}

static void describe_node(struct waits_node *node, struct ring *ring, const struct detector *detector)
{
    struct detector_id id;
    struct rip_id_info info;

    if (node->kind == WAITS_GONE)
        node->tid = node->holder; /* the same number: threads are known to be gone only in our namespace */
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

/* Returns true if the node's root is an id and not described yet. One member of a deadlock is the root for all. */
static bool lacks_root_item(const struct waits *waits, size_t node)
{
    const struct waits_node *root = node < waits->waiting_count ? &waits->nodes[waits->nodes[node].root] : NULL;

    return root != NULL && waits->nodes[node].next != WAITS_NONE && root->kind == WAITS_ID && root->item == NULL;
}

static void describe_root(const struct waits_source *source, struct waits *waits, struct ring *ring, size_t node,
                          const struct turn *turn)
{
    struct waits_node *root = &waits->nodes[waits->nodes[node].root];

    (void)ring;
    (void)turn;
    if (root->item == NULL)
        root->item = describe_id(source->registry, root->ring, root->slot, root->generation);
}

void waits_describe(struct waits *waits, const struct waits_source *source)
{
    static const struct service numbers = {TRANSLATE_NS, has_ring_tid, find_tid};
    static const struct service roots = {TRANSLATE_NS, lacks_root_item, describe_root};

    if (waits == NULL)
        return;
    for (size_t i = 0; i < waits->count; i++) {
        struct waits_node *node = &waits->nodes[i];
        struct ring *ring = registry_find(source->registry, node->ring);

        if (ring == NULL)
            continue;
        node->ring_name = waits_ring_name(waits, ring_name(ring));
        describe_node(node, ring, source->detector);
    }
    serve_nodes(source, waits, 0, &numbers, NULL);
    serve_nodes(source, waits, 0, &roots, NULL);
}
