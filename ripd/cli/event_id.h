/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_id.h - the id of an event, EPOCH-SEQUENCE, and the file in which a follower stores the last one.
 *
 * Guarantees
 *   A. The file is replaced atomically: if a follower is killed at any moment, it has the old id or the new one.
 */
#ifndef RIP_CLI_EVENT_ID_H
#define RIP_CLI_EVENT_ID_H

#include <stdbool.h>
#include <stdint.h>

#define EVENT_ID_BYTES 64u

/*
 * 16 hexadecimal digits, '-', at most 19 decimal digits. Returns false for any other text; *ret_sequence is untouched.
 */
bool event_id_parse(const char *text, uint64_t *ret_sequence);

/* Returns 0; -ENOENT: no such file; -EINVAL: the file has something else; or -errno. */
int event_id_load(const char *path, char ret_id[EVENT_ID_BYTES]);
int event_id_store(const char *path, const char *id);

#endif
