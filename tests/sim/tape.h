/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tape.h - what ripd would record of a simulated world, scan by scan, and the check that its replay has the same
 * events.
 */
#ifndef TESTS_SIM_TAPE_H
#define TESTS_SIM_TAPE_H

#include "cases/event.h"
#include "cases/scan_record.h"
#include "replay/replay.h"

#define TAPE_WALL_NS UINT64_C(1700000000000000000) /* when the world begins */

struct tape;
struct tape *tape_new(void);
void tape_free(struct tape *tape);

/* ripd was restarted: it finds all rings and ids again. */
void tape_restart(struct tape *tape);

/* A scan: each ring, followed by its ids. Rings and ids that are missing have ended. */
void tape_ring(struct tape *tape, uint32_t ring, uint32_t user, uint8_t condition);
void tape_id(struct tape *tape, uint32_t ring, const struct rip_sample *sample, const char *name);
struct scan_record *tape_scan(struct tape *tape);
/* A published begin or end. former: an earlier run published it; the replay must not have it. */
void tape_event(struct tape *tape, const struct stall_case *stall, const struct event *event, bool former);
/* The scan is over. settings: NULL if unchanged. */
void tape_drain(struct tape *tape, uint64_t sequence, uint64_t now_ns, const struct scan_settings *settings);

/* Replays everything and passes the events to the function in request. */
void tape_replay(const struct tape *tape, const struct replay_request *request, struct replay_counts *ret_counts);

/* Fails the test unless the replay has the published events, byte for byte. */
void tape_check(const struct tape *tape);

#endif
