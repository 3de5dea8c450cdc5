/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - prctl, setrlimit and libseccomp. Touches the calling process alone.
 *
 * A refused call fails rather than kill: libraries ask for things that they can do without.
 */
#include "os/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
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

/* A hard limit that is lower stays: it cannot be raised. */
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

/* What each of them needs: to answer, to read files, to have memory, and to abort. */
static const int common_calls[] = {
    SCMP_SYS(recvmsg),      SCMP_SYS(sendmsg),      SCMP_SYS(close),          SCMP_SYS(exit),
    SCMP_SYS(exit_group),   SCMP_SYS(read),         SCMP_SYS(pread64),        SCMP_SYS(lseek),
    SCMP_SYS(fstat),        SCMP_SYS(newfstatat),   SCMP_SYS(statx),          SCMP_SYS(readlinkat),
    SCMP_SYS(brk),          SCMP_SYS(munmap),       SCMP_SYS(mremap),         SCMP_SYS(madvise),
    SCMP_SYS(futex),        SCMP_SYS(gettid),       SCMP_SYS(getpid),         SCMP_SYS(getrandom),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
};

/* Of fcntl: none that makes the kernel send signals, to whom they name, or that takes a lock. */
static const struct sandbox_condition common_conditions[] = {
    {SCMP_SYS(fcntl), 1, F_GETFD},
    {SCMP_SYS(fcntl), 1, F_SETFD},
    {SCMP_SYS(fcntl), 1, F_GETFL},
    {SCMP_SYS(fcntl), 1, F_DUPFD_CLOEXEC},
};

static int add_calls(scmp_filter_ctx filter, const int *calls, size_t call_count,
                     const struct sandbox_condition *conditions, size_t condition_count)
{
    int result = 0;

    for (size_t i = 0; i < call_count && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    for (size_t i = 0; i < condition_count && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, conditions[i].number, 1,
                                  SCMP_CMP(conditions[i].argument, SCMP_CMP_EQ, conditions[i].value, 0));
    return result;
}

/* No new code, nothing written, no signal to another process (abort() sends one to itself). */
static int add_masked_calls(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
    const struct {
        int number;
        struct scmp_arg_cmp condition;
    } masked[] = {
        {SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY)},
        {SCMP_SYS(mmap), no_exec},
        {SCMP_SYS(mprotect), no_exec},
        {SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0)},
    };
    int result = 0;

    for (size_t i = 0; i < ARRAY_COUNT(masked) && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, masked[i].number, 1, masked[i].condition);
    return result;
}

int sandbox_filter(const int *calls, size_t call_count, const struct sandbox_condition *conditions,
                   size_t condition_count)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result;

    if (filter == NULL)
        return -ENOMEM;
    result = add_masked_calls(filter);
    if (result == 0)
        result = add_calls(filter, common_calls, ARRAY_COUNT(common_calls), common_conditions,
                           ARRAY_COUNT(common_conditions));
    if (result == 0)
        result = add_calls(filter, calls, call_count, conditions, condition_count);
    if (result == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result;
}
