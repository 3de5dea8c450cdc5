/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_read.c - reads frames and yields events; see recording.h. librip/RECORDING.md defines the format.
 *
 * Reading starts at a state, which is yielded as events. Later states repeat what is known, and are skipped. If frames
 * are missing before a state, all rings end, and the state is yielded as events again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "session/recording.h"
#include "session/recording_code.h"
#include "session/recording_format.h"

enum {
    DATA_PER_EVENT_MAX = 64,
    RINGS_PER_RUN = 1 << 20, /* distance between the ring numbers of two runs of a recorder */
};

struct read_data {
    char name_space[RIP_SESSION_NAMESPACE_BYTES + 1];
    struct rip_text data;
};

struct recording_reader {
    struct recording_input input;
    struct recording_table state;
    struct record_coder coder;
    ZSTD_DCtx *decompressor;
    unsigned char *packed;
    size_t packed_capacity;
    unsigned char *raw;
    size_t raw_capacity;
    uint64_t offset;
    uint64_t frame_offset;
    struct recording_frame frame; /* whose records the coder reads */
    uint64_t number;              /* of the next event */
    uint64_t next_sequence;       /* expected; 0 = only a state may follow */
    uint64_t created_wall_ns;     /* of this run */
    uint32_t run_count;
    const char *ending;        /* not NULL: all rings must end first, for this reason */
    bool is_known;             /* the current state repeats what is known */
    int error;                 /* the error that reading has ended with; 0 = none */
    struct record_times times; /* of the last DRAIN */
    struct rip_event event;
    struct read_data data[DATA_PER_EVENT_MAX];
    size_t data_count;
};

bool recording_is_one(const void *bytes, size_t count)
{
    uint64_t magic = RECORDING_MAGIC;

    return count >= sizeof(magic) && memcmp(bytes, &magic, sizeof(magic)) == 0;
}

/* Bytes ------------------------------------------------------------------------------------------------------------ */

/* Returns 0, -EBADMSG if the input ends before, or the error of the input. */
static int read_bytes(const struct recording_reader *reader, uint64_t offset, void *buffer, size_t count)
{
    long got;

    if (offset > reader->input.size_bytes || count > reader->input.size_bytes - offset)
        return -EBADMSG;
    got = reader->input.read(reader->input.context, offset, buffer, count);
    return got < 0 ? (int)got : (size_t)got == count ? 0 : -EBADMSG;
}

static int read_header(const struct recording_reader *reader, uint64_t offset, struct recording_header *ret_header)
{
    struct recording_header header;
    int result = read_bytes(reader, offset, &header, sizeof(header));

    if (result != 0)
        return result;
    if (!recording_is_one(&header, sizeof(header)) ||
        header.checksum != recording_checksum(&header, offsetof(struct recording_header, checksum)))
        return -EBADMSG;
    if (header.version != RECORDING_VERSION)
        return -EPROTONOSUPPORT;
    if (header.header_bytes < sizeof(header) || header.header_bytes > reader->input.size_bytes - offset)
        return -EBADMSG;
    *ret_header = header;
    return 0;
}

/* Returns 1 and the frame at *offset; 0 at the end; or an error. Skips headers by moving *offset to their end. */
static int find_frame(struct recording_reader *reader, uint64_t *offset, struct recording_frame *ret_frame)
{
    struct recording_header header;
    struct recording_frame frame;
    unsigned char magic[8];
    int result;

    while (read_bytes(reader, *offset, magic, sizeof(magic)) == 0 && recording_is_one(magic, sizeof(magic))) {
        result = read_header(reader, *offset, &header);
        if (result != 0)
            return result;
        if (reader->run_count == 0 || header.created_wall_ns != reader->created_wall_ns) {
            reader->created_wall_ns = header.created_wall_ns;
            reader->coder.ring_base = reader->run_count++ * RINGS_PER_RUN;
            reader->next_sequence = 0;
        }
        *offset += header.header_bytes;
    }
    if (*offset == reader->input.size_bytes)
        return 0;
    result = read_bytes(reader, *offset, &frame, sizeof(frame));
    if (result != 0)
        return result;
    if (frame.magic != RECORDING_FRAME_MAGIC || frame.raw_bytes > RECORDING_FRAME_BYTES_MAX ||
        frame.packed_bytes > RECORDING_PACKED_BYTES_MAX ||
        frame.checksum != recording_checksum(&frame, offsetof(struct recording_frame, checksum)) ||
        frame.packed_bytes > reader->input.size_bytes - *offset - sizeof(frame))
        return -EBADMSG;
    *ret_frame = frame;
    return 1;
}

static bool make_room(unsigned char **buffer, size_t *capacity, size_t wanted)
{
    if (*capacity >= wanted)
        return true;
    free(*buffer);
    *buffer = malloc(wanted);
    *capacity = *buffer != NULL ? wanted : 0;
    return *buffer != NULL;
}

static int unpack_frame(struct recording_reader *reader)
{
    const struct recording_frame *frame = &reader->frame;
    size_t raw_bytes;
    int result;

    if (!make_room(&reader->packed, &reader->packed_capacity, (size_t)frame->packed_bytes + 1) ||
        !make_room(&reader->raw, &reader->raw_capacity, (size_t)frame->raw_bytes + 1))
        return -ENOMEM;
    result = read_bytes(reader, reader->frame_offset + sizeof(*frame), reader->packed, frame->packed_bytes);
    if (result != 0)
        return result;
    raw_bytes =
        ZSTD_decompressDCtx(reader->decompressor, reader->raw, frame->raw_bytes, reader->packed, frame->packed_bytes);
    if (ZSTD_isError(raw_bytes) || raw_bytes != frame->raw_bytes)
        return -EBADMSG;
    coder_begin(&reader->coder, (frame->flags & RECORDING_FRAME_STATE) != 0, reader->raw, raw_bytes);
    reader->number = frame->first_number;
    return 0;
}

/* Frames ----------------------------------------------------------------------------------------------------------- */

/* Returns 1 if the coder has the next frame, or rings must end before it; 0 at the end; or an error. */
static int next_frame(struct recording_reader *reader)
{
    uint64_t offset = reader->offset;
    uint32_t run_count = reader->run_count;
    struct recording_frame frame;
    bool begins;
    int result;

    for (;;) {
        result = find_frame(reader, &offset, &frame);
        reader->offset = offset;
        if (result <= 0)
            return result;
        begins = (frame.flags & RECORDING_FRAME_STATE) != 0 && (frame.flags & RECORDING_FRAME_BEGINS) != 0;
        if (reader->next_sequence != frame.sequence && !begins)
            return -EBADMSG;
        if (reader->next_sequence != frame.sequence && reader->state.ring_count != 0) {
            reader->ending = run_count != reader->run_count ? "another run of the recorder begins"
                                                            : "frames of the recording are missing";
            return 1;
        }
        offset += sizeof(frame) + frame.packed_bytes;
        reader->is_known = begins ? reader->next_sequence == frame.sequence : reader->is_known;
        if ((frame.flags & RECORDING_FRAME_STATE) == 0 || !reader->is_known)
            break;
        if (begins)
            recording_table_begin(&reader->state);
        reader->next_sequence = frame.sequence + 1;
    }
    reader->frame = frame;
    reader->frame_offset = reader->offset;
    result = unpack_frame(reader);
    if (result != 0)
        return result;
    reader->next_sequence = frame.sequence + 1;
    reader->offset = offset;
    return 1;
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static int read_data(struct recording_reader *reader)
{
    struct record_data data[DATA_PER_EVENT_MAX] = {0};
    size_t count;
    int result = coder_read_data(&reader->coder, data, DATA_PER_EVENT_MAX, &count);

    for (size_t i = 0; result == 0 && i < count; i++) {
        if (data[i].name_space.count > RIP_SESSION_NAMESPACE_BYTES)
            return -EBADMSG;
        memcpy(reader->data[i].name_space, data[i].name_space.bytes, data[i].name_space.count);
        reader->data[i].name_space[data[i].name_space.count] = '\0';
        reader->data[i].data = data[i].data;
        reader->data_count++;
    }
    return result;
}

static bool end_ring(struct recording_reader *reader)
{
    if (reader->ending == NULL)
        return false;
    reader->event = record_event(RIP_EVENT_RING_END, reader->state.rings[0].number, &reader->times);
    reader->event.number = reader->number;
    reader->event.as.ring_end.reason = (struct rip_text){reader->ending, strlen(reader->ending)};
    recording_table_drop_ring(&reader->state, reader->event.ring);
    if (reader->state.ring_count == 0)
        reader->ending = NULL;
    return true;
}

static int read_event(struct recording_reader *reader)
{
    struct rip_event *event = &reader->event;
    bool has_data = false;
    int result;

    for (;;) {
        if (end_ring(reader))
            return 1;
        result = coder_read(&reader->coder, event, &has_data);
        if (result != 0)
            break;
        result = next_frame(reader);
        if (result <= 0)
            return result;
    }
    if (result == 1 && has_data)
        result = read_data(reader) == 0 ? 1 : -EBADMSG;
    if (result < 0) {
        reader->offset = reader->frame_offset;
        return result;
    }
    event->number = reader->number;
    reader->number += !reader->coder.is_state;
    if (event->kind == RIP_EVENT_DRAIN)
        reader->times = record_times_of(event);
    return 1;
}

int recording_reader_next(struct recording_reader *reader, const struct rip_event **ret_event)
{
    int result;

    reader->data_count = 0;
    if (reader->error != 0)
        return reader->error;
    result = read_event(reader);
    if (result == 1)
        *ret_event = &reader->event;
    else if (result < 0)
        reader->error = result;
    return result;
}

bool recording_reader_data(const struct recording_reader *reader, size_t nth, const char **ret_name_space,
                           const void **ret_data, size_t *ret_count)
{
    if (nth >= reader->data_count)
        return false;
    *ret_name_space = reader->data[nth].name_space;
    *ret_data = reader->data[nth].data.bytes;
    *ret_count = reader->data[nth].data.count;
    return true;
}

int recording_reader_repeat(const struct recording_reader *reader, const struct rip_sink *sink)
{
    struct record_times times = reader->times;

    times.earliest_wall_ns = 0;
    times.earliest_mono_ns = 0;
    return coder_repeat(&reader->state, &times, sink);
}

uint64_t recording_reader_offset(const struct recording_reader *reader)
{
    return reader->offset;
}

/* Opening and seeking ---------------------------------------------------------------------------------------------- */

int recording_reader_new(struct recording_reader **ret_reader, const struct recording_input *input)
{
    struct recording_reader *reader = calloc(1, sizeof(*reader));
    struct recording_header header;
    int result;

    if (reader == NULL)
        return -ENOMEM;
    reader->input = *input;
    reader->coder.state = &reader->state;
    reader->decompressor = ZSTD_createDCtx();
    result = reader->decompressor != NULL ? read_header(reader, 0, &header) : -ENOMEM;
    if (result != 0) {
        unsigned char magic[8];
        bool is_one = read_bytes(reader, 0, magic, sizeof(magic)) == 0 && recording_is_one(magic, sizeof(magic));

        recording_reader_free(reader);
        return result == -EBADMSG && !is_one ? -EINVAL : result;
    }
    *ret_reader = reader;
    return 0;
}

void recording_reader_free(struct recording_reader *reader)
{
    if (reader == NULL)
        return;
    recording_table_clear(&reader->state);
    ZSTD_freeDCtx(reader->decompressor);
    free(reader->packed);
    free(reader->raw);
    free(reader);
}

int recording_reader_seek(struct recording_reader *reader, uint64_t wall_ns)
{
    uint64_t offset = 0, found_offset = 0, found_created_ns = 0;
    uint32_t found_run_count = 0;
    struct recording_frame frame;
    int result;

    reader->run_count = 0;
    for (;;) {
        uint64_t before = offset;
        uint32_t run_count = reader->run_count;
        uint64_t created_ns = reader->created_wall_ns;

        result = find_frame(reader, &offset, &frame);
        if (result <= 0)
            break; /* damage is returned when reading arrives there */
        if ((frame.flags & RECORDING_FRAME_BEGINS) != 0) {
            if (frame.wall_ns > wall_ns)
                break;
            found_offset = before;
            found_run_count = run_count;
            found_created_ns = created_ns;
        }
        offset += sizeof(frame) + frame.packed_bytes;
    }
    recording_table_clear(&reader->state);
    reader->run_count = found_run_count;
    reader->created_wall_ns = found_created_ns;
    reader->coder.ring_base = found_run_count != 0 ? (found_run_count - 1) * RINGS_PER_RUN : 0;
    reader->offset = found_offset;
    reader->next_sequence = 0;
    reader->ending = NULL;
    reader->error = 0;
    reader->data_count = 0;
    reader->coder.position = reader->coder.count; /* drops the rest of the frame */
    return result < 0 && result != -EBADMSG ? result : 0;
}
