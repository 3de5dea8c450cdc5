/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.c - the set of cases, merged with the suspects of each scan; episodes and their publication. Pure. See case.h.
 */
#include "cases/case.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases/snapshot.h"
#include "util/array.h"
#include "util/search.h"
#include "work/jobs.h"

struct cases {
    struct work *work;
    uint64_t hysteresis_ns;
    uint32_t unexamined_scans;
    struct stall_case **items;
    size_t count;
    size_t capacity;
    struct case_report *reports;
    size_t report_capacity;
    uint64_t last_episode;
    struct cases_counters counters;
};

struct cases *cases_new(struct work *work, uint64_t hysteresis_ns)
{
    struct cases *cases = calloc(1, sizeof(*cases));

    if (cases != NULL) {
        cases->work = work;
        cases_configure(cases, hysteresis_ns, EPISODE_UNEXAMINED_SCANS);
    }
    return cases;
}

void case_forget_evidence(struct stall_case *stall)
{
    kernel_facts_unref(stall->kernel);
    stall->kernel = NULL;
    stall->first = stall->last = stall->steady = (struct kernel_times){0};
    stall->decoded_mono_ns = stall->examined_mono_ns = 0;
    stall->wait = WAIT_UNKNOWN;
    stall->lock = (struct lock_wait){0};
    stall->doubted = stall->end_cut = false;
    stall->left_count = 0;
}

static void case_free(struct cases *cases, struct stall_case *stall)
{
    work_give(cases->work, stall->user, WORK_STALLS, 1);
    if (stall->episode.number != 0 && stall->episode.stage != EPISODE_NONE)
        work_give(cases->work, stall->user, WORK_EPISODES, 1);
    case_forget_evidence(stall);
    item_unref(stall->item);
    event_unref(stall->episode.begin);
    free(stall);
}

void cases_free(struct cases *cases)
{
    if (cases == NULL)
        return;
    for (size_t i = 0; i < cases->count; i++)
        case_free(cases, cases->items[i]);
    free(cases->items);
    free(cases->reports);
    free(cases);
}

void cases_configure(struct cases *cases, uint64_t hysteresis_ns, uint32_t unexamined_scans)
{
    cases->hysteresis_ns = hysteresis_ns;
    cases->unexamined_scans = unexamined_scans;
}

void cases_set_last_episode(struct cases *cases, uint64_t number)
{
    if (number > cases->last_episode)
        cases->last_episode = number;
}

/* The set ---------------------------------------------------------------------------------------------------------- */

struct key {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
};

static int compare_keys(struct key a, struct key b)
{
    return search_order_then(search_order_pair(a.ring, a.slot, b.ring, b.slot),
                             search_order(a.generation, b.generation));
}

static struct key key_of(const struct stall_case *stall)
{
    return (struct key){stall->ring, stall->slot, stall->generation};
}

static int compare_item(const void *key, const void *item)
{
    return compare_keys(*(const struct key *)key, key_of(*(struct stall_case *const *)item));
}

struct stall_case *const *cases_all(const struct cases *cases, size_t *ret_count)
{
    *ret_count = cases->count;
    return cases->items;
}

struct stall_case *cases_find(const struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation)
{
    const struct key key = {ring, slot, generation};
    size_t i = search_equal(&key, cases->items, cases->count, sizeof(struct stall_case *), compare_item);

    return i < cases->count ? cases->items[i] : NULL;
}

/* Returns NULL if out of memory, or if the user has no quota for another case. */
static struct stall_case *case_new(struct cases *cases, struct key key, uint32_t user)
{
    struct stall_case *stall;

    if (!work_take(cases->work, user, WORK_STALLS, 1))
        return NULL;
    stall = calloc(1, sizeof(*stall));
    if (stall == NULL) {
        work_give(cases->work, user, WORK_STALLS, 1);
        return NULL;
    }
    stall->ring = key.ring;
    stall->slot = key.slot;
    stall->generation = key.generation;
    stall->user = user;
    return stall;
}

/* If the ring was not read, the fields of its last reading are kept. */
static void update_suspect(struct stall_case *stall, const struct detector_suspect *suspect)
{
    const uint32_t tid = stall->suspect.tid;
    const uint16_t process = stall->suspect.process;
    const uint8_t call = stall->suspect.call, name_version = stall->suspect.name_version;

    stall->suspect = *suspect;
    if (suspect->unread) {
        stall->suspect.tid = tid;
        stall->suspect.process = process;
        stall->suspect.call = call;
        stall->suspect.name_version = name_version;
    }
}

/* The id is a suspect on this scan. */
static void case_renew(struct stall_case *stall, const struct detector_suspect *suspect)
{
    if (stall->suspect.progress != suspect->progress || (!suspect->unread && stall->suspect.tid != suspect->tid))
        case_forget_evidence(stall);
    if (stall->episode.stage == EPISODE_NONE) { /* the previous episode is over and published */
        event_unref(stall->episode.begin);
        stall->episode = (struct episode){0};
    }
    stall->evidence = (struct evidence){0};
    stall->is_suspect = true;
    stall->is_opened = false;
    update_suspect(stall, suspect);
}

/* Whether a case that is no suspect can be freed. */
static bool case_is_over(const struct stall_case *stall)
{
    return !stall->is_suspect && !stall->is_opened && stall->episode.stage == EPISODE_NONE;
}

/* Keeps or frees a case whose id is no suspect on this scan. */
static void keep_or_free(struct cases *cases, struct stall_case *stall, struct stall_case **items, size_t *count)
{
    stall->is_suspect = false;
    if (case_is_over(stall))
        case_free(cases, stall);
    else
        items[(*count)++] = stall;
}

int cases_begin(struct cases *cases, const struct detector_suspect *suspects, size_t count,
                uint32_t (*user_of)(void *context, uint32_t ring), void *context)
{
    size_t kept = 0, at = 0, of_ring_count = 0, capacity = 0;
    struct stall_case **items = NULL;
    uint32_t ring = 0, user = 0;

    if (!ARRAY_RESERVE(items, capacity, cases->count + count)) {
        for (size_t i = 0; i < cases->count; i++) {
            cases->items[i]->is_suspect = false;
            cases->items[i]->evidence = (struct evidence){0};
        }
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct key key = {suspects[i].ring, suspects[i].slot, suspects[i].generation};
        struct stall_case *stall = NULL;

        if (i == 0 || ring != key.ring) {
            ring = key.ring;
            user = user_of(context, ring);
            of_ring_count = 0;
        }
        while (at < cases->count && compare_keys(key_of(cases->items[at]), key) < 0)
            keep_or_free(cases, cases->items[at++], items, &kept);
        if (at < cases->count && compare_keys(key_of(cases->items[at]), key) == 0) {
            stall = cases->items[at++];
        } else if (suspects[i].unread) {
            continue; /* nothing is known about its thread */
        } else if (of_ring_count < CASES_PER_RING_MAX) {
            stall = case_new(cases, key, user);
        } else {
            work_refuse(cases->work, user, WORK_STALLS, 1);
        }
        if (stall == NULL)
            continue;
        of_ring_count++;
        case_renew(stall, &suspects[i]);
        items[kept++] = stall;
    }
    while (at < cases->count)
        keep_or_free(cases, cases->items[at++], items, &kept);
    free(cases->items);
    cases->items = items;
    cases->count = kept;
    cases->capacity = capacity;
    ARRAY_TRIM(cases->items, cases->capacity, kept);
    return 0;
}

/*
 * Returns the case of a suspect, or NULL if it has none. *at advances up to that case: suspects and cases have the same
 * order.
 */
static struct stall_case *next_case(const struct cases *cases, size_t *at, const struct detector_suspect *suspect)
{
    const struct key key = {suspect->ring, suspect->slot, suspect->generation};
    int order = -1;

    while (*at < cases->count && (order = compare_keys(key_of(cases->items[*at]), key)) < 0)
        (*at)++;
    return *at < cases->count && order == 0 ? cases->items[*at] : NULL;
}

/* Verdicts --------------------------------------------------------------------------------------------------------- */

static bool stays_idle(const struct evidence *evidence, struct verdict verdict)
{
    if (verdict.state == ID_RUNNING)
        return evidence->lock.holder == HOLDER_SOUGHT;
    return verdict.cause == CAUSE_BLOCKED && (!evidence->lock.known || evidence->lock.holder == HOLDER_RUNS);
}

/* It was just woken in the call that it is in, or no budget was left to find the holder of its lock. */
static bool stays_stalled(const struct evidence *evidence, struct verdict verdict)
{
    if (verdict.state == ID_RUNNING)
        return evidence->call != RIP_CALL_OUTSIDE;
    return verdict.state == ID_STALLED && verdict.cause == CAUSE_UNKNOWN;
}

/*
 * A suspect that was not examined keeps the verdict of the last scan. So does one whose evidence says nothing: an
 * earlier look at the same freeze said more. A deadlock is reported only while it is seen. A thread that idly waits for
 * a lock that idle workers hand over stays idle while one of them works, or while it is not known which.
 */
static struct verdict judge(const struct stall_case *stall, const struct detector_suspect *suspect)
{
    const struct verdict before = {suspect->state, suspect->cause};
    struct verdict verdict;

    if (stall == NULL || !stall->evidence.examined)
        return cause_unexamined(suspect);
    verdict = cause_judge(&stall->evidence);
    if (before.state == ID_IDLE && before.cause == CAUSE_DECLARED && stays_idle(&stall->evidence, verdict))
        return before;
    if (before.state == ID_STALLED && before.cause != CAUSE_NONE && before.cause != CAUSE_DEADLOCK &&
        stays_stalled(&stall->evidence, verdict))
        return before;
    return verdict;
}

void cases_judge(const struct cases *cases, struct detector_suspect *suspects, size_t count)
{
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        suspects[i].verdict = judge(next_case(cases, &at, &suspects[i]), &suspects[i]);
}

/* Episodes --------------------------------------------------------------------------------------------------------- */

/* The id is stalled on this scan. */
static void episode_stalls(struct episode *episode, const struct detector_suspect *suspect, uint64_t now_mono_ns)
{
    const bool continues = episode->stage == EPISODE_OPEN;

    if (episode->stage == EPISODE_NONE)
        *episode = (struct episode){
            .frozen_mono_ns = now_mono_ns > suspect->frozen_for_ns ? now_mono_ns - suspect->frozen_for_ns : 0,
            .begun_mono_ns = now_mono_ns,
            .progress = suspect->progress,
            .moved_after_mono_ns = suspect->frozen_for_max_ns <= now_mono_ns ? now_mono_ns - suspect->frozen_for_max_ns
                                                                             : DETECTOR_UNKNOWN_NS,
        };
    episode->stage = EPISODE_OPEN;
    episode->stall_count += !continues;
    if (!continues || episode->number == 0)
        episode->cause = suspect->cause;
    episode->unexamined_count += suspect->cause == CAUSE_NONE;
}

/* Whether the thread only sleeps as it announced, and did so all the time: this is listed, but no event. */
static bool sleeps_as_announced(const struct stall_case *stall)
{
    const struct detector_suspect *suspect = &stall->suspect;

    return stall->episode.stage != EPISODE_OPEN && suspect->cause == CAUSE_SLEEPING && suspect->call == RIP_CALL_SLEEP;
}

static void episode_ends(struct episode *episode, const struct detector_event *event, uint64_t now_mono_ns)
{
    if (episode->stage == EPISODE_OPEN) {
        episode->stage = EPISODE_ENDING;
        episode->moved_mono_ns = now_mono_ns;
        episode->reason = event->kind;
        episode->cause = event->cause;
    }
    if (episode->stage == EPISODE_ENDING && event->kind == DETECTOR_GONE)
        episode->stage = EPISODE_OVER;
}

void cases_end(struct cases *cases, const struct detector_update *update, uint64_t now_mono_ns)
{
    size_t at = 0;

    for (size_t i = 0; i < update->event_count; i++) {
        const struct detector_event *event = &update->events[i];
        struct stall_case *stall = cases_find(cases, event->ring, event->slot, event->generation);

        if (stall == NULL)
            cases->counters.suppressed_count += event->kind == DETECTOR_STALLED;
        else if (event->kind != DETECTOR_STALLED)
            episode_ends(&stall->episode, event, now_mono_ns);
    }
    for (size_t i = 0; i < update->suspect_count; i++) {
        const struct detector_suspect *suspect = &update->suspects[i];
        struct stall_case *stall = next_case(cases, &at, suspect);

        if (stall == NULL)
            continue;
        update_suspect(stall, suspect);
        if (suspect->state == ID_STALLED && !sleeps_as_announced(stall))
            episode_stalls(&stall->episode, suspect, now_mono_ns);
    }
    for (size_t i = 0; i < cases->count; i++) {
        struct episode *episode = &cases->items[i]->episode;

        if (episode->stage == EPISODE_ENDING && now_mono_ns - episode->moved_mono_ns >= cases->hysteresis_ns)
            episode->stage = EPISODE_OVER;
    }
}

void cases_note_exits(struct cases *cases, uint64_t now_wall_ns)
{
    for (size_t i = 0; i < cases->count; i++) {
        struct stall_case *stall = cases->items[i];

        if (!stall->is_suspect || stall->suspect.unread)
            continue;
        if (stall->suspect.state != ID_EXITED) {
            stall->lived_wall_ns = now_wall_ns;
            stall->exited_wall_ns = 0;
        } else if (stall->exited_wall_ns == 0) {
            stall->exited_wall_ns = now_wall_ns;
        }
    }
}

/* Returns the case of that key, made if there is none. Returns NULL if out of memory or if the user has no quota. */
static struct stall_case *find_or_insert(struct cases *cases, struct key key, uint32_t user)
{
    size_t at = search_first(&key, cases->items, cases->count, sizeof(struct stall_case *), compare_item);
    struct stall_case *stall = at < cases->count ? cases->items[at] : NULL;

    if (stall != NULL && compare_keys(key_of(stall), key) == 0)
        return stall;
    if (!ARRAY_GROW(cases->items, cases->count, cases->capacity))
        return NULL;
    stall = case_new(cases, key, user);
    if (stall == NULL)
        return NULL;
    ARRAY_OPEN(cases->items, cases->count, at);
    cases->items[at] = stall;
    return stall;
}

int cases_open(struct cases *cases, const struct detector_suspect *thread, uint32_t user)
{
    const struct key key = {thread->ring, thread->slot, thread->generation};
    struct stall_case *stall = find_or_insert(cases, key, user);

    if (stall == NULL)
        return -ENOMEM;
    if (stall->is_suspect)
        return 0;
    if (!stall->is_opened || stall->suspect.progress != thread->progress || stall->suspect.tid != thread->tid)
        case_forget_evidence(stall);
    stall->is_opened = true;
    stall->evidence = (struct evidence){0};
    stall->suspect = *thread;
    return 0;
}

void cases_close(struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation)
{
    struct stall_case *stall = cases_find(cases, ring, slot, generation);

    if (stall == NULL || !stall->is_opened)
        return;
    stall->is_opened = false; /* cases_begin() frees it */
    case_forget_evidence(stall);
}

int cases_adopt(struct cases *cases, uint32_t ring, uint32_t slot, uint32_t generation, uint32_t user,
                const struct episode *episode)
{
    struct stall_case *stall = find_or_insert(cases, (struct key){ring, slot, generation}, user);

    if (stall == NULL)
        return -ENOMEM;
    if (stall->episode.stage != EPISODE_NONE)
        return -EEXIST;
    /* The end is published even if the user is over quota. */
    (void)work_take(cases->work, stall->user, WORK_EPISODES, 1);
    stall->episode = *episode;
    stall->episode.stage = EPISODE_OPEN;
    stall->episode.begin = episode->begin != NULL ? event_ref(episode->begin) : NULL;
    cases_set_last_episode(cases, episode->number);
    return 0;
}

/* Publication ------------------------------------------------------------------------------------------------------ */

/*
 * BELATED: begin and end together. When a job finds no quota, all further jobs of the same user are dropped for this
 * scan.
 */
enum { CLASS_END, CLASS_BELATED, CLASS_BEGIN };

static uint16_t class_of(const struct episode *episode)
{
    if (episode->stage == EPISODE_OPEN)
        return CLASS_BEGIN;
    return episode->number != 0 ? CLASS_END : CLASS_BELATED;
}

/* Takes the quota for a publication. Returns false if the user has none. */
static bool take_quota(struct work *work, uint32_t user, uint16_t class)
{
    if (!work_take(work, user, WORK_EVENTS, class == CLASS_BELATED ? 2 : 1))
        return false;
    if (class == CLASS_END)
        work_give(work, user, WORK_EPISODES, 1);
    if (class != CLASS_BEGIN || work_take(work, user, WORK_EPISODES, 1))
        return true;
    work_give(work, user, WORK_EVENTS, 1);
    return false;
}

/* Returns how many scans a begin waits for its evidence, in the ring whose first case has the index `first`. */
static uint32_t begin_delay_scans(const struct cases *cases, size_t first)
{
    if (cases->unexamined_scans == 0)
        return 0;
    for (size_t i = first; i < cases->count && cases->items[i]->ring == cases->items[first]->ring; i++)
        if (cases->items[i]->episode.stage == EPISODE_OPEN && cases->items[i]->episode.cause != CAUSE_NONE)
            return EPISODE_UNEXAMINED_BEHIND_SCANS;
    return cases->unexamined_scans;
}

static bool is_to_publish(const struct episode *episode, uint32_t delay_scans)
{
    if (episode->stage != EPISODE_OPEN || episode->number != 0)
        return episode->stage == EPISODE_OVER;
    return episode->cause != CAUSE_NONE || episode->unexamined_count > delay_scans;
}

/* Queues everything to publish. Returns how many jobs that is. Begins are ordered by their index within the ring. */
static size_t queue_publications(struct cases *cases)
{
    size_t pushed = 0, of_ring_count = 0;
    uint32_t delay_scans = 0, ring = 0;

    work_clear(cases->work);
    work_reset(cases->work, WORK_BELATED);
    for (size_t i = 0; i < cases->count; i++) {
        struct episode *episode = &cases->items[i]->episode;

        if (i == 0 || cases->items[i - 1]->ring != cases->items[i]->ring)
            delay_scans = begin_delay_scans(cases, i);
        if (!is_to_publish(episode, delay_scans))
            continue;
        if (class_of(episode) == CLASS_BELATED && !work_take(cases->work, cases->items[i]->user, WORK_BELATED, 1)) {
            episode->stage = EPISODE_NONE; /* cases of a burst that is over must not use memory for hours */
            cases->counters.suppressed_count++;
            continue;
        }
        of_ring_count = pushed != 0 && ring == cases->items[i]->ring ? of_ring_count + 1 : 0;
        ring = cases->items[i]->ring;
        (void)work_push(cases->work, cases->items[i]->user,
                        (struct work_job){
                            .order = episode->stage == EPISODE_OVER ? episode->moved_mono_ns : of_ring_count,
                            .subject = (uint32_t)i,
                            .class = class_of(episode),
                        }); /* if out of memory, it waits for the next scan */
        pushed++;
    }
    return pushed;
}

static void publish(struct cases *cases, struct stall_case *stall, uint16_t class, size_t *count)
{
    if (class != CLASS_END) {
        stall->episode.number = ++cases->last_episode;
        cases->reports[(*count)++] = (struct case_report){EVENT_BEGIN, stall};
    }
    if (class != CLASS_BEGIN) {
        cases->reports[(*count)++] = (struct case_report){EVENT_END, stall};
        stall->episode.stage = EPISODE_NONE;
    }
    cases->counters.belated_count += class == CLASS_BELATED;
}

size_t cases_publish(struct cases *cases, const struct case_report **ret_reports)
{
    size_t count = 0;
    struct work_job job;
    uint32_t user;

    work_leak(cases->work, WORK_EVENTS, WORK_EVENTS_PER_SCAN);
    cases->counters.waiting_count = queue_publications(cases);
    if (!ARRAY_RESERVE(cases->reports, cases->report_capacity, 2 * cases->count))
        return 0; /* all wait for the next scan */
    *ret_reports = cases->reports;
    while (work_next(cases->work, UINT64_MAX, CLASS_BEGIN, &job, &user)) {
        if (take_quota(cases->work, user, job.class)) {
            publish(cases, cases->items[job.subject], job.class, &count);
            cases->counters.waiting_count--;
        } else {
            work_drop(cases->work, user);
        }
    }
    return count;
}

void cases_count(const struct cases *cases, struct cases_counters *ret_counters)
{
    *ret_counters = cases->counters;
    ret_counters->count = cases->count;
    for (size_t i = 0; i < cases->count; i++)
        ret_counters->open_count += cases->items[i]->episode.stage != EPISODE_NONE;
}
