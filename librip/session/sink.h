/* SPDX-License-Identifier: Apache-2.0 */
/* sink.h - the function that receives events. What an event points to is valid only during the call. */
#ifndef RIP_SESSION_SINK_H
#define RIP_SESSION_SINK_H

#include "rip/session.h"

/* Returns whether events of this kind are about one id. */
static inline bool event_is_of_id(uint32_t kind)
{
    return kind == RIP_EVENT_REGISTER || kind == RIP_EVENT_STATE || kind == RIP_EVENT_SNAP || kind == RIP_EVENT_NOTE ||
           kind == RIP_EVENT_EXIT;
}

struct rip_sink {
    void *context;
    /* Returns 0, or -errno, which the function that yields events returns. */
    int (*take)(void *context, const struct rip_event *event);
};

#endif
