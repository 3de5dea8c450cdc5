/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_file.h - the segments of a recording in a directory, written by a thread of its own.
 *
 * Guarantees
 *   A. Nothing that the caller does waits for the disk, but recording_file_open(). What the thread has not written yet
 *      takes at most RECORDING_QUEUE_BYTES; more is refused, and counted.
 *   B. Segments take RECORDING_SEGMENTS_KEPT times RECORDING_SEGMENT_BYTES, and a frame: then the oldest goes.
 *   C. A disk that is full or fails ends nothing: what is lost is counted, and the recording goes on when it can.
 */
#ifndef RIPD_RECORD_RECORDING_FILE_H
#define RIPD_RECORD_RECORDING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDING_SEGMENT_BYTES (UINT64_C(16) << 20)
#define RECORDING_SEGMENTS_KEPT 64u
#define RECORDING_QUEUE_BYTES (64u << 20)
#define RECORDING_CLOSE_NS UINT64_C(2000000000) /* how long closing waits for what is still to be written */

struct recording_file;

/* Makes the directory if it is missing. -EBUSY: another ripd records there; -errno. */
int recording_file_open(struct recording_file **ret_file, const char *directory);

/* The header or a frame, as struct recording_output in session/recording.h has it. 0 or -ENOBUFS. */
int recording_file_write(void *file, const void *bytes, size_t count, bool full);

/* Whether the next frame shall be a full one: a segment has ended, or what was written is lost. Once for each time. */
bool recording_file_wants_full(struct recording_file *file);

struct recording_file_state {
    uint64_t written_bytes;
    uint64_t lost_count; /* frames that had no room in the queue, or could not be written */
    int error;           /* why the last write or sync failed; 0 = it did not */
};
void recording_file_state(struct recording_file *file, struct recording_file_state *ret_state);

/* Writes what can be written within RECORDING_CLOSE_NS. NULL is allowed. */
void recording_file_close(struct recording_file *file);

#endif
