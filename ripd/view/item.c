/* SPDX-License-Identifier: Apache-2.0 */
/* item.c - writes the facts about an id, field by field. Pure. */
#include "view/item.h"

#include <string.h>

#include "cases/endings.h"
#include "cases/waits.h"
#include "util/array.h"
#include "view/summary.h"

/* A process without /proc leaves fields empty in its ring that it does not know. */
static const char *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

void item_write_process(struct json_writer *writer, const struct process_facts *process)
{
    static const struct process_origin unknown;
    const struct process_origin *origin = process->origin != NULL ? process->origin : &unknown;

    json_uint(writer, "pid", json_nonzero(process->pid));
    json_name(writer, "comm", text_or_null(process->comm));
    json_name(writer, "exe", text_or_null(process->exe != NULL ? process->exe : origin->program));
    json_name(writer, "cmdline", origin->command_line);
    json_uint(writer, "uid", process->origin != NULL ? origin->uid : JSON_UNKNOWN);
    json_name(writer, "unit", origin->unit);
    json_name(writer, "container", origin->container);
    json_time(writer, "started_at", process->started_wall_ns);
    json_bool(writer, "attested", process->attested);
}

static void write_frame(struct json_writer *writer, const struct symbol_frame *frame)
{
    json_name(writer, "function", frame->function);
    json_name(writer, "file", frame->file);
    json_uint(writer, "line", json_nonzero(frame->line));
}

static void write_frames(struct json_writer *writer, const char *key, const struct symbol *symbol, size_t from,
                         size_t end)
{
    if (from >= end)
        return;
    json_open(writer, key, '[');
    for (size_t i = from; i < end; i++) {
        json_open(writer, NULL, '{');
        write_frame(writer, &symbol->frames[i]);
        json_close(writer);
    }
    json_close(writer);
}

/*
 * Writes function, file and line of a location; null if not known, or not known yet. "inlined" has the functions of
 * system headers inlined there, innermost first. "inlined_into" has the functions into which the location was inlined,
 * innermost first.
 */
static void write_source(struct json_writer *writer, const struct module_facts *module, uint64_t offset)
{
    const struct symbol *symbol = module == NULL ? NULL : symbol_table_find(&module->symbols, offset);
    const struct symbol_frame frame = module_place(module, offset);
    size_t place;

    write_frame(writer, &frame);
    if (symbol == NULL || symbol->frame_count == 0)
        return;
    place = symbol_place(symbol);
    write_frames(writer, "inlined", symbol, 0, place);
    write_frames(writer, "inlined_into", symbol, place + 1, symbol->frame_count);
}

static void write_offset(struct json_writer *writer, const struct module_facts *module, uint64_t offset)
{
    if (module == NULL || module->is_scripts)
        json_none(writer, "offset");
    else
        json_hex_number(writer, "offset", offset);
}

static void write_module(struct json_writer *writer, const struct module_facts *module)
{
    json_name(writer, "module", module == NULL ? NULL : text_or_null(module->name));
}

static void write_location(struct json_writer *writer, const struct module_facts *module, uint64_t offset, bool named)
{
    json_open(writer, "location", '{');
    write_module(writer, module);
    json_text(writer, "build_id", module == NULL ? NULL : text_or_null(module->build_id));
    write_offset(writer, module, offset);
    write_source(writer, named || (module != NULL && module->is_scripts) ? module : NULL, offset);
    json_close(writer);
}

static const struct module_facts *module_of(const struct item *item, uint64_t address, uint64_t *ret_offset)
{
    const struct module_facts *module = item->process == NULL ? NULL : process_facts_module(item->process, address);

    *ret_offset = module == NULL ? 0 : address - module->bias;
    return module;
}

/* Writes the location of the newest breadcrumb; item may be NULL. */
static void write_last_location(struct json_writer *writer, const struct item *item, bool named)
{
    const struct module_facts *module;
    uint64_t offset;

    if (item == NULL || item->entry_count == 0) {
        json_none(writer, "location");
        return;
    }
    module = module_of(item, item->entries[0].address, &offset);
    write_location(writer, module, offset, named);
}

static void write_trail(struct json_writer *writer, const struct item *item, uint32_t trail_count)
{
    json_open(writer, "trail", '[');
    for (size_t i = 0; i < item->entry_count && i < trail_count; i++) {
        uint64_t offset;
        const struct module_facts *module = module_of(item, item->entries[i].address, &offset);

        json_open(writer, NULL, '{');
        json_uint(writer, "count", item->entries[i].snap - 1); /* snaps before this one: the newest is snaps - 1 */
        write_module(writer, module);
        write_offset(writer, module, offset);
        write_source(writer, module, offset);
        json_close(writer);
    }
    json_close(writer);
}

static void write_holder(struct json_writer *writer, const struct kernel_facts *kernel)
{
    if (!json_open_known(writer, "holder", '{', kernel->holder_pid != 0))
        return;
    json_uint(writer, "pid", kernel->holder_pid);
    json_name(writer, "comm", kernel->holder_comm);
    json_close(writer);
}

/* Writes what the thread waits for. */
static void write_kernel(struct json_writer *writer, const struct kernel_facts *kernel)
{
    static const char *const modes[] = {
        [KERNEL_MODE_UNKNOWN] = NULL, [KERNEL_MODE_USER] = "user", [KERNEL_MODE_SYSTEM] = "system"};
    const char state[2] = {kernel != NULL ? kernel->state : '\0', '\0'};

    if (!json_open_known(writer, "kernel", '{', kernel != NULL))
        return;
    json_text(writer, "state", state);
    json_text(writer, "syscall", kernel->syscall);
    json_uint(writer, "fd", (uint64_t)kernel->descriptor);
    json_name(writer, "target", text_or_null(kernel->target));
    write_holder(writer, kernel);
    json_ms(writer, "asked_ms", kernel->asked_ns);
    json_text(writer, "wchan", text_or_null(kernel->wchan));
    json_text(writer, "mode", modes[kernel->mode]);
    json_ms(writer, "window_ms", kernel->window_ns);
    json_ms(writer, "cpu_ms", kernel->cpu_ns);
    json_ms(writer, "wait_ms", kernel->wait_ns);
    json_uint(writer, "voluntary_switches", kernel->voluntary);
    json_uint(writer, "involuntary_switches", kernel->involuntary);
    json_open(writer, "denied", '[');
    for (int bit = 0; bit < KERNEL_DENIED_COUNT; bit++)
        if ((kernel->denied & 1u << bit) != 0)
            json_text(writer, NULL, kernel_denied_name((enum kernel_denied)bit));
    json_close(writer);
    json_close(writer);
}

/* Writes holder, ring, id, tid, name, state inside the caller's object. */
static void write_node(struct json_writer *writer, const struct waits_node *node)
{
    json_text(writer, "holder", waits_kind_name(node->kind));
    json_name(writer, "ring", node->ring_name);
    json_uint(writer, "id", node->kind == WAITS_ID ? node->id : JSON_UNKNOWN);
    json_uint(writer, "tid", json_nonzero(node->tid));
    if (node->kind == WAITS_ID)
        json_bytes(writer, "name", node->name, node->name_bytes);
    else
        json_none(writer, "name");
    json_text(writer, "state", node->has_state ? id_state_name(node->state) : NULL);
}

/* Writes a chain, and how many of it are left out; both are null if chain is NULL. */
static void write_chain(struct json_writer *writer, const char *key, const char *left_out_key,
                        const struct waits_chain *chain)
{
    if (!json_open_known(writer, key, '[', chain != NULL)) {
        json_none(writer, left_out_key);
        return;
    }
    for (size_t i = 0; i < chain->count; i++) {
        json_open(writer, NULL, '{');
        write_node(writer, chain->steps[i].node);
        json_bool(writer, "certain", chain->steps[i].certain);
        json_close(writer);
    }
    json_close(writer);
    json_uint(writer, left_out_key, chain->left_out);
}

/* Writes the chain that begins at a node; waits may be NULL. */
static void write_chain_of(struct json_writer *writer, const char *key, const char *left_out_key,
                           const struct waits *waits, uint32_t node)
{
    struct waits_chain chain;

    if (waits != NULL)
        waits_chain(waits, node, &chain);
    write_chain(writer, key, left_out_key, waits != NULL ? &chain : NULL);
}

void item_write_root(struct json_writer *writer, const struct sighting *sighting)
{
    const struct waits_node *nodes = sighting->waits != NULL ? sighting->waits->nodes : NULL;

    if (!json_open_known(writer, "root", '{', nodes != NULL && nodes[sighting->wait_node].next != WAITS_NONE))
        return;
    write_node(writer, &nodes[nodes[sighting->wait_node].root]);
    json_close(writer);
}

void item_write_cause(struct json_writer *writer, enum id_cause cause)
{
    json_text(writer, "cause", cause == CAUSE_NONE || id_cause_idles(cause) ? NULL : id_cause_name(cause));
}

/* Returns why an id is idle. An id that declares itself idle has no cause, but its call may receive from an input. */
static const char *idle_reason(const struct sighting *sighting)
{
    if (sighting->state != ID_IDLE)
        return NULL;
    if (id_cause_idles(sighting->cause))
        return id_cause_name(sighting->cause);
    return id_cause_name(sighting->item != NULL && sighting->item->call == RIP_CALL_INPUT ? CAUSE_INPUT
                                                                                          : CAUSE_DECLARED);
}

/* Writes what the id was when it ended; null if it is alive, or if that is not known. */
static void write_last(struct json_writer *writer, const struct sighting_last *last)
{
    if (!json_open_known(writer, "last", '{', last->known))
        return;
    json_text(writer, "state", id_state_name(last->state));
    item_write_cause(writer, last->cause);
    json_time(writer, "since", last->since_wall_ns);
    json_ms(writer, "frozen_for_ms", last->since_wall_ns != 0 ? last->frozen_for_ns : JSON_UNKNOWN);
    write_chain(writer, "waits_for", "waits_for_left_out", last->chain != NULL ? &last->chain->chain : NULL);
    json_close(writer);
}

void item_write_verdict(struct json_writer *writer, const struct sighting *sighting)
{
    bool frozen = sighting->since_wall_ns != 0;

    json_text(writer, "state", id_state_name(sighting->state));
    item_write_cause(writer, sighting->cause);
    json_time(writer, "since", sighting->since_wall_ns);
    json_ms(writer, "frozen_for_ms", frozen ? sighting->frozen_for_ns : JSON_UNKNOWN);
    json_ms(writer, "frozen_for_max_ms", frozen ? sighting->frozen_for_max_ns : JSON_UNKNOWN);
    json_ms(writer, "threshold_ms", sighting->threshold_ns);
}

void item_write_identity(struct json_writer *writer, const struct item *item)
{
    static const char *const keys[] = {"ring", "source", "id", "tid", "name", "note", "process"};

    for (size_t i = 0; item == NULL && i < ARRAY_COUNT(keys); i++)
        json_none(writer, keys[i]);
    if (item == NULL)
        return;
    json_name(writer, "ring", item->ring_name);
    json_text(writer, "source", item->process != NULL ? process_source(item->process) : NULL);
    json_uint(writer, "id", item->id);
    json_uint(writer, "tid", json_nonzero(item->tid));
    json_bytes(writer, "name", item->name, item->name_bytes);
    if (item->note_bytes == 0)
        json_none(writer, "note");
    else
        json_bytes(writer, "note", item->note, item->note_bytes);
    if (!json_open_known(writer, "process", '{', item->process != NULL))
        return;
    item_write_process(writer, item->process);
    json_close(writer);
}

void item_write_where(struct json_writer *writer, const struct sighting *sighting, bool named)
{
    json_uint(writer, "snaps", sighting->item == NULL ? JSON_UNKNOWN : sighting->item->snap_count);
    write_last_location(writer, sighting->item, named);
    write_kernel(writer, sighting->kernel);
    write_chain_of(writer, "waits_for", "waits_for_left_out", sighting->waits, sighting->wait_node);
}

void item_write(struct json_writer *writer, const char *key, const struct sighting *sighting, uint32_t trail_count)
{
    char summary[SUMMARY_BYTES];

    summary_of_id(sighting, summary);
    json_open(writer, key, '{');
    item_write_identity(writer, sighting->item);
    json_text(writer, "summary", summary);
    item_write_verdict(writer, sighting);
    json_time(writer, "since_earliest", sighting->since_earliest_wall_ns);
    write_last(writer, &sighting->last);
    json_text(writer, "reason", idle_reason(sighting)); /* not in events: there, "reason" is how a stall ended */
    item_write_where(writer, sighting, true);
    write_trail(writer, sighting->item, trail_count);
    json_close(writer);
}

static void write_example(struct json_writer *writer, const struct item *item)
{
    if (!json_open_known(writer, "example", '{', item != NULL))
        return;
    json_name(writer, "ring", item->ring_name);
    json_uint(writer, "id", item->id);
    json_uint(writer, "tid", json_nonzero(item->tid));
    json_bytes(writer, "name", item->name, item->name_bytes);
    json_close(writer);
}

void item_write_location_group(struct json_writer *writer, const struct location_group *group)
{
    json_open(writer, NULL, '{');
    json_uint(writer, "count", group->count);
    json_open(writer, "states", '{');
    for (int state = 0; state < ID_STATE_COUNT; state++)
        json_uint(writer, id_state_name((enum id_state)state), group->counts[state]);
    json_close(writer);
    json_ms(writer, "longest_ms", json_nonzero(group->longest_ns));
    if (group->snapped)
        write_location(writer, group->module, group->offset, true);
    else
        json_none(writer, "location");
    write_example(writer, group->example);
    json_close(writer);
}

static void write_root(struct json_writer *writer, const struct waits_node *root, const struct root_group *group)
{
    if (!json_open_known(writer, "root", '{', root != NULL))
        return;
    write_node(writer, root);
    item_write_cause(writer, root->has_state ? root->cause : CAUSE_NONE);
    json_ms(writer, "frozen_for_ms", json_nonzero(root->frozen_for_ns));
    write_last_location(writer, root->item, true);
    write_kernel(writer, group->stalled != NULL ? group->stalled->kernel : NULL);
    json_close(writer);
}

void item_write_root_group(struct json_writer *writer, const struct waits *waits, const struct root_group *group,
                           bool with_example)
{
    const struct waits_node *root = group->root != WAITS_NONE ? &waits->nodes[group->root] : NULL;

    json_open(writer, NULL, '{');
    json_uint(writer, "count", group->count);
    json_ms(writer, "longest_ms", group->longest_ns);
    write_root(writer, root, group);
    /* the members of the deadlock for which all of the group wait, or null if there is none */
    write_chain_of(writer, "deadlock", "deadlock_left_out", root != NULL && root->deadlocked ? waits : NULL,
                   group->root);
    if (with_example)
        item_write(writer, "example", group->longest, 0);
    json_close(writer);
}
