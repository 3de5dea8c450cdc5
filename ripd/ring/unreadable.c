/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable.c - a list of files by inode. Pure but for allocations. */
#include "ring/unreadable.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

struct unreadable_file *unreadable_find(const struct unreadable *unreadable, const struct file_identity *file)
{
    for (size_t i = 0; i < unreadable->count; i++)
        if (file_is_same(&unreadable->files[i].file, file))
            return &unreadable->files[i];
    return NULL;
}

/* A new line at the end, not counted yet. NULL: no memory, or the limit is reached. */
static struct unreadable_file *add_line(struct unreadable *unreadable, struct ring_host *host)
{
    if (unreadable->count >= REGISTRY_UNREADABLE_MAX) {
        host_limit(host, HEALTH_LIMIT_UNREADABLE, "more unreadable rings than are listed");
        return NULL;
    }
    if (!ARRAY_GROW(unreadable->files, unreadable->count, unreadable->capacity))
        return NULL;
    unreadable->files[unreadable->count] = (struct unreadable_file){0};
    return &unreadable->files[unreadable->count];
}

bool unreadable_put(struct unreadable *unreadable, struct ring_host *host, const struct unreadable_file *entry,
                    const char *name)
{
    struct unreadable_file *line = unreadable_find(unreadable, &entry->file);
    const bool is_new = line == NULL;
    struct unreadable_file before;
    char *copy;

    if (is_new)
        line = add_line(unreadable, host);
    copy = line != NULL ? strdup(name) : NULL;
    if (copy == NULL)
        return false;
    before = *line;
    *line = *entry;
    line->name = copy;
    if (is_new) {
        unreadable->count++;
        return true;
    }
    free(before.name);
    line->serial = before.serial;
    line->health = before.health > entry->health ? before.health : entry->health;
    return false;
}

void unreadable_remove(struct unreadable *unreadable, struct unreadable_file *file)
{
    if (file == NULL)
        return;
    free(file->name);
    *file = unreadable->files[--unreadable->count];
}

void unreadable_done(struct unreadable *unreadable)
{
    while (unreadable->count > 0)
        unreadable_remove(unreadable, &unreadable->files[unreadable->count - 1]);
    free(unreadable->files);
}
