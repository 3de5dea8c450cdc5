/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.c - two tables: names and numbers, made from the compiler's <sys/syscall.h> when ripd is built
 * (syscall_names.cmake), and by name what the arguments are. Pure.
 *
 * Guarantees
 *   A. A name that this machine does not have is never found by a number; a call without a row has no argument.
 */
#include "core/syscalls.h"

#include <stddef.h>
#include <string.h>

static const struct syscall_number {
    const char *name;
    uint64_t number;
} numbers[] = {
#define SYSCALL_ROW(name, number) {name, number},
#include "core/syscall_names.h"
#undef SYSCALL_ROW
};

#define NONE SYSCALL_NO_ARGUMENT

#define DESCRIPTOR_OF(name)                                                                                            \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE                                      \
    }
#define EPOLL(name, form)                                                                                              \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, 3, form, NONE                                                         \
    }
#define POLL(name, timeout, form)                                                                                      \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_POLL, NONE, 1, timeout, form, NONE                                                         \
    }
#define SELECT(name, form)                                                                                             \
    {                                                                                                                  \
        name, SYSCALL_TOPIC_POLL, NONE, 0, 4, form, NONE                                                               \
    }
#define TOPIC(name, topic)                                                                                             \
    {                                                                                                                  \
        name, topic, NONE, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE                                                      \
    }

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
    DESCRIPTOR_OF("sendto"),
    DESCRIPTOR_OF("sendmsg"),
    DESCRIPTOR_OF("sendmmsg"),
    DESCRIPTOR_OF("connect"),
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
    DESCRIPTOR_OF("getdents64"),
    DESCRIPTOR_OF("ioctl"),
    DESCRIPTOR_OF("splice"),
    DESCRIPTOR_OF("tee"),
    DESCRIPTOR_OF("vmsplice"),
    DESCRIPTOR_OF("copy_file_range"),
    DESCRIPTOR_OF("io_uring_enter"),
    DESCRIPTOR_OF("mq_timedreceive"),
    DESCRIPTOR_OF("mq_timedsend"),
    {"sendfile", SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE},
    {"flock", SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, 1},
    {"fcntl", SYSCALL_TOPIC_DESCRIPTOR, 0, NONE, NONE, SYSCALL_TIMEOUT_NONE, 1},
    EPOLL("epoll_wait", SYSCALL_TIMEOUT_MS),
    EPOLL("epoll_pwait", SYSCALL_TIMEOUT_MS),
    EPOLL("epoll_pwait2", SYSCALL_TIMEOUT_TIMESPEC),
    POLL("poll", 2, SYSCALL_TIMEOUT_MS),
    POLL("ppoll", 2, SYSCALL_TIMEOUT_TIMESPEC),
    SELECT("select", SYSCALL_TIMEOUT_TIMEVAL),
    SELECT("pselect6", SYSCALL_TIMEOUT_TIMESPEC),
    {"nanosleep", SYSCALL_TOPIC_SLEEP, NONE, NONE, 0, SYSCALL_TIMEOUT_TIMESPEC, NONE},
    {"clock_nanosleep", SYSCALL_TOPIC_SLEEP, NONE, NONE, 2, SYSCALL_TIMEOUT_TIMESPEC, NONE},
    {"futex", SYSCALL_TOPIC_FUTEX, NONE, NONE, 3, SYSCALL_TIMEOUT_TIMESPEC, NONE},
    TOPIC("msgrcv", SYSCALL_TOPIC_MESSAGES),
    TOPIC("msgsnd", SYSCALL_TOPIC_MESSAGES),
    TOPIC("semop", SYSCALL_TOPIC_SEMAPHORES),
    {"semtimedop", SYSCALL_TOPIC_SEMAPHORES, NONE, NONE, 3, SYSCALL_TIMEOUT_TIMESPEC, NONE},
    TOPIC("wait4", SYSCALL_TOPIC_CHILD),
    TOPIC("waitid", SYSCALL_TOPIC_CHILD),
    TOPIC("pause", SYSCALL_TOPIC_SIGNAL),
    TOPIC("rt_sigsuspend", SYSCALL_TOPIC_SIGNAL),
    TOPIC("rt_sigtimedwait", SYSCALL_TOPIC_SIGNAL),
    TOPIC("restart_syscall", SYSCALL_TOPIC_RESTART),
};

const char *syscall_name(uint64_t number)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].number == number)
            return numbers[i].name;
    return NULL;
}

const struct syscall_shape *syscall_shape_of(const char *name)
{
    static const struct syscall_shape other = {"", SYSCALL_TOPIC_OTHER, NONE, NONE, NONE, SYSCALL_TIMEOUT_NONE, NONE};

    for (size_t i = 0; name != NULL && i < sizeof(shapes) / sizeof(shapes[0]); i++)
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

    return command < sizeof(names) / sizeof(names[0]) ? names[command] : NULL;
}
