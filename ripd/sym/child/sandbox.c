/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.c - drops privileges, and lists the permitted system calls. The rest is in os/sandbox.h. */
#include "sym/child/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include "os/sandbox.h"
#include "os/spawn.h"

/* In addition to the calls that os/sandbox.c permits: libdw searches for files with these. */
static const char allowed[] = "stat access faccessat faccessat2 readlink getcwd";

static int become(uint32_t user)
{
    return setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0 ? 0 : -errno;
}

static int give_up_root(void)
{
    int result;

    if (geteuid() != 0 && getuid() != 0)
        return 0;
    if (setgroups(0, NULL) != 0)
        return -errno;
    result = become(SANDBOX_USER);
    return result == -EINVAL ? become(SANDBOX_NOBODY) : result;
}

/* Makes this process the first to be killed when memory is short: ripd works without it. Failure is harmless. */
static void prefer_oom_kill(void)
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

    prefer_oom_kill();
    (void)close_range(SPAWN_SOCKET + 1, ~0U, 0); /* ripd's descriptors are closed on exec anyway */
    result = give_up_root();
    if (result == 0) /* after changing the user, which clears the parent death signal */
        result = sandbox_give_up(0, SANDBOX_MEMORY_BYTES, SANDBOX_DESCRIPTORS_MAX);
    if (result != 0 || SANDBOX_FOR_SANITIZER)
        return result;
    return sandbox_filter(allowed, false);
}
