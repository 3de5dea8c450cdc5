/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - translates thread ids of processes in other pid namespaces. Finds out which threads exist, and which
 * process has a thread. Touches /proc.
 *
 * A ring contains tids of its writer's namespace. /proc shows the number of a thread in every namespace, but a thread
 * can be looked up only by its number in ours. So the threads of such a process are listed and remembered.
 *
 * Guarantees
 *   1. Each thread is read once. A listing stops at the caller's deadline, or when its user's time is used up, and
 *      continues from there next time.
 *   2. Nothing is remembered about processes in our own namespace, and at most THREADS_MAX threads of any other.
 */
#include "ring/processes.h"

#include <errno.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/proc.h"
#include "ring/host.h"
#include "util/array.h"
#include "util/hash_index.h"

enum {
    THREADS_MAX = 131072,
    LISTED_NS = 500000000, /* a thread that was not found is not searched again for this long */
};

/* The two numbers of a thread. */
struct thread_pair {
    uint32_t ours;
    uint32_t theirs; /* ours is that of the latest thread with this number */
};

struct thread_map {
    struct hash_key hash_key;
    struct thread_pair *pairs;
    size_t count;
    size_t capacity;
    struct hash_index by_ours; /* may have stale entries, which find_ours() skips */
    struct hash_index by_theirs;
    uint64_t listed_mono_ns; /* when the last complete listing ended */
};

static uint64_t hash_of(const struct thread_map *names, uint32_t number)
{
    return hash_bytes(&names->hash_key, &number, sizeof(number));
}

/* Returns NULL if there is none. */
static struct thread_pair *find_ours(const struct thread_map *names, uint32_t ours)
{
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_next(&names->by_ours, hash_of(names, ours), &probe)) != 0)
        if (names->pairs[at - 1].ours == ours)
            return &names->pairs[at - 1];
    return NULL;
}

static struct thread_pair *find_theirs(const struct thread_map *names, uint32_t theirs)
{
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_next(&names->by_theirs, hash_of(names, theirs), &probe)) != 0)
        if (names->pairs[at - 1].theirs == theirs)
            return &names->pairs[at - 1];
    return NULL;
}

static bool add_thread(struct thread_map *names, uint32_t ours, uint32_t theirs)
{
    struct thread_pair *pair = find_theirs(names, theirs);
    uint32_t number = pair != NULL ? (uint32_t)(pair - names->pairs) + 1 : (uint32_t)names->count + 1;

    if (!ARRAY_GROW(names->pairs, names->count, names->capacity) ||
        !hash_index_add(&names->by_ours, hash_of(names, ours), number) ||
        (pair == NULL && !hash_index_add(&names->by_theirs, hash_of(names, theirs), number)))
        return false;
    names->pairs[number - 1] = (struct thread_pair){ours, theirs};
    names->count += pair == NULL;
    return true;
}

/* Threads ---------------------------------------------------------------------------------------------------------- */

void threads_free(struct thread_map *names)
{
    if (names == NULL)
        return;
    free(names->pairs);
    free(names->by_ours.places);
    free(names->by_theirs.places);
    free(names);
}

/* Returns true if the last complete listing is recent enough. */
static bool is_listed(const struct ring_process *process, uint64_t now_mono_ns)
{
    return process->threads != NULL && process->threads->listed_mono_ns != 0 &&
           now_mono_ns - process->threads->listed_mono_ns < LISTED_NS;
}

void registry_forget_thread(struct ring *ring, uint32_t process, uint32_t our_tid)
{
    struct thread_map *names = ring->processes[process].threads;
    struct thread_pair *pair = names != NULL ? find_ours(names, our_tid) : NULL;

    if (pair != NULL)
        pair->ours = 0;
}

struct listing {
    int proc;
    uint32_t pid;
    uint64_t deadline_mono_ns;
    struct thread_map *names;
};

static int learn_thread(void *context, uint32_t tid)
{
    struct listing *listing = context;
    struct proc_status status;

    if (find_ours(listing->names, tid) != NULL)
        return 0;
    if (clock_mono_ns() >= listing->deadline_mono_ns)
        return -EAGAIN;
    if (proc_thread_status(listing->proc, listing->pid, tid, &status) != 0 || status.pid_in_namespace == 0)
        return 0; /* it has just ended */
    return add_thread(listing->names, tid, status.pid_in_namespace) ? 0 : -ENOMEM;
}

/* Makes room for new entries. */
static int prepare_names(const struct ring_host *host, struct ring_process *process)
{
    if (process->threads != NULL && process->threads->by_ours.count >= THREADS_MAX) {
        threads_free(process->threads); /* most of the threads must be gone */
        process->threads = NULL;
    }
    if (process->threads != NULL)
        return 0;
    process->threads = calloc(1, sizeof(*process->threads));
    if (process->threads == NULL)
        return -ENOMEM;
    process->threads->hash_key = host->hash_key;
    return 0;
}

/* Lists the threads of a process in the time that is left. Returns 0 or -EAGAIN. */
static int list_threads(struct ring_host *host, const struct ring *ring, struct ring_process *process,
                        uint64_t deadline_mono_ns)
{
    uint64_t now_mono_ns = clock_mono_ns(), granted_ns;
    struct listing listing = {.proc = host->proc, .pid = process->pid};
    int result;

    if (is_listed(process, now_mono_ns))
        return 0;
    if (now_mono_ns >= deadline_mono_ns || prepare_names(host, process) != 0)
        return -EAGAIN;
    granted_ns = host_grant(host, ring->user, WORK_PROCESS_TIME, deadline_mono_ns - now_mono_ns);
    if (granted_ns == 0)
        return -EAGAIN;
    listing.deadline_mono_ns = now_mono_ns + granted_ns;
    listing.names = process->threads;
    result = proc_visit_threads(host->proc, process->pid, learn_thread, &listing);
    if (result == 0 || result == -EOVERFLOW)
        process->threads->listed_mono_ns = clock_mono_ns();
    host_use(host, ring->user, WORK_PROCESS_TIME, clock_mono_ns() - now_mono_ns);
    return result == -EAGAIN || result == -ENOMEM ? -EAGAIN : 0;
}

/* Returns 0 if the thread is not known. */
static uint32_t our_tid_of(const struct thread_map *names, uint32_t tid)
{
    const struct thread_pair *pair = names != NULL ? find_theirs(names, tid) : NULL;

    return pair != NULL ? pair->ours : 0;
}

int registry_find_thread(struct registry *registry, struct ring *ring, uint32_t process, uint32_t tid,
                         uint64_t deadline_mono_ns, uint32_t *ret_tid)
{
    struct ring_process *known = process < ring->process_count ? &ring->processes[process] : NULL;
    uint32_t found;
    int result = 0;

    if (known == NULL || tid == 0)
        return -ESRCH;
    if (known->own_pid_namespace) {
        *ret_tid = tid;
        return 0;
    }
    if (!process_lives(known))
        return -ESRCH;
    found = our_tid_of(known->threads, tid);
    if (found == 0)
        result = list_threads(registry_host(registry), ring, known, deadline_mono_ns);
    if (found == 0)
        found = our_tid_of(known->threads, tid);
    if (found == 0)
        return result != 0 ? result : -ESRCH;
    *ret_tid = found;
    return 0;
}

/* Returns 0, -ESRCH if there is no such thread or it has ended, or another -errno. */
static int ask_thread(const struct registry *registry, const struct ring *ring, uint32_t process, uint32_t our_tid)
{
    struct proc_stat stat;
    int result = proc_thread_stat(registry_proc(registry), ring->processes[process].pid, our_tid, &stat);

    return result == 0 && (stat.state == 'Z' || stat.state == 'X') ? -ESRCH : result;
}

bool registry_has_thread(const struct registry *registry, const struct ring *ring, uint32_t process, uint32_t our_tid)
{
    return process < ring->process_count && ask_thread(registry, ring, process, our_tid) == 0;
}

bool registry_is_gone(const struct registry *registry, const struct ring *ring, uint32_t process, uint32_t our_tid)
{
    const struct ring_process *known = process < ring->process_count ? &ring->processes[process] : NULL;

    if (known == NULL || !process_lives(known))
        return false;
    return known->own_pid_namespace && ask_thread(registry, ring, process, our_tid) == -ESRCH &&
           registry_process_holds(registry, ring, process);
}

/* Holders ---------------------------------------------------------------------------------------------------------- */

/*
 * Returns true if a tid means the same to both processes: both are in our own pid namespace, or both are in the same
 * other one and in the same ring. A process that lies about its namespace misleads only about its own ring.
 */
static bool shares_tids(const struct ring *ring, uint32_t process, const struct ring *other, uint32_t other_process)
{
    const struct ring_process *one = process < ring->process_count ? &ring->processes[process] : NULL;
    const struct ring_process *two = other_process < other->process_count ? &other->processes[other_process] : NULL;

    if (one == NULL || two == NULL || one->verdict != PROCESS_ATTESTED || two->verdict != PROCESS_ATTESTED)
        return false;
    if (one->own_pid_namespace || two->own_pid_namespace)
        return one->own_pid_namespace && two->own_pid_namespace;
    return ring == other && one->claim.pid_namespace != 0 && one->claim.pid_namespace == two->claim.pid_namespace;
}

/* Processes of any user can be attested in rings of root's, so comparing the owners of the rings is not enough. */
static bool is_of_the_same_user(const struct registry *registry, const struct ring *ring, uint32_t process,
                                const struct ring *other, uint32_t other_process)
{
    struct proc_status one, two;

    if (mapping_owner(&ring->mapping) != mapping_owner(&other->mapping))
        return false;
    return mapping_owner(&ring->mapping) != 0 ||
           (proc_status(registry_proc(registry), ring->processes[process].pid, &one) == 0 &&
            proc_status(registry_proc(registry), other->processes[other_process].pid, &two) == 0 &&
            one.uid_real == two.uid_real && one.uid_effective == two.uid_effective && one.uid_saved == two.uid_saved);
}

static bool has_holder(struct registry *registry, struct ring *ring, uint32_t process, uint32_t tid,
                       uint64_t deadline_mono_ns)
{
    uint32_t our_tid;

    return registry_find_thread(registry, ring, process, tid, deadline_mono_ns, &our_tid) == 0 &&
           registry_has_thread(registry, ring, process, our_tid) && registry_process_holds(registry, ring, process);
}

/* Returns the index of the process that has the thread, or process_count if there is none or the time is over. */
static uint32_t find_process_with_thread(struct registry *registry, const struct ring *ring, uint32_t process,
                                         struct ring *other, uint32_t tid, uint64_t deadline_mono_ns)
{
    uint32_t at = 0;

    while (at < other->process_count && clock_mono_ns() < deadline_mono_ns) {
        if (shares_tids(ring, process, other, at) && has_holder(registry, other, at, tid, deadline_mono_ns) &&
            is_of_the_same_user(registry, ring, process, other, at))
            return at;
        at++;
    }
    return (uint32_t)other->process_count;
}

int registry_find_holder(struct registry *registry, struct ring *ring, uint32_t process, uint32_t tid,
                         uint64_t deadline_mono_ns, uint32_t *ret_ring, uint32_t *ret_process)
{
    struct ring **rings;
    size_t count;

    if (!shares_tids(ring, process, ring, process))
        return -ESRCH;
    if (has_holder(registry, ring, process, tid, deadline_mono_ns)) {
        *ret_ring = ring->serial;
        *ret_process = process;
        return 0;
    }
    rings = registry_rings(registry, &count);
    for (size_t i = 0; i < count && clock_mono_ns() < deadline_mono_ns; i++) {
        struct ring *other = rings[i];
        const uint32_t found = find_process_with_thread(registry, ring, process, other, tid, deadline_mono_ns);

        if (found == other->process_count)
            continue;
        *ret_ring = other->serial;
        *ret_process = found;
        return 0;
    }
    return clock_mono_ns() < deadline_mono_ns ? -ESRCH : -EAGAIN;
}
