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

int sandbox_die_with_parent(void)
{
    pid_t parent = getppid();

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return -errno;
    return getppid() == parent ? 0 : -ESRCH;
}

static int set_limit(__rlimit_resource_t resource, uint64_t value)
{
    struct rlimit limit = {value, value};

    return setrlimit(resource, &limit) == 0 ? 0 : -errno;
}

int sandbox_limit(uint64_t memory_bytes, uint64_t descriptors_max)
{
    int result = set_limit(RLIMIT_CORE, 0);

    if (result == 0)
        result = set_limit(RLIMIT_FSIZE, 0);
    if (result == 0)
        result = set_limit(RLIMIT_NOFILE, descriptors_max);
    if (result == 0 && !SANDBOX_FOR_SANITIZER)
        result = set_limit(RLIMIT_AS, memory_bytes);
    return result;
}

/* No new code, nothing written, no signal to anybody else (abort() sends one to itself). */
static int add_common_rules(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
    int result =
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY));

    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_exec);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
    return result;
}

int sandbox_filter(const int *calls, size_t call_count, const struct sandbox_condition *conditions,
                   size_t condition_count)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result;

    if (filter == NULL)
        return -ENOMEM;
    result = add_common_rules(filter);
    for (size_t i = 0; i < call_count && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    for (size_t i = 0; i < condition_count && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, conditions[i].number, 1,
                                  SCMP_CMP(conditions[i].argument, SCMP_CMP_EQ, conditions[i].value, 0));
    if (result == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result;
}
