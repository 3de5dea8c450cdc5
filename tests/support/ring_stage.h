/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_stage.h - for one test: a directory of its own on tmpfs, files and rings in it, and child processes.
 *
 * Guarantees
 *   1. Any failure in a function here ends the program: a test that cannot be set up has not passed.
 *   2. ring_stage_close() removes all files. A process started here ends with the test, at the latest after a minute.
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

/* Returns "DIRECTORY/NAME", in one of eight buffers used in turn. */
const char *ring_stage_path(const struct ring_stage *stage, const char *name);

/* Creates a file, or replaces its contents. */
void ring_stage_write(const struct ring_stage *stage, const char *name, const void *bytes, size_t count);
/* The same with a text, and makes the missing directories of its name. */
void ring_stage_put(const struct ring_stage *stage, const char *name, const char *text);
/* Writes the stat file of the first thread of a process into a fake "proc" directory. */
void ring_stage_put_stat(const struct ring_stage *stage, uint32_t pid, const char *text);

/* Makes an empty ring of this boot in a sparse file, and maps it. ring_stage_release() unmaps it and keeps the file. */
void ring_stage_build(const struct ring_stage *stage, const char *name, const struct ring_geometry *geometry,
                      struct ring_builder *ret_builder);
void ring_stage_release(struct ring_builder *builder);

/* Adds a record of a real process that claims no lock. */
void ring_stage_claim(struct ring_builder *builder, uint32_t record, pid_t pid, const char *comm);

/*
 * Starts a process and returns when it has run body. The process then waits for ring_stage_go(), runs `then`, and waits
 * to be ended. Both may be NULL.
 */
pid_t ring_stage_start(void (*body)(void *context), void (*then)(void *context), void *context);
void ring_stage_go(pid_t pid);

/* Kills the process with SIGKILL if it is alive, and returns its wait status. */
int ring_stage_end(pid_t pid);

/* Returns the state letter of a process or thread, or 0 if there is none. */
char ring_stage_state(pid_t pid);

/* The start time of a process, and the inode number of our pid namespace, as rings record them. */
uint64_t ring_stage_start_time(pid_t pid);
uint64_t ring_stage_pid_namespace(void);

#endif
