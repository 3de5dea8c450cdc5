/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - privileges, limits, and a filter of system calls by libseccomp.
 *
 * A refused call fails with EPERM rather than kill: libdw asks for things that it can do without.
 */
#include "sym/child/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sym/protocol.h"

static const int allowed[] = {
    /* answering */
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendto),
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
static const scmp_datum_t allowed_fcntl[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC};

static int add_rules(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
    int result = 0;

    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]) && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    for (size_t i = 0; i < sizeof(allowed_fcntl) / sizeof(allowed_fcntl[0]) && result == 0; i++)
        result =
            seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, allowed_fcntl[i], 0));
    if (result == 0) /* abort() */
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY));
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_exec);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec);
    return result;
}

static int filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result;

    if (filter == NULL)
        return -ENOMEM;
    result = add_rules(filter);
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
    if (result == 0 && (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL))
        result = -errno;
    if (result == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        result = -errno;
    if (result == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) /* forgotten when the user changes: after it */
        result = -errno;
    if (result == 0)
        result = set_limit(RLIMIT_CORE, 0);
    if (result == 0)
        result = set_limit(RLIMIT_FSIZE, 0);
    if (result == 0)
        result = set_limit(RLIMIT_NOFILE, SANDBOX_DESCRIPTORS_MAX);
    if (result == 0 && !SANDBOX_FOR_SANITIZER)
        result = set_limit(RLIMIT_AS, SANDBOX_MEMORY_BYTES);
    return result == 0 && !SANDBOX_FOR_SANITIZER ? filter_calls() : result;
}
