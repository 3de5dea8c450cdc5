/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - starts, queries, blames and replaces children. Touches its own children and its sockets. See child.h. */
#include "os/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "os/spawn.h"
#include "util/time_limit.h"

#define SLICE_NS UINT64_C(250000000) /* between two checks of the child's CPU time */
#define REAP_STEP_NS 1000000
#define PAUSE_DOUBLES 16u /* limits the shift that doubles a pause */

/* A blamed user, or one of the user's keys. */
struct blamed {
    uint32_t user;
    uint64_t key; /* 0 = all keys of the user */
    unsigned ends;
    uint64_t last_ns;
    uint64_t until_ns; /* not queried before */
};

/* A child that was given up and has not ended yet. */
struct leaving {
    pid_t pid;  /* 0 = forked by a keeper */
    int socket; /* if pid is 0: becomes readable when the child ends */
    uint32_t user;
    bool is_blamed;
};

struct child {
    struct child_options options;
    char *program;
    int socket; /* -1 = none runs */
    pid_t pid;  /* 0 = forked by a keeper */
    clockid_t clock;
    uint64_t next_start_ns;
    struct blamed blamed[CHILD_BLAMED_MAX];
    struct leaving leaving[CHILD_LEAVING_MAX];
    size_t leaving_count;
    _Atomic uint64_t start_count, end_counts[CHILD_END_COUNT]; /* relaxed: counters only */
};

const char *child_end_name(enum child_end end)
{
    static const char *const names[] = {
        [CHILD_DIED] = "died",
        [CHILD_HUNG] = "hung",
        [CHILD_NONSENSE] = "nonsense",
        [CHILD_IDLE] = "idle",
    };

    return names[end];
}

int child_new(struct child **ret_child, const struct child_options *options)
{
    struct child *child = calloc(1, sizeof(*child));

    if (child == NULL)
        return -ENOMEM;
    child->options = *options;
    child->socket = -1;
    if (options->program != NULL && (child->program = strdup(options->program)) == NULL) {
        free(child);
        return -ENOMEM;
    }
    *ret_child = child;
    return 0;
}

bool child_runs(const struct child *child)
{
    return child->socket >= 0;
}

void child_count(const struct child *child, struct child_counters *ret_counters)
{
    ret_counters->start_count = atomic_load_explicit(&child->start_count, memory_order_relaxed);
    for (int i = 0; i < CHILD_END_COUNT; i++)
        ret_counters->end_counts[i] = atomic_load_explicit(&child->end_counts[i], memory_order_relaxed);
}

uint64_t child_died_count(const struct child_counters *counters)
{
    return counters->end_counts[CHILD_DIED] + counters->end_counts[CHILD_NONSENSE] + counters->end_counts[CHILD_IDLE];
}

/* Ending ----------------------------------------------------------------------------------------------------------- */

static bool is_gone(const struct leaving *leaving)
{
    pid_t reaped;

    if (leaving->pid == 0)
        return packet_await(leaving->socket, 0);
    reaped = waitpid(leaving->pid, NULL, WNOHANG);
    return reaped == leaving->pid || (reaped < 0 && errno == ECHILD);
}

static void reap_leaving(struct child *child)
{
    size_t kept = 0;

    for (size_t i = 0; i < child->leaving_count; i++) {
        if (!is_gone(&child->leaving[i]))
            child->leaving[kept++] = child->leaving[i];
        else if (child->leaving[i].socket >= 0)
            close(child->leaving[i].socket);
    }
    child->leaving_count = kept;
}

/* Waits until at most count_max children are leaving. The kernel needs some time to free a large process. */
static void await_leaving(struct child *child, size_t count_max)
{
    const struct timespec step = {0, REAP_STEP_NS};
    uint64_t until_ns = clock_mono_ns() + CHILD_REAP_NS;

    reap_leaving(child);
    while (child->leaving_count > count_max && clock_mono_ns() < until_ns) {
        nanosleep(&step, NULL);
        reap_leaving(child);
    }
}

/* Gives up the child. hangs: it hangs on a query of that user, and may not notice that its socket is closed. */
static void stop(struct child *child, bool hangs, uint32_t user)
{
    struct leaving leaving = {.pid = child->pid, .socket = -1, .user = user, .is_blamed = hangs};

    if (child->socket < 0)
        return;
    if (child->pid != 0)
        kill(child->pid, SIGKILL);
    if (child->pid == 0 && hangs)
        leaving.socket = child->socket;
    else
        close(child->socket);
    if (child->pid != 0 || hangs)
        child->leaving[child->leaving_count++] = leaving; /* child_start() has checked that there is room */
    if (child->pid != 0)
        await_leaving(child, child->leaving_count - 1);
    child->socket = -1;
    child->pid = 0;
}

void child_free(struct child *child)
{
    if (child == NULL)
        return;
    stop(child, false, 0);
    reap_leaving(child);
    while (child->leaving_count != 0)
        if (child->leaving[--child->leaving_count].socket >= 0)
            close(child->leaving[child->leaving_count].socket);
    free(child->program);
    free(child);
}

/* Blame ------------------------------------------------------------------------------------------------------------ */

static const struct blamed *find_blamed(const struct child *child, uint32_t user, uint64_t key)
{
    for (size_t i = 0; i < CHILD_BLAMED_MAX; i++) {
        const struct blamed *blamed = &child->blamed[i];

        if (blamed->ends != 0 && blamed->user == user && blamed->key == key &&
            clock_mono_ns() - blamed->last_ns < CHILD_FORGIVE_NS)
            return blamed;
    }
    return NULL;
}

static void blame(struct child *child, uint32_t user, uint64_t key, unsigned ends_max)
{
    const struct blamed *found = find_blamed(child, user, key);
    struct blamed *blamed = &child->blamed[0];
    uint64_t now_ns = clock_mono_ns(), pause_ns;
    unsigned over;

    for (size_t i = 0; i < CHILD_BLAMED_MAX && found == NULL; i++)
        if (child->blamed[i].last_ns < blamed->last_ns)
            blamed = &child->blamed[i];
    if (found != NULL)
        blamed = &child->blamed[found - child->blamed];
    else
        *blamed = (struct blamed){.user = user, .key = key};
    blamed->last_ns = now_ns;
    if (++blamed->ends < ends_max)
        return;
    over = blamed->ends - ends_max < PAUSE_DOUBLES ? blamed->ends - ends_max : PAUSE_DOUBLES;
    pause_ns =
        child->options.pause_ns < CHILD_PAUSE_MAX_NS >> over ? child->options.pause_ns << over : CHILD_PAUSE_MAX_NS;
    blamed->until_ns = now_ns + pause_ns;
}

static uint64_t pause_end(const struct child *child, uint32_t user, uint64_t key)
{
    const struct blamed *blamed = find_blamed(child, user, key);

    return blamed != NULL && clock_mono_ns() < blamed->until_ns ? blamed->until_ns : 0;
}

uint64_t child_pause_end(const struct child *child, uint32_t user)
{
    return pause_end(child, user, 0);
}

bool child_is_held_up(struct child *child, uint32_t user)
{
    reap_leaving(child);
    for (size_t i = 0; i < child->leaving_count; i++)
        if (child->leaving[i].is_blamed && child->leaving[i].user == user)
            return true;
    return false;
}

bool child_is_blamed(struct child *child, uint32_t user, uint64_t key)
{
    return child_is_held_up(child, user) || pause_end(child, user, 0) != 0 ||
           (key != 0 && pause_end(child, user, key) != 0);
}

unsigned child_user_ends(const struct child *child, uint32_t user)
{
    const struct blamed *blamed = find_blamed(child, user, 0);

    return blamed == NULL ? 0 : blamed->ends;
}

void child_drop(struct child *child, enum child_end end, uint32_t user, uint64_t key)
{
    stop(child, end == CHILD_HUNG, user);
    atomic_fetch_add_explicit(&child->end_counts[end], 1, memory_order_relaxed);
    if (end == CHILD_IDLE)
        return;
    if (key != 0 && child->options.key_ends != 0)
        blame(child, user, key, child->options.key_ends);
    blame(child, user, 0, child->options.user_ends);
}

void child_check(struct child *child)
{
    if (child_runs(child) && packet_await(child->socket, 0))
        child_drop(child, CHILD_IDLE, 0, 0);
}

/* Starting --------------------------------------------------------------------------------------------------------- */

static int await_ready(struct child *child, int cancel)
{
    const struct child_wait wait = {.limit_ns = CHILD_READY_NS, .cancel = cancel};
    uint32_t message[2] = {0};
    ssize_t bytes = child_receive(child, message, sizeof(message), NULL, &wait);

    if (bytes == -ECANCELED)
        return -ECANCELED;
    return bytes > 0 && message[0] == child->options.ready ? 0 : -EPROTO;
}

int child_start(struct child *child, int cancel)
{
    int ends[2], result;

    if (child_runs(child))
        return 0;
    if (clock_mono_ns() < child->next_start_ns)
        return -EAGAIN;
    reap_leaving(child);
    if (child->leaving_count == CHILD_LEAVING_MAX)
        return -EBUSY;
    result = packet_pair(ends);
    if (result != 0)
        return result;
    if (child->program != NULL)
        result = spawn_program(child->program, ends[1], &child->pid);
    else
        result =
            packet_send(child->options.keeper, &child->options.request, sizeof(child->options.request), ends[1], false);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        child->pid = 0;
        return result == -EPIPE ? -ENOTCONN : result;
    }
    child->socket = ends[0];
    child->next_start_ns = clock_mono_ns() + child->options.restart_ns;
    if (child->program != NULL && clock_getcpuclockid(child->pid, &child->clock) != 0)
        result = -EPROTO;
    if (result == 0 && child->options.ready != 0)
        result = await_ready(child, cancel);
    if (result != 0)
        stop(child, false, 0);
    else
        atomic_fetch_add_explicit(&child->start_count, 1, memory_order_relaxed);
    return result;
}

/* Queries ---------------------------------------------------------------------------------------------------------- */

int child_send(struct child *child, const void *bytes, size_t count, int descriptor)
{
    return packet_send(child->socket, bytes, count, descriptor, false);
}

/* Whether the process has used CPU time since *used_ns. */
static bool has_used_cpu(const struct child *child, uint64_t *used_ns)
{
    const uint64_t before_ns = *used_ns;

    *used_ns = clock_read_ns(child->clock);
    return *used_ns != before_ns;
}

/* Waits for slice_ns. Returns 1 if something can be received, 0 if not, or -ECANCELED. */
static int wait_slice(const struct child *child, uint64_t slice_ns, int cancel)
{
    struct timespec slice = clock_timespec(slice_ns);
    struct pollfd descriptors[] = {{.fd = child->socket, .events = POLLIN}, {.fd = cancel, .events = POLLIN}};
    int ready = ppoll(descriptors, 2, &slice, NULL);

    if (ready > 0 && descriptors[1].revents != 0)
        return -ECANCELED;
    return ready > 0;
}

ssize_t child_receive(struct child *child, void *buffer, size_t capacity, int *ret_descriptor,
                      const struct child_wait *wait)
{
    uint64_t now_ns = clock_mono_ns(), until_ns = now_ns + wait->limit_ns, moved_ns = now_ns, used_ns = 0;

    for (;;) {
        uint64_t left_ns = time_left_ns(until_ns, now_ns);
        int ready = wait_slice(child, wait->still_ns != 0 && left_ns > SLICE_NS ? SLICE_NS : left_ns, wait->cancel);

        if (ready < 0)
            return ready;
        if (ready > 0) {
            ssize_t bytes = packet_receive(child->socket, buffer, capacity, false, ret_descriptor);

            if (bytes != -EAGAIN)
                return bytes;
        }
        now_ns = clock_mono_ns();
        if (wait->still_ns != 0 && has_used_cpu(child, &used_ns))
            moved_ns = now_ns;
        if (now_ns >= until_ns || (wait->still_ns != 0 && now_ns - moved_ns >= wait->still_ns))
            return -ETIMEDOUT;
    }
}

ssize_t child_ask(struct child *child, const struct child_query *query, void *buffer, size_t capacity,
                  int *ret_descriptor)
{
    ssize_t result;

    child_check(child);
    result = child_runs(child) ? child_send(child, query->bytes, query->count, query->descriptor) : -ENOTCONN;
    if (result == -EPIPE) {
        child_drop(child, CHILD_IDLE, 0, 0);
        return -ENOTCONN;
    }
    if (result == 0)
        result = child_receive(child, buffer, capacity, ret_descriptor, &query->wait);
    if (result > 0 || (result == -EMFILE && ret_descriptor != NULL) || result == -ENOTCONN)
        return result;
    if (result == -ECANCELED) {
        stop(child, false, query->user);
        return result;
    }
    if (result == -EAGAIN) /* a single query always fits: the child does not read */
        result = -ETIMEDOUT;
    if (result == -EMSGSIZE || result == -EMFILE) /* EMFILE here: a descriptor that was not requested */
        result = -EBADMSG;
    child_drop(child,
               result == -ETIMEDOUT ? CHILD_HUNG
               : result == -EBADMSG ? CHILD_NONSENSE
                                    : CHILD_DIED,
               query->user, query->key);
    return result == -ETIMEDOUT || result == -EBADMSG ? result : -EPIPE;
}
