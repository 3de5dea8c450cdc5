/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.c - examines the processes of suspects, then their threads. Each is a job in the queue: it is read, compared
 * with what the case knows, and decoded into facts and evidence. Touches /proc, the cgroup tree, pidfds and the
 * registry.
 *
 * Guarantees
 *   1. A process is examined once per scan. A pidfd holds it meanwhile (at most PIDFDS_MAX pidfds), so that reuse of
 *      its pid is noticed.
 *   2. What a thread waits for is not read again for case_refresh_ns() if the thread has not run since: it still waits
 *      for the same, although the lock may have another holder. For a doubted thread it is read each time.
 *   3. Two looks are needed to see whether CPU time advances. A new thread that is ready to run is queued again,
 *      LOOK_AGAIN_NS later. If the budget ends before that, it is examined on the next scan.
 *   4. If there is a worker (probe/remote.h), it reads what a thread waits for. Its answer is used when it arrives, on
 *      this scan or a later one, if it is still about the same standstill. Until then a new suspect is not examined.
 *   5. Only thread ids from the ring itself are looked up, below the known pid of its process.
 */
#include "probe/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "probe/kernel.h"
#include "probe/kernel_decode.h"
#include "probe/remote.h"
#include "probe/sockets.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/hash_index.h"
#include "work/jobs.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_AGAIN_NS UINT64_C(25000000) /* more than two ticks of the slowest clock (100 Hz) */
/* Upper limits, as divisors of the scan's budget. */
#define SOCKETS_BUDGET_PART 3u /* for the socket tables of one network namespace */
#define SEARCH_BUDGET_PART 4u  /* for the other ends of pipes and unix sockets */
#define KNOWN_BUDGET_PART 4u   /* for threads examined before, so that old stalls leave time for new ones */
#define NO_INDEX UINT32_MAX

enum { PIDFDS_MAX = 256 };

enum job_kind { JOB_PROCESS, JOB_THREAD };

enum job_class {
    CLASS_NEW,     /* threads without a verdict, and their processes */
    CLASS_DOUBTED, /* threads that may be in a deadlock, and their processes */
    CLASS_PROCESS, /* processes that have neither */
    CLASS_KNOWN,
    CLASS_STOPPED, /* the verdict is known; what the thread waited for is not */
};

/* The order of all threads is below this, so that the threads of a process come before the next process. */
#define PROCESS_ORDER (UINT64_C(1) << 62)

/* What is known about a process without its threads. */
enum process_kind {
    KIND_ALIVE,   /* may be examined */
    KIND_GONE,    /* missing or dead */
    KIND_UNKNOWN, /* no verdict: must not be examined */
};

/* A process of suspects, during one scan. */
struct process {
    uint64_t key; /* ring serial and record */
    struct ring *ring;
    uint32_t record;
    uint32_t user;
    uint32_t first_index; /* first of its cases, chained by next_index */
    enum process_kind kind;
    uint16_t class; /* enum job_class of its first thread */
    bool examined;
    bool lost;     /* no longer the process of the record: everything read from it is dropped */
    bool attested; /* more may be read than what any user may read */
    bool core_dumping;
    bool frozen;
    char leader_state;
    int pidfd; /* -1 = none */
};

struct probe {
    int proc;
    char *cgroup_path;
    uint64_t budget_ns;
    uint64_t tick_ns;
    struct remote *remote; /* NULL = none */
    bool anyones;
    int diag;
    struct hash_key hash_key;
    struct sockets *sockets;
    struct kernel_facts *stopped_facts;
    uint64_t ends_cut_count;
    uint64_t left_count;

    /* The current scan. */
    struct registry *registry;
    struct cases *cases;
    struct stall_case *const *stalls;
    size_t stall_count;
    struct work *work;
    uint64_t deadline_mono_ns;
    uint64_t searched_ns; /* time spent on searches for other ends */
    struct process *processes;
    size_t process_count;
    size_t process_capacity;
    struct hash_index index; /* of processes by key */
    size_t pidfd_count;
};

/* Life ------------------------------------------------------------------------------------------------------------- */

int probe_new(struct probe **ret_probe, const struct probe_options *options)
{
    struct probe *probe = calloc(1, sizeof(*probe));
    int result;

    if (probe == NULL)
        return -ENOMEM;
    probe->budget_ns = options->budget_ns;
    probe->remote = options->remote;
    probe->anyones = options->anyones;
    probe->diag = options->diag;
    probe->hash_key = options->hash_key;
    probe->tick_ns = SECOND_NS / clock_ticks_per_second();
    probe->cgroup_path = strdup(options->cgroup_path);
    probe->proc = open(options->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    result = probe->proc < 0 ? -errno : 0;
    probe->sockets = sockets_new();
    probe->stopped_facts = kernel_facts_new("");
    if (probe->cgroup_path == NULL || probe->sockets == NULL || probe->stopped_facts == NULL)
        result = -ENOMEM;
    else
        probe->stopped_facts->state = 'T';
    if (result != 0) {
        probe_free(probe);
        return result;
    }
    *ret_probe = probe;
    return 0;
}

void probe_set_budget(struct probe *probe, uint64_t budget_ns)
{
    probe->budget_ns = budget_ns;
}

void probe_free(struct probe *probe)
{
    if (probe == NULL)
        return;
    probe_end(probe);
    sockets_free(probe->sockets);
    kernel_facts_unref(probe->stopped_facts);
    if (probe->proc >= 0)
        close(probe->proc);
    free(probe->cgroup_path);
    free(probe->processes);
    free(probe);
}

void probe_end(struct probe *probe)
{
    for (size_t i = 0; i < probe->process_count; i++)
        if (probe->processes[i].pidfd >= 0)
            close(probe->processes[i].pidfd);
    probe->pidfd_count = 0;
    probe->process_count = 0;
    probe->searched_ns = 0;
    if (probe->sockets != NULL)
        sockets_end_pass(probe->sockets);
    free(probe->index.places);
    probe->index = (struct hash_index){0};
    ARRAY_TRIM(probe->processes, probe->process_capacity, 0);
}

struct kernel_facts *probe_stopped_facts(const struct probe *probe)
{
    return probe->stopped_facts;
}

void probe_count(const struct probe *probe, struct probe_counters *ret_counters)
{
    *ret_counters =
        (struct probe_counters){probe->left_count, sockets_cut_count(probe->sockets), probe->ends_cut_count};
}

/* Processes -------------------------------------------------------------------------------------------------------- */

static enum process_kind kind_of(const struct ring *ring, uint32_t record)
{
    static const enum process_kind kinds[] = {
        [PROCESS_UNKNOWN] = KIND_UNKNOWN, [PROCESS_ATTESTED] = KIND_ALIVE, [PROCESS_ALIVE] = KIND_ALIVE,
        [PROCESS_MISSING] = KIND_GONE,    [PROCESS_DEAD] = KIND_GONE,
    };

    return record < ring->process_count ? kinds[ring->processes[record].verdict] : KIND_UNKNOWN;
}

/* Returns the index of a case's process, which is added if it is new. Returns NO_INDEX if out of memory. */
static uint32_t find_process(struct probe *probe, struct ring *ring, const struct stall_case *stall)
{
    const uint64_t key = (uint64_t)ring->serial << 32 | stall->suspect.process;
    const uint64_t hash = hash_bytes(&probe->hash_key, &key, sizeof(key));
    size_t step = 0;
    uint32_t number;

    while ((number = hash_index_next(&probe->index, hash, &step)) != 0 && probe->processes[number - 1].key != key)
        continue;
    if (number != 0)
        return number - 1;
    if (!ARRAY_GROW(probe->processes, probe->process_count, probe->process_capacity))
        return NO_INDEX;
    probe->processes[probe->process_count] = (struct process){.key = key,
                                                              .ring = ring,
                                                              .record = stall->suspect.process,
                                                              .user = stall->user,
                                                              .first_index = NO_INDEX,
                                                              .kind = kind_of(ring, stall->suspect.process),
                                                              .class = CLASS_PROCESS,
                                                              .pidfd = -1};
    if (!hash_index_add(&probe->index, hash, (uint32_t)probe->process_count + 1))
        return NO_INDEX;
    return (uint32_t)probe->process_count++;
}

static struct ring_process *record_of(const struct process *process)
{
    return &process->ring->processes[process->record];
}

/* Whether something stops the process as a whole. Then its suspects have a verdict without being examined. */
static bool is_stopped(const struct process *process)
{
    return process->core_dumping || process->frozen || process->leader_state == 'T';
}

static void read_process(struct probe *probe, struct process *process)
{
    struct ring_process *record = record_of(process);
    struct proc_status status;
    struct proc_stat stat;

    record->examined_mono_ns = clock_mono_ns();
    if (probe->pidfd_count < PIDFDS_MAX && (process->pidfd = pidfd_of(record->pid)) >= 0)
        probe->pidfd_count++;
    if (!process_stat(probe->proc, record, &stat) || proc_status(probe->proc, record->pid, &status) != 0) {
        process->lost = true; /* exiting: the next scan decides */
        return;
    }
    process->attested = record->verdict == PROCESS_ATTESTED && !probe->anyones;
    process->leader_state = stat.state;
    process->core_dumping = status.core_dumping;
    if (proc_cgroup_frozen(probe->proc, probe->cgroup_path, record->pid, &process->frozen) != 0)
        process->frozen = false;
    process->examined = true;
}

static bool is_same_process(const struct probe *probe, const struct process *process)
{
    if (process->pidfd >= 0 && pidfd_ended(process->pidfd))
        return false;
    return registry_process_holds(probe->registry, process->ring, process->record);
}

/* Returns the process of a case on this scan, or NULL if it has none. */
static struct process *process_of(struct probe *probe, const struct stall_case *stall)
{
    return stall->process_index != NO_INDEX ? &probe->processes[stall->process_index] : NULL;
}

/* Queue ------------------------------------------------------------------------------------------------------------ */

/* Whether nothing is known about what the thread waits for, or the knowledge is old. */
static bool is_refresh_due(const struct stall_case *stall)
{
    return clock_mono_ns() - stall->decoded_mono_ns >= case_refresh_ns(stall);
}

static uint16_t class_of(const struct stall_case *stall)
{
    const struct detector_suspect *suspect = &stall->suspect;

    if (suspect->state == ID_RUNNING || (suspect->state == ID_STALLED && suspect->cause == CAUSE_NONE))
        return CLASS_NEW;
    return stall->doubted ? CLASS_DOUBTED : CLASS_KNOWN;
}

static void queue_thread(struct probe *probe, const struct stall_case *stall, uint32_t index, bool stopped)
{
    struct work_job job = {
        .kind = JOB_THREAD, .class = class_of(stall), .subject = index, .order = stall->examined_mono_ns};

    if (stopped)
        job.class = CLASS_STOPPED;
    if (job.class == CLASS_NEW && stall->examined_mono_ns == 0)
        job.order = stall->suspect.frozen_since_ns;
    (void)work_push(probe->work, stall->user, job); /* if out of memory, it is not examined on this scan */
}

/* Fills in the evidence that needs no look at the thread. Returns true if no look is needed or possible. */
static bool settle_without_look(const struct process *process, struct stall_case *stall)
{
    struct evidence *evidence = &stall->evidence;
    const bool on_no_thread = stall->suspect.tid == 0;

    if (process->kind == KIND_ALIVE && !process->examined)
        return true;
    *evidence = (struct evidence){.examined = true, .on_no_thread = on_no_thread, .call = stall->suspect.call};
    if (process->kind != KIND_ALIVE) {
        evidence->thread_gone = process->kind == KIND_GONE;
        return true;
    }
    evidence->core_dumping = process->core_dumping;
    evidence->frozen = process->frozen;
    evidence->process_state = process->leader_state;
    if (!on_no_thread && process->leader_state == 'T')
        evidence->thread_state = 'T'; /* a stop signal stops all threads of the process */
    if (on_no_thread || is_stopped(process))
        return true;
    *evidence = (struct evidence){0}; /* until its thread has been examined */
    return false;
}

/* Goes through all cases of an examined process: each gets its verdict, or its thread is queued. */
static void settle_process(struct probe *probe, const struct process *process)
{
    for (uint32_t i = process->first_index; i != NO_INDEX; i = probe->stalls[i]->next_index) {
        struct stall_case *stall = probe->stalls[i];
        const bool was_stopped = stall->suspect.state == ID_STOPPED && stall->suspect.cause != CAUSE_TRACER;

        if (process->examined && was_stopped != is_stopped(process))
            case_forget_evidence(stall); /* read before the stop, or during it */
        if (!settle_without_look(process, stall))
            queue_thread(probe, stall, i, false);
        else if (process->examined && stall->suspect.tid != 0 && is_refresh_due(stall))
            queue_thread(probe, stall, i, true);
    }
}

/* Runs once per scan: on the process's turn, or when the first answer about one of its threads arrives. */
static void examine_process(struct probe *probe, struct process *process)
{
    if (process->kind != KIND_ALIVE || process->examined || process->lost)
        return;
    read_process(probe, process);
    settle_process(probe, process);
}

/* Queues the processes of the suspects, the longest unexamined first. */
static void queue_processes(struct probe *probe)
{
    struct ring *ring = NULL;

    for (uint32_t i = 0; i < probe->stall_count; i++) {
        struct stall_case *stall = probe->stalls[i];
        struct process *process;

        stall->process_index = NO_INDEX;
        if (!case_is_examined(stall))
            continue;
        if (ring == NULL || ring->serial != stall->ring)
            ring = registry_find(probe->registry, stall->ring);
        if (ring == NULL || (stall->process_index = find_process(probe, ring, stall)) == NO_INDEX)
            continue;
        process = &probe->processes[stall->process_index];
        stall->next_index = process->first_index;
        process->first_index = i;
        if (class_of(stall) < process->class)
            process->class = class_of(stall);
    }
    for (uint32_t i = 0; i < probe->process_count; i++) {
        const struct process *process = &probe->processes[i];

        if (process->kind == KIND_ALIVE)
            (void)work_push(probe->work, process->user,
                            (struct work_job){.kind = JOB_PROCESS,
                                              .class = process->class,
                                              .subject = i,
                                              .order = PROCESS_ORDER + record_of(process)->examined_mono_ns});
        else
            settle_process(probe, process);
    }
}

/* Readings --------------------------------------------------------------------------------------------------------- */

/* Whether the thread was started after the id was registered: then it is not the thread of the id. */
static bool is_replaced(const struct probe *probe, const struct process *process, const struct stall_case *stall,
                        const struct kernel_times *times)
{
    struct rip_id_info info;
    int result = mapping_id(&process->ring->mapping, stall->slot, &info);

    if (result < 0)
        registry_damage(probe->registry, process->ring);
    if (result != 0 || info.generation != stall->generation || info.kind != RIP_KIND_THREAD)
        return false; /* a coroutine may run on a younger thread */
    return info.registered_boot_ns != 0 && times->start_time_ticks > info.registered_boot_ns / probe->tick_ns + 1;
}

/* What a look has read. */
enum depth {
    DEPTH_TIMES,  /* the times: nothing else can be new, or may be read */
    DEPTH_WHOLE,  /* also what the thread waits for */
    DEPTH_WORKER, /* the times; the worker must read what the thread waits for */
};

/* Reads what may have changed. Returns 0, -ESRCH if the thread is gone, or another -errno if not possible now. */
static int read_new(const struct probe *probe, const struct process *process, uint32_t tid,
                    const struct stall_case *stall, struct kernel_reading *ret_reading, enum depth *ret_depth)
{
    const uint32_t pid = record_of(process)->pid;
    int result = -EAGAIN;

    *ret_depth = DEPTH_TIMES;
    if (!process->attested)
        return kernel_read(probe->proc, pid, tid, KERNEL_TIMES, ret_reading);
    if (stall->kernel != NULL && !stall->doubted && !is_refresh_due(stall)) {
        result = kernel_read(probe->proc, pid, tid, KERNEL_TIMES, ret_reading);
        if (result != 0 || kernel_has_not_run(&stall->last, &ret_reading->times))
            return result;
    }
    if (probe->remote == NULL) {
        *ret_depth = DEPTH_WHOLE;
        return kernel_read(probe->proc, pid, tid, KERNEL_WHOLE, ret_reading);
    }
    if (result == -EAGAIN)
        result = kernel_read(probe->proc, pid, tid, KERNEL_TIMES, ret_reading);
    if (result == 0 && ret_reading->times.state != 'R') /* a thread in R waits for nothing */
        *ret_depth = DEPTH_WORKER;
    return result;
}

static int read_thread(const struct probe *probe, const struct process *process, const struct stall_case *stall,
                       struct kernel_reading *ret_reading, enum depth *ret_depth)
{
    uint32_t tid;
    int result = -ESRCH;

    for (int attempt = 0; attempt < 2 && result == -ESRCH; attempt++) {
        result = registry_find_thread(probe->registry, process->ring, process->record, stall->suspect.tid,
                                      probe->deadline_mono_ns, &tid);
        if (result != 0)
            return result;
        result = read_new(probe, process, tid, stall, ret_reading, ret_depth);
        if (record_of(process)->own_pid_namespace)
            break;
        if (result == -ESRCH)
            registry_forget_thread(process->ring, process->record, tid);
    }
    return result;
}

/* Finds the holder of the other end of what the thread waits for. If there is a worker, it has already done so. */
static void read_other_end(struct probe *probe, const struct process *process, struct kernel_reading *reading)
{
    uint64_t began_mono_ns = clock_mono_ns(), left_ns = probe->budget_ns / SEARCH_BUDGET_PART;

    if (probe->remote != NULL)
        return;
    left_ns = left_ns > probe->searched_ns ? left_ns - probe->searched_ns : 0;
    kernel_read_unix(probe->diag, began_mono_ns + left_ns, reading);
    kernel_read_holders(probe->proc, mapping_owner(&process->ring->mapping), began_mono_ns + left_ns, &reading, 1);
    probe->searched_ns += clock_mono_ns() - began_mono_ns;
}

/* Marks what the thread waits for as denied. */
static void mark_denied(struct kernel_reading *reading)
{
    reading->denied = KERNEL_DENIED(SYSCALL) | KERNEL_DENIED(WCHAN) | KERNEL_DENIED(DESCRIPTORS);
}

/* *ret_whole is false if there was no time for the socket; the next scan may have time. */
static struct kernel_facts *decode(struct probe *probe, const struct process *process, struct kernel_reading *reading,
                                   bool *ret_whole)
{
    const struct proc_socket *socket = NULL;
    uint64_t socket_inode;

    if (!process->attested)
        mark_denied(reading);
    read_other_end(probe, process, reading);
    socket_inode = kernel_decode_socket(reading);
    *ret_whole =
        socket_inode == 0 || sockets_find(probe->sockets, probe->proc, reading->pid, socket_inode,
                                          clock_mono_ns() + probe->budget_ns / SOCKETS_BUDGET_PART, &socket) != -EAGAIN;
    return kernel_decode(reading, socket);
}

/*
 * If a search ran out of time and found no holder, the holder found before is still the best answer while the thread
 * has not run.
 */
static void keep_holder(const struct stall_case *stall, const struct kernel_reading *reading,
                        struct kernel_facts *facts)
{
    if (facts->holder_pid != 0 || (reading->has & KERNEL_HAS_NO_TIME) == 0 || stall->kernel->holder_pid == 0 ||
        !kernel_has_not_run(&stall->last, &reading->times) || strcmp(facts->target, stall->kernel->target) != 0)
        return;
    facts->holder_pid = stall->kernel->holder_pid;
    memcpy(facts->holder_comm, stall->kernel->holder_comm, sizeof(facts->holder_comm));
}

/* Counts each standstill once, however many searches it takes. */
static void count_cut_search(struct probe *probe, struct stall_case *stall, const struct kernel_reading *reading)
{
    const bool is_cut = (reading->has & KERNEL_HAS_NO_TIME) != 0;

    probe->ends_cut_count += is_cut && !stall->end_cut;
    stall->end_cut |= is_cut;
}

/* Stores a reading in the case as facts. */
static void store_facts(struct probe *probe, const struct process *process, struct stall_case *stall,
                        struct kernel_reading *reading, bool whole)
{
    struct kernel_facts *facts;
    bool is_whole;

    if (whole || stall->kernel == NULL || !process->attested) {
        facts = decode(probe, process, reading, &is_whole);
        count_cut_search(probe, stall, reading);
        if (stall->wait != WAIT_CHILD || (reading->has & KERNEL_HAS_NO_TIME) == 0 ||
            !kernel_has_not_run(&stall->last, &reading->times)) /* otherwise the result of the last search holds */
            stall->wait = kernel_decode_wait(reading);
        stall->decoded_mono_ns = is_whole ? reading->times.read_mono_ns : 0;
        if (facts != NULL && stall->kernel != NULL)
            keep_holder(stall, reading, facts);
    } else {
        facts = kernel_facts_copy(stall->kernel);
        if (facts != NULL)
            facts->state = reading->times.state;
    }
    if (facts == NULL)
        return;
    kernel_decode_window(facts, &stall->first, &reading->times);
    kernel_facts_unref(stall->kernel);
    stall->kernel = facts;
}

/*
 * Stores the holder of the lock that the thread waits for. Must be called before stall->last is set from the reading,
 * which may be older than stall->last, as answers arrive late. whole: the reading includes what the thread waits for.
 */
static void store_lock(struct stall_case *stall, const struct kernel_reading *reading, bool whole)
{
    const bool same = kernel_has_not_run(&stall->last, &reading->times);
    const bool outdated = !same && reading->times.read_mono_ns < stall->last.read_mono_ns;

    if (whole && (reading->has & KERNEL_HAS_LOCK) != 0 && !outdated)
        lock_wait_seen(&stall->lock, &reading->lock_holder, &reading->lock_look, same);
    else if (whole || !same)
        stall->lock = (struct lock_wait){.until_mono_ns = 0};
    else
        stall->lock.until_mono_ns = reading->times.read_mono_ns;
    stall->doubted &= !whole;
}

/* Updates since when the thread has not gone to sleep, and how much CPU time it has used since. */
static void update_steady(struct stall_case *stall, const struct kernel_times *times, struct evidence *evidence)
{
    const struct kernel_times *since = &stall->steady;
    const uint64_t threshold_ns =
        stall->suspect.threshold_ns != DETECTOR_UNKNOWN_NS ? stall->suspect.threshold_ns : stall->suspect.frozen_for_ns;

    if (since->read_mono_ns == 0 || !kernel_decode_steady(since, times))
        stall->steady = *times;
    evidence->steady = times->read_mono_ns >= since->read_mono_ns + threshold_ns / 2 + KERNEL_LOOKS_NS;
    if (evidence->steady)
        evidence->steady_cpu = kernel_decode_cpu(since, times);
}

/* Fills in the evidence of a thread that exists. Returns false if another look is needed. */
static bool evaluate(struct probe *probe, const struct process *process, struct stall_case *stall,
                     struct kernel_reading *reading, bool whole, struct evidence *evidence)
{
    const struct kernel_times *times = &reading->times;

    evidence->thread_state = times->state;
    if (stall->first.read_mono_ns == 0)
        stall->first = stall->last = *times;
    evidence->cpu = kernel_decode_cpu_in(stall->suspect.call, &stall->first, &stall->last, times);
    update_steady(stall, times, evidence);
    store_facts(probe, process, stall, reading, whole);
    if (!is_stopped(process)) /* a stopped thread blocks others, but no lock holder blocks it */
        store_lock(stall, reading, whole);
    evidence->wait = stall->wait;
    if (times->state == 'R' && stall->suspect.call != RIP_CALL_OUTSIDE &&
        times->read_mono_ns < stall->last.read_mono_ns + KERNEL_LOOKS_NS)
        return is_stopped(process);
    if (times->read_mono_ns >= stall->last.read_mono_ns + KERNEL_LOOKS_NS)
        stall->last = *times;
    return true;
}

/* One thread ------------------------------------------------------------------------------------------------------- */

/* Whether a signal has stopped the process but not yet this thread: its present state does not show the stop. */
static bool is_about_to_stop(const struct process *process, const struct kernel_times *times)
{
    return process->leader_state == 'T' && !process->frozen && !process->core_dumping && times->state != 'T' &&
           times->state != 't';
}

/* Checks by its times whether the thread is still that of the id. Returns false if the rest of the reading is void. */
static bool is_same_thread(const struct probe *probe, const struct process *process, const struct stall_case *stall,
                           const struct kernel_times *times, struct evidence *evidence)
{
    evidence->thread_gone = (times->flags & PROC_FLAG_EXITING) != 0 || times->state == 'Z' || times->state == 'X';
    evidence->thread_replaced = is_replaced(probe, process, stall, times);
    return !evidence->thread_gone && !evidence->thread_replaced && !is_about_to_stop(process, times);
}

/* Returns the address at which the id stands if no module is known there, else 0. */
static uint64_t unknown_address(const struct probe *probe, const struct process *process,
                                const struct stall_case *stall)
{
    struct rip_last_info last;

    if (mapping_last(&process->ring->mapping, stall->slot, &last) != 0 || last.generation != stall->generation ||
        last.entry.snap == 0 ||
        !registry_lacks_module(probe->registry, process->ring, process->record, last.entry.address))
        return 0;
    return last.entry.address;
}

/* Asks the worker what the thread waits for, unless such a query is pending. */
static enum remote_asked ask_worker(struct probe *probe, const struct process *process, const struct stall_case *stall,
                                    uint32_t tid)
{
    struct remote_query query = {
        .ring = stall->ring,
        .process = process->record,
        .uid = process->ring->user,
        .slot = stall->slot,
        .generation = stall->generation,
        .ring_tid = stall->suspect.tid,
        .tid = tid,
        .progress = stall->suspect.progress,
        .stopped = is_stopped(process),
    };

    if (remote_is_asked(probe->remote, query.ring, query.slot))
        return REMOTE_ASKED;
    query.address = unknown_address(probe, process, stall);
    return remote_ask(probe->remote, process->ring->mapping.descriptor, &query);
}

/* Asks the worker for the rest of a reading. Returns false if nothing is known until its answer arrives. */
static bool query_rest(struct probe *probe, const struct process *process, struct stall_case *stall,
                       struct kernel_reading *reading)
{
    if (ask_worker(probe, process, stall, reading->tid) == REMOTE_REFUSED) {
        mark_denied(reading);
        return true;
    }
    if (stall->first.read_mono_ns == 0)
        stall->first = stall->last = reading->times;
    return stall->kernel != NULL;
}

/* Stores the evidence of a look. If the whole process is stopped, its state is the evidence already. */
static void store_evidence(const struct process *process, struct stall_case *stall, const struct evidence *evidence)
{
    if (!is_stopped(process))
        stall->evidence = *evidence;
}

/*
 * Whether the process is in an exec. An exec ends the other threads of its process before the process releases the
 * ring. These threads did not exit by themselves, and a capture of the process shows what they waited for.
 */
static bool is_executing(const struct process *process)
{
    struct rip_process_info claim;

    return mapping_process(&process->ring->mapping, process->record, &claim) == 0 &&
           claim.state == RIP_PROCESS_EXECING && claim.generation == record_of(process)->claim.generation;
}

/* Examines a thread once. Returns false if it was ready to run and needs another look. */
static bool examine_thread(struct probe *probe, struct stall_case *stall)
{
    const struct process *process = process_of(probe, stall);
    struct evidence evidence = {.examined = true, .process_state = process->leader_state, .call = stall->suspect.call};
    struct kernel_reading reading;
    enum depth depth = DEPTH_TIMES;
    int result = read_thread(probe, process, stall, &reading, &depth);

    stall->examined_mono_ns = clock_mono_ns();
    if (result == -EAGAIN || result == -EMFILE || result == -ENFILE || result == -ENOMEM)
        return true;
    evidence.thread_gone = result == -ESRCH;
    if (result != 0 || !is_same_thread(probe, process, stall, &reading.times, &evidence)) {
        if (evidence.thread_gone && is_executing(process))
            return true;
        case_forget_evidence(stall);
    } else {
        if (depth == DEPTH_WORKER && !query_rest(probe, process, stall, &reading))
            return true;
        if (!evaluate(probe, process, stall, &reading, depth == DEPTH_WHOLE, &evidence))
            return false;
    }
    store_evidence(process, stall, &evidence);
    return true;
}

/* Answers of the worker -------------------------------------------------------------------------------------------- */

/* Returns the case that an answer is about, or NULL if it has changed since the query. */
static struct stall_case *case_of(const struct probe *probe, const struct remote_query *query)
{
    struct stall_case *stall = cases_find(probe->cases, query->ring, query->slot, query->generation);

    if (stall == NULL || !case_is_examined(stall) || stall->process_index == NO_INDEX ||
        stall->suspect.tid != query->ring_tid || stall->suspect.process != query->process ||
        stall->suspect.progress != query->progress)
        return NULL;
    return stall;
}

/* Reads what any user may read, after an answer without a reading. Returns false if that is not to be used either. */
static bool read_public_times(const struct probe *probe, const struct process *process,
                              const struct remote_answer *answer, struct kernel_reading *ret_reading)
{
    if (answer->attested ||
        kernel_read(probe->proc, record_of(process)->pid, answer->query.tid, KERNEL_TIMES, ret_reading) != 0)
        return false; /* the thread has just ended, or the worker had no time: the next look decides */
    mark_denied(ret_reading);
    return true;
}

static void take_answer(struct probe *probe, struct remote_answer *answer)
{
    struct stall_case *stall = case_of(probe, &answer->query);
    struct evidence evidence = {.examined = true};
    struct process *process = stall != NULL ? process_of(probe, stall) : NULL;

    if (process != NULL)
        examine_process(probe, process);
    if (process != NULL && process->attested && answer->has_module && answer->pid == record_of(process)->pid)
        (void)registry_take_module(probe->registry, process->ring, process->record, answer->query.address,
                                   answer->module.path != NULL ? &answer->module : NULL);
    if (process == NULL || !process->examined || !process->attested || answer->query.stopped != is_stopped(process) ||
        (answer->attested && answer->pid != record_of(process)->pid) ||
        (answer->status != 0 && !read_public_times(probe, process, answer, &answer->reading)))
        return;
    evidence.process_state = process->leader_state;
    evidence.call = stall->suspect.call;
    if (!is_same_thread(probe, process, stall, &answer->reading.times, &evidence)) {
        if (evidence.thread_gone && is_executing(process))
            return;
        case_forget_evidence(stall);
    } else if (!evaluate(probe, process, stall, &answer->reading, true, &evidence)) {
        return; /* it is ready to run by now, which needs two looks at its times */
    }
    store_evidence(process, stall, &evidence);
}

/* Processes answers until the deadline: all of them, or only as many as needed to make room for a query. */
static void take_answers(struct probe *probe, uint64_t deadline_mono_ns, bool all)
{
    struct remote_answer answer;

    if (probe->remote == NULL)
        return;
    remote_flush(probe->remote);
    while ((all || remote_is_full(probe->remote)) && remote_next(probe->remote, deadline_mono_ns, &answer))
        take_answer(probe, &answer);
}

/* The run ---------------------------------------------------------------------------------------------------------- */

static void run_thread(struct probe *probe, const struct work_job *job)
{
    struct stall_case *stall = probe->stalls[job->subject];

    while (probe->remote != NULL && !remote_has_room(probe->remote, stall->ring, stall->suspect.process)) {
        take_answers(probe, probe->deadline_mono_ns, false);
        if (clock_mono_ns() >= probe->deadline_mono_ns)
            return;
    }
    if (!examine_thread(probe, stall)) {
        struct work_job again = *job;

        again.class = CLASS_NEW;
        again.order = 0;
        (void)work_push_at(probe->work, stall->user, again, clock_mono_ns() + LOOK_AGAIN_NS);
    }
}

static void run_job(struct probe *probe, const struct work_job *job, uint32_t user)
{
    const uint64_t began_mono_ns = clock_mono_ns();

    if (job->kind == JOB_PROCESS) {
        examine_process(probe, &probe->processes[job->subject]);
    } else {
        run_thread(probe, job);
    }
    work_spend(probe->work, user, clock_mono_ns() - began_mono_ns);
}

static void sleep_until(uint64_t mono_ns)
{
    struct timespec until = clock_timespec(mono_ns);

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/*
 * Runs jobs until none is left or budget_ns is used up. At least one job runs, even if a busy machine starts it late.
 */
static void run(struct probe *probe, uint64_t budget_ns)
{
    const uint64_t began_mono_ns = clock_mono_ns();
    uint64_t now_mono_ns = began_mono_ns, known_left_ns = budget_ns / KNOWN_BUDGET_PART;
    struct work_job job;
    uint32_t user;

    probe->deadline_mono_ns = began_mono_ns + budget_ns;
    take_answers(probe, 0, true); /* to queries of earlier scans */
    do {
        uint64_t until_mono_ns, spent_ns;

        if (work_next(probe->work, now_mono_ns, known_left_ns != 0 ? CLASS_STOPPED : CLASS_PROCESS, &job, &user)) {
            run_job(probe, &job, user);
            spent_ns = job.class > CLASS_PROCESS ? clock_mono_ns() - now_mono_ns : 0;
            known_left_ns -= spent_ns < known_left_ns ? spent_ns : known_left_ns;
        } else {
            until_mono_ns = work_delayed_until(probe->work);
            if (until_mono_ns >= probe->deadline_mono_ns)
                break;
            take_answers(probe, until_mono_ns, true);
            sleep_until(until_mono_ns);
        }
        now_mono_ns = clock_mono_ns();
    } while (now_mono_ns < probe->deadline_mono_ns);
    take_answers(probe, probe->deadline_mono_ns, true);
    work_refuse_queued(probe->work, WORK_EVIDENCE_TIME, CLASS_DOUBTED);
}

/* Drops what was read from processes that are not the same any more. */
static void confirm_processes(struct probe *probe)
{
    for (size_t i = 0; i < probe->process_count; i++) {
        struct process *process = &probe->processes[i];

        process->lost |= process->examined && !is_same_process(probe, process);
        if (!process->lost)
            continue;
        for (uint32_t at = process->first_index; at != NO_INDEX; at = probe->stalls[at]->next_index) {
            case_forget_evidence(probe->stalls[at]);
            probe->stalls[at]->evidence = (struct evidence){0};
        }
    }
}

static void count_left(struct probe *probe)
{
    for (size_t i = 0; i < probe->stall_count; i++) {
        struct stall_case *stall = probe->stalls[i];
        const bool is_left = stall->is_suspect && !stall->suspect.unread && !stall->evidence.examined &&
                             class_of(stall) <= CLASS_DOUBTED;

        stall->left_count = is_left ? stall->left_count + 1 : 0;
        probe->left_count += is_left && stall->left_count % HEALTH_PATIENCE_SCANS == 0;
    }
}

void probe_examine(struct probe *probe, struct registry *registry, struct cases *cases, struct work *work)
{
    probe->registry = registry;
    probe->cases = cases;
    probe->stalls = cases_all(cases, &probe->stall_count);
    probe->work = work;
    if (probe->remote != NULL)
        remote_look(probe->remote);
    queue_processes(probe);
    if (probe->process_count != 0)
        run(probe, probe->budget_ns);
    confirm_processes(probe);
    count_left(probe);
}

/* Extends the time for which the lock wait is known, if the thread has not run since. Reads nothing but its times. */
static void extend_lock_wait(const struct probe *probe, struct stall_case *stall, const struct process *process)
{
    struct kernel_reading reading;
    uint32_t tid;

    if (stall->lock.holder.address == 0 ||
        registry_find_thread(probe->registry, process->ring, process->record, stall->suspect.tid,
                             probe->deadline_mono_ns, &tid) != 0 ||
        kernel_read(probe->proc, record_of(process)->pid, tid, KERNEL_TIMES, &reading) != 0)
        return;
    if (kernel_has_not_run(&stall->last, &reading.times))
        stall->lock.until_mono_ns = reading.times.read_mono_ns;
}

bool probe_confirm(struct probe *probe)
{
    size_t count = 0;

    for (uint32_t i = 0; i < probe->stall_count; i++) {
        struct stall_case *stall = probe->stalls[i];
        const struct process *process = stall->doubted && stall->is_suspect ? process_of(probe, stall) : NULL;

        stall->is_confirming = process != NULL && process->kind == KIND_ALIVE && process->examined &&
                               stall->suspect.tid != 0 && !is_stopped(process);
        if (!stall->is_confirming)
            continue;
        count++;
        (void)work_push(
            probe->work, stall->user,
            (struct work_job){
                .kind = JOB_THREAD, .class = CLASS_DOUBTED, .subject = i, .order = stall->examined_mono_ns});
    }
    if (count == 0)
        return false;
    run(probe, probe->budget_ns / KNOWN_BUDGET_PART);
    /* All holders have been read. A thread that has not run by now was waiting during each of these reads. */
    probe->deadline_mono_ns = clock_mono_ns() + probe->budget_ns / KNOWN_BUDGET_PART;
    for (uint32_t i = 0; i < probe->stall_count && clock_mono_ns() < probe->deadline_mono_ns; i++)
        if (probe->stalls[i]->is_confirming)
            extend_lock_wait(probe, probe->stalls[i], process_of(probe, probe->stalls[i]));
    confirm_processes(probe);
    return true;
}
