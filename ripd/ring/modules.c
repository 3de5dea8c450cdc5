/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - the modules of a ring as facts: one object for all processes that have the module. Also modules that the
 * record of a process does not name, and the ring's scripts. Touches the mapping of one ring, for its scripts.
 *
 * A ring has one table of modules and perhaps a thousand processes that refer to it. Separate facts for each process
 * would take a hundred times the memory of the ring.
 *
 * A module that is learnt from the kernel's map has no build id, because the map has none. Its first address is assumed
 * to correspond to address 0 in the file, as in shared objects. The program itself is named in every record.
 */
#include "ring/modules.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/hash_index.h"

struct module_table {
    struct hash_key hash_key;
    struct module_facts **entries;
    size_t capacity;
    size_t count;
    struct hash_index index;
};

static uint64_t hash_of(const struct hash_key *key, const struct module_facts *facts)
{
    const uint64_t parts[] = {facts->start, facts->end, facts->bias, hash_text(key, facts->build_id),
                              hash_text(key, facts->path)};

    return hash_bytes(key, parts, sizeof(parts));
}

static bool is_same(const struct module_facts *a, const struct module_facts *b)
{
    return a->start == b->start && a->end == b->end && a->bias == b->bias && strcmp(a->build_id, b->build_id) == 0 &&
           strcmp(a->path, b->path) == 0;
}

struct module_facts *modules_add(struct module_table **table_place, struct ring_host *host, uint32_t uid,
                                 const struct rip_module_info *info)
{
    struct module_table *table = *table_place;
    struct module_facts *facts;
    size_t probe = 0;
    uint32_t number;
    uint64_t hash;

    if (table == NULL) {
        *table_place = table = calloc(1, sizeof(*table));
        if (table == NULL)
            return NULL;
        table->hash_key = host->hash_key;
    }
    if (!ARRAY_GROW(table->entries, table->count, table->capacity))
        return NULL;
    facts = module_facts_make(info);
    if (facts == NULL)
        return NULL;
    facts->uid = uid;
    facts->symbols.hash_key = host->hash_key;
    hash = hash_of(&table->hash_key, facts);
    while ((number = hash_index_next(&table->index, hash, &probe)) != 0 && !is_same(table->entries[number - 1], facts))
        continue;
    if (number != 0) {
        module_facts_unref(facts);
        return module_facts_ref(table->entries[number - 1]);
    }
    if (table->count >= RIP_MODULE_MAX)
        host_limit(host, HEALTH_LIMIT_MODULES, "a ring has named too many different modules");
    if (table->count >= RIP_MODULE_MAX || !hash_index_add(&table->index, hash, (uint32_t)table->count + 1)) {
        module_facts_unref(facts);
        return NULL;
    }
    table->entries[table->count++] = facts;
    return module_facts_ref(facts);
}

void modules_free(struct module_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        module_facts_unref(table->entries[i]);
    free(table->entries);
    free(table->index.places);
    free(table);
}

/* Learnt from the kernel ------------------------------------------------------------------------------------------- */

struct learnt {
    struct rip_module_info *modules;
    size_t count;
    size_t capacity;
    uint64_t unknown[LEARNT_UNKNOWN_MAX];
    size_t unknown_next;
};

bool learnt_has_asked(const struct learnt *learnt, uint64_t address)
{
    for (size_t i = 0; learnt != NULL && i < LEARNT_UNKNOWN_MAX; i++)
        if (learnt->unknown[i] == address)
            return true;
    return false;
}

bool learnt_is_new(struct learnt **learnt, uint64_t address)
{
    if (*learnt == NULL)
        *learnt = calloc(1, sizeof(**learnt));
    if (*learnt == NULL || (*learnt)->count >= LEARNT_MAX || learnt_has_asked(*learnt, address))
        return false;
    (*learnt)->unknown[(*learnt)->unknown_next++ % LEARNT_UNKNOWN_MAX] = address;
    return true;
}

/* A path that is too long is cut at its beginning: its end says more. */
bool learnt_add(struct learnt *learnt, const struct proc_object *object)
{
    struct rip_module_info *module;
    size_t length = strlen(object->path);
    size_t cut = length > RIP_MODULE_PATH_BYTES ? length - RIP_MODULE_PATH_BYTES : 0;

    if (learnt->count >= LEARNT_MAX || !ARRAY_GROW(learnt->modules, learnt->count, learnt->capacity))
        return false;
    module = &learnt->modules[learnt->count++];
    *module = (struct rip_module_info){.start = object->start,
                                       .end = object->end,
                                       .bias = object->start,
                                       .flags = cut != 0 ? RIP_MODULE_PATH_TRUNCATED : 0,
                                       .path_bytes = (uint16_t)(length - cut)};
    memcpy(module->path, object->path + cut, length - cut);
    return true;
}

size_t learnt_count(const struct learnt *learnt)
{
    return learnt != NULL ? learnt->count : 0;
}

const struct rip_module_info *learnt_at(const struct learnt *learnt, size_t index)
{
    return &learnt->modules[index];
}

void learnt_free(struct learnt *learnt)
{
    if (learnt == NULL)
        return;
    free(learnt->modules);
    free(learnt);
}

/* Scripts ---------------------------------------------------------------------------------------------------------- */

struct module_facts *scripts_module(struct ring *ring, const struct ring_host *host)
{
    if (ring->scripts == NULL && ring->mapping.view.script_offset != 0)
        ring->scripts = module_of_scripts(&host->hash_key, mapping_owner(&ring->mapping));
    return ring->scripts != NULL ? module_facts_ref(ring->scripts) : NULL;
}

int scripts_learn(struct ring *ring, struct ring_host *host, uint64_t address)
{
    const uint64_t offset = module_script_function(address - RIP_PLACE_SCRIPT);
    struct rip_script_info script;
    int result;

    if ((address & RIP_PLACE_SCRIPT) == 0 || ring->scripts == NULL ||
        symbol_table_find(&ring->scripts->symbols, offset) != NULL || symbol_table_is_full(&ring->scripts->symbols))
        return 0;
    result = mapping_script(&ring->mapping, address, &script);
    if (result == 0)
        symbol_charges_add(&host->script_charges, ring->user, &ring->scripts->symbols, offset,
                           symbol_of_script(&script));
    return result < 0 ? result : 0;
}
