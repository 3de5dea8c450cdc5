/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - the modules of a ring as facts, one object for all processes that have them. Pure but for allocations.
 *
 * A ring has one table of modules and a thousand processes that refer to it: facts of their own for each would take a
 * hundred times the memory of the ring.
 */
#include "ring/modules.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/hash_index.h"
#include "util/text.h"

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

/* An object of its own with one reference. */
static struct module_facts *new_module(const struct module_facts *like)
{
    struct module_facts *facts = malloc(sizeof(*facts));
    const char *slash;

    if (facts == NULL)
        return NULL;
    *facts = *like;
    atomic_init(&facts->references, 1);
    facts->path = strdup(like->path);
    if (facts->path == NULL) {
        free(facts);
        return NULL;
    }
    slash = strrchr(facts->path, '/');
    facts->name = slash != NULL ? slash + 1 : facts->path;
    return facts;
}

struct module_facts *modules_add(struct module_table **table_place, struct ring_host *host, uint32_t uid,
                                 const struct rip_module_info *info)
{
    struct module_table *table = *table_place;
    char path[RIP_MODULE_PATH_BYTES + 1];
    struct module_facts facts = {
        .start = info->start,
        .end = info->end,
        .bias = info->bias,
        .uid = uid,
        .path = path,
        .symbols = {.hash_key = host->hash_key},
    };
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
    memcpy(path, info->path, info->path_bytes);
    path[info->path_bytes] = '\0'; /* or before: what follows a NUL is not taken */
    text_put_hex(facts.build_id, info->build_id, info->build_id_bytes);
    hash = hash_of(&table->hash_key, &facts);
    while ((number = hash_index_next(&table->index, hash, &probe)) != 0 && !is_same(table->entries[number - 1], &facts))
        continue;
    if (number != 0)
        return module_facts_ref(table->entries[number - 1]);
    if (table->count >= RIP_MODULE_MAX) {
        host_limit(host, HEALTH_LIMIT_MODULES, "a ring that changes its modules");
        return NULL;
    }
    table->entries[table->count] = new_module(&facts);
    if (table->entries[table->count] == NULL)
        return NULL;
    if (!hash_index_add(&table->index, hash, (uint32_t)table->count + 1)) {
        module_facts_unref(table->entries[table->count]);
        return NULL;
    }
    return module_facts_ref(table->entries[table->count++]);
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
