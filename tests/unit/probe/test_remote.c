/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_remote.c - ripd's end of ripd-probe, against programs that answer well, refuse, talk nonsense, or end. They are
 * this one, by other names: what it is called is what it does.
 */
#include "probe/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "os/clock.h"
#include "os/helper.h"
#include "os/packet.h"
#include "probe/protocol.h"

#define PATIENCE_NS UINT64_C(20000000000)

/* The fake ones ---------------------------------------------------------------------------------------------------- */

static void answer_well(int socket, const struct probe_query *ask, int status)
{
    static struct probe_answer told;

    memset(&told, 0, sizeof(told));
    told.kind = PROBE_ANSWER;
    told.number = ask->number;
    told.status = status;
    told.count = status == 0 ? ask->count : 0;
    told.pid = 77;
    for (uint32_t i = 0; i < told.count; i++) {
        told.threads[i].tid = ask->tids[i];
        told.threads[i].reading.tid = ask->tids[i];
        told.threads[i].reading.pid = 77;
        told.threads[i].reading.times.state = 'S';
    }
    packet_send(socket, &told, probe_answer_bytes(told.count), -1, true);
}

/* One worker: what it does with each question. Returns when it is to be replaced, or has ended. */
static void be_worker(const char *name, int worker_number)
{
    const struct probe_link link = {.kind = PROBE_LINK};
    struct probe_query ask;
    int ends[2];

    if (packet_pair(ends) != 0 || packet_send(HELPER_DESCRIPTOR, &link, sizeof(link), ends[0], true) != 0)
        _exit(1);
    close(ends[0]);
    while (packet_receive(ends[1], &ask, sizeof(ask), true, NULL) > 0) {
        if (strcmp(name, "fake-ends") == 0 || (strcmp(name, "fake-ends-once") == 0 && worker_number == 0))
            break;
        if (strcmp(name, "fake-nonsense") == 0 && worker_number == 0)
            packet_send(ends[1], "nonsense", 8, -1, true);
        else
            answer_well(ends[1], &ask, strcmp(name, "fake-refuses") == 0 ? -EACCES : 0);
    }
    close(ends[1]);
}

/* Not the word for it, or too few of it, though with a descriptor. */
static void send_no_link(bool cut)
{
    const struct probe_link link = {.kind = cut ? PROBE_LINK : PROBE_LINK + 1};

    packet_send(HELPER_DESCRIPTOR, &link, cut ? 1 : sizeof(link), HELPER_DESCRIPTOR, true);
}

static int be_fake(const char *name)
{
    if (strncmp(name, "fake-no-link", 12) == 0)
        send_no_link(strcmp(name, "fake-no-link-cut") == 0);
    for (int i = 0; i < 100; i++)
        be_worker(name, i);
    return 0;
}

/* The tests -------------------------------------------------------------------------------------------------------- */

static struct remote *start(const char *name)
{
    char self[PATH_MAX], link[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    struct remote *remote = NULL;

    assert_true(length > 0);
    self[length] = '\0';
    snprintf(link, sizeof(link), "/tmp/rip-remote-%d", (int)getpid());
    assert_int_equal(mkdir(link, 0700), 0);
    snprintf(link, sizeof(link), "/tmp/rip-remote-%d/%s", (int)getpid(), name);
    assert_int_equal(symlink(self, link), 0);
    assert_int_equal(remote_new(&remote, link, -1), 0);
    unlink(link);
    *strrchr(link, '/') = '\0';
    rmdir(link);
    return remote;
}

static struct remote_query query_of(uint32_t process, uint32_t tid)
{
    return (struct remote_query){
        .ring = 5, .process = process, .uid = process / 100, .slot = tid, .ring_tid = tid, .tid = tid, .progress = 9};
}

/* Asks until it is taken; what is said at last. */
static enum remote_asked want(struct remote *remote, uint32_t process, uint32_t tid)
{
    const struct remote_query query = query_of(process, tid);
    uint64_t until_mono_ns = clock_mono_ns() + PATIENCE_NS;
    enum remote_asked asked;

    do {
        const struct timespec moment = {0, 1000000};

        remote_look(remote);
        asked = remote_ask(remote, STDIN_FILENO, &query);
        if (asked == REMOTE_LATER)
            nanosleep(&moment, NULL);
    } while (asked == REMOTE_LATER && clock_mono_ns() < until_mono_ns);
    return asked;
}

/* The same where nobody may be there to ask for a while, after several have ended. */
static void want_taken(struct remote *remote, uint32_t process, uint32_t tid)
{
    uint64_t until_mono_ns = clock_mono_ns() + PATIENCE_NS;

    while (want(remote, process, tid) != REMOTE_ASKED)
        assert_true(clock_mono_ns() < until_mono_ns);
}

static bool next(struct remote *remote, struct remote_answer *ret_answer)
{
    remote_flush(remote);
    return remote_next(remote, clock_mono_ns() + PATIENCE_NS, ret_answer);
}

static struct remote_counters counted(const struct remote *remote)
{
    struct remote_counters counters;

    remote_count(remote, &counters);
    return counters;
}

static void test_answers_come_in_order(void **state)
{
    struct remote *remote = start("fake-answers");
    struct remote_answer answer;

    (void)state;
    assert_false(remote_is_busy(remote));
    for (uint32_t tid = 1; tid <= 40; tid++) /* more than one question has room for, and another process */
        assert_int_equal(want(remote, tid > 36, tid), REMOTE_ASKED);
    assert_true(remote_is_asked(remote, 5, 40));
    assert_false(remote_is_asked(remote, 5, 41));
    assert_false(remote_is_asked(remote, 6, 40));
    for (uint32_t tid = 1; tid <= 40; tid++) {
        assert_true(next(remote, &answer));
        assert_true(answer.attested);
        assert_int_equal(answer.status, 0);
        assert_int_equal(answer.pid, 77);
        assert_int_equal(answer.query.tid, tid);
        assert_int_equal(answer.query.process, tid > 36);
        assert_int_equal(answer.reading.tid, tid);
        assert_int_equal(answer.reading.times.state, 'S');
    }
    assert_false(remote_is_busy(remote));
    assert_false(next(remote, &answer));
    assert_int_equal(counted(remote).start_count, 1);
    remote_free(remote);
}

static void test_only_so_many_are_under_way(void **state)
{
    struct remote *remote = start("fake-answers");
    const struct remote_query one_more = query_of(1000, 1000), last = query_of(REMOTE_QUERIES_MAX - 1, 1000);
    struct remote_answer answer;

    (void)state;
    for (uint32_t i = 0; i < REMOTE_QUERIES_MAX; i++)
        assert_int_equal(want(remote, i, i + 1), REMOTE_ASKED);
    assert_true(remote_has_room(remote, last.ring, last.process));
    assert_false(remote_has_room(remote, one_more.ring, one_more.process));
    remote_flush(remote);
    assert_false(remote_has_room(remote, last.ring, last.process));
    assert_true(remote_is_full(remote));
    assert_int_equal(remote_ask(remote, STDIN_FILENO, &one_more), REMOTE_LATER);
    assert_true(next(remote, &answer));
    assert_false(remote_is_full(remote));
    assert_int_equal(remote_ask(remote, STDIN_FILENO, &one_more), REMOTE_ASKED);
    remote_free(remote);
}

static void test_refusal_is_told(void **state)
{
    struct remote *remote = start("fake-refuses");
    struct remote_answer answer;

    (void)state;
    assert_int_equal(want(remote, 1, 1), REMOTE_ASKED);
    assert_true(next(remote, &answer));
    assert_false(answer.attested);
    assert_int_equal(answer.status, -EACCES);
    remote_free(remote);
}

static void test_nonsense_ends_a_worker(void **state)
{
    struct remote *remote = start("fake-nonsense");
    struct remote_answer answer;

    (void)state;
    assert_int_equal(want(remote, 1, 1), REMOTE_ASKED);
    assert_false(next(remote, &answer));
    assert_int_equal(counted(remote).end_counts[REMOTE_END_NONSENSE], 1);
    assert_int_equal(want(remote, 1, 1), REMOTE_ASKED); /* of the next one */
    assert_true(next(remote, &answer));
    assert_int_equal(counted(remote).start_count, 2);
    remote_free(remote);
}

static void test_once_is_nobodys_fault(void **state)
{
    struct remote *remote = start("fake-ends-once");
    struct remote_answer answer;

    (void)state;
    assert_int_equal(want(remote, 1, 1), REMOTE_ASKED);
    assert_false(next(remote, &answer));
    assert_int_equal(counted(remote).end_counts[REMOTE_END_ENDED], 1);
    assert_int_equal(want(remote, 1, 1), REMOTE_ASKED);
    assert_true(next(remote, &answer));
    remote_free(remote);
}

static void test_who_ends_them_is_left_alone(void **state)
{
    struct remote *remote = start("fake-ends");
    struct remote_answer answer;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(want(remote, 1, 1), REMOTE_ASKED);
        assert_false(next(remote, &answer));
    }
    assert_int_equal(want(remote, 1, 1), REMOTE_REFUSED);
    for (uint32_t process = 2; process < 2 + REMOTE_USER_ENDS_MAX - 2; process++) {
        want_taken(remote, process, 1); /* others are asked about */
        assert_false(next(remote, &answer));
    }
    want_taken(remote, 100, 1);
    assert_int_equal(want(remote, 50, 1), REMOTE_REFUSED); /* until it is too much of one user */
    remote_free(remote);
}

static void test_end_of_the_program_is_noticed(void **state)
{
    struct remote *remote = NULL;

    (void)state;
    assert_int_equal(remote_new(&remote, "/bin/true", -1), 0);
    assert_int_equal(want(remote, 1, 1), REMOTE_REFUSED);
    assert_true(counted(remote).gone);
    remote_free(remote);
    assert_int_equal(remote_new(&remote, "/nowhere/at-all", -1), -ENOENT);
}

static size_t count_descriptors(void)
{
    size_t count = 0;

    for (int i = 0; i < 1024; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* What is no worker is not kept, whatever comes with it. */
static void test_a_keeper_that_talks_nonsense(void **state)
{
    static const char *const names[] = {"fake-no-link", "fake-no-link-cut"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t descriptors = count_descriptors();
        struct remote *remote = start(names[i]);

        assert_int_equal(count_descriptors(), descriptors + 1); /* its socket */
        assert_int_equal(want(remote, 1, 1), REMOTE_REFUSED);
        assert_int_equal(count_descriptors(), descriptors);
        assert_true(counted(remote).gone);
        assert_int_equal(counted(remote).start_count, 0);
        remote_free(remote);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_come_in_order),
        cmocka_unit_test(test_only_so_many_are_under_way),
        cmocka_unit_test(test_refusal_is_told),
        cmocka_unit_test(test_nonsense_ends_a_worker),
        cmocka_unit_test(test_once_is_nobodys_fault),
        cmocka_unit_test(test_who_ends_them_is_left_alone),
        cmocka_unit_test(test_end_of_the_program_is_noticed),
        cmocka_unit_test(test_a_keeper_that_talks_nonsense),
    };

    if (argc == 1 && strncmp(argv[0], "fake-", 5) == 0)
        return be_fake(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
