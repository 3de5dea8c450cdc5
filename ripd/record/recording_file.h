/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_file.h - the segments of a recording in a directory, written by a separate thread.
 *
 * Guarantees
 *   A. No call waits for the disk except recording_file_open(). Frames that are not written yet take at most
 *      RECORDING_QUEUE_BYTES; more are refused, and counted.
 *   B. Segments take RECORDING_SEGMENTS_KEPT times RECORDING_SEGMENT_BYTES, plus one frame. Then the oldest is removed.
 *   C. A full or failing disk ends nothing: lost frames are counted, and the recording continues when it can.
 */
#ifndef RIPD_RECORD_RECORDING_FILE_H
#define RIPD_RECORD_RECORDING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDING_SEGMENT_BYTES (UINT64_C(16) << 20)
#define RECORDING_SEGMENTS_KEPT 64u
#define RECORDING_QUEUE_BYTES (64u << 20)
#define RECORDING_CLOSE_NS UINT64_C(2000000000) /* timeout of closing for pending writes */

struct recording_file;

/* Creates the directory if it is missing. Returns 0 or -errno; -EBUSY if another ripd records there. */
int recording_file_open(struct recording_file **ret_file, const char *directory);

/* Writes the header or a frame, as struct recording_output in session/recording.h. Returns 0 or -ENOBUFS. */
int recording_file_write(void *file, const void *bytes, size_t count, bool full);

/* Returns true once for each time that the next frame must be a full one: a segment has ended, or a frame was lost. */
bool recording_file_wants_full(struct recording_file *file);

struct recording_file_state {
    uint64_t written_bytes;
    uint64_t lost_count; /* frames not written, or refused by the queue */
    int error;           /* of the last write or sync; 0 = success */
};
void recording_file_state(struct recording_file *file, struct recording_file_state *ret_state);

/* Writes what can be written within RECORDING_CLOSE_NS. NULL is allowed. */
void recording_file_close(struct recording_file *file);

#endif
