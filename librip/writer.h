/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - what the cold paths of the library share: the process's private state and one set of functions a file.
 *
 * file.c makes and publishes the ring and decides about what stands at its name, process.c owns the process records and
 * their locks and judges whether processes are alive, slot.c the slots, the bitmaps and the map from id to slot,
 * ended.c the log of ids that have ended, thread.c the calls that put ids on threads and mark their waits, note.c their
 * notes, modules.c the module table, script.c the table of functions of scripts, fork.c all that happens around fork().
 *
 * Guarantees
 *   A. Nothing here is installed or exported; names carry rip__ because a static library shares its namespace.
 *   B. Geometry is a private copy: bytes that somebody scribbles into the header lead no write astray.
 *   C. Functions marked "locked" are called between rip__lock() and rip__unlock(), which also keep errno, hold off
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
 * A name in /proc of this thread, and not of "self" unless it is the first one, which may have ended before the others.
 * The shorter way is the faster one: the kernel makes each folder of it when it is first looked at.
 */
#define RIP_PROC_OWN(name) (gettid() == getpid() ? "/proc/self/" name : "/proc/thread-self/" name)

/* Of a variable that every start of a traced program writes: beside the others, where bss would be pages of its own. */
#define RIP_EARLY __attribute__((section(".data")))

#define RIP_DIGITS_BYTES 11 /* of a number of 32 bits */
#define RIP_LINK_BYTES 40   /* of a descriptor's name in /proc */

#define RIP_NO_SLOT UINT32_MAX
#define RIP_NO_PROCESS UINT32_MAX
/* An unborn embryo is believed so long whatever its parent does, and so long while its parent lives. */
#define RIP_EMBRYO_GRACE_NS UINT64_C(1000000000)
#define RIP_EMBRYO_LIMIT_NS UINT64_C(60000000000)
#define RIP_SWEEP_INTERVAL_NS UINT64_C(1000000000)

/* The high bits of rip_slot.state say, while it is CLAIMED, which process record claims it. */
#define RIP_SLOT_OWNER_SHIFT 4
#define RIP_SLOT_STATE_MASK 0xfu

static inline size_t rip__page_bytes(void)
{
    return getauxval(AT_PAGESZ); /* the dynamic linker's, which has it at hand */
}

/* Where things are in a ring; computed once, never read back from the file. */
struct rip_geometry {
    uint64_t summary_offset;
    uint64_t live_offset;
    uint64_t process_offset;
    uint64_t module_offset;
    uint64_t slot_offset;
    uint64_t note_offset;   /* 0 = this ring has no notes */
    uint64_t script_offset; /* 0 = it has no script table */
    uint64_t file_bytes;
    uint32_t slot_capacity;
    uint32_t process_capacity;
    uint32_t module_capacity;
};

/* The process's private state. A forked child inherits a copy and fork.c resets what is not its own. */
struct rip_writer {
    pthread_mutex_t mutex;
    unsigned char *base;        /* the mapped ring; NULL = none */
    uint64_t open_bytes;        /* of it that may be accessed, before the notes; see rip__slots_open() */
    uint64_t open_note_bytes;   /* where the notes that may be accessed end */
    uint64_t open_script_bytes; /* the same of the script table */
    struct rip_geometry geometry;
    uint64_t backed_end; /* [0, this) and [recent_start, recent_end) are backed: see rip__populate() */
    uint64_t recent_start;
    uint64_t recent_end;
    struct rip_view view; /* of base: records are examined by the validating reader */
    dev_t device;
    ino_t inode;
    uid_t owner;
    uint8_t ring_id[16];
    char path[PATH_MAX];    /* absolute; empty = not known */
    int descriptor;         /* the one descriptor of the ring, -1 = none, as in a child before it enters; the
                               application may have closed it */
    int life_descriptor;    /* of a description of its own, for the LIFE lock; -1 = it is still to be opened */
    pid_t pid;              /* whose state this is */
    uint32_t process;       /* index of this process's record, RIP_NO_PROCESS = none */
    uint32_t generation;    /* of that record when it was claimed: another one now = it was taken away */
    bool entered;           /* the record is LIVE */
    bool described;         /* and says what takes a look into /proc: see rip__process_describe() */
    bool left;              /* rip__leave() was called: nothing is traced any more */
    bool execing;           /* it has left the record EXECING, and the slots as they are */
    uint64_t pid_namespace; /* of this process; 0 = not asked yet */
    bool preloaded;         /* RIP_PROCESS_PRELOADED for records of this process */
    bool compiled;          /* RIP_PROCESS_COMPILED, the same */
    bool interprets;       /* the preload library knows the program as an interpreter: its ring has notes and scripts */
    int descriptor_wanted; /* the ring's descriptor gets this number, or one behind it, if it can; 0 = any high one */
    bool filtered;         /* see rip__is_filtered() */
    void *life_mapping;    /* holds the LIFE lock */
    uint64_t swept_boot_ns; /* last sweep of a full ring */
    uint64_t ended_first;   /* slots of ids that ended before this number have been claimed since */
    bool only_ended_free;   /* slots that are free are in the log of ended ids */
    uint64_t module_adds;   /* dlpi_adds and dlpi_subs of the last refresh */
    uint64_t module_subs;
    uint32_t module_count;   /* module_index[0, this) of this process or the parent it was copied from */
    uint32_t module_written; /* how many of those the record has */
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
 * True once the program has installed a seccomp filter, which may answer any system call that the program does not make
 * itself with a signal. From then on the library makes none: threads get slots that were backed before, children are
 * not traced, and the ring's file stays behind. Only the preload library can know; it sets the flag.
 */
static inline bool rip__is_filtered(void)
{
    return rip_load_relaxed(&rip__writer.filtered);
}

/* --- thread.c: the lock around every cold path ------------------------------------------------------------------ */

/* Locks without a system call under a filter, unless the mutex stays locked for very long. */
void rip__mutex_lock(pthread_mutex_t *mutex);

struct rip_guard {
    int saved_errno;
    int cancel_state;
};
/* False inside another guarded call of this thread (a wrapped libc function came back to us): do nothing then. */
bool rip__lock(struct rip_guard *ret_guard);
bool rip__is_inside(void);
void rip__unlock(const struct rip_guard *guard);
void rip__thread_clear(void); /* nothing is on this thread any more; async-signal-safe */
/* Names an id that is perhaps on another thread; nothing if slot is no longer the id's. */
void rip__rename(struct rip_slot *slot, uint32_t id, const char *name, size_t name_bytes);
/* The id on this thread: see rip/runtime.h. */
void rip__rename_own(const char *name, size_t name_bytes);
bool rip__is_traced(void);
struct rip_slot *rip__current(void);
void rip__wait_begin_of(struct rip_slot *slot, const void *lock, const uint32_t *owner, uint32_t flags);
/* What the table in rip/runtime.h has whichever library makes it. */
#define RIP__RUNTIME_OF_BOTH                                                                                           \
    .exit = rip_exit, .snap_at = rip_snap_at, .idle = rip_idle, .deadline_ms = rip_deadline_ms, .note = rip_note,      \
    .wait_begin = rip_wait_begin, .wait_look = rip_wait_look, .wait_end = rip_wait_end, .flush = rip_flush,            \
    .context_init = rip_context_init, .context_exit = rip_context_exit, .context_switch = rip_switch,                  \
    .script = rip_script_enter, .script_epoch = rip_script_epoch, .rename = rip__rename_own,                           \
    .is_traced = rip__is_traced, .current = rip__current, .wait_begin_of = rip__wait_begin_of

/* --- file.c ----------------------------------------------------------------------------------------------------- */

uint64_t rip__clock_ns(clockid_t clock);
/*
 * The decimal digits of value, terminated. Without stdio, which the child of a fork may not call, and which costs the
 * start of a small program several pages.
 */
void rip__format_number(uint32_t value, char ret_digits[RIP_DIGITS_BYTES]);
/* The link that /proc has for the descriptor. */
void rip__describe_descriptor(int descriptor, char ret_path[RIP_LINK_BYTES]);
/* Reads at most capacity - 1 bytes and terminates them. Bytes read, or -errno. */
ssize_t rip__read_text(const char *path, char *ret_text, size_t capacity);
/* The descriptor under a high number, or as it is if there is none: out of the way of applications that expect low
 * ones. Closes the old number, so it comes before any lock. */
int rip__raise_descriptor(int descriptor);
/* locked: backs the pages of [offset, offset + bytes) of the ring. 0, -ENOSPC or another -errno; never a signal. */
int rip__populate(uint64_t offset, uint64_t bytes);
/* Maps bytes of descriptor (-1 = private memory) without access and unlocked, whatever mlockall() asked for. */
int rip__map_bare(int descriptor, uint64_t bytes, void **ret_base);
/* locked: stores the machine's boot id in the header, if it is not there. */
void rip__file_note_boot_id(void);
/* True if descriptor is the ring. */
bool rip__file_is_ring(int descriptor);
/* Closes the ring's descriptor, which a child has inherited. Async-signal-safe. */
void rip__file_drop_descriptor(void);
/*
 * Of the dead rings STEM.PID of our user in the directory, keeps the latest keep (8 at most) and removes the others,
 * and what was never finished. Called before one more is made it bounds what a crash loop leaves. Not locked.
 */
void rip__file_bound_dead(const char *path, const char *stem, unsigned keep);
/* Unlinks the ring's name if the name still is the ring. */
void rip__file_unlink(void);
/* RIP_DISABLE=1 is in the environment. */
bool rip__is_disabled(void);
/* The kept descriptor's number for the preload library to shield, -1 if none. */
int rip__ring_fd(void);

/* --- process.c ------------------------------------------------------------------------------------------------- */

/* What a judgement about a record rests on besides the record. */
struct rip_evidence {
    int descriptor; /* of the ring, for F_GETLK; -1 = none */
    uint64_t holder_offset;
    uint64_t life_offset;
    uint64_t pid_namespace; /* the judge's */
    uint64_t now_boot_ns;
};
void rip__evidence_of_ring(struct rip_evidence *ret_evidence);
uint64_t rip__pid_namespace(void);
/* F_SETLK or F_OFD_SETLK of [offset, offset + bytes). False: another has it, or it cannot be. */
bool rip__set_lock(int descriptor, int command, short type, uint64_t offset, uint64_t bytes);
/* True if a write lock of another owner covers any of [offset, offset + bytes). */
bool rip__locked(int descriptor, uint64_t offset, uint64_t bytes);
/* Whether record index, which says info, is a process that may still use the ring. */
bool rip__process_alive(const struct rip_evidence *evidence, uint32_t index, const struct rip_process_info *info);
/* What /proc/PID/stat says. */
struct rip_process_facts {
    uint64_t start_time_ticks;
    uint32_t thread_count;
    char state; /* of the main thread */
    char comm[RIP_COMM_BYTES];
};
int rip__process_facts(const char *path, struct rip_process_facts *ret_facts);

/* locked: makes this process's record LIVE if it is not. 0 or -errno. */
int rip__process_enter(void);
/* locked: completes the record, once, where that was left for later: start time, pid namespace; watches for forks. */
void rip__process_describe(void);
/* locked: claims a record, CLAIMED on return, generation raised. Index, or -ENOSPC or another -errno. */
int rip__process_claim(uint32_t *ret_index);
/* Takes the LIFE lock of the record; async-signal-safe. True if it holds. */
bool rip__process_take_life(uint32_t index);
void rip__process_drop_life(void);
/* What a process leaves behind. */
enum rip_leave {
    RIP_LEAVE_FILE,   /* the file */
    RIP_LEAVE_LAST,   /* the file if another process may still use it */
    RIP_LEAVE_TO_EXEC /* the same; and what it was doing, for readers that have mapped a ring that ends with it */
};
/*
 * locked by itself: ends the process's part in the ring in order: its slots are freed, its record is EXITED, nothing
 * is traced afterwards.
 */
void rip__leave(enum rip_leave how);
/* After rip__leave(): the process has no ring and may make another. The old bytes stay mapped; rip_ring is NULL. */
void rip__forget_ring(void);
/* Gives the descriptor another number, for a program that wants this one. The HOLDER lock is taken again. */
void rip__move_ring_fd(void);
/* Records of this process say RIP_PROCESS_PRELOADED. Call before the ring is made. */
void rip__set_preloaded(int descriptor_wanted);

/* --- own_ring.c: the ring of a program that makes none itself ---------------------------------------------------- */

/* Where it is made. */
const char *rip__own_ring_dir(void);
/* The first name that can be had. *ret_error is the error of the first that was no live ring; 0 = none. */
bool rip__own_ring_make(char ret_path[PATH_MAX], int *ret_error);
/* After rip__leave(): private memory is in the place of the ring, at one stroke. By slots of 0 other threads notice. */
void rip__detach_mapping(void);
/*
 * For librip-compiled, which is a library of its own. True: the process had no ring, and has one now, whose record says
 * RIP_PROCESS_COMPILED; then it is to be ended at exit, which keeps errno. Call it once.
 */
RIP_API bool rip__compiled_begin(void);
RIP_API void rip__compiled_end(void);

/* --- slot.c: all locked ------------------------------------------------------------------------------------------ */

/* What a registration says of an id. */
struct rip_identity {
    uint32_t id;
    uint32_t tid;
    const char *name; /* NULL = none, or keep */
    size_t name_bytes;
    uint8_t idx;
    uint8_t ctr;
    uint8_t kind;
};
/* Claims, fills and publishes a slot. -ENOSPC: full; -ENOMEM: no memory for it. */
int rip__slot_register(const struct rip_identity *identity, uint32_t *ret_slot);
/* Begins a live id anew in its slot: progress 0, no trail. The id that it was has ended. */
void rip__slot_restart(uint32_t slot, const struct rip_identity *identity);
/* Keeps progress and trail; takes over the name unless NULL, idx and ctr. */
void rip__slot_resume(uint32_t slot, const struct rip_identity *identity);
void rip__slot_free(uint32_t slot);
/*
 * Opens the mapping for access up to this slot. Slots that were never needed stay closed: mlockall(MCL_CURRENT) makes
 * everything resident that may be accessed, and a sparse ring of 4M slots would be 1.6 GB. 0 or -ENOMEM.
 */
int rip__slots_open(uint32_t slot);
/* The same of another section: opens the mapping from *open_end, which is moved, to at least end; not beyond limit. */
int rip__open_until(uint64_t *open_end, uint64_t end, uint64_t limit);
/* Backs slots for at least count more ids: under a filter there will be no others. Fewer if memory is short. */
void rip__slot_reserve(uint32_t count);
void rip__slot_rename(uint32_t slot, const char *name, size_t name_bytes);
/* Of a slot on this thread: its name, cut to fit and terminated. Not locked. */
void rip__slot_name(const struct rip_slot *slot, char *ret_name, size_t capacity);
uint64_t rip__slot_progress(const struct rip_slot *slot);
/* Frees the slots of dead processes; of record process alone unless RIP_NO_PROCESS. */
void rip__slot_sweep(uint32_t process);

uint32_t rip__table_find(uint32_t id);
int rip__table_insert(uint32_t id, uint32_t slot);
void rip__table_remove(uint32_t id);
/* Slots of all entries, in no order: start with *position 0. RIP_NO_SLOT at the end. */
uint32_t rip__table_next(uint32_t *position);
void rip__table_drop(void);

/* --- ended.c: all locked ----------------------------------------------------------------------------------------- */

/* Before the id in the slot stops to be live; rip__ended_log() follows. */
void rip__ended_begin(void);
/* The id of this generation in the slot has ended, after so many snaps. */
void rip__ended_log(uint32_t slot, uint32_t generation, uint64_t snap_count);
/*
 * Marks which slots of live words [first_word, first_word + word_count) are in the log: a bit per slot. Returns how
 * many ids had ended by then, for rip__ended_since().
 */
uint64_t rip__ended_slots(uint32_t first_word, uint32_t word_count, uint64_t *ret_bits);
/* True if the slot is among the ids that have ended since the count was `number`, which was within the log. */
bool rip__ended_since(uint64_t number, uint32_t slot);
/* The number of the oldest id in the log. */
uint64_t rip__ended_oldest(void);
/* The ids in the log from *number on, which is moved; 0 = from the oldest. False at the end. */
bool rip__ended_next(uint64_t *number, uint32_t *ret_slot, uint32_t *ret_generation);

/* --- note.c ------------------------------------------------------------------------------------------------------ */

/* locked, while the generation of the slot is odd: it has no note any more. */
void rip__note_clear(const struct rip_slot *slot);

/* --- modules.c --------------------------------------------------------------------------------------------------- */

/*
 * Not locked: brings the record's modules up to date if anything was loaded or unloaded. Nothing under the preload
 * library before a first module was learnt: a short program is spared the work.
 */
void rip__modules_refresh(void);
/*
 * Brings the module that holds an address of code into the record, if it is not there, and before a first one the
 * program. True if that is done, also where the loader knows of none; false: not now, try again. Async-signal-safe, but
 * for the library's mutex.
 */
bool rip__modules_learn(uint64_t address);
/* No thread of the parent lists the modules at the fork. Not locked before, or no handler ran: free it. */
void rip__modules_before_fork(void);
bool rip__modules_is_listing(void);
void rip__modules_after_fork(bool was_locked);
/* locked: writes the private list into a record that has none of it yet. */
void rip__modules_write(void);

/* --- script.c ---------------------------------------------------------------------------------------------------- */

/* locked: the process has no ring any more; what it made of scripts holds no longer. */
void rip__scripts_forget(void);

/* --- fork.c ------------------------------------------------------------------------------------------------------ */

/* The embryo kept for this process by its parent; cleared by the first call. */
bool rip__fork_embryo(uint32_t *ret_index, uint32_t *ret_generation);
/* True if the process was forked from the owner of rip__writer and no handler has run. */
bool rip__fork_unnoticed(void);
/* The same, true for one thread only, which resets; others that come meanwhile wait until it has. */
bool rip__fork_notice(void);
void rip__fork_reset(void);
/* locked: marks this process, so that an unnoticed fork shows, if only by another pid. */
void rip__fork_mark(void);
/* locked: from here on also in a child with the same pid in another namespace. */
void rip__fork_watch(void);

#endif
