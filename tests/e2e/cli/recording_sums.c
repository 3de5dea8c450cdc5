/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_sums.c - recording_sums PATH [any]: prints what librip-session reads from a recording of maker, or of any
 * program, as one JSON object.
 *
 * Checks for each id that its breadcrumbs are in order, without repetitions, and at the addresses that maker uses.
 * Checks that recorded + overwritten = made, for each event, and in total if the end of the id was seen before its slot
 * was reused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rip/session.h"

#define BASE 0x10000u
#define IDS_MAX (1u << 18)
#define RINGS_MAX 4096u

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "recording_sums: %s, at event %" PRIu64 "\n", #condition, event->number);                  \
            exit(EXIT_FAILURE);                                                                                        \
        }                                                                                                              \
    } while (0)

struct id {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    bool found; /* false: earlier breadcrumbs are unknown */
    bool ended;
    uint64_t made;
    uint64_t recorded;
    uint64_t last_snap;
};

static struct id *ids;
static bool any_program;
static size_t id_count, ended_count, whole_count;
static struct rip_event_totals totals[RINGS_MAX];
static uint64_t recorded, overwritten, first_drain, last_drain, drain_count;
static uint32_t ring_count;

static struct id *find_id(const struct rip_event *event)
{
    for (size_t i = id_count; i > 0; i--) {
        struct id *id = &ids[i - 1];

        if (id->ring == event->ring && id->slot == event->slot && id->generation == event->generation)
            return id;
    }
    return NULL;
}

/* After a gap, the recording repeats the complete state. */
static void take_ring(const struct rip_event *event)
{
    EXPECT(event->ring < RINGS_MAX);
    for (size_t i = 0; i < id_count; i++)
        if (ids[i].ring == event->ring)
            ids[i].ring = 0;
    ring_count++;
}

static void take_snap(const struct rip_event *event)
{
    const struct rip_event_snap *snap = &event->as.snap;
    struct id *id = find_id(event);

    EXPECT(id != NULL && !id->ended);
    EXPECT(snap->made_count == snap->entry_count + snap->overwritten_count);
    EXPECT(snap->torn_count <= snap->overwritten_count);
    for (uint32_t i = 0; i < snap->entry_count; i++) {
        EXPECT(snap->entries[i].snap > id->last_snap);
        EXPECT(any_program || snap->entries[i].address == BASE + snap->entries[i].snap);
        id->last_snap = snap->entries[i].snap;
    }
    id->made += snap->made_count;
    id->recorded += snap->entry_count;
    recorded += snap->entry_count;
    overwritten += snap->overwritten_count;
}

static void take_exit(const struct rip_event *event)
{
    struct id *id = find_id(event);

    EXPECT(id != NULL && !id->ended);
    id->ended = true;
    ended_count++;
    if (!event->as.exit.has_snap_count || id->found)
        return;
    whole_count++;
    EXPECT(event->as.exit.snap_count == id->made);
}

static void take(const struct rip_event *event)
{
    switch (event->kind) {
    case RIP_EVENT_RING:
        take_ring(event);
        break;
    case RIP_EVENT_REGISTER:
        EXPECT(id_count < IDS_MAX && find_id(event) == NULL);
        ids[id_count++] =
            (struct id){event->ring, event->slot, event->generation, event->as.id_begin.found, false, 0, 0, 0};
        break;
    case RIP_EVENT_SNAP:
        take_snap(event);
        break;
    case RIP_EVENT_EXIT:
        take_exit(event);
        break;
    case RIP_EVENT_TOTALS:
        totals[event->ring] = event->as.totals;
        break;
    case RIP_EVENT_DRAIN:
        EXPECT(drain_count == 0 || event->as.drain.sequence > last_drain);
        first_drain = drain_count++ == 0 ? event->as.drain.sequence : first_drain;
        last_drain = event->as.drain.sequence;
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    uint64_t made = 0, unseen = 0, position = 0, size = 0;
    const struct rip_event *event;
    struct rip_session *session;
    char *error = NULL;
    bool exact = true;
    int result;

    ids = calloc(IDS_MAX, sizeof(*ids));
    any_program = argc == 3 && strcmp(argv[2], "any") == 0;
    if (argc != 2 + any_program || ids == NULL || (result = rip_session_open(&session, argv[1], NULL, &error)) != 0) {
        fprintf(stderr, "recording_sums: %s\n", error != NULL ? error : "usage: recording_sums PATH [any]");
        return 2;
    }
    while ((result = rip_session_next(session, &event)) == 1)
        take(event);
    rip_session_position(session, &position, &size);
    for (uint32_t i = 1; i < RINGS_MAX; i++) {
        made += totals[i].made_count;
        unseen += totals[i].unseen_count;
        exact = exact && (totals[i].made_count == 0 || totals[i].exact);
    }
    printf("{\"result\":%d,\"position\":%" PRIu64 ",\"size\":%" PRIu64 ",\"rings\":%" PRIu32
           ",\"ids\":%zu,\"ended\":%zu,"
           "\"whole\":%zu,\"recorded\":%" PRIu64 ",\"overwritten\":%" PRIu64 ",\"unseen\":%" PRIu64 ",\"made\":%" PRIu64
           ",\"exact\":%s,\"drains\":%" PRIu64 ",\"first\":%" PRIu64 ",\"last\":%" PRIu64 "}\n",
           result, position, size, ring_count, id_count, ended_count, whole_count, recorded, overwritten, unseen, made,
           exact ? "true" : "false", drain_count, first_drain, last_drain);
    rip_session_close(session);
    return EXIT_SUCCESS;
}
