/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_assert.h - the events that a replay is expected to have: lines that `rip replay --json` printed, or an answer
 * of /events.
 */
#ifndef RIP_CLI_REPLAY_ASSERT_H
#define RIP_CLI_REPLAY_ASSERT_H

#include <stdbool.h>
#include <stddef.h>

struct replay_assert;

/* NULL after an error message. */
struct replay_assert *replay_assert_open(const char *path);
void replay_assert_free(struct replay_assert *expected); /* NULL is allowed */

/* The next event of the replay. False after a message that says what differs. */
bool replay_assert_take(struct replay_assert *expected, const char *text, size_t count);

/* Whether there were all. False after a message. */
bool replay_assert_end(const struct replay_assert *expected);

#endif
