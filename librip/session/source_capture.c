/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_capture.c - yields a capture as one drain: the contents of its ring, the ids that were stalled, and how the
 * process ended. Touches one descriptor.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "session/capture_file.h"
#include "session/drain.h"
#include "session/sources.h"

#define RING_NUMBER 1u
#define SECOND_NS UINT64_C(1000000000)
#define CORE_DUMPED 0x80 /* bit of a waitpid() status */

enum phase { PHASE_BEGIN, PHASE_DRAIN, PHASE_OVER };

/* A stalled id of the document, and its place in the ring. */
struct stalled {
    char *json;
    uint32_t id;
    uint32_t slot;
    uint32_t generation;
    uint32_t process;
    bool is_placed;
};

struct capture_source {
    struct source source;
    struct capture capture;
    json_t *document;
    struct rip_view view;
    struct drain *drain;
    struct drain_batch *batch;
    struct drain_moment moment;
    struct stalled *stalls;
    struct stalled **by_id; /* sorted */
    size_t stall_count;
    enum phase phase;
    const struct rip_sink *sink; /* valid during a read */
};

/* The document ----------------------------------------------------------------------------------------------------- */

/* Parses a time such as "2026-01-31T12:34:56.789Z". Returns 0 for anything else. */
static uint64_t wall_of(const json_t *text)
{
    const char *string = json_string_value(text), *end;
    uint64_t fraction_ns = 0, unit_ns = SECOND_NS;
    struct tm parts = {0};
    time_t seconds;

    end = string != NULL ? strptime(string, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    seconds = end != NULL ? timegm(&parts) : 0;
    if (seconds <= 0 || (uint64_t)seconds > UINT64_MAX / SECOND_NS - 1)
        return 0;
    for (end += *end == '.'; *end >= '0' && *end <= '9'; end++)
        fraction_ns += (unit_ns /= 10) * (uint64_t)(*end - '0');
    return (uint64_t)seconds * SECOND_NS + fraction_ns;
}

static struct rip_text text_of(const json_t *string)
{
    if (!json_is_string(string))
        return (struct rip_text){"", 0};
    return (struct rip_text){json_string_value(string), json_string_length(string)};
}

static struct rip_event_death death_of(const json_t *end)
{
    const json_t *status = json_object_get(end, "status"), *signal = json_object_get(end, "signal_number");
    const char *how = json_string_value(json_object_get(end, "how"));
    struct rip_event_death death = {.core_dumped = json_is_true(json_object_get(end, "core_dumped"))};

    if (how != NULL && strcmp(how, "killed") == 0 && json_is_integer(signal)) {
        death.has_status = true;
        death.status = (int32_t)(json_integer_value(signal) & 0x7f) | (death.core_dumped ? CORE_DUMPED : 0);
    } else if (how != NULL && strcmp(how, "exited") == 0 && json_is_integer(status)) {
        death.has_status = true;
        death.status = (int32_t)(json_integer_value(status) & 0xff) << 8;
    }
    death.replaced = how != NULL && strcmp(how, "executed") == 0;
    return death;
}

static int compare_ids(const void *left, const void *right)
{
    const struct stalled *a = *(struct stalled *const *)left, *b = *(struct stalled *const *)right;

    return (a->id > b->id) - (a->id < b->id);
}

/* Returns 0 or -ENOMEM. */
static int read_stalls(struct capture_source *source)
{
    const json_t *list = json_object_get(source->document, "stalls");
    const size_t count = json_array_size(list);

    source->stalls = calloc(count + 1, sizeof(*source->stalls));
    for (; source->stalls != NULL && source->stall_count < count; source->stall_count++) {
        const json_t *item = json_array_get(list, source->stall_count);
        struct stalled *stalled = &source->stalls[source->stall_count];

        stalled->id = (uint32_t)json_integer_value(json_object_get(item, "id"));
        stalled->json = json_dumps(item, JSON_COMPACT);
        if (stalled->json == NULL)
            return -ENOMEM;
    }
    source->by_id = calloc(count + 1, sizeof(struct stalled *));
    if (source->stalls == NULL || source->by_id == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        source->by_id[i] = &source->stalls[i];
    qsort(source->by_id, count, sizeof(struct stalled *), compare_ids);
    return 0;
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static int yield(const struct capture_source *source, struct rip_event *event)
{
    event->ring = event->kind != RIP_EVENT_DRAIN ? RING_NUMBER : 0;
    event->latest_wall_ns = source->moment.wall_ns;
    return source->sink->take(source->sink->context, event);
}

static int yield_ring(struct capture_source *source)
{
    const char *by = json_string_value(json_object_get(source->document, "source"));
    struct rip_event event = {.kind = RIP_EVENT_RING};
    struct rip_process_info process;
    struct rip_ring_info info;

    rip_view_info(&source->view, &info);
    event.as.ring_begin = (struct rip_event_ring){
        .name = text_of(json_object_get(source->document, "ring")),
        .directory = {"", 0},
        .created_wall_ns = info.created_wall_ns,
        .slot_capacity = info.slot_capacity,
        .uid = rip_view_process(&source->view, 0, &process) == RIP_OK ? process.uid : UINT32_MAX,
        .preload = by != NULL && strcmp(by, "preload") == 0,
    };
    memcpy(event.as.ring_begin.ring_id, info.ring_id, sizeof(info.ring_id));
    memcpy(event.as.ring_begin.boot_id, info.boot_id, sizeof(info.boot_id));
    return yield(source, &event);
}

/* Stores the place of the id that was registered, if it was stalled. */
static void place_stalls(struct capture_source *source, const struct rip_event *event)
{
    size_t low = 0, high = source->stall_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (source->by_id[middle]->id < event->id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < source->stall_count && source->by_id[low]->id == event->id; low++) {
        struct stalled *stalled = source->by_id[low];

        if (stalled->is_placed)
            return; /* and so are all others of this id */
        stalled->is_placed = true;
        stalled->slot = event->slot;
        stalled->generation = event->generation;
        stalled->process = event->process;
    }
}

/*
 * Passes on an event of the drain, except DEATH: the document has more about the end of the process than its record.
 * Stores the place of ids that were stalled.
 */
static int take_drained(void *context, const struct rip_event *event)
{
    struct capture_source *source = context;

    if (event->kind == RIP_EVENT_DEATH)
        return 0;
    if (event->kind == RIP_EVENT_REGISTER)
        place_stalls(source, event);
    return source->sink->take(source->sink->context, event);
}

static int yield_stalls(struct capture_source *source)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < source->stall_count; i++) {
        const struct stalled *stalled = &source->stalls[i];
        struct rip_event event = {
            .kind = RIP_EVENT_STALL_BEGIN,
            .slot = stalled->slot,
            .generation = stalled->generation,
            .id = stalled->id,
            .process = stalled->process,
            .as.stall.json = {stalled->json, strlen(stalled->json)},
        };

        result = yield(source, &event);
    }
    return result;
}

static int yield_death(struct capture_source *source)
{
    struct rip_event event = {.kind = RIP_EVENT_DEATH, .as.death = death_of(json_object_get(source->document, "end"))};
    struct rip_process_info process;

    if (rip_view_process(&source->view, 0, &process) == RIP_OK)
        event.as.death.generation = process.generation;
    return yield(source, &event);
}

static int yield_end(struct capture_source *source, const struct rip_sink *drained)
{
    struct rip_event drain = {.kind = RIP_EVENT_DRAIN, .as.drain = {.sequence = 1, .wall_ns = source->moment.wall_ns}};
    int result = yield_stalls(source);

    source->phase = PHASE_OVER;
    if (result == 0)
        result = yield_death(source);
    if (result == 0)
        result = drain_end(source->drain, drained);
    return result == 0 ? yield(source, &drain) : result;
}

static int step(struct capture_source *source)
{
    const struct rip_sink drained = {source, take_drained};
    int result;

    if (source->phase == PHASE_BEGIN) {
        source->phase = PHASE_DRAIN;
        drain_begin(source->drain, source->moment);
        return yield_ring(source);
    }
    result = drain_step(source->drain, &source->view, source->batch, &drained);
    if (result == 0)
        return yield_end(source, &drained);
    return result < 0 ? result : 0;
}

static int read_capture(struct source *base, struct event_queue *queue, struct source_error *error)
{
    struct capture_source *source = (struct capture_source *)base;
    const struct rip_sink sink = event_queue_sink(queue);
    int result;

    if (source->phase == PHASE_OVER)
        return 0;
    source->sink = &sink;
    result = step(source);
    source->sink = NULL;
    if (result == 0 && queue->last != NULL && queue->last->event.kind == RIP_EVENT_RING)
        result = attachment_set(&queue->last->attachments, "rip.capture", source->capture.document,
                                source->capture.document_bytes);
    return result == 0 ? 1 : source_fail(error, result, "capture: %s", strerror(-result));
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static void close_capture(struct source *base)
{
    struct capture_source *source = (struct capture_source *)base;

    for (size_t i = 0; i < source->stall_count; i++)
        free(source->stalls[i].json);
    free(source->stalls);
    free(source->by_id);
    json_decref(source->document);
    capture_done(&source->capture);
    drain_free(source->drain);
    drain_batch_free(source->batch);
    free(source);
}

static const struct source_kind capture_kind = {
    .read = read_capture,
    .close = close_capture,
};

static int open_parts(struct capture_source *source)
{
    const struct capture *capture = &source->capture;
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    int result;

    source->document = json_loadb(capture->document, capture->document_bytes, flags, NULL);
    if (source->document == NULL || rip_view_open(&source->view, capture->ring, capture->ring_bytes) != RIP_OK)
        return -EBADMSG;
    source->moment.wall_ns = wall_of(json_object_get(source->document, "ended_at"));
    source->batch = drain_batch_new();
    result = source->batch != NULL ? drain_new(&source->drain, RING_NUMBER) : -ENOMEM;
    if (result != 0)
        return result;
    drain_find_ended(source->drain);
    return read_stalls(source);
}

int source_open_capture(struct source **ret_source, const char *path, int descriptor, struct source_error *error)
{
    struct capture_source *source = calloc(1, sizeof(*source));
    int result = source != NULL ? capture_read(descriptor, &source->capture) : -ENOMEM;

    close(descriptor);
    if (result == 0) {
        source->source = (struct source){&capture_kind, RIP_SESSION_CAPTURE};
        result = open_parts(source);
        if (result != 0)
            close_capture(&source->source);
    } else {
        free(source);
    }
    if (result != 0)
        return source_fail(error, result, "%s %s", path, capture_error_text(result));
    *ret_source = &source->source;
    return 0;
}
