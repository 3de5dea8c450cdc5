/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - the set of rings: found in directories, opened, identified, dropped.
 *
 * Directories are listed again when they have changed, and every REGISTRY_RESCAN_NS; a missing directory is waited for.
 * A file is looked at once for each change of it that a listing sees; what is not a ring is remembered by inode and
 * change time, so that it costs nothing and is reported once.
 *
 * Guarantees
 *   A. Nothing but regular files is opened, no link is followed.
 *   B. A ring keeps its serial as long as it is mapped, whatever it is renamed to, and its name as long as its file has
 *      that name; the ring that comes second to a name is NAME~2. Several links to a file are one ring.
 *   C. Every limit has a name below or in work/work.h, and a counter.
 *   D. The address space and time that rings take are on their owner's account. An owner who uses up his share delays
 *      only his own rings: a record or a ring without a turn keeps its last known state until it has one.
 *   E. A user who may have no more rings gets none, unless another holds more than he would: that one's largest
 *      mapping is dropped then.
 *   F. A refresh never fails for a reason that lies in a file, a directory or a process.
 *   G. A damaged ring leaves the set at once, but its struct stays valid until the next refresh.
 *   H. A ring is dropped only when its file has no name here and there is no sign of a living process in it, or for E.
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
#define REGISTRY_RECHECK_NS UINT64_C(5000000000)  /* /proc is asked at least this often about who holds its locks */
#define REGISTRY_JUDGING_NS UINT64_C(50000000)    /* on process records and threads, per scan, of a user who is alone */
#define REGISTRY_MAPPED_BYTES (UINT64_C(1) << 37) /* address space of all rings; page tables take a 512th at most */
#define REGISTRY_FILES_MAX 65536u                 /* names listed per directory and refresh, and files remembered */
#define REGISTRY_DIRECTORIES_MAX 64u
#define REGISTRY_UNREADABLE_MAX 1024u  /* rings that cannot be read, listed with the reason */
#define REGISTRY_ENDINGS_MAX 4096u     /* processes whose end is noticed at once, as WORK_ENDINGS has it */
#define REGISTRY_ENDINGS_MIN 64u       /* with less room none are watched */
#define REGISTRY_DESCRIPTORS_KEPT 800u /* for connections, pidfds and /proc, not rings; at most half */
#define REGISTRY_DESCRIPTORS_BASE 16u  /* that ripd has open from its start, more or less */

/* One process record of a ring, and what we make of it. */
struct learnt;

/* Ids of a process that wait for others of it alone, without a time limit: RIP_CALL_PRIVATE. */
struct process_waits {
    uint32_t count;
    uint64_t progress; /* the sum of theirs: grows if one of them moves */
};

struct ring_process {
    struct rip_process_info claim;
    bool looked_at; /* what follows is known */
    bool present;   /* a process: not an embryo, not an exited one */
    bool alive;     /* it, or an embryo, may still register ids */
    enum process_verdict verdict;
    struct identity_memory memory;
    uint32_t pid; /* in our namespace; 0 = not known */
    uint64_t pid_start_time_ticks;
    bool own_pid_namespace;        /* its tids are numbers of ours */
    uint32_t holder_pid;           /* of the last scan, as file_lock_holder() has it */
    bool life_locked;              /* of the last scan */
    uint64_t lived_wall_ns;        /* when it was last found alive; 0 = never */
    uint64_t died_wall_ns;         /* when it was found dead; 0 = it is not */
    uint64_t checked_mono_ns;      /* when /proc was last asked about it; 0 = never */
    uint64_t examined_mono_ns;     /* when the probe last asked about it; 0 = never */
    uint8_t stop;                  /* what stops it as a whole: an enum id_cause, or CAUSE_NONE; see ring/stops.h */
    bool frozen;                   /* with its control group, at the last look at that */
    bool seen_traced;              /* by the last look */
    uint32_t thread_count;         /* by the last look; 0 = not known */
    struct process_waits waits;    /* of the last scan, */
    struct process_waits before;   /* of the one before, */
    struct process_waits looked;   /* and of the last one before the last look */
    uint32_t stop_looks;           /* at it so far */
    uint32_t stop_pass;            /* 1 + the pass of the last one */
    struct thread_names *threads;  /* of a process in another pid namespace; NULL = none known */
    struct learnt *learnt;         /* modules that the record lacks; NULL = none was looked for */
    struct end_watch *watch;       /* on its end; NULL = none */
    bool unwatchable;              /* its user may have no more of them */
    bool has_just_ended;           /* it was judged dead by the last judgement, and not by the one before */
    struct process_origin *origin; /* a reference; NULL = not known yet */
    bool wants_command_line;       /* it was not to be had in time */
    struct process_facts *facts;   /* a reference; NULL when anything in it has changed, until it is judged again */
    bool wants_modules;            /* facts lack some that nobody has asked for yet */
};

/* It was found alive when it was judged last. */
static inline bool process_lives(const struct ring_process *process)
{
    return process->verdict == PROCESS_ATTESTED || process->verdict == PROCESS_ALIVE;
}

/* False: it is not there any more. */
static inline bool process_stat(int proc, const struct ring_process *process, struct proc_stat *ret_stat)
{
    return proc_stat(proc, process->pid, ret_stat) == 0 && ret_stat->start_time_ticks == process->pid_start_time_ticks;
}

struct ring {
    uint32_t serial;
    char *name; /* unique: its file's name, with "~2" and so on for who comes second; not NULL between refreshes */
    char *file_name;
    uint32_t directory; /* index of the registry's directories */
    bool unlinked;      /* its file has no name, or none in our directories */
    bool announced;     /* by NOTICE_RING_FOUND */
    bool found_dead;    /* by the last look for leftovers */
    uint32_t pass;      /* the last full listing that saw it */
    struct mapping mapping;
    struct rip_ring_info info;      /* as of this scan */
    bool same_boot;                 /* or not known */
    struct ring_process *processes; /* [0, process_count) */
    size_t process_count;
    uint8_t *conditions; /* [0, process_count): for detector_ring() */
    uint64_t live_count; /* of the last scan */
    bool has_waits;      /* it found some: see struct process_waits */
    bool warned_unattested;
    bool unseen;    /* threads of it wait, or have waited, in calls that nobody sees: the caller's word, for /rings */
    uint32_t user;  /* whose account it is on: work_user() of its owner */
    bool accounted; /* it is on his account */
    uint64_t held_bytes;          /* of his WORK_MAPPED_BYTES */
    uint32_t next_record;         /* the next one to be judged */
    uint32_t put_off_count;       /* refreshes in a row on which there was no time to judge all */
    struct module_table *modules; /* of its processes, shared; NULL = none asked for yet */
    struct module_facts *scripts; /* a reference to the module of its scripts; NULL = none asked for yet, or none */
    struct lease *lease;          /* of its file's descriptor; NULL = none asked for yet */
    struct ring *next_retired;
};

/* What a ring is called: until it has a name, as its file. */
static inline const char *ring_name(const struct ring *ring)
{
    return ring->name != NULL ? ring->name : ring->file_name;
}

/* What changed, for the log. */
enum registry_notice_kind {
    NOTICE_RING_FOUND,
    NOTICE_RING_GONE,       /* dropped: its file is gone and nobody lives in it, or for a reason */
    NOTICE_RING_DAMAGED,    /* cut or contradictory: reason */
    NOTICE_RING_UNREADABLE, /* could not be opened or understood: reason */
    NOTICE_UNATTESTED,      /* a living process has lost its lock: reason names the pid */
    NOTICE_PROCESS_DEAD,
    NOTICE_DIRECTORY_MISSING,
    NOTICE_DIRECTORY_FOUND,
    NOTICE_LIMIT, /* reason names the limit; once per limit */
};

/* name: of a ring or a directory; reason may be NULL. How many they are is for the receiver to bound. */
typedef void registry_noticed(void *context, enum registry_notice_kind kind, const char *name, const char *reason);

struct registry;
struct registry_options {
    const char *const *directories;
    size_t directory_count;
    const char *proc_path;   /* "/proc" */
    const char *cgroup_path; /* "/sys/fs/cgroup"; NULL: who is frozen is not found out. It stays the caller's */
    uint64_t judging_ns;     /* 0 = REGISTRY_JUDGING_NS */
    bool removes;            /* files of dead rings that nobody needs: see ring/leftovers.h */
    bool notices_ends;       /* of attested processes, see registry_next_end() */
    struct hash_key hash_key;
    uint32_t last_serial;      /* serials go on behind it; 0 = from 1 on */
    struct work *work;         /* accounts of users; stays the caller's. NULL = the registry has one of its own */
    struct health *health;     /* counts the limits that are hit, and damaged rings. The same */
    registry_noticed *noticed; /* NULL: nobody hears of them */
    void *notice_context;
};

int registry_new(struct registry **ret_registry, const struct registry_options *options);
void registry_free(struct registry *registry);

/*
 * Other directories from the next refresh on; between two. Rings in directories of both lists stay as they are, serials
 * and names included; the others are gone. -E2BIG or -ENOMEM: nothing has changed.
 */
int registry_set_directories(struct registry *registry, const char *const *paths, size_t count);
void registry_set_judging(struct registry *registry, uint64_t judging_ns); /* as in the options */

/*
 * Takes in what changed in the directories, re-reads process records, and judges every process (see ring/identity.h).
 * Call once per scan. Never fails for a reason that lies in a file.
 */
void registry_refresh(struct registry *registry, uint64_t now_mono_ns);

/* Rings that are mapped, in ascending order of serial. */
struct ring **registry_rings(struct registry *registry, size_t *ret_count);
struct ring *registry_find(struct registry *registry, uint32_t serial);

/* A lease of a ring's file, for other threads; it is the ring's own, until the next refresh. NULL: none, or no memory.
 */
struct lease *registry_lease(struct registry *registry, uint32_t serial);

/* The directory of that number, from 0 on. False: it is missing now, or there is none. */
bool registry_directory(const struct registry *registry, size_t number, uint64_t *ret_device, uint64_t *ret_inode);

/* Whether a process of a ring is traced without calls of its own; of one that is not known, whether the first one is.
 */
bool registry_is_preloaded(struct registry *registry, uint32_t serial, uint32_t process);

/* A ring whose mapping is damaged is unmapped, and stays in the list of rings with the reason. */
void registry_damage(struct registry *registry, struct ring *ring);

/*
 * Facts of a ring's process with its modules: a new reference, or NULL: no such process, or no memory. They are the
 * same object until something in them changes. Without modules when the owner's share of time is spent: ask again
 * after the next refresh.
 */
struct process_facts *registry_process_facts(struct registry *registry, struct ring *ring, uint32_t process);

/*
 * Looks in the kernel's map of a process for the module that an address of code lies in and that its record does not
 * name: loaded after its threads had registered. True: it is known now; facts got before lack it. Only of attested
 * processes of our own user, as far as the kernel allows him, and within the ring's owner's time. Of others ripd-probe
 * is asked, where the address lies in no module that is known and nobody has asked before, and its answer is taken in:
 * object NULL: there is none.
 */
bool registry_lacks_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address);
bool registry_take_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address,
                          const struct proc_object *object);
bool registry_learn_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address);

/*
 * tid in our namespace of a thread that its process calls tid. 0; -ESRCH: none; -EAGAIN: not found out before
 * deadline_mono_ns, or within the time of its user; ask again after the next refresh.
 */
int registry_find_thread(struct registry *registry, struct ring *ring, uint32_t process, uint32_t tid,
                         uint64_t deadline_mono_ns, uint32_t *ret_tid);

/*
 * Whether there is such a thread now: tid as registry_find_thread() gave it, which need not have asked.
 * registry_is_gone() is not the opposite: it says that the thread has certainly ended, in a process that is still the
 * one it was judged to be. It is never true in another pid namespace: a list of threads may lack some when others end.
 * A first thread that has ended before the others counts as gone.
 */
bool registry_has_thread(const struct registry *registry, const struct ring *ring, uint32_t process, uint32_t our_tid);
bool registry_is_gone(const struct registry *registry, const struct ring *ring, uint32_t process, uint32_t our_tid);

/*
 * Finds the process of the thread that a process calls tid: itself, or another of the same user. All of them must be
 * attested, and a tid must mean the same to each: they live in our own pid namespace, or they share a ring and say that
 * they are in the same one. 0; -ESRCH: none of these has it; -EAGAIN: not found out before deadline_mono_ns.
 */
int registry_find_holder(struct registry *registry, struct ring *ring, uint32_t process, uint32_t tid,
                         uint64_t deadline_mono_ns, uint32_t *ret_ring, uint32_t *ret_process);

/* The number in our namespace that registry_find_thread() gave belongs to no thread. */
void registry_forget_thread(struct ring *ring, uint32_t process, uint32_t our_tid);

/*
 * Whether a process that is alive is still the one it was judged to be: it holds the lock that attests it, and its
 * start time is the same. Call it after reading anything about its pid.
 */
bool registry_process_holds(const struct registry *registry, const struct ring *ring, uint32_t process);

/* The end of a process that did not leave its ring in order: it was killed, or executed another program. */
struct process_end {
    uint32_t ring;
    uint32_t process;
    uint32_t generation; /* of the record */
    uint32_t pid;        /* in our namespace */
    bool open;           /* it is not over: see registry_certainty(). It may be returned again when it is */
    bool replaced;       /* by another program */
    bool exiting;        /* it had called exit() */
    int descriptor;      /* of the process, for pidfd_status(); the caller's. -1 = none */
};

/* Readable when a process has ended; -1: ends are not noticed. */
int registry_ends_descriptor(const struct registry *registry);

/* Of an end that is open. That a process has been replaced takes two scans, as its death does; the ring stays for both.
 */
enum registry_certainty { CERTAINTY_LACKS, CERTAINTY_YES, CERTAINTY_NO };
enum registry_certainty registry_certainty(struct registry *registry, const struct process_end *end);

/* The next one; its record, ids and facts are still there until the next refresh. False: none. */
bool registry_next_end(struct registry *registry, struct process_end *ret_end);

/* Lines of /rings, mapped and unreadable, in order of name. The caller frees each with ring_facts_done(), and the
 * array. */
int registry_facts(const struct registry *registry, struct ring_facts **ret_facts, size_t *ret_count);

const struct health *registry_health(const struct registry *registry);

#endif
