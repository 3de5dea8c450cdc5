/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - reads the bytes of a ring and returns values. For tools.
 *
 * rip_view_open() validates the header of a ring once; the view keeps its own copy of the geometry. Every other
 * function takes the view, reads each shared word once, bounds the value and returns copies. The bytes may be hostile
 * and may change while they are read.
 *
 * Guarantees
 *   A. No function reads outside [base, base + size) of the view, regardless of the bytes.
 *   B. Functions touch only pages that the ring's bitmaps, high-water marks or log of ended ids vouch for. So reading a
 *      sparse ring allocates nothing, unless the ring has a hole in place of data.
 *   C. No function returns a pointer into the ring, writes to the ring, allocates or makes a system call.
 *   D. Output arguments are untouched on failure.
 *   E. Thread-safe: a view is constant after rip_view_open(). Async-signal-safe.
 *   F. A program built with an earlier release runs with a later one. Every struct ends in reserved bytes, which the
 *      functions set to 0. Later releases turn them into fields in which 0 means absent. No struct changes its size.
 *
 * Functions that return a status, except rip_view_open(), return RIP_OK, RIP_NOT_LIVE if the slot or record is empty or
 * out of range, or RIP_CHANGED if it changed during each of several attempts. Comments name further reasons. Times are
 * in ns of the writer's CLOCK_REALTIME (wall), CLOCK_BOOTTIME (boot) or CLOCK_MONOTONIC (mono).
 *
 * If a mapped file is truncated, reading it raises SIGBUS in the caller, as with any mapping. Guard the calls, or copy
 * the file first.
 */
#ifndef RIP_READER_H
#define RIP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rip/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RIP_READER_API __attribute__((visibility("default")))

enum rip_status {
    RIP_OK = 0,
    RIP_NOT_A_RING,       /* no magic: another kind of file, an empty or an unfinished one */
    RIP_OTHER_VERSION,    /* a ring of a format that this reader does not know */
    RIP_OTHER_BYTE_ORDER, /* written on a machine with the other byte order */
    RIP_UNKNOWN_FEATURE,  /* incompatible_flags has bits that this reader does not know */
    RIP_TRUNCATED,        /* shorter than its header says */
    RIP_DAMAGED,          /* header fields contradict each other or exceed the limits */
    RIP_NOT_LIVE,         /* the requested slot, record or entry is empty */
    RIP_CHANGED,          /* the bytes changed during every attempt to read them */
};

/* Returns a short English phrase, for example "is shorter than its header says". Never NULL. Static: do not free. */
RIP_READER_API const char *rip_status_text(enum rip_status status);

/* Private copy of a validated geometry. Callers must not use the fields. */
struct rip_view {
    const unsigned char *base;
    uint64_t size_bytes;
    uint64_t slot_offset;
    uint64_t summary_offset;
    uint64_t live_offset;
    uint64_t process_offset;
    uint64_t module_offset;
    uint64_t lock_holder_offset;
    uint64_t lock_life_offset;
    uint32_t slot_capacity;
    uint32_t slot_stride_bytes;
    uint32_t entry_offset_bytes;
    uint32_t entry_count;
    uint32_t process_capacity;
    uint32_t process_stride_bytes;
    uint32_t module_capacity;
    uint32_t module_stride_bytes;
    uint64_t note_offset; /* 0 = the ring has no notes */
    uint32_t note_stride_bytes;
    uint32_t script_stride_bytes;
    uint64_t script_offset; /* 0 = the ring has no script table */
    uint32_t script_capacity;
    uint32_t reserved_132;
    uint64_t reserved_136[4];
};

/*
 * Validates size_bytes bytes of a ring at base and fills *ret_view. The view refers to base: keep the bytes mapped as
 * long as the view is used. base must be aligned to 8 bytes. size_bytes may be larger than the ring.
 */
RIP_READER_API enum rip_status rip_view_open(struct rip_view *ret_view, const void *base, uint64_t size_bytes);

/* Values of the whole ring; fields as in struct rip_ring. The counters are read one after the other, not at once. */
struct rip_ring_info {
    uint8_t ring_id[16];
    uint8_t boot_id[16];
    uint64_t created_wall_ns;
    uint64_t created_boot_ns;
    uint32_t slot_capacity;
    uint32_t process_high_water;
    uint32_t module_high_water;
    uint64_t refused_full_count;
    uint64_t refused_memory_count;
    uint64_t refused_process_count;
    uint64_t modules_dropped_count;
    uint64_t registered_count;
    uint64_t ended_count;      /* ids that have ended; see rip_view_ended() */
    uint64_t ended_snap_count; /* snaps that those ids made; valid if ended_settled */
    uint32_t flush_count;      /* calls of rip_flush(): a new value is a new request to read the ring now */
    uint8_t counts_ended;      /* 1 = the writers maintain ended_count, ended_snap_count, flush_count and the log; 0 = a
                                  ring of an older format 1 writer */
    uint8_t ended_settled; /* 0 = an id was ending during the read: ended_count and ended_snap_count do not match. See
                              2.6 in librip/ABI.md for the snaps of all ids. */
    uint8_t reserved_126[2];
    uint64_t scripts_dropped_count;
    uint32_t script_high_water;
    uint32_t reserved_140;
    uint64_t reserved_144[3];
};
RIP_READER_API void rip_view_info(const struct rip_view *view, struct rip_ring_info *ret_info);

/*
 * Returns the number of slots that are live according to the bitmaps, including slots that are being registered.
 * Touches no slot. Before reading the slots of an untrusted ring, compare this number with the memory that the file has
 * (see B).
 */
RIP_READER_API uint64_t rip_view_live_count(const struct rip_view *view);

/* What a scan needs to know about one live slot. */
struct rip_sample {
    uint64_t progress; /* the slot's count; compare for equality only */
    uint32_t slot;
    uint32_t generation;
    uint32_t tid; /* in the writer's pid namespace; 0 = on no thread */
    uint16_t process;
    uint8_t idle;         /* 1 = the id has declared that it is idle */
    uint8_t counter_bias; /* snaps made since the registration = progress - counter_bias */
    uint32_t deadline_ms; /* the id's own threshold; 0 = none */
    uint16_t reserved_28;
    uint8_t call;         /* enum rip_call, or a value that this reader does not know */
    uint8_t name_version; /* changes when the name changes */
};

/* The position of a scan. Set all fields to 0 to start. */
struct rip_scan_position {
    uint32_t next_word; /* index of a word of the live bitmap */
    uint32_t reserved_4;
    uint64_t pending;        /* bits of the current word that have not been returned yet */
    uint64_t left_out_count; /* live slots left out so far; see rip_view_scan() */
    uint64_t reserved_24;
};

/*
 * Stores samples of the next live slots in ascending order, at most capacity. Returns the number of samples; a number
 * below capacity means that the scan is complete. Slots with an odd generation (being registered) are left out and
 * counted in position->left_out_count. Prefetches the cache lines of later slots.
 */
RIP_READER_API size_t rip_view_scan(const struct rip_view *view, struct rip_scan_position *position,
                                    struct rip_sample *ret_samples, size_t capacity);

/* Everything about one id except its trail. Strings are bytes, neither terminated nor necessarily valid UTF-8. */
struct rip_id_info {
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t tid;
    uint16_t process;
    uint8_t kind;
    uint8_t idle;
    uint8_t name_bytes; /* at most RIP_NAME_BYTES */
    uint8_t name[RIP_NAME_BYTES];
    uint64_t progress;   /* as in struct rip_sample */
    uint64_t snap_count; /* snaps made since the registration */
    uint64_t registered_boot_ns;
    uint32_t deadline_ms; /* the id's own threshold; 0 = none */
    uint8_t call;         /* as in struct rip_sample */
    uint8_t name_version; /* as in struct rip_sample */
    uint8_t reserved_118[2];
    uint64_t reserved_120[7];
};
RIP_READER_API enum rip_status rip_view_id(const struct rip_view *view, uint32_t slot, struct rip_id_info *ret_info);

/* The wait for a lock that an id has marked. The next snap of the id ends the mark. */
struct rip_wait_info {
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t tid; /* in the writer's pid namespace; 0 = on no thread */
    uint16_t process;
    uint8_t flags;          /* RIP_WAIT_* */
    uint32_t owner;         /* a tid in the writer's pid namespace, or an id: see flags. 0 = none, or not known */
    uint64_t progress;      /* as in struct rip_sample */
    uint64_t address;       /* address of the lock, in the writer's address space */
    uint64_t seen_mono_ns;  /* CLOCK_MONOTONIC: the owner was read at or after this time */
    uint64_t begun_mono_ns; /* CLOCK_MONOTONIC: the wait began at or before this time */
    uint64_t reserved_56[4];
};
/* Returns RIP_NOT_LIVE if the id marks no wait now. */
RIP_READER_API enum rip_status rip_view_wait(const struct rip_view *view, uint32_t slot,
                                             struct rip_wait_info *ret_info);

/* What an id says it is doing. The text is bytes, neither terminated nor necessarily valid UTF-8. */
struct rip_note_info {
    uint32_t slot;
    uint32_t generation;
    uint64_t sequence;  /* a new value means a new note */
    uint8_t text_bytes; /* at least 1, at most RIP_NOTE_BYTES */
    uint8_t text[RIP_NOTE_BYTES];
    uint64_t reserved_144[2];
};
/* Returns RIP_NOT_LIVE if the id has no note. Returns RIP_CHANGED also if a note was begun and not completed. */
RIP_READER_API enum rip_status rip_view_note(const struct rip_view *view, uint32_t slot,
                                             struct rip_note_info *ret_info);

/* One breadcrumb. */
struct rip_entry {
    uint64_t snap;    /* number of the snap since registration, from 1; the newest is snap_count or slightly below */
    uint64_t address; /* in the writer's address space; with RIP_PLACE_SCRIPT a script line: see rip_view_script() */
    uint64_t reserved_16;
};

/*
 * Returns the entries that are certain, newest first, at most RIP_ENTRY_COUNT. An entry is left out if its tag does not
 * match its place (overwritten or incomplete while it was read), or if its address is 0. *ret_count is 0 for an id that
 * never snapped.
 *
 * For an id that does not move, the result is exactly its newest snaps, up to RIP_ENTRY_COUNT, except entries left out:
 * their numbers are missing. This holds for any start value of the counter and after any number of resumes.
 */
RIP_READER_API enum rip_status rip_view_trail(const struct rip_view *view, uint32_t slot,
                                              struct rip_entry ret_entries[RIP_ENTRY_COUNT], size_t *ret_count);

/*
 * Returns the entries of a sampled id that are later than its snap number `after` and not later than the sample, oldest
 * first. For readers that poll: only entries that are new to them are read. Returns RIP_NOT_LIVE if the generation of
 * the sample is over: the id has ended, has started afresh or was resumed with another counter (or, by an older writer,
 * was renamed).
 */
RIP_READER_API enum rip_status rip_view_entries(const struct rip_view *view, const struct rip_sample *sample,
                                                uint64_t after, struct rip_entry ret_entries[RIP_ENTRY_COUNT],
                                                size_t *ret_count);

/* The last location of an id, and its process: enough to count ids by location. */
struct rip_last_info {
    uint32_t slot;
    uint32_t generation;
    uint16_t process;
    struct rip_entry entry; /* the first entry that rip_view_trail() would return; snap 0 = none */
    uint64_t reserved_40[3];
};
/*
 * Reads only the newest entry, and older ones only until one is certain. For an id that stands still, or pauses between
 * snaps, this costs a sixth of reading the trail.
 */
RIP_READER_API enum rip_status rip_view_last(const struct rip_view *view, uint32_t slot,
                                             struct rip_last_info *ret_info);

/* An id that has ended. */
struct rip_ended {
    uint64_t number; /* number of ids that had ended before it */
    uint32_t slot;
    uint32_t generation;
    uint64_t reserved_16;
};
/*
 * Returns ids that have ended, from number `first` on, at most capacity. Returns how many; *ret_next is the number to
 * continue with. The ring has the last RIP_ENDED_COUNT ids. Older ones are skipped, which shows as a gap in the
 * numbers. Ids that rip_init() started afresh are included.
 */
RIP_READER_API size_t rip_view_ended(const struct rip_view *view, uint64_t first, struct rip_ended *ret_ended,
                                     size_t capacity, uint64_t *ret_next);

/*
 * As the functions with the same name, for an id that has ended. slot and generation come from rip_view_ended(): that
 * log vouches for the page of the slot (see B). Return RIP_NOT_LIVE if the slot belongs to another id by now.
 */
RIP_READER_API enum rip_status rip_view_ended_id(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                                 struct rip_id_info *ret_info);
RIP_READER_API enum rip_status rip_view_ended_trail(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                                    struct rip_entry ret_entries[RIP_ENTRY_COUNT], size_t *ret_count);
RIP_READER_API enum rip_status rip_view_ended_note(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                                   struct rip_note_info *ret_info);

/* A process record; fields as in struct rip_process. */
struct rip_process_info {
    uint32_t index;
    uint32_t state; /* enum rip_process_state, or a value that this reader does not know */
    uint32_t generation;
    uint32_t flags;
    uint32_t pid; /* not verified; in the writer's pid namespace */
    uint32_t parent_pid;
    uint64_t start_time_ticks;
    uint64_t pid_namespace;
    uint64_t entered_boot_ns;
    uint32_t uid;
    uint32_t module_count; /* at most RIP_PROCESS_MODULES */
    uint8_t comm[RIP_COMM_BYTES];
    uint64_t reserved_72[8];
};
/* index must be below rip_ring_info.process_high_water. Returns RIP_NOT_LIVE if the record is FREE or CLAIMED. */
RIP_READER_API enum rip_status rip_view_process(const struct rip_view *view, uint32_t index,
                                                struct rip_process_info *ret_info);

/* A module; fields as in struct rip_module. */
struct rip_module_info {
    uint64_t start;
    uint64_t end;
    uint64_t bias;
    uint32_t flags;
    uint16_t path_bytes;    /* at most RIP_MODULE_PATH_BYTES */
    uint8_t build_id_bytes; /* at most RIP_BUILD_ID_BYTES */
    uint8_t build_id[RIP_BUILD_ID_BYTES];
    uint8_t path[RIP_MODULE_PATH_BYTES];
    uint64_t reserved_504[4];
};
/* Returns the nth module of a process, oldest first. Returns RIP_NOT_LIVE if there is no such module. */
RIP_READER_API enum rip_status rip_view_module(const struct rip_view *view, uint32_t process, uint32_t nth,
                                               struct rip_module_info *ret_info);

/* A line of a script. Texts are bytes, neither terminated nor necessarily valid UTF-8. */
struct rip_script_info {
    uint32_t index;         /* index of the function in the ring's table; never reused */
    uint32_t line;          /* 0 = not known */
    uint32_t first_line;    /* first line of the function; 0 = not known */
    uint16_t file_bytes;    /* at most RIP_SCRIPT_FILE_BYTES */
    uint8_t function_bytes; /* at most RIP_SCRIPT_FUNCTION_BYTES */
    uint8_t flags;          /* RIP_SCRIPT_* */
    uint8_t file[RIP_SCRIPT_FILE_BYTES];
    uint8_t function[RIP_SCRIPT_FUNCTION_BYTES];
    uint64_t reserved_384[4];
};
/*
 * Resolves the address of an entry that has RIP_PLACE_SCRIPT. Returns RIP_NOT_LIVE if it does not have that bit, or if
 * the ring has no such function.
 */
RIP_READER_API enum rip_status rip_view_script(const struct rip_view *view, uint64_t address,
                                               struct rip_script_info *ret_info);

#ifdef __cplusplus
}
#endif

#endif
