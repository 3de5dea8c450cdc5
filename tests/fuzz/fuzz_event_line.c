/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_event_line.c - any bytes as the event history: accepted lines are complete, and have the same meaning when
 * written again.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "record/event_load.h"
#include "view/document_event.h"

/* An accepted line stays the same when it is written again. */
static void check_line(const char *text, size_t length)
{
    struct event_line line, again;
    size_t once_bytes, twice_bytes;
    char *once, *twice;

    if (event_line_parse(text, length, &line) != 0)
        return;
    require(event_line_format(&line, 1, &once, &once_bytes) == 0 && once[once_bytes - 1] == '\n');
    require(event_line_parse(once, once_bytes - 1, &again) == 0 && again.kind == line.kind);
    require(event_line_format(&again, 1, &twice, &twice_bytes) == 0);
    require(once_bytes == twice_bytes && memcmp(once, twice, once_bytes) == 0);
    if (line.event != NULL && line.event->kind == EVENT_BEGIN) {
        struct event *end = event_make();

        require(end != NULL && line.event->subject_at < line.event->text_bytes);
        end->kind = EVENT_END;
        require(document_event_end(end, line.event) == 0);
        event_unref(end);
    }
    event_unref(line.event);
    event_unref(again.event);
    free(once);
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    const char *at = (const char *)bytes, *end = at + size_bytes;
    struct event_load load = {0};

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop != NULL ? stop : end) - at);

        check_line(at, length);
        require(event_load_line(&load, at, length) == 0);
        at += length + 1;
    }
    for (size_t i = 0; i + 1 < load.event_count; i++)
        require(load.events[i]->sequence < load.events[i + 1]->sequence);
    for (size_t i = 0; i + 1 < load.open.count; i++)
        require(load.open.episodes[i].subject.episode < load.open.episodes[i + 1].subject.episode);
    if (load.event_count != 0)
        require(load.sequence >= load.events[load.event_count - 1]->sequence);
    event_load_done(&load);
    return 0;
}

#define SUBJECT                                                                                                        \
    ",\"subject\":{\"episode\":1,\"boot_id\":\"000102030405060708090a0b0c0d0e0f\","                                    \
    "\"ring_id\":\"101112131415161718191a1b1c1d1e1f\",\"directory\":\"1b:2a\",\"slot\":0,\"generation\":2,"            \
    "\"began_mono_ns\":5,\"stalls\":1,\"progress\":\"8\",\"frozen_mono_ns\":5,\"moved_after_mono_ns\":null}}"
#define WHO                                                                                                            \
    "\"ring\":\"app\",\"id\":1,\"tid\":9,\"name\":\"a\",\"note\":null,\"process\":{\"pid\":8},\"snaps\":8,"            \
    "\"location\":{\"module\":\"m\",\"offset\":\"0x12\"}}"
#define BEGIN                                                                                                          \
    "{\"sequence\":1,\"kind\":\"begin\",\"at\":\"2026-11-20T14:15:11.902Z\",\"episode\":1,\"cause\":null,"             \
    "\"since\":\"2026-11-20T14:15:10.902Z\",\"frozen_for_ms\":1000,\"frozen_for_max_ms\":null,\"threshold_ms\":9," WHO
#define END                                                                                                            \
    "{\"sequence\":2,\"kind\":\"end\",\"at\":null,\"episode\":1,\"reason\":\"moved\",\"lasted_ms\":1,"                 \
    "\"lasted_max_ms\":null,\"stalls\":1,\"cause\":\"blocked\",\"since\":null,\"threshold_ms\":null," WHO

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "{\"history\":{\"schema\":\"ripd/history/1\",\"epoch\":\"62389bd213b4a249\",\"sequence\":0,\"episode\":0}}\n"
        "{\"event\":" BEGIN SUBJECT "\n{\"event\":" END "}\n",
        "{\"carried\":" BEGIN SUBJECT "\n",
        "{\"subject\":{\"episode\":1,\"boot_id\":\"000102030405060708090a0b0c0d0e0f\","
        "\"ring_id\":\"101112131415161718191a1b1c1d1e1f\",\"directory\":\"1b:2a\",\"slot\":0,\"generation\":2,"
        "\"began_mono_ns\":5,\"stalls\":1,\"progress\":\"8\",\"frozen_mono_ns\":5,\"moved_after_mono_ns\":7}}\n",
        "{\"event\":{\"name_hex\":\"ff00\",\"name\":\"\",\"ring\":null}}",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
