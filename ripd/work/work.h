/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - whose turn is next, and what each user may cost. The only place that counts by user. Pure: not thread-safe,
 * time is an argument.
 *
 * A user is the uid that owns a ring. Uids of a subordinate range (subuid(5)) count as the user to whom the range
 * belongs. Each user has one account: what it holds of each limit, what it was refused, and, for work/jobs.h, its
 * queued jobs and the time that was spent on it. A struct work belongs to one thread. A second thread that divides
 * something among users (names of locations) has its own.
 *
 * Guarantees
 *   A. A user may hold at most as much of a limit as then stays free for others. A single user gets half of the total.
 *      However much many users hold, something is left for the next one. The total is never exceeded.
 *   B. Each refusal is counted, by user and by limit. The counts only grow while the account exists.
 *   C. There are at most WORK_USERS_MAX accounts. Further users share one more, WORK_SHARED. While it holds something,
 *      every user without an account uses it, so that what was taken from it is given back to it.
 */
#ifndef RIPD_WORK_WORK_H
#define RIPD_WORK_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/uid_range.h"

#define WORK_USERS_MAX 1024u
#define WORK_SHARED UINT32_MAX /* no uid */
#define WORK_EVENTS_PER_SCAN 32u
#define WORK_NOTICES_PER_SCAN 20u
#define WORK_RESTALLS_PER_SCAN 20u
#define WORK_CAPTURE_BYTES_PER_SCAN (UINT64_C(1) << 23)

/* name, text in /rings, total over all users, what it bounds. */
#define WORK_LIMIT_TABLE(X)                                                                                            \
    X(RINGS, "rings", 4096, "rings mapped at once")                                                                    \
    X(MAPPED_BYTES, "mapped_bytes", UINT64_C(1) << 44, "address space for rings")                                      \
    X(FILES, "files", 131072, "files that are no rings, not opened again until they change")                           \
    X(UNREADABLE, "unreadable", 2048, "unreadable rings listed with the reason")                                       \
    X(NOTICES, "notices", 2000, "log lines about rings written at once; a few more with each scan")                    \
    X(CHARGED_BYTES, "charged_bytes", UINT64_C(1) << 27, "copies of ring pages, in memory charged to ripd")            \
    X(READ_TIME, "read_time", UINT64_MAX, "time to read rings in one scan")                                            \
    X(PROCESS_TIME, "process_time", UINT64_MAX, "time to judge processes in one scan")                                 \
    X(STOP_LOOKS, "stop_looks", 256, "processes of which one scan reads whether they are stopped")                     \
    X(EVIDENCE_TIME, "evidence_time", UINT64_MAX, "time to examine suspects in one scan")                              \
    X(STALLS, "stalls", 196608, "stalls listed by one scan")                                                           \
    X(WAITS, "waits", 131072, "ids in the wait graph of one scan")                                                     \
    X(CHAINS, "chains", 2048, "ended ids for which it is kept what they waited for")                                   \
    X(EPISODES, "episodes", 32768, "open stalls whose begin was published")                                            \
    X(BELATED, "belated", 2048, "stalls that ended before there was room for their begin")                             \
    X(EVENTS, "events", 1024, "stalls published at once; a few more with each scan")                                   \
    X(RESTALLS, "restalls", 2048, "further stalls of open episodes written at once; a few more with each scan")        \
    X(HOOK_RUNS, "hook_runs", 64, "events queued for the --on-stall command")                                          \
    X(ENDINGS, "endings", 4096, "processes whose end is noticed at once")                                              \
    X(CAPTURE_BYTES, "capture_bytes", UINT64_C(1) << 26, "captures made at once; an eighth more with each scan")       \
    X(SYMBOL_QUERIES, "symbol_queries", 16384, "locations queued for the symbolizer")                                  \
    X(SYMBOL_BYTES, "symbol_bytes", UINT64_C(1) << 28, "memory for names of locations")                                \
    X(SCRIPT_BYTES, "script_bytes", UINT64_C(1) << 27, "memory for names of locations in scripts")                     \
    X(RECORDED_BYTES, "recorded_bytes", UINT64_C(1) << 28, "memory for rings and ids that are recorded")

enum work_limit {
#define X(name, text, total, meaning) WORK_##name,
    WORK_LIMIT_TABLE(X)
#undef X
        WORK_LIMIT_COUNT
};

/* Returns a static string. */
const char *work_limit_name(enum work_limit limit);

struct work;

struct work *work_new(void); /* returns NULL if out of memory */
void work_free(struct work *work);

/* Users ------------------------------------------------------------------------------------------------------------ */

/*
 * Replaces the subordinate ranges with a copy. If two overlap, the one with the lower first uid counts. Returns 0 or
 * -ENOMEM.
 */
int work_set_ranges(struct work *work, const struct uid_range *ranges, size_t count);

/* Returns the user that a uid counts as. */
uint32_t work_user(const struct work *work, uint32_t uid);

/* One user's account, for /rings and metrics. */
struct work_account {
    uint32_t user;
    uint64_t held[WORK_LIMIT_COUNT];
    uint64_t refused[WORK_LIMIT_COUNT];
};

/* Returns the account at index, ordered by user, or false if there are not that many. */
bool work_account(const struct work *work, size_t index, struct work_account *ret_account);

/* Limits ----------------------------------------------------------------------------------------------------------- */

/* Changes the total, at least 1. Amounts held stay held. */
void work_set_total(struct work *work, enum work_limit limit, uint64_t total);

/* Charges amount to a user. Returns false, and counts a refusal, if guarantee A does not allow it. */
bool work_take(struct work *work, uint32_t user, enum work_limit limit, uint64_t amount);

/* Returns true if work_take() would succeed. Counts no refusal. */
bool work_has_room(const struct work *work, uint32_t user, enum work_limit limit, uint64_t amount);

/* Releases amount. */
void work_give(struct work *work, uint32_t user, enum work_limit limit, uint64_t amount);

/* Releases everything of a limit for all users: for a limit per scan, when a scan begins. */
void work_reset(struct work *work, enum work_limit limit);

/* Releases up to amount of what each user holds: for a limit that is a rate, with the total as its burst. */
void work_leak(struct work *work, enum work_limit limit, uint64_t amount);

/* Counts a refusal that was decided elsewhere, such as time that ran out. */
void work_refuse(struct work *work, uint32_t user, enum work_limit limit, uint64_t count);

uint64_t work_held(const struct work *work, uint32_t user, enum work_limit limit);

/*
 * Returns the user that holds most of a limit, for a caller that evicts something. Returns false if nobody holds any.
 */
bool work_largest(const struct work *work, enum work_limit limit, uint32_t *ret_user);

#endif
