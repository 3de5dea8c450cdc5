/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - questions and answers. Touches /proc, rings that come along, the netlink socket for unix sockets, and its
 * own socket. See worker.h.
 */
#include "probe/child/worker.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "probe/child/alarm.h"
#include "probe/child/attest.h"

static void read_thread(int proc, const struct attested *attested, uint32_t tid, uint64_t deadline_mono_ns,
                        struct probe_thread *ret_thread)
{
    struct kernel_reading *reading = &ret_thread->reading;

    ret_thread->tid = tid;
    ret_thread->status = -EAGAIN;
    if (clock_mono_ns() >= deadline_mono_ns)
        return;
    ret_thread->status = kernel_read(proc, attested->pid, tid, KERNEL_WHOLE, reading);
    if (ret_thread->status != 0)
        return;
    kernel_read_memory(proc, reading);                                /* may hang: then the alarm ends it */
    if (reading->has != 0 && !attest_thread(attested, proc, reading)) /* as one that runs all the time */
        *reading = (struct kernel_reading){.times = reading->times, .pid = reading->pid, .tid = reading->tid};
}

/* Who is at the other ends of what they wait for: all of them in one search. */
static void read_other_ends(const struct worker_sources *sources, const struct attested *attested, uint32_t count,
                            struct probe_answer *told)
{
    struct kernel_reading *readings[PROBE_BATCH_MAX];
    uint64_t peers_mono_ns = clock_mono_ns() + PROBE_PEERS_NS;
    size_t reading_count = 0;

    _Static_assert(PROBE_BATCH_MAX <= KERNEL_HOLDERS_MAX, "a question is one search");
    for (uint32_t i = 0; i < count; i++) {
        if (told->threads[i].status != 0)
            continue;
        readings[reading_count] = &told->threads[i].reading;
        kernel_read_unix(sources->diag, peers_mono_ns, readings[reading_count++]);
    }
    kernel_read_holders(sources->proc, mapping_owner(&attested->mapping), clock_mono_ns() + PROBE_SEARCH_NS, readings,
                        reading_count);
}

void worker_answer(const struct worker_sources *sources, const struct probe_query *ask, int descriptor,
                   struct probe_answer *ret_told)
{
    uint64_t deadline_mono_ns = clock_mono_ns() + PROBE_READING_NS;
    int proc = sources->proc;
    struct attested attested;

    memset(ret_told, 0, sizeof(*ret_told));
    ret_told->kind = PROBE_ANSWER;
    ret_told->number = ask->number;
    ret_told->status = descriptor >= 0 ? attest_open(&attested, proc, descriptor, ask->process) : -EINVAL;
    if (ret_told->status != 0)
        return;
    for (uint32_t i = 0; i < ask->count; i++)
        read_thread(proc, &attested, ask->tids[i], deadline_mono_ns, &ret_told->threads[i]);
    read_other_ends(sources, &attested, ask->count, ret_told);
    if (attest_holds(&attested, proc)) {
        ret_told->count = ask->count;
        ret_told->pid = attested.pid;
    } else {
        memset(ret_told->threads, 0, sizeof(ret_told->threads));
        ret_told->status = -ESRCH;
    }
    attest_close(&attested);
}

void worker_run(const struct worker_sources *sources, int socket)
{
    static struct probe_answer told;
    struct probe_query ask;
    ssize_t bytes;
    int descriptor;

    while ((bytes = packet_receive(socket, &ask, sizeof(ask), true, &descriptor)) > 0) {
        if (!probe_query_is_sound(&ask, (size_t)bytes))
            return;
        alarm_set(PROBE_QUERY_NS);
        worker_answer(sources, &ask, descriptor, &told);
        alarm_set(0);
        if (packet_send(socket, &told, probe_answer_bytes(told.count), -1, true) != 0)
            return;
    }
}
