/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - prctl, setrlimit and libseccomp. Touches only the calling process.
 *
 * A refused system call fails and does not kill the process, because libraries try calls that they can do without.
 */
#include "os/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/capability.h"
#include "util/array.h"

int sandbox_die_with_parent(pid_t parent)
{
    if (parent == 0)
        parent = getppid();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return -errno;
    return getppid() == parent ? 0 : -ESRCH;
}

/* Sets a limit. A lower hard limit stays, because it cannot be raised. */
static int set_limit(__rlimit_resource_t resource, uint64_t value)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0)
        return -errno;
    limit.rlim_cur = limit.rlim_max = value < limit.rlim_max ? value : limit.rlim_max;
    return setrlimit(resource, &limit) == 0 ? 0 : -errno;
}

int sandbox_give_up(uint64_t capabilities, uint64_t memory_bytes, uint64_t descriptors_max)
{
    int result = capability_keep(capabilities);

    if (result == 0)
        result = sandbox_die_with_parent(0);
    if (result == 0)
        result = set_limit(RLIMIT_CORE, 0);
    if (result == 0)
        result = set_limit(RLIMIT_FSIZE, 0);
    if (result == 0)
        result = set_limit(RLIMIT_NOFILE, descriptors_max);
    if (result == 0 && !SANDBOX_FOR_SANITIZER)
        result = set_limit(RLIMIT_AS, memory_bytes);
    return result;
}

/* The calls that every such process needs: to answer, to read files, to allocate memory, and to abort. */
static const char common_calls[] = "recvmsg sendmsg close exit exit_group read pread64 lseek fstat newfstatat statx "
                                   "readlinkat brk munmap mremap madvise futex gettid getpid getrandom rt_sigreturn "
                                   "rt_sigaction rt_sigprocmask";

static int allow(scmp_filter_ctx filter, const char *calls)
{
    char name[32];
    int result = 0;

    for (int length = 0; result == 0 && sscanf(calls, "%31s%n", name, &length) == 1; calls += length) {
        const int number = seccomp_syscall_resolve_name(name);

        result = number != __NR_SCMP_ERROR ? seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0) : -EINVAL;
    }
    return result;
}

/*
 * Allows some calls with certain arguments only. No executable memory, no files for writing, no signals to other
 * processes (abort() sends one to its own). No fcntl command that makes the kernel send signals or that takes a lock.
 */
static int allow_with_arguments(scmp_filter_ctx filter, bool asks_locks)
{
    const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
    const struct {
        int number;
        struct scmp_arg_cmp condition;
    } some[] = {
        {SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY)},
        {SCMP_SYS(mmap), no_exec},
        {SCMP_SYS(mprotect), no_exec},
        {SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0)},
        {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETFD, 0)},
        {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_SETFD, 0)},
        {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETFL, 0)},
        {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_DUPFD_CLOEXEC, 0)},
        {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETLK, 0)}, /* must be last: only if asks_locks */
    };
    int result = 0;

    for (size_t i = 0; i < ARRAY_COUNT(some) - !asks_locks && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, some[i].number, 1, some[i].condition);
    return result;
}

int sandbox_filter(const char *calls, bool asks_locks)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result;

    if (filter == NULL)
        return -ENOMEM;
    result = allow_with_arguments(filter, asks_locks);
    if (result == 0)
        result = allow(filter, common_calls);
    if (result == 0)
        result = allow(filter, calls);
    if (result == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result;
}
