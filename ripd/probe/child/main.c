/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - ripd-probe: the keeper, which holds the privileges that ripd has given up and keeps a worker that uses them.
 *
 * It is started by ripd, once, before ripd gives up its privileges (see probe/protocol.h). The keeper reads nothing of
 * anybody's, so nothing can make it end but its own end; a worker that crashes, hangs or is not wanted any more is
 * replaced, RESTART_NS after it began or at once, whichever is later.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/helper.h"
#include "os/packet.h"
#include "os/pidfd.h"
#include "os/sigbus.h"
#include "probe/child/sandbox.h"
#include "probe/child/worker.h"

#define RESTART_NS UINT64_C(1000000000)

struct worker {
    pid_t pid; /* 0 = there is none */
    int hold;  /* readable when it has ended */
};

static _Noreturn void be_worker(const struct worker_sources *sources, int socket)
{
    int result;

    close(HELPER_DESCRIPTOR);
    result = sandbox_enter_worker();
    if (result == 0)
        result = sigbus_install();
    if (result == 0)
        worker_run(sources, socket);
    else
        fprintf(stderr, "ripd-probe: cannot give up privileges: %s\n", strerror(-result));
    _exit(EXIT_FAILURE);
}

/* 0 or -errno: there is no worker. */
static int start_worker(const struct worker_sources *sources, struct worker *ret_worker)
{
    const struct probe_link link = {.kind = PROBE_LINK};
    int ends[2], result = packet_pair(ends);
    pid_t pid;

    if (result != 0)
        return result;
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_worker(sources, ends[1]);
    }
    result = pid < 0 ? -errno : 0;
    if (result == 0) {
        *ret_worker = (struct worker){.pid = pid, .hold = pidfd_of((uint32_t)pid)};
        result = packet_send(HELPER_DESCRIPTOR, &link, sizeof(link), ends[0], false);
    }
    close(ends[0]);
    close(ends[1]);
    return result;
}

static void stop_worker(struct worker *worker)
{
    if (worker->pid != 0)
        helper_stop(worker->pid);
    if (worker->hold >= 0)
        close(worker->hold);
    *worker = (struct worker){.hold = -1};
}

/* Waits until the worker has ended, is to be replaced, or until_mono_ns. False: ripd is gone. */
static bool wait_for_reason(const struct worker *worker, uint64_t until_mono_ns)
{
    for (;;) {
        uint64_t now_ns = clock_mono_ns(), left_ns = until_mono_ns > now_ns ? until_mono_ns - now_ns : 0;
        struct timespec left = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
        struct pollfd descriptors[] = {{.fd = HELPER_DESCRIPTOR, .events = POLLIN},
                                       {.fd = worker->hold, .events = POLLIN}};
        struct probe_link message;

        if (ppoll(descriptors, 2, until_mono_ns != UINT64_MAX ? &left : NULL, NULL) < 0 && errno != EINTR)
            return false;
        if (descriptors[0].revents != 0) {
            ssize_t bytes = packet_receive(HELPER_DESCRIPTOR, &message, sizeof(message), false, NULL);

            if (bytes == (ssize_t)sizeof(message) && message.kind == PROBE_REPLACE)
                return true;
            if (bytes != -EAGAIN)
                return false;
        }
        if (descriptors[1].revents != 0 || (until_mono_ns != UINT64_MAX && clock_mono_ns() >= until_mono_ns))
            return true;
    }
}

/* The time before which no other worker begins. What is said meanwhile of the last one has been done. */
static bool pause_until(uint64_t until_mono_ns)
{
    const struct worker none = {.hold = -1};

    while (clock_mono_ns() < until_mono_ns)
        if (!wait_for_reason(&none, until_mono_ns))
            return false;
    return true;
}

/* What ripd said before it started this program, if anything: the netlink socket for workers, else -1. */
static int take_diag(void)
{
    struct probe_link message;
    int descriptor = -1;

    if (packet_receive(HELPER_DESCRIPTOR, &message, sizeof(message), false, &descriptor) == (ssize_t)sizeof(message) &&
        message.kind == PROBE_DIAG)
        return descriptor;
    if (descriptor >= 0)
        close(descriptor);
    return -1;
}

int main(void)
{
    struct worker_sources sources = {.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), .diag = -1};
    int result = sandbox_enter_keeper();
    struct worker worker = {.hold = -1};
    bool wanted = true;

    if (sources.proc < 0 || result != 0) {
        fprintf(stderr, "ripd-probe: cannot start: %s\n", strerror(result != 0 ? -result : errno));
        return EXIT_FAILURE;
    }
    sources.diag = take_diag();
    while (wanted) {
        uint64_t next_mono_ns = clock_mono_ns() + RESTART_NS;

        result = start_worker(&sources, &worker);
        if (result == 0)
            wanted = wait_for_reason(&worker, UINT64_MAX);
        stop_worker(&worker);
        wanted = wanted && result != -EPIPE && pause_until(next_mono_ns);
    }
    _exit(EXIT_SUCCESS);
}
