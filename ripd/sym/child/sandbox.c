/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.c - privileges, and the calls that reading files and answering takes; the rest is os/sandbox.h. */
#include "sym/child/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include "os/sandbox.h"
#include "os/spawn.h"

/* Besides what os/sandbox.c allows to all: what libdw looks for files with. */
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
    (void)close_range(SPAWN_SOCKET + 1, ~0U, 0); /* ripd's are closed on exec anyway */
    result = give_up_root();
    if (result == 0) /* dying with the parent is forgotten when the user changes: after it */
        result = sandbox_give_up(0, SANDBOX_MEMORY_BYTES, SANDBOX_DESCRIPTORS_MAX);
    if (result != 0 || SANDBOX_FOR_SANITIZER)
        return result;
    return sandbox_filter(allowed, false);
}
