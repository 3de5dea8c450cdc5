/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - capabilities, and the calls that each of the three may make; the rest is os/sandbox.h.
 *
 * The filter of a child is laid over the keeper's: both must allow.
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

/* Besides what os/sandbox.c allows to all. */
static const struct {
    unsigned to;
    const char *calls;
} allowed[] = {
    /* waiting; a sanitizer asks for the stack of signals before what does not return */
    {UINT_MAX, " poll ppoll clock_gettime setitimer sigaltstack"},
    /* reading; access control lists are attributes */
    {UINT_MAX, " fstatfs pidfd_open"},
    {SANDBOX_KEEPER | SANDBOX_WORKER, " faccessat faccessat2 readlink getdents64 process_vm_readv"},
    {SANDBOX_KEEPER | SANDBOX_FETCHER, " getxattr"},
    /* keeping children, and what they give up; tgkill: of a child that aborts, whose own filter has its own pid */
    {SANDBOX_KEEPER, " clone clone3 fork set_robust_list rseq getppid wait4 kill tgkill prctl seccomp"},
};

/*
 * Without CAP_SYS_PTRACE, as root in a container, a process may read those of its own user that hold no capability more
 * than itself: then the probe keeps all that root has there. The filter of calls bounds what it can do with them.
 * CAP_CHECKPOINT_RESTORE is for module_file.c, where root started ripd by hand: the service does not have it.
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
