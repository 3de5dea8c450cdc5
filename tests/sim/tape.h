/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tape.h - what a ripd would record of a simulated world, scan by scan, and whether its replay comes to the same
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

/* Another ripd goes on: it finds all anew. */
void tape_restart(struct tape *tape);

/* Of a scan: each ring, and behind it its ids; what is not named any more has ended. */
void tape_ring(struct tape *tape, uint32_t ring, uint32_t user, uint8_t condition);
void tape_id(struct tape *tape, uint32_t ring, const struct rip_sample *sample, const char *name);
struct scan_record *tape_scan(struct tape *tape);
/* A begin or an end as it was published; what was published by a former run is no event of this one. */
void tape_event(struct tape *tape, const struct stall_case *stall, const struct event *event, bool former);
/* The scan is over. settings may be NULL: as before. */
void tape_drain(struct tape *tape, uint64_t sequence, uint64_t now_ns, const struct scan_settings *settings);

/* Replays all; the events of it are passed to the caller's function. */
void tape_replay(const struct tape *tape, const struct replay_request *request, struct replay_counts *ret_counts);

/* Fails the test unless the replay has the events that were published, byte for byte. */
void tape_check(const struct tape *tape);

#endif
