/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h - the bytes of a recording (librip/RECORDING.md): events in, frames out, and back. Pure, but for what the
 * caller's functions do with the bytes.
 *
 * Guarantees
 *   A. Whatever the bytes, reading allocates no more than RECORDING_FRAME_BYTES_MAX for a frame, and what the ids that
 *      are live in it take.
 *   B. What was written comes out again, event for event, with its data; frames that are cut or damaged yield nothing,
 *      and the reader says where.
 *   C. A frame that is full can be read without those before it.
 */
#ifndef RIP_SESSION_RECORDING_H
#define RIP_SESSION_RECORDING_H

#include "session/sink.h"

#define RECORDING_FRAME_BYTES_MAX (64u << 20)

/* Writing --------------------------------------------------------------------------------------------------------- */

/* Gets the bytes of the file's header first, then of one frame at a time. 0 or -errno: those bytes are lost, and are
 * counted; the next frame will be a full one. */
struct recording_output {
    void *context;
    int (*write)(void *context, const void *bytes, size_t count, bool full);
};

struct recording_writer;

/* output is copied. */
int recording_writer_new(struct recording_writer **ret_writer, const struct recording_output *output,
                         uint64_t created_wall_ns);
void recording_writer_free(struct recording_writer *writer);

/* A segment begins: the file's header comes again, and a full frame after it, before the next drain. */
void recording_writer_restart(struct recording_writer *writer);

/*
 * A DRAIN ends a drain's frames. A frame of which nothing but the DRAIN is there and that nobody attached data to is
 * not written. -EINVAL: no such event; -EFBIG, -ENOMEM: it is lost, and its drain; what the output returned, where
 * frames were lost by it.
 */
int recording_writer_take(struct recording_writer *writer, const struct rip_event *event);

/* Data of the event that was taken last: before the frame is written, so also of a DRAIN. */
int recording_writer_attach(struct recording_writer *writer, const char *name_space, const void *data, size_t count);

/* Writes the frame that the last DRAIN has ended: then it is out. Called by the next take(), too. */
int recording_writer_flush(struct recording_writer *writer);

/* What has become of the events so far. A drain is a frame; the error is not the writer's but the output's. */
const struct rip_recording_state *recording_writer_state(const struct recording_writer *writer);

/* Reading --------------------------------------------------------------------------------------------------------- */

/* Bytes from offset on: how many were read, fewer than count only at the end; or -errno. */
struct recording_input {
    void *context;
    long (*read)(void *context, uint64_t offset, void *buffer, size_t count);
    uint64_t size_bytes;
};

struct recording_reader;

/* 0; -EINVAL: no recording; -EPROTONOSUPPORT: of another version; -EBADMSG; -ENOMEM. input is copied. */
int recording_reader_new(struct recording_reader **ret_reader, const struct recording_input *input);
void recording_reader_free(struct recording_reader *reader);

/* 1 and the next event, valid until the next call; 0 at the end; -EBADMSG: damaged or cut at recording_reader_offset().
 */
int recording_reader_next(struct recording_reader *reader, const struct rip_event **ret_event);

/* Data of the event that was read last, nth from 0; false: there is none. Valid as long as the event. */
bool recording_reader_data(const struct recording_reader *reader, size_t nth, const char **ret_name_space,
                           const void **ret_data, size_t *ret_count);

/* All that is there as of the event that was read last: what a recording of this one begins with. */
int recording_reader_repeat(const struct recording_reader *reader, const struct rip_sink *sink);

/* Of the frame that is read next, or is damaged. */
uint64_t recording_reader_offset(const struct recording_reader *reader);

/* The next event is the first one of the last full frame whose time is at most wall_ns, or of the first frame. */
int recording_reader_seek(struct recording_reader *reader, uint64_t wall_ns);

/* Whether bytes begin as a recording does; 8 of them are enough. */
bool recording_is_one(const void *bytes, size_t count);

#endif
