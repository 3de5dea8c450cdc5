/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_child.c - children that answer, die, hang or answer nonsense: ripd/os/child.c. The child is this program, or a
 * thread of it in the place of a process that a keeper forks. Each query says what the child does.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/child.h"
#include "os/clock.h"
#include "os/packet.h"
#include "os/spawn.h"
#include "support/descriptors.h"
#include "support/test.h"

#define MS UINT64_C(1000000)
#define LONG_NS (60000 * MS)
#define SHORT_NS (300 * MS)
#define READY 7u
#define REQUEST 9u

static char self[4096];

/* The child -------------------------------------------------------------------------------------------------------- */

/* Returns false if the child ends. */
static bool answer(int socket, const char *query)
{
    static char text[4096];
    volatile unsigned turns = 0;
    size_t bytes = 1;

    if (strcmp(query, "dies") == 0)
        return false;
    while (strcmp(query, "stops") == 0)
        pause();
    while (strcmp(query, "spins") == 0)
        turns = turns + 1;
    if (strcmp(query, "pid") == 0)
        bytes = (size_t)snprintf(text, sizeof(text), "%d", (int)getpid()) + 1;
    if (strcmp(query, "long") == 0)
        bytes = sizeof(text);
    for (int i = 0; i < (strcmp(query, "twice") == 0 ? 2 : 1); i++)
        packet_send(socket, text, bytes, strcmp(query, "file") == 0 ? STDIN_FILENO : -1, true);
    return true;
}

static void serve(int socket)
{
    char query[16];

    while (packet_receive(socket, query, sizeof(query), true, NULL) > 0)
        if (!answer(socket, query))
            break;
    close(socket);
}

/* Returns in the test, but not in the child. */
static void be_child(void)
{
    const uint32_t ready = READY;
    socklen_t bytes = sizeof(int);
    int type = 0;

    if (environ[0] != NULL || getsockopt(SPAWN_SOCKET, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
        type != SOCK_SEQPACKET)
        return;
    packet_send(SPAWN_SOCKET, &ready, sizeof(ready), -1, true);
    serve(SPAWN_SOCKET);
    _exit(0);
}

/* The tests -------------------------------------------------------------------------------------------------------- */

static struct child_options options = {
    .program = self, .ready = READY, .pause_ns = LONG_NS, .user_ends = 1, .key_ends = 2};

static struct child *child;

static int stop(void **state)
{
    (void)state;
    child_free(child);
    child = NULL;
    return 0;
}

static void new_child(const struct child_options *of)
{
    assert_int_equal(child_new(&child, of), 0);
}

static int start(void **state)
{
    (void)state;
    new_child(&options);
    return 0;
}

static ssize_t ask_for(const char *text, uint32_t user, const struct child_wait *wait, int *file)
{
    const struct child_query query = {
        .bytes = text, .count = strlen(text) + 1, .descriptor = -1, .user = user, .wait = *wait};
    char buffer[64];
    ssize_t bytes;

    if (!child_runs(child))
        assert_int_equal(child_start(child, -1), 0);
    bytes = child_ask(child, &query, buffer, sizeof(buffer), file);
    return bytes > 1 ? atoi(buffer) : bytes;
}

static const struct child_wait patient = {.limit_ns = LONG_NS, .cancel = -1};

static ssize_t ask(const char *text, uint32_t user)
{
    return ask_for(text, user, &patient, NULL);
}

static struct child_counters counted(void)
{
    struct child_counters counters;

    child_count(child, &counters);
    return counters;
}

TEST(ends_by_a_query, start, stop)
{
    static const struct {
        const char *query;
        ssize_t result;
        enum child_end end;
    } cases[] = {
        {"dies", -EPIPE, CHILD_DIED},
        {"stops", -ETIMEDOUT, CHILD_HUNG},
        {"spins", -ETIMEDOUT, CHILD_HUNG},
        {"long", -EBADMSG, CHILD_NONSENSE},
    };
    size_t descriptors = count_descriptors();

    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        const struct child_wait wait = {.limit_ns = SHORT_NS, .cancel = -1};
        uint64_t before = counted().end_counts[cases[i].end];

        assert_int_equal(ask_for(cases[i].query, i, &wait, NULL), cases[i].result);
        assert_false(child_runs(child));
        assert_int_equal(counted().end_counts[cases[i].end], before + 1);
        assert_true(child_is_blamed(child, i, 0));
        assert_int_equal(child_user_ends(child, i), 1);
        assert_false(child_is_blamed(child, i + 1, 0));
        assert_int_equal(ask("fine", 100), 1);
    }
    assert_int_equal(counted().start_count, 5);
    stop(NULL);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_string_equal(child_end_name(CHILD_NONSENSE), "nonsense");
}

/* A child that is killed, or sends too much, between queries: no user is blamed. */
TEST(ends_between_queries, start, stop)
{
    ssize_t pid = ask("pid", 1);

    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
    assert_int_equal(ask("fine", 1), -ENOTCONN);
    assert_int_equal(ask("twice", 1), 1);
    usleep(50000);
    assert_int_equal(ask("fine", 1), -ENOTCONN);
    assert_int_equal(counted().end_counts[CHILD_IDLE], 2);
    assert_false(child_is_blamed(child, 1, 0));
}

/* A child that uses no CPU time hangs after still_ns. A busy child has until the limit. */
TEST(busy_and_still_children, start, stop)
{
    const struct child_wait busy = {8 * SHORT_NS, 2 * SHORT_NS, -1}, still = {LONG_NS, SHORT_NS, -1};
    uint64_t before_ns = clock_mono_ns();

    assert_int_equal(ask_for("spins", 1, &busy, NULL), -ETIMEDOUT);
    assert_true(clock_mono_ns() - before_ns >= 8 * SHORT_NS);
    assert_int_equal(ask_for("stops", 1, &still, NULL), -ETIMEDOUT);
    assert_true(clock_mono_ns() - before_ns < LONG_NS);
}

TEST(cancelled, start, stop)
{
    int cancel = eventfd(1, EFD_CLOEXEC);

    assert_int_equal(ask_for("stops", 1, &(struct child_wait){LONG_NS, 0, cancel}, NULL), -ECANCELED);
    assert_false(child_runs(child) || child_is_blamed(child, 1, 0));
    assert_int_equal(child_start(child, cancel), -ECANCELED);
    assert_false(child_runs(child));
    close(cancel);
}

TEST(programs_that_cannot_start)
{
    static const struct {
        const char *program;
        int result;
    } cases[] = {{"/nowhere/at-all", -ENOENT}, {"/etc/passwd", -EACCES}, {"/bin/true", -EPROTO}, {"/bin/ls", -EPROTO}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct child_options of = options;

        of.program = cases[i].program;
        new_child(&of);
        assert_int_equal(child_start(child, -1), cases[i].result);
        assert_false(child_runs(child));
        stop(NULL);
    }
}

/* Without free descriptors there is no child, or no file with an answer. Later there is. */
TEST(few_descriptors, start, stop)
{
    struct rlimit limit, few;
    int file = -1, highest = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

    close(highest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){(rlim_t)highest + 1, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(child_start(child, -1), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(ask("fine", 1), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(ask_for("file", 1, &patient, &file), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(child_runs(child) && !child_is_blamed(child, 1, 0));
    assert_int_equal(ask_for("file", 1, &patient, &file), 1);
    assert_true(file >= 0);
    close(file);
}

TEST(pauses_grow, NULL, stop)
{
    const struct child_options of = {.pause_ns = 1000 * MS, .user_ends = 3, .key_ends = 2};

    new_child(&of);
    for (unsigned i = 1; i <= 30; i++) {
        uint64_t until_ns, now_ns, pause_ns;

        child_drop(child, CHILD_DIED, 5, 77);
        until_ns = child_pause_end(child, 5);
        now_ns = clock_mono_ns();
        assert_int_equal(child_is_blamed(child, 5, 0), i >= 3);
        assert_int_equal(child_is_blamed(child, 5, 77), i >= 2);
        assert_false(child_is_blamed(child, 6, 77));
        if (i < 3) {
            assert_int_equal(until_ns, 0);
            continue;
        }
        pause_ns = i - 3 < 10 ? of.pause_ns << (i - 3) : CHILD_PAUSE_MAX_NS;
        pause_ns = pause_ns < CHILD_PAUSE_MAX_NS ? pause_ns : CHILD_PAUSE_MAX_NS;
        assert_in_range(until_ns, now_ns + pause_ns - 500 * MS, now_ns + pause_ns);
    }
    for (uint32_t user = 100; user < 100 + CHILD_BLAMED_MAX; user++)
        child_drop(child, CHILD_DIED, user, 0);
    assert_false(child_is_blamed(child, 5, 0)); /* evicted by later users */
}

TEST(a_pause_ends, NULL, stop)
{
    const struct child_options of = {.pause_ns = 10 * MS, .user_ends = 1};

    new_child(&of);
    child_drop(child, CHILD_DIED, 5, 77);
    assert_true(child_pause_end(child, 5) != 0);
    usleep(20000);
    assert_false(child_is_blamed(child, 5, 77));
    assert_int_equal(child_user_ends(child, 5), 1);
}

/* Children of a keeper --------------------------------------------------------------------------------------------- */

static void *run_child(void *context)
{
    serve((int)(intptr_t)context);
    return NULL;
}

static int keeper[2]; /* the socket of the options, and the keeper's own */

static void new_child_of_keeper(uint64_t restart_ns)
{
    assert_int_equal(packet_pair(keeper), 0);
    new_child(&(struct child_options){
        .keeper = keeper[0], .request = REQUEST, .restart_ns = restart_ns, .pause_ns = 1, .user_ends = 1});
}

/* Acts as the keeper: starts the requested child. Returns its socket. */
static int fork_child(void)
{
    uint32_t request = 0;
    pthread_t thread;
    int socket = -1;

    assert_int_equal(packet_receive(keeper[1], &request, sizeof(request), true, &socket), sizeof(request));
    assert_int_equal(request, REQUEST);
    assert_int_equal(pthread_create(&thread, NULL, run_child, (void *)(intptr_t)socket), 0);
    pthread_detach(thread);
    return socket;
}

/*
 * Guarantee D: a child that does not end holds up its user. If too many do not end, no other is started until one ends.
 */
TEST(children_that_do_not_end, NULL, stop)
{
    int sockets[CHILD_LEAVING_MAX];

    new_child_of_keeper(1);
    for (uint32_t i = 0; i < CHILD_LEAVING_MAX; i++) {
        const struct child_wait wait = {.limit_ns = 20 * MS, .cancel = -1};

        assert_int_equal(child_start(child, -1), 0);
        sockets[i] = fork_child();
        assert_int_equal(ask_for("stops", i, &wait, NULL), -ETIMEDOUT);
    }
    assert_int_equal(child_start(child, -1), -EBUSY);
    usleep(1000);
    assert_true(child_is_blamed(child, 0, 0) && child_is_blamed(child, 3, 0));
    shutdown(sockets[0], SHUT_RDWR);
    assert_false(child_is_blamed(child, 0, 0));
    assert_true(child_is_blamed(child, 3, 0));
    assert_int_equal(child_start(child, -1), 0);
    (void)fork_child();
    assert_int_equal(ask("dies", 9), -EPIPE);
    close(keeper[1]);
    usleep(1000);
    assert_int_equal(child_start(child, -1), -ENOTCONN);
    close(keeper[0]);
}

/* Guarantee B. */
TEST(the_next_child_starts_after_a_pause, NULL, stop)
{
    uint64_t before_ns = clock_mono_ns();

    new_child_of_keeper(SHORT_NS);
    assert_int_equal(child_start(child, -1), 0);
    (void)fork_child();
    assert_int_equal(ask("dies", 9), -EPIPE);
    while (child_start(child, -1) == -EAGAIN)
        usleep(1000);
    assert_true(child_runs(child) && clock_mono_ns() - before_ns >= SHORT_NS);
    close(keeper[0]);
    close(keeper[1]);
}

int main(void)
{
    be_child();
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return 1;
    return tests_run(NULL, NULL);
}
