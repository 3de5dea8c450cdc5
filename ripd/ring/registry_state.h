/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_state.h - what the parts of the registry share. For ring/registry*.c alone.
 *
 *   registry.c            one refresh, in order; the set of rings; notices
 *   registry_directory.c  directories: watched, listed, lost and found
 *   registry_file.c       a name in a directory: looked at, remembered, opened
 *   registry_name.c       which name a ring goes by
 *   registry_process.c    process records: identified and judged
 *   registry_thread.c     threads by the numbers that they have in other pid namespaces
 *   registry_owner.c      who owns the rings, and has how much time
 *   registry_turns.c      what else owners have equal shares of
 *   registry_module.c     modules, shared by the processes of a ring
 *   registry_facts.c      values for snapshots
 */
#ifndef RIPD_RING_REGISTRY_STATE_H
#define RIPD_RING_REGISTRY_STATE_H

#include "ring/registry.h"
#include "ring/turns.h"

struct registry_directory {
    char *path;
    int descriptor; /* -1 = missing */
    int watch;      /* -1 = none */
    uint64_t device;
    uint64_t inode;
    uint64_t changed_ns; /* as of the last listing; tells when one without a watch has to be listed */
    bool reported_missing;
    bool over_limit; /* its last listing was cut off */
};

/* A file that was looked at, by inode. */
struct known_file {
    uint64_t device;
    uint64_t inode;
    uint64_t changed_ns; /* as it was; 0 = look again, it may have changed since within one tick of the file's clock */
    uint64_t size_bytes;
    struct ring *ring; /* NULL = it is none that we can read */
    uint32_t pass;     /* the last full listing that saw it */
    bool used;
};

struct known_files {
    struct hash_key hash_key;
    struct known_file *entries; /* hashed, open addressing; capacity is a power of two or 0 */
    size_t capacity;
    size_t count;
};

/* A ring that cannot be read, or was damaged. */
struct unreadable_file {
    uint64_t device;
    uint64_t inode;
    uint64_t size_bytes;
    uint32_t uid;
    uint32_t serial; /* as if it were a ring */
    uint32_t directory;
    enum ring_health health;
    const char *reason; /* static */
    char *name;
};

struct notice {
    enum registry_notice_kind kind;
    char *name;
    char *reason;
};

enum registry_limit {
    LIMIT_FILES,
    LIMIT_RINGS,
    LIMIT_UNREADABLE,
    LIMIT_EVENTS,
    LIMIT_WATCHES,
    LIMIT_RESOURCES, /* descriptors, memory, address space */
    LIMIT_WAY,
    LIMIT_TIME,
    LIMIT_MODULES,
    LIMIT_COUNT,
};

/* A user who owns rings. */
struct ring_owner {
    uint32_t uid;
    uint32_t next_serial;                  /* the ring that had no turn at the last refresh */
    uint64_t spent_ns;                     /* on its rings since the last refresh began */
    uint64_t listing_ns;                   /* of registry->listing_ns */
    uint64_t goes_on_at[TURNS_COUNT];      /* see turns.h */
    uint64_t next_goes_on_at[TURNS_COUNT]; /* from the next refresh on */
};

struct registry {
    struct hash_key hash_key;
    int proc;
    bool processes_hidden; /* /proc does not show everybody: who is not seen there may be alive */
    bool proc_is_real;
    uint64_t pid_namespace;
    uint8_t boot_id[16];
    int inotify;         /* -1 = none */
    uint64_t listing_ns; /* spent on listing threads since the last refresh */

    struct registry_directory directories[REGISTRY_DIRECTORIES_MAX];
    size_t directory_count;
    uint32_t pass;
    bool rescan_due;
    bool names_in_doubt; /* some name was taken away */
    uint64_t rescanned_mono_ns;

    struct ring **rings; /* ascending serial */
    size_t ring_count;
    size_t ring_capacity;
    struct ring **retired; /* damaged since the last refresh: not in rings, freed by the next one */
    size_t retired_count;
    size_t retired_capacity;
    uint32_t last_serial;
    uint64_t descriptors_max; /* numbers below may be taken for rings */

    struct ring_owner owners[REGISTRY_OWNERS_MAX];
    size_t owner_count;
    uint64_t judging_ns;
    uint64_t share_ns;   /* of each owner, per refresh */
    struct ring **queue; /* those to be judged, ascending serial */
    size_t queue_capacity;

    struct known_files known;
    struct unreadable_file *unreadable;
    size_t unreadable_count;
    size_t unreadable_capacity;

    struct notice *notices;
    struct registry_notice *notices_out;
    size_t notice_count;
    size_t notice_capacity;
    size_t notice_out_capacity;
    size_t notices_returned;
    bool limit_noticed[LIMIT_COUNT];
    struct registry_counters counters;
};

/* registry.c */
void registry_notice(struct registry *registry, enum registry_notice_kind kind, const char *name, const char *reason);
void registry_notice_limit(struct registry *registry, enum registry_limit limit, const char *reason);
bool registry_give_way(struct registry *registry, uint32_t uid); /* for a ring of uid; false: not at anybody's cost */
uint32_t registry_new_serial(struct registry *registry);         /* not 0, and of no other ring */
int registry_add_ring(struct registry *registry, struct ring *ring); /* takes it over; -ENOMEM: it is freed */

/* Where the directories of the old list are in the new one. */
#define REGISTRY_NOWHERE UINT32_MAX
void registry_move_rings(struct registry *registry, const uint32_t *places); /* drops those that are nowhere */

/* registry_directory.c */
int registry_directories_init(struct registry *registry, const struct registry_options *options);
void registry_directories_done(struct registry *registry);
void registry_directories_refresh(struct registry *registry, uint64_t now_mono_ns);

/* registry_file.c */
void registry_look_at(struct registry *registry, uint32_t directory, const char *name);
void registry_sweep_files(struct registry *registry); /* forgets what the present pass has not seen */
void registry_forget_ring_file(struct registry *registry, struct ring *ring);
int registry_list_unreadable(struct registry *registry, const struct file_identity *file, uint32_t directory,
                             const char *name, enum ring_health health, const char *reason);
void registry_move_unreadable(struct registry *registry, const uint32_t *places); /* forgets those that are nowhere */
void registry_files_done(struct registry *registry);

/* registry_name.c */
bool registry_name_holds(const struct registry *registry, const struct ring *ring);
void registry_seen_as(struct registry *registry, struct ring *ring, uint32_t directory, const char *name);
void registry_name_rings(struct registry *registry);

/* registry_process.c */
void registry_processes_begin(struct ring *ring); /* all its records are to be judged */
void registry_processes_judge(struct registry *registry, struct ring *ring, uint64_t now_mono_ns); /* may damage */
bool registry_ring_lives(const struct ring *ring);
bool registry_ring_is_held(const struct ring *ring);
void registry_processes_done(struct ring *ring);

/* registry_thread.c */
void registry_forget_threads(struct ring_process *process);

/* registry_owner.c */
void registry_owners_refresh(struct registry *registry);
bool registry_has_time(const struct registry *registry, const struct ring *ring);
void registry_charge(struct registry *registry, const struct ring *ring, uint64_t spent_ns);
bool registry_largest_owner(const struct registry *registry, uint32_t than, uint32_t *ret_uid);
void registry_judge_all(struct registry *registry, uint64_t now_mono_ns);

/* registry_module.c */
struct module_facts *registry_module(struct registry *registry, struct ring *ring, const struct rip_module_info *info);
void registry_modules_done(struct ring *ring);

/* registry_facts.c */
void registry_drop_facts(struct ring_process *process);
int registry_make_brief(struct registry *registry, struct ring *ring, struct ring_process *process); /* may damage */

#endif
