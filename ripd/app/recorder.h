/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h - with --record: what the detector saw of each ring, and what was decided on it, as a recording.
 *
 * On each scan: recorder_begin(); recorder_tap() to scan_run(); recorder_rules(); recorder_verdicts(); recorder_end().
 * What is published comes at any time: recorder_reports(), recorder_event(). See cases/scan_record.h.
 *
 * Guarantees
 *   A. What is recorded of a ring is read within its user's share of the scan, under the guard of its mapping.
 *   B. No scan waits for the disk. What is lost is counted, in the log and in /metrics.
 *   C. Memory is bounded by RECORDING_QUEUE_BYTES, and for each user by WORK_RECORDED_BYTES. Of a ring beyond that
 *      nothing more is recorded, while it is watched as ever.
 *
 * Of the scanner's thread. All functions but recorder_open() take NULL: nothing is recorded.
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

/* Failure is logged: -errno. */
int recorder_open(struct recorder **ret_recorder, const char *directory, struct registry *registry, struct work *work);
void recorder_close(struct recorder *recorder);

/* Of the last event and the last episode so far. */
struct recorder_numbers {
    uint64_t sequence;
    uint64_t episode;
};

/* A scan begins, with the rings as they are now. */
void recorder_begin(struct recorder *recorder, uint64_t now_mono_ns, uint64_t now_wall_ns,
                    struct recorder_numbers last);

/* The settings from this scan on: at the start, and when they were read again. */
void recorder_configure(struct recorder *recorder, const struct scan_settings *settings);

const struct scan_tap *recorder_tap(const struct recorder *recorder);

/* After the rules were found, and after cases_judge(). */
void recorder_rules(struct recorder *recorder, const struct detector_unclassified *ids, size_t count);
void recorder_verdicts(struct recorder *recorder, const struct detector_suspect *suspects, size_t count);

/* What a scan publishes, its incidents known; and all cases. */
void recorder_reports(struct recorder *recorder, const struct case_report *reports, size_t count,
                      struct stall_case *const *cases, size_t case_count);
/* Before it is announced. stall: NULL = its ring is not known any more. */
void recorder_event(struct recorder *recorder, const struct stall_case *stall, const struct event *event);
/* An episode of a former run that goes on. */
void recorder_adopted(struct recorder *recorder, const struct detector_adoption *adoption,
                      const struct episode *episode);

void recorder_end(struct recorder *recorder, const struct snapshot *moment);

/* Once per scan. */
void recorder_count(struct recorder *recorder, struct health *health);

#endif
