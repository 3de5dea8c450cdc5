/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_protocol.c - nothing that is not whole and in bounds is believed of a question or an answer. */
#include "probe/protocol.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

static struct probe_query sound_ask(void)
{
    return (struct probe_query){.kind = PROBE_QUERY, .count = 2, .number = 7, .process = 3, .tids = {11, 12}};
}

static struct probe_answer sound_answer(void)
{
    struct probe_answer answer = {.kind = PROBE_ANSWER, .number = 7, .count = 2, .pid = 11};

    answer.threads[0] = (struct probe_thread){.tid = 11, .reading = {.pid = 11, .tid = 11}};
    answer.threads[1] = (struct probe_thread){.tid = 12, .status = -3};
    return answer;
}

TEST(questions)
{
    struct probe_query ask = sound_ask();

    assert_true(probe_query_is_sound(&ask, sizeof(ask)));
    assert_false(probe_query_is_sound(&ask, sizeof(ask) - 1));
    ask.tids[1] = 0;
    assert_false(probe_query_is_sound(&ask, sizeof(ask)));
    ask = sound_ask();
    ask.count = 0;
    assert_false(probe_query_is_sound(&ask, sizeof(ask)));
    ask.count = PROBE_BATCH_MAX + 1;
    assert_false(probe_query_is_sound(&ask, sizeof(ask)));
    ask = sound_ask();
    ask.kind = PROBE_ANSWER;
    assert_false(probe_query_is_sound(&ask, sizeof(ask)));
}

TEST(answers)
{
    const struct probe_query ask = sound_ask();
    const size_t bytes = probe_answer_bytes(2);
    struct probe_answer answer = sound_answer();

    assert_true(probe_answer_is_sound(&answer, bytes, &ask));
    for (size_t cut = 0; cut < bytes; cut++)
        assert_false(probe_answer_is_sound(&answer, cut, &ask));
    assert_false(probe_answer_is_sound(&answer, bytes + 1, &ask));
    answer.number++;
    assert_false(probe_answer_is_sound(&answer, bytes, &ask));
    answer = sound_answer();
    answer.count = 1;
    assert_false(probe_answer_is_sound(&answer, probe_answer_bytes(1), &ask));
    answer = sound_answer();
    answer.count = UINT32_MAX;
    assert_false(probe_answer_is_sound(&answer, bytes, &ask));
    answer = sound_answer();
    answer.status = -13; /* a refusal with something in it */
    assert_false(probe_answer_is_sound(&answer, bytes, &ask));
    answer.count = 0;
    assert_true(probe_answer_is_sound(&answer, probe_answer_bytes(0), &ask));
    answer.status = 0;
    assert_false(probe_answer_is_sound(&answer, probe_answer_bytes(0), &ask));
    answer.status = 13;
    assert_false(probe_answer_is_sound(&answer, probe_answer_bytes(0), &ask));
}

/* A field of the first thread's reading, of which each byte becomes that. */
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
        SPOILT(pid, 12), /* another process */
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
    const struct probe_query ask = sound_ask();
    const size_t bytes = probe_answer_bytes(2);
    struct probe_answer answer = sound_answer();

    answer.threads[1].tid = 13; /* nobody asked about */
    assert_false(probe_answer_is_sound(&answer, bytes, &ask));
    answer = sound_answer();
    answer.threads[1].status = 3;
    assert_false(probe_answer_is_sound(&answer, bytes, &ask));
    for (size_t i = 0; i < COUNT_OF(spoilt); i++) {
        answer = sound_answer();
        memset((char *)&answer.threads[0].reading + spoilt[i].offset, spoilt[i].byte, spoilt[i].size);
        assert_false(probe_answer_is_sound(&answer, bytes, &ask));
    }
}

TEST(files)
{
    struct probe_fetch fetch = {.kind = PROBE_FETCH, .number = 7};
    struct probe_fetched fetched = {.kind = PROBE_FETCHED, .number = 7};

    assert_true(probe_fetch_is_sound(&fetch, sizeof(fetch)));
    assert_false(probe_fetch_is_sound(&fetch, sizeof(fetch) - 1));
    assert_true(probe_fetched_is_sound(&fetched, sizeof(fetched), &fetch));
    assert_false(probe_fetched_is_sound(&fetched, sizeof(fetched) - 1, &fetch));
    fetched.status = -EACCES;
    assert_true(probe_fetched_is_sound(&fetched, sizeof(fetched), &fetch));
    fetched.status = 1;
    assert_false(probe_fetched_is_sound(&fetched, sizeof(fetched), &fetch));
    fetched = (struct probe_fetched){.kind = PROBE_FETCHED, .number = 8};
    assert_false(probe_fetched_is_sound(&fetched, sizeof(fetched), &fetch));
    fetched = (struct probe_fetched){.kind = PROBE_ANSWER, .number = 7};
    assert_false(probe_fetched_is_sound(&fetched, sizeof(fetched), &fetch));
    fetch.exact = 2;
    assert_false(probe_fetch_is_sound(&fetch, sizeof(fetch)));
    fetch = (struct probe_fetch){.kind = PROBE_QUERY, .number = 7};
    assert_false(probe_fetch_is_sound(&fetch, sizeof(fetch)));
}
