/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - stores the frames of a recording: in one file, in segments in a directory, or in memory.
 *
 *   DIR/0000000001.riprec ...   segments, oldest first
 *
 * Touches files. Time is an argument.
 *
 * Guarantees
 *   A. A file contains, at any moment, a header, whole frames, and at most one partly written frame. If a write fails,
 *      the partial frame is truncated away, and frames are refused until the next full one.
 *   B. A full or failing disk does not end the output: it refuses frames until there is room, and then continues.
 *   C. The oldest segments are removed before a new one is created. In a directory with segments of an earlier
 *      recording the output continues: those segments count, and their numbers are not used again.
 *   D. Memory holds the newest frames and starts with a full one. It takes at most flight_bytes, overhead included.
 *   E. Files have mode 0600, directories 0700. No existing file is overwritten. No symbolic link is followed in the
 *      last component of a path.
 */
#ifndef RIP_SESSION_OUTPUT_H
#define RIP_SESSION_OUTPUT_H

#include <dirent.h>

#include "rip/session.h"

#define OUTPUT_SUFFIX ".riprec"
#define OUTPUT_SEGMENTS_MAX (1u << 20) /* in a directory */
#define OUTPUT_HEADER_BYTES_MAX 4096u
#define OUTPUT_FLIGHT_CHUNKS 8u /* parts of memory; each starts with a full frame */

struct output;

/*
 * segment_bytes or segment_ns selects segments, flight_bytes selects memory, which does not use path. Returns 0;
 * -EEXIST if the file exists, or path is not a directory; -EBUSY if another recorder writes segments there; -E2BIG if
 * there are more than OUTPUT_SEGMENTS_MAX; -EINVAL for segments_kept without segments, or for segments with memory;
 * or -errno.
 */
int output_open(struct output **ret_output, const char *path, const struct rip_recording_options *options);

/*
 * Is the write function of struct recording_output (recording.h). A header is not written at once: it is kept, and
 * written before the first frame of each file.
 */
int output_write(void *output, const void *bytes, size_t count, bool full);

/*
 * To be called before each drain. Syncs the file if that is due. Returns true if the next frame must be a full one,
 * because a segment or a part of memory is complete, or because a sync failed and written data may be lost. A segment
 * that ends by its size has at least twice the size of its full frame.
 */
bool output_advance(struct output *output, uint64_t now_mono_ns);

/*
 * Writes the frames in memory to a new file and syncs it. Returns 0; -ENOTSUP if the output is not memory; -ENODATA if
 * memory is empty; or -errno. After a write error the file contains the frames before it.
 */
int output_trigger(const struct output *output, const char *path);

/* Returns the number of segments in a directory, or -1 and errno. *ret_names are ascending; the caller frees them. */
int output_list_segments(int directory, struct dirent ***ret_names);

/* Returns the error of the last write or else of the last sync, 0 if both succeeded. */
int output_error(const struct output *output);

/* Syncs the file and frees the output, also on failure. Returns 0 or -errno. */
int output_close(struct output *output);

#endif
