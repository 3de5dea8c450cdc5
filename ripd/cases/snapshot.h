/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - what one scan came to, immutable and shared.
 *
 * The scanner builds it, others hold references. Everything here is a value: no pointer into a ring, no descriptor.
 *
 * Guarantees
 *   A. A snapshot and all it refers to is constant from snapshot_publish to the last unref.
 *   B. Reference counts are atomic; nothing else here is shared between threads while it changes.
 */
#ifndef RIPD_CASES_SNAPSHOT_H
#define RIPD_CASES_SNAPSHOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/health.h"
#include "cases/kernel.h"
#include "cases/symbol.h"
#include "detect/state.h"
#include "rip/reader.h"
#include "util/reference.h"

/* A module of a process: as in the ring, strings as bytes. Shared by the processes of a ring that have it. */
struct module_facts {
    atomic_uint references;
    uint64_t start;
    uint64_t end;
    uint64_t bias;
    char *path;                                /* bytes of the ring plus a terminator; may hold anything but NUL */
    const char *name;                          /* last component of path */
    char build_id[2 * RIP_BUILD_ID_BYTES + 1]; /* hexadecimal; "" = none */
    uint32_t uid;                              /* owner of the ring that names it: on whose word it is */
    bool is_scripts;                           /* of a ring: it has no file, and symbols are functions of scripts */
    struct symbol_table symbols;               /* grows while others look: see symbol.h */
};

/* What the kernel said of a process when it was first seen alive. Shared by all facts about it. */
struct process_origin {
    atomic_uint references;
    uint32_t uid;
    char *command_line; /* NULL = not known, or it has none; likewise below */
    char *program;      /* of one that has not named it in its ring: nothing that it announces has come yet */
    char *unit;         /* of systemd */
    char *container;
};

/* A process of a ring as of its last change. Shared by the ids it owns. */
struct process_facts {
    atomic_uint references;
    uint32_t index;
    uint32_t generation;
    uint32_t pid; /* in the daemon's pid namespace; 0 = not known */
    bool attested;
    bool dead;
    bool preloaded; /* traced by the preload library, not by its own calls */
    bool compiled;  /* ... by what its compiler put in */
    char comm[RIP_COMM_BYTES + 1];
    char *exe;                     /* NULL = not known */
    struct process_origin *origin; /* a reference; NULL = not known, or not the owner's own */
    uint64_t started_wall_ns;      /* 0 = not known */
    uint64_t lived_wall_ns;        /* of a dead one: when it was last found alive; 0 = not known */
    uint64_t died_wall_ns;         /* when it was found dead; 0 = it lives */
    uint64_t start_time_ticks;     /* of pid, as /proc/PID/stat has it; 0 = not known */
    struct module_facts **modules; /* references; oldest first, the newest wins an overlap */
    size_t module_count;
    struct module_facts *scripts; /* of its ring: a reference; NULL = none are known */
    bool without_modules;         /* they were not read: there was no time */
    bool denial_logged; /* the scanner's alone: it has logged that the kernel denies it evidence of this process */
};

/*
 * The module of all scripts of a ring. An offset is a place in a script without RIP_PLACE_SCRIPT; a name is entered for
 * the offset of its function, line 0. NULL: no memory.
 */
struct module_facts *module_of_scripts(const struct hash_key *hash_key, uint32_t uid);
uint64_t module_script_function(uint64_t offset);
/* A name to be entered there: see symbol_new(). */
struct symbol *symbol_of_script(const struct rip_script_info *script);

/* What an offset is called, as far as that is known: all of it is unknown otherwise. module may be NULL. */
struct symbol_frame module_place(const struct module_facts *module, uint64_t offset);

/* NULL if the address lies in none of its modules. */
struct module_facts *process_facts_module(const struct process_facts *process, uint64_t address);

/* An id with all that was read from its slot at one moment. */
struct item {
    atomic_uint references;
    char *ring_name; /* bytes of a file name, unique among rings */
    uint32_t ring;   /* serial */
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t tid; /* in the daemon's pid namespace where that is known; 0 = on no thread, or not known */
    uint8_t kind;
    uint8_t call;       /* enum rip_call */
    uint8_t name_bytes; /* at most so many: who fills it in sees to that, here and in note_bytes */
    uint8_t name[RIP_NAME_BYTES];
    uint8_t note_bytes; /* 0 = it has none */
    uint8_t note[RIP_NOTE_BYTES];
    uint64_t snap_count;
    uint64_t registered_boot_ns;   /* as the ring says; 0 = not known */
    struct process_facts *process; /* a reference */
    size_t entry_count;
    struct rip_entry entries[]; /* newest first */
};

/*
 * A module, a process and an id as far as their records in a ring say, each with one reference. The pid of a process is
 * claimed, and nothing more; the id has no thread and no process yet, and no note where its text has no bytes. NULL: no
 * memory.
 */
struct module_facts *module_facts_make(const struct rip_module_info *info);
struct process_facts *process_facts_make(const struct rip_process_info *info);
struct item *item_make(uint32_t ring, const char *ring_name, const struct rip_id_info *info,
                       const struct rip_note_info *note, const struct rip_entry *entries, size_t entry_count);

/* The module that its last location is in, and where in it. NULL: it has none, or that is not known. */
struct module_facts *item_module(const struct item *item, uint64_t *ret_offset);

struct waits;
struct wait_chain;

/* What an id was when it ended. */
struct sighting_last {
    bool known; /* false: it lives, or that is not known */
    enum id_state state;
    enum id_cause cause;
    uint64_t since_wall_ns; /* 0: it was running */
    uint64_t frozen_for_ns;
    struct wait_chain *chain; /* on whom it waited: a reference; NULL = on nobody, or that is not known */
};

/* An item and what the detector says of it on one scan. */
struct sighting {
    struct item *item;           /* a reference */
    struct kernel_facts *kernel; /* a reference; NULL = on no thread, or not examined */
    enum id_state state;
    enum id_cause cause;
    struct sighting_last last;
    uint64_t
        since_wall_ns; /* scan's wall time less frozen_for, or of a dead id when that was found; 0: it is running */
    uint64_t since_earliest_wall_ns; /* the other end of the uncertainty; 0 = not known */
    uint64_t frozen_since_ns;        /* detector's clock; constant while frozen, the key of the order of stalls */
    uint64_t frozen_for_ns;
    uint64_t frozen_for_max_ns; /* UINT64_MAX = not known */
    uint64_t threshold_ns;      /* UINT64_MAX = not known yet which rule applies */
    const struct waits
        *waits;         /* the snapshot's, if the id waits for a lock; NULL = it does not, or that is not known */
    uint32_t wait_node; /* of it */
};

#define RING_HEALTH_TABLE(X)                                                                                           \
    X(READABLE, "readable")                                                                                            \
    X(UNREADABLE, "unreadable")                                                                                        \
    X(DAMAGED, "damaged")

enum ring_health {
#define X(name, text) RING_##name,
    RING_HEALTH_TABLE(X)
#undef X
        RING_HEALTH_COUNT
};

/* Static strings. */
const char *ring_health_name(enum ring_health health);

/* Why a ring refused registrations: field of struct rip_ring_info, word for it. */
#define RING_REFUSAL_TABLE(X)                                                                                          \
    X(refused_full_count, "full")                                                                                      \
    X(refused_memory_count, "memory")                                                                                  \
    X(refused_process_count, "processes")

/* Where the breadcrumbs of a process come from: the word for it. */
static inline const char *process_source(const struct process_facts *process)
{
    return process->compiled ? "compiled" : process->preloaded ? "preload" : "library";
}

/* One line of /rings. */
struct ring_facts {
    char *name;
    char *directory;
    uint32_t serial;
    enum ring_health health;
    char *reason;  /* why it is not readable, one phrase; NULL when it is */
    bool dead;     /* none of its processes lives */
    bool unlinked; /* its file has no name any more */
    bool unseen;   /* threads of it wait in calls that nobody sees */
    uint32_t uid;
    uint32_t slot_capacity;
    uint64_t live_count;
    uint64_t counts[ID_STATE_COUNT]; /* its ids by state, as the detector has them */
    uint64_t file_bytes;
    struct rip_ring_info info;
    struct process_facts **processes; /* references */
    size_t process_count;
};

/* A user and a limit that he hit. */
struct limited_user {
    uint32_t uid;
    const char *limit;      /* its name; static */
    uint64_t refused_count; /* since the start */
};

struct snapshot {
    atomic_uint references;
    uint64_t sequence; /* scans since the start, from 1 */
    uint64_t scanned_wall_ns;
    uint64_t scanned_mono_ns;
    uint64_t scanned_boot_ns;
    uint64_t interval_ns;
    uint64_t scan_duration_ns;
    uint64_t counts[ID_STATE_COUNT];
    struct sighting *stalls; /* longest first */
    size_t stall_count;
    uint64_t stalls_left_out_count; /* of counts[ID_STALLED], not in the list */
    struct ring_facts *rings;       /* in order of name */
    size_t ring_count;
    struct limited_user *limited;
    size_t limited_count;
    struct waits *waits; /* its own; NULL = there are none */
    struct health health;
    struct hash_key hash_key; /* for who groups what is in it */
};

/*
 * The upper bound of frozen_for_ns. Where the detector has never seen the id at another count and so knows none
 * (UINT64_MAX), it is the time since the id was registered: an id is not frozen for longer than it exists. UINT64_MAX
 * if the ring does not say that either.
 */
uint64_t item_frozen_max_ns(const struct item *item, const struct snapshot *snapshot, uint64_t frozen_for_ns,
                            uint64_t frozen_for_max_ns);

/* Since when, and at the earliest, at that moment: by frozen_for_ns, and frozen_for_max_ns once that is as above. */
void sighting_set_since(struct sighting *sighting, const struct snapshot *moment);

/*
 * Since when an id that has ended was what it was; and of one of a dead process since when it is dead, by what is known
 * of the process. Since when one is exited is in its case.
 */
void sighting_set_end(struct sighting *sighting);

/*
 * The wall time that long before another. A clock that was set back may say that there was none yet: then it is the
 * first there can be, for 0 is "not known", and what lies before 0 would be five centuries ahead.
 */
uint64_t wall_before_ns(uint64_t wall_ns, uint64_t ago_ns);

/* Rings that are there and not watched: unreadable, or damaged. What happens in them is not known. */
uint64_t snapshot_unreadable_count(const struct snapshot *snapshot);

/* What a sighting of this id says of its wait. */
void sighting_set_wait(struct sighting *sighting, const struct waits *waits, uint32_t ring, uint32_t slot,
                       uint32_t generation);

REFERENCED(module_facts);
void module_facts_unref(struct module_facts *module);
REFERENCED(process_origin);
void process_origin_unref(struct process_origin *origin);
REFERENCED(process_facts);
void process_facts_unref(struct process_facts *process); /* NULL is allowed, as in all of these */
REFERENCED(item);
void item_unref(struct item *item);
struct snapshot *snapshot_new(void); /* all zero, one reference; NULL: no memory */
REFERENCED(snapshot);
void snapshot_unref(struct snapshot *snapshot);
void sighting_done(struct sighting *sighting);
void ring_facts_done(struct ring_facts *ring);

/* Sorts stalls longest first: by frozen_since_ns, then ring serial, then slot. */
void snapshot_sort(struct snapshot *snapshot);

#endif
