/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h - converts events to the frames of a recording and back (format: librip/RECORDING.md). Pure, except for
 * the input and output functions of the caller.
 *
 * A frame is called full if it starts a state (RECORDING_FRAME_BEGINS).
 *
 * Guarantees
 *   A. For any input, reading allocates at most RECORDING_PACKED_BYTES_MAX for a frame, RECORDING_FRAME_BYTES_MAX for
 *      its content, and the memory of recording_table.h for the ids that are live.
 *   B. The reader yields what was written, event for event, with its data. A truncated or damaged frame yields no
 *      event, and the reader returns its offset.
 *   C. Reading can start at a full frame, without the frames before it.
 */
#ifndef RIP_SESSION_RECORDING_H
#define RIP_SESSION_RECORDING_H

#include "session/sink.h"

#define RECORDING_FRAME_BYTES_MAX (64u << 20)
#define RECORDING_PACKED_BYTES_MAX (65u << 20) /* content that cannot be compressed becomes 0.4 % larger */

/* Writing --------------------------------------------------------------------------------------------------------- */

/*
 * write() gets the header of the file first, then one frame per call. full: reading can start at this frame. Returns 0
 * or -errno. If it fails, the entries of that frame are counted as lost and the next frame is a full one.
 */
struct recording_output {
    void *context;
    int (*write)(void *context, const void *bytes, size_t count, bool full);
};

struct recording_writer;

/* Copies *output. Returns 0 or -ENOMEM. */
int recording_writer_new(struct recording_writer **ret_writer, const struct recording_output *output,
                         uint64_t created_wall_ns);
void recording_writer_free(struct recording_writer *writer);

/* Starts a segment: the next drain is preceded by the header of the file and a full frame. */
void recording_writer_restart(struct recording_writer *writer);

/*
 * Adds an event. A DRAIN ends the last frame of a drain. A frame that consists of a DRAIN without attached data is not
 * written. Returns 0; -EINVAL if there is no such kind of event; -EFBIG or -ENOMEM if the event and the rest of its
 * drain are lost; or the error of the output if it lost a frame.
 */
int recording_writer_take(struct recording_writer *writer, const struct rip_event *event);

/*
 * Attaches data to the event that was taken last, a DRAIN included: its frame is not written before the next take().
 * Returns the same errors as attachment_check() and attachment_set().
 */
int recording_writer_attach(struct recording_writer *writer, const char *name_space, const void *data, size_t count);

/* Writes the frame that the last DRAIN has ended. The next take() would do the same. */
int recording_writer_flush(struct recording_writer *writer);

/* Returns the counts so far. drain_count counts frames. error stays 0: the output knows its own errors. */
const struct rip_recording_state *recording_writer_state(const struct recording_writer *writer);

/* Reading --------------------------------------------------------------------------------------------------------- */

/* read() returns the number of bytes read at offset, or -errno. It is less than count only at the end of the input. */
struct recording_input {
    void *context;
    long (*read)(void *context, uint64_t offset, void *buffer, size_t count);
    uint64_t size_bytes;
};

struct recording_reader;

/*
 * Copies *input. Returns 0; -EINVAL if the input is not a recording; -EPROTONOSUPPORT for another version; -EBADMSG if
 * the header is damaged; -ENOMEM; or the error of read().
 */
int recording_reader_new(struct recording_reader **ret_reader, const struct recording_input *input);
void recording_reader_free(struct recording_reader *reader);

/*
 * Returns 1 and the next event, which is valid until the next call; 0 at the end; -EBADMSG if the recording is damaged
 * or truncated at recording_reader_offset(); -EPROTONOSUPPORT if a header of another version follows; -ENOMEM; or the
 * error of read().
 */
int recording_reader_next(struct recording_reader *reader, const struct rip_event **ret_event);

/*
 * Returns the nth data, counted from 0, of the event that was read last. It is valid as long as the event. Returns
 * false if there is none.
 */
bool recording_reader_data(const struct recording_reader *reader, size_t nth, const char **ret_name_space,
                           const void **ret_data, size_t *ret_count);

/* Yields the state as of the event that was read last: rings, processes, modules, scripts, ids. */
int recording_reader_repeat(const struct recording_reader *reader, const struct rip_sink *sink);

/* Returns the offset of the next frame, or of the damaged one. */
uint64_t recording_reader_offset(const struct recording_reader *reader);

/*
 * Moves to the last full frame whose time is at most wall_ns, or to the start of the recording. Damage on the way is
 * no error: it is returned when reading arrives there. Returns 0, -EPROTONOSUPPORT, or the error of read().
 */
int recording_reader_seek(struct recording_reader *reader, uint64_t wall_ns);

/* Returns whether bytes begin with the magic of a recording. 8 bytes are enough. */
bool recording_is_one(const void *bytes, size_t count);

#endif
