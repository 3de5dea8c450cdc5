/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_reader.c - nobody waits for a read that does not return: ripd/os/proc_reader.c. */
#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/proc_reader.h"
#include "support/test.h"

#define HANGS 1000u /* pids from here on do not answer until the gate is opened */
#define PATIENCE 500
#define TEXT_BYTES 64u
#define ADDRESS UINT64_C(0x7fff12345678)

static sem_t gate, begun;

static int read_text(int proc, uint32_t pid, uint64_t address, void *ret_text)
{
    (void)proc;
    if (pid >= HANGS) {
        sem_post(&begun);
        sem_wait(&gate);
    }
    if (pid == 7)
        return -ESRCH;
    snprintf(ret_text, TEXT_BYTES, "process %u, %" PRIu64, pid, address);
    return 0;
}

static struct proc_reader *make(void)
{
    struct proc_reader *reader = proc_reader_new(dup(STDIN_FILENO));

    assert_non_null(reader);
    sem_init(&gate, 0, 0);
    sem_init(&begun, 0, 0);
    return reader;
}

static int ask_once(struct proc_reader *reader, uint32_t user, uint32_t pid, char ret_text[TEXT_BYTES])
{
    return proc_reader_ask(reader, user, read_text, pid, ADDRESS, ret_text, TEXT_BYTES);
}

/* On a machine under load, too: one that was refused is asked again soon. */
static int ask(struct proc_reader *reader, uint32_t user, uint32_t pid, char ret_text[TEXT_BYTES])
{
    int result = -EAGAIN;

    for (int i = 0; i < PATIENCE && result == -EAGAIN; i++) {
        if (i != 0)
            usleep(5000);
        result = ask_once(reader, user, pid, ret_text);
    }
    return result;
}

static void assert_reads(struct proc_reader *reader, uint32_t user, uint32_t pid)
{
    char text[TEXT_BYTES], expected[TEXT_BYTES];

    snprintf(expected, sizeof(expected), "process %u, %" PRIu64, pid, ADDRESS);
    assert_int_equal(ask(reader, user, pid, text), 0);
    assert_string_equal(text, expected);
}

TEST(what_is_there_comes_at_once)
{
    struct proc_reader *reader = make();
    char text[TEXT_BYTES] = "before";

    assert_int_equal(ask(reader, 1, 7, text), -ESRCH);
    assert_string_equal(text, "before");
    for (uint32_t pid = 100; pid < 200; pid++)
        assert_reads(reader, 1, pid);
    proc_reader_free(reader);
}

TEST(one_that_hangs_holds_up_nobody)
{
    struct proc_reader *reader = make();
    char text[TEXT_BYTES];
    uint64_t began_ns = clock_mono_ns();

    assert_int_equal(ask_once(reader, 1, HANGS, text), -EAGAIN);
    assert_true(clock_mono_ns() - began_ns >= PROC_READER_WAIT_NS);
    sem_wait(&begun);
    for (uint32_t i = 0; i < 1000; i++) /* nor does the same user once more: none is asked */
        assert_int_equal(ask_once(reader, 1, i, text), -EAGAIN);
    assert_reads(reader, 2, 5);
    for (uint32_t user = 2; user <= PROC_READERS_MAX; user++) {
        assert_int_equal(ask_once(reader, user, HANGS + user, text), -EAGAIN);
        sem_wait(&begun);
    }
    assert_int_equal(ask_once(reader, 99, 5, text), -EAGAIN); /* as many as there may be */
    for (uint32_t i = 0; i < PROC_READERS_MAX; i++)
        sem_post(&gate);
    assert_reads(reader, 1, 5);
    assert_reads(reader, 99, 6);
    proc_reader_free(reader);
}

TEST(it_can_be_left_behind)
{
    struct proc_reader *reader = make();
    char text[TEXT_BYTES];

    assert_int_equal(ask_once(reader, 1, HANGS, text), -EAGAIN);
    sem_wait(&begun);
    proc_reader_free(reader);
    sem_post(&gate); /* it frees the rest */
}
