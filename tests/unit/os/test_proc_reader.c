/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_reader.c - no caller waits for a read that does not return: ripd/os/proc_reader.c. */
#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/proc_reader.h"
#include "support/test.h"

/* A pid is 100 times its user, plus what its read does. */
enum { SUCCEEDS = 1, FAILS = 2, IS_SLOW = 3, HANGS = 4, COMPUTES = 5 };
#define OF_USER(user) ((user)*100u)
#define PATIENCE 2000
#define SLOW_US 5000
#define TEXT_BYTES 64u
#define ADDRESS UINT64_C(0x7fff12345678)

static sem_t gate, begun;

static int read_text(int proc, uint32_t pid, uint64_t address, void *ret_text)
{
    (void)proc;
    if (pid % 100 == IS_SLOW)
        usleep(SLOW_US);
    if (pid % 100 == COMPUTES)
        for (uint64_t began_ns = clock_mono_ns(); clock_mono_ns() - began_ns < 3 * PROC_READER_WAIT_NS;)
            continue;
    if (pid % 100 == HANGS) {
        sem_post(&begun);
        sem_wait(&gate);
    }
    if (pid % 100 == FAILS)
        return -ESRCH;
    snprintf(ret_text, TEXT_BYTES, "process %u, %" PRIu64, pid, address);
    return 0;
}

static uint32_t user_of(void *context, uint32_t pid)
{
    assert_ptr_equal(context, &gate);
    return pid / 100;
}

static struct proc_reader *make(void)
{
    struct proc_reader *reader = proc_reader_new(dup(STDIN_FILENO), user_of, &gate);

    assert_non_null(reader);
    sem_init(&gate, 0, 0);
    sem_init(&begun, 0, 0);
    return reader;
}

static int ask_once(uint32_t pid, char ret_text[TEXT_BYTES])
{
    return proc_reader_ask(STDIN_FILENO, read_text, pid, ADDRESS, ret_text, TEXT_BYTES);
}

/* Repeats the query while the result is -EAGAIN. */
static int ask(uint32_t pid, char ret_text[TEXT_BYTES])
{
    int result = -EAGAIN;

    for (int i = 0; i < PATIENCE && result == -EAGAIN; i++) {
        if (i != 0)
            usleep(5000);
        result = ask_once(pid, ret_text);
    }
    return result;
}

static void assert_reads(uint32_t user)
{
    char text[TEXT_BYTES], expected[TEXT_BYTES];

    snprintf(expected, sizeof(expected), "process %u, %" PRIu64, OF_USER(user) + SUCCEEDS, ADDRESS);
    assert_int_equal(ask(OF_USER(user) + SUCCEEDS, text), 0);
    assert_string_equal(text, expected);
}

static void assert_hangs(uint32_t user)
{
    char text[TEXT_BYTES];

    assert_int_equal(ask_once(OF_USER(user) + HANGS, text), -EAGAIN);
    sem_wait(&begun);
}

TEST(a_read_that_returns)
{
    struct proc_reader *reader = make();
    char text[TEXT_BYTES] = "before";

    assert_int_equal(ask(OF_USER(1) + FAILS, text), -ESRCH);
    assert_string_equal(text, "before");
    for (uint32_t i = 0; i < 100; i++)
        assert_reads(1);
    proc_reader_free(reader);
}

TEST(a_read_that_hangs)
{
    struct proc_reader *reader = make();
    uint64_t began_ns = clock_mono_ns();
    char text[TEXT_BYTES];

    assert_hangs(1);
    assert_true(clock_mono_ns() - began_ns >= PROC_READER_WAIT_NS);
    for (uint32_t i = 0; i < 1000; i++) /* no read for that user is started */
        assert_int_equal(ask_once(OF_USER(1) + SUCCEEDS, text), -EAGAIN);
    assert_reads(2);
    for (uint32_t user = 2; user <= PROC_READERS_MAX; user++)
        assert_hangs(user);
    assert_int_equal(ask_once(OF_USER(99) + SUCCEEDS, text), -EAGAIN); /* all threads hang */
    for (uint32_t i = 0; i < PROC_READERS_MAX; i++)
        sem_post(&gate);
    assert_reads(1);
    assert_reads(99);
    proc_reader_free(reader);
}

/* After a slow read its user pauses for a multiple of the time. Other users do not. */
TEST(a_slow_read)
{
    struct proc_reader *reader = make();
    uint64_t began_ns = clock_mono_ns();
    char text[TEXT_BYTES];

    assert_int_equal(ask_once(OF_USER(1) + IS_SLOW, text), 0);
    assert_int_equal(ask_once(OF_USER(1) + SUCCEEDS, text), -EAGAIN);
    assert_reads(2);
    assert_reads(1);
    assert_true(clock_mono_ns() - began_ns >= PROC_READER_REST * SLOW_US * UINT64_C(1000));
    proc_reader_free(reader);
}

/* A read that computes is waited for, because a machine without a free processor looks the same. No user pauses. */
TEST(a_read_that_computes)
{
    struct proc_reader *reader = make();
    char text[TEXT_BYTES];

    assert_int_equal(ask_once(OF_USER(1) + COMPUTES, text), 0);
    assert_true(proc_reader_is_busy(OF_USER(1) + SUCCEEDS));
    assert_int_equal(ask_once(OF_USER(1) + SUCCEEDS, text), 0); /* no pause */
    assert_hangs(1);
    assert_false(proc_reader_is_busy(OF_USER(1) + SUCCEEDS));
    assert_true(proc_reader_is_busy(OF_USER(2) + SUCCEEDS));
    proc_reader_free(reader);
    sem_post(&gate);
}

TEST(the_reader_is_freed_while_a_read_hangs)
{
    struct proc_reader *reader = make();

    assert_hangs(1);
    proc_reader_free(reader);
    sem_post(&gate); /* the thread frees the rest */
}

TEST(without_a_reader_the_caller_reads)
{
    char text[TEXT_BYTES];

    assert_int_equal(ask_once(OF_USER(1) + IS_SLOW, text), 0);
    assert_reads(1);
}
