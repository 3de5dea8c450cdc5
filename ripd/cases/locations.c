/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locations.c - a hash table of groups with a small cache in front of it. Most ids of a process are at a few addresses,
 * and finding the module of an address takes a linear search. Pure.
 */
#include "cases/locations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"

struct locations *locations_new(const struct hash_key *hash_key)
{
    struct locations *locations = calloc(1, sizeof(*locations));

    if (locations != NULL)
        locations->hash_key = *hash_key;
    return locations;
}

void locations_free(struct locations *locations)
{
    if (locations == NULL)
        return;
    for (size_t i = 0; i < locations->count; i++) {
        module_facts_unref(locations->groups[i].module);
        item_unref(locations->groups[i].example);
    }
    free(locations->groups);
    free(locations->index.places);
    free(locations);
}

/* What ids at one location have in common. */
struct identity {
    enum { IN_FILE, IN_SCRIPT, NOWHERE_KNOWN, NEVER_ANYWHERE } kind;
    const char *texts[2];
    uint64_t number;
};

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

/*
 * A module is identified by its build id, or by its path if it has none. A function of a script is identified by its
 * name, file and line, because its number differs between rings.
 */
static struct identity identity_of(const struct location_group *group)
{
    const struct module_facts *module = group->module;
    struct symbol_frame frame;

    if (module == NULL)
        return (struct identity){group->snapped ? NOWHERE_KNOWN : NEVER_ANYWHERE, {"", ""}, 0};
    if (!module->is_scripts)
        return (struct identity){
            IN_FILE, {module->build_id[0] != '\0' ? module->build_id : module->path, ""}, group->offset};
    frame = module_place(module, group->offset);
    return (struct identity){IN_SCRIPT, {text_of(frame.function), text_of(frame.file)}, frame.line};
}

static uint64_t hash_of(const struct hash_key *key, const struct location_group *group)
{
    const struct identity identity = identity_of(group);
    const uint64_t parts[] = {identity.kind, identity.number, hash_text(key, identity.texts[0]),
                              hash_text(key, identity.texts[1])};

    return hash_bytes(key, parts, sizeof(parts));
}

/* Returns 0 if both are one location. */
static int compare_places(const struct location_group *left, const struct location_group *right)
{
    const struct identity a = identity_of(left), b = identity_of(right);

    return search_order_then(search_order_then(search_order(a.kind, b.kind), strcmp(a.texts[0], b.texts[0])),
                             search_order_then(strcmp(a.texts[1], b.texts[1]), search_order(a.number, b.number)));
}

/*
 * Returns 1 + the index of the group of a location, which is added if needed. Returns 0 if there are too many groups,
 * or -ENOMEM.
 */
static int64_t find_group(struct locations *locations, bool snapped, struct module_facts *module, uint64_t offset)
{
    const struct location_group wanted = {.snapped = snapped, .module = module, .offset = offset};
    const uint64_t hash = hash_of(&locations->hash_key, &wanted);
    size_t probe = 0;
    uint32_t number;

    while ((number = hash_index_next(&locations->index, hash, &probe)) != 0 &&
           compare_places(&locations->groups[number - 1], &wanted) != 0)
        continue;
    if (number != 0)
        return number;
    if (locations->count == LOCATIONS_GROUPS_MAX)
        return 0;
    if (!ARRAY_GROW(locations->groups, locations->count, locations->capacity))
        return -ENOMEM;
    if (!hash_index_add(&locations->index, hash, (uint32_t)locations->count + 1))
        return -ENOMEM;
    locations->groups[locations->count++] = wanted;
    module_facts_ref(module);
    return (int64_t)locations->count;
}

/* The hash is not keyed: colliding ids only evict each other from the cache, and are then found in the table. */
static size_t row_of(const struct located_id *id)
{
    uint64_t hash = ((uint64_t)(uintptr_t)id->process ^ id->address) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)((hash ^ hash >> 29) >> 20) & (LOCATIONS_MEMO_COUNT - 1);
}

static int64_t group_of(struct locations *locations, const struct located_id *id)
{
    size_t row = row_of(id);
    struct module_facts *module = NULL;
    int64_t group;

    if (!id->snapped)
        return find_group(locations, false, NULL, 0);
    if (locations->memo[row].group != 0 && locations->memo[row].process == id->process &&
        locations->memo[row].address == id->address)
        return locations->memo[row].group;
    if (id->process != NULL)
        module = process_facts_module(id->process, id->address);
    group = find_group(locations, true, module, module == NULL ? 0 : id->address - module->bias);
    if (group > 0) {
        locations->memo[row].process = id->process;
        locations->memo[row].address = id->address;
        locations->memo[row].group = (uint32_t)group;
    }
    return group;
}

int locations_add(struct locations *locations, const struct located_id *id)
{
    bool frozen = id->state != ID_RUNNING && id->state != ID_IDLE;
    int64_t index = group_of(locations, id);
    struct location_group *group;

    if (index < 0)
        return (int)index;
    if (index == 0) {
        locations->left_out_count++;
        return 0;
    }
    group = &locations->groups[index - 1];
    if (group->count++ == 0 || (frozen && id->frozen_for_ns > group->longest_ns)) {
        group->ring = id->ring;
        group->slot = id->slot;
        group->generation = id->generation;
    }
    group->counts[id->state]++;
    if (frozen && id->frozen_for_ns > group->longest_ns)
        group->longest_ns = id->frozen_for_ns;
    return 0;
}

static int compare_groups(const void *left, const void *right)
{
    const struct location_group *a = left, *b = right;

    return search_order_then(search_order_pair(b->count, b->snapped, a->count, a->snapped), compare_places(a, b));
}

void locations_sort(struct locations *locations)
{
    if (locations->count != 0)
        qsort(locations->groups, locations->count, sizeof(*locations->groups), compare_groups);
    free(locations->index.places);
    locations->index = (struct hash_index){0};
}
