/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures.h - captures in the state directory, written by a thread of its own.
 *
 *   captures/              mode 0711
 *   captures/UID/          mode 0700, and UID may list it
 *   captures/UID/NAME-TIME.capture    mode 0600, and the owner of the ring may read it
 *
 * UID is the user on whose account the ring is.
 *
 * Guarantees
 *   A. Nothing that the caller does waits for the disk, but captures_open(). What the thread has not written yet takes
 *      at most CAPTURES_QUEUE_BYTES; more is refused, and counted.
 *   B. A file appears complete, after it is on disk.
 *   C. Of a user the newest CAPTURES_OF_USER are kept, CAPTURES_OF_USER_BYTES and CAPTURES_AGE_NS at most; of programs
 *      that executed another one the newest CAPTURES_REPLACED. Over all users there are at most CAPTURES_OF_ALL and
 *      CAPTURES_OF_ALL_BYTES: who has the most of them loses his oldest. So he does where the disk is full.
 *   D. No user can read a capture of another's ring. Where the file system has no access lists, only ripd's own user
 *      reads them.
 */
#ifndef RIPD_RECORD_CAPTURES_H
#define RIPD_RECORD_CAPTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/capture_file.h"

#define CAPTURES_FOLDER "captures"
#define CAPTURES_SUFFIX ".capture"
#define CAPTURES_REPLACED_SUFFIX "-exec.capture"
#define CAPTURES_QUEUE_BYTES (64u << 20)
#define CAPTURES_OF_USER 32u
#define CAPTURES_REPLACED 4u
#define CAPTURES_OF_USER_BYTES (UINT64_C(64) << 20)
#define CAPTURES_AGE_NS UINT64_C(2592000000000000) /* 30 days */
#define CAPTURES_OF_ALL 1024u
#define CAPTURES_OF_ALL_BYTES (UINT64_C(512) << 20)
#define CAPTURES_CLOSE_NS UINT64_C(2000000000) /* how long closing waits for what is still to be written */

struct captures;

/*
 * Makes what is missing in the state directory, and starts the thread. 0, -ENOMEM or -EAGAIN. *ret_problem (malloc'ed):
 * why nothing can be written now, in one line; it is tried again for each capture. NULL: it can be.
 */
int captures_open(struct captures **ret_captures, const char *state_directory, char **ret_problem);

/* Whose capture it is, and of what. */
struct capture_label {
    uint32_t user;
    uint32_t owner;   /* of the ring: he may read it */
    const char *name; /* of the ring */
    uint64_t ended_wall_ns;
    bool replaced; /* the process executed another program */
};

/* Takes over the parts of *capture in any case. False: there is no room in the queue, or no memory. */
bool captures_add(struct captures *captures, const struct capture_label *label, struct capture *capture);

struct captures_state {
    uint64_t written_count;
    uint64_t failed_count; /* that could not be written, or had no room */
    int error;             /* why the last attempt failed; 0 = it did not */
};
void captures_state(struct captures *captures, struct captures_state *ret_state);

/* Writes what can be written within CAPTURES_CLOSE_NS. NULL is allowed. */
void captures_close(struct captures *captures);

#endif
