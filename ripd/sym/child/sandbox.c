/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.c - privileges, and the calls that reading files and answering takes; the rest is os/sandbox.h. */
#include "sym/child/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <unistd.h>

#include "os/capability.h"
#include "os/sandbox.h"
#include "sym/protocol.h"

static const int allowed[] = {
    /* answering */
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(close),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigreturn),
    /* reading */
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(stat),
    SCMP_SYS(statx),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getcwd),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(getrandom),
    /* ending badly */
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
};

/* Of fcntl: none that makes the kernel send signals, to whom they name. */
static const struct sandbox_condition allowed_if[] = {
    {SCMP_SYS(fcntl), 1, F_GETFD},
    {SCMP_SYS(fcntl), 1, F_SETFD},
    {SCMP_SYS(fcntl), 1, F_GETFL},
    {SCMP_SYS(fcntl), 1, F_DUPFD_CLOEXEC},
};

static int give_up_root(void)
{
    if (geteuid() != 0 && getuid() != 0)
        return 0;
    if (setgroups(0, NULL) != 0 || setresgid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) != 0 ||
        setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) != 0)
        return -errno;
    return 0;
}

/* When memory is short it goes first: ripd goes on without. Nothing is lost where this fails. */
static void offer_to_die(void)
{
    int descriptor = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (descriptor < 0)
        return;
    (void)!write(descriptor, "1000", 4);
    close(descriptor);
}

int sandbox_enter(void)
{
    int result;

    offer_to_die();
    (void)close_range(SYM_DESCRIPTOR + 1, ~0U, 0); /* ripd's are closed on exec anyway */
    result = give_up_root();
    if (result == 0)
        result = capability_keep(0);
    if (result == 0)
        result = sandbox_die_with_parent(); /* forgotten when the user changes: after it */
    if (result == 0)
        result = sandbox_limit(SANDBOX_MEMORY_BYTES, SANDBOX_DESCRIPTORS_MAX);
    if (result != 0 || SANDBOX_FOR_SANITIZER)
        return result;
    return sandbox_filter(allowed, sizeof(allowed) / sizeof(allowed[0]), allowed_if,
                          sizeof(allowed_if) / sizeof(allowed_if[0]));
}
