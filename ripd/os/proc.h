/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h - what /proc says of a process, and of this machine. Takes the descriptor of a proc directory, so that tests
 * hand it a tree of their own. Every function returns 0 or -errno; -ESRCH when the process or thread is gone.
 *
 * Guarantees
 *   A. Only files that any user may read are read, except ns/pid of the caller itself.
 *   B. A process or thread that went away, before or while it was read, is -ESRCH.
 *   C. Work is bounded: PROC_THREADS_MAX threads of a process are listed.
 */
#ifndef RIPD_OS_PROC_H
#define RIPD_OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/proc_group.h"

#define PROC_THREADS_MAX 65536u

/* Reads the file of a formatted name below proc: at most size - 1 bytes, terminated. -ESRCH: none, or it is empty. */
__attribute__((format(printf, 4, 5))) int proc_read(int proc, char *ret_text, size_t size, const char *format, ...);

/* Reads such a file, of so many bytes, and parses it: 0, or the -errno of either. */
#define PROC_READ_AS(parse, ret, bytes, proc, ...)                                                                     \
    ({                                                                                                                 \
        char text_[bytes];                                                                                             \
        int result_ = proc_read((proc), text_, sizeof(text_), __VA_ARGS__);                                            \
                                                                                                                       \
        result_ != 0 ? result_ : parse(text_, (ret));                                                                  \
    })

/* Opens the file or directory of a formatted name below proc. A descriptor; -ESRCH: there is none; -errno. */
__attribute__((format(printf, 3, 4))) int proc_open(int proc, int flags, const char *format, ...);

/* One line of PID/task/TID/stat. */
struct proc_stat {
    char state;
    uint32_t parent_pid; /* 0 = none, or none in our pid namespace */
    uint32_t flags;
    uint32_t thread_count;
    uint64_t user_ticks; /* CPU time, sampled with the clock tick */
    uint64_t system_ticks;
    uint64_t start_time_ticks;
    char comm[17];
};
/* Of the process the CPU time is that of its first thread. */
int proc_stat(int proc, uint32_t pid, struct proc_stat *ret_stat);
int proc_thread_stat(int proc, uint32_t pid, uint32_t tid, struct proc_stat *ret_stat);

/* Whether a process has ended but for its parent's wait(): not one whose first thread alone has. */
bool proc_stat_ended(const struct proc_stat *stat);

/* Of the kernel's include/linux/sched.h: PF_EXITING; PF_POSTCOREDUMP, PF_DUMPCORE and PF_SIGNALED. */
#define PROC_FLAG_EXITING 0x4u
#define PROC_FLAGS_KILLED 0x608u

/* From PID/status. */
struct proc_status {
    uint32_t uid_real;
    uint32_t uid_effective;
    uint32_t uid_saved;
    uint32_t pid_in_namespace; /* last field of NSpid, of a thread its tid there; 0 = not known */
    uint32_t namespace_count;  /* fields of NSpid; 1 = it lives in our own pid namespace */
    bool core_dumping;
};
int proc_status(int proc, uint32_t pid, struct proc_status *ret_status);
int proc_thread_status(int proc, uint32_t pid, uint32_t tid, struct proc_status *ret_status); /* users are a thread's */

/* With whose rights a process opens files. */
#define PROC_GROUPS_MAX 64u /* more are left out */
struct proc_credentials {
    uint32_t uid;
    uint32_t gid;
    bool own_gid; /* real, effective and saved gid are the same: no program has lent it */
    uint32_t groups[PROC_GROUPS_MAX];
    uint32_t group_count;
};
int proc_credentials(int proc, uint32_t pid, struct proc_credentials *ret_credentials);

/*
 * With what it was started, or what it calls itself now: arguments with a blank between them, at most size - 1 bytes,
 * and no character of UTF-8 cut in two. -ESRCH also if there is none, as of a process that has ended.
 */
int proc_command_line(int proc, uint32_t pid, char *ret_text, size_t size);

/* Its unit and container. */
int proc_group(int proc, uint32_t pid, struct proc_group *ret_group);

/* Threads of a process while visit returns 0; returns what visit returned last. */
int proc_visit_threads(int proc, uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context);

/* Whether the proc directory shows a process of that number. */
bool proc_exists(int proc, uint32_t pid);

/*
 * Whether the process's cgroup, or any above it, is frozen, by the v1 freezer or by cgroup.freeze of v2. cgroup_root:
 * the path where cgroups are mounted. -ENOENT: not known, as of a path that leaves the tree ("/..").
 */
int proc_cgroup_frozen(int proc, const char *cgroup_root, uint32_t pid, bool *ret_frozen);

/* Inode number of the caller's pid namespace; boot id as 16 bytes. */
int proc_own_pid_namespace(int proc, uint64_t *ret_inode);
int proc_boot_id(int proc, uint8_t ret_id[16]);

/* What the caller's own process has, from self/statm; -EINVAL: the kernel does not say it in this form. */
struct proc_memory {
    uint64_t virtual_bytes;
    uint64_t resident_bytes;
    uint64_t anonymous_bytes; /* resident less pages of files and of shared memory */
};
int proc_own_memory(int proc, struct proc_memory *ret_memory);

/* How many descriptors the caller's own process has open, but for those that take part in counting. */
int proc_own_descriptors(int proc, uint64_t *ret_count);

#endif
