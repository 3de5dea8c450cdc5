/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_recording.c - recordings and drains of any bytes. The first byte selects what the others are: a recording, the
 * records of a frame, or a ring that is drained, changed, and drained again. The resulting events are recorded, read,
 * and recorded again, which must give the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "fuzz.h"
#include "session/drain.h"
#include "session/recording.h"
#include "session/recording_format.h"
#include "support/ring_builder.h"

enum { POKES = 16, DRAINS = 3, EVENTS_MAX = 100000 };
enum input_kind { INPUT_FILE, INPUT_RECORDS, INPUT_RING, INPUT_KIND_COUNT };

struct file {
    unsigned char *bytes;
    size_t count;
};

static void need(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz_recording: %s\n", what);
    abort();
}

static int write_file(void *context, const void *bytes, size_t count, bool full)
{
    struct file *file = context;

    (void)full;
    file->bytes = realloc(file->bytes, file->count + count);
    need(file->bytes != NULL, "no memory");
    memcpy(file->bytes + file->count, bytes, count);
    file->count += count;
    return 0;
}

static long read_file(void *context, uint64_t offset, void *buffer, size_t count)
{
    const struct file *file = context;
    size_t rest = offset < file->count ? file->count - (size_t)offset : 0;

    if (count > rest)
        count = rest;
    memcpy(buffer, file->bytes + offset, count);
    return (long)count;
}

static struct recording_writer *open_writer(struct file *target)
{
    const struct recording_output output = {target, write_file};
    struct recording_writer *writer;

    need(recording_writer_new(&writer, &output, 1) == 0, "recording_writer_new");
    return writer;
}

static void check_event(const struct rip_event *event)
{
    const struct rip_event_snap *snap = &event->as.snap;

    if (event->kind != RIP_EVENT_SNAP)
        return;
    need(snap->entry_count <= RIP_ENTRY_COUNT, "entries without end");
    for (uint32_t i = 0; i < snap->entry_count; i++)
        need(snap->entries[i].reserved_16 == 0, "entries that were not cleared");
}

static int take_event(void *context, const struct rip_event *event)
{
    check_event(event);
    return recording_writer_take(context, event);
}

/* Copies all events of a file to another file. */
static int copy_file(struct file *source, struct file *target)
{
    const struct recording_input input = {source, read_file, source->count};
    struct recording_writer *writer;
    struct recording_reader *reader;
    const struct rip_event *event;
    int result = recording_reader_new(&reader, &input);

    if (result != 0)
        return result;
    writer = open_writer(target);
    for (unsigned i = 0; i < EVENTS_MAX && (result = recording_reader_next(reader, &event)) == 1; i++) {
        const char *name;
        const void *data;
        size_t count;

        need(take_event(writer, event) == 0 || event->kind > RIP_EVENT_SCRIPT,
             "an event that was read cannot be written");
        for (size_t nth = 0; recording_reader_data(reader, nth, &name, &data, &count); nth++)
            recording_writer_attach(writer, name, data, count);
    }
    need(recording_reader_offset(reader) <= source->count, "an offset beyond the end");
    need(recording_writer_flush(writer) == 0, "recording_writer_flush");
    recording_reader_seek(reader, UINT64_MAX / 2);
    recording_reader_next(reader, &event);
    recording_writer_free(writer);
    recording_reader_free(reader);
    return result;
}

/* A file that we have written must give the same events when it is read. */
static void check_file(struct file *file)
{
    struct file again = {0};
    int result;

    if (file->count == 0)
        return;
    result = copy_file(file, &again);
    need(result == 0 || result == 1, "what was written cannot be read");
    /* A file with only a state gives no events. */
    need(result == 1 || again.count == 0 ||
             (again.count == file->count && memcmp(again.bytes, file->bytes, file->count) == 0),
         "what was read is not what was written");
    free(again.bytes);
}

static void try_file(struct file *file)
{
    struct file copy = {0};

    copy_file(file, &copy);
    check_file(&copy);
    free(copy.bytes);
}

static void put_frame(struct file *file, uint32_t flags, uint64_t sequence, const void *raw, size_t raw_bytes)
{
    struct recording_frame frame = {.magic = RECORDING_FRAME_MAGIC,
                                    .flags = flags,
                                    .raw_bytes = (uint32_t)raw_bytes,
                                    .sequence = sequence,
                                    .first_number = sequence};
    size_t capacity = ZSTD_compressBound(raw_bytes), packed_bytes;
    void *packed = malloc(capacity);

    need(packed != NULL, "no memory");
    packed_bytes = ZSTD_compress(packed, capacity, raw, raw_bytes, 1);
    frame.packed_bytes = (uint32_t)packed_bytes;
    frame.checksum = recording_checksum(&frame, offsetof(struct recording_frame, checksum));
    write_file(file, &frame, sizeof(frame), false);
    write_file(file, packed, packed_bytes, false);
    free(packed);
}

/* Tries the records as a state, and as events. */
static void try_records(const uint8_t *bytes, size_t count)
{
    struct recording_header header = {
        .magic = RECORDING_MAGIC, .version = RECORDING_VERSION, .header_bytes = sizeof(header), .created_wall_ns = 1};
    struct file file = {0};
    size_t state_count = count != 0 ? bytes[0] * count / 256 : 0;

    header.checksum = recording_checksum(&header, offsetof(struct recording_header, checksum));
    write_file(&file, &header, sizeof(header), false);
    put_frame(&file, RECORDING_FRAME_STATE | RECORDING_FRAME_BEGINS, 1, bytes, state_count);
    put_frame(&file, 0, 2, bytes + state_count, count - state_count);
    try_file(&file);
    free(file.bytes);
}

static void drain_ring(struct drain *drain, struct drain_batch *batch, const struct rip_view *view, uint64_t now_ns,
                       struct recording_writer *writer)
{
    const struct rip_sink sink = {writer, take_event};
    struct rip_event event = {.kind = RIP_EVENT_DRAIN, .latest_wall_ns = now_ns, .as.drain.sequence = now_ns};
    struct rip_scan_position position = {0};
    struct rip_sample samples[DRAIN_BATCH];
    size_t count;
    int result = 0;

    drain_begin(drain, (struct drain_moment){now_ns, now_ns});
    while (drain_open(drain, view, batch))
        result |= drain_take(drain, batch, &sink);
    while ((count = rip_view_scan(view, &position, samples, DRAIN_BATCH)) > 0) {
        drain_read(drain, view, samples, count, batch);
        result |= drain_take(drain, batch, &sink);
    }
    while (drain_finish(drain, view, batch))
        result |= drain_take(drain, batch, &sink);
    result |= drain_end(drain, &sink);
    need(result == 0, "a drain cannot be recorded");
    need(recording_writer_take(writer, &event) == 0 && recording_writer_flush(writer) == 0, "a DRAIN");
}

/* The last bytes of the input change the ring between drains. */
static void try_ring(const uint8_t *bytes, size_t count)
{
    struct file file = {0};
    struct drain_batch *batch = drain_batch_new();
    struct recording_writer *writer = open_writer(&file);
    struct rip_view view;
    struct drain *drain = NULL;
    unsigned char *ring = malloc(count + 1);

    need(batch != NULL && ring != NULL && drain_new(&drain, 1) == 0, "no memory");
    memcpy(ring, bytes, count);
    if (rip_view_open(&view, ring, count) == RIP_OK && rip_view_live_count(&view) * view.slot_stride_bytes <= count) {
        for (unsigned i = 0; i < DRAINS; i++) {
            drain_ring(drain, batch, &view, i + 1, writer);
            for (unsigned j = 0; j < POKES && 8 * (i * POKES + j + 1) <= count; j++) {
                uint64_t poke;

                memcpy(&poke, bytes + count - 8 * (i * POKES + j + 1), sizeof(poke));
                ring[poke % count] ^= (unsigned char)(poke >> 56);
            }
        }
    }
    recording_writer_free(writer);
    check_file(&file);
    drain_free(drain);
    drain_batch_free(batch);
    free(ring);
    free(file.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct file file;

    if (size_bytes < 1)
        return 0;
    file = (struct file){malloc(size_bytes), size_bytes - 1};
    need(file.bytes != NULL, "no memory");
    memcpy(file.bytes, bytes + 1, size_bytes - 1);
    if (bytes[0] % INPUT_KIND_COUNT == INPUT_FILE)
        try_file(&file);
    else if (bytes[0] % INPUT_KIND_COUNT == INPUT_RECORDS)
        try_records(file.bytes, file.count);
    else
        try_ring(file.bytes, file.count);
    free(file.bytes);
    return 0;
}

static struct file record_sample(struct ring_builder *builder)
{
    struct file file = {0};
    struct drain_batch *batch = drain_batch_new();
    struct recording_writer *writer = open_writer(&file);
    struct rip_view view;
    struct drain *drain = NULL;

    need(batch != NULL && drain_new(&drain, 1) == 0, "no memory");
    need(rip_view_open(&view, builder->bytes, builder->size_bytes) == RIP_OK, "rip_view_open");
    drain_ring(drain, batch, &view, 1, writer);
    ring_builder_snap(builder, 1, 0x1234);
    ring_builder_end_id(builder, 2);
    drain_ring(drain, batch, &view, 2, writer);
    recording_writer_attach(writer, "seed", "data", 4);
    recording_writer_restart(writer);
    ring_builder_snap(builder, 1, 0x4321);
    drain_ring(drain, batch, &view, 3, writer);
    recording_writer_free(writer);
    drain_free(drain);
    drain_batch_free(batch);
    return file;
}

/* Returns the content of the nth frame. */
static size_t unpack_frame(const struct file *file, size_t nth, uint8_t *ret_bytes, size_t capacity)
{
    size_t at = sizeof(struct recording_header);
    struct recording_frame frame;

    while (at + sizeof(frame) <= file->count) {
        memcpy(&frame, file->bytes + at, sizeof(frame));
        if (frame.magic != RECORDING_FRAME_MAGIC) {
            at += sizeof(struct recording_header);
            continue;
        }
        if (nth-- == 0 && frame.raw_bytes <= capacity)
            return ZSTD_decompress(ret_bytes, capacity, file->bytes + at + sizeof(frame), frame.packed_bytes);
        at += sizeof(frame) + frame.packed_bytes;
    }
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    struct ring_builder builder;
    struct file file;
    size_t count = 0;

    ring_builder_new_sample(&builder);
    file = record_sample(&builder);
    if (number == 0 && file.count < capacity_bytes) {
        memcpy(ret_bytes + 1, file.bytes, file.count);
        ret_bytes[0] = INPUT_FILE;
        count = 1 + file.count;
    } else if (number == 1 && builder.size_bytes < capacity_bytes) {
        memcpy(ret_bytes + 1, builder.bytes, builder.size_bytes);
        ret_bytes[0] = INPUT_RING;
        count = 1 + builder.size_bytes;
    } else if (number > 1) {
        count = unpack_frame(&file, number - 1, ret_bytes + 1, capacity_bytes - 1);
        ret_bytes[0] = INPUT_RECORDS;
        count += count != 0;
    }
    free(file.bytes);
    ring_builder_free(&builder);
    return count;
}
