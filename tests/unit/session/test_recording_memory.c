/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_recording_memory.c - out of memory in drains, writer and reader, at each allocation in turn. Events without
 * memory are lost; the rest can be read to the end.
 */
#include "unit/session/session_test.h"

#include <errno.h>

#include "support/ring_builder.h"

enum { ALLOCATIONS_MAX = 10000 };

static long until_failure = -1; /* allocations that succeed before one fails; negative: all do */

static bool fails(void)
{
    return until_failure >= 0 && until_failure-- == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __real_realloc(memory, bytes);
}

/* The memory file does not run out of memory. */
static int write_always(void *context, const void *bytes, size_t count, bool full)
{
    long kept = until_failure;
    int result;

    until_failure = -1;
    result = memory_write(context, bytes, count, full);
    until_failure = kept;
    return result;
}

static int take_event(void *context, const struct rip_event *event)
{
    return recording_writer_take(context, event);
}

struct recorder {
    struct drain *drain;
    struct drain_batch *batch;
    struct recording_writer *writer;
    struct rip_view view;
    uint64_t drain_count;
};

static void take_drain(struct recorder *recorder)
{
    const struct rip_sink sink = {recorder->writer, take_event};
    const uint64_t now_ns = ++recorder->drain_count;
    struct rip_event event = {.kind = RIP_EVENT_DRAIN, .latest_wall_ns = now_ns};
    struct rip_scan_position position = {0};
    struct rip_sample samples[DRAIN_BATCH];
    size_t count;

    drain_begin(recorder->drain, (struct drain_moment){now_ns, now_ns});
    while (drain_open(recorder->drain, &recorder->view, recorder->batch))
        drain_take(recorder->drain, recorder->batch, &sink);
    while ((count = rip_view_scan(&recorder->view, &position, samples, DRAIN_BATCH)) > 0) {
        drain_read(recorder->drain, &recorder->view, samples, count, recorder->batch);
        drain_take(recorder->drain, recorder->batch, &sink);
    }
    while (drain_finish(recorder->drain, &recorder->view, recorder->batch))
        drain_take(recorder->drain, recorder->batch, &sink);
    drain_end(recorder->drain, &sink);
    recording_writer_take(recorder->writer, &event);
    recording_writer_attach(recorder->writer, "test", "data", 4);
    recording_writer_flush(recorder->writer);
}

/* Makes three drains, the last with enough memory. Returns false if there was not enough memory to begin. */
static bool record(struct ring_builder *builder, struct memory_file *file)
{
    const struct recording_output output = {file, write_always};
    struct recorder recorder = {0};
    bool is_open;

    assert_int_equal(rip_view_open(&recorder.view, builder->bytes, builder->size_bytes), RIP_OK);
    recorder.batch = drain_batch_new();
    is_open = recorder.batch != NULL && drain_new(&recorder.drain, 1) == 0 &&
              recording_writer_new(&recorder.writer, &output, 5) == 0;
    if (is_open) {
        take_drain(&recorder);
        for (uint32_t slot = 0; slot < 200; slot++)
            ring_builder_add_id(builder, slot, slot + 1, slot + 1, 0, "worker");
        take_drain(&recorder);
        until_failure = until_failure < 0 ? -1 : ALLOCATIONS_MAX;
        ring_builder_snap(builder, 3, 0x1234);
        take_drain(&recorder);
    }
    recording_writer_free(recorder.writer);
    drain_free(recorder.drain);
    drain_batch_free(recorder.batch);
    return is_open;
}

/* Returns the number of ids known at the end, or the error that ended reading. */
static long read_ids(struct memory_file *file)
{
    static bool is_known[256];
    const struct recording_input input = {file, memory_read, file->count};
    struct recording_reader *reader;
    const struct rip_event *event;
    long id_count = 0;
    int result = recording_reader_new(&reader, &input);

    if (result != 0)
        return result;
    memset(is_known, 0, sizeof(is_known));
    while ((result = recording_reader_next(reader, &event)) == 1) {
        if (event->kind == RIP_EVENT_RING_END)
            memset(is_known, 0, sizeof(is_known));
        else if (event->kind == RIP_EVENT_REGISTER)
            is_known[event->slot] = true;
    }
    recording_reader_free(reader);
    for (size_t i = 0; i < 256; i++)
        id_count += is_known[i];
    return result != 0 ? result : id_count;
}

static void new_ring(struct ring_builder *builder)
{
    const struct ring_geometry geometry = {.slot_capacity = 256, .note_stride_bytes = RIP_SLOT_NOTE_BYTES};

    ring_builder_new(builder, &geometry);
    ring_builder_add_process(builder, 0, 500, 9, "server");
    ring_builder_link_module(builder, 0, ring_builder_add_module(builder, 4096, 8192, 0, "/bin/server", NULL, 0));
    for (uint32_t slot = 200; slot < 210; slot++) {
        ring_builder_add_id(builder, slot, slot + 1, slot + 1, 0, "worker");
        ring_builder_note(builder, slot, "working", 7);
    }
}

TEST(recording_without_memory)
{
    struct memory_file file = {0};
    struct ring_builder builder;
    bool failed = true, is_open;

    for (long number = 0; failed; number++) {
        assert_in_range(number, 0, ALLOCATIONS_MAX - 1);
        new_ring(&builder);
        until_failure = number;
        is_open = record(&builder, &file);
        failed = !is_open || until_failure < 0;
        until_failure = -1;
        if (is_open)
            assert_in_range(read_ids(&file), failed ? 0 : 210, 210);
        ring_builder_free(&builder);
        free(file.bytes);
        file = (struct memory_file){0};
    }
}

TEST(reading_without_memory)
{
    struct memory_file file = {0};
    struct ring_builder builder;
    bool failed = true;

    new_ring(&builder);
    assert_true(record(&builder, &file));
    for (long number = 0; failed; number++) {
        long result;

        assert_in_range(number, 0, ALLOCATIONS_MAX - 1);
        until_failure = number;
        result = read_ids(&file);
        failed = until_failure < 0;
        until_failure = -1;
        assert_int_equal(result, failed ? -ENOMEM : 210);
    }
    ring_builder_free(&builder);
    free(file.bytes);
}
