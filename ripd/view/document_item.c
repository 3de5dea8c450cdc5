/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_item.c - one id as JSON: who it is, whose, what it does, where it was. Pure.
 *
 * An item of a list has all of it; an event has these parts in another order, and no trail.
 *
 * Guarantees
 *   A. An address is written only as the offset in a module of its process; one that lies in no module is null.
 *   B. Every field is always there; what is not known is null. Only KEY_hex comes and goes.
 */
#include "view/document_parts.h"

#include <string.h>

#define NS_PER_MS 1000000u

void part_bytes(struct json_writer *writer, const char *key, const char *key_hex, const void *bytes, size_t length)
{
    json_key(writer, key);
    if (json_bytes(writer, bytes, length)) {
        json_key(writer, key_hex);
        json_hex(writer, bytes, length);
    }
}

void part_null(struct json_writer *writer, const char *key)
{
    json_key(writer, key);
    json_none(writer);
}

void part_uint(struct json_writer *writer, const char *key, uint64_t value)
{
    json_key(writer, key);
    json_uint(writer, value);
}

void part_uint_or_null(struct json_writer *writer, const char *key, uint64_t value, uint64_t unknown)
{
    if (value == unknown)
        part_null(writer, key);
    else
        part_uint(writer, key, value);
}

void part_text(struct json_writer *writer, const char *key, const char *key_hex, const char *text)
{
    if (text == NULL)
        part_null(writer, key);
    else
        part_bytes(writer, key, key_hex, text, strlen(text));
}

void part_time(struct json_writer *writer, const char *key, uint64_t wall_ns)
{
    json_key(writer, key);
    if (wall_ns == 0)
        json_none(writer);
    else
        json_time(writer, wall_ns);
}

/* Names that a process could not tell are empty in its ring. */
static const char *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

void part_process(struct json_writer *writer, const struct process_facts *process)
{
    part_uint_or_null(writer, "pid", process->pid, 0);
    part_text(writer, "comm", "comm_hex", text_or_null(process->comm));
    part_text(writer, "exe", "exe_hex", text_or_null(process->exe));
    part_time(writer, "started_at", process->started_wall_ns);
    json_key(writer, "attested");
    json_bool(writer, process->attested);
}

static void part_symbol_frame(struct json_writer *writer, const struct symbol_frame *frame)
{
    part_text(writer, "function", "function_hex", frame->function);
    part_text(writer, "file", "file_hex", frame->file);
    part_uint_or_null(writer, "line", frame->line, 0);
}

/*
 * function, file and line of a place; null where nothing is known, or not yet. Where it was inlined, "inlined_into" has
 * the functions around it, inside out.
 */
static void part_source(struct json_writer *writer, const struct module_facts *module, uint64_t offset)
{
    static const struct symbol_frame unknown;
    const struct symbol *symbol = module == NULL ? NULL : symbol_table_find(&module->symbols, offset);

    part_symbol_frame(writer, symbol == NULL || symbol->frame_count == 0 ? &unknown : &symbol->frames[0]);
    if (symbol == NULL || symbol->frame_count < 2)
        return;
    json_key(writer, "inlined_into");
    json_array_begin(writer);
    for (size_t i = 1; i < symbol->frame_count; i++) {
        json_object_begin(writer);
        part_symbol_frame(writer, &symbol->frames[i]);
        json_object_end(writer);
    }
    json_array_end(writer);
}

static const struct module_facts *module_of(const struct item *item, uint64_t address)
{
    return item->process == NULL ? NULL : process_facts_module(item->process, address);
}

static void part_offset(struct json_writer *writer, const struct module_facts *module, uint64_t offset)
{
    json_key(writer, "offset");
    if (module == NULL)
        json_none(writer);
    else
        json_hex_number(writer, offset);
}

static uint64_t offset_of(const struct module_facts *module, uint64_t address)
{
    return module == NULL ? 0 : address - module->bias;
}

void part_place(struct json_writer *writer, const struct module_facts *module, uint64_t offset, bool named)
{
    json_key(writer, "location");
    json_object_begin(writer);
    part_text(writer, "module", "module_hex", module == NULL ? NULL : text_or_null(module->name));
    json_key(writer, "build_id");
    if (module == NULL || module->build_id[0] == '\0')
        json_none(writer);
    else
        json_text(writer, module->build_id);
    part_offset(writer, module, offset);
    part_source(writer, named ? module : NULL, offset);
    json_object_end(writer);
}

void part_location(struct json_writer *writer, const struct item *item, bool named, struct fragments *fragments)
{
    const struct module_facts *module;
    struct fragment_key key;
    size_t from;

    if (item == NULL || item->crumb_count == 0) {
        part_null(writer, "location");
        return;
    }
    key = (struct fragment_key){item->process, item->crumbs[0].address, FRAGMENT_LOCATION};
    if (named && fragments_write(fragments, &key, writer))
        return;
    from = writer->length;
    module = module_of(item, item->crumbs[0].address);
    part_place(writer, module, offset_of(module, item->crumbs[0].address), named);
    if (named)
        fragments_keep(fragments, &key, writer, from);
}

/* What a breadcrumb tells of its place: the members of an entry but for its number. */
static void part_entry(struct json_writer *writer, const struct item *item, uint64_t address)
{
    const struct module_facts *module = module_of(item, address);

    part_text(writer, "module", "module_hex", module == NULL ? NULL : text_or_null(module->name));
    part_offset(writer, module, offset_of(module, address));
    part_source(writer, module, offset_of(module, address));
}

static void part_trail(struct json_writer *writer, const struct item *item, uint32_t trail_count,
                       struct fragments *fragments)
{
    json_key(writer, "trail");
    json_array_begin(writer);
    for (size_t i = 0; i < item->crumb_count && i < trail_count; i++) {
        const struct fragment_key key = {item->process, item->crumbs[i].address, FRAGMENT_ENTRY};
        uint64_t count = item->crumbs[i].snap - 1; /* snaps before it: the newest is snaps - 1 */
        size_t from, length;
        const char *text = fragments_find(fragments, &key, &length);

        if (text != NULL) {
            json_object_raw(writer, "count", count, text, length);
            continue;
        }
        json_object_begin(writer);
        part_uint(writer, "count", count);
        from = writer->length;
        part_entry(writer, item, item->crumbs[i].address);
        fragments_keep(fragments, &key, writer, from);
        json_object_end(writer);
    }
    json_array_end(writer);
}

void part_cause(struct json_writer *writer, enum id_cause cause)
{
    json_key(writer, "cause");
    if (cause == CAUSE_NONE)
        json_none(writer);
    else
        json_text(writer, id_cause_name(cause));
}

void part_verdict(struct json_writer *writer, const struct sighting *sighting)
{
    bool frozen = sighting->since_wall_ns != 0;
    uint64_t max_ns = sighting->frozen_for_max_ns;

    json_key(writer, "state");
    json_text(writer, id_state_name(sighting->state));
    part_cause(writer, sighting->cause);
    part_time(writer, "since", sighting->since_wall_ns);
    part_uint_or_null(writer, "frozen_for_ms", frozen ? sighting->frozen_for_ns / NS_PER_MS : UINT64_MAX, UINT64_MAX);
    part_uint_or_null(writer, "frozen_for_max_ms", frozen && max_ns != UINT64_MAX ? max_ns / NS_PER_MS : UINT64_MAX,
                      UINT64_MAX);
    part_uint_or_null(writer, "threshold_ms",
                      sighting->threshold_ns != UINT64_MAX ? sighting->threshold_ns / NS_PER_MS : UINT64_MAX,
                      UINT64_MAX);
}

static void part_owner(struct json_writer *writer, const struct process_facts *process, struct fragments *fragments)
{
    const struct fragment_key key = {process, 0, FRAGMENT_PROCESS};
    size_t from;

    json_key(writer, "process");
    if (process == NULL) {
        json_none(writer);
        return;
    }
    if (fragments_write(fragments, &key, writer))
        return;
    from = writer->length;
    json_object_begin(writer);
    part_process(writer, process);
    json_object_end(writer);
    fragments_keep(fragments, &key, writer, from);
}

void part_who(struct json_writer *writer, const struct item *item, struct fragments *fragments)
{
    size_t name_bytes = item == NULL ? 0 : item->name_bytes < RIP_NAME_BYTES ? item->name_bytes : RIP_NAME_BYTES;

    part_text(writer, "ring", "ring_hex", item == NULL ? NULL : item->ring_name);
    part_uint_or_null(writer, "id", item == NULL ? UINT64_MAX : item->id, UINT64_MAX);
    part_uint_or_null(writer, "tid", item == NULL ? 0 : item->tid, 0);
    if (item == NULL)
        part_null(writer, "name");
    else
        part_bytes(writer, "name", "name_hex", item->name, name_bytes);
    part_null(writer, "note");
    part_owner(writer, item == NULL ? NULL : item->process, fragments);
}

void part_where(struct json_writer *writer, const struct sighting *sighting, bool named, struct fragments *fragments)
{
    const struct item *item = sighting->item;

    part_uint_or_null(writer, "snaps", item == NULL ? UINT64_MAX : item->snap_count, UINT64_MAX);
    part_location(writer, item, named, fragments);
    part_kernel(writer, sighting->kernel);
    part_waits(writer, sighting);
}

void part_item(struct json_writer *writer, const struct sighting *sighting, uint32_t trail_count,
               struct fragments *fragments)
{
    json_object_begin(writer);
    part_who(writer, sighting->item, fragments);
    part_verdict(writer, sighting);
    part_where(writer, sighting, true, fragments);
    part_trail(writer, sighting->item, trail_count, fragments);
    json_object_end(writer);
}
