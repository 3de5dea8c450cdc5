/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.h - answers made from the rings of this host, where no ripd answers: the documents of ripd, made by its own
 * registry, detector and views in this process.
 *
 * The rings are read twice, LOCAL_LOOK_MS apart. That shows which ids did not move in between, and no more: such an id
 * has the state LOCAL_STATE and is counted as stalled. Causes, evidence and lock chains are null. The last place of
 * each id is named if names.h finds a name.
 *
 * Guarantees
 *   A. Rings are hostile: they are opened, read and limited as in ripd (ring/registry.h).
 *   B. A process is dead only if its lock is free, or its pid is free or was given to another process.
 */
#ifndef RIP_CLI_LOCAL_H
#define RIP_CLI_LOCAL_H

#include <jansson.h>
#include <stddef.h>

#define LOCAL_LOOK_MS 1000u
#define LOCAL_STATE "not moving"
#define LOCAL_ERROR_BYTES 256u

struct local;

/*
 * Reads the rings twice, for as long as the program runs. 0 or -errno; a directory that is missing has no rings.
 * *ret_denied: files that this user may not read; they may be rings of other users.
 */
int local_new(struct local **ret_local, const char *const *directories, size_t count, size_t *ret_denied);

/*
 * The document for /stalls, /threads, /threads/RING/ID or /rings, with parameters; the caller owns it. NULL on failure,
 * with the reason in error.
 */
json_t *local_answer(const struct local *local, const char *target, char error[LOCAL_ERROR_BYTES]);

#endif
