/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.c - two tables: names and numbers, generated from the compiler's <sys/syscall.h> when ripd is built
 * (syscall_names.cmake); and the arguments of calls, by name. Pure.
 *
 * Guarantees
 *   A. A name that this machine does not have is never found by a number. A call without a row has no known argument.
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

#define SHAPE(calls, kind, ...)                                                                                        \
    {                                                                                                                  \
        .names = calls, .topic = SYSCALL_TOPIC_##kind, __VA_ARGS__                                                     \
    }
#define TIMEOUT(argument, form) .timeout = argument, .timeout_form = SYSCALL_TIMEOUT_##form
#define ADDRESS(argument, form) .address = argument, .address_form = SYSCALL_ADDRESS_##form
#define PATH(argument)                                                                                                 \
    {                                                                                                                  \
        argument, SYSCALL_CURRENT                                                                                      \
    }

static const struct syscall_shape shapes[] = {
    SHAPE(
        "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 recvfrom recvmsg recvmmsg sendmmsg "
        "accept accept4 shutdown close fsync fdatasync sync_file_range syncfs ftruncate fallocate fstat fchmod fchown "
        "lseek getdents getdents64 fstatfs fchdir ioctl splice tee vmsplice copy_file_range io_uring_enter "
        "mq_timedreceive mq_timedsend sendfile",
        DESCRIPTOR),
    SHAPE("sendto", DESCRIPTOR, ADDRESS(4, SEND)),
    SHAPE("sendmsg", DESCRIPTOR, ADDRESS(1, MESSAGE)),
    SHAPE("connect", DESCRIPTOR, ADDRESS(1, CONNECT)),
    SHAPE("flock fcntl", DESCRIPTOR, .locks_file = true),
    SHAPE("epoll_wait epoll_pwait", DESCRIPTOR, TIMEOUT(3, MS)),
    SHAPE("epoll_pwait2", DESCRIPTOR, TIMEOUT(3, TIMESPEC)),
    SHAPE("poll", POLL, .count = 1, TIMEOUT(2, MS)),
    SHAPE("ppoll", POLL, .count = 1, TIMEOUT(2, TIMESPEC)),
    SHAPE("select", POLL, .count = 0, TIMEOUT(4, TIMEVAL)),
    SHAPE("pselect6", POLL, .count = 0, TIMEOUT(4, TIMESPEC)),
    SHAPE("nanosleep", SLEEP, TIMEOUT(0, TIMESPEC)),
    SHAPE("clock_nanosleep", SLEEP, TIMEOUT(2, TIMESPEC)),
    SHAPE("futex", FUTEX, TIMEOUT(3, TIMESPEC)),
    SHAPE("msgrcv msgsnd", MESSAGES),
    SHAPE("semop", SEMAPHORES),
    SHAPE("semtimedop", SEMAPHORES, TIMEOUT(3, TIMESPEC)),
    SHAPE("wait4 waitid", CHILD),
    SHAPE("vfork clone clone3", VFORK),
    SHAPE("pause rt_sigsuspend rt_sigtimedwait", SIGNAL),
    SHAPE("open creat stat lstat statfs access readlink truncate mkdir rmdir unlink mknod chmod chown lchown utime "
          "utimes chdir chroot execve getxattr lgetxattr setxattr lsetxattr listxattr llistxattr removexattr "
          "lremovexattr umount2 swapon swapoff acct",
          PATH, .paths = {PATH(0)}),
    SHAPE("symlink quotactl inotify_add_watch", PATH, .paths = {PATH(1)}),
    SHAPE("openat openat2 newfstatat statx faccessat faccessat2 readlinkat mkdirat unlinkat mknodat fchmodat fchmodat2 "
          "fchownat utimensat futimesat execveat name_to_handle_at open_tree mount_setattr fspick",
          PATH, .paths = {{1, 0}}),
    SHAPE("symlinkat", PATH, .paths = {{2, 1}}),
    SHAPE("fanotify_mark", PATH, .paths = {{4, 3}}),
    SHAPE("rename link pivot_root", PATH, .paths = {PATH(0), PATH(1)}),
    SHAPE("renameat renameat2 linkat move_mount", PATH, .paths = {{1, 0}, {3, 2}}),
    SHAPE("mount", PATH, .paths = {{0, SYSCALL_AS_GIVEN}, PATH(1)}),
    SHAPE("restart_syscall", RESTART),
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
    static const struct syscall_shape other = SHAPE("", OTHER);

    for (size_t i = 0; name != NULL && i < ARRAY_COUNT(shapes); i++)
        if (has_word(shapes[i].names, name))
            return &shapes[i];
    return &other;
}

/* FUTEX_* of linux/futex.h, which is part of the kernel's ABI. */
const char *syscall_futex_name(uint64_t operation)
{
    enum { FUTEX_COMMAND_MASK = 127 };
    static const char *const names[] = {
        [0] = "wait", [6] = "lock_pi", [9] = "wait_bitset", [11] = "wait_requeue_pi", [13] = "lock_pi2",
    };
    uint64_t command = operation & FUTEX_COMMAND_MASK;

    return command < ARRAY_COUNT(names) ? names[command] : NULL;
}
