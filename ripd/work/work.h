/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - whose turn is next, and what each user may cost. The only place that counts users. Pure: not thread-safe,
 * time is an argument.
 *
 * A user is the uid that owns a ring. Uids of a subordinate range (subuid(5)) count as the user to whom the range
 * belongs. Each user has one account: what he holds of each limit, what he was refused, and, by
 * work/jobs.h, the time that was spent for him and his queued jobs. A struct work belongs to one thread; a second
 * thread that shares something out (names of places) has one of its own.
 *
 * Guarantees
 *   A. A user may hold as much of a limit as then stays free for others. One user alone gets half of the total, and
 *      whatever many users do, something is left for the next one. The total is never exceeded.
 *   B. Each refusal is counted, by user and by limit. The counts only grow while the account exists.
 *   C. There are at most WORK_USERS_MAX accounts. Beyond them several users share one.
 */
#ifndef RIPD_WORK_WORK_H
#define RIPD_WORK_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/uid_range.h"

#define WORK_USERS_MAX 1024u
#define WORK_EVENTS_PER_SCAN 32u
#define WORK_CAPTURE_BYTES_PER_SCAN (UINT64_C(1) << 23)

/* name, text in /rings, total over all users, what it bounds. */
#define WORK_LIMIT_TABLE(X)                                                                                            \
    X(RINGS, "rings", 4096, "rings mapped at once")                                                                    \
    X(MAPPED_BYTES, "mapped_bytes", UINT64_C(1) << 44, "address space for rings")                                      \
    X(CHARGED_BYTES, "charged_bytes", UINT64_C(1) << 27, "copies of ring pages in memory that is charged to ripd")     \
    X(READ_TIME, "read_time", UINT64_MAX, "time to read rings in one scan")                                            \
    X(PROCESS_TIME, "process_time", UINT64_MAX, "time to judge processes in one scan")                                 \
    X(EVIDENCE_TIME, "evidence_time", UINT64_MAX, "time to examine suspects in one scan")                              \
    X(STALLS, "stalls", 196608, "stalls listed by one scan")                                                           \
    X(WAITS, "waits", 131072, "ids in the graph of waits of one scan")                                                 \
    X(EPISODES, "episodes", 32768, "open stalls whose begin was published")                                            \
    X(BELATED, "belated", 2048, "stalls that are over while their begin waits for room")                               \
    X(EVENTS, "events", 1024, "stalls published at once; a few more by each scan")                                     \
    X(HOOK_RUNS, "hook_runs", 64, "events that wait for the --on-stall command")                                       \
    X(ENDINGS, "endings", 4096, "processes whose end is noticed at once")                                              \
    X(CAPTURE_BYTES, "capture_bytes", UINT64_C(1) << 26, "captures made at once; an eighth more by each scan")         \
    X(SYMBOL_QUERIES, "symbol_queries", 16384, "places that wait for the symbolizer")                                  \
    X(SYMBOL_BYTES, "symbol_bytes", UINT64_C(1) << 28, "memory for names of places")                                   \
    X(SCRIPT_BYTES, "script_bytes", UINT64_C(1) << 27, "memory for names of places in scripts")                        \
    X(RECORDED_BYTES, "recorded_bytes", UINT64_C(1) << 28, "memory for rings and ids that are recorded")

enum work_limit {
#define X(name, text, total, meaning) WORK_##name,
    WORK_LIMIT_TABLE(X)
#undef X
        WORK_LIMIT_COUNT
};

/* Static string. */
const char *work_limit_name(enum work_limit limit);

struct work;

struct work *work_new(void); /* NULL: no memory */
void work_free(struct work *work);

/* Users ------------------------------------------------------------------------------------------------------------ */

/* Replaces the subordinate ranges; copied. Where two overlap, the one with the lower first uid counts. 0 or -ENOMEM. */
int work_set_ranges(struct work *work, const struct uid_range *ranges, size_t count);

/* The user that a uid counts as. */
uint32_t work_user(const struct work *work, uint32_t uid);

/* One user's account, for /rings and metrics. */
struct work_account {
    uint32_t user;
    uint64_t held[WORK_LIMIT_COUNT];
    uint64_t refused[WORK_LIMIT_COUNT];
};

/* The account at index, in order of user; false: there are not so many. */
bool work_account(const struct work *work, size_t index, struct work_account *ret_account);

/* Limits ----------------------------------------------------------------------------------------------------------- */

/* Another total, at least 1. What is held stays held. */
void work_set_total(struct work *work, enum work_limit limit, uint64_t total);

/* Takes amount of a limit for a user. False: he may not have so much (guarantee A), which is counted. */
bool work_take(struct work *work, uint32_t user, enum work_limit limit, uint64_t amount);

/* The same without counting a refusal, and without taking: whether there is room. */
bool work_has_room(const struct work *work, uint32_t user, enum work_limit limit, uint64_t amount);

/* Gives back what was taken. */
void work_give(struct work *work, uint32_t user, enum work_limit limit, uint64_t amount);

/* Gives back all of a limit of all users: one that counts per scan. A new one begins. */
void work_reset(struct work *work, enum work_limit limit);

/* Gives back up to amount of what each user holds of a limit: one that is a rate, with the total as its burst. */
void work_leak(struct work *work, enum work_limit limit, uint64_t amount);

/* Counts a refusal that was decided elsewhere, such as a time that ran out. */
void work_refuse(struct work *work, uint32_t user, enum work_limit limit, uint64_t count);

uint64_t work_held(const struct work *work, uint32_t user, enum work_limit limit);

/* Who holds most of a limit, for a caller that takes something back. False: nobody holds any. */
bool work_largest(const struct work *work, enum work_limit limit, uint32_t *ret_user);

#endif
