/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_examine_answer.c - what a worker reports about threads, late answers, and how a deadlock is confirmed:
 * ripd/probe/evidence.c with ripd/probe/remote.c. The worker is this program under another name. It reads as the one of
 * ripd-probe does, and keeps each answer back until the test allows it.
 */
#include "os/file.h"
#include "unit/locker.h"
#include "unit/other_name.h"
#include "unit/probe_play.h"

#include <limits.h>

#include "cases/kernel.h"
#include "cases/waits.h"
#include "os/packet.h"
#include "os/spawn.h"
#include "probe/child/worker.h"
#include "probe/remote.h"
#include "ring/waits_collect.h"

enum { THREADS = 3, ATTEMPTS = 200 };

#define WORKER_NAME "controlled-worker"

/* Memory that the test and the worker share. */
struct control {
    uint64_t asked;   /* number of queries so far */
    uint64_t allowed; /* number of queries that may be answered */
};
static struct control *control;
static struct remote *remote;

/* The worker ------------------------------------------------------------------------------------------------------- */

static void name_control(char *ret_path, size_t size, pid_t test)
{
    snprintf(ret_path, size, "/dev/shm/rip-control-%d", (int)test);
}

static struct control *map_control(pid_t test, int flags)
{
    char path[64];
    struct control *mapped;
    int descriptor;

    name_control(path, sizeof(path), test);
    descriptor = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (descriptor < 0 || ((flags & O_CREAT) != 0 && ftruncate(descriptor, sizeof(*mapped)) != 0))
        abort();
    mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED)
        abort();
    close(descriptor);
    return mapped;
}

/* A keeper that does not fork: it becomes the worker itself. */
static int be_worker(void)
{
    const struct worker_sources sources = {file_open_directory("/proc"), -1};
    static struct probe_answer answer;
    struct probe_query query;
    uint32_t kind;
    int socket, descriptor;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    control = map_control(getppid(), 0);
    if (sigbus_install() != 0 || packet_receive(SPAWN_SOCKET, &kind, sizeof(kind), true, &socket) != sizeof(kind))
        return 1;
    while (packet_receive(socket, &query, sizeof(query), true, &descriptor) > 0) {
        uint64_t number;

        worker_answer(&sources, &query, descriptor, &answer);
        number = __atomic_add_fetch(&control->asked, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&control->allowed, __ATOMIC_ACQUIRE) < number)
            usleep(200);
        if (packet_send(socket, &answer, probe_answer_bytes(answer.count), -1, true) != 0)
            return 1;
    }
    return 0;
}

static void start_remote(void)
{
    control = map_control(getpid(), O_CREAT | O_EXCL);
    remote = remote_by_name(WORKER_NAME);
}

static uint64_t asked_count(void)
{
    return __atomic_load_n(&control->asked, __ATOMIC_ACQUIRE);
}

static void allow(uint64_t count)
{
    __atomic_store_n(&control->allowed, count, __ATOMIC_RELEASE);
}

/* The child -------------------------------------------------------------------------------------------------------- */

/* Each thread of the child, except the first, takes its own lock and then the other one's. */
static pthread_mutex_t locks[THREADS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                         PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t own_locks_taken;

static void *lock_both(void *context)
{
    size_t own = (uintptr_t)context, next = own == 1 ? 2 : 1; /* thread 0 takes none */

    play_send_tid(own);
    pthread_mutex_lock(&locks[own]);
    pthread_barrier_wait(&own_locks_taken);
    pthread_mutex_lock(&locks[next]);
    return NULL;
}

struct locking_child {
    struct locker locker;
    void *(*body)(void *context);
};

static void be_child(void *context)
{
    const struct locking_child *child = context;

    locker_lock(context);
    pthread_barrier_init(&own_locks_taken, NULL, THREADS - 1);
    play_start_threads(THREADS - 1, child->body);
}

static void open_answering_probe(uint64_t budget_ns)
{
    const struct probe_options options = {
        .proc_path = "/proc", .cgroup_path = "/sys/fs/cgroup", .budget_ns = budget_ns, .remote = remote, .diag = -1};

    play_open_probe(&options);
}

static int begin(void *(*body)(void *context))
{
    char path[128];
    struct locking_child child = {{path, RIP_LOCK_HOLDER_OFFSET, F_SETLK, 0}, body};

    play_new();
    snprintf(path, sizeof(path), "%s", ring_stage_path(&scene.stage, "ring"));
    play_add_process(0, THREADS, RIP_PROCESS_HAS_HOLDER_LOCK, be_child, &child);
    scene_refresh();
    assert_int_equal(ring_named("ring")->processes[0].verdict, PROCESS_ATTESTED);
    start_remote();
    allow(UINT64_MAX);
    open_answering_probe(PLAY_AMPLE_NS);
    return 0;
}

static int begin_waiting(void **state)
{
    (void)state;
    return begin(play_wait);
}

static int begin_deadlocked(void **state)
{
    (void)state;
    return begin(lock_both);
}

static int end(void **state)
{
    char path[64];

    remote_free(remote);
    munmap(control, sizeof(*control));
    name_control(path, sizeof(path), getpid());
    unlink(path);
    return play_free(state);
}

static void collect(void)
{
    play_collect();
    play_take_verdicts();
}

/* Late answers ----------------------------------------------------------------------------------------------------- */

static bool all_have(char state)
{
    for (size_t i = 0; i < play.count; i++)
        if (play_case(i)->kernel == NULL || play_case(i)->kernel->state != state)
            return false;
    return true;
}

static void collect_until(char state)
{
    for (int i = 0; i < ATTEMPTS && !all_have(state); i++)
        collect();
    assert_true(all_have(state));
}

/* Lets a new probe query the worker about all threads. The answer is kept back. */
static void query_and_keep_back(void)
{
    uint64_t before = asked_count();

    allow(before);
    open_answering_probe(UINT64_C(20000000));
    for (size_t i = 0; i < play.count; i++) {
        play.suspects[i].state = ID_RUNNING;
        play.suspects[i].cause = CAUSE_NONE;
    }
    for (int i = 0; i < ATTEMPTS && asked_count() == before; i++)
        collect();
    assert_int_equal(asked_count(), before + 1);
}

/* Allows the answer: the probe drops it, so no suspect gets evidence, and queries again. */
static void assert_dropped(void)
{
    uint64_t before = asked_count();

    allow(before);
    for (int i = 0; i < ATTEMPTS && asked_count() == before; i++) {
        collect();
        for (size_t j = 0; j < play.count; j++)
            assert_null(play_case(j)->kernel);
    }
    assert_int_equal(asked_count(), before + 1);
}

/* An answer that comes between two scans is used on the next one, without another query. */
TEST(a_late_answer_counts, begin_waiting, end)
{
    uint64_t asked;

    query_and_keep_back();
    asked = asked_count();
    allow(asked);
    collect_until('S');
    assert_int_equal(asked_count(), asked);
    collect(); /* the threads have not run since: no query for some time */
    assert_int_equal(asked_count(), asked);
}

/* Each thread stops or continues by itself, some time after the signal. */
static void signal_all(int number, char letter)
{
    kill(play.pids[0], number);
    for (size_t i = 0; i < THREADS; i++)
        play_await((pid_t)play_tids[i], letter);
}

/* An answer to a query from before the process was stopped, or from while it was stopped, is dropped. */
TEST(outdated_answers, begin_waiting, end)
{
    collect_until('S');
    query_and_keep_back();
    signal_all(SIGSTOP, 'T');
    assert_dropped();
    allow(UINT64_MAX);
    collect_until('T');

    query_and_keep_back();
    signal_all(SIGCONT, 'S');
    assert_dropped();
    allow(UINT64_MAX);
    collect_until('S');
}

/* Doubts ----------------------------------------------------------------------------------------------------------- */

/* First look of a new probe, in that order. Returns false if the kernel denies it, or they do not wait yet. */
static bool are_both_known(bool turned)
{
    open_answering_probe(PLAY_AMPLE_NS);
    for (size_t i = 0; i < play.count; i++) {
        play.suspects[i].state = ID_RUNNING;
        play.suspects[i].frozen_since_ns = 1000 + (turned ? play.count - i : i);
    }
    play_examine(play.count);
    return play_case(1)->lock.holder.address != 0 && play_case(2)->lock.holder.address != 0;
}

/* Whether the kernel allows reading the calls and the memory. */
static bool is_allowed(void)
{
    const struct kernel_facts *facts = play_case(1)->kernel;

    return facts == NULL || (facts->denied & (KERNEL_DENIED(SYSCALL) | KERNEL_DENIED(MEMORY))) == 0;
}

static uint64_t count_deadlocked(size_t *ret_doubted)
{
    const struct waits_source source = {
        .registry = scene.registry, .cases = play.cases, .work = play.work, .sequence = 1};
    struct waits *waits = waits_collect(&source);
    uint64_t count;

    assert_non_null(waits);
    count = waits->deadlocked_count;
    *ret_doubted = 0;
    for (size_t i = 0; i < play.count; i++)
        *ret_doubted += play_case(i)->doubted;
    waits_free(waits);
    return count;
}

/* Whether one scan confirms the deadlock. A busy machine may prevent that. */
static bool is_confirmed(bool turned)
{
    size_t doubted;

    if (!are_both_known(turned))
        return false;
    assert_int_equal(count_deadlocked(&doubted), 0); /* one look at each thread is no proof */
    assert_int_equal(doubted, THREADS - 1);
    assert_true(probe_confirm(play.probe));
    return count_deadlocked(&doubted) == THREADS - 1 && doubted == 0;
}

/* In the scan that finds the threads, whatever their order. */
TEST(a_deadlock_is_confirmed_in_one_scan, begin_deadlocked, end)
{
    for (int turned = 0; turned < 2; turned++) {
        int attempts = 0;

        while (!is_confirmed(turned != 0) && is_allowed())
            assert_true(attempts++ < ATTEMPTS);
    }
    if (!is_allowed())
        print_message("skipped: the kernel denies reading what threads wait for\n");
}

int main(int argc, char **argv)
{
    if (argc == 1 && strcmp(argv[0], WORKER_NAME) == 0)
        return be_worker();
    return tests_run(NULL, NULL);
}
