/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - ripd-probe: the keeper, which holds the privileges that ripd has given up and keeps those that use them: a
 * worker, and a fetcher when ripd asks for one.
 *
 * It is started by ripd, once, before ripd gives up its privileges (see probe/protocol.h). The keeper reads nothing of
 * anybody's, so nothing can make it end but its own end; a worker that crashes, hangs or is not wanted any more is
 * replaced, RESTART_NS after it began or at once, whichever is later. A fetcher may wait for a file that never comes,
 * and cannot be killed then: nobody waits for its end. Where there is no hold to be had on a child, it is asked about
 * now and then.
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
#include "probe/child/fetcher.h"
#include "probe/child/sandbox.h"
#include "probe/child/worker.h"

#define RESTART_NS UINT64_C(1000000000)
#define ASK_NS UINT64_C(250000000) /* about children that we have no hold on */
#define LEAVING_MAX 8u

struct child {
    pid_t pid; /* 0 = there is none */
    int hold;  /* readable when it has ended; negative = there is none */
};

struct keeper {
    struct worker_sources sources;
    struct child worker;
    struct child fetcher;
    struct child leaving[LEAVING_MAX]; /* fetchers that were killed, and have not ended yet */
    size_t leaving_count;
};

/* What a child is. */
struct role {
    int (*enter_sandbox)(void);
    void (*run)(const struct worker_sources *sources, int socket);
};

static void close_if_open(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

static void run_fetcher(const struct worker_sources *sources, int socket)
{
    close_if_open(sources->diag); /* which it has no use for */
    fetcher_run(sources->proc, socket);
}

static const struct role worker_role = {sandbox_enter_worker, worker_run};
static const struct role fetcher_role = {sandbox_enter_fetcher, run_fetcher};

/* Returns when it is of no use any more. */
static void be_child(const struct keeper *keeper, const struct role *role, int socket)
{
    int result;

    close(HELPER_DESCRIPTOR);
    close_if_open(keeper->worker.hold);
    close_if_open(keeper->fetcher.hold);
    for (size_t i = 0; i < keeper->leaving_count; i++)
        close_if_open(keeper->leaving[i].hold);
    result = role->enter_sandbox();
    if (result == 0)
        result = sigbus_install();
    if (result == 0)
        role->run(&keeper->sources, socket);
    else
        fprintf(stderr, "ripd-probe: cannot give up privileges: %s\n", strerror(-result));
}

/* other: the other end of its socket, -1 = it is not ours. 0 or -errno: there is none. */
static int start_child(const struct keeper *keeper, const struct role *role, int socket, int other,
                       struct child *ret_child)
{
    pid_t pid = fork();

    if (pid == 0) {
        close_if_open(other);
        be_child(keeper, role, socket);
        _exit(EXIT_FAILURE);
    }
    if (pid < 0)
        return -errno;
    *ret_child = (struct child){.pid = pid, .hold = pidfd_of((uint32_t)pid)};
    return 0;
}

/* Whether it has ended; then nothing is left of it. */
static bool is_reaped(struct child *child)
{
    if (child->pid == 0 || waitpid(child->pid, NULL, WNOHANG) == 0)
        return false;
    close_if_open(child->hold);
    *child = (struct child){.hold = -1};
    return true;
}

/* Whether its end makes nothing readable. */
static bool is_not_held(const struct child *child)
{
    return child->pid != 0 && child->hold < 0;
}

/* Fetchers --------------------------------------------------------------------------------------------------------- */

static void reap_fetchers(struct keeper *keeper)
{
    size_t kept = 0;

    for (size_t i = 0; i < keeper->leaving_count; i++)
        if (!is_reaped(&keeper->leaving[i]))
            keeper->leaving[kept++] = keeper->leaving[i];
    keeper->leaving_count = kept;
    (void)is_reaped(&keeper->fetcher);
}

/* One on that socket, in place of the last. Where that cannot be, ripd finds the socket closed. */
static void replace_fetcher(struct keeper *keeper, int socket)
{
    reap_fetchers(keeper);
    if (keeper->leaving_count == LEAVING_MAX)
        return;
    if (keeper->fetcher.pid != 0) {
        kill(keeper->fetcher.pid, SIGKILL);
        keeper->leaving[keeper->leaving_count++] = keeper->fetcher;
        keeper->fetcher = (struct child){.hold = -1};
    }
    (void)start_child(keeper, &fetcher_role, socket, -1, &keeper->fetcher);
}

/* The worker ------------------------------------------------------------------------------------------------------- */

/* 0 or -errno: there is no worker. */
static int start_worker(struct keeper *keeper)
{
    const struct probe_link link = {.kind = PROBE_LINK};
    int ends[2], result = packet_pair(ends);

    if (result != 0)
        return result;
    result = start_child(keeper, &worker_role, ends[1], ends[0], &keeper->worker);
    if (result == 0)
        result = packet_send(HELPER_DESCRIPTOR, &link, sizeof(link), ends[0], false);
    close(ends[0]);
    close(ends[1]);
    return result;
}

static void stop_worker(struct keeper *keeper)
{
    if (keeper->worker.pid != 0)
        helper_stop(keeper->worker.pid);
    close_if_open(keeper->worker.hold);
    keeper->worker = (struct child){.hold = -1};
}

/* Waiting ---------------------------------------------------------------------------------------------------------- */

enum heard { HEARD_NOTHING, HEARD_REPLACE, HEARD_END };

/* What ripd says. first: it may have said it before it started this program. */
static enum heard hear(struct keeper *keeper, bool first)
{
    struct probe_link message;
    int descriptor = -1;
    ssize_t bytes = packet_receive(HELPER_DESCRIPTOR, &message, sizeof(message), false, &descriptor);
    enum heard heard = HEARD_END;

    if (bytes == -EAGAIN)
        return HEARD_NOTHING;
    if (bytes == (ssize_t)sizeof(message) && message.kind == PROBE_REPLACE)
        heard = HEARD_REPLACE;
    if (bytes == (ssize_t)sizeof(message) && message.kind == PROBE_FETCHER && descriptor >= 0) {
        replace_fetcher(keeper, descriptor);
        heard = HEARD_NOTHING;
    }
    if (bytes == (ssize_t)sizeof(message) && message.kind == PROBE_DIAG && descriptor >= 0 && first) {
        keeper->sources.diag = descriptor;
        return HEARD_NOTHING;
    }
    close_if_open(descriptor);
    return heard;
}

/* The next moment at which something may have happened that nothing readable tells of; UINT64_MAX: there is none. */
static uint64_t next_look(const struct keeper *keeper, uint64_t until_mono_ns)
{
    bool held = !is_not_held(&keeper->worker) && !is_not_held(&keeper->fetcher);
    uint64_t ask_mono_ns;

    for (size_t i = 0; i < keeper->leaving_count; i++)
        held = held && !is_not_held(&keeper->leaving[i]);
    ask_mono_ns = held ? UINT64_MAX : clock_mono_ns() + ASK_NS;
    return until_mono_ns < ask_mono_ns ? until_mono_ns : ask_mono_ns;
}

/* Waits until the worker has ended, is to be replaced, or until_mono_ns. False: ripd is gone. */
static bool wait_for_reason(struct keeper *keeper, uint64_t until_mono_ns)
{
    for (;;) {
        uint64_t now_ns = clock_mono_ns(), look_ns = next_look(keeper, until_mono_ns);
        uint64_t left_ns = look_ns > now_ns ? look_ns - now_ns : 0;
        struct timespec left = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
        struct pollfd descriptors[3 + LEAVING_MAX] = {
            {.fd = HELPER_DESCRIPTOR, .events = POLLIN},
            {.fd = keeper->worker.hold, .events = POLLIN},
            {.fd = keeper->fetcher.hold, .events = POLLIN},
        };
        nfds_t count = 3;

        for (size_t i = 0; i < keeper->leaving_count; i++)
            descriptors[count++] = (struct pollfd){.fd = keeper->leaving[i].hold, .events = POLLIN};
        if (ppoll(descriptors, count, look_ns != UINT64_MAX ? &left : NULL, NULL) < 0 && errno != EINTR)
            return false;
        reap_fetchers(keeper);
        if (descriptors[0].revents != 0) {
            enum heard heard = hear(keeper, false);

            if (heard != HEARD_NOTHING)
                return heard == HEARD_REPLACE;
        }
        if (descriptors[1].revents != 0 || (is_not_held(&keeper->worker) && is_reaped(&keeper->worker)) ||
            (until_mono_ns != UINT64_MAX && clock_mono_ns() >= until_mono_ns))
            return true;
    }
}

/* The time before which no other worker begins. What is said meanwhile of the last one has been done. */
static bool pause_until(struct keeper *keeper, uint64_t until_mono_ns)
{
    while (clock_mono_ns() < until_mono_ns)
        if (!wait_for_reason(keeper, until_mono_ns))
            return false;
    return true;
}

int main(void)
{
    struct keeper keeper = {
        .sources = {.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), .diag = -1},
        .worker.hold = -1,
        .fetcher.hold = -1,
    };
    int result = sandbox_enter_keeper();
    bool wanted;

    if (keeper.sources.proc < 0 || result != 0) {
        fprintf(stderr, "ripd-probe: cannot start: %s\n", strerror(result != 0 ? -result : errno));
        return EXIT_FAILURE;
    }
    wanted = hear(&keeper, true) != HEARD_END;
    while (wanted) {
        uint64_t next_mono_ns = clock_mono_ns() + RESTART_NS;

        result = start_worker(&keeper);
        if (result == 0)
            wanted = wait_for_reason(&keeper, UINT64_MAX);
        stop_worker(&keeper);
        wanted = wanted && result != -EPIPE && pause_until(&keeper, next_mono_ns);
    }
    _exit(EXIT_SUCCESS);
}
