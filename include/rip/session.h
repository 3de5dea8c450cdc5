/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - what happened in rings, event by event. For tools. The library is librip-session; traced programs do not
 * contain any of it.
 *
 * A session is opened on a directory of rings, one ring, a capture or a recording. It yields the same events from each.
 * Live rings are read in drains: one drain reads each ring once. The events of one id between two drains are in order,
 * and their time is known to the interval between the drains. The order of events of two different ids between two
 * drains is not known.
 *
 *   drive      rip_session_next(), rip_session_run(), rip_session_seek()
 *   observe    rip_session_observe(): a callback for each kind of event
 *   iterate    rip_session_next(), rip_session_peek()
 *   annotate   rip_session_attach(): data of the caller, saved with the event
 *   record     rip_session_record(): all events from then on are written to a file
 *
 * Guarantees
 *   A. Rings, captures and recordings may be hostile. Whatever their bytes are, no function reads or writes outside of
 *      its memory, or uses more memory than SESSION LIMITS in librip/RECORDING.md allows.
 *   B. Nothing is written to a ring, and no process is signalled, stopped or traced.
 *   C. A session may be used by one thread at a time. Sessions share nothing. Not async-signal-safe.
 *   D. Returned pointers are borrowed from the session. They are valid until the next call that drives the session,
 *      unless the function says otherwise. Texts with a count are bytes: neither terminated nor valid UTF-8.
 *   E. Functions return 0 or -errno unless they say otherwise. rip_session_error() returns the reason as one line.
 *      Output arguments are untouched on failure.
 *   F. A program built with an earlier release runs with a later one. Structs that the library fills grow at their end,
 *      structs that the caller fills carry their size. New kinds of events get higher numbers: ignore unknown kinds.
 */
#ifndef RIP_SESSION_H
#define RIP_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rip/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RIP_SESSION_API __attribute__((visibility("default")))

enum rip_event_kind {
    RIP_EVENT_RING = 1,         /* a ring exists */
    RIP_EVENT_RING_END = 2,     /* the ring is gone, or cannot be read any more */
    RIP_EVENT_PROCESS = 3,      /* a process has entered a ring */
    RIP_EVENT_MODULE = 4,       /* a module of a process */
    RIP_EVENT_DEATH = 5,        /* a process has ended */
    RIP_EVENT_REGISTER = 6,     /* an id exists */
    RIP_EVENT_STATE = 7,        /* name, thread, deadline or call of an id changed, or idle began or ended */
    RIP_EVENT_SNAP = 8,         /* an id has snapped: all its snaps that one drain found */
    RIP_EVENT_NOTE = 9,         /* the note of an id changed */
    RIP_EVENT_EXIT = 10,        /* an id has ended */
    RIP_EVENT_FLUSH = 11,       /* the program called rip_flush() */
    RIP_EVENT_TOTALS = 12,      /* counters of a ring, after each drain that changed them */
    RIP_EVENT_STALL_BEGIN = 13, /* as ripd published it: in recordings by ripd, and in captures */
    RIP_EVENT_STALL_END = 14,
    RIP_EVENT_DRAIN = 15,  /* a drain is complete: every ring has been read */
    RIP_EVENT_SCRIPT = 16, /* a function of a script; at the latest one drain after the first SNAP in it */
};

/* Text as bytes, neither terminated nor necessarily valid UTF-8. */
struct rip_text {
    const char *bytes;
    size_t count;
};

struct rip_event_ring {
    struct rip_text name;      /* name of its file, without the directory */
    struct rip_text directory; /* 0 bytes = not known */
    uint8_t ring_id[16];
    uint8_t boot_id[16];
    uint64_t created_wall_ns;
    uint32_t slot_capacity;
    uint32_t uid; /* owner of the file; UINT32_MAX = not known */
    bool preload; /* the preload library wrote it */
};

struct rip_event_ring_end {
    struct rip_text reason; /* 0 bytes = the file is gone */
};

struct rip_event_module {
    uint32_t process;
    uint32_t nth; /* oldest first; if two overlap, the newer one is mapped */
    const struct rip_module_info *info;
};

struct rip_event_death {
    uint32_t process;
    uint32_t generation;
    int32_t status; /* as waitpid() returns it; valid if has_status */
    bool has_status;
    bool in_order; /* it called exit() or returned from main() */
    bool core_dumped;
    bool replaced; /* it executed another program */
};

/* For RIP_EVENT_REGISTER and RIP_EVENT_STATE. */
struct rip_event_id {
    const struct rip_id_info *info; /* as of this drain */
    bool found;                     /* it existed before the first drain: what it did before is not known */
};

struct rip_event_snap {
    uint64_t progress;          /* count of the id after these snaps, as in struct rip_sample */
    uint64_t made_count;        /* snaps since the previous drain, the registration, or the first sight of the id */
    uint64_t overwritten_count; /* of these, snaps without an entry: overwritten before they were read */
    uint32_t torn_count;        /* of overwritten_count, snaps that were incomplete while they were read */
    uint32_t entry_count;       /* made_count = entry_count + overwritten_count */
    const struct rip_entry *entries; /* oldest first */
};

struct rip_event_exit {
    uint64_t snap_count; /* all snaps of the id; valid if has_snap_count */
    bool has_snap_count; /* false: the slot was reused before a drain read the last entries; TOTALS counts what was
                            missed */
};

/* Counters of one ring since the session or the recording began. */
struct rip_event_totals {
    uint64_t made_count; /* = recorded_count + overwritten_count + unseen_count, if exact */
    uint64_t recorded_count;
    uint64_t overwritten_count;
    uint64_t unseen_count;     /* snaps of ids whose slot was reused between two drains */
    uint64_t registered_count; /* ids */
    uint64_t ended_count;
    uint64_t torn_count;
    bool exact; /* false: the writer does not count ended ids, or ids ended faster than they could be read */
};

struct rip_event_stall {
    struct rip_text json; /* schema ripd/event/1; in a capture: the id as in the document of the capture */
};

struct rip_event_drain {
    uint64_t sequence; /* from 1 */
    uint64_t wall_ns;  /* CLOCK_REALTIME at the begin of the drain */
    uint64_t mono_ns;  /* CLOCK_MONOTONIC, likewise */
    uint64_t boot_ns;  /* CLOCK_BOOTTIME, likewise */
    uint64_t duration_ns;
};

struct rip_event {
    uint32_t kind;   /* enum rip_event_kind, or a kind that this header does not know */
    uint32_t ring;   /* number of the ring in this session, from 1, never reused; 0 = no ring */
    uint64_t number; /* number of the event in this session, from 1 */
    /*
     * The event happened after `earliest` and not later than `latest`. What the first drain finds has earliest 0.
     * CLOCK_REALTIME and CLOCK_MONOTONIC of the machine that the rings were on.
     */
    uint64_t earliest_wall_ns;
    uint64_t latest_wall_ns;
    uint64_t earliest_mono_ns;
    uint64_t latest_mono_ns;
    /* Valid for REGISTER, STATE, SNAP, NOTE and EXIT, and for STALL_BEGIN and STALL_END if ring is not 0. */
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t process; /* index of the process record; also valid for PROCESS, MODULE and DEATH */
    union {
        struct rip_event_ring ring_begin;
        struct rip_event_ring_end ring_end;
        const struct rip_process_info *process_begin;
        struct rip_event_module module;
        struct rip_event_death death;
        struct rip_event_id id_begin;
        struct rip_event_id state;
        struct rip_event_snap snap;
        const struct rip_note_info *note;
        const struct rip_script_info *script; /* valid for all processes of the ring; line is 0 */
        struct rip_event_exit exit;
        uint64_t flush_count; /* calls since the previous drain */
        struct rip_event_totals totals;
        struct rip_event_stall stall;
        struct rip_event_drain drain;
    } as;
};

enum rip_session_source {
    RIP_SESSION_DIRECTORY = 1, /* live: the rings of a directory, including new ones */
    RIP_SESSION_RING = 2,      /* live: one ring file; the ring may be dead */
    RIP_SESSION_CAPTURE = 3,
    RIP_SESSION_RECORDING = 4, /* a file, or a directory with the segments of a recording */
};

struct rip_session;

struct rip_session_options {
    size_t size_bytes;    /* sizeof(struct rip_session_options) */
    uint64_t interval_ns; /* time between drains of a live source; 0 = one second */
    const int32_t *pids;  /* filter for a directory: rings of these processes, */
    size_t pid_count;
    bool once;                /* a live source yields one drain and ends. As in a capture, this drain includes the ids
                                 that ended before it, with their EXIT, if the ring still has them. */
    const char *const *names; /* or rings whose file name matches a pattern (glob(7)); both counts 0 = all rings */
    size_t name_count;
};

/*
 * Opens what is at path and finds out which kind of source it is. options may be NULL. Returns 0, or -errno:
 *   -ENOENT, -EACCES, ... as open(2)
 *   -EINVAL               none of the four kinds of source
 *   -EPROTONOSUPPORT      written in another format version
 *   -EBADMSG              damaged from the start
 *   -E2BIG                options uses a field that only a later release has
 * On failure *ret_error is one line, owned by the caller: free() it. It is NULL if out of memory. ret_error may be
 * NULL.
 */
RIP_SESSION_API int rip_session_open(struct rip_session **ret_session, const char *path,
                                     const struct rip_session_options *options, char **ret_error);
RIP_SESSION_API void rip_session_close(struct rip_session *session); /* NULL is allowed */
RIP_SESSION_API enum rip_session_source rip_session_source(const struct rip_session *session);

/* Returns the last failure as one line, or "" if there was none. Borrowed: see D. */
RIP_SESSION_API const char *rip_session_error(const struct rip_session *session);

/*
 * Yields the next event. Returns
 *   1          and *ret_event
 *   0          if the source has ended
 *   -EAGAIN    if a live source has no event before its next drain is due
 *   -EBADMSG   if a recording is damaged or truncated here (rip_session_position()). All events before the damage have
 *              been yielded; events after it are not.
 */
RIP_SESSION_API int rip_session_next(struct rip_session *session, const struct rip_event **ret_event);

/* As rip_session_next(), but the event stays the next one. */
RIP_SESSION_API int rip_session_peek(struct rip_session *session, const struct rip_event **ret_event);

/* Returns the time until the next drain of a live source is due. 0 = now, or the source is not live. */
RIP_SESSION_API uint64_t rip_session_due_ns(const struct rip_session *session);

/*
 * Waits until a drain is due or a traced program calls rip_flush(), at most timeout_ns. Returns 0, -ETIMEDOUT or
 * -EINTR.
 */
RIP_SESSION_API int rip_session_wait(struct rip_session *session, uint64_t timeout_ns);

/* Makes the next drain of a live source due now, for example before one ends. Returns -ENOTSUP if it is not live. */
RIP_SESSION_API int rip_session_drain_now(struct rip_session *session);

/* Callbacks of an observer return 0 to continue. Any other value ends rip_session_run(), which returns that value. */
struct rip_observer {
    size_t size_bytes; /* sizeof(struct rip_observer) */
    void *context;
    /* NULL callbacks are not called. event() gets events of all kinds, before the callback of the kind. */
    int (*event)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*process)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*register_id)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*snap)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*idle)(void *context, struct rip_session *session, const struct rip_event *event); /* STATE */
    int (*note)(void *context, struct rip_session *session, const struct rip_event *event);
    /* A SNAP that has overwritten snaps, before snap(); TOTALS in which unseen_count has grown. */
    int (*lost)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*exit)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*death)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*stall_begin)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*stall_end)(void *context, struct rip_session *session, const struct rip_event *event);
};

/* Sets the one observer of the session; NULL removes it. The struct is copied. */
RIP_SESSION_API int rip_session_observe(struct rip_session *session, const struct rip_observer *observer);

/* Where rip_session_run() stops, in addition to the end of the source and the return values of callbacks. */
struct rip_session_limit {
    size_t size_bytes;    /* sizeof(struct rip_session_limit) */
    uint64_t event_count; /* after this many events; 0 = no limit (also for the others) */
    uint64_t drain_count;
    uint64_t until_wall_ns; /* before the first event that is later */
    uint32_t ring;          /* after an event of this id of this ring */
    uint32_t id;
};

/*
 * Passes events to the observer. Follows a live source: waits for its drains. limit may be NULL. Returns 0 if the
 * source has ended, 1 at the limit, -EINTR, -EBADMSG, or what a callback returned.
 */
RIP_SESSION_API int rip_session_run(struct rip_session *session, const struct rip_session_limit *limit);

/*
 * Moves in a recording. The next event is the first of the drain made at wall_ns (CLOCK_REALTIME), or of the first
 * drain after it. Before it, REGISTER and similar events are yielded again for everything that exists at that time.
 * Returns -ENOTSUP if the source is not a recording.
 */
RIP_SESSION_API int rip_session_seek(struct rip_session *session, uint64_t wall_ns);

/*
 * Returns the position of the next event in a recording and the length of the recording, in bytes: for a progress bar,
 * or to say where it is damaged. Returns -ENOTSUP if the source is not a recording.
 */
RIP_SESSION_API int rip_session_position(const struct rip_session *session, uint64_t *ret_bytes,
                                         uint64_t *ret_total_bytes);

/* Ancillary data -------------------------------------------------------------------------------------------------- */

#define RIP_SESSION_NAMESPACE_BYTES 63u
#define RIP_SESSION_DATA_BYTES_MAX (1u << 24) /* all data of one event */
#define RIP_SESSION_DATA_COUNT_MAX 16u        /* namespaces per event */

/*
 * Attaches data to the last yielded event. The data is copied, and saved if the session is recorded. A namespace
 * consists of letters, digits, '.', '-' and '_', at most RIP_SESSION_NAMESPACE_BYTES. Namespaces that begin with "rip"
 * are reserved. Data in the same namespace is replaced. Returns 0, or
 *   -EINVAL   there is no event, it is written already (see rip_session_record()), or the namespace is not valid
 *   -EFBIG    too much data, or too many namespaces
 *   -ENOMEM   out of memory
 */
RIP_SESSION_API int rip_session_attach(struct rip_session *session, const char *name_space, const void *data,
                                       size_t count);

/*
 * Returns the data attached to the last yielded event, by this caller or in the recording. The RING event of a capture
 * has the document of the capture as "rip.capture" (ripd/capture/1 of the schema). Returns -ENOENT if there is none.
 */
RIP_SESSION_API int rip_session_data(const struct rip_session *session, const char *name_space, const void **ret_data,
                                     size_t *ret_count);

/* Recording ------------------------------------------------------------------------------------------------------- */

struct rip_recording_options {
    size_t size_bytes;      /* sizeof(struct rip_recording_options) */
    uint64_t segment_bytes; /* a new file begins at this size; 0 = one file. With segments, path is a directory. */
    uint64_t segment_ns;    /* ... or at this age */
    uint32_t segments_kept; /* older segments are removed; 0 = all are kept */
    uint64_t flight_bytes; /* not 0: the newest events are kept in memory, this many bytes; see rip_session_trigger() */
    uint64_t sync_interval_ns; /* time between syncs of written data; 0 = one second */
};

/*
 * Records all events from the next drain on at path, which must not exist (-EEXIST). A directory of segments may exist:
 * numbering continues (-EBUSY: another recorder writes there). An event is written, with its attachments, when the next
 * event is yielded or waited for; a DRAIN also when the next event is peeked at. options may be NULL. Returns -EINVAL
 * if the options contradict each other. A program with a limit on file sizes (RLIMIT_FSIZE) must ignore SIGXFSZ.
 */
RIP_SESSION_API int rip_session_record(struct rip_session *session, const char *path,
                                       const struct rip_recording_options *options);

/* Writes the contents of the flight recorder as a recording at path. Returns -ENOTSUP if there is none. */
RIP_SESSION_API int rip_session_trigger(struct rip_session *session, const char *path);

struct rip_recording_state {
    uint64_t drain_count;
    uint64_t event_count;
    uint64_t entry_count;
    uint64_t written_bytes;
    uint64_t lost_entry_count; /* entries that could not be written: disk full, or failing */
    int error;                 /* why the last write failed; 0 = it succeeded */
    uint64_t reserved[8];
};
RIP_SESSION_API int rip_session_recording_state(const struct rip_session *session,
                                                struct rip_recording_state *ret_state);

/* Writes and syncs the rest, and ends the recording. rip_session_close() does this too. */
RIP_SESSION_API int rip_session_record_end(struct rip_session *session);

#ifdef __cplusplus
}
#endif

#endif
