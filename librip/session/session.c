/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - see rip/session.h. Takes events out of a source, one at a time, and passes them to observers and to a
 * recording.
 *
 * There are two queues: the event that was yielded last stays valid in one while the source fills the other.
 */
#include "rip/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/capture_file.h"
#include "session/clock_ns.h"
#include "session/output.h"
#include "session/recording.h"
#include "session/sources.h"

#define MAGIC_BYTES 64u
#define MISSED_FIRST 64u /* places */

/* The last unseen_count that was seen in TOTALS of a ring. */
struct missed {
    uint32_t ring;
    bool is_used;
    uint64_t unseen_count;
};

struct rip_session {
    struct source *source;
    struct event_queue queues[2];
    unsigned front; /* the queue that events are taken from */
    struct queued_event *current;
    uint64_t event_count; /* yielded so far */
    bool between_drains;  /* the current event is a DRAIN, or there was none yet */
    bool written;         /* the current event was given to the writer, or there is none */
    struct rip_observer observer;
    struct missed *missed; /* hash table, by ring */
    size_t missed_count;
    size_t missed_capacity;          /* a power of two, at least twice missed_count */
    struct recording_writer *writer; /* NULL: nothing is recorded */
    struct output *output;
    bool record_pending;          /* recording starts with the next drain */
    bool has_open_frame;          /* the writer holds events of an unwritten frame */
    struct rip_event empty_drain; /* the last DRAIN, if it was empty and therefore not recorded; else kind 0 */
    struct rip_recording_state recorded;
    struct source_error error;
};

int source_fail(struct source_error *error, int result, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    return result;
}

/* Copies a struct of the caller, which may be of an earlier or later release. Returns 0, -EINVAL or -E2BIG. */
static int take_struct(void *target, size_t target_bytes, const void *source, size_t source_bytes)
{
    const unsigned char *bytes = source;

    if (source_bytes < sizeof(size_t))
        return -EINVAL;
    for (size_t i = target_bytes; i < source_bytes; i++)
        if (bytes[i] != 0)
            return -E2BIG; /* it sets a field that only a later release has */
    memset(target, 0, target_bytes);
    memcpy(target, source, source_bytes < target_bytes ? source_bytes : target_bytes);
    return 0;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static int open_file(struct source **ret_source, const char *path, int descriptor,
                     const struct rip_session_options *options, struct source_error *error)
{
    char magic[MAGIC_BYTES];
    const ssize_t count = pread(descriptor, magic, sizeof(magic), 0);
    int result;

    if (count >= 0 && capture_is_one(magic, (size_t)count))
        return source_open_capture(ret_source, path, descriptor, error);
    if (count >= 0 && recording_is_one(magic, (size_t)count))
        return source_open_recording(ret_source, path, descriptor, error);
    result = source_open_ring(ret_source, path, descriptor, options, error);
    return result != -EINVAL ? result
                             : source_fail(error, result, "%s is neither a ring, a capture nor a recording", path);
}

static int open_source(struct source **ret_source, const char *path, const struct rip_session_options *options,
                       struct source_error *error)
{
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;

    if (descriptor < 0)
        return source_fail(error, -errno, "%s: %s", path, strerror(errno));
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
        return open_file(ret_source, path, descriptor, options, error);
    if (S_ISDIR(status.st_mode))
        return source_has_segments(descriptor) ? source_open_recording(ret_source, path, descriptor, error)
                                               : source_open_directory(ret_source, path, descriptor, options, error);
    close(descriptor);
    return source_fail(error, -EINVAL, "%s is neither a ring, a capture, a recording nor a directory", path);
}

int rip_session_open(struct rip_session **ret_session, const char *path, const struct rip_session_options *options,
                     char **ret_error)
{
    struct rip_session_options complete = {0};
    struct rip_session *session = calloc(1, sizeof(*session));
    struct source_error error = {"out of memory"};
    int result = session != NULL ? 0 : -ENOMEM;

    if (result == 0 && options != NULL)
        result = take_struct(&complete, sizeof(complete), options, options->size_bytes);
    if (result != 0 && result != -ENOMEM)
        source_fail(&error, result, "options: wrong size_bytes, or fields of a later version");
    if (result == 0)
        result = open_source(&session->source, path, &complete, &error);
    if (result == 0) {
        session->between_drains = true;
        session->written = true;
        *ret_session = session;
        return 0;
    }
    if (ret_error != NULL)
        *ret_error = strdup(error.text);
    free(session);
    return result;
}

void rip_session_close(struct rip_session *session)
{
    if (session == NULL)
        return;
    rip_session_record_end(session);
    session->source->kind->close(session->source);
    if (session->current != NULL)
        attachment_clear(&session->current->attachments);
    event_queue_done(&session->queues[0]);
    event_queue_done(&session->queues[1]);
    free(session->missed);
    free(session);
}

enum rip_session_source rip_session_source(const struct rip_session *session)
{
    return session->source->name;
}

const char *rip_session_error(const struct rip_session *session)
{
    return session->error.text;
}

/* Recording -------------------------------------------------------------------------------------------------------- */

/* Gives the current event to the writer. Errors are ignored here: a full disk only shows in the recording state. */
static void write_current(struct rip_session *session)
{
    if (session->written || session->writer == NULL || session->record_pending)
        return;
    session->written = true;
    session->has_open_frame = true;
    recording_writer_take(session->writer, &session->current->event);
    for (const struct attachment *data = session->current->attachments; data != NULL; data = data->next)
        recording_writer_attach(session->writer, data->name_space, data->bytes, data->count);
}

/*
 * Writes the frame that the current event ends. The writer leaves out an empty drain: write_empty_drain() records only
 * the last one, which shows until when the session ran.
 */
static void end_frame(struct rip_session *session)
{
    const struct rip_recording_state *written = recording_writer_state(session->writer);
    const uint64_t drain_count = written->drain_count;

    if (!session->has_open_frame || session->current == NULL || session->current->event.kind != RIP_EVENT_DRAIN)
        return;
    session->has_open_frame = false;
    recording_writer_flush(session->writer);
    session->empty_drain = session->current->event;
    if (written->drain_count != drain_count)
        session->empty_drain.kind = 0;
}

static void write_empty_drain(struct rip_session *session)
{
    if (session->empty_drain.kind == 0)
        return;
    recording_writer_take(session->writer, &session->empty_drain);
    recording_writer_attach(session->writer, "rip.end", "", 0);
    recording_writer_flush(session->writer);
    session->empty_drain.kind = 0;
}

static int take_repeated(void *context, const struct rip_event *event)
{
    return recording_writer_take(context, event);
}

/* Called before the source begins a drain, when all yielded events were given to the writer. */
static void begin_frame(struct rip_session *session)
{
    const struct rip_sink sink = {session->writer, take_repeated};

    if (session->writer == NULL)
        return;
    if (!session->record_pending)
        end_frame(session);
    if (output_advance(session->output, clock_ns(CLOCK_MONOTONIC)))
        recording_writer_restart(session->writer);
    if (session->record_pending && session->source->kind->repeat != NULL)
        session->source->kind->repeat(session->source, &sink);
    session->record_pending = false;
}

static void count_recorded(const struct rip_session *session, struct rip_recording_state *ret_state)
{
    *ret_state = *recording_writer_state(session->writer);
    ret_state->error = output_error(session->output);
}

int rip_session_record(struct rip_session *session, const char *path, const struct rip_recording_options *options)
{
    struct rip_recording_options complete = {0};
    struct recording_output output = {.write = output_write};
    int result = session->writer == NULL ? 0 : -EBUSY;

    if (result == 0 && options != NULL)
        result = take_struct(&complete, sizeof(complete), options, options->size_bytes);
    if (result == 0)
        result = output_open(&session->output, path, &complete);
    if (result == 0) {
        output.context = session->output;
        result = recording_writer_new(&session->writer, &output, clock_ns(CLOCK_REALTIME));
        if (result != 0)
            output_close(session->output);
    }
    if (result != 0)
        return source_fail(&session->error, result, "%s: %s", path != NULL ? path : "recording", strerror(-result));
    session->record_pending = true;
    return 0;
}

int rip_session_trigger(struct rip_session *session, const char *path)
{
    int result = session->writer != NULL ? 0 : -ENOTSUP;

    if (result == 0) {
        write_current(session);
        end_frame(session);
        result = output_trigger(session->output, path);
    }
    if (result != 0)
        source_fail(&session->error, result, "%s: %s", path, strerror(-result));
    return result;
}

int rip_session_recording_state(const struct rip_session *session, struct rip_recording_state *ret_state)
{
    if (session->writer != NULL)
        count_recorded(session, ret_state);
    else
        *ret_state = session->recorded;
    return 0;
}

int rip_session_record_end(struct rip_session *session)
{
    int result;

    if (session->writer == NULL)
        return 0;
    write_current(session);
    end_frame(session);
    write_empty_drain(session);
    count_recorded(session, &session->recorded);
    recording_writer_free(session->writer);
    session->writer = NULL;
    result = output_close(session->output);
    if (result != 0)
        session->recorded.error = result;
    return result == 0 ? 0 : source_fail(&session->error, result, "recording: %s", strerror(-result));
}

/* Driving ---------------------------------------------------------------------------------------------------------- */

/* Makes sure that the front queue has an event. Returns 1, or what the read function of the source returned. */
static int fill_front(struct rip_session *session)
{
    struct event_queue *next = &session->queues[!session->front];
    int result = 1;

    if (session->queues[session->front].first != NULL)
        return 1;
    if (session->between_drains) {
        write_current(session);
        begin_frame(session);
    }
    /* The current event is in the front queue. Events in the other queue were yielded before it. */
    event_queue_clear(next);
    while (result == 1 && next->first == NULL)
        result = session->source->kind->read(session->source, next, &session->error);
    if (result != 1 && next->first == NULL)
        return result;
    session->front = !session->front;
    return 1;
}

static struct rip_event *front_event(struct rip_session *session)
{
    struct rip_event *event = &session->queues[session->front].first->event;

    event->number = session->event_count + 1;
    return event;
}

int rip_session_peek(struct rip_session *session, const struct rip_event **ret_event)
{
    const int result = fill_front(session);

    if (result == 1)
        *ret_event = front_event(session);
    return result;
}

/* Drops the current event. */
static void drop_current(struct rip_session *session)
{
    write_current(session);
    if (session->current != NULL)
        attachment_clear(&session->current->attachments);
    session->current = NULL;
    session->written = true;
}

int rip_session_next(struct rip_session *session, const struct rip_event **ret_event)
{
    const int result = fill_front(session);

    if (result != 1)
        return result;
    drop_current(session);
    *ret_event = front_event(session);
    session->current = event_queue_take(&session->queues[session->front]);
    session->event_count++;
    session->written = false;
    session->between_drains = session->current->event.kind == RIP_EVENT_DRAIN;
    return 1;
}

uint64_t rip_session_due_ns(const struct rip_session *session)
{
    const struct source_kind *kind = session->source->kind;

    return kind->due_ns != NULL && session->queues[session->front].first == NULL ? kind->due_ns(session->source) : 0;
}

int rip_session_wait(struct rip_session *session, uint64_t timeout_ns)
{
    if (rip_session_due_ns(session) == 0)
        return 0;
    write_current(session);
    if (session->writer != NULL && !session->record_pending)
        end_frame(session);
    drop_current(session);
    return session->source->kind->wait(session->source, timeout_ns);
}

int rip_session_drain_now(struct rip_session *session)
{
    if (session->source->kind->drain_now == NULL)
        return source_fail(&session->error, -ENOTSUP, "only live rings can be drained");
    session->source->kind->drain_now(session->source);
    return 0;
}

int rip_session_seek(struct rip_session *session, uint64_t wall_ns)
{
    if (session->source->kind->seek == NULL)
        return source_fail(&session->error, -ENOTSUP, "only recordings can be searched");
    drop_current(session);
    event_queue_clear(&session->queues[0]);
    event_queue_clear(&session->queues[1]);
    session->between_drains = true;
    return session->source->kind->seek(session->source, wall_ns, &session->error);
}

int rip_session_position(const struct rip_session *session, uint64_t *ret_bytes, uint64_t *ret_total_bytes)
{
    if (session->source->kind->position == NULL)
        return -ENOTSUP;
    session->source->kind->position(session->source, ret_bytes, ret_total_bytes);
    return 0;
}

/* Observing -------------------------------------------------------------------------------------------------------- */

int rip_session_observe(struct rip_session *session, const struct rip_observer *observer)
{
    struct rip_observer complete = {0};
    const int result = observer != NULL ? take_struct(&complete, sizeof(complete), observer, observer->size_bytes) : 0;

    if (result != 0)
        return source_fail(&session->error, result, "observer: wrong size_bytes, or fields of a later version");
    session->observer = complete;
    return 0;
}

/* Returns the entry of a ring, or the free one where it belongs. */
static struct missed *find_missed(struct missed *missed, size_t capacity, uint32_t ring)
{
    size_t place = ring * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (capacity - 1);

    while (missed[place].is_used && missed[place].ring != ring)
        place = (place + 1) & (capacity - 1);
    return &missed[place];
}

/* Makes room for one more ring. Returns false if out of memory. */
static bool grow_missed(struct rip_session *session)
{
    const size_t capacity = session->missed_capacity != 0 ? 2 * session->missed_capacity : MISSED_FIRST;
    struct missed *grown;

    if (2 * (session->missed_count + 1) <= session->missed_capacity)
        return true;
    grown = calloc(capacity, sizeof(*grown));
    if (grown == NULL)
        return false;
    for (size_t i = 0; i < session->missed_capacity; i++)
        if (session->missed[i].is_used)
            *find_missed(grown, capacity, session->missed[i].ring) = session->missed[i];
    free(session->missed);
    session->missed = grown;
    session->missed_capacity = capacity;
    return true;
}

/* Returns whether unseen_count of the ring has grown since the last TOTALS, and stores the new value. */
static bool has_new_unseen(struct rip_session *session, const struct rip_event *event)
{
    const uint64_t unseen_count = event->as.totals.unseen_count;
    struct missed *missed;
    bool more;

    if (!grow_missed(session))
        return unseen_count != 0;
    missed = find_missed(session->missed, session->missed_capacity, event->ring);
    more = unseen_count > missed->unseen_count;
    if (!missed->is_used && !more)
        return false;
    session->missed_count += !missed->is_used;
    *missed = (struct missed){event->ring, true, unseen_count};
    return more;
}

typedef int observe_function(void *context, struct rip_session *session, const struct rip_event *event);

static observe_function *function_of(const struct rip_observer *observer, uint32_t kind)
{
    switch (kind) {
    case RIP_EVENT_PROCESS:
        return observer->process;
    case RIP_EVENT_REGISTER:
        return observer->register_id;
    case RIP_EVENT_SNAP:
        return observer->snap;
    case RIP_EVENT_STATE:
        return observer->idle;
    case RIP_EVENT_NOTE:
        return observer->note;
    case RIP_EVENT_EXIT:
        return observer->exit;
    case RIP_EVENT_DEATH:
        return observer->death;
    case RIP_EVENT_STALL_BEGIN:
        return observer->stall_begin;
    case RIP_EVENT_STALL_END:
        return observer->stall_end;
    default:
        return NULL;
    }
}

static bool has_lost_snaps(struct rip_session *session, const struct rip_event *event)
{
    if (event->kind == RIP_EVENT_TOTALS)
        return has_new_unseen(session, event);
    return event->kind == RIP_EVENT_SNAP && event->as.snap.overwritten_count != 0;
}

static int notify_observer(struct rip_session *session, const struct rip_event *event)
{
    const struct rip_observer observer = session->observer; /* a callback may replace it */
    observe_function *const functions[] = {observer.event, has_lost_snaps(session, event) ? observer.lost : NULL,
                                           function_of(&observer, event->kind)};
    int result = 0;

    for (size_t i = 0; result == 0 && i < sizeof(functions) / sizeof(functions[0]); i++)
        if (functions[i] != NULL)
            result = functions[i](observer.context, session, event);
    return result;
}

/* Counts the event. Returns whether the limit is reached. */
static bool is_limit(struct rip_session_limit *left, const struct rip_event *event)
{
    if (left->event_count != 0 && --left->event_count == 0)
        return true;
    if (left->drain_count != 0 && event->kind == RIP_EVENT_DRAIN && --left->drain_count == 0)
        return true;
    return left->ring != 0 && event->ring == left->ring && event->id == left->id && event_is_of_id(event->kind);
}

int rip_session_run(struct rip_session *session, const struct rip_session_limit *limit)
{
    struct rip_session_limit left = {0};
    const struct rip_event *event;
    int result = limit != NULL ? take_struct(&left, sizeof(left), limit, limit->size_bytes) : 0;

    if (result != 0)
        return source_fail(&session->error, result, "limit: wrong size_bytes, or fields of a later version");
    for (;;) {
        result = rip_session_peek(session, &event);
        if (result == 1 && left.until_wall_ns != 0 && event->latest_wall_ns > left.until_wall_ns)
            return 1;
        if (result == 1) {
            rip_session_next(session, &event);
            result = notify_observer(session, event);
            if (result == 0 && is_limit(&left, event))
                return 1;
        } else if (result == -EAGAIN) {
            result = rip_session_wait(session, UINT64_MAX);
        } else {
            return result;
        }
        if (result != 0)
            return result;
    }
}

/* Ancillary data --------------------------------------------------------------------------------------------------- */

int rip_session_attach(struct rip_session *session, const char *name_space, const void *data, size_t count)
{
    int result = -EINVAL;

    if (session->current != NULL && (!session->written || session->writer == NULL))
        result = attachment_check(session->current->attachments, name_space, count);
    if (result == 0)
        result = attachment_set(&session->current->attachments, name_space, data, count);
    if (result != 0)
        source_fail(&session->error, result, "data cannot be attached: %s", strerror(-result));
    return result;
}

int rip_session_data(const struct rip_session *session, const char *name_space, const void **ret_data,
                     size_t *ret_count)
{
    const struct attachment *found =
        session->current != NULL ? attachment_find(session->current->attachments, name_space) : NULL;

    if (found == NULL)
        return -ENOENT;
    *ret_data = found->bytes;
    *ret_count = found->count;
    return 0;
}
