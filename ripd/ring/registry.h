/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - the set of rings: found in directories, opened, identified, dropped.
 *
 * Directories are listed again when they change, and every REGISTRY_RESCAN_NS. The registry keeps looking for a missing
 * directory. A file is opened once for each change that a listing sees. A file that is not a ring is remembered by
 * inode and change time, so it costs nothing and is reported once.
 *
 * Guarantees
 *   A. Only regular files are opened, and links are not followed.
 *   B. A ring keeps its serial while it is mapped, even if its file is renamed. It keeps its name while its file has
 *      that name. If two rings have the same file name, the second is called NAME~2. Several links to a file are one
 *      ring.
 *   C. Every limit has a name, below or in work/work.h, and a counter.
 *   D. Address space and time for a ring are charged to its owner's account. An owner who uses up the share delays only
 *      the owner's own rings: a record or a ring without a turn keeps its last known state until it has one.
 *   E. A user at the limit gets no new ring, unless another user would still hold more. In that case the largest
 *      mapping of the user who holds most is dropped.
 *   F. A refresh never fails because of a file, a directory or a process.
 *   G. A damaged ring leaves the set at once, but its struct stays valid until the next refresh.
 *   H. A ring is dropped only for E, or when its file has no name here and there is no sign of a living process in it.
 */
#ifndef RIPD_RING_REGISTRY_H
#define RIPD_RING_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/health.h"
#include "cases/snapshot.h"
#include "os/lease.h"
#include "os/proc.h"
#include "os/proc_maps.h"
#include "ring/identity.h"
#include "ring/mapping.h"
#include "util/hash.h"
#include "work/work.h"

#define REGISTRY_RESCAN_NS UINT64_C(10000000000)
#define REGISTRY_RECHECK_NS UINT64_C(5000000000)  /* locks unchanged: /proc is still read this often */
#define REGISTRY_JUDGING_NS UINT64_C(50000000)    /* per scan, for process records and threads of a single user */
#define REGISTRY_MAPPED_BYTES (UINT64_C(1) << 37) /* of all rings; page tables take 1/512 of it at most */
#define REGISTRY_FILES_MAX 65536u                 /* names listed per directory and refresh */
#define REGISTRY_DIRECTORIES_MAX 64u
#define REGISTRY_ENDINGS_MAX 4096u     /* processes whose end is noticed at once; the limit is WORK_ENDINGS */
#define REGISTRY_ENDINGS_MIN 64u       /* below this limit no process is watched */
#define REGISTRY_DESCRIPTORS_KEPT 800u /* reserved for connections, pidfds and /proc; at most half of all */
#define REGISTRY_DESCRIPTORS_BASE 16u  /* roughly the number that ripd has open from the start */

struct learnt;

/* The ids of a process that wait, without a time limit, only for other ids of it: RIP_CALL_PRIVATE. */
struct process_waits {
    uint32_t count;
    uint64_t progress; /* sum of their progress: grows if one of them moves */
};

struct ring_process {
    struct rip_process_info claim;
    bool looked_at; /* the fields below are valid */
    bool present;   /* the record is of a process, neither an embryo nor exited */
    bool alive;     /* the process, or the embryo, may still register ids */
    enum process_verdict verdict;
    struct identity_memory memory;
    uint32_t pid; /* in our pid namespace; 0 = not known */
    uint64_t pid_start_time_ticks;
    bool own_pid_namespace;             /* it is in our pid namespace, so its tids are valid here */
    uint32_t holder_pid;                /* on the last scan, as returned by file_lock_holder() */
    bool life_locked;                   /* on the last scan */
    uint64_t lived_wall_ns;             /* when it was last found alive; 0 = never */
    uint64_t died_wall_ns;              /* when it was found dead; 0 = it is not dead */
    uint64_t checked_mono_ns;           /* when /proc was last read for it; 0 = never */
    uint64_t examined_mono_ns;          /* when the probe was last asked about it; 0 = never */
    uint8_t stop;                       /* the whole process: an enum id_cause, or CAUSE_NONE; see ring/stops.h */
    bool frozen;                        /* its control group was frozen when last read */
    bool was_traced;                    /* the last look found it in a tracing stop */
    uint32_t thread_count;              /* at the last look; 0 = not known */
    struct process_waits waits;         /* on the last scan */
    struct process_waits waits_before;  /* on the scan before the last one */
    struct process_waits waits_at_look; /* on the last scan before the last look */
    uint32_t stop_looks;                /* number of looks so far */
    uint32_t stop_pass;                 /* 1 + its ring's pass of the last look */
    struct thread_map *threads;         /* only for a process in another pid namespace; NULL = none known */
    struct learnt *learnt;              /* modules that the record lacks; NULL = never looked for */
    struct end_watch *watch;            /* notices its end; NULL = none */
    bool unwatchable;                   /* its user has used up WORK_ENDINGS */
    bool has_just_ended;                /* dead at the last judgement, but not at the one before */
    struct process_origin *origin;      /* owned reference; NULL = not known yet */
    bool lacks_command_line;            /* the command line could not be read in time */
    struct process_facts *facts;        /* owned reference; NULL after a change, until the next judgement */
    bool wants_modules;                 /* facts lack modules that nobody has asked for yet */
};

/* Returns true if the last judgement found the process alive. */
static inline bool process_lives(const struct ring_process *process)
{
    return process->verdict == PROCESS_ATTESTED || process->verdict == PROCESS_ALIVE;
}

/* Returns false if the process does not exist any more. */
static inline bool process_stat(int proc, const struct ring_process *process, struct proc_stat *ret_stat)
{
    return proc_stat(proc, process->pid, ret_stat) == 0 && ret_stat->start_time_ticks == process->pid_start_time_ticks;
}

struct ring {
    uint32_t serial;
    char *name; /* unique: the file name, perhaps with "~2" and so on; not NULL between refreshes */
    char *file_name;
    uint32_t directory; /* index in the registry's list of directories */
    bool unlinked;      /* its file has no name, or none in our directories */
    bool announced;     /* by NOTICE_RING_FOUND */
    bool found_dead;    /* by the last look for leftovers */
    uint32_t pass;      /* the last full listing that saw it */
    uint32_t stop_pass; /* how often all its processes have been looked at; see ring/stops.h */
    struct mapping mapping;
    struct rip_ring_info info;      /* as of this scan */
    bool same_boot;                 /* also true if the boot is not known */
    struct ring_process *processes; /* [0, process_count) */
    size_t process_count;
    uint8_t *conditions; /* [0, process_count): for detector_ring() */
    uint64_t live_count; /* on the last scan */
    bool has_waits;      /* the last scan found waits: see struct process_waits */
    bool warned_unattested;
    bool unseen;    /* set by the caller, for /rings: threads wait, or have waited, in calls that ripd cannot see */
    uint32_t user;  /* the account that the ring is charged to: work_user() of its owner */
    bool accounted; /* the ring is charged to that account */
    uint64_t held_bytes;          /* charged as WORK_MAPPED_BYTES */
    uint32_t next_record;         /* index of the record to judge next */
    uint32_t put_off_count;       /* refreshes in a row without the time to judge all records */
    struct module_table *modules; /* shared by its processes; NULL = none asked for yet */
    struct module_facts *scripts; /* owned reference: its scripts; NULL = none, or not asked for yet */
    struct lease *lease;          /* of its file descriptor; NULL = not asked for yet */
    struct ring *next_retired;
};

/* Returns the name of a ring, or its file name while it has no name yet. */
static inline const char *ring_name(const struct ring *ring)
{
    return ring->name != NULL ? ring->name : ring->file_name;
}

enum registry_notice_kind {
    NOTICE_RING_FOUND,
    NOTICE_RING_GONE,       /* dropped: the file is gone and no process lives in it, or for the given reason */
    NOTICE_RING_DAMAGED,    /* cut short or inconsistent: see reason */
    NOTICE_RING_UNREADABLE, /* could not be opened or understood: see reason */
    NOTICE_UNATTESTED,      /* a living process has lost its lock: reason contains the pid */
    NOTICE_PROCESS_DEAD,
    NOTICE_DIRECTORY_MISSING,
    NOTICE_DIRECTORY_FOUND,
    NOTICE_LIMIT, /* reason names the limit; once per limit */
};

/*
 * Reports a change, for the log. user is the account of the ring, or MAPPING_NOBODY if the notice is not about a ring.
 * name is of a ring or a directory. reason may be NULL. The receiver limits the rate.
 */
typedef void registry_noticed(void *context, uint32_t user, enum registry_notice_kind kind, const char *name,
                              const char *reason);

struct registry;
struct registry_options {
    const char *const *directories;
    size_t directory_count;
    const char *proc_path;   /* "/proc" */
    const char *cgroup_path; /* "/sys/fs/cgroup"; borrowed; NULL: frozen processes are not detected */
    uint64_t judging_ns;     /* 0 = REGISTRY_JUDGING_NS */
    bool removes;            /* remove unneeded files of dead rings: see ring/leftovers.h */
    bool notices_ends;       /* of attested processes: see registry_next_end() */
    struct hash_key hash_key;
    uint32_t last_serial;      /* new serials start after this one */
    struct work *work;         /* accounts of users; borrowed; NULL = the registry makes its own */
    struct health *health;     /* counts limits that are hit and damaged rings; borrowed; NULL = its own */
    registry_noticed *noticed; /* NULL = changes are not reported */
    void *notice_context;
};

int registry_new(struct registry **ret_registry, const struct registry_options *options);
void registry_free(struct registry *registry);

/*
 * Replaces the directories. Call between two refreshes; takes effect with the next refresh. Rings in directories of
 * both lists stay, with serials and names; the others are dropped. On -E2BIG or -ENOMEM nothing has changed.
 */
int registry_set_directories(struct registry *registry, const char *const *paths, size_t count);
void registry_set_judging(struct registry *registry, uint64_t judging_ns);

/*
 * Notices changes in the directories, re-reads process records, and judges every process (see ring/identity.h). Call
 * once per scan.
 */
void registry_refresh(struct registry *registry, uint64_t now_mono_ns);

/* Returns the mapped rings, in ascending order of serial. */
struct ring **registry_rings(struct registry *registry, size_t *ret_count);
struct ring *registry_find(struct registry *registry, uint32_t serial);

/*
 * Returns a lease of a ring's file, for use by other threads. Borrowed from the ring: valid until the next refresh.
 * Returns NULL if there is no such ring or out of memory.
 */
struct lease *registry_lease(struct registry *registry, uint32_t serial);

/* Identifies the directory with that number, counted from 0. Returns false if it is missing or there is none. */
bool registry_directory(const struct registry *registry, size_t number, uint64_t *ret_device, uint64_t *ret_inode);

/*
 * Returns true if the program is traced without changes to its code (preload, or librip-compiled). If the process
 * record does not exist, the first record of the ring decides.
 */
bool registry_is_preloaded(struct registry *registry, uint32_t serial, uint32_t process);

/* Unmaps a ring whose mapping is damaged. The ring stays in the list of rings with the reason. */
void registry_damage(struct registry *registry, struct ring *ring);

/*
 * Returns a new reference to the facts of a ring's process with its modules, or NULL if there is no such process or out
 * of memory. It is the same object until something in it changes. The modules are missing if the owner has no time
 * left: call again after the next refresh.
 */
struct process_facts *registry_process_facts(struct registry *registry, struct ring *ring, uint32_t process);

/*
 * Finds modules that the record of a process does not name, because they were loaded after its threads had registered.
 * address is an address of code. Only attested processes are considered.
 *
 * registry_learn_module() reads the kernel's map of the process, if the process is of ripd's own user, as far as the
 * kernel permits, and within the time of the ring's owner. For other users' processes ripd-probe reads the map:
 * registry_lacks_module() returns true if the address is in no known module and has not been looked up before, and
 * registry_take_module() stores the answer. object is NULL if there is no module.
 *
 * The last two return true if the module is known now. Facts that were obtained earlier do not contain it.
 */
bool registry_lacks_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address);
bool registry_take_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address,
                          const struct proc_object *object);
bool registry_learn_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address);

/*
 * Translates a tid from the process's pid namespace to ours. Returns 0 or -ESRCH if there is no such thread, or -EAGAIN
 * if the time until deadline_mono_ns or the time of the user did not suffice: call again after the next refresh.
 */
int registry_find_thread(struct registry *registry, struct ring *ring, uint32_t process, uint32_t tid,
                         uint64_t deadline_mono_ns, uint32_t *ret_tid);

/*
 * registry_has_thread() returns true if the thread exists now. our_tid comes from registry_find_thread(), which may
 * return a tid without checking it.
 *
 * registry_is_gone() is not the opposite. It returns true only if the thread has certainly ended, in a process that is
 * still the one that was judged. It is always false in another pid namespace, because a list of threads may be
 * incomplete when others end. A first thread that has ended before the others counts as gone.
 */
bool registry_has_thread(const struct registry *registry, const struct ring *ring, uint32_t process, uint32_t our_tid);
bool registry_is_gone(const struct registry *registry, const struct ring *ring, uint32_t process, uint32_t our_tid);

/*
 * Finds the process that has a thread which this process calls tid: itself, or another process of the same user. All of
 * them must be attested, and a tid must have the same meaning for all of them: either they are in our own pid
 * namespace, or they share a ring and claim the same namespace. Returns 0, -ESRCH if no process has it, or -EAGAIN if
 * it was not found before deadline_mono_ns.
 */
int registry_find_holder(struct registry *registry, struct ring *ring, uint32_t process, uint32_t tid,
                         uint64_t deadline_mono_ns, uint32_t *ret_ring, uint32_t *ret_process);

/* Forgets a result of registry_find_thread(): our_tid does not belong to any thread. */
void registry_forget_thread(struct ring *ring, uint32_t process, uint32_t our_tid);

/*
 * Returns true if a living process is still the one that was judged: it holds the lock that attests it, and its start
 * time is the same. Call it after reading anything about its pid.
 */
bool registry_process_holds(const struct registry *registry, const struct ring *ring, uint32_t process);

/* The end of a process that did not leave its ring in order: it was killed, or it executed another program. */
struct process_end {
    uint32_t ring;
    uint32_t process;
    uint32_t generation; /* of the record */
    uint32_t pid;        /* in our pid namespace */
    bool open;           /* not final: see registry_certainty(). The end may be returned again when it is final */
    bool replaced;       /* by another program */
    bool exiting;        /* it had called exit() */
    int descriptor;      /* pidfd, for pidfd_status(); owned by the caller; -1 = none */
};

/* Returns a descriptor that is readable when a process has ended, or -1 if ends are not noticed. */
int registry_ends_descriptor(const struct registry *registry);

/*
 * Says whether an end that is open is certain by now. LACKS: not yet. NO: the process lives on, or it left in order. It
 * takes two scans until a process counts as replaced by another program, as for its death. The ring is kept for both.
 */
enum registry_certainty { CERTAINTY_LACKS, CERTAINTY_YES, CERTAINTY_NO };
enum registry_certainty registry_certainty(struct registry *registry, const struct process_end *end);

/*
 * Returns the next end, or false if there is none. The record, ids and facts of the process stay until the next
 * refresh.
 */
bool registry_next_end(struct registry *registry, struct process_end *ret_end);

/*
 * Returns the lines of /rings, mapped and unreadable rings, in order of name. The caller calls ring_facts_done() for
 * each and frees the array.
 */
int registry_facts(const struct registry *registry, struct ring_facts **ret_facts, size_t *ret_count);

const struct health *registry_health(const struct registry *registry);

#endif
