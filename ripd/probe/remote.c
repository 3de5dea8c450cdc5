/* SPDX-License-Identifier: Apache-2.0 */
/* remote.c - the keeper, its current worker, and the pending queries to that worker. See remote.h. */
#include "probe/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "os/spawn.h"
#include "probe/protocol.h"

#define KEY_ENDS 2u /* workers that must end on a process: the first may be an accident */

struct pending {
    struct probe_query message;
    struct remote_query queries[PROBE_BATCH_MAX]; /* all about one process */
    uint64_t sent_mono_ns;
};

struct remote {
    pid_t pid;
    int keeper; /* socket; -1 = the keeper has ended */
    struct child *worker;

    struct pending pending[REMOTE_QUERIES_MAX]; /* a circular queue from index first on */
    size_t first;
    size_t count;
    bool open;      /* the last query has not been sent, and more threads may be added */
    int descriptor; /* ring of the open query; borrowed */
    uint64_t number;

    struct probe_answer answer; /* the answer that is being returned, thread by thread */
    struct pending answered;    /* its query */
    uint32_t next_thread;       /* to be returned; equal to answered.message.count = no more */

    unsigned failure_count; /* workers that ended in a row without an answer */
};

/* Life ------------------------------------------------------------------------------------------------------------- */

static int start_keeper(struct remote *remote, const char *program, int diag)
{
    static const uint32_t kind = PROBE_DIAG;
    int ends[2], result = packet_pair(ends);

    if (result != 0)
        return result;
    if (diag >= 0)
        result = packet_send(ends[0], &kind, sizeof(kind), diag, false); /* before the program starts */
    if (result == 0)
        result = spawn_program(program, ends[1], &remote->pid);
    close(ends[1]);
    if (result == 0)
        remote->keeper = ends[0];
    else
        close(ends[0]);
    return result;
}

int remote_new(struct remote **ret_remote, const char *program, int diag)
{
    struct child_options options = {
        .request = PROBE_WORKER,
        .restart_ns = REMOTE_RESTART_NS,
        .pause_ns = REMOTE_PAUSE_NS,
        .user_ends = REMOTE_USER_ENDS_MAX,
        .key_ends = KEY_ENDS,
    };
    struct remote *remote = calloc(1, sizeof(*remote));
    int result;

    if (remote == NULL)
        return -ENOMEM;
    remote->keeper = -1;
    result = start_keeper(remote, program, diag);
    options.keeper = remote->keeper;
    if (result == 0)
        result = child_new(&remote->worker, &options);
    if (result != 0) {
        remote_free(remote);
        return result;
    }
    (void)child_start(remote->worker, -1); /* on failure it is started later */
    *ret_remote = remote;
    return 0;
}

/* The keeper has ended, or has sent a message, which it never does. */
static void drop_keeper(struct remote *remote)
{
    close(remote->keeper);
    remote->keeper = -1;
    kill(remote->pid, SIGKILL);
    while (waitpid(remote->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

void remote_free(struct remote *remote)
{
    if (remote == NULL)
        return;
    child_free(remote->worker);
    if (remote->keeper >= 0)
        drop_keeper(remote);
    free(remote);
}

int remote_keeper(const struct remote *remote)
{
    int keeper = remote->keeper >= 0 ? fcntl(remote->keeper, F_DUPFD_CLOEXEC, 0) : -1;

    if (remote->keeper < 0)
        return -ENOTCONN;
    return keeper >= 0 ? keeper : -errno;
}

/* Workers ---------------------------------------------------------------------------------------------------------- */

static uint64_t key_of(const struct remote_query *query)
{
    return (uint64_t)query->ring << 32 | (query->process + 1);
}

static void drop_queries(struct remote *remote)
{
    remote->failure_count++;
    remote->count = 0;
    remote->open = false;
}

/* Drops a worker that ended or misbehaved. The first pending query is blamed, if it was sent. */
static void drop_worker(struct remote *remote, enum child_end end)
{
    const struct remote_query *query = &remote->pending[remote->first].queries[0];

    if (remote->count == 0 || (remote->count == 1 && remote->open))
        end = CHILD_IDLE;
    child_drop(remote->worker, end, query->uid, key_of(query));
    drop_queries(remote);
}

/* Whether a worker can be queried. Starts one if necessary. */
static bool ensure_worker(struct remote *remote)
{
    if (remote->keeper >= 0 && packet_await(remote->keeper, 0))
        drop_keeper(remote);
    return child_runs(remote->worker) || (remote->keeper >= 0 && child_start(remote->worker, -1) == 0);
}

void remote_look(struct remote *remote)
{
    if (!remote_is_busy(remote) && child_runs(remote->worker)) {
        child_check(remote->worker);
        if (!child_runs(remote->worker))
            drop_queries(remote);
    }
    (void)ensure_worker(remote);
}

/* Queries ---------------------------------------------------------------------------------------------------------- */

static struct pending *pending_at(struct remote *remote, size_t nth)
{
    return &remote->pending[(remote->first + nth) % REMOTE_QUERIES_MAX];
}

void remote_flush(struct remote *remote)
{
    struct pending *pending;
    int result;

    if (!remote->open)
        return;
    pending = pending_at(remote, remote->count - 1);
    pending->sent_mono_ns = clock_mono_ns();
    remote->open = false;
    result = child_send(remote->worker, &pending->message, sizeof(pending->message), remote->descriptor);
    if (result != 0)
        remote->count--; /* it cannot be sent now */
    if (result == -EPIPE)
        drop_worker(remote, CHILD_DIED);
}

/* Whether the open query is about that process and has room for one more thread. */
static bool is_open_for(struct remote *remote, uint32_t ring, uint32_t process)
{
    const struct pending *pending = pending_at(remote, remote->count - 1);

    return remote->open && pending->queries[0].ring == ring && pending->queries[0].process == process &&
           pending->message.count < PROBE_BATCH_MAX;
}

bool remote_has_room(struct remote *remote, uint32_t ring, uint32_t process)
{
    return remote->count < REMOTE_QUERIES_MAX || is_open_for(remote, ring, process);
}

enum remote_asked remote_ask(struct remote *remote, int descriptor, const struct remote_query *query)
{
    struct pending *pending;

    if (!is_open_for(remote, query->ring, query->process))
        remote_flush(remote);
    if (child_is_blamed(remote->worker, query->uid, key_of(query)))
        return REMOTE_REFUSED;
    if (!child_runs(remote->worker) && !ensure_worker(remote))
        return remote->keeper < 0 || remote->failure_count >= REMOTE_FAILURES_MAX ? REMOTE_REFUSED : REMOTE_LATER;
    if (!remote->open) {
        if (remote->count == REMOTE_QUERIES_MAX)
            return REMOTE_LATER;
        *pending_at(remote, remote->count++) =
            (struct pending){.message = {.kind = PROBE_QUERY, .number = ++remote->number, .process = query->process}};
        remote->open = true;
        remote->descriptor = descriptor;
    }
    pending = pending_at(remote, remote->count - 1);
    pending->queries[pending->message.count] = *query;
    pending->message.tids[pending->message.count++] = query->tid;
    if (pending->message.address == 0)
        pending->message.address = query->address;
    return REMOTE_ASKED;
}

bool remote_is_asked(struct remote *remote, uint32_t ring, uint32_t slot)
{
    for (size_t i = 0; i < remote->count; i++) {
        const struct pending *pending = pending_at(remote, i);

        for (uint32_t j = 0; j < pending->message.count; j++)
            if (pending->queries[j].ring == ring && pending->queries[j].slot == slot)
                return true;
    }
    return false;
}

bool remote_is_full(const struct remote *remote)
{
    return remote->count == REMOTE_QUERIES_MAX && !remote->open;
}

bool remote_is_busy(const struct remote *remote)
{
    return remote->next_thread < remote->answered.message.count || remote->count > (remote->open ? 1 : 0);
}

/* Answers ---------------------------------------------------------------------------------------------------------- */

/* Waits until the deadline. Returns true if an answer has arrived. */
static bool receive_answer(struct remote *remote, uint64_t deadline_mono_ns)
{
    const struct pending *pending = pending_at(remote, 0);
    uint64_t now_ns = clock_mono_ns();
    const struct child_wait wait = {.limit_ns = deadline_mono_ns > now_ns ? deadline_mono_ns - now_ns : 0,
                                    .cancel = -1};
    ssize_t bytes = child_receive(remote->worker, &remote->answer, sizeof(remote->answer), NULL, &wait);

    if (bytes == -ETIMEDOUT && clock_mono_ns() - pending->sent_mono_ns < REMOTE_LIMIT_NS)
        return false;
    if (bytes < 0 && bytes != -EMSGSIZE) {
        drop_worker(remote, bytes == -ETIMEDOUT ? CHILD_HUNG : CHILD_DIED);
        return false;
    }
    if (bytes < 0 || !probe_answer_is_sound(&remote->answer, (size_t)bytes, &pending->message)) {
        drop_worker(remote, CHILD_NONSENSE);
        return false;
    }
    remote->failure_count = 0;
    remote->answered = *pending;
    remote->next_thread = 0;
    remote->first = (remote->first + 1) % REMOTE_QUERIES_MAX;
    remote->count--;
    return true;
}

/* Returns the module with the first thread that stands at the address of the query. */
static void return_module(struct remote *remote, struct remote_answer *answer)
{
    struct probe_module *module = &remote->answer.module;
    const uint64_t address = remote->answered.message.address;

    if (!answer->attested || address == 0 || answer->query.address != address)
        return;
    remote->answered.message.address = 0;
    answer->has_module = true;
    if (module->end != 0)
        answer->module = (struct proc_object){module->start, module->end, module->path};
}

static void return_thread(struct remote *remote, struct remote_answer *ret_answer)
{
    uint32_t at = remote->next_thread++;
    const struct probe_thread *thread = &remote->answer.threads[at];

    *ret_answer = (struct remote_answer){
        .query = remote->answered.queries[at],
        .attested = remote->answer.status == 0,
        .status = remote->answer.status == 0 ? thread->status : remote->answer.status,
        .pid = remote->answer.pid,
    };
    if (ret_answer->status == 0)
        ret_answer->reading = thread->reading;
    return_module(remote, ret_answer);
}

bool remote_next(struct remote *remote, uint64_t deadline_mono_ns, struct remote_answer *ret_answer)
{
    while (remote->next_thread >= remote->answered.message.count) {
        if (!remote_is_busy(remote) || !receive_answer(remote, deadline_mono_ns))
            return false;
    }
    return_thread(remote, ret_answer);
    return true;
}

void remote_count(const struct remote *remote, struct remote_counters *ret_counters)
{
    child_count(remote->worker, &ret_counters->workers);
    ret_counters->gone = remote->keeper < 0;
}
