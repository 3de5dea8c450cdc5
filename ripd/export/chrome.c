/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.c - the Trace Event Format: a track for each id, with a slice for each location at which it stayed, from the
 * drain that found it there to the drain that found it elsewhere. The instant event "trail" has the entries before it.
 * A stall is a slice of a second track, beginning when the id stopped moving. Pure.
 *
 * The format: "Trace Event Format" of the Chromium project. Times are microseconds since the first event.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/known.h"
#include "util/array.h"
#include "util/rfc3339.h"
#include "view/json_writer.h"

#define STALL_TRACK UINT64_C(1000000000) /* above the numbers of ids */
#define TRAIL_SHOWN 8u
#define HEAD "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"

struct open_stall {
    uint64_t episode;
    uint64_t since_wall_ns;
    uint64_t pid;
    uint64_t track;
    json_t *document; /* owned reference */
};

struct chrome {
    struct exporter base;
    uint64_t base_wall_ns; /* 0 = no event yet */
    bool begun;            /* a record has been written */
    struct open_stall *stalls;
    size_t stall_count;
    size_t stall_capacity;
};

static void chrome_done(struct exporter *exporter)
{
    struct chrome *chrome = (struct chrome *)exporter;

    for (size_t i = 0; i < chrome->stall_count; i++)
        json_decref(chrome->stalls[i].document);
    free(chrome->stalls);
}

/* Records ---------------------------------------------------------------------------------------------------------- */

static void write_text(struct chrome *chrome, const char *text)
{
    export_write(&chrome->base, text, strlen(text));
}

/* Closes the object, and writes it as a line. */
static void write_record(struct chrome *chrome, struct json_writer *writer)
{
    size_t length;
    char *text;

    json_close(writer);
    if (json_finish(writer, &text, &length) != 0) {
        export_fail(&chrome->base);
        return;
    }
    write_text(chrome, chrome->begun ? ",\n" : HEAD);
    chrome->begun = true;
    export_write(&chrome->base, text, length);
    free(text);
}

static void write_us(struct json_writer *writer, const char *key, uint64_t ns)
{
    char number[32];
    int length = snprintf(number, sizeof(number), "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);

    json_raw(writer, key, number, (size_t)length);
}

static void begin_record(struct json_writer *writer, const char *name, const char *phase, uint64_t pid, uint64_t track)
{
    json_init(writer);
    json_open(writer, NULL, '{');
    json_text(writer, "name", name);
    json_text(writer, "ph", phase);
    json_uint(writer, "pid", pid);
    json_uint(writer, "tid", track);
}

static uint64_t since_base(const struct chrome *chrome, uint64_t wall_ns)
{
    return wall_ns > chrome->base_wall_ns ? wall_ns - chrome->base_wall_ns : 0;
}

static void write_span(struct chrome *chrome, struct json_writer *writer, const char *category, uint64_t from_wall_ns,
                       uint64_t to_wall_ns)
{
    uint64_t from_ns = since_base(chrome, from_wall_ns), to_ns = since_base(chrome, to_wall_ns);

    json_text(writer, "cat", category);
    write_us(writer, "ts", from_ns);
    write_us(writer, "dur", to_ns > from_ns ? to_ns - from_ns : 0);
}

static void write_track_name(struct chrome *chrome, const char *kind, uint64_t pid, uint64_t track, const char *name)
{
    struct json_writer writer;

    begin_record(&writer, kind, "M", pid, track);
    json_open(&writer, "args", '{');
    json_text(&writer, "name", name);
    json_close(&writer);
    write_record(chrome, &writer);
}

/* Ids -------------------------------------------------------------------------------------------------------------- */

static uint64_t pid_of(const struct process_facts *process)
{
    return process != NULL ? process->pid : 0;
}

/* Writes the entries before the current location, and the note. */
static void write_trail(struct chrome *chrome, const struct known_id *known)
{
    const struct replay_id *id = known->id;
    char text[KNOWN_TEXT_BYTES];
    struct json_writer writer;

    if (id->entry_count < 2 && id->note.text_bytes == 0)
        return;
    begin_record(&writer, "trail", "i", pid_of(known->process), id->serial);
    json_text(&writer, "s", "t");
    write_us(&writer, "ts", since_base(chrome, id->since_wall_ns));
    json_open(&writer, "args", '{');
    known_clean(id->note.text, id->note.text_bytes, text);
    json_text(&writer, "note", id->note.text_bytes != 0 ? text : NULL);
    json_open(&writer, "trail", '[');
    for (uint32_t i = 0; i < id->entry_count && i < TRAIL_SHOWN; i++) {
        known_place_text(&chrome->base, known->process, id->entries[i].address, text);
        json_text(&writer, NULL, text);
    }
    json_close(&writer);
    json_close(&writer);
    write_record(chrome, &writer);
}

/* Writes a slice for what the id did since its trail last changed, until to_wall_ns. */
static void write_slice(struct chrome *chrome, const struct known_id *known, uint64_t to_wall_ns)
{
    const struct replay_id *id = known->id;
    const bool idle = known->sample->idle != 0;
    char place[KNOWN_TEXT_BYTES];
    struct json_writer writer;

    if (to_wall_ns <= id->since_wall_ns)
        return;
    if (id->entry_count != 0)
        known_place_text(&chrome->base, known->process, id->entries[0].address, place);
    begin_record(&writer,
                 idle                   ? "(idle)"
                 : id->entry_count != 0 ? place
                                        : "(no breadcrumb yet)",
                 "X", pid_of(known->process), id->serial);
    write_span(chrome, &writer, idle ? "idle" : "place", id->since_wall_ns, to_wall_ns);
    write_record(chrome, &writer);
    write_trail(chrome, known);
}

static void write_ring(struct chrome *chrome, struct replay_ring *ring, uint64_t to_wall_ns)
{
    replay_ring_settle(ring);
    for (size_t i = 0; i < ring->count; i++) {
        const struct known_id known = known_at(ring, i);

        write_slice(chrome, &known, to_wall_ns);
    }
}

static void name_id(struct chrome *chrome, const struct known_id *known)
{
    char name[KNOWN_TEXT_BYTES];

    known_name(known, name);
    write_track_name(chrome, "thread_name", pid_of(known->process), known->id->serial, name);
}

static void name_process(struct chrome *chrome, const struct known_id *known)
{
    const struct process_facts *process = known->process;
    char comm[KNOWN_TEXT_BYTES], ring[KNOWN_TEXT_BYTES], name[320];

    if (process == NULL)
        return;
    known_clean(process->comm, strlen(process->comm), comm);
    known_clean(known->ring->name, strlen(known->ring->name), ring);
    snprintf(name, sizeof(name), "%.100s (ring %.200s)", comm, ring);
    write_track_name(chrome, "process_name", process->pid, 0, name);
}

/* Stalls ----------------------------------------------------------------------------------------------------------- */

static uint64_t number_of(const json_t *document, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(document, key));
}

static const char *text_of(const json_t *document, const char *key)
{
    const char *text = json_string_value(json_object_get(document, key));

    return text != NULL ? text : "";
}

static void write_stall(struct chrome *chrome, const struct open_stall *stall, uint64_t to_wall_ns)
{
    struct json_writer writer;
    char category[64];

    snprintf(category, sizeof(category), "stall,%s", text_of(stall->document, "cause"));
    begin_record(&writer, text_of(stall->document, "summary"), "X", stall->pid, stall->track);
    write_span(chrome, &writer, category, stall->since_wall_ns, to_wall_ns);
    write_record(chrome, &writer);
}

static uint64_t time_of(const json_t *document, const char *key, uint64_t otherwise)
{
    const char *text = json_string_value(json_object_get(document, key));
    uint64_t wall_ns;

    return text != NULL && rfc3339_parse(text, &wall_ns) == 0 ? wall_ns : otherwise;
}

/* Places the stall on a track next to that of its id. Stalls of unknown ids share a track. */
static void place_stall(struct chrome *chrome, struct open_stall *stall, const struct known_id *known)
{
    char id[KNOWN_TEXT_BYTES] = "others", name[256];

    if (known->id != NULL)
        known_name(known, id);
    stall->track = STALL_TRACK + (known->id != NULL ? known->id->serial : 0);
    stall->pid = known->id != NULL ? pid_of(known->process) : 0;
    snprintf(name, sizeof(name), "stalls of %.200s", id);
    write_track_name(chrome, "thread_name", stall->pid, stall->track, name);
}

static void begin_stall(struct chrome *chrome, json_t *document, const struct rip_event *event)
{
    const struct known_id known = known_find(&chrome->base, event);
    struct open_stall *stall;

    if (!ARRAY_GROW(chrome->stalls, chrome->stall_count, chrome->stall_capacity)) {
        export_fail(&chrome->base);
        return;
    }
    stall = &chrome->stalls[chrome->stall_count++];
    *stall = (struct open_stall){.episode = number_of(document, "episode"),
                                 .since_wall_ns = time_of(document, "since", event->latest_wall_ns),
                                 .document = json_incref(document)};
    place_stall(chrome, stall, &known);
}

static void end_stall(struct chrome *chrome, const json_t *document, uint64_t wall_ns)
{
    uint64_t episode = number_of(document, "episode");

    for (size_t i = 0; i < chrome->stall_count; i++)
        if (chrome->stalls[i].episode == episode) {
            write_stall(chrome, &chrome->stalls[i], time_of(document, "at", wall_ns));
            json_decref(chrome->stalls[i].document);
            chrome->stalls[i] = chrome->stalls[--chrome->stall_count];
            return;
        } /* otherwise its begin is not part of the export */
}

/* Ignores invalid JSON, because the source is not trusted. */
static void take_stall(struct chrome *chrome, const struct rip_event *event)
{
    json_t *document = json_loadb(event->as.stall.json.bytes, event->as.stall.json.count,
                                  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

    if (json_is_object(document) && event->kind == RIP_EVENT_STALL_BEGIN)
        begin_stall(chrome, document, event);
    else if (json_is_object(document))
        end_stall(chrome, document, event->latest_wall_ns);
    json_decref(document);
}

/* Events ----------------------------------------------------------------------------------------------------------- */

/* An event that changes an id ends the slice before it. */
static void chrome_before(struct exporter *exporter, const struct rip_event *event)
{
    struct chrome *chrome = (struct chrome *)exporter;
    const struct known_id known = known_find(exporter, event);
    const bool changes =
        event->kind == RIP_EVENT_SNAP || event->kind == RIP_EVENT_EXIT || event->kind == RIP_EVENT_STATE;

    if (chrome->base_wall_ns == 0)
        chrome->base_wall_ns = event->latest_wall_ns;
    if (event->kind == RIP_EVENT_RING_END && known.ring != NULL)
        write_ring(chrome, known.ring, event->latest_wall_ns);
    if (known.id == NULL || !changes ||
        (event->kind == RIP_EVENT_STATE && (known.sample->idle != 0) == (event->as.state.info->idle != 0)))
        return;
    write_slice(chrome, &known, event->latest_wall_ns);
}

static void chrome_after(struct exporter *exporter, const struct rip_event *event)
{
    struct chrome *chrome = (struct chrome *)exporter;
    const struct known_id known = known_find(exporter, event);

    if (event->kind == RIP_EVENT_PROCESS)
        name_process(chrome, &known);
    else if ((event->kind == RIP_EVENT_REGISTER || event->kind == RIP_EVENT_STATE) && known.id != NULL)
        name_id(chrome, &known);
    else if (event->kind == RIP_EVENT_STALL_BEGIN || event->kind == RIP_EVENT_STALL_END)
        take_stall(chrome, event);
}

static void chrome_finish(struct exporter *exporter)
{
    struct chrome *chrome = (struct chrome *)exporter;
    const uint64_t end_wall_ns = exporter->wall_ns + 1000; /* so that what the last drain found is visible */

    for (size_t i = 0; i < exporter->ids.count; i++)
        write_ring(chrome, exporter->ids.rings[i], end_wall_ns);
    for (size_t i = 0; i < chrome->stall_count; i++)
        write_stall(chrome, &chrome->stalls[i], end_wall_ns);
    write_text(chrome, chrome->begun ? "\n]}\n" : HEAD "\n]}\n");
}

const struct export_format export_chrome = {sizeof(struct chrome), chrome_before, chrome_after, chrome_finish,
                                            chrome_done};
