/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine.c - one suspect's thread: read, compared with what is remembered of it, decoded into facts and evidence.
 *
 * Guarantees
 *   1. A thread that has not run since it was last asked what it waits for is not asked again for REFRESH_NS: it waits
 *      for the same, though by then somebody else may hold the lock.
 *      One that waits with others in what may be a deadlock is asked again each time, until that is settled.
 *   2. Whether CPU time moves takes two looks. A thread that is ready to run and is new is looked at again within the
 *      same call, LOOK_AGAIN_NS later, or when the budget ends; if that is too early to tell it is not examined yet,
 *      and will be on the next scan. Nobody else waits for that: threads that sleep, and those known from former
 *      scans, have their verdict at once.
 *   3. More than anyone is told is asked of attested processes alone. Where there is somebody to ask (probe/remote.h)
 *      we do not look for ourselves: what a thread waits for is asked for, and taken in when it is told, on this call
 *      or a later one, if it is still about the same stall. Until then a new suspect is not examined.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cases/kernel.h"
#include "os/clock.h"
#include "probe/kernel_decode.h"
#include "probe/probe_state.h"
#include "probe/remote.h"
#include "util/array.h"
#include "util/search.h"

#define LOOK_AGAIN_NS UINT64_C(25000000) /* two ticks and more of the slowest clocks (100 Hz) */
#define LOOK_NS UINT64_C(100000)         /* what one takes at most, but for a busy machine */
#define REFRESH_NS UINT64_C(5000000000)
#define SOCKETS_BUDGET_PART 3u /* of a call's budget, at most, for tables of sockets of one namespace */
#define SEARCH_BUDGET_PART 4u  /* and for who has the other ends of pipes and unix sockets */

/* Whether the thread was started after the id had been registered: then it is not the one that the id was put on. */
static bool is_replaced(const struct probe *probe, struct registry *registry, const struct subject *subject,
                        const struct detector_suspect *suspect, const struct kernel_times *times)
{
    struct rip_id_info info;
    int result = mapping_id(&subject->ring->mapping, suspect->slot, &info);

    if (result < 0)
        registry_damage(registry, subject->ring);
    if (result != 0 || info.generation != suspect->generation || info.kind != RIP_KIND_THREAD)
        return false; /* a coroutine may be on a younger thread */
    return info.registered_boot_ns != 0 && times->start_time_ticks > info.registered_boot_ns / probe->tick_ns + 1;
}

/* What a look has read. */
enum depth {
    DEPTH_TIMES,  /* all that is new */
    DEPTH_WHOLE,  /* and what it waits for */
    DEPTH_ASKING, /* what it waits for has to be asked for */
};

/* Reads as much as is new. 0; -ESRCH: the thread is gone; another -errno: not now. */
static int read_new(const struct probe *probe, const struct subject *subject, uint32_t pid, uint32_t tid,
                    const struct watch *watch, struct kernel_reading *ret_reading, enum depth *ret_depth)
{
    int result = -EAGAIN;

    *ret_depth = DEPTH_TIMES;
    if (!subject->attested)
        return kernel_read(probe->proc, pid, tid, KERNEL_TIMES, ret_reading);
    if (watch != NULL && watch->facts != NULL && !watch->doubted &&
        clock_mono_ns() - watch->decoded_mono_ns < REFRESH_NS) {
        result = kernel_read(probe->proc, pid, tid, KERNEL_TIMES, ret_reading);
        if (result != 0 || kernel_has_not_run(&watch->last, &ret_reading->times))
            return result;
    }
    if (probe->remote == NULL) {
        *ret_depth = DEPTH_WHOLE;
        return kernel_read(probe->proc, pid, tid, KERNEL_WHOLE, ret_reading);
    }
    if (result == -EAGAIN)
        result = kernel_read(probe->proc, pid, tid, KERNEL_TIMES, ret_reading);
    if (result == 0 && ret_reading->times.state != 'R') /* which waits for nothing */
        *ret_depth = DEPTH_ASKING;
    return result;
}

static int read_thread(const struct probe *probe, struct registry *registry, const struct subject *subject,
                       const struct detector_suspect *suspect, const struct watch *watch, uint64_t deadline_mono_ns,
                       struct kernel_reading *ret_reading, enum depth *ret_depth)
{
    const struct ring_process *process = &subject->ring->processes[subject->process];
    uint32_t tid;
    int result = -ESRCH;

    for (int attempt = 0; attempt < 2 && result == -ESRCH; attempt++) {
        result = registry_find_thread(registry, subject->ring, subject->process, suspect->tid, deadline_mono_ns, &tid);
        if (result != 0)
            return result;
        result = read_new(probe, subject, process->pid, tid, watch, ret_reading, ret_depth);
        if (process->own_pid_namespace)
            break;
        if (result == -ESRCH)
            registry_forget_thread(subject->ring, subject->process, tid);
    }
    return result;
}

/* Facts -------------------------------------------------------------------------------------------------------------*/

/* Who is at the other end of what it waits for. Where there is a worker, it has told. */
static void read_other_end(struct probe *probe, const struct subject *subject, struct kernel_reading *reading)
{
    uint64_t began_mono_ns = clock_mono_ns(), left_ns = probe->budget_ns / SEARCH_BUDGET_PART;

    if (probe->remote != NULL)
        return;
    left_ns = left_ns > probe->searched_ns ? left_ns - probe->searched_ns : 0;
    kernel_read_unix(probe->diag, began_mono_ns + left_ns, reading);
    kernel_read_holders(probe->proc, mapping_owner(&subject->ring->mapping), began_mono_ns + left_ns, &reading, 1);
    probe->searched_ns += clock_mono_ns() - began_mono_ns;
}

/* *ret_whole: false if there was no time for some of it, which the next call may have. */
static struct kernel_facts *decode(struct probe *probe, const struct subject *subject, struct kernel_reading *reading,
                                   bool *ret_whole)
{
    const struct proc_socket *socket = NULL;
    struct kernel_facts *facts;
    uint64_t socket_inode;

    read_other_end(probe, subject, reading);
    probe->ends_cut_count += (reading->has & KERNEL_HAS_NO_TIME) != 0;
    socket_inode = kernel_decode_socket(reading);
    *ret_whole =
        socket_inode == 0 || sockets_find(probe->sockets, probe->proc, reading->pid, socket_inode,
                                          clock_mono_ns() + probe->budget_ns / SOCKETS_BUDGET_PART, &socket) != -EAGAIN;
    facts = kernel_decode(reading, socket);
    if (facts != NULL && !subject->attested)
        facts->denied = KERNEL_DENIED(SYSCALL) | KERNEL_DENIED(WCHAN) | KERNEL_DENIED(DESCRIPTORS);
    return facts;
}

/* Remembers the look in watch, with new facts. */
static void remember(struct probe *probe, const struct subject *subject, struct watch *watch,
                     struct kernel_reading *reading, bool whole)
{
    struct kernel_facts *facts;
    bool is_whole;

    if (whole || watch->facts == NULL || !subject->attested) {
        facts = decode(probe, subject, reading, &is_whole);
        watch->wait = kernel_decode_wait(reading);
        watch->decoded_mono_ns = is_whole ? reading->times.read_mono_ns : 0;
    } else {
        facts = kernel_facts_copy(watch->facts);
        if (facts != NULL)
            facts->state = reading->times.state;
    }
    if (facts == NULL)
        return;
    kernel_decode_window(facts, &watch->first, &reading->times, probe->tick_ns);
    kernel_facts_unref(watch->facts);
    watch->facts = facts;
}

/* One look at one thread --------------------------------------------------------------------------------------------*/

/* To be looked at a second time in this call. */
static void want_again(struct probe *probe, size_t index, uint64_t now_mono_ns)
{
    uint32_t *again = array_reserve(probe->again, &probe->again_capacity, probe->again_count + 1, sizeof(*again));

    if (again == NULL)
        return;
    probe->again = again;
    if (probe->again_count == 0)
        probe->again_first_mono_ns = now_mono_ns;
    probe->again[probe->again_count++] = (uint32_t)index;
    probe->again_last_mono_ns = now_mono_ns;
}

/* The evidence of a thread that is there. False: it takes another look. */
static bool weigh(struct probe *probe, const struct subject *subject, struct watch *watch,
                  struct kernel_reading *reading, bool whole, struct evidence *evidence)
{
    const struct kernel_times *times = &reading->times;

    evidence->thread_state = times->state;
    if (watch == NULL) { /* too many are remembered: there is no second look */
        evidence->wait = kernel_decode_wait(reading);
        return true;
    }
    if (watch->first.read_mono_ns == 0)
        watch->first = watch->last = *times;
    evidence->cpu = kernel_decode_cpu(&watch->last, times, probe->tick_ns);
    remember(probe, subject, watch, reading, whole);
    if (!probe_is_stopped(subject)) /* such a one holds up others, but nobody it */
        watch_lock(watch, reading, whole);
    evidence->wait = watch->wait;
    if (times->state == 'R' && times->read_mono_ns < watch->last.read_mono_ns + KERNEL_LOOKS_NS)
        return probe_is_stopped(subject);
    if (times->read_mono_ns >= watch->last.read_mono_ns + KERNEL_LOOKS_NS)
        watch->last = *times;
    return true;
}

/* Asks what it waits for, unless that is under way. */
static enum remote_asked ask(struct probe *probe, const struct subject *subject, const struct detector_suspect *suspect,
                             uint32_t tid)
{
    const struct remote_query query = {
        .ring = suspect->ring,
        .process = suspect->process,
        .uid = subject->ring->mapping.file.uid,
        .slot = suspect->slot,
        .generation = suspect->generation,
        .ring_tid = suspect->tid,
        .tid = tid,
        .progress = suspect->progress,
        .stopped = probe_is_stopped(subject),
    };

    if (remote_is_asked(probe->remote, query.ring, query.slot))
        return REMOTE_ASKED;
    return remote_ask(probe->remote, subject->ring->mapping.descriptor, &query);
}

/* That we may not be told what it waits for. */
static void deny(struct kernel_reading *reading)
{
    reading->denied = KERNEL_DENIED(SYSCALL) | KERNEL_DENIED(WCHAN) | KERNEL_DENIED(DESCRIPTORS);
}

/*
 * Asks for what the reading lacks. False: it is to wait for the answer, for nothing is known so far; else it can be
 * weighed with what is.
 */
static bool can_go_on(struct probe *probe, const struct subject *subject, const struct detector_suspect *suspect,
                      struct watch *watch, struct kernel_reading *reading)
{
    enum remote_asked asked = ask(probe, subject, suspect, reading->tid);

    if (asked == REMOTE_REFUSED) {
        deny(reading);
        return true;
    }
    if (watch != NULL && watch->first.read_mono_ns == 0)
        watch->first = watch->last = reading->times;
    return watch != NULL && watch->facts != NULL;
}

/* Its process has just been stopped by a signal, and it will be: what it does now is no news of the stop. */
static bool is_about_to_stop(const struct subject *subject, const struct kernel_times *times)
{
    return subject->leader_state == 'T' && !subject->frozen && !subject->core_dumping && times->state != 'T' &&
           times->state != 't';
}

/* What the times say of the thread itself. False: it cannot be weighed, for it is not the suspect's any more. */
static bool is_there(const struct probe *probe, struct registry *registry, const struct subject *subject,
                     const struct detector_suspect *suspect, const struct kernel_times *times,
                     struct evidence *evidence)
{
    evidence->thread_gone = (times->flags & PROC_FLAG_EXITING) != 0 || times->state == 'Z' || times->state == 'X';
    evidence->thread_replaced = is_replaced(probe, registry, subject, suspect, times);
    return !evidence->thread_gone && !evidence->thread_replaced && !is_about_to_stop(subject, times);
}

/* What the look adds to the verdict: nothing, where the whole process is stopped. */
static void conclude(const struct subject *subject, struct detector_suspect *suspect, const struct evidence *evidence)
{
    if (!probe_is_stopped(subject))
        suspect->evidence = *evidence;
}

/* False: it was ready to run, and takes another look. */
static bool look(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t index,
                 uint64_t deadline_mono_ns)
{
    const struct subject *subject = &probe->subjects[probe->owners[index]];
    struct detector_suspect *suspect = &suspects[index];
    struct watch *watch = watches_take(&probe->watches, suspects, index);
    struct evidence evidence = {.examined = true, .process_state = subject->leader_state};
    struct kernel_reading reading;
    enum depth depth = DEPTH_TIMES;
    int result = read_thread(probe, registry, subject, suspect, watch, deadline_mono_ns, &reading, &depth);

    if (result == -EAGAIN || result == -EMFILE || result == -ENFILE || result == -ENOMEM)
        return true;
    evidence.thread_gone = result == -ESRCH;
    if (result != 0 || !is_there(probe, registry, subject, suspect, &reading.times, &evidence)) {
        watches_drop(&probe->watches, index);
    } else {
        if (depth == DEPTH_ASKING && !can_go_on(probe, subject, suspect, watch, &reading))
            return true;
        if (!weigh(probe, subject, watch, &reading, depth == DEPTH_WHOLE, &evidence))
            return false;
    }
    conclude(subject, suspect, &evidence);
    return true;
}

void examine_suspect(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t index,
                     uint64_t deadline_mono_ns)
{
    if (probe_is_stopped(&probe->subjects[probe->owners[index]]) && !examine_is_due(probe, index))
        return; /* there were many of them */
    if (!look(probe, registry, suspects, index, deadline_mono_ns))
        want_again(probe, index, clock_mono_ns());
}

bool examine_is_due(const struct probe *probe, size_t index)
{
    const struct watch *watch = watches_known(&probe->watches, index);

    return watch != NULL ? clock_mono_ns() - watch->decoded_mono_ns >= REFRESH_NS
                         : probe->watches.live_count < WATCHES_MAX / 2;
}

/* Answers ---------------------------------------------------------------------------------------------------------- */

void examine_stands(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t index,
                    uint64_t deadline_mono_ns)
{
    const struct subject *subject = &probe->subjects[probe->owners[index]];
    struct watch *watch = watches_take(&probe->watches, suspects, index);
    struct kernel_reading reading;
    uint32_t tid;

    if (watch == NULL || watch->lock.owner.address == 0 ||
        registry_find_thread(registry, subject->ring, subject->process, suspects[index].tid, deadline_mono_ns, &tid) !=
            0 ||
        kernel_read(probe->proc, subject->ring->processes[subject->process].pid, tid, KERNEL_TIMES, &reading) != 0)
        return;
    if (kernel_has_not_run(&watch->last, &reading.times))
        watch->lock.until_mono_ns = reading.times.read_mono_ns;
}

bool examine_has_room(const struct probe *probe, const struct detector_suspect *suspect)
{
    return probe->remote == NULL || remote_has_room(probe->remote, suspect->ring, suspect->process);
}

static int compare_suspect(const void *key, const void *item)
{
    const struct remote_query *query = key;
    const struct detector_suspect *suspect = item;

    return search_order_pair(query->ring, query->slot, suspect->ring, suspect->slot);
}

/* Whom an answer is about, if that is still what it was asked for; suspects are in order of ring and slot. */
static struct detector_suspect *find_suspect(struct detector_suspect *suspects, size_t count,
                                             const struct remote_query *query)
{
    const size_t i = search_equal(query, suspects, count, sizeof(*suspects), compare_suspect);

    if (i == count || suspects[i].generation != query->generation || suspects[i].tid != query->ring_tid ||
        suspects[i].process != query->process || suspects[i].progress != query->progress)
        return NULL;
    return &suspects[i];
}

/* What an answer without a reading leaves: what anyone is told. */
static bool read_denied(const struct probe *probe, const struct subject *subject, const struct remote_answer *answer,
                        struct kernel_reading *ret_reading)
{
    const struct ring_process *process = &subject->ring->processes[subject->process];

    if (answer->attested || kernel_read(probe->proc, process->pid, answer->query.tid, KERNEL_TIMES, ret_reading) != 0)
        return false; /* it has just ended, or there was no time: the next look tells */
    deny(ret_reading);
    return true;
}

static void take_answer(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t count,
                        struct remote_answer *answer)
{
    struct detector_suspect *suspect = find_suspect(suspects, count, &answer->query);
    size_t index = suspect != NULL ? (size_t)(suspect - suspects) : 0;
    struct evidence evidence = {.examined = true};
    const struct subject *subject;
    struct watch *watch;

    if (suspect == NULL || probe->owners[index] == NO_SUBJECT)
        return;
    subject = &probe->subjects[probe->owners[index]];
    if (!subject->asked || !subject->attested || answer->query.stopped != probe_is_stopped(subject) ||
        (answer->attested && answer->pid != subject->ring->processes[subject->process].pid) ||
        (answer->status != 0 && !read_denied(probe, subject, answer, &answer->reading)))
        return;
    evidence.process_state = subject->leader_state;
    watch = watches_take(&probe->watches, suspects, index);
    if (!is_there(probe, registry, subject, suspect, &answer->reading.times, &evidence))
        watches_drop(&probe->watches, index);
    else if (!weigh(probe, subject, watch, &answer->reading, true, &evidence))
        return; /* it is ready to run by now: that takes looks of our own */
    conclude(subject, suspect, &evidence);
}

void examine_told(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t count,
                  uint64_t deadline_mono_ns, bool all)
{
    struct remote_answer answer;

    if (probe->remote == NULL)
        return;
    remote_flush(probe->remote);
    while ((all || remote_is_full(probe->remote)) && remote_next(probe->remote, deadline_mono_ns, &answer))
        take_answer(probe, registry, suspects, count, &answer);
}

/* Second looks ----------------------------------------------------------------------------------------------------- */

static void sleep_until(uint64_t mono_ns)
{
    struct timespec until = {.tv_sec = (time_t)(mono_ns / 1000000000), .tv_nsec = (long)(mono_ns % 1000000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

uint64_t examine_again_ns(const struct probe *probe)
{
    uint64_t needed_ns = probe->again_count * LOOK_NS;

    return needed_ns < probe->budget_ns / 4 ? needed_ns : probe->budget_ns / 4;
}

/* Those for which it is still too early stay for another time. */
static void look_again(struct probe *probe, struct registry *registry, struct detector_suspect *suspects,
                       uint64_t deadline_mono_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < probe->again_count; i++)
        if (clock_mono_ns() >= deadline_mono_ns || !look(probe, registry, suspects, probe->again[i], deadline_mono_ns))
            probe->again[kept++] = probe->again[i];
    probe->again_count = kept;
    probe->again_first_mono_ns = clock_mono_ns();
}

void examine_again_if_due(struct probe *probe, struct registry *registry, struct detector_suspect *suspects,
                          uint64_t deadline_mono_ns)
{
    if (probe->again_count != 0 && clock_mono_ns() >= probe->again_first_mono_ns + LOOK_AGAIN_NS)
        look_again(probe, registry, suspects, deadline_mono_ns);
}

void examine_again(struct probe *probe, struct registry *registry, struct detector_suspect *suspects,
                   uint64_t deadline_mono_ns)
{
    uint64_t when_mono_ns = probe->again_last_mono_ns + LOOK_AGAIN_NS;
    uint64_t latest_mono_ns = deadline_mono_ns - examine_again_ns(probe);

    if (probe->again_count == 0)
        return;
    when_mono_ns = when_mono_ns < latest_mono_ns ? when_mono_ns : latest_mono_ns;
    if (when_mono_ns < probe->again_first_mono_ns + KERNEL_LOOKS_NS)
        return;
    sleep_until(when_mono_ns);
    look_again(probe, registry, suspects, deadline_mono_ns);
}
