/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - capabilities, and the calls that each of the three may make; the rest is os/sandbox.h.
 *
 * The filter of a child is laid over the keeper's: both must allow.
 */
#include "probe/child/sandbox.h"

#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <unistd.h>

#include "os/capability.h"
#include "os/sandbox.h"
#include "util/array.h"

#define EVIDENCE (CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH))

enum { KEEPER = 1, WORKER = 2, FETCHER = 4, ALL = KEEPER | WORKER | FETCHER };

struct allowed_call {
    int number;
    int who;
};

/* Besides what os/sandbox.c allows to all. */
static const struct allowed_call allowed[] = {
    /* waiting */
    {SCMP_SYS(poll), ALL},
    {SCMP_SYS(ppoll), ALL},
    {SCMP_SYS(clock_gettime), ALL},
    {SCMP_SYS(setitimer), ALL},
    {SCMP_SYS(sigaltstack), ALL}, /* of the thread itself; sanitizers ask before what does not return */
    /* reading */
    {SCMP_SYS(fstatfs), ALL},
    {SCMP_SYS(pidfd_open), ALL},
    {SCMP_SYS(faccessat), KEEPER | WORKER},
    {SCMP_SYS(faccessat2), KEEPER | WORKER},
    {SCMP_SYS(readlink), KEEPER | WORKER},
    {SCMP_SYS(getdents64), KEEPER | WORKER},
    {SCMP_SYS(process_vm_readv), KEEPER | WORKER},
    {SCMP_SYS(getxattr), KEEPER | FETCHER}, /* access control lists */
    /* keeping children, and what they give up */
    {SCMP_SYS(clone), KEEPER},
    {SCMP_SYS(clone3), KEEPER},
    {SCMP_SYS(fork), KEEPER},
    {SCMP_SYS(set_robust_list), KEEPER},
    {SCMP_SYS(rseq), KEEPER},
    {SCMP_SYS(getppid), KEEPER},
    {SCMP_SYS(wait4), KEEPER},
    {SCMP_SYS(kill), KEEPER},
    {SCMP_SYS(tgkill), KEEPER}, /* a child that aborts: its own filter has its own pid */
    {SCMP_SYS(prctl), KEEPER},
    {SCMP_SYS(seccomp), KEEPER},
};

static const struct sandbox_condition allowed_if[] = {{SCMP_SYS(fcntl), 1, F_GETLK}};

#define ALLOWED_COUNT (ARRAY_COUNT(allowed))

static int filter_calls(int who)
{
    int calls[ALLOWED_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < ALLOWED_COUNT; i++)
        if ((allowed[i].who & who) != 0)
            calls[count++] = allowed[i].number;
    return sandbox_filter(calls, count, allowed_if, ARRAY_COUNT(allowed_if));
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
