/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - the capabilities of ripd-probe, and the system calls of each of its three processes. os/sandbox.h does
 * the rest.
 *
 * A child has the keeper's filter and its own: both must allow a call.
 */
#include "probe/child/sandbox.h"

#include <limits.h>
#include <stddef.h>
#include <unistd.h>

#include "os/capability.h"
#include "os/sandbox.h"
#include "util/array.h"
#include "util/text.h"

#define EVIDENCE (CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH))

/* In addition to what os/sandbox.c allows to all. */
static const struct {
    unsigned to;
    const char *calls;
} allowed[] = {
    /* waiting; sanitizers call sigaltstack before functions that do not return */
    {UINT_MAX, " poll ppoll clock_gettime setitimer sigaltstack"},
    /* reading; access control lists are extended attributes */
    {UINT_MAX, " fstatfs pidfd_open"},
    {SANDBOX_KEEPER | SANDBOX_WORKER, " faccessat faccessat2 readlink getdents64 process_vm_readv"},
    {SANDBOX_KEEPER | SANDBOX_FETCHER, " getxattr"},
    /* children and their restrictions; tgkill: for a child that aborts, whose own filter allows only its own pid */
    {SANDBOX_KEEPER, " clone clone3 fork set_robust_list rseq getppid wait4 kill tgkill prctl seccomp"},
};

/*
 * Returns the capabilities to keep. Root without CAP_SYS_PTRACE, as in a container, may read only processes of its own
 * user that hold no more capabilities than it does. So there the probe keeps all that root has; the system call filter
 * limits their use. CAP_CHECKPOINT_RESTORE is for module_file.c if root started ripd by hand; the service does not have
 * it.
 */
static uint64_t kept_capabilities(void)
{
    uint64_t permitted;

    if (geteuid() == 0 && capability_permitted(&permitted) == 0 && (permitted & CAPABILITY(CAP_SYS_PTRACE)) == 0)
        return permitted;
    return EVIDENCE | CAPABILITY(CAP_CHECKPOINT_RESTORE);
}

int sandbox_enter_as(enum sandbox_process process, pid_t parent)
{
    char calls[512] = "";
    int result = process == SANDBOX_KEEPER
                     ? sandbox_give_up(kept_capabilities(), SANDBOX_MEMORY_BYTES, SANDBOX_DESCRIPTORS_MAX)
                     : sandbox_die_with_parent(parent);

    for (size_t i = 0; i < ARRAY_COUNT(allowed); i++)
        if ((allowed[i].to & (unsigned)process) != 0)
            text_append(calls, sizeof(calls), "%s", allowed[i].calls);
    return result == 0 ? sandbox_filter(calls, true) : result;
}
