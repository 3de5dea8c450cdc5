/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h - reads /proc about a process, and about this machine. Takes the descriptor of a proc directory, so that tests
 * can pass a tree of their own. Unless noted, a function returns 0 or -errno; -ESRCH if the process or thread is gone.
 *
 * Guarantees
 *   A. Only files that any user may read are read, except ns/pid of the caller itself.
 *   B. A process or thread that ended before or during the read gives -ESRCH.
 *   C. Work is bounded: at most PROC_THREADS_MAX threads of a process are listed.
 */
#ifndef RIPD_OS_PROC_H
#define RIPD_OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/proc_group.h"

#define PROC_THREADS_MAX 65536u

/*
 * Reads a file of a formatted name below proc: at most size - 1 bytes, terminated. Returns -ESRCH if it does not exist
 * or is empty.
 */
__attribute__((format(printf, 4, 5))) int proc_read(int proc, char *ret_text, size_t size, const char *format, ...);

/* Reads such a file of less than that many bytes, and parses it. Returns 0, or the -errno of either. */
#define PROC_READ_AS(parse, ret, bytes, proc, ...)                                                                     \
    ({                                                                                                                 \
        char text_[bytes];                                                                                             \
        int result_ = proc_read((proc), text_, sizeof(text_), __VA_ARGS__);                                            \
                                                                                                                       \
        result_ != 0 ? result_ : parse(text_, (ret));                                                                  \
    })

/*
 * Opens a file or directory of a formatted name below proc. Returns a descriptor, -ESRCH if there is none, or -errno.
 */
__attribute__((format(printf, 3, 4))) int proc_open(int proc, int flags, const char *format, ...);

/* One line of PID/task/TID/stat. */
struct proc_stat {
    char state;
    uint32_t parent_pid; /* 0 = none, or none in the caller's pid namespace */
    uint32_t flags;
    uint32_t thread_count;
    uint64_t user_ticks; /* CPU time, sampled with the clock tick */
    uint64_t system_ticks;
    uint64_t start_time_ticks;
    char comm[17];
};
/* proc_stat() returns the CPU time of the first thread only. */
int proc_stat(int proc, uint32_t pid, struct proc_stat *ret_stat);
int proc_thread_stat(int proc, uint32_t pid, uint32_t tid, struct proc_stat *ret_stat);

/* Whether a process has ended and its parent has not waited for it. False if only its first thread has ended. */
bool proc_stat_ended(const struct proc_stat *stat);

/* From the kernel's include/linux/sched.h: PF_EXITING; PF_POSTCOREDUMP, PF_DUMPCORE and PF_SIGNALED. */
#define PROC_FLAG_EXITING 0x4u
#define PROC_FLAGS_KILLED 0x608u

/* From PID/status. */
struct proc_status {
    uint32_t uid_real;
    uint32_t uid_effective;
    uint32_t uid_saved;
    uint32_t pid_in_namespace; /* last field of NSpid: pid, or tid of a thread, in its own namespace; 0 = not known */
    uint32_t namespace_count;  /* fields of NSpid; 1 = the process is in the caller's pid namespace */
    bool core_dumping;
};
int proc_status(int proc, uint32_t pid, struct proc_status *ret_status);
int proc_thread_status(int proc, uint32_t pid, uint32_t tid, struct proc_status *ret_status); /* uids of the thread */

/* The user and groups with whose rights a process opens files. */
#define PROC_GROUPS_MAX 64u /* further groups are left out */
struct proc_credentials {
    uint32_t uid;
    uint32_t gid;
    bool own_gid; /* all gids are the same: the gid does not come from a set-group-id program */
    uint32_t groups[PROC_GROUPS_MAX];
    uint32_t group_count;
};
int proc_credentials(int proc, uint32_t pid, struct proc_credentials *ret_credentials);

/*
 * Reads the command line, which the process may have changed: arguments separated by blanks, at most size - 1 bytes,
 * with no UTF-8 character cut in two. Returns -ESRCH also if it is empty, as that of a process that has ended.
 */
int proc_command_line(int proc, uint32_t pid, char *ret_text, size_t size);

/* Reads the unit and container of a process. */
int proc_group(int proc, uint32_t pid, struct proc_group *ret_group);

/* Visits the threads of a process while visit returns 0. Returns what visit returned last. */
int proc_visit_threads(int proc, uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context);

/* Whether the proc directory has a process of that pid. */
bool proc_exists(int proc, uint32_t pid);

/*
 * Finds out whether the process's cgroup or one of its ancestors is frozen, by the v1 freezer or by cgroup.freeze of
 * v2. cgroup_root: the path where cgroups are mounted. Returns -ENOENT if that is not known, for example for a path
 * that leaves the tree ("/..").
 */
int proc_cgroup_frozen(int proc, const char *cgroup_root, uint32_t pid, bool *ret_frozen);

/* The inode number of the caller's pid namespace; the boot id as 16 bytes. */
int proc_own_pid_namespace(int proc, uint64_t *ret_inode);
int proc_boot_id(int proc, uint8_t ret_id[16]);

/* Memory of the caller's own process, from self/statm. Returns -EINVAL if the kernel's format is unknown. */
struct proc_memory {
    uint64_t virtual_bytes;
    uint64_t resident_bytes;
    uint64_t anonymous_bytes; /* resident, without pages of files and of shared memory */
};
int proc_own_memory(int proc, struct proc_memory *ret_memory);

/* Counts the open descriptors of the caller's own process, without those used for counting. */
int proc_own_descriptors(int proc, uint64_t *ret_count);

#endif
