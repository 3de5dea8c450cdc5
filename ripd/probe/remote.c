/* SPDX-License-Identifier: Apache-2.0 */
/* remote.c - a keeper, the worker that it has given us last, and what that one has been asked. See remote.h. */
#include "probe/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/helper.h"
#include "os/packet.h"
#include "probe/protocol.h"

enum { BLAMED_MAX = 16, BLAMED_AFTER = 2 };

struct question {
    struct probe_query ask;
    struct remote_query queries[PROBE_BATCH_MAX];
    uint64_t sent_mono_ns;
};

/* A process that workers have ended on. */
struct blamed {
    uint32_t ring;
    uint32_t process;
    uint32_t uid;
    unsigned count;
    uint64_t until_mono_ns;
};

struct remote {
    pid_t pid;
    int keeper; /* socket; -1 = it has ended */
    int worker; /* socket; -1 = none at the moment */

    struct question questions[REMOTE_QUERIES_MAX]; /* a queue from first on; the last may be open, not sent yet */
    size_t first;
    size_t count;
    bool open;
    int descriptor; /* of the open one's ring */
    uint64_t number;

    struct probe_answer told; /* the answer that is being handed out */
    struct question answered;
    uint32_t next_thread;
    uint32_t thread_count; /* to be handed out of it */

    struct blamed blamed[BLAMED_MAX];
    size_t next_blamed;
    unsigned failure_count; /* workers in a row that ended without an answer */
    struct remote_counters counters;
};

/* Life ------------------------------------------------------------------------------------------------------------- */

int remote_new(struct remote **ret_remote, const char *program, int diag)
{
    const struct probe_link message = {.kind = PROBE_DIAG};
    struct remote *remote = calloc(1, sizeof(*remote));
    int ends[2], result;

    if (remote == NULL)
        return -ENOMEM;
    result = packet_pair(ends);
    if (result != 0)
        goto out;
    if (diag >= 0)
        result = packet_send(ends[0], &message, sizeof(message), diag, false); /* there before it starts */
    if (result == 0)
        result = helper_start(program, ends[1], &remote->pid);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        goto out;
    }
    remote->keeper = ends[0];
    remote->worker = -1;
    *ret_remote = remote;
    return 0;
out:
    free(remote);
    return result;
}

/* It has ended, or talks nonsense: nothing is left of it. */
static void drop_keeper(struct remote *remote)
{
    close(remote->keeper);
    remote->keeper = -1;
    helper_stop(remote->pid);
}

void remote_free(struct remote *remote)
{
    if (remote == NULL)
        return;
    if (remote->worker >= 0)
        close(remote->worker);
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

static void forget_questions(struct remote *remote)
{
    remote->count = 0;
    remote->open = false;
}

static struct blamed *find_blamed(struct remote *remote, uint32_t ring, uint32_t process)
{
    uint64_t now_mono_ns = clock_mono_ns();

    for (size_t i = 0; i < BLAMED_MAX; i++) {
        struct blamed *blamed = &remote->blamed[i];

        if (blamed->count != 0 && blamed->ring == ring && blamed->process == process &&
            now_mono_ns < blamed->until_mono_ns)
            return blamed;
    }
    return NULL;
}

/* What was asked first is what it ended on, unless it was ended by something else: once is nobody's fault. */
static void blame_first(struct remote *remote)
{
    const struct remote_query *query = &remote->questions[remote->first].queries[0];
    struct blamed *blamed;

    if (remote->count == 0 || (remote->count == 1 && remote->open))
        return;
    blamed = find_blamed(remote, query->ring, query->process);
    if (blamed == NULL) {
        blamed = &remote->blamed[remote->next_blamed];
        remote->next_blamed = (remote->next_blamed + 1) % BLAMED_MAX;
        *blamed = (struct blamed){.ring = query->ring, .process = query->process, .uid = query->uid};
    }
    blamed->count++;
    blamed->until_mono_ns = clock_mono_ns() + REMOTE_BLAME_NS;
}

static bool is_blamed(struct remote *remote, const struct remote_query *query)
{
    const struct blamed *own = find_blamed(remote, query->ring, query->process);
    uint64_t now_mono_ns = clock_mono_ns();
    unsigned of_user = 0;

    if (own != NULL && own->count >= BLAMED_AFTER)
        return true;
    for (size_t i = 0; i < BLAMED_MAX; i++)
        if (remote->blamed[i].uid == query->uid && now_mono_ns < remote->blamed[i].until_mono_ns)
            of_user += remote->blamed[i].count;
    return of_user >= REMOTE_USER_ENDS_MAX;
}

/* The worker is of no use any more. */
static void drop_worker(struct remote *remote, enum remote_end end)
{
    const struct probe_link message = {.kind = PROBE_REPLACE};

    remote->counters.end_counts[end]++;
    remote->failure_count++;
    blame_first(remote);
    forget_questions(remote);
    close(remote->worker);
    remote->worker = -1;
    if (end != REMOTE_END_ENDED && remote->keeper >= 0)
        (void)packet_send(remote->keeper, &message, sizeof(message), -1,
                          false); /* if it has ended, so has the worker */
}

/* Takes the workers that the keeper has made since. */
static void meet_workers(struct remote *remote)
{
    while (remote->keeper >= 0) {
        struct probe_link message;
        int descriptor = -1;
        ssize_t bytes = packet_receive(remote->keeper, &message, sizeof(message), false, &descriptor);

        if (bytes == -EAGAIN)
            return;
        if (bytes != (ssize_t)sizeof(message) || message.kind != PROBE_LINK || descriptor < 0) {
            if (descriptor >= 0)
                close(descriptor);
            drop_keeper(remote);
            return;
        }
        if (remote->worker >= 0)
            drop_worker(remote, REMOTE_END_ENDED); /* there is another one because this one has ended */
        remote->worker = descriptor;
        remote->counters.start_count++;
    }
}

void remote_look(struct remote *remote)
{
    meet_workers(remote);
    if (remote->worker < 0 || remote_is_busy(remote))
        return;
    /* It has nothing to say: this is its end, or nonsense. */
    if (packet_await(remote->worker, 0)) {
        drop_worker(remote, REMOTE_END_ENDED);
        meet_workers(remote);
    }
}

/* Asking ----------------------------------------------------------------------------------------------------------- */

static struct question *question_at(struct remote *remote, size_t nth)
{
    return &remote->questions[(remote->first + nth) % REMOTE_QUERIES_MAX];
}

void remote_flush(struct remote *remote)
{
    struct question *question;
    int result;

    if (!remote->open)
        return;
    question = question_at(remote, remote->count - 1);
    question->sent_mono_ns = clock_mono_ns();
    remote->open = false;
    result = packet_send(remote->worker, &question->ask, sizeof(question->ask), remote->descriptor, false);
    if (result == -EPIPE)
        drop_worker(remote, REMOTE_END_ENDED);
    else if (result != 0)
        remote->count--; /* not now */
}

/* Whether the question that is not sent yet takes one more about that process. */
static bool is_open_for(const struct remote *remote, uint32_t ring, uint32_t process)
{
    const struct question *question = &remote->questions[(remote->first + remote->count - 1) % REMOTE_QUERIES_MAX];

    return remote->open && question->queries[0].ring == ring && question->queries[0].process == process &&
           question->ask.count < PROBE_BATCH_MAX;
}

bool remote_has_room(const struct remote *remote, uint32_t ring, uint32_t process)
{
    return remote->count < REMOTE_QUERIES_MAX || is_open_for(remote, ring, process);
}

enum remote_asked remote_ask(struct remote *remote, int descriptor, const struct remote_query *query)
{
    struct question *question;

    if (!is_open_for(remote, query->ring, query->process))
        remote_flush(remote);
    if (remote->worker < 0)
        meet_workers(remote);
    if (is_blamed(remote, query) ||
        (remote->worker < 0 && (remote->keeper < 0 || remote->failure_count >= REMOTE_FAILURES_MAX)))
        return REMOTE_REFUSED;
    if (remote->worker < 0)
        return REMOTE_LATER;
    if (!remote->open) {
        if (remote->count == REMOTE_QUERIES_MAX)
            return REMOTE_LATER;
        *question_at(remote, remote->count++) =
            (struct question){.ask = {.kind = PROBE_QUERY, .number = ++remote->number, .process = query->process}};
        remote->open = true;
        remote->descriptor = descriptor;
    }
    question = question_at(remote, remote->count - 1);
    question->queries[question->ask.count] = *query;
    question->ask.tids[question->ask.count++] = query->tid;
    return REMOTE_ASKED;
}

bool remote_is_asked(const struct remote *remote, uint32_t ring, uint32_t slot)
{
    for (size_t i = 0; i < remote->count; i++) {
        const struct question *question = &remote->questions[(remote->first + i) % REMOTE_QUERIES_MAX];

        for (uint32_t j = 0; j < question->ask.count; j++)
            if (question->queries[j].ring == ring && question->queries[j].slot == slot)
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
    return remote->next_thread < remote->thread_count || remote->count > (remote->open ? 1 : 0);
}

/* Answers ---------------------------------------------------------------------------------------------------------- */

/* True: an answer is there to be handed out. */
static bool receive_answer(struct remote *remote)
{
    struct question *question = question_at(remote, 0);
    ssize_t bytes = packet_receive(remote->worker, &remote->told, sizeof(remote->told), false, NULL);

    if (bytes == -EAGAIN) {
        if (clock_mono_ns() - question->sent_mono_ns >= REMOTE_PATIENCE_NS)
            drop_worker(remote, REMOTE_END_HUNG);
        return false;
    }
    if (bytes < 0 && bytes != -EMSGSIZE) {
        drop_worker(remote, REMOTE_END_ENDED);
        return false;
    }
    if (bytes < 0 || !probe_answer_is_sound(&remote->told, (size_t)bytes, &question->ask)) {
        drop_worker(remote, REMOTE_END_NONSENSE);
        return false;
    }
    remote->failure_count = 0;
    remote->answered = *question;
    remote->first = (remote->first + 1) % REMOTE_QUERIES_MAX;
    remote->count--;
    remote->next_thread = 0;
    remote->thread_count = remote->answered.ask.count;
    return true;
}

static void hand_out(struct remote *remote, struct remote_answer *ret_answer)
{
    uint32_t at = remote->next_thread++;

    *ret_answer = (struct remote_answer){
        .query = remote->answered.queries[at],
        .status = remote->told.status,
        .attested = remote->told.status == 0,
        .pid = remote->told.pid,
    };
    if (!ret_answer->attested)
        return;
    ret_answer->status = remote->told.threads[at].status;
    if (ret_answer->status == 0)
        ret_answer->reading = remote->told.threads[at].reading;
}

bool remote_next(struct remote *remote, uint64_t deadline_mono_ns, struct remote_answer *ret_answer)
{
    while (remote_is_busy(remote)) {
        if (remote->next_thread < remote->thread_count) {
            hand_out(remote, ret_answer);
            return true;
        }
        if (!receive_answer(remote) && (!remote_is_busy(remote) || !packet_await(remote->worker, deadline_mono_ns)))
            return false;
    }
    return false;
}

void remote_count(const struct remote *remote, struct remote_counters *ret_counters)
{
    *ret_counters = remote->counters;
    ret_counters->gone = remote->keeper < 0;
}

const char *remote_end_name(enum remote_end end)
{
    static const char *const names[REMOTE_END_COUNT] = {
        [REMOTE_END_ENDED] = "died",
        [REMOTE_END_HUNG] = "hung",
        [REMOTE_END_NONSENSE] = "nonsense",
    };

    return names[end];
}
