/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - capabilities, limits, and a filter of system calls by libseccomp.
 *
 * A refused call fails with EPERM rather than kill. The worker's filter is laid over the keeper's: both must allow.
 */
#include "probe/child/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/capability.h"

/* Sanitizers take address space without bound. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if !defined(IS_SANITIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define IS_SANITIZED 1
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#define KEPT (CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH))

struct allowed_call {
    int number;
    bool keeper_only;
};

static const struct allowed_call allowed[] = {
    /* talking */
    {SCMP_SYS(recvmsg), false},
    {SCMP_SYS(sendmsg), false},
    {SCMP_SYS(poll), false},
    {SCMP_SYS(ppoll), false},
    {SCMP_SYS(close), false},
    {SCMP_SYS(exit), false},
    {SCMP_SYS(exit_group), false},
    /* reading */
    {SCMP_SYS(read), false},
    {SCMP_SYS(pread64), false},
    {SCMP_SYS(lseek), false},
    {SCMP_SYS(fstat), false},
    {SCMP_SYS(fstatfs), false},
    {SCMP_SYS(newfstatat), false},
    {SCMP_SYS(statx), false},
    {SCMP_SYS(faccessat), false},
    {SCMP_SYS(faccessat2), false},
    {SCMP_SYS(readlink), false},
    {SCMP_SYS(readlinkat), false},
    {SCMP_SYS(getdents64), false},
    {SCMP_SYS(fcntl), false}, /* F_GETLK */
    {SCMP_SYS(pidfd_open), false},
    {SCMP_SYS(process_vm_readv), false},
    /* time */
    {SCMP_SYS(clock_gettime), false},
    {SCMP_SYS(setitimer), false},
    /* memory */
    {SCMP_SYS(brk), false},
    {SCMP_SYS(munmap), false},
    {SCMP_SYS(mremap), false},
    {SCMP_SYS(madvise), false},
    {SCMP_SYS(futex), false},
    {SCMP_SYS(getrandom), false},
    /* signals: SIGBUS of rings that are cut, and ending badly */
    {SCMP_SYS(rt_sigreturn), false},
    {SCMP_SYS(rt_sigprocmask), false},
    {SCMP_SYS(rt_sigaction), false},
    {SCMP_SYS(gettid), false},
    {SCMP_SYS(getpid), false},
    /* keeping a worker */
    {SCMP_SYS(clone), true},
    {SCMP_SYS(clone3), true},
    {SCMP_SYS(fork), true},
    {SCMP_SYS(set_robust_list), true},
    {SCMP_SYS(rseq), true},
    {SCMP_SYS(getppid), true},
    {SCMP_SYS(wait4), true},
    {SCMP_SYS(waitid), true},
    {SCMP_SYS(kill), true},
    {SCMP_SYS(clock_nanosleep), true},
    {SCMP_SYS(prctl), true},
    {SCMP_SYS(prlimit64), true},
    {SCMP_SYS(setrlimit), true},
    {SCMP_SYS(seccomp), true},
};

static int add_rules(scmp_filter_ctx filter, bool keeper)
{
    const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
    int result = 0;

    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]) && result == 0; i++)
        if (keeper || !allowed[i].keeper_only)
            result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i].number, 0);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY));
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_exec);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec);
    if (result == 0 && keeper)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)AF_UNIX, 0));
    if (result == 0 && keeper)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 0);
    if (result == 0 && !keeper)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
    return result;
}

static int filter_calls(bool keeper)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result;

    if (filter == NULL)
        return -ENOMEM;
    result = add_rules(filter, keeper);
    if (result == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result;
}

static int set_limit(__rlimit_resource_t resource, uint64_t value)
{
    struct rlimit limit = {value, value};

    return setrlimit(resource, &limit) == 0 ? 0 : -errno;
}

static int die_with_parent(void)
{
    pid_t parent = getppid();

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return -errno;
    return getppid() == parent ? 0 : -ESRCH;
}

int sandbox_enter_keeper(void)
{
    int result = capability_keep(KEPT);

    if (result == 0)
        result = die_with_parent();
    if (result == 0)
        result = set_limit(RLIMIT_CORE, 0);
    if (result == 0)
        result = set_limit(RLIMIT_FSIZE, 0);
    if (result == 0)
        result = set_limit(RLIMIT_NOFILE, SANDBOX_DESCRIPTORS_MAX);
    if (result == 0 && !IS_SANITIZED)
        result = set_limit(RLIMIT_AS, SANDBOX_MEMORY_BYTES);
    return result == 0 ? filter_calls(true) : result;
}

int sandbox_enter_worker(void)
{
    int result = die_with_parent();

    return result == 0 ? filter_calls(false) : result;
}
