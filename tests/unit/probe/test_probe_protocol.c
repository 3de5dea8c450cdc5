/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_protocol.c - queries and answers that are not whole and in bounds are rejected: ripd/probe/protocol.c. */
#include "probe/protocol.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

/* Valid messages, from which each check begins. */
static const struct probe_query query = {.kind = PROBE_QUERY, .count = 2, .number = 7, .process = 3, .tids = {11, 12}};
static const struct probe_fetch fetch = {.kind = PROBE_FETCH, .number = 7};
static struct probe_answer answer;

/* An answer whose message has room for so many threads. */
static bool is_valid(uint32_t count)
{
    return probe_answer_is_sound(&answer, probe_answer_bytes(count), &query);
}

static void make_valid(void)
{
    answer = (struct probe_answer){.kind = PROBE_ANSWER, .number = 7, .count = 2, .pid = 11};
    answer.threads[0] = (struct probe_thread){.tid = 11, .reading = {.pid = 11, .tid = 11}};
    answer.threads[1] = (struct probe_thread){.tid = 12, .status = -3};
    assert_true(is_valid(2));
}

TEST(queries)
{
    static const struct probe_query bad[] = {
        {.kind = PROBE_ANSWER, .count = 1, .tids = {11}},
        {.kind = PROBE_QUERY, .count = 0},
        {.kind = PROBE_QUERY, .count = 2, .tids = {11, 0}},
        {.kind = PROBE_QUERY, .count = PROBE_BATCH_MAX + 1},
    };

    assert_true(probe_query_is_sound(&query, sizeof(query)));
    assert_false(probe_query_is_sound(&query, sizeof(query) - 1));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(probe_query_is_sound(&bad[i], sizeof(bad[i])));
}

TEST(answers)
{
    const size_t bytes = probe_answer_bytes(2);

    make_valid();
    for (size_t cut = 0; cut < bytes; cut++)
        assert_false(probe_answer_is_sound(&answer, cut, &query));
    assert_false(probe_answer_is_sound(&answer, bytes + 1, &query));
    answer.number++;
    assert_false(is_valid(2));
    make_valid();
    answer.count = 1;
    assert_false(is_valid(1));
    answer.count = UINT32_MAX;
    assert_false(is_valid(2));
    make_valid();
    answer.status = -13; /* a refusal with threads */
    assert_false(is_valid(2));
    answer.count = 0;
    assert_true(is_valid(0));
    answer.status = 0;
    assert_false(is_valid(0));
    answer.status = 13;
    assert_false(is_valid(0));
}

/* A field of the first thread's reading, and the value for each of its bytes. */
#define SPOILT(field, byte)                                                                                            \
    {                                                                                                                  \
        offsetof(struct kernel_reading, field), sizeof(((struct kernel_reading *)0)->field), byte                      \
    }

TEST(threads_of_answers)
{
    static const struct {
        size_t offset, size;
        unsigned char byte;
    } spoilt[] = {
        SPOILT(pid, 12), /* of another process */
        SPOILT(tid, 12),
        SPOILT(wchan, 'x'),
        SPOILT(descriptor.link, 'x'),
        SPOILT(descriptor.link_cut, 2),
        SPOILT(descriptor.readable, 2),
        SPOILT(descriptor.writable, 2),
        SPOILT(holder.comm, 'x'),
        SPOILT(call.kind, 0xff),
        SPOILT(unix_socket.name, 'x'),
        SPOILT(unix_socket.peer_name, 'x'),
        SPOILT(unix_socket.peer, 0xff),
        SPOILT(unix_socket.listening, 2),
        SPOILT(names[0].text, 'x'),
        SPOILT(names[0].cut, 2),
        SPOILT(names[SYSCALL_PATHS_MAX - 1].text, 'x'),
        SPOILT(names[SYSCALL_PATHS_MAX - 1].cut, 2),
    };

    make_valid();
    answer.threads[1].tid = 13; /* not in the query */
    assert_false(is_valid(2));
    make_valid();
    answer.threads[1].status = 3;
    assert_false(is_valid(2));
    for (size_t i = 0; i < COUNT_OF(spoilt); i++) {
        make_valid();
        memset((char *)&answer.threads[0].reading + spoilt[i].offset, spoilt[i].byte, spoilt[i].size);
        if (is_valid(2))
            fail_msg("accepted: field %zu", i);
    }
}

TEST(files)
{
    static const struct probe_fetch bad_fetches[] = {{.kind = PROBE_QUERY}, {.kind = PROBE_FETCH, .exact = 2}};
    static const struct {
        struct probe_fetched fetched;
        bool valid;
    } rows[] = {
        {{.kind = PROBE_FETCHED, .number = 7}, true},
        {{.kind = PROBE_FETCHED, .number = 7, .status = -EACCES}, true},
        {{.kind = PROBE_FETCHED, .number = 7, .status = 1}, false},
        {{.kind = PROBE_FETCHED, .number = 8}, false},
        {{.kind = PROBE_ANSWER, .number = 7}, false},
    };

    assert_true(probe_fetch_is_sound(&fetch, sizeof(fetch)));
    assert_false(probe_fetch_is_sound(&fetch, sizeof(fetch) - 1));
    for (size_t i = 0; i < COUNT_OF(bad_fetches); i++)
        assert_false(probe_fetch_is_sound(&bad_fetches[i], sizeof(fetch)));
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(probe_fetched_is_sound(&rows[i].fetched, sizeof(rows[i].fetched), &fetch), rows[i].valid);
    assert_false(probe_fetched_is_sound(&rows[0].fetched, sizeof(rows[0].fetched) - 1, &fetch));
}
