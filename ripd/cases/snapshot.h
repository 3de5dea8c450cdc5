/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - the result of one scan, immutable and shared.
 *
 * The scanner builds it; other threads hold references. Everything here is a value: no pointer into a ring, no
 * descriptor.
 *
 * Guarantees
 *   A. A snapshot and everything it refers to does not change from its publication to the last unref.
 *   B. Reference counts are atomic. Nothing else here is shared between threads while it changes, except symbol tables.
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

/* A module of a process, copied from the ring. Shared by the processes of a ring that have it. */
struct module_facts {
    atomic_uint references;
    uint64_t start;
    uint64_t end;
    uint64_t bias;
    char *path;                                /* bytes of the ring plus a terminator; any bytes except NUL */
    const char *name;                          /* last component of path */
    char build_id[2 * RIP_BUILD_ID_BYTES + 1]; /* hexadecimal; "": none */
    uint32_t uid;                              /* owner of the ring that names it, and so the source of these facts */
    bool is_scripts;                           /* of a ring: it has no file, and its symbols are functions of scripts */
    struct symbol_table symbols;               /* grows while other threads read: see symbol.h */
};

/* What the kernel reported about a process when it was first seen alive. Shared by all facts about the process. */
struct process_origin {
    atomic_uint references;
    uint32_t uid;
    char *command_line; /* NULL: none, or not known; the same for the rest */
    char *program;      /* of a process that has not named its program in the ring, because nothing was announced yet */
    char *unit;         /* systemd unit */
    char *container;
};

/* A process of a ring as of its last change. Shared by its ids. */
struct process_facts {
    atomic_uint references;
    uint32_t index;
    uint32_t generation;
    uint32_t pid; /* in the daemon's pid namespace; 0: not known */
    bool attested;
    bool dead;
    bool preloaded; /* traced by the preload library, not by its own calls */
    bool compiled;  /* ... or by code that its compiler inserted */
    char comm[RIP_COMM_BYTES + 1];
    char *exe;                     /* NULL: not known */
    struct process_origin *origin; /* a reference; NULL: not known, or of another user */
    uint64_t started_wall_ns;      /* 0: not known */
    uint64_t lived_wall_ns;        /* of a dead process: when it was last found alive; 0: not known */
    uint64_t died_wall_ns;         /* when it was found dead; 0: it lives */
    uint64_t start_time_ticks;     /* of pid, from /proc/PID/stat; 0: not known */
    struct module_facts **modules; /* references; oldest first; the newest takes precedence in an overlap */
    size_t module_count;
    struct module_facts *scripts; /* of its ring: a reference; NULL: none known */
    bool without_modules;         /* modules were not read: no time budget */
    /* Used by the scanner only: it has logged that the kernel denies evidence about this process. */
    bool denial_logged;
};

/*
 * Returns the module of all scripts of a ring, or NULL if out of memory. An offset is a place in a script without
 * RIP_PLACE_SCRIPT. A name is stored for the offset of its function, line 0.
 */
struct module_facts *module_of_scripts(const struct hash_key *hash_key, uint32_t uid);
uint64_t module_script_function(uint64_t offset);
/* Returns a name to store there: see symbol_new(). */
struct symbol *symbol_of_script(const struct rip_script_info *script);

/* Returns the name of an offset as far as it is known. module may be NULL. */
struct symbol_frame module_place(const struct module_facts *module, uint64_t offset);

/* Returns NULL if the address is in none of the modules of the process. */
struct module_facts *process_facts_module(const struct process_facts *process, uint64_t address);

/* An id with everything that was read from its slot at one time. */
struct item {
    atomic_uint references;
    char *ring_name; /* a file name, unique among rings */
    uint32_t ring;   /* serial */
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t tid; /* in the daemon's pid namespace if known; 0: on no thread, or not known */
    uint8_t kind;
    uint8_t call; /* enum rip_call */
    /* At most RIP_NAME_BYTES; the code that fills it in checks this. Likewise for note_bytes. */
    uint8_t name_bytes;
    uint8_t name[RIP_NAME_BYTES];
    uint8_t note_bytes; /* 0: no note */
    uint8_t note[RIP_NOTE_BYTES];
    uint64_t snap_count;
    uint64_t registered_boot_ns;   /* from the ring; 0: not known */
    struct process_facts *process; /* a reference */
    size_t entry_count;
    struct rip_entry entries[]; /* newest first */
};

/*
 * Make a module, a process and an id from their records in a ring, each with one reference. The pid of the process is
 * only a claim. The id has no thread and no process yet, and no note if its text is empty. Return NULL if out of
 * memory.
 */
struct module_facts *module_facts_make(const struct rip_module_info *info);
struct process_facts *process_facts_make(const struct rip_process_info *info);
struct item *item_make(uint32_t ring, const char *ring_name, const struct rip_id_info *info,
                       const struct rip_note_info *note, const struct rip_entry *entries, size_t entry_count);

/* Returns the module of the last location, and the offset in it; NULL: none, or not known. */
struct module_facts *item_module(const struct item *item, uint64_t *ret_offset);

struct waits;
struct wait_chain;

/* What an id was when it ended. */
struct sighting_last {
    bool known; /* false: it lives, or not known */
    enum id_state state;
    enum id_cause cause;
    uint64_t since_wall_ns;   /* 0: it was running */
    uint64_t frozen_for_ns;   /* until it ended; UINT64_MAX: not known */
    struct wait_chain *chain; /* what it waited for: a reference; NULL: nothing, or not known */
};

/* An item with its state on one scan. */
struct sighting {
    struct item *item;           /* a reference */
    struct kernel_facts *kernel; /* a reference; NULL: on no thread, or not examined */
    enum id_state state;
    enum id_cause cause;
    struct sighting_last last;
    /* Wall time of the last reading of the ring minus frozen_for_ns; for a dead id, when that was found. 0: running. */
    uint64_t since_wall_ns;
    uint64_t since_earliest_wall_ns; /* earliest possible time; 0: not known */
    uint64_t frozen_since_ns;        /* detector's clock; constant while frozen, the sort key of stalls */
    uint64_t frozen_for_ns;
    uint64_t frozen_for_max_ns; /* UINT64_MAX: not known */
    uint64_t read_ago_ns;       /* how long before the scan the ring was read; 0: on the scan */
    uint64_t threshold_ns;      /* UINT64_MAX: its rule is not known yet */
    /* The snapshot's, if the id waits for a lock; NULL: it does not, or not known. */
    const struct waits *waits;
    uint32_t wait_node; /* node in waits */
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

/* Returns a static string. */
const char *ring_health_name(enum ring_health health);

/* Why a ring refused registrations: fields of struct rip_ring_info, and their names. */
#define RING_REFUSAL_TABLE(X)                                                                                          \
    X(refused_full_count, "full")                                                                                      \
    X(refused_memory_count, "memory")                                                                                  \
    X(refused_process_count, "processes")

/* Returns the name of what makes the breadcrumbs of a process. */
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
    char *reason;  /* why it is not readable, as a phrase; NULL if it is readable */
    bool dead;     /* none of its processes lives */
    bool unlinked; /* its file has been removed */
    bool unseen;   /* some of its threads wait in calls that ripd does not see */
    uint32_t uid;
    uint32_t slot_capacity;
    uint64_t live_count;
    uint64_t counts[ID_STATE_COUNT]; /* ids by state, from the detector */
    uint64_t file_bytes;
    struct rip_ring_info info;
    struct process_facts **processes; /* references */
    size_t process_count;
};

/* A user and a limit that the user hit. */
struct limited_user {
    uint32_t uid;
    const char *limit;      /* name of the limit; static */
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
    uint64_t stalls_left_out_count; /* part of counts[ID_STALLED] that is not in the list */
    struct ring_facts *rings;       /* ordered by name */
    size_t ring_count;
    struct limited_user *limited;
    size_t limited_count;
    struct waits *waits; /* owned; NULL: none */
    struct health health;
    struct hash_key hash_key; /* for hash tables of its contents */
};

/*
 * Returns the upper bound of frozen_for_ns. If the detector never saw a change of progress and so has no bound
 * (UINT64_MAX), this is the time since the id was registered. Returns UINT64_MAX if the ring does not have that either.
 */
uint64_t item_frozen_max_ns(const struct item *item, const struct snapshot *snapshot, uint64_t frozen_for_ns,
                            uint64_t frozen_for_max_ns);

/*
 * Sets since_wall_ns and since_earliest_wall_ns from frozen_for_ns, frozen_for_max_ns and read_ago_ns, which must be
 * set.
 */
void sighting_set_since(struct sighting *sighting, const struct snapshot *moment);

/*
 * Sets the times of an id that has ended: when its last state began and, for an id of a dead process, when it died. The
 * time at which an id exited is in its case.
 */
void sighting_set_end(struct sighting *sighting);

/* After sighting_set_end(), for an id that has exited: the times are those of its case; 0: not known. */
void sighting_set_exit(struct sighting *sighting, uint64_t exited_wall_ns, uint64_t lived_wall_ns);

/*
 * Returns wall_ns - ago_ns, but at least 1. The clock may have been set back, so the difference may be negative; 0
 * means "not known", and an unsigned underflow would be five centuries in the future.
 */
uint64_t wall_before_ns(uint64_t wall_ns, uint64_t ago_ns);

/* Returns how many rings exist but are unreadable or damaged. Their contents are not known. */
uint64_t snapshot_unreadable_count(const struct snapshot *snapshot);

/* Sets waits and wait_node of a sighting of this id. */
void sighting_set_wait(struct sighting *sighting, const struct waits *waits, uint32_t ring, uint32_t slot,
                       uint32_t generation);

REFERENCED(module_facts);
void module_facts_unref(struct module_facts *module);
REFERENCED(process_origin);
void process_origin_unref(struct process_origin *origin);
REFERENCED(process_facts);
void process_facts_unref(struct process_facts *process); /* NULL is allowed, also below */
REFERENCED(item);
void item_unref(struct item *item);
struct snapshot *snapshot_new(void); /* all zero, one reference; NULL if out of memory */
REFERENCED(snapshot);
void snapshot_unref(struct snapshot *snapshot);
void sighting_done(struct sighting *sighting);
void ring_facts_done(struct ring_facts *ring);

/* Sorts stalls longest first: by frozen_since_ns, then ring serial, then slot. */
void snapshot_sort(struct snapshot *snapshot);

#endif
