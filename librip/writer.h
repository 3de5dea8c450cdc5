/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - what the cold paths of the library share: the private state of the process, and the functions of each
 * file.
 *
 *   file.c     makes and publishes the ring, and judges the file that has the ring's name
 *   process.c  the process records and their locks; judges whether processes are alive
 *   slot.c     the slots, the bitmaps and the map from id to slot
 *   ended.c    the log of ids that have ended
 *   thread.c   the calls that put ids on threads and mark their waits
 *   note.c     the notes of ids
 *   modules.c  the module table
 *   script.c   the table of functions of scripts
 *   fork.c     everything around fork()
 *
 * Guarantees
 *   A. Nothing here is installed or exported. Names begin with rip__ because a static library shares its namespace.
 *   B. Geometry is a private copy: a corrupted header cannot make a write go astray.
 *   C. "Caller holds the mutex" means: between rip__lock() and rip__unlock(). These also keep errno, defer
 *      cancellation, and notice that the process is the child of a fork that no handler saw.
 */
#ifndef RIP_WRITER_H
#define RIP_WRITER_H

#include <limits.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "rip/reader.h"
#include "rip/rip.h"

/*
 * A path in /proc of this thread. "self" is used only on the main thread: on other threads the main thread may have
 * ended. "self" is faster, because the kernel creates the inode of each directory on the path at the first look-up.
 */
#define RIP_PROC_OWN(name) (gettid() == getpid() ? "/proc/self/" name : "/proc/thread-self/" name)

/*
 * For variables that every traced program writes at its start. Keeps them together; in bss they would be extra pages.
 */
#define RIP_EARLY __attribute__((section(".data")))

#define RIP_DIGITS_BYTES 11 /* decimal digits of a 32-bit number, and the terminator */
#define RIP_LINK_BYTES 40   /* path in /proc of a file descriptor */

#define RIP_NO_SLOT UINT32_MAX
#define RIP_NO_PROCESS UINT32_MAX
/* An embryo without a pid counts as alive for the grace time, and up to the limit while its parent lives. */
#define RIP_EMBRYO_GRACE_NS UINT64_C(1000000000)
#define RIP_EMBRYO_LIMIT_NS UINT64_C(60000000000)
#define RIP_SWEEP_INTERVAL_NS UINT64_C(1000000000)

/* While rip_slot.state is CLAIMED, its high bits are the index of the process record that claims the slot. */
#define RIP_SLOT_OWNER_SHIFT 4
#define RIP_SLOT_STATE_MASK 0xfu

static inline size_t rip__page_bytes(void)
{
    return getauxval(AT_PAGESZ); /* the dynamic linker already has it: no system call */
}

/* Offsets of the sections of a ring. Computed once, never read back from the file. */
struct rip_geometry {
    uint64_t summary_offset;
    uint64_t live_offset;
    uint64_t process_offset;
    uint64_t module_offset;
    uint64_t slot_offset;
    uint64_t note_offset;   /* 0 = the ring has no notes */
    uint64_t script_offset; /* 0 = the ring has no script table */
    uint64_t file_bytes;
    uint32_t slot_capacity;
    uint32_t process_capacity;
    uint32_t module_capacity;
};

/* The private state of the process. A forked child inherits a copy; fork.c resets what belongs to the parent. */
struct rip_writer {
    pthread_mutex_t mutex;
    unsigned char *base;        /* the mapped ring; NULL = no ring */
    uint64_t open_bytes;        /* the part before the notes that may be accessed; see rip__slots_open() */
    uint64_t open_note_bytes;   /* end of the notes that may be accessed */
    uint64_t open_script_bytes; /* end of the script table that may be accessed */
    struct rip_geometry geometry;
    uint64_t backed_end; /* [0, this) and [recent_start, recent_end) are backed: see rip__populate() */
    uint64_t recent_start;
    uint64_t recent_end;
    struct rip_view view; /* view of base: records are read by the validating reader */
    dev_t device;
    ino_t inode;
    uid_t owner;
    uint8_t ring_id[16];
    char path[PATH_MAX]; /* absolute path; empty = not known */
    int descriptor;      /* the one file descriptor of the ring; -1 = none, as in a child that has not entered. The
                            application may have closed it. */
    int life_descriptor; /* a separate open file description, for the LIFE lock; -1 = not opened yet */
    pid_t pid;           /* the process that this state belongs to */
    uint32_t process;    /* index of this process's record; RIP_NO_PROCESS = none */
    uint32_t generation; /* generation of the record when claimed; if it differs now, another process took the record */
    bool entered;        /* the record is LIVE */
    bool described;      /* the record has what is read from /proc: see rip__process_describe() */
    bool left;           /* rip__leave() was called: nothing is traced any more */
    bool execing;        /* rip__leave() set the record to EXECING and kept the slots */
    uint64_t pid_namespace; /* of this process; 0 = not read yet */
    bool preloaded;         /* records of this process get RIP_PROCESS_PRELOADED */
    bool compiled;          /* records of this process get RIP_PROCESS_COMPILED */
    bool interprets;        /* preload: the program is a known interpreter, so its ring has notes and scripts */
    int descriptor_wanted;  /* lowest number for the ring's descriptor, if available; 0 = any high number */
    bool filtered;          /* see rip__is_filtered() */
    void *life_mapping;     /* holds the LIFE lock */
    uint64_t swept_boot_ns; /* time of the last sweep of a full ring */
    uint64_t ended_first;   /* the slots of ids with a lower end number have been claimed again */
    bool only_ended_free;   /* all free slots are in the log of ended ids */
    uint64_t module_adds;   /* dlpi_adds and dlpi_subs of the last refresh */
    uint64_t module_subs;
    uint32_t module_count;   /* module_index[0, this) of this process, or of the parent that it was copied from */
    uint32_t module_written; /* how many of these are in the record */
    uint16_t module_index[RIP_PROCESS_MODULES];
};
extern struct rip_writer rip__writer;

static inline struct rip_ring *rip__header(void)
{
    return (struct rip_ring *)(void *)rip__writer.base;
}

static inline struct rip_process *rip__process_at(uint32_t index)
{
    return (struct rip_process *)(void *)(rip__writer.base + rip__writer.geometry.process_offset +
                                          (uint64_t)index * RIP_PROCESS_BYTES);
}

static inline struct rip_module *rip__module_at(uint32_t index)
{
    return (struct rip_module *)(void *)(rip__writer.base + rip__writer.geometry.module_offset +
                                         (uint64_t)index * RIP_MODULE_BYTES);
}

static inline struct rip_script *rip__script_at(uint32_t index)
{
    return (struct rip_script *)(void *)(rip__writer.base + rip__writer.geometry.script_offset +
                                         (uint64_t)index * RIP_SCRIPT_BYTES);
}

static inline struct rip_slot *rip__slot_at(uint32_t index)
{
    return (struct rip_slot *)(void *)(rip__writer.base + rip__writer.geometry.slot_offset +
                                       (uint64_t)index * RIP_SLOT_BYTES);
}

static inline uint32_t rip__slot_index(const struct rip_slot *slot)
{
    const unsigned char *first = rip__writer.base + rip__writer.geometry.slot_offset;

    return (uint32_t)((uint64_t)((const unsigned char *)slot - first) / RIP_SLOT_BYTES);
}

/*
 * Returns true if the program has installed a seccomp filter. The filter may raise a signal at any system call that the
 * program itself does not make, so the library makes no system call any more. Threads get slots that were backed
 * before, forked children are not traced, and the file of the ring is not removed. Only the preload library can notice
 * a filter; it sets the flag.
 */
static inline bool rip__is_filtered(void)
{
    return rip_load_relaxed(&rip__writer.filtered);
}

/* --- thread.c: the lock around every cold path ------------------------------------------------------------------ */

/* Locks the mutex. Under a filter it does so without a system call, unless the mutex stays locked for very long. */
void rip__mutex_lock(pthread_mutex_t *mutex);

struct rip_guard {
    int saved_errno;
    int cancel_state;
};
/* Returns false inside another guarded call of this thread (a wrapped libc function called back): do nothing then. */
bool rip__lock(struct rip_guard *ret_guard);
bool rip__is_inside(void);
void rip__unlock(const struct rip_guard *guard);
void rip__thread_clear(void); /* takes the id off this thread; async-signal-safe */
/* Renames an id that may be on another thread. Does nothing if slot does not belong to the id any more. */
void rip__rename(struct rip_slot *slot, uint32_t id, const char *name, size_t name_bytes);
/* These act on the id on this thread: see rip/runtime.h. */
void rip__rename_own(const char *name, size_t name_bytes);
bool rip__is_traced(void);
struct rip_slot *rip__current(void);
void rip__wait_begin_of(struct rip_slot *slot, const void *lock, const uint32_t *owner, uint32_t flags);
/* The members of struct rip_runtime that are the same in both libraries. */
#define RIP__RUNTIME_OF_BOTH                                                                                           \
    .exit = rip_exit, .snap_at = rip_snap_at, .idle = rip_idle, .deadline_ms = rip_deadline_ms, .note = rip_note,      \
    .wait_begin = rip_wait_begin, .wait_look = rip_wait_look, .wait_end = rip_wait_end, .flush = rip_flush,            \
    .context_init = rip_context_init, .context_exit = rip_context_exit, .context_switch = rip_switch,                  \
    .script = rip_script_enter, .script_epoch = rip_script_epoch, .rename = rip__rename_own,                           \
    .is_traced = rip__is_traced, .current = rip__current, .wait_begin_of = rip__wait_begin_of

/* --- file.c ----------------------------------------------------------------------------------------------------- */

uint64_t rip__clock_ns(clockid_t clock);
/*
 * Writes the decimal digits of value, terminated. Does not use stdio: a forked child may not call stdio, and it costs
 * several pages at the start of a small program.
 */
void rip__format_number(uint32_t value, char ret_digits[RIP_DIGITS_BYTES]);
/* Writes the path in /proc of the descriptor. */
void rip__describe_descriptor(int descriptor, char ret_path[RIP_LINK_BYTES]);
/* Reads at most capacity - 1 bytes and terminates them. Returns the number of bytes, or -errno. */
ssize_t rip__read_text(const char *path, char *ret_text, size_t capacity);
/*
 * Moves the descriptor to a high number, out of the way of applications that expect low ones. Returns the new number,
 * or the old one if no high number is free. Closes the old number: call it before taking any POSIX lock on the file.
 */
int rip__raise_descriptor(int descriptor);
/*
 * Caller holds the mutex. Backs the pages of [offset, offset + bytes) of the ring. Returns 0, -ENOSPC or another
 * -errno. Never a signal.
 */
int rip__populate(uint64_t offset, uint64_t bytes);
/* Maps bytes of descriptor (-1 = private memory) without access rights and unlocked, even after mlockall(). */
int rip__map_bare(int descriptor, uint64_t bytes, void **ret_base);
/* Caller holds the mutex. Stores the machine's boot id in the header if the header has none. */
void rip__file_note_boot_id(void);
/* Returns true if descriptor refers to the ring. */
bool rip__file_is_ring(int descriptor);
/* Closes the ring's descriptor in a child that inherited it. Async-signal-safe. */
void rip__file_drop_descriptor(void);
/*
 * Removes old dead rings STEM.PID of this user from the directory, except the latest `keep` (at most 8), and unfinished
 * files. Call it before making another ring: this bounds what a crash loop leaves behind. Needs no mutex.
 */
void rip__file_bound_dead(const char *path, const char *stem, unsigned keep);
/* Unlinks the path of the ring if it still leads to the ring. */
void rip__file_unlink(void);
/* Returns true if RIP_DISABLE=1 is in the environment. */
bool rip__is_disabled(void);
/* Returns the number of the ring's descriptor, which the preload library protects, or -1. */
int rip__ring_fd(void);

/* --- process.c ------------------------------------------------------------------------------------------------- */

/* Input of rip__process_alive() other than the record. */
struct rip_evidence {
    int descriptor; /* of the ring, for F_GETLK; -1 = none */
    uint64_t holder_offset;
    uint64_t life_offset;
    uint64_t pid_namespace; /* of the process that judges */
    uint64_t now_boot_ns;
};
void rip__evidence_of_ring(struct rip_evidence *ret_evidence);
uint64_t rip__pid_namespace(void);
/*
 * Sets a lock with F_SETLK or F_OFD_SETLK on [offset, offset + bytes). Returns false if another holds it, or on error.
 */
bool rip__set_lock(int descriptor, int command, short type, uint64_t offset, uint64_t bytes);
/* Returns true if another owner has a write lock on any byte of [offset, offset + bytes). */
bool rip__locked(int descriptor, uint64_t offset, uint64_t bytes);
/* Returns true if the process of record `index`, with the contents `info`, may still use the ring. */
bool rip__process_alive(const struct rip_evidence *evidence, uint32_t index, const struct rip_process_info *info);
/* From /proc/PID/stat. */
struct rip_process_facts {
    uint64_t start_time_ticks;
    uint32_t thread_count;
    char state; /* of the main thread */
    char comm[RIP_COMM_BYTES];
};
int rip__process_facts(const char *path, struct rip_process_facts *ret_facts);

/* Caller holds the mutex. Makes the record of this process LIVE if it is not. Returns 0 or -errno. */
int rip__process_enter(void);
/* Caller holds the mutex. Adds what was postponed, once: start time, pid namespace and the watch for forks. */
void rip__process_describe(void);
/* Caller holds the mutex. Claims a record: state CLAIMED, generation incremented. Returns 0, -ENOSPC or -errno. */
int rip__process_claim(uint32_t *ret_index);
/* Takes the LIFE lock of the record. Async-signal-safe. Returns true if the lock is held. */
bool rip__process_take_life(uint32_t index);
void rip__process_drop_life(void);
/* What rip__leave() leaves behind. */
enum rip_leave {
    RIP_LEAVE_FILE,   /* the file stays */
    RIP_LEAVE_LAST,   /* the file stays only if another process may still use it */
    RIP_LEAVE_TO_EXEC /* as LAST; if the ring ends, its slots stay for readers that have it mapped */
};
/*
 * Takes the mutex itself. Ends the part of this process in the ring: frees its slots, sets its record to EXITED.
 * Nothing is traced afterwards.
 */
void rip__leave(enum rip_leave how);
/* After rip__leave(): the process has no ring and may make another. The old bytes stay mapped; rip_ring is NULL. */
void rip__forget_ring(void);
/* Moves the ring's descriptor to another number, because the program wants this one. Takes the HOLDER lock again. */
void rip__move_ring_fd(void);
/* Marks the records of this process as RIP_PROCESS_PRELOADED. Call it before the ring is made. */
void rip__set_preloaded(int descriptor_wanted);

/* --- own_ring.c: the ring of a program that makes none itself ---------------------------------------------------- */

/* Returns the directory in which the ring is made. */
const char *rip__own_ring_dir(void);
/*
 * Makes a ring at the first name that is available. *ret_error is the error of the first name that was not held by a
 * live ring; 0 = none.
 */
bool rip__own_ring_make(char ret_path[PATH_MAX], int *ret_error);
/*
 * After rip__leave(): atomically replaces the mapping of the ring with private memory. Its slots are all 0, by which
 * other threads notice.
 */
void rip__detach_mapping(void);
/*
 * For librip-compiled, which is a separate library. Call rip__compiled_begin() once. It returns true if the process had
 * no ring and has one now, with RIP_PROCESS_COMPILED in its record. In this case call rip__compiled_end() at exit; it
 * keeps errno.
 */
RIP_API bool rip__compiled_begin(void);
RIP_API void rip__compiled_end(void);

/* --- slot.c: caller holds the mutex ------------------------------------------------------------------------------ */

/* The values of a registration. */
struct rip_identity {
    uint32_t id;
    uint32_t tid;
    const char *name; /* NULL = no name, or keep the name */
    size_t name_bytes;
    uint8_t idx;
    uint8_t ctr;
    uint8_t kind;
};
/* Claims, fills and publishes a slot. Returns 0, -ENOSPC if the ring is full, or -ENOMEM. */
int rip__slot_register(const struct rip_identity *identity, uint32_t *ret_slot);
/* Starts a live id afresh in its slot: progress 0, no trail. The former id counts as ended. */
void rip__slot_restart(uint32_t slot, const struct rip_identity *identity);
/* Keeps progress and trail. Stores idx and ctr, and the name unless it is NULL. */
void rip__slot_resume(uint32_t slot, const struct rip_identity *identity);
void rip__slot_free(uint32_t slot);
/*
 * Makes the mapping accessible up to this slot. Slots that were never needed stay inaccessible: mlockall(MCL_CURRENT)
 * makes all accessible memory resident, and a sparse ring of 4M slots would be 1.6 GB. Returns 0 or -ENOMEM.
 */
int rip__slots_open(uint32_t slot);
/*
 * The same for another section: makes [*open_end, end) accessible, rounded up but not beyond limit, and moves
 * *open_end.
 */
int rip__open_until(uint64_t *open_end, uint64_t end, uint64_t limit);
/*
 * Backs slots for at least count more ids, because none can be backed under a filter. Backs fewer if memory is short.
 */
void rip__slot_reserve(uint32_t count);
void rip__slot_rename(uint32_t slot, const char *name, size_t name_bytes);
/* Copies the name of a slot on this thread, cut to fit and terminated. Needs no mutex. */
void rip__slot_name(const struct rip_slot *slot, char *ret_name, size_t capacity);
uint64_t rip__slot_progress(const struct rip_slot *slot);
/* Frees the slots of dead processes: of record `process`, or of all records if RIP_NO_PROCESS. */
void rip__slot_sweep(uint32_t process);

uint32_t rip__table_find(uint32_t id);
int rip__table_insert(uint32_t id, uint32_t slot);
void rip__table_remove(uint32_t id);
/* Iterates over the slots of all entries, in no order. Start with *position 0. Returns RIP_NO_SLOT at the end. */
uint32_t rip__table_next(uint32_t *position);
void rip__table_drop(void);

/* --- ended.c: caller holds the mutex ----------------------------------------------------------------------------- */

/* Call before the live bit of a slot is cleared or its id restarts. rip__ended_log() must follow. */
void rip__ended_begin(void);
/* Logs that the id with this generation in the slot has ended after snap_count snaps. */
void rip__ended_log(uint32_t slot, uint32_t generation, uint64_t snap_count);
/*
 * Sets a bit in ret_bits for each slot of live words [first_word, first_word + word_count) that is in the log. Returns
 * how many ids had ended by then, for rip__ended_since().
 */
uint64_t rip__ended_slots(uint32_t first_word, uint32_t word_count, uint64_t *ret_bits);
/* Returns true if an id of the slot has ended since the count was `number`. `number` must be within the log. */
bool rip__ended_since(uint64_t number, uint32_t slot);
/* Returns the number of the oldest id in the log. */
uint64_t rip__ended_oldest(void);
/* Iterates over the log from *number on, which is moved; 0 = from the oldest. Returns false at the end. */
bool rip__ended_next(uint64_t *number, uint32_t *ret_slot, uint32_t *ret_generation);

/* --- note.c ------------------------------------------------------------------------------------------------------ */

/* Removes the note of the slot. Caller holds the mutex, and the generation of the slot is odd. */
void rip__note_clear(const struct rip_slot *slot);

/* --- modules.c --------------------------------------------------------------------------------------------------- */

/*
 * Caller does not hold the mutex. Updates the modules of the record if anything was loaded or unloaded. Under the
 * preload library does nothing before rip__modules_learn() has added a first module: this saves short programs the
 * work.
 */
void rip__modules_refresh(void);
/*
 * Adds the module that contains a code address to the record, if it is missing; the first call also adds the program.
 * Returns true if this is done, or if the loader knows no module there. Returns false if it is not possible now: try
 * again. Async-signal-safe, except for the library's mutex.
 */
bool rip__modules_learn(uint64_t address);
/* Prevents that another thread lists modules during fork(). was_locked = false: no handler ran, so reset the mutex. */
void rip__modules_before_fork(void);
bool rip__modules_is_listing(void);
void rip__modules_after_fork(bool was_locked);
/* Caller holds the mutex. Writes the rest of the private list into the record. */
void rip__modules_write(void);

/* --- script.c ---------------------------------------------------------------------------------------------------- */

/* Caller holds the mutex. The process has no ring any more; script numbers become invalid. */
void rip__scripts_forget(void);

/* --- fork.c ------------------------------------------------------------------------------------------------------ */

/* Returns the embryo that the parent reserved for this process. The first call clears it. */
bool rip__fork_embryo(uint32_t *ret_index, uint32_t *ret_generation);
/* Returns true if the process was forked from the owner of rip__writer and no handler has run. */
bool rip__fork_unnoticed(void);
/*
 * As rip__fork_unnoticed(), but true for one thread only, which resets the state. Other threads wait until it is done.
 */
bool rip__fork_notice(void);
void rip__fork_reset(void);
/* Caller holds the mutex. Marks this process, so that an unnoticed fork is detected, at least by the changed pid. */
void rip__fork_mark(void);
/* Caller holds the mutex. From now on detects it also in a child that has the same pid in another namespace. */
void rip__fork_watch(void);

#endif
