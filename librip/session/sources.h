/* SPDX-License-Identifier: Apache-2.0 */
/* sources.h - the kinds of sources. */
#ifndef RIP_SESSION_SOURCES_H
#define RIP_SESSION_SOURCES_H

#include "session/source.h"

/* Options are complete. The descriptor is taken over, whatever is returned. */
int source_open_directory(struct source **ret_source, const char *path, int descriptor,
                          const struct rip_session_options *options, struct source_error *error);
int source_open_ring(struct source **ret_source, const char *path, int descriptor,
                     const struct rip_session_options *options, struct source_error *error);
int source_open_capture(struct source **ret_source, const char *path, int descriptor, struct source_error *error);

/* A file, or a directory of segments. */
int source_open_recording(struct source **ret_source, const char *path, int descriptor, struct source_error *error);
bool source_has_segments(int directory);

#endif
