/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - see capture.h. */
#include "app/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/log.h"
#include "os/clock.h"
#include "os/pidfd.h"
#include "record/captures.h"
#include "ring/remains.h"
#include "view/document_capture.h"

/* A process that has ended, until its exit status is known. */
struct pending {
    struct process_end end;
    uint64_t until_mono_ns;
    uint32_t user;
    uint32_t owner;
    char *ring_name;
    struct snapshot *moment; /* owned reference, or NULL */
    struct remains remains;
    struct capture_facts facts;
};

struct capturing {
    struct registry *registry;
    struct work *work;
    struct captures *captures;
    struct pending pending[CAPTURE_PENDING_MAX];
    size_t count;
    uint64_t failed_count; /* as last logged */
};

int capturing_open(struct capturing **ret_capturing, const char *state_directory, struct registry *registry,
                   struct work *work)
{
    struct capturing *capturing = calloc(1, sizeof(*capturing));
    char *problem = NULL;
    int error = capturing != NULL ? captures_open(&capturing->captures, state_directory, &problem) : -ENOMEM;

    if (error != 0) {
        free(capturing);
        return error;
    }
    if (problem != NULL)
        log_line(LOG_LEVEL_WARNING, "%s: processes that end are not captured", problem);
    free(problem);
    capturing->registry = registry;
    capturing->work = work;
    *ret_capturing = capturing;
    return 0;
}

static void pending_done(struct pending *pending)
{
    if (pending->end.descriptor >= 0)
        close(pending->end.descriptor);
    free(pending->ring_name);
    free(pending->remains.bytes);
    snapshot_unref(pending->moment);
    process_facts_unref(pending->facts.process);
}

/* Writing ---------------------------------------------------------------------------------------------------------- */

static void set_status(struct pending *pending, int status, char name[32])
{
    struct capture_facts *facts = &pending->facts;
    const char *abbreviation;

    if (WIFEXITED(status)) {
        facts->end = CAPTURE_END_EXITED;
        facts->exit_status = (uint32_t)WEXITSTATUS(status);
        return;
    }
    facts->end = CAPTURE_END_KILLED;
    facts->signal_number = (uint32_t)WTERMSIG(status);
    facts->core_dumped = WCOREDUMP(status);
    abbreviation = sigabbrev_np(WTERMSIG(status));
    if (abbreviation == NULL)
        return;
    snprintf(name, 32, "SIG%s", abbreviation);
    facts->signal = name;
}

static void report(const struct pending *pending)
{
    const struct capture_facts *facts = &pending->facts;
    char quoted[LOG_QUOTED_BYTES];

    log_line(LOG_LEVEL_INFO, "captured: ring=%s pid=%u how=%s signal=%s ids=%u",
             log_quote_text(pending->ring_name, quoted), facts->process->pid, capture_end_name(facts->end),
             facts->signal != NULL ? facts->signal : "-", facts->id_count);
}

/* Hands the capture over to the writer thread. status is NULL if it is not known. */
static void finish(struct capturing *capturing, struct pending *pending, const int *status)
{
    const struct capture_label label = {pending->user, pending->owner, pending->ring_name, pending->facts.ended_wall_ns,
                                        pending->facts.end == CAPTURE_END_EXECUTED};
    struct capture capture = {0};
    char name[32];

    if (status != NULL)
        set_status(pending, *status, name);
    if ((!pending->end.exiting || pending->facts.end == CAPTURE_END_KILLED) &&
        document_capture(&pending->facts, pending->moment, &capture.document, &capture.document_bytes) == 0) {
        capture.ring = pending->remains.bytes;
        capture.ring_bytes = pending->remains.byte_count;
        pending->remains.bytes = NULL;
        if (captures_add(capturing->captures, &label, &capture))
            report(pending);
    }
    pending_done(pending);
}

/*
 * Finishes or drops the capture when everything about its end is known or its timeout has expired. Returns false if it
 * stays pending.
 */
static bool try_finish(struct capturing *capturing, struct pending *pending, uint64_t now_mono_ns)
{
    const int descriptor = pending->end.descriptor;
    int status, result = -ENOTSUP;

    if (pending->end.open) {
        const enum registry_certainty certainty = registry_certainty(capturing->registry, &pending->end);

        if (certainty == CERTAINTY_NO)
            pending_done(pending);
        else if (certainty == CERTAINTY_YES)
            finish(capturing, pending, NULL);
        return certainty != CERTAINTY_LACKS;
    }
    if (descriptor >= 0)
        result = pidfd_status(descriptor, &status);
    if (result == -EAGAIN && now_mono_ns < pending->until_mono_ns)
        return false;
    finish(capturing, pending, result == 0 ? &status : NULL);
    return true;
}

void capturing_step(struct capturing *capturing, uint64_t now_mono_ns)
{
    size_t kept = 0;

    if (capturing == NULL)
        return;
    for (size_t i = 0; i < capturing->count; i++)
        if (!try_finish(capturing, &capturing->pending[i], now_mono_ns))
            capturing->pending[kept++] = capturing->pending[i];
    capturing->count = kept;
}

uint64_t capturing_wait_ns(const struct capturing *capturing)
{
    for (size_t i = 0; capturing != NULL && i < capturing->count; i++)
        if (!capturing->pending[i].end.open) /* the others depend on a scan */
            return CAPTURE_POLL_NS;
    return UINT64_MAX;
}

/* Taking ----------------------------------------------------------------------------------------------------------- */

/*
 * Returns the cost of a capture without its bytes, charged before anything is copied. It stands for time: one MiB for
 * the document, and some bytes per id for the search among all ids of the ring. There may be a million ids, most of
 * them of another process.
 */
static uint64_t cost_of(const struct ring *ring)
{
    return CAPTURE_COST_BYTES + ring->live_count * CAPTURE_ID_COST_BYTES;
}

/* Copies what the process left. Returns 0 or -errno. */
static int fill(struct capturing *capturing, const struct process_end *end, struct ring *ring, struct pending *pending)
{
    const uint64_t cost = cost_of(ring);
    int result;

    if (end->replaced && !work_has_room(capturing->work, ring->user, WORK_CAPTURE_BYTES, cost + CAPTURE_CRASH_BYTES)) {
        work_refuse(capturing->work, ring->user, WORK_CAPTURE_BYTES, 1);
        return -EDQUOT;
    }
    if (!work_take(capturing->work, ring->user, WORK_CAPTURE_BYTES, cost))
        return -EDQUOT;
    pending->facts.process = registry_process_facts(capturing->registry, ring, end->process);
    /* after its file is removed, another ring may use the name */
    pending->ring_name = strdup(ring->name != NULL && !ring->unlinked ? ring->name : ring->file_name);
    if (pending->facts.process == NULL || pending->ring_name == NULL)
        return -ENOMEM;
    result = remains_take(ring, end->process, &pending->remains);
    if (result == 0 && !work_take(capturing->work, ring->user, WORK_CAPTURE_BYTES, pending->remains.byte_count))
        result = -EDQUOT;
    pending->facts.ring_name = pending->ring_name;
    pending->facts.id_count = pending->remains.id_count;
    pending->facts.id_left_out_count = pending->remains.left_out_count;
    return result;
}

static struct pending *find_open(struct capturing *capturing, const struct process_end *end)
{
    for (size_t i = 0; i < capturing->count; i++) {
        struct pending *pending = &capturing->pending[i];

        if (pending->end.open && pending->end.ring == end->ring && pending->end.process == end->process &&
            pending->end.generation == end->generation)
            return pending;
    }
    return NULL;
}

/*
 * Applies an end that was only likely before. A process that executed another program may have ended since: its exit
 * status belongs to the new program, so nothing waits for it.
 */
static void confirm_end(struct pending *pending, const struct process_end *end)
{
    const bool replaced = pending->end.replaced;

    pending->end = *end;
    pending->until_mono_ns = clock_mono_ns() + CAPTURE_STATUS_NS;
    if (!replaced) {
        pending->facts.ended_wall_ns = clock_wall_ns();
        return;
    }
    if (end->descriptor >= 0)
        close(end->descriptor);
    pending->end.descriptor = -1;
    pending->end.exiting = false;
}

/* Writes the oldest captures with what is known so far, because a process may take arbitrarily long to die. */
static void make_room(struct capturing *capturing, size_t bytes)
{
    for (size_t i = 0; i < capturing->count; i++)
        bytes += capturing->pending[i].remains.byte_count;
    while (capturing->count == CAPTURE_PENDING_MAX || (capturing->count != 0 && bytes > CAPTURE_PENDING_BYTES)) {
        bytes -= capturing->pending[0].remains.byte_count;
        finish(capturing, &capturing->pending[0], NULL);
        memmove(&capturing->pending[0], &capturing->pending[1], (--capturing->count) * sizeof(capturing->pending[0]));
    }
}

static void take(struct capturing *capturing, const struct process_end *end, struct snapshot *moment)
{
    struct ring *ring = registry_find(capturing->registry, end->ring);
    struct pending pending = {
        .end = *end,
        .until_mono_ns = clock_mono_ns() + CAPTURE_STATUS_NS,
        .user = ring->user,
        .owner = mapping_owner(&ring->mapping),
        .moment = snapshot_ref(moment),
        .facts = {.ring = end->ring,
                  .ended_wall_ns = clock_wall_ns(),
                  .end = end->replaced ? CAPTURE_END_EXECUTED : CAPTURE_END_UNKNOWN},
    };

    if (fill(capturing, end, ring, &pending) != 0) {
        pending_done(&pending);
        return;
    }
    make_room(capturing, pending.remains.byte_count);
    capturing->pending[capturing->count++] = pending;
}

void capturing_take(struct capturing *capturing, struct snapshot *moment)
{
    struct process_end end;

    if (capturing == NULL)
        return;
    while (registry_next_end(capturing->registry, &end)) {
        struct pending *pending = find_open(capturing, &end);

        if (pending != NULL)
            confirm_end(pending, &end);
        else
            take(capturing, &end, moment);
    }
}

/* Counters and shutdown -------------------------------------------------------------------------------------------- */

void capturing_count(struct capturing *capturing, struct health *health)
{
    struct captures_state state;

    if (capturing == NULL)
        return;
    captures_state(capturing->captures, &state);
    health->capture_count = state.written_count;
    health->capture_error_count = state.failed_count;
    if (state.failed_count > capturing->failed_count)
        log_line(LOG_LEVEL_WARNING, "captures that could not be written: count=%llu: %s",
                 (unsigned long long)(state.failed_count - capturing->failed_count),
                 state.error != 0 ? strerror(-state.error) : "too many wait for the disk");
    capturing->failed_count = state.failed_count;
}

void capturing_close(struct capturing *capturing)
{
    if (capturing == NULL)
        return;
    for (size_t i = 0; i < capturing->count; i++)
        finish(capturing, &capturing->pending[i], NULL);
    captures_close(capturing->captures);
    free(capturing);
}
