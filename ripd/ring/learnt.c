/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learnt.c - see learnt.h. A module has the form that it would have in the ring, but no build id: the map has none. Its
 * addresses are taken to begin with 0 in the file, as those of shared objects do; the program itself is in every
 * record.
 */
#include "ring/learnt.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

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

/* The end of a path that is too long says more than its beginning. */
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
