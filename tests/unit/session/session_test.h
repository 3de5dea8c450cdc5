/* SPDX-License-Identifier: Apache-2.0 */
/* session_test.h - drains of rings that a test has mapped, recordings in memory, and events as text. */
#ifndef SESSION_TEST_H
#define SESSION_TEST_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#include "session/drain.h"
#include "session/recording.h"

/* Events as text, one line each, to be compared. */
struct event_text {
    char *bytes;
    size_t count;
    size_t capacity;
};

static inline void text_printf(struct event_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void text_printf(struct event_text *text, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof(line) - 1);
    if (text->count + (size_t)length >= text->capacity) { /* doubled: a sanitizer moves the text each time */
        text->capacity = 2 * text->capacity + sizeof(line);
        text->bytes = realloc(text->bytes, text->capacity);
        assert_non_null(text->bytes);
    }
    memcpy(text->bytes + text->count, line, (size_t)length + 1);
    text->count += (size_t)length;
}

static inline void text_clear(struct event_text *text)
{
    free(text->bytes);
    *text = (struct event_text){0};
}

static inline const char *text_of(const struct event_text *text)
{
    return text->bytes != NULL ? text->bytes : "";
}

static inline void print_id(struct event_text *text, const struct rip_event_id *id)
{
    const struct rip_id_info *info = id->info;

    text_printf(text,
                " \"%.*s\" tid %u idle %u call %u deadline %u kind %u progress %" PRIu64 " snaps %" PRIu64
                " born %" PRIu64 "%s",
                (int)info->name_bytes, (const char *)info->name, info->tid, info->idle, info->call, info->deadline_ms,
                info->kind, info->progress, info->snap_count, info->registered_boot_ns, id->found ? " found" : "");
}

static inline void print_snap(struct event_text *text, const struct rip_event_snap *snap)
{
    text_printf(text, " made %" PRIu64 " overwritten %" PRIu64 " torn %u progress %" PRIu64 ":", snap->made_count,
                snap->overwritten_count, snap->torn_count, snap->progress);
    for (uint32_t i = 0; i < snap->entry_count; i++)
        text_printf(text, " %" PRIu64 "@%" PRIx64, snap->entries[i].snap, snap->entries[i].address);
}

static inline void print_fields(struct event_text *text, const struct rip_event *event)
{
    switch (event->kind) {
    case RIP_EVENT_RING:
        text_printf(text, " ring %.*s in %.*s capacity %u uid %u", (int)event->as.ring_begin.name.count,
                    event->as.ring_begin.name.bytes, (int)event->as.ring_begin.directory.count,
                    event->as.ring_begin.directory.bytes, event->as.ring_begin.slot_capacity, event->as.ring_begin.uid);
        break;
    case RIP_EVENT_RING_END:
        text_printf(text, " ring end %.*s", (int)event->as.ring_end.reason.count, event->as.ring_end.reason.bytes);
        break;
    case RIP_EVENT_PROCESS:
        text_printf(text, " process pid %u %.16s modules %u", event->as.process_begin->pid,
                    (const char *)event->as.process_begin->comm, event->as.process_begin->module_count);
        break;
    case RIP_EVENT_MODULE:
        text_printf(text, " module %u %" PRIx64 "-%" PRIx64 " %.*s", event->as.module.nth, event->as.module.info->start,
                    event->as.module.info->end, (int)event->as.module.info->path_bytes,
                    (const char *)event->as.module.info->path);
        break;
    case RIP_EVENT_SCRIPT:
        text_printf(text, " script %u %.*s from %u in %.*s flags %u", event->as.script->index,
                    (int)event->as.script->function_bytes, (const char *)event->as.script->function,
                    event->as.script->first_line, (int)event->as.script->file_bytes,
                    (const char *)event->as.script->file, event->as.script->flags);
        break;
    case RIP_EVENT_DEATH:
        text_printf(text, " death %d %d %d%d%d", event->as.death.status, event->as.death.has_status,
                    event->as.death.in_order, event->as.death.core_dumped, event->as.death.replaced);
        break;
    case RIP_EVENT_REGISTER:
        text_printf(text, " register");
        print_id(text, &event->as.id_begin);
        break;
    case RIP_EVENT_STATE:
        text_printf(text, " state");
        print_id(text, &event->as.state);
        break;
    case RIP_EVENT_SNAP:
        print_snap(text, &event->as.snap);
        break;
    case RIP_EVENT_NOTE:
        text_printf(text, " note %" PRIu64 " \"%.*s\"", event->as.note->sequence, (int)event->as.note->text_bytes,
                    (const char *)event->as.note->text);
        break;
    case RIP_EVENT_EXIT:
        text_printf(text, " exit %" PRIu64 "%s", event->as.exit.snap_count,
                    event->as.exit.has_snap_count ? "" : " not known");
        break;
    case RIP_EVENT_FLUSH:
        text_printf(text, " flush %" PRIu64, event->as.flush_count);
        break;
    case RIP_EVENT_TOTALS:
        text_printf(text,
                    " made %" PRIu64 " = %" PRIu64 " + %" PRIu64 " + %" PRIu64 "%s, ids %" PRIu64 " - %" PRIu64
                    ", torn %" PRIu64,
                    event->as.totals.made_count, event->as.totals.recorded_count, event->as.totals.overwritten_count,
                    event->as.totals.unseen_count, event->as.totals.exact ? "" : "?", event->as.totals.registered_count,
                    event->as.totals.ended_count, event->as.totals.torn_count);
        break;
    case RIP_EVENT_STALL_BEGIN:
    case RIP_EVENT_STALL_END:
        text_printf(text, " stall %.*s", (int)event->as.stall.json.count, event->as.stall.json.bytes);
        break;
    default:
        text_printf(text, " drain %" PRIu64 " took %" PRIu64 " boot %" PRIu64, event->as.drain.sequence,
                    event->as.drain.duration_ns, event->as.drain.boot_ns);
    }
}

static inline void print_event(struct event_text *text, const struct rip_event *event)
{
    text_printf(text, "%u/%u", event->ring, event->slot);
    text_printf(text, " g%u id %u of %u (%" PRIu64 " %" PRIu64 "]", event->generation, event->id, event->process,
                event->earliest_wall_ns, event->latest_wall_ns);
    print_fields(text, event);
    text_printf(text, "\n");
}

static inline int take_text(void *context, const struct rip_event *event)
{
    print_event(context, event);
    return 0;
}

/* The events that a test read last. */
static struct event_text text;

/* They contain these words. */
static inline void assert_says(const char *words)
{
    assert_non_null(strstr(text_of(&text), words));
}

/* Makes one drain, without its DRAIN event. */
static inline void drain_once(struct drain *drain, const struct rip_view *view, uint64_t now_ns,
                              const struct rip_sink *sink)
{
    struct drain_batch *batch = drain_batch_new();
    struct rip_scan_position position = {0};
    struct rip_sample samples[DRAIN_BATCH];
    size_t count;

    assert_non_null(batch);
    drain_begin(drain, (struct drain_moment){now_ns, now_ns});
    while (drain_open(drain, view, batch))
        assert_int_equal(drain_take(drain, batch, sink), 0);
    while ((count = rip_view_scan(view, &position, samples, DRAIN_BATCH)) > 0) {
        drain_read(drain, view, samples, count, batch);
        assert_int_equal(drain_take(drain, batch, sink), 0);
    }
    while (drain_finish(drain, view, batch))
        assert_int_equal(drain_take(drain, batch, sink), 0);
    assert_int_equal(drain_end(drain, sink), 0);
    drain_batch_free(batch);
}

/* A recording in memory. */
struct memory_file {
    unsigned char *bytes;
    size_t count;
    int error; /* that writes return */
};

static inline int memory_write(void *context, const void *bytes, size_t count, bool full)
{
    struct memory_file *file = context;

    (void)full;
    if (file->error != 0)
        return file->error;
    file->bytes = realloc(file->bytes, file->count + count);
    assert_non_null(file->bytes);
    memcpy(file->bytes + file->count, bytes, count);
    file->count += count;
    return 0;
}

static inline long memory_read(void *context, uint64_t offset, void *buffer, size_t count)
{
    const struct memory_file *file = context;
    size_t rest = offset < file->count ? file->count - (size_t)offset : 0;

    if (count > rest)
        count = rest;
    memcpy(buffer, file->bytes + offset, count);
    return (long)count;
}

#endif
