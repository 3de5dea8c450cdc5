/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - the cold calls of an application: which id is on which thread.
 *
 * Guarantees
 *   1. Every call keeps errno (rip_context_init() sets it on failure), cannot be cancelled half-way, and holds the one
 *      mutex of the library while it works on the ring.
 *   2. While the id on a thread changes, snaps of a signal handler are dropped: the slot pointer is NULL until the
 *      globals and the slot agree.
 *   3. A refused thread runs on untraced, with the globals that it requested.
 *   4. Only the thread that an id is on can end it: an id that moved to another thread stays.
 *   5. A reader sees a whole mark or none: idle_mark, the time of the mark, is 0 while the other fields change, and is
 *      never the same for two marks.
 *   6. The time of a mark is taken before the owner is read. So if the time of one mark is later than the start of
 *      another wait, the first mark says what was true during that wait.
 *   7. wait_age_s never makes a wait older than it is.
 *   8. Only the slot that is on this thread now is written, except by rip__wait_begin_of(). After a fork in the middle
 *      of a wait the child marks its own slot, or none.
 *   9. A mark belongs to one count: the next snap, also one in a signal handler, makes it void.
 */
#include <errno.h>
#include <string.h>
#include <sys/sdt.h>
#include <time.h>
#include <unistd.h>

#include "writer.h"

static RIP_EARLY uint32_t thread_key;                                      /* pthread key + 1; 0 = none */
static __thread bool is_inside __attribute__((tls_model("initial-exec"))); /* in a guarded call */

/* The guard -------------------------------------------------------------------------------------------------------- */

enum { SPIN_MAX = 1000000 }; /* some milliseconds: enough for a preempted lock holder to run again */

void rip__mutex_lock(pthread_mutex_t *mutex)
{
    for (unsigned i = 0; rip__is_filtered() && i < SPIN_MAX; i++) {
        if (pthread_mutex_trylock(mutex) == 0)
            return;
        rip_signal_fence();
    }
    pthread_mutex_lock(mutex);
}

bool rip__is_inside(void)
{
    return is_inside;
}

bool rip__lock(struct rip_guard *ret_guard)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    bool forked;

    ret_guard->saved_errno = errno;
    if (is_inside)
        return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ret_guard->cancel_state);
    rip_signal_fence(); /* is_inside is set after this: a thread cancelled before must still be able to end its id */
    is_inside = true;
    forked = rip__fork_notice();
    if (forked) { /* no thread holds the mutex: if it is locked, nobody will unlock it */
        rip__writer.mutex = unlocked;
        rip__modules_after_fork(false);
        rip__fork_reset();
    }
    rip__mutex_lock(&rip__writer.mutex);
    if (forked)
        rip__file_drop_descriptor();
    return true;
}

void rip__unlock(const struct rip_guard *guard)
{
    pthread_mutex_unlock(&rip__writer.mutex);
    is_inside = false;
    errno = guard->saved_errno;
    rip_signal_fence(); /* at the very end: cancellation may be asynchronous */
    pthread_setcancelstate(guard->cancel_state, NULL);
}

/* Threads ---------------------------------------------------------------------------------------------------------- */

/* Runs again if a later destructor of the application registers an id again. */
static void end_thread(void *unused)
{
    (void)unused;
    rip_exit();
    rip__thread.tid = 0;
}

/* Does not use pthread_once(): it makes a system call, which would slow down each start of a small program. */
static uint32_t make_key(void)
{
    uint32_t made = 0;
    pthread_key_t key;

    if (pthread_key_create(&key, end_thread) != 0)
        return 0;
    if (rip_compare_exchange(&thread_key, &made, (uint32_t)key + 1))
        return (uint32_t)key + 1;
    pthread_key_delete(key); /* another thread was first */
    return made;
}

/*
 * For a plugin that is linked with its own copy of the library: after unloading no thread may call end_thread(). The
 * ids on threads then stay live, because the ring is still held; see PROCESSES in librip/ABI.md.
 */
__attribute__((destructor)) static void drop_key(void)
{
    uint32_t key = rip_load_relaxed(&thread_key);

    rip_store_relaxed(&thread_key, 0);
    if (key != 0)
        pthread_key_delete((pthread_key_t)(key - 1));
}

/* Returns the tid without a system call: glibc stores it in a locked mutex. */
static uint32_t tid_of_glibc(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    int tid;

    pthread_mutex_lock(&mutex);
    tid = mutex.__data.__owner;
    pthread_mutex_unlock(&mutex);
    return (uint32_t)tid;
}

void rip__enter_thread(void)
{
    int saved_errno = errno;
    uint32_t key;

    rip__thread.tid = rip__is_filtered() ? tid_of_glibc() : (uint32_t)gettid();
    key = rip_load_relaxed(&thread_key);
    if (key == 0)
        key = make_key();
    if (key != 0)
        pthread_setspecific((pthread_key_t)(key - 1), &rip__writer);
    errno = saved_errno;
}

void rip__thread_clear(void)
{
    rip__thread.slot = NULL;
    rip_signal_fence();
    rip__thread.tid = 0;
    rip__tid = 0;
    rip__idx = 0;
    rip__ctr = 0;
}

/* Returns true if the slot is on this thread, and has not moved to another thread or another id. */
static bool is_on_this_thread(const struct rip_slot *slot)
{
    return slot != NULL && rip_load_relaxed(&slot->tid) == rip__thread.tid &&
           rip__table_find(rip_load_relaxed(&slot->id)) == rip__slot_index(slot);
}

/* Takes the old id off the thread; it stays live. Does nothing if its slot is new_slot. */
static void take_off_thread(struct rip_slot *old_slot, uint32_t new_slot)
{
    if (!is_on_this_thread(old_slot) || rip__slot_index(old_slot) == new_slot)
        return;
    rip_store_relaxed(&old_slot->tid, 0);
    rip_store_relaxed(&old_slot->kind, (uint8_t)RIP_KIND_COROUTINE);
}

/* Registering ------------------------------------------------------------------------------------------------------ */

static void refuse(uint32_t id, int result)
{
    struct rip_ring *ring = rip__header();

    rip_add_relaxed(result == -ENOSPC ? &ring->refused_full_count : &ring->refused_memory_count, 1);
    DTRACE_PROBE2(librip, id_refused, id, -result);
}

/* Registers an id that has no slot. */
static int register_new(const struct rip_identity *identity, uint32_t *ret_slot)
{
    int result = rip__slot_register(identity, ret_slot);

    if (result == 0) {
        result = rip__table_insert(identity->id, *ret_slot);
        if (result < 0)
            rip__slot_free(*ret_slot);
    }
    if (result < 0)
        refuse(identity->id, result);
    else
        DTRACE_PROBE4(librip, id_registered, identity->id, *ret_slot, identity->name, identity->name_bytes);
    return result;
}

/* Makes this process a process of the ring. Returns 0 or -errno. */
static int enter_process(void)
{
    int result;

    if (rip_load_acquire(&rip_ring) == NULL || rip__writer.base == NULL) /* pairs with the release in file.c */
        return -ENOENT;
    if (rip__writer.left)
        return -ENOENT;
    result = rip__process_enter();
    if (result < 0)
        rip_add_relaxed(&rip__header()->refused_process_count, 1);
    return result;
}

/* Returns true if a live id starts afresh; see rip_init() in rip/rip.h. */
static bool starts_fresh(const struct rip_identity *identity, const struct rip_slot *slot)
{
    return identity->idx == 0 && identity->ctr == 0 && identity->name != NULL && rip__slot_progress(slot) % 256 != 0;
}

/* Returns the slot of the id, ready for this thread. RIP_NO_SLOT = untraced. old_slot is on the thread until now. */
static uint32_t register_on_thread(struct rip_identity *identity, const struct rip_slot *old_slot)
{
    uint32_t index;
    struct rip_slot *slot;

    if (enter_process() < 0)
        return RIP_NO_SLOT;
    index = rip__table_find(identity->id);
    if (index == RIP_NO_SLOT) {
        identity->kind = is_on_this_thread(old_slot) ? RIP_KIND_COROUTINE : RIP_KIND_THREAD;
        return register_new(identity, &index) == 0 ? index : RIP_NO_SLOT;
    }
    slot = rip__slot_at(index);
    identity->kind = RIP_KIND_COROUTINE;
    if (rip_load_relaxed(&slot->tid) == identity->tid)
        identity->kind = rip_load_relaxed(&slot->kind);
    if (starts_fresh(identity, slot))
        rip__slot_restart(index, identity);
    else
        rip__slot_resume(index, identity);
    return index;
}

void rip_init(uint32_t id, const char *name, size_t namelen, uint8_t idx, uint8_t ctr)
{
    struct rip_identity identity = {.name = name, .name_bytes = namelen, .idx = idx, .ctr = ctr};
    struct rip_slot *old_slot;
    struct rip_guard guard;
    uint32_t index;
    bool was_entered;

    if (!rip__lock(&guard))
        return;
    was_entered = rip__writer.entered;
    if (rip__thread.tid == 0)
        rip__enter_thread();
    identity.tid = rip__thread.tid;
    identity.id = id != 0 ? id : identity.tid;
    old_slot = rip__thread.slot;
    rip__thread.slot = NULL;
    rip_signal_fence();
    index = register_on_thread(&identity, old_slot);
    take_off_thread(old_slot, index);
    rip__tid = (pid_t)identity.id;
    rip__idx = idx;
    rip__ctr = ctr;
    rip_signal_fence();
    rip__thread.slot = index != RIP_NO_SLOT ? rip__slot_at(index) : NULL;
    rip__unlock(&guard);
    if (was_entered) /* a child has its parent's list; a thread that it lacks may hold the loader's lock */
        rip__modules_refresh();
}

static void end_id(struct rip_slot *slot)
{
    DTRACE_PROBE3(librip, id_ended, rip_load_relaxed(&slot->id), rip__slot_index(slot), rip__slot_progress(slot));
    rip__table_remove(rip_load_relaxed(&slot->id));
    rip__slot_free(rip__slot_index(slot));
}

void rip_exit(void)
{
    struct rip_slot *slot;
    struct rip_guard guard;

    if (!rip__lock(&guard))
        return;
    slot = rip__thread.slot; /* after rip__lock(), which may have noticed that this is a forked child */
    rip__thread.slot = NULL;
    rip_signal_fence();
    rip__tid = 0;
    rip__idx = 0;
    rip__ctr = 0;
    if (is_on_this_thread(slot))
        end_id(slot);
    rip__unlock(&guard);
}

void rip__rename(struct rip_slot *slot, uint32_t id, const char *name, size_t name_bytes)
{
    struct rip_guard guard;

    if (!rip__lock(&guard))
        return;
    if (slot != NULL && rip__writer.base != NULL && rip__table_find(id) == rip__slot_index(slot))
        rip__slot_rename(rip__slot_index(slot), name, name_bytes);
    rip__unlock(&guard);
}

/* Contexts --------------------------------------------------------------------------------------------------------- */

bool rip_context_init(struct rip_context *ret_context, uint32_t id, const char *name, size_t namelen)
{
    struct rip_identity identity = {.id = id, .name = name, .name_bytes = namelen, .kind = RIP_KIND_COROUTINE};
    struct rip_guard guard;
    uint32_t index;
    bool was_entered;
    int result;

    *ret_context = (struct rip_context){.id = id, .entry = 1};
    if (!rip__lock(&guard)) {
        errno = EDEADLK;
        return false;
    }
    was_entered = rip__writer.entered;
    result = id != 0 ? enter_process() : -EINVAL;
    if (result == 0)
        result = rip__table_find(id) == RIP_NO_SLOT ? register_new(&identity, &index) : -EEXIST;
    else if (result != -ENOENT && result != -EINVAL)
        result = -ENOSPC;
    if (result == 0)
        ret_context->slot = rip__slot_at(index);
    ret_context->epoch = rip__epoch;
    rip__unlock(&guard);
    if (result < 0) {
        errno = result == -ENOMEM ? ENOSPC : -result;
        return false;
    }
    if (was_entered)
        rip__modules_refresh();
    return true;
}

void rip_context_exit(struct rip_context *context)
{
    struct rip_slot *slot;
    struct rip_guard guard;

    if (context == NULL || !rip__lock(&guard))
        return;
    slot = context->epoch == rip__epoch ? context->slot : NULL;
    if (slot != NULL && rip_load_relaxed(&slot->tid) == 0 && rip__table_find(context->id) == rip__slot_index(slot))
        end_id(slot);
    context->slot = NULL;
    rip__unlock(&guard);
}

void rip__rename_own(const char *name, size_t name_bytes)
{
    struct rip_slot *slot = rip__thread.slot;

    if (slot != NULL)
        rip__rename(slot, rip_load_relaxed(&slot->id), name, name_bytes);
}

bool rip__is_traced(void)
{
    return rip__thread.slot != NULL;
}

/* Thresholds ------------------------------------------------------------------------------------------------------ */

void rip_deadline_ms(uint32_t ms)
{
    struct rip_slot *slot = rip__thread.slot;

    if (slot != NULL)
        rip_store_relaxed(&slot->deadline_ms, ms);
}

/* Waits for locks ------------------------------------------------------------------------------------------------- */

#define SECOND_NS UINT64_C(1000000000)
/* The highest bit: set in the mark that rip_idle() stores, because counts stay far below 2^63. */
#define NOT_A_TIME (UINT64_C(1) << 63)

static bool is_time(uint64_t idle_mark)
{
    return idle_mark != 0 && (idle_mark & NOT_A_TIME) == 0;
}

/*
 * Returns the current time, but later than the previous mark even if the clock stands still for milliseconds. Uses
 * CLOCK_MONOTONIC, not CLOCK_BOOTTIME as the other times of the ring do: a daemon can compare it with its own clock
 * without considering suspends.
 */
static uint64_t time_after(uint64_t last_mark)
{
    uint64_t now_ns = rip__clock_ns(CLOCK_MONOTONIC);

    return is_time(last_mark) && now_ns <= last_mark ? last_mark + 1 : now_ns;
}

static uint8_t age_of(uint64_t begun_ns, uint64_t now_ns)
{
    uint64_t age_s = now_ns > begun_ns ? (now_ns - begun_ns) / SECOND_NS : 0;

    return age_s < UINT8_MAX ? (uint8_t)age_s : UINT8_MAX;
}

/* now_ns was read before this call: see guarantee 6. */
static void store_mark(struct rip_slot *slot, const uint32_t *owner, uint64_t now_ns, uint8_t age_s)
{
    rip_store_relaxed(&slot->wait_owner, owner != NULL ? rip_load_relaxed(owner) : 0);
    rip_store_relaxed(&slot->wait_age_s, age_s);
    rip_store_relaxed(&slot->wait_tag, (uint8_t)rip_load_relaxed(&slot->count));
    rip_store_release(&slot->idle_mark, now_ns); /* pairs with the acquire of idle_mark in reader.c */
}

/* Until store_mark() readers see no wait. */
static void void_mark(struct rip_slot *slot)
{
    rip_store_relaxed(&slot->idle_mark, 0);
    rip_fence_release(); /* pairs with the acquire fence after the copy of a wait in reader.c */
}

void rip__wait_begin_of(struct rip_slot *slot, const void *lock, const uint32_t *owner, uint32_t flags)
{
    uint64_t now_ns;

    if (slot == NULL)
        return;
    now_ns = time_after(rip_load_relaxed(&slot->idle_mark));
    void_mark(slot);
    rip_store_relaxed(&slot->wait_address, (uintptr_t)lock & RIP_ENTRY_ADDRESS_MASK);
    rip_store_relaxed(&slot->wait_flags, (uint8_t)flags);
    store_mark(slot, owner, now_ns, 0);
}

void rip_wait_begin(const void *lock, const uint32_t *owner, uint32_t flags)
{
    rip__wait_begin_of(rip__thread.slot, lock, owner, flags);
}

struct rip_slot *rip__current(void)
{
    return rip__thread.slot;
}

void rip_wait_look(const uint32_t *owner)
{
    struct rip_slot *slot = rip__thread.slot;
    uint64_t last_ns, begun_ns, now_ns;

    if (slot == NULL)
        return;
    last_ns = rip_load_relaxed(&slot->idle_mark);
    now_ns = time_after(last_ns);
    begun_ns = now_ns; /* the best estimate if a signal handler has made the mark void */
    if (is_time(last_ns) && rip_load_relaxed(&slot->wait_tag) == (uint8_t)rip_load_relaxed(&slot->count))
        begun_ns = last_ns - rip_load_relaxed(&slot->wait_age_s) * SECOND_NS;
    void_mark(slot);
    store_mark(slot, owner, now_ns, age_of(begun_ns, now_ns));
}

void rip_wait_end(void)
{
    struct rip_slot *slot = rip__thread.slot;

    if (slot != NULL && is_time(rip_load_relaxed(&slot->idle_mark)))
        rip_store_relaxed(&slot->idle_mark, 0);
}
