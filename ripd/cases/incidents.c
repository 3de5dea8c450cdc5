/* SPDX-License-Identifier: Apache-2.0 */
/* incidents.c - episodes sorted by their root; and a sorted array of what is open. Pure. */
#include "cases/incidents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"

/* Which incident ------------------------------------------------------------------------------------------------- */

/* A kind of root beyond enum waits_kind: a process that is stuck as a whole. */
#define ROOT_PROCESS (WAITS_GONE + 1u)

/* Who a root is, the same on every scan. */
struct root_key {
    uint32_t kind; /* enum waits_kind, or ROOT_PROCESS */
    uint32_t ring;
    uint32_t place;  /* slot, or process */
    uint32_t number; /* generation, or the thread */
};

struct member {
    struct root_key root;
    struct stall_case *stall;
    bool waits; /* for another one, or in a deadlock */
};

static struct root_key key_of(const struct waits_node *node)
{
    if (node->kind == WAITS_ID)
        return (struct root_key){WAITS_ID, node->ring, node->slot, node->generation};
    return (struct root_key){node->kind, node->ring, node->process, node->holder};
}

/* It waits for all other threads of its process, and they do: see DETECTOR_STUCK. */
static bool is_stuck(const struct stall_case *stall)
{
    return stall->suspect.call == RIP_CALL_PRIVATE && stall->suspect.state == ID_STALLED;
}

static struct member member_of(struct stall_case *stall, const struct waits *waits)
{
    uint32_t node = waits_find(waits, stall->ring, stall->slot, stall->generation);

    if (is_stuck(stall))
        return (struct member){{ROOT_PROCESS, stall->ring, stall->suspect.process, 0}, stall, true};
    if (node == WAITS_NONE || waits->nodes[node].next == WAITS_NONE)
        return (struct member){{WAITS_ID, stall->ring, stall->slot, stall->generation}, stall, false};
    return (struct member){key_of(&waits->nodes[waits->nodes[node].root]), stall, true};
}

/* Roots themselves come before those that wait for them; else in order of ring and slot, as the cases are. */
static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    return search_order_then(search_order_then(memcmp(&a->root, &b->root, sizeof(a->root)), a->waits - b->waits),
                             search_order_pair(a->stall->ring, a->stall->slot, b->stall->ring, b->stall->slot));
}

static bool is_new(const struct stall_case *stall)
{
    return stall->episode.number != 0 && stall->episode.incident == 0;
}

/* In an incident, and not over: it may be stalled again soon. */
static bool is_open(const struct stall_case *stall)
{
    return stall->episode.incident != 0 &&
           (stall->episode.stage == EPISODE_OPEN || stall->episode.stage == EPISODE_ENDING);
}

/* Members of one root. */
static void assign_group(const struct member *members, size_t count)
{
    uint64_t incident = 0, first_new = 0;
    uint32_t waiting_count = 0;

    for (size_t i = 0; i < count; i++) {
        const struct stall_case *stall = members[i].stall;

        waiting_count += members[i].waits && stall->is_suspect && stall->suspect.state == ID_STALLED;
        if (is_open(stall) && (incident == 0 || stall->episode.incident < incident))
            incident = stall->episode.incident;
        if (first_new == 0 && is_new(stall))
            first_new = stall->episode.number;
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_new(members[i].stall))
            continue;
        members[i].stall->episode.incident = incident != 0 ? incident : first_new;
        members[i].stall->episode.waiting_count = waiting_count;
    }
}

int incidents_assign(struct stall_case *const *cases, size_t count, const struct waits *waits)
{
    struct member *members = malloc((count != 0 ? count : 1) * sizeof(*members));
    size_t end;

    for (size_t i = 0; members == NULL && i < count; i++)
        if (is_new(cases[i]))
            cases[i]->episode.incident = cases[i]->episode.number;
    if (members == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        members[i] = member_of(cases[i], waits);
    qsort(members, count, sizeof(*members), compare_members);
    for (size_t first = 0; first < count; first = end) {
        for (end = first + 1; end < count; end++)
            if (memcmp(&members[first].root, &members[end].root, sizeof(members[first].root)) != 0)
                break;
        assign_group(&members[first], end - first);
    }
    free(members);
    return 0;
}

/* Which are open --------------------------------------------------------------------------------------------------- */

struct incident {
    uint64_t number;
    uint64_t open_count; /* episodes; 0 = it is over */
};

void incidents_done(struct incidents *incidents)
{
    free(incidents->entries);
    *incidents = (struct incidents){.count = 0};
}

size_t incidents_count(const struct incidents *incidents)
{
    return incidents->count - incidents->over_count;
}

/* The first entry whose number is not lower. */
static size_t place_of(const struct incidents *incidents, uint64_t number)
{
    size_t low = 0, high = incidents->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (incidents->entries[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct incident *find(const struct incidents *incidents, uint64_t number)
{
    size_t place = place_of(incidents, number);

    if (place == incidents->count || incidents->entries[place].number != number)
        return NULL;
    return &incidents->entries[place];
}

static struct incident *insert(struct incidents *incidents, uint64_t number)
{
    struct incident *entries =
        array_reserve(incidents->entries, &incidents->capacity, incidents->count + 1, sizeof(*entries));
    size_t place;

    if (entries == NULL)
        return NULL;
    incidents->entries = entries;
    place = place_of(incidents, number);
    memmove(&entries[place + 1], &entries[place], (incidents->count - place) * sizeof(*entries));
    entries[place] = (struct incident){.number = number};
    incidents->count++;
    return &entries[place];
}

bool incidents_enter(struct incidents *incidents, uint64_t number)
{
    struct incident *incident = find(incidents, number);
    bool is_first = incident == NULL || incident->open_count == 0;

    if (incident == NULL)
        incident = insert(incidents, number);
    else if (is_first)
        incidents->over_count--;
    if (incident != NULL) /* else there is no memory, and its end is reported like that of one alone */
        incident->open_count++;
    return is_first;
}

static void close_up(struct incidents *incidents)
{
    size_t kept = 0;

    for (size_t i = 0; i < incidents->count; i++)
        if (incidents->entries[i].open_count != 0)
            incidents->entries[kept++] = incidents->entries[i];
    incidents->count = kept;
    incidents->over_count = 0;
}

bool incidents_leave(struct incidents *incidents, uint64_t number)
{
    struct incident *incident = find(incidents, number);

    if (incident == NULL || incident->open_count == 0)
        return true;
    if (--incident->open_count != 0)
        return false;
    incidents->over_count++;
    if (incidents->over_count > incidents->count / 2)
        close_up(incidents);
    return true;
}
