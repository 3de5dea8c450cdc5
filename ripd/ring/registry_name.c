/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_name.c - which name a ring goes by: its file's, made unique among rings. Touches one file's status.
 *
 * Guarantees
 *   1. A ring whose file is renamed follows it; of several links to one file the first found counts, as long as it is
 *      there.
 *   2. A name is given once and kept until the file is renamed, whoever comes and goes meanwhile. Only a ring that has
 *      lost its file gives way, to the one that has taken its place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/registry_state.h"

enum { SUFFIX_BYTES = sizeof("~4294967295") };

/* Whether the name that the ring was last seen under still leads to it. */
bool registry_name_holds(const struct registry *registry, const struct ring *ring)
{
    const struct registry_directory *directory = &registry->directories[ring->directory];
    struct file_identity now;

    return directory->descriptor >= 0 && file_identify_at(directory->descriptor, ring->file_name, &now) == 0 &&
           now.device == ring->mapping.file.device && now.inode == ring->mapping.file.inode;
}

void registry_seen_as(struct registry *registry, struct ring *ring, uint32_t directory, const char *name)
{
    bool same_name = strcmp(ring->file_name, name) == 0;

    ring->pass = registry->pass;
    if ((!same_name || ring->directory != directory) && !registry_name_holds(registry, ring)) {
        char *file_name = strdup(name);

        if (file_name == NULL)
            return;
        free(ring->file_name);
        ring->file_name = file_name;
        ring->directory = directory;
        if (!same_name) { /* called anew at the end of the refresh */
            free(ring->name);
            ring->name = NULL;
        }
    }
    ring->unlinked = false;
}

static struct ring *find_name(const struct registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->ring_count; i++)
        if (registry->rings[i]->name != NULL && strcmp(registry->rings[i]->name, name) == 0)
            return registry->rings[i];
    return NULL;
}

/* file_name with the first suffix that nobody has. NULL: no memory. */
static char *suffixed_name(const struct registry *registry, const char *file_name)
{
    size_t size = strlen(file_name) + SUFFIX_BYTES;
    char *name = malloc(size);

    for (unsigned number = 2; name != NULL; number++) { /* ends: there are fewer rings than numbers */
        snprintf(name, size, "%s~%u", file_name, number);
        if (find_name(registry, name) == NULL)
            break;
    }
    return name;
}

static void name_ring(struct registry *registry, struct ring *ring)
{
    struct ring *other = find_name(registry, ring->file_name);

    if (other != NULL && other->unlinked && !ring->unlinked) {
        char *suffixed = suffixed_name(registry, ring->file_name);

        if (suffixed != NULL) {
            ring->name = other->name;
            other->name = suffixed;
            return;
        }
    }
    ring->name = other != NULL ? suffixed_name(registry, ring->file_name) : strdup(ring->file_name);
}

void registry_name_rings(struct registry *registry)
{
    for (size_t i = 0; i < registry->ring_count; i++) {
        struct ring *ring = registry->rings[i];

        if (ring->name != NULL)
            continue;
        name_ring(registry, ring);
        if (ring->name == NULL)
            continue;
        if (!ring->announced)
            registry_notice(registry, NOTICE_RING_FOUND, ring->name, NULL);
        ring->announced = true;
    }
}
