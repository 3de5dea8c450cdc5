/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector.h - which ids have stopped moving. Pure: time is an argument, nothing is read, nothing is logged.
 *
 * One scan is: detector_begin, then for each ring in ascending order of serial detector_ring and detector_feed any
 * number of times, then detector_suspects, judgement of each suspect by the caller, and detector_end.
 *
 * Guarantees
 *   A. frozen_for_ns is what was observed: from the first scan that saw the present progress, counting at most one
 *      interval for each gap between scans. frozen_for_max_ns is the other end: real time since the last scan that
 *      saw an older progress.
 *   B. Nobody begins to stall on a scan that came late (a gap of more than 1.5 intervals): whatever held up the
 *      daemon may have held up the others.
 *   C. An id whose progress changed, or that declared itself idle, is not a suspect. An id leaves the stalled state at
 *      the first scan that sees either.
 *   D. Memory is at most 64 bytes per live id, and is given back when ids go.
 *   E. detector_next_due() is the instant at which the earliest suspect falls due if nothing moves; after a late scan
 *      it is at least a quarter of an interval away, so that everybody has had a chance to run.
 */
#ifndef RIPD_CORE_DETECTOR_H
#define RIPD_CORE_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cause.h"
#include "core/state.h"
#include "rip/reader.h"

#define DETECTOR_UNKNOWN_NS UINT64_MAX

struct detector_config {
    uint64_t interval_ns;
    uint64_t stall_after_ns;
};

struct detector;

int detector_new(struct detector **ret_detector, const struct detector_config *config);
void detector_free(struct detector *detector);

/* A scan starts at now_mono_ns; detector_end() must follow before the next. Returns the gap that was not counted, 0
 * when the scan is on time. */
uint64_t detector_begin(struct detector *detector, uint64_t now_mono_ns);

/*
 * The ring whose samples follow. serial is the caller's and never used again for another ring. dead[] tells for each
 * of process_count records whether its process is dead (an index beyond it is not dead). A ring that is not named in
 * a scan is forgotten, with its ids.
 */
int detector_ring(struct detector *detector, uint32_t serial, const uint8_t *dead, size_t process_count);

/* Samples of the present ring, ascending by slot over all calls. -ENOMEM: the scan goes on without the new ids. */
int detector_feed(struct detector *detector, const struct rip_sample *samples, size_t count);

/* An id that is frozen beyond its threshold. The caller fills evidence, or leaves it all zero: not examined now. */
struct detector_suspect {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint32_t tid;
    uint16_t process;
    uint64_t progress;
    uint64_t frozen_since_ns; /* on the detector's own clock, which counts gaps as guarantee A says; a key for order */
    uint64_t frozen_for_ns;
    uint64_t frozen_for_max_ns; /* DETECTOR_UNKNOWN_NS: its progress has been the same ever since it was first seen */
    uint64_t threshold_ns;
    enum id_state state; /* as of the last scan: ID_RUNNING for a new suspect, else ID_STALLED, _STOPPED, _EXITED */
    enum id_cause cause; /* as of the last scan */
    struct evidence evidence;
};

/* All suspects of this scan, in order of ring and slot. Owned by the detector; valid until detector_end(). */
struct detector_suspect *detector_suspects(struct detector *detector, size_t *ret_count);

enum detector_event_kind {
    DETECTOR_STALLED, /* began to stall */
    DETECTOR_MOVED,   /* was stalled; moved, or declared itself idle */
    DETECTOR_STOPPED, /* was stalled; is stopped */
    DETECTOR_GONE,    /* was stalled; exited, died, or its ring is gone */
};

struct detector_event {
    enum detector_event_kind kind;
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    enum id_cause cause;
    uint64_t frozen_for_ns; /* of the stall that began or ended, as last observed */
};

/* What a scan came to. The arrays are the detector's, valid until the next detector_begin(). */
struct detector_update {
    uint64_t counts[ID_STATE_COUNT];
    const struct detector_suspect *suspects; /* state and cause are now this scan's */
    size_t suspect_count;
    const struct detector_event *events;
    size_t event_count;
    bool late;             /* nobody was accused, because the scan came late */
    uint64_t late_count;   /* late scans since the start */
    uint64_t id_count;     /* live ids known */
    uint64_t memory_bytes; /* what the table takes */
};
void detector_end(struct detector *detector, struct detector_update *ret_update);

/* When the next scan should be at the latest for a suspect's sake, on the clock of detector_begin(); UINT64_MAX = none.
 */
uint64_t detector_next_due(const struct detector *detector);

/* One id as the detector knows it, for views. */
struct detector_id {
    enum id_state state;
    enum id_cause cause;
    uint64_t progress;
    uint64_t frozen_since_ns;
    uint64_t frozen_for_ns;
    uint64_t frozen_for_max_ns;
    uint64_t threshold_ns;
};
/* -ENOENT if that generation of that slot is not known. */
int detector_find(const struct detector *detector, uint32_t ring, uint32_t slot, uint32_t generation,
                  struct detector_id *ret_id);

/* Every known id of a ring in order of slot, while visit returns 0; returns what visit returned last. */
int detector_visit(const struct detector *detector, uint32_t ring,
                   int (*visit)(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id),
                   void *context);

#endif
