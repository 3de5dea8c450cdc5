/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - capabilities, and the calls that each of the two may make; the rest is os/sandbox.h.
 *
 * The worker's filter is laid over the keeper's: both must allow.
 */
#include "probe/child/sandbox.h"

#include <seccomp.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "os/capability.h"
#include "os/sandbox.h"

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
    {SCMP_SYS(tgkill), true}, /* a worker that aborts: its own filter has its own pid */
    {SCMP_SYS(clock_nanosleep), true},
    {SCMP_SYS(prctl), true},
    {SCMP_SYS(prlimit64), true},
    {SCMP_SYS(setrlimit), true},
    {SCMP_SYS(seccomp), true},
};

static const struct sandbox_condition keeper_if[] = {{SCMP_SYS(socketpair), 0, AF_UNIX}};

#define ALLOWED_COUNT (sizeof(allowed) / sizeof(allowed[0]))

static int filter_calls(bool keeper)
{
    int calls[ALLOWED_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < ALLOWED_COUNT; i++)
        if (keeper || !allowed[i].keeper_only)
            calls[count++] = allowed[i].number;
    return sandbox_filter(calls, count, keeper_if, keeper ? sizeof(keeper_if) / sizeof(keeper_if[0]) : 0);
}

int sandbox_enter_keeper(void)
{
    int result = capability_keep(KEPT);

    if (result == 0)
        result = sandbox_die_with_parent();
    if (result == 0)
        result = sandbox_limit(SANDBOX_MEMORY_BYTES, SANDBOX_DESCRIPTORS_MAX);
    return result == 0 ? filter_calls(true) : result;
}

int sandbox_enter_worker(void)
{
    int result = sandbox_die_with_parent();

    return result == 0 ? filter_calls(false) : result;
}
