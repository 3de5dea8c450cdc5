/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.c - two tables: names and numbers, made from the compiler's <sys/syscall.h> when ripd is built
 * (syscall_names.cmake), and by names what the arguments are. Pure.
 *
 * Guarantees
 *   A. A name that this machine does not have is never found by a number; a call without a row has no argument.
 */
#include "cases/syscalls.h"

#include <stdbool.h>
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
#define DESCRIPTOR_OF(names)                                                                                           \
    {                                                                                                                  \
        names, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE, NO_NAMES                           \
    }
#define ADDRESS(names, address, form)                                                                                  \
    {                                                                                                                  \
        names, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE, address, form,                     \
        {                                                                                                              \
            NO_PATH, NO_PATH                                                                                           \
        }                                                                                                              \
    }
#define FILE_LOCK(names)                                                                                               \
    {                                                                                                                  \
        names, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, 1, NO_NAMES                              \
    }
#define EPOLL(names, form)                                                                                             \
    {                                                                                                                  \
        names, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, 3, form, NONE, NO_NAMES                                              \
    }
#define POLL(names, timeout, form)                                                                                     \
    {                                                                                                                  \
        names, SYSCALL_TOPIC_POLL, NONE, 1, timeout, form, NONE, NO_NAMES                                              \
    }
#define SELECT(names, form)                                                                                            \
    {                                                                                                                  \
        names, SYSCALL_TOPIC_POLL, NONE, 0, 4, form, NONE, NO_NAMES                                                    \
    }
#define TIMED(names, topic, timeout)                                                                                   \
    {                                                                                                                  \
        names, topic, NONE, NONE, timeout, SYSCALL_TIMEOUT_TIMESPEC, NONE, NO_NAMES                                    \
    }
#define TOPIC(names, topic)                                                                                            \
    {                                                                                                                  \
        names, topic, NONE, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE, NO_NAMES                                           \
    }
#define PATHS(names, ...)                                                                                              \
    {                                                                                                                  \
        names, SYSCALL_TOPIC_PATH, NONE, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE, NO_ADDRESS,                           \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define PATH(names, argument) PATHS(names, {argument, NONE}, NO_PATH)
#define PATH_AT(names, directory, argument) PATHS(names, {argument, directory}, NO_PATH)
#define TWO_PATHS(names) PATHS(names, {0, NONE}, {1, NONE})
#define TWO_PATHS_AT(names) PATHS(names, {1, 0}, {3, 2})

static const struct syscall_shape shapes[] = {
    DESCRIPTOR_OF("read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 recvfrom recvmsg "
                  "recvmmsg sendmmsg accept accept4 shutdown close fsync fdatasync sync_file_range syncfs ftruncate "
                  "fallocate fstat fchmod fchown lseek getdents getdents64 fstatfs fchdir ioctl splice tee vmsplice "
                  "copy_file_range io_uring_enter mq_timedreceive mq_timedsend sendfile"),
    ADDRESS("sendto", 4, SYSCALL_ADDRESS_SEND),
    ADDRESS("sendmsg", 1, SYSCALL_ADDRESS_MESSAGE),
    ADDRESS("connect", 1, SYSCALL_ADDRESS_CONNECT),
    FILE_LOCK("flock fcntl"),
    EPOLL("epoll_wait epoll_pwait", SYSCALL_TIMEOUT_MS),
    EPOLL("epoll_pwait2", SYSCALL_TIMEOUT_TIMESPEC),
    POLL("poll", 2, SYSCALL_TIMEOUT_MS),
    POLL("ppoll", 2, SYSCALL_TIMEOUT_TIMESPEC),
    SELECT("select", SYSCALL_TIMEOUT_TIMEVAL),
    SELECT("pselect6", SYSCALL_TIMEOUT_TIMESPEC),
    TIMED("nanosleep", SYSCALL_TOPIC_SLEEP, 0),
    TIMED("clock_nanosleep", SYSCALL_TOPIC_SLEEP, 2),
    TIMED("futex", SYSCALL_TOPIC_FUTEX, 3),
    TOPIC("msgrcv msgsnd", SYSCALL_TOPIC_MESSAGES),
    TOPIC("semop", SYSCALL_TOPIC_SEMAPHORES),
    TIMED("semtimedop", SYSCALL_TOPIC_SEMAPHORES, 3),
    TOPIC("wait4 waitid", SYSCALL_TOPIC_CHILD),
    TOPIC("vfork clone clone3", SYSCALL_TOPIC_VFORK),
    TOPIC("pause rt_sigsuspend rt_sigtimedwait", SYSCALL_TOPIC_SIGNAL),
    PATH("open creat stat lstat statfs access readlink truncate mkdir rmdir unlink mknod chmod chown "
         "lchown utime utimes chdir chroot execve getxattr lgetxattr setxattr lsetxattr listxattr "
         "llistxattr removexattr lremovexattr umount2 swapon swapoff acct",
         0),
    PATH("symlink quotactl inotify_add_watch", 1),
    PATH_AT("openat openat2 newfstatat statx faccessat faccessat2 readlinkat mkdirat unlinkat mknodat "
            "fchmodat fchmodat2 fchownat utimensat futimesat execveat name_to_handle_at open_tree "
            "mount_setattr fspick",
            0, 1),
    PATH_AT("symlinkat", 1, 2),
    PATH_AT("fanotify_mark", 3, 4),
    TWO_PATHS("rename link pivot_root"),
    TWO_PATHS_AT("renameat renameat2 linkat move_mount"),
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

static bool has_word(const char *words, const char *word)
{
    for (size_t length; *words != '\0'; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        if (strncmp(words, word, length) == 0 && word[length] == '\0')
            return true;
    }
    return false;
}

const struct syscall_shape *syscall_shape_of(const char *name)
{
    static const struct syscall_shape other = TOPIC("", SYSCALL_TOPIC_OTHER);

    for (size_t i = 0; name != NULL && i < ARRAY_COUNT(shapes); i++)
        if (has_word(shapes[i].names, name))
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
