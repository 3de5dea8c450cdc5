/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_remote.c - ripd's end of ripd-probe, against programs that answer well, refuse, answer nonsense, or end:
 * ripd/probe/remote.c. They are this program under other names, which select what it does.
 */
#include "probe/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "os/spawn.h"
#include "probe/protocol.h"
#include "support/descriptors.h"
#include "support/test.h"
#include "unit/other_name.h"

#define LIMIT_NS UINT64_C(20000000000)

/* Fake programs ---------------------------------------------------------------------------------------------------- */

static void answer_well(int socket, const struct probe_query *query, int status)
{
    static struct probe_answer answer;

    answer = (struct probe_answer){.kind = PROBE_ANSWER, .number = query->number, .status = status, .pid = 77};
    answer.count = status == 0 ? query->count : 0;
    for (uint32_t i = 0; i < answer.count; i++)
        answer.threads[i] = (struct probe_thread){
            .tid = query->tids[i],
            .reading = {.tid = query->tids[i], .pid = 77, .times.state = 'S'},
        };
    packet_send(socket, &answer, probe_answer_bytes(answer.count), -1, true);
}

/* Acts as one worker. Returns when it has ended. */
static void be_worker(const char *name, int socket, int worker_number)
{
    struct probe_query query;

    while (packet_receive(socket, &query, sizeof(query), true, NULL) > 0) {
        if (strcmp(name, "fake-ends") == 0 || (strcmp(name, "fake-ends-once") == 0 && worker_number == 0))
            break;
        if (strcmp(name, "fake-nonsense") == 0 && worker_number == 0)
            packet_send(socket, "nonsense", 8, -1, true);
        else
            answer_well(socket, &query, strcmp(name, "fake-refuses") == 0 ? -EACCES : 0);
    }
    close(socket);
}

/* A keeper that acts as each of its workers, one after the other. */
static int be_fake(const char *name)
{
    uint32_t kind;
    int socket;

    if (strcmp(name, "fake-keeper-speaks") == 0)
        packet_send(SPAWN_SOCKET, "hello", 5, SPAWN_SOCKET, true);
    for (int i = 0; packet_receive(SPAWN_SOCKET, &kind, sizeof(kind), true, &socket) == sizeof(kind); i++) {
        if (kind != PROBE_WORKER || socket < 0)
            return 1;
        be_worker(name, socket, i);
    }
    return 0;
}

/* The tests -------------------------------------------------------------------------------------------------------- */

static struct remote *remote;

static int stop(void **state)
{
    (void)state;
    remote_free(remote);
    remote = NULL;
    return 0;
}

static struct remote_query query_of(uint32_t process, uint32_t tid)
{
    return (struct remote_query){
        .ring = 5, .process = process, .uid = process / 100, .slot = tid, .ring_tid = tid, .tid = tid, .progress = 9};
}

/* Repeats the query until the result is not REMOTE_LATER. */
static enum remote_asked ask_until_decided(uint32_t process, uint32_t tid)
{
    const struct remote_query query = query_of(process, tid);
    uint64_t until_mono_ns = clock_mono_ns() + LIMIT_NS;
    enum remote_asked asked;

    do {
        remote_look(remote);
        asked = remote_ask(remote, STDIN_FILENO, &query);
        if (asked == REMOTE_LATER)
            usleep(1000);
    } while (asked == REMOTE_LATER && clock_mono_ns() < until_mono_ns);
    return asked;
}

/* The same after several workers have ended, when no other may be started for a while. */
static void ask_patiently(uint32_t process, uint32_t tid)
{
    uint64_t until_mono_ns = clock_mono_ns() + LIMIT_NS;

    while (ask_until_decided(process, tid) != REMOTE_ASKED)
        assert_true(clock_mono_ns() < until_mono_ns);
}

static struct remote_answer answer;

static bool next(void)
{
    remote_flush(remote);
    return remote_next(remote, clock_mono_ns() + LIMIT_NS, &answer);
}

static void ask(uint32_t process, uint32_t tid)
{
    assert_int_equal(ask_until_decided(process, tid), REMOTE_ASKED);
}

static struct remote_counters counted(void)
{
    struct remote_counters counters;

    remote_count(remote, &counters);
    return counters;
}

TEST(answers_come_in_order, NULL, stop)
{
    remote = remote_by_name("fake-answers");
    assert_false(remote_is_busy(remote));
    for (uint32_t tid = 1; tid <= 40; tid++) /* more than fit in one query, and two processes */
        ask(tid > 36, tid);
    assert_true(remote_is_asked(remote, 5, 40));
    assert_false(remote_is_asked(remote, 5, 41));
    assert_false(remote_is_asked(remote, 6, 40));
    for (uint32_t tid = 1; tid <= 40; tid++) {
        assert_true(next());
        assert_true(answer.attested && answer.status == 0);
        assert_int_equal(answer.pid, 77);
        assert_int_equal(answer.query.tid, tid);
        assert_int_equal(answer.query.process, tid > 36);
        assert_int_equal(answer.reading.tid, tid);
        assert_int_equal(answer.reading.times.state, 'S');
    }
    assert_false(remote_is_busy(remote));
    assert_false(next());
    assert_int_equal(counted().workers.start_count, 1);
}

TEST(a_limit_of_pending_queries, NULL, stop)
{
    const struct remote_query one_more = query_of(1000, 1000), last = query_of(REMOTE_QUERIES_MAX - 1, 1000);

    remote = remote_by_name("fake-answers");
    for (uint32_t i = 0; i < REMOTE_QUERIES_MAX; i++)
        ask(i, i + 1);
    assert_true(remote_has_room(remote, last.ring, last.process));
    assert_false(remote_has_room(remote, one_more.ring, one_more.process));
    remote_flush(remote);
    assert_false(remote_has_room(remote, last.ring, last.process));
    assert_true(remote_is_full(remote));
    assert_int_equal(remote_ask(remote, STDIN_FILENO, &one_more), REMOTE_LATER);
    assert_true(next());
    assert_false(remote_is_full(remote));
    assert_int_equal(remote_ask(remote, STDIN_FILENO, &one_more), REMOTE_ASKED);
}

TEST(refusals, NULL, stop)
{
    remote = remote_by_name("fake-refuses");
    ask(1, 1);
    assert_true(next());
    assert_false(answer.attested);
    assert_int_equal(answer.status, -EACCES);
}

TEST(nonsense_ends_the_worker, NULL, stop)
{
    remote = remote_by_name("fake-nonsense");
    ask(1, 1);
    assert_false(next());
    assert_int_equal(counted().workers.end_counts[CHILD_NONSENSE], 1);
    ask(1, 1); /* the next worker */
    assert_true(next());
    assert_int_equal(counted().workers.start_count, 2);
}

TEST(processes_that_end_workers_are_not_queried, NULL, stop)
{
    remote = remote_by_name("fake-ends");
    for (int i = 0; i < 2; i++) {
        ask(1, 1);
        assert_false(next());
    }
    assert_int_equal(ask_until_decided(1, 1), REMOTE_REFUSED);
    for (uint32_t process = 2; process < 2 + REMOTE_USER_ENDS_MAX - 2; process++) {
        ask_patiently(process, 1); /* others still are */
        assert_false(next());
    }
    ask_patiently(100, 1);
    assert_int_equal(ask_until_decided(50, 1), REMOTE_REFUSED); /* now the user of these is blamed */
}

static void look_until_gone(void)
{
    uint64_t until_mono_ns = clock_mono_ns() + LIMIT_NS;

    while (!counted().gone && clock_mono_ns() < until_mono_ns)
        remote_look(remote);
    assert_true(counted().gone);
}

TEST(the_program_ends, NULL, stop)
{
    assert_int_equal(remote_new(&remote, "/bin/true", -1), 0);
    look_until_gone();
    assert_int_equal(ask_until_decided(1, 1), REMOTE_REFUSED);
    assert_true(counted().gone);
    stop(NULL);
    assert_int_equal(remote_new(&remote, "/nowhere/at-all", -1), -ENOENT);
}

/* A keeper must send nothing. One that does is ended, and the descriptor that it sent is closed. */
TEST(a_keeper_that_sends_something, NULL, stop)
{
    size_t descriptors = count_descriptors();

    remote = remote_by_name("fake-keeper-speaks");
    look_until_gone();
    assert_int_equal(remote_keeper(remote), -ENOTCONN);
    stop(NULL);
    assert_int_equal(count_descriptors(), descriptors);
}

/* One end is not blamed. Without a free descriptor for the next worker's socket, the query is for later. */
TEST(few_descriptors, NULL, stop)
{
    struct rlimit limit, few;
    struct remote_query query = query_of(1, 1);

    remote = remote_by_name("fake-ends-once");
    ask(1, 1);
    assert_false(next());
    assert_int_equal(counted().workers.end_counts[CHILD_DIED], 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){3, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    usleep(1200000); /* longer than the pause between two starts */
    remote_look(remote);
    assert_int_equal(remote_ask(remote, STDIN_FILENO, &query), REMOTE_LATER);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ask(1, 1);
    assert_true(next());
    assert_false(counted().gone);
}

int main(int argc, char **argv)
{
    if (argc == 1 && strncmp(argv[0], "fake-", 5) == 0)
        return be_fake(argv[0]);
    return tests_run(NULL, NULL);
}
