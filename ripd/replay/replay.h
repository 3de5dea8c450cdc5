/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - the events of a recording through the very detector and cases of ripd. Pure: time is that of the
 * recording.
 *
 * A recording is read twice: replay_learn() takes all of its events, then replay_take() takes them again, and
 * replay_end() comes last. What was found out about a standstill late is known so from its beginning.
 *
 * Guarantees
 *   A. Where ripd recorded and nothing else is asked for, the detector gets the same samples, conditions, rules and
 *      verdicts at the same times as it got then. Numbers, times, causes and incidents of the begins and ends that
 *      follow are computed; what only the kernel knew (names, places, evidence, the process) is as ripd published it
 *      of that standstill. The texts are those that ripd published, byte for byte. A recording that begins in the
 *      middle of a run is replayed from the first settings in it on, as if ripd had started there: until a threshold
 *      is over its begins are missing or late.
 *   B. Otherwise an alert is certain if a verdict on that standstill was recorded, if the id announces a call in which
 *      it is blocked, or if it announces nothing, so that it declares itself when it is idle. Any other is possible:
 *      evidence that was not taken cannot be replayed.
 *   C. Whatever the events, memory is bounded by what lives at one time, and REPLAY_RECORDED_BYTES_MAX for what is
 *      learnt.
 */
#ifndef RIPD_REPLAY_REPLAY_H
#define RIPD_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"
#include "cases/snapshot.h"
#include "detect/rules.h"
#include "rip/session.h"

#define REPLAY_RECORDED_BYTES_MAX (1u << 30)
#define REPLAY_STALL_AFTER_NS UINT64_C(5000000000) /* without recorded settings: the default of ripd */

/* A begin or an end. */
struct replay_alert {
    struct event *event; /* with its text */
    bool certain;
    const struct event *recorded; /* that ripd published of the same standstill; NULL = none */
};

struct replay_request {
    uint64_t stall_after_ns;   /* 0 = as recorded */
    const struct rules *rules; /* NULL = as recorded */
    void *context;
    int (*alert)(void *context, const struct replay_alert *alert); /* 0, or what ends the replay */
    /* Adds a place that ripd did not name to module->symbols, if its name can be found out. NULL = none can. */
    void (*name_place)(void *context, struct module_facts *module, uint64_t offset);
};

/* Data of a DRAIN: see cases/scan_record.h. NULL = none. */
struct replay_data {
    const void *scan;
    size_t scan_bytes;
    const void *settings;
    size_t settings_bytes;
};

struct replay;

int replay_new(struct replay **ret_replay, const struct replay_request *request);
void replay_free(struct replay *replay); /* NULL is allowed */

/* 0; -EBADMSG: what ripd attached to the event cannot be understood; -EFBIG; -ENOMEM; what alert() returned. */
int replay_learn(struct replay *replay, const struct rip_event *event, const struct replay_data *data);
int replay_take(struct replay *replay, const struct rip_event *event, const struct replay_data *data);
int replay_end(struct replay *replay);

struct replay_counts {
    bool by_ripd; /* ripd recorded it */
    bool exact;   /* by guarantee A */
    uint64_t scan_count;
    uint64_t id_count_max; /* at one time */
    uint64_t first_wall_ns;
    uint64_t last_wall_ns;
    uint64_t stall_after_ns; /* of the last scan */
    uint64_t event_count;    /* begins and ends, and of them certain ones */
    uint64_t certain_count;
    uint64_t recorded_count; /* that ripd published; and of them begins */
    uint64_t recorded_begin_count;
    uint64_t same_count; /* of them, that were replayed byte for byte; where exact */
};
void replay_counts(const struct replay *replay, struct replay_counts *ret_counts);

#endif
