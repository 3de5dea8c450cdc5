/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_recording.c - writes a golden recording of version 1 with every kind of event to the named file, and the events
 * as text to the standard output.
 *
 * Run once per version. A committed recording is never replaced, because it stands for the files of existing users.
 */
#include "unit/session/session_test.h"

#include "support/ring_builder.h"

struct recorder {
    struct recording_writer *writer;
    uint64_t now_ns;
    uint64_t drain_count;
};

static int take(void *context, const struct rip_event *event)
{
    struct recorder *recorder = context;

    print_event(&text, event);
    return recording_writer_take(recorder->writer, event);
}

static void take_event(struct recorder *recorder, struct rip_event event)
{
    event.earliest_wall_ns = event.earliest_mono_ns = recorder->now_ns - 1000000;
    event.latest_wall_ns = event.latest_mono_ns = recorder->now_ns;
    assert_int_equal(take(recorder, &event), 0);
}

static void take_drain(struct recorder *recorder, struct drain *drain, const struct rip_view *view)
{
    const struct rip_sink sink = {recorder, take};
    struct rip_event event = {.kind = RIP_EVENT_DRAIN};

    recorder->now_ns += 1000000;
    drain_once(drain, view, recorder->now_ns, &sink);
    event.as.drain = (struct rip_event_drain){++recorder->drain_count, recorder->now_ns, recorder->now_ns, 99, 1234};
    take_event(recorder, event);
}

static void take_others(struct recorder *recorder)
{
    struct rip_event event = {.kind = RIP_EVENT_STALL_BEGIN, .ring = 1, .slot = 3, .generation = 2, .id = 4000000000};

    const struct rip_script_info script = {.index = 2,
                                           .first_line = 300,
                                           .flags = 2,
                                           .file_bytes = 8,
                                           .function_bytes = 5,
                                           .file = "order.rb",
                                           .function = "place"};
    struct rip_event known = {.kind = RIP_EVENT_SCRIPT, .ring = 1, .as.script = &script};

    take_event(recorder, known);
    event.as.stall.json = (struct rip_text){"{\"event\":\"begin\"}", 17};
    take_event(recorder, event);
    assert_int_equal(recording_writer_attach(recorder->writer, "example.cpu", "17", 2), 0);
    event.kind = RIP_EVENT_STALL_END;
    take_event(recorder, event);
    event = (struct rip_event){.kind = RIP_EVENT_DEATH, .ring = 1};
    event.as.death = (struct rip_event_death){0, 1, -11, true, false, true, false};
    take_event(recorder, event);
    event = (struct rip_event){.kind = RIP_EVENT_RING_END, .ring = 1};
    event.as.ring_end.reason = (struct rip_text){"is damaged", 10};
    take_event(recorder, event);
}

static struct rip_event ring_event(void)
{
    struct rip_event event = {.kind = RIP_EVENT_RING, .ring = 1};

    event.as.ring_begin = (struct rip_event_ring){.name = {"ring.4690", 9},
                                                  .directory = {"/dev/shm", 8},
                                                  .ring_id = {1, 2, 3},
                                                  .boot_id = {4, 5, 6},
                                                  .created_wall_ns = 123456789,
                                                  .slot_capacity = 10,
                                                  .uid = 1000,
                                                  .preload = true};
    return event;
}

static void take_everything(struct recorder *recorder, struct ring_builder *builder)
{
    struct rip_view view;
    struct drain *drain;

    assert_int_equal(rip_view_open(&view, builder->bytes, builder->size_bytes), RIP_OK);
    assert_int_equal(drain_new(&drain, 1), 0);
    take_event(recorder, ring_event());
    take_drain(recorder, drain, &view);
    for (unsigned i = 0; i < 40; i++)
        ring_builder_snap(builder, 1, 0x401000 + 16 * i);
    ring_builder_slot(builder, 3)->tid = 77;
    ring_builder_slot(builder, 3)->generation += 2;
    builder->ring->flush_count++;
    take_drain(recorder, drain, &view);
    ring_builder_snap(builder, 1, 0x401234);
    ring_builder_entries(builder, 1)[ring_builder_slot(builder, 1)->count % RIP_ENTRY_COUNT] = 0; /* not yet stored */
    ring_builder_snap(builder, 1, 0x401238);
    ring_builder_end_id(builder, 9);
    take_drain(recorder, drain, &view);
    recording_writer_restart(recorder->writer);
    ring_builder_snap(builder, 1, 0x40123c);
    take_drain(recorder, drain, &view);
    ring_builder_snap(builder, 1, 0x40123d);
    take_others(recorder);
    take_drain(recorder, drain, &view);
    assert_int_equal(recording_writer_flush(recorder->writer), 0);
    drain_free(drain);
}

int main(int argc, char **argv)
{
    struct memory_file file = {0};
    const struct recording_output output = {&file, memory_write};
    struct recorder recorder = {.now_ns = 1000000};
    struct ring_builder builder;
    FILE *target;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    ring_builder_new_sample(&builder);
    assert_int_equal(recording_writer_new(&recorder.writer, &output, 5), 0);
    take_everything(&recorder, &builder);
    target = fopen(argv[1], "wbx"); /* never replaces a recording */
    if (target == NULL || fwrite(file.bytes, 1, file.count, target) != file.count || fclose(target) != 0) {
        perror(argv[1]);
        return 1;
    }
    fputs(text_of(&text), stdout);
    recording_writer_free(recorder.writer);
    ring_builder_free(&builder);
    text_clear(&text);
    free(file.bytes);
    return 0;
}
