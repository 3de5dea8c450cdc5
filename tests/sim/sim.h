/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h - a seeded world of fake processes around the real detector, identity, cases, accounts and schedule.
 *
 * The world has its own clock, in milliseconds for the tests and nanoseconds inside. Ids are named RING/SLOT. A ring
 * belongs to one process; rings 0 to 9 belong to user 0, 10 to 19 to user 1, and so on. Time passes in sim_run() and in
 * the functions that delay ripd or the host. Everything that happens is written to a transcript, which SIM_TRACE()
 * compares and clears:
 *
 *     sim_freeze(world, "7/71");
 *     sim_run(world, 7000);
 *     SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n");
 *
 * Guarantees
 *   A. The same seed and the same calls give the same transcript.
 *   B. An id that is reported as stalled is frozen and has not moved for its threshold. Otherwise the test fails.
 *   C. The counts of every scan add up to the number of ids.
 *   D. At the end a recorded world is replayed to the same events, byte for byte.
 *   E. Every episode begins once and ends at most once under its own number, however often ripd is restarted.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdbool.h>

#include "support/test.h"

#include "cases/case.h"

#define SIM_MS UINT64_C(1000000)
#define SIM_INTERVAL_MS 1000u
#define SIM_STALL_AFTER_MS 5000u
#define SIM_HYSTERESIS_MS 6000u

struct sim_options {
    uint64_t seed;
    bool jitter;           /* scans 0.9 to 1 interval apart; otherwise exactly one */
    unsigned evidence_max; /* suspects examined per scan; 0 = all */
    bool records;          /* the recording is replayed at the end; not together with events_max */
    unsigned events_max;   /* events published by a scan for all users; half of it for one user. 0 = as in ripd */
};

struct sim_world;
struct sim_world *sim_new(struct sim_options options);
void sim_free(struct sim_world *world);

/* Fixtures for a recorded world without jitter: *state is the world. */
int sim_set_up(void **state);
int sim_tear_down(void **state);

/* RING/SLOT. */
struct sim_place {
    char text[24];
};
struct sim_place sim_place(uint32_t ring, uint32_t slot);

/* Ids. An id moves every period_ms; the first time after a random part of that. */
void sim_add(struct sim_world *world, const char *id, uint64_t period_ms);
void sim_add_frozen(struct sim_world *world, const char *id); /* moves for 500 ms, then freezes; that time passes */
void sim_alias(struct sim_world *world, const char *id, uint64_t step);      /* moves by step between scans */
void sim_freeze(struct sim_world *world, const char *id);                    /* its thread stops moving */
void sim_block(struct sim_world *world, const char *id, char letter);        /* the same, with a state letter */
void sim_park(struct sim_world *world, const char *id);                      /* the same, on no thread */
void sim_thaw(struct sim_world *world, const char *id);                      /* moves again */
void sim_idle(struct sim_world *world, const char *id);                      /* waits for work */
void sim_end_thread(struct sim_world *world, const char *id);                /* its thread ends, the slot stays live */
void sim_exit(struct sim_world *world, const char *id);                      /* rip_exit() */
void sim_reuse(struct sim_world *world, const char *id, uint64_t period_ms); /* another id in the same slot */
void sim_name(struct sim_world *world, const char *id, const char *name);    /* "worker" otherwise */
void sim_deadline(struct sim_world *world, const char *id, uint32_t ms);     /* threshold of its own; 0 = none */
uint64_t sim_moved_at_ns(struct sim_world *world, const char *id);           /* time of its last move */

/* The process of a ring. */
void sim_stop(struct sim_world *world, uint32_t ring, char letter); /* 'T' signal, 't' tracer */
void sim_freezer(struct sim_world *world, uint32_t ring);
void sim_core_dump(struct sim_world *world, uint32_t ring);
void sim_continue(struct sim_world *world, uint32_t ring);
void sim_kill(struct sim_world *world, uint32_t ring);   /* the pid does not exist any more */
void sim_exec(struct sim_world *world, uint32_t ring);   /* same pid, another program */
void sim_unlink(struct sim_world *world, uint32_t ring); /* the ring is removed */
bool sim_is_held(struct sim_world *world, uint32_t ring);

/* Time. */
void sim_run(struct sim_world *world, uint64_t ms);
void sim_run_scan(struct sim_world *world);                                /* until after the next scan */
void sim_stop_ripd(struct sim_world *world, uint64_t ms);                  /* SIGSTOP: only ripd */
void sim_suspend(struct sim_world *world, uint64_t ms);                    /* no process runs, the clock does */
void sim_starve(struct sim_world *world, unsigned scans, uint64_t gap_ms); /* ripd scans only every gap_ms */
uint64_t sim_now_ns(const struct sim_world *world);

/* Control of ripd. rules: "GLOB=DURATION GLOB=DURATION", in this order; "": none. */
void sim_configure(struct sim_world *world, uint64_t interval_ms, uint64_t stall_after_ms, const char *rules);
void sim_restart(struct sim_world *world, uint64_t ms); /* is down for ms, then adopts open episodes */

/* Write to the transcript: the state of an id, the counts of the last scan. */
void sim_look(struct sim_world *world, const char *id);
void sim_counts(struct sim_world *world);

void sim_trace(struct sim_world *world, const char *expected, const char *file, int line);
#define SIM_TRACE(world, expected) sim_trace(world, expected, __FILE__, __LINE__)

/* Clears the transcript; it is valid until the next call for this world. */
const char *sim_take_trace(struct sim_world *world);

/* Fails the test unless the detector has the true state of each id. Call when nothing has changed for a while. */
void sim_check_states(struct sim_world *world);

struct cases_counters sim_cases(const struct sim_world *world);
uint64_t sim_id_count(const struct sim_world *world);  /* of the last scan */
size_t sim_begun_count(const struct sim_world *world); /* episodes whose begin was published, but not their end */

/* Uniform below bound, for choices of a test. */
uint64_t sim_random(uint64_t *state, uint64_t bound);

#endif
