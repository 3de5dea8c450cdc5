/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write.c - packs events into frames; see recording.h. librip/RECORDING.md defines the format.
 *
 * A frame starts with the first event after a DRAIN, or when the previous frame is large enough. From time to time
 * state frames, which describe all that exists, are written before the first frame of a drain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "session/attachment.h"
#include "session/recording.h"
#include "session/recording_code.h"
#include "session/recording_format.h"

enum {
    FRAME_BYTES = 1 << 20,   /* of records; exceeded only by the last event and its data */
    STATE_SHARE = 64,        /* state frames take at most 1 / (1 + this) of what is written, ... */
    STATE_BYTES_MIN = 65536, /* ... not counting this many bytes of other frames */
    COMPRESSION_LEVEL = -1,  /* compresses repetitive data as well as level 1, and is a fifth faster */
};

struct recording_writer {
    struct recording_output output;
    struct recording_table state;
    struct record_coder coder;
    ZSTD_CCtx *compressor;
    unsigned char *packed; /* a frame with its header */
    size_t packed_capacity;
    uint64_t created_wall_ns;
    uint64_t sequence;         /* of the next frame */
    uint64_t first_number;     /* of the first event of the next frame */
    struct record_times times; /* of the last DRAIN */
    size_t last_record;        /* its offset in the frame */
    bool has_record;
    bool has_begun;    /* header and state that precede the drain are written */
    bool ends_drain;   /* the last record is a DRAIN */
    bool is_split;     /* an earlier frame of this drain is written */
    bool wants_state;  /* before the next drain */
    bool wants_header; /* before the next drain */
    bool is_lost;      /* a part of this drain is lost, and so is the rest */
    uint64_t frame_event_count;
    uint64_t frame_entry_count;
    uint64_t state_bytes;       /* of the last state */
    uint64_t bytes_since_state; /* of all frames since the last state */
    struct attachment *data;    /* of the last record */
    struct rip_recording_state counts;
};

int recording_writer_new(struct recording_writer **ret_writer, const struct recording_output *output,
                         uint64_t created_wall_ns)
{
    struct recording_writer *writer = calloc(1, sizeof(*writer));

    if (writer == NULL)
        return -ENOMEM;
    writer->compressor = ZSTD_createCCtx();
    if (writer->compressor == NULL) {
        free(writer);
        return -ENOMEM;
    }
    ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
    ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_checksumFlag, 1);
    writer->output = *output;
    writer->created_wall_ns = created_wall_ns;
    writer->coder.state = &writer->state;
    writer->sequence = 1;
    writer->first_number = 1;
    writer->times.latest_wall_ns = created_wall_ns;
    writer->wants_header = true;
    writer->wants_state = true;
    coder_begin(&writer->coder, false, NULL, 0);
    *ret_writer = writer;
    return 0;
}

void recording_writer_free(struct recording_writer *writer)
{
    if (writer == NULL)
        return;
    attachment_clear(&writer->data);
    recording_table_clear(&writer->state);
    ZSTD_freeCCtx(writer->compressor);
    free(writer->coder.bytes);
    free(writer->packed);
    free(writer);
}

void recording_writer_restart(struct recording_writer *writer)
{
    writer->wants_header = true;
    writer->wants_state = true;
}

const struct rip_recording_state *recording_writer_state(const struct recording_writer *writer)
{
    return &writer->counts;
}

/* Frames ----------------------------------------------------------------------------------------------------------- */

static int put_bytes(struct recording_writer *writer, const void *bytes, size_t count, bool full)
{
    int result = writer->output.write(writer->output.context, bytes, count, full);

    if (result == 0)
        writer->counts.written_bytes += count;
    return result;
}

static int put_header(struct recording_writer *writer)
{
    struct recording_header header = {.magic = RECORDING_MAGIC,
                                      .version = RECORDING_VERSION,
                                      .header_bytes = sizeof(header),
                                      .created_wall_ns = writer->created_wall_ns};
    int result;

    header.checksum = recording_checksum(&header, offsetof(struct recording_header, checksum));
    result = put_bytes(writer, &header, sizeof(header), false);
    if (result == 0)
        writer->wants_header = false;
    return result;
}

/* Compresses and writes the records of a coder as one frame. Adds the size of the frame to *ret_bytes. */
static int put_frame(struct recording_writer *writer, const struct record_coder *coder, uint32_t flags,
                     uint64_t *ret_bytes)
{
    struct recording_frame frame = {.magic = RECORDING_FRAME_MAGIC,
                                    .flags = flags,
                                    .raw_bytes = (uint32_t)coder->count,
                                    .sequence = writer->sequence,
                                    .first_number = writer->first_number,
                                    .wall_ns = writer->times.latest_wall_ns};
    size_t wanted = sizeof(frame) + ZSTD_compressBound(coder->count), packed_bytes;
    int result;

    if (writer->packed_capacity < wanted) {
        free(writer->packed);
        writer->packed = malloc(wanted);
        writer->packed_capacity = writer->packed != NULL ? wanted : 0;
    }
    if (writer->packed == NULL)
        return -ENOMEM;
    packed_bytes = ZSTD_compress2(writer->compressor, writer->packed + sizeof(frame), wanted - sizeof(frame),
                                  coder->bytes, coder->count);
    if (ZSTD_isError(packed_bytes))
        return -ENOMEM;
    frame.packed_bytes = (uint32_t)packed_bytes;
    frame.checksum = recording_checksum(&frame, offsetof(struct recording_frame, checksum));
    memcpy(writer->packed, &frame, sizeof(frame));
    writer->sequence++; /* also if the frame is lost: then the reader sees a gap */
    result = put_bytes(writer, writer->packed, sizeof(frame) + packed_bytes, (flags & RECORDING_FRAME_BEGINS) != 0);
    if (result == 0) {
        writer->counts.drain_count++;
        *ret_bytes += sizeof(frame) + packed_bytes;
    }
    return result;
}

/* A state that is being written. */
struct state_run {
    struct recording_writer *writer;
    struct record_coder coder;
    uint32_t flags;
    uint64_t bytes;
};

static int put_state_frame(struct state_run *run, bool is_last)
{
    uint32_t flags = run->flags | (is_last ? 0 : RECORDING_FRAME_GOES_ON);
    int result = put_frame(run->writer, &run->coder, flags, &run->bytes);

    run->flags &= ~(uint32_t)RECORDING_FRAME_BEGINS;
    run->coder.count = 0;
    coder_begin(&run->coder, true, NULL, 0);
    return result;
}

static int take_state(void *context, const struct rip_event *event)
{
    struct state_run *run = context;
    int result = coder_write(&run->coder, event);

    return result == 0 && run->coder.count >= FRAME_BYTES ? put_state_frame(run, false) : result;
}

static int put_state(struct recording_writer *writer)
{
    struct record_times times = writer->times;
    struct state_run run = {.writer = writer, .flags = RECORDING_FRAME_STATE | RECORDING_FRAME_BEGINS};
    const struct rip_sink sink = {&run, take_state};
    int result;

    times.earliest_wall_ns = 0;
    times.earliest_mono_ns = 0;
    run.coder.state = &writer->state;
    coder_begin(&run.coder, true, NULL, 0);
    result = coder_repeat(&writer->state, &times, &sink);
    if (result == 0)
        result = put_state_frame(&run, true);
    free(run.coder.bytes);
    if (result != 0)
        return result;
    recording_table_begin(&writer->state);
    writer->wants_state = false;
    writer->state_bytes = run.bytes;
    writer->bytes_since_state = 0;
    return 0;
}

/* Starts an empty frame. */
static void begin_frame(struct recording_writer *writer)
{
    writer->first_number += writer->frame_event_count;
    writer->frame_event_count = 0;
    writer->frame_entry_count = 0;
    writer->has_record = false;
    writer->ends_drain = false;
    coder_begin(&writer->coder, false, NULL, 0);
}

static void lose_frame(struct recording_writer *writer)
{
    writer->counts.lost_entry_count += writer->frame_entry_count;
    writer->wants_state = true;
}

static int put_records(struct recording_writer *writer)
{
    int result;

    if (writer->is_lost) {
        lose_frame(writer);
        writer->sequence++; /* makes a gap, so that the reader does not skip the next state as known */
        return 0;
    }
    result =
        put_frame(writer, &writer->coder, writer->ends_drain ? 0 : RECORDING_FRAME_GOES_ON, &writer->bytes_since_state);
    if (result != 0) {
        lose_frame(writer);
        return result;
    }
    writer->counts.event_count += writer->frame_event_count;
    writer->counts.entry_count += writer->frame_entry_count;
    if (writer->bytes_since_state > STATE_SHARE * writer->state_bytes + STATE_BYTES_MIN)
        writer->wants_state = true;
    return 0;
}

/* Appends the attached data to the last record. */
static int end_record(struct recording_writer *writer)
{
    struct record_data data[RIP_SESSION_DATA_COUNT_MAX];
    size_t count = 0;
    int result;

    for (const struct attachment *kept = writer->data; kept != NULL; kept = kept->next)
        data[count++] = (struct record_data){{kept->name_space, strlen(kept->name_space)},
                                             {(const char *)kept->bytes, kept->count}};
    result = count != 0 ? coder_write_data(&writer->coder, writer->last_record, data, count) : 0;
    attachment_clear(&writer->data);
    return result;
}

int recording_writer_flush(struct recording_writer *writer)
{
    bool is_empty = writer->frame_event_count == 1 && writer->data == NULL && !writer->is_split && !writer->is_lost;
    int result = 0, error;

    if (!writer->ends_drain)
        return 0;
    if (is_empty) {
        writer->frame_event_count = 0; /* the number of the event is used again */
    } else {
        result = end_record(writer);
        if (result != 0)
            writer->is_lost = true;
        error = put_records(writer);
        result = result != 0 ? result : error;
    }
    writer->has_begun = false;
    writer->is_lost = false;
    writer->is_split = false;
    begin_frame(writer);
    return result;
}

/* Taking ----------------------------------------------------------------------------------------------------------- */

/* Writes what precedes a drain: a header, a state. Called before its first event is encoded. */
static int begin_drain(struct recording_writer *writer)
{
    int result = 0;

    if (writer->wants_header)
        result = put_header(writer);
    if (result == 0 && writer->wants_state)
        result = put_state(writer);
    writer->has_begun = true;
    writer->is_lost = result != 0;
    return result;
}

/* Completes the last record, and writes a frame if it is large enough: a large drain has several frames. */
static int split_frame(struct recording_writer *writer)
{
    int result = end_record(writer), error;

    if (writer->coder.count < FRAME_BYTES)
        return result;
    error = put_records(writer);
    writer->is_lost |= error != 0;
    writer->is_split = true;
    begin_frame(writer);
    return result != 0 ? result : error;
}

int recording_writer_take(struct recording_writer *writer, const struct rip_event *event)
{
    int result = 0, error;

    if (writer->ends_drain)
        result = recording_writer_flush(writer);
    else if (writer->has_record)
        result = split_frame(writer);
    if (!writer->has_begun) {
        error = begin_drain(writer);
        result = result != 0 ? result : error;
    }
    writer->last_record = writer->coder.count;
    error = coder_write(&writer->coder, event);
    if (error != 0) {
        writer->is_lost |= error != -EINVAL;
        if (event->kind == RIP_EVENT_SNAP)
            writer->counts.lost_entry_count += event->as.snap.entry_count;
        return error;
    }
    writer->has_record = true;
    writer->frame_event_count++;
    if (event->kind == RIP_EVENT_SNAP)
        writer->frame_entry_count += event->as.snap.entry_count;
    if (event->kind == RIP_EVENT_DRAIN) {
        writer->ends_drain = true;
        writer->times = record_times_of(event);
    }
    return result;
}

int recording_writer_attach(struct recording_writer *writer, const char *name_space, const void *data, size_t count)
{
    int result = writer->has_record ? attachment_check(writer->data, name_space, count) : -EINVAL;

    return result == 0 ? attachment_set(&writer->data, name_space, data, count) : result;
}
