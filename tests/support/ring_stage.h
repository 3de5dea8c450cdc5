/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_stage.h - a directory of its own on tmpfs for one test, files and rings in it, and processes that play there.
 *
 * Guarantees
 *   1. Whatever fails here ends the program: a test that cannot be set up has not passed.
 *   2. ring_stage_close() leaves no file; a process started here dies with the test, at the latest after a minute.
 */
#ifndef TESTS_SUPPORT_RING_STAGE_H
#define TESTS_SUPPORT_RING_STAGE_H

#include <stddef.h>
#include <sys/types.h>

#include "support/ring_builder.h"

struct ring_stage {
    char directory[64];
};

void ring_stage_open(struct ring_stage *stage);
void ring_stage_close(struct ring_stage *stage);

/* "DIRECTORY/NAME"; one of eight buffers in turn. */
const char *ring_stage_path(const struct ring_stage *stage, const char *name);

/* Makes a file, or replaces what is in it. */
void ring_stage_write(const struct ring_stage *stage, const char *name, const void *bytes, size_t count);
/* What "proc", made up, says of a process and its first thread. */
void ring_stage_put_stat(const struct ring_stage *stage, uint32_t pid, const char *text);

/* Makes an empty ring in a sparse file, mapped; of this boot. ring_stage_release() unmaps it and leaves the file. */
void ring_stage_build(const struct ring_stage *stage, const char *name, const struct ring_geometry *geometry,
                      struct ring_builder *ret_builder);
void ring_stage_release(struct ring_builder *builder);

/*
 * Starts a process that runs body and is ready when this returns; it then waits for ring_stage_go() to run then, if
 * that is not NULL, and for its end.
 */
pid_t ring_stage_start(void (*body)(void *context), void (*then)(void *context), void *context);
void ring_stage_go(pid_t pid);

/* Kills it with SIGKILL, if it lives, and returns its wait status. */
int ring_stage_end(pid_t pid);

/* Start time of a process, and the inode of our pid namespace, as rings record them. */
uint64_t ring_stage_start_time(pid_t pid);
uint64_t ring_stage_pid_namespace(void);

#endif
