/* SPDX-License-Identifier: Apache-2.0 */
/* stall_watch.c - see stall_watch.h. Pure. */
#include "cli/stall_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/ids.h"

struct stall_watch {
    struct detector *detector;
    struct replay_ids ids;
};

int stall_watch_new(struct stall_watch **ret_watch, uint64_t interval_ns, uint64_t stall_after_ns)
{
    const struct detector_config config = {.interval_ns = interval_ns, .stall_after_ns = stall_after_ns};
    struct stall_watch *watch = calloc(1, sizeof(*watch));
    int result = watch != NULL ? detector_new(&watch->detector, &config) : -ENOMEM;

    if (result != 0) {
        free(watch);
        return result;
    }
    *ret_watch = watch;
    return 0;
}

void stall_watch_free(struct stall_watch *watch)
{
    if (watch == NULL)
        return;
    replay_ids_done(&watch->ids);
    detector_free(watch->detector);
    free(watch);
}

static bool is_certain(const struct detector_suspect *suspect)
{
    return suspect->call == RIP_CALL_NONE || suspect->call == RIP_CALL_REPLY || suspect->call == RIP_CALL_BLOCK ||
           suspect->call == RIP_CALL_LOCK;
}

static int scan(struct stall_watch *watch, uint64_t now_mono_ns, bool *ret_stalled)
{
    struct detector_suspect *suspects;
    struct detector_update update;
    size_t count;
    int result = 0;

    detector_begin(watch->detector, now_mono_ns);
    for (size_t i = 0; i < watch->ids.count && result == 0; i++)
        result = replay_ring_feed(watch->ids.rings[i], watch->detector);
    suspects = detector_suspects(watch->detector, &count);
    for (size_t i = 0; i < count; i++)
        if (!is_certain(&suspects[i]))
            suspects[i].verdict = (struct verdict){ID_RUNNING, CAUSE_UNSEEN};
    detector_end(watch->detector, &update);
    for (size_t i = 0; i < update.event_count; i++)
        *ret_stalled = *ret_stalled || update.events[i].kind == DETECTOR_STALLED;
    return result;
}

int stall_watch_take(struct stall_watch *watch, const struct rip_event *event, bool *ret_stalled)
{
    int result = replay_ids_take(&watch->ids, event);

    *ret_stalled = false;
    if (result != 0 || event->kind != RIP_EVENT_DRAIN)
        return result;
    return scan(watch, event->as.drain.mono_ns, ret_stalled);
}
