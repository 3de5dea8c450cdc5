/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_probe_sandbox.c - what the processes of ripd-probe can and cannot do in their sandbox, tried from inside:
 * ripd/probe/child/sandbox.c. test_sandbox.c has the filter that all helpers have.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "probe/child/sandbox.h"
#include "support/test.h"

static int ends[2]; /* of a pair of sockets */
static int file;    /* open for reading and writing */

static bool is_refused(long result)
{
    return result == -1 && errno == EPERM;
}

static bool may_signal(void)
{
    return !is_refused(kill(0x7ffffffe, 0)) || !is_refused(fcntl(ends[0], F_SETOWN, getppid())) ||
           !is_refused(fcntl(ends[0], F_SETSIG, SIGKILL)) || !is_refused(fcntl(ends[0], F_SETFL, O_ASYNC)) ||
           !is_refused(fcntl(file, F_SETLEASE, F_RDLCK)) || !is_refused(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static bool may_lock(void)
{
    struct flock lock = {.l_type = F_RDLCK, .l_len = 1};

    return !is_refused(fcntl(file, F_SETLK, &lock)) || !is_refused(fcntl(file, F_OFD_SETLK, &lock));
}

static bool may_make(void)
{
    return !is_refused(socket(AF_UNIX, SOCK_STREAM, 0)) || !is_refused(socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) ||
           !is_refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) || !is_refused(write(file, "x", 1)) ||
           !is_refused(open("/dev/null", O_WRONLY));
}

/* The worker needs queries about locks. */
static bool can_ask(void)
{
    uint32_t pid;

    return file_lock_holder(file, 0, &pid) == 0 && (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR;
}

/* Returns the status of a child in the sandbox of the keeper, and in the inner one if that is not 0. */
static int run_inside(int inner)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        if (sandbox_enter_as(SANDBOX_KEEPER, 0) != 0 ||
            (inner != 0 && sandbox_enter_as((enum sandbox_process)inner, 0) != 0))
            _exit(100);
        if (inner == 0) /* the keeper may kill its children, but not signal in other ways or lock */
            _exit(!is_refused(fcntl(ends[0], F_SETOWN, getppid())) || may_lock() || !can_ask());
        _exit(may_signal() ? 1 : may_lock() ? 2 : may_make() ? 3 : can_ask() ? 0 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(keeper_worker_and_fetcher)
{
    static const int inner[] = {0, SANDBOX_WORKER, SANDBOX_FETCHER};

    for (size_t i = 0; i < COUNT_OF(inner); i++)
        assert_int_equal(run_inside(inner[i]), 0);
}

int main(void)
{
    char path[] = "/tmp/test_probe_sandbox-XXXXXX";
    int failed;

    file = mkostemp(path, O_CLOEXEC);
    if (file < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        return EXIT_FAILURE;
    failed = tests_run(NULL, NULL);
    unlink(path);
    return failed;
}
