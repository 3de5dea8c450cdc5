/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fetch.c - ripd's end of the fetcher, against fetchers that answer well, refuse, answer nonsense, end, or do
 * nothing: ripd/probe/fetch.c. The process index in the query selects what they do.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "probe/fetch.h"
#include "probe/protocol.h"
#include "support/test.h"

#define SHORT_NS UINT64_C(1000000000)

/* What the fetcher does. */
enum {
    GOOD,
    REFUSED,
    ENDS,
    DOES_NOTHING,
    OTHER_NUMBER,
    POSITIVE,
    NO_FILE,    /* status 0, but no file */
    EXTRA_FILE, /* a refusal with a file */
    A_DEVICE,
    A_FOLDER,
    A_PATH, /* O_PATH */
    FOR_WRITING,
    TEXT,
    NO_DESCRIPTORS, /* these three are shortages */
    NO_FILES,
    NO_MEMORY,
};

static int keeper; /* the other end of the socket for fetch_new() */

/* Fake fetchers ---------------------------------------------------------------------------------------------------- */

static int open_for(uint32_t process)
{
    static const struct {
        const char *path;
        int flags;
    } files[] = {
        [GOOD] = {"/bin/sh", O_RDONLY},       [OTHER_NUMBER] = {"/bin/sh", O_RDONLY},
        [POSITIVE] = {"/bin/sh", O_RDONLY},   [EXTRA_FILE] = {"/bin/sh", O_RDONLY},
        [A_DEVICE] = {"/dev/null", O_RDONLY}, [A_FOLDER] = {"/", O_RDONLY},
        [A_PATH] = {"/bin/sh", O_PATH},       [FOR_WRITING] = {"/proc/self/comm", O_RDWR},
    };

    if (process >= COUNT_OF(files) || files[process].path == NULL)
        return -1;
    return open(files[process].path, files[process].flags | O_CLOEXEC);
}

static const int statuses[] = {
    [REFUSED] = -EACCES,        [EXTRA_FILE] = -EACCES, [POSITIVE] = 1,
    [NO_DESCRIPTORS] = -EMFILE, [NO_FILES] = -ENFILE,   [NO_MEMORY] = -ENOMEM,
};

/* Returns false if the fetcher ends. */
static bool answer(int socket, const struct probe_fetch *fetch)
{
    struct probe_fetched fetched = {.kind = PROBE_FETCHED, .number = fetch->number};
    int file = open_for(fetch->process);

    fetched.status = statuses[fetch->process];
    fetched.number += fetch->process == OTHER_NUMBER;
    if (fetch->process == ENDS)
        return false;
    if (fetch->process == TEXT)
        packet_send(socket, "text", 4, -1, true);
    else if (fetch->process != DOES_NOTHING)
        packet_send(socket, &fetched, sizeof(fetched), file, true);
    if (file >= 0)
        close(file);
    return true;
}

static void *be_fetcher(void *context)
{
    int socket = (int)(intptr_t)context, ring;
    struct probe_fetch fetch;

    while (packet_receive(socket, &fetch, sizeof(fetch), true, &ring) == (ssize_t)sizeof(fetch)) {
        bool sound = probe_fetch_is_sound(&fetch, sizeof(fetch)) && ring >= 0;

        if (ring >= 0)
            close(ring);
        if (!sound || !answer(socket, &fetch))
            break;
    }
    close(socket);
    return NULL;
}

static void *be_keeper(void *context)
{
    uint32_t kind;
    int socket;

    (void)context;
    while (packet_receive(keeper, &kind, sizeof(kind), true, &socket) == (ssize_t)sizeof(kind)) {
        pthread_t thread;

        if (kind != PROBE_FETCHER || socket < 0)
            abort();
        if (pthread_create(&thread, NULL, be_fetcher, (void *)(intptr_t)socket) != 0)
            abort();
        pthread_detach(thread);
    }
    close(keeper);
    return NULL;
}

/* The tests -------------------------------------------------------------------------------------------------------- */

static pthread_t keeper_thread;
static int ring;

static struct fetch *fetch;

static int start(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(packet_pair(ends), 0);
    keeper = ends[1];
    assert_int_equal(pthread_create(&keeper_thread, NULL, be_keeper, NULL), 0);
    assert_int_equal(fetch_new(&fetch, ends[0]), 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fetch_free(fetch);
    pthread_join(keeper_thread, NULL);
    return 0;
}

static struct fetch_counters counted(void)
{
    struct fetch_counters counters;

    fetch_count(fetch, &counters);
    return counters;
}

static int ask(uint32_t uid, uint32_t process)
{
    const struct fetch_query query = {.uid = uid, .process = process, .start = 0x1000, .exact = true};

    return fetch_file(fetch, ring, &query, -1);
}

/* Repeats the query until another fetcher may be started. */
static int ask_again(uint32_t uid, uint32_t process)
{
    uint64_t until_mono_ns = clock_mono_ns() + 20 * SHORT_NS;
    int result;

    while ((result = ask(uid, process)) == -EAGAIN) {
        assert_true(clock_mono_ns() < until_mono_ns);
        usleep(10000);
    }
    return result;
}

static void assert_shell(int file)
{
    struct stat about, expected;

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &about) | stat("/bin/sh", &expected), 0);
    assert_int_equal(about.st_ino, expected.st_ino);
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
    close(file);
}

TEST(answers, start, stop)
{
    assert_int_equal(counted().start_count, 0); /* started by the first query */
    for (int i = 0; i < 3; i++) {
        assert_shell(ask(1, GOOD));
        assert_int_equal(ask(1, REFUSED), -EACCES);
    }
    assert_int_equal(counted().opened_count, 3);
    assert_int_equal(counted().refused_count, 3);
    assert_int_equal(counted().missed_count, 0);
    assert_int_equal(counted().start_count, 1);
}

/* Each bad answer ends the fetcher, and its user is not queried for a while. */
TEST(bad_answers)
{
    static const uint32_t bad[] = {ENDS,     OTHER_NUMBER, POSITIVE, NO_FILE,     EXTRA_FILE,
                                   A_DEVICE, A_FOLDER,     A_PATH,   FOR_WRITING, TEXT};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        start(NULL);
        assert_int_equal(ask(1, bad[i]), -EAGAIN);
        assert_int_equal(ask(1, GOOD), -EAGAIN);
        assert_int_equal(counted().died_count, 1);
        assert_int_equal(counted().missed_count, 2);
        assert_int_equal(counted().opened_count + counted().refused_count + counted().hung_count, 0);
        stop(NULL);
    }
}

/* After a pause another fetcher is started, for other users. */
TEST(a_replacement, start, stop)
{
    uint64_t before_mono_ns = clock_mono_ns();

    assert_int_equal(ask(1, ENDS), -EAGAIN);
    assert_shell(ask_again(2, GOOD));
    assert_true(clock_mono_ns() - before_mono_ns >= FETCH_RESTART_NS);
    assert_int_equal(ask(1, GOOD), -EAGAIN);
    assert_int_equal(counted().start_count, 2);
}

static int ask_cancelled(void)
{
    const struct fetch_query query = {.uid = 1, .process = DOES_NOTHING};
    int cancel = eventfd(1, EFD_CLOEXEC), result = fetch_file(fetch, ring, &query, cancel);

    close(cancel);
    return result;
}

TEST(cancelled, start, stop)
{
    uint64_t before_mono_ns = clock_mono_ns();

    assert_int_equal(ask_cancelled(), -ECANCELED);
    assert_true(clock_mono_ns() - before_mono_ns < FETCH_LIMIT_NS);
    assert_shell(ask_again(1, GOOD)); /* the user is not blamed */
    assert_int_equal(counted().died_count + counted().hung_count + counted().missed_count, 0);
}

TEST(hung, start, stop)
{
    uint64_t before_mono_ns = clock_mono_ns();

    assert_int_equal(ask(1, DOES_NOTHING), -EAGAIN);
    assert_true(clock_mono_ns() - before_mono_ns >= FETCH_LIMIT_NS);
    assert_shell(ask_again(2, GOOD));
    assert_int_equal(counted().hung_count, 1);
    assert_int_equal(counted().died_count, 0);
}

/* A shortage of descriptors or memory, here or in the fetcher, is no refusal, and the user is not blamed. */
TEST(shortages, start, stop)
{
    static const uint32_t shortages[] = {NO_DESCRIPTORS, NO_FILES, NO_MEMORY};
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, limit.rlim_max}), 0);
    assert_int_equal(ask(1, GOOD), -EAGAIN);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < COUNT_OF(shortages); i++)
        assert_int_equal(ask(1, shortages[i]), -EAGAIN);
    assert_shell(ask_again(1, GOOD));
    assert_int_equal(counted().refused_count + counted().missed_count, 0);
}

/* If the keeper starts no fetcher, or has ended, the user is not blamed. */
TEST(no_fetcher)
{
    int ends[2];

    assert_int_equal(packet_pair(ends), 0);
    assert_int_equal(fetch_new(&fetch, ends[0]), 0);
    assert_int_equal(ask_cancelled(), -ECANCELED); /* this requests a fetcher */
    assert_int_equal(ask(1, GOOD), -EAGAIN);
    close(ends[1]);
    usleep(1100000); /* longer than the pause between two requests */
    assert_int_equal(ask(1, GOOD), -ENOTCONN);
    fetch_free(fetch);
}

static int open_ring(void **state)
{
    (void)state;
    ring = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    return ring < 0;
}

int main(void)
{
    return tests_run(open_ring, NULL);
}
