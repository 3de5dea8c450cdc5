/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_reader.c - nobody waits for a read that does not return: ripd/os/text_reader.c. */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/text_reader.h"
#include "support/test.h"

#define HANGS 1000u /* pids from here on do not answer until the gate is opened */
#define PATIENCE 500

static sem_t gate, begun;

static int read_text(int proc, uint32_t pid, char *ret_text, size_t size)
{
    (void)proc;
    if (pid >= HANGS) {
        sem_post(&begun);
        sem_wait(&gate);
    }
    if (pid == 7)
        return -ESRCH;
    snprintf(ret_text, size, "process %u", pid);
    return 0;
}

static struct text_reader *make(void)
{
    struct text_reader *reader = text_reader_new(dup(STDIN_FILENO), read_text);

    assert_non_null(reader);
    sem_init(&gate, 0, 0);
    sem_init(&begun, 0, 0);
    return reader;
}

/* On a machine under load, too: one that was refused is asked again soon. */
static int ask(struct text_reader *reader, uint32_t user, uint32_t pid, char *ret_text, size_t size)
{
    int result = -EAGAIN;

    for (int i = 0; i < PATIENCE && result == -EAGAIN; i++) {
        if (i != 0)
            usleep(5000);
        result = text_reader_ask(reader, user, pid, ret_text, size);
    }
    return result;
}

static void assert_reads(struct text_reader *reader, uint32_t user, uint32_t pid, const char *expected)
{
    char text[64];

    assert_int_equal(ask(reader, user, pid, text, sizeof(text)), 0);
    assert_string_equal(text, expected);
}

TEST(what_is_there_comes_at_once)
{
    struct text_reader *reader = make();
    char text[64] = "before", cut[5];

    for (uint32_t pid = 100; pid < 200; pid++) {
        snprintf(text, sizeof(text), "process %u", pid);
        assert_reads(reader, 1, pid, text);
    }
    assert_int_equal(ask(reader, 1, 7, text, sizeof(text)), -ESRCH);
    assert_string_equal(text, "process 199"); /* untouched */
    assert_int_equal(ask(reader, 1, 5, cut, sizeof(cut)), 0);
    assert_string_equal(cut, "proc");
    text_reader_free(reader);
}

TEST(one_that_hangs_holds_up_nobody)
{
    struct text_reader *reader = make();
    char text[64];
    uint64_t began_ns = clock_mono_ns();

    assert_int_equal(text_reader_ask(reader, 1, HANGS, text, sizeof(text)), -EAGAIN);
    assert_true(clock_mono_ns() - began_ns >= TEXT_READER_WAIT_NS);
    sem_wait(&begun);
    for (uint32_t i = 0; i < 1000; i++) /* nor does the same user once more: none is asked */
        assert_int_equal(text_reader_ask(reader, 1, i, text, sizeof(text)), -EAGAIN);
    assert_reads(reader, 2, 5, "process 5");
    for (uint32_t user = 2; user <= TEXT_READERS_MAX; user++) {
        assert_int_equal(text_reader_ask(reader, user, HANGS + user, text, sizeof(text)), -EAGAIN);
        sem_wait(&begun);
    }
    assert_int_equal(text_reader_ask(reader, 99, 5, text, sizeof(text)), -EAGAIN); /* as many as there may be */
    for (uint32_t i = 0; i < TEXT_READERS_MAX; i++)
        sem_post(&gate);
    assert_reads(reader, 1, 5, "process 5");
    assert_reads(reader, 99, 6, "process 6");
    text_reader_free(reader);
}

TEST(it_can_be_left_behind)
{
    struct text_reader *reader = make();
    char text[64];

    assert_int_equal(text_reader_ask(reader, 1, HANGS, text, sizeof(text)), -EAGAIN);
    sem_wait(&begun);
    text_reader_free(reader);
    sem_post(&gate); /* it frees the rest */
}
