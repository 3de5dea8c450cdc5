/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_examine_answer.c - what a worker reports of threads, what happens if its answer is late, and when a deadlock is
 * certain: ripd/probe/evidence.c with ripd/probe/remote.c. The worker reads as that of ripd-probe does,
 * in a process of its own (this program, by another name), and keeps an answer back for as long as a test wants.
 */
#include "unit/locker.h"
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

#define WORKER_NAME "worker-by-word"

/* What the test and the worker share. */
struct word {
    uint64_t asked;   /* questions that there have been */
    uint64_t allowed; /* of which so many may be answered */
};
static struct word *word;
static struct remote *remote;

/* The worker ------------------------------------------------------------------------------------------------------- */

static void name_word(char *ret_path, size_t size, pid_t test)
{
    snprintf(ret_path, size, "/dev/shm/rip-word-%d", (int)test);
}

static struct word *map_word(pid_t test, int flags)
{
    char path[64];
    struct word *mapped;
    int descriptor;

    name_word(path, sizeof(path), test);
    descriptor = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (descriptor < 0 || ((flags & O_CREAT) != 0 && ftruncate(descriptor, sizeof(*mapped)) != 0))
        abort();
    mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED)
        abort();
    close(descriptor);
    return mapped;
}

/* A keeper that forks nobody: it is the worker itself. */
static int be_worker(void)
{
    const struct worker_sources sources = {open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), -1};
    static struct probe_answer answer;
    struct probe_query query;
    uint32_t kind;
    int socket, descriptor;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    word = map_word(getppid(), 0);
    if (sigbus_install() != 0 || packet_receive(SPAWN_SOCKET, &kind, sizeof(kind), true, &socket) != sizeof(kind))
        return 1;
    while (packet_receive(socket, &query, sizeof(query), true, &descriptor) > 0) {
        uint64_t number;

        worker_answer(&sources, &query, descriptor, &answer);
        number = __atomic_add_fetch(&word->asked, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&word->allowed, __ATOMIC_ACQUIRE) < number)
            usleep(200);
        if (packet_send(socket, &answer, probe_answer_bytes(answer.count), -1, true) != 0)
            return 1;
    }
    return 0;
}

static void start_remote(void)
{
    char self[PATH_MAX], folder[64], link[128];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(length > 0);
    self[length] = '\0';
    snprintf(folder, sizeof(folder), "/tmp/rip-answer-%d", (int)getpid());
    snprintf(link, sizeof(link), "%s/%s", folder, WORKER_NAME);
    word = map_word(getpid(), O_CREAT | O_EXCL);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(symlink(self, link), 0);
    assert_int_equal(remote_new(&remote, link, -1), 0);
    unlink(link);
    rmdir(folder);
}

static uint64_t asked_count(void)
{
    return __atomic_load_n(&word->asked, __ATOMIC_ACQUIRE);
}

static void allow(uint64_t count)
{
    __atomic_store_n(&word->allowed, count, __ATOMIC_RELEASE);
}

/* The scene -------------------------------------------------------------------------------------------------------- */

/* Locks of the child's threads, of which each takes its own and then the next one's. */
static pthread_mutex_t locks[THREADS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                         PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t all_have_theirs;

static void *wait_for_the_next(void *context)
{
    size_t own = (uintptr_t)context, next = own == 1 ? 2 : 1; /* the first thread has none of them */

    play_send_tid(own);
    pthread_mutex_lock(&locks[own]);
    pthread_barrier_wait(&all_have_theirs);
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
    pthread_barrier_init(&all_have_theirs, NULL, THREADS - 1);
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
    snprintf(path, sizeof(path), "%s", ring_stage_path(&play.scene->stage, "ring"));
    play_add_process(0, THREADS, RIP_PROCESS_HAS_HOLDER_LOCK, be_child, &child);
    scene_refresh(play.scene);
    assert_int_equal(ring_named(play.scene, "ring")->processes[0].verdict, PROCESS_ATTESTED);
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
    return begin(wait_for_the_next);
}

static int end(void **state)
{
    char path[64];

    remote_free(remote);
    munmap(word, sizeof(*word));
    name_word(path, sizeof(path), getpid());
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

/* Has them asked about by a probe that knows nothing yet; the answer is kept back. */
static void ask_and_keep(void)
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

/* Lets the answer come: the probe drops it, so that no suspect has evidence of it, and queries again. */
static void assert_thrown_away(void)
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

/* Between scans, say: it is used on the next one, and nobody asks again. */
TEST(a_late_answer_counts, begin_waiting, end)
{
    uint64_t asked;

    ask_and_keep();
    asked = asked_count();
    allow(asked);
    collect_until('S');
    assert_int_equal(asked_count(), asked);
}

/* What was asked for before a process was stopped is not how it is now, nor what was asked for while it was. */
TEST(answers_of_another_time, begin_waiting, end)
{
    collect_until('S');
    ask_and_keep();
    kill(play.pids[0], SIGSTOP);
    play_await_threads(play.pids[0], 'T');
    assert_thrown_away();
    allow(UINT64_MAX);
    collect_until('T');

    ask_and_keep();
    kill(play.pids[0], SIGCONT);
    play_await_threads(play.pids[0], 'S');
    assert_thrown_away();
    allow(UINT64_MAX);
    collect_until('S');
}

/* Doubts ----------------------------------------------------------------------------------------------------------- */

/* Looks at them for the first time, in that order. False: the kernel denies it, or they do not wait yet. */
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

static bool is_known(void)
{
    const struct kernel_facts *facts = play_case(1)->kernel;

    return facts == NULL || (facts->denied & (KERNEL_DENIED(SYSCALL) | KERNEL_DENIED(MEMORY))) == 0;
}

static uint64_t count_deadlocked(size_t *ret_doubted)
{
    const struct waits_source source = {
        .registry = play.scene->registry, .cases = play.cases, .work = play.work, .sequence = 1};
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

/* Whether all of it can be had in one go, which a busy machine may prevent. */
static bool is_confirmed(bool turned)
{
    size_t doubted;

    if (!are_both_known(turned))
        return false;
    assert_int_equal(count_deadlocked(&doubted), 0); /* one look at each proves nothing */
    assert_int_equal(doubted, THREADS - 1);
    assert_true(probe_confirm(play.probe));
    return count_deadlocked(&doubted) == THREADS - 1 && doubted == 0;
}

/* On the scan that finds them, in whatever order they are looked at. */
TEST(a_deadlock_is_confirmed_at_once, begin_deadlocked, end)
{
    for (int turned = 0; turned < 2; turned++) {
        int attempts = 0;

        while (!is_confirmed(turned != 0) && is_known())
            assert_true(attempts++ < ATTEMPTS);
    }
    if (!is_known())
        print_message("skipped: the kernel does not show us what others wait for\n");
}

int main(int argc, char **argv)
{
    if (argc == 1 && strcmp(argv[0], WORKER_NAME) == 0)
        return be_worker();
    return tests_run(NULL, NULL);
}
