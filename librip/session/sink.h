/* SPDX-License-Identifier: Apache-2.0 */
/* sink.h - where events go, and what is said of all of a kind. What an event points to is valid only during the call.
 */
#ifndef RIP_SESSION_SINK_H
#define RIP_SESSION_SINK_H

#include "rip/session.h"

static inline bool event_is_of_id(uint32_t kind)
{
    return kind == RIP_EVENT_REGISTER || kind == RIP_EVENT_STATE || kind == RIP_EVENT_SNAP || kind == RIP_EVENT_NOTE ||
           kind == RIP_EVENT_EXIT;
}

struct rip_sink {
    void *context;
    int (*take)(void *context, const struct rip_event *event); /* 0, or -errno, which ends what yields events */
};

#endif
