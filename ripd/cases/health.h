/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health.h - the condition of ripd itself, as values: what /metrics has besides the stalls. Pure.
 *
 * Counters only grow, from the daemon's start. Every limit that can be hit is a row of HEALTH_LIMIT_TABLE.
 */
#ifndef RIPD_CASES_HEALTH_H
#define RIPD_CASES_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#include "cases/event_kind.h"
#include "detect/detector.h"
#include "detect/state.h"

/* Upper ends of the buckets of a scan's duration in microseconds; one more bucket takes the rest. */
#define HEALTH_SCAN_BUCKETS_US                                                                                         \
    {                                                                                                                  \
        100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000                          \
    }
#define HEALTH_SCAN_BUCKET_COUNT 13u

/* What is put off that often in a row counts as given up: a busy machine may take a scan's time for a moment. */
#define HEALTH_PATIENCE_SCANS 8u

/* name, label value in metrics, what was given up when it was hit */
#define HEALTH_LIMIT_TABLE(X)                                                                                          \
    X(FILES, "files", "directory entries not read")                                                                    \
    X(RINGS, "rings", "rings not mapped")                                                                              \
    X(UNREADABLE, "unreadable", "unreadable rings not listed")                                                         \
    X(JUDGEMENTS, "judgements", "checks of a ring's processes put off on eight scans in a row")                        \
    X(MODULES, "modules", "modules of processes not read")                                                             \
    X(STALLS, "stalls", "stalls not listed, on the last scan and those before")                                        \
    X(NAMES, "names", "ids left unclassified on a scan for lack of time: their rule was found later")                  \
    X(EVIDENCE, "evidence", "suspects without a verdict left unexamined on eight scans in a row")                      \
    X(SOCKETS, "sockets",                                                                                              \
      "tables of sockets not read to their end in one scan: until then a socket's target is its number")               \
    X(ENDS, "ends", "threads for which the holder of the other end was not found in time, once for each standstill")   \
    X(WAITS, "waits", "ids that wait for a lock whose holder was not found in time")                                   \
    X(SYMBOLS, "symbols",                                                                                              \
      "locations without names: those of their file, their user or all users take too much memory")                    \
    X(EPISODES, "episodes", "stalls not reported as events")                                                           \
    X(BELATED, "belated", "stalls whose begin was published with their end: no room for it, or nobody looked, before") \
    X(RESTALLS, "restalls", "stalls within an episode not written to the history: it ends at the next restart")        \
    X(LOG_LINES, "log_lines", "log lines not written")                                                                 \
    X(HOOKS, "hooks", "events not given to the --on-stall command")                                                    \
    X(CONNECTIONS, "connections", "clients dropped for newer ones")                                                    \
    X(ANSWER_MEMORY, "answer_memory", "clients dropped because they did not take their answers")                       \
    X(ACCEPTS, "accepts", "pauses in accepting clients")                                                               \
    X(REQUEST_TIME, "request_time", "requests that did not arrive in time")                                            \
    X(ANSWER_TIME, "answer_time", "answers that were not taken in time")                                               \
    X(QUESTIONS, "questions", "queries refused or not answered in time")                                               \
    X(STREAMS, "streams", "event streams ended for newer ones")                                                        \
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
    uint64_t skipped_scan_count; /* scans that were due and never made, see health_gap_add() */
    uint64_t detector_bytes;
    uint64_t id_count;
    struct {
        uint64_t stalls[CAUSE_COUNT]; /* of all stalled ids, described or not; CAUSE_NONE: not examined yet */
        uint64_t longest_ns[CAUSE_COUNT];
        uint64_t stuck[CAUSE_COUNT]; /* of them, those that are certainly stuck: id_cause_is_certain() */
        uint64_t stuck_longest_ns[CAUSE_COUNT];
        uint64_t stopped[CAUSE_COUNT];
    } by_cause;
    uint64_t damaged_ring_count; /* rings damaged since the start */
    uint64_t event_counts[EVENT_KIND_COUNT];
    uint64_t incident_count;                        /* now */
    uint64_t incidents_by_cause[CAUSE_COUNT];       /* since the start, by the cause at their begin */
    uint64_t stuck_incidents_by_cause[CAUSE_COUNT]; /* of them, those that were certainly stuck */
    uint64_t history_error_count;                   /* events that could not be written to the state directory */
    uint64_t capture_count;                         /* written since the start */
    uint64_t capture_error_count;                   /* that could not be written */
    uint64_t recording_bytes;                       /* written since the start */
    uint64_t recording_lost_count;                  /* scans that could not be written */
    uint64_t hook_run_count;
    uint64_t hook_failure_count; /* did not start, or another exit status than 0 */
    uint64_t hook_timeout_count;
    uint64_t names_found_count;   /* locations for which the symbolizer found a name, or a line */
    uint64_t names_missing_count; /* for which it found nothing */
    uint64_t names_refused_count; /* not looked up: too many, or there is no symbolizer for now */
    uint64_t names_bytes;         /* kept now */
    uint64_t names_bytes_max;
    uint64_t symbolizer_start_count;
    uint64_t symbolizer_died_count;
    uint64_t symbolizer_hung_count;
    uint64_t probe_start_count; /* workers and fetchers of ripd-probe */
    uint64_t probe_died_count;
    uint64_t probe_hung_count;
    uint64_t probe_ended;           /* 1 = ripd-probe itself has ended, for good; 0 = it runs, or was never started */
    uint64_t program_opened_count;  /* programs that ripd-probe was asked for, because ripd could not open them */
    uint64_t program_refused_count; /* that it did not open */
    uint64_t program_missed_count;  /* for which no answer came, or no request was sent */
    uint64_t reload_count;
    uint64_t reload_failure_count;             /* the old configuration stayed */
    uint64_t limit_counts[HEALTH_LIMIT_COUNT]; /* those of the scanner's side; 0 for the server's */
};

/* Of the daemon's process, at the moment of the request. */
struct health_process {
    uint64_t cpu_ns;
    uint64_t virtual_bytes;
    uint64_t resident_bytes;  /* pages of rings that a scan touched are among them */
    uint64_t anonymous_bytes; /* what the daemon has for itself */
    uint64_t descriptor_count;
    uint64_t descriptors_max;
};

/* Of the HTTP server, at the moment of the request. */
struct health_http {
    uint64_t connection_count; /* event streams are not among them */
    uint64_t connections_max;
    uint64_t stream_count; /* event streams open */
    uint64_t streams_max;
    uint64_t accepted_count;     /* connections since the start */
    uint64_t request_count;      /* requests since the start, those that were refused included */
    uint64_t not_modified_count; /* of them answered with 304 */
    uint64_t list_bytes;         /* of lists kept or being sent */
    uint64_t list_bytes_max;
    uint64_t event_count; /* events held for /events */
    uint64_t events_max;
    uint64_t event_bytes;
    uint64_t event_bytes_max;
    uint64_t limit_counts[HEALTH_LIMIT_COUNT]; /* those of the server's side; 0 for the scanner's */
};

struct snapshot;

/* What a scan came to besides: its times, and what its lists left out. before: the last one; NULL = it is the first. */
void health_add_scan(struct health *health, const struct snapshot *before, const struct snapshot *snapshot,
                     const struct detector_update *update);

/* A scan took duration_ns. A bucket takes what is no longer than its upper end. */
void health_scan_add(struct health *health, uint64_t duration_ns);

/*
 * gap_ns lay between the beginnings of two scans, when the interval was interval_ns. Skipped are the whole intervals in
 * it, but for the one that may lie between any two scans: the scan that comes 2.9 intervals after the last has skipped
 * one, and is itself late. Time that the machine was suspended is no part of the gap (CLOCK_MONOTONIC).
 */
void health_gap_add(struct health *health, uint64_t gap_ns, uint64_t interval_ns);

/* What is stuck as of one scan, in place of what was before: nothing yet; and a suspect, with its verdict of that scan.
 * preloaded: as id_cause_is_certain() has it. */
void health_clear_suspects(struct health *health);
void health_add_suspect(struct health *health, const struct detector_suspect *suspect, bool preloaded);

/* An incident begins. */
void health_add_incident(struct health *health, enum id_cause cause, bool preloaded);

#endif
