/* SPDX-License-Identifier: Apache-2.0 */
/* sink.h - where events go. What an event points to is valid only during the call. */
#ifndef RIP_SESSION_SINK_H
#define RIP_SESSION_SINK_H

#include "rip/session.h"

struct rip_sink {
    void *context;
    int (*take)(void *context, const struct rip_event *event); /* 0, or -errno, which ends what yields events */
};

#endif
