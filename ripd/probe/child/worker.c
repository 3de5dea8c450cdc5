/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - answers queries. Touches /proc, the rings that come with queries, files of processes, the netlink socket
 * for unix sockets, and its own socket. See worker.h.
 */
#include "probe/child/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "os/proc_maps.h"
#include "probe/child/attest.h"
#include "probe/child/module_file.h"

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
    kernel_read_memory(proc, reading);                                /* if it hangs, the alarm ends the worker */
    if (reading->has != 0 && !attest_thread(attested, proc, reading)) /* then it is reported like a running thread */
        *reading = (struct kernel_reading){.times = reading->times, .pid = reading->pid, .tid = reading->tid};
}

/* Discloses nothing: the process cannot hide its mappings from its own user, whose ring contains the address. */
static void read_module(int proc, const struct attested *attested, uint64_t address, struct probe_module *ret_module)
{
    struct proc_object object;
    size_t length, cut;

    if (address == 0 || proc_maps_object(proc, attested->pid, address, &object) != 0)
        return;
    ret_module->start = object.start;
    ret_module->end = object.end;
    length = strlen(object.path);
    cut = length < sizeof(ret_module->path) ? 0 : length + 1 - sizeof(ret_module->path);
    memcpy(ret_module->path, object.path + cut, length - cut);
    free(object.path);
}

/* Finds the holders of the other ends that the threads wait for, all in one search. */
static void read_other_ends(const struct worker_sources *sources, const struct attested *attested, uint32_t count,
                            struct probe_answer *answer)
{
    struct kernel_reading *readings[PROBE_BATCH_MAX];
    uint64_t peers_mono_ns = clock_mono_ns() + PROBE_PEERS_NS;
    size_t reading_count = 0;

    _Static_assert(PROBE_BATCH_MAX <= KERNEL_HOLDERS_MAX, "a query is one search");
    for (uint32_t i = 0; i < count; i++) {
        if (answer->threads[i].status != 0)
            continue;
        readings[reading_count] = &answer->threads[i].reading;
        kernel_read_unix(sources->diag, peers_mono_ns, readings[reading_count++]);
    }
    kernel_read_holders(sources->proc, mapping_owner(&attested->mapping), clock_mono_ns() + PROBE_SEARCH_NS, readings,
                        reading_count);
}

void worker_answer(const struct worker_sources *sources, const struct probe_query *query, int descriptor,
                   struct probe_answer *ret_answer)
{
    uint64_t deadline_mono_ns = clock_mono_ns() + PROBE_READING_NS;
    int proc = sources->proc;
    struct attested attested;

    memset(ret_answer, 0, sizeof(*ret_answer));
    ret_answer->kind = PROBE_ANSWER;
    ret_answer->number = query->number;
    ret_answer->status = descriptor >= 0 ? attest_open(&attested, proc, descriptor, query->process) : -EINVAL;
    if (ret_answer->status != 0)
        return;
    for (uint32_t i = 0; i < query->count; i++)
        read_thread(proc, &attested, query->tids[i], deadline_mono_ns, &ret_answer->threads[i]);
    read_other_ends(sources, &attested, query->count, ret_answer);
    read_module(proc, &attested, query->address, &ret_answer->module);
    if (attest_holds(&attested, proc)) {
        ret_answer->count = query->count;
        ret_answer->pid = attested.pid;
    } else {
        memset(ret_answer->threads, 0, sizeof(ret_answer->threads));
        ret_answer->module = (struct probe_module){.end = 0};
        ret_answer->status = -ESRCH;
    }
    attest_close(&attested);
}

int worker_fetch(const struct worker_sources *sources, const struct probe_fetch *fetch, int ring,
                 struct probe_fetched *ret_fetched)
{
    struct attested attested;
    int proc = sources->proc, result = ring >= 0 ? attest_open(&attested, proc, ring, fetch->process) : -EINVAL;

    if (result == 0) {
        result = module_file_open(proc, &attested, fetch->start, fetch->exact != 0);
        if (result >= 0 && !attest_holds(&attested, proc)) {
            close(result);
            result = -ESRCH;
        }
        attest_close(&attested);
    }
    *ret_fetched =
        (struct probe_fetched){.kind = PROBE_FETCHED, .status = result < 0 ? result : 0, .number = fetch->number};
    return result < 0 ? -1 : result;
}

/* Ends the process after that time, by the default action of SIGALRM; 0 = never. */
static void set_alarm(uint64_t limit_ns)
{
    struct itimerval timer = {
        .it_value = {(time_t)(limit_ns / 1000000000), (suseconds_t)(limit_ns % 1000000000 / 1000)}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

void worker_run(const struct worker_sources *sources, uint32_t kind, int socket)
{
    static union {
        struct probe_answer answer;
        struct probe_fetched fetched;
    } reply;
    union {
        struct probe_query query;
        struct probe_fetch fetch;
    } message;
    int ring, file = -1, result = 0;
    ssize_t bytes;

    while (result == 0 && (bytes = packet_receive(socket, &message, sizeof(message), true, &ring)) > 0) {
        size_t reply_bytes = sizeof(reply.fetched);

        if (kind == PROBE_FETCHER ? !probe_fetch_is_sound(&message.fetch, (size_t)bytes)
                                  : !probe_query_is_sound(&message.query, (size_t)bytes))
            return;
        set_alarm(PROBE_QUERY_NS);
        if (kind == PROBE_FETCHER) {
            file = worker_fetch(sources, &message.fetch, ring, &reply.fetched);
        } else {
            worker_answer(sources, &message.query, ring, &reply.answer);
            reply_bytes = probe_answer_bytes(reply.answer.count);
        }
        set_alarm(0);
        result = packet_send(socket, &reply, reply_bytes, file, true);
        if (file >= 0)
            close(file);
    }
}
