/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h - with --record: writes what the detector saw of each ring, and what was decided on it, to a recording.
 *
 * On each scan: recorder_begin(); recorder_tap() to scan_run(); recorder_rules(); recorder_verdicts(); recorder_end().
 * recorder_reports() and recorder_event() are called at any time. See cases/scan_record.h.
 *
 * Guarantees
 *   A. Rings are read for the recording within their users' shares of the scan, and under the guard of their mappings.
 *   B. No scan waits for the disk. Lost scans are counted, in the log and in /metrics.
 *   C. Memory is bounded by RECORDING_QUEUE_BYTES, and for each user by WORK_RECORDED_BYTES. A ring beyond that is not
 *      recorded any more, but is still watched.
 *
 * Used by the scanner thread only. All functions except recorder_open() accept NULL: nothing is recorded.
 */
#ifndef RIPD_APP_RECORDER_H
#define RIPD_APP_RECORDER_H

#include "cases/case.h"
#include "cases/event.h"
#include "cases/health.h"
#include "cases/scan_record.h"
#include "cases/snapshot.h"
#include "detect/detector.h"
#include "ring/registry.h"
#include "ring/scan.h"
#include "work/work.h"

struct recorder;

/* Returns 0, or -errno after the error has been logged. */
int recorder_open(struct recorder **ret_recorder, const char *directory, struct registry *registry, struct work *work);
void recorder_close(struct recorder *recorder);

/* Numbers of the last event and the last episode. */
struct recorder_numbers {
    uint64_t sequence;
    uint64_t episode;
};

/* Begins a scan, with the rings as they are now. */
void recorder_begin(struct recorder *recorder, uint64_t now_mono_ns, uint64_t now_wall_ns,
                    struct recorder_numbers last);

/* Sets the settings from this scan on: at start, and after a reload. */
void recorder_configure(struct recorder *recorder, const struct scan_settings *settings);

const struct scan_tap *recorder_tap(const struct recorder *recorder);

/* After the rules were found, and after cases_judge(). */
void recorder_rules(struct recorder *recorder, const struct detector_unclassified *ids, size_t count);
void recorder_verdicts(struct recorder *recorder, const struct detector_suspect *suspects, size_t count);

/* Records what a scan publishes, with its incidents assigned, and the roots of all cases. */
void recorder_reports(struct recorder *recorder, const struct case_report *reports, size_t count,
                      struct stall_case *const *cases, size_t case_count);
/* Before the event is announced. stall is NULL if its ring is not known any more. */
void recorder_event(struct recorder *recorder, const struct stall_case *stall, const struct event *event);
/* Records an episode of a previous run that is resumed. */
void recorder_adopted(struct recorder *recorder, const struct detector_adoption *adoption,
                      const struct episode *episode);

void recorder_end(struct recorder *recorder, const struct snapshot *moment);

/* Once per scan. */
void recorder_count(struct recorder *recorder, struct health *health);

#endif
