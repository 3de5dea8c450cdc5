/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - values out of the bytes of a ring, for tools.
 *
 * A view validates the header of a ring once and keeps its own copy of the geometry; every later function takes the
 * view, reads shared words once, bounds whatever it read, and returns copies. The bytes may be hostile and may change
 * while they are read.
 *
 * Guarantees
 *   A. No function reads outside [base, base + size) of the view, whatever the bytes say.
 *   B. No function touches a page that the ring's bitmaps, high-water marks and log of ended ids do not vouch for:
 *      reading a sparse ring allocates nothing, unless the ring vouches for memory that it does not have.
 *   C. No pointer into the ring is returned; no function writes to it, allocates, or calls the system.
 *   D. Output arguments are untouched on failure.
 *   E. Thread-safe: a view is constant after rip_view_open().
 *   F. A program built with an earlier release runs with a later one: every struct ends in reserved bytes, which the
 *      functions set to 0 and later releases turn into fields in which 0 means absent. No struct changes its size.
 *
 * A file that is cut while mapped raises SIGBUS in the caller, as with any mapping: guard the calls, or copy the file.
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
    RIP_NOT_A_RING,       /* no magic: a foreign, empty or unfinished file */
    RIP_OTHER_VERSION,    /* a ring of a format this reader does not know */
    RIP_OTHER_BYTE_ORDER, /* written on a machine of the other byte order */
    RIP_UNKNOWN_FEATURE,  /* incompatible_flags has bits this reader does not know */
    RIP_TRUNCATED,        /* shorter than its header says */
    RIP_DAMAGED,          /* header fields that contradict each other or the limits */
    RIP_NOT_LIVE,         /* the slot, record or entry asked for holds nothing */
    RIP_CHANGED,          /* changed under the reader in every attempt */
};

/* One short English phrase, e.g. "is shorter than its header says". Never NULL; static. */
RIP_READER_API const char *rip_status_text(enum rip_status status);

/* Private copy of a validated geometry. The fields are for the functions below. */
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
 * Validates size_bytes of ring at base and fills *ret_view, which refers to base: keep the bytes mapped as long as the
 * view is used. base must be aligned to 8. size_bytes may exceed the ring's own size.
 */
RIP_READER_API enum rip_status rip_view_open(struct rip_view *ret_view, const void *base, uint64_t size_bytes);

/* Facts of the whole ring. The counters are a moment's values. */
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
    uint64_t ended_count;      /* ids that ended; see rip_view_ended() */
    uint64_t ended_snap_count; /* snaps that those made, if ended_settled */
    uint32_t flush_count;      /* calls of rip_flush(): another number, a new request to read the ring now */
    uint8_t counts_ended;  /* 1 = the writers keep the three above and the log; 0 = a ring from before there were any */
    uint8_t ended_settled; /* 0 = an id was ending while they were read: the two do not belong together. See 2.6 in
                              librip/ABI.md for the snaps of all ids */
    uint8_t reserved_126[2];
    uint64_t scripts_dropped_count;
    uint32_t script_high_water;
    uint32_t reserved_140;
    uint64_t reserved_144[3];
};
RIP_READER_API void rip_view_info(const struct rip_view *view, struct rip_ring_info *ret_info);

/*
 * Slots that the bitmaps call live, those being registered included. No slot is touched: ask this, and then the file
 * how much memory it has, before reading slots of a ring that may lie (see B).
 */
RIP_READER_API uint64_t rip_view_live_count(const struct rip_view *view);

/* What a scan needs to know of one live slot. */
struct rip_sample {
    uint64_t progress; /* the slot's count; compare for equality only */
    uint32_t slot;
    uint32_t generation;
    uint32_t tid; /* in the writer's pid namespace; 0 = on no thread */
    uint16_t process;
    uint8_t idle;         /* 1 = idle by its own declaration */
    uint8_t counter_bias; /* snaps made since it was registered = progress - this */
    uint32_t deadline_ms; /* its own threshold; 0 = none */
    uint16_t reserved_28;
    uint8_t call;         /* enum rip_call, or a value this reader does not know */
    uint8_t name_version; /* changes with the name */
};

/* Where a scan is; start with all zero. */
struct rip_scan_position {
    uint32_t next_word; /* word of the live bitmap */
    uint32_t reserved_4;
    uint64_t pending;        /* bits of the current word not yet returned */
    uint64_t left_out_count; /* live slots left out until now; see rip_view_scan() */
    uint64_t reserved_24;
};

/*
 * Samples of the next live slots, ascending, at most capacity of them. Returns how many; fewer than capacity only at
 * the end. Slots whose generation is odd (being registered) are left out, and counted in *position. A slot's
 * lines are prefetched ahead.
 */
RIP_READER_API size_t rip_view_scan(const struct rip_view *view, struct rip_scan_position *position,
                                    struct rip_sample *ret_samples, size_t capacity);

/* Everything about one id except its trail. Strings are bytes, neither terminated nor valid UTF-8. */
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
    uint64_t snap_count; /* snaps made since it was registered */
    uint64_t registered_boot_ns;
    uint32_t deadline_ms; /* its own threshold; 0 = none */
    uint8_t call;         /* as in struct rip_sample */
    uint8_t name_version; /* the same */
    uint8_t reserved_118[2];
    uint64_t reserved_120[7];
};
RIP_READER_API enum rip_status rip_view_id(const struct rip_view *view, uint32_t slot, struct rip_id_info *ret_info);

/* The wait for a lock that an id has marked and that its next snap has not ended. */
struct rip_wait_info {
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t tid; /* in the writer's pid namespace; 0 = on no thread */
    uint16_t process;
    uint8_t flags;          /* RIP_WAIT_* */
    uint32_t owner;         /* tid in the writer's pid namespace, or an id: see flags; 0 = nobody, or not known */
    uint64_t progress;      /* as in struct rip_sample */
    uint64_t address;       /* of the lock, in the writer's address space */
    uint64_t seen_mono_ns;  /* the owner was read after this */
    uint64_t begun_mono_ns; /* the wait began before this, or then */
    uint64_t reserved_56[4];
};
/* RIP_NOT_LIVE if it marks no wait now. */
RIP_READER_API enum rip_status rip_view_wait(const struct rip_view *view, uint32_t slot,
                                             struct rip_wait_info *ret_info);

/* What an id says it is doing. Bytes, neither terminated nor valid UTF-8. */
struct rip_note_info {
    uint32_t slot;
    uint32_t generation;
    uint64_t sequence;  /* another number, another note */
    uint8_t text_bytes; /* at least 1, at most RIP_NOTE_BYTES */
    uint8_t text[RIP_NOTE_BYTES];
    uint64_t reserved_144[2];
};
/* RIP_NOT_LIVE if it has none. RIP_CHANGED also if one has been begun and not been completed. */
RIP_READER_API enum rip_status rip_view_note(const struct rip_view *view, uint32_t slot,
                                             struct rip_note_info *ret_info);

/* One breadcrumb. */
struct rip_entry {
    uint64_t snap;    /* which snap of the id it is, from 1; the newest is snap_count, or just below it */
    uint64_t address; /* in the writer's address space; with RIP_PLACE_SCRIPT a line of a script: rip_view_script() */
    uint64_t reserved_16;
};

/*
 * The entries that are certain, newest first, at most RIP_ENTRY_COUNT. An entry whose tag disagrees with its place
 * (overwritten while read, or under the pen) is left out, as is one of address 0. *ret_count is 0 for an id that never
 * snapped. Of an id that does not move, whatever its counter began with and however often it was resumed, exactly the
 * newest snaps are there, as many as were made up to RIP_ENTRY_COUNT, but for those left out: their numbers are
 * missing.
 */
RIP_READER_API enum rip_status rip_view_trail(const struct rip_view *view, uint32_t slot,
                                              struct rip_entry ret_entries[RIP_ENTRY_COUNT], size_t *ret_count);

/*
 * Of the entries of a sampled id those that are later than its snap `after` and not later than the sample, oldest
 * first: what a reader that looks again and again has not seen yet. Only these are read. RIP_NOT_LIVE if the generation
 * of the sample is over: the id has ended, or was renamed or resumed.
 */
RIP_READER_API enum rip_status rip_view_entries(const struct rip_view *view, const struct rip_sample *sample,
                                                uint64_t after, struct rip_entry ret_entries[RIP_ENTRY_COUNT],
                                                size_t *ret_count);

/* The last location of an id, and whose it is: all that it takes to count ids by where they are. */
struct rip_last_info {
    uint32_t slot;
    uint32_t generation;
    uint16_t process;
    struct rip_entry entry; /* the first that rip_view_trail() would return; snap 0 = there is none */
    uint64_t reserved_40[3];
};
/*
 * Of the entries only the newest is read, and those before it only as far as it is not certain: for an id that stands
 * still or does not snap without a pause it costs a sixth of what its trail does.
 */
RIP_READER_API enum rip_status rip_view_last(const struct rip_view *view, uint32_t slot,
                                             struct rip_last_info *ret_info);

/* An id that has ended. */
struct rip_ended {
    uint64_t number; /* how many had ended before it */
    uint32_t slot;
    uint32_t generation;
    uint64_t reserved_16;
};
/*
 * Ids that have ended, from number `first` on, at most capacity of them; *ret_next is the number to go on with. The
 * ring has the last RIP_ENDED_COUNT: earlier ones are skipped, and the numbers show the gap. Ids that rip_init() began
 * anew are among them.
 */
RIP_READER_API size_t rip_view_ended(const struct rip_view *view, uint64_t first, struct rip_ended *ret_ended,
                                     size_t capacity, uint64_t *ret_next);

/*
 * As the functions of the same name, of an id that has ended. slot and generation are as rip_view_ended() gave them: it
 * is that log that vouches for the slot's page (see B). RIP_NOT_LIVE if the slot is another id's by now.
 */
RIP_READER_API enum rip_status rip_view_ended_id(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                                 struct rip_id_info *ret_info);
RIP_READER_API enum rip_status rip_view_ended_trail(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                                    struct rip_entry ret_entries[RIP_ENTRY_COUNT], size_t *ret_count);
RIP_READER_API enum rip_status rip_view_ended_note(const struct rip_view *view, uint32_t slot, uint32_t generation,
                                                   struct rip_note_info *ret_info);

struct rip_process_info {
    uint32_t index;
    uint32_t state; /* enum rip_process_state, or a value this reader does not know */
    uint32_t generation;
    uint32_t flags;
    uint32_t pid; /* a claim; in the writer's pid namespace */
    uint32_t parent_pid;
    uint64_t start_time_ticks;
    uint64_t pid_namespace;
    uint64_t entered_boot_ns;
    uint32_t uid;
    uint32_t module_count; /* at most RIP_PROCESS_MODULES */
    uint8_t comm[RIP_COMM_BYTES];
    uint64_t reserved_72[8];
};
/* index below rip_ring_info.process_high_water. RIP_NOT_LIVE for a record that is FREE or CLAIMED. */
RIP_READER_API enum rip_status rip_view_process(const struct rip_view *view, uint32_t index,
                                                struct rip_process_info *ret_info);

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
/* The nth module of a process, oldest first. RIP_NOT_LIVE if it has no such module. */
RIP_READER_API enum rip_status rip_view_module(const struct rip_view *view, uint32_t process, uint32_t nth,
                                               struct rip_module_info *ret_info);

/* A line of a script. Text is bytes, neither terminated nor valid UTF-8. */
struct rip_script_info {
    uint32_t index;         /* of the function in the ring's table: the same index, the same function */
    uint32_t line;          /* 0 = not known */
    uint32_t first_line;    /* of the function; 0 = not known */
    uint16_t file_bytes;    /* at most RIP_SCRIPT_FILE_BYTES */
    uint8_t function_bytes; /* at most RIP_SCRIPT_FUNCTION_BYTES */
    uint8_t flags;          /* RIP_SCRIPT_* */
    uint8_t file[RIP_SCRIPT_FILE_BYTES];
    uint8_t function[RIP_SCRIPT_FUNCTION_BYTES];
    uint64_t reserved_384[4];
};
/*
 * What an entry's address says if it has RIP_PLACE_SCRIPT. RIP_NOT_LIVE if it has not, or if the ring has no such
 * entry.
 */
RIP_READER_API enum rip_status rip_view_script(const struct rip_view *view, uint64_t address,
                                               struct rip_script_info *ret_info);

#ifdef __cplusplus
}
#endif

#endif
