/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health.h - the state of ripd itself: what /metrics has in addition to the stalls. Pure.
 *
 * Counters are monotonic from the daemon's start. Every limit that can be hit has a row in HEALTH_LIMIT_TABLE.
 */
#ifndef RIPD_CASES_HEALTH_H
#define RIPD_CASES_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#include "cases/event_kind.h"
#include "detect/detector.h"
#include "detect/state.h"

/* Upper bounds of the scan duration histogram, in microseconds; one more bucket takes the rest. */
#define HEALTH_SCAN_BUCKETS_US                                                                                         \
    {                                                                                                                  \
        100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000                          \
    }
#define HEALTH_SCAN_BUCKET_COUNT 13u

/*
 * Work that is delayed on this many scans in a row counts as dropped. A short delay is normal: a busy machine may use
 * up the time of a scan.
 */
#define HEALTH_PATIENCE_SCANS 8u

/* name, label value in metrics, what is dropped when the limit is hit */
#define HEALTH_LIMIT_TABLE(X)                                                                                          \
    X(FILES, "files", "directory entries not read")                                                                    \
    X(RINGS, "rings", "rings not mapped")                                                                              \
    X(UNREADABLE, "unreadable", "unreadable rings not listed")                                                         \
    X(JUDGEMENTS, "judgements", "checks of a ring's processes delayed on eight scans in a row")                        \
    X(MODULES, "modules", "modules of processes not read")                                                             \
    X(STALLS, "stalls", "stalls not listed, summed over all scans")                                                    \
    X(NAMES, "names", "ids whose rule was not looked up on a scan, for lack of time; a later scan looks it up")        \
    X(EVIDENCE, "evidence", "suspects without a verdict that were not examined on eight scans in a row")               \
    X(SOCKETS, "sockets",                                                                                              \
      "socket tables not read completely in one scan; until then the target of a socket is its number")                \
    X(ENDS, "ends",                                                                                                    \
      "threads for which the holder of the other end was not found in time, counted once until the id moves")          \
    X(WAITS, "waits", "ids that wait for a lock whose holder was not found in time")                                   \
    X(SYMBOLS, "symbols",                                                                                              \
      "locations without names: the names of their file, their user or all users take too much memory")                \
    X(EPISODES, "episodes", "stalls not reported as events")                                                           \
    X(BELATED, "belated",                                                                                              \
      "stalls whose begin was published with their end, because there was no quota or no examination before")          \
    X(RESTALLS, "restalls",                                                                                            \
      "stalls within an episode not written to the history; the episode ends at the next restart")                     \
    X(LOG_LINES, "log_lines", "log lines not written")                                                                 \
    X(HOOKS, "hooks", "events not passed to the --on-stall command")                                                   \
    X(CONNECTIONS, "connections", "clients dropped for newer ones")                                                    \
    X(ANSWER_MEMORY, "answer_memory", "clients dropped because they did not read their answers")                       \
    X(ACCEPTS, "accepts", "pauses in accepting connections")                                                           \
    X(REQUEST_TIME, "request_time", "requests that were not received in time")                                         \
    X(ANSWER_TIME, "answer_time", "answers that were not read in time")                                                \
    X(QUESTIONS, "questions", "queries refused or not answered in time")                                               \
    X(STREAMS, "streams", "event streams closed for newer ones")                                                       \
    X(STREAM_MEMORY, "stream_memory", "event streams dropped because they were not read")

enum health_limit {
#define X(name, label, meaning) HEALTH_LIMIT_##name,
    HEALTH_LIMIT_TABLE(X)
#undef X
        HEALTH_LIMIT_COUNT
};

/* As of one scan; part of its snapshot. */
struct health {
    uint64_t started_wall_ns;
    uint64_t scan_count;
    uint64_t scan_total_ns;
    uint64_t scan_buckets[HEALTH_SCAN_BUCKET_COUNT + 1]; /* not cumulative */
    uint64_t late_scan_count;
    uint64_t skipped_scan_count; /* scans that were due but did not run, see health_gap_add() */
    uint64_t detector_bytes;
    uint64_t id_count;
    struct {
        uint64_t stalls[CAUSE_COUNT]; /* of all stalled ids, listed or not; CAUSE_NONE: not examined yet */
        uint64_t longest_ns[CAUSE_COUNT];
        uint64_t stuck[CAUSE_COUNT]; /* the part of stalls that is certain: id_cause_is_certain() */
        uint64_t stuck_longest_ns[CAUSE_COUNT];
        uint64_t stopped[CAUSE_COUNT];
    } by_cause;
    uint64_t damaged_ring_count; /* since the start */
    uint64_t event_counts[EVENT_KIND_COUNT];
    uint64_t incident_count;                        /* now */
    uint64_t incidents_by_cause[CAUSE_COUNT];       /* since the start, by the cause at their begin */
    uint64_t stuck_incidents_by_cause[CAUSE_COUNT]; /* the part of them that was certain */
    uint64_t history_error_count;                   /* events that could not be written to the state directory */
    uint64_t capture_count;                         /* written since the start */
    uint64_t capture_error_count;                   /* captures that could not be written */
    uint64_t recording_bytes;                       /* written since the start */
    uint64_t recording_lost_count;                  /* scans that could not be written */
    uint64_t hook_run_count;
    uint64_t hook_failure_count; /* it did not start, or its exit status was not 0 */
    uint64_t hook_timeout_count;
    uint64_t names_found_count;   /* locations for which the symbolizer found a name or a line */
    uint64_t names_missing_count; /* locations for which it found nothing */
    uint64_t names_refused_count; /* locations not looked up: too many, or no symbolizer at the time */
    uint64_t names_bytes;         /* now */
    uint64_t names_bytes_max;
    uint64_t symbolizer_start_count;
    uint64_t symbolizer_died_count;
    uint64_t symbolizer_hung_count;
    uint64_t probe_start_count; /* workers and fetchers of ripd-probe */
    uint64_t probe_died_count;
    uint64_t probe_hung_count;
    uint64_t probe_ended;           /* 1: ripd-probe itself has ended for good; 0: it runs, or was never started */
    uint64_t program_opened_count;  /* programs requested from ripd-probe because ripd could not open them */
    uint64_t program_refused_count; /* requests that it refused */
    uint64_t program_missed_count;  /* requests without an answer, or not sent */
    uint64_t reload_count;
    uint64_t reload_failure_count;             /* the old configuration stayed active */
    uint64_t limit_counts[HEALTH_LIMIT_COUNT]; /* limits of the scanner; 0 for those of the server */
};

/* The daemon's process, at the time of the request. */
struct health_process {
    uint64_t cpu_ns;
    uint64_t virtual_bytes;
    uint64_t resident_bytes;  /* includes pages of rings that a scan touched */
    uint64_t anonymous_bytes; /* private memory of the daemon */
    uint64_t descriptor_count;
    uint64_t descriptors_max;
};

/* The HTTP server, at the time of the request. */
struct health_http {
    uint64_t connection_count; /* without event streams */
    uint64_t connections_max;
    uint64_t stream_count; /* open event streams */
    uint64_t streams_max;
    uint64_t accepted_count;     /* connections since the start */
    uint64_t request_count;      /* requests since the start, including refused ones */
    uint64_t not_modified_count; /* the part of them answered with 304 */
    uint64_t list_bytes;         /* of lists that are kept or being sent */
    uint64_t list_bytes_max;
    uint64_t event_count; /* held for /events */
    uint64_t events_max;
    uint64_t event_bytes;
    uint64_t event_bytes_max;
    uint64_t limit_counts[HEALTH_LIMIT_COUNT]; /* limits of the server; 0 for those of the scanner */
};

struct snapshot;

/*
 * Adds the times of a scan and what its lists left out. before is the previous snapshot; NULL: this is the first scan.
 */
void health_add_scan(struct health *health, const struct snapshot *before, const struct snapshot *snapshot,
                     const struct detector_update *update);

/* Adds a scan that took duration_ns. The upper bound of a bucket is inclusive. */
void health_scan_add(struct health *health, uint64_t duration_ns);

/*
 * Counts skipped scans. gap_ns is the time between the starts of two scans, interval_ns the interval at that time. Each
 * whole interval in the gap is a skipped scan, except the first, which is normal. For example, a scan 2.9 intervals
 * after the previous one has skipped one scan, and is itself late. Time for which the machine was suspended is not in
 * the gap (CLOCK_MONOTONIC).
 */
void health_gap_add(struct health *health, uint64_t gap_ns, uint64_t interval_ns);

/*
 * health_clear_suspects() resets the counts by cause for a new scan. health_add_suspect() counts a suspect with its
 * verdict of that scan; preloaded as in id_cause_is_certain().
 */
void health_clear_suspects(struct health *health);
void health_add_suspect(struct health *health, const struct detector_suspect *suspect, bool preloaded);

/* Counts an incident that begins. */
void health_add_incident(struct health *health, enum id_cause cause, bool preloaded);

#endif
