/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - references, and the order of stalls. Pure.
 *
 * Guarantees, in addition to those of snapshot.h
 *   C. The last unref, on any thread, frees the value and drops the references that it holds. Everything that other
 *      threads did with the value happens before it is freed (util/reference.h).
 */
#include "cases/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "cases/endings.h"
#include "cases/waits.h"
#include "util/reference.h"
#include "util/search.h"
#include "util/text.h"

static const char *const health_names[RING_HEALTH_COUNT] = {
#define X(name, text) text,
    RING_HEALTH_TABLE(X)
#undef X
};

const char *ring_health_name(enum ring_health health)
{
    return health_names[health];
}

struct module_facts *process_facts_module(const struct process_facts *process, uint64_t address)
{
    const struct module_facts *scripts = process->scripts;

    if (scripts != NULL && scripts->start <= address && address < scripts->end)
        return process->scripts;
    for (size_t i = process->module_count; i-- > 0;) {
        struct module_facts *module = process->modules[i];

        if (module->start <= address && address < module->end)
            return module;
    }
    return NULL;
}

struct module_facts *module_of_scripts(const struct hash_key *hash_key, uint32_t uid)
{
    struct module_facts *module = reference_new(sizeof(*module));

    if (module == NULL || (module->path = strdup("")) == NULL) {
        free(module);
        return NULL;
    }
    module->start = module->bias = RIP_PLACE_SCRIPT;
    module->end = RIP_PLACE_SCRIPT + (UINT64_C(1) << 48); /* no known place is beyond this */
    module->name = module->path;
    module->uid = uid;
    module->is_scripts = true;
    module->symbols.hash_key = *hash_key;
    return module;
}

struct module_facts *module_facts_make(const struct rip_module_info *info)
{
    struct module_facts *module = reference_new(sizeof(*module));
    const char *slash;

    if (module == NULL || (module->path = strndup((const char *)info->path, info->path_bytes)) == NULL) {
        free(module);
        return NULL;
    }
    module->start = info->start;
    module->end = info->end;
    module->bias = info->bias;
    text_put_hex(module->build_id, info->build_id, info->build_id_bytes);
    slash = strrchr(module->path, '/');
    module->name = slash != NULL ? slash + 1 : module->path;
    return module;
}

struct process_facts *process_facts_make(const struct rip_process_info *info)
{
    struct process_facts *process = reference_new(sizeof(*process));

    if (process == NULL)
        return NULL;
    process->index = info->index;
    process->generation = info->generation;
    process->preloaded = (info->flags & RIP_PROCESS_PRELOADED) != 0;
    process->compiled = (info->flags & RIP_PROCESS_COMPILED) != 0;
    memcpy(process->comm, info->comm, RIP_COMM_BYTES);
    return process;
}

struct item *item_make(uint32_t ring, const char *ring_name, const struct rip_id_info *info,
                       const struct rip_note_info *note, const struct rip_entry *entries, size_t entry_count)
{
    struct item *item = reference_new(sizeof(*item) + entry_count * sizeof(*entries));

    if (item == NULL || (item->ring_name = strdup(ring_name)) == NULL) {
        free(item);
        return NULL;
    }
    item->ring = ring;
    item->slot = info->slot;
    item->generation = info->generation;
    item->id = info->id;
    item->kind = info->kind;
    item->call = info->call;
    item->name_bytes = info->name_bytes;
    memcpy(item->name, info->name, info->name_bytes);
    item->note_bytes = note->text_bytes;
    memcpy(item->note, note->text, note->text_bytes);
    item->snap_count = info->snap_count;
    item->registered_boot_ns = info->registered_boot_ns;
    item->entry_count = entry_count;
    memcpy(item->entries, entries, entry_count * sizeof(*entries));
    return item;
}

uint64_t module_script_function(uint64_t offset)
{
    return offset & ~RIP_PLACE_LINE_MASK;
}

/* The bytes come from the ring and need not be text. They end at the first NUL. */
struct symbol *symbol_of_script(const struct rip_script_info *script)
{
    char function[RIP_SCRIPT_FUNCTION_BYTES + 1], file[RIP_SCRIPT_FILE_BYTES + 1];

    memcpy(function, script->function, script->function_bytes);
    function[script->function_bytes] = '\0';
    memcpy(file, script->file, script->file_bytes);
    file[script->file_bytes] = '\0';
    return symbol_new(&(struct symbol_frame){function[0] != '\0' ? function : NULL, file[0] != '\0' ? file : NULL, 0},
                      1);
}

struct symbol_frame module_place(const struct module_facts *module, uint64_t offset)
{
    const bool is_script = module != NULL && module->is_scripts;
    const struct symbol *symbol = NULL;
    struct symbol_frame frame = {.line = 0};

    if (module != NULL)
        symbol = symbol_table_find(&module->symbols, is_script ? module_script_function(offset) : offset);
    if (symbol == NULL || symbol->frame_count == 0)
        return frame;
    frame = symbol->frames[symbol_place(symbol)];
    if (is_script)
        frame.line = (uint32_t)(offset & RIP_PLACE_LINE_MASK);
    return frame;
}

struct module_facts *item_module(const struct item *item, uint64_t *ret_offset)
{
    const uint64_t address = item->entry_count ? item->entries[0].address : 0;
    struct module_facts *module = NULL;

    if (address && item->process)
        module = process_facts_module(item->process, address);
    *ret_offset = module ? address - module->bias : 0;
    return module;
}

void module_facts_unref(struct module_facts *module)
{
    if (!reference_drop(module))
        return;
    symbol_table_done(&module->symbols);
    free(module->path);
    free(module);
}

void process_origin_unref(struct process_origin *origin)
{
    if (!reference_drop(origin))
        return;
    free(origin->command_line);
    free(origin->program);
    free(origin->unit);
    free(origin->container);
    free(origin);
}

void process_facts_unref(struct process_facts *process)
{
    if (!reference_drop(process))
        return;
    for (size_t i = 0; i < process->module_count; i++)
        module_facts_unref(process->modules[i]);
    free(process->modules);
    module_facts_unref(process->scripts);
    process_origin_unref(process->origin);
    free(process->exe);
    free(process);
}

void item_unref(struct item *item)
{
    if (!reference_drop(item))
        return;
    process_facts_unref(item->process);
    free(item->ring_name);
    free(item);
}

void sighting_done(struct sighting *sighting)
{
    item_unref(sighting->item);
    sighting->item = NULL;
    kernel_facts_unref(sighting->kernel);
    sighting->kernel = NULL;
    wait_chain_unref(sighting->last.chain);
    sighting->last.chain = NULL;
}

void ring_facts_done(struct ring_facts *ring)
{
    for (size_t i = 0; i < ring->process_count; i++)
        process_facts_unref(ring->processes[i]);
    free(ring->processes);
    free(ring->name);
    free(ring->directory);
    free(ring->reason);
    *ring = (struct ring_facts){0};
}

uint64_t wall_before_ns(uint64_t wall_ns, uint64_t ago_ns)
{
    return wall_ns > ago_ns ? wall_ns - ago_ns : 1;
}

uint64_t item_frozen_max_ns(const struct item *item, const struct snapshot *snapshot, uint64_t frozen_for_ns,
                            uint64_t frozen_for_max_ns)
{
    uint64_t age_ns;

    if (frozen_for_max_ns != UINT64_MAX)
        return frozen_for_max_ns;
    if (item->registered_boot_ns == 0 || item->registered_boot_ns > snapshot->scanned_boot_ns)
        return UINT64_MAX;
    age_ns = snapshot->scanned_boot_ns - item->registered_boot_ns;
    return age_ns > frozen_for_ns ? age_ns : frozen_for_ns;
}

void sighting_set_since(struct sighting *sighting, const struct snapshot *moment)
{
    const uint64_t read_wall_ns = wall_before_ns(moment->scanned_wall_ns, sighting->read_ago_ns);
    const uint64_t max_ns = sighting->frozen_for_max_ns;

    sighting->since_wall_ns = wall_before_ns(read_wall_ns, sighting->frozen_for_ns);
    sighting->since_earliest_wall_ns = max_ns != UINT64_MAX ? wall_before_ns(read_wall_ns, max_ns) : 0;
}

void sighting_set_end(struct sighting *sighting)
{
    const struct process_facts *process = sighting->item->process;
    struct sighting_last *last = &sighting->last;
    uint64_t since_wall_ns = sighting->since_wall_ns; /* of an id that exited: since when it is frozen */

    if (sighting->state == ID_DEAD && process &&
        /* Does not change if the clock is set, or on late scans. */
        process->died_wall_ns) {
        sighting->since_wall_ns = process->died_wall_ns;
        if (process->lived_wall_ns)
            sighting->since_earliest_wall_ns = process->lived_wall_ns;
    }
    if (sighting->state == ID_DEAD)
        since_wall_ns = wall_before_ns(sighting->since_wall_ns, last->frozen_for_ns);
    if (last->known && last->state != ID_RUNNING)
        last->since_wall_ns = since_wall_ns;
}

void sighting_set_exit(struct sighting *sighting, uint64_t exited_wall_ns, uint64_t lived_wall_ns)
{
    struct sighting_last *last = &sighting->last;

    sighting->since_wall_ns = exited_wall_ns;
    if (lived_wall_ns != 0)
        sighting->since_earliest_wall_ns = lived_wall_ns;
    /* The id is frozen until now, but its earlier state ended with the thread. */
    last->frozen_for_ns = exited_wall_ns >= last->since_wall_ns ? exited_wall_ns - last->since_wall_ns : UINT64_MAX;
}

uint64_t snapshot_unreadable_count(const struct snapshot *snapshot)
{
    uint64_t count = 0;

    for (size_t i = 0; i < snapshot->ring_count; i++)
        count += snapshot->rings[i].health != RING_READABLE;
    return count;
}

struct snapshot *snapshot_new(void)
{
    return reference_new(sizeof(struct snapshot));
}

void snapshot_unref(struct snapshot *snapshot)
{
    if (!reference_drop(snapshot))
        return;
    for (size_t i = 0; i < snapshot->stall_count; i++)
        sighting_done(&snapshot->stalls[i]);
    for (size_t i = 0; i < snapshot->ring_count; i++)
        ring_facts_done(&snapshot->rings[i]);
    waits_free(snapshot->waits);
    free(snapshot->stalls);
    free(snapshot->rings);
    free(snapshot->limited);
    free(snapshot);
}

void sighting_set_wait(struct sighting *sighting, const struct waits *waits, uint32_t ring, uint32_t slot,
                       uint32_t generation)
{
    uint32_t node = waits_find(waits, ring, slot, generation);

    sighting->waits = node != WAITS_NONE ? waits : NULL;
    sighting->wait_node = node != WAITS_NONE ? node : 0;
}

static int compare_stalls(const void *left, const void *right)
{
    const struct sighting *a = left, *b = right;

    return search_order_then(search_order(a->frozen_since_ns, b->frozen_since_ns),
                             search_order_pair(a->item->ring, a->item->slot, b->item->ring, b->item->slot));
}

void snapshot_sort(struct snapshot *snapshot)
{
    if (snapshot->stall_count > 1)
        qsort(snapshot->stalls, snapshot->stall_count, sizeof *snapshot->stalls, compare_stalls);
}
