/* SPDX-License-Identifier: Apache-2.0 */
/* fetcher.c - questions and answers. Touches /proc, files of processes, and its socket. See fetcher.h. */
#include "probe/child/fetcher.h"

#include <errno.h>
#include <unistd.h>

#include "os/packet.h"
#include "probe/child/alarm.h"
#include "probe/child/attest.h"
#include "probe/child/module_file.h"

int fetcher_answer(int proc, const struct probe_fetch *fetch, int ring, struct probe_fetched *ret_fetched)
{
    struct attested attested;
    int result = ring >= 0 ? attest_open(&attested, proc, ring, fetch->process) : -EINVAL;

    if (result == 0) {
        result = module_file_open(proc, &attested, fetch->start, fetch->exact != 0);
        if (result >= 0 && !attest_holds(&attested, proc)) {
            close(result);
            result = -ESRCH;
        }
        attest_close(&attested);
    }
    *ret_fetched =
        (struct probe_fetched){.kind = PROBE_FETCHED, .status = result < 0 ? result : 0, .number = fetch->number};
    return result < 0 ? -1 : result;
}

void fetcher_run(int proc, int socket)
{
    struct probe_fetched fetched;
    struct probe_fetch fetch;
    ssize_t bytes;
    int ring;

    while ((bytes = packet_receive(socket, &fetch, sizeof(fetch), true, &ring)) > 0) {
        int file, result;

        if (!probe_fetch_is_sound(&fetch, (size_t)bytes))
            return;
        alarm_set(PROBE_QUERY_NS);
        file = fetcher_answer(proc, &fetch, ring, &fetched);
        alarm_set(0);
        result = packet_send(socket, &fetched, sizeof(fetched), file, true);
        if (file >= 0)
            close(file);
        if (result != 0)
            return;
    }
}
