/* SPDX-License-Identifier: Apache-2.0 */
/* sources.h - opens a source of each kind. */
#ifndef RIP_SESSION_SOURCES_H
#define RIP_SESSION_SOURCES_H

#include "session/source.h"

/*
 * These functions take ownership of the descriptor, also on failure. options has the size of this version's struct.
 * They return 0, or -errno and the error as a line. source_open_ring() returns -EINVAL if the file is not a ring.
 */
int source_open_directory(struct source **ret_source, const char *path, int descriptor,
                          const struct rip_session_options *options, struct source_error *error);
int source_open_ring(struct source **ret_source, const char *path, int descriptor,
                     const struct rip_session_options *options, struct source_error *error);
int source_open_capture(struct source **ret_source, const char *path, int descriptor, struct source_error *error);

/* A file, or a directory of segments. */
int source_open_recording(struct source **ret_source, const char *path, int descriptor, struct source_error *error);

/* Returns whether the directory contains a segment of a recording. */
bool source_has_segments(int directory);

#endif
