/* SPDX-License-Identifier: Apache-2.0 */
/* listing.c - see listing.h. */
#include "app/listing.h"

#include <errno.h>
#include <stdlib.h>

#include "os/clock.h"
#include "ring/describe.h"
#include "util/array.h"
#include "view/event_make.h"
#include "work/jobs.h"

static bool is_listed(const struct stall_case *stall)
{
    return stall->is_suspect && stall->suspect.state == ID_STALLED;
}

/* Returns the process facts that a new description would refer to; NULL if they have not been read yet. */
static const struct process_facts *facts_now(struct registry *registry, const struct stall_case *stall)
{
    struct ring *ring = registry_find(registry, stall->ring);
    const struct ring_process *process;

    if (ring == NULL || stall->suspect.process >= ring->process_count)
        return NULL;
    process = &ring->processes[stall->suspect.process];
    return process->wants_modules ? NULL : process->facts;
}

/* An interpreter moves the location in a loop without counting it as progress. */
static bool has_moved(struct registry *registry, const struct stall_case *stall)
{
    const struct item *item = stall->item;
    struct ring *ring = registry_find(registry, stall->ring);
    struct rip_last_info last;

    return ring != NULL && item->process != NULL && item->process->scripts != NULL && item->entry_count != 0 &&
           mapping_last(&ring->mapping, stall->slot, &last) == 0 && last.entry.address != item->entries[0].address;
}

/* Also returns false if the thread id or the modules were missing when the case was described. */
static bool is_described(struct registry *registry, const struct stall_case *stall)
{
    const struct item *item = stall->item;

    return item != NULL && stall->item_progress == stall->suspect.progress && stall->item_tid == stall->suspect.tid &&
           stall->item_name_version == stall->suspect.name_version &&
           stall->item_process == facts_now(registry, stall) && (item->tid != 0 || stall->suspect.tid == 0) &&
           (item->process == NULL || !item->process->without_modules) && !has_moved(registry, stall);
}

static void describe(const struct listing *listing, struct stall_case *stall)
{
    struct item *item = describe_id(listing->registry, stall->ring, stall->slot, stall->generation);

    if (item == NULL)
        return; /* the id has gone or memory is short: the next scan tries again */
    item_unref(stall->item);
    stall->item = item;
    stall->item_progress = stall->suspect.progress;
    stall->item_tid = stall->suspect.tid;
    stall->item_name_version = stall->suspect.name_version;
    stall->item_process = facts_now(listing->registry, stall);
    stall->names_asked = false;
}

void listing_describe(const struct listing *listing)
{
    const uint64_t deadline_mono_ns = clock_mono_ns() + listing->budget_ns;
    uint64_t now_mono_ns = 0;
    struct work_job job;
    size_t count, of_ring_count = 0;
    uint32_t user;
    struct stall_case *const *stalls = cases_all(listing->cases, &count);

    for (size_t i = 0; i < count; i++) { /* the rings of a user take turns */
        of_ring_count = i != 0 && stalls[i - 1]->ring == stalls[i]->ring ? of_ring_count + 1 : 0;
        if (!is_listed(stalls[i]) || is_described(listing->registry, stalls[i]))
            continue;
        job = (struct work_job){.subject = (uint32_t)i, .class = stalls[i]->item != NULL, .order = of_ring_count};
        (void)work_push(listing->work, stalls[i]->user, job);
    }
    while (now_mono_ns < deadline_mono_ns && work_next(listing->work, 0, UINT16_MAX, &job, &user)) {
        const uint64_t began_mono_ns = clock_mono_ns();

        describe(listing, stalls[job.subject]);
        now_mono_ns = clock_mono_ns();
        work_spend(listing->work, user, now_mono_ns - began_mono_ns);
    }
    work_refuse_queued(listing->work, WORK_STALLS, UINT16_MAX);
}

static int list_stalls(const struct listing *listing, struct snapshot *snapshot)
{
    size_t count, listed = 0;
    struct stall_case *const *stalls = cases_all(listing->cases, &count);

    for (size_t i = 0; i < count; i++)
        listed += is_listed(stalls[i]) && stalls[i]->item != NULL;
    snapshot->stalls = malloc((listed != 0 ? listed : 1) * sizeof(*snapshot->stalls));
    if (snapshot->stalls == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (!is_listed(stalls[i]) || stalls[i]->item == NULL)
            continue;
        item_ref(stalls[i]->item);
        kernel_facts_ref(stalls[i]->kernel);
        snapshot->stalls[snapshot->stall_count++] = sighting_of_case(stalls[i], snapshot);
    }
    snapshot_sort(snapshot);
    return 0;
}

/* Adds what the account's user was refused. Returns 0 or -ENOMEM. */
static int list_refusals(struct snapshot *snapshot, size_t *capacity, const struct work_account *account)
{
    for (size_t limit = 0; limit < WORK_LIMIT_COUNT; limit++) {
        if (account->refused[limit] == 0)
            continue;
        if (!ARRAY_GROW(snapshot->limited, snapshot->limited_count, *capacity))
            return -ENOMEM;
        snapshot->limited[snapshot->limited_count++] =
            (struct limited_user){account->user, work_limit_name((enum work_limit)limit), account->refused[limit]};
    }
    return 0;
}

/* From the accounts of the scanner and of the names thread. */
static int list_limited(const struct listing *listing, struct snapshot *snapshot)
{
    struct work_account account;
    size_t capacity = 0;
    int error = 0;

    for (size_t i = 0; error == 0 && work_account(listing->work, i, &account); i++)
        error = list_refusals(snapshot, &capacity, &account);
    for (size_t i = 0; error == 0 && listing->symbols != NULL && symbols_account(listing->symbols, i, &account); i++)
        error = list_refusals(snapshot, &capacity, &account);
    return error;
}

int listing_fill(const struct listing *listing, const struct detector_update *update, struct snapshot *snapshot)
{
    int result = list_stalls(listing, snapshot), error;

    snapshot->stalls_left_out_count = update->counts[ID_STALLED] - snapshot->stall_count;
    error = registry_facts(listing->registry, &snapshot->rings, &snapshot->ring_count);
    for (size_t i = 0; i < snapshot->ring_count; i++)
        detector_ring_counts(listing->detector, snapshot->rings[i].serial, snapshot->rings[i].counts);
    result = error != 0 ? error : result;
    error = list_limited(listing, snapshot);
    return error != 0 ? error : result;
}
