/* SPDX-License-Identifier: Apache-2.0 */
/* test_capability.c - drops capabilities for good, and keeps the others: ripd/os/capability.c. In child processes. */
#include "os/capability.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int in_child(int (*body)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int keep_one(void)
{
    const uint64_t kept = CAPABILITY(CAP_SYS_PTRACE);
    uint64_t before = 0, after = 0;

    if (capability_permitted(&before) != 0 || capability_keep(kept) != 0 || capability_permitted(&after) != 0)
        return 1;
    if (after != (before & kept))
        return 2;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return 3;
    if ((before & CAPABILITY(CAP_SETPCAP)) != 0 && prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0)
        return 4;
    return 0;
}

static int keep_none(void)
{
    uint64_t after = 1;

    if (capability_keep(0) != 0 || capability_permitted(&after) != 0 || after != 0)
        return 1;
    if (geteuid() == 0 && chown("/proc/self", 1, 1) == 0)
        return 2;
    execl("/bin/sh", "sh", "-c", "grep -q '^CapEff:.0*$' /proc/self/status",
          (char *)NULL); /* exec does not give them back */
    return 3;
}

TEST(capabilities)
{
    assert_int_equal(in_child(keep_one), 0);
    assert_int_equal(in_child(keep_none), 0);
}
