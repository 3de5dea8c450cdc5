/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - functions that all formats share: see export.h and known.h. Pure. */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/known.h"
#include "view/json_writer.h"

struct exporter *export_new(const struct export_format *format, const struct export_caller *caller)
{
    struct exporter *exporter = calloc(1, format->bytes);

    if (exporter != NULL)
        *exporter = (struct exporter){.format = format, .caller = *caller, .ids.entries_max = RIP_ENTRY_COUNT};
    return exporter;
}

void export_free(struct exporter *exporter)
{
    if (exporter == NULL)
        return;
    exporter->format->done(exporter);
    replay_ids_done(&exporter->ids);
    free(exporter);
}

int export_take(struct exporter *exporter, const struct rip_event *event)
{
    if (exporter->format->before != NULL)
        exporter->format->before(exporter, event);
    if (event->latest_wall_ns > exporter->wall_ns)
        exporter->wall_ns = event->latest_wall_ns;
    if (replay_ids_take(&exporter->ids, event) != 0)
        export_fail(exporter);
    if (exporter->format->after != NULL)
        exporter->format->after(exporter, event);
    return exporter->error;
}

int export_finish(struct exporter *exporter)
{
    exporter->format->finish(exporter);
    return exporter->error;
}

void export_write(struct exporter *exporter, const void *bytes, size_t count)
{
    if (exporter->error == 0)
        exporter->error = exporter->caller.write(exporter->caller.context, bytes, count);
}

void export_fail(struct exporter *exporter)
{
    if (exporter->error == 0)
        exporter->error = -ENOMEM;
}

struct known_id known_at(struct replay_ring *ring, size_t index)
{
    const struct rip_sample *sample = &ring->samples[index];

    return (struct known_id){ring, ring->ids[index], sample, replay_ring_process(ring, sample->process)};
}

struct known_id known_find(const struct exporter *exporter, const struct rip_event *event)
{
    struct replay_ring *ring = replay_ids_ring(&exporter->ids, event->ring);
    size_t index;

    if (ring == NULL)
        return (struct known_id){.ring = NULL};
    index = replay_ring_find(ring, event->slot, event->generation);
    if (index < ring->count)
        return known_at(ring, index);
    return (struct known_id){.ring = ring, .process = replay_ring_process(ring, event->process)};
}

void known_name(const struct known_id *id, char ret_text[KNOWN_TEXT_BYTES])
{
    known_clean(id->id->info.name, id->id->info.name_bytes, ret_text);
    if (ret_text[0] == '\0')
        snprintf(ret_text, KNOWN_TEXT_BYTES, "id %" PRIu32, id->id->info.id);
}

struct known_place known_place(const struct exporter *exporter, const struct process_facts *process, uint64_t address)
{
    struct module_facts *module = process != NULL ? process_facts_module(process, address) : NULL;
    struct known_place place = {.module = module};

    if (module == NULL)
        return place;
    place.offset = address - module->bias;
    if (exporter->caller.name_place != NULL && !module->is_scripts)
        exporter->caller.name_place(exporter->caller.context, module, place.offset);
    place.frame = module_place(module, place.offset);
    return place;
}

void known_place_text(const struct exporter *exporter, const struct process_facts *process, uint64_t address,
                      char ret_text[KNOWN_TEXT_BYTES])
{
    const struct known_place place = known_place(exporter, process, address);
    const char *slash = place.frame.file != NULL ? strrchr(place.frame.file, '/') : NULL;
    char text[3 * SYMBOL_TEXT_BYTES_MAX];

    if (place.frame.function != NULL && place.frame.file != NULL)
        snprintf(text, sizeof(text), "%s (%s:%" PRIu32 ")", place.frame.function,
                 slash != NULL ? slash + 1 : place.frame.file, place.frame.line);
    else if (place.frame.function != NULL)
        snprintf(text, sizeof(text), "%s", place.frame.function);
    else if (place.module != NULL && !place.module->is_scripts)
        snprintf(text, sizeof(text), "%s+0x%" PRIx64, place.module->name, place.offset);
    else
        snprintf(text, sizeof(text), "?");
    known_clean(text, strlen(text), ret_text);
}

void known_clean(const void *bytes, size_t count, char ret_text[KNOWN_TEXT_BYTES])
{
    const size_t most = (KNOWN_TEXT_BYTES - 1) / 6, shown = count < most ? count : most;
    struct json_writer writer;
    char *quoted = NULL;
    size_t length;

    ret_text[0] = '\0';
    json_init(&writer);
    /* bytes may be NULL if there is no name */
    json_bytes(&writer, NULL, bytes, shown != 0 ? strnlen(bytes, shown) : 0);
    if (json_finish(&writer, &quoted, &length) == 0)
        snprintf(ret_text, KNOWN_TEXT_BYTES, "%.*s", (int)length - 2, quoted + 1);
    free(quoted);
}
