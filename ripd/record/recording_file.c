/* SPDX-License-Identifier: Apache-2.0 */
/* recording_file.c - frames, written as jobs of a writer. Touches the directory. */
#include "record/recording_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "record/writer.h"
#include "session/output.h"

#define SYNC_NS UINT64_C(1000000000)

struct frame {
    struct writer_job job;
    bool full;
    unsigned char bytes[];
};

struct recording_file {
    struct output *output; /* used by the thread only */
    struct writer writer;
    struct recording_file_state state; /* state and wants_full are protected by the writer's mutex */
    bool wants_full;
};

/* With frame NULL, only syncs if a sync is due. */
static bool write_frame(void *context, struct writer_job *job)
{
    struct recording_file *file = context;
    struct frame *frame = (struct frame *)(void *)job;
    int result = frame != NULL ? output_write(file->output, frame->bytes, job->bytes, frame->full) : 0, error;
    bool turns = output_advance(file->output, clock_mono_ns());

    error = output_error(file->output);
    pthread_mutex_lock(&file->writer.mutex);
    file->wants_full |= turns || result != 0;
    file->state.error = result != 0 ? result : error;
    file->state.lost_count += result != 0;
    file->state.written_bytes += frame != NULL && result == 0 ? job->bytes : 0;
    pthread_mutex_unlock(&file->writer.mutex);
    free(frame);
    return job != NULL;
}

static void end(void *context)
{
    (void)output_close(((struct recording_file *)context)->output);
}

int recording_file_write(void *context, const void *bytes, size_t count, bool full)
{
    struct recording_file *file = context;
    struct frame *frame = malloc(sizeof(*frame) + count);
    bool added;

    if (frame != NULL) {
        *frame = (struct frame){.job.bytes = count, .full = full};
        memcpy(frame->bytes, bytes, count);
    }
    pthread_mutex_lock(&file->writer.mutex);
    added = frame != NULL && writer_add(&file->writer, &frame->job);
    file->state.lost_count += !added;
    file->wants_full |= !added;
    pthread_mutex_unlock(&file->writer.mutex);
    if (added)
        return 0;
    free(frame);
    return -ENOBUFS;
}

bool recording_file_wants_full(struct recording_file *file)
{
    bool wants_full;

    pthread_mutex_lock(&file->writer.mutex);
    wants_full = file->wants_full;
    file->wants_full = false;
    pthread_mutex_unlock(&file->writer.mutex);
    return wants_full;
}

void recording_file_state(struct recording_file *file, struct recording_file_state *ret_state)
{
    pthread_mutex_lock(&file->writer.mutex);
    *ret_state = file->state;
    pthread_mutex_unlock(&file->writer.mutex);
}

int recording_file_open(struct recording_file **ret_file, const char *directory)
{
    const struct rip_recording_options options = {.size_bytes = sizeof(options),
                                                  .segment_bytes = RECORDING_SEGMENT_BYTES,
                                                  .segments_kept = RECORDING_SEGMENTS_KEPT};
    struct recording_file *file = calloc(1, sizeof(*file));
    const struct writer_options work = {
        .context = file, .bytes_max = RECORDING_QUEUE_BYTES, .rest_ns = SYNC_NS, .write = write_frame, .end = end};
    int result = file != NULL ? output_open(&file->output, directory, &options) : -ENOMEM;

    if (result == 0) {
        result = writer_open(&file->writer, &work);
        if (result != 0)
            (void)output_close(file->output);
    }
    if (result == 0)
        *ret_file = file;
    else
        free(file);
    return result;
}

void recording_file_close(struct recording_file *file)
{
    if (file != NULL && writer_close(&file->writer, RECORDING_CLOSE_NS))
        free(file);
}
