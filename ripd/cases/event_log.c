/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_log.c - the life of an episode. Pure.
 *
 *            stalled                 moved or stopped               hysteresis time is over
 *   (none) -----------> open (fresh) ----------------> ending ------------------------------> owed ---> reported
 *                         |    ^                         |                                     ^
 *                         |    +-------------------------+                                     |
 *                         |         stalled again                                              |
 *                         +--------------------------------------------------------------------+
 *                                                       gone
 *
 * A step takes in all events, then lets the ends that have come of age pass, then reports: first what is owed, then
 * what has begun. What is owed and exceeds the limit is reported by later steps, in order; a begin that exceeds it
 * is never reported, nor is its end, and it is counted.
 *
 * Guarantees, besides those of event_log.h
 *   F. A step allocates only for new episodes; one that there is no memory for is counted as suppressed.
 *   G. Time is linear in the events of the step and the reports it gives (times the rings that have open episodes, at
 *      worst), whatever the number of open episodes.
 */
#include "cases/event_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases/episode.h"
#include "util/array.h"
#include "util/search.h"

/* Episodes of one ring whose begin has been reported and whose end has not; at least one. */
struct told {
    uint32_t ring;
    uint32_t count;
};

struct event_log {
    uint64_t hysteresis_ns;
    size_t limit;
    size_t limit_max; /* of the array of reports */
    struct episode_set open;
    struct episode_list fresh;  /* open, begun in this step */
    struct episode_list ending; /* open, in the order in which they moved */
    struct episode_list owed;   /* closed, end not reported yet */
    struct told *told;          /* in order of ring */
    size_t told_count;
    size_t told_capacity;
    uint64_t told_total;
    struct report *reports;
    size_t report_count;
    uint64_t last_number;
    uint64_t suppressed_count;
};

int event_log_new(struct event_log **ret_log, uint64_t hysteresis_ns, size_t limit, const struct hash_key *hash_key)
{
    struct event_log *log = calloc(1, sizeof *log);

    if (!log)
        return -ENOMEM;
    log->reports = calloc(limit ? limit : 1, sizeof *log->reports);
    if (!log->reports) {
        free(log);
        return -ENOMEM;
    }
    log->open.hash_key = *hash_key;
    log->hysteresis_ns = hysteresis_ns;
    log->limit = log->limit_max = limit;
    *ret_log = log;
    return 0;
}

void event_log_set_limit(struct event_log *log, size_t limit)
{
    log->limit = limit < log->limit_max ? limit : log->limit_max;
}

void event_log_set_hysteresis(struct event_log *log, uint64_t hysteresis_ns)
{
    log->hysteresis_ns = hysteresis_ns;
}

void event_log_set_next(struct event_log *log, uint64_t episode)
{
    if (episode > log->last_number + 1)
        log->last_number = episode - 1;
}

static int compare_ring(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct told *)item)->ring);
}

static size_t told_place(const struct event_log *log, uint32_t ring)
{
    return search_first(&ring, log->told, log->told_count, sizeof(*log->told), compare_ring);
}

/* False: no memory for another ring. */
static bool told_add(struct event_log *log, uint32_t ring)
{
    size_t place = told_place(log, ring);

    if (place == log->told_count || log->told[place].ring != ring) {
        struct told *longer = array_reserve(log->told, &log->told_capacity, log->told_count + 1, sizeof *longer);

        if (!longer)
            return false;
        log->told = longer;
        memmove(&longer[place + 1], &longer[place], (log->told_count - place) * sizeof *longer);
        longer[place] = (struct told){ring, 0};
        log->told_count++;
    }
    log->told[place].count++;
    log->told_total++;
    return true;
}

static void told_remove(struct event_log *log, uint32_t ring)
{
    size_t place = told_place(log, ring);

    log->told_total--;
    if (--log->told[place].count != 0)
        return;
    log->told_count--;
    memmove(&log->told[place], &log->told[place + 1], (log->told_count - place) * sizeof *log->told);
    log->told = array_trim(log->told, &log->told_capacity, log->told_count, sizeof *log->told);
}

/* A ring has at most as many as there is still room for: however many it has, another finds room. */
static bool told_has_room(const struct event_log *log, uint32_t ring)
{
    size_t place = told_place(log, ring);
    uint32_t count = place < log->told_count && log->told[place].ring == ring ? log->told[place].count : 0;

    return log->told_total < EVENT_LOG_TOLD_MAX && count < EVENT_LOG_TOLD_MAX - log->told_total;
}

int event_log_adopt(struct event_log *log, const struct episode_adoption *adoption)
{
    const struct episode_key key = {adoption->ring, adoption->slot, adoption->generation};
    struct episode *episode;

    if (episode_set_find(&log->open, key))
        return -EEXIST;
    if (!told_add(log, key.ring))
        return -ENOMEM;
    episode = episode_set_add(&log->open, key);
    if (!episode) {
        told_remove(log, key.ring);
        return -ENOMEM;
    }
    episode->number = adoption->episode;
    episode->frozen_mono_ns = adoption->frozen_mono_ns;
    episode->stall_count = adoption->stall_count;
    episode->cause = adoption->cause;
    event_log_set_next(log, adoption->episode + 1);
    return 0;
}

static void episode_free(struct episode *episode, void (*release)(void *tag))
{
    if (episode->tag && release)
        release(episode->tag);
    free(episode);
}

void event_log_free(struct event_log *log, void (*release)(void *tag))
{
    struct episode *next;

    if (!log)
        return;
    for (size_t i = 0; i < log->open.bucket_count; i++) {
        for (struct episode *episode = log->open.buckets[i]; episode; episode = next) {
            next = episode->chain;
            episode_free(episode, release);
        }
    }
    for (struct episode *episode = log->owed.first; episode; episode = next) {
        next = episode->next;
        episode_free(episode, release);
    }
    episode_set_done(&log->open);
    free(log->told);
    free(log->reports);
    free(log);
}

static struct episode_key key_of(const struct detector_event *event)
{
    return (struct episode_key){event->ring, event->slot, event->generation};
}

/* The episode is over: no new stall can join it. It is owed a report if its begin was reported. */
static void episode_close(struct event_log *log, struct episode *episode)
{
    episode_set_remove(&log->open, episode);
    if (episode->number)
        episode_list_append(&log->owed, episode);
    else
        free(episode);
}

static void on_stalled(struct event_log *log, uint64_t now_mono_ns, const struct detector_event *event)
{
    struct episode *episode = episode_set_find(&log->open, key_of(event));

    if (!episode) {
        episode = episode_set_add(&log->open, key_of(event));
        if (!episode) {
            log->suppressed_count++;
            return;
        }
        episode->frozen_mono_ns = now_mono_ns > event->frozen_for_ns ? now_mono_ns - event->frozen_for_ns : 0;
        episode->progress = event->progress;
        episode->moved_after_mono_ns = event->moved_after_mono_ns;
        episode->fresh = true;
        episode_list_append(&log->fresh, episode);
    } else if (episode->ending) {
        episode->ending = false;
        episode_list_remove(&log->ending, episode);
    } else {
        return; /* it has begun already */
    }
    episode->cause = event->cause;
    episode->stall_count++;
}

/* It began and ended in one step: nothing to report. */
static void withdraw(struct event_log *log, struct episode *episode)
{
    episode_list_remove(&log->fresh, episode);
    episode->fresh = false;
    log->suppressed_count++;
}

static void on_ended(struct event_log *log, uint64_t now_mono_ns, const struct detector_event *event)
{
    struct episode *episode = episode_set_find(&log->open, key_of(event));

    if (!episode || (episode->ending && event->kind != DETECTOR_GONE))
        return;
    if (episode->ending) {
        episode_list_remove(&log->ending, episode); /* it keeps the moment and the reason it had */
    } else {
        if (episode->fresh)
            withdraw(log, episode);
        episode->moved_mono_ns = now_mono_ns;
        episode->reason = event->kind;
        if (event->kind != DETECTOR_STOPPED)
            episode->cause = event->cause;
    }
    if (event->kind == DETECTOR_GONE) {
        episode_close(log, episode);
    } else {
        episode->ending = true;
        episode_list_append(&log->ending, episode);
    }
}

static void report_ends(struct event_log *log)
{
    struct episode *episode;

    while ((episode = log->owed.first) && log->report_count < log->limit) {
        log->reports[log->report_count++] = (struct report){
            .kind = REPORT_END,
            .reason = episode->reason,
            .ring = episode->key.ring,
            .slot = episode->key.slot,
            .generation = episode->key.generation,
            .episode = episode->number,
            .at_mono_ns = episode->moved_mono_ns,
            .lasted_ns = episode->moved_mono_ns - episode->frozen_mono_ns,
            .stall_count = episode->stall_count,
            .cause = episode->cause,
            .tag = episode->tag,
        };
        episode_list_remove(&log->owed, episode);
        told_remove(log, episode->key.ring);
        free(episode);
    }
}

/* Begins that each ring may report; they come ring by ring. */
static size_t begins_per_ring(const struct event_log *log)
{
    size_t room = log->limit > log->report_count ? log->limit - log->report_count : 0;
    size_t ring_count = 0, begin_count = 0;
    const struct episode *before = NULL;

    for (const struct episode *episode = log->fresh.first; episode; episode = episode->next) {
        ring_count += !before || before->key.ring != episode->key.ring;
        begin_count++;
        before = episode;
    }
    if (begin_count <= room || ring_count == 0)
        return begin_count;
    return room / ring_count ? room / ring_count : 1;
}

static void report_begins(struct event_log *log, uint64_t now_mono_ns)
{
    size_t share = begins_per_ring(log), begun = 0;
    struct episode *episode;
    uint32_t ring = 0;

    while ((episode = log->fresh.first)) {
        episode_list_remove(&log->fresh, episode);
        episode->fresh = false;
        begun = episode->key.ring == ring ? begun + 1 : 1;
        ring = episode->key.ring;
        if (log->report_count >= log->limit || begun > share || !told_has_room(log, ring) || !told_add(log, ring)) {
            log->suppressed_count++;
            continue;
        }
        episode->number = ++log->last_number;
        log->reports[log->report_count++] = (struct report){
            .kind = REPORT_BEGIN,
            .reason = DETECTOR_STALLED,
            .ring = episode->key.ring,
            .slot = episode->key.slot,
            .generation = episode->key.generation,
            .episode = episode->number,
            .at_mono_ns = now_mono_ns,
            .lasted_ns = now_mono_ns - episode->frozen_mono_ns,
            .progress = episode->progress,
            .moved_after_mono_ns = episode->moved_after_mono_ns,
            .stall_count = 1,
            .cause = episode->cause,
        };
    }
}

int event_log_step(struct event_log *log, uint64_t now_mono_ns, const struct detector_event *events, size_t count,
                   const struct report **ret_reports)
{
    struct episode *episode;

    log->report_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == DETECTOR_STALLED)
            on_stalled(log, now_mono_ns, &events[i]);
        else
            on_ended(log, now_mono_ns, &events[i]);
    }
    while ((episode = log->ending.first) && now_mono_ns - episode->moved_mono_ns >= log->hysteresis_ns) {
        episode_list_remove(&log->ending, episode);
        episode_close(log, episode);
    }
    report_ends(log);
    report_begins(log, now_mono_ns);
    *ret_reports = log->reports;
    return (int)log->report_count;
}

int event_log_tag(struct event_log *log, uint32_t ring, uint32_t slot, uint32_t generation, void *tag)
{
    struct episode *episode = episode_set_find(&log->open, (struct episode_key){ring, slot, generation});

    if (!episode || !episode->number)
        return -ENOENT;
    if (episode->tag)
        return -EEXIST;
    episode->tag = tag;
    return 0;
}

void *event_log_find_tag(const struct event_log *log, uint32_t ring, uint32_t slot, uint32_t generation)
{
    const struct episode *episode = episode_set_find(&log->open, (struct episode_key){ring, slot, generation});

    return episode ? episode->tag : NULL;
}

uint64_t event_log_open_count(const struct event_log *log)
{
    return log->open.count;
}

uint64_t event_log_suppressed_count(const struct event_log *log)
{
    return log->suppressed_count;
}
