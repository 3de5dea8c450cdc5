/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_inside.h - what the parts of the simulation share: sim_world.c (who lives in it), sim_ripd.c (who watches),
 * sim_service.c (what is done to who watches).
 */
#ifndef TESTS_SIM_SIM_INSIDE_H
#define TESTS_SIM_SIM_INSIDE_H

#include "cases/event_log.h"
#include "detect/schedule.h"
#include "ring/identity.h"
#include "sim/sim.h"

#define SIM_IDS_MAX 512u
#define SIM_RINGS_MAX 16u
#define SIM_TRACE_BYTES 65536u

enum sim_activity { SIM_MOVING, SIM_FROZEN, SIM_IDLE };

struct sim_id {
    bool present;
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    enum sim_activity activity;
    char letter; /* of its thread while it does not move */
    char name[RIP_NAME_BYTES + 1];
    bool on_no_thread;
    bool thread_gone;
    uint64_t period_ns;
    uint64_t ran_ns;    /* since it last moved */
    uint64_t scan_step; /* moves by this much between two scans; 0 = by its period */
    uint64_t progress;
    uint64_t moved_at_ns; /* when it last did */
};

struct sim_process {
    bool present;
    uint32_t ring;
    bool held; /* stopped, traced, frozen or dumping: its threads do not run */
    bool frozen;
    bool core_dumping;
    uint64_t continued_ns; /* when it was last not held any more */
    char letter;           /* of all its threads; 0 = each has its own */
    struct identity_facts facts;
    struct identity_memory memory;
};

struct sim_world {
    struct sim_options options;
    uint64_t random;
    uint64_t now_ns;
    struct sim_id ids[SIM_IDS_MAX]; /* ascending by ring and slot */
    size_t id_count;
    struct sim_process processes[SIM_RINGS_MAX]; /* ascending by ring */
    size_t process_count;

    struct detector_config config;
    struct rules rules;
    struct rules_table rules_table;
    struct report begun[SIM_IDS_MAX]; /* the begins of those that have not ended: what is known after a restart */
    size_t begun_count;
    uint64_t last_episode;
    struct detector *detector;
    struct event_log *event_log;
    struct schedule schedule;
    struct detector_update update;
    size_t examine_next; /* round robin */

    char trace[SIM_TRACE_BYTES];
    size_t trace_bytes;
};

struct sim_id *sim_find(struct sim_world *world, uint32_t ring, uint32_t slot);
struct sim_process *sim_process_of(struct sim_world *world, uint32_t ring);

/* Time passes. nobody_runs: for the others too. */
void sim_advance(struct sim_world *world, uint64_t ns, bool nobody_runs);

/* By the name of an id. */
uint64_t sim_threshold_ns(const struct sim_world *world, const struct sim_id *id);

/* A detector and an event log, as the configuration has them. */
void sim_open_ripd(struct sim_world *world);

/* One scan, now. */
void sim_scan(struct sim_world *world);

__attribute__((format(printf, 2, 3))) void sim_print(struct sim_world *world, const char *format, ...);

#endif
