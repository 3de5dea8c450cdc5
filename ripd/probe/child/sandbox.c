/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - capabilities, and the calls that each of the three may make; the rest is os/sandbox.h.
 *
 * The filter of a child is laid over the keeper's: both must allow.
 */
#include "probe/child/sandbox.h"

#include <stddef.h>
#include <unistd.h>

#include "os/capability.h"
#include "os/sandbox.h"
#include "util/array.h"
#include "util/text.h"

#define EVIDENCE (CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH))

enum { KEEPER = 1, WORKER = 2, FETCHER = 4, ALL = KEEPER | WORKER | FETCHER };

/* Besides what os/sandbox.c allows to all. */
static const struct {
    int who;
    const char *calls;
} allowed[] = {
    /* waiting; a sanitizer asks for the stack of signals before what does not return */
    {ALL, " poll ppoll clock_gettime setitimer sigaltstack"},
    /* reading; access control lists are attributes */
    {ALL, " fstatfs pidfd_open"},
    {KEEPER | WORKER, " faccessat faccessat2 readlink getdents64 process_vm_readv"},
    {KEEPER | FETCHER, " getxattr"},
    /* keeping children, and what they give up; tgkill: of a child that aborts, whose own filter has its own pid */
    {KEEPER, " clone clone3 fork set_robust_list rseq getppid wait4 kill tgkill prctl seccomp"},
};

static int filter_calls(int who)
{
    char calls[512] = "";

    for (size_t i = 0; i < ARRAY_COUNT(allowed); i++)
        if ((allowed[i].who & who) != 0)
            text_append(calls, sizeof(calls), "%s", allowed[i].calls);
    return sandbox_filter(calls, true);
}

static int enter_child(int who, pid_t parent)
{
    int result = sandbox_die_with_parent(parent);

    return result == 0 ? filter_calls(who) : result;
}

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

int sandbox_enter_keeper(void)
{
    int result = sandbox_give_up(kept_capabilities(), SANDBOX_MEMORY_BYTES, SANDBOX_DESCRIPTORS_MAX);

    return result == 0 ? filter_calls(KEEPER) : result;
}

int sandbox_enter_worker(pid_t parent)
{
    return enter_child(WORKER, parent);
}

int sandbox_enter_fetcher(pid_t parent)
{
    return enter_child(FETCHER, parent);
}
