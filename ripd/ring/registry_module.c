/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_module.c - the modules of a ring as facts, one object for all processes that have them. Pure but for the
 * allocations.
 *
 * A ring has one table of modules and a thousand processes that refer to it: facts of their own for each would take a
 * hundred times the memory of the ring.
 *
 * Guarantees
 *   1. A ring has at most RIP_MODULE_MAX modules, whatever it says from one look to the next.
 *   2. The objects are immutable; who holds a reference may outlive the ring.
 */
#include <stdlib.h>
#include <string.h>

#include "ring/registry_state.h"

enum { CAPACITY_MIN = 64 };

/* Hashed, open addressing; capacity is a power of two. */
struct module_table {
    struct hash_key hash_key;
    struct module_facts **entries;
    size_t capacity;
    size_t count;
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

static size_t place_of(const struct module_table *table, const struct module_facts *facts)
{
    size_t place = (size_t)hash_of(&table->hash_key, facts) & (table->capacity - 1);

    while (table->entries[place] != NULL && !is_same(table->entries[place], facts))
        place = (place + 1) & (table->capacity - 1);
    return place;
}

static bool grow(struct module_table *table)
{
    struct module_table grown = {.hash_key = table->hash_key,
                                 .capacity = table->capacity != 0 ? 2 * table->capacity : CAPACITY_MIN,
                                 .count = table->count};

    grown.entries = calloc(grown.capacity, sizeof(struct module_facts *));
    if (grown.entries == NULL)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i] != NULL)
            grown.entries[place_of(&grown, table->entries[i])] = table->entries[i];
    free(table->entries);
    *table = grown;
    return true;
}

static void format_build_id(const struct rip_module_info *info, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < info->build_id_bytes; i++) {
        *ret_text++ = digits[info->build_id[i] >> 4];
        *ret_text++ = digits[info->build_id[i] & 15];
    }
    *ret_text = '\0';
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

static struct module_table *new_table(const struct hash_key *hash_key)
{
    struct module_table *table = calloc(1, sizeof(*table));

    if (table != NULL)
        table->hash_key = *hash_key;
    return table;
}

/* A reference. NULL: no memory, or the ring has too many. */
struct module_facts *registry_module(struct registry *registry, struct ring *ring, const struct rip_module_info *info)
{
    struct module_facts facts = {.start = info->start,
                                 .end = info->end,
                                 .bias = info->bias,
                                 .uid = mapping_owner(&ring->mapping),
                                 .symbols = {.hash_key = registry->hash_key}};
    char path[RIP_MODULE_PATH_BYTES + 1];
    struct module_table *table;
    size_t place;

    if (ring->modules == NULL)
        ring->modules = new_table(&registry->hash_key);
    table = ring->modules;
    if (table == NULL || (2 * (table->count + 1) > table->capacity && !grow(table)))
        return NULL;
    memcpy(path, info->path, info->path_bytes);
    path[info->path_bytes] = '\0'; /* or before: what follows a NUL is not taken */
    facts.path = path;
    format_build_id(info, facts.build_id);
    place = place_of(table, &facts);
    if (table->entries[place] != NULL)
        return module_facts_ref(table->entries[place]);
    if (table->count >= RIP_MODULE_MAX) {
        registry->counters.modules_over_limit++;
        registry_notice_limit(registry, LIMIT_MODULES, "a ring that changes its modules");
        return NULL;
    }
    table->entries[place] = new_module(&facts);
    table->count += table->entries[place] != NULL;
    return module_facts_ref(table->entries[place]);
}

void registry_modules_done(struct ring *ring)
{
    if (ring->modules == NULL)
        return;
    for (size_t i = 0; i < ring->modules->capacity; i++)
        module_facts_unref(ring->modules->entries[i]);
    free(ring->modules->entries);
    free(ring->modules);
    ring->modules = NULL;
}
