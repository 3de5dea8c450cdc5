/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.c - matches rings of the previous run with rings of this one.
 *
 * A ring is identified by the random id in it, because files can be renamed. Copies of a file share the id: the one
 * that still has the old name is preferred.
 */
#include "app/restart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/search.h"

_Static_assert(sizeof(((struct rip_ring_info *)0)->ring_id) == EVENT_SUBJECT_ID_BYTES, "ring ids differ in size");

static const uint8_t unknown_id[EVENT_SUBJECT_ID_BYTES];

void restart_identify(const struct registry *registry, const struct ring *ring, const uint8_t boot_id[16],
                      struct event_subject *subject)
{
    memcpy(subject->boot_id, boot_id, sizeof(subject->boot_id));
    if (ring == NULL)
        return;
    memcpy(subject->ring_id, ring->info.ring_id, sizeof(subject->ring_id));
    registry_directory(registry, ring->directory, &subject->directory_device, &subject->directory_inode);
}

int restart_init(struct restart *restart, const struct event_open *open, size_t count)
{
    struct restart_episode *episodes = calloc(count != 0 ? count : 1, sizeof(*episodes));

    if (episodes == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        episodes[i] = (struct restart_episode){.begin = event_ref(open[i].begin), .subject = open[i].subject};
    *restart = (struct restart){.episodes = episodes, .count = count};
    return 0;
}

void restart_done(struct restart *restart)
{
    for (size_t i = 0; i < restart->count; i++)
        event_unref(restart->episodes[i].begin);
    free(restart->episodes);
    *restart = (struct restart){0};
}

static const struct ring *find_ring(struct ring *const *rings, size_t count, const struct restart_episode *episode)
{
    const struct ring *found = NULL;

    if (memcmp(episode->subject.ring_id, unknown_id, sizeof(unknown_id)) == 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(rings[i]->info.ring_id, episode->subject.ring_id, sizeof(unknown_id)) != 0)
            continue;
        if (rings[i]->name != NULL && strcmp(rings[i]->name, episode->begin->ring) == 0)
            return rings[i];
        if (found == NULL)
            found = rings[i];
    }
    return found;
}

/* Returns true if the ring's directory of that time is watched completely. */
static bool is_directory_watched(const struct registry *registry, const struct event_subject *subject)
{
    const uint64_t *hits = registry_health(registry)->limit_counts;
    uint64_t device, inode;

    if (hits[HEALTH_LIMIT_FILES] != 0 || hits[HEALTH_LIMIT_RINGS] != 0 || hits[HEALTH_LIMIT_UNREADABLE] != 0)
        return false;
    for (size_t i = 0; i < REGISTRY_DIRECTORIES_MAX; i++)
        if (registry_directory(registry, i, &device, &inode) && device == subject->directory_device &&
            inode == subject->directory_inode)
            return true;
    return false;
}

/* Returns true if there is an unreadable ring of that name. */
static bool is_listed_unreadable(const struct ring_facts *facts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (facts[i].health != RING_READABLE && strcmp(facts[i].name, name) == 0)
            return true;
    return false;
}

static bool is_same_boot(const struct event_subject *subject, const uint8_t boot_id[16])
{
    return memcmp(subject->boot_id, boot_id, sizeof(subject->boot_id)) == 0 &&
           memcmp(boot_id, unknown_id, sizeof(unknown_id)) != 0;
}

/* Finds the ring of each episode. Sets the reason of its end if the detector cannot know it. */
static void find_rings(struct restart *restart, struct registry *registry, const uint8_t boot_id[16],
                       const struct work *work)
{
    struct ring_facts *facts = NULL;
    size_t ring_count, fact_count = 0;
    const bool known = registry_facts(registry, &facts, &fact_count) == 0;
    struct ring **rings = registry_rings(registry, &ring_count);

    for (size_t i = 0; i < restart->count; i++) {
        struct restart_episode *episode = &restart->episodes[i];
        const struct ring *ring = find_ring(rings, ring_count, episode);

        episode->reason = EVENT_REASON_GONE;
        if (!is_same_boot(&episode->subject, boot_id))
            continue;
        if (ring != NULL) {
            episode->asked = true;
            episode->ring = ring->serial;
            episode->user = work_user(work, mapping_owner(&ring->mapping));
        } else if (!known || !is_directory_watched(registry, &episode->subject) ||
                   is_listed_unreadable(facts, fact_count, episode->begin->ring)) {
            episode->reason = EVENT_REASON_UNWATCHED;
        }
    }
    for (size_t i = 0; i < fact_count; i++)
        ring_facts_done(&facts[i]);
    free(facts);
}

/* By ring and slot. Within a slot the latest episode comes first. */
static int compare_episodes(const void *left, const void *right)
{
    const struct restart_episode *a = left, *b = right;

    return search_order_then(search_order_pair(a->ring, a->subject.slot, b->ring, b->subject.slot),
                             search_order(b->subject.episode, a->subject.episode));
}

struct detector_adoption restart_adoption(const struct restart_episode *episode)
{
    const struct event_subject *subject = &episode->subject;

    return (struct detector_adoption){
        .ring = episode->ring,
        .slot = subject->slot,
        .generation = subject->generation,
        .cause = episode->begin->cause,
        .progress = subject->progress,
        .frozen_since_mono_ns = subject->frozen_mono_ns,
        .moved_after_mono_ns = subject->moved_after_mono_ns,
    };
}

int restart_prepare(struct restart *restart, struct registry *registry, const uint8_t boot_id[16],
                    const struct work *work, struct detector *detector, uint64_t now_mono_ns)
{
    struct detector_adoption *adoptions;
    size_t count = 0;
    int status;

    find_rings(restart, registry, boot_id, work);
    qsort(restart->episodes, restart->count, sizeof(*restart->episodes), compare_episodes);
    adoptions = calloc(restart->count != 0 ? restart->count : 1, sizeof(*adoptions));
    for (size_t i = 0; adoptions != NULL && i < restart->count; i++) {
        struct restart_episode *episode = &restart->episodes[i];

        if (count != 0 && adoptions[count - 1].ring == episode->ring &&
            adoptions[count - 1].slot == episode->subject.slot)
            episode->asked = false; /* a later episode uses the same slot */
        if (episode->asked)
            adoptions[count++] = restart_adoption(episode);
    }
    status = adoptions != NULL ? detector_adopt(detector, now_mono_ns, adoptions, count) : -ENOMEM;
    for (size_t i = 0; status != 0 && i < restart->count; i++)
        if (restart->episodes[i].asked) {
            restart->episodes[i].asked = false;
            restart->episodes[i].reason = EVENT_REASON_UNWATCHED;
        }
    free(adoptions);
    return status;
}

static bool is_over(struct restart_episode *episode, const struct detector *detector)
{
    const struct event_subject *subject = &episode->subject;
    struct detector_id id;

    if (!episode->asked || detector_find(detector, episode->ring, subject->slot, subject->generation, &id) != 0 ||
        id.state == ID_DEAD)
        return true;
    episode->reason = EVENT_REASON_MOVED;
    return id.progress != subject->progress || id.state == ID_IDLE;
}

static int compare_numbers(const void *left, const void *right)
{
    const struct restart_episode *a = left, *b = right;

    return search_order(a->subject.episode, b->subject.episode);
}

size_t restart_settle(struct restart *restart, const struct detector *detector,
                      bool (*go_on)(void *context, const struct restart_episode *episode), void *context)
{
    size_t over_count = 0, count = restart->count;

    for (size_t i = 0; i < count; i++) {
        struct restart_episode *episode = &restart->episodes[i];
        const bool over = is_over(episode, detector);

        if (!over && go_on(context, episode)) {
            event_unref(episode->begin);
            continue;
        }
        if (!over)
            episode->reason = EVENT_REASON_UNWATCHED;
        restart->episodes[over_count++] = *episode;
    }
    restart->count = over_count;
    restart->settled = true;
    qsort(restart->episodes, over_count, sizeof(*restart->episodes), compare_numbers);
    return count - over_count;
}

const struct restart_episode *restart_next(struct restart *restart)
{
    if (restart->reported_count < restart->count)
        return &restart->episodes[restart->reported_count++];
    restart_done(restart);
    return NULL;
}
