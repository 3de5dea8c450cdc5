/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - runs the events of a recording through the detector and the cases of ripd. Pure: time is that of the
 * recording.
 *
 * A recording is read twice: replay_learn() takes all of its events, then replay_take() takes them again, and
 * replay_end() comes last. So a verdict that came late is known from the beginning of the stall.
 *
 * Guarantees
 *   A. If ripd made the recording and the request changes no settings, the detector gets the same samples, conditions,
 *      rules and verdicts at the same times as in ripd. Numbers, times, causes and incidents of the resulting begins
 *      and ends are computed. What only the kernel knew (names, locations, evidence, the process) is taken from the
 *      events that ripd published for the same stall. The texts are those that ripd published, byte for byte. A
 *      recording that begins in the middle of a run is replayed from the first settings in it, as if ripd had started
 *      there: until a threshold has passed, begins are missing or late.
 *   B. Otherwise an alert is certain in three cases: a verdict on that stall was recorded, the id announces a call in
 *      which it is blocked, or the id announces nothing, so that it declares itself when it is idle. Any other alert is
 *      possible, because evidence that was not collected cannot be replayed.
 *   C. Whatever the events are, memory is bounded by what is alive at one time, and REPLAY_RECORDED_BYTES_MAX for the
 *      first pass.
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
#define REPLAY_STALL_AFTER_NS UINT64_C(5000000000) /* default of ripd, without recorded settings */

/* A begin or an end. */
struct replay_alert {
    struct event *event; /* with its text */
    bool certain;
    const struct event *recorded; /* the one that ripd published for the same stall; NULL = none */
};

struct replay_request {
    uint64_t stall_after_ns;   /* 0 = as recorded */
    const struct rules *rules; /* NULL = as recorded */
    void *context;
    int (*alert)(void *context, const struct replay_alert *alert); /* returns 0, or an error that ends the replay */
    /* Adds the name of a location to module->symbols, if it can be found and ripd did not name it. NULL = no names. */
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

/*
 * Return 0; -EBADMSG if the data that ripd attached to the event is invalid; -EFBIG; -ENOMEM; or the result of alert().
 */
int replay_learn(struct replay *replay, const struct rip_event *event, const struct replay_data *data);
int replay_take(struct replay *replay, const struct rip_event *event, const struct replay_data *data);
int replay_end(struct replay *replay);

struct replay_counts {
    bool by_ripd; /* ripd recorded it */
    bool exact;   /* guarantee A applies */
    uint64_t scan_count;
    uint64_t id_count_max; /* at one time */
    uint64_t first_wall_ns;
    uint64_t last_wall_ns;
    uint64_t stall_after_ns; /* of the last scan */
    uint64_t event_count;    /* begins and ends; certain_count of them are certain */
    uint64_t certain_count;
    uint64_t recorded_count; /* published by ripd; recorded_begin_count of them are begins */
    uint64_t recorded_begin_count;
    uint64_t same_count; /* replayed byte for byte, if exact */
};
void replay_counts(const struct replay *replay, struct replay_counts *ret_counts);

#endif
