/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures.h - captures in the state directory, written by a separate thread.
 *
 *   captures/              mode 0711
 *   captures/UID/          mode 0700, and UID may list it
 *   captures/UID/NAME-TIME.capture    mode 0600, and the owner of the ring may read it
 *
 * UID is the user to whom the ring is charged.
 *
 * Guarantees
 *   A. No call waits for the disk except captures_open(). Captures that are not written yet take at most
 *      CAPTURES_QUEUE_BYTES; more are refused, and counted.
 *   B. A file appears complete, after it is on disk.
 *   C. Of each user the newest CAPTURES_OF_USER are kept, with at most CAPTURES_OF_USER_BYTES and CAPTURES_AGE_NS; of
 *      programs that executed another one, the newest CAPTURES_REPLACED. Over all users there are at most
 *      CAPTURES_OF_ALL and CAPTURES_OF_ALL_BYTES: the user with most bytes loses its oldest one. The same happens if
 *      the disk is full.
 *   D. No user can read a capture of another user's ring. If the file system has no ACLs, only ripd's own user can read
 *      them.
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
#define CAPTURES_CLOSE_NS UINT64_C(2000000000) /* timeout of closing for pending writes */

struct captures;

/*
 * Creates what is missing in the state directory, and starts the thread. Returns 0, -ENOMEM or -EAGAIN. If nothing can
 * be written now, *ret_problem is the reason in one line, to be freed by the caller; each capture tries again.
 * Otherwise it is NULL.
 */
int captures_open(struct captures **ret_captures, const char *state_directory, char **ret_problem);

/* The user and the ring of a capture. */
struct capture_label {
    uint32_t user;
    uint32_t owner;   /* of the ring: may read the capture */
    const char *name; /* of the ring */
    uint64_t ended_wall_ns;
    bool replaced; /* the process executed another program */
};

/* Takes ownership of the parts of *capture, even on failure. Returns false if the queue is full or memory is short. */
bool captures_add(struct captures *captures, const struct capture_label *label, struct capture *capture);

struct captures_state {
    uint64_t written_count;
    uint64_t failed_count; /* not written, or refused by the queue */
    int error;             /* of the last attempt; 0 = success */
};
void captures_state(struct captures *captures, struct captures_state *ret_state);

/* Writes what can be written within CAPTURES_CLOSE_NS. NULL is allowed. */
void captures_close(struct captures *captures);

#endif
