/* SPDX-License-Identifier: Apache-2.0 */
/* tape.c - a list of events, with copies of the data that they point to. */
#include "sim/tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* Owns the data that it points to. */
struct tape_event {
    struct rip_event event;
    void *owned;
    void *scan;
    size_t scan_bytes;
    void *settings;
    size_t settings_bytes;
};

/* A slot as of the last scan. */
struct tape_slot {
    uint32_t ring;
    struct rip_sample sample;
    char name[RIP_NAME_BYTES + 1];
    bool seen;
};

struct tape_ring {
    uint32_t number;
    uint8_t condition;
    bool seen;
};

struct tape {
    struct tape_event *events;
    size_t count;
    size_t capacity;
    struct tape_slot slots[1024];
    size_t slot_count;
    struct tape_ring rings[64];
    size_t ring_count;
    struct scan_record scan;
    char **published; /* texts */
    size_t published_count;
};

struct tape *tape_new(void)
{
    struct tape *tape = calloc(1, sizeof(*tape));

    assert_non_null(tape);
    return tape;
}

void tape_free(struct tape *tape)
{
    if (tape == NULL)
        return;
    for (size_t i = 0; i < tape->count; i++) {
        free(tape->events[i].owned);
        free(tape->events[i].scan);
        free(tape->events[i].settings);
    }
    for (size_t i = 0; i < tape->published_count; i++)
        free(tape->published[i]);
    free(tape->published);
    free(tape->events);
    scan_record_done(&tape->scan);
    free(tape);
}

static struct tape_event *add(struct tape *tape, const struct rip_event *event, const void *copied, size_t bytes)
{
    struct tape_event *added;

    if (tape->count == tape->capacity) {
        tape->capacity = tape->capacity * 2 + 256;
        tape->events = realloc(tape->events, tape->capacity * sizeof(*tape->events));
        assert_non_null(tape->events);
    }
    added = &tape->events[tape->count++];
    *added = (struct tape_event){.event = *event, .owned = bytes != 0 ? malloc(bytes) : NULL};
    if (bytes != 0)
        memcpy(added->owned, copied, bytes);
    return added;
}

void tape_restart(struct tape *tape)
{
    tape->slot_count = 0;
    tape->ring_count = 0;
}

void tape_ring(struct tape *tape, uint32_t number, uint32_t user, uint8_t condition)
{
    struct tape_ring *ring = tape->rings;
    char name[16];

    while (ring < tape->rings + tape->ring_count && ring->number != number)
        ring++;
    if (ring == tape->rings + tape->ring_count) {
        struct rip_event event = {.kind = RIP_EVENT_RING, .ring = number};
        struct tape_event *added;

        assert_true(++tape->ring_count <= COUNT_OF(tape->rings));
        *ring = (struct tape_ring){.number = number};
        snprintf(name, sizeof(name), "ring-%u", number);
        event.as.ring_begin.name.count = strlen(name);
        memcpy(event.as.ring_begin.ring_id, &number, sizeof(number));
        scan_record_add_ring(&tape->scan, number, event.as.ring_begin.ring_id, user);
        added = add(tape, &event, name, sizeof(name));
        added->event.as.ring_begin.name.bytes = added->owned;
    }
    if (ring->condition != condition)
        SCAN_RECORD_ADD(&tape->scan, SCAN_CONDITIONS, number, 0, condition);
    ring->condition = condition;
    ring->seen = true;
}

static void add_id(struct tape *tape, uint32_t kind, const struct tape_slot *slot)
{
    const struct rip_sample *sample = &slot->sample;
    const struct rip_event event = {
        .kind = kind, .ring = slot->ring, .slot = sample->slot, .generation = sample->generation};
    struct rip_id_info info = {
        .slot = sample->slot,
        .generation = sample->generation,
        .id = 1000 + sample->slot,
        .tid = sample->tid,
        .process = sample->process,
        .idle = sample->idle,
        .name_bytes = (uint8_t)strlen(slot->name),
        .progress = sample->progress,
        .registered_boot_ns = 1,
        .deadline_ms = sample->deadline_ms,
        .call = sample->call,
    };
    struct tape_event *added;

    memcpy(info.name, slot->name, info.name_bytes);
    added = add(tape, &event, &info, sizeof(info));
    added->event.as.state.info = added->owned; /* REGISTER has the same layout */
}

void tape_id(struct tape *tape, uint32_t ring, const struct rip_sample *sample, const char *name)
{
    struct tape_slot *slot = tape->slots, before;
    struct rip_event event = {
        .kind = RIP_EVENT_SNAP, .ring = ring, .slot = sample->slot, .generation = sample->generation};

    while (slot < tape->slots + tape->slot_count && (slot->ring != ring || slot->sample.slot != sample->slot))
        slot++;
    assert_true(slot < tape->slots + COUNT_OF(tape->slots));
    if (slot == tape->slots + tape->slot_count) {
        tape->slot_count++;
        *slot = (struct tape_slot){.ring = ring};
    }
    before = *slot;
    slot->sample = *sample;
    slot->seen = true;
    snprintf(slot->name, sizeof(slot->name), "%s", name);
    if (before.sample.generation != sample->generation) {
        add_id(tape, RIP_EVENT_REGISTER, slot);
        return;
    }
    event.as.snap.progress = sample->progress;
    if (before.sample.progress != sample->progress)
        add(tape, &event, NULL, 0);
    before.sample.progress = sample->progress;
    if (memcmp(&before.sample, sample, sizeof(*sample)) != 0 || strcmp(before.name, slot->name) != 0)
        add_id(tape, RIP_EVENT_STATE, slot);
}

struct scan_record *tape_scan(struct tape *tape)
{
    return &tape->scan;
}

void tape_event(struct tape *tape, const struct stall_case *stall, const struct event *published, bool former)
{
    struct rip_event event = {.kind = published->kind == EVENT_BEGIN ? RIP_EVENT_STALL_BEGIN : RIP_EVENT_STALL_END,
                              .ring = stall->ring,
                              .slot = stall->slot,
                              .generation = stall->generation};
    struct tape_event *added;

    event.as.stall.json.count = published->text_bytes;
    added = add(tape, &event, published->text, published->text_bytes);
    added->event.as.stall.json.bytes = added->owned;
    if (former)
        return;
    tape->published = realloc(tape->published, (tape->published_count + 1) * sizeof(char *));
    assert_non_null(tape->published);
    tape->published[tape->published_count++] = strdup(published->text);
}

/* Ends the slots and rings that the scan did not have. */
static void add_ends(struct tape *tape)
{
    size_t kept = 0;

    for (size_t i = 0; i < tape->slot_count; i++) {
        struct tape_slot *slot = &tape->slots[i];
        const struct rip_event event = {.kind = RIP_EVENT_EXIT,
                                        .ring = slot->ring,
                                        .slot = slot->sample.slot,
                                        .generation = slot->sample.generation};

        if (slot->seen)
            tape->slots[kept++] = *slot;
        else
            add(tape, &event, NULL, 0);
    }
    tape->slot_count = kept;
    kept = 0;
    for (size_t i = 0; i < tape->ring_count; i++) {
        const struct rip_event event = {.kind = RIP_EVENT_RING_END, .ring = tape->rings[i].number};

        if (tape->rings[i].seen)
            tape->rings[kept++] = tape->rings[i];
        else
            add(tape, &event, NULL, 0);
    }
    tape->ring_count = kept;
    for (size_t i = 0; i < tape->slot_count; i++)
        tape->slots[i].seen = false;
    for (size_t i = 0; i < tape->ring_count; i++)
        tape->rings[i].seen = false;
}

void tape_drain(struct tape *tape, uint64_t sequence, uint64_t now_ns, const struct scan_settings *settings)
{
    struct rip_event event = {.kind = RIP_EVENT_DRAIN, .latest_mono_ns = now_ns};
    struct tape_event *added;

    add_ends(tape);
    event.as.drain = (struct rip_event_drain){
        .sequence = sequence, .wall_ns = TAPE_WALL_NS + now_ns, .mono_ns = now_ns, .boot_ns = now_ns};
    added = add(tape, &event, NULL, 0);
    assert_int_equal(scan_record_pack(&tape->scan, &added->scan, &added->scan_bytes), 0);
    if (settings != NULL)
        assert_int_equal(scan_settings_pack(settings, &added->settings, &added->settings_bytes), 0);
    scan_record_clear(&tape->scan);
}

void tape_replay(const struct tape *tape, const struct replay_request *request, struct replay_counts *ret_counts)
{
    struct replay *replay;

    assert_int_equal(replay_new(&replay, request), 0);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < tape->count; i++) {
            const struct tape_event *event = &tape->events[i];
            const struct replay_data data = {event->scan, event->scan_bytes, event->settings, event->settings_bytes};

            assert_int_equal((pass == 0 ? replay_learn : replay_take)(replay, &event->event, &data), 0);
        }
    assert_int_equal(replay_end(replay), 0);
    replay_counts(replay, ret_counts);
    replay_free(replay);
}

struct comparison {
    const struct tape *tape;
    size_t count;
};

static int compare(void *context, const struct replay_alert *alert)
{
    struct comparison *comparison = context;

    if (comparison->count == comparison->tape->published_count)
        fail_msg("replayed, but not published:\n%s", alert->event->text);
    assert_string_equal(alert->event->text, comparison->tape->published[comparison->count]);
    comparison->count++;
    assert_true(alert->certain);
    return 0;
}

void tape_check(const struct tape *tape)
{
    struct comparison comparison = {tape, 0};
    const struct replay_request request = {.context = &comparison, .alert = compare};
    struct replay_counts counts;

    if (tape->count == 0)
        return;
    tape_replay(tape, &request, &counts);
    if (comparison.count != tape->published_count)
        fail_msg("published, but not replayed:\n%s", tape->published[comparison.count]);
    assert_true(counts.exact);
    assert_int_equal(counts.event_count, tape->published_count);
    assert_int_equal(counts.recorded_count, tape->published_count);
    assert_int_equal(counts.same_count, tape->published_count);
}
