/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.h - answers from the rings of this host if no ripd answers: the documents of ripd, made by its own registry,
 * detector and views in this process.
 *
 * The rings are read twice, LOCAL_PAUSE_MS apart. This shows only which ids did not move in between: such an id has the
 * state LOCAL_STATE and is counted as stalled. Causes, evidence and lock chains are null. The last location of each id
 * is named if names.h finds a name.
 *
 * Guarantees
 *   A. Rings are hostile: they are opened, read and limited as in ripd (ring/registry.h).
 *   B. A process is dead only if its lock is free, or its pid is free or belongs to another process.
 */
#ifndef RIP_CLI_LOCAL_H
#define RIP_CLI_LOCAL_H

#include <jansson.h>
#include <stddef.h>

#define LOCAL_PAUSE_MS 1000u
#define LOCAL_STATE "not moving"
#define LOCAL_ERROR_BYTES 256u

struct local;

/*
 * Reads the rings twice; the result is used for as long as the program runs. Returns 0 or -errno; a missing directory
 * has no rings. *ret_denied is the number of files that this user may not read: they may be rings of other users.
 */
int local_new(struct local **ret_local, const char *const *directories, size_t count, size_t *ret_denied);

/*
 * Returns the document for /stalls, /threads, /threads/RING/ID or /rings, with parameters; the caller owns it. Returns
 * NULL on failure, with the reason in error.
 */
json_t *local_answer(const struct local *local, const char *target, char error[LOCAL_ERROR_BYTES]);

#endif
