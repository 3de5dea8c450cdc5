/* SPDX-License-Identifier: Apache-2.0 */
/* incidents.c - groups episodes by root, and keeps a sorted array of open incidents. Pure. */
#include "cases/incidents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"

/* Which incident ------------------------------------------------------------------------------------------------- */

static struct stall_root root_of_node(const struct waits_node *node)
{
    if (node->kind == WAITS_ID)
        return (struct stall_root){WAITS_ID, node->ring, node->slot, node->generation};
    return (struct stall_root){node->kind, node->ring, node->process, node->holder};
}

/* It waits for the other threads of its process, and all of them wait: see DETECTOR_STUCK. */
static bool is_stuck(const struct stall_case *stall)
{
    return stall->suspect.call == RIP_CALL_PRIVATE && stall->suspect.state == ID_STALLED;
}

static struct stall_root unexamined_root(const struct stall_case *stall)
{
    return (struct stall_root){STALL_ROOT_UNEXAMINED, stall->ring, stall->suspect.process, 0};
}

static void find_root(struct stall_case *stall, const struct waits *waits)
{
    const uint32_t node = waits_find(waits, stall->ring, stall->slot, stall->generation);

    stall->waits = true;
    if (is_stuck(stall)) {
        stall->root = (struct stall_root){STALL_ROOT_PROCESS, stall->ring, stall->suspect.process, 0};
    } else if (node != WAITS_NONE && waits->nodes[node].next != WAITS_NONE) {
        stall->root = root_of_node(&waits->nodes[waits->nodes[node].root]);
    } else {
        stall->waits = false;
        if (stall->episode.cause == CAUSE_NONE)
            stall->root = unexamined_root(stall);
        else
            stall->root = (struct stall_root){WAITS_ID, stall->ring, stall->slot, stall->generation};
    }
}

void incidents_find_roots(struct stall_case *const *cases, size_t count, const struct waits *waits)
{
    for (size_t i = 0; i < count; i++)
        find_root(cases[i], waits);
}

/* A case, listed under one of its roots. */
struct member {
    struct stall_root root;
    bool waits; /* for the root */
    struct stall_case *stall;
};

/* The root itself comes before ids that wait for it; otherwise the order is that of cases: ring and slot. */
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

/* In an incident and not over: it may be stalled, or stall again soon. */
static bool is_open(const struct stall_case *stall)
{
    return stall->episode.incident != 0 &&
           (stall->episode.stage == EPISODE_OPEN || stall->episode.stage == EPISODE_ENDING);
}

/*
 * Lists each case under its root. An open case that began unexamined is listed twice: under the root that it has now,
 * and as unexamined, so that further ids that cannot be examined in time join it.
 */
static size_t list_members(struct member *members, struct stall_case *const *cases, size_t count)
{
    size_t member_count = 0;

    for (size_t i = 0; i < count; i++) {
        struct stall_case *stall = cases[i];

        members[member_count++] = (struct member){stall->root, stall->waits, stall};
        if (is_open(stall) && stall->episode.cause == CAUSE_NONE && stall->root.kind != STALL_ROOT_UNEXAMINED)
            members[member_count++] = (struct member){unexamined_root(stall), false, stall};
    }
    return member_count;
}

/* Handles all members of one root. */
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

int incidents_assign(struct stall_case *const *cases, size_t count)
{
    struct member *members = malloc((2 * count + 1) * sizeof(*members));
    size_t member_count, end;

    for (size_t i = 0; members == NULL && i < count; i++)
        if (is_new(cases[i]))
            cases[i]->episode.incident = cases[i]->episode.number;
    if (members == NULL)
        return -ENOMEM;
    member_count = list_members(members, cases, count);
    qsort(members, member_count, sizeof(*members), compare_members);
    for (size_t first = 0; first < member_count; first = end) {
        for (end = first + 1; end < member_count; end++)
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
    uint64_t open_count; /* of episodes */
};

void incidents_done(struct incidents *incidents)
{
    free(incidents->entries);
    *incidents = (struct incidents){.count = 0};
}

static int compare_number(const void *key, const void *item)
{
    return search_order(*(const uint64_t *)key, ((const struct incident *)item)->number);
}

/* Returns the place of the incident, or where it would be inserted. */
static size_t place_of(const struct incidents *incidents, uint64_t number)
{
    return search_first(&number, incidents->entries, incidents->count, sizeof(*incidents->entries), compare_number);
}

static bool is_at(const struct incidents *incidents, size_t place, uint64_t number)
{
    return place < incidents->count && incidents->entries[place].number == number;
}

bool incidents_enter(struct incidents *incidents, uint64_t number)
{
    const size_t place = place_of(incidents, number);

    if (is_at(incidents, place, number)) {
        incidents->entries[place].open_count++;
        return false;
    }
    /* out of memory: its end is reported as if it were alone */
    if (ARRAY_GROW(incidents->entries, incidents->count, incidents->capacity)) {
        ARRAY_OPEN(incidents->entries, incidents->count, place);
        incidents->entries[place] = (struct incident){number, 1};
    }
    return true;
}

bool incidents_leave(struct incidents *incidents, uint64_t number)
{
    const size_t place = place_of(incidents, number);

    if (!is_at(incidents, place, number))
        return true;
    if (--incidents->entries[place].open_count != 0)
        return false;
    ARRAY_CLOSE(incidents->entries, incidents->count, place);
    return true;
}
