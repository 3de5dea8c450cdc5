/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - where the frames of a recording go: to one file, to segments in a directory, or to memory.
 *
 *   DIR/0000000001.riprec ...   segments, oldest first
 *
 * Touches files; time is the caller's.
 *
 * Guarantees
 *   A. A file is at any moment: a header, whole frames, and at most one frame that is being written. A frame that could
 *      not be written whole is cut off again, and after it only a full one is taken.
 *   B. A disk that is full or fails ends nothing: frames are refused until there is room, and then go on.
 *   C. Segments are removed oldest first, before the one that takes their place is made. A directory of an earlier
 *      recording is continued: its segments count, and their numbers are not used again.
 *   D. Memory holds the newest frames, within flight_bytes with what keeps them, and begins with a full one.
 *   E. Files have mode 0600, directories 0700. Nothing that is there is overwritten, and no link is followed.
 */
#ifndef RIP_SESSION_OUTPUT_H
#define RIP_SESSION_OUTPUT_H

#include <dirent.h>

#include "rip/session.h"

#define OUTPUT_SUFFIX ".riprec"
#define OUTPUT_SEGMENTS_MAX (1u << 20) /* in a directory */
#define OUTPUT_HEADER_BYTES_MAX 4096u
#define OUTPUT_FLIGHT_CHUNKS 8u /* so many full frames are there in a memory that is full */

struct output;

/*
 * Segments need segment_bytes or segment_ns, memory flight_bytes; path is not used for memory. -EEXIST: there is such a
 * file; -EBUSY: somebody writes segments there; -E2BIG: more than OUTPUT_SEGMENTS_MAX of them; -EINVAL: kept segments
 * without segments, or both kinds.
 */
int output_open(struct output **ret_output, const char *path, const struct rip_recording_options *options);

/* As struct recording_output in recording.h has it. A header is kept, and written in front of the first frame of each
 * file. */
int output_write(void *output, const void *bytes, size_t count, bool full);

/* Before each drain: syncs what is due. True: a segment ends here, or what was written may be lost; the next frame
 * shall be a full one. A segment has at least the bytes of two full frames. */
bool output_advance(struct output *output, uint64_t now_mono_ns);

/* Writes what memory holds to a new file, and syncs it. -ENOTSUP: it is no memory; -ENODATA: it holds nothing. After
 * another failure the file holds the frames that had room. */
int output_trigger(const struct output *output, const char *path);

/* How many segments a directory has by their names, ascending, which are the caller's to free; -1: see errno. */
int output_list_segments(int directory, struct dirent ***ret_names);

/* Why the last write or sync failed; 0 = it did not. */
int output_error(const struct output *output);

/* Syncs the rest. 0 or the -errno of that; the output is gone in any case. */
int output_close(struct output *output);

#endif
