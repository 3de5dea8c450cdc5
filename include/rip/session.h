/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - what happened in rings, event by event: for tools. Library librip-session; nothing of it is in programs
 * that are traced.
 *
 * A session is opened on a directory of rings, one ring, a capture or a recording, and yields the same events from
 * each. Rings are read in drains: each ring is read once, as often as asked. What an id did between two drains is
 * known in its order, and to the interval between the two; the order of what two ids did in between is not known.
 *
 *   drive      rip_session_next(), rip_session_run(), rip_session_seek()
 *   observe    rip_session_observe(): a function for each kind of event
 *   iterate    rip_session_next(), rip_session_peek()
 *   annotate   rip_session_attach(): data of the caller's own, saved with the event
 *   record     rip_session_record(): all that is yielded from then on goes to a file
 *
 * Guarantees
 *   A. Rings, captures and recordings are hostile: no bytes of theirs make a function read or write outside of its
 *      memory, or take more of it than SESSION LIMITS in librip/RECORDING.md say.
 *   B. Nothing is written to a ring, and no process is signalled, stopped or traced.
 *   C. A session is used by one thread at a time; sessions share nothing.
 *   D. What a function returns belongs to the session, and is valid until the next call that drives it, unless it says
 *      otherwise. Texts that begin with a count are bytes: neither terminated nor valid UTF-8.
 *   E. Functions return 0 or -errno unless they say otherwise; rip_session_error() has the reason as one line. Output
 *      arguments are untouched on failure.
 *   F. A program built with an earlier release runs with a later one: structs of the library's own grow at their end,
 *      structs of the caller's carry their size, and new kinds of events come with higher numbers: ignore those that
 *      you do not know.
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
    RIP_EVENT_RING = 1,     /* a ring is there */
    RIP_EVENT_RING_END = 2, /* it is not any more, or cannot be read any more */
    RIP_EVENT_PROCESS = 3,  /* a process has entered a ring */
    RIP_EVENT_MODULE = 4,   /* a module of a process is known */
    RIP_EVENT_DEATH = 5,    /* a process has ended */
    RIP_EVENT_REGISTER = 6, /* an id is there */
    RIP_EVENT_STATE =
        7,              /* the name, thread, deadline or call of an id is another one; it is idle, or is not any more */
    RIP_EVENT_SNAP = 8, /* an id has snapped: all that one drain found of it */
    RIP_EVENT_NOTE = 9, /* an id has another note */
    RIP_EVENT_EXIT = 10,        /* an id has ended */
    RIP_EVENT_FLUSH = 11,       /* the program called rip_flush() */
    RIP_EVENT_TOTALS = 12,      /* a ring's accounts after a drain on which they changed */
    RIP_EVENT_STALL_BEGIN = 13, /* as ripd published it: where ripd recorded, and of a capture */
    RIP_EVENT_STALL_END = 14,
    RIP_EVENT_DRAIN = 15,  /* a drain is complete: every ring has been looked at */
    RIP_EVENT_SCRIPT = 16, /* a function of a script is known, at latest one drain after a SNAP that was in it */
};

/* Bytes, neither terminated nor valid UTF-8. */
struct rip_text {
    const char *bytes;
    size_t count;
};

struct rip_event_ring {
    struct rip_text name;      /* of its file, without the directory */
    struct rip_text directory; /* 0 bytes: not known */
    uint8_t ring_id[16];
    uint8_t boot_id[16];
    uint64_t created_wall_ns;
    uint32_t slot_capacity;
    uint32_t uid; /* owner of the file; UINT32_MAX: not known */
    bool preload; /* written by the preload library */
};

struct rip_event_ring_end {
    struct rip_text reason; /* 0 bytes: its file is gone */
};

struct rip_event_module {
    uint32_t process;
    uint32_t nth; /* oldest first; the newest wins an overlap */
    const struct rip_module_info *info;
};

struct rip_event_death {
    uint32_t process;
    uint32_t generation;
    int32_t status; /* as of waitpid(); valid if has_status */
    bool has_status;
    bool in_order; /* exit() or return from main() */
    bool core_dumped;
    bool replaced; /* it executed another program */
};

/* RIP_EVENT_REGISTER and RIP_EVENT_STATE. */
struct rip_event_id {
    const struct rip_id_info *info; /* as of this drain */
    bool found;                     /* it was there before the first drain: what it did before is not known */
};

struct rip_event_snap {
    uint64_t progress;          /* the id's count after them, as in struct rip_sample */
    uint64_t made_count;        /* snaps since the drain before, or since it was registered, or since it was found */
    uint64_t overwritten_count; /* of those, that are not among the entries: overwritten before they were read */
    uint32_t torn_count;        /* of those overwritten, that were under the pen while they were read */
    uint32_t entry_count;       /* made_count = entry_count + overwritten_count */
    const struct rip_entry *entries; /* oldest first */
};

struct rip_event_exit {
    uint64_t snap_count; /* that it made in all; valid if has_snap_count */
    bool has_snap_count; /* false: its slot was reused before a drain saw its last entries; TOTALS count what was missed
                          */
};

/* Of one ring, since the session or the recording began. */
struct rip_event_totals {
    uint64_t made_count; /* = recorded_count + overwritten_count + unseen_count, if exact */
    uint64_t recorded_count;
    uint64_t overwritten_count;
    uint64_t unseen_count;     /* of ids whose slot was reused between two drains */
    uint64_t registered_count; /* ids */
    uint64_t ended_count;
    uint64_t torn_count;
    bool exact; /* false: the writer keeps no count of ids that end, or they ended faster than it could be read */
};

struct rip_event_stall {
    struct rip_text json; /* of the schema ripd/event/1; of a capture: an id, as its document has it */
};

struct rip_event_drain {
    uint64_t sequence; /* from 1 */
    uint64_t wall_ns;  /* CLOCK_REALTIME at its begin; likewise */
    uint64_t mono_ns;
    uint64_t boot_ns;
    uint64_t duration_ns;
};

struct rip_event {
    uint32_t kind;   /* enum rip_event_kind, or one that this header does not know */
    uint32_t ring;   /* number of the ring in this session, from 1; never used again; 0 = of none */
    uint64_t number; /* of the event in this session, from 1 */
    /* It happened after earliest, and at latest then; of a thing found on the first drain earliest is 0. CLOCK_REALTIME
     * and CLOCK_MONOTONIC of the machine that the rings were on. */
    uint64_t earliest_wall_ns;
    uint64_t latest_wall_ns;
    uint64_t earliest_mono_ns;
    uint64_t latest_mono_ns;
    /* Of REGISTER, STATE, SNAP, NOTE and EXIT, and of STALL_BEGIN and STALL_END where ring is not 0. */
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t process; /* index of its record; of PROCESS, MODULE and DEATH, too */
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
        const struct rip_script_info *script; /* of all processes of the ring; line is 0 */
        struct rip_event_exit exit;
        uint64_t flush_count; /* calls since the drain before */
        struct rip_event_totals totals;
        struct rip_event_stall stall;
        struct rip_event_drain drain;
    } as;
};

enum rip_session_source {
    RIP_SESSION_DIRECTORY = 1, /* live: the rings of a directory, those that come included */
    RIP_SESSION_RING = 2,      /* live: one ring file, or a dead one */
    RIP_SESSION_CAPTURE = 3,
    RIP_SESSION_RECORDING = 4, /* a file, or a directory with the segments of one */
};

struct rip_session;

struct rip_session_options {
    size_t size_bytes;    /* sizeof(struct rip_session_options) */
    uint64_t interval_ns; /* between drains of a live source; 0 = one second */
    const int32_t *pids;  /* of a directory: only rings of one of these processes, */
    size_t pid_count;
    bool once;                /* a live source yields one drain, and ends; as of a capture, ids that ended before are
                                 among what is found, with their EXIT, as far as the ring still has them */
    const char *const *names; /* or with a file name that one of these patterns (glob(7)) matches; both 0 = all */
    size_t name_count;
};

/*
 * Opens what is at path: which source it is, its content says. options may be NULL. On failure *ret_error (caller's to
 * free(), NULL for want of memory; the pointer may be NULL) is one line. -ENOENT, -EACCES, ...; -EINVAL: none of the
 * four; -EPROTONOSUPPORT: of another version; -EBADMSG: damaged from the start.
 */
RIP_SESSION_API int rip_session_open(struct rip_session **ret_session, const char *path,
                                     const struct rip_session_options *options, char **ret_error);
RIP_SESSION_API void rip_session_close(struct rip_session *session); /* NULL is allowed */
RIP_SESSION_API enum rip_session_source rip_session_source(const struct rip_session *session);

/* The last failure as one line; "" = there was none. */
RIP_SESSION_API const char *rip_session_error(const struct rip_session *session);

/*
 * The next event: 1 and *ret_event; 0: there is none, because the source has ended; -EAGAIN: a live source has none
 * before the next drain is due; -EBADMSG: a recording is damaged or cut here (rip_session_position()): events before it
 * were yielded, and what follows the damage is not.
 */
RIP_SESSION_API int rip_session_next(struct rip_session *session, const struct rip_event **ret_event);

/* The same, and it stays the next one. */
RIP_SESSION_API int rip_session_peek(struct rip_session *session, const struct rip_event **ret_event);

/* How long until the next drain of a live source is due; 0 = now, or the source is not live. */
RIP_SESSION_API uint64_t rip_session_due_ns(const struct rip_session *session);

/* Waits until a drain is due or a traced program calls rip_flush(), at most timeout_ns. 0, -ETIMEDOUT, -EINTR. */
RIP_SESSION_API int rip_session_wait(struct rip_session *session, uint64_t timeout_ns);

/* The next drain of a live source is due now: to read what there is before one ends, say. -ENOTSUP: it is not live. */
RIP_SESSION_API int rip_session_drain_now(struct rip_session *session);

/* Functions of an observer return 0, or anything else to end what drives the session, which then returns that. */
struct rip_observer {
    size_t size_bytes; /* sizeof(struct rip_observer) */
    void *context;
    /* NULL: that kind is passed over. event() gets all kinds, before the others. */
    int (*event)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*process)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*register_id)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*snap)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*idle)(void *context, struct rip_session *session, const struct rip_event *event); /* STATE */
    int (*note)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*lost)(void *context, struct rip_session *session,
                const struct rip_event *event); /* a SNAP that has overwritten
                              ones, before snap(); TOTALS with more unseen */
    int (*exit)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*death)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*stall_begin)(void *context, struct rip_session *session, const struct rip_event *event);
    int (*stall_end)(void *context, struct rip_session *session, const struct rip_event *event);
};

/* One observer a session; NULL: none any more. The struct is copied. */
RIP_SESSION_API int rip_session_observe(struct rip_session *session, const struct rip_observer *observer);

/* Where rip_session_run() ends, besides at the end of the source and at what an observer returns. */
struct rip_session_limit {
    size_t size_bytes;    /* sizeof(struct rip_session_limit) */
    uint64_t event_count; /* after so many events; 0 = no limit; likewise */
    uint64_t drain_count;
    uint64_t until_wall_ns; /* before the first event that is later */
    uint32_t ring;          /* after an event of this id of this ring */
    uint32_t id;
};

/*
 * Yields events to the observer; follows a live source by waiting for drains. limit may be NULL. 0: the source has
 * ended; 1: at the limit; -EINTR; -EBADMSG; what an observer returned.
 */
RIP_SESSION_API int rip_session_run(struct rip_session *session, const struct rip_session_limit *limit);

/*
 * Of a recording: the next event is the first of the drain that was made then, or the first after; before it, REGISTER
 * and the like are yielded again for what is there at that time. -ENOTSUP: not a recording.
 */
RIP_SESSION_API int rip_session_seek(struct rip_session *session, uint64_t wall_ns);

/* Where in a recording the next event is, and how long that is: bytes, for a progress bar, or to say where it is
 * damaged. -ENOTSUP: not a recording. */
RIP_SESSION_API int rip_session_position(const struct rip_session *session, uint64_t *ret_bytes,
                                         uint64_t *ret_total_bytes);

/* Ancillary data -------------------------------------------------------------------------------------------------- */

#define RIP_SESSION_NAMESPACE_BYTES 63u
#define RIP_SESSION_DATA_BYTES_MAX (1u << 24) /* at one event */
#define RIP_SESSION_DATA_COUNT_MAX 16u        /* names at one event */

/*
 * Attaches data to the event that was yielded last. A namespace is letters, digits, '.', '-' and '_', at most
 * RIP_SESSION_NAMESPACE_BYTES; what begins with "rip" is ours. Again under the same namespace: replaced. Saved where
 * the session is recorded. -EINVAL: no event, one that is written already (see rip_session_record()), or such a name;
 * -EFBIG; -ENOMEM.
 */
RIP_SESSION_API int rip_session_attach(struct rip_session *session, const char *name_space, const void *data,
                                       size_t count);

/* What is attached to the event that was yielded last: by this caller, or as the recording has it. The RING of a
 * capture has its document as "rip.capture" (ripd/capture/1 of the schema). -ENOENT. */
RIP_SESSION_API int rip_session_data(const struct rip_session *session, const char *name_space, const void **ret_data,
                                     size_t *ret_count);

/* Recording ------------------------------------------------------------------------------------------------------- */

struct rip_recording_options {
    size_t size_bytes;      /* sizeof(struct rip_recording_options) */
    uint64_t segment_bytes; /* a new file when one has so many; 0 = one file; with segments, path is their directory */
    uint64_t segment_ns;    /* ... or is so old */
    uint32_t segments_kept; /* the oldest are removed; 0 = none */
    uint64_t flight_bytes;  /* not 0: so many of the newest are kept in memory, and written by rip_session_trigger() */
    uint64_t sync_interval_ns; /* how often what was written is synced; 0 = every second */
};

/*
 * From the next drain on all that is yielded is recorded at path, which must not exist (-EEXIST), but for a directory
 * of segments, which goes on with higher numbers (-EBUSY: another recorder writes there). An event is written when the
 * one after it is yielded or waited for, a DRAIN also when the one after it is peeked at, with what was attached to it.
 * options may be NULL. -EINVAL: they contradict one another. A program that has a limit of the size of files ignores
 * SIGXFSZ.
 */
RIP_SESSION_API int rip_session_record(struct rip_session *session, const char *path,
                                       const struct rip_recording_options *options);

/* Writes what the flight recorder holds as a recording at path. -ENOTSUP: there is none. */
RIP_SESSION_API int rip_session_trigger(struct rip_session *session, const char *path);

struct rip_recording_state {
    uint64_t drain_count;
    uint64_t event_count;
    uint64_t entry_count;
    uint64_t written_bytes;
    uint64_t lost_entry_count; /* that could not be written: disk full, or failing */
    int error;                 /* why the last write failed; 0 = it did not */
    uint64_t reserved[8];
};
RIP_SESSION_API int rip_session_recording_state(const struct rip_session *session,
                                                struct rip_recording_state *ret_state);

/* Writes and syncs the rest, and ends the recording; rip_session_close() does so, too. */
RIP_SESSION_API int rip_session_record_end(struct rip_session *session);

#ifdef __cplusplus
}
#endif

#endif
