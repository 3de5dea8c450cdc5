/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.c - two tables: names and numbers, made from the compiler's <sys/syscall.h> when ripd is built
 * (syscall_names.cmake), and by name what the arguments are. Pure.
 *
 * Guarantees
 *   A. A name that this machine does not have is never found by a number; a call without a row has no argument.
 */
#include "cases/syscalls.h"

#include <stddef.h>
#include <string.h>

#include "util/array.h"

static const struct syscall_number {
    const char *name;
    uint64_t number;
} numbers[] = {
#define SYSCALL_ROW(name, number) {name, number},
#include "cases/syscall_names.h"
#undef SYSCALL_ROW
};

#define NONE SYSCALL_NO_ARGUMENT

#define NO_PATH                                                                                                        \
    {                                                                                                                  \
        NONE, NONE                                                                                                     \
    }
#define NO_ADDRESS NONE, SYSCALL_ADDRESS_NONE
#define NO_NAMES                                                                                                       \
    NO_ADDRESS,                                                                                                        \
    {                                                                                                                  \
        NO_PATH, NO_PATH                                                                                               \
    }
#define DESCRIPTOR_OF(name)                                                                                            \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE, NO_NAMES                            \
    }
#define ADDRESS(name, address, form)                                                                                   \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE, address, form,                      \
        {                                                                                                              \
            NO_PATH, NO_PATH                                                                                           \
        }                                                                                                              \
    }
#define FILE_LOCK(name)                                                                                                \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, 1, NO_NAMES                               \
    }
#define EPOLL(name, form)                                                                                              \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, 3, form, NONE, NO_NAMES                                               \
    }
#define POLL(name, timeout, form)                                                                                      \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_POLL, NONE, 1, timeout, form, NONE, NO_NAMES                                               \
    }
#define SELECT(name, form)                                                                                             \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_POLL, NONE, 0, 4, form, NONE, NO_NAMES                                                     \
    }
#define TIMED(name, topic, timeout)                                                                                    \
    {                                                                                                                  \
        name, topic, NONE, NONE, timeout, SYSCALL_TIMEOUT_TIMESPEC, NONE, NO_NAMES                                     \
    }
#define TOPIC(name, topic)                                                                                             \
    {                                                                                                                  \
        name, topic, NONE, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE, NO_NAMES                                            \
    }
#define PATHS(name, ...)                                                                                               \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_PATH, NONE, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE, NO_ADDRESS,                            \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define PATH(name, argument) PATHS(name, {argument, NONE}, NO_PATH)
#define PATH_AT(name, directory, argument) PATHS(name, {argument, directory}, NO_PATH)
#define TWO_PATHS(name) PATHS(name, {0, NONE}, {1, NONE})
#define TWO_PATHS_AT(name) PATHS(name, {1, 0}, {3, 2})

static const struct syscall_shape shapes[] = {
    DESCRIPTOR_OF("read"),
    DESCRIPTOR_OF("write"),
    DESCRIPTOR_OF("pread64"),
    DESCRIPTOR_OF("pwrite64"),
    DESCRIPTOR_OF("readv"),
    DESCRIPTOR_OF("writev"),
    DESCRIPTOR_OF("preadv"),
    DESCRIPTOR_OF("pwritev"),
    DESCRIPTOR_OF("preadv2"),
    DESCRIPTOR_OF("pwritev2"),
    DESCRIPTOR_OF("recvfrom"),
    DESCRIPTOR_OF("recvmsg"),
    DESCRIPTOR_OF("recvmmsg"),
    ADDRESS("sendto", 4, SYSCALL_ADDRESS_SEND),
    ADDRESS("sendmsg", 1, SYSCALL_ADDRESS_MESSAGE),
    DESCRIPTOR_OF("sendmmsg"),
    ADDRESS("connect", 1, SYSCALL_ADDRESS_CONNECT),
    DESCRIPTOR_OF("accept"),
    DESCRIPTOR_OF("accept4"),
    DESCRIPTOR_OF("shutdown"),
    DESCRIPTOR_OF("close"),
    DESCRIPTOR_OF("fsync"),
    DESCRIPTOR_OF("fdatasync"),
    DESCRIPTOR_OF("sync_file_range"),
    DESCRIPTOR_OF("syncfs"),
    DESCRIPTOR_OF("ftruncate"),
    DESCRIPTOR_OF("fallocate"),
    DESCRIPTOR_OF("fstat"),
    DESCRIPTOR_OF("fchmod"),
    DESCRIPTOR_OF("fchown"),
    DESCRIPTOR_OF("lseek"),
    DESCRIPTOR_OF("getdents"),
    DESCRIPTOR_OF("getdents64"),
    DESCRIPTOR_OF("fstatfs"),
    DESCRIPTOR_OF("fchdir"),
    DESCRIPTOR_OF("ioctl"),
    DESCRIPTOR_OF("splice"),
    DESCRIPTOR_OF("tee"),
    DESCRIPTOR_OF("vmsplice"),
    DESCRIPTOR_OF("copy_file_range"),
    DESCRIPTOR_OF("io_uring_enter"),
    DESCRIPTOR_OF("mq_timedreceive"),
    DESCRIPTOR_OF("mq_timedsend"),
    DESCRIPTOR_OF("sendfile"),
    FILE_LOCK("flock"),
    FILE_LOCK("fcntl"),
    EPOLL("epoll_wait", SYSCALL_TIMEOUT_MS),
    EPOLL("epoll_pwait", SYSCALL_TIMEOUT_MS),
    EPOLL("epoll_pwait2", SYSCALL_TIMEOUT_TIMESPEC),
    POLL("poll", 2, SYSCALL_TIMEOUT_MS),
    POLL("ppoll", 2, SYSCALL_TIMEOUT_TIMESPEC),
    SELECT("select", SYSCALL_TIMEOUT_TIMEVAL),
    SELECT("pselect6", SYSCALL_TIMEOUT_TIMESPEC),
    TIMED("nanosleep", SYSCALL_TOPIC_SLEEP, 0),
    TIMED("clock_nanosleep", SYSCALL_TOPIC_SLEEP, 2),
    TIMED("futex", SYSCALL_TOPIC_FUTEX, 3),
    TOPIC("msgrcv", SYSCALL_TOPIC_MESSAGES),
    TOPIC("msgsnd", SYSCALL_TOPIC_MESSAGES),
    TOPIC("semop", SYSCALL_TOPIC_SEMAPHORES),
    TIMED("semtimedop", SYSCALL_TOPIC_SEMAPHORES, 3),
    TOPIC("wait4", SYSCALL_TOPIC_CHILD),
    TOPIC("waitid", SYSCALL_TOPIC_CHILD),
    TOPIC("vfork", SYSCALL_TOPIC_VFORK),
    TOPIC("clone", SYSCALL_TOPIC_VFORK),
    TOPIC("clone3", SYSCALL_TOPIC_VFORK),
    TOPIC("pause", SYSCALL_TOPIC_SIGNAL),
    TOPIC("rt_sigsuspend", SYSCALL_TOPIC_SIGNAL),
    TOPIC("rt_sigtimedwait", SYSCALL_TOPIC_SIGNAL),
    PATH("open", 0),
    PATH("creat", 0),
    PATH("stat", 0),
    PATH("lstat", 0),
    PATH("statfs", 0),
    PATH("access", 0),
    PATH("readlink", 0),
    PATH("truncate", 0),
    PATH("mkdir", 0),
    PATH("rmdir", 0),
    PATH("unlink", 0),
    PATH("mknod", 0),
    PATH("chmod", 0),
    PATH("chown", 0),
    PATH("lchown", 0),
    PATH("utime", 0),
    PATH("utimes", 0),
    PATH("chdir", 0),
    PATH("chroot", 0),
    PATH("execve", 0),
    PATH("getxattr", 0),
    PATH("lgetxattr", 0),
    PATH("setxattr", 0),
    PATH("lsetxattr", 0),
    PATH("listxattr", 0),
    PATH("llistxattr", 0),
    PATH("removexattr", 0),
    PATH("lremovexattr", 0),
    PATH("umount2", 0),
    PATH("swapon", 0),
    PATH("swapoff", 0),
    PATH("acct", 0),
    PATH("symlink", 1),
    PATH("quotactl", 1),
    PATH("inotify_add_watch", 1),
    PATH_AT("openat", 0, 1),
    PATH_AT("openat2", 0, 1),
    PATH_AT("newfstatat", 0, 1),
    PATH_AT("statx", 0, 1),
    PATH_AT("faccessat", 0, 1),
    PATH_AT("faccessat2", 0, 1),
    PATH_AT("readlinkat", 0, 1),
    PATH_AT("mkdirat", 0, 1),
    PATH_AT("unlinkat", 0, 1),
    PATH_AT("mknodat", 0, 1),
    PATH_AT("fchmodat", 0, 1),
    PATH_AT("fchmodat2", 0, 1),
    PATH_AT("fchownat", 0, 1),
    PATH_AT("utimensat", 0, 1),
    PATH_AT("futimesat", 0, 1),
    PATH_AT("execveat", 0, 1),
    PATH_AT("name_to_handle_at", 0, 1),
    PATH_AT("open_tree", 0, 1),
    PATH_AT("mount_setattr", 0, 1),
    PATH_AT("fspick", 0, 1),
    PATH_AT("symlinkat", 1, 2),
    PATH_AT("fanotify_mark", 3, 4),
    TWO_PATHS("rename"),
    TWO_PATHS("link"),
    TWO_PATHS("pivot_root"),
    TWO_PATHS_AT("renameat"),
    TWO_PATHS_AT("renameat2"),
    TWO_PATHS_AT("linkat"),
    TWO_PATHS_AT("move_mount"),
    PATHS("mount", {0, SYSCALL_AS_GIVEN}, {1, NONE}),
    TOPIC("restart_syscall", SYSCALL_TOPIC_RESTART),
};

const char *syscall_name(uint64_t number)
{
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
        if (numbers[i].number == number)
            return numbers[i].name;
    return NULL;
}

const struct syscall_shape *syscall_shape_of(const char *name)
{
    static const struct syscall_shape other = TOPIC("", SYSCALL_TOPIC_OTHER);

    for (size_t i = 0; name != NULL && i < ARRAY_COUNT(shapes); i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return &other;
}

/* FUTEX_* of linux/futex.h, which is part of what the kernel promises. */
const char *syscall_futex_name(uint64_t operation)
{
    enum { FUTEX_COMMAND_MASK = 127 };
    static const char *const names[] = {
        [0] = "wait", [6] = "lock_pi", [9] = "wait_bitset", [11] = "wait_requeue_pi", [13] = "lock_pi2",
    };
    uint64_t command = operation & FUTEX_COMMAND_MASK;

    return command < ARRAY_COUNT(names) ? names[command] : NULL;
}
