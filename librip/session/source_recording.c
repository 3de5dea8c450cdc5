/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_recording.c - reads a recording: a file, or the segments of a directory as if they were one file. Touches
 * their descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/output.h"
#include "session/read_file.h"
#include "session/recording.h"
#include "session/sources.h"

struct segment {
    char *name;
    uint64_t begin_bytes; /* offset in the whole recording */
    uint64_t size_bytes;
};

struct recording_source {
    struct source source;
    char *path;
    struct recording_reader *reader;
    int directory;       /* -1: the recording is one file */
    int descriptor;      /* of the open segment, or of the file */
    size_t open_segment; /* index */
    struct segment *segments;
    size_t segment_count;
    uint64_t size_bytes;
    bool repeats; /* the next read yields the state first */
};

/* Bytes ------------------------------------------------------------------------------------------------------------ */

/* Returns the last segment that begins at or before an offset. */
static size_t segment_at(const struct recording_source *source, uint64_t offset)
{
    size_t low = 0, high = source->segment_count;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (source->segments[middle].begin_bytes <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int open_segment(struct recording_source *source, size_t nth)
{
    if (source->directory < 0 || (source->descriptor >= 0 && source->open_segment == nth))
        return 0;
    if (source->descriptor >= 0)
        close(source->descriptor);
    source->descriptor = openat(source->directory, source->segments[nth].name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    source->open_segment = nth;
    return source->descriptor >= 0 ? 0 : -errno;
}

/* Reads at an offset of the whole recording. A segment that was truncated meanwhile ends the recording. */
static long read_input(void *context, uint64_t offset, void *buffer, size_t count)
{
    struct recording_source *source = context;
    size_t length = 0;

    while (length < count && offset + length < source->size_bytes) {
        const size_t nth = segment_at(source, offset + length);
        const struct segment *segment = &source->segments[nth];
        const uint64_t within = offset + length - segment->begin_bytes, left = segment->size_bytes - within;
        const size_t wanted = count - length < left ? count - length : (size_t)left;
        long more = open_segment(source, nth);

        if (more == 0)
            more = read_file(source->descriptor, within, (unsigned char *)buffer + length, wanted);
        if (more < 0)
            return more;
        length += (size_t)more;
        if ((size_t)more < wanted)
            break;
    }
    return (long)length;
}

/* Segments --------------------------------------------------------------------------------------------------------- */

/*
 * Returns whether a file is a segment. In a directory that users share (sticky, such as /dev/shm), only files of its
 * owner and of this user count: otherwise any user could make a directory of rings look like a recording.
 */
static bool is_segment(int directory, const char *name, struct stat *ret_status)
{
    struct stat status;

    return fstat(directory, &status) == 0 && fstatat(directory, name, ret_status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(ret_status->st_mode) &&
           ((status.st_mode & S_ISVTX) == 0 || ret_status->st_uid == status.st_uid || ret_status->st_uid == geteuid());
}

bool source_has_segments(int directory)
{
    struct dirent **names = NULL;
    const int count = output_list_segments(directory, &names);
    struct stat status;
    bool found = false;

    for (int i = 0; i < count; i++) {
        found = found || is_segment(directory, names[i]->d_name, &status);
        free(names[i]);
    }
    free(names);
    return found;
}

/* Takes ownership of name. */
static void add_segment(struct recording_source *source, char *name, uint64_t size_bytes)
{
    source->segments[source->segment_count++] = (struct segment){name, source->size_bytes, size_bytes};
    source->size_bytes += size_bytes;
}

static int list_segments(struct recording_source *source)
{
    struct dirent **names = NULL;
    const int count = output_list_segments(source->directory, &names);

    if (count < 0)
        return -errno;
    source->segments = calloc((size_t)count + 1, sizeof(*source->segments));
    for (int i = 0; i < count; i++) {
        struct stat status;
        char *name = source->segments != NULL && is_segment(source->directory, names[i]->d_name, &status)
                         ? strdup(names[i]->d_name)
                         : NULL;

        if (name != NULL)
            add_segment(source, name, (uint64_t)status.st_size);
        free(names[i]);
    }
    free(names);
    if (source->segments == NULL)
        return -ENOMEM;
    return source->segment_count != 0 ? 0 : -EINVAL;
}

/* Events ----------------------------------------------------------------------------------------------------------- */

/* Returns result, and formats the error as a line with the path if it is not 0. */
static int fail_unless(struct source_error *error, const struct recording_source *source, int result)
{
    return result == 0 ? 0 : source_fail(error, result, "%s: %s", source->path, strerror(-result));
}

static int add_event(struct recording_source *source, struct event_queue *queue, const struct rip_event *event)
{
    const char *name_space;
    const void *data;
    size_t count;
    int result = event_queue_add(queue, event);

    for (size_t nth = 0; result == 0 && recording_reader_data(source->reader, nth, &name_space, &data, &count); nth++)
        result = attachment_set(&queue->last->attachments, name_space, data, count);
    return result;
}

static int read_recording(struct source *base, struct event_queue *queue, struct source_error *error)
{
    struct recording_source *source = (struct recording_source *)base;
    const struct rip_sink sink = event_queue_sink(queue);
    const struct rip_event *event;
    int result;

    if (source->repeats) {
        source->repeats = false;
        result = fail_unless(error, source, recording_reader_repeat(source->reader, &sink));
        return result == 0 ? 1 : result;
    }
    result = recording_reader_next(source->reader, &event);
    if (result == 1) {
        result = fail_unless(error, source, add_event(source, queue, event));
        return result == 0 ? 1 : result;
    }
    if (result == -EBADMSG)
        return source_fail(error, result, "%s is damaged or truncated at byte %llu of %llu", source->path,
                           (unsigned long long)recording_reader_offset(source->reader),
                           (unsigned long long)source->size_bytes);
    return fail_unless(error, source, result);
}

static int repeat_recording(struct source *base, const struct rip_sink *sink)
{
    return recording_reader_repeat(((struct recording_source *)base)->reader, sink);
}

static void position_of(const struct source *base, uint64_t *ret_bytes, uint64_t *ret_total_bytes)
{
    const struct recording_source *source = (const struct recording_source *)base;

    *ret_bytes = recording_reader_offset(source->reader);
    *ret_total_bytes = source->size_bytes;
}

/* Searching -------------------------------------------------------------------------------------------------------- */

/* Reads from a state on. Returns the number of events up to the last DRAIN before that time. */
static uint64_t count_before(struct recording_source *source, uint64_t wall_ns)
{
    const struct rip_event *event;
    uint64_t count = 0, before = 0;

    while (recording_reader_next(source->reader, &event) == 1 && event->latest_wall_ns < wall_ns) {
        count++;
        if (event->kind == RIP_EVENT_DRAIN)
            before = count;
    }
    return before;
}

static int seek_recording(struct source *base, uint64_t wall_ns, struct source_error *error)
{
    struct recording_source *source = (struct recording_source *)base;
    const struct rip_event *event;
    const uint64_t before_ns = wall_ns != 0 ? wall_ns - 1 : 0; /* a state of exactly wall_ns follows the drain */
    uint64_t count = 0;
    int result = recording_reader_seek(source->reader, before_ns);

    if (result == 0) {
        count = count_before(source, wall_ns);
        result = recording_reader_seek(source->reader, before_ns);
    }
    for (uint64_t i = 0; result == 0 && i < count; i++)
        result = recording_reader_next(source->reader, &event) == 1 ? 0 : -EBADMSG;
    source->repeats = count != 0;
    return fail_unless(error, source, result);
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static void close_recording(struct source *base)
{
    struct recording_source *source = (struct recording_source *)base;

    for (size_t i = 0; i < source->segment_count; i++)
        free(source->segments[i].name);
    if (source->descriptor >= 0)
        close(source->descriptor);
    if (source->directory >= 0)
        close(source->directory);
    recording_reader_free(source->reader);
    free(source->segments);
    free(source->path);
    free(source);
}

static const struct source_kind recording_kind = {
    .read = read_recording,
    .close = close_recording,
    .repeat = repeat_recording,
    .seek = seek_recording,
    .position = position_of,
};

/* Takes ownership of the descriptor. Returns 0 or -errno. */
static int open_input(struct recording_source *source, int descriptor)
{
    struct stat status;

    if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
        source->directory = descriptor;
        return list_segments(source);
    }
    source->descriptor = descriptor;
    source->segments = calloc(1, sizeof(*source->segments));
    if (source->segments == NULL)
        return -ENOMEM;
    add_segment(source, NULL, (uint64_t)status.st_size);
    return 0;
}

static const char *phrase_of(int error)
{
    switch (error) {
    case -EINVAL:
        return "is not a recording";
    case -EPROTONOSUPPORT:
        return "is a recording of another version";
    case -EBADMSG:
        return "is damaged or truncated in its header";
    default:
        return strerror(-error);
    }
}

int source_open_recording(struct source **ret_source, const char *path, int descriptor, struct source_error *error)
{
    struct recording_source *source = calloc(1, sizeof(*source));
    struct recording_input input = {.context = source, .read = read_input};
    int result;

    if (source == NULL) {
        close(descriptor);
        return source_fail(error, -ENOMEM, "%s: out of memory", path);
    }
    *source = (struct recording_source){
        {&recording_kind, RIP_SESSION_RECORDING}, .path = strdup(path), .directory = -1, .descriptor = -1};
    result = open_input(source, descriptor);
    input.size_bytes = source->size_bytes;
    if (result == 0)
        result = source->path != NULL ? recording_reader_new(&source->reader, &input) : -ENOMEM;
    if (result != 0) {
        close_recording(&source->source);
        return source_fail(error, result, "%s %s", path, phrase_of(result));
    }
    *ret_source = &source->source;
    return 0;
}
