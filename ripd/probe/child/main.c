/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - ripd-probe: the keeper. It holds the privileges that ripd has given up, and forks the children that use
 * them, a worker and a fetcher, when ripd sends it their sockets (see probe/protocol.h).
 *
 * ripd starts it once, before ripd gives up its privileges. It reads nothing from other processes, so none can make it
 * end. A child that is replaced is killed. It may be blocked on a file system that never answers, so nothing waits for
 * its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/packet.h"
#include "os/sigbus.h"
#include "os/spawn.h"
#include "probe/child/sandbox.h"
#include "probe/child/worker.h"

#define CHILDREN_MAX 12u /* ripd leaves at most CHILD_LEAVING_MAX (os/child.h) of each kind behind */

struct keeper {
    struct worker_sources sources;
    struct {
        pid_t pid; /* 0 = none */
        uint32_t kind;
    } children[CHILDREN_MAX];
};

static void run_child(const struct worker_sources *sources, pid_t parent, uint32_t kind, int socket)
{
    int result;

    close(SPAWN_SOCKET);
    (void)prctl(PR_SET_NAME, kind == PROBE_FETCHER ? "ripd-fetcher" : "ripd-worker", 0, 0, 0);
    if (kind == PROBE_FETCHER && sources->diag >= 0)
        close(sources->diag);
    result = sandbox_enter_as(kind == PROBE_FETCHER ? SANDBOX_FETCHER : SANDBOX_WORKER, parent);
    if (result == 0)
        result = sigbus_install();
    if (result != 0)
        fprintf(stderr, "ripd-probe: cannot give up privileges: %s\n", strerror(-result));
    else
        worker_run(sources, kind, socket);
}

static void reap_children(struct keeper *keeper)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (keeper->children[i].pid != 0 && waitpid(keeper->children[i].pid, NULL, WNOHANG) != 0)
            keeper->children[i].pid = 0;
}

/* Replaces the child of that kind by a new one with that socket. On failure ripd sees that the socket is closed. */
static void replace_child(struct keeper *keeper, uint32_t kind, int socket)
{
    size_t free_place = CHILDREN_MAX;
    const pid_t self = getpid();
    pid_t pid;

    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        if (keeper->children[i].pid == 0)
            free_place = i;
        else if (keeper->children[i].kind == kind)
            kill(keeper->children[i].pid, SIGKILL);
    }
    if (free_place == CHILDREN_MAX)
        return;
    pid = fork();
    if (pid == 0) {
        run_child(&keeper->sources, self, kind, socket);
        _exit(EXIT_FAILURE);
    }
    if (pid > 0) {
        keeper->children[free_place].pid = pid;
        keeper->children[free_place].kind = kind;
    }
}

/* Executes ripd's next message. Returns false if ripd has ended or sent nonsense. */
static bool handle_message(struct keeper *keeper)
{
    uint32_t kind = 0;
    int descriptor = -1;
    ssize_t bytes = packet_receive(SPAWN_SOCKET, &kind, sizeof(kind), false, &descriptor);

    if (bytes == -EAGAIN || bytes == -EMFILE)
        return true;
    if (bytes == (ssize_t)sizeof(kind) && descriptor >= 0 && kind == PROBE_DIAG && keeper->sources.diag < 0) {
        keeper->sources.diag = descriptor;
        return true;
    }
    if (bytes == (ssize_t)sizeof(kind) && descriptor >= 0 && (kind == PROBE_WORKER || kind == PROBE_FETCHER)) {
        replace_child(keeper, kind, descriptor);
        close(descriptor);
        return true;
    }
    return false;
}

static void on_child(int number)
{
    (void)number; /* the handler only interrupts ppoll() */
}

int main(void)
{
    struct keeper keeper = {.sources = {.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), .diag = -1}};
    const struct sigaction action = {.sa_handler = on_child};
    struct pollfd descriptor = {.fd = SPAWN_SOCKET, .events = POLLIN};
    sigset_t child_alone, before;
    int result = sandbox_enter_as(SANDBOX_KEEPER, 0);

    if (keeper.sources.proc < 0 || result != 0) {
        fprintf(stderr, "ripd-probe: cannot start: %s\n", strerror(result != 0 ? -result : errno));
        return EXIT_FAILURE;
    }
    sigemptyset(&child_alone);
    sigaddset(&child_alone, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_alone, &before);
    sigaction(SIGCHLD, &action, NULL);
    do {
        if (ppoll(&descriptor, 1, NULL, &before) < 0)
            descriptor.revents = 0; /* a child has ended */
        reap_children(&keeper);
    } while (descriptor.revents == 0 || handle_message(&keeper));
    _exit(EXIT_SUCCESS);
}
