/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - names of kinds, references, and which events a query selects. Pure. */
#include "cases/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/reference.h"

static const char *const kind_names[EVENT_KIND_COUNT] = {
#define X(name, text, meaning) text,
    EVENT_KIND_TABLE(X)
#undef X
};

static const char *const reason_names[EVENT_REASON_COUNT] = {
#define X(name, text, meaning) text,
    EVENT_REASON_TABLE(X)
#undef X
};

static int value_of(const char *const *names, int count, const char *name)
{
    for (int value = 0; value < count; value++)
        if (strcmp(name, names[value]) == 0)
            return value;
    return -1;
}

const char *event_kind_name(enum event_kind kind)
{
    return kind_names[kind];
}

const char *event_reason_name(enum event_reason reason)
{
    return reason_names[reason];
}

int event_kind_from_name(const char *name)
{
    return value_of(kind_names, EVENT_KIND_COUNT, name);
}

int event_reason_from_name(const char *name)
{
    return value_of(reason_names, EVENT_REASON_COUNT, name);
}

struct event *event_make(void)
{
    return reference_new(sizeof(struct event));
}

void event_epoch_format(uint64_t epoch, char ret_text[EVENT_EPOCH_BYTES])
{
    snprintf(ret_text, EVENT_EPOCH_BYTES, "%016" PRIx64, epoch);
}

void event_unref(struct event *event)
{
    if (!reference_drop(event))
        return;
    free(event->unit);
    free(event->container);
    free(event->module);
    free(event->function);
    free(event->target);
    free(event->file);
    free(event->summary);
    free(event->text);
    free(event);
}

bool query_matches_event(const struct query_filter *filter, const struct event *event)
{
    const struct query *query = filter->query;

    return query_selects_ring(filter, event->ring) && event->at_wall_ns >= query->since_wall_ns &&
           (query->pid == 0 || query->pid == event->pid) &&
           query_selects_origin(filter, event->unit, event->container) && query_has(query->causes, event->cause) &&
           query_has(query->kinds, event->kind) && event->duration_ns >= query->min_ns &&
           (query->name[0] == '\0' || glob_matches(&filter->name, event->name, event->name_bytes));
}
