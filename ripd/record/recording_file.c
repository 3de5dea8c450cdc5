/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_file.c - a queue of frames between the scanner and the thread that writes. Touches the directory.
 *
 * The lock is held for moments only, never while a file is touched.
 */
#include "record/recording_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "session/output.h"

#define SECOND_NS UINT64_C(1000000000)
#define SYNC_NS SECOND_NS

struct frame {
    struct frame *next;
    size_t count;
    bool full;
    unsigned char bytes[];
};

struct recording_file {
    struct output *output; /* the thread's */
    pthread_t thread;
    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t changed;
    struct frame *first;
    struct frame **last;
    size_t bytes;
    struct recording_file_state state;
    bool wants_full;
    bool stopping;
    bool stopped;
};

static struct timespec time_in(uint64_t ns)
{
    const uint64_t until_ns = clock_wall_ns() + ns;

    return clock_timespec(until_ns);
}

/* The lock is held. */
static struct frame *take_frame(struct recording_file *file)
{
    struct frame *frame = file->first;

    if (frame == NULL)
        return NULL;
    file->first = frame->next;
    if (file->first == NULL)
        file->last = &file->first;
    file->bytes -= frame->count;
    return frame;
}

/* The lock is held, and let go meanwhile. frame may be NULL: only what is due is synced. */
static void write_frame(struct recording_file *file, struct frame *frame)
{
    int result = 0, error;
    bool turns;

    pthread_mutex_unlock(&file->mutex);
    if (frame != NULL)
        result = output_write(file->output, frame->bytes, frame->count, frame->full);
    turns = output_advance(file->output, clock_mono_ns());
    error = output_error(file->output);
    pthread_mutex_lock(&file->mutex);
    file->wants_full |= turns || result != 0;
    file->state.error = result != 0 ? result : error;
    file->state.lost_count += result != 0;
    file->state.written_bytes += frame != NULL && result == 0 ? frame->count : 0;
    free(frame);
}

static void *run(void *context)
{
    struct recording_file *file = context;
    struct timespec until;

    pthread_mutex_lock(&file->mutex);
    while (!file->stopping || file->first != NULL) {
        if (file->first == NULL) {
            until = time_in(SYNC_NS);
            (void)pthread_cond_timedwait(&file->changed, &file->mutex, &until);
        }
        write_frame(file, take_frame(file));
    }
    pthread_mutex_unlock(&file->mutex);
    (void)output_close(file->output);
    pthread_mutex_lock(&file->mutex);
    file->stopped = true;
    pthread_cond_broadcast(&file->changed);
    pthread_mutex_unlock(&file->mutex);
    return NULL;
}

int recording_file_write(void *context, const void *bytes, size_t count, bool full)
{
    struct recording_file *file = context;
    struct frame *frame = malloc(sizeof(*frame) + count);
    bool has_room;

    if (frame != NULL) {
        *frame = (struct frame){.count = count, .full = full};
        memcpy(frame->bytes, bytes, count);
    }
    pthread_mutex_lock(&file->mutex);
    has_room = frame != NULL && count <= RECORDING_QUEUE_BYTES - file->bytes;
    if (has_room) {
        file->bytes += count;
        *file->last = frame;
        file->last = &frame->next;
        pthread_cond_broadcast(&file->changed);
    } else {
        file->state.lost_count++;
        file->wants_full = true;
    }
    pthread_mutex_unlock(&file->mutex);
    if (has_room)
        return 0;
    free(frame);
    return frame != NULL ? -ENOBUFS : -ENOMEM;
}

bool recording_file_wants_full(struct recording_file *file)
{
    bool wants_full;

    pthread_mutex_lock(&file->mutex);
    wants_full = file->wants_full;
    file->wants_full = false;
    pthread_mutex_unlock(&file->mutex);
    return wants_full;
}

void recording_file_state(struct recording_file *file, struct recording_file_state *ret_state)
{
    pthread_mutex_lock(&file->mutex);
    *ret_state = file->state;
    pthread_mutex_unlock(&file->mutex);
}

int recording_file_open(struct recording_file **ret_file, const char *directory)
{
    const struct rip_recording_options options = {.size_bytes = sizeof(options),
                                                  .segment_bytes = RECORDING_SEGMENT_BYTES,
                                                  .segments_kept = RECORDING_SEGMENTS_KEPT};
    struct recording_file *file = calloc(1, sizeof(*file));
    int result = file != NULL ? output_open(&file->output, directory, &options) : -ENOMEM;

    if (result != 0) {
        free(file);
        return result;
    }
    file->last = &file->first;
    pthread_mutex_init(&file->mutex, NULL);
    pthread_cond_init(&file->changed, NULL);
    result = -pthread_create(&file->thread, NULL, run, file);
    if (result != 0) {
        (void)output_close(file->output);
        free(file);
        return result;
    }
    *ret_file = file;
    return 0;
}

void recording_file_close(struct recording_file *file)
{
    const struct timespec until = time_in(RECORDING_CLOSE_NS);
    bool stopped;
    int error = 0;

    if (file == NULL)
        return;
    pthread_mutex_lock(&file->mutex);
    file->stopping = true;
    pthread_cond_broadcast(&file->changed);
    while (!file->stopped && error == 0)
        error = pthread_cond_timedwait(&file->changed, &file->mutex, &until);
    stopped = file->stopped;
    pthread_mutex_unlock(&file->mutex);
    if (!stopped)
        return; /* the disk hangs: the thread keeps what it uses, and goes with the process */
    pthread_join(file->thread, NULL);
    pthread_cond_destroy(&file->changed);
    pthread_mutex_destroy(&file->mutex);
    free(file);
}
