/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.c - what the kernel says about suspects. Touches /proc through os/proc.h and the registry; decides only whom
 * to look at next.
 *
 * Guarantees
 *   1. What stops a whole process is told of all its suspects, however many, by one look at the process: half the
 *      budget is kept for that, in which the processes of one owner of rings after the other's have a turn; one has it
 *      however late it is. An id on no thread needs no more either.
 *   2. The threads of the others are looked at one by one, always one of the owner for whom least has been spent. Of
 *      his those never examined come first, the longest frozen of them
 *      first, until the budget is spent, then those in what may be a deadlock, then the others in turn, until a quarter
 *      of it is. What is left of that quarter is for threads of stopped processes, which were in some wait too. The
 *      doubted have another quarter when they turn out to be in doubt. The budget is for reading /proc: the
 *      bookkeeping, some 25 ns for each suspect, is not taken out of it, or a million of them would leave nothing for
 *      any.
 *   3. A process is asked about again after its threads; if it is not the same any more, nothing that was read counts.
 *   4. Only numbers that the ring itself gives are looked up, below the pid that it is known to be of.
 */
#include "probe/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases/waits.h"
#include "os/clock.h"
#include "probe/probe_state.h"
#include "probe/remote.h"
#include "ring/turns.h"
#include "util/array.h"

#define KNOWN_BUDGET_PART 4u /* of the budget, for those examined before: ten thousand stalls are not news for ever */

static bool is_doubted(const struct probe *probe, size_t index)
{
    const struct watch *watch = watches_known(&probe->watches, index);

    return watch != NULL && watch->doubted;
}

/* Processes -------------------------------------------------------------------------------------------------------- */

/* Finds the process of each suspect, or of those alone that are doubted; they come in order of ring. */
static int attach_suspects(struct probe *probe, struct registry *registry, const struct detector_suspect *suspects,
                           size_t count, bool doubted)
{
    uint32_t *owners = array_reserve(probe->owners, &probe->owner_capacity, count, sizeof(*owners));
    struct ring *ring = NULL;

    if (owners == NULL)
        return -ENOMEM;
    probe->owners = owners;
    for (size_t i = 0; i < count; i++) {
        owners[i] = NO_SUBJECT;
        if (doubted && !is_doubted(probe, i))
            continue;
        if (ring == NULL || ring->serial != suspects[i].ring)
            ring = registry_find(registry, suspects[i].ring);
        owners[i] = ring != NULL ? probe_subject(probe, ring, suspects[i].process) : NO_SUBJECT;
    }
    return 0;
}

/* Fills what is known without the thread. True if nothing more is needed, or can be had. */
static bool settle_suspect(const struct subject *subject, struct detector_suspect *suspect)
{
    struct evidence *evidence = &suspect->evidence;

    if (subject->kind == SUBJECT_ALIVE && !subject->asked)
        return true;
    evidence->examined = true;
    evidence->on_no_thread = suspect->tid == 0;
    if (subject->kind != SUBJECT_ALIVE) {
        evidence->thread_gone = subject->kind == SUBJECT_GONE;
        return true;
    }
    evidence->core_dumping = subject->core_dumping;
    evidence->frozen = subject->frozen;
    evidence->process_state = subject->leader_state;
    if (suspect->tid != 0 && subject->leader_state == 'T')
        evidence->thread_state = 'T'; /* a stop is the whole process's */
    if (suspect->tid == 0 || probe_is_stopped(subject))
        return true;
    *evidence = (struct evidence){0}; /* until its thread has been looked at */
    return false;
}

/* Threads to look at ----------------------------------------------------------------------------------------------- */

/* Those behind the last one come first, then the others. */
static struct pending pending_doubted(const struct probe *probe, const struct detector_suspect *suspect, size_t index)
{
    return (struct pending){
        .class = PENDING_DOUBTED,
        .suspect = (uint32_t)index,
        .order = probe_key(suspect->ring, suspect->slot) - probe->last_doubted[pending_owner(probe, index)] - 1,
    };
}

static struct pending pending_of(const struct probe *probe, const struct detector_suspect *suspect, size_t index)
{
    uint64_t key = probe_key(suspect->ring, suspect->slot);
    bool is_new = suspect->state == ID_RUNNING || (suspect->state == ID_STALLED && suspect->cause == CAUSE_NONE);

    if (!is_new && is_doubted(probe, index))
        return pending_doubted(probe, suspect, index);
    return (struct pending){
        .class = is_new                                                    ? PENDING_NEW
                 : key > probe->last_suspects[pending_owner(probe, index)] ? PENDING_NEXT
                                                                           : PENDING_LATER,
        .suspect = (uint32_t)index,
        .order = is_new ? suspect->frozen_since_ns : key,
    };
}

static struct pending pending_stopped(const struct probe *probe, const struct detector_suspect *suspect, size_t index)
{
    uint64_t key = probe_key(suspect->ring, suspect->slot);

    return (struct pending){
        .class = key > probe->last_stopped[pending_owner(probe, index)] ? PENDING_STOPPED_NEXT : PENDING_STOPPED_LATER,
        .suspect = (uint32_t)index,
        .order = key,
    };
}

/* What was seen of a thread before it was stopped is not how it is now, nor what was seen while it was. */
static void forget_other_times(struct probe *probe, const struct subject *subject,
                               const struct detector_suspect *suspect, size_t index)
{
    bool was_stopped = suspect->state == ID_STOPPED && suspect->cause != CAUSE_TRACER;

    if (subject->asked && was_stopped != probe_is_stopped(subject))
        watches_drop(&probe->watches, index);
}

/* A thread that was looked at in this scan, in a process that has not stopped since. */
static bool can_be_confirmed(const struct subject *subject, const struct detector_suspect *suspect)
{
    return subject->kind == SUBJECT_ALIVE && subject->asked && suspect->tid != 0 && !probe_is_stopped(subject);
}

static int gather_doubted(struct probe *probe, const struct detector_suspect *suspects, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pending *pending;

        if (probe->owners[i] == NO_SUBJECT || !can_be_confirmed(&probe->subjects[probe->owners[i]], &suspects[i]))
            continue;
        pending = array_reserve(probe->pending, &probe->pending_capacity, probe->pending_count + 1, sizeof(*pending));
        if (pending == NULL)
            return -ENOMEM;
        probe->pending = pending;
        pending[probe->pending_count++] = pending_doubted(probe, &suspects[i], i);
    }
    pending_sort(probe);
    return 0;
}

/* Settles those who need no look at a thread for their verdict, and makes lanes of all that are to be looked at. */
static int gather_pending(struct probe *probe, struct detector_suspect *suspects, size_t count)
{
    struct pending *pending = array_reserve(probe->pending, &probe->pending_capacity, count, sizeof(*pending));

    for (size_t i = 0; i < count; i++) {
        const struct subject *subject = probe->owners[i] != NO_SUBJECT ? &probe->subjects[probe->owners[i]] : NULL;
        bool settled;

        if (subject == NULL)
            continue;
        forget_other_times(probe, subject, &suspects[i], i);
        settled = settle_suspect(subject, &suspects[i]);
        if (pending == NULL || (settled && (!subject->asked || suspects[i].tid == 0 || !examine_is_due(probe, i))))
            continue;
        pending[probe->pending_count++] =
            settled ? pending_stopped(probe, &suspects[i], i) : pending_of(probe, &suspects[i], i);
    }
    if (pending == NULL)
        return -ENOMEM;
    probe->pending = pending;
    pending_sort(probe);
    return 0;
}

/* Threads ---------------------------------------------------------------------------------------------------------- */

/* Where the owner's turns go on the next time. */
static void remember_turn(struct probe *probe, const struct pending *pending, const struct detector_suspect *suspect)
{
    const uint32_t owner = pending_owner(probe, pending->suspect);
    const uint64_t key = probe_key(suspect->ring, suspect->slot);

    if (pending->class >= PENDING_STOPPED_NEXT)
        probe->last_stopped[owner] = key;
    else if (pending->class >= PENDING_NEXT)
        probe->last_suspects[owner] = key;
    else if (pending->class == PENDING_DOUBTED)
        probe->last_doubted[owner] = key;
}

static void examine_pending(struct probe *probe, struct registry *registry, struct detector_suspect *suspects,
                            size_t count, uint64_t deadline_mono_ns)
{
    uint64_t known_mono_ns, now_mono_ns;
    struct lane *lane;

    examine_told(probe, registry, suspects, count, 0, true); /* what was asked on the last call */
    now_mono_ns = clock_mono_ns();
    known_mono_ns = now_mono_ns + probe->budget_ns / KNOWN_BUDGET_PART;

    while (now_mono_ns + examine_again_ns(probe) < deadline_mono_ns &&
           (lane = pending_turn(probe, now_mono_ns < known_mono_ns)) != NULL) {
        const uint64_t began_mono_ns = now_mono_ns;

        examine_again_if_due(probe, registry, suspects, deadline_mono_ns);
        if (!examine_has_room(probe, &suspects[probe->pending[lane->first].suspect])) {
            examine_told(probe, registry, suspects, count, deadline_mono_ns - examine_again_ns(probe), false);
        } else {
            struct pending next = pending_pop(probe, lane);

            examine_suspect(probe, registry, suspects, next.suspect, deadline_mono_ns);
            remember_turn(probe, &next, &suspects[next.suspect]);
        }
        now_mono_ns = clock_mono_ns();
        lane->spent_ns += now_mono_ns - began_mono_ns;
    }
    examine_told(probe, registry, suspects, count, 0, true);
    examine_again(probe, registry, suspects, deadline_mono_ns);
    examine_told(probe, registry, suspects, count, deadline_mono_ns, true);
}

/* The whole -------------------------------------------------------------------------------------------------------- */

/*
 * Takes back what was read of processes that are not the same any more. Of one for which there was no time nothing was
 * read now: what was found before stands.
 */
static void confirm_subjects(struct probe *probe, const struct registry *registry, struct detector_suspect *suspects,
                             size_t count)
{
    for (size_t i = 0; i < probe->subject_count; i++) {
        struct subject *subject = &probe->subjects[i];

        subject->lost |= subject->asked && !probe_subject_holds(registry, subject);
    }
    for (size_t i = 0; i < count; i++) {
        const struct subject *subject = probe->owners[i] != NO_SUBJECT ? &probe->subjects[probe->owners[i]] : NULL;

        if (subject == NULL || !subject->lost)
            continue;
        suspects[i].evidence = (struct evidence){0};
        watches_drop(&probe->watches, i);
    }
}

static size_t count_unexamined(const struct detector_suspect *suspects, size_t count)
{
    size_t unexamined = 0;

    for (size_t i = 0; i < count; i++)
        unexamined += !suspects[i].evidence.examined;
    return unexamined;
}

size_t evidence_collect(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t count)
{
    uint64_t started_mono_ns, asked_ns;

    if (probe->remote != NULL)
        remote_look(probe->remote);
    if (watches_begin(&probe->watches, suspects, count) != 0)
        return count;
    if (count != 0 && attach_suspects(probe, registry, suspects, count, false) == 0) {
        started_mono_ns = clock_mono_ns();
        probe_ask_subjects(probe, started_mono_ns + probe->budget_ns / 2);
        asked_ns = clock_mono_ns() - started_mono_ns;
        if (gather_pending(probe, suspects, count) == 0 && asked_ns < probe->budget_ns)
            examine_pending(probe, registry, suspects, count, clock_mono_ns() + probe->budget_ns - asked_ns);
        confirm_subjects(probe, registry, suspects, count);
    }
    watches_end(&probe->watches, suspects, count);
    probe_forget(probe);
    return count_unexamined(suspects, count);
}

struct kernel_facts *evidence_kernel(const struct probe *probe, uint32_t ring, uint32_t slot, uint32_t generation)
{
    return watches_find(&probe->watches, ring, slot, generation);
}

struct kernel_facts *evidence_kernel_stopped(const struct probe *probe)
{
    return probe->stopped_facts;
}

static size_t doubt_sweep(struct probe *probe, struct turns *turns, const struct waits *waits, unsigned sweep)
{
    const struct ring *ring = NULL;
    size_t count = 0;

    for (size_t i = 0; i < waits->waiting_count; i++) {
        const struct waits_node *node = &waits->nodes[i];
        const uint64_t key = turns_key(node->ring, node->slot);

        if (!node->doubted)
            continue;
        if (ring == NULL || ring->serial != node->ring)
            ring = registry_find(turns->registry, node->ring);
        if (ring == NULL || !turns_due(turns, ring, key, sweep) || turns_left(turns, ring, key) == 0 ||
            !watches_doubt(&probe->watches, node->ring, node->slot, node->generation))
            continue;
        turns_spend(turns, ring, 1);
        count++;
    }
    return count;
}

size_t evidence_doubt(struct probe *probe, struct registry *registry, const struct waits *waits)
{
    struct turns turns;
    size_t count = 0;

    turns_begin(&turns, registry, TURNS_DOUBTS);
    for (size_t i = 0; waits != NULL && i < waits->waiting_count; i++) {
        const struct waits_node *node = &waits->nodes[i];
        const struct ring *ring = node->doubted ? registry_find(registry, node->ring) : NULL;

        if (ring != NULL)
            turns_wish(&turns, ring);
    }
    turns_share(&turns, EVIDENCE_DOUBTS_MAX);
    for (unsigned sweep = 0; waits != NULL && sweep < TURNS_SWEEPS; sweep++)
        count += doubt_sweep(probe, &turns, waits, sweep);
    turns_end(&turns);
    return count;
}

/* Of a process for which there was no time nothing was read now: what was found before stands. */
static void leave_unasked(struct probe *probe, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (probe->owners[i] != NO_SUBJECT && !probe->subjects[probe->owners[i]].asked)
            probe->owners[i] = NO_SUBJECT;
}

/* After every owner has been read: all were in their waits when each was, in whatever order that happened. */
static void examine_all_stand(struct probe *probe, struct registry *registry, struct detector_suspect *suspects,
                              size_t count)
{
    const uint64_t deadline_mono_ns = clock_mono_ns() + probe->budget_ns / KNOWN_BUDGET_PART;

    for (size_t i = 0; i < count; i++) {
        if (probe->owners[i] == NO_SUBJECT)
            continue;
        if (clock_mono_ns() >= deadline_mono_ns)
            return;
        examine_stands(probe, registry, suspects, i, deadline_mono_ns);
    }
}

void evidence_confirm(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t count)
{
    const uint64_t budget_ns = probe->budget_ns / KNOWN_BUDGET_PART;
    uint64_t last_subjects[REGISTRY_OWNERS_MAX], deadline_mono_ns;

    if (watches_begin(&probe->watches, suspects, count) != 0)
        return;
    memcpy(last_subjects, probe->last_subjects, sizeof(last_subjects));
    deadline_mono_ns = clock_mono_ns() + budget_ns;
    if (attach_suspects(probe, registry, suspects, count, true) == 0) {
        probe_ask_subjects(probe, deadline_mono_ns - budget_ns / 2);
        leave_unasked(probe, count);
        if (gather_doubted(probe, suspects, count) == 0)
            examine_pending(probe, registry, suspects, count, deadline_mono_ns);
        examine_all_stand(probe, registry, suspects, count);
        confirm_subjects(probe, registry, suspects, count);
    }
    watches_end(&probe->watches, suspects, count);
    probe_forget(probe);
    memcpy(probe->last_subjects, last_subjects, sizeof(last_subjects)); /* the turns of all go on as before */
}

uint64_t evidence_sockets_cut_count(const struct probe *probe)
{
    return sockets_cut_count(probe->sockets);
}

uint64_t evidence_ends_cut_count(const struct probe *probe)
{
    return probe->ends_cut_count;
}
