/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. Touches files. */
#include "session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/recording.h"

#define SYNC_INTERVAL_NS UINT64_C(1000000000)
#define SEGMENT_DIGITS 10
#define SEGMENT_NAME_BYTES 32u

struct file {
    int descriptor;      /* -1: none */
    uint64_t size_bytes; /* of header and whole frames */
    uint64_t since_ns;   /* monotonic */
    bool unsynced;
    bool name_unsynced; /* its directory entry is not synced */
};

/* A frame in memory. */
struct held_frame {
    struct held_frame *next;
    size_t count;
    bool is_full; /* the frames before it can be dropped */
    unsigned char bytes[];
};

struct output {
    struct rip_recording_options options;
    unsigned char header[OUTPUT_HEADER_BYTES_MAX];
    size_t header_bytes;
    int write_error;     /* of the last write; 0 = none */
    int sync_error;      /* of the last sync; 0 = none */
    bool frame_lost;     /* a frame was lost: only a full one is accepted */
    bool wants_full;     /* the next full frame starts a segment, or a part of memory */
    uint64_t full_bytes; /* of the last full frame */
    uint64_t now_ns;     /* as of output_advance() */
    uint64_t synced_ns;
    int directory;
    struct file file;
    uint32_t last_number; /* highest number of a segment */
    /* Memory. */
    struct held_frame *oldest;
    struct held_frame *newest;
    uint64_t held_bytes;
    uint64_t part_bytes; /* from the last full frame on */
};

static bool has_segments(const struct output *output)
{
    return output->options.segment_bytes != 0 || output->options.segment_ns != 0;
}

/* Files ------------------------------------------------------------------------------------------------------------ */

static int write_at(int descriptor, const unsigned char *bytes, size_t count, uint64_t offset)
{
    while (count != 0) {
        ssize_t written = pwrite(descriptor, bytes, count, (off_t)offset);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        bytes += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
    return 0;
}

/* Appends a frame, and the header before the first one. Writes all of it or, after an error, nothing. */
static int file_append(struct file *file, const struct output *output, const void *bytes, size_t count)
{
    size_t header_bytes = file->size_bytes == 0 ? output->header_bytes : 0;
    int result = write_at(file->descriptor, output->header, header_bytes, 0);

    if (result == 0)
        result = write_at(file->descriptor, bytes, count, file->size_bytes + header_bytes);
    if (result == 0) {
        file->size_bytes += header_bytes + count;
        file->unsynced = true;
    } else if (ftruncate(file->descriptor, (off_t)file->size_bytes) != 0) {
        return -errno; /* the next frame overwrites the partial one */
    }
    return result;
}

static int file_create(struct file *file, int directory, const char *name)
{
    int descriptor = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (descriptor < 0)
        return -errno;
    *file = (struct file){.descriptor = descriptor, .unsynced = true, .name_unsynced = true};
    return 0;
}

static int file_sync(struct file *file, int directory)
{
    if (file->unsynced && fdatasync(file->descriptor) != 0)
        return -errno;
    file->unsynced = false;
    if (file->name_unsynced && fsync(directory) != 0 &&
        errno != EINVAL) /* EINVAL: this file system cannot sync directories */
        return -errno;
    file->name_unsynced = false;
    return 0;
}

static int file_close(struct file *file, int directory)
{
    int result = 0;

    if (file->descriptor >= 0) {
        result = file_sync(file, directory);
        close(file->descriptor);
        file->descriptor = -1;
    }
    return result;
}

/* Opens the directory that contains path. *ret_name is the last component of path. Returns a descriptor or -errno. */
static int open_parent(const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int directory;

    if (parent == NULL)
        return -ENOMEM;
    directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        directory = -errno;
    free(parent);
    *ret_name = slash != NULL ? slash + 1 : path;
    return directory;
}

static int open_file(struct output *output, const char *path)
{
    const char *name;

    output->directory = open_parent(path, &name);
    return output->directory < 0 ? output->directory : file_create(&output->file, output->directory, name);
}

/* Segments --------------------------------------------------------------------------------------------------------- */

/* Returns 0 if this is not the name of a segment. */
static uint32_t segment_number(const char *name)
{
    uint64_t number;

    if (strspn(name, "0123456789") != SEGMENT_DIGITS || strcmp(name + SEGMENT_DIGITS, OUTPUT_SUFFIX) != 0)
        return 0;
    number = strtoull(name, NULL, 10);
    return number < UINT32_MAX ? (uint32_t)number : 0;
}

static int is_segment(const struct dirent *entry)
{
    return segment_number(entry->d_name) != 0;
}

int output_list_segments(int directory, struct dirent ***ret_names)
{
    return scandirat(directory, ".", ret_names, is_segment,
                     alphasort); /* alphabetical is numerical: the numbers have a fixed length */
}

/*
 * Finds the highest number of a segment. Unless kept is 0, removes the oldest segments, those of earlier recordings
 * included, until fewer than kept remain. A failure is returned, so that there are never more segments than requested.
 */
static int list_segments(struct output *output, size_t kept)
{
    struct dirent **names = NULL;
    const int count = output_list_segments(output->directory, &names);
    int result = count < 0 ? -errno : count > (int)OUTPUT_SEGMENTS_MAX ? -E2BIG : 0;

    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;

        if (result == 0 && kept != 0 && (size_t)(count - i) >= kept && unlinkat(output->directory, name, 0) != 0 &&
            errno != ENOENT)
            result = -errno;
        if (segment_number(name) > output->last_number)
            output->last_number = segment_number(name);
        free(names[i]);
    }
    free(names);
    return result;
}

/* The lock on the directory is held until its descriptor is closed. */
static int open_directory(struct output *output, const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -errno;
    output->directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (output->directory < 0)
        return errno == ENOTDIR || errno == ELOOP ? -EEXIST : -errno;
    if (flock(output->directory, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    return list_segments(output, 0);
}

static int begin_segment(struct output *output)
{
    uint32_t number = output->last_number + 1;
    char name[SEGMENT_NAME_BYTES];
    int result = file_close(&output->file, output->directory);

    if (result != 0)
        output->sync_error = result; /* of the previous segment: the new one starts anyway */
    snprintf(name, sizeof(name), "%0*" PRIu32 OUTPUT_SUFFIX, SEGMENT_DIGITS, number);
    result = output->options.segments_kept != 0 ? list_segments(output, output->options.segments_kept) : 0;
    if (result == 0)
        result = file_create(&output->file, output->directory, name);
    if (result != 0)
        return result;
    output->file.since_ns = output->now_ns;
    output->last_number = number;
    return 0;
}

/* Memory ----------------------------------------------------------------------------------------------------------- */

static void drop_first(struct output *output)
{
    struct held_frame *held = output->oldest;

    output->oldest = held->next;
    output->held_bytes -= sizeof(*held) + held->count;
    free(held);
}

/* Drops the frames before the second full one. Returns false, and drops nothing, if there is only one full frame. */
static bool drop_oldest_part(struct output *output)
{
    const struct held_frame *next = output->oldest != NULL ? output->oldest->next : NULL;

    while (next != NULL && !next->is_full)
        next = next->next;
    while (next != NULL && output->oldest != next)
        drop_first(output);
    return next != NULL;
}

static void drop_all(struct output *output)
{
    while (output->oldest != NULL)
        drop_first(output);
    output->newest = NULL;
    output->part_bytes = 0;
}

static int hold_frame(struct output *output, const void *bytes, size_t count, bool full)
{
    size_t size = sizeof(struct held_frame) + count;
    struct held_frame *held;

    if (size > output->options.flight_bytes)
        return -EFBIG;
    while (output->held_bytes + size > output->options.flight_bytes)
        if (!drop_oldest_part(output)) {
            if (!full)
                return -ENOBUFS; /* the next frame will be a full one, and replaces all */
            drop_all(output);
        }
    held = malloc(size);
    if (held == NULL)
        return -ENOMEM;
    *held = (struct held_frame){.count = count, .is_full = full};
    memcpy(held->bytes, bytes, count);
    if (output->newest != NULL)
        output->newest->next = held;
    else
        output->oldest = held;
    output->newest = held;
    output->held_bytes += size;
    output->part_bytes = full ? size : output->part_bytes + size;
    return 0;
}

int output_trigger(const struct output *output, const char *path)
{
    const char *name;
    struct file file = {.descriptor = -1};
    int directory, result, closed;

    if (output->options.flight_bytes == 0)
        return -ENOTSUP;
    if (output->oldest == NULL)
        return -ENODATA;
    directory = open_parent(path, &name);
    if (directory < 0)
        return directory;
    result = file_create(&file, directory, name);
    if (result == 0) {
        for (const struct held_frame *held = output->oldest; held != NULL && result == 0; held = held->next)
            result = file_append(&file, output, held->bytes, held->count);
        closed = file_close(&file, directory);
        result = result != 0 ? result : closed;
    }
    close(directory);
    return result;
}

/* The output ------------------------------------------------------------------------------------------------------- */

static int keep_header(struct output *output, const void *bytes, size_t count)
{
    if (count > sizeof(output->header))
        return -EFBIG;
    memcpy(output->header, bytes, count);
    output->header_bytes = count;
    return 0;
}

static int write_frame(struct output *output, const void *bytes, size_t count, bool full)
{
    int result = 0;

    if (output->options.flight_bytes != 0)
        result = hold_frame(output, bytes, count, full);
    else if (full && has_segments(output) && (output->wants_full || output->file.descriptor < 0))
        result = begin_segment(output);
    if (full && result == 0) {
        output->wants_full = false;
        output->full_bytes = count;
    }
    if (result == 0 && output->options.flight_bytes == 0)
        result = file_append(&output->file, output, bytes, count);
    return result;
}

int output_write(void *context, const void *bytes, size_t count, bool full)
{
    struct output *output = context;

    if (recording_is_one(bytes, count))
        return keep_header(output, bytes, count);
    if (!full && (output->frame_lost || output->full_bytes == 0))
        return output_error(output) != 0 ? output_error(output) : -EIO;
    output->write_error = write_frame(output, bytes, count, full);
    output->frame_lost = output->write_error != 0;
    return output->write_error;
}

/*
 * Returns whether the segment or the part of memory is complete. A size limit applies only from twice the size of the
 * full frame on: with a lower limit, nothing but full frames would be written.
 */
static bool is_part_complete(const struct output *output)
{
    const struct rip_recording_options *options = &output->options;
    const struct file *file = &output->file;

    if (options->flight_bytes != 0)
        return output->part_bytes >= options->flight_bytes / OUTPUT_FLIGHT_CHUNKS &&
               output->part_bytes >= 2 * output->full_bytes;
    if (options->segment_bytes != 0 && file->size_bytes >= options->segment_bytes &&
        file->size_bytes >= 2 * output->full_bytes)
        return true;
    return options->segment_ns != 0 && file->size_bytes != 0 && output->now_ns - file->since_ns >= options->segment_ns;
}

bool output_advance(struct output *output, uint64_t now_mono_ns)
{
    bool wants_full = false;

    output->now_ns = now_mono_ns;
    if (output->file.descriptor >= 0 && now_mono_ns - output->synced_ns >= output->options.sync_interval_ns) {
        output->synced_ns = now_mono_ns;
        output->sync_error = file_sync(&output->file, output->directory);
        /* After an error the kernel may have dropped pages, and it is unknown which data are on the disk. */
        wants_full = output->sync_error != 0;
    }
    wants_full = !output->wants_full && (wants_full || is_part_complete(output));
    output->wants_full = output->wants_full || wants_full;
    return wants_full;
}

int output_error(const struct output *output)
{
    return output->write_error != 0 ? output->write_error : output->sync_error;
}

static bool options_agree(const struct rip_recording_options *options)
{
    bool segments = options->segment_bytes != 0 || options->segment_ns != 0;

    return !(segments && options->flight_bytes != 0) && (segments || options->segments_kept == 0);
}

int output_open(struct output **ret_output, const char *path, const struct rip_recording_options *options)
{
    struct output *output;
    int result = 0;

    if (!options_agree(options))
        return -EINVAL;
    output = calloc(1, sizeof(*output));
    if (output == NULL)
        return -ENOMEM;
    output->options = *options;
    if (output->options.sync_interval_ns == 0)
        output->options.sync_interval_ns = SYNC_INTERVAL_NS;
    output->directory = output->file.descriptor = -1;
    if (options->flight_bytes == 0)
        result = has_segments(output) ? open_directory(output, path) : open_file(output, path);
    if (result != 0) {
        output_close(output);
        return result;
    }
    *ret_output = output;
    return 0;
}

int output_close(struct output *output)
{
    int result = 0, closed;

    if (output->file.descriptor >= 0 && output->file.size_bytes == 0) /* a recording without frames has a header, too */
        result = file_append(&output->file, output, NULL, 0);
    closed = file_close(&output->file, output->directory);
    if (output->directory >= 0)
        close(output->directory);
    drop_all(output);
    free(output);
    return result != 0 ? result : closed;
}
