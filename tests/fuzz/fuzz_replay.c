/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_replay.c - any events through a replay, with any bytes as ripd's decisions. Both replays get the same events.
 * Every result has a text, and results are not more than the number of ids allows.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "replay/replay.h"
#include "rip/ring.h"

enum { EVENTS_MAX = 256, DATA_BYTES_MAX = 64, SECOND_NS = 1000000000 };

static const char begin_text[] =
    "{\"sequence\":1,\"kind\":\"begin\",\"at\":\"2026-11-20T09:41:07.120Z\",\"episode\":1,\"incident\":1,"
    "\"waiting_count\":0,\"reason\":null,\"lasted_ms\":null,\"lasted_max_ms\":null,\"stalls\":null,"
    "\"summary\":\"w has been blocked for 5.0 s\",\"state\":\"stalled\",\"cause\":\"blocked\","
    "\"since\":\"2026-11-20T09:41:02.120Z\",\"frozen_for_ms\":5000,\"frozen_for_max_ms\":6000,\"threshold_ms\":5000,"
    "\"ring\":\"r\",\"source\":\"library\",\"id\":1,\"tid\":1,\"name\":\"w\",\"note\":null,\"process\":null,\"snaps\":"
    "1,"
    "\"location\":null,\"kernel\":null,\"waits_for\":null,\"waits_for_left_out\":null,\"root\":null}";

struct input {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t now_ns;
    uint64_t sequence;
    struct rip_id_info id;
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_script_info script;
    struct rip_note_info note;
    struct rip_entry entry;
};

static uint8_t take(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static void make_id(struct input *input, struct rip_event *event)
{
    input->id = (struct rip_id_info){.slot = event->slot,
                                     .generation = event->generation,
                                     .id = event->slot,
                                     .tid = take(input),
                                     .process = take(input) % 4,
                                     .idle = take(input) % 2,
                                     .progress = take(input) % 4,
                                     .deadline_ms = take(input) % 2 * 500u,
                                     .call = take(input) % 16,
                                     .name_bytes = 1,
                                     .name = "w"};
    event->as.id_begin.info = &input->id;
}

static void make_drain(struct input *input, struct rip_event *event, struct replay_data *data)
{
    const size_t rest = (size_t)(input->end - input->at);
    size_t scan = take(input) % DATA_BYTES_MAX, settings = take(input) % DATA_BYTES_MAX;

    input->now_ns += (uint64_t)take(input) * (SECOND_NS / 64);
    input->sequence += take(input) == 255 ? 2 : 1;
    event->latest_mono_ns = input->now_ns;
    event->as.drain = (struct rip_event_drain){
        .sequence = input->sequence, .wall_ns = input->now_ns, .mono_ns = input->now_ns, .boot_ns = input->now_ns};
    if (rest < 4 || scan + settings > rest - 4)
        return;
    if (scan != 0) {
        data->scan = input->at;
        data->scan_bytes = scan;
    }
    if (settings != 0) {
        data->settings = input->at + scan;
        data->settings_bytes = settings;
    }
    input->at += scan + settings;
}

static void make_event(struct input *input, struct rip_event *event, struct replay_data *data)
{
    event->kind = take(input) % 17;
    event->ring = take(input) % 4;
    event->slot = take(input) % 8;
    event->generation = take(input) % 4;
    event->process = take(input) % 4;
    event->latest_mono_ns = input->now_ns;
    if (event->kind == RIP_EVENT_RING) {
        event->as.ring_begin.name = (struct rip_text){"r", 1};
        event->as.ring_begin.ring_id[0] = (uint8_t)event->slot;
        event->as.ring_begin.preload = event->generation == 0;
    } else if (event->kind == RIP_EVENT_PROCESS) {
        input->process = (struct rip_process_info){.index = event->process, .generation = event->generation};
        event->as.process_begin = &input->process;
    } else if (event->kind == RIP_EVENT_MODULE) {
        input->module = (struct rip_module_info){.end = UINT64_MAX, .path_bytes = 2, .path = "/m"};
        event->as.module = (struct rip_event_module){event->process, take(input), &input->module};
    } else if (event->kind == RIP_EVENT_SCRIPT) {
        input->script = (struct rip_script_info){.index = take(input), .function_bytes = 2, .function = "f"};
        event->as.script = &input->script;
    } else if (event->kind == RIP_EVENT_DEATH) {
        event->as.death.process = event->process;
    } else if (event->kind == RIP_EVENT_REGISTER || event->kind == RIP_EVENT_STATE) {
        make_id(input, event);
    } else if (event->kind == RIP_EVENT_SNAP) {
        input->entry = (struct rip_entry){.snap = take(input), .address = take(input)};
        event->as.snap = (struct rip_event_snap){
            .progress = take(input) % 4, .entry_count = take(input) % 2, .entries = &input->entry};
    } else if (event->kind == RIP_EVENT_NOTE) {
        input->note = (struct rip_note_info){.text_bytes = 4, .text = "note"};
        event->as.note = &input->note;
    } else if (event->kind == RIP_EVENT_STALL_BEGIN || event->kind == RIP_EVENT_STALL_END) {
        event->as.stall.json = (struct rip_text){begin_text, sizeof(begin_text) - 1};
    } else if (event->kind == RIP_EVENT_DRAIN) {
        make_drain(input, event, data);
    }
}

static int check_alert(void *context, const struct replay_alert *alert)
{
    size_t *count = context;

    require(alert->event->text_bytes != 0 && alert->event->text[0] == '{');
    (*count)++;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    const struct rules none = {.count = 0};
    struct replay_counts counts;
    struct replay *replay;
    size_t count = 0;
    int result = 0;
    const struct replay_request request = {.stall_after_ns = size_bytes % 3 == 0 ? SECOND_NS : 0,
                                           .rules = size_bytes % 5 == 0 ? &none : NULL,
                                           .context = &count,
                                           .alert = check_alert};

    require(replay_new(&replay, &request) == 0);
    for (int pass = 0; pass < 2 && result == 0; pass++) {
        struct input input = {.at = bytes, .end = bytes + size_bytes, .now_ns = SECOND_NS};

        for (size_t i = 0; i < EVENTS_MAX && input.at < input.end && result == 0; i++) {
            struct replay_data data = {.scan = NULL};
            struct rip_event event = {.kind = 0};

            make_event(&input, &event, &data);
            result = (pass == 0 ? replay_learn : replay_take)(replay, &event, &data);
        }
    }
    if (result == 0)
        result = replay_end(replay);
    replay_counts(replay, &counts);
    require(counts.event_count == count && counts.certain_count <= count && counts.same_count <= count);
    replay_free(replay);
    return 0;
}

/* The seed is a ring, an id, and drains in which the id stands still. */
size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const uint8_t start[] = {RIP_EVENT_RING, 1, 0, 1, 0, RIP_EVENT_REGISTER, 1, 2, 2, 0, 50, 0, 0, 1, 0, 0};
    static const uint8_t drain[] = {RIP_EVENT_DRAIN, 0, 0, 0, 0, 0, 0, 64, 0};
    size_t count = sizeof(start);

    if (number >= 3 || sizeof(start) + 12 * sizeof(drain) > capacity_bytes)
        return 0;
    memcpy(ret_bytes, start, sizeof(start));
    for (size_t i = 0; i < 10 + number; i++, count += sizeof(drain))
        memcpy(ret_bytes + count, drain, sizeof(drain));
    return count;
}
