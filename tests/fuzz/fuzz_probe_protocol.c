/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_probe_protocol.c - queries to and answers of ripd-probe: accepted ones are in bounds and terminated. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "probe/protocol.h"

static void check_answer(const struct probe_answer *answer, const struct probe_query *ask)
{
    require(answer->count <= PROBE_BATCH_MAX && answer->count <= ask->count);
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct kernel_reading *reading = &answer->threads[i].reading;

        require(answer->threads[i].tid == ask->tids[i]);
        if (answer->threads[i].status != 0)
            continue;
        for (size_t j = 0; j < SYSCALL_PATHS_MAX; j++)
            require(strlen(reading->names[j].text) < sizeof(reading->names[j].text));
        require(strlen(reading->wchan) < sizeof(reading->wchan) &&
                strlen(reading->descriptor.link) < sizeof(reading->descriptor.link) &&
                strlen(reading->holder.comm) < sizeof(reading->holder.comm) &&
                strlen(reading->unix_socket.name) < sizeof(reading->unix_socket.name) &&
                strlen(reading->unix_socket.peer_name) < sizeof(reading->unix_socket.peer_name));
    }
}

static void check_files(const uint8_t *bytes, size_t size_bytes)
{
    struct probe_fetch fetch = {.kind = PROBE_FETCH};
    struct probe_fetched fetched;

    if (size_bytes == sizeof(fetched)) {
        memcpy(&fetched, bytes, sizeof(fetched));
        fetch.number = fetched.number;
        require(!probe_fetched_is_sound(&fetched, size_bytes, &fetch) || fetched.status <= 0);
    }
    if (size_bytes >= sizeof(fetch)) {
        memcpy(&fetch, bytes, sizeof(fetch));
        require(!probe_fetch_is_sound(&fetch, size_bytes) || fetch.exact <= 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    static struct probe_answer answer;
    struct probe_query ask = {.kind = PROBE_QUERY};

    check_files(bytes, size_bytes);
    /* An answer in a buffer that the other end may fill, and a query that fits it. */
    if (size_bytes > sizeof(answer))
        return 0;
    memset(&answer, 0, sizeof(answer));
    if (size_bytes != 0)
        memcpy(&answer, bytes, size_bytes);
    ask.number = answer.number;
    ask.count = answer.count >= 1 && answer.count <= PROBE_BATCH_MAX ? answer.count : 1;
    for (uint32_t i = 0; i < ask.count; i++)
        ask.tids[i] = answer.threads[i].tid != 0 ? answer.threads[i].tid : 1;
    require(probe_query_is_sound(&ask, sizeof(ask)));
    if (probe_answer_is_sound(&answer, size_bytes, &ask))
        check_answer(&answer, &ask);
    if (size_bytes >= sizeof(ask)) {
        memcpy(&ask, bytes, sizeof(ask));
        if (probe_query_is_sound(&ask, size_bytes))
            require(ask.count >= 1 && ask.count <= PROBE_BATCH_MAX);
    }
    return 0;
}
