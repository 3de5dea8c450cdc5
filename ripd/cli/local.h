/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.h - what the rings of this host say where no ripd can be asked: documents in the form of ripd's.
 *
 * Two looks, LOCAL_LOOK_MS apart, show what did not move between them: no more than that. Such an id is of the state
 * LOCAL_STATE, and counted as stalled. There is no cause, no evidence and no chain of locks. Places of what is answered
 * have names where names.h finds them.
 *
 * Guarantees
 *   A. A ring is hostile: its bytes are copied, without touching its holes, and read through rip/reader.h. A file that
 *      is cut, grows or changes meanwhile harms nobody.
 *   B. What is read is bounded: rings, bytes of a ring, ids.
 *   C. A process is dead only if nobody has its pid, or somebody else; of another pid namespace that is not known.
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
 * Takes both looks. 0 or -ENOMEM; a directory that is missing has no rings. *ret_denied: files there that this user may
 * not read, which may be rings of others.
 */
int local_new(struct local **ret_local, const char *const *directories, size_t count, size_t *ret_denied);
void local_free(struct local *local);

/*
 * The answer to /stalls, /threads, /threads/RING/ID or /rings, with parameters. The caller's; NULL: there is none, and
 * error says why.
 */
json_t *local_answer(const struct local *local, const char *target, char error[LOCAL_ERROR_BYTES]);

#endif
