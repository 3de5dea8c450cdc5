/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_session.c - a session on any file: a ring, a capture, a recording, or another file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "rip/session.h"
#include "session/capture_file.h"
#include "session/recording.h"
#include "support/ring_builder.h"

/* Reads all data that the event points to. Returns a sum. */
static uint64_t read_event(const struct rip_event *event)
{
    const struct rip_event_snap *snap = &event->as.snap;
    uint64_t sum = 0;

    switch (event->kind) {
    case RIP_EVENT_RING:
        for (size_t i = 0; i < event->as.ring_begin.name.count; i++)
            sum += (unsigned char)event->as.ring_begin.name.bytes[i];
        break;
    case RIP_EVENT_PROCESS:
        sum += event->as.process_begin->pid;
        break;
    case RIP_EVENT_MODULE:
        sum += event->as.module.info->path[0];
        break;
    case RIP_EVENT_SCRIPT:
        require(event->as.script->file_bytes <= RIP_SCRIPT_FILE_BYTES);
        sum += event->as.script->file[0];
        break;
    case RIP_EVENT_REGISTER:
    case RIP_EVENT_STATE:
        sum += event->as.state.info->name[0];
        break;
    case RIP_EVENT_SNAP:
        require(snap->made_count == snap->entry_count + snap->overwritten_count);
        for (uint32_t i = 0; i < snap->entry_count; i++)
            sum += snap->entries[i].address;
        break;
    case RIP_EVENT_NOTE:
        sum += event->as.note->text[0];
        break;
    case RIP_EVENT_STALL_BEGIN:
    case RIP_EVENT_STALL_END:
        sum += event->as.stall.json.count;
        break;
    default:
        break;
    }
    return sum;
}

static void read_session(struct rip_session *session)
{
    const struct rip_event *event;
    uint64_t number = 0, sum = 0;
    int result;

    while ((result = rip_session_next(session, &event)) == 1) {
        require(event->number == ++number);
        sum += read_event(event);
    }
    require(result == 0 || rip_session_error(session)[0] != '\0');
    require(sum != UINT64_MAX || number != 0); /* so that the compiler does not remove the reads */
    if (rip_session_seek(session, sum) == 0)
        require(rip_session_run(session, NULL) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    const struct rip_session_options options = {.size_bytes = sizeof(options), .once = true};
    int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    struct rip_session *session;
    char path[64], *error = NULL;

    if (descriptor < 0 || write(descriptor, bytes, size_bytes) != (ssize_t)size_bytes) {
        close(descriptor);
        return 0;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    if (rip_session_open(&session, path, &options, &error) == 0) {
        read_session(session);
        rip_session_close(session);
    } else {
        require(error != NULL && error[0] != '\0');
        free(error);
    }
    close(descriptor);
    return 0;
}

struct target {
    uint8_t *bytes;
    size_t count, capacity;
};

static int write_target(void *context, const void *bytes, size_t count, bool full)
{
    struct target *target = context;

    (void)full;
    if (count > target->capacity - target->count)
        return -ENOSPC;
    memcpy(target->bytes + target->count, bytes, count);
    target->count += count;
    return 0;
}

static size_t make_recording(uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const struct rip_id_info info = {.slot = 1, .generation = 2, .id = 7, .name_bytes = 4, .name = "seed"};
    static const struct rip_entry entry = {.snap = 1, .address = 4096};
    const struct rip_event events[] = {
        {.kind = RIP_EVENT_RING, .ring = 1, .as.ring_begin = {.name = {"ring", 4}, .directory = {"/run", 4}}},
        {.kind = RIP_EVENT_REGISTER, .ring = 1, .slot = 1, .generation = 2, .id = 7, .as.id_begin = {&info, true}},
        {.kind = RIP_EVENT_SNAP,
         .ring = 1,
         .slot = 1,
         .generation = 2,
         .id = 7,
         .as.snap = {.progress = 1, .made_count = 1, .entry_count = 1, .entries = &entry}},
        {.kind = RIP_EVENT_DRAIN, .as.drain = {.sequence = 1, .wall_ns = 1, .mono_ns = 1}},
    };
    struct target target = {.bytes = ret_bytes, .capacity = capacity_bytes};
    const struct recording_output output = {&target, write_target};
    struct recording_writer *writer;

    if (recording_writer_new(&writer, &output, 1) != 0)
        return 0;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        recording_writer_take(writer, &events[i]);
    recording_writer_attach(writer, "seed", "data", 4);
    recording_writer_flush(writer);
    recording_writer_free(writer);
    return target.count;
}

static size_t make_capture(const struct ring_builder *builder, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static char document[] = "{\"end\":{\"how\":\"killed\",\"signal_number\":9},\"stalls\":[{\"id\":1}]}";
    const struct capture capture = {document, sizeof(document) - 1, builder->bytes, builder->size_bytes};
    void *bytes;
    size_t count;

    if (capture_pack(&capture, &bytes, &count) != 0)
        return 0;
    count = count <= capacity_bytes ? count : 0;
    memcpy(ret_bytes, bytes, count);
    free(bytes);
    return count;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    struct ring_builder builder;
    size_t size_bytes = 0;

    if (number == 0)
        return make_recording(ret_bytes, capacity_bytes);
    if (number > 2)
        return 0;
    ring_builder_new_sample(&builder);
    if (number == 1)
        size_bytes = make_capture(&builder, ret_bytes, capacity_bytes);
    else if (builder.size_bytes <= capacity_bytes)
        size_bytes = builder.size_bytes;
    if (number == 2)
        memcpy(ret_bytes, builder.bytes, size_bytes);
    ring_builder_free(&builder);
    return size_bytes;
}
